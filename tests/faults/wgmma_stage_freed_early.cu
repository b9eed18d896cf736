// SPDX-License-Identifier: Apache-2.0
// The stage is filled for the next product while wgmma may still read it: wgmma.wait_group comes too late. On a GPU the
// first product has elements of the second, sometimes.
#include <cuda/ptx>
namespace ptx = cuda::ptx;

__device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

extern "C" __global__ void __launch_bounds__(128) kernel(unsigned *out) {
    __shared__ alignas(128) unsigned tile[576];  // 64 x 16 of A, then 16 x 8 of B, two f16 each
    const uint64_t a = static_cast<unsigned>(__cvta_generic_to_shared(tile)) >> 4 | 0x0000001000080000;
    float          d[4] = {};
    unsigned       pair = 0x3c003c00;  // 1, 1
    for (int step = 0; step < 2; step++) {
        for (unsigned i = threadIdx.x; i < 576; i += 128) tile[i] = pair;  // !found
        ptx::fence_proxy_async(ptx::space_shared);
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 0, 1, 1, 0, 0;"  // !found
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(a + 128) : "memory");  // !found
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#ifdef FIXED
        wait();
#endif
        __syncthreads();
        pair = 0x40004000;  // 2, 2
    }
    wait();
    out[threadIdx.x] = static_cast<unsigned>(d[0]);
}
