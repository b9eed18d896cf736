// SPDX-License-Identifier: Apache-2.0
// Blocks an SM as CUDA's occupancy calculator counts them (the toolkit's cuda_occupancy.h). Clusters from the sizes of
// GPCs: the blocks of a cluster share one GPC, on as few SMs as will hold them.
#include "occupancy.h"

enum {
    PARTITIONS = 4,        // of an SM: each has its own quarter of the registers, and whole warps
    WARP_REGISTERS = 256,  // registers are allocated to warps in such units
    SHARED_UNIT = 128,     // bytes
    SHARED_UNIT_SM75 = 256,
};

const char *cj__resource_name(cj_resource resource) {
    static const char *const name[] = {
#define CJ_X(id, text) text,
        CJ_RESOURCE_LIST(CJ_X)
#undef CJ_X
    };
    return name[resource];
}

static uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

static uint64_t warps_of(uint64_t threads, const cj_limits *limits) {
    return (threads + limits->warp_size - 1) / limits->warp_size;
}

static uint64_t warp_registers(uint32_t registers, const cj_limits *limits) {
    return round_up((uint64_t)registers * limits->warp_size, WARP_REGISTERS);
}

// The hardware allocates registers as if the block's warps filled every partition alike.
uint64_t cj__block_registers(uint64_t threads, uint32_t registers, const cj_limits *limits) {
    return warp_registers(registers, limits) * round_up(warps_of(threads, limits), PARTITIONS);
}

uint64_t cj__threads_for_registers(uint32_t registers, const cj_limits *limits) {
    const uint64_t warps = limits->registers_per_block / (warp_registers(registers, limits) * PARTITIONS) * PARTITIONS;
    return warps * limits->warp_size;
}

static uint64_t by_registers(const cj_kernel_use *use, const cj_limits *limits) {
    if (!use->registers) return limits->max_blocks_per_sm;
    if (cj__block_registers(use->threads, use->registers, limits) > limits->registers_per_block) return 0;
    const uint64_t warps = limits->registers_per_sm / PARTITIONS / warp_registers(use->registers, limits) * PARTITIONS;
    return warps / warps_of(use->threads, limits);
}

static uint64_t by_shared(const cj_kernel_use *use, const cj_limits *limits) {
    const uint64_t unit = limits->compute_capability < 80 ? SHARED_UNIT_SM75 : SHARED_UNIT;
    const uint64_t block = round_up(use->shared + limits->shared_reserved, unit);
    if (use->shared > limits->shared_per_block_optin) return 0;
    return block ? limits->shared_per_sm / block : limits->max_blocks_per_sm;
}

// An SM of a data centre part has two named barriers for each block that it can hold, other SMs one.
static uint64_t by_barriers(const cj_kernel_use *use, const cj_limits *limits) {
    const bool clusters = limits->max_cluster_portable != 0, twice = limits->max_blocks_per_sm >= 32;
    if (!use->barriers || !clusters) return limits->max_blocks_per_sm;
    return limits->max_blocks_per_sm * (twice ? 2u : 1u) / use->barriers;
}

static void count_clusters(uint64_t cluster, const cj_limits *limits, cj_occupancy *o) {
    const uint64_t blocks = o->blocks_per_sm;
    const size_t   most = sizeof limits->gpc_sms / sizeof *limits->gpc_sms;
    o->gpcs_known = limits->gpc_sms[0] != 0;
    for (size_t i = 0; i < (o->gpcs_known ? most : 1); i++) {
        const uint64_t sms = o->gpcs_known ? limits->gpc_sms[i] : limits->sm_count;
        const uint64_t clusters = sms * blocks / cluster;
        o->active_clusters += (uint32_t)clusters;
        o->stranded_sms += (uint32_t)(blocks ? (sms * blocks - clusters * cluster) / blocks : sms);
    }
}

void cj__occupancy(const cj_kernel_use *use, const cj_limits *limits, cj_occupancy *occupancy) {
    const uint64_t by[CJ_RESOURCE_COUNT] = {
        [CJ_RESOURCE_BLOCKS] = limits->max_blocks_per_sm,
        [CJ_RESOURCE_WARPS] = limits->max_threads_per_sm / limits->warp_size / warps_of(use->threads, limits),
        [CJ_RESOURCE_REGISTERS] = by_registers(use, limits),
        [CJ_RESOURCE_SHARED] = by_shared(use, limits),
        [CJ_RESOURCE_BARRIERS] = by_barriers(use, limits),
    };
    *occupancy = (cj_occupancy){.blocks_per_sm = limits->max_blocks_per_sm};
    for (int i = 0; i < CJ_RESOURCE_COUNT; i++) {
        occupancy->by[i] = (uint32_t)by[i];
        if (occupancy->by[i] >= occupancy->blocks_per_sm) continue;
        occupancy->blocks_per_sm = occupancy->by[i];
        occupancy->limited_by = (cj_resource)i;
    }
    count_clusters(use->cluster ? use->cluster : 1, limits, occupancy);
}
