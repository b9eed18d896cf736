# SPDX-License-Identifier: Apache-2.0
# The planted faults of faults.txt: under the fixed schedule and twenty seeds the CPU device reports each by its rule, at a line
# marked !found, and is silent about its correct twin, whose result is right. CJ_PART=I/N tests each N-th of them, from I on.
source "$(dirname "$0")/../cli/cli.bash"
source "$(dirname "$0")/faults.bash"
part=${CJ_PART:-0/1}
seeds=20
[[ ${CJ_FEW:-0} == 0 ]] || seeds=2
count=0

# finds_it FILE RULE SCHEDULE: at one of the lines that may be reported.
finds_it() {
    local line
    run exec "$1" "${launch[@]}" --hazards on --schedule "$3"
    [[ $code == 1 ]] || return
    for line in $(found_lines "$1"); do
        grep -qE "^$1:$line:[0-9]*: error: .*\[(${2// /|})\]$" "$dir/err" && return
    done
    return 1
}

test_fault() {
    local name=$1 rule=$2 result schedule
    ((count++ % ${part#*/} == ${part%/*})) || return
    result=$(expand "$3")
    faulty "$faults_dir/$name.ptx" >"$dir/fault.ptx"
    twin "$faults_dir/$name.ptx" >"$dir/twin.ptx"
    for schedule in fixed $(seq -f seed:%.0f $seeds); do
        finds_it "$dir/fault.ptx" "$rule" "$schedule" || failed "$name, $schedule" "exit code $code, no [$rule] at a line marked !found"
        run exec "$dir/twin.ptx" "${launch[@]}" --hazards on --schedule "$schedule" --print 0
        [[ $code == 0 && ! -s $dir/err ]] || failed "$name, $schedule" "the correct twin is reported, exit code $code"
        [[ $(<"$dir/out") == "$result" ]] || failed "$name, $schedule" "the twin's result is not $3"
    done
}

each_fault test_fault
[[ $count -ge 40 ]] || failed faults.txt "$count faults, not forty"
for file in "$faults_dir"/*.ptx "$faults_dir"/*.cu; do
    name=$(basename "${file%.*}")
    [[ " ${fault_names[*]} " == *" $name "* ]] || failed "$file" "no row of faults.txt names it"
done
finish
