// SPDX-License-Identifier: Apache-2.0
// topk: the k largest or smallest elements of each row of a matrix, in order or not, and where they are; or the k-th
// alone.
//
// Algorithm. A block (or the blocks of a cluster, slice by slice in turn) reads its row once and keeps candidates: what
// is greater than the k-th greatest element of all that stood before. A candidate is a number of 64 bits: the element,
// mapped to a u32 of the same order, above the complement of its index; so candidates differ, of equal elements the
// first is the greater, and their order is the result's. When there are more than `limit` candidates, they are sorted,
// the first k stay, and the k-th is the new threshold. An element equal to it needs not be kept, for k before it are at
// least as great. Of elements in random order about k * ln(columns / k) become candidates; ascending ones all do, and
// cost a sort every few slices. The end sorts what there is. Where the result may have any order, nothing is sorted:
// the first k candidates are selected (topk_select.c tells how), then and at the end.
//
//   x: | slice 0 | slice 1 | …   global; 16-byte loads, four slices on their way
//        keys above the threshold, ballot by ballot
//   pool[]  candidates           shared
//        bitonic sort: strides of up to 32 within a warp, by bar.warp.sync, longer ones by bar.sync
//        cluster: every rank pushes its first k into rank 0's pool, which is sorted once more
//   values[], indices[]          global; values are read from x again, so their bits are those of x
//
// Barriers, and why each is needed and enough:
//   B1  bar.sync: the count is 0 before any warp adds to it.
//   B2  bar.red behind each slice: all its candidates are in the pool, and every thread learns whether they are too
//       many.
//   B3  bar.sync: the places behind the candidates are filled, and the count has been read by all, before the sort.
//   B4  bar.sync or bar.warp.sync: the pairs of a step of the sort are written before the next step reads them.
//   B5  bar.sync: the new count stands, and the threshold has been read, before candidates are added.
//   B6  barrier.cluster: rank 0 is done with its own candidates, so the places behind its first k may be written to.
//   B7  barrier.cluster: the candidates of all ranks are in rank 0's pool. Rank 0 alone goes on.
#include "topk.h"

#include <inttypes.h>
#include <stdio.h>

#include "error.h"

const cj_param_info cj__topk_params[] = {
    [TOPK_ROWS] = {.name = "rows", .minimum = 1, .maximum = INT32_MAX, .initial = "1024", .help = "rows of the matrix"},
    [TOPK_COLUMNS] =
        {.name = "columns", .minimum = 1, .maximum = INT32_MAX, .initial = "4096", .help = "elements of a row"},
    [TOPK_K] = {.name = "k", .minimum = 1, .maximum = 2048, .initial = "64", .help = "how many, at most the columns"},
    [TOPK_DTYPE] = {.name = "dtype",
                    .choices = "f32 f16 bf16 i32 u32",
                    .initial = "f32",
                    .help = "type of the elements"},
    [TOPK_ORDER] = {.name = "order",
                    .choices = "largest smallest",
                    .initial = "largest",
                    .help = "which; NaN is greater than any number, -0 equals 0, of equal ones the first come first"},
    [TOPK_INDEX] = {.name = "index", .choices = "i64 u32", .initial = "i64", .help = "type of the indices"},
    [TOPK_RESULT] = {.name = "result",
                     .choices = "all kth any",
                     .initial = "all",
                     .help = "all: k values and indices a row, in order; any: the same in any order; kth: the last of"
                             " them alone"},
    [TOPK_STRIDE] = {.name = "stride",
                     .maximum = UINT32_MAX,
                     .initial = "0",
                     .help = "elements from row to row; 0: columns"},
    [TOPK_ALIGN] = {.name = "align",
                    .choices = "16 8 4 2",
                    .initial = "16",
                    .help = "bytes that x is a multiple of, where its element is smaller"},
    [TOPK_CLUSTER] = {.name = "cluster",
                      .maximum = 16,
                      .automatic = true,
                      .initial = "auto",
                      .tune = "0 1 2 4 8 16",
                      .help = "blocks a row; 0: generate without clusters"},
    [TOPK_BLOCK] = {.name = "block",
                    .minimum = 32,
                    .maximum = 1024,
                    .multiple = 32,
                    .automatic = true,
                    .initial = "auto",
                    .tune = "128 256 512 1024",
                    .help = "threads a block"},
};

static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};

enum { RESULT_ALL, RESULT_KTH, RESULT_ANY };  // in the order of the words

enum {
    SLICE = 2048,
    CLUSTER_SLICES = 4,
    CLUSTER_MAX = 8
};  // elements of a slice; slices that make a block of a cluster worth it

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static unsigned power_from(uint64_t value) {
    unsigned power = 1;
    while (power < value) power *= 2;
    return power;
}

static uint64_t stride_of(const cj_plan *plan) {
    return plan->params.value[plan->params.value[TOPK_STRIDE] ? TOPK_STRIDE : TOPK_COLUMNS];
}

// The shape of the parameters, once cluster and block are numbers in the plan.
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
    s->width = (unsigned)(TOPK_LOAD >> value[TOPK_ALIGN]) / s->bytes;
    const uint64_t all = value[TOPK_COLUMNS] | (value[TOPK_ROWS] > 1 ? stride_of(plan) : 0);
    while (s->width > 1 && all % s->width) s->width /= 2;
    if (!s->width) s->width = 1;
    s->loads = s->width < TOPK_EACH ? TOPK_EACH / s->width : 1;
    const unsigned each = s->loads * s->width;
    const uint64_t wanted = value[TOPK_COLUMNS] / each + 1;
    s->block = value[TOPK_BLOCK] != CJ_PARAM_AUTO
                   ? (unsigned)value[TOPK_BLOCK]
                   : power_from(wanted < TOPK_WARP ? TOPK_WARP : least(wanted, SLICE / each));
    s->slice = s->block * each;
    s->limit = 2 * s->k > s->slice / 2 ? 2 * s->k : s->slice / 2;
    s->pool = power_from(s->limit + s->slice);
    if (s->cluster && s->pool < power_from((uint64_t)s->cluster * s->k))
        s->pool = power_from((uint64_t)s->cluster * s->k);
}

// A cluster where rows are too few for the SMs, and long enough.
static uint64_t choose_cluster(const cj_plan *plan, const cj_limits *limits) {
    const uint64_t *value = plan->params.value;
    uint64_t        cluster = 1;
    while (cluster < CLUSTER_MAX && value[TOPK_ROWS] * cluster * 2 <= limits->sm_count &&
           value[TOPK_COLUMNS] >= cluster * 2 * CLUSTER_SLICES * SLICE)
        cluster *= 2;
    return cluster > 1 ? cluster : 0;
}

static cj_status check(const cj_plan *plan, cj_error *error) {
    const uint64_t *value = plan->params.value;
    if (value[TOPK_K] > value[TOPK_COLUMNS])
        return cj__fail(error, CJ_INVALID_ARGUMENT, "k: %" PRIu64 " is more than the %" PRIu64 " columns of a row",
                        value[TOPK_K], value[TOPK_COLUMNS]);
    if (stride_of(plan) < value[TOPK_COLUMNS])
        return cj__fail(error, CJ_INVALID_ARGUMENT, "stride: %" PRIu64 " is below the %" PRIu64 " columns of a row",
                        stride_of(plan), value[TOPK_COLUMNS]);
    return CJ_OK;
}

static cj_status plan_topk(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value;
    uint64_t        cluster = value[TOPK_CLUSTER];
    topk_shape      s;
    char            dtype[8];
    cj_status       status = check(plan, error);
    if (status) return status;
    if (cluster == CJ_PARAM_AUTO) {
        cluster = clusters ? choose_cluster(plan, limits) : 0;
    } else if (cluster && !clusters) {
        snprintf(plan->note, sizeof plan->note,
                 "%s has no thread block clusters (they need sm_90): generated without,"
                 " cluster=%" PRIu64 " is not used",
                 plan->arch, cluster);
        cluster = 0;
    }
    if (cluster) plan->cluster = (cj_dim3){(uint32_t)cluster, 1, 1};
    const uint64_t blocks = value[TOPK_ROWS] * (cluster ? cluster : 1);
    if (blocks > INT32_MAX)
        return cj__fail(error, CJ_CONTRACT,
                        "rows: %" PRIu64 " in clusters of %" PRIu64 " are more blocks than the 2^31 - 1 of a"
                        " grid",
                        value[TOPK_ROWS], cluster);
    cj__topk_shape(plan, &s);
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    plan->block = (cj_dim3){s.block, 1, 1};
    plan->dynamic_shared = s.pool * (uint32_t)sizeof(uint64_t);
    plan->derived[plan->derived_count++] = value[TOPK_COLUMNS];
    plan->derived[plan->derived_count++] = stride_of(plan);
    snprintf(plan->entry, sizeof plan->entry, "topk_%s_%s", s.smallest ? "smallest" : "largest",
             cj_params_word(&plan->params, "dtype", dtype, sizeof dtype));
    return CJ_OK;
}

const cj_family cj__family_topk = {
    .name = "topk",
    .summary = "the k largest or smallest elements of each row, sorted or not, and where they are; or the k-th alone",
    .param = cj__topk_params,
    .param_count = sizeof cj__topk_params / sizeof *cj__topk_params,
    .plan = plan_topk,
    .emit = cj__topk_emit,
};
