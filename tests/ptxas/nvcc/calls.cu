// SPDX-License-Identifier: Apache-2.0
// Calls that stay calls, recursion, pointers to functions, switch tables, local arrays, constant and managed memory,
// and tables of addresses. Compiled with -lineinfo.
// run: calls --block 2 --arg s32[2]=zeros --arg s32=2 --arg u64=4539628425463201792 --print 0
// prints: 70 70
// run: calls --block 2 --arg s32[2]=zeros --arg s32=3 --arg u64=4539628425463201792 --print 0
// prints: 173 173
// run: calls --block 2 --arg s32[2]=zeros --arg s32=9 --arg u64=4539628425463201792 --print 0
// prints: 437 437
// run: calls --block 2 --arg s32[2]=zeros --arg s32=8 --arg u64=4539628425463201792
// finds: out-of-bounds
// run: calls --block 2 --arg s32[2]=zeros --arg s32=10 --arg u64=4539628425463201792
// finds: trap
// run: recursion --block 4 --arg u64[4]=zeros --arg u32=10 --print 0
// prints: 55 55 55 55
struct pair {
    int    key;
    double value;
    char   name[9];
};

__constant__ int    table[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
__constant__ double scale = 0.1;
__device__ int      counter = 7;
__device__ int     *where = &counter + 1;
__device__ const char *words[] = {"one", "two", "three"};
__managed__ float   shared_with_host;
__device__ pair     known[2] = {{1, 2.5, "first"}, {-1, -0.0, "second"}};

__device__ __noinline__ double apply(pair p, float2 v) { return p.value * v.x + p.name[p.key & 7] * v.y; }
__device__ __noinline__ int twice(int x) { return 2 * x + counter; }
__device__ __noinline__ int thrice(int x) { return 3 * x - counter; }
__device__ __noinline__ unsigned long long fib(unsigned n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ int (*const steps[])(int) = {twice, thrice};

extern "C" __global__ void calls(int *out, int how, float2 v) {
    int local[40];
    for (int i = 0; i < 40; i++) local[i] = i * how;
    int x = local[how % 40];
    switch (how) {
    case 0: x = twice(x); break;
    case 1: x = thrice(x); break;
    case 2: x += table[x & 1][x & 3]; break;
    case 3: x ^= local[(x + 3) % 40]; break;
    case 4: x = __popc(x); break;
    case 5: x = __clz(x); break;
    case 6: x = __brev(x); break;
    case 7: x = __ffs(x); break;
    case 8: x = *where; break;
    case 9: x = words[x % 3][0]; break;
    default: __trap();
    }
    x += steps[x & 1](x);
    out[threadIdx.x] = x + (int)apply(known[how & 1], v) + (int)(scale * shared_with_host);
}

extern "C" __global__ void recursion(unsigned long long *out, unsigned n) { out[threadIdx.x] = fib(n); }
