# SPDX-License-Identifier: Apache-2.0
# Planted faults, each with its correct twin (tests/faults): the CPU device names the fault's rule and has nothing to say
# about the twin, under the fixed schedule and some others.
source "$(dirname "$0")/../cli.bash"
faults=$(cd "$(dirname "$0")/../../faults" && pwd)

for file in "$faults"/*.ptx; do
    name=$(basename "$file" .ptx)
    rule=$(sed -n 's|^// fault: ||p' "$file")
    read -ra how < <(sed -n 's|^// run: ||p' "$file")
    sed '/!fix/d' "$file" >"$dir/fault.ptx"
    sed '/!fault/d' "$file" >"$dir/twin.ptx"
    for schedule in fixed seed:1 seed:2; do
        run exec "$dir/fault.ptx" "${how[@]}" --hazards on --schedule $schedule
        [[ $code == 1 && $(<"$dir/err") == *"[$rule]"* ]] || failed "$name, $schedule" "exit code $code, no [$rule]"
        run exec "$dir/twin.ptx" "${how[@]}" --hazards on --schedule $schedule
        [[ $code == 0 && ! -s $dir/err ]] || failed "$name, $schedule" "the correct twin is reported, exit code $code"
    done
done
finish
