// SPDX-License-Identifier: Apache-2.0
// The kernel's parameters, which thread, block and cluster this is, and the order of tiles.
#include "kernel.h"

// A thread's registers at the start; the roles then give up and take some (setmaxnreg).
enum { REGISTERS = 168 };

static const char *unless(bool used, const char *comment) { return used ? comment : "not used"; }

void cj__gemm_declare(gemm_kernel *k) {
    static const char *const names[GEMM_MAPS] = {"map_a", "map_b", "map_c", "map_d"};
    const gemm_shape        *g = k->g;
    cj_func                 *f = k->f;
    const bool               scaled = cj__gemm_is_scaled(g), batched = g->batches > 1;
    for (unsigned i = 0; i < GEMM_MAPS; i++)
        k->map[i] = cj_param_array(f, "b8", names[i], sizeof(cj_tensormap), 64,
                                   unless(i != GEMM_MAP_C || g->adds_c, "tensor map"));
    k->alpha = cj_param(f, "f32", "alpha", NULL);
    k->beta = cj_param(f, "f32", "beta", unless(g->adds_c, NULL));
    k->bias = cj_param(f, "u64", "bias", unless(g->bias, "elements as C's"));
    k->scale_a = cj_param(f, "u64", "scale_a", unless(scaled, "f32, or NULL for 1"));
    k->scale_b = cj_param(f, "u64", "scale_b", unless(scaled, "f32, or NULL for 1"));
    k->scale_d = cj_param(f, "u64", "scale_d", unless(cj__gemm_is_d_scaled(g), "f32, or NULL for 1"));
    if (cj__gemm_is_ragged(g)) {
        k->d = cj_param(f, "u64", "d", "as its map has it, for the ends of its lines");
        k->d_leading = cj_param(f, "u64", "d_leading", "elements from a line to the next");
        k->d_stride = cj_param(f, "u64", "d_stride", unless(batched, "elements from a product to the next"));
    }
    k->tiles_m = cj_param(f, "u64", "tiles_m", "rows of tiles of clusters");
    k->tiles_n = cj_param(f, "u64", "tiles_n", "columns of them");
    k->steps = cj_param(f, "u64", "steps", g->deferred ? "of K, at least 1 for each piece of a tile" : "of K");
    k->batches = cj_param(f, "u64", "batches", unless(batched, "products"));
    k->bias_length = cj_param(f, "u64", "bias_length", unless(g->bias, NULL));
    if (cj__gemm_is_ragged(g)) {
        k->d_rows = cj_param(f, "u64", "d_rows", NULL);
        k->d_columns = cj_param(f, "u64", "d_columns", NULL);
    }
    k->workspace = cj_param(
        f, "u64", "workspace",
        unless(g->parts > 1 || g->stream_k, "arrivals of those that share a tile, then their sums"));
    cj_block(f, k->plan->block.x, 1, 1);
    cj_registers_max(f, REGISTERS);
    if (g->clustered) cj_cluster(f, k->plan->cluster.x, 1, 1);
}

cj_reg cj__gemm_load_u32(const gemm_kernel *k, cj_var param, const char *name) {
    cj_reg value = cj_u32(k->f, name);
    cj_ptx(k->f, "ld.param.u32 $1, [$2];", value, param);
    return value;
}

cj_reg cj__gemm_map_address(const gemm_kernel *k, unsigned which) {
    cj_reg map = cj_u64(k->f, "map");
    cj_ptx(k->f, "mov.b64 $1, $2;", map, k->map[which]);
    cj_ptx(k->f, "cvta.param.u64 $1, $1;", map);
    return map;
}

// ---- identity

uint32_t cj__gemm_log2(uint32_t power) { return power > 1 ? 1 + cj__gemm_log2(power / 2) : 0; }

// Shares take turns with the steps: at any time they load what follows each other in memory, whose pages stay open.
static void find_share(gemm_kernel *k, cj_reg share, cj_reg steps) {
    cj_func       *f = k->f;
    gemm_split    *s = &k->split;
    const uint32_t shares = cj__gemm_splits(k->g);
    s->first = share;
    s->steps = cj_u32(f, "steps");
    cj_ptx(f, "add.u32 $1, $2, $3;", s->steps, steps, shares - 1);
    cj_ptx(f, "sub.u32 $1, $1, $2;", s->steps, share);
    cj_ptx(f, "div.u32 $1, $1, $2;", s->steps, shares);
}

// Blocks that load together follow each other.
static void find_rank(gemm_kernel *k) {
    cj_func       *f = k->f;
    gemm_split    *s = &k->split;
    const uint32_t mates = cj__gemm_multicast(k->g);
    if (mates * k->g->split == 1) return;
    s->rank = s->mates = cj_cluster_rank(f);
    if (mates == 1) return;
    s->mate = cj_u32(f, "mate");
    cj_ptx(f, "and.b32 $1, $2, $3;", s->mate, s->mates, mates - 1);
    if (k->g->split == 1) return;
    s->rank = cj_u32(f, "split_rank");
    cj_ptx(f, "div.u32 $1, $2, $3;", s->rank, s->mates, mates);
    cj_ptx(f, "sub.u32 $1, $1, $2; // the first mate's rank", s->mates, s->mate);
}

static void find_split(gemm_kernel *k, cj_reg steps) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    gemm_split       *s = &k->split;
    cj_reg            share = cj_u32(f, "share");
    cj_step(f, "one tile a cluster, and this block's share of its steps");
    cj_ptx(f, "mov.u32 $1, 0;", share);
    if (g->parts > 1) {
        s->part = cj_u32(f, "part");
        cj_ptx(f, "div.u32 $1, $2, $3;", s->part, k->cluster, k->count);
        cj_ptx(f, "mul.lo.u32 $1, $2, $3;", share, s->part, k->count);
        cj_ptx(f, "sub.u32 $1, $1, $2; // its tile", k->cluster, share);
        cj_ptx(f, "mul.lo.u32 $1, $2, $3;", share, s->part, g->split);
    }
    find_rank(k);
    if (g->split > 1) cj_ptx(f, "add.u32 $1, $1, $2;", share, s->rank);
    find_share(k, share, steps);
}

// Stream-K: the tiles that are left after whole rounds.
static void count_left(gemm_kernel *k) {
    cj_func *f = k->f;
    k->left = cj_u32(f, "rest_tiles");
    k->whole = cj_u32(f, "whole_tiles");
    cj_ptx(f, "rem.u32 $1, $2, $3;", k->left, k->count, k->clusters);
    cj_ptx(f, "sub.u32 $1, $2, $3;", k->whole, k->count, k->left);
}

void cj__gemm_identify(gemm_kernel *k) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_step(f, "who this thread is, and which tiles are its cluster's");
    k->thread = cj_u32(f, "thread");
    k->lane = cj_u32(f, "lane");
    k->warp = cj_u32(f, "warp");
    k->group = cj_u32(f, "group");
    k->leader = cj_pred(f, "leader");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "and.b32 $1, $2, 31;", k->lane, k->thread);
    cj_ptx(f, "shr.u32 $1, $2, 5;", k->warp, k->thread);
    cj_ptx(f, "shr.u32 $1, $2, 7;", k->group, k->thread);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->leader, k->lane);
    k->cluster = cj_u32(f, "cluster");
    k->clusters = cj_u32(f, "clusters");
    cj_ptx(f, g->clustered ? "mov.u32 $1, %clusterid.x;" : "mov.u32 $1, %ctaid.x;", k->cluster);
    cj_ptx(f, g->clustered ? "mov.u32 $1, %nclusterid.x;" : "mov.u32 $1, %nctaid.x;", k->clusters);
    k->rows = cj__gemm_load_u32(k, k->tiles_m, "rows");
    k->columns = cj__gemm_load_u32(k, k->tiles_n, "columns");
    k->count = cj_u32(f, "tiles_in_all");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", k->count, k->rows, k->columns);
    if (g->batches > 1) {
        k->of_one = cj_u32(f, "tiles_of_one");
        cj_ptx(f, "mov.u32 $1, $2;", k->of_one, k->count);
        cj_ptx(f, "mul.lo.u32 $1, $1, $2;", k->count, cj__gemm_load_u32(k, k->batches, "batches"));
    }
    if (g->stream_k) count_left(k);
    if (cj__gemm_is_split(g)) find_split(k, cj__gemm_load_u32(k, k->steps, "all_steps"));
    if (cj__gemm_multicast(g) == 1) return;
    cj_reg rank = cj__gemm_is_split(g) ? k->split.mate : cj_cluster_rank(f);
    k->rank_m = cj_u32(f, "rank_m");
    k->rank_n = cj_u32(f, "rank_n");
    if (g->cluster_m > 1)
        cj_ptx(f, "and.b32 $1, $2, $3;", k->rank_m, rank, g->cluster_m - 1);
    else
        cj_ptx(f, "mov.u32 $1, 0;", k->rank_m);
    cj_ptx(f, "shr.u32 $1, $2, $3;", k->rank_n, rank, cj__gemm_log2(g->cluster_m));
}

void cj__gemm_wait(const gemm_kernel *k) {
    if (!k->plan->programmatic) return;
    cj_step(k->f, "the kernels before have ended: what they wrote can be read, and what they read can be written");
    cj_ptx(k->f, "griddepcontrol.wait;");
}

// ---- tiles

// Where along one axis this block's tile begins.
static cj_reg coordinate(const gemm_kernel *k, const char *name, cj_reg tile, uint32_t blocks, cj_reg rank,
                         uint32_t length) {
    cj_func *f = k->f;
    cj_reg   at = cj_s32(f, name);
    if (blocks > 1)
        cj_ptx(f, "mad.lo.s32 $1, $2, $3, $4;", at, tile, blocks, rank);
    else
        cj_ptx(f, "mov.b32 $1, $2;", at, tile);
    cj_ptx(f, "mul.lo.s32 $1, $1, $2;", at, length);
    return at;
}

uint32_t cj__gemm_at(const gemm_kernel *k, cj_reg at[3], cj_reg inner, cj_reg outer, cj_reg batch, bool shared) {
    at[0] = inner;
    at[1] = outer;
    at[2] = batch;
    return k->g->batches > 1 && !shared ? 3 : 2;
}

// Which product of a batch a tile belongs to: a new register. The tile becomes its number there.
static cj_reg emit_batch(const gemm_kernel *k, cj_reg *tile) {
    cj_func *f = k->f;
    cj_reg   batch = cj_s32(f, "batch"), number = cj_u32(f, "tile_of_one");
    cj_ptx(f, "div.u32 $1, $2, $3;", batch, *tile, k->of_one);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", number, batch, k->of_one);
    cj_ptx(f, "sub.u32 $1, $2, $1;", number, *tile);
    *tile = number;
    return batch;
}

// The tile of that number: its band of rows (the last band may have fewer), and within it its column.
gemm_place cj__gemm_place(const gemm_kernel *k, cj_reg tile) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            batch = {0};
    if (g->batches > 1) batch = emit_batch(k, &tile);
    const uint32_t band_rows = (uint32_t)cj__gemm_constants.band_rows;
    cj_reg         band = cj_u32(f, "band"), first = cj_u32(f, "first_row"), high = cj_u32(f, "rows_of_band"),
           in = cj_u32(f, "in_band");
    cj_reg column = cj_u32(f, "tile_column"), row = cj_u32(f, "tile_row");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", in, k->columns, band_rows);
    cj_ptx(f, "div.u32 $1, $2, $3;", band, tile, in);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", in, band);
    cj_ptx(f, "sub.u32 $1, $2, $1;", in, tile);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", first, band, band_rows);
    cj_ptx(f, "sub.u32 $1, $2, $3;", high, k->rows, first);
    cj_ptx(f, "min.u32 $1, $1, $2;", high, band_rows);
    cj_ptx(f, "div.u32 $1, $2, $3;", column, in, high);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", row, column, high);
    cj_ptx(f, "sub.u32 $1, $2, $1;", row, in);
    cj_ptx(f, "add.u32 $1, $1, $2;", row, first);
    return (gemm_place){coordinate(k, "row", row, g->cluster_m, k->rank_m, g->tile_m),
                        coordinate(k, "column", column, g->cluster_n, k->rank_n, g->tile_n), batch};
}

gemm_tiles cj__gemm_tiles_begin(const gemm_kernel *k) {
    cj_func   *f = k->f;
    gemm_tiles loop = {cj_u32(f, "tile"), cj_label_new(f, "next_tile"), cj_label_new(f, "no_tile")};
    cj_reg     past = cj_pred(f, "past");
    cj_ptx(f, "mov.u32 $1, $2;", loop.tile, k->cluster);
    cj_label_here(f, loop.next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, loop.tile, k->g->stream_k ? k->whole : k->count);
    cj_ptx(f, "@$1 bra $2;", past, loop.end);
    return loop;
}

void cj__gemm_tiles_end(const gemm_kernel *k, const gemm_tiles *loop) {
    cj_ptx(k->f, "add.u32 $1, $1, $2;", loop->tile, k->clusters);
    cj_ptx(k->f, "bra $1;", loop->next);
    cj_label_here(k->f, loop->end);
}
