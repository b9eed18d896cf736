// SPDX-License-Identifier: Apache-2.0
// Elements on their way: from memory into registers, as f32, into what a family makes of them, and out.
#include <stdio.h>
#include <string.h>

#include "constants.h"
#include "row.h"

// Whether some thread has no vector v of some piece.
static bool is_guarded(const row_shape *s, unsigned v) {
    const uint64_t pieces = cj__row_blocks(s) * s->pieces, before = (pieces - 1) * s->piece;
    return s->vectors < before || s->vectors - before < (uint64_t)(v + 1) * cj__row_threads(s);
}

// ---- vectors in memory: words of 32 bits, or half of one

typedef struct access {
    unsigned    words;  // registers of a vector
    const char *type, *width;
} access;

static access access_of(unsigned bytes, unsigned element_bytes) {
    static const char *const widths[] = {"", "", ".v2", "", ".v4"};
    if (bytes == 2) return (access){1, "b16", ""};
    return (access){bytes / 4, element_bytes == 4 ? "f32" : "b32", widths[bytes / 4]};
}

static unsigned in_bytes(const row_kernel *k) { return k->s->elements * k->s->in_bytes; }
static unsigned out_bytes(const row_kernel *k) { return k->s->elements * k->s->out_bytes; }

// "{a, b}" or "a" of so many operands from $4 on.
static const char *list_of(unsigned words) {
    static const char *const lists[] = {"", "$4", "{$4, $5}", "", "{$4, $5, $6, $7}"};
    return lists[words];
}

static void move_words(row_kernel *k, const char *operation, access a, const cj_reg *word, cj_reg at, uint64_t offset,
                       bool store) {
    char line[96];
    snprintf(line, sizeof line, store ? "$1$2.$3 [$8 + $9], %s;" : "$1$2.$3 %s, [$8 + $9];", list_of(a.words));
    cj_ptx(k->f, line, operation, a.width, a.type, word[0], word[a.words > 1 ? 1 : 0], word[a.words > 2 ? 2 : 0],
           word[a.words > 2 ? 3 : 0], at, offset);
}

// Streams with sums over rows leave the registers to these, and read every piece from its stage.
static bool is_held(const row_kernel *k) { return k->s->form != ROW_STREAM || !k->s->totals; }
static bool is_passing(const row_kernel *k) { return k->s->form == ROW_STREAM && (k->s->pieces > 1 || k->s->totals); }

void cj__row_new_registers(row_kernel *k) {
    const access a = access_of(in_bytes(k), k->s->in_bytes);
    for (unsigned i = 0; i < k->op->inputs; i++)
        for (unsigned w = 0; w < a.words; w++) {
            const char *name = k->op->operand[cj__row_nth(k->op, ROW_INPUT, i)].name;
            char        full[32];
            for (unsigned v = 0; is_held(k) && v < k->s->held; v++) {
                snprintf(full, sizeof full, "%s%u%c", name, v, "xyzw"[w]);
                k->raw[i][v][w] = cj_register(k->f, a.type, full);
            }
            if (!is_passing(k)) continue;
            snprintf(full, sizeof full, "%s_%c", name, "xyzw"[w]);
            k->passing[i][w] = cj_register(k->f, a.type, full);
        }
}

// ---- guards: lines that only threads with a vector v of the piece execute

static cj_label begin_guard(row_kernel *k, unsigned v) {
    if (!is_guarded(k->s, v)) return (cj_label){0};
    cj_reg   none = cj_pred(k->f, "no_vector");
    cj_label skip = cj_label_new(k->f, "no_vector");
    cj_ptx(k->f, "setp.le.s32 $1, $2, $3;", none, k->left, v * cj__row_threads(k->s));
    cj_ptx(k->f, "@$1 bra $2;", none, skip);
    return skip;
}

static void end_guard(row_kernel *k, cj_label skip) {
    if (skip.id) cj_label_here(k->f, skip);
}

// What a thread has no vector for is never used, and yet shall not be undefined.
static void clear_words(row_kernel *k, access a, const cj_reg *word) {
    for (unsigned w = 0; w < a.words; w++) cj_ptx(k->f, "mov.b$1 $2, 0;", a.type[1] == '1' ? 16 : 32, word[w]);
}

static void load_vectors(row_kernel *k, const char *operation, bool shared) {
    const access   a = access_of(in_bytes(k), k->s->in_bytes);
    const uint64_t step = (uint64_t)cj__row_threads(k->s) * in_bytes(k), input_bytes = k->s->piece * in_bytes(k);
    for (unsigned v = 0; v < k->s->held; v++) {
        for (unsigned i = 0; i < k->op->inputs && is_guarded(k->s, v); i++) clear_words(k, a, k->raw[i][v]);
        cj_label skip = begin_guard(k, v);
        for (unsigned i = 0; i < k->op->inputs; i++)
            move_words(k, operation, a, k->raw[i][v], shared ? k->stage_at : k->at[cj__row_nth(k->op, ROW_INPUT, i)],
                       v * step + (shared ? i * input_bytes : 0), false);
        end_guard(k, skip);
    }
}

// A kernel that may start before others have ended must not say that nobody writes what it reads.
const char *cj__row_load_global(const row_kernel *k) { return k->plan->programmatic ? "ld.global" : "ld.global.nc"; }

// With several pieces a row is read again, from the L2 cache where it is still there.
void cj__row_load_piece(row_kernel *k) {
    load_vectors(k,
                 k->s->pieces > 1        ? "ld.global"
                 : k->plan->programmatic ? "ld.global.L1::no_allocate"
                                         : "ld.global.nc.L1::no_allocate",
                 false);
}

void cj__row_fetch_piece(row_kernel *k) { load_vectors(k, "ld.shared", true); }

// ---- f32 and narrower

void cj__row_convert(row_kernel *k, cj_reg into, cj_reg half) {
    if (k->s->in_bytes == 4)
        cj_ptx(k->f, "mov.b32 $1, $2;", into, half);
    else if (*cj__row_type(k->plan, ROW_DTYPE) == 'b')
        cj_ptx(k->f, "mov.b32 $1, {$2, $2}; and.b32 $1, $1, 0xffff0000;", into, half);
    else
        cj_ptx(k->f, "cvt.f32.f16 $1, $2;", into, half);
}

void cj__row_unpack(row_kernel *k, cj_reg word, const cj_reg to[2]) {
    cj_func *f = k->f;
    if (*cj__row_type(k->plan, ROW_DTYPE) == 'b') {
        cj_ptx(f, "shl.b32 $1, $2, 16;", to[0], word);
        cj_ptx(f, "and.b32 $1, $2, 0xffff0000;", to[1], word);
        return;
    }
    cj_reg half[2] = {cj_register(f, "b16", "low"), cj_register(f, "b16", "high")};
    cj_ptx(f, "mov.b32 {$1, $2}, $3;", half[0], half[1], word);
    for (unsigned i = 0; i < 2; i++) cj_ptx(f, "cvt.f32.f16 $1, $2;", to[i], half[i]);
}

// A vector's words as f32: the same registers where they are, else new ones.
static void widen(row_kernel *k, const char *name, const cj_reg *word, cj_reg to[ROW_ELEMENTS]) {
    for (unsigned e = 0; e < k->s->elements; e++) to[e] = k->s->in_bytes == 4 ? word[e] : cj_f32(k->f, name);
    if (k->s->in_bytes == 4) return;
    if (k->s->elements == 1) {
        cj__row_convert(k, to[0], word[0]);
        return;
    }
    for (unsigned e = 0; e < k->s->elements; e += 2) cj__row_unpack(k, word[e / 2], &to[e]);
}

bool cj__row_in_pairs(const row_kernel *k) {
    enum { COMPARES_PAIRS = 80 };  // the first target with max.f16x2
    const bool are_pairs = k->s->in_bytes == 2 && k->s->elements > 1;
    return k->op->in_pairs && are_pairs && cj__target_number(k->plan) >= COMPARES_PAIRS;
}

static void begin_vector(row_kernel *k, row_vector *vector, unsigned v, bool as_loaded) {
    const access   a = access_of(in_bytes(k), k->s->in_bytes);
    const uint64_t step = (uint64_t)cj__row_threads(k->s) * in_bytes(k), input_bytes = k->s->piece * in_bytes(k);
    *vector = (row_vector){.number = v};
    for (unsigned i = 0; i < k->op->inputs; i++) {
        const cj_reg *word = vector->word[i] = k->in_shared ? k->passing[i] : k->raw[i][v];
        if (k->in_shared) move_words(k, "ld.shared", a, word, k->stage_at, v * step + i * input_bytes, false);
        if (!as_loaded) widen(k, k->op->operand[cj__row_nth(k->op, ROW_INPUT, i)].name, word, vector->in[i]);
    }
}

void cj__row_take(row_kernel *k) {
    row_vector vector;
    cj__row_part_clear(k, &k->part);
    if (k->op->before) k->op->before(k);
    for (unsigned sweep = 0; sweep < 2 && k->op->sweep[sweep]; sweep++) {
        if (sweep && k->op->between) k->op->between(k);
        for (unsigned v = 0; v < k->s->held; v++) {
            cj_label skip = begin_guard(k, v);
            begin_vector(k, &vector, v, !sweep && cj__row_in_pairs(k));
            k->op->sweep[sweep](k, &vector);
            end_guard(k, skip);
        }
    }
    if (k->op->after) k->op->after(k);
}

// ---- out

static void pack(row_kernel *k, const cj_reg *from, cj_reg word[ROW_WORDS]) {
    const unsigned elements = k->s->elements;
    const char    *type = cj__row_type(k->plan, ROW_OUT);
    if (k->s->out_bytes == 4) {
        memcpy(word, from, elements * sizeof *word);
    } else if (elements == 1) {
        word[0] = cj_register(k->f, "b16", "packed");
        cj_ptx(k->f, "cvt.rn.$1.f32 $2, $3;", type, word[0], from[0]);
    } else {
        for (unsigned w = 0; w < elements / 2; w++) {
            word[w] = cj_b32(k->f, "packed");
            cj__pack_halves(k->plan, k->f, type, word[w], from[2 * w + 1], from[2 * w]);
        }
    }
}

void cj__row_give(row_kernel *k) {
    const access   a = access_of(out_bytes(k), k->s->out_bytes);
    const uint64_t step = (uint64_t)cj__row_threads(k->s) * out_bytes(k);
    row_vector     vector;
    for (unsigned v = 0; v < k->s->held; v++) {
        cj_label skip = begin_guard(k, v);
        begin_vector(k, &vector, v, false);
        for (unsigned o = 0; o < k->op->outputs; o++)
            for (unsigned e = 0; e < k->s->elements; e++)
                vector.out[o][e] = cj_f32(k->f, k->op->operand[cj__row_nth(k->op, ROW_OUTPUT, o)].name);
        k->op->give(k, &vector);
        for (unsigned o = 0; o < k->op->outputs; o++) {
            cj_reg word[ROW_WORDS];
            pack(k, vector.out[o], word);
            move_words(k, "st.global.cs", a, word, k->at[cj__row_nth(k->op, ROW_OUTPUT, o)], v * step, true);
        }
        end_guard(k, skip);
    }
}

// In the order of the sums' operands: those of a column follow each other, columns apart.
void cj__row_store_totals(row_kernel *k, cj_reg at) {
    const unsigned words = k->s->elements < 4 ? k->s->elements : 4;
    const access   a = access_of(4 * words, 4);
    for (unsigned v = 0; v < k->s->held; v++) {
        cj_label skip = begin_guard(k, v);
        for (unsigned t = 0; t < k->s->totals; t++)
            for (unsigned e = 0; e < k->s->elements; e += words)
                move_words(k, "st.global", a, &k->total[t][v][e], at,
                           4 * (t * k->s->columns + (uint64_t)v * cj__row_threads(k->s) * k->s->elements + e), true);
        end_guard(k, skip);
    }
}

// ---- where

// The thread's column in a piece of the row and how far that piece goes from there.
void cj__row_set_piece(row_kernel *k, cj_reg piece) {
    cj_func         *f = k->f;
    const row_shape *s = k->s;
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", k->column, piece, s->piece, k->thread);
    cj_ptx(f, "sub.s32 $1, $2, $3;", k->left, s->vectors, k->column);
    if (s->piece < s->vectors) {
        cj_reg own = cj_s32(f, "own");
        cj_ptx(f, "sub.s32 $1, $2, $3;", own, s->piece, k->thread);
        cj_ptx(f, "min.s32 $1, $1, $2;", k->left, own);
    }
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", k->column, s->elements);
}

cj_reg cj__row_of(row_kernel *k, unsigned operand) {
    const uint64_t period = k->op->operand[operand].period;
    if (!period) return k->row;
    cj_reg row = cj_u32(k->f, "repeated_row");
    cj_ptx(k->f, "rem.u32 $1, $2, $3;", row, k->row, period);
    return row;
}

void cj__row_place(row_kernel *k) {
    const row_shape *s = k->s;
    for (unsigned i = 0; i < k->op->operands; i++) {
        const row_role role = k->op->operand[i].role;
        if (role != ROW_INPUT && role != ROW_OUTPUT) continue;
        if (role == ROW_INPUT && s->form == ROW_STREAM) continue;
        const uint64_t bytes = role == ROW_INPUT ? s->in_bytes : s->out_bytes;
        const uint64_t stride = role == ROW_INPUT ? s->stride : s->out_stride;
        cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $4;", k->at[i], cj__row_of(k, i), stride * bytes, k->base[i]);
        cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $1;", k->at[i], k->column, bytes);
    }
}

// ---- for families

cj_reg cj__row_f32(row_kernel *k, const char *name, double value) {
    cj_reg reg = cj_f32(k->f, name);
    cj_ptx(k->f, "mov.f32 $1, $2;", reg, (float)value);
    return reg;
}

static cj_reg each_address(row_kernel *k, unsigned operand) {
    const bool wide = strstr(k->op->operand[operand].type, "64") != NULL;
    cj_reg     at = cj_u64(k->f, "each_at");
    cj_ptx(k->f, "mad.wide.u32 $1, $2, $3, $4;", at, k->row, wide ? 8 : 4, k->base[operand]);
    return at;
}

cj_reg cj__row_load_each(row_kernel *k, unsigned operand, cj_reg when) {
    const row_operand *o = &k->op->operand[operand];
    cj_reg             value = cj_register(k->f, o->type, o->name), at = each_address(k, operand);
    cj_ptx(k->f, when.id ? "@$5 $1.$2 $3, [$4];" : "$1.$2 $3, [$4];", cj__row_load_global(k), o->type, value, at, when);
    return value;
}

void cj__row_store_each(row_kernel *k, unsigned operand, cj_reg value) {
    cj_reg at = each_address(k, operand);
    cj_ptx(k->f, "@$1 st.global.$2 [$3], $4;", k->first, k->op->operand[operand].type, at, value);
}

static void new_column(row_kernel *k, unsigned operand, cj_reg word[ROW_WORDS]) {
    const access a = access_of(in_bytes(k), k->s->in_bytes);
    for (unsigned w = 0; w < a.words; w++) word[w] = cj_register(k->f, a.type, k->op->operand[operand].name);
}

// A vector of what columns have, as loaded.
static void load_column(row_kernel *k, unsigned operand, unsigned v, const cj_reg word[ROW_WORDS]) {
    const access a = access_of(in_bytes(k), k->s->in_bytes);
    const bool   resident = k->s->resident;
    cj_reg       at = resident ? cj_u32(k->f, "column_at") : cj_u64(k->f, "column_at");
    cj_ptx(k->f, resident ? "mad.lo.u32 $1, $2, $3, $4;" : "mad.wide.u32 $1, $2, $3, $4;", at, k->column,
           k->s->in_bytes, resident ? k->resident_at[operand] : k->base[operand]);
    move_words(k, resident ? "ld.shared" : cj__row_load_global(k), a, word, at,
               (uint64_t)v * cj__row_threads(k->s) * in_bytes(k), false);
}

void cj__row_load_column(row_kernel *k, unsigned operand, unsigned v, cj_reg into[ROW_ELEMENTS]) {
    cj_reg word[ROW_WORDS], *kept = k->kept[operand][v];
    if (!kept[0].id) {
        new_column(k, operand, word);
        load_column(k, operand, v, word);
    }
    widen(k, k->op->operand[operand].name, kept[0].id ? kept : word, into);
}

void cj__row_keep_columns(row_kernel *k) {
    const access   a = access_of(in_bytes(k), k->s->in_bytes);
    const unsigned most = k->s->in_bytes == 2 && !k->op->columns_given ? KEPT_NARROW : KEPT_WIDE;
    if (k->s->held * a.words * (k->op->inputs + k->op->columns) > most) return;
    for (unsigned i = 0; i < k->op->operands; i++)
        for (unsigned v = 0; k->op->operand[i].role == ROW_COLUMN && v < k->s->held; v++) {
            new_column(k, i, k->kept[i][v]);
            if (is_guarded(k->s, v)) clear_words(k, a, k->kept[i][v]);
            cj_label skip = begin_guard(k, v);
            load_column(k, i, v, k->kept[i][v]);
            end_guard(k, skip);
        }
}

cj_reg cj__row_load_rows(row_kernel *k) {
    cj_reg rows = cj_u64(k->f, "row_count"), count = cj_u32(k->f, "rows");
    cj_ptx(k->f, "ld.param.u64 $1, [$2];", rows, k->rows);
    cj_ptx(k->f, "cvt.u32.u64 $1, $2;", count, rows);
    return count;
}

cj_reg cj__row_count(row_kernel *k) {
    cj_reg   count = cj_f32(k->f, "count"), has = cj_pred(k->f, "has_vector");
    unsigned whole = 0;
    while (whole < k->s->held && !is_guarded(k->s, whole)) whole++;
    cj_ptx(k->f, "mov.f32 $1, $2;", count, (float)(whole * k->s->elements));
    for (unsigned v = whole; v < k->s->held; v++) {
        cj_ptx(k->f, "setp.gt.s32 $1, $2, $3;", has, k->left, v * cj__row_threads(k->s));
        cj_ptx(k->f, "@$1 mov.f32 $2, $3;", has, count, (float)((v + 1) * k->s->elements));
    }
    return count;
}
