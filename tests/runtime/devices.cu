// SPDX-License-Identifier: Apache-2.0
// with: CLUSTERJIT_GPUS=2
// Two devices: the thread's device, properties, limits, peers, versions, entry points.
#include <cuda.h>

#include <cuda_profiler_api.h>
#include <thread>

#include "check.cuh"

__global__ void add(int *to, const int *from) { *to += *from; }

static void a_thread_has_a_device() {
    int count = 0, device = -1;
    OK(cudaGetDeviceCount(&count));
    IS(count == 2);
    OK(cudaGetDevice(&device));
    IS(device == 0);
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&device));
    IS(device == 1);
    std::thread([] {
        int its = -1;
        OK(cudaGetDevice(&its));
        IS(its == 0);
    }).join();
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(2));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaGetDevice(&device));
    IS(device == 1);
    OK(cudaSetDevice(0));
    EXPECT(cudaErrorInvalidValue, cudaGetDevice(nullptr));
    EXPECT(cudaErrorInvalidValue, cudaGetDeviceCount(nullptr));
}

static void properties_are_the_attributes() {
    cudaDeviceProp about;
    int            value = 0;
    OK(cudaGetDeviceProperties(&about, 0));
    IS(about.major == 9 && about.minor == 0 && about.warpSize == 32 && about.clusterLaunch == 1);
    IS(about.maxThreadsPerBlock == 1024 && about.maxThreadsDim[2] == 64 && about.totalGlobalMem > 0);
    IS(about.name[0] && strlen(about.name) < sizeof about.name);
    const struct {
        cudaDeviceAttr attribute;
        long long      property;
    } rows[] = {{cudaDevAttrMultiProcessorCount, about.multiProcessorCount},
                {cudaDevAttrMaxSharedMemoryPerBlockOptin, (long long)about.sharedMemPerBlockOptin},
                {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (long long)about.sharedMemPerMultiprocessor},
                {cudaDevAttrMaxGridDimX, about.maxGridSize[0]},
                {cudaDevAttrL2CacheSize, about.l2CacheSize},
                {cudaDevAttrMaxRegistersPerBlock, about.regsPerBlock},
                {cudaDevAttrComputeCapabilityMajor, 9}};
    for (const auto &row : rows) {
        OK(cudaDeviceGetAttribute(&value, row.attribute, 1));
        IS(value == row.property);
    }
    EXPECT(cudaErrorInvalidDevice, cudaGetDeviceProperties(&about, 2));
    EXPECT(cudaErrorInvalidValue, cudaGetDeviceProperties(nullptr, 0));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 7));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0));
    about.major = 9;
    OK(cudaChooseDevice(&value, &about));
    IS(value == 0);
}

static void devices_have_names_on_the_bus() {
    char name[32];
    int  device = -1;
    OK(cudaDeviceGetPCIBusId(name, sizeof name, 1));
    OK(cudaDeviceGetByPCIBusId(&device, name));
    IS(device == 1);
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&device, nullptr));
}

static void limits_are_kept() {
    size_t value = 0;
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    IS(value >= 1 << 20);
    EXPECT(cudaErrorUnsupportedLimit, cudaDeviceSetLimit((cudaLimit)77, 1));
    cudaFuncCache cache = cudaFuncCachePreferNone;
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
    OK(cudaDeviceGetCacheConfig(&cache));
    int least = 9, greatest = 9;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    IS(least >= greatest);
}

static void peers_reach_each_other() {
    int can = 0, *here = nullptr, *there = nullptr;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    IS(can == 1);
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    IS(can == 0);
    here = to_device<int>({1});
    OK(cudaSetDevice(1));
    there = to_device<int>({41});
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
    add<<<1, 1>>>(here, there);
    OK(cudaDeviceSynchronize());
    IS(to_host(here, 1)[0] == 42);
    OK(cudaMemcpyPeer(there, 1, here, 0, sizeof(int)));
    IS(to_host(there, 1)[0] == 42);
    OK(cudaMemcpyPeerAsync(here, 0, there, 1, sizeof(int), 0));
    EXPECT(cudaErrorInvalidDevice, cudaMemcpyPeer(there, 5, here, 0, sizeof(int)));
    OK(cudaDeviceDisablePeerAccess(1));
    EXPECT(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
    OK(cudaFree(here));
    OK(cudaFree(there));
}

static void versions_and_entry_points_are_the_drivers() {
    int runtime = 0, driver = 0, count = 0;
    OK(cudaRuntimeGetVersion(&runtime));
    OK(cudaDriverGetVersion(&driver));
    IS(runtime == CUDART_VERSION && driver >= runtime);
    void                           *function = nullptr;
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    OK(cudaGetDriverEntryPoint("cuDeviceGetCount", &function, cudaEnableDefault, &found));
    IS(found == cudaDriverEntryPointSuccess && function);
    if (function) IS(((CUresult(*)(int *))function)(&count) == CUDA_SUCCESS && count == 2);
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000, cudaEnableDefault, &found));
    IS(found == cudaDriverEntryPointSymbolNotFound && !function);
    OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 11000, cudaEnableDefault, &found));
    IS(found == cudaDriverEntryPointVersionNotSufficent);
    OK(cudaProfilerStart());
    OK(cudaProfilerStop());
}

int main() {
    a_thread_has_a_device();
    properties_are_the_attributes();
    devices_have_names_on_the_bus();
    limits_are_kept();
    peers_reach_each_other();
    versions_and_entry_points_are_the_drivers();
    return report();
}
