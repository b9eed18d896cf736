// SPDX-License-Identifier: Apache-2.0
// A reduction of doubles with compensation, and the mathematics around it: square root, division, exponential.
// run: length --grid 1 --block 512 --arg f64[1024]=const:0.5 --arg f64[1]=zeros --arg u64=1024 --print 1
// prints: 20.278824
#include <math.h>

extern "C" __global__ void __launch_bounds__(512, 1) length(const double *__restrict__ x, double *out, size_t n) {
    __shared__ double part[16];
    double sum = 0, lost = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double term = fma(x[i], x[i], -lost), next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0;
    for (int step = 8; step; step /= 2) sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (threadIdx.x == 0) atomicAdd(out, sqrt(sum) / (1.0 + exp(-sum)) + pow(sum, 0.3) + sinf((float)sum));
}
