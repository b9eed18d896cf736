// SPDX-License-Identifier: Apache-2.0
// Sums over all rows, one for each column: what the gradients of a norm's weights and bias are. Each thread adds up its
// own columns in registers. Rows are dealt, not claimed, so that every sum is made in an order which follows from the
// plan and the grid alone: the same bits in every launch. That costs some of what claims win where SMs do not run
// equally fast.
//
//   turn 0  each block, or each warp of a short row, or in a stream each cluster, takes every n-th row; behind its last
//           one its sums go to the workspace, as one part of each sum
//   turn 1  all blocks add up the parts of each column, in the order of their numbers
//
// A row that one block (a stream: one cluster) does not hold is read twice, but not in one go:
//
//   turn 0  the values of every row, or of shares of it where rows are few            --> workspace
//   turn 1  a block takes a piece of columns, and of a strip of rows, every strips-th row, this piece: what is written
//           follows from the row's values, the sums are in registers as above         --> workspace
//   turn 2  as turn 1 above
//
//   workspace: | part[parts][sums][columns] f32 | value[rows][shares][values] f32 |
//
// So x and dy are read once or twice, as without sums; parts are a few rows. A turn is a launch: its end orders all.
// Barriers of dealt rows, and why each is needed and enough:
//   D1  as in row.c; slots alternate between two rows: a warp that writes those of row i + 2 has met in row i + 1,
//       for which all warps have come behind their reading of the slots of row i.
//   T1  bar.sync: the warp before has left the sums of its short rows in shared memory.
//   T2  bar.sync: each warp's sums of parts are there, before the first of them adds these up.
//   T3  bar.sync: it has read them, before the next ones are written.
#include "constants.h"
#include "row.h"
#include "whole.h"

// ---- what follows from the plan

// ---- registers and parts

void cj__row_total_clear(row_kernel *k) {
    for (unsigned t = 0; t < k->s->totals; t++)
        for (unsigned v = 0; v < k->s->held; v++)
            for (unsigned e = 0; e < k->s->elements; e++) {
                cj_reg *total = &k->total[t][v][e];
                if (!total->id) *total = cj_f32(k->f, k->op->operand[cj__row_nth(k->op, ROW_TOTAL, t)].name);
                cj_ptx(k->f, "mov.f32 $1, 0f00000000;", *total);
            }
}

static cj_reg load_workspace(row_kernel *k) {
    cj_reg at = cj_u64(k->f, "workspace");
    cj_ptx(k->f, "ld.param.u64 $1, [$2];", at, k->workspace);
    cj_ptx(k->f, "cvta.to.global.u64 $1, $1;", at);
    return at;
}

void cj__row_total_store(row_kernel *k, cj_reg part) {
    cj_func *f = k->f;
    cj_step(f, "the thread's sums, as a part of all");
    cj_reg at = load_workspace(k);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", at, part, k->s->totals * k->s->columns * 4);
    cj_ptx(f, "mad.wide.u32 $1, $2, 4, $1;", at, k->column);
    cj__row_store_totals(k, at);
}

// ---- what comes behind the rows' own launches

cj_label cj__row_total_turns(row_kernel *k) {
    cj_func *f = k->f;
    cj_label add_up = cj_label_new(f, "add_up");
    cj_reg   turn = cj_u64(f, "turn"), last = cj_pred(f, "last_turn");
    cj_step(f, "the last launch adds up the parts");
    cj_ptx(f, "ld.param.u64 $1, [$2];", turn, k->turn);
    cj_ptx(f, "setp.eq.u64 $1, $2, $3;", last, turn, k->plan->launches - 1);
    cj_ptx(f, "@$1 bra $2;", last, add_up);
    return add_up;
}

typedef struct adding {
    cj_reg parts, slice, position, has, sum;  // position: of all sums, those of one operand behind those of another
    cj_reg first;                             // address of the first part that the warp takes
} adding;

// sum = that of every slices-th part. Several loads at a time are on their way.
static void add_slice(row_kernel *k, const adding *a) {
    cj_func       *f = k->f;
    const uint64_t step = (uint64_t)k->s->slices * k->s->totals * k->s->columns * 4;
    cj_reg         part = cj_u32(f, "part"), at = cj_u64(f, "part_at"), more = cj_pred(f, "more"), value[SUMS_AHEAD];
    cj_label       next = cj_label_new(f, "next_parts");
    cj_ptx(f, "mov.f32 $1, 0f00000000;", a->sum);
    cj_ptx(f, "mov.u32 $1, $2;", part, a->slice);
    cj_ptx(f, "mad.wide.u32 $1, $2, 4, $3;", at, a->position, a->first);
    cj_label_here(f, next);
    for (unsigned i = 0; i < SUMS_AHEAD; i++) {
        cj_reg there = cj_pred(f, "there");
        value[i] = cj_f32(f, "value");
        cj_ptx(f, "mov.f32 $1, 0f00000000;", value[i]);
        cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $4;", there, part, a->parts, a->has);
        cj_ptx(f, "@$1 ld.global.f32 $2, [$3];", there, value[i], at);
        cj_ptx(f, "add.u64 $1, $1, $2;", at, step);
        cj_ptx(f, "add.u32 $1, $1, $2;", part, k->s->slices);
    }
    for (unsigned i = 0; i < SUMS_AHEAD; i++) cj_ptx(f, "add.f32 $1, $1, $2;", a->sum, value[i]);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, part, a->parts);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

// The first slice's warps get the sums of all slices.
static void add_slices(row_kernel *k, const adding *a, cj_reg slots) {
    cj_func *f = k->f;
    cj_reg   slot = cj_u32(f, "slot"), leads = cj_pred(f, "first_slice"), other = cj_f32(f, "other");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slot, k->warp, 4 * ROW_WARP, slots);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $1;", slot, k->lane);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $3;", leads, a->slice, a->has);
    cj_ptx(f, "st.shared.f32 [$1], $2;", slot, a->sum);
    cj_ptx(f, "bar.sync 0; // T2: every slice's sums are here");
    for (unsigned i = 1; i < k->s->slices; i++) {
        cj_ptx(f, "@$1 ld.shared.f32 $2, [$3 + $4];", leads, other, slot, 4 * ROW_WARP * i);
        cj_ptx(f, "@$1 add.f32 $2, $2, $3;", leads, a->sum, other);
    }
    cj_ptx(f, "bar.sync 0; // T3: and have been read");
    cj_ptx(f, "mov.pred $1, $2;", a->has, leads);
}

static void store_sum(row_kernel *k, const adding *a) {
    cj_func    *f = k->f;
    const char *type = cj__row_type(k->plan, ROW_OUT);
    cj_reg      column = cj_u32(f, "sum_column"), at = cj_u64(f, "sum_at"), later = cj_pred(f, "later"), word = a->sum;
    cj_ptx(f, "mov.u32 $1, $2;", column, a->position);
    cj_ptx(f, "mov.u64 $1, $2;", at, k->base[cj__row_nth(k->op, ROW_TOTAL, 0)]);
    for (unsigned t = 1; t < k->s->totals; t++) {
        cj_ptx(f, "setp.ge.u32 $1, $2, $3;", later, column, k->s->columns);
        cj_ptx(f, "@$1 sub.u32 $2, $2, $3;", later, column, k->s->columns);
        cj_ptx(f, "@$1 mov.u64 $2, $3;", later, at, k->base[cj__row_nth(k->op, ROW_TOTAL, t)]);
    }
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", at, column, k->s->out_bytes);
    if (k->s->out_bytes == 2) {
        word = cj_register(f, "b16", "rounded");
        cj_ptx(f, "cvt.rn.$1.f32 $2, $3;", type, word, a->sum);
    }
    cj_ptx(f, "@$1 st.global.$2 [$3], $4;", a->has, k->s->out_bytes == 2 ? "b16" : "f32", at, word);
}

// A block's warps are groups of `slices`, and a group has 32 columns at a time.
void cj__row_total_add_up(row_kernel *k, cj_label here, const char *parts) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   warps = k->plan->block.x / ROW_WARP, groups = warps / s->slices, width = groups * ROW_WARP;
    const uint64_t   sums = s->totals * s->columns, items = ceil_div(sums, width);
    adding           a = {cj_u32(f, "parts"),    cj_u32(f, "slice"), cj_u32(f, "position"),
                          cj_pred(f, "has_sum"), cj_f32(f, "all"),   cj_u64(f, "first_part")};
    cj_reg           item = cj_u32(f, "item"), items_step = cj_u32(f, "items_step"), past = cj_pred(f, "past");
    cj_reg           group = cj_u32(f, "group"), workspace, slots = {0};
    cj_label         next = cj_label_new(f, "next_sums"), done = cj_label_new(f, "added");
    cj_label_here(f, here);
    cj_step(f,
            "the parts of each sum, by their numbers: every warp of a group takes some, the group's first adds theirs");
    if (s->slices > 1) slots = cj_shared_address(f, cj_shared(f, "f32", "slices", warps * ROW_WARP, 0));
    workspace = load_workspace(k);
    if (s->strips)
        cj_ptx(f, "mov.u32 $1, $2;", a.parts, s->strips);
    else
        cj_ptx(f, "mov.u32 $1, %$2;", a.parts, parts);
    cj_ptx(f, "div.u32 $1, $2, $3;", group, k->warp, s->slices);
    cj_ptx(f, "rem.u32 $1, $2, $3;", a.slice, k->warp, s->slices);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", a.first, a.slice, sums * 4, workspace);
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", item);
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", items_step);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, item, items);
    cj_ptx(f, "@$1 bra $2;", past, done);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", a.position, item, groups, group);
    cj_ptx(f, "mad.lo.u32 $1, $1, 32, $2;", a.position, k->lane);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", a.has, a.position, sums);
    if (groups * s->slices < warps) cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", a.has, group, groups);
    add_slice(k, &a);
    if (s->slices > 1) add_slices(k, &a, slots);
    store_sum(k, &a);
    cj_ptx(f, "add.u32 $1, $1, $2;", item, items_step);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}

// ---- rows that a block or a warp holds

// Each warp of a block with rows of their own adds what the warp before it has left; the last one has the sums of all.
static void add_warps(row_kernel *k) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   each = s->totals * s->held * s->elements;
    cj_reg           at = cj_shared_address(f, cj_shared(f, "f32", "sums", each * ROW_WARP, 0));
    cj_reg           turn = cj_u32(f, "warp_turn"), other = cj_pred(f, "other_turn"), more = cj_pred(f, "more_warps");
    cj_reg           adds = cj_pred(f, "adds");
    cj_label         next = cj_label_new(f, "next_warp"), wait = cj_label_new(f, "other_warp");
    cj_step(f, "the sums of the block's warps, one after the other");
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $1;", at, k->lane);
    cj_ptx(f, "mov.u32 $1, 0;", turn);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", adds, k->warp);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ne.u32 $1, $2, $3;", other, k->warp, turn);
    cj_ptx(f, "@$1 bra $2;", other, wait);
    for (unsigned i = 0; i < each; i++) {
        cj_reg total = k->total[i / (s->held * s->elements)][i / s->elements % s->held][i % s->elements];
        cj_reg before = cj_f32(f, "before");
        cj_ptx(f, "@$1 ld.shared.f32 $2, [$3 + $4];", adds, before, at, i * ROW_WARP * 4);
        cj_ptx(f, "@$1 add.f32 $2, $2, $3;", adds, total, before);
        cj_ptx(f, "st.shared.f32 [$1 + $2], $3;", at, i * ROW_WARP * 4, total);
    }
    cj_label_here(f, wait);
    cj_ptx(f, "bar.sync 0; // T1: this warp's sums are there");
    cj_ptx(f, "add.u32 $1, $1, 1;", turn);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, turn, s->rows_per_block);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

static void emit_held(row_kernel *k) {
    cj_func          *f = k->f;
    const unsigned    each = k->s->rows_per_block;
    const row_meeting m = cj__row_meeting(k, true);
    cj_reg            rows = cj__row_load_rows(k), step = cj_u32(f, "rows_step"), past = cj_pred(f, "past"),
           part = cj_u32(f, "own_part"), piece = cj_u32(f, "piece"), leaves = cj_pred(f, "leaves");
    cj_label next = cj_label_new(f, "next_row"), stored = cj_label_new(f, "rows_done");
    cj_step(f, "every n-th row, from the block's number on");
    cj_ptx(f, "mov.u32 $1, 0;", piece);
    cj__row_set_piece(k, piece);
    cj__row_total_clear(k);
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", part);
    cj_ptx(f, "mov.u32 $1, $2;", k->row, part);
    if (each > 1) cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", k->row, each, k->warp);
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", step);
    if (each > 1) cj_ptx(f, "mul.lo.u32 $1, $1, $2;", step, each);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, k->row, rows);
    cj_ptx(f, "@$1 bra $2;", past, stored);
    cj__row_held(k, &m);
    cj_ptx(f, "add.u32 $1, $1, $2;", k->row, step);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, stored);
    if (each > 1) {
        cj_label done = cj_label_new(f, "done");
        add_warps(k);
        cj_ptx(f, "setp.ne.u32 $1, $2, $3;", leaves, k->warp, each - 1);
        cj_ptx(f, "@$1 bra $2;", leaves, done);
        cj__row_total_store(k, part);
        cj_label_here(f, done);
    } else {
        cj__row_total_store(k, part);
    }
    cj_ptx(f, "ret;");
}

// ---- rows that no block holds

// What a block takes, one after the other: number / width and the rest of it.
typedef struct items {
    cj_reg   number, step, quotient, rest;
    cj_label next, done;
} items;

static items begin_items(row_kernel *k, const char *name, const char *done, uint64_t width, cj_reg count) {
    cj_func *f = k->f;
    items    i = {cj_u32(f, "item"), cj_u32(f, "items_step"), cj_u32(f, "quotient"),
                  cj_u32(f, "rest"), cj_label_new(f, name),   cj_label_new(f, done)};
    cj_reg   past = cj_pred(f, "past");
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", i.number);
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", i.step);
    cj_label_here(f, i.next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, i.number, count);
    cj_ptx(f, "@$1 bra $2;", past, i.done);
    cj_ptx(f, "div.u32 $1, $2, $3;", i.quotient, i.number, width);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", i.rest, i.quotient, width);
    cj_ptx(f, "sub.u32 $1, $2, $1;", i.rest, i.number);
    return i;
}

static void end_items(row_kernel *k, const items *i) {
    cj_ptx(k->f, "add.u32 $1, $1, $2;", i->number, i->step);
    cj_ptx(k->f, "bra $1;", i->next);
    cj_label_here(k->f, i->done);
    cj_ptx(k->f, "ret;");
}

// Where the values of a share of k->row are: of the first, without `share`.
static cj_reg values_at(row_kernel *k, const cj_reg *share) {
    const unsigned bytes = 4 * k->op->values;
    cj_reg         at = load_workspace(k);
    cj_ptx(k->f, "add.u64 $1, $1, $2;", at, cj__row_total_values_at(k->plan, k->s));
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", at, k->row, k->s->shares * bytes);
    if (share) cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", at, *share, bytes);
    return at;
}

static void emit_values(row_kernel *k) {
    cj_func          *f = k->f;
    const uint64_t    pieces = ceil_div(k->s->pieces, k->s->shares);
    const row_part    own = k->part;
    const row_meeting m = cj__row_meeting(k, true);
    cj_reg            count = cj__row_load_rows(k), piece = cj_u32(f, "piece"), last = cj_u32(f, "last_piece");
    cj_step(f, "the first launch: the values of every row, or of its shares");
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", count, k->s->shares);
    const items i = begin_items(k, "next_values", "values_done", k->s->shares, count);
    cj_ptx(f, "mov.u32 $1, $2;", k->row, i.quotient);
    if (k->op->prepare) k->op->prepare(k);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", piece, i.rest, pieces);
    cj_ptx(f, "add.u32 $1, $2, $3;", last, piece, pieces);
    cj_ptx(f, "min.u32 $1, $1, $2;", last, k->s->pieces);
    k->part = cj__row_values(k, piece, last);
    cj__row_meet(k, &m);
    cj_reg at = values_at(k, &i.rest);
    for (unsigned v = 0; v < k->op->values; v++)
        cj_ptx(f, "@$1 st.global.f32 [$2 + $3], $4;", k->first, at, 4 * v, k->part.value[v]);
    k->part = own;
    end_items(k, &i);
}

// k->part = that of the row, from its shares.
static void load_values(row_kernel *k) {
    cj_reg at = values_at(k, NULL), value = cj_f32(k->f, "share_value");
    for (unsigned v = 0; v < k->op->values; v++)
        for (unsigned share = 0; share < k->s->shares; share++) {
            cj_ptx(k->f, "ld.global.f32 $1, [$2 + $3];", share ? value : k->part.value[v], at,
                   4 * (share * k->op->values + v));
            if (share) cj_ptx(k->f, "add.f32 $1, $1, $2;", k->part.value[v], value);
        }
}

static void emit_tiles(row_kernel *k) {
    cj_func *f = k->f;
    cj_reg   rows = cj__row_load_rows(k), count = cj_u32(f, "tiles"), past = cj_pred(f, "past");
    cj_label next = cj_label_new(f, "next_row"), stored = cj_label_new(f, "rows_done");
    cj_step(f, "the second launch: pieces of columns, of every n-th row");
    cj_ptx(f, "mov.u32 $1, $2;", count, k->s->pieces * k->s->strips);
    const items i = begin_items(k, "next_tile", "tiles_done", k->s->pieces, count);
    cj__row_set_piece(k, i.rest);
    cj__row_total_clear(k);
    cj_ptx(f, "mov.u32 $1, $2;", k->row, i.quotient);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, k->row, rows);
    cj_ptx(f, "@$1 bra $2;", past, stored);
    cj__row_place(k);
    cj__row_load_piece(k);
    if (k->op->prepare) k->op->prepare(k);
    load_values(k);
    k->op->finish(k);
    cj__row_give(k);
    cj_ptx(f, "add.u32 $1, $1, $2;", k->row, k->s->strips);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, stored);
    cj__row_total_store(k, i.quotient);
    end_items(k, &i);
}

void cj__row_emit_dealt(row_kernel *k) {
    cj_func *f = k->f;
    cj_label add_up = cj__row_total_turns(k);
    if (k->s->strips) {
        cj_label tiles = cj_label_new(f, "tiles");
        cj_reg   turn = cj_u64(f, "turn"), second = cj_pred(f, "second_turn");
        cj_ptx(f, "ld.param.u64 $1, [$2];", turn, k->turn);
        cj_ptx(f, "setp.eq.u64 $1, $2, 1;", second, turn);
        cj_ptx(f, "@$1 bra $2;", second, tiles);
        emit_values(k);
        cj_label_here(f, tiles);
        emit_tiles(k);
    } else {
        emit_held(k);
    }
    cj__row_total_add_up(k, add_up, "nctaid.x");
}
