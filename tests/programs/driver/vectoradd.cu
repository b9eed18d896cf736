// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
#ifdef FAULT
    if (i <= n)
#else
    if (i < n)
#endif
        c[i] = a[i] + b[i];  // found here
}
