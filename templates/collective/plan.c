// SPDX-License-Identifier: Apache-2.0
// What a collective's parameters come to, and which of them go together.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collective.h"
#include "collective_parts.h"
#include "error.h"

static const collective_dtype dtypes[] = {
    {"f32", "f32", "f32", "b32", 4}, {"f64", "f64", "f64", "b64", 8},  {"s32", "s32", "s32", "b32", 4},
    {"u32", "u32", "u32", "b32", 4}, {"s64", "s64", "s64", "b64", 8},  {"u64", "u64", "u64", "b64", 8},
    {"f16", "b16", "b16", "b16", 2}, {"bf16", "b16", "b16", "b16", 2}, {"b32", "s8", "s32", "b32", 1},
    {"b32", "u8", "u32", "b32", 1},  {"b32", "s16", "s32", "b32", 2},  {"b32", "u16", "u32", "b32", 2},
};

enum { UNIT = 16, WARP = 32, ARRAY_BLOCK = 256 };

static bool is_in_halves(cj_collective_op op) {
    return op == CJ_COLLECTIVE_REDUCE || op == CJ_COLLECTIVE_ALLREDUCE || op == CJ_COLLECTIVE_SCAN;
}

static bool combines(cj_collective_op op) { return is_in_halves(op) || op == CJ_COLLECTIVE_REDUCE_SCATTER; }

static uint32_t value_of(const cj_plan *plan, int param) { return (uint32_t)plan->params.value[param]; }

collective_shape cj__collective_shape(const cj_plan *plan) {
    const collective_dtype *dtype = &dtypes[value_of(plan, COLLECTIVE_DTYPE)];
    const uint32_t cluster = value_of(plan, COLLECTIVE_CLUSTER) * value_of(plan, COLLECTIVE_CLUSTER_Y) *
                             value_of(plan, COLLECTIVE_CLUSTER_Z);
    const uint32_t   size = cluster ? cluster : value_of(plan, COLLECTIVE_SIZE);
    const int32_t    distance = (int32_t)value_of(plan, COLLECTIVE_DISTANCE);
    const bool       is_half = dtype->bytes == 2 && strstr(dtype->type, "f16");
    collective_shape s = {.dtype = dtype, .cluster = size, .count = value_of(plan, COLLECTIVE_COUNT)};
    s.what = (cj_collective){.op = (cj_collective_op)value_of(plan, COLLECTIVE_OP),
                             .type = dtype->type,
                             .combine = {.op = (cj_combine_op)value_of(plan, COLLECTIVE_COMBINE),
                                         .type = is_half ? "f32" : dtype->type},
                             .root = value_of(plan, COLLECTIVE_ROOT),
                             .exclusive = value_of(plan, COLLECTIVE_EXCLUSIVE),
                             .distance = value_of(plan, COLLECTIVE_TOWARD) ? -distance : distance,
                             .around = value_of(plan, COLLECTIVE_AROUND)};
    s.desc = (cj_collectives_desc){.strategy = (cj_strategy)value_of(plan, COLLECTIVE_STRATEGY), .cluster = size,
                                   .threads = plan->block.x, .values = s.count == 1, .arrays = s.count > 1,
                                   .combines = s.count > 1 && is_in_halves(s.what.op)};
    cj_collective_parts(s.what.op, size, &s.gives, &s.gets);
    s.part = (s.count * dtype->bytes + UNIT - 1) / UNIT * UNIT;
    if (s.count > 1 && cluster) s.scratch = cj_collective_scratch(&s.desc, &s.what, s.part);
    return s;
}

static bool has_root(cj_collective_op op) {
    return op == CJ_COLLECTIVE_BROADCAST || op == CJ_COLLECTIVE_REDUCE || op == CJ_COLLECTIVE_GATHER ||
           op == CJ_COLLECTIVE_SCATTER;
}

static cj_status refuse_types(const cj_plan *plan, const collective_shape *s, cj_error *error) {
    char op[16], dtype[8];
    if (strcmp(s->dtype->type, "b32") || !combines(s->what.op)) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "op=%s does not go with dtype=%s: integers of 8 and 16 bits are only moved",
             cj_params_word(&plan->params, "op", op, sizeof op), cj_params_word(&plan->params, "dtype", dtype, sizeof dtype));
    cj__hint(error, "choose dtype=i32 or u32");
    return CJ_INVALID_ARGUMENT;
}

static cj_status refuse_none(cj_error *error) {
    return cj__refuse(error, CJ_INVALID_ARGUMENT,
                      "cluster=1 is the least; with cluster=0, size says how many blocks work together without one",
                      "cluster: 0 and size: 0, but a collective is of a cluster, or of size blocks");
}

static cj_status refuse_cluster(const cj_plan *plan, const collective_shape *s, bool clusters, cj_error *error) {
    const uint32_t size = value_of(plan, COLLECTIVE_SIZE);
    if (size && size != s->cluster) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "size=%" PRIu32 " blocks work together, but a cluster has %" PRIu32, size,
                 s->cluster);
        cj__hint(error, "leave size out, or choose cluster=0: without clusters");
        return CJ_INVALID_ARGUMENT;
    }
    if (!clusters && plan->cluster.x)
        return cj__refuse(error, CJ_UNSUPPORTED, "choose a target from sm_90 on; or cluster=0: without clusters",
                          "%s has no thread block clusters (they need sm_90): a collective is of a"
                        " cluster", plan->arch);
    if (s->cluster > 16) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "cluster x cluster-y x cluster-z is %" PRIu32 " blocks, a cluster has at most 16",
                 s->cluster);
        cj__hint(error, "make one of them smaller");
        return CJ_INVALID_ARGUMENT;
    }
    if (has_root(s->what.op) && s->what.root >= s->cluster)
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "ranks begin at 0: choose one below the number of blocks",
                          "root: %" PRIu32 " is no rank of a cluster of %" PRIu32, s->what.root,
                        s->cluster);
    return CJ_OK;
}

// The pool and the mbarriers beside it, against what a block may have.
static cj_status refuse_memory(const cj_plan *plan, const collective_shape *s, const cj_limits *limits, cj_error *error) {
    enum { BESIDE = 1024 };
    const uint64_t room = limits->shared_per_block_optin - BESIDE;
    if (plan->dynamic_shared <= room) return CJ_OK;
    cj__fail(error, CJ_CONTRACT, "count=%" PRIu32 " takes %" PRIu32 " bytes of shared memory a block (%" PRIu32
             " parts in, %" PRIu32 " out, %" PRIu32 " bytes of scratch), there are %" PRIu64, s->count,
             plan->dynamic_shared, s->gives, s->gets, s->scratch, room);
    cj__hint(error, "choose a smaller count, or split the array");
    return CJ_CONTRACT;
}

// The parts of all blocks of a cluster arrive in one phase of an mbarrier.
static cj_status refuse_parts(const cj_plan *plan, const collective_shape *s, cj_error *error) {
    const uint32_t most = CJ_TRANSACTION_MOST / (s->cluster ? s->cluster : 1) / UNIT * UNIT;
    if (s->count == 1 || !plan->cluster.x || s->part <= most) return CJ_OK;
    return cj__refuse(error, CJ_INVALID_ARGUMENT, "choose a smaller count or cluster, or split the array",
                      "count=%" PRIu32 ": a part of %" PRIu32 " bytes exceeds the %" PRIu32 " that each of %" PRIu32
                      " blocks may have", s->count, s->part, most, s->cluster);
}

// Blocks that work together stand beside each other along x where they are no cluster.
static void place_blocks(cj_plan *plan) {
    const uint32_t many = value_of(plan, COLLECTIVE_CLUSTERS), along = value_of(plan, COLLECTIVE_CLUSTER);
    plan->grid = (cj_dim3){value_of(plan, COLLECTIVE_SIZE) * many, 1, 1};
    if (!along) return;
    plan->cluster = (cj_dim3){along, value_of(plan, COLLECTIVE_CLUSTER_Y), value_of(plan, COLLECTIVE_CLUSTER_Z)};
    plan->grid = (cj_dim3){along * many, plan->cluster.y, plan->cluster.z};
}

// Without clusters a round is a launch; outputs go to the workspace by turns.
static void launch_rounds(cj_plan *plan, const collective_shape *s) {
    plan->launches = value_of(plan, COLLECTIVE_ROUNDS);
    if (plan->launches > 1) plan->workspace_bytes = (size_t)plan->grid.x * s->gets * s->count * s->dtype->bytes;
}

cj_status cj__collective_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t  *value = plan->params.value;
    const uint32_t   block = value_of(plan, COLLECTIVE_BLOCK);
    const uint32_t   chosen = value[COLLECTIVE_COUNT] == 1 ? WARP : ARRAY_BLOCK;
    plan->block = (cj_dim3){block ? block : chosen, 1, 1};
    place_blocks(plan);
    if (!plan->grid.x) return refuse_none(error);
    const collective_shape s = cj__collective_shape(plan);
    const uint64_t         pool = (uint64_t)(s.gives + s.gets) * s.part + s.scratch;
    cj_status              status = refuse_cluster(plan, &s, clusters, error);
    if (!status) status = refuse_types(plan, &s, error);
    if (status) return status;
    plan->dynamic_shared = s.count == 1 || !plan->cluster.x ? 0 : (uint32_t)pool;
    if (!plan->cluster.x) launch_rounds(plan, &s);
    char op[16], type[8];
    cj_params_word(&plan->params, "op", op, sizeof op);
    for (char *c = op; *c; c++)
        if (*c == '-') *c = '_';
    snprintf(plan->entry, sizeof plan->entry, "%s_%s%s", op, cj_params_word(&plan->params, "dtype", type, sizeof type),
             plan->cluster.x ? "" : "_global");
    status = refuse_memory(plan, &s, limits, error);
    return status ? status : refuse_parts(plan, &s, error);
}
