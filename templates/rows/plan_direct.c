// SPDX-License-Identifier: Apache-2.0
// The plan of the direct form: blocks a row, warps a block, pieces.
#include "plan.h"

// Vectors that a thread should hold. Pieces that pass come one after the other: what is in flight is what is held.
static unsigned direct_held(const choice *c) {
    const bool passing = cj__row_is_passing(c);
    if (passing && c->s->pieces > 1) return cj__row_piece_held(c);
    return asked_or(c, ROW_VECTORS, passing ? PASSING_HELD / c->op->inputs : cj__row_held_most(c));
}

// A block has a few warps at least. If rows are so many that all SMs are full of blocks of two warps, the warps that a row with
// little in a load needs are enough: more of them would have few bytes in flight.
static unsigned fewest_warps(const choice *c) {
    enum { TWO_WARPS = 64 };
    const uint64_t blocks = (uint64_t)c->limits->sm_count * c->limits->max_threads_per_sm / TWO_WARPS;
    if (cj__row_is_passing(c)) return PASSING_WARPS_LEAST;
    return c->s->columns <= NARROW_ROW_COLUMNS && !c->s->totals && c->rows >= blocks ? 1 : DIRECT_WARPS_LEAST;
}

// Warps for the pieces there are: each thread holds as many vectors as it may.
static void choose_warps(choice *c) {
    row_shape     *s = c->s;
    const unsigned fewest = fewest_warps(c);
    cj__row_cut(s);
    s->warps = asked_or(c, ROW_WARPS,
                        cj__least(cj__most(cj__ceil_div(s->piece, ROW_WARP * direct_held(c)),
                                           cj__least(fewest, cj__ceil_div(s->piece, ROW_WARP))),
                                  cj__row_warps_most(s)));
    s->held = (unsigned)cj__most(cj__ceil_div(s->piece, cj__row_threads(s)), 1);
}

// Warps of each of so many blocks a row. If rows are few, each gets what there is.
static unsigned direct_warps(const choice *c, unsigned blocks) {
    return asked_or(
        c, ROW_WARPS,
        cj__least(cj__row_warps_most(c->s), blocks > 1 && !cj__row_is_few(c) ? SHARING_WARPS : ALONE_WARPS));
}

uint64_t cj__row_cluster_holds(const choice *c, unsigned blocks) {
    return (uint64_t)blocks * direct_warps(c, blocks) * ROW_WARP * direct_held(c);
}

// Blocks a row: enough to hold the row, or, if rows are few, as many as there are SMs, with a fair amount for each.
static unsigned direct_cluster(const choice *c) {
    const uint64_t vectors = c->s->vectors;
    const unsigned largest = c->limits->max_cluster;
    unsigned       cluster = 1;
    if (!c->clusters || !largest) return 0;
    if (cj__row_is_passing(c)) {
        while (2 * cluster <= cj__least(largest, PASSING_CLUSTER) && vectors > (uint64_t)PASSING_VECTORS * cluster)
            cluster *= 2;
        return cluster > 1 ? cluster : 0;
    }
    while (2 * cluster <= largest && vectors > cj__row_cluster_holds(c, cluster)) cluster *= 2;
    while (2 * cluster <= largest && vectors >= CLUSTER_ROW_VECTORS && vectors / cluster >= 2 * CLUSTER_VECTORS &&
           c->rows * 2 * cluster <= c->limits->sm_count)
        cluster *= 2;
    return cluster > 1 ? cluster : 0;
}

// One, if the most warps hold the row; else as many as registers need. Pieces that pass are a few more: the block stays
// small.
static uint64_t direct_pieces(const choice *c) {
    const unsigned blocks = cj__row_blocks(c->s);
    if (!cj__row_is_passing(c)) {
        const bool holds = c->s->vectors <= blocks * cj__row_cluster_holds(c, 1);
        return holds ? 1 : cj__ceil_div(c->s->vectors, cj__row_cluster_holds(c, blocks));
    }
    const uint64_t share = cj__ceil_div(c->s->vectors, blocks);
    const uint64_t threads = (uint64_t)asked_or(c, ROW_WARPS, PASSING_WARPS) * ROW_WARP;
    return cj__most(cj__least(cj__ceil_div(share, PASSING_PIECE), PASSING_PIECES),
                    cj__ceil_div(share, threads * cj__row_piece_held(c)));
}

void cj__row_plan_direct(choice *c) {
    row_shape *s = c->s;
    s->form = ROW_DIRECT;
    s->cluster = is_asked(c, ROW_CLUSTER) ? asked(c, ROW_CLUSTER) : direct_cluster(c);
    if (!c->clusters || s->totals) s->cluster = 0;
    s->pieces = asked_or(c, ROW_PIECES, 1);
    if (cj__row_plan_short(c)) return;
    if (!asked(c, ROW_PIECES)) s->pieces = direct_pieces(c);
    choose_warps(c);
}
