// SPDX-License-Identifier: Apache-2.0
// The consumers of the matrix product: each warp group multiplies 64 rows of every stage.
#include "roles.h"

enum { REGISTERS = 232, PRODUCTS = GEMM_ROW / CJ_WGMMA_BYTES };  // a thread's; of a step

typedef struct consumer {
    cj_reg         a, b;            // descriptors in stage 0
    uint32_t       a_step, b_step;  // from one product of a stage to the next, in a descriptor
    cj_reg         sum[GEMM_SUMS_MAX];
    cj_reg         fresh, adds;  // predicates: false, true
    cj_pipeline_at at;
    cj_reg         before;          // the stage before
    cj_reg         peer, releases;  // the mbarriers that this lane arrives at, and whether it does
} consumer;

static cj_reg descriptor_of(const gemm_kernel *k, cj_matrix_order order, cj_reg own, uint32_t *step) {
    const cj_matrix_place place = {order, GEMM_BOX * GEMM_ROW};
    *step = cj_matrix_step(&place) / 16;
    return cj_matrix_descriptor(k->f, own, &place);
}

// One lane for each block that waits for this one's releases.
static void find_peers(const gemm_kernel *k, consumer *c) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    c->peer = k->stages.empty;
    c->releases = k->leader;
    if (cj__gemm_multicast(g) == 1) return;
    cj_reg to = cj_u32(f, "peer_rank");
    c->releases = cj_pred(f, "releases");
    cj_ptx(f, "and.b32 $1, $2, $3;", to, k->lane, cj__gemm_multicast(g) - 1);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", c->releases, to, k->lane);
    cj_reg rank = to;
    if (g->split > 1) {
        rank = cj_u32(f, "mate_rank");
        cj_ptx(f, "add.u32 $1, $2, $3;", rank, to, k->split.mates);
    }
    c->peer = cj_pipeline_peer(f, &k->stages, rank);
    if (g->cluster_m == 1 || g->cluster_n == 1) return;
    cj_reg m = cj_u32(f, "peer_m"), n = cj_u32(f, "peer_n"), same = cj_pred(f, "same_row");
    cj_ptx(f, "and.b32 $1, $2, $3;", m, to, g->cluster_m - 1);
    cj_ptx(f, "shr.u32 $1, $2, $3;", n, to, cj__gemm_log2(g->cluster_m));
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", same, m, k->rank_m);
    cj_ptx(f, "setp.eq.or.u32 $1, $2, $3, $1;", same, n, k->rank_n);
    cj_ptx(f, "and.pred $1, $1, $2;", c->releases, same);
}

static void begin_consumer(gemm_kernel *k, consumer *c) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            own = cj_u32(f, "own_rows"), a = cj_u32(f, "a_first"), b = cj_u32(f, "b_first");
    cj_ptx(f, "sub.u32 $1, $2, 1;", own, k->group);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", a, own, GEMM_GROUP_ROWS * GEMM_ROW, k->shared);
    cj_ptx(f, "add.u32 $1, $2, $3;", b, k->shared, g->stages * g->a_bytes);
    c->a = descriptor_of(k, g->a, a, &c->a_step);
    c->b = descriptor_of(k, g->b, b, &c->b_step);
    c->fresh = cj_pred(f, "fresh");
    c->adds = cj_pred(f, "adds");
    cj_ptx(f, "setp.ne.u32 $1, $2, $2;", c->fresh, own);
    cj_ptx(f, "setp.eq.u32 $1, $2, $2;", c->adds, own);
    for (uint32_t i = 0; i < g->tile_n / 2; i++) c->sum[i] = cj_f32(f, "sum");
    c->before = cj_u32(f, "stage_before");
    cj_ptx(f, "mov.u32 $1, 0;", c->before);
    find_peers(k, c);
}

static cj_reg of_stage(const gemm_kernel *k, cj_reg first, cj_reg stage, uint32_t bytes) {
    cj_reg descriptor = cj_b64(k->f, "in_stage");
    cj_ptx(k->f, "mul.wide.u32 $1, $2, $3;", descriptor, stage, bytes / 16);
    cj_ptx(k->f, "add.u64 $1, $1, $2;", descriptor, first);
    return descriptor;
}

// The products of a stage. While they run, what follows may store results; only then is the stage before waited for.
static void emit_products(gemm_kernel *k, consumer *c, bool is_first) {
    const gemm_shape   *g = k->g;
    const cj_wgmma_form form = {g->tile_n, g->a_type->name, g->a, g->b, g->b_type->name};
    cj_func            *f = k->f;
    cj_pipeline_wait(f, &k->stages, &c->at);
    cj_reg a = of_stage(k, c->a, c->at.stage, g->a_bytes), b = of_stage(k, c->b, c->at.stage, g->b_bytes);
    cj_wgmma_fence(f);
    for (uint32_t i = 0; i < PRODUCTS; i++) {
        if (i) cj_ptx(f, "add.u64 $1, $1, $2;", a, c->a_step);
        if (i) cj_ptx(f, "add.u64 $1, $1, $2;", b, c->b_step);
        cj_wgmma(f, &form, c->sum, a, b, is_first && !i ? c->fresh : c->adds);
    }
    cj_wgmma_commit(f);
    if (!is_first) {
        cj_wgmma_wait(f, 1, "the products of the stage before are done");
        cj_pipeline_release(f, c->releases, c->peer, c->before, NULL);
    }
    cj_ptx(f, "mov.u32 $1, $2;", c->before, c->at.stage);
    cj_pipeline_next(f, &k->stages, &c->at);
}

// So many steps, none of them a tile's first.
static void emit_steps(gemm_kernel *k, consumer *c, cj_reg steps) {
    cj_func *f = k->f;
    cj_label next = cj_label_new(f, "multiply_step"), end = cj_label_new(f, "no_step");
    cj_reg   left = cj_u32(f, "steps_left"), none = cj_pred(f, "none_left");
    cj_ptx(f, "mov.u32 $1, $2;", left, steps);
    cj_label_here(f, next);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", none, left);
    cj_ptx(f, "@$1 bra $2;", none, end);
    emit_products(k, c, false);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, end);
}

// How a tile's steps are dealt out: so many between those behind which pieces of the tile before leave, and all others.
typedef struct dealt {
    cj_reg between, others;
} dealt;

static dealt deal_steps(gemm_kernel *k) {
    cj_func *f = k->f;
    cj_reg   steps = cj__gemm_load_u32(k, k->steps, "steps");
    dealt    d = {.others = cj_u32(f, "other_steps")};
    cj_ptx(f, "sub.u32 $1, $2, $3;", d.others, steps, k->g->deferred ? k->g->deferred : 1);
    if (k->g->deferred < 2) return d;
    d.between = cj_u32(f, "steps_between");
    cj_ptx(f, "div.u32 $1, $2, $3;", d.between, d.others, k->g->deferred);
    cj_ptx(f, "mad.lo.s32 $1, $2, $3, $1;", d.others, d.between, 1 - (int)k->g->deferred);
    return d;
}

// The first step of a tile; or one for each piece of the results of the tile before that was kept, and those between them:
// pieces that left one behind the other would keep waiting what is loaded (measured: 1 to 2 % of tiles of 16 to 64 steps).
static void emit_first_steps(gemm_kernel *k, consumer *c, const gemm_results *r, const dealt *d) {
    const uint32_t columns = k->g->subtile;
    cj_func       *f = k->f;
    if (!k->g->deferred) {
        cj_step(f, "the first step");
        emit_products(k, c, true);
    }
    for (uint32_t piece = 0; piece < k->g->deferred; piece++) {
        cj_label none = cj_label_new(f, "nothing_to_store");
        cj_step(f, "a step, behind which columns %u to %u of the tile before leave", piece * columns,
                piece * columns + columns - 1);
        emit_products(k, c, piece == 0);
        cj_ptx(f, "@!$1 bra $2;", r->some, none);
        cj__gemm_results_store(k, r, piece);
        cj_label_here(f, none);
        if (piece + 1 == k->g->deferred) continue;
        cj_step(f, "the steps before the next columns");
        emit_steps(k, c, d->between);
    }
}

static void emit_other_steps(gemm_kernel *k, consumer *c, cj_reg steps) {
    cj_step(k->f, "the other steps");
    emit_steps(k, c, steps);
    cj_wgmma_wait(k->f, 0, "the tile's sums are there");
}

// What was kept of the last tile.
static void emit_last_results(gemm_kernel *k, const gemm_results *r) {
    cj_func *f = k->f;
    cj_label done = cj_label_new(f, "all_stored");
    if (!k->g->deferred) return;
    cj_step(f, "the last tile's results");
    cj_ptx(f, "@!$1 bra $2;", r->some, done);
    for (uint32_t piece = 0; piece < k->g->deferred; piece++) cj__gemm_results_store(k, r, piece);
    cj_label_here(f, done);
}

// All that was kept of the tile before leaves behind the first step of a share, which may have but one.
static void emit_first_step_of_share(gemm_kernel *k, consumer *c, const gemm_results *r) {
    cj_func *f = k->f;
    cj_label none = cj_label_new(f, "nothing_to_store");
    cj_step(f, k->g->deferred ? "the share's first step; behind it leave the results of the tile before"
                              : "the share's first step");
    emit_products(k, c, true);
    if (!k->g->deferred) return;
    cj_ptx(f, "@!$1 bra $2;", r->some, none);
    for (uint32_t piece = 0; piece < k->g->deferred; piece++) cj__gemm_results_store(k, r, piece);
    cj_label_here(f, none);
    cj_ptx(f, "setp.ne.u32 $1, $2, $2;", r->some, c->before);
}

// The bias of the tile whose steps follow.
static void load_bias(gemm_kernel *k, const gemm_results *r, cj_reg tile) {
    if (!k->g->bias) return;
    const gemm_place place = cj__gemm_place(k, tile);
    cj__gemm_values_bias(k, &r->values, &place);
}

// A share of the steps of a tile, which may be none; then its sums are 0.
static void emit_share(gemm_kernel *k, consumer *c, gemm_results *r) {
    cj_func *f = k->f;
    cj_label none = cj_label_new(f, "no_share");
    cj_reg   some = cj_pred(f, "has_share"), others = cj_u32(f, "other_steps");
    load_bias(k, r, k->cluster);
    cj_step(f, "this block's steps of the tile");
    c->at = cj_pipeline_begin(f, &k->stages, CJ_CONSUMER);
    for (uint32_t i = 0; i < k->g->tile_n / 2; i++) cj_ptx(f, "mov.f32 $1, $2;", c->sum[i], 0.0F);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", some, k->split.steps);
    cj_ptx(f, "@!$1 bra $2;", some, none);
    emit_products(k, c, true);
    cj_ptx(f, "sub.u32 $1, $2, 1;", others, k->split.steps);
    emit_other_steps(k, c, others);
    if (cj__gemm_multicast(k->g) > 1 && !k->g->sums_in_stages)
        cj_pipeline_release(f, c->releases, c->peer, c->before, "nobody loads there, but its block waits to leave");
    cj_label_here(f, none);
    const gemm_place place = cj__gemm_place(k, k->cluster);
    cj__gemm_split_results(k, r, c->sum, &place);
}

// This cluster's shares of the tiles that are left.
static void emit_rest(gemm_kernel *k, consumer *c, gemm_results *r) {
    cj_func    *f = k->f;
    cj_reg      others = cj_u32(f, "other_steps");
    gemm_stream rest = cj__gemm_stream_begin(k, cj__gemm_load_u32(k, k->steps, "steps"));
    load_bias(k, r, rest.tile);
    emit_first_step_of_share(k, c, r);
    cj_ptx(f, "sub.u32 $1, $2, 1;", others, rest.steps);
    emit_other_steps(k, c, others);
    cj_pipeline_release(f, c->releases, c->peer, c->before, NULL);
    cj__gemm_stream_results(k, r, &rest, c->sum);
    cj__gemm_stream_end(k, &rest);
}

// Tile after tile, whose results leave behind steps of the next one where they are kept.
static void emit_tiles(gemm_kernel *k, consumer *c, gemm_results *r) {
    cj_func    *f = k->f;
    const dealt d = deal_steps(k);
    c->at = cj_pipeline_begin(f, &k->stages, CJ_CONSUMER);
    gemm_tiles loop = cj__gemm_tiles_begin(k);
    load_bias(k, r, loop.tile);
    emit_first_steps(k, c, r, &d);
    emit_other_steps(k, c, d.others);
    cj_pipeline_release(f, c->releases, c->peer, c->before, NULL);
    const gemm_place place = cj__gemm_place(k, loop.tile);
    cj__gemm_results_take(k, r, c->sum, &place);
    cj__gemm_tiles_end(k, &loop);
    if (k->g->stream_k) emit_rest(k, c, r);
    emit_last_results(k, r);
}

void cj__gemm_consume(gemm_kernel *k) {
    cj_func     *f = k->f;
    consumer     c = {0};
    gemm_results r = {0};
    cj_step(f, "the consumers: 64 rows a warp group");
    cj_setmaxnreg_inc(f, REGISTERS, NULL);
    begin_consumer(k, &c);
    cj__gemm_wait(k);
    cj__gemm_results_begin(k, &r);
    if (cj__gemm_is_split(k->g))
        emit_share(k, &c, &r);
    else
        emit_tiles(k, &c, &r);
    cj_bulk_wait_read(f, 0, "shared memory stays until it has been read");
}
