// SPDX-License-Identifier: Apache-2.0
// Launching and waiting. A launch makes one driver call; two on a default stream, or four if another context is
// current.
#include "error.h"
#include "gpu.h"

// Since CUDA 12.8; its value has the form of a cluster dimension.
#define PREFERRED_CLUSTER_DIMENSION ((CUlaunchAttributeID)11)

// An attribute takes 72 bytes, so only those that were asked for are written.
typedef struct attribute_list {
    unsigned          count;
    CUlaunchAttribute item[8];
} attribute_list;

static inline CUlaunchAttributeValue *add(attribute_list *list, CUlaunchAttributeID id) {
    CUlaunchAttribute *item = &list->item[list->count++];
    item->id = id;
    return &item->value;
}

static inline void add_extent(attribute_list *list, CUlaunchAttributeID id, cj_dim3 extent) {
    CUlaunchAttributeValue *value = add(list, id);
    value->clusterDim.x = extent.x;
    value->clusterDim.y = extent.y;
    value->clusterDim.z = extent.z;
}

static CUclusterSchedulingPolicy policy_of(cj_cluster_scheduling scheduling) {
    return scheduling == CJ_CLUSTER_SCHEDULING_SPREAD ? CU_CLUSTER_SCHEDULING_POLICY_SPREAD
                                                      : CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
}

static inline void add_attributes(attribute_list *list, const cj_launch_attributes *a) {
    if (a->cluster_scheduling) {
        add(list, CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE)->clusterSchedulingPolicyPreference =
            policy_of(a->cluster_scheduling);
    }
    if (a->preferred_cluster.x) add_extent(list, PREFERRED_CLUSTER_DIMENSION, a->preferred_cluster);
    if (a->programmatic)
        add(list, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)->programmaticStreamSerializationAllowed = 1;
    if (a->cooperative) add(list, CU_LAUNCH_ATTRIBUTE_COOPERATIVE)->cooperative = 1;
    if (a->priority) add(list, CU_LAUNCH_ATTRIBUTE_PRIORITY)->priority = a->priority;
    if (a->sync_domain)
        add(list, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN)->memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    if (a->sync_domain_map[0] || a->sync_domain_map[1]) {
        CUlaunchMemSyncDomainMap *map = &add(list, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)->memSyncDomainMap;
        map->default_ = a->sync_domain_map[0];
        map->remote = a->sync_domain_map[1];
    }
}

CJ_COLD static void note_launch(const cj_launch_config *config, cj_dim3 cluster, cj_error *error) {
    const cj_dim3 grid = config->grid, block = config->block;
    cj__driver_note(error, " (entry %s: grid %u x %u x %u, block %u x %u x %u, cluster %u x %u x %u, %u B of dynamic "
                           "shared memory)",
                    config->function->contract.entry, grid.x, grid.y, grid.z, block.x, block.y, block.z, cluster.x,
                    cluster.y, cluster.z, config->dynamic_shared);
}

// The driver takes a stream of our context while any context is current, but a default stream is that of the current
// context.
static bool is_default(CUstream stream) {
    return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

cj_status cj__gpu_launch(cj_device *device, const cj_launch_config *config, cj_dim3 cluster, cj_error *error) {
    cj_gpu                *gpu = cj__gpu(device);
    const cj_gpu_function *function = (const cj_gpu_function *)(const void *)config->function;
    attribute_list         attributes;
    attributes.count = 0;
    if (cluster.x) add_extent(&attributes, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster);
    add_attributes(&attributes, &config->attributes);
    const CUlaunchConfig how = {
        .gridDimX = config->grid.x,
        .gridDimY = config->grid.y,
        .gridDimZ = config->grid.z,
        .blockDimX = config->block.x,
        .blockDimY = config->block.y,
        .blockDimZ = config->block.z,
        .sharedMemBytes = config->dynamic_shared,
        .hStream = config->stream,
        .attrs = attributes.item,
        .numAttrs = attributes.count,
    };
    void    **arguments = (void **)(uintptr_t)config->arguments;  // the driver only reads them, though it says no const
    bool      pushed = false;
    cj_status status = is_default(how.hStream) ? cj__gpu_enter(gpu, &pushed, error) : CJ_OK;
    if (status) return status;
    status = CJ_CU(&gpu->driver, error, LaunchKernelEx, &how, function->handle, arguments, NULL);
    cj__gpu_leave(gpu, pushed);
    if (status) note_launch(config, cluster, error);
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
