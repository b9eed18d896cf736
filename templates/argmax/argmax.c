// SPDX-License-Identifier: Apache-2.0
// argmax: the index of the largest element of each row of a matrix.
//
// Algorithm. A row is read once: by some lanes of a warp; by a block; by the blocks of a cluster; or in parts, by several
// blocks or clusters. An element becomes a key (kit/vector.h): a u32 of the same order, in which -0 equals 0 and every NaN is one key above all
// numbers. A thread keeps its largest key and the column of it; it sees columns in rising order and replaces only by a larger key, so of equal
// elements the first stays. Threads combine 64-bit values: the key, and below it the complement of the column; the largest one
// is the first of the largest elements, in whatever order they combine.
//
// Elements of f16 and bf16 are compared as f32, in which order and NaN are the same, and the thread's largest alone becomes a key: that
// takes 6 instructions an element where keys take 10. A thread begins with the least key of its type at column 0: where no
// element of a row is larger, all are equal, and 0 is the answer.
//
// Rows of a few elements have 1 to 8 lanes, each of which loads elements by themselves: for most of these rows a line holds several.
//
//   x: | head | vector | vector | … | tail |   global; FLIGHT loads of 16 bytes a thread, in flight (row.c)
//        key, column           registers, one pair a thread; lanes of a row combine them by shuffles
//   warp_part[warps]           shared: B1, then warp 0 combines them
//   block_part[cluster]        shared memory of rank 0: B2, every block pushes its own; B3, warp 0 combines them
//   workspace[row][parts]      global: mailboxes; the row's last part combines them
//   out[row]                   global
//
// Barriers (the push has its proof in docs/maintaining/kit.md, "Combine"):
//   B1  bar.sync: every warp's part is in shared memory before warp 0 reads it. Nothing is written there again.
//   B2  barrier.cluster: rank 0 has started, and its mbarrier is initialized, before a block pushes to it.
//   B3  rank 0's mbarrier: the parts of all blocks have arrived. The others may exit: nobody touches their memory.
//   B4  bar.sync: as B1, of what the warps of the last part's block have taken from mailboxes; and all threads have read the tag.
// Mailboxes (kit.md, "Mailbox"): a row's tag is one more than the launch before left in its workspace. Each part reads it before
// it sends; the last part writes the new one when it has all messages, so that every part has read the old one. It waits for parts of
// smaller numbers, whose blocks have begun before and wait for nobody.
#include "argmax.h"

enum { WARP = ARGMAX_WARP };

static const cj_param_info params[] = {
#define PARAM(id, ...) [ARGMAX_##id] = {__VA_ARGS__},
#include "params.def"
};

static void write_head(const argmax_kernel *k, cj_builder *b) {
    cj_head(b, "clusterjit: argmax  block=%u cluster=%u parts=%u lanes=%u", k->block, k->cluster, k->parts, k->lanes);
    cj_head(b, "  row of x%s  --16-byte loads-->  key and column, a thread  --shuffle%s%s%s-->  out[row]",
            k->parts > 1 ? ", a part" : "", k->lanes ? "" : ", shared memory", k->cluster ? ", st.async" : "",
            k->parts > 1 ? ", mailboxes" : "");
}

// Derived arguments in the order of the plan.
static void declare(argmax_kernel *k, cj_builder *b) {
    cj_func *f = k->f = cj__entry(k->plan, b);
    k->x = cj_param(f, "u64", "x", "const T x[rows][stride]");
    k->out = cj_param(f, "u64", "out", "uint32_t out[rows]");
    k->columns = cj_param(f, "u64", "columns", "elements of a row");
    k->stride = cj_param(f, "u64", "stride", "elements from row to row");
    if (k->lanes) k->rows = cj_param(f, "u64", "rows", "rows of the matrix");
    if (k->parts > 1) k->piece = cj_param(f, "u64", "piece", "vectors of a part");
    k->workspace = cj_param(f, "u64", "workspace", k->parts > 1 ? "the parts' mailboxes" : "not used");
    cj__registers(k->plan, f, ARGMAX_REGISTERS, k->s.peeled);
}

// The group of lanes, the block or the cluster, and of which row (and part) it is.
static void write_identity(argmax_kernel *k, const cj_push *push) {
    cj_func *f = k->f;
    if (k->lanes) {
        cj_reg in_block = cj_div(f, "in_block", k->thread, k->lanes);
        k->row = cj_mad(f, "row", cj_mov(f, "u32", "block", "%ctaid.x"), k->block / k->lanes, in_block);
        cj_reg rows = cj_cvt(f, "u32", "rows", cj_let(f, "u64", "rows", "ld.param.u64 $1, [$2];", k->rows));
        k->there = cj_lt(f, "there", k->row, rows);
        k->in_row = k->lanes > 1 ? cj_and(f, "in_row", k->thread, k->lanes - 1) : cj_mov(f, "u32", "in_row", 0);
        return;
    }
    k->row = cj__group_number(f, "row", k->cluster);
    if (k->parts > 1) {
        k->part = cj_rem(f, "part", k->row, k->parts);
        k->row = cj_div(f, "row", k->row, k->parts);
    }
    k->in_row = k->thread;
    if (!k->cluster) return;
    k->rank = cj_cluster_rank(f);
    k->in_row = cj_mad(f, "in_cluster", k->rank, k->block, k->thread);
    cj__push_open(f, push, cj_eq(f, "first", k->thread, 0), "publishes the mbarrier to the cluster",
                  "B2: this block has started");
}

// partial = the largest of the block's, in all lanes of warp 0. `slots`: for the warps' partials; they are used once.
static void write_block(const argmax_kernel *k, const cj_partials *kind, const char *slots, const char *barrier,
                        const cj_partial *partial) {
    const unsigned warps = k->block / WARP;
    cj__warp_combine(kind, partial, WARP);
    if (warps == 1) return;
    const cj_slots parts = cj__slots_make(kind, slots, warps);
    cj__slot_store(kind, &parts, k->warp, cj_eq(k->f, "first_lane", k->lane, 0), partial);
    cj_ptx(k->f, "bar.sync 0; // $1: every warp's part is there", barrier);
    CJ_IF_UNI(k->f, cj_eq(k->f, "is_warp_0", k->warp, 0), "combined") cj__slots_combine(kind, &parts, k->lane, partial);
}

// partial = the largest of the cluster's, in warp 0 of rank 0.
static void write_cluster(const argmax_kernel *k, const cj_push *push, const cj_partials *kind,
                          const cj_partial *partial) {
    cj_func       *f = k->f;
    const cj_slots parts = cj__slots_make(kind, "block_part", k->cluster);
    cj_step(f, "the largest of the cluster: every block pushes its own to rank 0");
    cj_reg rank_0 = cj_mov(f, "u32", "rank_0", 0), sends = cj_eq(f, "sends", k->thread, 0);
    cj_reg receives = cj_eq(f, "receives", cj_or(f, "rank_or_thread", k->rank, k->thread), 0);
    cj__push_expect(f, push, "B2: rank 0 has started", receives, CJ_ARG(k->cluster * cj__partial_bytes(kind)),
                    "a part of every block");
    cj_reg slot = cj_cluster_map_address(f, cj__slot_address(kind, &parts, 0, k->rank), rank_0);
    cj_st_async(f, sends, kind->type[0], partial->value, 1, slot, 0, cj__push_gate(f, push, rank_0));
    CJ_IF_UNI(f, cj_eq(f, "gathers", cj_or(f, "rank_or_warp", k->rank, k->warp), 0), "gathered") {
        cj__push_wait(f, push, "B3: every block's part is there");
        cj__slots_combine(kind, &parts, k->lane, partial);
    }
}

// ---- parts

static cj_gather open_mail(const argmax_kernel *k, const cj_partials *kind) {
    cj_gather m = {.kind = kind, .box = cj__gather_box(kind, true)};
    cj_step(k->f, "the row's mailboxes, and the tag that the launch before left there");
    cj_reg space = cj__load_pointer(k->f, k->workspace, "space");
    m.space = cj_mad_wide(k->f, "row_mail", k->row, cj__gather_bytes(k->parts, m.box.words), space);
    m.before = cj_u32(k->f, "last_tag");
    cj__gather_read_tag(&m, cj_always());
    return m;
}

// partial = the largest of the row's, in the first warp of its last part. `leads`: the thread that has the part's. The block that
// gathers takes a message a thread, so that all of them arrive at once.
static void write_parts(const argmax_kernel *k, const cj_gather *m, cj_reg leads, const cj_partial *partial) {
    cj_func *f = k->f;
    cj_step(f, "the largest of the row: every part sends its own to its mailbox, the last part takes all");
    cj_reg tag = cj__gather_send(m, leads, k->part, partial);
    cj_reg gathers = cj_eq(f, "gathers", k->part, k->parts - 1);
    if (k->cluster) cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1;", gathers, k->rank);
    CJ_IF_UNI(f, gathers, "all_taken") {
        m->kind->clear(m->kind, partial);
        cj__gather_take(m, k->thread, k->block, 1, cj_mov(f, "u32", "parts", k->parts), tag, partial);
        write_block(k, m->kind, "last_part", "B4", partial);
        cj__gather_close(m, leads, tag);
    }
}

// ---- all of it

// By the thread that has the row's value.
static void write_out(const argmax_kernel *k, cj_reg writes, const cj_partial *partial) {
    CJ_IF(k->f, writes, "done") {
        cj_reg index = cj_let(k->f, "u32", "index", "cvt.u32.u64 $1, $2;\nnot.b32 $1, $1;", partial->value[0]);
        cj_reg out = cj__load_pointer(k->f, k->out, "out");
        cj_ptx(k->f, "st.global.u32 [$1], $2;", cj_mad_wide(k->f, "out_at", k->row, ARGMAX_INDEX, out), index);
    }
}

static void emit_lanes(argmax_kernel *k, const cj_partials *kind) {
    const cj_partial partial = {{cj__argmax_thread(k, kind)}};
    cj_step(k->f, "the largest of the row's %u lanes", k->lanes);
    cj__warp_combine(kind, &partial, k->lanes);
    write_out(k, cj_let(k->f, "pred", "writes", "setp.eq.and.u32 $1, $2, 0, $3;", k->in_row, k->there), &partial);
}

static void emit_blocks(argmax_kernel *k, const cj_push *push, const cj_partials *kind) {
    const cj_gather  m = k->parts > 1 ? open_mail(k, kind) : (cj_gather){.before = cj_none()};
    const cj_partial partial = {{cj__argmax_thread(k, kind)}};
    cj_step(k->f, "the largest of the block");
    write_block(k, kind, "warp_part", "B1", &partial);
    if (k->cluster) write_cluster(k, push, kind, &partial);
    cj_reg leads = cj_eq(k->f, "leads", k->cluster ? cj_or(k->f, "leader", k->thread, k->rank) : k->thread, 0);
    if (k->parts > 1) {
        write_parts(k, &m, leads, &partial);
        cj_ptx(k->f, "setp.eq.and.u32 $1, $2, $3, $1;", leads, k->part, k->parts - 1);
    }
    write_out(k, leads, &partial);
}

static void emit_argmax(const cj_plan *plan, cj_builder *b) {
    argmax_kernel k = {.plan = plan,
                       .block = plan->block.x,
                       .cluster = plan->cluster.x,
                       .parts = (unsigned)plan->params.value[ARGMAX_PARTS],
                       .lanes = (unsigned)plan->params.value[ARGMAX_LANES],
                       .s = cj__argmax_shape(plan)};
    write_head(&k, b);
    declare(&k, b);
    cj_func          *f = k.f;
    const cj_partials kind = {.f = f,
                              .values = 1,
                              .type = {"u64"},
                              .bytes = {sizeof(uint64_t)},
                              .suffix = {""},
                              .clear = cj__partial_clear_value,
                              .combine = cj__partial_combine_value,
                              .value = {.op = CJ_COMBINE_MAX, .type = "u64"}};
    k.thread = cj_mov(f, "u32", "thread", "%tid.x");
    if (!k.lanes) {
        k.lane = cj_and(f, "lane", k.thread, WARP - 1);
        k.warp = cj_shr(f, "warp", k.thread, 5);
    }
    const cj_push push = k.cluster ? cj__push_new(f, "arrived") : (cj_push){.arrived = cj_none()};
    write_identity(&k, &push);
    cj__follow_launches(plan, f);
    if (k.lanes)
        emit_lanes(&k, &kind);
    else
        emit_blocks(&k, &push, &kind);
    cj_ptx(f, "ret;");
}

const cj_family cj__family_argmax = {
    CJ_FAMILY("argmax", "the index of the largest element of each row; of equal ones the first", params,
              cj__argmax_plan, emit_argmax)};
