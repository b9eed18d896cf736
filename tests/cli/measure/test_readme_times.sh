# SPDX-License-Identifier: Apache-2.0
# On a machine without a GPU each command of the README and of the pages about the command ends soon, or says within the first
# seconds that it takes longer, and which smaller size does not. Seconds are of the processor, so that a busy machine changes nothing: of all its cores.
# A command that ends exits with 0; with 1 where its comment says "planted fault" or "exits 1"; with 4 where it says "needs a GPU".
source "$(dirname "$0")/../cli.bash"
root=$(cd "$(dirname "$0")/../../.." && pwd)
export CUDA_VISIBLE_DEVICES=-1 CLUSTERJIT_CACHE_DIR=$dir/cache

# What the commands find where the README's reader is: the command, the tests, an array and a kernel of his.
mkdir -p "$dir/work/tools"
ln -s "$root/tests" "$dir/work/tests"
ln -s "$root/tools/bench" "$dir/work/tools/bench"
printf '#!/bin/sh\n[ $# -gt 0 ] || set -- run reduce --block 256 --cluster 4\nexec "%s" "$@"\n' "$ptxgen" >"$dir/work/tools/run"
chmod +x "$dir/work/tools/run"
"$ptxgen" emit reduce >"$dir/work/kernel.ptx"
array() { printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"; head -c 256 /dev/zero; }
array 64, >"$dir/work/data.npy"
array 4,16 >"$dir/work/x.npy"
# Its race is the one whose report docs/command.md shows; `scale` is for --name-expression.
cat >"$dir/work/kernel.cu" <<'END'
__device__ float neighbour(const float *s, int i) {
    return s[i ^ 32];
}

extern "C" __global__ void shift(const float *x, float *y) {
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = x[i];

    y[i] = neighbour(s, i) + 1.0f;
}

#ifdef N
template <typename T, int COUNT> __global__ void __launch_bounds__(32) scale(T *x) {
    if (threadIdx.x < COUNT) x[threadIdx.x] *= N;
}
#endif
END

# The exit code of a pipeline, in which what reads may fail because what writes was killed: that of the first part that was.
first_killed='codes=("${PIPESTATUS[@]}"); for code in "${codes[@]}"; do ((code < 128)) || exit "$code"; done; exit "${codes[-1]}"'

# within SECONDS COMMAND: 0 where it ends in that processor time, 1 where it does not; $said is whether it has said so.
within() {
    (cd "$dir/work" && ulimit -t "$1" && exec setsid bash -c "$2"$'\n'"$first_killed") >"$dir/out" 2>"$dir/err" </dev/null &
    local job=$!
    said=0
    while kill -0 $job 2>"$dir/kill"; do
        if grep -q 'this takes about .* on the CPU device; --.* takes about' "$dir/err"; then
            said=1
            kill -- -$job 2>"$dir/kill"
        fi
        sleep 0.05
    done
    wait $job 2>"$dir/kill"
    code=$?
    # 128 + SIGKILL or SIGXCPU
    [[ $said == 1 || ($code != 137 && $code != 152) ]]
}

cores=$(nproc)
faulty='@1@' gpu='@4@'  # mark a command by what its comment says
count=0 told=0 skipped=0
while IFS= read -r command; do
    count=$((count + 1)) want=0
    [[ $command != *"$faulty"* ]] || want=1
    [[ $command != *"$gpu"* ]] || want=4
    command=${command//@[14]@/}
    if within $((2 * cores)) "$command" || within $((10 * cores)) "$command"; then
        told=$((told + said))
        if ((said == 0 && code != want)); then
            if grep -qE 'needs NVRTC|no ptxas|gnuplot' "$dir/err"; then
                skipped=$((skipped + 1))
            else
                failed "$command" "exit code $code, not $want"
            fi
        fi
    else
        failed "$command" "it takes more than 10 s, and has not said so within 2"
    fi
done < <(cat "$root/README.md" "$root/docs/"{command,functions,environment}.md |
    sed -n 's/^    \(\(tools\/run\|sed\) .*\)/\1/p; s/^        \(tools\/run .*\)/\1/p' |
    sed -E "s/^(.*[^ ]) +# .*(planted fault|exits 1).*/$faulty\1/; s/^(.*[^ ]) +# .*needs a GPU.*/$gpu\1/; s/ +# .*$//" | sed -e ':next' -e '/|$/{N; s/\n/ /; b next' -e '}')

((skipped)) && echo "$skipped commands need NVRTC, ptxas or gnuplot, which are not here"
((count > 20)) || failed README "only $count commands were found"
((told)) || failed README "none said that it takes long: bench gemm does"
finish
