// SPDX-License-Identifier: Apache-2.0
// Special registers (PTX ISA, "Special Registers").
#define _POSIX_C_SOURCE 200809L

#include "special.h"

#include <time.h>

#include "lanes.h"

bool cj__cpu_special_fixed(cj_special special) {
    switch (special) {
    case CJ_S_CLOCK:
    case CJ_S_CLOCK_HI:
    case CJ_S_CLOCK64:
    case CJ_S_GLOBALTIMER:
    case CJ_S_GLOBALTIMER_LO:
    case CJ_S_GLOBALTIMER_HI: return false;
    default: return true;
    }
}

static uint32_t component_of(cj_dim3 extent, unsigned component) {
    return component == 0 ? extent.x : component == 1 ? extent.y : component == 2 ? extent.z : 0;
}

// Counts ops that the cluster has executed: the same in every run.
static uint64_t clock_of(const cj_cpu_warp *w) { return w->block->cluster->clock + (w->quantum - w->budget); }

static uint64_t nanoseconds(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static cj_dim3 in_cluster(const cj_cpu_launch *launch, uint32_t rank) {
    const cj_dim3 size = launch->cluster;
    return (cj_dim3){rank % size.x, rank / size.x % size.y, rank / size.x / size.y};
}

uint64_t cj__cpu_special(const cj_cpu_warp *w, cj_special special, unsigned component, unsigned lane) {
    const cj_cpu_block   *block = w->block;
    const cj_cpu_cluster *cluster = block->cluster;
    const cj_cpu_launch  *launch = cluster->launch;
    const uint32_t        bit = 1u << lane;
    switch (special) {
    case CJ_S_TID: return component_of(cj__cpu_thread(launch, w->index * CJ_LANES + lane), component);
    case CJ_S_NTID: return component_of(launch->block, component);
    case CJ_S_LANEID: return lane;
    case CJ_S_WARPID: return w->index;
    case CJ_S_NWARPID: return launch->limits->max_threads_per_sm / CJ_LANES;
    case CJ_S_CTAID: return component_of(block->position, component);
    case CJ_S_NCTAID: return component_of(launch->grid, component);
    case CJ_S_SMID: return (cj__cpu_in_grid(launch, cluster->index) * launch->ranks + block->rank) % launch->limits->sm_count;
    case CJ_S_NSMID: return launch->limits->sm_count;
    case CJ_S_GRIDID: return 1;
    case CJ_S_LANEMASK_EQ: return bit;
    case CJ_S_LANEMASK_LE: return bit | (bit - 1);
    case CJ_S_LANEMASK_LT: return bit - 1;
    case CJ_S_LANEMASK_GE: return ~(bit - 1);
    case CJ_S_LANEMASK_GT: return ~(bit | (bit - 1));
    case CJ_S_CLOCK: return (uint32_t)clock_of(w);
    case CJ_S_CLOCK_HI: return clock_of(w) >> 32;
    case CJ_S_CLOCK64: return clock_of(w);
    case CJ_S_GLOBALTIMER: return nanoseconds();
    case CJ_S_GLOBALTIMER_LO: return (uint32_t)nanoseconds();
    case CJ_S_GLOBALTIMER_HI: return nanoseconds() >> 32;
    case CJ_S_TOTAL_SMEM_SIZE: return launch->shared_bytes;
    case CJ_S_AGGR_SMEM_SIZE: return launch->shared_bytes + launch->limits->shared_reserved;
    case CJ_S_DYNAMIC_SMEM_SIZE: return launch->dynamic_shared;
    case CJ_S_IS_EXPLICIT_CLUSTER: return launch->is_cluster;
    case CJ_S_CLUSTERID: return component_of(cluster->position, component);
    case CJ_S_NCLUSTERID: return component_of(launch->clusters, component);
    case CJ_S_CLUSTER_CTAID: return component_of(in_cluster(launch, block->rank), component);
    case CJ_S_CLUSTER_NCTAID: return component_of(launch->cluster, component);
    case CJ_S_CLUSTER_CTARANK: return block->rank;
    case CJ_S_CLUSTER_NCTARANK: return launch->ranks;
    case CJ_S_ENVREG1: return launch->workspace >> 32;
    case CJ_S_RESERVED_SMEM_OFFSET_BEGIN: return launch->reserved_begin;
    case CJ_S_RESERVED_SMEM_OFFSET_END: return launch->reserved_end;
    case CJ_S_RESERVED_SMEM_OFFSET_CAP: return launch->reserved_end - launch->reserved_begin;
    case CJ_S_RESERVED_SMEM_OFFSET_0: return launch->reserved_begin;
    case CJ_S_RESERVED_SMEM_OFFSET_1: return (launch->reserved_begin + launch->reserved_end) / 2;
    case CJ_S_ENVREG2: return (uint32_t)launch->workspace;
    default: return 0;  // counters, other registers of the driver: not implemented
    }
}

void cj__cpu_reserve(cj_cpu_launch *launch) {
    enum { GAP = 256 };  // a small overrun stays out of bounds
    const uint32_t unit = launch->limits->shared_reserved;
    launch->reserved_begin = launch->reserved_end = launch->shared_bytes;
    for (size_t i = 0; unit && i < launch->program->fixed_count; i++) {
        const cj_special special = launch->program->fixed[i].special;
        if (special < CJ_S_RESERVED_SMEM_OFFSET_BEGIN || special > CJ_S_RESERVED_SMEM_OFFSET_1) continue;
        launch->reserved_begin = (launch->shared_bytes + GAP + unit - 1) / unit * unit;
        launch->reserved_end = launch->reserved_begin + unit;
    }
}

void cj__cpu_special_fill(cj_cpu_warp *w) {
    const cj_cpu_program *program = w->block->cluster->launch->program;
    for (size_t i = 0; i < program->fixed_count; i++) {
        const cj_cpu_fixed *fixed = &program->fixed[i];
        void               *slot = w->file + fixed->slot;
        for (unsigned lane = 0; lane < CJ_LANES; lane++) {
            const uint64_t value = cj__cpu_special(w, fixed->special, fixed->component, lane);
            if (fixed->bits == 1)
                cj__cpu_predicate_set(slot, 1u << lane, value ? UINT32_MAX : 0);
            else if (fixed->bits == 32)
                ((lane_u32 *)slot)[lane] = (uint32_t)value;
            else
                ((lane_u64 *)slot)[lane] = value;
        }
    }
}

cj_cpu_step cj__cpu_read_special(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    lane_u64 *wide = CJ_LANES_OF(lane_u64, 0);
    lane_u32 *narrow = CJ_LANES_OF(lane_u32, 0);
    CJ_SOME_LANES(i, mask) {
        const uint64_t value = cj__cpu_special(w, op->mode, 0, i);
        if (op->bytes == 8)
            wide[i] = value;
        else
            narrow[i] = (uint32_t)value;
    }
    return CJ_STEP_NEXT;
}
