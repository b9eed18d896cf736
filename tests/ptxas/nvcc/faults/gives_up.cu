// SPDX-License-Identifier: Apache-2.0
// Kernels that stop themselves, and what they print that is not there.
// run: asserts --block 4 --arg u32[4]=iota
// finds: void asserts(unsigned int *): assertion `x[threadIdx.x] != 2 && "no two"' failed; thread (2, 0, 0) of block (0, 0, 0)
// run: traps --arg u32[4]=zeros
// finds: [trap]
// run: breaks --arg u32[4]=zeros
// finds: [trap]
// run: prints_nowhere --arg u32[4]=zeros
// finds: [out-of-bounds]
// run: prints_unwritten --arg u32[4]=zeros
// finds: [uninitialized]
// run: launches --arg u32[4]=zeros
// refuses: dynamic parallelism: launch the kernel from the host
#include <cassert>
#include <cstdio>
#include <cstdlib>

extern "C" __global__ void asserts(unsigned *x) { assert(x[threadIdx.x] != 2 && "no two"); }

extern "C" __global__ void traps(unsigned *x) {
    if (!x[1]) __trap();
}

extern "C" __global__ void breaks(unsigned *x) {
    if (!x[1]) __brkpt();
}

extern "C" __global__ void prints_nowhere(unsigned *x) { printf("%s\n", (const char *)(size_t)(x[0] + 64)); }

extern "C" __global__ void prints_unwritten(unsigned *x) {
    const unsigned *block = (const unsigned *)malloc(16);
    printf("%u\n", block[1]);
}

extern "C" __device__ void *cudaGetParameterBufferV2(void *, dim3, dim3, unsigned);

extern "C" __global__ void launches(unsigned *x) {
    if (!x[1]) cudaGetParameterBufferV2(nullptr, dim3(1), dim3(1), 0);
}
