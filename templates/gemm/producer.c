// SPDX-License-Identifier: Apache-2.0
// The producer of the matrix product: one thread starts the tensor copies that fill the ring's stages.
#include "roles.h"

enum { REGISTERS = 40 };  // that it goes on with

// How one operand is loaded: by this block and its peers along one axis of the cluster, a part each, for all of them.
typedef struct operand {
    cj_matrix_order order;
    bool            shared;               // by all products of a batch
    uint32_t        lines, bytes, parts;  // of a stage; blocks that share it
    cj_reg          map, base, mask;      // base: the first stage, from where on this block's part lies
    cj_reg          line, k;              // coordinates of the part, s32
    cj_reg          part_line, part_k;    // what they begin with, where there are parts
} operand;

// Ranks of the blocks that share an operand, as a mask: those of this one's row (A) or column (B) of the cluster.
static cj_reg mask_of(const gemm_kernel *k, bool is_a) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            wide = cj_b32(f, "ranks"), mask = cj_register(f, "b16", "mask"), shift = cj_u32(f, "first_rank");
    uint32_t          ranks = 0;
    for (uint32_t i = 0; i < (is_a ? g->cluster_n : g->cluster_m); i++) ranks |= 1u << (is_a ? i * g->cluster_m : i);
    if (is_a)
        cj_ptx(f, "mov.u32 $1, $2;", shift, k->rank_m);
    else
        cj_ptx(f, "mul.lo.u32 $1, $2, $3;", shift, k->rank_n, g->cluster_m);
    cj_ptx(f, "mov.b32 $1, $2;", wide, ranks);
    if (g->split > 1) cj_ptx(f, "add.u32 $1, $1, $2;", shift, k->split.mates);
    cj_ptx(f, "shl.b32 $1, $1, $2;", wide, shift);
    cj_ptx(f, "cvt.u16.u32 $1, $2;", mask, wide);
    return mask;
}

static operand make_operand(const gemm_kernel *k, bool is_a) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    operand           o = {.order = is_a ? g->a : g->b,
                           .shared = is_a ? g->shared_a : g->shared_b,
                           .lines = is_a ? g->tile_m : g->tile_n,
                           .bytes = is_a ? g->a_bytes : g->b_bytes,
                           .parts = is_a ? g->cluster_n : g->cluster_m};
    o.map = cj__gemm_map_address(k, is_a ? GEMM_MAP_A : GEMM_MAP_B);
    o.base = cj_u32(f, is_a ? "a_part" : "b_part");
    o.line = cj_s32(f, is_a ? "a_line" : "b_line");
    o.k = cj_s32(f, is_a ? "a_k" : "b_k");
    cj_ptx(f, "add.u32 $1, $2, $3;", o.base, k->shared, is_a ? 0 : g->stages * g->a_bytes);
    if (o.parts == 1) return o;
    const uint32_t step = o.order == CJ_BY_K ? o.lines / o.parts : g->step / o.parts;
    cj_reg         rank = is_a ? k->rank_n : k->rank_m, *part = o.order == CJ_BY_K ? &o.part_line : &o.part_k;
    *part = cj_s32(f, is_a ? "a_part_at" : "b_part_at");
    cj_ptx(f, "mul.lo.s32 $1, $2, $3;", *part, rank, step);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", o.base, *part, GEMM_ROW);
    o.mask = mask_of(k, is_a);
    return o;
}

// The operand's part of a new tile: `line` is the tile's first one, `first_step` the block's first step of it (none: 0).
static void begin_operand(const gemm_kernel *k, const operand *o, cj_reg line, cj_reg first_step) {
    if (o->part_line.id)
        cj_ptx(k->f, "add.s32 $1, $2, $3;", o->line, line, o->part_line);
    else
        cj_ptx(k->f, "mov.s32 $1, $2;", o->line, line);
    if (o->part_k.id)
        cj_ptx(k->f, "mov.s32 $1, $2;", o->k, o->part_k);
    else
        cj_ptx(k->f, "mov.s32 $1, 0;", o->k);
    if (first_step.id) cj_ptx(k->f, "mad.lo.s32 $1, $2, $3, $1;", o->k, first_step, k->g->step);
}

// A box of its own for each 64 lines that follow each other in memory; by k, one for all.
static void load_operand(const gemm_kernel *k, const operand *o, cj_reg batch, cj_reg stage, cj_reg full) {
    cj_func       *f = k->f;
    const uint32_t boxes = o->order == CJ_BY_K ? 1 : o->lines / GEMM_BOX;
    cj_reg         to = cj_u32(f, "to"), line = o->line;
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", to, stage, o->bytes, o->base);
    for (uint32_t box = 0; box < boxes; box++) {
        if (box) {
            line = cj_s32(f, "box_line");
            cj_ptx(f, "add.s32 $1, $2, $3;", line, o->line, box * GEMM_BOX);
            cj_ptx(f, "add.u32 $1, $1, $2;", to, GEMM_BOX * GEMM_ROW);
        }
        const bool     by_k = o->order == CJ_BY_K;
        cj_reg         at[3];
        const uint32_t rank = cj__gemm_at(k, at, by_k ? o->k : line, by_k ? line : o->k, batch, o->shared);
        if (o->parts > 1)
            cj_tensor_load_multicast(f, cj_always(), to, o->map, at, rank, full, CJ_ARG(o->mask));
        else
            cj_tensor_load(f, cj_always(), to, o->map, at, rank, full);
    }
    cj_ptx(f, "add.s32 $1, $1, $2;", o->k, k->g->step * cj__gemm_splits(k->g));
}

// A peer's consumers may be behind this block's. When all stages are free again, nobody arrives here any more. (Where the
// block's own consumers wait for all peers' products, to have their sums in the ring, it stays for that.)
static void wait_for_releases(const gemm_kernel *k, const cj_pipeline_at *at) {
    cj_func *f = k->f;
    if (cj__gemm_multicast(k->g) == 1 || k->g->sums_in_stages) return;
    cj_step(f, "this block stays until its peers have released all stages");
    cj_reg   left = cj_u32(f, "stages_left"), more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "stay");
    cj_ptx(f, "mov.u32 $1, $2;", left, k->g->stages);
    cj_label_here(f, next);
    cj_pipeline_wait_free(f, &k->stages, at);
    cj_pipeline_next(f, &k->stages, at);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

// What the producer goes on with.
typedef struct producer {
    operand        a, b;
    cj_pipeline_at at;
} producer;

// Steps of a tile, from the block's first one on (none: 0). Where they are is worked out before the kernels ahead are
// waited for; for other tiles than the first that takes no time.
static void load_steps(const gemm_kernel *k, const producer *p, cj_reg tile, cj_reg first, cj_reg steps) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const gemm_place  place = cj__gemm_place(k, tile);
    cj_reg            left = cj_u32(f, "steps_left"), more = cj_pred(f, "more");
    cj_label          next = cj_label_new(f, "load_step");
    begin_operand(k, &p->a, place.row, first);
    begin_operand(k, &p->b, place.column, first);
    cj_ptx(f, "mov.u32 $1, $2;", left, steps);
    cj__gemm_wait(k);
    cj_label_here(f, next);
    cj_reg full = cj_pipeline_acquire(f, &k->stages, &p->at, CJ_ARG(g->a_bytes + g->b_bytes));
    load_operand(k, &p->a, place.batch, p->at.stage, full);
    load_operand(k, &p->b, place.batch, p->at.stage, full);
    cj_pipeline_next(f, &k->stages, &p->at);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

static void load_share(const gemm_kernel *k, const producer *p, cj_label done) {
    cj_reg none = cj_pred(k->f, "no_steps");
    cj_ptx(k->f, "setp.eq.u32 $1, $2, 0;", none, k->split.steps);
    cj_ptx(k->f, "@$1 bra $2; // there are fewer steps than shares", none, done);
    load_steps(k, p, k->cluster, k->split.first, k->split.steps);
}

static void load_tiles(const gemm_kernel *k, const producer *p) {
    cj_reg     steps = cj__gemm_load_u32(k, k->steps, "steps");
    gemm_tiles loop = cj__gemm_tiles_begin(k);
    load_steps(k, p, loop.tile, (cj_reg){0}, steps);
    cj__gemm_tiles_end(k, &loop);
    if (!k->g->stream_k) return;
    const gemm_stream rest = cj__gemm_stream_begin(k, steps);
    load_steps(k, p, rest.tile, rest.first, rest.steps);
    cj__gemm_stream_end(k, &rest);
}

void cj__gemm_produce(gemm_kernel *k, cj_label done) {
    cj_func *f = k->f;
    cj_reg   other = cj_pred(f, "other");
    cj_step(f, "the producer: one thread loads");
    cj_setmaxnreg_dec(f, REGISTERS, NULL);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, k->thread);
    cj_ptx(f, "@$1 bra $2;", other, done);
    producer p = {.a = make_operand(k, true)};
    p.b = make_operand(k, false);
    p.at = cj_pipeline_begin(f, &k->stages, CJ_PRODUCER);
    if (cj__gemm_is_split(k->g))
        load_share(k, &p, done);
    else
        load_tiles(k, &p);
    wait_for_releases(k, &p.at);
    cj_ptx(f, "bra $1;", done);
}
