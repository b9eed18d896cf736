// SPDX-License-Identifier: Apache-2.0
// The shape that takes least of all that the parameters leave open: every tile, with every cluster and split that is worth
// trying, as the cost model sees them.
#include "plan.h"

static const gemm_constants *const gpu = &cj__gemm_constants;

// ---- splits of a tile and a multicast group

// Where the sums of peers go, and how many stages fit then: into the stages if that makes room for stages that a long K uses.
static void choose_sums(const cj_params *p, const cj_limits *limits, gemm_shape *g) {
    const uint64_t asked = p->value[GEMM_SUMS], stages = p->value[GEMM_STAGES];
    g->sums_in_stages = false;
    const uint32_t apart = g->stages = cj__gemm_stages_most(g, limits);
    if (g->split == 1 || asked == GEMM_SUMS_APART) return;
    g->sums_in_stages = true;
    const uint32_t most = cj__gemm_stages_most(g, limits);
    const bool     is_long = apart < gpu->sums_stages &&
                         (double)cj__ceil_div(g->steps, cj__gemm_splits(g)) >= gpu->sums_steps;
    const bool pays = most > apart && (apart < GEMM_STAGES_MIN || stages > apart || (!stages && is_long));
    const bool fits = (stages ? stages : most) * cj__gemm_stage_bytes(g) >= cj__gemm_peer_bytes(g);
    g->sums_in_stages = asked == GEMM_SUMS_STAGES || (pays && fits);
    if (g->sums_in_stages) g->stages = most;
}

typedef struct range {
    uint64_t from, to;
} range;

static range range_of(uint64_t asked, uint64_t most) {
    return asked ? (range){asked, asked} : (range){1, most > 1 ? most : 1};
}

// A shape and the clocks that it is predicted to take.
typedef struct candidate {
    gemm_shape shape;
    double     clocks;
} candidate;

// Splits of a tile by a multicast group. In a cluster they double: clusters of a power of two blocks fit as counted; the last of 40
// clusters of 3, or of 20 of 6, ran late. Unless parts are asked for, no more are tried than run at once.
static void try_splits(const cj_params *p, const cj_limits *limits, gemm_shape *g, candidate *best) {
    const uint64_t *value = p->value, tiles = cj__gemm_tile_count(g);
    const uint64_t  peers = cj__least(limits->max_cluster, GEMM_SPLIT_MAX), multicast = cj__gemm_multicast(g);
    const bool      is_row = g->cluster_m == GEMM_CLUSTER_MAX || g->cluster_n == GEMM_CLUSTER_MAX, is_whole = is_row || g->in_turn;
    const range     split = range_of(value[GEMM_SPLIT], g->clustered && !is_whole ? peers / multicast : 1);
    for (g->split = (uint32_t)split.from; g->split <= split.to && g->split * multicast <= peers; g->split *= 2) {
        const uint64_t room = cj__gemm_room(g, limits);
        const range    parts = range_of(value[GEMM_PARTS], is_whole ? 1 : cj__least(room / tiles, GEMM_PARTS_MAX));
        for (g->parts = (uint32_t)parts.from; g->parts <= parts.to; g->parts++) {
            cj__gemm_set_tile(g, g->tile);  // whether results are deferred, and consumers take turns, depends on the split
            choose_sums(p, limits, g);
            if (g->stages < cj__most(value[GEMM_STAGES], GEMM_STAGES_MIN) || (g->in_turn && g->teams == 1)) continue;
            const double clocks = cj__gemm_cost(g, room);
            if (clocks < best->clocks) *best = (candidate){*g, clocks};
        }
    }
}

// ---- clusters of a tile

// Multicast groups that are tried where at least half of their blocks have a tile. Of those that take the same the first one is taken.
static const struct { uint32_t m, n; } groups[] = {{2, 1}, {1, 2}, {1, 1}, {2, 2}, {4, 1}, {1, 4}};

static bool is_open(uint64_t asked, uint32_t along, uint64_t length, uint32_t tile) {
    return asked == along || (asked == CJ_PARAM_AUTO && length > (uint64_t)tile * (along / 2));
}

static void try_groups(const cj_params *p, const cj_limits *limits, gemm_shape *g, candidate *best) {
    const uint64_t along_m = p->value[GEMM_CLUSTER];
    const bool     is_column = along_m != CJ_PARAM_AUTO && p->value[GEMM_CLUSTER_N] == CJ_PARAM_AUTO;
    const uint64_t along_n = is_column ? 1 : p->value[GEMM_CLUSTER_N];
    for (size_t i = 0; along_m && i < sizeof groups / sizeof *groups; i++) {
        const uint32_t columns = cj__gemm_tiles[g->tile].n;
        if (!is_open(along_m, groups[i].m, g->m, g->tile_m) || !is_open(along_n, groups[i].n, g->n, columns)) continue;
        if (g->in_turn && groups[i].m * groups[i].n > gpu->turn_blocks && along_m == CJ_PARAM_AUTO) continue;
        cj__gemm_set_cluster(g, groups[i].m, groups[i].n);
        try_splits(p, limits, g, best);
    }
    if (along_m) return;
    cj__gemm_set_cluster(g, 0, 1);
    try_splits(p, limits, g, best);
}

// ---- tiles

// Whether tiles are tried by consumers that compute them together, and in turn, as those of 64 rows can.
static bool may_be(const cj_params *p, const gemm_shape *g, bool in_turn) {
    const uint64_t asked = p->value[GEMM_CONSUMERS];
    if (asked != GEMM_CONSUMERS_AUTO) return in_turn == (asked == GEMM_CONSUMERS_IN_TURN);
    return !in_turn || (g->tile_m == GEMM_GROUP_ROWS && cj__gemm_tiles[g->tile].n >= GEMM_TURN_COLUMNS);
}

// What was asked for although nothing of it fits, for the plan to refuse.
static gemm_shape as_asked(const cj_params *p, const cj_limits *limits, gemm_shape g) {
    const uint64_t *value = p->value, along_m = value[GEMM_CLUSTER], along_n = value[GEMM_CLUSTER_N];
    g.in_turn = value[GEMM_CONSUMERS] == GEMM_CONSUMERS_IN_TURN;
    g.split = value[GEMM_SPLIT] ? (uint32_t)value[GEMM_SPLIT] : 1;
    g.parts = value[GEMM_PARTS] ? (uint32_t)value[GEMM_PARTS] : 1;
    cj__gemm_set_tile(&g, value[GEMM_TILE] ? value[GEMM_TILE] : GEMM_TILE_128x128);
    cj__gemm_set_cluster(&g, along_m == CJ_PARAM_AUTO ? 1 : along_m, along_n == CJ_PARAM_AUTO ? 1 : along_n);
    choose_sums(p, limits, &g);
    return g;
}

static void try_tiles(const cj_params *p, const cj_limits *limits, gemm_shape *g, candidate *best) {
    const uint64_t asked = p->value[GEMM_TILE], first = asked ? asked : 1, last = asked ? asked : GEMM_TILES - 1;
    for (uint64_t tile = first; tile <= last; tile++) {
        if (!cj__gemm_tiles[tile].m) continue;
        for (int in_turn = 0; in_turn < 2; in_turn++) {
            g->in_turn = in_turn;
            cj__gemm_set_tile(g, tile);
            if (may_be(p, g, in_turn)) try_groups(p, limits, g, best);
        }
    }
}

// ---- A and B, or B and A

// Not where D has no more rows or columns than a consumer group has rows: of those that are missing nothing is loaded. Nor where the user
// counts rows and columns of D: those of a tile, or blocks of a cluster.
static bool may_swap(const cj_params *p, const gemm_shape *g) {
    const uint64_t *value = p->value;
    const bool      is_asked = value[GEMM_TILE] || value[GEMM_CLUSTER] != CJ_PARAM_AUTO || value[GEMM_CLUSTER_N] != CJ_PARAM_AUTO;
    return value[GEMM_SWAP] == GEMM_SWAP_AUTO && cj__gemm_can_swap(g) && cj__least(g->m, g->n) > GEMM_GROUP_ROWS && !is_asked;
}

void cj__gemm_choose(const cj_params *p, const cj_limits *limits, gemm_shape *g) {
    candidate  best = {*g, INFINITY}, other = best;
    gemm_shape swapped = *g;
    try_tiles(p, limits, g, &best);
    if (may_swap(p, g)) {
        cj__gemm_swap(&swapped);
        try_tiles(p, limits, &swapped, &other);
    }
    if (other.clocks * gpu->swap_gain < best.clocks) best = other;
    *g = best.clocks < INFINITY ? best.shape : as_asked(p, limits, *g);
}
