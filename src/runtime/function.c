// SPDX-License-Identifier: Apache-2.0
// What is asked of kernels and set on them: attributes, occupancy, names and parameters; and libraries of kernels.
#include "runtime.h"

_Static_assert((int)cudaFuncAttributeClusterSchedulingPolicyPreference ==
                   (int)CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
               "the attributes of kernels have the driver's numbers");

// Leaves a function of the API unless `named` is a kernel; declares `function`.
#define FUNCTION(named)                                                          \
    BEGIN();                                                                     \
    CUfunction function = NULL;                                                  \
    do {                                                                         \
        const cudaError_t unknown = cj__function_of(__func__, named, &function); \
        if (unknown) return unknown;                                             \
    } while (0)

// ---- attributes

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *kernel) {
    REQUIRE(attributes);
    FUNCTION(kernel);
    struct cudaFuncAttributes found = {0};
    int                       shared = 0, constant = 0, local = 0;
    const struct {
        CUfunction_attribute attribute;
        int                 *value;
    } wanted[] = {
        {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared},
        {CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant},
        {CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local},
        {CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &found.maxThreadsPerBlock},
        {CU_FUNC_ATTRIBUTE_NUM_REGS, &found.numRegs},
        {CU_FUNC_ATTRIBUTE_PTX_VERSION, &found.ptxVersion},
        {CU_FUNC_ATTRIBUTE_BINARY_VERSION, &found.binaryVersion},
        {CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &found.cacheModeCA},
        {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &found.maxDynamicSharedSizeBytes},
        {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &found.preferredShmemCarveout},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &found.clusterDimMustBeSet},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &found.requiredClusterWidth},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &found.requiredClusterHeight},
        {CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &found.requiredClusterDepth},
        {CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, &found.clusterSchedulingPolicyPreference},
        {CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &found.nonPortableClusterSizeAllowed},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        TRY(cuFuncGetAttribute(wanted[i].value, wanted[i].attribute, function));
    found.sharedSizeBytes = (size_t)shared;
    found.constSizeBytes = (size_t)constant;
    found.localSizeBytes = (size_t)local;
    *attributes = found;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value) {
    FUNCTION(kernel);
    return cj__result(cuFuncSetAttribute(function, (CUfunction_attribute)attribute, value));
}

PASS(cudaKernelSetAttributeForDevice, (cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value, int device),
     cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel, device))

cudaError_t cudaFuncSetCacheConfig(const void *kernel, enum cudaFuncCache config) {
    FUNCTION(kernel);
    return cj__result(cuFuncSetCacheConfig(function, (CUfunc_cache)config));
}

// Shared memory has had banks of one width for long: the choice is taken without effect.
cudaError_t cudaFuncSetSharedMemConfig(const void *kernel, enum cudaSharedMemConfig config) {
    FUNCTION(kernel);
    (void)function, (void)config;
    return cudaSuccess;
}

cudaError_t cudaFuncGetName(const char **name, const void *kernel) {
    REQUIRE(name);
    FUNCTION(kernel);
    return cj__result(cuFuncGetName(name, function));
}

cudaError_t cudaFuncGetParamInfo(const void *kernel, size_t index, size_t *offset, size_t *size) {
    FUNCTION(kernel);
    return cj__result(cuFuncGetParamInfo(function, index, offset, size));
}

// ---- occupancy

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel, int threads,
                                                                   size_t dynamic, unsigned flags) {
    REQUIRE(blocks);
    FUNCTION(kernel);
    return cj__result(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic, flags));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                          size_t dynamic) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, kernel, threads, dynamic, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic, const void *kernel, int blocks, int threads) {
    REQUIRE(dynamic);
    FUNCTION(kernel);
    return cj__result(cuOccupancyAvailableDynamicSMemPerBlock(dynamic, function, blocks, threads));
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *kernel, const cudaLaunchConfig_t *config) {
    REQUIRE(size);
    REQUIRE(config);
    FUNCTION(kernel);
    const CUlaunchConfig driver = cj__launch_config(config, config->stream);
    return cj__result(cuOccupancyMaxPotentialClusterSize(size, function, &driver));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *kernel, const cudaLaunchConfig_t *config) {
    REQUIRE(clusters);
    REQUIRE(config);
    FUNCTION(kernel);
    const CUlaunchConfig driver = cj__launch_config(config, config->stream);
    return cj__result(cuOccupancyMaxActiveClusters(clusters, function, &driver));
}

// ---- libraries, whose options have the driver's numbers

_Static_assert((int)cudaJitOverrideDirectiveValues == (int)CU_JIT_OVERRIDE_DIRECTIVE_VALUES &&
                   (int)cudaLibraryBinaryIsPreserved == (int)CU_LIBRARY_BINARY_IS_PRESERVED,
               "the options of libraries have the driver's numbers");

PASS(cudaLibraryLoadData,
     (cudaLibrary_t * library, const void *code, enum cudaJitOption *jit_options, void **jit_values, unsigned jit_count,
      enum cudaLibraryOption *options, void **values, unsigned count),
     cuLibraryLoadData(library, code, (CUjit_option *)jit_options, jit_values, jit_count, (CUlibraryOption *)options,
                       values, count))
PASS(cudaLibraryLoadFromFile,
     (cudaLibrary_t * library, const char *file, enum cudaJitOption *jit_options, void **jit_values, unsigned jit_count,
      enum cudaLibraryOption *options, void **values, unsigned count),
     cuLibraryLoadFromFile(library, file, (CUjit_option *)jit_options, jit_values, jit_count,
                           (CUlibraryOption *)options, values, count))
PASS(cudaLibraryUnload, (cudaLibrary_t library), cuLibraryUnload(library))
PASS(cudaLibraryGetKernel, (cudaKernel_t * kernel, cudaLibrary_t library, const char *name),
     cuLibraryGetKernel(kernel, library, name))
PASS(cudaLibraryGetGlobal, (void **address, size_t *bytes, cudaLibrary_t library, const char *name),
     cuLibraryGetGlobal((CUdeviceptr *)address, bytes, library, name))
PASS(cudaLibraryGetManaged, (void **address, size_t *bytes, cudaLibrary_t library, const char *name),
     cuLibraryGetManaged((CUdeviceptr *)address, bytes, library, name))
PASS(cudaLibraryGetUnifiedFunction, (void **function, cudaLibrary_t library, const char *name),
     cuLibraryGetUnifiedFunction(function, library, name))
PASS(cudaLibraryGetKernelCount, (unsigned *count, cudaLibrary_t library), cuLibraryGetKernelCount(count, library))
PASS(cudaLibraryEnumerateKernels, (cudaKernel_t * kernels, unsigned count, cudaLibrary_t library),
     cuLibraryEnumerateKernels(kernels, count, library))
