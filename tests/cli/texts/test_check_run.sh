# SPDX-License-Identifier: Apache-2.0
# check --run: what reading a file finds and what running it finds, in one list; what it makes up of a launch, and what it
# refuses to make up.
source "$(dirname "$0")/../cli.bash"
source "$(dirname "$0")/../../faults/faults.bash"
faults=$faults_dir

# says TEXT: the last run said it on standard error.
says() { [[ $(<"$dir/err") == *"$1"* ]] || failed "the last run" "no '$1' in what it said"; }

# kernel HEAD LINE...: PTX whose entry has that head and these lines.
kernel() {
    local head=$1
    shift
    printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' "$head" '{' '.reg .b32 %r<8>;' '.reg .b64 %l<8>;' "$@" \
        'ret;' '}'
}

# --- our own kernels: nothing to say but how they ran
for arguments in '' '--cluster 8' '--arch sm_80' '--op max --dtype i32 --result block'; do
    # shellcheck disable=SC2086
    "$ptxgen" emit reduce $arguments >"$dir/reduce.ptx" 2>"$dir/note"
    finds 0 '' check --run "$dir/reduce.ptx"
    [[ ! -s $dir/out ]] || failed "check --run of emit reduce $arguments" "it has something to say"
    says 'what was not given is made up'
done

# --- every planted fault is found, with its line, and no twin
both() {
    local name=$1 rule=${2%% *}
    faulty "$faults/$name.ptx" >"$dir/fault.ptx"
    twin "$faults/$name.ptx" >"$dir/twin.ptx"
    finds 1 "[$rule]" check --run "$dir/fault.ptx" "${launch[@]}"
    [[ $(<"$dir/out") == *"fault.ptx:"*": error: "* ]] || failed "$name" "no place before the finding"
    run check --run "$dir/twin.ptx" "${launch[@]}"  # reading it may find a path that this launch does not take
    [[ $(<"$dir/out") != *"[$rule]"* ]] || failed "$name" "its twin is reported"
}
each_fault both

# --- reading and running are in one list, reading first; the summary counts both
faulty "$faults/cluster_arrive_relaxed.ptx" | sed 's/^{$/{ .reg .b32 %unused;/; s| *// !.*||' >"$dir/fault.ptx"
finds 1 '[cluster-relaxed]' check --run "$dir/fault.ptx" --block 32 --cluster 2
[[ $(<"$dir/out") == *'[cluster-relaxed]'*'[relaxed-arrive]'* ]] || failed "check --run" "the hazard does not stand last"
[[ $(<"$dir/out") == *'    ld.shared::cluster.u32     %v, [%b];'$'\n''    ^'* ]] || failed "check --run" "no line with a caret"
says '2 errors, 1 warning'
run check "$dir/fault.ptx"
says '1 error, 1 warning'

# --- seeds: each hazard once, with the schedule that shows it
finds 1 "repeat: ptxgen check --run $dir/fault.ptx --block 32 --cluster 2 --schedule seed:3" check --run "$dir/fault.ptx" --block 32 --cluster 2 --schedule seed:3..6
[[ $(grep -c '\[relaxed-arrive\]' "$dir/out") == 1 ]] || failed "seed:3..6" "the hazard is not shown once"
run exec "$dir/fault.ptx" --grid 2 --block 32 --cluster 2 --arg 'u32[32]=zeros' --hazards on --schedule seed:3..6
[[ $code == 1 ]] || failed "exec with seeds" "exit code $code"
says 'found with --schedule seed:3'
for text in seed: seed:2..1 seed:1.. seed:..2 seed:1..2x random latest; do
    refuses 64 "--schedule is '$text'" check --run "$dir/fault.ptx" --schedule $text
done

# --- several files: all are run
"$ptxgen" emit reduce --cluster 4 >"$dir/reduce.ptx"
finds 1 '[relaxed-arrive]' check --run "$dir/reduce.ptx" "$dir/fault.ptx" --block 32 --cluster 2
says 'reduce.ptx'
sed 's/kernel/other/; /^\.version/d; /^\.target/d; /^\.address/d' "$dir/fault.ptx" | cat "$dir/reduce.ptx" - >"$dir/both.ptx"
finds 1 '[relaxed-arrive]' check --run "$dir/both.ptx" --block 32 --cluster 2 --entry other
run check --run "$dir/both.ptx" --arg u32=1
[[ $code == 64 ]] || failed "check --run of several entries with arguments" "exit code $code"
says 'several entries'

# --- JSON
finds 1 '"rule": "relaxed-arrive"' check --run --json "$dir/fault.ptx" --block 32 --cluster 2 --stats
if command -v python3 >"$dir/which"; then
    python3 - "$dir/out" <<'END' || failed "check --run --json" "it is not as described"
import json, sys
o = json.load(open(sys.argv[1]))
assert [f["rule"] for f in o["findings"]] == ["register-unused", "cluster-relaxed", "relaxed-arrive"], o
assert all(sorted(f) == ["column", "file", "hint", "line", "message", "other", "repeat", "rule", "severity", "source", "variable"]
           for f in o["findings"])
assert (o["errors"], o["warnings"]) == (2, 1)
launch, = o["launches"]
assert launch["entry"] == "kernel" and launch["made_up"] is True
assert (launch["grid"], launch["block"], launch["cluster"]) == ([2, 1, 1], [32, 1, 1], [2, 1, 1])
assert launch["arguments"] == ["u64[1048576]=zeros"] and launch["stats"]["cluster_barriers"] > 0
END
fi

# --- what is made up: each kind of parameter, by what the body does with it
kernel '.visible .entry k(.param .u64 p, .param .u64 n, .param .u32 m, .param .f32 x, .param .f64 y, .param .u64 .ptr q)
    .reqntid 32' 'ld.param.u64 %l0, [p];' 'cvta.to.global.u64 %l1, %l0;' 'ld.param.u64 %l2, [n];' 'shl.b64 %l3, %l2, 2;' \
    'add.u64 %l3, %l1, %l3;' 'mov.u32 %r0, %tid.x;' 'mad.wide.u32 %l4, %r0, 4, %l3;' 'st.global.u32 [%l4], %r0;' >"$dir/made.ptx"
finds 0 '' check --run "$dir/made.ptx"
says "k runs with --grid 1 --block 32 --arg 'u64[1048576]=zeros' --arg 'u64=1024' --arg 'u32=1024' --arg 'f32=1' --arg 'f64=1' \
--arg 'u64[1048576]=zeros'"
kernel '.visible .entry k() .maxntid 8, 4, 2 .reqnctapercluster 2, 2, 1' >"$dir/made.ptx"
finds 0 '' check --run "$dir/made.ptx"
says 'k runs with --grid 2,2 --block 8,4,2'

# --- the command line that is said is one: a shell reads the same launch from it, whatever its words hold
odd=$dir/$'it\'s "a\nfile" \\ of $HOME'
head -c 64 /dev/zero >"$odd"
kernel '.visible .entry k$x(.param .align 8 .b8 s[64], .param .u64 .ptr p) .reqntid 32' 'ld.param.u64 %l0, [p];' \
    'cvta.to.global.u64 %l1, %l0;' 'st.global.u32 [%l1], 1;' >"$odd.ptx"
for path in "$odd" "${odd/$'\n'/ }"; do
    [[ -e $path ]] || cp "$odd" "$path"
    finds 0 '' check --run "$odd.ptx" --arg "bytes:64=@$path" --arg 'u32[1]=zeros'
    words=$(sed -n 's/.* k$x runs with\( .*\) (what was not given is made up)$/\1/p' "$dir/err")
    eval "set -- $words"
    [[ $# == 8 && $6 == "bytes:64=@$path" && $8 == 'u32[1]=zeros' ]] || failed 'check --run' "other words: $words"
    finds 0 '1' exec "$odd.ptx" --entry 'k$x' "$@" --print 1
done

# --- what nothing tells is refused, with the option to give; the other files are still run
kernel '.visible .entry k()' >"$dir/bare.ptx"
run check --run "$dir/bare.ptx" "$dir/made.ptx"
[[ $code == 64 ]] || failed "check --run" "exit code $code"
says 'neither .reqntid nor .maxntid'
says 'give --block X[,Y,Z]'
says 'k runs with'
kernel '.visible .entry k() .reqntid 32' 'barrier.cluster.arrive;' 'barrier.cluster.wait;' >"$dir/bare.ptx"
refuses 64 'no .reqnctapercluster' check --run "$dir/bare.ptx"
finds 0 '' check --run "$dir/bare.ptx" --cluster 2
kernel $'.extern .shared .align 4 .b8 d[];\n.visible .entry k() .reqntid 64' 'st.shared.u32 [d], 1;' >"$dir/bare.ptx"
run check --run "$dir/bare.ptx"
says 'give --smem BYTES'
finds 0 '' check --run "$dir/bare.ptx" --smem 64
says 'both write the same value'
kernel $'.extern .shared .align 4 .b8 d[];\n.visible .entry k() .reqntid 64' 'mov.u32 %r1, %tid.x;' 'st.shared.u32 [d], %r1;' >"$dir/bare.ptx"
finds 1 '[race-block]' check --run "$dir/bare.ptx" --smem 64
kernel '.visible .entry k(.param .align 64 .b8 map[128]) .reqntid 32' >"$dir/bare.ptx"
refuses 64 'parameter map are' check --run "$dir/bare.ptx"
says '--arg tensor:'
kernel '.visible .entry k(.param .align 8 .b8 s[24]) .reqntid 32' >"$dir/bare.ptx"
refuses 64 '24 bytes of the parameter s are' check --run "$dir/bare.ptx"
says '--arg bytes:'
finds 0 '' check --run "$dir/bare.ptx" --arg "bytes:24=$(printf '%048d' 0)"

# --- what cannot be loaded is not run; a loop that never ends is stopped
kernel '.visible .entry k() .reqntid 32' 'frob.u32 %r1;' >"$dir/bare.ptx"
finds 1 '[mnemonic]' check --run "$dir/bare.ptx"
says 'is not run'
kernel '.visible .entry k() .reqntid 32' 'again: bra again;' >"$dir/bare.ptx"
finds 1 '[livelock]' check --run "$dir/bare.ptx" --limit 1
refuses 64 'add --run' check "$dir/bare.ptx" --limit 1
refuses 64 'add --run' check "$dir/bare.ptx" --block 32

finish
