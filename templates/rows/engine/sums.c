// SPDX-License-Identifier: Apache-2.0
// Sums over all rows, one for each column: the gradients of a norm's weight and bias. Each thread adds up its own columns
// in registers. Rows are dealt, not taken from a work counter, so that every sum is made in an order that follows from the
// plan and the grid alone: the same bits in every launch.
//
//   turn 0  each block, or each warp of short rows, or in a stream each cluster, works on every n-th row, or on every n-th
//           few of them (pass.c); after the last ones its sums go to the workspace, as one partial of each sum
//   turn 1  all blocks add up the partials of each column, in the order of their numbers
//
// A turn is a launch: its end orders all. sums_twice.c has the rows that no block holds.
// Barriers:
//   D1  as in exchange.c; slots alternate between two rows: a warp that writes those of row i + 2 has passed D1 of row
//       i + 1, to which all warps came after their reading of the slots of row i.
//   T1  bar.sync: the warp before has left the sums of its short rows in shared memory.
//   T2  bar.sync: each warp's sums of partials are there, before the first warp adds these up.
//   T3  bar.sync: it has read them, before the next ones are written.
#include "engine.h"

// ---- registers and partials

void cj__row_sums_clear(row_kernel *k) {
    for (unsigned t = 0; t < k->s->totals; t++)
        for (unsigned v = 0; v < k->s->held; v++)
            for (unsigned e = 0; e < k->s->elements; e++)
                k->total[t][v][e] = cj__row_f32(k, k->op->operand[k->op->nth[ROW_TOTAL][t]].name, 0);
}

void cj__row_sums_store(row_kernel *k, cj_reg partial) {
    cj_step(k->f, "the thread's sums, as a partial of all");
    cj_reg at = cj__load_pointer(k->f, k->workspace, "workspace");
    at = cj_mad_wide(k->f, "partial_at", partial, k->s->totals * k->s->columns * 4, at);
    cj__row_store_sums(k, cj_mad_wide(k->f, "sums_at", k->column, 4, at));
}

// ---- rows that a block or a warp holds

// Groups of a warp's lanes have rows of their own: lanes of the same columns add theirs, each the same pairs as the others.
static void add_groups(row_kernel *k) {
    const row_shape *s = k->s;
    if (s->lanes == ROW_WARP) return;
    cj_step(k->f, "the sums of the warp's groups, in every group");
    for (unsigned apart = s->lanes; apart < ROW_WARP; apart *= 2)
        for (unsigned t = 0; t < s->totals; t++)
            for (unsigned i = 0; i < s->held * s->elements; i++) {
                cj_reg total = k->total[t][i / s->elements][i % s->elements];
                cj_reg other = cj_let(k->f, "f32", "other", "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", total,
                                      apart);
                cj_update(k->f, total, "add", other);
            }
}

// Each warp of a block with rows of their own adds what the warp before it has left; the last one has the sums of all.
static void add_warps(row_kernel *k) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   each = s->totals * s->held * s->elements;
    cj_reg           sums = cj_shared_address(f, cj_shared(f, "f32", "sums", each * ROW_WARP, 0));
    cj_step(f, "the sums of the block's warps, one after the other");
    cj_reg at = cj_mad(f, "at", k->lane, 4, sums), turn = cj_mov(f, "u32", "warp_turn", 0);
    cj_reg adds = cj_ne(f, "adds", k->warp, 0);
    CJ_COUNT(f, "next_warp", turn, 1, s->warps) {
        CJ_UNLESS(f, cj_ne(f, "other_turn", k->warp, turn), "other_warp")
        for (unsigned i = 0; i < each; i++) {
            cj_reg total = k->total[i / (s->held * s->elements)][i / s->elements % s->held][i % s->elements];
            cj_reg before = cj_let(f, "f32", "before", "@$2 ld.shared.f32 $1, [$3 + $4];", adds, at, i * ROW_WARP * 4);
            cj_ptx(f, "@$1 add.f32 $2, $2, $3;", adds, total, before);
            cj_ptx(f, "st.shared.f32 [$1 + $2], $3;", at, i * ROW_WARP * 4, total);
        }
        cj_ptx(f, "bar.sync 0; // T1: this warp's sums are there");
    }
}

// The rows of a warp, or of a block, from k->row on, every `step`-th.
static void emit_dealt(row_kernel *k, cj_reg step, cj_reg rows) {
    const bool is_short = cj__row_is_short(k->s);
    cj_reg     group = cj_none();
    if (k->s->rows_per_block > 1) cj__row_keep_columns(k);
    if (is_short) group = cj_shr(k->f, "group", k->lane, cj__log2(k->s->lanes));
    CJ_STRIDE(k->f, row, k->row, step, rows) {
        if (is_short)
            cj__row_short(k, cj_add(k->f, "first_row", row, group), rows);
        else
            cj__row_held(k);
    }
}

// The last warp's sums, of one of its groups, are those of the block.
static void store_of_warps(row_kernel *k, cj_reg partial) {
    const row_shape *s = k->s;
    add_groups(k);
    add_warps(k);
    cj_reg others = cj_ne(k->f, "others", k->warp, s->warps - 1);
    if (s->lanes < ROW_WARP) cj_ptx(k->f, "setp.ne.or.u32 $1, $2, $3, $1;", others, k->lane, k->thread);
    CJ_UNLESS(k->f, others, "done") cj__row_sums_store(k, partial);
}

void cj__row_emit_sums_held(row_kernel *k) {
    cj_func       *f = k->f;
    const unsigned each = k->s->rows_per_block;
    cj__row_exchange_open(k, true);
    cj_reg rows = cj__row_load_rows(k);
    cj_step(f, "every n-th row, from the block's number on");
    cj__row_set_piece(k, cj_mov(f, "u32", "piece", 0));
    cj__row_sums_clear(k);
    cj_reg partial = cj_mov(f, "u32", "own_partial", "%ctaid.x");
    cj_set(f, k->row, partial);
    cj_reg first = k->s->lanes < ROW_WARP ? cj_mul(f, "warp_row", k->warp, ROW_WARP / k->s->lanes) : k->warp;
    if (each > 1) cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", k->row, each, first);
    cj_reg step = cj_mov(f, "u32", "rows_step", "%nctaid.x");
    if (each > 1) cj_update(f, step, "mul", each);
    emit_dealt(k, step, rows);
    if (each > 1)
        store_of_warps(k, partial);
    else
        cj__row_sums_store(k, partial);
    cj_ptx(f, "ret;");
}

// ---- after the rows' own launches

typedef struct adding {
    cj_reg partials, slice, position;  // position: of all sums, those of one operand after those of another
    cj_reg has;                        // whether there is such a sum
    cj_reg first;                      // address of the first partial that the warp takes
} adding;

// The sum of every slices-th partial. Several loads are in flight at a time.
static cj_reg add_slice(row_kernel *k, const adding *a) {
    cj_func       *f = k->f;
    const uint64_t step = (uint64_t)k->s->slices * k->s->totals * k->s->columns * 4;
    cj_reg         value[SUMS_AHEAD];
    cj_reg         sum = cj__row_f32(k, "all", 0), partial = cj_mov(f, "u32", "partial", a->slice);
    cj_reg         at = cj_mad_wide(f, "partial_at", a->position, 4, a->first);
    CJ_DO(f, "next_partials", cj_lt(f, "more", partial, a->partials)) {
        for (unsigned i = 0; i < SUMS_AHEAD; i++) {
            value[i] = cj__row_f32(k, "value", 0);
            cj_reg there = cj_let(f, "pred", "there", "setp.lt.and.u32 $1, $2, $3, $4;", partial, a->partials, a->has);
            cj_ptx(f, "@$1 ld.global.f32 $2, [$3];", there, value[i], at);
            cj_update(f, at, "add", step);
            cj_update(f, partial, "add", k->s->slices);
        }
        for (unsigned i = 0; i < SUMS_AHEAD; i++) cj_update(f, sum, "add", value[i]);
    }
    return sum;
}

// The first slice's warps get the sums of all slices.
static void add_slices(row_kernel *k, const adding *a, cj_reg sum, cj_reg slots) {
    cj_func *f = k->f;
    cj_reg   slot = cj_mad(f, "slot", k->lane, 4, cj_mad(f, "slot", k->warp, 4 * ROW_WARP, slots));
    cj_reg   leads = cj_let(f, "pred", "first_slice", "setp.eq.and.u32 $1, $2, 0, $3;", a->slice, a->has);
    cj_ptx(f, "st.shared.f32 [$1], $2;", slot, sum);
    cj_ptx(f, "bar.sync 0; // T2: every slice's sums are here");
    for (unsigned i = 1; i < k->s->slices; i++) {
        cj_reg other = cj_let(f, "f32", "other", "@$2 ld.shared.f32 $1, [$3 + $4];", leads, slot, 4 * ROW_WARP * i);
        cj_ptx(f, "@$1 add.f32 $2, $2, $3;", leads, sum, other);
    }
    cj_ptx(f, "bar.sync 0; // T3: and have been read");
    cj_set(f, a->has, leads);
}

static void store_sum(row_kernel *k, const adding *a, cj_reg sum) {
    cj_func    *f = k->f;
    const char *type = cj__row_type(k->plan, ROW_OUT);
    cj_reg      column = cj_mov(f, "u32", "sum_column", a->position);
    cj_reg      base = cj_mov(f, "u64", "sums", k->base[k->op->nth[ROW_TOTAL][0]]);
    for (unsigned t = 1; t < k->s->totals; t++) {
        cj_reg later = cj_ge(f, "later", column, k->s->columns);
        cj_ptx(f, "@$1 sub.u32 $2, $2, $3;", later, column, k->s->columns);
        cj_set_if(f, later, base, k->base[k->op->nth[ROW_TOTAL][t]]);
    }
    cj_reg at = cj_mad_wide(f, "sum_at", column, k->s->out_bytes, base);
    if (k->s->out_bytes == 2) sum = cj_let(f, "b16", "rounded", "cvt.rn.$3.f32 $1, $2;", sum, type);
    cj_ptx(f, "@$1 st.global.$2 [$3], $4;", a->has, k->s->out_bytes == 2 ? "b16" : "f32", at, sum);
}

// A block's warps are groups of `slices`, and a group has 32 columns at a time.
static void add_up(row_kernel *k) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   warps = k->plan->block.x / ROW_WARP, groups = warps / s->slices, width = groups * ROW_WARP;
    const uint64_t   sums = s->totals * s->columns, items = cj__ceil_div(sums, width);
    cj_reg           slots = cj_none();
    adding           a;
    cj_step(f, "the partials of each sum, by their numbers: every warp of a group takes some, the group's first adds"
               " theirs");
    if (s->slices > 1) slots = cj_shared_address(f, cj_shared(f, "f32", "slices", warps * ROW_WARP, 0));
    cj_reg workspace = cj__load_pointer(k->f, k->workspace, "workspace");
    a.partials = s->strips ? cj_mov(f, "u32", "partials", s->strips)
                           : cj_mov(f, "u32", "partials", cj__group_count(k->s->cluster));
    cj_reg group = cj_div(f, "group", k->warp, s->slices);
    a.slice = cj_rem(f, "slice", k->warp, s->slices);
    a.first = cj_mad_wide(f, "first_partial", a.slice, sums * 4, workspace);
    CJ_BLOCKS(f, item, "item", items) {
        a.position = cj_mad(f, "position", cj_mad(f, "position", item, groups, group), 32, k->lane);
        a.has = cj_lt(f, "has_sum", a.position, sums);
        if (groups * s->slices < warps) cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", a.has, group, groups);
        cj_reg sum = add_slice(k, &a);
        if (s->slices > 1) add_slices(k, &a, sum, slots);
        store_sum(k, &a, sum);
    }
    cj_ptx(f, "ret;");
}

void cj__row_emit_sums(row_kernel *k, void (*emit_rows)(row_kernel *k)) {
    cj_step(k->f, "the last launch adds up the partials");
    cj_reg turn = cj_let(k->f, "u64", "turn", "ld.param.u64 $1, [$2];", k->turn);
    CJ_UNLESS(k->f, cj_eq(k->f, "last_turn", turn, k->plan->launches - 1), "add_up") emit_rows(k);
    add_up(k);
}
