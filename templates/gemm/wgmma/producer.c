// SPDX-License-Identifier: Apache-2.0
// The producer of the matrix product: one thread starts the tensor copies that fill the stages.
#include "wgmma.h"

// This block's part of each stage of A or B, which it loads and multicasts to the blocks along one axis of its multicast group,
// as each of them does with its own.
typedef struct loader {
    const gemm_operand *o;
    cj_reg              map, base, mask;    // base: where the part lies in the first stage
    cj_reg part_line, part_k;  // where the part begins, s32, along the one axis that is divided; the other is cj_none()
} loader;

static bool is_a(const gemm_kernel *k, const loader *l) { return l->o == &k->g->a; }

// The ranks of the blocks that share an operand, as a mask: those of this one's row (A) or column (B) of the group.
static cj_reg mask_of(const gemm_kernel *k, const loader *l) {
    uint32_t ranks = 0;
    for (uint32_t i = 0; i < l->o->loaders; i++) ranks |= 1u << (is_a(k, l) ? i * k->g->cluster_m : i);
    cj_reg first = is_a(k, l) ? cj_mov(k->f, "u32", "first_rank", k->rank_m)
                              : cj_mul(k->f, "first_rank", k->rank_n, k->g->cluster_m);
    cj_reg wide = cj_mov(k->f, "b32", "ranks", ranks);
    if (k->g->split > 1) first = cj_add(k->f, "first_rank", first, k->split.mates);
    return cj_let(k->f, "b16", "mask", "cvt.u16.u32 $1, $2;", cj_shl(k->f, "ranks", wide, first));
}

static loader make_loader(const gemm_kernel *k, const gemm_operand *o) {
    loader            l = {.o = o, .part_line = cj_none(), .part_k = cj_none()};
    const bool        a = is_a(k, &l), by_k = o->order == CJ_BY_K;
    l.map = cj__gemm_map_address(k, a ? GEMM_MAP_A : GEMM_MAP_B);
    l.base = cj_add(k->f, a ? "a_part" : "b_part", k->shared, a ? 0 : k->g->stages * k->g->a.bytes);
    if (o->loaders == 1) return l;
    cj_reg part = cj_let(k->f, "s32", a ? "a_part_at" : "b_part_at", "mul.lo.s32 $1, $2, $3;",
                         a ? k->rank_n : k->rank_m, (by_k ? o->loaded : k->g->step) / o->loaders);
    *(by_k ? &l.part_line : &l.part_k) = part;
    l.base = cj_let(k->f, "u32", a ? "a_part" : "b_part", "mad.lo.u32 $1, $2, $3, $4;", part, GEMM_ROW, l.base);
    l.mask = mask_of(k, &l);
    return l;
}

// Where the next copy of an operand begins in its matrix, s32.
typedef struct position {
    cj_reg line, k;
} position;

// This block's part of a tile: `line` is the tile's first one, `first_step` its first step of it (cj_none(): 0).
static position find_position(const gemm_kernel *k, const loader *l, cj_reg line, cj_reg first_step) {
    position p;
    p.line = cj_is_none(l->part_line) ? cj_mov(k->f, "s32", "line", line) : cj_add(k->f, "line", line, l->part_line);
    p.k = cj_is_none(l->part_k) ? cj_mov(k->f, "s32", "k", 0) : cj_mov(k->f, "s32", "k", l->part_k);
    if (!cj_is_none(first_step)) cj_ptx(k->f, "mad.lo.s32 $1, $2, $3, $1;", p.k, first_step, k->g->step);
    return p;
}

// Where lines are contiguous, a box for each 64 of them; where K is, one for all. Then on to the block's next step.
static void load_operand(const gemm_kernel *k, const loader *l, const position *p, cj_reg batch, cj_reg stage,
                         cj_reg full) {
    const bool     by_k = l->o->order == CJ_BY_K;
    const uint32_t boxes = by_k ? 1 : l->o->bytes / (GEMM_BOX * GEMM_ROW);
    cj_reg         to = cj_mad(k->f, "to", stage, l->o->bytes, l->base), line = p->line, at[3];
    for (uint32_t box = 0; box < boxes; box++) {
        if (box) line = cj_add(k->f, "box_line", p->line, box * GEMM_BOX);
        if (box) to = cj_add(k->f, "to", to, GEMM_BOX * GEMM_ROW);
        const uint32_t rank = cj__gemm_at(k, at, by_k ? p->k : line, by_k ? line : p->k, batch, l->o->shared);
        if (l->o->loaders > 1)
            cj_tensor_load_multicast(k->f, cj_always(), to, l->map, at, rank, full, CJ_ARG(l->mask));
        else
            cj_tensor_load(k->f, cj_always(), to, l->map, at, rank, full);
    }
    cj_update(k->f, p->k, "add", k->g->step * cj__gemm_splits(k->g));
}

typedef struct producer {
    loader         a, b;
    cj_pipeline_at at;
} producer;

// Steps of a tile, from `first` on (cj_none(): 0). The coordinates are computed before the thread waits for the kernels before.
static void load_steps(const gemm_kernel *k, const producer *p, cj_reg tile, cj_reg first, cj_reg steps) {
    const gemm_place place = cj__gemm_place(k, tile);
    const position   a = find_position(k, &p->a, place.row, first), b = find_position(k, &p->b, place.column, first);
    cj_reg           left = cj_mov(k->f, "u32", "steps_left", steps);
    const uint32_t   bytes = cj__gemm_loaded_stage_bytes(k->g);
    cj__gemm_wait(k);
    CJ_COUNT_DOWN(k->f, "load_step", left, 1) {
        cj_reg full = cj_pipeline_acquire(k->f, &k->stages, &p->at, CJ_ARG(bytes));
        load_operand(k, &p->a, &a, place.batch, p->at.stage, full);
        load_operand(k, &p->b, &b, place.batch, p->at.stage, full);
        cj_pipeline_next(k->f, &k->stages, &p->at);
    }
}

// A block stays until its peers have released all its stages: then none of them arrives at its mbarriers any more. (With the
// sums of peers in the stages, the consumers wait for that.)
static void wait_for_releases(const gemm_kernel *k, const cj_pipeline_at *at) {
    if (cj__gemm_multicast(k->g) == 1 || k->g->sums_in_stages) return;
    cj_step(k->f, "this block stays until its peers have released all stages");
    CJ_COUNT_DOWN(k->f, "stay", cj_mov(k->f, "u32", "stages_left", k->g->stages), 1) {
        cj_pipeline_wait_free(k->f, &k->stages, at);
        cj_pipeline_next(k->f, &k->stages, at);
    }
}

void cj__gemm_produce(gemm_kernel *k, cj_label done) {
    cj_func *f = k->f;
    cj_step(f, "the producer: one thread loads");
    cj_setmaxnreg_dec(f, cj__gemm_registers(k->g).producer, NULL);
    cj_ptx(f, "@$1 bra $2;", cj_ne(f, "other", k->thread, 0), done);
    producer p = {.a = make_loader(k, &k->g->a)};
    p.b = make_loader(k, &k->g->b);
    p.at = cj_pipeline_begin(f, &k->stages, CJ_PRODUCER);
    if (cj__gemm_is_split(k->g)) {
        cj_reg none = cj_eq(f, "no_steps", k->split.steps, 0);
        cj_ptx(f, "@$1 bra $2; // there are fewer steps than blocks", none, done);
        load_steps(k, &p, k->cluster, k->split.first, k->split.steps);
    } else {
        cj_reg steps = cj__load_param(f, "u32", k->steps, "steps");
        CJ_STRIDE(f, tile, cj_mov(f, "u32", "tile", k->cluster), k->clusters, k->count) {
            load_steps(k, &p, tile, cj_none(), steps);
        }
    }
    wait_for_releases(k, &p.at);
    cj_ptx(f, "bra $1;", done);
}
