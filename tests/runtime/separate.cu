// SPDX-License-Identifier: Apache-2.0
// Two source files that are compiled separately and linked: their PTX is linked, too.
#include "check.cuh"

extern __device__ int  counter;
extern __device__ int  scaled(int value);
extern __global__ void other(int *to);
static __device__ int  hidden = 1;

__global__ void mine(int *to) {
    counter++;
    *to = scaled(20) + hidden;
}

int main() {
    int *p = nullptr, read = 0, three = 3;
    OK(cudaMalloc(&p, 4));
    OK(cudaMemcpyToSymbol(counter, &three, 4));
    mine<<<1, 1>>>(p);
    OK(cudaDeviceSynchronize());
    IS(to_host(p, 1)[0] == 41);
    other<<<1, 1>>>(p);
    IS(to_host(p, 1)[0] == 104);
    OK(cudaMemcpyFromSymbol(&read, counter, 4));
    IS(read == 4);
    OK(cudaFree(p));
    return report();
}
