// SPDX-License-Identifier: Apache-2.0
// The reduction of templates/reduce.c as one writes it in CUDA C++, for comparison: with cooperative groups and a
// cluster (CJ_CLUSTER blocks), and without a cluster (CJ_CLUSTER is 0). Compiled by NVRTC; needs CUDA's headers for
// cooperative groups. CJ_TYPE is the type, CJ_OP the operation as an expression of a and b, CJ_IDENTITY its neutral
// value.
//
// The workspace is ours: a ticket, zero before the first launch and left zero, then 8 bytes from byte 16 on for each
// cluster, or each block without clusters. Blocks have a multiple of 32 threads.
#if CJ_CLUSTER
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#endif

typedef CJ_TYPE element;

static __device__ element op(element a, element b) { return CJ_OP; }

// Of all elements that this thread reads; the grid strides over them.
static __device__ element thread_reduce(const element *x, unsigned long long n) {
    element part = CJ_IDENTITY;
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += (unsigned long long)gridDim.x * blockDim.x)
        part = op(part, x[i]);
    return part;
}

static __device__ element warp_reduce(element value) {
    for (int distance = 16; distance; distance /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, distance));
    return value;
}

// Valid in warp 0.
static __device__ element block_reduce(element value) {
    __shared__ element warp_part[32];
    value = warp_reduce(value);
    if (threadIdx.x % 32 == 0) warp_part[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x >= 32) return value;
    return warp_reduce(threadIdx.x < blockDim.x / 32 ? warp_part[threadIdx.x] : (element)CJ_IDENTITY);
}

// Warp 0 of each of `groups` groups has its part; the last one to come combines them.
static __device__ void grid_reduce(element part, unsigned group, unsigned groups, element *out, void *workspace) {
    unsigned *ticket = (unsigned *)workspace;
    unsigned char *parts = (unsigned char *)workspace + 16;
    unsigned mine = 0;
    if (threadIdx.x == 0) {
        *(volatile element *)(parts + 8ull * group) = part;
        __threadfence();
        mine = atomicInc(ticket, groups - 1);
    }
    if (__shfl_sync(0xffffffffu, mine, 0) != groups - 1) return;
    __threadfence();
    part = CJ_IDENTITY;
    for (unsigned i = threadIdx.x; i < groups; i += 32) part = op(part, *(volatile element *)(parts + 8ull * i));
    part = warp_reduce(part);
    if (threadIdx.x == 0) *out = part;
}

#if CJ_CLUSTER
extern "C" __global__ void __cluster_dims__(CJ_CLUSTER, 1, 1)
    reduce_reference(const element *x, element *out, unsigned long long n, void *workspace) {
    __shared__ element block_part[CJ_CLUSTER];
    cg::cluster_group cluster = cg::this_cluster();
    element part = block_reduce(thread_reduce(x, n));
    cluster.sync();  // rank 0 runs
    if (threadIdx.x == 0) *cluster.map_shared_rank(&block_part[cluster.block_rank()], 0) = part;
    cluster.sync();  // every part is there
    if (cluster.block_rank() || threadIdx.x >= 32) return;
    part = warp_reduce(threadIdx.x < CJ_CLUSTER ? block_part[threadIdx.x] : (element)CJ_IDENTITY);
    grid_reduce(part, blockIdx.x / CJ_CLUSTER, gridDim.x / CJ_CLUSTER, out, workspace);
}
#else
extern "C" __global__ void reduce_reference(const element *x, element *out, unsigned long long n, void *workspace) {
    element part = block_reduce(thread_reduce(x, n));
    if (threadIdx.x < 32) grid_reduce(part, blockIdx.x, gridDim.x, out, workspace);
}
#endif
