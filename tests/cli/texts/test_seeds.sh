# SPDX-License-Identifier: Apache-2.0
# --schedule: late, and many seeds at once: the lowest that fails is named whatever the number of host threads, and the command that
# is printed repeats it, in text, JSON and SARIF.
source "$(dirname "$0")/../cli.bash"

# says TEXT: the last run said it on standard error.
says() { [[ $(<"$dir/err") == *"$1"* ]] || failed "the last run" "no '$1' in what it said"; }

# Clusters take tickets; the kernel traps if that of cluster 2 is 1, 5 or 6: under some seeds.
cat >"$dir/order.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry order(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %out;
    .reg .pred %p<6>;
    ld.param.u64 %out, [out];
    mov.u32 %r0, %tid.x;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra done;
    atom.global.add.u32 %r1, [%out], 1;
    mov.u32 %r2, %ctaid.x;
    setp.eq.u32 %p1, %r2, 2;
    setp.eq.and.u32 %p2, %r1, 1, %p1;
    setp.eq.and.u32 %p3, %r1, 5, %p1;
    setp.eq.and.u32 %p4, %r1, 6, %p1;
    or.pred %p2, %p2, %p3;
    or.pred %p2, %p2, %p4;
    @%p2 trap;
    st.global.u32 [%out + 4], %r1;
done:
    ret;
}
END
how=(exec "$dir/order.ptx" --grid 8 --block 32 --arg 'u32[2]=zeros')

# --- one after another
lowest=0
for ((seed = 1; seed <= 40 && !lowest; seed++)); do
    run "${how[@]}" --schedule seed:$seed
    [[ $code == 0 ]] || lowest=$seed
done
((lowest > 1)) || failed "seeds" "no seed, or the first one, fails: the test needs another kernel"

# --- together: the same seed, and a command that repeats it
for threads in 1 2 3 16; do
    run "${how[@]}" --schedule seed:1..40 --threads $threads
    [[ $code == 1 ]] || failed "seed:1..40, $threads threads" "exit code $code"
    says "found with --schedule seed:$lowest; this repeats it: ptxgen exec $dir/order.ptx"
    says '[trap]'
    again=$(sed -n 's/.*this repeats it: ptxgen //p' "$dir/err")
    cp "$dir/err" "$dir/first"
    eval "run $again"
    [[ $code == 1 && $(<"$dir/err") == *'[trap]'* ]] || failed "$again" "it does not repeat the trap"
done

# --- none fails: the buffers are those of the last seed
before=$((lowest - 1))
run "${how[@]}" --schedule seed:$before --print 0
cp "$dir/out" "$dir/last"
gives "$(<"$dir/last")" "${how[@]}" --schedule seed:1..$before --print 0 --threads 4

# --- JSON and SARIF hold the command
run "${how[@]}" --schedule seed:1..40 --json --sarif "$dir/sarif"
json "o['repeat'].endswith('--schedule seed:$lowest') and o['findings'][0]['repeat'] == o['repeat']"
[[ $(<"$dir/sarif") == *"repeat: ptxgen exec"*"--schedule seed:$lowest"* ]] || failed "--sarif" "no command in it"
run "${how[@]}" --json
json 'o.get("repeat") is None'

# --- check --run: all seeds, each hazard once, whatever the number of threads
for threads in 1 5; do
    finds 1 "--schedule seed:$lowest" check --run "$dir/order.ptx" --grid 8 --block 32 --arg 'u32[2]=zeros' --schedule seed:1..40 \
        --threads $threads
    sed 's|--threads [0-9]*||; s|0x[0-9a-f]*||' "$dir/out" >"$dir/out.$threads"
done
cmp -s "$dir/out.1" "$dir/out.5" || failed "check --run" "another result with other threads"

# --- late: a copy lands when it is waited for, and no sooner
cat >"$dir/late.ptx" <<'END'
.version 8.0
.target sm_90
.address_size 64
.visible .entry late(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %out;
    .shared .align 16 .b32 tile[4];
    ld.param.u64 %out, [out];
    mov.u32 %r0, tile;
    st.shared.u32 [%r0], 7;
    cp.async.ca.shared.global [%r0], [%out], 4;
    mov.u32 %r2, 0;
spin:
    add.u32 %r2, %r2, 1;
    .reg .pred %p;
    setp.lt.u32 %p, %r2, 20000;
    @%p bra spin;
    ld.shared.u32 %r1, [%r0];
    cp.async.wait_all;
    ld.shared.u32 %r2, [%r0];
    st.global.v2.u32 [%out + 8], {%r1, %r2};
    ret;
}
END
gives '5 5 7 5' exec "$dir/late.ptx" --arg 'u32[4]=const:5' --print 0 --schedule late
run exec "$dir/late.ptx" --arg 'u32[4]=const:5' --print 0
[[ $(<"$dir/out") != *7* ]] || failed "fixed" "the copy is as late as under --schedule late"
run exec "$dir/late.ptx" --arg 'u32[4]=const:5' --json --schedule late
json 'o["schedule"] == "late"'

# --- run: many seeds, too
gives 'Reduction result' run reduce --device cpu --n 3000 --schedule seed:1..9
gives 'Reduction result' run reduce --device cpu --n 3000 --schedule late --hazards on
run run reduce --device cpu --n 3000000 --schedule seed:5..9 --limit 1 --grid 64 --block 64
[[ $code == 1 ]] || failed "run with --limit" "exit code $code"
says 'found with --schedule seed:5; this repeats it: ptxgen run reduce --device cpu --n 3000000'
refuses 64 'standard input can be read once' run reduce --device cpu --input - --schedule seed:1..2 </dev/null
finish
