// SPDX-License-Identifier: Apache-2.0
// The kernel's parameters, which thread, block and cluster this is, and the order of tiles.
#include "kernel.h"

void cj__gemm_declare_values(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const bool        scaled = cj__gemm_is_scaled(g);
    k->alpha = cj_param(f, cj__gemm_factor_type(g), "alpha", NULL);
    k->beta = cj_param(f, cj__gemm_factor_type(g), "beta", cj__gemm_comment(g->adds_c, NULL));
    k->bias = cj_param(f, "u64", "bias", cj__gemm_comment(g->bias, "elements as C's"));
    k->scale_a = cj_param(f, "u64", "scale_a", cj__gemm_comment(scaled, "f32, or NULL for 1"));
    k->scale_b = cj_param(f, "u64", "scale_b", cj__gemm_comment(scaled, "f32, or NULL for 1"));
    k->scale_d = cj_param(f, "u64", "scale_d", cj__gemm_comment(cj__gemm_is_d_scaled(g), "f32, or NULL for 1"));
}

void cj__gemm_declare(gemm_kernel *k) {
    static const char *const names[GEMM_MAPS] = {"map_a", "map_b", "map_c", "map_d"};
    const gemm_shape        *g = k->g;
    cj_func                 *f = k->f;
    const bool               batched = g->batches > 1;
    for (unsigned i = 0; i < GEMM_MAPS; i++)
        k->map[i] = cj_param_array(f, "b8", names[i], sizeof(cj_tensormap), 64,
                                   cj__gemm_comment(i != GEMM_MAP_C || g->adds_c || cj__gemm_has_last(g), "tensor map"));
    cj__gemm_declare_values(k);
    if (cj__gemm_has_tail(g)) {
        k->d = cj_param(f, "u64", "d", "as its map has it, for the ends of its lines");
        k->d_leading = cj_param(f, "u64", "d_leading", "elements from a line to the next");
        k->d_stride = cj_param(f, "u64", "d_stride", cj__gemm_comment(batched, "elements from a product to the next"));
    }
    k->tiles_m = cj_param(f, "u64", "tiles_m", "rows of tiles of clusters");
    k->tiles_n = cj_param(f, "u64", "tiles_n", "columns of them");
    k->steps = cj_param(f, "u64", "steps", g->deferred ? "of K, at least 1 for each subtile" : "of K");
    k->batches = cj_param(f, "u64", "batches", cj__gemm_comment(batched, "products"));
    k->bias_length = cj_param(f, "u64", "bias_length", cj__gemm_comment(g->bias, NULL));
    if (cj__gemm_has_tail(g)) {
        k->d_rows = cj_param(f, "u64", "d_rows", NULL);
        k->d_columns = cj_param(f, "u64", "d_columns", NULL);
    }
    k->workspace = cj_param(f, "u64", "workspace",
                            cj__gemm_comment(g->parts > 1, "arrivals of those that share a tile, then their sums"));
    cj_registers_max(f, cj__gemm_registers(g).start);
}

cj_reg cj__gemm_map_address(const gemm_kernel *k, unsigned which) {
    return cj_let(k->f, "u64", "map", "cvta.param.u64 $1, $2;",
                  cj_let(k->f, "u64", "map", "mov.b64 $1, $2;", k->map[which]));
}

// ---- identity

// The blocks of a multicast group follow each other in the cluster.
static void find_rank(gemm_kernel *k) {
    gemm_split    *s = &k->split;
    const uint32_t mates = cj__gemm_multicast(k->g);
    if (mates * k->g->split == 1) return;
    s->rank = s->mates = cj_cluster_rank(k->f);
    if (mates == 1) return;
    s->mate = cj_and(k->f, "mate", s->rank, mates - 1);
    if (k->g->split == 1) return;
    s->rank = cj_div(k->f, "split_rank", s->mates, mates);
    s->mates = cj_let(k->f, "u32", "first_mate", "sub.u32 $1, $2, $3; // the first mate's rank", s->mates, s->mate);
}

// Split-K: one tile a cluster; the blocks that compute it take turns with its steps, so that at any time they load what follows
// each other in memory, whose DRAM pages stay open.
static void find_split(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    gemm_split       *s = &k->split;
    cj_reg            steps = cj__load_param(f, "u32", k->steps, "all_steps");
    cj_step(f, "one tile a cluster, and this block's steps of it");
    if (g->parts == 1) {
        s->first = cj_mov(f, "u32", "first_step", 0);
    } else {
        s->part = cj_div(f, "part", k->cluster, k->count);
        cj_reg before = cj_mul(f, "clusters_before", s->part, k->count);
        k->cluster = cj_let(f, "u32", "tile", "sub.u32 $1, $2, $3; // its tile", k->cluster, before);
        s->first = cj_mul(f, "first_step", s->part, g->split);
    }
    find_rank(k);
    if (g->split > 1) s->first = cj_add(f, "first_step", s->first, s->rank);
    s->steps = cj_sub(f, "steps", cj_add(f, "steps", steps, cj__gemm_splits(g) - 1), s->first);
    s->steps = cj_div(f, "steps", s->steps, cj__gemm_splits(g));
}

static void find_place_in_group(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    if (cj__gemm_multicast(g) == 1) return;
    cj_reg rank = cj__gemm_is_split(g) ? k->split.mate : cj_cluster_rank(k->f);
    k->rank_m = g->cluster_m > 1 ? cj_and(k->f, "rank_m", rank, g->cluster_m - 1) : cj_mov(k->f, "u32", "rank_m", 0);
    k->rank_n = cj_let(k->f, "u32", "rank_n", "shr.u32 $1, $2, $3;", rank, cj__log2(g->cluster_m));
}

void cj__gemm_identify_thread(gemm_kernel *k) {
    k->thread = cj_mov(k->f, "u32", "thread", "%tid.x");
    k->lane = cj_and(k->f, "lane", k->thread, GEMM_WARP - 1);
    k->warp = cj_shr(k->f, "warp", k->thread, 5);
}

void cj__gemm_identify(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const bool        is_persistent = !cj__gemm_is_split(g), counts = is_persistent || g->parts > 1;
    cj_step(f, "which thread this is, and which tiles its cluster computes");
    cj__gemm_identify_thread(k);
    k->group = cj_shr(f, "group", k->thread, 7);
    k->leader = cj_eq(f, "leader", k->lane, 0);
    k->cluster = cj__group_number(f, "cluster", g->clustered ? cj__gemm_multicast(g) * g->split : 0);
    if (is_persistent) k->clusters = cj_mov(f, "u32", "clusters", g->clustered ? "%nclusterid.x" : "%nctaid.x");
    k->rows = cj__load_param(f, "u32", k->tiles_m, "rows");
    k->columns = cj__load_param(f, "u32", k->tiles_n, "columns");
    if (counts || g->batches > 1) k->count = cj_mul(f, "tiles_in_all", k->rows, k->columns);
    if (g->batches > 1) {
        k->of_one = cj_mov(f, "u32", "tiles_of_one", k->count);
        if (counts) k->count = cj_mul(f, "tiles_in_all", k->count, cj__load_param(f, "u32", k->batches, "batches"));
    }
    if (cj__gemm_is_split(g)) find_split(k);
    find_place_in_group(k);
}

void cj__gemm_wait(const gemm_kernel *k) {
    if (!k->plan->programmatic) return;
    cj_step(k->f, "the kernels before have ended: what they wrote can be read, and what they read can be written");
    cj_ptx(k->f, "griddepcontrol.wait;");
}

// ---- tiles

cj_reg cj__gemm_warp_of_tile(const gemm_kernel *k) {
    if (k->g->teams > 1) return cj_and(k->f, "warp_of_tile", k->warp, GEMM_WARPS - 1);
    return cj_sub(k->f, "consumer_warp", k->warp, GEMM_WARPS);
}

uint32_t cj__gemm_at(const gemm_kernel *k, cj_reg at[3], cj_reg inner, cj_reg outer, cj_reg batch, bool shared) {
    at[0] = inner;
    at[1] = outer;
    at[2] = batch;
    return k->g->batches > 1 && !shared ? 3 : 2;
}

// Where this block's tile begins along one axis, in elements.
static cj_reg coordinate(const gemm_kernel *k, const char *name, cj_reg tile, uint32_t blocks, cj_reg rank,
                         uint32_t length) {
    cj_reg at = blocks > 1 ? cj_let(k->f, "s32", name, "mad.lo.s32 $1, $2, $3, $4;", tile, blocks, rank)
                           : cj_let(k->f, "s32", name, "mov.b32 $1, $2;", tile);
    return cj_mul(k->f, name, at, length);
}

cj_reg cj__gemm_find_batch(const gemm_kernel *k, cj_reg *tile) {
    cj_reg batch = cj_let(k->f, "s32", "batch", "div.u32 $1, $2, $3;", *tile, k->of_one);
    cj_reg before = cj_let(k->f, "u32", "tiles_before", "mul.lo.u32 $1, $2, $3;", batch, k->of_one);
    *tile = cj_sub(k->f, "tile_of_one", *tile, before);
    return batch;
}

// The tile of that number: its band of rows (the last band may have fewer), and its column and row in the band.
gemm_place cj__gemm_place(const gemm_kernel *k, cj_reg tile) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    const uint32_t    band_rows = (uint32_t)cj__gemm_constants.band_rows;
    const cj_reg      batch = g->batches > 1 ? cj__gemm_find_batch(k, &tile) : cj_none();
    cj_reg            of_band = cj_mul(f, "tiles_of_band", k->columns, band_rows);
    cj_reg            band = cj_div(f, "band", tile, of_band);
    cj_reg            in_band = cj_sub(f, "in_band", tile, cj_mul(f, "tiles_before", of_band, band));
    cj_reg            first = cj_mul(f, "first_row", band, band_rows);
    cj_reg            rows = cj_min(f, "rows_of_band", cj_sub(f, "rows_left", k->rows, first), band_rows);
    cj_reg            column = cj_div(f, "tile_column", in_band, rows);
    cj_reg            row = cj_sub(f, "row_in_band", in_band, cj_mul(f, "tiles_left_of_it", column, rows));
    row = cj_add(f, "tile_row", row, first);
    cj_reg at_row = coordinate(k, "row", row, g->cluster_m, k->rank_m, g->rows);
    return (gemm_place){at_row, coordinate(k, "column", column, g->cluster_n, k->rank_n, g->tile_n), batch};
}
