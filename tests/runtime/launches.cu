// SPDX-License-Identifier: Apache-2.0
// Launches: with <<<>>>, by cudaLaunchKernel, cooperative, with attributes, in clusters; and those that CUDA refuses.
#include <cooperative_groups.h>

#include "check.cuh"

namespace cg = cooperative_groups;

__global__ void where(int *at) {
    at[blockIdx.x * blockDim.x + threadIdx.x] = (int)(blockIdx.x * 1000 + threadIdx.x);
}

__global__ void reverse(int *values) {
    extern __shared__ int held[];
    held[threadIdx.x] = values[threadIdx.x];
    __syncthreads();
    values[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}

__global__ void grid_sum(int *partial, int *sum) {
    partial[blockIdx.x] = (int)blockIdx.x + 1;
    cg::this_grid().sync();
    if (blockIdx.x) return;
    int total = 0;
    for (unsigned i = 0; i < gridDim.x; i++) total += partial[i];
    *sum = total;
}

// Each block gives its rank to the next one of its cluster, through that one's shared memory.
__global__ void pass_on(int *got) {
    __shared__ int         slot;
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned         next = (cluster.block_rank() + 1) % cluster.num_blocks();
    cluster.sync();
    *cluster.map_shared_rank(&slot, next) = (int)cluster.block_rank();
    cluster.sync();
    got[blockIdx.x] = slot;
    cluster.sync();
}

__global__ void __cluster_dims__(2, 1, 1) pairs(int *got) { got[blockIdx.x] = (int)cg::this_cluster().num_blocks(); }

struct Big {
    int       values[60];
    long long last;
};
__global__ void by_value(Big big, char offset, int *to) { *to = big.values[59] + (int)big.last + offset; }

template <class T> __global__ void templated(T *to, T value) { *to = value; }

struct Launching {  // an argument whose constructor launches: configurations nest
    int value;
    Launching(int *at) : value(5) { templated<int><<<1, 1>>>(at, 7); }
};
__global__ void outer(Launching given, int *to) { *to = given.value; }

static int *memory;

static void plain() {
    where<<<3, 5>>>(memory);
    OK(cudaGetLastError());
    IS(to_host(memory, 15)[14] == 2004);
    int   count = 15;
    void *arguments[] = {&memory};
    OK(cudaLaunchKernel((const void *)where, dim3(2), dim3(4), arguments, 0, 0));
    IS(to_host(memory, 8)[7] == 1003);
    std::vector<int> values = {1, 2, 3, 4};
    OK(cudaMemcpy(memory, values.data(), 16, cudaMemcpyHostToDevice));
    reverse<<<1, 4, 16>>>(memory);
    IS(to_host(memory, 4) == (std::vector<int>{4, 3, 2, 1}));
    Big big = {};
    big.values[59] = 30;
    big.last = 10;
    by_value<<<1, 1>>>(big, 2, memory);
    IS(to_host(memory, 1)[0] == 42);
    templated<double><<<1, 1>>>((double *)memory, 1.5);
    IS(to_host((double *)memory, 1)[0] == 1.5);
    outer<<<1, 1>>>(Launching(memory + 1), memory);
    IS(to_host(memory, 2) == (std::vector<int>{5, 7}));
    (void)count;
}

static void refused() {
    where<<<0, 5>>>(memory);
    EXPECT(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    where<<<1, 1025>>>(memory);
    EXPECT(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    where<<<1, dim3(1, 1, 65)>>>(memory);
    EXPECT(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    where<<<dim3(1, 70000), 1>>>(memory);
    EXPECT(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
    where<<<1, 1, 1 << 20>>>(memory);
    EXPECT(cudaErrorInvalidValue, cudaPeekAtLastError());
    reverse<<<1, 4, 100000>>>(memory);  // without cudaFuncSetAttribute
    EXPECT(cudaErrorInvalidValue, cudaPeekAtLastError());
    void *arguments[] = {&memory};
    EXPECT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((const void *)nullptr, dim3(1), dim3(1), arguments, 0, 0));
    EXPECT(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((const void *)refused, dim3(1), dim3(1), arguments, 0, 0));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaLaunchKernel((const void *)where, dim3(1), dim3(1), arguments, 0, (cudaStream_t)0x1234560));
    OK(cudaDeviceSynchronize());
}

static void with_more_shared_memory() {
    std::vector<int> values = {1, 2};
    OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    OK(cudaMemcpy(memory, values.data(), 8, cudaMemcpyHostToDevice));
    reverse<<<1, 2, 100000>>>(memory);
    IS(to_host(memory, 2) == (std::vector<int>{2, 1}));
    EXPECT(cudaErrorInvalidValue, cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
}

static void cooperative() {
    int  *sum = memory + 100;
    void *arguments[] = {&memory, &sum};
    OK(cudaLaunchCooperativeKernel((const void *)grid_sum, dim3(20), dim3(32), arguments, 0, 0));
    IS(to_host(sum, 1)[0] == 210);
    EXPECT(cudaErrorCooperativeLaunchTooLarge,
           cudaLaunchCooperativeKernel((const void *)grid_sum, dim3(100000), dim3(1024), arguments, 0, 0));
}

static cudaError_t launch_clusters(void (*kernel)(int *), unsigned grid, dim3 cluster) {
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t  config = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {cluster.x, cluster.y, cluster.z};
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(grid);
    config.blockDim = dim3(1);
    config.attrs = attributes;
    config.numAttrs = 2;
    return cudaLaunchKernelEx(&config, kernel, memory);
}

static void in_clusters() {
    OK(launch_clusters(pass_on, 8, dim3(4)));
    IS(to_host(memory, 8) == (std::vector<int>{3, 0, 1, 2, 3, 0, 1, 2}));
    pairs<<<4, 1>>>(memory);
    IS(to_host(memory, 4) == (std::vector<int>{2, 2, 2, 2}));
    EXPECT(cudaErrorInvalidClusterSize, launch_clusters(pass_on, 6, dim3(4)));
    EXPECT(cudaErrorInvalidClusterSize, launch_clusters(pass_on, 32, dim3(32)));
    EXPECT(cudaErrorInvalidClusterSize, launch_clusters(pass_on, 16, dim3(16)));
    EXPECT(cudaErrorInvalidClusterSize, launch_clusters(pairs, 8, dim3(4)));
    OK(cudaFuncSetAttribute(pass_on, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(launch_clusters(pass_on, 16, dim3(16)));
    IS(to_host(memory, 16)[0] == 15);
    EXPECT(cudaErrorInvalidValue, cudaLaunchKernelExC(nullptr, (const void *)pairs, nullptr));
}

int main() {
    OK(cudaMalloc(&memory, 4096));
    plain();
    refused();
    with_more_shared_memory();
    cooperative();
    in_clusters();
    OK(cudaFree(memory));
    return report();
}
