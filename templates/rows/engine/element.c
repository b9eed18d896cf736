// SPDX-License-Identifier: Apache-2.0
// Elements on their way: from memory into registers, as f32, into what a family makes of them, and out.
#include "engine.h"

// ---- vectors in memory: words of 32 bits, or half of one

static unsigned words_of(unsigned bytes) { return bytes == 2 ? 1 : bytes / 4; }
static unsigned in_bytes(const row_kernel *k) { return k->s->elements * k->s->in_bytes; }
static unsigned out_bytes(const row_kernel *k) { return k->s->elements * k->s->out_bytes; }
static unsigned in_words(const row_kernel *k) { return words_of(in_bytes(k)); }

static const char *word_type(unsigned vector_bytes, unsigned element_bytes) {
    return vector_bytes == 2 ? "b16" : element_bytes == 4 ? "f32" : "b32";
}

static const char *in_type(const row_kernel *k) { return word_type(in_bytes(k), k->s->in_bytes); }

// From one vector of a thread to its next, in vectors of `bytes`.
static uint64_t step_of(const row_kernel *k, unsigned bytes) { return (uint64_t)cj__row_threads(k->s) * bytes; }

static void load_words(row_kernel *k, const char *load, const cj_reg *word, cj_reg at, uint64_t offset) {
    cj__load(k->f, cj_always(), load, in_type(k), word, in_words(k), at, (int64_t)offset);
}

static void new_words(row_kernel *k, const char *name, cj_reg word[ROW_WORDS]) {
    cj_registers(k->f, in_type(k), name, in_words(k), word);
}

static const char *input_name(const row_kernel *k, unsigned input) {
    return k->op->operand[k->op->nth[ROW_INPUT][input]].name;
}

// Streams with sums over rows leave the registers to these, and read every piece from its stage.
void cj__row_new_registers(row_kernel *k) {
    const bool stream = k->s->form == ROW_STREAM, sums = k->s->totals > 0;
    for (unsigned i = 0; i < k->op->inputs; i++) {
        char name[32];
        for (unsigned v = 0; !(stream && sums) && v < k->s->held; v++) {
            snprintf(name, sizeof name, "%s%u", input_name(k, i), v);
            new_words(k, name, k->raw[i][v]);
        }
        if (stream && (sums || k->s->pieces > 1)) new_words(k, input_name(k, i), k->passing[i]);
    }
    if (!k->s->peeled) return;
    row_beside beside;
    row_kernel *one = cj__row_beside(&beside, k);
    for (unsigned i = 0; i < k->op->inputs; i++) new_words(one, "edge", k->edge.raw[i]);
}

// ---- guards: lines that only threads with a vector v of the piece execute

// Whether some thread has no vector v of some piece.
static bool is_guarded(const row_shape *s, unsigned v) {
    const uint64_t pieces = cj__row_blocks(s) * s->pieces, before = (pieces - 1) * s->piece;
    const uint64_t vectors = cj__row_least_vectors(s);
    return vectors < before || vectors - before < (uint64_t)(v + 1) * cj__row_threads(s);
}

bool cj__row_counts(const row_kernel *k) {
    return (cj__row_is_short(k->s) && k->op->outputs) || is_guarded(k->s, k->s->held - 1);
}

static cj_body guard(row_kernel *k, unsigned v, bool guarded, cj_reg left) {
    const cj_body body = cj_once_begin(k->f, "no_vector", 0);
    if (guarded) cj_leave(&body, cj_le(k->f, "no_vector", left, v * cj__row_threads(k->s)));
    return body;
}

// Groups of lanes without a row write nothing.
static cj_body guard_write(row_kernel *k, unsigned v) {
    if (cj__row_is_short(k->s)) return guard(k, v, true, k->written);
    return guard(k, v, is_guarded(k->s, v), k->left);
}

#define FOR_VECTOR(k, v) \
    for (cj_body body = guard((k), (v), is_guarded((k)->s, (v)), (k)->left); body.open; cj_body_end(&body))
#define FOR_WRITTEN(k, v) for (cj_body body = guard_write((k), (v)); body.open; cj_body_end(&body))

// A thread without a vector never uses its registers, and yet they shall not be undefined.
static void clear_words(row_kernel *k, const cj_reg *word, unsigned words) {
    const bool narrow = in_type(k)[1] == '1';
    for (unsigned w = 0; w < words; w++) cj_ptx(k->f, narrow ? "mov.b16 $1, 0;" : "mov.b32 $1, 0;", word[w]);
}

#define FOR_BESIDE(k, one)                                                                                   \
    for (row_beside beside, *once = &beside; once && (k)->s->peeled; once = NULL)                            \
        for (row_kernel *one = cj__row_beside(&beside, (k)); one; one = NULL)

static void load_vectors(row_kernel *k, const char *load, bool shared) {
    const uint64_t rows = k->s->transposed ? ROW_WARP : 1, input_bytes = rows * k->s->piece * in_bytes(k);
    const uint64_t step = step_of(k, in_bytes(k));
    for (unsigned v = 0; v < k->s->held; v++) {
        for (unsigned i = k->skipped; i < k->op->inputs && is_guarded(k->s, v); i++) clear_words(k, k->raw[i][v], in_words(k));
        FOR_VECTOR(k, v)
        for (unsigned i = k->skipped; i < k->op->inputs; i++)
            load_words(k, load, k->raw[i][v], shared ? k->stage_at : k->at[k->op->nth[ROW_INPUT][i]],
                       v * step + (shared ? i * input_bytes : 0));
    }
    FOR_BESIDE(k, one) load_vectors(one, load, false);
}

static void load_whole(row_kernel *k, const char *load) { load_vectors(k, load, false); }

// A 16-bit element a load: pairs are made of them once all loads are on their way.
static bool is_halved(const row_shape *s) { return cj__row_is_split(s) && s->access * s->in_bytes == 2; }

// The inputs' vectors v, in accesses.
static void load_parts(row_kernel *k, unsigned v, const char *load, cj_reg half[ROW_INPUTS][ROW_ELEMENTS]) {
    const row_shape *s = k->s;
    const unsigned   bytes = s->access * s->in_bytes, words = words_of(bytes);
    const int64_t    offset = (int64_t)(v * step_of(k, in_bytes(k)));
    for (unsigned i = k->skipped; i < k->op->inputs; i++)
        for (unsigned a = 0; a < s->elements / s->access; a++)
            cj__load(k->f, cj_always(), load, is_halved(s) ? "b16" : in_type(k),
                     is_halved(s) ? &half[i][a] : &k->raw[i][v][a * words], words, k->at[k->op->nth[ROW_INPUT][i]],
                     offset + a * bytes);
}

static void load_split(row_kernel *k, const char *load) {
    const row_shape *s = k->s;
    cj_reg           half[ROW_HELD][ROW_INPUTS][ROW_ELEMENTS];
    for (unsigned v = 0; v < s->held; v++) {
        for (unsigned i = k->skipped; i < k->op->inputs; i++) {
            if (is_guarded(s, v) && !is_halved(s)) clear_words(k, k->raw[i][v], in_words(k));
            for (unsigned e = 0; e < s->elements && is_halved(s); e++)
                half[v][i][e] = is_guarded(s, v) ? cj_mov(k->f, "b16", "half", 0) : cj_register(k->f, "b16", "half");
        }
        FOR_VECTOR(k, v) load_parts(k, v, load, half[v]);
    }
    for (unsigned v = 0; v < s->held && is_halved(s); v++)
        for (unsigned i = k->skipped; i < k->op->inputs; i++)
            for (unsigned e = 0; e < s->elements; e += 2)
                cj_ptx(k->f, "mov.b32 $1, {$2, $3};", k->raw[i][v][e / 2], half[v][i][e], half[v][i][e + 1]);
    FOR_BESIDE(k, one) load_vectors(one, load, false);
}

// The rows' vectors out of those of what is read, two for each: all loads come first.
static void load_across(row_kernel *k, const char *load) {
    const row_shape *s = k->s;
    cj_reg           both[ROW_HELD][ROW_INPUTS][2 * ROW_WORDS];
    for (unsigned v = 0; v < s->held; v++) {
        for (unsigned i = k->skipped; i < k->op->inputs; i++) {
            cj_registers(k->f, in_type(k), "both", 2 * in_words(k), both[v][i]);
            if (is_guarded(s, v)) clear_words(k, both[v][i], 2 * in_words(k));
        }
        FOR_VECTOR(k, v)
        for (unsigned i = k->skipped; i < k->op->inputs; i++)
            cj__row_load_both(k, k->op->nth[ROW_INPUT][i], v, load, both[v][i]);
    }
    for (unsigned v = 0; v < s->held; v++)
        for (unsigned i = k->skipped; i < k->op->inputs; i++)
            cj__row_take(k, &k->beside[k->op->nth[ROW_INPUT][i]], both[v][i], k->raw[i][v]);
    FOR_BESIDE(k, one) load_vectors(one, load, false);
}

// Whether several loads of short rows take parts of one cache line, which the L1 cache then keeps from one to the next.
static bool shares_lines(const row_shape *s) {
    enum { LINE_BYTES = 128 };
    return (cj__row_is_short(s) || (s->rows_per_block > 1 && s->held > WARP_ROW_HELD)) &&
           s->stride * s->in_bytes % LINE_BYTES;
}

// A row of several pieces is read again, from the L2 cache if it is still there.
void cj__row_load_piece(row_kernel *k) {
    const bool  split = cj__row_is_split(k->s);
    const char *load = cj__load_given_once(k->plan);
    if (shares_lines(k->s) || split) load = cj__load_given(k->plan);
    if (k->s->pieces > 1) load = "ld.global";
    if (k->s->unaligned) {
        CJ_IF_ELSE(k->f, k->whole, k->s->across ? "across" : "in_parts", "loaded") { load_whole(k, load); }
        else { (k->s->across ? load_across : load_split)(k, load); }
    } else {
        (k->s->across ? load_across : split ? load_split : load_whole)(k, load);
    }
}

void cj__row_fetch_piece(row_kernel *k) { load_vectors(k, "ld.shared", true); }

// ---- f32 and narrower

// A vector's words as f32: the same registers if they are, else new ones.
static void widen(row_kernel *k, const char *name, const cj_reg *word, cj_reg to[ROW_ELEMENTS]) {
    const char *type = cj__row_type(k->plan, ROW_DTYPE);
    for (unsigned e = 0; e < k->s->elements; e++) to[e] = k->s->in_bytes == 4 ? word[e] : cj_f32(k->f, name);
    if (k->s->in_bytes == 4) return;
    if (k->s->elements == 1) cj__widen_half(k->f, type, to[0], word[0]);
    for (unsigned e = 0; e + 1 < k->s->elements; e += 2) cj__unpack_halves(k->f, type, word[e / 2], to[e], to[e + 1]);
}

// f32 elements that registers hold from the sweeps to the end: a stream's first piece, and the one piece of other forms.
bool cj__row_in_place(const row_kernel *k) {
    const bool one = k->s->pieces == 1, holds = one || (k->s->form == ROW_STREAM && k->op->outputs);
    return k->s->in_bytes == 4 && !k->in_shared && holds;
}

bool cj__row_in_pairs(const row_kernel *k) {
    enum { COMPARES_PAIRS = 80 };  // the first target with max.f16x2
    const bool are_pairs = k->s->in_bytes == 2 && k->s->elements > 1;
    return k->op->in_pairs && are_pairs && cj__target_number(k->plan) >= COMPARES_PAIRS;
}

// Inputs from the `first` on.
static row_vector begin_vector(row_kernel *k, unsigned v, unsigned first, bool as_loaded) {
    const uint64_t step = step_of(k, in_bytes(k)), input_bytes = k->s->piece * in_bytes(k);
    row_vector     vector = {.number = v};
    for (unsigned i = first; i < k->op->inputs; i++) {
        vector.word[i] = k->in_shared ? k->passing[i] : k->raw[i][v];
        if (k->in_shared) load_words(k, "ld.shared", vector.word[i], k->stage_at, v * step + i * input_bytes);
        if (!as_loaded) widen(k, input_name(k, i), vector.word[i], vector.in[i]);
    }
    return vector;
}

static void sweep_vectors(row_kernel *k, unsigned sweep) {
    for (unsigned v = 0; v < k->s->held; v++) FOR_VECTOR(k, v) {
            const row_vector vector = begin_vector(k, v, k->op->swept, !sweep && cj__row_in_pairs(k));
            k->op->sweep[sweep](k, &vector);
        }
}

void cj__row_sweep(row_kernel *k) {
    cj__row_part_clear(k, &k->part);
    if (k->op->before) k->op->before(k);
    for (unsigned sweep = 0; sweep < 2 && k->op->sweep[sweep]; sweep++) {
        if (sweep && k->op->between) k->op->between(k);
        sweep_vectors(k, sweep);
        FOR_BESIDE(k, one) sweep_vectors(one, sweep);
    }
    if (k->op->after) k->op->after(k);
}

// ---- out

static void pack(row_kernel *k, const cj_reg *from, cj_reg word[ROW_WORDS]) {
    const unsigned elements = k->s->elements;
    const char    *type = cj__row_type(k->plan, ROW_OUT);
    if (k->s->out_bytes == 4)
        memcpy(word, from, elements * sizeof *word);
    else if (elements == 1)
        word[0] = cj_let(k->f, "b16", "packed", "cvt.rn.$3.f32 $1, $2;", from[0], type);
    for (unsigned w = 0; k->s->out_bytes == 2 && w < elements / 2; w++)
        cj__pack_halves(k->plan, k->f, type, word[w] = cj_b32(k->f, "packed"), from[2 * w + 1], from[2 * w]);
}

// A vector of an output that may begin beside one, element by element.
static void store_elements(row_kernel *k, const cj_reg *word, cj_reg at, int64_t offset) {
    const unsigned bytes = k->s->out_bytes;
    const char    *store = cj__row_store_global(k);
    for (unsigned w = 0; w < words_of(out_bytes(k)); w++, offset += 4) {
        if (bytes == 4) {
            cj__store(k->f, cj_always(), store, "f32", &word[w], 1, at, offset);
            continue;
        }
        cj_reg half[] = {cj_register(k->f, "b16", "half"), cj_register(k->f, "b16", "half")};
        cj_ptx(k->f, "mov.b32 {$1, $2}, $3;", half[0], half[1], word[w]);
        for (unsigned h = 0; h < 2; h++) cj__store(k->f, cj_always(), store, "b16", &half[h], 1, at, offset + h * bytes);
    }
}

static void store_vector(row_kernel *k, const cj_reg *word, cj_reg at, int64_t offset) {
    cj__store(k->f, cj_always(), k->s->transposed ? "st.shared" : cj__row_store_global(k),
              word_type(out_bytes(k), k->s->out_bytes), word, words_of(out_bytes(k)), at, offset);
}

static void store_outputs(row_kernel *k, const row_vector *vector) {
    for (unsigned o = 0; o < k->op->outputs; o++) {
        cj_reg word[ROW_WORDS];
        pack(k, vector->out[o], word);
        const bool     image = k->s->transposed;
        const uint64_t matrix = image ? o * cj__row_image_bytes(k->s, k->s->out_bytes) : 0;
        const cj_reg   at = image ? k->written_at : k->at[k->op->nth[ROW_OUTPUT][o]];
        const int64_t  offset = (int64_t)(matrix + vector->number * step_of(k, out_bytes(k)));
        if (o && k->s->unaligned) {
            CJ_IF_ELSE(k->f, k->whole_too, "by_elements", "stored") { store_vector(k, word, at, offset); }
            else { store_elements(k, word, at, offset); }
        } else {
            store_vector(k, word, at, offset);
        }
    }
}

void cj__row_write(row_kernel *k) {
    for (unsigned v = 0; v < k->s->held; v++) FOR_WRITTEN(k, v) {
            row_vector vector = begin_vector(k, v, 0, false);
            for (unsigned o = 0; o < k->op->outputs; o++)
                for (unsigned e = 0; e < k->s->elements; e++)
                    vector.out[o][e] = cj_f32(k->f, k->op->operand[k->op->nth[ROW_OUTPUT][o]].name);
            k->op->write(k, &vector);
            store_outputs(k, &vector);
        }
    FOR_BESIDE(k, one) cj__row_write(one);
}

// In the order of the sums' operands: those of a column follow each other, columns apart.
void cj__row_store_sums(row_kernel *k, cj_reg at) {
    const unsigned words = (unsigned)cj__least(k->s->elements, 4);
    for (unsigned v = 0; v < k->s->held; v++) FOR_VECTOR(k, v) {
            const uint64_t column = (uint64_t)v * cj__row_threads(k->s) * k->s->elements;
            for (unsigned t = 0; t < k->s->totals; t++)
                for (unsigned e = 0; e < k->s->elements; e += words)
                    cj__store(k->f, cj_always(), "st.global", "f32", &k->total[t][v][e], words, at,
                              (int64_t)(4 * (t * k->s->columns + column + e)));
        }
}

// ---- where

cj_reg cj__row_first_piece(row_kernel *k) {
    if (cj__row_blocks(k->s) > 1) return cj_mul(k->f, "piece", k->rank, k->s->pieces);
    return cj_mov(k->f, "u32", "piece", 0);
}

void cj__row_set_share(row_kernel *k) { cj__row_set_piece(k, cj__row_first_piece(k)); }

// The thread's column in a piece of the row and how far that piece goes from there.
void cj__row_set_piece(row_kernel *k, cj_reg piece) {
    const row_shape *s = k->s;
    k->column = cj_mad(k->f, "column", piece, s->piece, k->thread);
    k->vector = k->column;
    k->piece = piece;
    if (s->peeled) return;
    if (cj__row_counts(k)) k->left = cj_let(k->f, "s32", "left", "sub.s32 $1, $2, $3;", s->vectors, k->column);
    if (cj__row_counts(k) && s->piece < s->vectors) {
        cj_reg own = cj_let(k->f, "s32", "own", "sub.s32 $1, $2, $3;", s->piece, k->thread);
        cj_update(k->f, k->left, "min", own);
    }
    cj_update(k->f, k->column, "mul", s->elements);
}

cj_reg cj__row_of(row_kernel *k, unsigned operand) {
    const uint64_t period = k->op->operand[operand].period;
    return period ? cj_rem(k->f, "repeated_row", k->row, period) : k->row;
}

// The row's address in the matrix of an operand.
static cj_reg row_at(row_kernel *k, unsigned i) {
    const row_shape *s = k->s;
    const bool       input = k->op->operand[i].role == ROW_INPUT;
    const uint64_t   bytes = input ? s->stride * s->in_bytes : s->out_stride * s->out_bytes;
    return cj_mad_wide(k->f, "row_at", cj__row_of(k, i), bytes, k->base[i]);
}

// Whether the vectors of `count` operands, from the `first` of that role on, are at multiples of themselves, as those of the first output are.
static cj_reg find_whole(row_kernel *k, row_role role, unsigned first, unsigned count, unsigned bytes) {
    cj_reg low = cj_mov(k->f, "u32", "low", 0);
    for (unsigned i = first; i < count; i++) {
        cj_reg word = cj_cvt(k->f, "u32", "low_word", k->at[k->op->nth[role][i]]);
        cj_ptx(k->f, "or.b32 $1, $1, $2;", low, word);
    }
    return cj_eq(k->f, "whole", cj_and(k->f, "beside", low, bytes - 1), 0);
}

// Of rows that are loaded across vectors.
static void place_across(row_kernel *k, bool written) {
    const row_op *op = k->op;
    for (unsigned i = k->skipped; i < op->inputs; i++)
        cj__row_find_vectors(k, op->nth[ROW_INPUT][i], k->at[op->nth[ROW_INPUT][i]], k->s->access * k->s->in_bytes);
    for (unsigned n = 0; n < op->columns && (written || !op->columns_written); n++) {
        const unsigned i = op->nth[ROW_COLUMN][n];
        cj__row_find_vectors(k, i, cj_mad_wide(k->f, "column_at", k->column, k->s->in_bytes, k->base[i]), k->s->in_bytes);
    }
}

static void place_unaligned(row_kernel *k, bool written) {
    const row_op *op = k->op;
    k->whole = find_whole(k, ROW_INPUT, k->skipped, op->inputs, in_bytes(k));
    if (written && op->outputs > 1) k->whole_too = find_whole(k, ROW_OUTPUT, 1, op->outputs, out_bytes(k));
}

static bool is_skipped(const row_kernel *k, unsigned operand) {
    for (unsigned n = 0; n < k->skipped; n++)
        if (k->op->nth[ROW_INPUT][n] == operand) return true;
    return false;
}

void cj__row_place(row_kernel *k, bool written) {
    const row_shape *s = k->s;
    if (s->peeled && cj__row_is_split(s)) cj__row_peel(k, row_at(k, k->op->nth[ROW_OUTPUT][0]), s->out_bytes, written);
    for (unsigned i = 0; i < k->op->operands; i++) {
        const bool input = k->op->operand[i].role == ROW_INPUT, output = k->op->operand[i].role == ROW_OUTPUT;
        if (!(output && written) && !(input && s->form != ROW_STREAM)) continue;
        const unsigned bytes = input ? s->in_bytes : s->out_bytes;
        const bool     peels = s->peeled && !cj__row_is_split(s) && i == k->op->nth[ROW_INPUT][0];
        if (is_skipped(k, i) && !peels) continue;
        cj_reg row = row_at(k, i);
        if (peels) cj__row_peel(k, row, bytes, written);
        if (is_skipped(k, i)) continue;
        k->at[i] = cj_mad_wide(k->f, "at", k->column, bytes, row);
        if (s->peeled) k->edge.at[i] = cj_mad_wide(k->f, "edge_at", k->edge.column, bytes, row);
    }
    if (s->across) place_across(k, written);
    if (s->unaligned) place_unaligned(k, written);
}

cj_reg cj__row_load_rows(row_kernel *k) {
    return cj_cvt(k->f, "u32", "rows", cj_let(k->f, "u64", "row_count", "ld.param.u64 $1, [$2];", k->rows));
}

// ---- weight, bias and mask

static void load_column(row_kernel *k, unsigned operand, unsigned v, const cj_reg word[ROW_WORDS]) {
    const bool resident = k->s->resident;
    if (k->s->peeled) {
        cj__row_load_shifted(k, operand, v, word);
        return;
    }
    cj_reg     at = resident ? cj_mad(k->f, "column_at", k->column, k->s->in_bytes, k->resident_at[operand])
                             : cj_mad_wide(k->f, "column_at", k->column, k->s->in_bytes, k->base[operand]);
    load_words(k, resident ? "ld.shared" : cj__load_given(k->plan), word, at, v * step_of(k, in_bytes(k)));
}

void cj__row_load_column(row_kernel *k, unsigned operand, unsigned v, cj_reg into[ROW_ELEMENTS]) {
    const char *name = k->op->operand[operand].name;
    cj_reg      word[ROW_WORDS];
    if (!k->keeps) {
        new_words(k, name, word);
        load_column(k, operand, v, word);
    }
    widen(k, name, k->keeps ? k->kept[operand][v] : word, into);
}

// Of a peeled row whose columns no other row has in its vectors: those of the thread's edge, too.
static void keep_edge(row_kernel *k, unsigned operand) {
    FOR_BESIDE(k, one) {
        new_words(one, k->op->operand[operand].name, k->edge.kept[operand]);
        clear_words(one, k->edge.kept[operand], 1);
        FOR_VECTOR(one, 0) load_column(one, operand, 0, k->edge.kept[operand]);
    }
}

void cj__row_keep_columns(row_kernel *k) {
    const unsigned most = k->s->in_bytes == 2 && !k->op->columns_written ? KEPT_NARROW : KEPT_WIDE;
    if (k->s->held * in_words(k) * (k->op->inputs + k->op->columns) > most) return;
    for (unsigned n = 0; n < k->op->columns; n++)
        for (unsigned v = 0; v < k->s->held; v++) {
            const unsigned i = k->op->nth[ROW_COLUMN][n];
            new_words(k, k->op->operand[i].name, k->kept[i][v]);
            if (is_guarded(k->s, v)) clear_words(k, k->kept[i][v], in_words(k));
            FOR_VECTOR(k, v) load_column(k, i, v, k->kept[i][v]);
        }
    for (unsigned n = 0; n < k->op->columns && k->s->peeled; n++) keep_edge(k, k->op->nth[ROW_COLUMN][n]);
    k->keeps = true;
}

// Weight and bias are loaded after a group's one row, which is wanted first; a little of them, if no sweep needs it, while
// the blocks' partials are exchanged.
void cj__row_keep_late(row_kernel *k, bool row) {
    const uint64_t bytes = k->s->piece * in_bytes(k) * k->op->columns;
    const bool     later = k->op->columns_written && bytes <= LATE_COLUMN_BYTES;
    const bool     one = !k->s->counted && k->s->pieces == 1 && !k->s->peeled;
    if (k->op->columns && one && later != row) cj__row_keep_columns(k);
}

// ---- for families

cj_reg cj__row_f32(row_kernel *k, const char *name, double value) { return cj_mov(k->f, "f32", name, (float)value); }

static cj_reg each_address(row_kernel *k, unsigned operand) {
    const bool wide = strstr(k->op->operand[operand].type, "64") != NULL;
    return cj_mad_wide(k->f, "each_at", k->row, wide ? 8 : 4, k->base[operand]);
}

cj_reg cj__row_load_each(row_kernel *k, unsigned operand) {
    const row_operand *o = &k->op->operand[operand];
    return cj_let(k->f, o->type, o->name, "$3.$4 $1, [$2];", each_address(k, operand), cj__load_given(k->plan), o->type);
}

void cj__row_store_each(row_kernel *k, unsigned operand, cj_reg value) {
    cj__store(k->f, k->first, "st.global", k->op->operand[operand].type, &value, 1, each_address(k, operand), 0);
}

cj_reg cj__row_count(row_kernel *k) {
    const row_shape *s = k->s;
    unsigned         whole = 0;
    while (whole < s->held && !is_guarded(s, whole)) whole++;
    cj_reg count = cj_mov(k->f, "f32", "count", (float)(whole * s->elements));
    for (unsigned v = whole; v < s->held; v++)
        cj_set_if(k->f, cj_gt(k->f, "has_vector", k->left, v * cj__row_threads(s)), count,
                  (float)((v + 1) * s->elements));
    if (s->peeled) cj_ptx(k->f, "@$1 add.f32 $2, $2, 0f3F800000;", cj_gt(k->f, "has_edge", k->edge.left, 0), count);
    return count;
}
