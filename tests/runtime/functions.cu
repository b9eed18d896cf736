// SPDX-License-Identifier: Apache-2.0
// What is asked of kernels: attributes, occupancy, names, parameters; libraries of kernels that are loaded by name.
#include "check.cuh"

__constant__ int limits[4];

__global__ void __launch_bounds__(128) bounded(int *p, float x, char c) {
    __shared__ int held[64];
    held[threadIdx.x % 64] = c + limits[0];
    __syncthreads();
    p[threadIdx.x] = held[0] + (int)x;
}

__global__ void __cluster_dims__(4, 1, 1) clustered(int *p) { p[blockIdx.x] = 1; }
__global__ void open_clusters(int *p) { p[blockIdx.x] = 1; }

static void attributes() {
    cudaFuncAttributes about;
    OK(cudaFuncGetAttributes(&about, bounded));
    IS(about.sharedSizeBytes == 256 && about.maxThreadsPerBlock == 128 && about.numRegs > 0);
    IS(about.ptxVersion == 90 && about.binaryVersion == 90 && !about.clusterDimMustBeSet);
    IS(about.maxDynamicSharedSizeBytes >= 48 * 1024 - 256);
    OK(cudaFuncGetAttributes(&about, clustered));
    IS(about.requiredClusterWidth == 4 && about.requiredClusterHeight == 1 && about.requiredClusterDepth == 1);
    IS(about.maxThreadsPerBlock == 1024);
    OK(cudaFuncSetAttribute(bounded, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
    OK(cudaFuncGetAttributes(&about, bounded));
    IS(about.preferredShmemCarveout == 100);
    OK(cudaFuncSetCacheConfig(bounded, cudaFuncCachePreferL1));
    EXPECT(cudaErrorInvalidValue, cudaFuncSetAttribute(bounded, (cudaFuncAttribute)99, 1));
    EXPECT(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&about, (const void *)attributes));
    EXPECT(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&about, (const void *)nullptr));
    EXPECT(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&about, (const void *)limits));
    EXPECT(cudaErrorInvalidValue, cudaFuncGetAttributes(nullptr, bounded));
}

static void names_and_parameters() {
    const char *name = nullptr;
    size_t      offset = 0, size = 0;
    OK(cudaFuncGetName(&name, (const void *)bounded));
    IS(name && !strcmp(name, "_Z7boundedPifc"));
    OK(cudaFuncGetParamInfo((const void *)bounded, 1, &offset, &size));
    IS(offset == 8 && size == 4);
    OK(cudaFuncGetParamInfo((const void *)bounded, 2, &offset, &size));
    IS(offset == 12 && size == 1);
    EXPECT(cudaErrorInvalidValue, cudaFuncGetParamInfo((const void *)bounded, 3, &offset, &size));
}

static void occupancy() {
    int    blocks = 0, threads = 0, grid = 0;
    size_t dynamic = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 0));
    IS(blocks == 16);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 100 << 10));
    IS(blocks == 2);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &threads, bounded, 0, 0));
    IS(threads == 128 && grid > 0);
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&dynamic, bounded, 2, 128));
    IS(dynamic > 64 << 10 && dynamic < 114 << 10);
    EXPECT(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, bounded, 128, 0));
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t  config = {};
    int                 clusters = 0, size = 0;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {4, 1, 1};
    config.gridDim = dim3(64);
    config.blockDim = dim3(1024);
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaOccupancyMaxActiveClusters(&clusters, open_clusters, &config));
    IS(clusters > 0);
    config.numAttrs = 0;
    OK(cudaOccupancyMaxPotentialClusterSize(&size, open_clusters, &config));
    IS(size == 8);
}

static void libraries() {
    static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                              ".visible .global .align 4 .u32 count = 5;\n"
                              ".visible .entry bump(.param .u64 to) {\n.reg .u64 %p; .reg .u32 %v;\n"
                              "ld.param.u64 %p, [to];\nld.global.u32 %v, [count];\nst.global.u32 [%p], %v;\nret;\n}\n";
    cudaLibrary_t library = nullptr;
    cudaKernel_t  kernel = nullptr, all[2] = {};
    unsigned      count = 0;
    int          *p = nullptr, *variable = nullptr;
    size_t        bytes = 0;
    OK(cudaMalloc(&p, 4));
    OK(cudaLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cudaLibraryGetKernelCount(&count, library));
    IS(count == 1);
    OK(cudaLibraryGetKernel(&kernel, library, "bump"));
    OK(cudaLibraryEnumerateKernels(all, 1, library));
    IS(all[0] == kernel);
    OK(cudaLibraryGetGlobal((void **)&variable, &bytes, library, "count"));
    IS(bytes == 4);
    OK(cudaMemset(variable, 1, 4));
    void *arguments[] = {&p};
    OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(1), arguments, 0, 0));
    IS(to_host(p, 1)[0] == 0x01010101);
    cudaFuncAttributes about;
    OK(cudaFuncGetAttributes(&about, (const void *)kernel));
    EXPECT(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "bumps"));
    EXPECT(cudaErrorSymbolNotFound, cudaLibraryGetGlobal((void **)&variable, &bytes, library, "counts"));
    OK(cudaLibraryUnload(library));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLibraryUnload(library));
    EXPECT(cudaErrorInvalidPtx, cudaLibraryLoadData(&library, ".version 8.0\n.target sm_90\nnonsense", nullptr, nullptr,
                                                    0, nullptr, nullptr, 0));
    EXPECT(cudaErrorFileNotFound,
           cudaLibraryLoadFromFile(&library, "/nowhere.ptx", nullptr, nullptr, 0, nullptr, nullptr, 0));
    cudaFunction_t function = nullptr;
    OK(cudaGetFuncBySymbol(&function, (const void *)bounded));
    OK(cudaGetKernel(&kernel, (const void *)bounded));
    IS(function && kernel);
    OK(cudaFree(p));
}

int main() {
    attributes();
    names_and_parameters();
    occupancy();
    libraries();
    return report();
}
