# SPDX-License-Identifier: Apache-2.0
# Every command's --json: it parses as JSON does, says its schema, and its numbers are numbers or null, also on failure.
source "$(dirname "$0")/../cli.bash"
command -v python3 >"$dir/which" || { echo "skipped: there is no python3"; exit 77; }
export CLUSTERJIT_CACHE_DIR=$dir/cache
"$ptxgen" emit reduce --cluster 4 >"$dir/kernel.ptx" 2>"$dir/err"

cat >"$dir/look.py" <<'END'
import json, re, sys
def refuse(word): raise ValueError(word + " is no JSON")
def walk(key, value):
    if isinstance(value, dict):
        for k, v in value.items():
            if k not in ("parameters", "arguments", "version", "tools", "choices", "default", "tune"): walk(k, v)
    elif isinstance(value, list):
        for v in value: walk(key, v)
    elif isinstance(value, str):
        assert not re.fullmatch(r"-?(nan|inf(inity)?)", value, re.I), f"{key} is '{value}'"
        assert not re.fullmatch(r"-?[0-9.]+(e[-+]?[0-9]+)?", value) or int(value) >= 2**63, f"{key} is '{value}'"
o = json.load(open(sys.argv[1], encoding="utf-8"), parse_constant=refuse)
assert o["schema"] == 1, "another schema"
walk("", o)
END

# looks CODE ARGUMENT...
looks() {
    local want=$1
    shift
    run "$@" --json
    [[ $code == "$want" ]] || failed "$*" "exit code $code, not $want"
    python3 "$dir/look.py" "$dir/out" 2>"$dir/json" || failed "$*" "not so: $(tail -1 "$dir/json")"
}

looks 0 list
looks 0 info --device cpu
looks 0 rules
looks 0 isa mbarrier
looks 0 cache
looks 0 check "$dir/kernel.ptx"
looks 0 check --run "$dir/kernel.ptx" --stats
printf '%s\n' '.version 8.7' '.target sm_90' '.address_size 64' '.visible .entry k(.param .u64 p)' '{' '.reg .b64 %a;' \
    '.reg .b32 %t;' 'ld.param.u64 %a, [p];' 'mov.u32 %t, %tid.x;' 'st.global.u32 [%a], %t;' 'ret;' '}' >"$dir/race.ptx"
looks 0 exec "$dir/race.ptx" --block 1 --arg 'u32[2]=const:7' --print 0 --print 0:1 --dump "0=$dir/dump" --stats
json 'o["outputs"][:2] == [dict(argument=0, type="u32", values=v) for v in ([0, 7], [0])] and o["outputs"][2]["file"].endswith("dump")'
json 'o["entry"] == "k" and o["findings"] == [] and o["stats"]["thread_instructions"] > 0 and o["schedule"] == "fixed"'
json 'o["time_ms"] > 0 and o["thread_instructions"] == o["stats"]["thread_instructions"]'
looks 1 exec "$dir/race.ptx" --block 64 --arg 'u32[2]=const:7' --hazards on --schedule seed:3..5 --print 0
json 'o["findings"][0]["line"] == 10 and o["findings"][0]["rule"] and o["schedule"] == "seed:3" and len(o["outputs"]) == 1'
looks 0 exec "$dir/race.ptx" --arg 'f32[2]=const:nan' --print 0
json 'o["outputs"][0]["values"][1] is None'
echo 'no PTX' >"$dir/wrong.ptx"
for command in exec 'exec --minimize' occupancy 'contract --grid 1 --block 32'; do
    # shellcheck disable=SC2086
    looks 1 $command "$dir/wrong.ptx"
    json 'o["failure"]["rule"] == "head" and o["failure"]["line"] == 1'
done
looks 1 contract "$dir/kernel.ptx" --grid 15 --block 256 --cluster 4 --target h200
looks 0 contract "$dir/kernel.ptx" --grid 16 --block 256 --cluster 4 --target h200
looks 0 occupancy reduce --target h200
looks 0 occupancy "$dir/kernel.ptx" --target h200 --block 256
looks 0 tune --list
looks 0 tune scan --device cpu --dry-run --columns 5000
looks 4 probe --device cpu
for family in reduce 'scan --columns 300' 'histogram --n 1000' 'stencil --nx 64' 'softmax --rows 2 --columns 64' \
    'topk --rows 2 --columns 64' exchange collective 'gemm --m 64 --n 64 --k 64'; do
    # shellcheck disable=SC2086
    looks 0 run $family --device cpu
done
for values in 'const:nan' 'const:inf' 'const:-inf'; do looks 0 run reduce --device cpu --fill $values; done
looks 0 run scan --device cpu --columns 300 --fill const:nan
looks 0 run reduce --device cpu --op product --n 5000 --fill iota
looks 0 run reduce --device cpu --dtype u64 --op max --fill const:18446744073709551615
json 'o["result"] == o["expected"] == "18446744073709551615"'
looks 0 run reduce --device cpu --fill const:nan
json 'o["result"] is None and o["expected"] is None'

# what is not measured on a CPU device
looks 0 bench reduce --device cpu --n 4096
json 'o["read_ceiling"] is None and o["copy_ceiling"] is None and "share_of_ceiling" not in o'
looks 0 compare reduce --device cpu --n 4096
json 'o["read_ceiling"] is None and o["copy_ceiling"] is None'

# failures
looks 64 run reduce --device cpu --n 0
looks 64 occupancy
looks 2 check "$dir/none.ptx"
finish
