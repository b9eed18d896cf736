// SPDX-License-Identifier: Apache-2.0
// What a collective's parameters come to: what the plan and both kernels read.
#include "collective.h"

static const collective_dtype dtypes[] = {
    {"f32", "f32", "f32", "b32", 4}, {"f64", "f64", "f64", "b64", 8},  {"s32", "s32", "s32", "b32", 4},
    {"u32", "u32", "u32", "b32", 4}, {"s64", "s64", "s64", "b64", 8},  {"u64", "u64", "u64", "b64", 8},
    {"f16", "b16", "b16", "b16", 2}, {"bf16", "b16", "b16", "b16", 2}, {"b32", "s8", "s32", "b32", 1},
    {"b32", "u8", "u32", "b32", 1},  {"b32", "s16", "s32", "b32", 2},  {"b32", "u16", "u32", "b32", 2},
};

static uint32_t value_of(const cj_plan *plan, int param) { return (uint32_t)plan->params.value[param]; }

static bool is_in_halves(cj_collective_op op) {
    return op == CJ_COLLECTIVE_REDUCE || op == CJ_COLLECTIVE_ALLREDUCE || op == CJ_COLLECTIVE_SCAN;
}

bool cj__collective_combines(cj_collective_op op) { return is_in_halves(op) || op == CJ_COLLECTIVE_REDUCE_SCATTER; }

collective_shape cj__collective_shape(const cj_plan *plan) {
    const collective_dtype *dtype = &dtypes[value_of(plan, COLLECTIVE_DTYPE)];
    const uint32_t          cluster = value_of(plan, COLLECTIVE_CLUSTER) * value_of(plan, COLLECTIVE_CLUSTER_Y) *
                             value_of(plan, COLLECTIVE_CLUSTER_Z);
    const uint32_t   size = cluster ? cluster : value_of(plan, COLLECTIVE_SIZE);
    const int32_t    distance = (int32_t)value_of(plan, COLLECTIVE_DISTANCE);
    const bool       is_half = dtype->bytes == 2 && strstr(dtype->type, "f16");
    collective_shape s = {.dtype = dtype, .cluster = size, .count = value_of(plan, COLLECTIVE_COUNT)};
    s.what = (cj_collective){
        .op = (cj_collective_op)value_of(plan, COLLECTIVE_OP),
        .type = dtype->type,
        .combine = {.op = (cj_combine_op)value_of(plan, COLLECTIVE_COMBINE), .type = is_half ? "f32" : dtype->type},
        .root = value_of(plan, COLLECTIVE_ROOT),
        .exclusive = value_of(plan, COLLECTIVE_EXCLUSIVE),
        .distance = value_of(plan, COLLECTIVE_TOWARD) ? -distance : distance,
        .around = value_of(plan, COLLECTIVE_AROUND)};
    s.desc = (cj_collectives_desc){.strategy = (cj_strategy)value_of(plan, COLLECTIVE_STRATEGY),
                                   .cluster = size,
                                   .threads = plan->block.x,
                                   .values = s.count == 1,
                                   .arrays = s.count > 1,
                                   .combines = s.count > 1 && is_in_halves(s.what.op)};
    cj_collective_parts(s.what.op, size, &s.gives, &s.gets);
    s.part = (s.count * dtype->bytes + COLLECTIVE_UNIT - 1) / COLLECTIVE_UNIT * COLLECTIVE_UNIT;
    if (s.count > 1 && cluster) s.scratch = cj_collective_scratch(&s.desc, &s.what, s.part);
    return s;
}

bool cj__collective_is_to_root(const collective_shape *s) {
    return s->what.op == CJ_COLLECTIVE_REDUCE || s->what.op == CJ_COLLECTIVE_GATHER;
}

void cj__collective_clear_others(cj_func *f, const collective_shape *s, cj_reg rank, cj_reg value) {
    cj_ptx(f, "@$1 mov.$2 $3, 0;", cj_ne(f, "not_root", rank, s->what.root), s->dtype->bits, value);
}
