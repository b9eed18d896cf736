// SPDX-License-Identifier: Apache-2.0
// How many blocks share the K of a tile: few tiles and a long K want many.
#include <inttypes.h>
#include <math.h>

#include "error.h"
#include "gemm.h"
#include "occupancy.h"

// What a model of an H200 knows: clocks of a step of the largest tile; bytes a clock that a block gets from L2, and from
// its peers; in such steps: an exchange in a cluster, a meeting in global memory, and each part more there. What is
// shared must be faster by a margin, for the model is coarse.
static const double STEP_CLOCKS = 1024, L2_BYTES = 38, PEER_BYTES = 21, EXCHANGE = 1, MEETING = 2.5, PART = 0.5,
                    MARGIN = 1.25;

enum { GPC_SMS = 18 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

static uint32_t mates_of(const gemm_shape *g) { return g->cluster_m * g->cluster_n; }

// Clusters that a GPU holds at once, an SM for each block. GPCs that are not known are taken for whole ones: a cluster
// that does not fit beside the others comes after them and doubles the time.
static uint64_t room_for(const gemm_shape *g, const cj_limits *target) {
    cj_limits copy = *target, *limits = &copy;
    uint32_t  left = target->gpc_sms[0] ? 0 : target->sm_count;
    for (size_t i = 0; left && i < sizeof copy.gpc_sms / sizeof *copy.gpc_sms; i++) {
        copy.gpc_sms[i] = (uint8_t)(left < GPC_SMS ? left : GPC_SMS);
        left -= copy.gpc_sms[i];
    }
    const cj_kernel_use use = {.threads = GEMM_GROUP * (g->groups + 1),
                               .shared = limits->shared_per_block_optin,
                               .cluster = mates_of(g) * g->split};
    cj_occupancy        o;
    cj__occupancy(&use, limits, &o);
    return o.active_clusters ? o.active_clusters : 1;
}

static double cost_whole(const gemm_shape *g, const cj_limits *limits, double cost) {
    const uint64_t room = limits->sm_count > mates_of(g) ? limits->sm_count / mates_of(g) : 1;
    return (double)(ceil_div(cj__gemm_tiles(g), room) * g->steps) * cost;
}

static double cost_shared(const gemm_shape *g, uint64_t room, double cost) {
    const double loaded = (double)(g->a_bytes / g->cluster_n + g->b_bytes / g->cluster_m) / L2_BYTES / STEP_CLOCKS;
    const double steps = (double)ceil_div(g->steps, (uint64_t)g->split * g->parts) * fmax(cost, loaded);
    const double rounds = (double)ceil_div(cj__gemm_tiles(g) * g->parts, room);
    const double peers = g->split > 1 ? EXCHANGE + cj__gemm_split_bytes(g) / PEER_BYTES / STEP_CLOCKS : 0;
    const double meeting = g->parts > 1 ? MEETING + PART * g->parts : 0;
    return rounds * (steps + peers + meeting) * MARGIN;
}

typedef struct span {
    uint64_t from, to;
} span;

static span span_of(uint64_t asked, uint64_t most) {
    return asked ? (span){asked, asked} : (span){1, most > 1 ? most : 1};
}

// Of all that fits, what takes least; what was asked for where nothing does.
double cj__gemm_split_choose(const cj_plan *plan, const cj_limits *limits, double cost, gemm_shape *g) {
    const uint64_t *value = plan->params.value, tiles = cj__gemm_tiles(g);
    const uint64_t  peers = limits->max_cluster < GEMM_SPLIT_MAX ? limits->max_cluster : GEMM_SPLIT_MAX;
    const uint64_t  stages = value[GEMM_STAGES] > GEMM_STAGES_MIN ? value[GEMM_STAGES] : GEMM_STAGES_MIN;
    const span      split = span_of(value[GEMM_SPLIT], g->clustered ? peers / mates_of(g) : 1);
    gemm_shape      best = *g;
    double          least = INFINITY;
    best.split = (uint32_t)split.from;
    best.parts = value[GEMM_PARTS] ? (uint32_t)value[GEMM_PARTS] : 1;
    for (g->split = (uint32_t)split.from; g->split <= split.to; g->split++) {
        const uint64_t room = room_for(g, limits), most = room / tiles;
        const span     parts = span_of(value[GEMM_PARTS], most < GEMM_PARTS_MAX ? most : GEMM_PARTS_MAX);
        for (g->parts = (uint32_t)parts.from; g->parts <= parts.to; g->parts++) {
            if (cj__gemm_stages_most(g, limits) < stages) continue;
            const double takes = cj__gemm_is_split(g) ? cost_shared(g, room, cost) : cost_whole(g, limits, cost);
            if (takes < least) least = takes, best = *g;
        }
    }
    *g = best;
    return least;
}

// ---- what cannot be

cj_status cj__gemm_split_check(const gemm_shape *g, cj_error *error) {
    const uint64_t clusters = cj__gemm_tiles(g) * g->parts;
    if (g->split > 1 && !g->clustered)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "split: %" PRIu32 ", but cluster=0 asks for no clusters", g->split);
    if (g->split * mates_of(g) > GEMM_SPLIT_MAX) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "split: %" PRIu32 " times %" PRIu32 " x %" PRIu32 " blocks are more than the %d of a cluster",
                 g->split, g->cluster_m, g->cluster_n, GEMM_SPLIT_MAX);
        cj__hint(error, "cluster=1 cluster-n=1 leaves all of them to split");
        return CJ_INVALID_ARGUMENT;
    }
    if (cj__gemm_is_split(g) && clusters * g->split * mates_of(g) > INT32_MAX)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "split, parts: %" PRIu64 " clusters are more than a grid holds",
                        clusters);
    return CJ_OK;
}

cj_status cj__gemm_split_no_room(const gemm_shape *g, cj_error *error) {
    cj__fail(error, CJ_CONTRACT,
             "split: the sums of %" PRIu32 " blocks take %" PRIu32
             " bytes of shared memory, which leaves no room for two stages of %" PRIu32,
             g->split, cj__gemm_split_bytes(g), g->a_bytes + g->b_bytes);
    cj__hint(error, "a smaller tile than %" PRIu32 "x%" PRIu32 " has room, and so has parts instead of split",
             g->tile_m, g->tile_n);
    return CJ_CONTRACT;
}
