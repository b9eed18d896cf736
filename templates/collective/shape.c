// SPDX-License-Identifier: Apache-2.0
// What a collective's parameters come to: what the plan and both kernels read.
#include "collective.h"

static const collective_dtype dtypes[] = {
    {"f32", "f32", "f32", "b32", 4}, {"f64", "f64", "f64", "b64", 8},  {"s32", "s32", "s32", "b32", 4},
    {"u32", "u32", "u32", "b32", 4}, {"s64", "s64", "s64", "b64", 8},  {"u64", "u64", "u64", "b64", 8},
    {"f16", "b16", "b16", "b16", 2}, {"bf16", "b16", "b16", "b16", 2}, {"b32", "s8", "s32", "b32", 1},
    {"b32", "u8", "u32", "b32", 1},  {"b32", "s16", "s32", "b32", 2},  {"b32", "u16", "u32", "b32", 2},
};

static bool is_in_halves(cj_collective_op op) {
    return op == CJ_COLLECTIVE_REDUCE || op == CJ_COLLECTIVE_ALLREDUCE || op == CJ_COLLECTIVE_SCAN;
}

bool cj__collective_combines(cj_collective_op op) { return is_in_halves(op) || op == CJ_COLLECTIVE_REDUCE_SCATTER; }

collective_shape cj__collective_shape(const cj_plan *plan) {
    const collective_dtype *dtype = &dtypes[cj__collective_param(plan, COLLECTIVE_DTYPE)];
    const uint32_t          cluster = cj__collective_param(plan, COLLECTIVE_CLUSTER) * cj__collective_param(plan, COLLECTIVE_CLUSTER_Y) *
                             cj__collective_param(plan, COLLECTIVE_CLUSTER_Z);
    const uint32_t   size = cluster ? cluster : cj__collective_param(plan, COLLECTIVE_SIZE);
    const int32_t    distance = (int32_t)cj__collective_param(plan, COLLECTIVE_DISTANCE);
    const bool       is_half = dtype->bytes == 2 && strstr(dtype->type, "f16");
    collective_shape s = {.dtype = dtype, .cluster = size, .count = cj__collective_param(plan, COLLECTIVE_COUNT)};
    s.what = (cj_collective){
        .op = (cj_collective_op)cj__collective_param(plan, COLLECTIVE_OP),
        .type = dtype->type,
        .combine = {.op = (cj_combine_op)cj__collective_param(plan, COLLECTIVE_COMBINE), .type = is_half ? "f32" : dtype->type},
        .root = cj__collective_param(plan, COLLECTIVE_ROOT),
        .exclusive = cj__collective_param(plan, COLLECTIVE_EXCLUSIVE),
        .distance = cj__collective_param(plan, COLLECTIVE_TOWARD) ? -distance : distance,
        .around = cj__collective_param(plan, COLLECTIVE_AROUND)};
    s.desc = (cj_collectives_desc){.strategy = (cj_strategy)cj__collective_param(plan, COLLECTIVE_STRATEGY),
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

cj_reg cj__collective_next_part(cj_func *f, const collective_shape *s, const char *name, cj_reg part, cj_reg rank) {
    if (s->gets == 1) return cj_mov(f, "u32", name, 0);
    cj_reg sum = cj_add(f, name, part, rank);
    return cj_rem(f, name, cj_add(f, name, sum, 1), s->gets);
}

bool cj__collective_is_to_root(const collective_shape *s) {
    return s->what.op == CJ_COLLECTIVE_REDUCE || s->what.op == CJ_COLLECTIVE_GATHER;
}

void cj__collective_clear_others(cj_func *f, const collective_shape *s, cj_reg rank, cj_reg value) {
    cj_ptx(f, "@$1 mov.$2 $3, 0;", cj_ne(f, "not_root", rank, s->what.root), s->dtype->bits, value);
}
