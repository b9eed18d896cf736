// SPDX-License-Identifier: Apache-2.0
// argmax's parameters, and from them the threads that read a row: some lanes of a warp, a block, a cluster, or several of these, its parts.
#include "argmax.h"

const cj_param_info cj__argmax_params[ARGMAX_PARAMS] = {
    [ARGMAX_ROWS] = {CJ_NUMBER("rows", 1, INT32_MAX, "1024", "rows of the matrix")},
    [ARGMAX_COLUMNS] = {CJ_NUMBER("columns", 1, INT32_MAX, "4096", "elements of a row")},
    [ARGMAX_STRIDE] = {CJ_NUMBER("stride", 0, UINT32_MAX, "0", "elements from row to row; 0: columns")},
    [ARGMAX_CLUSTER] = {CJ_AUTOMATIC("cluster", 0, 16,
                                     "blocks a cluster, which reads a row or a part of it; 0: generate"
                                     " without clusters"),
                        .tune = "0 1 2 4 8 16"},
    [ARGMAX_BLOCK] = {CJ_AUTOMATIC("block", 32, 1024, "threads a block"), .multiple = 32,
                      .tune = "32 64 128 256 512 1024"},
    [ARGMAX_PARTS] = {CJ_AUTOMATIC("parts", 1, 4096,
                                   "parts of a row, each of a block or a cluster, which combine in global"
                                   " memory"),
                      .tune = "1 4 16 64 256"},
    [ARGMAX_LANES] = {CJ_AUTOMATIC("lanes", 0, 32,
                                   "lanes of a warp that have a row: 8, 16 or 32; 0: a block or more has it"),
                      .tune = "0 8 16 32"},
};

typedef struct shape {
    uint64_t lanes, block, cluster, parts;
} shape;

static uint64_t vectors_of(const cj_plan *plan) {
    return cj__ceil_div(plan->params.value[ARGMAX_COLUMNS], ARGMAX_WIDTH);
}

// The fewest lanes of which each has a vector and, in rows that fill the GPU, no more than it has in flight. 0: longer rows.
static uint64_t choose_lanes(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t rows = plan->params.value[ARGMAX_ROWS], vectors = vectors_of(plan);
    uint64_t       lanes = ARGMAX_WARP;
    if (vectors > ARGMAX_WARP * ARGMAX_FLIGHT && (plan->params.value[ARGMAX_COLUMNS] > ARGMAX_WARP_COLUMNS ||
                                                  rows < (uint64_t)limits->sm_count * ARGMAX_WARPS_PER_SM))
        return 0;
    while (lanes > ARGMAX_LANES_LEAST &&
           (vectors < lanes || (vectors <= lanes / 2 * ARGMAX_FLIGHT &&
                                rows * (lanes / 2) >= (uint64_t)limits->sm_count * ARGMAX_LANES_PER_SM)))
        lanes /= 2;
    return lanes;
}

static uint64_t choose_block(const cj_plan *plan, uint64_t lanes) {
    if (lanes) {
        const uint64_t threads = plan->params.value[ARGMAX_ROWS] * lanes;
        return cj__least(cj__round_up(threads, ARGMAX_WARP), ARGMAX_SHORT_BLOCK);
    }
    const uint64_t threads = cj__ceil_div(vectors_of(plan), ARGMAX_FLIGHT);
    return cj__least(cj__round_up(threads, ARGMAX_WARP), ARGMAX_BLOCK_MOST);
}

// Blocks that shall share a row. A few for each SM, all at work at once; of long rows several waves, of which the last is a
// small share of all.
static uint64_t choose_sharing(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t rows = plan->params.value[ARGMAX_ROWS], columns = plan->params.value[ARGMAX_COLUMNS];
    const uint64_t sms = limits->sm_count;
    if (rows >= sms * ARGMAX_ALONE_PER_SM) return 1;
    const uint64_t at_once = cj__least(sms * ARGMAX_BLOCKS_PER_SM / rows, columns / ARGMAX_SHARE_LEAST);
    const uint64_t in_waves = cj__least(cj__ceil_div(sms * ARGMAX_WAVES_PER_SM, rows), columns / ARGMAX_PART_LEAST);
    return cj__most(cj__most(at_once, in_waves), 1);
}

// A cluster where its blocks have the row in one round of loads, and all clusters are at work at once; else parts.
static void choose_groups(const cj_plan *plan, const cj_limits *limits, bool clusters, shape *s) {
    const uint64_t *value = plan->params.value, sharing = choose_sharing(plan, limits);
    s->cluster = value[ARGMAX_CLUSTER];
    if (s->cluster == CJ_PARAM_AUTO) {
        s->cluster = 0;
        if (clusters && sharing > 1 && value[ARGMAX_COLUMNS] <= ARGMAX_CLUSTER_COLUMNS &&
            value[ARGMAX_PARTS] == CJ_PARAM_AUTO)
            for (s->cluster = 2; s->cluster * 2 <= cj__least(sharing, ARGMAX_CLUSTER_MOST);) s->cluster *= 2;
    }
    if (!clusters) s->cluster = 0;
    s->parts = value[ARGMAX_PARTS];
    if (s->parts == CJ_PARAM_AUTO)
        s->parts = s->cluster ? 1 : cj__least(sharing, cj__argmax_params[ARGMAX_PARTS].maximum);
}

// A request that sets cluster, parts or block gets at least a block a row.
static cj_status choose_shape(const cj_plan *plan, const cj_limits *limits, bool clusters, shape *s, cj_error *error) {
    const uint64_t *value = plan->params.value;
    const bool      by_block = value[ARGMAX_BLOCK] != CJ_PARAM_AUTO || value[ARGMAX_PARTS] != CJ_PARAM_AUTO ||
                          (value[ARGMAX_CLUSTER] != CJ_PARAM_AUTO && value[ARGMAX_CLUSTER]);
    s->lanes = value[ARGMAX_LANES];
    if (s->lanes == CJ_PARAM_AUTO) s->lanes = by_block ? 0 : choose_lanes(plan, limits);
    REFUSE_IF(s->lanes && s->lanes != 8 && s->lanes != 16 && s->lanes != ARGMAX_WARP,
              "lanes: %" PRIu64 " is none of 0, 8, 16 and 32" CJ_HINT "choose one of these, or leave it at its default",
              s->lanes);
    s->block = value[ARGMAX_BLOCK] == CJ_PARAM_AUTO ? choose_block(plan, s->lanes) : value[ARGMAX_BLOCK];
    s->cluster = 0;
    s->parts = 1;
    if (!s->lanes) choose_groups(plan, limits, clusters, s);
    return CJ_OK;
}

// What was chosen becomes the plan's parameters, so that the kernel is written from them.
static void keep_shape(cj_plan *plan, const shape *s) {
    plan->params.value[ARGMAX_LANES] = s->lanes;
    plan->params.value[ARGMAX_BLOCK] = s->block;
    plan->params.value[ARGMAX_CLUSTER] = s->cluster;
    plan->params.value[ARGMAX_PARTS] = s->parts;
    if (s->cluster) plan->cluster = (cj_dim3){(uint32_t)s->cluster, 1, 1};
    plan->block = (cj_dim3){(uint32_t)s->block, 1, 1};
}

static cj_status check_grid(cj_plan *plan, const shape *s, cj_error *error) {
    const uint64_t rows = plan->params.value[ARGMAX_ROWS], each = cj__most(s->cluster, 1) * s->parts;
    const uint64_t blocks = s->lanes ? cj__ceil_div(rows, s->block / s->lanes) : rows * each;
    FAIL_IF(blocks > INT32_MAX, CJ_CONTRACT,
            "rows: %" PRIu64 " of %" PRIu64 " blocks each are more blocks than the 2^31 - 1 of a grid" CJ_HINT
            "use several launches",
            rows, each);
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    return CJ_OK;
}

cj_status cj__argmax_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    enum { LINE = 8 };  // vectors of 128 bytes
    const uint64_t *value = plan->params.value, columns = value[ARGMAX_COLUMNS];
    shape           s = {0};
    TRY(cj__check_stride(plan, ARGMAX_STRIDE, columns, error));
    cj__cluster_asked(plan, ARGMAX_CLUSTER, clusters);
    TRY(choose_shape(plan, limits, clusters, &s, error));
    TRY(check_grid(plan, &s, error));
    keep_shape(plan, &s);
    CJ_DERIVE(plan, columns, cj__stride(plan, ARGMAX_STRIDE, columns));
    if (s.lanes) CJ_DERIVE(plan, value[ARGMAX_ROWS]);
    if (s.parts > 1) {
        CJ_DERIVE(plan, cj__round_up(cj__ceil_div(vectors_of(plan), s.parts), LINE));
        plan->workspace_bytes = value[ARGMAX_ROWS] * (1 + s.parts) * ARGMAX_MESSAGE;
    }
    snprintf(plan->entry, sizeof plan->entry, "argmax_f32");
    return CJ_OK;
}
