# SPDX-License-Identifier: Apache-2.0
# CUDA C++ where a command takes PTX: compiled by NVRTC, run, and what is wrong with it named by its lines. Skipped where there is
# no NVRTC.
source "$(dirname "$0")/../cli.bash"
cd "$dir" || exit 1
export CLUSTERJIT_CACHE_DIR=$dir/cache
mkdir -m 700 cache
says() { [[ $(<err) == *"$1"* ]] || failed "the last run" "no '$1' in what it said"; }

# --- no NVRTC: what was looked for, what to do
echo '__global__ void k(int *x) { *x = 3; }' >k.cu
CLUSTERJIT_NVRTC=/nowhere/libnvrtc.so refuses 4 'looked for /nowhere/libnvrtc.so' check k.cu
says 'pip install nvidia-cuda-nvrtc'
run check k.cu
[[ $(<err) != *'needs NVRTC'* ]] || { ((failures)) && finish; echo 'skipped: there is no NVRTC'; exit 77; }

[[ $(CLUSTERJIT_NVRTC=/nowhere/libnvrtc.so "$ptxgen" info) =~ NVRTC\ +not\ found ]] || failed info "it names an NVRTC that is not used"

# --- read, run, printed, judged; by name and by -x
finds 0 '' check k.cu
finds 0 '' check -x cu - <k.cu
gives '3' exec k.cu --arg 'u32[1]=zeros' --print 0
gives '3' exec -x cu - --arg 'u32[1]=zeros' --print 0 <k.cu
gives '.target sm_90a' fmt k.cu
gives '.target sm_80' fmt k.cu --arch sm_80
finds 0 '' check --run k.cu --block 1
gives 'would make this launch' contract k.cu --grid 1 --block 32 --target h200
finds 1 '[block-threads]' contract k.cu --entry k --grid 1 --block 2048 --target h200
cp k.cu k.txt
finds 1 '' check k.txt
refuses 64 '-x is' check -x c k.cu
refuses 64 'is for CUDA C++' check k.txt -I.
refuses 64 'is for CUDA C++' exec k.txt --name-expression 'k<3>'
refuses 3 'invalid value for --std' check k.cu --std c++1998
refuses 2 "cannot read 'none.cu'" check none.cu

# --- the compiler's options
mkdir inc
echo '#define VALUE 4' >inc/value.h
printf '%s\n' '#include <value.h>' '#include "own.h"' \
    'template <typename T, int N> __global__ void fill(T *x) { static_assert(N > 1); x[threadIdx.x] = VALUE * N + OWN + MORE; }' >fill.cu
echo '#define OWN 100' >own.h
how=(-I inc -D MORE=0.5f --name-expression 'fill<float, 2>' --name-expression 'fill<double, 3>' --std c++20)
gives '108.5' exec fill.cu "${how[@]}" --entry 'fill<float, 2>' --arg 'f32[1]=zeros' --print 0
gives '112.5' exec fill.cu "${how[@]}" --entry 'fill<double,3>' --arg 'f64[1]=zeros' --print 0
echo '#define VALUE 5' >inc/value.h
gives '110.5' exec fill.cu "${how[@]}" --entry 'fill<float, 2>' --arg 'f32[1]=zeros' --print 0
refuses 64 'several entries' exec fill.cu "${how[@]}" --entry fill --arg 'f32[1]=zeros'
refuses 64 'fill<float, 2> (_Z4fillIfLi2EEvPT_)' exec fill.cu "${how[@]}" --entry 'fill<float, 3>' --arg 'f32[1]=zeros'
refuses 64 'has several entries' exec fill.cu "${how[@]}" --arg 'f32[1]=zeros'
refuses 3 'fill.cu(1): catastrophic error: cannot open source file "value.h"' check fill.cu
grep -q 'nvcc -cudart shared' err || failed 'check fill.cu' 'no word on whole programs'
refuses 3 'static assertion failed' check fill.cu -I inc -D MORE=0 --name-expression 'fill<int, 1>'
refuses 4 "does not compile for 'sm_12'" check fill.cu --arch sm_12 -I inc -D MORE=0
gives '.visible .entry' fmt k.cu --nvrtc-option=--use_fast_math
"$ptxgen" fmt fill.cu "${how[@]}" -o fill.ptx && gives '110.5' exec fill.ptx --entry 'fill<float, 2>' --arg 'f32[1]=zeros' --print 0

# --- what does not compile: the compiler's words, once; as JSON, too
printf '\n\n__global__ void k() { y = 1; }\n' >wrong.cu
refuses 3 "'wrong.cu' does not compile:
wrong.cu(3): error: identifier \"y\" is undefined
  __global__ void k() { y = 1; }
                        ^" check wrong.cu
[[ $(grep -c 'is undefined' err) == 1 ]] || failed 'check wrong.cu' 'the words are there twice'
refuses 3 'does not compile' exec wrong.cu --json
printf 'int x;\0\n' >nul.cu
refuses 3 'a NUL byte' check nul.cu

# --- CUDA's own headers; a missing cluster.sync before a peer's shared memory is read, and a missing __syncthreads
cat >swap.cu <<'EOF'
#include <cooperative_groups.h>
#include <cuda/ptx>
namespace cg = cooperative_groups;

extern "C" __global__ void __cluster_dims__(2, 1, 1) swap(const float *x, float *y) {
    __shared__ float s;
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cuda::ptx::get_sreg_cluster_ctarank();
    s = x[rank];
    cluster.sync();  // !fix
    y[rank] = *cluster.map_shared_rank(&s, rank ^ 1);
    cluster.sync();
}
EOF
swap=(--grid 2 --arg 'f32[2]=iota' --arg 'f32[2]=zeros' --print 1 --hazards on)
if "$ptxgen" check swap.cu >out 2>err; then
    gives '1.0 0.0' exec swap.cu "${swap[@]}"
    sed -i '/!fix/d' swap.cu
    finds 1 '' exec swap.cu "${swap[@]}"
    says 'swap.cu:10:'
    says '[peer-not-entered]
    y[rank] = *cluster.map_shared_rank(&s, rank ^ 1);'
    "$ptxgen" exec swap.cu "${swap[@]}" --json >out 2>err
    json 'o["file"] == "swap.cu" and all(f["file"] == "<PTX of swap.cu>" for f in o["findings"])'
    json '{f["source"]["line"] for f in o["findings"]} >= {9, 10}'
else
    grep -q 'cannot open source file' err || failed 'check swap.cu' 'it fails'
    echo 'there are no headers of CUDA'
fi
cat >pairs.cu <<'EOF'
__device__ __forceinline__ int neighbour(const int *s, int i) {
    return s[i ^ 32];
}

__global__ void pairs(int *x) {
    __shared__ int s[64];
    s[threadIdx.x] = threadIdx.x;
    x[threadIdx.x] = neighbour(s, threadIdx.x);
}
EOF
finds 1 '' exec pairs.cu --block 64 --arg 'u32[64]=zeros' --hazards on
says 'pairs.cu:2:5: error: pairs.cu:7 (PTX line '
says '[race-block]
    return s[i ^ 32];
    ^
note: neighbour, inlined at pairs.cu:8:5
    x[threadIdx.x] = neighbour(s, threadIdx.x);
    ^
note: PTX line '
finds 1 '' exec -x cu - --block 64 --arg 'u32[64]=zeros' --hazards on <pairs.cu
says '<stdin>:2:5: error: '
says '    return s[i ^ 32];'

# --- kept: the second time NVRTC does not compile
gives 'pairs.cu' cache
run cache clear
finish
