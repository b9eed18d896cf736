// SPDX-License-Identifier: Apache-2.0
// What shape a scan runs in, and how far off it may be.
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "scan.h"
#include "user_function.h"

// Bytes of registers for what a thread holds of a row of one tile, and of a longer one, whose way to the other tiles
// takes registers too; threads of a block that takes one of many tiles, and at least of one that takes short rows.
enum { ALONE_BYTES = 160, TILED_BYTES = 144, TILED_BLOCK = 512, LEAST_BLOCK = 128 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

static unsigned power_from(uint64_t value) {  // the least power of two that is not below it
    unsigned power = 1;
    while (power < value) power *= 2;
    return power;
}

static uint64_t stride_of(const cj_plan *plan, int param) {
    return plan->params.value[param] ? plan->params.value[param] : plan->params.value[SCAN_COLUMNS];
}

// Elements of a load: as many as all that loads begin at are multiples of, so that none crosses a row's end.
static unsigned width_of(const cj_plan *plan, unsigned bytes) {
    const uint64_t *value = plan->params.value;
    const uint64_t strides = value[SCAN_ROWS] > 1 ? stride_of(plan, SCAN_STRIDE) | stride_of(plan, SCAN_OUT_STRIDE) : 0;
    const uint64_t all = value[SCAN_COLUMNS] | strides;
    unsigned       width = (unsigned)(SCAN_LOAD >> value[SCAN_ALIGN]) / bytes;
    while (width > 1 && all % width) width /= 2;
    return width ? width : 1;
}

// Loads of a thread: its elements, their flags, and what stands before each load, are held at once.
static unsigned loads_of(const cj_plan *plan, const scan_shape *s, unsigned bytes) {
    unsigned loads = SCAN_LOADS_MAX;
    if (plan->params.value[SCAN_LOADS] != CJ_PARAM_AUTO) return (unsigned)plan->params.value[SCAN_LOADS];
    const unsigned flags = cj__scan_segmented(s) ? (s->width > 4 ? 8 : 4) : 0;
    while (loads > 1 && loads * ((s->width + 1) * s->computed + flags) > bytes) loads /= 2;
    return loads;
}

bool     cj__scan_posts(const scan_shape *s) { return s->tiles > 1 && !s->cluster; }
uint64_t cj__scan_groups(const scan_shape *s) {
    return cj__scan_posts(s) && s->tiles > SCAN_GROUP ? ceil_div(s->tiles, SCAN_GROUP) : 0;
}

// The shape of the parameters, of which block, loads and cluster say themselves where they are not "auto".
void cj__scan_shape(const cj_plan *plan, scan_shape *s) {
    const uint64_t *value = plan->params.value;
    const cj_dtype  dtype = (cj_dtype)value[SCAN_DTYPE];
    *s = (scan_shape){.type = cj__dtype_ptx(dtype),
                      .bytes = (unsigned)cj_dtype_size(dtype),
                      .rows = value[SCAN_ROWS],
                      .computed = (unsigned)cj_dtype_size(cj_dtype_arithmetic(dtype)),
                      .columns = value[SCAN_COLUMNS],
                      .heads = (scan_heads)value[SCAN_HEADS],
                      .segments = value[SCAN_SEGMENTS]};
    s->width = width_of(plan, s->bytes);
    const uint64_t row = s->columns / s->width;  // loads of a row
    const unsigned alone = loads_of(plan, s, ALONE_BYTES);
    const unsigned most = value[SCAN_BLOCK] != CJ_PARAM_AUTO ? (unsigned)value[SCAN_BLOCK] : SCAN_BLOCK_MAX;
    if (row <= (uint64_t)alone * most) {  // one tile; of a warp or less where that will do
        s->threads = power_from(row < SCAN_WARP                    ? row
                                : ceil_div(row, alone) > SCAN_WARP ? ceil_div(row, alone)
                                                                   : SCAN_WARP);
        s->loads = (unsigned)ceil_div(row, s->threads);
        s->block = value[SCAN_BLOCK] != CJ_PARAM_AUTO ? most : s->threads > LEAST_BLOCK ? s->threads : LEAST_BLOCK;
        s->tiles = 1;
    } else {
        s->block = s->threads = value[SCAN_BLOCK] != CJ_PARAM_AUTO ? most : TILED_BLOCK;
        s->loads = loads_of(plan, s, TILED_BYTES);
        s->tiles = ceil_div(row, (uint64_t)s->threads * s->loads);
    }
    s->tile = (uint64_t)s->threads * s->loads * s->width;
    s->lanes = s->threads < SCAN_WARP ? s->threads : SCAN_WARP;
    s->warps = s->threads / s->lanes;
    if (s->tiles > 1 && value[SCAN_CLUSTER] != CJ_PARAM_AUTO) s->cluster = (unsigned)value[SCAN_CLUSTER];
}

// ---- what is refused

static cj_status check_functions(const cj_plan *plan, cj_error *error) {
    const cj_user_function *const *function = plan->params.function;
    const cj_dtype                 type = cj_dtype_arithmetic((cj_dtype)plan->params.value[SCAN_DTYPE]);
    for (int i = SCAN_OP_EXPR; i <= SCAN_IDENTITY; i++) {
        if (!function[i]) continue;
        cj_status status = cj__user_function_check(function[i], cj__scan_params[i].name, type,
                                                   i == SCAN_OP_EXPR ? 2 : 0, error);
        if (status) return status;
    }
    if (!function[SCAN_OP_EXPR] != !function[SCAN_IDENTITY]) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 function[SCAN_OP_EXPR] ? "identity is missing: op-expr needs one" : "identity goes with op-expr only");
        cj__hint(error, "identity is the value e for which op-expr of e and any x is x: 0 for a + b");
        return CJ_INVALID_ARGUMENT;
    }
    if (function[SCAN_IDENTITY] && !function[SCAN_IDENTITY]->is_constant)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "identity: '%.200s' is not a constant",
                        function[SCAN_IDENTITY]->text);
    if (!function[SCAN_OP_EXPR] || !plan->params.value[SCAN_OP]) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "op and op-expr exclude each other");
    cj__hint(error, "leave op at its default");
    return CJ_INVALID_ARGUMENT;
}

static cj_status check_strides(const cj_plan *plan, cj_error *error) {
    const uint64_t columns = plan->params.value[SCAN_COLUMNS];
    for (int i = SCAN_STRIDE; i <= SCAN_OUT_STRIDE; i++)
        if (stride_of(plan, i) < columns) {
            cj__fail(error, CJ_INVALID_ARGUMENT, "%s: %" PRIu64 " is below the %" PRIu64 " columns of a row",
                     cj__scan_params[i].name, stride_of(plan, i), columns);
            cj__hint(error, "rows may not overlap; 0 stands for rows without a gap");
            return CJ_INVALID_ARGUMENT;
        }
    return CJ_OK;
}

static cj_status check_segments(const cj_plan *plan, cj_error *error) {
    const uint64_t *value = plan->params.value;
    if (value[SCAN_HEADS] <= SCAN_FLAGS && value[SCAN_SEGMENTS]) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "segments: %" PRIu64 " go with offsets only", value[SCAN_SEGMENTS]);
        cj__hint(error, "say in heads of which type the offsets are: i32 or i64");
        return CJ_INVALID_ARGUMENT;
    }
    if (value[SCAN_HEADS] <= SCAN_FLAGS) return CJ_OK;
    if (!value[SCAN_SEGMENTS])
        return cj__fail(error, CJ_INVALID_ARGUMENT, "segments: 0 is below 1: offsets are of that many segments");
    if (value[SCAN_ROWS] == 1) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "rows: offsets are of one array, not of %" PRIu64 " rows", value[SCAN_ROWS]);
    cj__hint(error, "rows without a gap are one array: rows=1, and segments that end with each row");
    return CJ_INVALID_ARGUMENT;
}

static cj_status check_shape(const scan_shape *s, cj_error *error) {
    if (s->block & (s->block - 1))
        return cj__fail(error, CJ_INVALID_ARGUMENT, "block: %u is not a power of two", s->block);
    if (s->cluster && s->tiles > s->cluster) {
        cj__fail(error, CJ_CONTRACT,
                 "cluster: a row of %" PRIu64 " elements is %" PRIu64 " blocks' of %" PRIu64
                 " elements each, more than %u",
                 s->columns, s->tiles, s->tile, s->cluster);
        cj__hint(error, "take a larger cluster, or cluster=0, with which rows have any length");
        return CJ_CONTRACT;
    }
    const uint64_t blocks = s->cluster ? s->rows * s->cluster : s->rows * s->tiles;
    if (blocks <= INT32_MAX) return CJ_OK;
    return cj__fail(error, CJ_CONTRACT,
                    "rows, columns: %" PRIu64 " rows of %" PRIu64 " tiles are more blocks than the"
                    " 2^31 - 1 of a grid",
                    s->rows, s->tiles);
}

// ---- the bound

// Roundings on the longest way from an element to a result.
static double roundings(const scan_shape *s) {
    const double warps = log2((double)s->warps) + 1, groups = (double)cj__scan_groups(s);
    return 2 * s->width + 5 + s->loads + 2 + warps + 1 + (s->tiles > 1 ? 6 : 0) + (groups > 0 ? groups + 2 : 0);
}

static double error_bound(const cj_plan *plan, const scan_shape *s) {
    static const double halves[] = {[CJ_F16] = 0x1p-11, [CJ_BF16] = 0x1p-8};
    const uint64_t     *value = plan->params.value;
    if (*s->type != 'f') return 0;
    if (plan->params.function[SCAN_OP_EXPR]) return NAN;
    if (value[SCAN_OP] == 1 || value[SCAN_OP] == 2) return 0;  // min, max
    const double count = value[SCAN_OP] ? (double)s->columns + 1 : roundings(s);
    const double relative = count * ldexp(1, s->computed == 4 ? -FLT_MANT_DIG : -DBL_MANT_DIG);
    const double half = value[SCAN_DTYPE] >= CJ_F16 ? halves[value[SCAN_DTYPE]] : 0;
    return relative < 0.5 ? relative / (1 - relative) + half : (double)NAN;
}

static uint64_t grid_of(const scan_shape *s) {
    if (s->tiles > 1) return s->rows * (s->cluster ? s->cluster : s->tiles);
    return ceil_div(s->rows, s->block / s->threads);
}

cj_status cj__scan_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value;
    scan_shape      s;
    char            op[12], dtype[8];
    (void)limits;
    cj_status status = check_functions(plan, error);
    if (!status) status = check_strides(plan, error);
    if (!status) status = check_segments(plan, error);
    if (status) return status;
    if (value[SCAN_CLUSTER] != CJ_PARAM_AUTO && value[SCAN_CLUSTER] && !clusters) {
        snprintf(plan->note, sizeof plan->note,
                 "%s has no thread block clusters (they need sm_90): generated without,"
                 " cluster=%" PRIu64 " is not used",
                 plan->arch, value[SCAN_CLUSTER]);
        plan->params.value[SCAN_CLUSTER] = 0;
    }
    cj__scan_shape(plan, &s);
    status = check_shape(&s, error);
    if (status) return status;
    plan->block = (cj_dim3){s.block, 1, 1};
    plan->grid = (cj_dim3){(uint32_t)grid_of(&s), 1, 1};
    if (s.cluster) plan->cluster = (cj_dim3){s.cluster, 1, 1};
    const uint64_t derived[] = {s.rows, s.columns, stride_of(plan, SCAN_STRIDE), stride_of(plan, SCAN_OUT_STRIDE)};
    memcpy(plan->derived, derived, sizeof derived);
    plan->derived_count = sizeof derived / sizeof *derived;
    const uint64_t posts = s.rows * (s.tiles + cj__scan_groups(&s));
    plan->workspace_bytes = cj__scan_posts(&s) ? SCAN_POSTS_AT + posts * 2 * s.computed : 0;
    plan->error_bound = error_bound(plan, &s);
    snprintf(plan->entry, sizeof plan->entry, "%sscan_%s_%s", cj__scan_segmented(&s) ? "segmented_" : "",
             plan->params.function[SCAN_OP_EXPR] ? "user" : cj_params_word(&plan->params, "op", op, sizeof op),
             cj_params_word(&plan->params, "dtype", dtype, sizeof dtype));
    return CJ_OK;
}
