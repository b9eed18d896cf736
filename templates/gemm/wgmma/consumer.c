// SPDX-License-Identifier: Apache-2.0
// The consumers of the matrix product: each warp group multiplies 64 rows of every stage, or the stages of every other tile.
#include "wgmma.h"

enum { PRODUCTS = GEMM_ROW / CJ_WGMMA_BYTES };  // of a step

typedef struct consumer {
    gemm_kernel   *k;
    gemm_results   results;
    cj_reg         a, b;            // matrix descriptors in stage 0
    uint32_t       a_step, b_step;  // from one product of a stage to the next, in a descriptor
    cj_reg         sum[GEMM_SUMS_MAX];
    cj_reg         fresh, adds;  // predicates: false, true
    cj_pipeline_at at;
    cj_reg         before;          // the stage before, whose products may still run
    cj_reg         peer, releases;  // the mbarriers at which this lane arrives, and whether it does
} consumer;

// ---- begin

static cj_reg descriptor_of(const gemm_kernel *k, cj_matrix_order order, cj_reg own, uint32_t *step) {
    const cj_matrix_place place = {order, GEMM_BOX * GEMM_ROW};
    *step = cj_matrix_step(&place) / 16;
    return cj_matrix_descriptor(k->f, own, &place);
}

// A stage is released to every block whose copies fill it here: those of this block's row and column of the multicast group.
// One lane arrives for each of them.
static void find_peers(consumer *c) {
    const gemm_kernel *k = c->k;
    const gemm_shape  *g = k->g;
    cj_func           *f = k->f;
    c->peer = k->stages.empty;
    c->releases = k->leader;
    if (cj__gemm_multicast(g) == 1) return;
    cj_reg to = cj_and(f, "peer", k->lane, cj__gemm_multicast(g) - 1);
    c->releases = cj_eq(f, "releases", to, k->lane);
    c->peer = cj_pipeline_peer(f, &k->stages, g->split > 1 ? cj_add(f, "peer_rank", to, k->split.mates) : to);
    if (g->cluster_m == 1 || g->cluster_n == 1) return;
    cj_reg m = cj_and(f, "peer_m", to, g->cluster_m - 1), n = cj_shr(f, "peer_n", to, cj__log2(g->cluster_m));
    cj_reg same_row = cj_eq(f, "same_row", m, k->rank_m);
    cj_reg same = cj_let(f, "pred", "same", "setp.eq.or.u32 $1, $2, $3, $4;", n, k->rank_n, same_row);
    c->releases = cj_and(f, "releases", c->releases, same);
}

// Zeros that a peer is pushed beside the sums of a subtile of fewer columns.
static void pad_sums(consumer *c) {
    const gemm_shape *g = c->k->g;
    cj_reg            padding = cj__gemm_sum(c->k, "padding");
    cj__gemm_sum_clear(c->k, padding);
    for (uint32_t i = g->tile_n / 2; i < g->subtiles * cj__gemm_sums(g); i++) c->sum[i] = padding;
}

static void begin(consumer *c) {
    const gemm_kernel *k = c->k;
    const gemm_shape  *g = k->g;
    cj_func           *f = k->f;
    cj_reg             own = cj_sub(f, "consumer_group", k->group, 1);
    cj_reg             a = k->shared;
    if (g->teams == 1) a = cj_mad(f, "a_first", own, GEMM_GROUP_ROWS * GEMM_ROW, k->shared);
    cj_reg b = cj_add(f, "b_first", k->shared, g->stages * g->a.bytes);
    c->a = descriptor_of(k, g->a.order, a, &c->a_step);
    c->b = descriptor_of(k, g->b.order, b, &c->b_step);
    c->fresh = cj_ne(f, "fresh", own, own);
    c->adds = cj_eq(f, "adds", own, own);
    for (uint32_t i = 0; i < g->tile_n / 2; i++) c->sum[i] = cj__gemm_sum(k, "sum");
    if (g->split > 1 && cj__gemm_has_last(g)) pad_sums(c);
    c->before = cj_mov(f, "u32", "stage_before", 0);
    find_peers(c);
}

// ---- the mainloop

static cj_reg in_stage(const gemm_kernel *k, cj_reg first, cj_reg stage, uint32_t bytes) {
    cj_reg offset = cj_let(k->f, "b64", "stage_offset", "mul.wide.u32 $1, $2, $3;", stage, bytes / 16);
    return cj_let(k->f, "b64", "in_stage", "add.u64 $1, $2, $3;", offset, first);
}

// This lane's release of a stage.
static void release(const consumer *c, const char *why) {
    cj_pipeline_release(c->k->f, c->releases, c->peer, c->before, why);
}

// The products of a stage start; then those of the stage before are waited for. So stores of results that the caller emits next
// run beside products.
static void emit_products(const consumer *c, bool is_first) {
    const gemm_kernel  *k = c->k;
    const gemm_shape   *g = k->g;
    const cj_wgmma_form form = {g->tile_n, g->a.type->in_ptx, g->a.order, g->b.order, g->b.type->in_ptx};
    cj_func            *f = k->f;
    cj_pipeline_wait(f, &k->stages, &c->at);
    cj_reg a = in_stage(k, c->a, c->at.stage, g->a.bytes), b = in_stage(k, c->b, c->at.stage, g->b.bytes);
    cj_wgmma_fence(f);
    for (uint32_t i = 0; i < PRODUCTS; i++) {
        if (i) a = cj_let(f, "b64", "in_stage", "add.u64 $1, $2, $3;", a, c->a_step);
        if (i) b = cj_let(f, "b64", "in_stage", "add.u64 $1, $2, $3;", b, c->b_step);
        cj_wgmma(f, &form, c->sum, a, b, is_first && !i ? c->fresh : c->adds);
    }
    cj_wgmma_commit(f);
    if (!is_first) {
        cj_wgmma_wait(f, 1, "the products of the stage before are done");
        release(c, NULL);
    }
    cj_set(f, c->before, c->at.stage);
    cj_pipeline_next(f, &k->stages, &c->at);
}

// So many steps, perhaps none, and none of them a tile's first.
static void emit_steps(const consumer *c, cj_reg steps) {
    cj_func *f = c->k->f;
    cj_reg   left = cj_mov(f, "u32", "steps_left", steps);
    CJ_LOOP(f, loop, "multiply_step", "no_step") {
        cj_leave(&loop, cj_eq(f, "none_left", left, 0));
        emit_products(c, false);
        cj_update(f, left, "sub", 1);
    }
}

static void emit_last_steps(const consumer *c, cj_reg steps) {
    cj_step(c->k->f, "the other steps");
    emit_steps(c, steps);
    cj_wgmma_wait(c->k->f, 0, "the tile's sums are there");
}

// ---- whole tiles: the results of one are stored during the mainloop of the next

static void store_deferred(const consumer *c, const char *done, uint32_t first, uint32_t count) {
    CJ_IF(c->k->f, c->results.some, done)
    for (uint32_t i = first; i < first + count; i++) cj__gemm_results_store(c->k, &c->results, i);
}

// How a tile's steps are divided: a step before each deferred subtile's store, `between` after each but the last, and the others.
typedef struct division {
    cj_reg between, others;
} division;

static division divide_steps(const consumer *c) {
    cj_func       *f = c->k->f;
    const uint32_t deferred = c->k->g->deferred;
    cj_reg         steps = cj__load_param(f, "u32", c->k->steps, "steps");
    division       d = {.others = cj_sub(f, "other_steps", steps, deferred ? deferred : 1)};
    if (deferred < 2) return d;
    d.between = cj_div(f, "steps_between", d.others, deferred);
    d.others = cj_let(f, "u32", "other_steps", "mad.lo.s32 $1, $2, $3, $4;", d.between, 1 - (int)deferred, d.others);
    return d;
}

// The first step of a tile, or the steps up to the last deferred subtile's store. Subtiles that were stored one after the other
// would keep the next stages' copies waiting: 1 to 2 % of tiles of 16 to 64 steps (H200, 2026-11-21).
static void emit_first_steps(const consumer *c, const division *d) {
    const gemm_shape *g = c->k->g;
    const uint32_t    deferred = g->deferred;
    cj_func          *f = c->k->f;
    if (!deferred) {
        cj_step(f, "the first step");
        emit_products(c, true);
    }
    for (uint32_t i = 0; i < deferred; i++) {
        cj_step(f, "a step, during which columns %u to %u of the tile before are stored", i * g->subtile,
                i * g->subtile + cj__gemm_columns_of(g, i) - 1);
        emit_products(c, i == 0);
        store_deferred(c, "nothing_to_store", i, 1);
        if (i + 1 == deferred) continue;
        cj_step(f, "the steps before the next columns");
        emit_steps(c, d->between);
    }
}

static void emit_tiles(consumer *c) {
    const gemm_kernel *k = c->k;
    const division     d = divide_steps(c);
    c->at = cj_pipeline_begin(k->f, &k->stages, CJ_CONSUMER);
    CJ_STRIDE(k->f, tile, cj_mov(k->f, "u32", "tile", k->cluster), k->clusters, k->count) {
        emit_first_steps(c, &d);
        cj_step(k->f, "beside products that run: where the tile is");
        const gemm_place place = cj__gemm_place(k, tile);
        cj__gemm_values_bias(k, &c->results.values, &place);
        emit_last_steps(c, d.others);
        release(c, NULL);
        cj__gemm_results_take(c->k, &c->results, c->sum, &place);
    }
}

// ---- consumers in turn: each warp group computes every other tile, and stores its results beside the products of the other one
//
// The stages of a block's tiles follow each other. So that a group waits for no phase of a stage but the next one (it sees only
// whether a phase is even), it waits for its turn, which the other one gives it when all stages of the tile before are full.

// The named barrier at which a group waits for its turn is its number, 1 or 2.
static void take_turn(const gemm_kernel *k, cj_reg tile) {
    CJ_UNLESS(k->f, cj_eq(k->f, "is_first", tile, k->cluster), "first_tile")
    cj_ptx(k->f, "bar.sync $1, $2; // its turn: all stages of the tile before are full", k->group, 2 * GEMM_GROUP);
}

static void give_turn(const gemm_kernel *k, cj_reg tile) {
    cj_reg next = cj_add(k->f, "next_tile", tile, k->clusters), other = cj_sub(k->f, "other_group", 3, k->group);
    CJ_IF(k->f, cj_lt(k->f, "has_next", next, k->count), "no_next_tile")
    cj_ptx(k->f, "bar.arrive $1, $2; // the other group's turn", other, 2 * GEMM_GROUP);
}

// Over so many stages, which the other group takes.
static void skip_stages(const consumer *c, cj_reg steps) {
    cj_func       *f = c->k->f;
    const uint32_t stages = c->k->g->stages;
    cj_reg         at = cj_add(f, "stage_after", c->at.stage, steps), rounds = cj_div(f, "rounds", at, stages);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", c->at.stage, rounds, -(int)stages, at);
    cj_ptx(f, "xor.b32 $1, $1, $2;", c->at.parity, cj_and(f, "turns_over", rounds, 1));
}

static void emit_tiles_in_turn(consumer *c) {
    const gemm_kernel *k = c->k;
    cj_func           *f = k->f;
    cj_reg             steps = cj__load_param(f, "u32", k->steps, "steps"), number = cj_sub(f, "number", k->group, 1);
    cj_reg             first = cj_mad(f, "first_tile", number, k->clusters, k->cluster);
    c->at = cj_pipeline_begin(f, &k->stages, CJ_CONSUMER);
    skip_stages(c, cj_mul(f, "steps_before", number, steps));
    CJ_STRIDE(f, tile, first, cj_shl(f, "every_other", k->clusters, 1), k->count) {
        take_turn(k, tile);
        emit_products(c, true);
        cj_step(f, "beside products that run: where the tile is");
        const gemm_place place = cj__gemm_place(k, tile);
        cj__gemm_values_bias(k, &c->results.values, &place);
        emit_steps(c, cj_sub(f, "other_steps", steps, 1));
        give_turn(k, tile);
        cj_wgmma_wait(f, 0, "the tile's sums are there");
        release(c, NULL);
        skip_stages(c, steps);
        cj__gemm_results_take(k, &c->results, c->sum, &place);
    }
}

// ---- split-K: this block's steps of the cluster's tile; if it has none, its sums are 0

static void emit_split(consumer *c) {
    const gemm_kernel *k = c->k;
    const gemm_place   place = cj__gemm_place(k, k->cluster);
    cj__gemm_values_bias(k, &c->results.values, &place);
    cj_step(k->f, "this block's steps of the tile");
    c->at = cj_pipeline_begin(k->f, &k->stages, CJ_CONSUMER);
    for (uint32_t i = 0; i < k->g->tile_n / 2; i++) cj__gemm_sum_clear(k, c->sum[i]);
    CJ_IF(k->f, cj_ne(k->f, "has_steps", k->split.steps, 0), "no_steps_here") {
        emit_products(c, true);
        emit_last_steps(c, cj_sub(k->f, "other_steps", k->split.steps, 1));
        if (cj__gemm_multicast(k->g) > 1 && !k->g->sums_in_stages)
            release(c, "nobody loads there, but its block waits to leave");
    }
    cj__gemm_split_results(c->k, &c->results, c->sum, &place);
}

void cj__gemm_consume(gemm_kernel *k) {
    consumer c = {.k = k};
    cj_step(k->f, k->g->teams > 1 ? "the consumers: tiles in turn" : "the consumers: 64 rows a warp group");
    cj_setmaxnreg_inc(k->f, cj__gemm_registers(k->g).consumer, NULL);
    begin(&c);
    cj__gemm_wait(k);
    cj__gemm_results_begin(k, &c.results);
    if (cj__gemm_is_split(k->g)) {
        emit_split(&c);
    } else if (k->g->teams > 1) {
        emit_tiles_in_turn(&c);
    } else {
        emit_tiles(&c);
        if (k->g->deferred) cj_step(k->f, "the last tile's results");
        if (k->g->deferred) store_deferred(&c, "all_stored", 0, k->g->deferred);
    }
    cj_bulk_wait_read(k->f, 0, "shared memory stays until it has been read");
}
