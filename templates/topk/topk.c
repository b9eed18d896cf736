// SPDX-License-Identifier: Apache-2.0
// topk: the k largest or smallest elements of each row of a matrix, in order or not, and where they are; or the k-th
// alone.
//
// Algorithm. A block (or the blocks of a cluster, slice by slice in turn) reads its row once and keeps candidates: what
// is greater than a threshold that k elements before are not below. A candidate is a number of 64 bits: the element,
// mapped to a u32 of the same order, above the complement of its index; so candidates differ, of equal elements the
// first is the greater, and their order is the result's. An element equal to the threshold needs not be kept. The first
// threshold is guessed from the first round, before anything is a candidate (topk_sift.c tells how); where k is too
// large for that, everything is a candidate at first.
//
// Each warp has places of its own, so that finding a candidate needs no other warp. When one has too many for another
// round, the first k of all are selected, bit by bit (topk_select.c): they move together, and the new threshold follows
// from them. Of elements in random order about k * (1 + ln(columns / first round)) become candidates; ascending ones
// all do, and cost a selection a round. The end selects from what there is. Each of these k counts those that are
// greater, which is its place, or they are sorted where k is large (topk_sort.c); unless they may have any order.
//
//   x: | slice 0 | slice 1 | …   global; 16-byte loads, four slices (a round) on their way
//        one comparison an element; what passes, as a key
//   pool[]  k together | each warp's           shared
//        selection; cluster: every rank pushes its first k into rank 0's pool, which selects once more
//   values[], indices[]          global; values are read from x again, so their bits are those of x
//
// Barriers, and why each is needed and enough (B0: topk_sift.c; B3, B4: topk_sort.c; B1, B7 to B9: topk_select.c):
//   B2  bar.red behind each round: every thread learns whether a warp has too many; the first one orders the clearing
//       of the meetings before their use.
//   B11 bar.warp.sync: the warp is together at B2, whose form is aligned (PTX ISA 9.7.13, barrier: all threads of a warp execute
//       the same one). No branch here leaves lanes apart; ptxas 13.0 makes branches of the guarded loads of a row's last slice
//       and joins their lanes after B2, which an H200 answers with an illegal instruction (715).
//   B5  bar.sync: the selected candidates are together before results are made of them, and the warps' places are read,
//       into which the sort reaches.
//   B6  barrier.cluster: rank 0 is done with its own candidates, so the places behind its first k may be written to.
//   B10 barrier.cluster: the candidates of all ranks are in rank 0's pool. Rank 0 alone goes on.
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
    CLUSTER_MAX = 8,
    SHARING = 256,
    RANKED = 256
};  // elements of a slice; slices that make a block of a cluster worth it; threads of blocks of which an SM has several;
    // results whose places are counted, not sorted

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

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
    const uint64_t threads = s->cluster || 4 * s->k > SLICE / each ? SLICE / each : least(SLICE / each, SHARING);
    s->block = plan->block.x ? plan->block.x : power_from(wanted < TOPK_WARP ? TOPK_WARP : least(wanted, threads));
    s->slice = s->block * each;
    s->guesses = 2 * s->k <= s->block;
    s->sorts = !s->any && s->k > RANKED;
    s->slack = (unsigned)most(TOPK_WARP, 2 * s->k * TOPK_WARP / s->block);
    s->own = s->slack + TOPK_SLICES * TOPK_WARP * each;
    s->pool = (unsigned)most(s->k + s->block / TOPK_WARP * s->own, most(s->cluster * s->k, power_from(s->k)));
}

// The block that is asked for, or chosen: smaller where the pool has no room. The meetings take some of it.
static void choose_block(cj_plan *plan, const cj_limits *limits, topk_shape *s) {
    enum { MEETINGS = 64 };
    const uint64_t asked = plan->params.value[TOPK_BLOCK];
    if (asked != CJ_PARAM_AUTO) plan->block = (cj_dim3){(uint32_t)asked, 1, 1};
    cj__topk_shape(plan, s);
    while (asked == CJ_PARAM_AUTO && s->block > TOPK_WARP &&
           s->pool * sizeof(uint64_t) + MEETINGS > limits->shared_per_block_optin) {
        plan->block = (cj_dim3){s->block / 2, 1, 1};
        cj__topk_shape(plan, s);
    }
    plan->block = (cj_dim3){s->block, 1, 1};
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
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "there are no more than columns elements to choose from",
                          "k: %" PRIu64 " is more than the %" PRIu64 " columns of a row", value[TOPK_K],
                          value[TOPK_COLUMNS]);
    if (stride_of(plan) < value[TOPK_COLUMNS])
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "0 stands for rows without a gap",
                          "stride: %" PRIu64 " is below the %" PRIu64 " columns of a row", stride_of(plan),
                          value[TOPK_COLUMNS]);
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
        return cj__refuse(error, CJ_CONTRACT, "use several launches",
                          "rows: %" PRIu64 " in clusters of %" PRIu64 " are more blocks than the 2^31 - 1 of a"
                          " grid",
                          value[TOPK_ROWS], cluster);
    choose_block(plan, limits, &s);
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
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
