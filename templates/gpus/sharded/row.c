// SPDX-License-Identifier: Apache-2.0
// A thread's elements of a row: from memory to a part of the row's sum, and to what is written.
#include "sharded.h"

enum { COMPARES_PAIRS = 80 };  // the first target with max of two halves

static cj_reg row_address(sharded_kernel *k, const char *name, cj_reg base, cj_reg row) {
    return cj_mad_wide(k->g.f, name, row, k->s.columns * k->s.unit.bytes, base);
}

// Whether the thread has unit u of the chunk that begins with its unit `first`; the only chunk's are known by the plan.
static cj_reg exists(sharded_kernel *k, cj_reg first, uint32_t u, bool is_known) {
    if (is_known && (u + 1) * k->s.block <= k->s.units) return cj_always();
    cj_reg unit = cj_add(k->g.f, "unit", first, u * k->s.block);
    return cj_lt(k->g.f, "exists", unit, k->s.units);
}

static uint32_t no_logit(const gpus_unit *u) {
    if (u->bytes == 4) return 0xff800000;
    const uint32_t half = *u->type == 'b' ? 0xff80 : 0xfc00;
    return u->each == 1 ? half : half << 16 | half;
}

static uint32_t offset(const sharded_kernel *k, uint32_t u) { return u * k->s.block * cj__gpus_unit_bytes(&k->s.unit); }

// ---- rows in shared memory: one is written, one is loaded from, and one is on its way

enum { THIS = 0, NEXT = 1, PREVIOUS = 2 };  // stages after that of the pipeline

static cj_reg stage_number(sharded_kernel *k, unsigned after) {
    if (!after) return k->at.stage;
    cj_func *f = k->g.f;
    cj_reg   number = cj_add(f, "stage", k->at.stage, after), over = cj_ge(f, "over", number, SHARDED_STAGES);
    cj_ptx(f, "@$1 sub.u32 $2, $2, $3;", over, number, SHARDED_STAGES);
    return number;
}

static cj_reg stage_at(sharded_kernel *k, unsigned after) {
    return cj_mad(k->g.f, "stage_at", stage_number(k, after), k->s.stage, k->pool);
}

static void fetch(sharded_kernel *k, cj_reg row, unsigned after) {
    cj_func       *f = k->g.f;
    const uint32_t bytes = k->s.columns * k->s.unit.bytes;
    cj_reg         when = cj_let(f, "pred", "fetches_row", "setp.lt.and.u32 $1, $2, $3, $4;", row, k->s.rows, k->fetches);
    cj_reg         full = cj_mad(f, "full_at", stage_number(k, after), 8, k->pipeline.full), from = row_address(k, "row_at", k->x, row);
    cj_mbarrier_arrive_expect(f, when, full, CJ_ARG((int)bytes), NULL);
    cj_bulk_load(f, when, stage_at(k, after), from, CJ_ARG((int)bytes), full);
}

void cj__gpus_sharded_open_stages(sharded_kernel *k) {
    cj_func *f = k->g.f;
    cj_step(f, "rows come to shared memory by bulk copies: stages and their mbarriers");
    k->pool = cj__pool_address(f, "sharded_rows");
    k->pipeline = (cj_pipeline){.stages = SHARDED_STAGES, .full = cj__mbarriers(f, "full", SHARDED_STAGES), .empty = cj_none()};
    k->at = cj_pipeline_begin(f, &k->pipeline, CJ_CONSUMER);
    k->fetches = cj_eq(f, "fetches", k->g.thread, k->s.block - 32);
    cj__mbarriers_init(f, k->fetches, k->pipeline.full, SHARDED_STAGES);
    cj_mbarrier_init_done(f, "publishes the mbarriers, at B0");
    fetch(k, k->g.block, THIS);
    cj_ptx(f, "bar.sync 0; // B0: the mbarriers are there");
}

void cj__gpus_sharded_fetch_next(sharded_kernel *k) {
    cj_step(k->g.f, "the next row is on its way: all threads have written from its stage");
    fetch(k, cj_add(k->g.f, "next_row", k->row, k->s.grid), NEXT);
}

// ---- a thread's elements

// Of the row that is loaded, or of the previous one: words[u] = unit u of the chunk whose first unit is `first`, which the thread has where it
// exists; -infinity elsewhere.
static void load_chunk(sharded_kernel *k, bool previous, cj_reg first, bool is_known, cj_reg words[SHARDED_HELD][GPUS_WORDS]) {
    cj_func    *f = k->g.f;
    const char *load = k->s.stage ? "ld.shared" : "ld.global";
    cj_reg      at, row = previous ? k->previous : k->row;
    if (k->s.stage)
        at = cj_mad(f, "units_at", first, cj__gpus_unit_bytes(&k->s.unit), stage_at(k, previous ? PREVIOUS : THIS));
    else
        at = cj_mad_wide(f, "units_at", first, cj__gpus_unit_bytes(&k->s.unit), row_address(k, "row_at", k->x, row));
    for (uint32_t u = 0; u < k->s.per; u++) {
        cj_reg when = exists(k, first, u, is_known);
        for (uint32_t w = 0; w < k->s.unit.words && !cj_is_always(when); w++) cj_set(f, words[u][w], no_logit(&k->s.unit));
        cj__gpus_load_unit(f, &k->s.unit, when, load, at, offset(k, u), words[u]);
    }
}

// The largest element of a chunk. Pairs of halves are compared as they are: a quarter of the instructions.
static cj_reg largest_of(sharded_kernel *k) {
    cj_func *f = k->g.f;
    cj_reg   number[GPUS_EACH], largest = cj_mov(f, "f32", "largest", -INFINITY);
    if (k->s.unit.bytes == 2 && k->s.unit.each > 1 && cj__target_number(k->g.plan) >= COMPARES_PAIRS) {
        cj_reg pair = cj_mov(f, "b32", "pair", no_logit(&k->s.unit)), other = cj_f32(f, "other");
        for (uint32_t u = 0; u < k->s.per; u++)
            for (uint32_t w = 0; w < k->s.unit.words; w++)
                cj_ptx(f, "max.$1x2 $2, $2, $3;", k->s.unit.type, pair, k->held[u][w]);
        cj__unpack_halves(f, k->s.unit.type, pair, largest, other);
        cj_update(f, largest, "max", other);
    } else {
        for (uint32_t u = 0; u < k->s.per; u++) {
            cj__gpus_widen(f, &k->s.unit, k->held[u], number);
            for (uint32_t i = 0; i < k->s.unit.each; i++) cj_update(f, largest, "max", number[i]);
        }
    }
    return largest;
}

// Loads a chunk and adds it to the part: first the largest, then powers of the distance from it.
static void add_chunk(sharded_kernel *k, const cj_partial *part, cj_reg first, bool is_known) {
    const double columns = (double)k->s.columns * k->s.gpus;
    cj_func     *f = k->g.f;
    cj_reg       number[GPUS_EACH];
    load_chunk(k, false, first, is_known, k->held);
    cj_reg largest = largest_of(k);
    cj_update(f, largest, "max", part->value[0]);
    if (!is_known) {
        cj_reg factor = cj_sub(f, "factor", part->value[0], largest);
        cj_update(f, factor, "mul", (float)CJ_LOG2E);
        cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", factor);
        cj_update(f, part->value[1], "mul", factor);
    }
    cj_set(f, part->value[0], largest);
    for (uint32_t u = 0; u < k->s.per; u++) {
        cj_reg when = k->kind.values > 2 ? exists(k, first, u, is_known) : cj_always();
        cj__gpus_widen(f, &k->s.unit, k->held[u], number);
        for (uint32_t i = 0; i < k->s.unit.each; i++) {
            if (k->kind.values > 2) cj_ptx(f, "@$1 fma.rn.f32 $2, $3, $4, $2;", when, part->value[2], number[i], (float)(0.5 / columns));
            cj_update(f, number[i], "sub", largest);
            cj_update(f, number[i], "mul", (float)CJ_LOG2E);
            cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", number[i]);
            cj_update(f, part->value[1], "add", number[i]);
        }
    }
}

void cj__gpus_sharded_part(sharded_kernel *k, const cj_partial *part) {
    cj_step(k->g.f, "the thread's elements of the row");
    k->kind.clear(&k->kind, part);
    if (k->s.chunks == 1)
        add_chunk(k, part, k->g.thread, true);
    else
        CJ_FOR(k->g.f, first, "u32", "first", k->g.thread, k->s.units, k->s.per * k->s.block) add_chunk(k, part, first, false);
}

cj_reg cj__gpus_sharded_label(sharded_kernel *k, cj_reg row) {
    cj_func *f = k->g.f;
    cj_reg   at = cj_mad_wide(f, "label_at", row, k->s.wide ? 8 : 4, k->label);
    if (k->s.wide) return cj_let(f, "s64", "label", "ld.global.s64 $1, [$2];", at);
    return cj_cvt(f, "s64", "wide_label", cj_let(f, "s32", "label", "ld.global.s32 $1, [$2];", at));
}

// ---- what is written

typedef struct result {
    cj_reg largest, log2_factor;  // of the row: the largest x, and the logarithm of one over the sum
    cj_reg factor;                // of the gradient
    cj_reg column;                // of the label, from this GPU's first one: s64
} result;

// dx[label] has 1 - s less; few units have it.
static void take_label_off(sharded_kernel *k, const result *r, cj_reg unit, const cj_reg *dx) {
    cj_func *f = k->g.f;
    cj_reg   begin = cj_mul_wide(f, "unit_column", unit, k->s.unit.each);
    cj_reg   distance = cj_sub(f, "distance", r->column, begin);
    cj_reg   other = cj_let(f, "pred", "other_unit", "setp.ge.u64 $1, $2, $3;", distance, k->s.unit.each);
    CJ_UNLESS(f, other, "no_label")
    for (uint32_t i = 0; i < k->s.unit.each; i++)
        cj_ptx(f, "@$1 fma.rn.f32 $2, $3, $4, $2;", cj_eq(f, "here", distance, i), dx[i], r->factor, (float)(k->s.smoothing - 1));
}

static void write_unit(sharded_kernel *k, const result *r, cj_reg unit, cj_reg at, uint32_t bytes, const cj_reg *words) {
    cj_func     *f = k->g.f;
    const double share = k->s.smoothing / ((double)k->s.columns * k->s.gpus);
    cj_reg       number[GPUS_EACH], out[GPUS_WORDS];
    cj__gpus_widen(f, &k->s.unit, words, number);
    for (uint32_t i = 0; i < k->s.unit.each; i++) {
        cj_update(f, number[i], "sub", r->largest);
        if (k->s.log) {
            cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", number[i], r->log2_factor, (float)CJ_LN2);
        } else {
            cj_ptx(f, "fma.rn.f32 $1, $1, $2, $3;", number[i], (float)CJ_LOG2E, r->log2_factor);
            cj_ptx(f, "ex2.approx.ftz.f32 $1, $1;", number[i]);
        }
        if (k->s.labels) cj_update(f, number[i], "mul", r->factor);
        if (share > 0) cj_ptx(f, "fma.rn.f32 $1, $2, $3, $1;", number[i], r->factor, (float)-share);
    }
    if (k->s.labels) take_label_off(k, r, unit, number);
    cj_registers(f, "b32", "out", k->s.unit.words, out);
    cj__gpus_narrow(k->g.plan, f, &k->s.unit, number, out);
    cj__gpus_store_unit(f, &k->s.unit, at, bytes, out);
}

// `words` has the chunk, or gets it.
static void write_chunk(sharded_kernel *k, const result *r, cj_reg first, bool is_known, cj_reg words[SHARDED_HELD][GPUS_WORDS]) {
    cj_func *f = k->g.f;
    if (!k->s.hold) load_chunk(k, true, first, is_known, words);
    cj_reg at = row_address(k, "out_row", k->out, k->previous);
    at = cj_mad_wide(f, "out_at", first, cj__gpus_unit_bytes(&k->s.unit), at);
    for (uint32_t u = 0; u < k->s.per; u++) CJ_IF(f, exists(k, first, u, is_known), "no_unit") {
            cj_reg unit = k->s.labels ? cj_add(f, "unit", first, u * k->s.block) : cj_none();
            write_unit(k, r, unit, at, offset(k, u), words[u]);
        }
}

void cj__gpus_sharded_write(sharded_kernel *k) {
    cj_func *f = k->g.f;
    result   r = {.largest = cj_f32(f, "largest"), .log2_factor = cj_f32(f, "log2_factor")};
    cj_step(f, "%s of the previous row", k->s.labels ? "the gradient" : "the softmax");
    cj_ptx(f, "ld.shared.v2.f32 {$1, $2}, [$3];", r.largest, r.log2_factor, k->results);
    if (k->s.labels) {
        r.factor = cj_let(f, "f32", "factor", "ld.shared.f32 $1, [$2 + 8];", k->results);
        r.column = cj_sub(f, "label_column", cj__gpus_sharded_label(k, k->previous), k->before);
    }
    cj_reg words[SHARDED_HELD][GPUS_WORDS];
    for (uint32_t u = 0; u < k->s.per && !k->s.hold; u++) cj_registers(f, "b32", "again", k->s.unit.words, words[u]);
    if (k->s.chunks == 1)
        write_chunk(k, &r, k->g.thread, true, k->s.hold ? k->last : words);
    else
        CJ_FOR(f, first, "u32", "first", k->g.thread, k->s.units, k->s.per * k->s.block) write_chunk(k, &r, first, false, words);
}
