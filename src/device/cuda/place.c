// SPDX-License-Identifier: Apache-2.0
// How many blocks and clusters fit: a function's opt-ins, and the driver's answers about a shape. A launch of a shape
// that was launched before calls nothing here.
#include "error.h"
#include "gpu.h"

static bool has_blocks(cj_dim3 d) { return d.x || d.y || d.z; }

// The shape is within the contract's limits.
static unsigned volume(cj_dim3 d) { return d.x * d.y * d.z; }

// ---- opt-ins

static cj_status opt_in(cj_gpu *gpu, CUfunction function, atomic_bool *done, CUfunction_attribute attribute, int value,
                        cj_error *error) {
    if (atomic_load_explicit(done, memory_order_acquire)) return CJ_OK;
    cj_status status = CJ_CU(&gpu->driver, error, FuncSetAttribute, function, attribute, value);
    if (status) cj__driver_note(error, " (attribute %d, value %d)", (int)attribute, value);
    if (!status) atomic_store_explicit(done, true, memory_order_release);
    return status;
}

// Opts in to all shared memory that the device has, so that launches of different sizes cannot lower each other's limit.
static cj_status allow_shared(cj_gpu *gpu, cj_gpu_function *function, uint32_t dynamic_shared, cj_error *error) {
    const cj_limits *limits = &gpu->base.limits;
    uint32_t         fixed = (uint32_t)function->fixed_shared;
    if ((uint64_t)fixed + dynamic_shared <= limits->shared_per_block) return CJ_OK;
    return opt_in(gpu, function->handle, &function->large_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                  (int)(limits->shared_per_block_optin - fixed), error);
}

static cj_status allow_cluster(cj_gpu *gpu, cj_gpu_function *function, cj_error *error) {
    return opt_in(gpu, function->handle, &function->large_cluster, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                  1, error);
}

// ---- questions to the driver

// A shape in the form that the driver's occupancy calls take.
typedef struct question {
    CUlaunchAttribute cluster;
    CUlaunchConfig    config;
} question;

static void ask_about(const cj_launch_shape *shape, question *q) {
    const cj_dim3 cluster = shape->cluster;
    *q = (question){
        .cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {cluster.x, cluster.y, cluster.z}},
        .config = {.gridDimX = shape->grid.x,
                   .gridDimY = shape->grid.y,
                   .gridDimZ = shape->grid.z,
                   .blockDimX = shape->block.x,
                   .blockDimY = shape->block.y,
                   .blockDimZ = shape->block.z,
                   .sharedMemBytes = shape->dynamic_shared}};
}

static cj_status refuse_driver(const cj_gpu *gpu, const char *call, cj_error *error) {
    const uint32_t version = gpu->base.limits.driver_version;
    cj__fail(error, CJ_UNSUPPORTED, "the driver (CUDA %u.%u) lacks %s, which tells how clusters fit", version / 1000,
             version % 1000 / 10, call);
    cj__hint(error, "use at most %u blocks a cluster, or install a driver for CUDA 12 or later",
             gpu->base.limits.max_cluster_portable);
    return CJ_UNSUPPORTED;
}

// The largest cluster of such blocks: it depends on how many SMs of a GPC this chip has enabled.
static cj_status ask_largest(cj_gpu *gpu, const cj_gpu_function *function, const cj_launch_shape *shape, uint32_t *size,
                             cj_error *error) {
    question q;
    int      largest = 0;
    if (!gpu->driver.OccupancyMaxPotentialClusterSize)
        return refuse_driver(gpu, "cuOccupancyMaxPotentialClusterSize", error);
    ask_about(shape, &q);
    cj_status status = CJ_CU(&gpu->driver, error, OccupancyMaxPotentialClusterSize, &largest, function->handle,
                             &q.config);
    *size = (uint32_t)largest;
    return status;
}

static cj_status ask_blocks(cj_gpu *gpu, const cj_gpu_function *function, const cj_launch_shape *shape,
                            uint32_t *blocks, cj_error *error) {
    int       count = 0;
    cj_status status = CJ_CU(&gpu->driver, error, OccupancyMaxActiveBlocksPerMultiprocessor, &count, function->handle,
                             (int)volume(shape->block), shape->dynamic_shared);
    *blocks = (uint32_t)count;
    return status;
}

static cj_status ask_clusters(cj_gpu *gpu, const cj_gpu_function *function, const cj_launch_shape *shape,
                              uint32_t *clusters, cj_error *error) {
    question q;
    int      count = 0;
    if (!gpu->driver.OccupancyMaxActiveClusters) return refuse_driver(gpu, "cuOccupancyMaxActiveClusters", error);
    ask_about(shape, &q);
    q.config.attrs = &q.cluster;
    q.config.numAttrs = 1;
    cj_status status = CJ_CU(&gpu->driver, error, OccupancyMaxActiveClusters, &count, function->handle, &q.config);
    *clusters = (uint32_t)count;
    return status;
}

// ---- a launch of a new shape

static cj_status refuse_cluster(const cj_gpu *gpu, const cj_launch_shape *shape, uint32_t largest, const char *entry,
                                cj_error *error) {
    cj__fail(error, CJ_CONTRACT,
             "%s: cluster of %u blocks exceeds the %u that %s can place with %u B of dynamic shared memory", entry,
             volume(shape->cluster), largest, gpu->base.limits.name, shape->dynamic_shared);
    cj__rule(error, "cluster-device");
    cj__hint(error, "use a cluster of at most %u blocks, less shared memory, or fewer threads a block", largest);
    return CJ_CONTRACT;
}

static cj_status place_large_cluster(cj_gpu *gpu, cj_gpu_function *function, const cj_launch_shape *shape,
                                     cj_error *error) {
    uint32_t  largest = 0;
    cj_status status = allow_cluster(gpu, function, error);
    if (!status) status = ask_largest(gpu, function, shape, &largest, error);
    if (status || volume(shape->cluster) <= largest) return status;
    return refuse_cluster(gpu, shape, largest, function->base.contract.entry, error);
}

// How many of the launch's clusters, or of its blocks without clusters, are resident at once.
static cj_status count_resident(cj_gpu *gpu, const cj_gpu_function *function, cj_launch_shape *shape, cj_error *error) {
    if (has_blocks(shape->cluster)) return ask_clusters(gpu, function, shape, &shape->active_clusters, error);
    uint32_t  blocks = 0;
    cj_status status = ask_blocks(gpu, function, shape, &blocks, error);
    shape->active_clusters = blocks * gpu->base.limits.sm_count;
    return status;
}

static cj_status prepare(cj_gpu *gpu, cj_gpu_function *function, cj_launch_shape *shape, cj_error *error) {
    const uint32_t portable = gpu->base.limits.max_cluster_portable;
    cj_status      status = allow_shared(gpu, function, shape->dynamic_shared, error);
    if (!status && volume(shape->preferred) > portable) status = allow_cluster(gpu, function, error);
    if (!status && volume(shape->cluster) > portable) status = place_large_cluster(gpu, function, shape, error);
    if (!status && shape->cooperative) status = count_resident(gpu, function, shape, error);
    return status;
}

cj_status cj__gpu_admit(cj_function *base, cj_launch_shape *shape, cj_error *error) {
    cj_gpu *gpu = cj__gpu(base->module->device);
    bool    pushed;
    shape->cluster = cj__contract_cluster(&base->contract, shape->cluster);
    shape->block = cj__contract_block(&base->contract, shape->block);  // the driver counts what it is asked about
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = prepare(gpu, (cj_gpu_function *)(void *)base, shape, error);
    cj__gpu_leave(gpu, pushed);
    return status;
}

// ---- occupancy

static cj_status place(cj_gpu *gpu, cj_gpu_function *function, const cj_launch_shape *shape, cj_placement *placement,
                       cj_error *error) {
    const bool in_clusters = has_blocks(shape->cluster);
    cj_status  status = allow_shared(gpu, function, shape->dynamic_shared, error);
    if (!status && in_clusters) status = allow_cluster(gpu, function, error);
    if (!status) status = ask_blocks(gpu, function, shape, &placement->blocks_per_sm, error);
    placement->active_clusters = placement->blocks_per_sm * gpu->base.limits.sm_count;
    if (status || !in_clusters) return status;
    status = ask_largest(gpu, function, shape, &placement->max_cluster, error);
    if (!status && volume(shape->cluster) <= placement->max_cluster)
        return ask_clusters(gpu, function, shape, &placement->active_clusters, error);
    placement->active_clusters = 0;
    return status;
}

cj_status cj__gpu_occupancy(cj_function *base, const cj_launch_shape *shape, cj_placement *placement, cj_error *error) {
    cj_gpu   *gpu = cj__gpu(base->module->device);
    bool      pushed;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    *placement = (cj_placement){0};
    status = place(gpu, (cj_gpu_function *)(void *)base, shape, placement, error);
    cj__gpu_leave(gpu, pushed);
    return status;
}
