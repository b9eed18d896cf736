// SPDX-License-Identifier: Apache-2.0
// What a module has besides kernels: constant banks, managed and static variables, function pointers in memory, weak functions,
// clocks.
// run: variables --block 4 --arg s32[4]=iota --print 0
// prints: 1110 1121 1132 1143
// run: pointers --block 4 --arg s32[4]=iota --print 0
// prints: 3 4 1 2
// run: clocks --arg u32[4]=zeros --print 0
// prints: 1 1 1 1
#include <cstdint>

namespace shared {
template <class T> __device__ T grown = 1000;
static __constant__ int         bank[4] = {100, 110, 120, 130};
}  // namespace shared
static __device__ int hidden = 10;
__managed__ int       managed;

extern "C" __global__ void variables(int *x) {
    const int t = threadIdx.x;
    x[t] += shared::grown<int> + shared::bank[t] + hidden + managed;
}

template <int N> __device__ __noinline__ int add(int a) { return a + N; }
typedef int (*function)(int);
__device__ function   table[2] = {add<3>, add<-1>};
__constant__ function last = add<-1>;

extern "C" __global__ void pointers(int *x) {
    const int t = threadIdx.x;
    x[t] = t < 2 ? table[0](x[t]) : t == 2 ? table[1](x[t]) : last(x[t]);
}

// Time goes on, also while a thread sleeps.
extern "C" __global__ void clocks(unsigned *x) {
    uint64_t        before, after;
    const long long ticks = clock64();
    const unsigned  low = (unsigned)clock();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    __nanosleep(1000);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    x[0] = clock64() > ticks;
    x[1] = (unsigned)clock() != low;
    x[2] = after >= before && before > 0;
    __threadfence();
    x[3] = 1;
}
