// SPDX-License-Identifier: Apache-2.0
// An all-reduce over NVLink multicast: each device reduces its part of all devices' arrays, and writes the sums to all of them.
extern "C" __global__ void fill(float *x, int rank, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = (float)(i * (rank + 1));
}

extern "C" __global__ void all_reduce(float4 *all, int first, int last) {
    for (int i = first + blockIdx.x * blockDim.x + threadIdx.x; i < last; i += gridDim.x * blockDim.x) {
        float4 v;
#ifdef FAULT
        v = __ldcv(all + i);  // found here
#else
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                     : "l"(all + i)
                     : "memory");
#endif
        asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(all + i), "f"(v.x), "f"(v.y),
                     "f"(v.z), "f"(v.w)
                     : "memory");
    }
}
