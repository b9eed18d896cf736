// SPDX-License-Identifier: Apache-2.0
// From argmax's parameters the threads that read a row: some lanes of a warp, a block, a cluster, or several of these, its parts.
#include "argmax.h"

argmax_shape cj__argmax_shape(const cj_plan *plan) {
    static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};  // in the order of the parameter's words
    const uint64_t       *value = plan->params.value, columns = value[ARGMAX_COLUMNS];
    const uint64_t        starts = value[ARGMAX_ROWS] > 1 ? cj__stride(plan, ARGMAX_STRIDE, columns) : 0;  // of rows
    argmax_shape          s = {.dtype = dtypes[value[ARGMAX_DTYPE]]};
    s.bytes = (unsigned)cj_dtype_size(s.dtype);
    s.width = ARGMAX_LOAD / s.bytes;
    s.peeled = cj__load_width(value[ARGMAX_ALIGN], s.bytes, columns | starts) < s.width;
    return s;
}

static uint64_t vectors_of(const cj_plan *plan) {
    return cj__ceil_div(plan->params.value[ARGMAX_COLUMNS], cj__argmax_shape(plan).width);
}

// Lanes that read vectors, at least: the first threads of a row take an element each of its head and tail, each shorter than a vector.
static unsigned least_lanes(const cj_plan *plan) {
    const argmax_shape s = cj__argmax_shape(plan);
    return s.peeled ? 2 * s.width : ARGMAX_LANES_LEAST;
}

bool cj__argmax_is_short(const cj_plan *plan) {
    const uint64_t lanes = plan->params.value[ARGMAX_LANES];
    return lanes && lanes <= ARGMAX_LANES_LEAST && plan->params.value[ARGMAX_COLUMNS] <= lanes * ARGMAX_EACH;
}

// Short rows: the fewest lanes of which each has a few elements. Longer ones: the fewest lanes of which each has a vector and, in
// rows that fill the GPU, no more than it has in flight. 0: longer rows.
static uint64_t choose_lanes(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t rows = plan->params.value[ARGMAX_ROWS], vectors = vectors_of(plan);
    uint64_t       lanes = 1;
    if (plan->params.value[ARGMAX_COLUMNS] <= ARGMAX_LANES_LEAST * ARGMAX_EACH) {
        const unsigned many = cj__argmax_shape(plan).bytes == 2 ? ARGMAX_MANY_NARROW : ARGMAX_MANY;
        const unsigned few = rows < ARGMAX_MANY_ROWS ? ARGMAX_FEW : many;
        while (lanes < ARGMAX_LANES_LEAST && plan->params.value[ARGMAX_COLUMNS] > lanes * few) lanes *= 2;
        return lanes;
    }
    lanes = ARGMAX_WARP;
    const uint64_t few = rows >= (uint64_t)limits->sm_count * ARGMAX_ALONE_PER_SM ? ARGMAX_WARP_FLIGHT : ARGMAX_FLIGHT;  // loads of a lane
    if (vectors > ARGMAX_WARP * few && (plan->params.value[ARGMAX_COLUMNS] > ARGMAX_WARP_COLUMNS ||
                                                  rows < (uint64_t)limits->sm_count * ARGMAX_WARPS_PER_SM))
        return 0;
    while (lanes > least_lanes(plan) &&
           (vectors < lanes || (vectors <= lanes / 2 * ARGMAX_FLIGHT &&
                                rows * (lanes / 2) >= (uint64_t)limits->sm_count * ARGMAX_LANES_PER_SM)))
        lanes /= 2;
    return lanes;
}

static uint64_t row_bytes(const cj_plan *plan) { return plan->params.value[ARGMAX_COLUMNS] * cj__argmax_shape(plan).bytes; }

// Blocks that shall share a row. A few for each SM, all at work at once; of long rows several waves, of which the last is a
// small share of all.
static uint64_t choose_sharing(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t rows = plan->params.value[ARGMAX_ROWS], bytes = row_bytes(plan), sms = limits->sm_count;
    if (rows >= sms * ARGMAX_ALONE_PER_SM || bytes < ARGMAX_SHARED_LEAST) return 1;
    const uint64_t least = rows * ARGMAX_CLUSTER_MOST <= sms ? ARGMAX_SHARE_FEW : ARGMAX_SHARE_LEAST;
    const uint64_t at_once = cj__least(sms * ARGMAX_BLOCKS_PER_SM / rows, bytes / least);
    const uint64_t in_waves = cj__least(cj__ceil_div(sms * ARGMAX_WAVES_PER_SM, rows), plan->params.value[ARGMAX_COLUMNS] / ARGMAX_WAVE_LEAST);
    return cj__most(4 * in_waves >= 5 * at_once ? in_waves : at_once, 1);
}

// A cluster where its blocks have the row in a few rounds of loads, and all clusters are at work at once; else parts.
static void choose_groups(cj_plan *plan, const cj_limits *limits, bool clusters) {
    uint64_t      *value = plan->params.value, cluster = clusters ? value[ARGMAX_CLUSTER] : 0;
    const uint64_t sharing = choose_sharing(plan, limits);
    if (cluster == CJ_PARAM_AUTO) {
        cluster = 0;
        const uint64_t largest = cj__least(limits->max_cluster, ARGMAX_CLUSTER_MOST);
        const bool     fill = value[ARGMAX_ROWS] * largest >= limits->sm_count;
        if (sharing > 1 && row_bytes(plan) <= (fill ? ARGMAX_CLUSTER_LONG : ARGMAX_CLUSTER_FEW) && !cj__is_asked(plan, ARGMAX_PARTS))
            for (cluster = 2; cluster * 2 <= cj__least(sharing, largest);) cluster *= 2;
    }
    const uint64_t worth = cj__least(row_bytes(plan) / ARGMAX_PART_LEAST, plan->params.family->param[ARGMAX_PARTS].maximum);
    const uint64_t parts = cluster ? 1 : cj__most(cj__least(sharing, worth), 1);
    value[ARGMAX_CLUSTER] = cluster;
    value[ARGMAX_PARTS] = cj__asked_or(plan, ARGMAX_PARTS, parts);
}

// A thread has a few loads of what its block has. Where blocks are more than the SMs hold beside those of the next launch, they are small: what has
// ended makes room for others; and so they are where an SM has several rows.
static uint64_t choose_block(const cj_plan *plan, const cj_limits *limits, uint64_t lanes) {
    const uint64_t *value = plan->params.value, rows = value[ARGMAX_ROWS], sms = limits->sm_count;
    const uint64_t sharing = cj__most(value[ARGMAX_CLUSTER], 1) * value[ARGMAX_PARTS];
    const uint64_t threads = cj__ceil_div(vectors_of(plan), sharing > 1 ? sharing * ARGMAX_SHARED_FLIGHT : ARGMAX_FLIGHT);
    const bool     small = rows >= sms * ARGMAX_SMALL_PER_SM && value[ARGMAX_COLUMNS] <= ARGMAX_SMALL_COLUMNS;
    const bool     many = sharing > 1 && 2 * rows * sharing > 3 * sms && row_bytes(plan) / sharing < ARGMAX_LARGE_LEAST;
    const unsigned most = lanes ? ARGMAX_SHORT_BLOCK : small ? ARGMAX_SMALL_BLOCK : many ? ARGMAX_BLOCK_MANY : ARGMAX_BLOCK_MOST;
    return cj__least(cj__round_up(lanes ? rows * lanes : threads, ARGMAX_WARP), most);
}

// What is chosen becomes the plan's parameters, so that the kernel is written from them. A request that sets cluster, parts or
// block gets at least a block a row.
static cj_status choose_shape(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    uint64_t  *value = plan->params.value;
    const bool by_block = cj__is_asked(plan, ARGMAX_BLOCK) || cj__is_asked(plan, ARGMAX_PARTS) ||
                          cj__asked_or(plan, ARGMAX_CLUSTER, 0);
    const uint64_t lanes = cj__asked_or(plan, ARGMAX_LANES, by_block ? 0 : choose_lanes(plan, limits));
    REFUSE_IF(lanes & (lanes - 1),
              "lanes: %" PRIu64 " is neither 0 nor a power of two" CJ_HINT "choose one of these, or leave it at its default",
              lanes);
    value[ARGMAX_LANES] = lanes;
    REFUSE_IF(lanes && lanes < least_lanes(plan) && !cj__argmax_is_short(plan),
              "lanes: %" PRIu64 " have rows of up to %" PRIu64 " elements, not of %" PRIu64 "; longer ones need %u at least" CJ_HINT
              "choose more lanes, 32 at most, or leave it at its default",
              lanes, lanes * ARGMAX_EACH, value[ARGMAX_COLUMNS], least_lanes(plan));
    if (lanes) {
        value[ARGMAX_CLUSTER] = 0;
        value[ARGMAX_PARTS] = 1;
    } else {
        choose_groups(plan, limits, clusters);
    }
    value[ARGMAX_BLOCK] = cj__asked_or(plan, ARGMAX_BLOCK, choose_block(plan, limits, lanes));
    return CJ_OK;
}

static cj_status plan_grid(cj_plan *plan, cj_error *error) {
    const uint64_t *value = plan->params.value, rows = value[ARGMAX_ROWS], lanes = value[ARGMAX_LANES];
    const uint64_t  each = cj__most(value[ARGMAX_CLUSTER], 1) * value[ARGMAX_PARTS];
    const uint64_t  blocks = lanes ? cj__ceil_div(rows, value[ARGMAX_BLOCK] / lanes) : rows * each;
    TRY(cj__check_grid(blocks, rows, each, error));
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    plan->block = (cj_dim3){(uint32_t)value[ARGMAX_BLOCK], 1, 1};
    if (value[ARGMAX_CLUSTER]) plan->cluster = (cj_dim3){(uint32_t)value[ARGMAX_CLUSTER], 1, 1};
    return CJ_OK;
}

cj_status cj__argmax_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    enum { LINE = 8 };  // vectors of 128 bytes
    const uint64_t *value = plan->params.value, columns = value[ARGMAX_COLUMNS];
    TRY(cj__check_stride(plan, ARGMAX_STRIDE, columns, error));
    cj__cluster_asked(plan, ARGMAX_CLUSTER, clusters);
    TRY(choose_shape(plan, limits, clusters, error));
    TRY(plan_grid(plan, error));
    CJ_DERIVE(plan, columns, cj__stride(plan, ARGMAX_STRIDE, columns));
    if (value[ARGMAX_LANES]) CJ_DERIVE(plan, value[ARGMAX_ROWS]);
    if (value[ARGMAX_PARTS] > 1) {
        CJ_DERIVE(plan, cj__round_up(cj__ceil_div(vectors_of(plan), value[ARGMAX_PARTS]), LINE));
        plan->workspace_bytes = value[ARGMAX_ROWS] * cj__gather_bytes(value[ARGMAX_PARTS], ARGMAX_WORDS);
    }
    plan->programmatic = clusters;  // the same targets have programmatic dependent launch
    cj__name_entry(plan, "argmax_%s", CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}
