// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void fill(unsigned *x, unsigned long long n) {
    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
#ifdef FAULT
    n++;
#endif
    for (unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        x[i] = (unsigned)i * 3;  // found here
}
