// SPDX-License-Identifier: Apache-2.0
// How the parameters cut a row into slices, and the plan.
#include "topk.h"

static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};

enum { RESULT_ALL, RESULT_KTH, RESULT_ANY };  // in the order of the words

static uint64_t blocks_of_row(const topk_shape *s) { return s->cluster ? s->cluster : s->parts; }

// form=sift: slices, and places of candidates.
static void shape_sift(const cj_plan *plan, topk_shape *s) {
    const uint64_t columns = plan->params.value[TOPK_COLUMNS];
    s->loads = s->width < TOPK_EACH ? TOPK_EACH / s->width : 1;
    const unsigned each = s->loads * s->width;
    const uint64_t wanted = columns / each + 1;
    const uint64_t threads = s->cluster || 4 * s->k > TOPK_SLICE / each ? TOPK_SLICE / each
                                                                        : cj__least(TOPK_SLICE / each, TOPK_SHARING);
    s->block = plan->block.x ? plan->block.x
                             : cj__power_from(wanted < TOPK_WARP ? TOPK_WARP : cj__least(wanted, threads));
    s->slice = s->block * each;
    s->guesses = 2 * s->k <= s->block;
    s->slack = (unsigned)cj__most(TOPK_WARP, 2 * s->k * TOPK_WARP / s->block);
    s->own = s->slack + TOPK_SLICES * TOPK_WARP * each;
    s->pool = (unsigned)cj__most(s->k + s->block / TOPK_WARP * s->own,
                                 cj__most(s->cluster * s->k, cj__power_from(s->k)));
    s->shared = (uint64_t)s->pool * TOPK_CANDIDATE;
}

// form=radix: the keys that a block holds, in whole lines, and the bins, which are the pool afterwards.
static void shape_radix(const cj_plan *plan, topk_shape *s) {
    enum { LOADS = 8 };
    const uint64_t line = TOPK_LINE / s->bytes, part = cj__ceil_div(plan->params.value[TOPK_COLUMNS], blocks_of_row(s));
    s->loads = (unsigned)cj__least(TOPK_RADIX_FLIGHT / (s->width * s->bytes), LOADS);
    s->pool = s->sorts ? (unsigned)cj__most(cj__power_from(s->k), 2 * TOPK_WARP) : s->k;
    s->region = (unsigned)cj__round_up(cj__most(TOPK_BINS, s->pool * TOPK_CANDIDATE), TOPK_HELD);
    s->shared = s->region + cj__round_up(part, line) * s->bytes;
    s->block = plan->block.x;
}

// form=warp: the lanes of a row. A caller that gives a block says how many rows it has.
static void shape_warp(const cj_plan *plan, topk_shape *s) {
    const unsigned places = (unsigned)cj__power_from(plan->params.value[TOPK_COLUMNS]);
    s->lanes = (unsigned)cj__least(places, TOPK_WARP);
    s->width = 1;
    s->each = places / s->lanes;
    s->block = plan->block.x ? plan->block.x : TOPK_WARP_BLOCK;
}

// The shape that the parameters ask for, once the plan has form, cluster and block.
void cj__topk_shape(const cj_plan *plan, topk_shape *s) {
    const uint64_t *value = plan->params.value;
    *s = (topk_shape){.dtype = dtypes[value[TOPK_DTYPE]],
                      .k = (unsigned)value[TOPK_K],
                      .smallest = value[TOPK_ORDER],
                      .kth = value[TOPK_RESULT] == RESULT_KTH,
                      .any = value[TOPK_RESULT] == RESULT_ANY,
                      .wide_index = !value[TOPK_INDEX],
                      .radix = value[TOPK_FORM] == TOPK_RADIX,
                      .cluster = plan->cluster.x,
                      .parts = cj__asked_or(plan, TOPK_PARTS, 1)};
    s->bytes = (unsigned)cj_dtype_size(s->dtype);
    const uint64_t columns = value[TOPK_COLUMNS];
    const uint64_t starts = value[TOPK_ROWS] > 1 ? cj__stride(plan, TOPK_STRIDE, columns) : 0;  // of rows
    const bool     sift = value[TOPK_FORM] == TOPK_SIFT;
    s->width = cj__load_width(value[TOPK_ALIGN], s->bytes, sift ? starts : columns | starts);
    s->tail = sift && columns % s->width;
    s->sorts = !s->any && s->k > (s->radix ? TOPK_RADIX_RANKED : TOPK_RANKED);
    (value[TOPK_FORM] == TOPK_BY_WARP ? shape_warp : s->radix ? shape_radix : shape_sift)(plan, s);
}

// ---- the plan

// Beside the pool are the records of select.c, or the words of radix.c.
static bool fits(const topk_shape *s, const cj_limits *limits) {
    enum { RECORDS = 64, WORDS = 160 };
    return s->shared + (s->radix ? WORDS : RECORDS) <= limits->shared_per_block_optin;
}

// The block that is asked for; else the largest whose pool fits into shared memory.
static void choose_block(cj_plan *plan, const cj_limits *limits, topk_shape *s) {
    plan->block.x = cj__asked_or(plan, TOPK_BLOCK, 0);
    cj__topk_shape(plan, s);
    while (!cj__is_asked(plan, TOPK_BLOCK) && s->block > TOPK_WARP && !fits(s, limits)) {
        plan->block.x = s->block / 2;
        cj__topk_shape(plan, s);
    }
    plan->block = (cj_dim3){s->block, 1, 1};
}

// A cluster a row if rows are fewer than half of the SMs, and long enough.
static uint32_t largest_cluster(const cj_plan *plan, const cj_limits *limits) {
    uint32_t cluster = 1;
    while (cluster < TOPK_CLUSTER_MAX && plan->params.value[TOPK_ROWS] * cluster * 2 <= limits->sm_count &&
           plan->params.value[TOPK_COLUMNS] >= (uint64_t)cluster * 2 * TOPK_CLUSTER_SLICES * TOPK_SLICE)
        cluster *= 2;
    return cluster;
}

// As many parts as the GPU holds blocks for, of a length that is worth it, if the last block does not read too many candidates.
static uint64_t most_parts(const cj_plan *plan, const cj_limits *limits, const topk_shape *s) {
    const uint64_t *value = plan->params.value, most = plan->params.family->param[TOPK_PARTS].maximum;
    const uint64_t  held = cj__clusters_at_once(limits, s->block, s->shared, 1) / value[TOPK_ROWS];
    const uint64_t  least = cj__most(TOPK_PART_LEAST, (uint64_t)TOPK_PART_REACH * value[TOPK_K]);
    return cj__least(cj__least(held, most),
                     cj__least(value[TOPK_COLUMNS] / least, TOPK_PART_CANDIDATES / value[TOPK_K]));
}

uint64_t cj__topk_row_bytes(const topk_shape *s) {
    return TOPK_COUNTER + (uint64_t)s->parts * (s->k + 1) * TOPK_CANDIDATE;
}

// Parts, if these are asked for; or if they are more blocks than a cluster would be, and each of the cluster's would read for longer than
// the parts' selections and their merge take.
static bool plan_parts(cj_plan *plan, const cj_limits *limits, uint32_t cluster, topk_shape *s) {
    enum { PARTS_LEAST = 2 };  // a row in one part is no row in parts
    uint64_t  *value = plan->params.value;
    const bool open = value[TOPK_PARTS] == CJ_PARAM_AUTO;
    if (open && (cj__is_asked(plan, TOPK_CLUSTER) || value[TOPK_ROWS] * PARTS_LEAST > limits->sm_count)) return false;
    if (open && value[TOPK_COLUMNS] < (uint64_t)TOPK_PARTS_READ * cluster) return false;
    if (open) value[TOPK_PARTS] = 1;
    plan->cluster = (cj_dim3){0};
    choose_block(plan, limits, s);
    const uint64_t parts = open ? most_parts(plan, limits, s) : value[TOPK_PARTS];
    if (parts < (open ? (uint64_t)TOPK_PARTS_OF_CLUSTER * cluster : PARTS_LEAST)) return false;
    value[TOPK_PARTS] = parts;
    cj__topk_shape(plan, s);
    return true;
}

// The cluster that is asked for, or where that is `open` the largest that is of use and has a block that fits: rank 0's pool holds k
// candidates of each rank.
static void plan_sift(cj_plan *plan, const cj_limits *limits, uint32_t cluster, bool open, topk_shape *s) {
    if (plan_parts(plan, limits, cluster ? cluster : 1, s)) return;
    do {
        plan->cluster = cluster > open ? (cj_dim3){cluster, 1, 1} : (cj_dim3){0};
        choose_block(plan, limits, s);
        cluster /= 2;
    } while (open && plan->cluster.x && !fits(s, limits));
}

// form=radix: the least cluster whose blocks hold the row, but not fewer blocks than are of use. A thread has fewer columns
// where the blocks are too few to share an SM.
static void plan_radix(cj_plan *plan, const cj_limits *limits, uint32_t cluster, bool open, topk_shape *s) {
    const uint64_t *value = plan->params.value;
    do {
        plan->cluster = cluster > open ? (cj_dim3){cluster, 1, 1} : (cj_dim3){0};
        plan->block.x = TOPK_RADIX_BLOCK;
        cj__topk_shape(plan, s);
        cluster *= 2;
    } while (open && cluster <= TOPK_CLUSTER_MAX && !fits(s, limits));
    const uint64_t each = value[TOPK_ROWS] * blocks_of_row(s) > limits->sm_count ? TOPK_RADIX_EACH : TOPK_RADIX_FEW;
    const uint64_t threads = cj__power_from(value[TOPK_COLUMNS] / blocks_of_row(s) / each);
    const uint64_t most = cj__least(limits->max_threads_per_block, 1024);
    const uint64_t block = cj__least(cj__most(threads, TOPK_RADIX_BLOCK), most);
    plan->block = (cj_dim3){cj__asked_or(plan, TOPK_BLOCK, block), 1, 1};
    cj__topk_shape(plan, s);
}

// Where so large a part of the row is found that the threshold of form=sift lets most of it pass, or is selected again and
// again. Few rows wait for each selection, which nothing hides.
static bool radix_pays(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t *value = plan->params.value, k = value[TOPK_K], columns = value[TOPK_COLUMNS];
    const uint64_t  reach = value[TOPK_ROWS] * TOPK_CLUSTER_MAX <= limits->sm_count ? TOPK_RADIX_FEW_REACH : TOPK_RADIX_REACH;
    return (k >= TOPK_RADIX_LEAST && k * reach >= columns) || (k >= TOPK_RADIX_SMALL && columns <= TOPK_RADIX_SHORT);
}

// A warp, or a part of one, where it has the row in registers.
static bool warp_pays(const cj_plan *plan) {
    return !cj__asked_or(plan, TOPK_CLUSTER, 0) && plan->params.value[TOPK_COLUMNS] <= TOPK_WARP_MOST;
}

// A warp where it has the row; else radix where that pays, if the row fits.
static void choose_form(cj_plan *plan, const cj_limits *limits, bool clusters, topk_shape *s) {
    uint64_t      *value = plan->params.value;
    const uint64_t form = cj__asked_or(plan, TOPK_PARTS, 1) > 1 ? TOPK_SIFT : value[TOPK_FORM];
    value[TOPK_FORM] = TOPK_BY_WARP;
    if (form == TOPK_BY_WARP || (form == TOPK_AUTO && warp_pays(plan))) {
        choose_block(plan, limits, s);
        return;
    }
    const uint64_t asked = cj__cluster_asked(plan, TOPK_CLUSTER, clusters);
    const bool     open = asked == CJ_PARAM_AUTO;
    const uint32_t cluster = open ? largest_cluster(plan, limits) : (uint32_t)asked;
    const bool     radix = form == TOPK_RADIX || (form == TOPK_AUTO && radix_pays(plan, limits));
    value[TOPK_FORM] = TOPK_RADIX;
    if (radix) plan_radix(plan, limits, cluster, open, s);
    if (radix && (form == TOPK_RADIX || fits(s, limits))) return;
    value[TOPK_FORM] = TOPK_SIFT;
    plan->cluster = plan->block = (cj_dim3){0};
    plan_sift(plan, limits, cluster, open, s);
}

static cj_status check_room(const cj_plan *plan, const topk_shape *s, const cj_limits *limits, bool open,
                            cj_error *error) {
    FAIL_IF(s->radix && !fits(s, limits), CJ_CONTRACT,
            "form: radix holds the %" PRIu64 " columns of a row in %" PRIu64 " block%s, %" PRIu64
            " bytes each, more than the"
            " %u of a block of %s" CJ_HINT "leave form at its default, or take a larger cluster",
            plan->params.value[TOPK_COLUMNS], blocks_of_row(s), blocks_of_row(s) > 1 ? "s" : "", s->shared,
            limits->shared_per_block_optin, limits->name);
    FAIL_IF(!fits(s, limits), CJ_CONTRACT,
            "k: candidates for %u results of %" PRIu64 " block%s of %u threads take %" PRIu64
            " bytes of shared memory, more than the %u of a block of %s" CJ_HINT "%s",
            s->k, blocks_of_row(s), blocks_of_row(s) > 1 ? "s" : "", s->block, s->shared,
            limits->shared_per_block_optin, limits->name,
            open ? "choose a smaller k" : "leave cluster and block at their defaults, or choose a smaller k");
    return CJ_OK;
}

cj_status cj__topk_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value;
    const uint32_t  parts = cj__asked_or(plan, TOPK_PARTS, 1), cluster = cj__asked_or(plan, TOPK_CLUSTER, 0);
    topk_shape      s;
    REFUSE_IF(value[TOPK_K] > value[TOPK_COLUMNS],
              "k: %" PRIu64 " is more than the %" PRIu64 " columns of a row" CJ_HINT
              "there are no more than columns elements to choose from",
              value[TOPK_K], value[TOPK_COLUMNS]);
    TRY(cj__check_stride(plan, TOPK_STRIDE, value[TOPK_COLUMNS], error));
    const bool open = !cj__is_asked(plan, TOPK_BLOCK) && !cj__is_asked(plan, TOPK_CLUSTER);
    REFUSE_IF(value[TOPK_FORM] == TOPK_BY_WARP && value[TOPK_COLUMNS] > TOPK_WARP_MOST,
              "form: warp has a row of at most %d columns in registers, not of %" PRIu64 CJ_HINT
              "leave form at its default",
              TOPK_WARP_MOST, value[TOPK_COLUMNS]);
    REFUSE_IF(parts > 1 && cluster,
              "parts: %" PRIu32 " parts of a row are blocks, not clusters of %" PRIu32 CJ_HINT
              "leave parts or cluster at its default",
              parts, cluster);
    REFUSE_IF(parts > 1 && value[TOPK_FORM] != TOPK_AUTO && value[TOPK_FORM] != TOPK_SIFT,
              "parts: %" PRIu32 " parts of a row go with form=sift" CJ_HINT "leave parts or form at its default", parts);
    REFUSE_IF(value[TOPK_FORM] == TOPK_BY_WARP && cluster,
              "cluster: %" PRIu32 " blocks cannot share a row that form=warp gives to a warp" CJ_HINT
              "leave form or cluster at its default",
              cluster);
    choose_form(plan, limits, clusters, &s);
    const uint64_t blocks = s.lanes ? cj__ceil_div(value[TOPK_ROWS], s.block / s.lanes)
                                    : value[TOPK_ROWS] * blocks_of_row(&s);
    TRY(cj__check_grid(blocks, value[TOPK_ROWS], blocks_of_row(&s), error));
    TRY(check_room(plan, &s, limits, open, error));
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    plan->dynamic_shared = (uint32_t)s.shared;
    plan->programmatic = clusters;  // the same targets have programmatic dependent launch
    CJ_DERIVE(plan, value[TOPK_COLUMNS], cj__stride(plan, TOPK_STRIDE, value[TOPK_COLUMNS]));
    if (s.lanes) CJ_DERIVE(plan, value[TOPK_ROWS]);
    if (s.parts > 1)  // parts are whole slices, of which blocks read a multiple of 16 bytes
        CJ_DERIVE(plan, cj__round_up(cj__ceil_div(value[TOPK_COLUMNS], s.parts), s.slice));
    if (s.parts > 1) plan->workspace_bytes = value[TOPK_ROWS] * cj__topk_row_bytes(&s);
    cj__name_entry(plan, "topk_%s_%s", s.smallest ? "smallest" : "largest", CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}
