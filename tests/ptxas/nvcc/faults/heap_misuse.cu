// SPDX-License-Identifier: Apache-2.0
// Mistakes with malloc and free in kernels.
// run: twice --block 3 --arg u32[4]=zeros
// finds: [double-free]
// run: after --arg u32[4]=zeros
// finds: [use-after-free]
// run: beyond --arg u32[4]=zeros
// finds: [out-of-bounds]
// run: before --arg u32[4]=zeros
// finds: [out-of-bounds]
// run: unwritten --arg u32[4]=zeros
// finds: [uninitialized]
// run: foreign --arg u32[4]=zeros
// finds: [foreign-free]
// run: inside --arg u32[4]=zeros
// finds: [foreign-free]
// run: in_use --block 64 --arg u32[64]=zeros
// finds: [race-warp]
// run: reused --arg u32[4]=zeros
// finds: [uninitialized]
#include <cstdlib>

__device__ unsigned *kept;

extern "C" __global__ void twice(unsigned *x) {
    unsigned *block = (unsigned *)malloc(16);
    free(block);
    if (threadIdx.x == 1) free(block);
}

extern "C" __global__ void after(unsigned *x) {
    unsigned *block = (unsigned *)malloc(16);
    block[0] = 3;
    free(block);
    kept = (unsigned *)malloc(16);  // of the same size: the freed one is not given out at once
    x[0] = block[0];
}

extern "C" __global__ void beyond(unsigned *x) {
    unsigned *block = (unsigned *)malloc(20), *next = (unsigned *)malloc(20);
    next[0] = 1;
    block[5] = 3;
    x[0] = next[0];
}

extern "C" __global__ void before(unsigned *x) {
    unsigned *block = (unsigned *)malloc(16);
    block[-1] = 3;
}

extern "C" __global__ void unwritten(unsigned *x) {
    const unsigned *block = (const unsigned *)malloc(16);
    x[0] = block[1];
}

extern "C" __global__ void foreign(unsigned *x) { free(x); }

extern "C" __global__ void inside(unsigned *x) {
    unsigned *block = (unsigned *)malloc(64);
    free(block + 4);
}

// Thread 0 frees what the other threads still write.
extern "C" __global__ void in_use(unsigned *x) {
    __shared__ unsigned *block;
    if (threadIdx.x == 0) block = (unsigned *)malloc(64 * sizeof *block);
    __syncthreads();
    unsigned *all = block;
    all[threadIdx.x] = 1;
    if (threadIdx.x == 0) free(all);
}

// The whole heap is given out again: what the block held before is no value.
extern "C" __global__ void reused(unsigned *x) {
    unsigned *block = (unsigned *)malloc(5 << 20);
    block[7] = 3;
    free(block);
    block = (unsigned *)malloc(5 << 20);
    x[0] = block[7];
}
