// SPDX-License-Identifier: Apache-2.0
// Rows that begin anywhere: with an odd length or stride each row has another distance from a multiple of 16 bytes.
//
//   | head | vector | vector | … | tail |      the head goes up to the row's first whole vector, the tail follows its last one
//
// Head and tail are each shorter than a vector; the row's first threads take one of their elements each, as a vector of one.
// All matrices have the same head (cj__row_peel_most), none where strides are whole vectors. A column's vectors of weight, bias or mask
// stand across two of that array's; a thread loads both, and takes its elements out of them.
//
// Or vectors are those of what is written, and are loaded in parts; or they stand across two of each array that is read. Then head and tail
// have a vector more, so that both are within the row.
#include "engine.h"

// The same kernel, of a shape with one vector of one element a thread.
row_kernel *cj__row_beside(row_beside *b, const row_kernel *k) {
    const row_edge *e = &k->edge;
    *b = (row_beside){.k = *k, .s = *k->s};
    b->s.peeled = false;
    b->s.elements = b->s.access = b->s.held = 1;
    b->s.unaligned = b->s.anywhere = b->s.across = false;
    b->s.vectors = 0;
    b->k.s = &b->s;
    b->k.column = e->column;
    b->k.left = e->left;
    b->k.written = e->written;
    memcpy(b->k.at, e->at, sizeof e->at);
    for (unsigned i = 0; i < k->op->inputs; i++) memcpy(b->k.raw[i][0], e->raw[i], sizeof e->raw[i]);
    for (unsigned i = 0; i < k->op->operands; i++) memcpy(b->k.kept[i][0], e->kept[i], sizeof e->kept[i]);
    return &b->k;
}

// Of the vectors' words: pairs of narrower elements are bits.
static const char *word_type(const row_kernel *k) { return k->s->in_bytes == 4 ? "f32" : "b32"; }

// ---- where

static void peel_vectors(row_kernel *k, cj_reg head, cj_reg body) {
    const row_shape *s = k->s;
    k->left = cj_let(k->f, "s32", "left", "sub.s32 $1, $2, $3;", body, k->vector);
    if (s->piece < s->vectors) {
        cj_reg own = cj_let(k->f, "s32", "own", "sub.s32 $1, $2, $3;", s->piece, k->thread);
        cj_update(k->f, k->left, "min", own);
    }
    k->aligned = cj_mul(k->f, "aligned", k->vector, s->elements);
    k->column = cj_add(k->f, "column", k->aligned, head);
}

// Those of the first piece's threads.
static void peel_edge(row_kernel *k, cj_reg head, cj_reg body, cj_reg after_head) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    cj_reg           edges = cj_add(f, "edges", head, cj_and(f, "tail", after_head, s->elements - 1));
    if (s->across) cj_update(f, edges, "add", s->elements);
    cj_reg           in_tail = cj_ge(f, "in_tail", k->thread, head);
    k->edge.column = cj_mov(f, "u32", "edge_column", k->thread);
    cj_ptx(f, "@$1 mad.lo.u32 $2, $3, $4, $2;", in_tail, k->edge.column, body, s->elements);
    k->edge.left = cj_let(f, "s32", "edge_left", "sub.s32 $1, $2, $3;", edges, k->thread);
    if (cj__row_blocks(s) * s->pieces > 1) cj_set_if(f, cj_ne(f, "later", k->piece, 0), k->edge.left, 0);
}

static cj_reg written_of(row_kernel *k, cj_reg left) {
    cj_reg written = cj_mov(k->f, "s32", "written", left);
    cj_set_if(k->f, k->no_row, written, 0);
    return written;
}

// How the wanted vectors stand, which begin `elements` elements after those of an array: a multiple of `unit_bytes` bytes.
static row_shift find_shift(row_kernel *k, cj_reg elements, unsigned unit_bytes) {
    cj_func       *f = k->f;
    const unsigned bytes = k->s->in_bytes, words = k->s->elements * bytes / 4;
    row_shift      shift = {.halves = cj_none()};
    unsigned       n = 0;
    for (unsigned step = words / 2; step && 4 * step >= unit_bytes; step /= 2)
        shift.by[n++] = cj_ne(f, "shifted", cj_and(f, "shift", elements, step * 4 / bytes), 0);
    for (; n < ROW_SHIFTS; n++) shift.by[n] = cj_none();
    if (unit_bytes >= 4) return shift;
    cj_reg odd = cj_ne(f, "odd", cj_and(f, "shift", elements, 1), 0);
    shift.halves = cj_select(f, "b32", "halves", odd, 0x5432, 0x3210);
    return shift;
}

static cj_reg find_head(row_kernel *k, cj_reg row_at, unsigned bytes) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    if (!cj__row_has_head(s)) return cj_mov(f, "u32", "head", s->across ? s->elements : 0);
    cj_note(f, "the row's head goes up to a multiple of %u bytes", s->elements * bytes);
    cj_reg above = cj_let(f, "s32", "above", "neg.s32 $1, $2;", cj_cvt(f, "s32", "low", row_at));
    cj_reg number = cj_let(f, "u32", "number", "shr.u32 $1, $2, $3;", above, cj__log2(bytes));
    cj_reg head = cj_and(f, "head", number, s->elements - 1);
    if (s->across) cj_update(f, head, "add", s->elements);
    return head;
}

void cj__row_peel(row_kernel *k, cj_reg row_at, unsigned bytes, bool written) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    cj_reg           head = find_head(k, row_at, bytes),
           after_head = cj_let(f, "u32", "after_head", "sub.u32 $1, $2, $3;", s->columns, head);
    cj_reg body = cj_shr(f, "body", after_head, cj__log2(s->elements));
    if (s->across) cj_update(f, body, "sub", 1);
    peel_vectors(k, head, body);
    peel_edge(k, head, body, after_head);
    const bool columns = k->op->columns && (written || !k->op->columns_written);
    if (columns && cj__row_has_head(s) && !s->unaligned && !s->across) k->head = find_shift(k, head, s->in_bytes);
    if (!cj__row_is_short(s) || !k->op->outputs) return;
    k->written = written_of(k, k->left);
    k->edge.written = written_of(k, k->edge.left);
}

// ---- weight, bias and mask

// Whether some thread's vector v may be the last whole one of a row.
static bool may_be_last(const row_shape *s, unsigned v) {
    const uint64_t threads = cj__row_threads(s);
    return s->piece < s->vectors || (s->vectors - 1) / threads == v;
}

// What a column has after its last whole vector: fewer elements than one, in loads of 8, 4 and 2 bytes.
static void load_tail(row_kernel *k, cj_reg when, cj_reg at, uint64_t offset, const cj_reg *word) {
    const unsigned bytes = k->s->in_bytes, tail = (unsigned)(k->s->columns % k->s->elements) * bytes;
    const char    *type = word_type(k), *load = cj__load_given(k->plan);
    unsigned       done = 0;
    if (tail & 8) {
        cj__load(k->f, when, load, type, word, 2, at, (int64_t)offset);
        done = 8;
    }
    if (tail & 4) {
        cj__load(k->f, when, load, type, &word[done / 4], 1, at, (int64_t)(offset + done));
        done += 4;
    }
    if (!(tail & 2)) return;
    cj_reg half = cj_mov(k->f, "b16", "half", 0), zero = cj_mov(k->f, "b16", "zero", 0);
    cj__load(k->f, when, load, "b16", &half, 1, at, (int64_t)(offset + done));
    cj_ptx(k->f, "@$1 mov.b32 $2, {$3, $4};", when, word[done / 4], half, zero);
}

void cj__row_take(row_kernel *k, const row_shift *by, const cj_reg both[2 * ROW_WORDS], const cj_reg word[ROW_WORDS]) {
    const unsigned words = k->s->elements * k->s->in_bytes / 4;
    const char    *type = word_type(k);
    unsigned       count = 2 * words, n = 0;
    for (unsigned step = words / 2; step; step /= 2, n++) {
        count -= step;
        for (unsigned w = 0; w < count && !cj_is_none(by->by[n]); w++)
            cj_ptx(k->f, "selp.$1 $2, $3, $4, $5;", type, both[w], both[w + step], both[w], by->by[n]);
    }
    for (unsigned w = 0; w < words; w++)
        if (cj_is_none(by->halves))
            cj_set(k->f, word[w], both[w]);
        else
            cj_ptx(k->f, "prmt.b32 $1, $2, $3, $4;", word[w], both[w], both[w + 1], by->halves);
}

// ---- rows that are loaded across vectors

void cj__row_find_vectors(row_kernel *k, unsigned operand, cj_reg at, unsigned unit_bytes) {
    cj_func       *f = k->f;
    const unsigned bytes = k->s->elements * k->s->in_bytes;
    cj_reg         after = cj_and(f, "after", cj_cvt(f, "u32", "low_word", at), bytes - 1);
    k->below[operand] = cj_let(f, "u64", "below", "and.b64 $1, $2, $3;", at, -(int64_t)bytes);
    k->beside[operand] = find_shift(k, cj_shr(f, "elements", after, cj__log2(k->s->in_bytes)), unit_bytes);
}

// Both are the row's, whose first and last vector are edges.
void cj__row_load_both(row_kernel *k, unsigned operand, unsigned v, const char *load, const cj_reg both[2 * ROW_WORDS]) {
    const unsigned bytes = k->s->elements * k->s->in_bytes, words = bytes / 4;
    const int64_t  offset = (int64_t)v * cj__row_threads(k->s) * bytes;
    const char    *type = word_type(k);
    for (unsigned n = 0; n < 2; n++)
        cj__load(k->f, cj_always(), load, type, &both[n * words], words, k->below[operand], offset + n * bytes);
}

// The array may begin anywhere, and so may the vector in it: whole, or element by element.
static void load_anywhere(row_kernel *k, unsigned operand, unsigned v, const cj_reg *word) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   size = s->in_bytes, words = s->elements * size / 4;
    const int64_t    offset = (int64_t)v * cj__row_threads(s) * s->elements * size;
    const char      *type = word_type(k), *load = cj__load_given(k->plan);
    cj_reg           at = cj_mad_wide(f, "column_at", k->column, size, k->base[operand]), half[ROW_ELEMENTS];
    cj_reg           beside = cj_and(f, "beside", cj_cvt(f, "u32", "low_word", at), s->elements * size - 1);
    CJ_IF_ELSE(f, cj_eq(f, "whole_column", beside, 0), "in_parts", "loaded") {
        cj__load(f, cj_always(), load, type, word, words, at, offset);
    }
    else {
        for (unsigned e = 0; e < s->elements; e++) {
            half[e] = size == 4 ? word[e] : cj_register(f, "b16", "half");
            cj__load(f, cj_always(), load, size == 4 ? type : "b16", &half[e], 1, at, offset + e * size);
        }
        for (unsigned w = 0; w < words && size == 2; w++)
            cj_ptx(f, "mov.b32 $1, {$2, $3};", word[w], half[2 * w], half[2 * w + 1]);
    }
}

void cj__row_load_shifted(row_kernel *k, unsigned operand, unsigned v, const cj_reg word[ROW_WORDS]) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    const unsigned   bytes = s->elements * s->in_bytes, words = bytes / 4;
    const uint64_t   first = (uint64_t)v * cj__row_threads(s), offset = first * bytes;
    const char      *type = word_type(k), *load = cj__load_given(k->plan);
    cj_reg           both[2 * ROW_WORDS], when = cj_always();
    if (s->across) {
        cj_registers(f, type, k->op->operand[operand].name, 2 * words, both);
        cj__row_load_both(k, operand, v, load, both);
        cj__row_take(k, &k->beside[operand], both, word);
        return;
    }
    if (s->unaligned) {
        load_anywhere(k, operand, v, word);
        return;
    }
    cj_reg at = cj_mad_wide(f, "column_at", k->aligned, s->in_bytes, k->base[operand]);
    if (!cj__row_has_head(s)) {
        cj__load(f, cj_always(), load, type, word, words, at, (int64_t)offset);
        return;
    }
    cj_registers(f, type, k->op->operand[operand].name, 2 * words, both);
    cj__load(f, cj_always(), load, type, both, words, at, (int64_t)offset);
    if (may_be_last(s, v)) {
        for (unsigned w = words; w < 2 * words; w++) cj_ptx(f, "mov.b32 $1, 0;", both[w]);
        const int64_t end = (int64_t)s->columns - (int64_t)((first + 2) * s->elements);
        cj_reg        last = cj_let(f, "pred", "last", "setp.gt.s32 $1, $2, $3;", k->aligned, end);
        when = cj_let(f, "pred", "whole", "not.pred $1, $2;", last);
        load_tail(k, last, at, offset + bytes, &both[words]);
    }
    cj__load(f, when, load, type, &both[words], words, at, (int64_t)(offset + bytes));
    cj__row_take(k, &k->head, both, word);
}
