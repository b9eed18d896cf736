// SPDX-License-Identifier: Apache-2.0
#include "occupancy.h"

#include <clusterjit/occupancy.h>
#include <stdbool.h>

#include "device.h"
#include "sized.h"

static const char *const limit_name[] = {
#define CJ_X(name, text) [CJ_OCCUPANCY_##name] = text,
    CJ_OCCUPANCY_LIMIT_LIST(CJ_X)
#undef CJ_X
};

enum { LIMIT_COUNT = sizeof limit_name / sizeof *limit_name };

_Static_assert((int)LIMIT_COUNT == (int)CJ_RESOURCE_COUNT && (int)CJ_OCCUPANCY_SHARED == (int)CJ_RESOURCE_SHARED,
               "the public limits are the model's resources");

const char *cj_occupancy_limit_name(cj_occupancy_limit limit) {
    return (unsigned)limit < LIMIT_COUNT ? limit_name[limit] : NULL;
}

static bool has_blocks(cj_dim3 d) { return d.x || d.y || d.z; }

static uint64_t volume(cj_dim3 d) { return (uint64_t)d.x * d.y * d.z; }

// How many blocks are resident at once.
static uint64_t resident(const cj_cluster_occupancy *o) {
    return (uint64_t)o->active_clusters * (o->cluster ? o->cluster : 1);
}

// Computes the SMs in use from the blocks an SM and the clusters of the GPU.
static void count_sms(const cj_limits *limits, cj_cluster_occupancy *o) {
    const uint64_t room = (uint64_t)limits->sm_count * o->blocks_per_sm, blocks = resident(o);
    o->sms_used = o->blocks_per_sm ? (uint32_t)((blocks + o->blocks_per_sm - 1) / o->blocks_per_sm) : 0;
    o->sms_stranded = limits->sm_count - o->sms_used;
    o->gpc_limited = o->cluster > 1 && o->cluster <= limits->max_cluster && blocks + o->cluster <= room;
}

static void count_by_model(const cj_limits *limits, const cj_block_use *use, uint32_t cluster, cj_cluster_occupancy *o) {
    const cj_kernel_use kernel = {
        .threads = use->threads, .registers = use->registers, .shared = use->shared, .cluster = cluster};
    cj_occupancy model;
    cj__occupancy(&kernel, limits, &model);
    *o = (cj_cluster_occupancy){CJ_INIT(cj_cluster_occupancy), .cluster = cluster, .blocks_per_sm = model.blocks_per_sm,
                                .active_clusters = cluster <= limits->max_cluster ? model.active_clusters : 0,
                                .limited_by = (cj_occupancy_limit)model.limited_by};
    count_sms(limits, o);
}

cj_status cj_occupancy_model(const cj_limits *limits, const cj_block_use *use, uint32_t cluster,
                             cj_cluster_occupancy *occupancy, cj_error *error) {
    REQUIRE_KNOWN(cj_limits, limits);
    TRY(cj__limits_check(limits, error));
    SIZED(cj_block_use, use);
    TRY(cj__sized_check(occupancy, "cj_cluster_occupancy", error));
    if (use->threads < 1 || use->threads > limits->max_threads_per_block) {
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: threads is %u; a block of %s has 1 to %u", __func__, use->threads,
                        limits->name, limits->max_threads_per_block);
    }
    cj_cluster_occupancy counted;
    count_by_model(limits, use, cluster, &counted);
    cj__sized_write(occupancy, &counted, sizeof counted);
    return CJ_OK;
}

// ---- a kernel

// The launch that a query asks about, checked against the contract. Whether it fits is not checked: that is to be
// counted.
static cj_status shape_of(const cj_contract *contract, const cj_limits *limits, const cj_occupancy_query *query,
                          cj_launch_shape *shape, cj_error *error) {
    const cj_dim3 one = {1, 1, 1}, cluster = cj__contract_cluster(contract, query->cluster);
    const bool    counts_clusters = contract->blocksareclusters || !has_blocks(cluster);
    *shape = (cj_launch_shape){.grid = counts_clusters ? one : cluster,
                               .block = cj__contract_block(contract, has_blocks(query->block) ? query->block : contract->reqntid),
                               .cluster = cluster,
                               .dynamic_shared = query->dynamic_shared,
                               .nonportable = true,
                               .smem_optin = true,
                               .active_clusters = 1};
    return cj__contract_check(contract, shape, limits, error);
}

static cj_block_use use_of(const cj_contract *contract, const cj_launch_shape *shape, uint32_t registers) {
    return (cj_block_use){CJ_INIT(cj_block_use), .threads = (uint32_t)volume(shape->block), .registers = registers,
                          .shared = (uint64_t)contract->static_shared + shape->dynamic_shared};
}

cj_status cj_ptx_occupancy(const cj_limits *limits, const char *ptx, size_t length, const char *entry,
                           const cj_occupancy_query *query, cj_cluster_occupancy *occupancy, cj_error *error) {
    REQUIRE_KNOWN(cj_limits, limits);
    TRY(cj__limits_check(limits, error));
    REQUIRE(ptx);
    SIZED(cj_occupancy_query, query);
    TRY(cj__sized_check(occupancy, "cj_cluster_occupancy", error));
    const cj_contract_query text = {CJ_INIT(text), .limits = limits, .ptx = ptx, .length = length, .entry = entry};
    cj_contract             contract;
    cj_launch_shape         shape;
    cj_status               status = cj__contract_read(&text, &contract, error);
    if (status) return status;
    contract.registers = query->registers;
    status = shape_of(&contract, limits, query, &shape, error);
    if (status) return status;
    const cj_block_use   use = use_of(&contract, &shape, query->registers);
    cj_cluster_occupancy counted;
    count_by_model(limits, &use, (uint32_t)volume(shape.cluster), &counted);
    cj__sized_write(occupancy, &counted, sizeof counted);
    return CJ_OK;
}

// The driver's counts; the model only adds which resource limits them.
static cj_status ask_driver(cj_function *function, const cj_launch_shape *shape, cj_cluster_occupancy *o, uint32_t *largest,
                            cj_error *error) {
    const cj_device *device = function->module->device;
    cj_placement     placement;
    cj_status        status = device->ops->occupancy(function, shape, &placement, error);
    if (status) return status;
    const cj_block_use use = use_of(&function->contract, shape, function->contract.registers);
    count_by_model(&device->limits, &use, (uint32_t)volume(shape->cluster), o);
    o->blocks_per_sm = placement.blocks_per_sm;
    o->active_clusters = placement.active_clusters;
    o->from_driver = true;
    count_sms(&device->limits, o);
    *largest = placement.max_cluster;
    return CJ_OK;
}

static uint32_t known_registers(const cj_function *function, const cj_occupancy_query *query) {
    return function->contract.registers ? function->contract.registers : query->registers;
}

static cj_status count(cj_function *function, const cj_occupancy_query *query, cj_cluster_occupancy *counted,
                       cj_error *error) {
    const cj_device *device = function->module->device;
    cj_launch_shape  shape;
    uint32_t         largest;
    cj_status        status = shape_of(&function->contract, &device->limits, query, &shape, error);
    if (status) return status;
    if (device->ops->occupancy) return ask_driver(function, &shape, counted, &largest, error);
    const cj_block_use use = use_of(&function->contract, &shape, known_registers(function, query));
    count_by_model(&device->limits, &use, (uint32_t)volume(shape.cluster), counted);
    return CJ_OK;
}

cj_status cj_function_occupancy(cj_function *function, const cj_occupancy_query *query, cj_cluster_occupancy *occupancy,
                                cj_error *error) {
    REQUIRE(function);
    SIZED(cj_occupancy_query, query);
    TRY(cj__sized_check(occupancy, "cj_cluster_occupancy", error));
    cj_cluster_occupancy counted;
    TRY(count(function, query, &counted, error));
    cj__sized_write(occupancy, &counted, sizeof counted);
    return CJ_OK;
}

// Of the sizes that fit by the model: the declared one, or the largest.
static uint32_t largest_by_model(const cj_limits *limits, const cj_block_use *use, uint32_t declared) {
    for (uint32_t cluster = declared ? declared : limits->max_cluster; cluster; cluster--) {
        cj_cluster_occupancy o = {CJ_INIT(o)};
        count_by_model(limits, use, cluster, &o);
        if (o.active_clusters) return cluster;
        if (declared) return 0;
    }
    return 0;
}

cj_status cj_function_max_cluster(cj_function *function, const cj_occupancy_query *query, uint32_t *blocks,
                                  cj_error *error) {
    REQUIRE(function);
    SIZED(cj_occupancy_query, query);
    REQUIRE(blocks);
    const cj_device     *device = function->module->device;
    const cj_dim3        declared = function->contract.reqnctapercluster;
    cj_occupancy_query   single = *query;
    cj_launch_shape      shape;
    cj_cluster_occupancy one = {CJ_INIT(one)};
    *blocks = 0;
    if (!device->limits.max_cluster) return CJ_OK;
    single.cluster = has_blocks(declared) ? declared : (cj_dim3){1, 1, 1};
    cj_status status = shape_of(&function->contract, &device->limits, &single, &shape, error);
    if (status) return status;
    if (device->ops->occupancy) return ask_driver(function, &shape, &one, blocks, error);
    const cj_block_use use = use_of(&function->contract, &shape, known_registers(function, query));
    *blocks = largest_by_model(&device->limits, &use, (uint32_t)volume(declared));
    return CJ_OK;
}

static uint32_t blocks_of(const cj_cluster_occupancy *o) { return o->cluster ? o->cluster : 1; }

// Whether a candidate is large enough, and smaller than the one chosen so far (NULL: none).
static bool is_smaller(const cj_cluster_occupancy *o, const cj_cluster_occupancy *chosen, uint32_t needed) {
    return blocks_of(o) >= needed && (!chosen || blocks_of(o) < blocks_of(chosen));
}

// If the required size is not known: prefers the largest of the small sizes that keep enough blocks, else a pair.
static bool is_better_guess(const cj_cluster_occupancy *o, const cj_cluster_occupancy *chosen, uint64_t enough) {
    if (o->cluster < 2 || o->cluster > CJ_OCCUPANCY_SMALL) return false;
    if (!chosen) return o->cluster == 2 || resident(o) * 100 >= enough;
    return resident(o) * 100 >= enough && (o->cluster > chosen->cluster || resident(chosen) * 100 < enough);
}

static bool keeps_more(const cj_cluster_occupancy *o, const cj_cluster_occupancy *chosen) {
    if (!chosen || resident(o) != resident(chosen)) return !chosen || resident(o) > resident(chosen);
    return o->cluster < chosen->cluster;
}

// The elements are of the caller's size; what the choice reads is in every version.
static const cj_cluster_occupancy *at(const cj_cluster_occupancy *candidates, size_t i) {
    return (const cj_cluster_occupancy *)(const void *)((const char *)candidates + i * candidates->struct_size);
}

size_t cj_occupancy_choose(const cj_cluster_occupancy *candidates, size_t count, uint32_t needed, unsigned keep) {
    const cj_cluster_occupancy *chosen = NULL, *fullest = NULL;
    if (!candidates || cj__sized_check(candidates, "cj_cluster_occupancy", NULL)) return count;
    for (size_t i = 0; i < count; i++)
        if (at(candidates, i)->active_clusters && keeps_more(at(candidates, i), fullest)) fullest = at(candidates, i);
    for (size_t i = 0; i < count; i++) {
        const cj_cluster_occupancy *o = at(candidates, i);
        if (!o->active_clusters) continue;
        if (needed ? is_smaller(o, chosen, needed) : is_better_guess(o, chosen, resident(fullest) * keep)) chosen = o;
    }
    if (!chosen) chosen = fullest;
    if (!chosen) return count;
    return (size_t)((const char *)chosen - (const char *)candidates) / candidates->struct_size;
}
