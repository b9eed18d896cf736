// SPDX-License-Identifier: Apache-2.0
// The mainloop of the form mma: stages to sums.
//
// A step is 128 bytes of K, four slices of 32 bytes, each one mma.sync deep; of f64 two of 64 bytes. While a slice is multiplied, the fragments
// of the next one are loaded (ldmatrix): those of A into another set of registers, each one of B as soon as it is multiplied; at the last
// slice those of the next stage. (Of f64 before sm_90 A has one set, and its fragments are loaded when the slice has been multiplied.) The
// copies of the stage that is `stages` - 1 steps ahead start during all slices but the last.
//
// Elements that no copy takes (load.c) are loaded into registers at the first slice, as the stage that is to be written is free then, and
// stored before the last slice: the barrier there publishes them as it does the copies. Of both operands in turn, A's are stored
// and B's loaded at the second slice.
//
// Barriers, and why each is needed and enough:
//   cp.async.wait_group  this thread's chunks of the stage that is read next have come. Each step commits one group, empty or not,
//                        so that the count is the same in each.
//   bar.sync             and those of all threads. All warps have loaded the last fragments of the stage before, too: the copies
//                        that start after it may overwrite that one. After the last step all stages may be overwritten.
#include "mma.h"

typedef struct loop {
    const mma_kernel *k;
    mma_copies        copies[2];
    mma_fragments     a, b;
    cj_reg            read, write;  // bytes from stage 0 to the stages that are read and written next
    cj_reg            left, ahead;  // steps that are left; predicate: so many that there is a stage to copy
    cj_reg            more;         // predicate: there is another step
    const cj_reg     *sum;
} loop;

// ---- begin

// Of the four matrices of an ldmatrix.x4 those of A take their lines from bit 3 of the lane and their half of the slice from bit
// 4; those of B the other way round: so two registers side by side are a fragment of 8 columns.
static void find_fragments(const mma_kernel *k, mma_fragments *x, uint32_t lines, cj_reg own, uint32_t first) {
    cj_func   *f = k->base.f;
    const bool is_a = x->operand == &k->base.g->a, by_k = x->operand->order == CJ_BY_K;
    cj_reg eighth = cj_and(f, "eighth", k->base.lane, 7);
    cj_reg bit3 = cj_and(f, "bit3", cj_shr(f, "bit3", k->base.lane, 3), 1), bit4 = cj_shr(f, "bit4", k->base.lane, 4);
    cj_reg line_half = is_a ? bit3 : bit4, k_half = is_a ? bit4 : bit3;
    cj_reg row = cj_mad(f, "row", by_k ? line_half : k_half, 8, eighth), chunk = by_k ? k_half : line_half;
    cj_reg line = cj_mul(f, "warp_line", own, lines);
    x->at = cj_mad(f, "at", row, GEMM_ROW, cj_add(f, "operand", k->pool, first));
    if (by_k) {
        x->at = cj_mad(f, "at", line, GEMM_ROW, x->at);
    } else {
        cj_reg box = cj_div(f, "box", line, GEMM_BOX);
        x->at = cj_mad(f, "at", box, cj__mma_box_bytes(x->operand), x->at);
        line = cj_and(f, "line", line, GEMM_BOX - 1);
        chunk = cj_add(f, "chunk", chunk, cj_shr(f, "chunk", line, 3));
    }
    x->at = cj_mad(f, "at", cj_xor(f, "turned", chunk, eighth), MMA_CHUNK, x->at);
}

static void begin_fragments(const mma_kernel *k, mma_fragments *x, const gemm_operand *operand, uint32_t lines, cj_reg own, uint32_t first) {
    cj_func   *f = k->base.f;
    const bool is_a = operand == &k->base.g->a, is_f64 = cj__gemm_is_f64(operand->type);
    *x = (mma_fragments){.operand = operand, .count = lines / MMA_LINES, .sets = is_a && !(is_f64 && cj__mma_f64_spares(k)) ? 2 : 1};
    cj_step(f, "where this lane reads fragments of %s", is_a ? "A" : "B");
    if (is_f64)
        cj__mma_f64_begin(k, x, cj_mul(f, "warp_line", own, lines), first);
    else
        find_fragments(k, x, lines, own, first);
    x->in_stage = cj_u32(f, "in_stage");
    for (uint32_t i = 0; i < x->sets * x->count; i++)
        for (uint32_t j = 0; j < 4; j++) x->value[i % x->sets][i / x->sets][j] = cj_register(f, is_f64 ? "f64" : "b32", is_a ? "a" : "b");
}

// ---- fragments

// The registers of B's fragments are free as soon as they are multiplied; A's are needed until the slice's end.
static const cj_reg *fragment_of(const mma_fragments *x, uint32_t slice, uint32_t i) {
    return x->value[slice % x->sets][i];
}

// The i-th fragment of a slice, by warps for which `when` holds (cj_always(): all).
static void load_fragment(const loop *l, const mma_fragments *x, cj_reg when, uint32_t slice, uint32_t i) {
    const bool     by_k = x->operand->order == CJ_BY_K;
    const uint32_t turn = by_k ? slice * MMA_SLICE : i * MMA_LINES * 2, offset = by_k ? i : slice;
    const cj_reg  *v = fragment_of(x, slice, i);
    if (cj__gemm_is_f64(x->operand->type)) {
        cj__mma_f64_load(l->k, x, when, slice, i, v);
        return;
    }
    cj_reg at = turn ? cj_xor(l->k->base.f, "fragment", x->in_stage, turn) : x->in_stage;
    cj_ptx(l->k->base.f, "@$1 ldmatrix.sync.aligned.m8n8.x4$2.shared.b16 {$3, $4, $5, $6}, [$7 + $8];", when,
           by_k ? "" : ".trans", v[0], v[1], v[2], v[3], at, offset * MMA_LINES * GEMM_ROW);
}

static void load_fragments(const loop *l, const mma_fragments *x, cj_reg when, uint32_t slice) {
    for (uint32_t i = 0; i < x->count; i++) load_fragment(l, x, when, slice, i);
}

static void enter_stage(const loop *l) {
    cj_ptx(l->k->base.f, "add.u32 $1, $2, $3;", l->a.in_stage, l->a.at, l->read);
    cj_ptx(l->k->base.f, "add.u32 $1, $2, $3;", l->b.in_stage, l->b.at, l->read);
}

// tf32: elements are rounded to the nearest, where mma.sync would cut them off.
static void round_fragment(const loop *l, const mma_fragments *x, uint32_t slice, uint32_t i) {
    const cj_reg *v = fragment_of(x, slice, i);
    for (uint32_t j = 0; x->operand->type->bytes == 4 && j < 4; j++)
        cj_ptx(l->k->base.f, "cvt.rna.tf32.f32 $1, $1;", v[j]);
}

// ---- products

void cj__mma_multiply(cj_func *f, const gemm_type *a_type, const gemm_type *b_type, const cj_reg a[4],
                      const cj_reg b[2], const cj_reg d[4]) {
    cj_ptx(f,
           "mma.sync.aligned.m16n8k$1.row.col.$14.$2.$3.$14 {$4, $5, $6, $7}, {$8, $9, $10, $11}, {$12, $13}, "
           "{$4, $5, $6, $7};",
           MMA_SLICE / a_type->bytes, a_type->in_ptx, b_type->in_ptx, d[0], d[1], d[2], d[3], a[0], a[1], a[2], a[3], b[0],
           b[1], a_type->most ? "s32" : "f32");
}

static void multiply_fragments(const loop *l, const cj_reg a[4], const cj_reg b[2], const cj_reg sum[4]) {
    if (cj__gemm_is_f64(l->a.operand->type))
        cj__mma_f64_multiply(l->k, a, b, sum);
    else
        cj__mma_multiply(l->k->base.f, l->a.operand->type, l->b.operand->type, a, b, sum);
}

// The products of a slice. Each fragment of B makes room for the next slice's, by warps for which `more` holds.
static void multiply(const loop *l, uint32_t slice, cj_reg more) {
    for (uint32_t m = 0; m < l->a.count; m++) round_fragment(l, &l->a, slice, m);
    for (uint32_t n = 0; n < l->b.count; n++) {
        const cj_reg *b = fragment_of(&l->b, slice, n);
        round_fragment(l, &l->b, slice, n);
        for (uint32_t i = 0; i < 2 * l->a.count; i++) {
            const uint32_t m = i % l->a.count, half = i / l->a.count;
            multiply_fragments(l, fragment_of(&l->a, slice, m), b + 2 * half, l->sum + ((m * l->b.count + n) * 2 + half) * 4);
        }
        load_fragment(l, &l->b, more, (slice + 1) % cj__mma_slices(l->k->base.g), n);
    }
}

// ---- copies

static void next_stage(const loop *l, cj_reg stage) {
    const gemm_shape *g = l->k->base.g;
    cj_func          *f = l->k->base.f;
    cj_update(f, stage, "add", cj__mma_stage_bytes(g));
    cj_set_if(f, cj_eq(f, "is_end", stage, g->stages * cj__mma_stage_bytes(g)), stage, 0);
}

static uint32_t copy_lines(const loop *l) { return l->copies[0].count + l->copies[1].count; }

// Of the copies of a stage those from `from` to `to`, in the order A, B.
static void start_copies(const loop *l, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const bool        is_b = i >= l->copies[0].count;
        const uint32_t    line = is_b ? i - l->copies[0].count : i;
        const mma_copies *c = &l->copies[is_b];
        if (!line) cj__mma_copies_stage(l->k, c, l->write);
        cj__mma_copies_line(l->k, c, l->ahead, line);
    }
}

static bool loads(const loop *l) { return l->copies[0].loads || l->copies[1].loads; }
static bool copies(const loop *l) { return !l->copies[0].loads || !l->copies[1].loads; }

static void store_loaded(const loop *l, unsigned operand) { cj__mma_copies_store(l->k, &l->copies[operand], l->ahead); }

// What is started at a slice for the stage that is ahead: copies by thirds; where there are loads, all at once, so that they are on their way
// as long as can be; or loads of A and of B in turn.
static void bring(const loop *l, uint32_t slice) {
    const uint32_t lines = copy_lines(l), turns = loads(l) ? 1 : cj__mma_slices(l->k->base.g) - 1;
    if (!cj__mma_loads_in_turn(l->k->base.g)) {
        if (slice < turns) start_copies(l, lines * slice / turns, lines * (slice + 1) / turns);
        return;
    }
    if (slice == 0) start_copies(l, 0, l->copies[0].count);
    if (slice != 1) return;
    store_loaded(l, 0);
    start_copies(l, l->copies[0].count, lines);
}

// Stores the loads that wait: before the wait for the stage that is read next, which may be the one that they belong to.
static void store_last(const loop *l) {
    for (unsigned i = cj__mma_loads_in_turn(l->k->base.g); i < 2; i++) store_loaded(l, i);
}

static void commit(const loop *l) {
    for (uint32_t i = 0; i < 2; i++) cj__mma_copies_next(l->k, &l->copies[i]);
    next_stage(l, l->write);
    if (copies(l)) cj_ptx(l->k->base.f, "cp.async.commit_group;");
}

static void wait(const loop *l) {
    if (copies(l))
        cj_ptx(l->k->base.f, "cp.async.wait_group $1; // this thread's chunks of the next stage have come,", l->k->base.g->stages - 2);
    cj_ptx(l->k->base.f, "bar.sync 0; // and those of all threads, which have read the stage before");
}

// ---- the loop

static void begin(loop *l) {
    const mma_kernel *k = l->k;
    const gemm_shape *g = k->base.g;
    cj_func          *f = k->base.f;
    cj__mma_copies_begin(k, &l->copies[0], &g->a);
    cj__mma_copies_begin(k, &l->copies[1], &g->b);
    begin_fragments(k, &l->a, &g->a, k->tile->m / k->tile->warps_m, k->warp_m, 0);
    begin_fragments(k, &l->b, &g->b, k->tile->n / k->tile->warps_n, k->warp_n, g->a.bytes);
    l->read = cj_mov(f, "u32", "read", 0);
    l->write = cj_mov(f, "u32", "write", 0);
    l->left = cj_mov(f, "u32", "steps_left", k->steps);
    l->ahead = cj_pred(f, "ahead");
    l->more = cj_ne(f, "more", k->steps, 0);
}

static void fill_stages(loop *l) {
    cj__gemm_wait(&l->k->base);
    cj_step(l->k->base.f, "all stages but one are filled");
    for (uint32_t i = 0; i + 1 < l->k->base.g->stages; i++) {
        cj_ptx(l->k->base.f, "setp.gt.u32 $1, $2, $3;", l->ahead, l->left, i);
        for (uint32_t slice = 0; slice + 1 < cj__mma_slices(l->k->base.g); slice++) bring(l, slice);
        store_last(l);
        commit(l);
    }
    wait(l);
    enter_stage(l);
    load_fragments(l, &l->a, l->more, 0);
    load_fragments(l, &l->b, l->more, 0);
}

static void step(loop *l) {
    cj_func       *f = l->k->base.f;
    const uint32_t slices = cj__mma_slices(l->k->base.g);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", l->ahead, l->left, l->k->base.g->stages);
    for (uint32_t slice = 0; slice < slices; slice++) {
        const bool is_last = slice + 1 == slices;
        cj_note(f, "slice %u", (unsigned)slice);
        if (is_last) {
            cj_update(f, l->left, "sub", 1);
            cj_ptx(f, "setp.ne.u32 $1, $2, 0;", l->more, l->left);
            store_last(l);
            wait(l);
            next_stage(l, l->read);
            enter_stage(l);
        }
        const cj_reg more = is_last ? l->more : cj_always();
        if (l->a.sets > 1) load_fragments(l, &l->a, more, (slice + 1) % slices);
        if (!is_last) bring(l, slice);
        if (slice + 2 == slices) commit(l);
        multiply(l, slice, more);
        if (l->a.sets == 1) load_fragments(l, &l->a, more, (slice + 1) % slices);
    }
}

void cj__mma_loop(const mma_kernel *k, cj_reg sum[MMA_SUMS_MAX]) {
    cj_func *f = k->base.f;
    loop     l = {.k = k, .sum = sum};
    begin(&l);
    for (uint32_t i = 0; i < cj__mma_sums(k->tile); i++) {
        sum[i] = cj__gemm_sum(&k->base, "sum");
        cj__gemm_sum_clear(&k->base, sum[i]);
    }
    fill_stages(&l);
    cj_step(f, "the steps");
    CJ_IF_UNI(f, l.more, "no_step") {
        CJ_DO_UNI(f, "step", l.more) step(&l);
    }
}
