// SPDX-License-Identifier: Apache-2.0
// How the parameters cut a row into slices, and the plan.
#include "topk.h"

static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};

enum { RESULT_ALL, RESULT_KTH, RESULT_ANY };  // in the order of the words

// The shape that the parameters ask for, once the plan has cluster and block.
void cj__topk_shape(const cj_plan *plan, topk_shape *s) {
    const uint64_t *value = plan->params.value;
    *s = (topk_shape){.dtype = dtypes[value[TOPK_DTYPE]],
                      .k = (unsigned)value[TOPK_K],
                      .smallest = value[TOPK_ORDER],
                      .kth = value[TOPK_RESULT] == RESULT_KTH,
                      .any = value[TOPK_RESULT] == RESULT_ANY,
                      .wide_index = !value[TOPK_INDEX],
                      .cluster = plan->cluster.x};
    s->bytes = (unsigned)cj_dtype_size(s->dtype);
    const uint64_t columns = value[TOPK_COLUMNS], stride = cj__stride(plan, TOPK_STRIDE, columns);
    s->width = cj__load_width(value[TOPK_ALIGN], s->bytes, columns | (value[TOPK_ROWS] > 1 ? stride : 0));
    s->loads = s->width < TOPK_EACH ? TOPK_EACH / s->width : 1;
    const unsigned each = s->loads * s->width;
    const uint64_t wanted = columns / each + 1;
    const uint64_t threads = s->cluster || 4 * s->k > TOPK_SLICE / each ? TOPK_SLICE / each
                                                                        : cj__least(TOPK_SLICE / each, TOPK_SHARING);
    s->block = plan->block.x ? plan->block.x
                             : cj__power_from(wanted < TOPK_WARP ? TOPK_WARP : cj__least(wanted, threads));
    s->slice = s->block * each;
    s->guesses = 2 * s->k <= s->block;
    s->sorts = !s->any && s->k > TOPK_RANKED;
    s->slack = (unsigned)cj__most(TOPK_WARP, 2 * s->k * TOPK_WARP / s->block);
    s->own = s->slack + TOPK_SLICES * TOPK_WARP * each;
    s->pool = (unsigned)cj__most(s->k + s->block / TOPK_WARP * s->own,
                                 cj__most(s->cluster * s->k, cj__power_from(s->k)));
}

// ---- the plan

static uint32_t shared_bytes(const topk_shape *s) { return s->pool * (uint32_t)sizeof(uint64_t); }

// Beside the pool are the records of select.c.
static bool fits(const topk_shape *s, const cj_limits *limits) {
    enum { RECORDS = 64 };
    return shared_bytes(s) + RECORDS <= limits->shared_per_block_optin;
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

// The cluster that is asked for; else the largest that is of use and has a block that fits: rank 0's pool holds k
// candidates of each rank.
static void choose_cluster(cj_plan *plan, const cj_limits *limits, bool clusters, topk_shape *s) {
    const uint64_t asked = cj__cluster_asked(plan, TOPK_CLUSTER, clusters);
    const bool     open = asked == CJ_PARAM_AUTO;
    uint32_t       cluster = open ? largest_cluster(plan, limits) : (uint32_t)asked;
    do {
        if (open && cluster == 1) cluster = 0;
        plan->cluster = cluster ? (cj_dim3){cluster, 1, 1} : (cj_dim3){0};
        choose_block(plan, limits, s);
        cluster /= 2;
    } while (open && plan->cluster.x && !fits(s, limits));
}

cj_status cj__topk_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value;
    topk_shape      s;
    REFUSE_IF(value[TOPK_K] > value[TOPK_COLUMNS],
              "k: %" PRIu64 " is more than the %" PRIu64 " columns of a row" CJ_HINT
              "there are no more than columns elements to choose from",
              value[TOPK_K], value[TOPK_COLUMNS]);
    TRY(cj__check_stride(plan, TOPK_STRIDE, value[TOPK_COLUMNS], error));
    const bool open = !cj__is_asked(plan, TOPK_BLOCK) && !cj__is_asked(plan, TOPK_CLUSTER);
    choose_cluster(plan, limits, clusters, &s);
    const uint64_t blocks = value[TOPK_ROWS] * (s.cluster ? s.cluster : 1);
    FAIL_IF(blocks > INT32_MAX, CJ_CONTRACT,
            "rows: %" PRIu64 " in clusters of %u are more blocks than the 2^31 - 1 of a grid" CJ_HINT
            "use several launches",
            value[TOPK_ROWS], s.cluster);
    FAIL_IF(!fits(&s, limits), CJ_CONTRACT,
            "k: candidates for %u results of %u block%s of %u threads take %u bytes of shared memory, more than the"
            " %u of a block of %s" CJ_HINT "%s",
            s.k, s.cluster ? s.cluster : 1, s.cluster > 1 ? "s" : "", s.block, shared_bytes(&s),
            limits->shared_per_block_optin, limits->name,
            open ? "choose a smaller k" : "leave cluster and block at their defaults, or choose a smaller k");
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    plan->dynamic_shared = shared_bytes(&s);
    CJ_DERIVE(plan, value[TOPK_COLUMNS], cj__stride(plan, TOPK_STRIDE, value[TOPK_COLUMNS]));
    cj__name_entry(plan, "topk_%s_%s", s.smallest ? "smallest" : "largest", CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}
