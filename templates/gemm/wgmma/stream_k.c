// SPDX-License-Identifier: Apache-2.0
// Stream-K for the tiles that are left after whole rounds: the steps of all of them are one row, which is divided evenly among
// all clusters, so that no cluster waits while others compute a last round.
//
//   steps     | tile 0           | tile 1           | tile 2           |
//   clusters  |0         |1         |2         |3         |4         |      3 tiles are left, 5 clusters
//   shares    |0.0       |1.0    |1.1|2.1       |3.1|3.2  |4.2       |      of cluster and tile: number 0, 1, 2, …
//
// Cluster c's share of tile t is number c + t: the shares of a tile follow each other. A consumer warp stores its partials of a
// share in the workspace and increments the tile's counter for such warps (partials.c); the warp that comes last adds up those
// of all shares in their order, and the sums become results as those of a whole tile do. So results are the same each time, and
// no warp waits for another one.
//
//   workspace   | counters: tile, block of the cluster, warp | partials: share, block, warp; as registers hold them |
#include "wgmma.h"

enum { IN_FLIGHT = 64 };  // sums of a lane that are loaded together

static uint32_t sums_of(const gemm_shape *g) { return g->tile_n / 2; }

// ---- which steps

gemm_stream cj__gemm_stream(const gemm_kernel *k, cj_reg steps) {
    cj_func    *f = k->f;
    gemm_stream s = {.of_tile = steps};
    cj_step(f, "stream-K: this cluster's part of the steps of all tiles that are left");
    cj_reg all = cj_mul(f, "steps_left", k->left, steps);
    s.each = cj_div(f, "each", all, k->clusters);
    s.longer = cj_rem(f, "longer", all, k->clusters);
    s.at = cj_mad(f, "step_at", k->cluster, s.each, cj_min(f, "longer_before", k->cluster, s.longer));
    cj_reg one_more = cj_select(f, "u32", "one_more", cj_lt(f, "is_longer", k->cluster, s.longer), 1, 0);
    s.end = cj_add(f, "step_end", cj_add(f, "step_end", s.at, s.each), one_more);
    return s;
}

gemm_share cj__gemm_share(const gemm_kernel *k, const gemm_stream *s) {
    cj_func   *f = k->f;
    gemm_share share;
    share.number = cj_div(f, "tile_left", s->at, s->of_tile);
    share.first = cj_sub(f, "first_step", s->at, cj_mul(f, "steps_before", share.number, s->of_tile));
    cj_reg of_tile = cj_sub(f, "left_of_tile", s->of_tile, share.first),
           of_part = cj_sub(f, "left_of_part", s->end, s->at);
    share.steps = cj_min(f, "share_steps", of_tile, of_part);
    share.tile = cj_add(f, "tile", k->whole, share.number);
    return share;
}

// The cluster that has a step of the row.
static cj_reg cluster_of(const gemm_kernel *k, const gemm_stream *s, cj_reg step) {
    cj_func *f = k->f;
    cj_reg   one_more = cj_add(f, "one_more", s->each, 1), of_longer = cj_mul(f, "of_longer", s->longer, one_more);
    cj_reg   among = cj_lt(f, "among_longer", step, of_longer), cluster = cj_div(f, "has_step", step, one_more);
    cj_reg   after = cj_sub(f, "after_longer", step, of_longer), each = cj_max(f, "at_least_one", s->each, 1);
    after = cj_add(f, "after_longer", cj_div(f, "after_longer", after, each), s->longer);
    return cj_select(f, "u32", "has_step", among, cluster, after);
}

// The shares of a tile: the number of the first one among all, and how many follow it.
typedef struct shares {
    cj_reg first, others;
} shares;

static shares shares_of(const gemm_kernel *k, const gemm_stream *s, const gemm_share *share) {
    cj_reg step = cj_mul(k->f, "step", share->number, s->of_tile);
    cj_reg last = cj_sub(k->f, "last_step", cj_add(k->f, "last_step", step, s->of_tile), 1);
    cj_reg from = cluster_of(k, s, step), others = cj_sub(k->f, "other_shares", cluster_of(k, s, last), from);
    return (shares){cj_add(k->f, "first_share", from, share->number), others};
}

// ---- their partials

// This warp's number among those of a cluster, after `which` clusters' warps.
static cj_reg warp_number(const gemm_kernel *k, cj_reg which) {
    cj_reg number = cj__gemm_multicast(k->g) > 1
                        ? cj_mad(k->f, "blocks_before", which, cj__gemm_multicast(k->g), cj_cluster_rank(k->f))
                        : cj_mov(k->f, "u32", "blocks_before", which);
    number = cj_mad(k->f, "warps_before", number, cj__gemm_consumer_warps(k->g), k->warp);
    return cj_sub(k->f, "warps_before", number, GEMM_WARPS);
}

// Where this lane's partials of a share lie, after all counters.
static cj_reg partials_of(const gemm_kernel *k, cj_reg share) {
    cj_func *f = k->f;
    cj_reg   at = cj__load_pointer(f, k->workspace, "partials");
    cj_reg   bytes = cj_mul(f, "counters", k->clusters, cj__gemm_cluster_warps(k->g) * (uint32_t)sizeof(uint32_t));
    bytes = cj_and(f, "counters", cj_add(f, "counters", bytes, GEMM_COUNTERS_ALIGN - 1), -GEMM_COUNTERS_ALIGN);
    at = cj_let(f, "u64", "partials", "mad.wide.u32 $1, $2, 1, $3; // after all counters", bytes, at);
    at = cj_mad_wide(f, "partials", warp_number(k, share), cj__gemm_warp_bytes(k->g), at);
    return cj_mad_wide(f, "partials", k->lane, 16, at);
}

// sum = the partials of the tile's shares, added up in their order.
static void add_up(const gemm_kernel *k, const shares *s, const cj_reg *sum) {
    cj_func       *f = k->f;
    const uint32_t count = sums_of(k->g), in_flight = count < IN_FLIGHT ? count : IN_FLIGHT;
    cj_reg         at = partials_of(k, s->first), summand[IN_FLIGHT];
    for (uint32_t i = 0; i < in_flight; i++) summand[i] = cj_f32(f, "summand");
    cj_step(f, "the partials of all shares of the tile are added up");
    cj__gemm_sums_load(k, "ld.global", sum, count, at, 0);
    cj_reg left = cj_mov(f, "u32", "shares_left", s->others);
    CJ_LOOP(f, loop, "next_partials", "partials_are_added") {
        cj_leave(&loop, cj_eq(f, "none_left", left, 0));
        cj_update(f, at, "add", cj__gemm_cluster_warps(k->g) * cj__gemm_warp_bytes(k->g));
        for (uint32_t first = 0; first < count; first += in_flight) {
            const uint32_t these = count - first < in_flight ? count - first : in_flight;
            cj__gemm_sums_load(k, "ld.global", summand, these, at, first / GEMM_VECTOR * GEMM_VECTOR_BYTES);
            cj__gemm_sums_add(k, sum + first, summand, these);
        }
        cj_update(f, left, "sub", 1);
    }
}

void cj__gemm_stream_results(const gemm_kernel *k, gemm_results *r, const gemm_stream *s, const gemm_share *share,
                             const cj_reg *sum) {
    const shares of_tile = shares_of(k, s, share);
    cj_step(k->f, "the partials of this share are stored");
    cj_reg number = cj_add(k->f, "share", k->cluster, share->number);
    cj__gemm_sums_store(k, sum, sums_of(k->g), partials_of(k, number));
    cj_reg counter = cj__load_pointer(k->f, k->workspace, "counter");
    counter = cj_mad_wide(k->f, "counter", warp_number(k, share->number), 4, counter);
    CJ_IF(k->f, cj__gemm_comes_last(k, counter, CJ_ARG(of_tile.others)), "not_last") {
        cj__gemm_see_partials(k);
        add_up(k, &of_tile, sum);
        const gemm_place place = cj__gemm_place(k, share->tile);
        cj__gemm_results_take(k, r, sum, &place);
    }
}
