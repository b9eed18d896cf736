# SPDX-License-Identifier: Apache-2.0
# Counts how many schedules show each planted fault with hazards off: by a wrong result, a deadlock or another error. No test:
#
#     CJ_PTXGEN=build/dev/bin/ptxgen bash tests/faults/count_seeds.sh [SEEDS]
#
# prints a line a fault, "NAME: fixed 1, late 1, seed 3" (0: it does not show, under none of the seeds), and the sums.
source "$(dirname "$0")/../cli/cli.bash"
source "$(dirname "$0")/faults.bash"
seeds=${1:-64}

# shows SCHEDULE: whether the fault shows under it.
shows() {
    timeout 20 "$ptxgen" exec "$dir/fault.ptx" "${launch[@]}" --hazards off --limit 20 --print 0 --schedule "$1" >"$dir/out" 2>"$dir/err"
    [[ $? != 0 || $(<"$dir/out") != "$(<"$dir/right")" ]]
}

count_one() {
    local fixed=0 late=0 seed
    faulty "$faults_dir/$1.ptx" >"$dir/fault.ptx"
    twin "$faults_dir/$1.ptx" >"$dir/twin.ptx"
    "$ptxgen" exec "$dir/twin.ptx" "${launch[@]}" --hazards off --print 0 >"$dir/right" 2>"$dir/err"
    ! shows fixed || fixed=1
    ! shows late || late=1
    for ((seed = 1; seed <= seeds; seed++)); do
        ! shows seed:$seed || break
    done
    ((seed <= seeds)) || seed=0
    echo "$1: fixed $fixed, late $late, seed $seed"
}

each_fault count_one | tee "$dir/all"
for most in 1 2 4 8 16 32 64; do
    echo "by seed 1..$most: $(wc -l < <(awk -v most=$most '$NF > 0 && $NF <= most' "$dir/all")) of $(wc -l <"$dir/all")"
done
