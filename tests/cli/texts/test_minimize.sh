# SPDX-License-Identifier: Apache-2.0
# --minimize: the smallest grid, cluster and block that still show the hazard, as a command that repeats it; and what it says where
# nothing can shrink.
source "$(dirname "$0")/../cli.bash"

# says TEXT: the last run said it on standard error.
says() { [[ $(<"$dir/err") == *"$1"* ]] || failed "the last run" "no '$1' in what it said"; }

# again: runs the command that the last run named.
again() {
    local command
    command=$(sed -n 's/.*this one does: ptxgen //p; s/.*smallest launch that shows [^:]*: ptxgen //p' "$dir/err")
    [[ -n $command ]] || failed "the last run" "it names no command"
    eval "run $command"
}

# kernel HEAD LINE...: PTX whose entry has these directives and lines.
kernel() {
    local head=$1
    shift
    printf '%s\n' '.version 8.0' '.target sm_90' '.address_size 64' ".visible .entry k(.param .u64 out) $head" '{' \
        '.reg .b32 %r<8>;' '.reg .b64 %l<8>;' '.reg .pred %p<4>;' '.shared .align 4 .b32 tile[64];' 'ld.param.u64 %l0, [out];' \
        'mov.u32 %r0, %tid.x;' 'mov.u32 %r1, %ctaid.x;' 'mov.u32 %r2, tile;' "$@" 'ret;' '}'
}

# --- two warps race: one block of 33 threads shows it
race=('mov.u32 %r3, 5;' 'setp.lt.u32 %p0, %r0, 32;' '@%p0 mov.u32 %r3, 4;' 'st.shared.u32 [%r2], %r3;')
kernel '' "${race[@]}" >"$dir/race.ptx"
how=("$dir/race.ptx" --arg 'u32[4]=zeros')
for command in exec check; do
    options=(--hazards on)
    [[ $command == exec ]] || options=(--run)
    run $command "${how[@]}" "${options[@]}" --grid 24,2 --block 96,2 --cluster 4 --minimize
    [[ $code == 1 ]] || failed "$command --minimize" "exit code $code"
    says 'the smallest launch that shows [race-block] at line 17: ptxgen '
    says ' --entry k --grid 1 --block 33 --cluster 1 --schedule fixed'
    again
    [[ $code == 1 && $(cat "$dir/out" "$dir/err") == *'[race-block]'* ]] || failed "$command" "the smallest launch shows no race"
done

# --- blocks of a cluster race: two of them, in one cluster
kernel '' 'mov.u32 %r3, %cluster_ctarank;' 'mapa.shared::cluster.u32 %r4, %r2, 0;' 'barrier.cluster.arrive;' \
    'barrier.cluster.wait;' 'st.shared::cluster.u32 [%r4], %r3;' 'barrier.cluster.arrive;' 'barrier.cluster.wait;' >"$dir/cluster.ptx"
run exec "$dir/cluster.ptx" --arg 'u32[4]=zeros' --hazards on --grid 32 --block 64 --cluster 8 --minimize
says 'that shows [race-cluster]'
says ' --grid 2 --block 1 --cluster 2 '

# --- what directives fix stays
kernel '.reqntid 64 .reqnctapercluster 4' "${race[@]}" >"$dir/fixed.ptx"
run exec "$dir/fixed.ptx" --arg 'u32[4]=zeros' --hazards on --grid 16 --block 64 --minimize
says ' --grid 4 --block 64 '
again
[[ $code == 1 ]] || failed "again" "exit code $code"

# --- only the whole launch shows it: the eleventh block of sixteen reads out of bounds
kernel '' 'mul.wide.u32 %l1, %r1, 4;' 'add.u64 %l1, %l0, %l1;' 'st.global.u32 [%l1], %r1;' >"$dir/bounds.ptx"
run exec "$dir/bounds.ptx" --arg 'u32[11]=zeros' --grid 16 --minimize
says 'the smallest launch that shows [out-of-bounds] at line 16: '
says ' --grid 12 --block 1 '
run exec "$dir/bounds.ptx" --arg 'u32[15]=zeros' --grid 16 --minimize
says 'no smaller launch shows [out-of-bounds] at line 16; this one does: '
again
[[ $code == 1 ]] || failed "again" "exit code $code"

# --- a hazard that only some seeds show keeps a seed; the same input gives the same answer
kernel '' 'setp.ne.u32 %p0, %r0, 0;' '@%p0 bra done;' 'atom.global.add.u32 %r3, [%l0], 1;' 'setp.eq.u32 %p1, %r1, 2;' \
    'setp.eq.and.u32 %p1, %r3, 0, %p1;' '@%p1 trap;' 'done:' >"$dir/seed.ptx"
how=(exec "$dir/seed.ptx" --arg 'u32[2]=zeros' --grid 16 --block 64 --schedule seed:1..200 --minimize)
run "${how[@]}"
says 'shows [trap]'
says ' --grid 3 --block 1 --schedule seed:'
cp "$dir/err" "$dir/first"
run "${how[@]}" --threads 1
[[ $(sed 's/ --threads 1//' "$dir/err") == "$(<"$dir/first")" ]] || failed "--minimize" "another answer the second time"
again
[[ $code == 1 && $(<"$dir/err") == *'[trap]'* ]] || failed "again" "no trap"

# --- JSON
run "${how[@]}" --json
json 'o["grid"] == [3, 1, 1] and "--schedule seed:" in o["repeat"]'

# --- run: the numbers among the parameters, as far as the launch fails in the same way; each trial is silent
how=(run reduce --device cpu --n 3000000 --grid 64 --block 64 --limit 1 --schedule seed:5..6)
run "${how[@]}"
[[ $(grep -c '\[livelock\]' "$dir/err") == 1 ]] || failed "${how[*]}" "seeds that fail are not silent"
run "${how[@]}" --minimize
[[ $code == 1 ]] || failed "run --minimize" "exit code $code"
[[ $(grep -c '\[livelock\]' "$dir/err") == 1 ]] || failed "run --minimize" "its trials are not silent"
says 'the smallest problem that shows livelock: ptxgen run reduce --device cpu '
sed -n 's/.*shows livelock: ptxgen \(.*\)/\1/p' "$dir/err" >"$dir/smallest"
read -ra smallest <"$dir/smallest"
n=$(grep -o -- '--n=[0-9]*' "$dir/smallest")
((${n#--n=} < 3000000)) || failed "run --minimize" "not smaller: $(<"$dir/smallest")"
run "${smallest[@]}"
[[ $code == 1 && $(<"$dir/err") == *'[livelock]'* ]] || failed "${smallest[*]}" "does not show it"
run run reduce --device cpu --n 300 --minimize --hazards on
[[ $code == 0 ]] || failed "run --minimize" "exit code $code"
says 'nothing failed, so there is nothing to minimize'
refuses 64 'make the input up with --fill' run reduce --device cpu --input - --minimize </dev/null

# --- nothing to minimize; not a GPU's; only with --run
kernel '' 'bar.sync 0;' >"$dir/right.ptx"
run exec "$dir/right.ptx" --arg 'u32[4]=zeros' --minimize
[[ $code == 0 ]] || failed "--minimize" "exit code $code"
says 'nothing to minimize: add --hazards on'
run check --run "$dir/right.ptx" --block 64 --minimize
[[ $code == 0 ]] || failed "--minimize" "exit code $code"
says 'no hazard was found, so there is nothing to minimize'
refuses 64 'add --run' check "$dir/right.ptx" --minimize
finish
