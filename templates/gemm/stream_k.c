// SPDX-License-Identifier: Apache-2.0
// The tiles that are left when every cluster has made as many whole ones as each other: the steps of all of them are
// one row, of which each cluster takes as many as the others (stream-K), so that none waits for another one's tile.
//
//   steps     | tile 0           | tile 1           | tile 2           |
//   clusters  |0         |1         |2         |3         |4         |      3 rest tiles, 5 clusters
//   shares    |0.0       |1.0    |1.1|2.1       |3.1|3.2  |4.2       |      of cluster and tile: number 0, 1, 2, …
//
// Cluster c's share of tile t is number c + t: shares of a tile follow each other. A consumer warp posts its sums of a
// share in the workspace and counts itself at the tile's counter for such warps; the one that comes last adds up those
// of all shares in their order, and the sums become results as those of a whole tile do. So results are the same each
// time, and nobody waits.
//
//   workspace   | counters: tile, block of the cluster, warp | sums: share, block, warp; as registers lie |
//
// Barriers besides those of gemm.c, and why each is needed and enough:
//   bar.warp.sync before lane 0 counts: all lanes' sums are there, and the atomic's release publishes them. Behind it:
//                 what the last one's lane 0 has acquired, all lanes see.
// A counter wraps at the last share, so that it is ready for the next launch.
#include "split.h"

enum { AT_ONCE = 64 };

static uint32_t sums_of(const gemm_shape *g) { return g->tile_n / 2; }

// ---- who does what

// The row of steps is dealt out: `each` to a cluster, and one more to the first `longer` ones.
gemm_stream cj__gemm_stream_begin(const gemm_kernel *k, cj_reg steps) {
    cj_func    *f = k->f;
    gemm_stream rest = {.next = cj_label_new(f, "next_share"), .end = cj_label_new(f, "no_share"), .of_tile = steps};
    cj_reg      past = cj_pred(f, "past"), one_more = cj_u32(f, "one_more");
    rest.each = cj_u32(f, "each");
    rest.longer = cj_u32(f, "longer");
    rest.at = cj_u32(f, "share_at");
    rest.last = cj_u32(f, "share_end");
    rest.number = cj_u32(f, "rest_tile");
    rest.tile = cj_u32(f, "tile");
    rest.first = cj_u32(f, "first_step");
    rest.steps = cj_u32(f, "share_steps");
    cj_step(f, "the rest: this cluster's part of the steps of all tiles that are left");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", rest.last, k->left, steps);
    cj_ptx(f, "div.u32 $1, $2, $3;", rest.each, rest.last, k->clusters);
    cj_ptx(f, "rem.u32 $1, $2, $3;", rest.longer, rest.last, k->clusters);
    cj_ptx(f, "min.u32 $1, $2, $3;", rest.at, k->cluster, rest.longer);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", rest.at, k->cluster, rest.each);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", past, k->cluster, rest.longer);
    cj_ptx(f, "selp.u32 $1, 1, 0, $2;", one_more, past);
    cj_ptx(f, "add.u32 $1, $2, $3;", rest.last, rest.at, rest.each);
    cj_ptx(f, "add.u32 $1, $1, $2;", rest.last, one_more);
    cj_label_here(f, rest.next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, rest.at, rest.last);
    cj_ptx(f, "@$1 bra $2;", past, rest.end);
    cj_ptx(f, "div.u32 $1, $2, $3;", rest.number, rest.at, steps);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", rest.first, rest.number, steps);
    cj_ptx(f, "sub.u32 $1, $2, $1;", rest.first, rest.at);
    cj_ptx(f, "sub.u32 $1, $2, $3;", rest.steps, steps, rest.first);
    cj_ptx(f, "sub.u32 $1, $2, $3;", one_more, rest.last, rest.at);
    cj_ptx(f, "min.u32 $1, $1, $2; // to the end of the tile or of the part", rest.steps, one_more);
    cj_ptx(f, "add.u32 $1, $2, $3;", rest.tile, k->whole, rest.number);
    return rest;
}

void cj__gemm_stream_end(const gemm_kernel *k, const gemm_stream *rest) {
    cj_ptx(k->f, "add.u32 $1, $1, $2;", rest->at, rest->steps);
    cj_ptx(k->f, "bra $1;", rest->next);
    cj_label_here(k->f, rest->end);
}

// ---- sums that meet

// The cluster that has a step of the row: a new register.
static cj_reg cluster_of(const gemm_kernel *k, const gemm_stream *rest, cj_reg step) {
    cj_func *f = k->f;
    cj_reg   more = cj_u32(f, "one_more"), all = cj_u32(f, "of_longer"), cluster = cj_u32(f, "has_step"),
           behind = cj_u32(f, "behind_longer"), among = cj_pred(f, "among_longer");
    cj_ptx(f, "add.u32 $1, $2, 1;", more, rest->each);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", all, rest->longer, more);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", among, step, all);
    cj_ptx(f, "div.u32 $1, $2, $3;", cluster, step, more);
    cj_ptx(f, "sub.u32 $1, $2, $3;", behind, step, all);
    cj_ptx(f, "max.u32 $1, $2, 1;", more, rest->each);
    cj_ptx(f, "div.u32 $1, $1, $2;", behind, more);
    cj_ptx(f, "add.u32 $1, $1, $2;", behind, rest->longer);
    cj_ptx(f, "selp.u32 $1, $1, $2, $3;", cluster, behind, among);
    return cluster;
}

// The shares of a tile: the number of the first one among all, and how many follow it.
typedef struct shares {
    cj_reg first, others;
} shares;

static shares find_shares(const gemm_kernel *k, const gemm_stream *rest) {
    cj_func *f = k->f;
    cj_reg   step = cj_u32(f, "step"), last = cj_u32(f, "last_step");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", step, rest->number, rest->of_tile);
    cj_ptx(f, "add.u32 $1, $2, $3;", last, step, rest->of_tile);
    cj_ptx(f, "sub.u32 $1, $1, 1;", last);
    shares s = {cluster_of(k, rest, step), cluster_of(k, rest, last)};
    cj_ptx(f, "sub.u32 $1, $1, $2;", s.others, s.first);
    cj_ptx(f, "add.u32 $1, $1, $2;", s.first, rest->number);
    return s;
}

// This warp's number among those of a cluster, behind `which` clusters' warps.
static cj_reg warp_number(const gemm_kernel *k, cj_reg which) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            number = cj_u32(f, "post");
    if (cj__gemm_multicast(g) > 1)
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", number, which, cj__gemm_multicast(g), cj_cluster_rank(f));
    else
        cj_ptx(f, "mov.u32 $1, $2;", number, which);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", number, cj__gemm_consumer_warps(g), k->warp);
    cj_ptx(f, "sub.u32 $1, $1, $2;", number, GEMM_WARPS);
    return number;
}

// Where this lane's sums of a share lie: a new u64 register.
static cj_reg post_of(const gemm_kernel *k, cj_reg share) {
    const gemm_shape *g = k->g;
    cj_func          *f = k->f;
    cj_reg            counters = cj_u32(f, "counters"), at = cj__load_pointer(f, k->workspace, "post_at");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", counters, k->clusters, cj__gemm_cluster_warps(g) * (uint32_t)sizeof(uint32_t));
    cj_ptx(f, "add.u32 $1, $1, $2;", counters, GEMM_COUNTERS_ALIGN - 1);
    cj_ptx(f, "and.b32 $1, $1, $2;", counters, -GEMM_COUNTERS_ALIGN);
    cj_ptx(f, "mad.wide.u32 $1, $2, 1, $1; // behind all counters", at, counters);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", at, warp_number(k, share), cj__gemm_warp_bytes(g));
    cj_ptx(f, "mad.wide.u32 $1, $2, 16, $1;", at, k->lane);
    return at;
}

static void post(const gemm_kernel *k, const gemm_stream *rest, const cj_reg *sum) {
    cj_func *f = k->f;
    cj_reg   share = cj_u32(f, "share");
    cj_step(f, "the sums of this share are posted");
    cj_ptx(f, "add.u32 $1, $2, $3;", share, k->cluster, rest->number);
    cj__gemm_sums_store(k, sum, sums_of(k->g), post_of(k, share));
}

// Whoever is not the last one of the tile's goes on.
static void meet(const gemm_kernel *k, const gemm_stream *rest, const shares *s, cj_label not_last) {
    cj_func *f = k->f;
    cj_reg   counter = cj__load_pointer(f, k->workspace, "counter"), before = cj_u32(f, "shares_before"),
           last = cj_pred(f, "came_last");
    cj_ptx(f, "mad.wide.u32 $1, $2, 4, $1;", counter, warp_number(k, rest->number));
    cj__gemm_come_last(k, counter, CJ_ARG(s->others), before, last, not_last);
}

// sum = those of the tile's shares, added up in their order.
static void add_up(const gemm_kernel *k, const shares *s, const cj_reg *sum) {
    cj_func       *f = k->f;
    const uint32_t count = sums_of(k->g), at_once = count < AT_ONCE ? count : AT_ONCE;
    cj_reg         at = post_of(k, s->first), left = cj_u32(f, "shares_left"), none = cj_pred(f, "none_left");
    cj_reg         next[AT_ONCE];
    cj_label       again = cj_label_new(f, "next_sums"), done = cj_label_new(f, "sums_are_added");
    for (uint32_t i = 0; i < at_once; i++) next[i] = cj_f32(f, "summand");
    cj_step(f, "the sums of all shares of the tile");
    cj__gemm_sums_load(k, "global", sum, count, at, 0);
    cj_ptx(f, "mov.u32 $1, $2;", left, s->others);
    cj_label_here(f, again);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", none, left);
    cj_ptx(f, "@$1 bra $2;", none, done);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, cj__gemm_cluster_warps(k->g) * cj__gemm_warp_bytes(k->g));
    for (uint32_t first = 0; first < count; first += at_once) {
        cj__gemm_sums_load(k, "global", next, at_once, at, first / GEMM_VECTOR * GEMM_VECTOR_BYTES);
        for (uint32_t i = 0; i < at_once; i++) cj_ptx(f, "add.rn.f32 $1, $1, $2;", sum[first + i], next[i]);
    }
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "bra $1;", again);
    cj_label_here(f, done);
}

void cj__gemm_stream_results(gemm_kernel *k, gemm_results *r, const gemm_stream *rest, const cj_reg *sum) {
    cj_label     not_last = cj_label_new(k->f, "not_last");
    const shares s = find_shares(k, rest);
    post(k, rest, sum);
    meet(k, rest, &s, not_last);
    add_up(k, &s, sum);
    const gemm_place place = cj__gemm_place(k, rest->tile);
    cj__gemm_results_take(k, r, sum, &place);
    cj_label_here(k->f, not_last);
}
