// SPDX-License-Identifier: Apache-2.0
// topk: the k largest or smallest elements of each row of a matrix, in order or not, and where they are; or the k-th
// alone.
//
// Algorithm. A block (or the blocks of a cluster, slice by slice in turn) reads its row once and keeps candidates: elements
// greater than a threshold that at least k earlier elements are not less than. A candidate is a number of 64 bits: the element,
// mapped to a u32 of the same order, above the complement of its index. So candidates differ, of equal elements the first is
// the greater, and their order is the result's. An element equal to the threshold is not needed. The first threshold
// is guessed from the first round, before anything is a candidate (sift.c); if k is too large for that, every element is a
// candidate at first.
//
// Each warp has places of its own, so it finds candidates without any other warp. When a warp has too many for another round,
// the first k of all are selected, bit by bit (select.c), move together, and give the new threshold. Of elements in
// random order about k * (1 + ln(columns / first round)) become candidates; ascending ones all do, and cost a selection a round.
// After the row the first k are selected. Each of these counts the greater ones, which is its place, or they are sorted if k
// is large (sort.c); neither if they may have any order.
//
//   x: | slice 0 | slice 1 | …   global; 16-byte loads, four slices (a round) in flight
//        one comparison an element; what passes, as a key
//   pool[]  k selected | each warp's           shared
//        selection; cluster: every rank pushes its first k into rank 0's pool, which selects once more
//   values[], indices[]          global; values are read from x again, so their bits are those of x
//
// Barriers; docs/maintaining/topk.md says why each is needed and enough (B0: sift.c; B1, B7 to B9: select.c; B3, B4: sort.c).
//   B2   bar.red           after each round: all threads learn whether a warp has too many candidates
//   B5   bar.sync          the candidates are selected, and the warps' places are read
//   B6   barrier.cluster   rank 0 is done with its own candidates
//   B10  barrier.cluster   the candidates of all ranks are in rank 0's pool
//   P1   bar.sync          of a row in parts: the candidates are selected (P2, P3: parts.c)
//   B11  bar.warp.sync     all lanes of the warp come to B2 together
#include "topk.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [TOPK_##id] = {__VA_ARGS__},
#include "params.def"
};

static void head_of_sift(const topk_kernel *k, cj_builder *b) {
    const topk_shape *s = &k->s;
    cj_head(b, "  row  --%u loads of %u elements a thread and slice-->  key > threshold  -->  %u places a warp, shared",
            s->loads, s->width, s->own);
    cj_head(b, "  more than %u candidates of a warp  --selection-->  %u, whose least is the threshold", s->slack, s->k);
    if (s->parts > 1) cj_head(b, "  every part's %u  --workspace-->  the block that comes last  --selection-->  %u", s->k, s->k);
    if (s->cluster) cj_head(b, "  every rank's %u  --mapa + st-->  pool of rank 0  --selection-->  %u", s->k, s->k);
}

static void head_of_radix(const topk_kernel *k, cj_builder *b) {
    const topk_shape *s = &k->s;
    cj_head(b, "  row  --%u loads of %u elements a thread at once-->  keys, shared%s", s->loads, s->width,
            s->cluster ? ", of every block of a cluster" : "");
    cj_head(b, "  keys  --digits counted in shared memory-->  the k-th  --comparison-->  pool of %u%s", s->k,
            s->cluster ? " of rank 0" : "");
}

static void head_of_warp(const topk_kernel *k, cj_builder *b) {
    const topk_shape *s = &k->s;
    cj_head(b, "  row  --a load an element-->  %u candidate%s a lane  --bitonic network of %u places, shuffles-->  in order",
            s->each, s->each > 1 ? "s" : "", s->lanes * s->each);
}

static void write_head(const topk_kernel *k, cj_builder *b) {
    const topk_shape *s = &k->s;
    cj_head(b, "clusterjit: topk  k=%u dtype=%s order=%s result=%s\n", s->k, CJ_PARAM_WORD(k->plan, "dtype"),
            CJ_PARAM_WORD(k->plan, "order"), CJ_PARAM_WORD(k->plan, "result"));
    (s->lanes ? head_of_warp : s->radix ? head_of_radix : head_of_sift)(k, b);
    cj_head(b, "  %s-->  values, indices\n", s->any || s->lanes ? "" : s->sorts ? "--bitonic sort" : "--ranks, counted");
    cj_head(b, "Launch: block %u threads%s; grid: %s a row; %u bytes of dynamic shared memory.", s->block,
            s->cluster ? ", as a cluster launch" : "", s->lanes ? "lanes of a warp" : s->cluster ? "a cluster" : s->parts > 1 ? "several blocks" : "a block", k->plan->dynamic_shared);
    cj_head(b, s->tail ? "stride is a multiple of %u elements, x of %u bytes." : "columns and stride are multiples of %u elements, x of %u bytes.",
            s->width, s->width * s->bytes);
}

// ---- prologue

static void declare(topk_kernel *k) {
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", "x[rows][stride]");
    k->values = cj_param(f, "u64", "values", k->s.kth ? "values[rows]" : "values[rows][k]");
    k->indices = cj_param(f, "u64", "indices", k->s.kth ? "indices[rows]" : "indices[rows][k]");
    k->columns_at = cj_param(f, "u64", "columns", "elements of a row");
    k->stride_at = cj_param(f, "u64", "stride", "elements from row to row");
    if (k->s.lanes) k->rows_at = cj_param(f, "u64", "rows", "rows of the matrix");
    if (k->s.parts > 1) k->piece_at = cj_param(f, "u64", "piece", "elements of a part");
    k->workspace = cj_param(f, "u64", "workspace", k->s.parts > 1 ? "the parts' candidates" : "not used");
    if (k->s.lanes) return;
    const bool many = k->s.radix && k->s.block < TOPK_RADIX_BLOCK;  // bins a thread
    const uint32_t registers = k->s.parts > 1 ? TOPK_REGISTERS_PARTS : TOPK_REGISTERS;
    cj__registers(k->plan, f, many ? 2 * registers : registers, k->s.width * k->s.bytes < TOPK_LOAD);
}

static void begin_pool(topk_kernel *k) {
    enum { WORDS = 8 };  // of both records (select.c)
    cj_func *f = k->f;
    k->exchange = cj_shared_address(f, cj_shared(f, "u32", "exchange", WORDS, 4 * WORDS));
    cj_step(f, "both records are clear, and the warp has no candidates");
    k->pool = cj_mov(f, "u32", "pool_at", "pool");
    cj_reg clears = cj_lt(f, "clears", k->thread, WORDS), word = cj_mad(f, "word_at", k->thread, 4, k->exchange);
    cj_ptx(f, "@$1 st.shared.u32 [$2], 0;", clears, word);
    cj_reg own = cj_mad(f, "own_at", cj_shr(f, "warp", k->thread, 5), TOPK_CANDIDATE * k->s.own, k->pool);
    k->own_at = cj_let(f, "u32", "own_at", "add.u32 $1, $2, $3; // after the places of selected candidates", own,
                       TOPK_CANDIDATE * k->s.k);
    k->mine = cj_mov(f, "u32", "mine", 0);
    k->count = cj_mov(f, "u32", "candidates", 0);
}

static void begin_part(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   piece = cj__load_param(f, "u32", k->piece_at, "piece");
    k->from = cj_mul(f, "part_from", k->part, piece);
    k->end = cj_min(f, "part_end", cj_add(f, "part_end", k->from, piece), k->columns);
}

static void begin(topk_kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    k->lane = cj_and(f, "lane", k->thread, TOPK_WARP - 1);
    if (!k->s.lanes) k->below = cj_mov(f, "u32", "lanes_below", "%lanemask_lt");
    if (!k->s.radix && !k->s.lanes) begin_pool(k);
    k->row = cj__group_number(f, k->s.lanes ? "block" : "row", k->s.cluster);
    if (k->s.lanes) {
        cj_reg in_block = cj_div(f, "row_in_block", k->thread, k->s.lanes);
        k->row = cj_mad(f, "row", k->row, k->s.block / k->s.lanes, in_block);
    }
    if (k->s.cluster) k->rank = cj_cluster_rank(f);
    if (k->s.parts > 1) {
        k->part = cj_rem(f, "part", k->row, k->s.parts);
        k->row = cj_div(f, "row", k->row, k->s.parts);
    }
    cj_step(f, "the row");
    cj_reg x = cj__load_pointer(f, k->x, "x"), stride = cj__load_param(f, "u64", k->stride_at, "stride");
    cj_reg first = cj_mul(f, "row_first", cj_cvt(f, "u64", "row_number", k->row), stride);
    k->base = cj_mad(f, "row_at", first, k->s.bytes, x);
    k->columns = cj_cvt(f, "u32", "columns", cj__load_param(f, "u64", k->columns_at, "wide_columns"));
    k->end = k->columns;
    if (k->s.parts > 1) begin_part(k);
    if (k->s.tail) k->end = cj_and(f, "end_of_loads", k->end, -(int)k->s.width);
}

static void begin_sift(topk_kernel *k) {
    cj_func *f = k->f;
    k->select = cj_label_new(f, "select");
    for (int i = 0; i < TOPK_SELECTIONS; i++) k->after[i] = cj_label_new(f, "selected");
    cj_step(f, "there is no threshold yet");
    k->threshold = cj_mov(f, "u32", "threshold", 0);
    k->bound = cj_let(f, cj__topk_number(k), "bound", "mov.b32 $1, 0;");
    k->filling = cj_let(f, "pred", "filling", "setp.eq.u32 $1, 0, 0;");
    k->resume = cj_u32(f, "resume");
    if (k->s.parts > 1) cj__topk_begin_parts(k);
}

// ---- mainloop

// Rounds of slices; ranks of a cluster take slices in turn. After each slice that of the next round is loaded. A predicate: a
// selection followed the last round.
static cj_reg emit_rounds(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   full = cj_pred(f, "full");
    cj__topk_load_first(k);
    if (k->s.guesses) cj__topk_guess(k);
    cj_reg start = k->s.parts > 1 ? cj_mov(f, "u32", "start", k->from) : cj_mov(f, "u32", "start", 0);
    CJ_COUNT_UNI(f, "next_round", start, cj__topk_round(k), k->end) {
        for (unsigned i = 0; i < TOPK_SLICES; i++) {
            cj__topk_sift(k, i);
            cj__topk_load_next(k, i);
        }
        cj__topk_select_if_full(k, full, TOPK_AFTER_ROUND);
    }
    if (k->s.tail) {
        cj__topk_sift_tail(k);
        cj_ptx(f, "setp.ne.u32 $1, 0, 0; // a selection is needed", full);
    }
    return full;
}

// The selection, for all branches to it: it goes on where `resume` says.
static void emit_selection(const topk_kernel *k) {
    const unsigned last = k->s.parts > 1 ? TOPK_AFTER_PARTS : k->s.cluster ? TOPK_AFTER_RANKS : TOPK_AFTER_ALL;
    cj__topk_select(k);
    for (unsigned way = 0; way < last; way++)
        if (way != TOPK_AFTER_RANKS)  // of a cluster, which has no parts, the last
            cj_ptx(k->f, "@$1 bra.uni $2;", cj_eq(k->f, "here", k->resume, way), k->after[way]);
    cj_ptx(k->f, "bra.uni $1;", k->after[last]);
}

// ---- epilogue

// Every rank's first k go to rank 0; it selects from them, and the other ranks are done.
static void emit_ranks(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "cluster: the first %u of every rank go to rank 0", k->s.k);
    cj_cluster_sync(f, "B6: rank 0 is done with its own");
    cj_reg pool = cj_cluster_map_address(f, k->pool, cj_mov(f, "u32", "rank_0", 0));
    cj_reg peer = cj_mad(f, "peer", k->rank, TOPK_CANDIDATE * k->s.k, pool);
    CJ_SHARE(f, i, "i", k->thread, 1, k->s.block, k->s.k) {
        cj_reg there = cj_lt(f, "there", i, k->count), at = cj_mad(f, "from", i, TOPK_CANDIDATE, k->pool);
        cj_reg to = cj_mad(f, "to", i, TOPK_CANDIDATE, peer), candidate = cj__topk_candidate(k, there, at);
        cj_dsmem_store(f, cj_always(), "b64", &candidate, 1, to, 0);
    }
    cj_set(f, k->count, k->s.cluster * k->s.k);
    cj_cluster_sync(f, "B10: all ranks' candidates are in rank 0's pool");
    CJ_UNLESS_UNI(f, cj_eq(f, "rank_is_0", k->rank, 0), "receive") { cj_ptx(f, "ret;"); }
    cj_set(f, k->resume, TOPK_AFTER_RANKS);
    cj_ptx(f, "bra.uni $1;", k->select);
    cj_label_here(f, k->after[TOPK_AFTER_RANKS]);
}

static void emit_sift(topk_kernel *k) {
    begin_sift(k);
    cj_reg selected = emit_rounds(k);
    cj_step(k->f, "the row is read: the first k of what there is, unless a selection followed the last round");
    cj_ptx(k->f, "@$1 bra.uni $2;", selected, k->after[TOPK_AFTER_ALL]);
    cj_set(k->f, k->resume, TOPK_AFTER_ALL);
    emit_selection(k);
    cj_label_here(k->f, k->after[TOPK_AFTER_ALL]);
    if (k->s.cluster) emit_ranks(k);
    if (k->s.parts > 1) cj__topk_parts(k, selected);
    cj_ptx(k->f, "bar.sync 0; // B5: the candidates are selected");
}

static void emit_topk(const cj_plan *plan, cj_builder *b) {
    topk_kernel k = {.plan = plan};
    cj__topk_shape(plan, &k.s);
    write_head(&k, b);
    if (!k.s.lanes) cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    k.f = cj__entry(plan, b);
    declare(&k);
    begin(&k);
    cj__follow_launches(plan, k.f);
    if (k.s.lanes) {
        cj__topk_warp(&k);
        return;
    }
    (k.s.radix ? cj__topk_radix : emit_sift)(&k);
    if (k.s.sorts) cj__topk_sort(&k);
    cj__topk_results(&k);
}

const cj_family cj__family_topk = {CJ_FAMILY(
    "topk", "the k largest or smallest elements of each row, sorted or not, and where they are; or the k-th alone",
    params, cj__topk_plan, emit_topk)};
