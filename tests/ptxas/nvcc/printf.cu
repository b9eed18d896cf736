// SPDX-License-Identifier: Apache-2.0
// Device printf: the formats of the CUDA C++ Programming Guide. Output comes block after block.
// run: formats --arg s64[4]=iota --print 0
// prints: -7 +7 007 0x2a 052 2A 18446744073709551615 -1
// prints: [    1.50] [1.500e+00 ] [1.5] [0x1.8p+0] [inf] [-0.000]
// prints: [text] [    te] [text  ] [(null)] c 100%
// prints: [  5] [5   ] [1.50] 44 4294967295
// prints: none 0
// prints: 5
// prints: 0 5 2 3
// run: many --arg s32[2]=zeros --print 0
// prints: 0123456789abcdef0123456789abcdef %x %d.
// prints: 32 0
// run: blocks --grid 3 --block 2
// prints: block 0, thread 0
// prints: block 0, thread 1
// prints: block 1, thread 0
// prints: block 1, thread 1
// prints: block 2, thread 0
// prints: block 2, thread 1
#include <cmath>
#include <cstdio>

extern "C" __global__ void formats(long long *x) {
    __shared__ char local[8];
    for (int i = 0; i < 5; i++) local[i] = "text"[i];
    printf("%d %+d %03d %#x %#o %X %llu %hhd\n", -7, 7, 7, 42, 42, 42, ~0ull, 255);
    printf("[%8.2f] [%-10.3e] [%g] [%a] [%f] [%.3f]\n", 1.5, 1.5, 1.5, 1.5, (double)INFINITY, -0.0);
    printf("[%s] [%6.2s] [%-6s] [%s] %c %d%%\n", local, local, local, (const char *)nullptr, 'c', 100);
    printf("[%*d] [%*d] [%.*f] %hhd %lu\n", 3, 5, -4, 5, 2, 1.5, 300, 0xfffffffful);
    printf("none %lld\n", x[0]);
    x[1] = printf("%lld\n", x[1] + 4) + 4;
}

// Arguments after the 32nd are ignored, and their specifications are printed as they are.
extern "C" __global__ void many(int *count) {
    count[0] = printf("%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x %x %d.\n", 0, 1, 2, 3, 4, 5, 6,
                      7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17);
}

extern "C" __global__ void blocks() { printf("block %u, thread %u\n", blockIdx.x, threadIdx.x); }
