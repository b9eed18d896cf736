// SPDX-License-Identifier: Apache-2.0
// Devices: what they are, what they allow, and their peers; versions, and the driver's entry points.
#include <stddef.h>
#include <string.h>

#include "runtime.h"

PASS(cudaDeviceSynchronize, (void), cuCtxSynchronize())

cudaError_t cudaGetDeviceCount(int *count) {
    REQUIRE(count);
    *count = 0;
    BEGIN_WITHOUT_CONTEXT();
    TRY(cuDeviceGetCount(count));
    return *count ? cudaSuccess : cj__fail(cudaErrorNoDevice);
}

// ---- attributes, whose numbers are the driver's

_Static_assert((int)cudaDevAttrClusterLaunch == (int)CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH &&
                   (int)cudaDevAttrHostMemoryPoolsSupported == (int)CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED,
               "the attributes of devices have the driver's numbers");

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    REQUIRE(value);
    BEGIN_WITHOUT_CONTEXT();
    return cj__result(cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device));
}

// A member of cudaDeviceProp, from an attribute. `wide`: a size_t, otherwise an int.
typedef struct property_row {
    size_t             offset;
    CUdevice_attribute attribute;
    bool               wide;
} property_row;

#define INT(member, attribute) \
    { offsetof(struct cudaDeviceProp, member), CU_DEVICE_ATTRIBUTE_##attribute, false }
#define SIZE(member, attribute) \
    { offsetof(struct cudaDeviceProp, member), CU_DEVICE_ATTRIBUTE_##attribute, true }

static const property_row properties[] = {
    SIZE(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
    INT(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
    INT(warpSize, WARP_SIZE),
    SIZE(memPitch, MAX_PITCH),
    INT(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
    INT(maxThreadsDim[0], MAX_BLOCK_DIM_X),
    INT(maxThreadsDim[1], MAX_BLOCK_DIM_Y),
    INT(maxThreadsDim[2], MAX_BLOCK_DIM_Z),
    INT(maxGridSize[0], MAX_GRID_DIM_X),
    INT(maxGridSize[1], MAX_GRID_DIM_Y),
    INT(maxGridSize[2], MAX_GRID_DIM_Z),
    SIZE(totalConstMem, TOTAL_CONSTANT_MEMORY),
    INT(major, COMPUTE_CAPABILITY_MAJOR),
    INT(minor, COMPUTE_CAPABILITY_MINOR),
    SIZE(textureAlignment, TEXTURE_ALIGNMENT),
    SIZE(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
    INT(multiProcessorCount, MULTIPROCESSOR_COUNT),
    INT(integrated, INTEGRATED),
    INT(canMapHostMemory, CAN_MAP_HOST_MEMORY),
    INT(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
    INT(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH),
    INT(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH),
    INT(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT),
    INT(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
    INT(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT),
    INT(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
    INT(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
    INT(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH),
    INT(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH),
    INT(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
    INT(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH),
    INT(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT),
    INT(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH),
    INT(maxTexture3DAlt[0], MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
    INT(maxTexture3DAlt[1], MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
    INT(maxTexture3DAlt[2], MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
    INT(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH),
    INT(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
    INT(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
    INT(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
    INT(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
    INT(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
    INT(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
    INT(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
    INT(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH),
    INT(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH),
    INT(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT),
    INT(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH),
    INT(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT),
    INT(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH),
    INT(maxSurface1DLayered[0], MAXIMUM_SURFACE1D_LAYERED_WIDTH),
    INT(maxSurface1DLayered[1], MAXIMUM_SURFACE1D_LAYERED_LAYERS),
    INT(maxSurface2DLayered[0], MAXIMUM_SURFACE2D_LAYERED_WIDTH),
    INT(maxSurface2DLayered[1], MAXIMUM_SURFACE2D_LAYERED_HEIGHT),
    INT(maxSurface2DLayered[2], MAXIMUM_SURFACE2D_LAYERED_LAYERS),
    INT(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH),
    INT(maxSurfaceCubemapLayered[0], MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH),
    INT(maxSurfaceCubemapLayered[1], MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS),
    SIZE(surfaceAlignment, SURFACE_ALIGNMENT),
    INT(concurrentKernels, CONCURRENT_KERNELS),
    INT(ECCEnabled, ECC_ENABLED),
    INT(pciBusID, PCI_BUS_ID),
    INT(pciDeviceID, PCI_DEVICE_ID),
    INT(pciDomainID, PCI_DOMAIN_ID),
    INT(tccDriver, TCC_DRIVER),
    INT(asyncEngineCount, ASYNC_ENGINE_COUNT),
    INT(unifiedAddressing, UNIFIED_ADDRESSING),
    INT(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
    INT(l2CacheSize, L2_CACHE_SIZE),
    INT(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
    INT(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
    INT(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
    INT(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
    INT(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
    SIZE(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    INT(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
    INT(managedMemory, MANAGED_MEMORY),
    INT(isMultiGpuBoard, MULTI_GPU_BOARD),
    INT(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
    INT(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
    INT(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
    INT(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
    INT(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
    INT(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
    INT(cooperativeLaunch, COOPERATIVE_LAUNCH),
    SIZE(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    INT(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
    INT(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
    INT(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
    INT(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
    SIZE(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
    INT(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
    INT(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
    INT(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED),
    INT(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
    INT(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
    INT(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
    INT(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS),
    INT(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING),
    INT(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
    INT(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED),
    INT(ipcEventSupported, IPC_EVENT_SUPPORTED),
    INT(clusterLaunch, CLUSTER_LAUNCH),
    INT(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
    INT(deviceNumaConfig, NUMA_CONFIG),
    INT(deviceNumaId, NUMA_ID),
    INT(mpsEnabled, MPS_ENABLED),
    INT(hostNumaId, HOST_NUMA_ID),
    INT(gpuPciDeviceID, GPU_PCI_DEVICE_ID),
    INT(gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID),
    INT(hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED),
};

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *result, int device) {
    struct cudaDeviceProp found;
    REQUIRE(result);
    BEGIN_WITHOUT_CONTEXT();
    memset(&found, 0, sizeof found);
    TRY(cuDeviceGetName(found.name, (int)sizeof found.name, device));
    TRY(cuDeviceGetUuid((CUuuid *)&found.uuid, device));
    TRY(cuDeviceTotalMem(&found.totalGlobalMem, device));
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++) {
        char *at = (char *)&found + properties[i].offset;
        int   value = 0;
        TRY(cuDeviceGetAttribute(&value, properties[i].attribute, device));
        const size_t wide = (size_t)value;
        if (properties[i].wide)
            memcpy(at, &wide, sizeof wide);
        else
            memcpy(at, &value, sizeof value);
    }
    *result = found;
    return cudaSuccess;
}

// The device that is nearest to a wish: all of them are alike here, so it is the first that is as capable.
cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
    REQUIRE(device);
    REQUIRE(wanted);
    int count = 0;
    BEGIN_WITHOUT_CONTEXT();
    TRY(cuDeviceGetCount(&count));
    *device = 0;
    for (int i = 0; i < count; i++) {
        int major = 0, minor = 0;
        TRY(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i));
        TRY(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i));
        if (major < wanted->major || (major == wanted->major && minor < wanted->minor)) continue;
        *device = i;
        break;
    }
    return cudaSuccess;
}

PASS(cudaDeviceGetPCIBusId, (char *text, int size, int device), cuDeviceGetPCIBusId(text, size, device))
PASS(cudaDeviceGetByPCIBusId, (int *device, const char *text), cuDeviceGetByPCIBusId(device, text))

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *elements, const struct cudaChannelFormatDesc *channels,
                                                 int device) {
    CUarray_format format = CU_AD_FORMAT_FLOAT;
    unsigned       count = 0;
    REQUIRE(elements);
    REQUIRE(channels);
    if (!cj__format_of(channels, &format, &count))
        return cj__refuse(__func__, cudaErrorInvalidChannelDescriptor, "there is no such format");
    BEGIN();
    return cj__result(cuDeviceGetTexture1DLinearMaxWidth(elements, format, count, device));
}

// ---- what is set on the current device

PASS(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value), cuCtxSetLimit((CUlimit)limit, value))
PASS(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit), cuCtxGetLimit(value, (CUlimit)limit))
PASS(cudaDeviceSetCacheConfig, (enum cudaFuncCache config), cuCtxSetCacheConfig((CUfunc_cache)config))
PASS(cudaDeviceGetCacheConfig, (enum cudaFuncCache * config), cuCtxGetCacheConfig((CUfunc_cache *)config))
// Shared memory has banks of four bytes; a choice is taken without effect.
PASS(cudaDeviceSetSharedMemConfig, (enum cudaSharedMemConfig config),
     (unsigned)config > cudaSharedMemBankSizeEightByte ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS)

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config) {
    REQUIRE(config);
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
}

PASS(cudaCtxResetPersistingL2Cache, (void), cuCtxResetPersistingL2Cache())
PASS(cudaDeviceFlushGPUDirectRDMAWrites,
     (enum cudaFlushGPUDirectRDMAWritesTarget target, enum cudaFlushGPUDirectRDMAWritesScope scope),
     cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)target, (CUflushGPUDirectRDMAWritesScope)scope))
PASS(cudaProfilerStart, (void), CUDA_SUCCESS)
PASS(cudaProfilerStop, (void), CUDA_SUCCESS)

// ---- peers

PASS(cudaDeviceCanAccessPeer, (int *can, int device, int peer), cuDeviceCanAccessPeer(can, device, peer))
PASS(cudaDeviceGetP2PAttribute, (int *value, enum cudaDeviceP2PAttr attribute, int from, int to),
     cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attribute, from, to))

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    CUcontext context = NULL;
    CUdevice  device = 0;
    BEGIN();
    TRY(cj__device(&device));
    if (peer == device) return cj__refuse(__func__, cudaErrorInvalidDevice, "device %d is no peer of its own", peer);
    TRY(cj__primary(peer, &context));
    return cj__result(cuCtxEnablePeerAccess(context, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    CUcontext context = NULL;
    BEGIN();
    TRY(cj__primary(peer, &context));
    return cj__result(cuCtxDisablePeerAccess(context));
}

// ---- versions and entry points

cudaError_t cudaRuntimeGetVersion(int *version) {
    REQUIRE(version);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    REQUIRE(version);
    SPEAK_FOR(__func__);
    return cj__result(cuDriverGetVersion(version));
}

// cudaEnableDefault, cudaEnableLegacyStream and cudaEnablePerThreadDefaultStream are the driver's flags. A function that is
// not there is an answer of `found`; it is an error only where nobody asks for it.
static cudaError_t entry_point(const char *call, const char *name, void **function, unsigned version,
                               unsigned long long flags, enum cudaDriverEntryPointQueryResult *found) {
    CUdriverProcAddressQueryResult answer = CU_GET_PROC_ADDRESS_SUCCESS;
    if (!name || !function)
        return cj__refuse(call, cudaErrorInvalidValue, "the name or the place of the function is NULL");
    BEGIN_FOR(call);
    const CUresult result = cuGetProcAddress(name, function, (int)version, flags, &answer);
    if (found) *found = (enum cudaDriverEntryPointQueryResult)answer;
    if (found && (result == CUDA_ERROR_NOT_FOUND || (!result && answer))) {
        *function = NULL;
        return cudaSuccess;
    }
    return cj__result(result);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *found) {
    return entry_point(__func__, name, function, version, flags, found);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function, unsigned version,
                                                  unsigned long long                    flags,
                                                  enum cudaDriverEntryPointQueryResult *found) {
    return entry_point(__func__, name, function, version, flags ? flags : cudaEnablePerThreadDefaultStream, found);
}

cudaError_t cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *found) {
    return entry_point(__func__, name, function, CUDART_VERSION, flags, found);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *name, void **function, unsigned long long flags,
                                         enum cudaDriverEntryPointQueryResult *found) {
    return cudaGetDriverEntryPointByVersion_ptsz(name, function, CUDART_VERSION, flags, found);
}
