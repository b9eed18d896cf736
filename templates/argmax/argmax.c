// SPDX-License-Identifier: Apache-2.0
// argmax: the index of the largest element of each row of a matrix, f32.
//
// Algorithm. A block, or the blocks of a cluster, read a row once. An element becomes a key: a u32 of the same order, in which
// -0 equals 0 and every NaN is one key above all numbers. A thread keeps its largest key and the column of it; it sees columns
// in rising order and replaces only by a larger key, so of equal elements the first stays. Threads combine 64-bit values: the
// key, and below it the complement of the column; the largest one is the first of the largest elements.
//
//   x: | vector | vector | …   global; FLIGHT loads of up to 16 bytes a thread, in flight
//        key, column           registers, one pair a thread
//   warp_part[warps]           shared: B1, then warp 0 combines them
//   block_part[cluster]        shared memory of rank 0: B2, every block pushes its own; B3, warp 0 combines them
//   out[row]                   global
//
// Barriers (the push has its proof in docs/maintaining/kit.md, "Combine"):
//   B1  bar.sync: every warp's part is in shared memory before warp 0 reads it. Nothing is written there again.
//   B2  barrier.cluster: rank 0 has started, and its mbarrier is initialized, before a block pushes to it.
//   B3  rank 0's mbarrier: the parts of all blocks have arrived. The others may exit: nobody touches their memory.
#include <clusterjit/control.h>
#include <inttypes.h>
#include <stdio.h>

#include "combine.h"
#include "error.h"
#include "family.h"
#include "numbers.h"
#include "vector.h"

enum { ROWS, COLUMNS, STRIDE, CLUSTER, BLOCK };  // parameters, in the order of the table

static const cj_param_info params[] = {
    [ROWS] = {.name = "rows", .minimum = 1, .maximum = INT32_MAX, .initial = "1024", .help = "rows of the matrix"},
    [COLUMNS] = {.name = "columns", .minimum = 1, .maximum = INT32_MAX, .initial = "4096", .help = "elements of a row"},
    [STRIDE] = {.name = "stride",
                .maximum = UINT32_MAX,
                .initial = "0",
                .help = "elements from row to row; 0: columns"},
    [CLUSTER] = {.name = "cluster",
                 .maximum = 16,
                 .automatic = true,
                 .initial = "auto",
                 .tune = "0 1 2 4 8 16",
                 .help = "blocks a row; 0: generate without clusters"},
    [BLOCK] = {.name = "block",
               .minimum = 32,
               .maximum = 1024,
               .multiple = 32,
               .automatic = true,
               .initial = "auto",
               .tune = "32 64 128 256 512 1024",
               .help = "threads a block"},
};

enum { WARP = 32, BYTES = 4, WIDEST = 4, FLIGHT = 4 };  // of an element; elements of a load; loads in flight

// Not fitted to a GPU: blocks large enough that a thread has one round of loads, clusters only where rows leave SMs idle.
enum { BLOCK_MOST = 512, CLUSTER_MOST = 8, CLUSTER_ROUNDS = 2 };

static uint64_t stride_of(const cj_plan *plan) {
    return plan->params.value[plan->params.value[STRIDE] ? STRIDE : COLUMNS];
}

// Elements of a load: all rows begin at, and have, a multiple of them.
static unsigned width_of(const cj_plan *plan) {
    const uint64_t all = plan->params.value[COLUMNS] | (plan->params.value[ROWS] > 1 ? stride_of(plan) : 0);
    unsigned       width = WIDEST;
    while (all % width) width /= 2;
    return width;
}

// ---- the plan

static uint64_t choose_block(const cj_plan *plan) {
    const uint64_t threads = cj__ceil_div(plan->params.value[COLUMNS], FLIGHT * width_of(plan));
    return cj__most(WARP, cj__least(cj__power_from(threads), BLOCK_MOST));
}

static uint64_t choose_cluster(const cj_plan *plan, const cj_limits *limits, uint64_t block) {
    const uint64_t round = block * FLIGHT * width_of(plan);
    uint64_t       cluster = 1;
    while (cluster < CLUSTER_MOST && plan->params.value[ROWS] * cluster * 2 <= limits->sm_count &&
           plan->params.value[COLUMNS] >= cluster * 2 * CLUSTER_ROUNDS * round)
        cluster *= 2;
    return cluster > 1 ? cluster : 0;
}

static cj_status plan_argmax(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value, stride = stride_of(plan);
    if (stride < value[COLUMNS])
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "0 stands for rows without a gap",
                          "stride: %" PRIu64 " is below the %" PRIu64 " columns of a row", stride, value[COLUMNS]);
    const uint64_t block = value[BLOCK] == CJ_PARAM_AUTO ? choose_block(plan) : value[BLOCK];
    uint64_t       cluster = value[CLUSTER];
    if (cluster == CJ_PARAM_AUTO) cluster = clusters ? choose_cluster(plan, limits, block) : 0;
    if (cluster && !clusters) {
        snprintf(plan->note, sizeof plan->note,
                 "%s has no thread block clusters (they need sm_90): generated without, cluster=%" PRIu64
                 " is not used",
                 plan->arch, cluster);
        cluster = 0;
    }
    const uint64_t blocks = value[ROWS] * cj__most(cluster, 1);
    if (blocks > INT32_MAX)
        return cj__refuse(error, CJ_CONTRACT, "use several launches",
                          "rows: %" PRIu64 " in clusters of %" PRIu64 " are more blocks than the 2^31 - 1 of a grid",
                          value[ROWS], cluster);
    if (cluster) plan->cluster = (cj_dim3){(uint32_t)cluster, 1, 1};
    plan->block = (cj_dim3){(uint32_t)block, 1, 1};
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    plan->derived[plan->derived_count++] = value[COLUMNS];
    plan->derived[plan->derived_count++] = stride;
    snprintf(plan->entry, sizeof plan->entry, "argmax_f32");
    return CJ_OK;
}

// ---- the kernel

typedef struct kernel {
    cj_func *f;
    unsigned block, cluster, width;
    cj_var   x, out, columns, stride;
    cj_reg   thread, lane, warp, rank, row;  // rank: with a cluster
    cj_push  push;                           // with a cluster
} kernel;

static void declare(kernel *k, const cj_plan *plan, cj_builder *b) {
    cj_head(b, "clusterjit: argmax  block=%u cluster=%u width=%u", k->block, k->cluster, k->width);
    cj_head(b, "  row of x  --%u-byte loads-->  key and column, a thread  --shuffle, shared memory%s-->  out[row]",
            k->width * BYTES, k->cluster ? ", st.async" : "");
    cj_func *f = k->f = cj_entry(b, plan->entry);
    k->x = cj_param(f, "u64", "x", "const float x[rows][stride]");
    k->out = cj_param(f, "u64", "out", "uint32_t out[rows]");
    k->columns = cj_param(f, "u64", "columns", "elements of a row");
    k->stride = cj_param(f, "u64", "stride", "elements from row to row");
    cj_param(f, "u64", "workspace", "not used");
    cj_block(f, k->block, 1, 1);
    if (k->cluster) cj_cluster(f, k->cluster, 1, 1);
}

// The address of the row's first element.
static cj_reg write_row(const kernel *k) {
    cj_func *f = k->f;
    cj_reg   x = cj__load_pointer(f, k->x, "x");
    cj_reg   stride = cj_let(f, "u64", "stride", "ld.param.u64 $1, [$2];", k->stride);
    cj_reg   first = cj_mul(f, "first", cj_cvt(f, "u64", "row", k->row), stride);
    return cj_mad(f, "row_at", first, BYTES, x);
}

// best, column = those of element x at column i, if its key is larger and `inside` holds.
static void write_compare(const kernel *k, cj_reg inside, cj_reg x, cj_reg i, cj_reg best, cj_reg column) {
    cj_func *f = k->f;
    cj_reg   nan = cj_let(f, "pred", "is_nan", "setp.nan.f32 $1, $2, $2;", x);
    cj_reg   plus = cj_let(f, "b32", "plus_zero", "add.f32 $1, $2, 0f00000000; // -0 becomes 0", x);
    cj_reg   flip = cj_let(f, "b32", "flip", "shr.s32 $1, $2, 31;\nor.b32 $1, $1, 0x80000000;", plus);
    cj_reg   number = cj_let(f, "u32", "number", "xor.b32 $1, $2, $3; // of the order of the floats", plus, flip);
    cj_reg   key = cj_let(f, "u32", "key", "selp.u32 $1, 0xffffffff, $2, $3;", number, nan);
    cj_reg   larger = cj_let(f, "pred", "larger", "setp.gt.and.u32 $1, $2, $3, $4;", key, best, inside);
    cj_set_if(f, larger, best, key);
    cj_set_if(f, larger, column, i);
}

// One round: FLIGHT vectors of a thread, `threads` vectors apart; first: the thread's first vector.
static void write_round(const kernel *k, cj_reg row, cj_reg first, cj_reg vectors, cj_reg best, cj_reg column) {
    cj_func *f = k->f;
    cj_reg   inside[FLIGHT], vector[FLIGHT], x[FLIGHT][WIDEST];
    for (unsigned j = 0; j < FLIGHT; j++) {
        vector[j] = cj_add(f, "vector", first, j * k->block * cj__most(k->cluster, 1));
        inside[j] = cj_lt(f, "inside", vector[j], vectors);
        cj_reg at = cj_mad_wide(f, "at", vector[j], k->width * BYTES, row);
        for (unsigned e = 0; e < k->width; e++) x[j][e] = cj_f32(f, "x");
        cj__load(f, inside[j], "ld.global.nc", "f32", x[j], k->width, at, 0);
    }
    for (unsigned j = 0; j < FLIGHT; j++)
        for (unsigned e = 0; e < k->width; e++)
            write_compare(k, inside[j], x[j][e], cj_mad(f, "column", vector[j], k->width, e), best, column);
}

// The thread's largest key above the complement of its column; 0 where it has no element.
static cj_reg write_thread(const kernel *k) {
    cj_func       *f = k->f;
    const unsigned threads = k->block * (unsigned)cj__most(k->cluster, 1);
    cj_reg         row = write_row(k);
    cj_reg         best = cj_mov(f, "u32", "best", 0), column = cj_mov(f, "u32", "best_column", 0);
    cj_reg         wide = cj_let(f, "u64", "columns", "ld.param.u64 $1, [$2];", k->columns);
    cj_reg         vectors = cj_div(f, "vectors", cj_cvt(f, "u32", "columns", wide), k->width);
    cj_reg         first = k->cluster ? cj_mad(f, "first", k->rank, k->block, k->thread) : k->thread;
    cj_step(f, "each thread takes every %uth vector of %u elements; %u are in flight", threads, k->width, FLIGHT);
    CJ_FOR(f, i, "u32", "i", first, vectors, threads * FLIGHT) write_round(k, row, i, vectors, best, column);
    return cj_let(f, "u64", "value", "not.b32 $2, $2;\nmov.b64 $1, {$2, $3};", column, best);
}

// partial = the largest of the block's, in all lanes of warp 0.
static void write_block(const kernel *k, const cj_partials *kind, const cj_partial *partial) {
    cj_func       *f = k->f;
    const unsigned warps = k->block / WARP;
    cj_step(f, "the largest of the block");
    cj__warp_combine(kind, partial, WARP);
    if (warps == 1) return;
    const cj_slots parts = cj__slots_make(kind, "warp_part", warps);
    cj__slot_store(kind, &parts, k->warp, cj_eq(f, "first_lane", k->lane, 0), partial);
    cj_ptx(f, "bar.sync 0; // B1: every warp's part is there");
    CJ_IF_UNI(f, cj_eq(f, "is_warp_0", k->warp, 0), "combined") cj__slots_combine(kind, &parts, k->lane, partial);
}

// partial = the largest of the cluster's, in warp 0 of rank 0.
static void write_cluster(const kernel *k, const cj_partials *kind, const cj_partial *partial) {
    cj_func       *f = k->f;
    const cj_slots parts = cj__slots_make(kind, "block_part", k->cluster);
    cj_step(f, "the largest of the cluster: every block pushes its own to rank 0");
    cj_reg rank_0 = cj_mov(f, "u32", "rank_0", 0), sends = cj_eq(f, "sends", k->thread, 0);
    cj_reg receives = cj_eq(f, "receives", cj_or(f, "rank_or_thread", k->rank, k->thread), 0);
    cj__push_expect(f, &k->push, "B2: rank 0 has started", receives, CJ_ARG(k->cluster * cj__partial_bytes(kind)),
                    "a part of every block");
    cj_reg slot = cj_cluster_map_address(f, cj__slot_address(kind, &parts, 0, k->rank), rank_0);
    cj_st_async(f, sends, kind->type[0], partial->value, 1, slot, 0, cj__push_gate(f, &k->push, rank_0));
    CJ_IF_UNI(f, cj_eq(f, "gathers", cj_or(f, "rank_or_warp", k->rank, k->warp), 0), "gathered") {
        cj__push_wait(f, &k->push, "B3: every block's part is there");
        cj__slots_combine(kind, &parts, k->lane, partial);
    }
}

static void write_identity(kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    k->lane = cj_and(f, "lane", k->thread, WARP - 1);
    k->warp = cj_shr(f, "warp", k->thread, 5);
    k->row = k->cluster ? cj_cluster_index(f) : cj_mov(f, "u32", "row", "%ctaid.x");
    if (!k->cluster) return;
    k->rank = cj_cluster_rank(f);
    k->push = cj__push_new(f, "arrived");
    cj__push_open(f, &k->push, cj_eq(f, "first", k->thread, 0), "publishes the mbarrier to the cluster",
                  "B2: this block has started");
}

static void emit_argmax(const cj_plan *plan, cj_builder *b) {
    kernel k = {.block = plan->block.x, .cluster = plan->cluster.x, .width = width_of(plan)};
    declare(&k, plan, b);
    cj_func          *f = k.f;
    const cj_partials kind = {.f = f,
                              .values = 1,
                              .type = {"u64"},
                              .bytes = {sizeof(uint64_t)},
                              .suffix = {""},
                              .clear = cj__partial_clear_value,
                              .combine = cj__partial_combine_value,
                              .value = {.op = CJ_COMBINE_MAX, .type = "u64"}};
    write_identity(&k);
    const cj_partial partial = {{write_thread(&k)}};
    write_block(&k, &kind, &partial);
    if (k.cluster) write_cluster(&k, &kind, &partial);
    cj_reg writer = k.cluster ? cj_or(f, "writer", k.thread, k.rank) : k.thread;
    CJ_IF(f, cj_eq(f, "writes", writer, 0), "done") {
        cj_reg index = cj_let(f, "u32", "index", "cvt.u32.u64 $1, $2;\nnot.b32 $1, $1;", partial.value[0]);
        cj_reg out = cj__load_pointer(f, k.out, "out");
        cj_ptx(f, "st.global.u32 [$1], $2;", cj_mad_wide(f, "out_at", k.row, BYTES, out), index);
    }
    cj_ptx(f, "ret;");
}

const cj_family cj__family_argmax = {CJ_FAMILY("argmax",
                                               "the index of the largest element of each row; of equal ones the first",
                                               params, plan_argmax, emit_argmax)};
