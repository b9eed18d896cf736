// SPDX-License-Identifier: Apache-2.0
// Two stages of asynchronous copies on cuda::barrier: a bulk copy fills one while the other is summed.
// run: pipeline --grid 1 --block 128 --arg s32[8192]=iota --arg s32[1]=zeros --arg s32=8 --print 1
// prints: 33550336
#include <cuda/barrier>
#include <cuda/ptx>
#include <utility>
using barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void pipeline(const int *in, int *out, int tiles) {
    constexpr int       tile = 1024;
    __shared__ alignas(16) int stage[2][tile];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier  full[2];
    if (threadIdx.x == 0) {
        init(&full[0], blockDim.x);
        init(&full[1], blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    auto load = [&](int t) {
        if (threadIdx.x == 0) {
            cuda::memcpy_async(stage[t % 2], in + t * tile, cuda::aligned_size_t<16>(sizeof(stage[0])), full[t % 2]);
        }
        return full[t % 2].arrive();
    };
    int sum = 0;
    barrier::arrival_token token[2] = {load(0), load(1)};
    for (int t = 0; t < tiles; t++) {
        full[t % 2].wait(std::move(token[t % 2]));
        for (int i = threadIdx.x; i < tile; i += blockDim.x) sum += stage[t % 2][i];
        __syncthreads();
        if (t + 2 < tiles) token[t % 2] = load(t + 2);
    }
    atomicAdd(out, sum);
}
