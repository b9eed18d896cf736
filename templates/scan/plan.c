// SPDX-License-Identifier: Apache-2.0
// The plan of a scan: what is refused, the form, the error bound.
#include <float.h>

#include "scan.h"

// ---- what is refused

// Registers that ptxas takes for a thread, at most: elements as they are computed in, and what each load needs beside them
// (its prefix, and with segments its flags and masks of lanes).
static unsigned registers_of(const scan_shape *s) {
    const bool     segmented = cj__scan_segmented(s);
    const unsigned elements = s->loads * s->width * s->computed / 4;
    if (s->form == SCAN_DIRECT && s->computed == 4)
        return elements + (segmented ? SCAN_REGISTERS_HEADS + 9 * s->loads / 2 : SCAN_REGISTERS_TILE + s->loads);
    const bool     is_long = s->form == SCAN_STREAM && s->computed == 8;
    const unsigned others = s->bytes < 4 ? SCAN_REGISTERS_NARROW : is_long ? SCAN_REGISTERS_LONG : SCAN_REGISTERS_WIDE;
    return elements + others + (segmented ? SCAN_REGISTERS_FLAGS : 0);
}

// Blocks, or of a stream numbers that these take.
static uint64_t grid_of(const scan_shape *s) {
    if (s->form == SCAN_STREAM) return cj__scan_numbers(s);
    if (s->tiles > 1) return s->rows * (s->cluster ? s->cluster : s->tiles);
    return cj__ceil_div(s->rows, s->block / s->threads);
}

// `cluster`: what is asked for, or 0.
static cj_status check_shape(const scan_shape *s, unsigned cluster, cj_error *error) {
    const unsigned block = s->form == SCAN_STREAM ? s->threads : s->block;
    const unsigned there = cj__registers_per_thread(s->block), needed = registers_of(s);
    REFUSE_IF(s->heads > SCAN_FLAGS && !s->segments,
              "segments: 0 is below 1: offsets are of that many segments" CJ_HINT "set segments, or heads=flags");
    REFUSE_IF(s->heads > SCAN_FLAGS && s->rows > 1,
              "rows: offsets are of one array, not of %" PRIu64 " rows" CJ_HINT
              "rows without a gap are one array: rows=1, and segments that end with each row",
              s->rows);
    REFUSE_IF(block & (block - 1), "block: %u is not a power of two" CJ_HINT "choose 32, 64, 128, 256, 512 or 1024",
              block);
    REFUSE_IF(cluster && !s->cluster,
              "cluster: %u blocks would share a row of %" PRIu64 " elements, of which a block of %u threads with %u"
              " loads of %u elements takes all" CJ_HINT
              "leave cluster at its default; or fewer threads and loads, or longer rows, make several blocks' work",
              cluster, s->columns, s->block, s->loads, s->width);
    FAIL_IF(s->cluster && s->tiles > s->cluster, CJ_CONTRACT,
            "cluster: a row of %" PRIu64 " elements is %" PRIu64 " blocks' of %" PRIu64
            " elements each, more than %u" CJ_HINT
            "take a larger cluster, or cluster=0, with which rows have any length",
            s->columns, s->tiles, s->tile, s->cluster);
    FAIL_IF(grid_of(s) > INT32_MAX || s->tiles > INT32_MAX, CJ_CONTRACT,
            "rows, columns: %" PRIu64 " rows of %" PRIu64 " tiles are more blocks than the 2^31 - 1 of a grid" CJ_HINT
            "use several launches",
            s->rows, s->tiles);
    REFUSE_IF(
        needed > there,
        "loads: %u loads of %u-bit elements take about %u registers of a thread; blocks of %u threads have %u" CJ_HINT
        "take fewer loads or a smaller block, or leave loads at its default",
        s->loads, 8 * s->bytes, needed, s->block, there);
    return CJ_OK;
}

// ---- the form

// Whether bulk copies can load the tiles: rows are multiples of 16 bytes, except the end of one array.
static bool can_stream(const scan_shape *s, bool clusters) {
    return clusters && s->width * s->bytes == SCAN_LOAD && s->heads <= SCAN_FLAGS && s->tiles > 0 &&
           !(s->whole_rows && s->tail);
}

// As many stages as are asked for, or as fit into shared memory beside the other arrays.
static unsigned stages_of(const cj_plan *plan, scan_shape *s, const cj_limits *limits) {
    if (cj__is_asked(plan, SCAN_STAGES)) return (unsigned)plan->params.value[SCAN_STAGES];
    for (s->stages = SCAN_STAGES_MAX; s->stages > 1; s->stages--)
        if (cj__scan_pool(s) <= SCAN_STREAM_POOL &&
            cj__scan_pool(s) + cj__scan_slots(s) <= limits->shared_per_block_optin)
            break;
    return s->stages;
}

// Plans a stream, and writes the parameters that the caller left to the plan. False if it does not fit.
static bool try_stream(cj_plan *plan, scan_shape *s, const cj_limits *limits, bool clusters) {
    uint64_t *value = plan->params.value;
    value[SCAN_FORM] = SCAN_STREAM;
    const bool whole = s->rows >= (uint64_t)SCAN_ROWS_PER_SM * limits->sm_count &&
                       s->columns * s->bytes <= SCAN_WHOLE_ROW;
    if (!value[SCAN_COUNTER]) value[SCAN_COUNTER] = whole ? SCAN_COUNTER_ROW : SCAN_COUNTER_TILE;
    cj__scan_shape(plan, s);
    value[SCAN_STAGES] = s->stages = stages_of(plan, s, limits);
    value[SCAN_BLOCK] = s->threads;
    value[SCAN_LOADS] = s->loads;
    return can_stream(s, clusters) && s->block <= limits->max_threads_per_block &&
           cj__scan_pool(s) + cj__scan_slots(s) <= limits->shared_per_block_optin;
}

// Few rows, each of as many loads as a cluster takes in a few: its blocks pass their sums on through shared memory of each other, where blocks of a grid
// look back in global memory, and one block would have more loads a thread.
static void take_by_clusters(cj_plan *plan, const scan_shape *s) {
    uint64_t      *value = plan->params.value;
    const uint64_t row = cj__ceil_div(s->columns, s->width);
    const bool     asks = cj__is_asked(plan, SCAN_CLUSTER) || cj__is_asked(plan, SCAN_BLOCK) || cj__is_asked(plan, SCAN_LOADS);
    if (asks || cj__scan_segmented(s) || s->rows > SCAN_FEW_ROWS || row < SCAN_JOINED_LEAST) return;
    if (row > (uint64_t)SCAN_JOINED_BLOCKS * SCAN_JOINED_THREADS * SCAN_JOINED_LOADS) return;
    const unsigned cluster = row <= (uint64_t)SCAN_JOINED_BLOCKS / 2 * SCAN_LEAST_BLOCK * SCAN_JOINED_LOADS ? SCAN_JOINED_BLOCKS / 2 : SCAN_JOINED_BLOCKS;
    unsigned       block = SCAN_LEAST_BLOCK;
    while (row > (uint64_t)cluster * block * SCAN_JOINED_LOADS) block *= 2;
    value[SCAN_CLUSTER] = cluster;
    value[SCAN_BLOCK] = block;
    value[SCAN_LOADS] = SCAN_JOINED_LOADS;
}

static cj_status choose_form(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    uint64_t       *value = plan->params.value;
    const cj_params asked = plan->params;
    const uint64_t  form = value[SCAN_FORM];
    const bool      must = form == SCAN_STREAM || value[SCAN_COUNTER] || cj__is_asked(plan, SCAN_STAGES) ||
                      cj__is_asked(plan, SCAN_GRID);
    const bool with_cluster = cj__asked_or(plan, SCAN_CLUSTER, 0);
    scan_shape s;
    value[SCAN_FORM] = SCAN_DIRECT;
    cj__scan_shape(plan, &s);
    const bool large = s.rows * s.columns * s.bytes >= SCAN_STREAM_LEAST && s.columns * s.bytes >= SCAN_STREAM_ROW;
    if (must || (form == SCAN_AUTO && !with_cluster && large)) {
        if (try_stream(plan, &s, limits, clusters) && !with_cluster) return CJ_OK;
        REFUSE_IF(must,
                  "form=stream does not fit: rows of %" PRIu64 " elements of %u bytes in loads of %u, block=%u loads=%u"
                  " stages=%u; %s has %u bytes of shared memory a block" CJ_HINT
                  "streams need sm_90, align=16 (of one array without segments 4 or more), rows and strides of whole 16 bytes, no"
                  " offsets and no cluster; leave form, counter, stages and grid at their defaults",
                  s.columns, s.bytes, s.width * s.bytes, s.threads, s.loads, s.stages, limits->name,
                  limits->shared_per_block_optin);
        memcpy(value, asked.value, sizeof asked.value);
    } else if (form == SCAN_AUTO && clusters && limits->max_cluster >= SCAN_JOINED_BLOCKS) {
        take_by_clusters(plan, &s);
    }
    value[SCAN_FORM] = SCAN_DIRECT;
    value[SCAN_COUNTER] = SCAN_COUNTER_AUTO;
    value[SCAN_STAGES] = value[SCAN_GRID] = CJ_PARAM_AUTO;
    return CJ_OK;
}

// ---- the bound

// Roundings on the longest way from an element to a result.
static double roundings(const scan_shape *s) {
    const double warps = log2((double)s->warps) + 1, groups = (double)cj__scan_groups(s);
    const double shares = s->form == SCAN_STREAM ? s->loads * s->width + (s->whole_rows ? (double)s->tiles : 0) : 0;
    return 2 * s->width + 5 + s->loads + 2 + warps + 1 + (s->tiles > 1 ? 6 : 0) + (groups > 0 ? groups + 2 : 0) +
           shares;
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

// As many blocks as the GPU holds at once, but no more than there are tiles or rows to take. No block waits for one that has
// not started.
static void plan_stream_grid(cj_plan *plan, const scan_shape *s, const cj_limits *limits) {
    const uint64_t room = cj__clusters_at_once(limits, s->block, cj__scan_pool(s) + cj__scan_slots(s), 0);
    plan->grid.x = cj__asked_or(plan, SCAN_GRID, cj__least(room, grid_of(s)));
    plan->resident = !cj__is_asked(plan, SCAN_GRID);
    plan->dynamic_shared = (uint32_t)cj__scan_pool(s);
}

cj_status cj__scan_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    scan_shape s;
    TRY(cj__functions_check(plan, error));
    TRY(cj__check_stride(plan, SCAN_STRIDE, plan->params.value[SCAN_COLUMNS], error));
    TRY(cj__check_stride(plan, SCAN_OUT_STRIDE, plan->params.value[SCAN_COLUMNS], error));
    TRY(cj__refuse_bf16(plan, "dtype", CJ_PARAM_WORD(plan, "dtype"), error));
    plan->params.value[SCAN_CLUSTER] = cj__cluster_asked(plan, SCAN_CLUSTER, clusters);
    TRY(choose_form(plan, limits, clusters, error));
    cj__scan_shape(plan, &s);
    TRY(check_shape(&s, cj__asked_or(plan, SCAN_CLUSTER, 0), error));
    plan->params.value[SCAN_CLUSTER] = s.cluster;
    plan->params.value[SCAN_WIDTH] = s.form == SCAN_DIRECT ? s.width : CJ_PARAM_AUTO;
    plan->block = (cj_dim3){s.block, 1, 1};
    plan->grid = (cj_dim3){(uint32_t)grid_of(&s), 1, 1};
    if (s.form == SCAN_STREAM) plan_stream_grid(plan, &s, limits);
    plan->programmatic = clusters;  // the same targets have programmatic dependent launch
    if (s.cluster) plan->cluster = (cj_dim3){s.cluster, 1, 1};
    CJ_DERIVE(plan, s.rows, s.columns, cj__scan_stride(plan, SCAN_STRIDE), cj__scan_stride(plan, SCAN_OUT_STRIDE));
    const uint64_t statuses = s.form == SCAN_STREAM ? cj__scan_numbers(&s) : s.rows * (s.tiles + cj__scan_groups(&s));
    if (s.form == SCAN_STREAM) plan->workspace_bytes = SCAN_STATUS_AT;
    if (cj__scan_looks_back(&s)) plan->workspace_bytes = SCAN_STATUS_AT + statuses * 2 * s.computed;
    plan->error_bound = error_bound(plan, &s);
    cj__name_entry(plan, "%sscan_%s_%s", cj__scan_segmented(&s) ? "segmented_" : "",
                   plan->params.function[SCAN_OP_EXPR] ? "user" : CJ_PARAM_WORD(plan, "op"),
                   CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}
