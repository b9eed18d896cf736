# SPDX-License-Identifier: Apache-2.0
# The planted faults in CUDA C++: `check --run` names the line of the .cu, marked !found, by the rule of faults.txt, in under a second
# once NVRTC's PTX is in the cache; -D FIXED is silent under twenty seeds, and its result is right. CJ_PART=I/N as test_faults.sh.
source "$(dirname "$0")/../cli/cli.bash"
source "$(dirname "$0")/faults.bash"
part=${CJ_PART:-0/1}
count=0
TIMEFORMAT=%U+%S

# What NVRTC makes is kept beside the build's other files: a file takes it up to a second, several times that on a busy machine.
export CLUSTERJIT_CACHE_DIR=$dir/cache
[[ ! -e CTestTestfile.cmake ]] || CLUSTERJIT_CACHE_DIR=$PWD/faults_cuda
mkdir -m 700 "$CLUSTERJIT_CACHE_DIR" 2>/dev/null || [[ -d $CLUSTERJIT_CACHE_DIR ]]

printf '#include <cuda/ptx>\n__global__ void k(int *x) { *x = 3; }\n' >"$dir/k.cu"
run check "$dir/k.cu"
[[ $code == 0 ]] || { echo 'skipped: there is no NVRTC with the headers of CUDA C++'; exit 77; }

test_cuda() {
    local name=$1 rule=$2 file=$faults_dir/$1.cu result line found='' seconds wall
    [[ -e $file ]] && ((count++ % ${part#*/} == ${part%/*})) || return
    result=$(expand "$3")
    run check --run "$file" "${launch[@]}"  # fills the cache
    for line in $(found_lines "$file"); do
        ! grep -qE "^[^ ]*$name.cu:$line:[0-9]*: error: .*\[(${rule// /|})\]$" "$dir/out" || found=$line
    done
    [[ $code == 1 && $found ]] || failed "$name.cu" "exit code $code, no [$rule] at a line marked !found"
    wall=$EPOCHREALTIME
    seconds=$({ time run check --run "$file" "${launch[@]}"; } 2>&1)
    wall=$(awk "BEGIN { printf \"%.3f\", $EPOCHREALTIME - $wall }")
    echo "$name.cu:$found: [$rule] in $wall s, of the processor $seconds s"
    awk "BEGIN { exit !($seconds < 1) }" || failed "$name.cu" "$seconds s of the processor with a warm cache"
    run check --run "$file" "${launch[@]}" --schedule seed:1..20
    [[ $code == 1 ]] && grep -qE "\[(${rule// /|})\]$" "$dir/out" || failed "$name.cu, twenty seeds" "exit code $code, no [$rule]"
    run exec "$file" -D FIXED "${launch[@]}" --hazards on --print 0
    [[ $code == 0 && ! -s $dir/err && $(<"$dir/out") == "$result" ]] || failed "$name.cu -D FIXED" "exit code $code, or not $3"
    run exec "$file" -D FIXED "${launch[@]}" --hazards on --schedule seed:1..20 --print 0
    [[ $code == 0 && ! -s $dir/err && $(<"$dir/out") == "$result" ]] ||
        failed "$name.cu -D FIXED, twenty seeds" "exit code $code, or not $3"
}

each_fault test_cuda
[[ $count -ge 15 ]] || failed faults.txt "$count faults in CUDA C++, not fifteen"
finish
