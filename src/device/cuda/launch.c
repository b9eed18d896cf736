// SPDX-License-Identifier: Apache-2.0
// Launching, waiting and timing.
#include <string.h>

#include "error.h"
#include "gpu.h"

static cj_status opt_in(cj_gpu *gpu, CUfunction function, atomic_bool *done, CUfunction_attribute attribute, int value,
                        cj_error *error) {
    if (atomic_load_explicit(done, memory_order_acquire)) return CJ_OK;
    cj_status status = CJ_CU(&gpu->driver, error, FuncSetAttribute, function, attribute, value);
    if (status) cj__driver_note(error, " (attribute %d, value %d)", (int)attribute, value);
    if (!status) atomic_store_explicit(done, true, memory_order_release);
    return status;
}

// All that the device has, so that launches of different sizes cannot lower each other's limit.
static cj_status allow_shared(cj_gpu *gpu, cj_gpu_function *function, uint32_t dynamic_shared, cj_error *error) {
    const cj_limits *limits = &gpu->base.limits;
    uint32_t         fixed = (uint32_t)function->fixed_shared;
    if ((uint64_t)fixed + dynamic_shared <= limits->shared_per_block) return CJ_OK;
    return opt_in(gpu, function->handle, &function->large_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                  (int)(limits->shared_per_block_optin - fixed), error);
}

// Asks the driver how large a cluster of such blocks can be: it depends on how many SMs share a GPC on this very part.
static cj_status ask_cluster(cj_gpu *gpu, cj_gpu_function *function, const CUlaunchConfig *launch, unsigned wanted,
                             cj_error *error) {
    const char *name = function->base.contract.entry;
    int         largest = 0;
    if (!gpu->driver.OccupancyMaxPotentialClusterSize) {
        const uint32_t version = gpu->base.limits.driver_version;
        cj__fail(error, CJ_UNSUPPORTED,
                 "%s: a cluster of %u blocks needs cuOccupancyMaxPotentialClusterSize, which the driver (CUDA %u.%u) "
                 "lacks", name, wanted, version / 1000, version % 1000 / 10);
        cj__hint(error, "use at most %u blocks a cluster, or install a driver for CUDA 12 or later",
                 gpu->base.limits.max_cluster_portable);
        return CJ_UNSUPPORTED;
    }
    CUlaunchConfig question = *launch;
    question.attrs = NULL;
    question.numAttrs = 0;
    cj_status status =
        CJ_CU(&gpu->driver, error, OccupancyMaxPotentialClusterSize, &largest, function->handle, &question);
    if (status) return status;
    if (largest < (int)wanted) {
        cj__fail(error, CJ_CONTRACT, "%s: cluster of %u blocks exceeds the %d that %s can place with %u B of dynamic "
                 "shared memory", name, wanted, largest, gpu->base.limits.name, launch->sharedMemBytes);
        cj__rule(error, "cluster-device");
        cj__hint(error, "use a cluster of at most %d blocks, less shared memory, or fewer threads a block", largest);
        return CJ_CONTRACT;
    }
    atomic_store_explicit(&function->cluster_known, wanted, memory_order_release);
    return CJ_OK;
}

static cj_status allow_cluster(cj_gpu *gpu, cj_gpu_function *function, const CUlaunchConfig *launch, cj_dim3 cluster,
                               cj_error *error) {
    unsigned blocks = cluster.x * cluster.y * cluster.z;  // within the contract's limit
    if (blocks <= gpu->base.limits.max_cluster_portable) return CJ_OK;
    if (blocks <= atomic_load_explicit(&function->cluster_known, memory_order_acquire)) return CJ_OK;
    cj_status status = opt_in(gpu, function->handle, &function->large_cluster,
                              CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, error);
    return status ? status : ask_cluster(gpu, function, launch, blocks, error);
}

static void note_launch(const cj_function *function, const CUlaunchConfig *how, cj_dim3 cluster, cj_error *error) {
    cj__driver_note(error, " (entry %s: grid %u x %u x %u, block %u x %u x %u, cluster %u x %u x %u, %u B of dynamic "
                           "shared memory)",
                    function->contract.entry, how->gridDimX, how->gridDimY, how->gridDimZ, how->blockDimX,
                    how->blockDimY, how->blockDimZ, cluster.x, cluster.y, cluster.z, how->sharedMemBytes);
}

static cj_status launch(cj_gpu *gpu, const cj_launch_config *config, cj_error *error) {
    cj_gpu_function  *function = (cj_gpu_function *)(void *)config->function;
    const cj_dim3     cluster = config->cluster;
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                   .value.clusterDim = {cluster.x, cluster.y, cluster.z}};
    CUlaunchConfig how = {
        .gridDimX = config->grid.x,
        .gridDimY = config->grid.y,
        .gridDimZ = config->grid.z,
        .blockDimX = config->block.x,
        .blockDimY = config->block.y,
        .blockDimZ = config->block.z,
        .sharedMemBytes = config->dynamic_shared,
        .hStream = config->stream,
        .attrs = &attribute,
        .numAttrs = cluster.x ? 1 : 0,
    };
    cj_status status = allow_shared(gpu, function, config->dynamic_shared, error);
    if (!status) status = allow_cluster(gpu, function, &how, cluster, error);
    if (status) return status;

    void **arguments = (void **)(uintptr_t)config->arguments;  // the driver only reads them, though it says no const
    status = CJ_CU(&gpu->driver, error, LaunchKernelEx, &how, function->handle, arguments, NULL);
    if (status) note_launch(&function->base, &how, cluster, error);
    return status;
}

cj_status cj__gpu_launch(cj_device *device, const cj_launch_config *config, cj_error *error) {
    cj_gpu   *gpu = cj__gpu(device);
    bool      pushed;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = launch(gpu, config, error);
    cj__gpu_leave(gpu, pushed);
    return status;
}

cj_status cj__gpu_synchronize(cj_device *device, cj_stream stream, cj_error *error) {
    cj_gpu   *gpu = cj__gpu(device);
    bool      pushed;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, StreamSynchronize, stream);
    cj__gpu_leave(gpu, pushed);
    return status;
}

typedef struct stopwatch {
    CUevent start, stop;
} stopwatch;

static cj_status run_timed(const cj_driver *driver, const stopwatch *watch, CUstream stream,
                           cj_status (*work)(void *user, cj_error *error), void *user, float *milliseconds,
                           cj_error *error) {
    cj_status status = CJ_CU(driver, error, EventRecord, watch->start, stream);
    if (!status) status = work(user, error);
    if (!status) status = CJ_CU(driver, error, EventRecord, watch->stop, stream);
    if (!status) status = CJ_CU(driver, error, EventSynchronize, watch->stop);
    if (!status) status = CJ_CU(driver, error, EventElapsedTime, milliseconds, watch->start, watch->stop);
    return status;
}

cj_status cj__gpu_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                       double *milliseconds, cj_error *error) {
    cj_gpu          *gpu = cj__gpu(device);
    const cj_driver *driver = &gpu->driver;
    stopwatch        watch = {NULL, NULL};
    float            elapsed = 0;
    bool             pushed;
    cj_status        status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(driver, error, EventCreate, &watch.start, CU_EVENT_DEFAULT);
    if (!status) status = CJ_CU(driver, error, EventCreate, &watch.stop, CU_EVENT_DEFAULT);
    if (!status) status = run_timed(driver, &watch, stream, work, user, &elapsed, error);
    if (watch.stop) driver->EventDestroy(watch.stop);
    if (watch.start) driver->EventDestroy(watch.start);
    cj__gpu_leave(gpu, pushed);
    if (!status) *milliseconds = (double)elapsed;
    return status;
}
