# SPDX-License-Identifier: Apache-2.0
# What all commands have in common: numbers, -h, -V and --color, --arch and --target, JSON with a schema and with
# failures, messages of one line, widths, and the order of words.
source "$(dirname "$0")/../cli.bash"
export CLUSTERJIT_CACHE_DIR=$dir/cache

# says TEXT ARGUMENT...: succeeds, and TEXT is within its messages.
says() {
    local text=$1
    shift
    run "$@"
    [[ $code == 0 && $(<"$dir/err") == *"$text"* ]] || failed "$*" "exit code $code, or no '$text' in its messages"
}

kernel=$dir/copy.ptx
cat >"$kernel" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry copy(.param .u64 out, .param .u32 value)
{
    .reg .b64 %l<2>;
    .reg .b32 %r<2>;
    ld.param.u64  %l0, [out];
    ld.param.u32  %r0, [value];
    st.global.u32 [%l0], %r0;
    ret;
}
END

# --- numbers: every option that takes one takes every form of one, and what is none is refused
for number in 1024 1K 0x400 2^10 1e3+24 2^11-1024; do
    gives 'SIZE: 1024 ' run reduce --device cpu --n "$number"
    gives 'block 1024 x 1 x 1' bench reduce --device cpu --rounds 0x1 --n 5 --block "$number"
    gives '1024' exec "$kernel" --arg "u32[$number]=zeros" --arg "u32=$number" --print 0:0x1
    gives '"launches": true' contract --target h200 --grid "$number,1e1" --block "$number" --json
    gives '1024.0 1024.0' exec "$kernel" --arg "f32[4]=const:$number" --arg s32=0 --print 0 --dump "0=$dir/dump"
done
for number in 48 0x30 2^5+16; do
    gives '48' exec "$kernel" --arg "u64[$number]=zeros" --arg u32=48 --print 0:2^0 --smem "$number" --schedule "seed:$number..0x31"
    gives '' occupancy "$kernel" --target h200 --block 32 --smem "${number}" --registers "$number" --keep "$number" --json
done
gives '-4096' exec "$kernel" --arg 's32[1]=zeros' --arg s32=-4K --print 0
gives '0.0 3.0 6.0 0.0' exec "$kernel" --arg 'f64[5]=mod:0x3:3' --arg u32=0 --dump "0=$dir/dump" --print 0
gives 'SIZE: 7' run reduce --device cpu --n 7 --fill const:1K
CLUSTERJIT_CACHE_SIZE=0x100K gives 'SIZE: 1024' run reduce --device cpu
[[ ! -s $dir/err ]] || failed CLUSTERJIT_CACHE_SIZE 'it has something to say'
for number in 1k 1KB 2^ 3^2 0x 1e 1e20 '' -1 +1 18446744073709551616 2^64 1.5 1_000; do
    refuses 64 '' run reduce --n "$number"
    refuses 64 '--repeat is' run reduce --repeat "$number"
    refuses 64 '--smem is' exec "$kernel" --smem "$number" --arg u64=0 --arg u32=0
    refuses 64 '--block is' contract --grid 1 --block "$number"
    refuses 64 'the count is no number' exec "$kernel" --arg "u32[$number]=zeros"
    refuses 64 '--schedule is' run reduce --schedule "seed:$number"
done

# --- -h, -V, --color on every command
commands=$("$ptxgen" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')
[[ $(wc -w <<<"$commands") -ge 17 ]] || failed help "which commands? $commands"
for command in $commands; do
    [[ $command == help ]] && continue
    gives 'Usage: ptxgen' "$command" -h
    gives "$("$ptxgen" --version)" "$command" -V
    gives "$("$ptxgen" --version)" "$command" --version
    gives '--color=auto|always|never' "$command" --help
    refuses 64 "--color is 'mauve'; it is auto, always or never" "$command" --color mauve
    run "$command" --color=always --no-such-option
    [[ $code == 64 && $(<"$dir/err") == *$'\033['* ]] || failed "$command --color=always" 'no colour'
    run "$command" --color=never --no-such-option
    [[ $code == 64 && $(<"$dir/err") != *$'\033'* ]] || failed "$command --color=never" 'colour'
done
gives 'ptxgen 0.' -V
NO_COLOR=1 gives $'\033[' rules --color=always
run rules
[[ $(<"$dir/out") != *$'\033'* ]] || failed rules 'colour in a pipe'

# --- --arch and --target name the same, everywhere
for option in --arch --target; do
    gives '.target sm_80' emit reduce $option sm_80
    gives '.target sm_90' emit reduce $option h200
    gives '"arch": "sm_80"' run reduce --device cpu --json $option a100
    gives '"arch": "sm_90"' bench reduce --device cpu --rounds 1 --json $option h100
    gives '' check "$kernel" $option h200
    gives '"launches": true' contract --grid 2 --block 32 --json $option h200
    gives 'H200' occupancy reduce $option h200
    refuses 64 'did you mean h200?' emit reduce $option hh200
done

# --- list FAMILY, and widths
gives 'topk: ' list topk
[[ $(grep -c '^[a-z]*: ' "$dir/out") == 1 ]] || failed 'list topk' 'other families, too'
gives '"name": "topk"' list topk --json
json 'len(o["families"]) == 1 and all(type(p["default"]) is int or p["default"] == "auto" for p in o["families"][0]["parameters"] if p["type"] == "number")'
refuses 64 "is 'topk' meant?" list topc
refuses 64 'one family too many' list topk reduce
for width in 70 100 200; do
    for arguments in 'list collective' 'list reduce' 'rules' 'help list' 'help tune'; do
        COLUMNS=$width run $arguments
        grep -v '^ *[a-z]*[.;]\|;$\|^        ' "$dir/out" | LC_ALL=C.UTF-8 awk -v w=$width 'length > w' >"$dir/long"
        [[ $code == 0 && ! -s $dir/long ]] || failed "$arguments" "more than $width columns: $(head -1 "$dir/long")"
    done
done
COLUMNS=200 run list collective
wide=$(wc -l <"$dir/out")
COLUMNS=70 run list collective
(($(wc -l <"$dir/out") > wide)) || failed 'list collective' 'as many lines on 70 columns as on 200'

# Help and list never cut a choice.
if command -v python3 >"$dir/which"; then
    run list --json
    python3 - "$dir/out" >"$dir/choices" <<'END'
import json, sys
for family in json.load(open(sys.argv[1]))["families"]:
    for p in family["parameters"]:
        for choice in p["choices"] if p["type"] == "choice" else []:
            print(family["name"], choice)
END
    [[ -s $dir/choices ]] || failed 'list --json' 'no choices'
    for family in $(cut -d' ' -f1 "$dir/choices" | sort -u); do
        for arguments in "help run $family" "list $family"; do
            run $arguments
            tr -s ' |=(),;\n' '\n' <"$dir/out" | sort -u >"$dir/words"
            sed -n "s/^$family //p" "$dir/choices" | sort -u | comm -23 - "$dir/words" >"$dir/missing"
            [[ ! -s $dir/missing ]] || failed "$arguments" "these choices are not shown: $(paste -sd' ' "$dir/missing")"
        done
    done
fi

# --- JSON: a schema, and failures
for arguments in 'list' 'info' 'rules' 'isa add' 'cache' 'tune --list' 'run reduce --device cpu' "check $kernel" \
    'occupancy reduce --target h200' 'contract --grid 2 --block 32 --target h200' \
    'bench reduce --device cpu --rounds 1' 'compare reduce --device cpu --rounds 1 --n 64'; do
    gives '"schema": 1,' $arguments --json
    json 'list(o)[0] == "schema" and type(o["schema"]) is int and "failure" not in o'
done
for arguments in 'run reduce --n 0' 'run reduce --no-such-option' 'list redux' 'info --device gpu:999' 'run' 'run --n 5 reduce' \
    'isa add sub' 'cache ls clear' 'tune' 'check' 'occupancy' 'contract --grid x' '--n 5 reduce' 'nonsense' \
    'contract --grid 3 --block 32 --target h2' 'rules no-such-rule' 'compare reduce --cluster 2'; do
    run $arguments --json
    [[ $code != 0 ]] || failed "$arguments --json" 'it succeeded'
    json 'list(o) == ["schema", "failure"] and set(o["failure"]) >= {"status", "rule", "message", "hint"} and o["failure"]["message"]'
done
run run reduce --block 33 --json
json 'o["failure"]["status"] == "INVALID_ARGUMENT" and "multiple of 32" in o["failure"]["message"] and o["failure"]["hint"]'
run check "$kernel" "$dir/none" --json
json 'o["findings"] == [] and "cannot read" in o["failure"]["message"]'
[[ $code == 2 ]] || failed 'check --json' "exit code $code"

# --- names with newlines: messages of one line, JSON that is whole
odd=$dir/$'two\nlines "and\tquotes'
shown='two\nlines "and\tquotes'
cp "$kernel" "$odd"
gives '' check "$odd"
sed 's/ret;/rett;/' "$kernel" >"$odd"
finds 1 '' check "$odd"
[[ $(wc -l <"$dir/out") -le 4 ]] || failed check 'a finding of more lines'
finds 1 '' check "$odd" --json
json '"\n" in o["findings"][0]["file"]'
for arguments in check exec fmt occupancy "contract --grid 1 --block 32"; do
    run $arguments "$odd.none"
    [[ $code != 0 && $(grep -c 'ptxgen: error:' "$dir/err") == 1 && $(wc -l <"$dir/err") -le 2 && $(<"$dir/err") == *"$shown"* ]] ||
        failed "$arguments" 'the name broke the message'
done
refuses 64 "'su\\nm' is none of" run reduce --op $'su\nm'
run exec "$kernel" --entry $'co\npy' --arg u64=0 --arg u32=0
[[ $code == 64 && $(wc -l <"$dir/err") -le 2 ]] || failed exec 'the entry broke the message'
refuses 64 "--arg 'u3\\n2=1'" exec "$kernel" --arg $'u3\n2=1'
run check --run "$kernel" --arg 'u64=0' --arg u32=$'1\n' --json
json '"failure" in o'

# --- words in the wrong order
refuses 64 "'--n' stands where a command is wanted" --n 5 reduce
[[ $(<"$dir/err") == *'ptxgen run reduce --n'* ]] || failed '--n 5 reduce' 'no way to write it'
refuses 64 "'--quick' stands before the command 'info'" --quick info
refuses 64 "'--n' stands before the kernel family 'reduce'" run --n 5 reduce
refuses 64 "'--n' is no option before a kernel family" run --n 5

# --- what runs is what was asked for, or it says so
gives 'Elements checked: 9' run gemm --m 3 --n 3 --k 16 --device cpu
gives '"checked": 404' run gemm --m 21 --n 20 --k 16 --device cpu --json
refuses 64 'strategy=resident form=auto does not fit' run stencil --strategy resident --nx 4096 --ny 4096 --device cpu
gives 'stencil_2d_f32_resident' emit stencil --strategy resident --nx 64 --ny 64 --steps 4
says 'a cluster of 16 blocks is above the portable 8' exec "$kernel" --grid 4,4 --cluster 4,4 --arg 'u32[1]=zeros' --arg u32=1
run exec "$kernel" --grid 8 --cluster 8 --arg 'u32[1]=zeros' --arg u32=1
[[ $code == 0 && ! -s $dir/err ]] || failed 'exec --cluster 8' 'a portable size is mentioned'
run exec "$kernel" --grid 3 --cluster 2 --arg 'u32[4]=iota' --arg u32=1 --print 0
[[ $code == 1 && ! -s $dir/out ]] || failed 'exec --print' "a refused launch: exit code $code, or results"

finish
