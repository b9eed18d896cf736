// SPDX-License-Identifier: Apache-2.0
// The parameters of a reduction, and the shape that a plan chooses. The sizes at which another shape is faster stand in
// constants.def.
#include <clusterjit/reduce.h>
#include <float.h>

#include "reduce.h"

static const reduce_op ops[] = {
    [CJ_REDUCE_SUM] = {REDUCE_VALUE, CJ_COMBINE_SUM, false},
    [CJ_REDUCE_MIN] = {REDUCE_VALUE, CJ_COMBINE_MIN, false},
    [CJ_REDUCE_MAX] = {REDUCE_VALUE, CJ_COMBINE_MAX, false},
    [CJ_REDUCE_PRODUCT] = {REDUCE_VALUE, CJ_COMBINE_PRODUCT, false},
    [CJ_REDUCE_ARGMIN] = {REDUCE_BEST, CJ_COMBINE_MIN, false},
    [CJ_REDUCE_ARGMAX] = {REDUCE_BEST, CJ_COMBINE_MAX, false},
    [CJ_REDUCE_MEAN] = {REDUCE_VALUE, CJ_COMBINE_SUM, true},
    [CJ_REDUCE_MEANVAR] = {REDUCE_MOMENTS, CJ_COMBINE_SUM, true},
};

const reduce_op *cj__reduce_op(const cj_plan *plan) { return &ops[plan->params.value[REDUCE_OP]]; }
static unsigned  bytes_of(const cj_plan *plan) { return (unsigned)cj_dtype_size(cj__reduce_dtype(plan)); }

const char *cj__reduce_combined_type(const cj_plan *plan) {
    const char *type = cj__dtype_ptx(cj__reduce_dtype(plan));
    return cj__reduce_op(plan)->mean && *type != 'f' ? "f64" : type;
}

// Each block has a result or a weight of its own.
static bool is_by_block(const cj_plan *plan) {
    return plan->params.value[REDUCE_RESULT] != RESULT_TOTAL || plan->params.value[REDUCE_WEIGHT];
}

static uint64_t loads_of(const cj_plan *plan) {
    return cj__ceil_div(plan->params.value[REDUCE_N] * bytes_of(plan), REDUCE_LOAD);
}

bool cj__reduce_is_sliced(const cj_plan *plan) {
    const uint64_t cluster = plan->params.value[REDUCE_CLUSTER], grid = plan->params.value[REDUCE_GRID];
    const bool     asked = (cluster && cluster != CJ_PARAM_AUTO) || grid != CJ_PARAM_AUTO;
    if (is_by_block(plan)) return true;
    return asked && plan->grid.x > 1 && loads_of(plan) < (uint64_t)plan->grid.x * plan->block.x * REDUCE_ALONE_LOADS;
}

static uint64_t groups_of(const cj_plan *plan) { return plan->grid.x / (plan->cluster.x ? plan->cluster.x : 1); }

bool cj__reduce_gathers(const cj_plan *plan) {
    return plan->params.value[REDUCE_RESULT] != RESULT_BLOCK && groups_of(plan) > 1;
}

unsigned cj__reduce_words(const cj_plan *plan) {
    const unsigned    value = cj__reduce_combined_type(plan)[1] == '3' ? 1 : 2;  // f32, s32, u32; f64, s64, u64
    const reduce_kind kind = cj__reduce_op(plan)->kind;
    return kind == REDUCE_BEST ? value + 2 : kind == REDUCE_MOMENTS ? 3 * value : value;
}

// ---- the shape

// Threads that do more than combine values of 32 bits need more registers, so fewer threads fit on an SM.
static bool is_heavy(const cj_plan *plan) {
    return cj__reduce_op(plan)->kind != REDUCE_VALUE || plan->params.function[REDUCE_MAP] ||
           plan->params.function[REDUCE_OP_EXPR] || cj__reduce_words(plan) > 1;
}

// Elements of 8 and 16 bits take registers to unpack. For sm_90, of which ptxas's own choice was measured, only products of
// 8-bit elements do not fit where as many blocks as possible share an SM.
static bool needs_narrow_registers(const cj_plan *plan) {
    const unsigned bytes = bytes_of(plan);
    if (cj__target_number(plan) != CJ_TARGET_MEASURED) return bytes < 4;
    return bytes == 1 && cj__reduce_op(plan)->combine == CJ_COMBINE_PRODUCT;
}

uint64_t cj__reduce_blocks_per_sm(const cj_plan *plan) {
    const cj_limits *limits;
    if (is_heavy(plan) || plan->cluster.x || !cj__reduce_gathers(plan)) return 1;
    if (cj_limits_builtin(plan->arch, &limits, NULL)) return 1;
    const uint64_t blocks = 2 * cj__ceil_div(plan->grid.x, limits->sm_count);  // the next launch's, too
    const uint64_t most = limits->registers_per_sm / (REDUCE_NARROW_REGISTERS * plan->block.x);
    return needs_narrow_registers(plan) ? cj__least(blocks, most) : blocks;
}

bool cj__reduce_spills(const cj_plan *plan) {
    const reduce_kind kind = cj__reduce_op(plan)->kind;
    const unsigned    bytes = bytes_of(plan);
    if (bytes == 1 || (kind == REDUCE_MOMENTS && *cj__dtype_ptx(cj__reduce_dtype(plan)) != 'f')) return true;
    const bool is_product = cj__reduce_op(plan)->combine == CJ_COMBINE_PRODUCT;
    if (bytes == 8 && (is_product || plan->params.value[REDUCE_WEIGHT])) return true;
    if (kind == REDUCE_BEST && plan->block.x & (plan->block.x - 1)) return true;
    return plan->block.x > REDUCE_CROWDED_BLOCK && kind != REDUCE_BEST && is_heavy(plan);
}

// One block, one cluster, or blocks that combine in global memory: the fastest at that size.
static uint64_t choose_cluster(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t loads = loads_of(plan), grid = plan->params.value[REDUCE_GRID];
    const bool     one = loads > REDUCE_BLOCK_LOADS && loads <= REDUCE_CLUSTER_LOADS;
    const uint64_t cluster = is_by_block(plan) ? REDUCE_SLICE_CLUSTER : one ? limits->max_cluster : 0;
    return cluster && grid != CJ_PARAM_AUTO && grid % cluster ? 0 : cluster;
}

// Threads of one large block on each SM, in which sizes of x are counted.
static uint64_t gpu_threads(const cj_limits *limits) { return limits->sm_count * (uint64_t)REDUCE_LARGE_BLOCK; }

// A small block while its threads, in one cluster or one block an SM, have all their loads in flight at once; without
// clusters, in two rounds.
static uint64_t choose_block(const cj_plan *plan, const cj_limits *limits, uint64_t cluster) {
    const uint64_t loads = loads_of(plan), threads = gpu_threads(limits);
    const uint64_t together = cluster ? cluster : limits->sm_count;
    if (is_by_block(plan) || loads <= REDUCE_BLOCK_LOADS) return REDUCE_SMALL_BLOCK;
    const unsigned each = cluster || is_heavy(plan) ? REDUCE_FLIGHT : 2 * REDUCE_FLIGHT;
    if (loads <= together * REDUCE_SMALL_BLOCK * each) return REDUCE_SMALL_BLOCK;
    const bool many = loads > threads * (cluster ? 1 : REDUCE_MANY_LOADS),
               best = cj__reduce_op(plan)->kind == REDUCE_BEST;
    return many && (!is_heavy(plan) || best) ? REDUCE_LARGE_BLOCK : REDUCE_USUAL_BLOCK;
}

// Without clusters an SM gets one block; as many as it holds if threads have many loads; and twice as many if x is long.
// Clusters cannot use every SM, and a second wave of clusters would delay the first, so they get half of an SM's threads.
static uint64_t choose_grid(const cj_plan *plan, const cj_limits *limits, uint64_t group) {
    const uint64_t block = plan->block.x, loads = loads_of(plan), sms = limits->sm_count;
    const bool     sliced = is_by_block(plan);
    if (!sliced && loads <= group * block * (plan->cluster.x ? REDUCE_ALONE_LOADS : REDUCE_FLIGHT)) return group;
    const bool whole = !plan->cluster.x && !sliced;
    const bool fills = whole && !is_heavy(plan) && loads > gpu_threads(limits) * REDUCE_MANY_LOADS;
    uint64_t   per_sm = limits->max_threads_per_sm / (fills ? 1 : 2) / block;
    per_sm = cj__least(per_sm, limits->max_blocks_per_sm / 2);
    if (whole && loads > gpu_threads(limits) * REDUCE_LONG_LOADS) per_sm *= 2;
    uint64_t most = sms * (per_sm ? per_sm : 1) / group;  // groups
    uint64_t wanted = cj__least(cj__ceil_div(loads, block * group), most);
    if (whole && loads <= sms * block * REDUCE_MANY_LOADS) wanted = cj__least(wanted, sms);
    return (wanted ? wanted : 1) * group;
}

static void choose_shape(cj_plan *plan, const cj_limits *limits, bool clusters) {
    uint64_t cluster = cj__cluster_asked(plan, REDUCE_CLUSTER, clusters);
    if (cluster == CJ_PARAM_AUTO) cluster = choose_cluster(plan, limits);
    if (cluster) plan->cluster = (cj_dim3){(uint32_t)cluster, 1, 1};
    plan->block = (cj_dim3){cj__asked_or(plan, REDUCE_BLOCK, choose_block(plan, limits, cluster)), 1, 1};
    plan->grid = (cj_dim3){cj__asked_or(plan, REDUCE_GRID, choose_grid(plan, limits, cj__most(cluster, 1))), 1, 1};
}

// Elements of every block; each of the first blocks takes one of the remainder.
static uint64_t slice_of(const cj_plan *plan) { return plan->params.value[REDUCE_N] / plan->grid.x; }

// ---- the bound

// Roundings on the longest way from an element to the result.
static double roundings(const cj_plan *plan) {
    double threads = (double)plan->grid.x * plan->block.x, vector = REDUCE_LOAD / bytes_of(plan);
    double loads = ceil((double)plan->params.value[REDUCE_N] / vector / threads);
    if (cj__reduce_is_sliced(plan)) loads = ceil((double)(slice_of(plan) + 1) / vector / plan->block.x) + 1;
    bool   together = cj__reduce_op(plan)->kind == REDUCE_MOMENTS;
    double thread = (together ? loads : ceil(loads / REDUCE_FLIGHT)) + log2(vector) + 6;  // 6: their sum, edges, weight
    double tree = 5 + 5 + 4 + 16;                                        // warp, block, cluster's slots
    return thread + tree + ceil((double)groups_of(plan) / 32) + 10 + 3;  // 3: a mean's division, conversions
}

static double error_bound(const cj_plan *plan) {
    const reduce_op *op = cj__reduce_op(plan);
    const char      *type = cj__reduce_combined_type(plan);
    if (*type != 'f') return 0;
    if (plan->params.function[REDUCE_OP_EXPR]) return NAN;
    if (op->combine == CJ_COMBINE_MIN || op->combine == CJ_COMBINE_MAX) return 0;
    double count = op->combine == CJ_COMBINE_PRODUCT ? (double)plan->params.value[REDUCE_N] + 1 : roundings(plan);
    if (op->kind == REDUCE_MOMENTS) count *= 4;
    double relative = count * ldexp(1, type[1] == '3' ? -FLT_MANT_DIG : -DBL_MANT_DIG);
    return relative < 0.5 ? relative / (1 - relative) : (double)NAN;
}

cj_status cj__reduce_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    TRY(cj__functions_check(plan, error));
    REFUSE_IF(plan->params.value[REDUCE_WEIGHT] && plan->params.function[REDUCE_OP_EXPR],
              "weight=block goes with op=sum only" CJ_HINT "leave op-expr out, or weight at its default");
    choose_shape(plan, limits, clusters);
    // Sums of squares of the 16 elements of a load need more registers than threads of the largest blocks have.
    const bool many = cj__reduce_op(plan)->kind == REDUCE_MOMENTS && bytes_of(plan) == 1;
    REFUSE_IF(many && plan->block.x > REDUCE_MOMENTS_BLOCK,
              "block: %" PRIu32 " threads have too few registers each for op=meanvar of 8-bit elements: at most %d have"
              " enough" CJ_HINT "take fewer, or leave block at its default",
              plan->block.x, REDUCE_MOMENTS_BLOCK);
    if (cj__reduce_is_sliced(plan)) CJ_DERIVE(plan, slice_of(plan));
    plan->programmatic = plan->params.value[REDUCE_DEPENDENT] && clusters;
    plan->workspace_bytes = cj__reduce_gathers(plan) ? cj__gather_bytes(groups_of(plan), cj__reduce_words(plan)) : 0;
    plan->error_bound = error_bound(plan);
    cj__name_entry(plan, "reduce_%s_%s", plan->params.function[REDUCE_OP_EXPR] ? "user" : CJ_PARAM_WORD(plan, "op"),
                   CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}
