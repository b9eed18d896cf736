// SPDX-License-Identifier: Apache-2.0
// Opening a GPU, its limits and its memory.
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "error.h"

static cj_status gpu_alloc(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error) {
    cj_gpu     *gpu = cj__gpu(device);
    CUdeviceptr address = 0;
    bool        pushed;
    cj_status   status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, MemAlloc, &address, bytes);
    if (status) cj__driver_note(error, " (asked for %zu bytes)", bytes);
    if (!status) *memory = address;
    cj__gpu_leave(gpu, pushed);
    return status;
}

static void gpu_free(cj_device *device, cj_ptr memory) {
    cj_gpu *gpu = cj__gpu(device);
    bool    pushed;
    if (cj__gpu_enter(gpu, &pushed, NULL)) return;  // the context is gone, and its memory with it
    gpu->driver.MemFree(memory);
    cj__gpu_leave(gpu, pushed);
}

// For pinned memory cuMemcpyHtoDAsync may return before it has read `from`, so wait for the copy.
static cj_status gpu_write(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream,
                           cj_error *error) {
    cj_gpu   *gpu = cj__gpu(device);
    bool      pushed;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, MemcpyHtoDAsync, to, from, bytes, stream);
    if (!status) status = CJ_CU(&gpu->driver, error, StreamSynchronize, stream);
    cj__gpu_leave(gpu, pushed);
    return status;
}

static cj_status gpu_read(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error) {
    cj_gpu   *gpu = cj__gpu(device);
    bool      pushed;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, MemcpyDtoHAsync, to, from, bytes, stream);
    if (!status) status = CJ_CU(&gpu->driver, error, StreamSynchronize, stream);
    cj__gpu_leave(gpu, pushed);
    return status;
}

static cj_status gpu_fill(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream, cj_error *error) {
    cj_gpu   *gpu = cj__gpu(device);
    bool      pushed;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, MemsetD8Async, to, byte, bytes, stream);
    cj__gpu_leave(gpu, pushed);
    return status;
}

static cj_status encode_tiled(cj_gpu *gpu, const cj_tensor_tile *tile, CUtensorMap *map, cj_error *error) {
    return CJ_CU(&gpu->driver, error, TensorMapEncodeTiled, map, (CUtensorMapDataType)tile->type, tile->rank,
                 (void *)(uintptr_t)tile->address, tile->dims, tile->strides, tile->box, tile->element_strides,
                 (CUtensorMapInterleave)tile->interleave, (CUtensorMapSwizzle)tile->swizzle,
                 (CUtensorMapL2promotion)tile->l2, (CUtensorMapFloatOOBfill)tile->fill);
}

static cj_status encode_im2col(cj_gpu *gpu, const cj_tensor_tile *tile, CUtensorMap *map, cj_error *error) {
    return CJ_CU(&gpu->driver, error, TensorMapEncodeIm2col, map, (CUtensorMapDataType)tile->type, tile->rank,
                 (void *)(uintptr_t)tile->address, tile->dims, tile->strides, tile->lower, tile->upper, tile->channels,
                 tile->pixels, tile->element_strides, (CUtensorMapInterleave)tile->interleave,
                 (CUtensorMapSwizzle)tile->swizzle, (CUtensorMapL2promotion)tile->l2,
                 (CUtensorMapFloatOOBfill)tile->fill);
}

static cj_status gpu_encode_tensor(cj_device *device, const cj_tensor_tile *tile, cj_tensormap *map, cj_error *error) {
    cj_gpu *gpu = cj__gpu(device);
    bool    pushed;
    _Static_assert(sizeof(cj_tensormap) == sizeof(CUtensorMap), "a tensor map is a CUtensorMap");
    if (tile->box ? !gpu->driver.TensorMapEncodeTiled : !gpu->driver.TensorMapEncodeIm2col) {
        cj__fail(error, CJ_UNSUPPORTED, "the driver lacks cuTensorMapEncode%s", tile->box ? "Tiled" : "Im2col");
        cj__hint(error, "install a driver for CUDA 12 or later");
        return CJ_UNSUPPORTED;
    }
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    CUtensorMap *made = (CUtensorMap *)(void *)map;
    status = tile->box ? encode_tiled(gpu, tile, made, error) : encode_im2col(gpu, tile, made, error);
    cj__gpu_leave(gpu, pushed);
    return status;
}

static void gpu_close(cj_device *device) {
    cj_gpu *gpu = cj__gpu(device);
    if (gpu->retained) gpu->driver.DevicePrimaryCtxRelease(gpu->device);
    cj__free(gpu);
}

static const cj_device_ops gpu_ops = {
    .kind = "gpu",
    .close = gpu_close,
    .alloc = gpu_alloc,
    .free = gpu_free,
    .write = gpu_write,
    .read = gpu_read,
    .fill = gpu_fill,
    .load = cj__gpu_load,
    .compile = cj__gpu_compile,
    .compiler = cj__gpu_compiler,
    .unload = cj__gpu_unload,
    .function = cj__gpu_function,
    .global = cj__gpu_global,
    .admit = cj__gpu_admit,
    .launch = cj__gpu_launch,
    .synchronize = cj__gpu_synchronize,
    .time = cj__gpu_time,
    .time_graph = cj__gpu_time_graph,
    .occupancy = cj__gpu_occupancy,
    .encode_tensor = gpu_encode_tensor,
    .reach = cj__gpu_reach,
    .share = cj__gpu_share,
    .open_shared = cj__gpu_open_shared,
    .close_shared = cj__gpu_close_shared,
    .busy = cj__gpu_busy,
    .number = cj__gpu_number,
    .locate = cj__gpu_locate,
    .settle = cj__gpu_settle,
    .make_side = cj__gpu_make_side,
    .free_side = cj__gpu_free_side,
    .follow = cj__gpu_follow,
};

#define LIMIT(attribute, field) \
    { CU_DEVICE_ATTRIBUTE_##attribute, offsetof(cj_limits, field) }

static const struct {
    CUdevice_attribute attribute;
    size_t             at;  // a uint32_t
} limit_table[] = {
    LIMIT(MULTIPROCESSOR_COUNT, sm_count),
    LIMIT(WARP_SIZE, warp_size),
    LIMIT(MAX_THREADS_PER_BLOCK, max_threads_per_block),
    LIMIT(MAX_BLOCK_DIM_X, max_block.x),
    LIMIT(MAX_BLOCK_DIM_Y, max_block.y),
    LIMIT(MAX_BLOCK_DIM_Z, max_block.z),
    LIMIT(MAX_GRID_DIM_X, max_grid.x),
    LIMIT(MAX_GRID_DIM_Y, max_grid.y),
    LIMIT(MAX_GRID_DIM_Z, max_grid.z),
    LIMIT(MAX_THREADS_PER_MULTIPROCESSOR, max_threads_per_sm),
    LIMIT(MAX_BLOCKS_PER_MULTIPROCESSOR, max_blocks_per_sm),
    LIMIT(MAX_REGISTERS_PER_BLOCK, registers_per_block),
    LIMIT(MAX_REGISTERS_PER_MULTIPROCESSOR, registers_per_sm),
    LIMIT(MAX_SHARED_MEMORY_PER_BLOCK, shared_per_block),
    LIMIT(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, shared_per_block_optin),
    LIMIT(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, shared_per_sm),
    LIMIT(RESERVED_SHARED_MEMORY_PER_BLOCK, shared_reserved),
};

static cj_status read_attribute(cj_gpu *gpu, CUdevice_attribute attribute, int *value, cj_error *error) {
    cj_status status = CJ_CU(&gpu->driver, error, DeviceGetAttribute, value, attribute, gpu->device);
    if (status) cj__driver_note(error, " (attribute %d)", (int)attribute);
    return status;
}

// How many blocks a cluster may have. There is no device attribute for it: every device with clusters promises the
// portable size, the largest size is a property of the compute capability, and cj__gpu_admit asks the driver before a
// launch goes beyond 8.
static cj_status read_cluster_limits(cj_gpu *gpu, cj_limits *limits, cj_error *error) {
    enum { PORTABLE = 8, LARGEST = 16 };
    int clusters = 0;
    if (limits->compute_capability < 90) return CJ_OK;  // an older driver may not know the attribute
    cj_status status = read_attribute(gpu, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, &clusters, error);
    if (status || !clusters) return status;
    limits->max_cluster_portable = PORTABLE;
    limits->max_cluster = limits->compute_capability < 120 ? LARGEST : PORTABLE;
    return CJ_OK;
}

static cj_status read_limits(cj_gpu *gpu, cj_error *error) {
    cj_limits *limits = &gpu->base.limits;
    int        version = 0, major = 0, minor = 0, l2 = 0;
    size_t     memory = 0;
    cj_status  status = CJ_CU(&gpu->driver, error, DriverGetVersion, &version);
    if (!status) status = CJ_CU(&gpu->driver, error, DeviceGetName, limits->name, sizeof limits->name, gpu->device);
    if (!status) status = CJ_CU(&gpu->driver, error, DeviceTotalMem, &memory, gpu->device);
    if (!status) status = read_attribute(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major, error);
    if (!status) status = read_attribute(gpu, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor, error);
    if (!status) status = read_attribute(gpu, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &l2, error);
    for (size_t i = 0; !status && i < sizeof limit_table / sizeof limit_table[0]; i++) {
        int value = 0;
        status = read_attribute(gpu, limit_table[i].attribute, &value, error);
        memcpy((char *)limits + limit_table[i].at, &value, sizeof value);
    }
    limits->driver_version = (uint32_t)version;
    limits->compute_capability = (uint32_t)(10 * major + minor);
    limits->global_bytes = memory;
    limits->l2_bytes = (uint64_t)l2;
    return status ? status : read_cluster_limits(gpu, limits, error);
}

// Which launch attributes the device supports.
static cj_status read_support(cj_gpu *gpu, cj_error *error) {
    cj_launch_support *support = &gpu->base.support;
    int                domains = 1, most;
    bool               pushed;
    cj_status          status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, CtxGetStreamPriorityRange, &most, &support->priority_least);
    if (!status && gpu->base.limits.driver_version >= 12000)  // an older driver does not know the attribute
        status = read_attribute(gpu, CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, &domains, error);
    support->sync_domains = (uint32_t)domains;
    cj__gpu_leave(gpu, pushed);
    return status;
}

static cj_status find_device(cj_gpu *gpu, unsigned ordinal, cj_error *error) {
    int       count = 0;
    cj_status status = CJ_CU(&gpu->driver, error, DeviceGetCount, &count);
    if (status) return status;
    if (ordinal < (unsigned)count) return CJ_CU(&gpu->driver, error, DeviceGet, &gpu->device, (int)ordinal);
    cj__fail(error, CJ_NO_DEVICE, "gpu:%u was asked for, but the driver sees %d GPU%s", ordinal, count,
             count == 1 ? "" : "s");
    cj__hint(error, count ? "GPUs are counted from gpu:0" : "see that nvidia-smi lists the GPU");
    return CJ_NO_DEVICE;
}

static cj_status adopt_context(cj_gpu *gpu, CUcontext context, cj_error *error) {
    bool pushed;
    gpu->context = context;
    cj_status status = cj__gpu_enter(gpu, &pushed, error);
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, CtxGetDevice, &gpu->device);
    cj__gpu_leave(gpu, pushed);
    return status;
}

static cj_status retain_context(cj_gpu *gpu, unsigned ordinal, cj_error *error) {
    cj_status status = find_device(gpu, ordinal, error);
    if (!status) status = CJ_CU(&gpu->driver, error, DevicePrimaryCtxRetain, &gpu->context, gpu->device);
    gpu->retained = !status;
    return status;
}

cj_status cj__cuda_open(const cj_device_options *options, unsigned ordinal, cj_device **device, cj_error *error) {
    cj_gpu *gpu = cj__calloc(1, sizeof *gpu);
    if (!gpu) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a device");
    gpu->base.ops = &gpu_ops;
    cj_status status = cj__driver_load(&gpu->driver, options->resolver, options->resolver_user, error);
    if (!status) status = CJ_CU(&gpu->driver, error, Init, 0);
    if (!status) {
        status = options->context ? adopt_context(gpu, options->context, error) : retain_context(gpu, ordinal, error);
    }
    if (!status) status = read_limits(gpu, error);
    if (!status) status = read_support(gpu, error);
    if (status) {
        gpu_close(&gpu->base);
        return status;
    }
    *device = &gpu->base;
    return CJ_OK;
}
