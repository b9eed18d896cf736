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
    const bool     is_long = apart < gpu->ring_stages &&
                         (double)cj__ceil_div(g->steps, cj__gemm_splits(g)) >= gpu->ring_steps;
    const bool pays = most > apart && (apart < GEMM_STAGES_MIN || stages > apart || (!stages && is_long));
    const bool fits = (stages ? stages : most) * cj__gemm_stage_bytes(g) >= cj__gemm_peer_bytes(g);
    g->sums_in_stages = asked == GEMM_SUMS_RING || (pays && fits);
    if (g->sums_in_stages) g->stages = most;
}

typedef struct range {
    uint64_t from, to;
} range;

static range range_of(uint64_t asked, uint64_t most) {
    return asked ? (range){asked, asked} : (range){1, most > 1 ? most : 1};
}

// The split that takes least of all that fit; the least one that was asked for if none fits. `unsplit`: no split is tried, too.
// Splits in a cluster double: clusters of a power of two blocks fit as counted; the last of 40 clusters of 3, or of 20 of 6,
// ran late. Clusters of a split that do not run at once are not tried: nothing hides the results of the first ones.
static double choose_split(const cj_params *p, const cj_limits *limits, bool unsplit, gemm_shape *g) {
    const uint64_t *value = p->value, tiles = cj__gemm_tile_count(g);
    const uint64_t  peers = limits->max_cluster < GEMM_SPLIT_MAX ? limits->max_cluster : GEMM_SPLIT_MAX;
    const uint64_t  stages = value[GEMM_STAGES] > GEMM_STAGES_MIN ? value[GEMM_STAGES] : GEMM_STAGES_MIN;
    const range     split = range_of(value[GEMM_SPLIT], g->clustered ? peers / cj__gemm_multicast(g) : 1);
    gemm_shape      best = *g;
    double          least = INFINITY;
    best.split = (uint32_t)split.from;
    best.parts = value[GEMM_PARTS] ? (uint32_t)value[GEMM_PARTS] : 1;
    for (g->split = (uint32_t)split.from; g->split <= split.to; g->split *= 2) {
        if (g->split > 1 && g->split * cj__gemm_multicast(g) > peers) break;
        const uint64_t room = cj__gemm_room(g, limits), most = room / tiles;
        const range    parts = range_of(value[GEMM_PARTS], most < GEMM_PARTS_MAX ? most : GEMM_PARTS_MAX);
        for (g->parts = (uint32_t)parts.from; g->parts <= parts.to; g->parts++) {
            choose_sums(p, limits, g);
            if (g->stages < stages || (cj__gemm_is_split(g) ? g->in_turn : !unsplit)) continue;
            if (g->split > 1 && !value[GEMM_SPLIT] && tiles * g->parts > room) continue;
            const double cost = cj__gemm_is_split(g) ? cj__gemm_cost_split(g, limits, room)
                                                     : cj__gemm_cost_unsplit(g, limits);
            if (cost < least) least = cost, best = *g;
        }
    }
    *g = best;
    return least;
}

// ---- clusters of a tile

// Unsplit tiles: pairs multicast what they load, wherever there is a pair; those of other widths side by side where that leaves
// fewer without a mate.
static void choose_pair(const cj_params *p, gemm_shape *g) {
    uint64_t   along_m = p->value[GEMM_CLUSTER], along_n = p->value[GEMM_CLUSTER_N];
    const bool open_n = along_n == CJ_PARAM_AUTO;
    if (open_n) along_n = 1;
    if (along_m == CJ_PARAM_AUTO) {
        along_m = g->m > g->tile_m && along_n < GEMM_CLUSTER_MAX ? 2 : 1;
        if (along_m == 1 && open_n && g->n > g->tile_n) along_n = 2;
    }
    cj__gemm_set_cluster(g, along_m, along_n);
    const uint64_t tiles = cj__gemm_tile_count(g);
    if (g->tile < GEMM_TILE_128x224 || !open_n || p->value[GEMM_CLUSTER] != CJ_PARAM_AUTO || g->n <= g->tile_n) return;
    cj__gemm_set_cluster(g, 1, 2);
    if (cj__gemm_tile_count(g) >= tiles) cj__gemm_set_cluster(g, along_m, along_n);
}

// Tiles whose K is split: these are tried, too. Of those that cost the same the last one is taken, which multicasts more and
// was measured faster; four along one axis are tried whole alone (choose_row).
static const struct { uint32_t m, n; } split_clusters[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}};

static bool is_open(uint64_t asked, uint32_t along, uint64_t length, uint32_t tile) {
    return asked == along || (asked == CJ_PARAM_AUTO && length > (uint64_t)tile * (along - 1));
}

// What the prediction of unsplit tiles by fours is multiplied by before it is compared with a pair's: they must be faster by a
// margin, but in a few rounds of a long K they were measured faster than the model says.
static double quad_times(const gemm_shape *g, const cj_limits *limits) {
    const double rounds = (double)(cj__gemm_tile_count(g) * cj__gemm_multicast(g)) / limits->sm_count;
    const bool   is_long = (double)g->steps >= gpu->quad_steps && rounds > 1 && rounds <= gpu->quad_rounds;
    return is_long && !cj__gemm_is_split(g) ? gpu->quad_long : gpu->quad;
}

// Unsplit tiles by fours, which load less than a pair does: they pay where L2 bounds the steps of a pair. By consumers in turn
// they never were faster.
static double choose_quad(const cj_params *p, const cj_limits *limits, gemm_shape *g) {
    if (g->in_turn || !is_open(p->value[GEMM_CLUSTER], 2, g->m, g->tile_m)) return INFINITY;
    if (!is_open(p->value[GEMM_CLUSTER_N], 2, g->n, g->tile_n)) return INFINITY;
    cj__gemm_set_cluster(g, 2, 2);
    const double cost = choose_split(p, limits, true, g);
    return cost * quad_times(g, limits);
}

// What the prediction of four in a row is multiplied by: where the operands come from global memory, a pair's prediction is right,
// and the time of four is as the bytes that a block loads.
static double row_times(const gemm_shape *g, const cj_limits *limits, const gemm_operand *common) {
    const double bytes = (double)g->k * g->a.type->bytes * (double)g->batches * ((double)g->m + (double)g->n);
    const double own = cj__gemm_stage_bytes(g) - common->bytes, all = (double)common->extent * GEMM_ROW;
    const double loaded = (own + all / GEMM_CLUSTER_MAX) / (own + all / 2);
    return bytes > (double)limits->l2_bytes ? gpu->between * loaded : gpu->quad;
}

// Four tiles in a row, all of D's columns or rows, which have at least half of the lines that a tile has room for.
static double choose_row(const cj_params *p, const cj_limits *limits, gemm_shape *g) {
    const bool     is_column = g->n <= g->tile_n, is_split = p->value[GEMM_SPLIT] > 1 || p->value[GEMM_PARTS] > 1;
    const uint32_t along_m = is_column ? GEMM_CLUSTER_MAX : 1, along_n = is_column ? 1 : GEMM_CLUSTER_MAX;
    const gemm_operand *common = is_column ? &g->b : &g->a;
    if (g->in_turn || is_split || common->extent > common->lines || 2 * common->extent < common->lines) return INFINITY;
    if (!is_open(p->value[GEMM_CLUSTER], along_m, g->m, g->tile_m)) return INFINITY;
    if (!is_open(p->value[GEMM_CLUSTER_N], along_n, g->n, g->tile_n)) return INFINITY;
    g->split = g->parts = 1;
    cj__gemm_set_cluster(g, along_m, along_n);
    choose_sums(p, limits, g);
    if (g->stages < cj__most(p->value[GEMM_STAGES], GEMM_STAGES_MIN)) return INFINITY;
    return cj__gemm_cost_unsplit(g, limits) * row_times(g, limits, common);
}

static double choose_cluster(const cj_params *p, const cj_limits *limits, uint64_t tile, gemm_shape *g) {
    g->split = g->parts = 1;
    cj__gemm_set_tile(g, tile);
    choose_pair(p, g);
    double       least = choose_split(p, limits, true, g);
    gemm_shape   best = *g;
    const double quad = choose_quad(p, limits, g);
    if (quad < least) least = quad, best = *g;
    const double row = choose_row(p, limits, g);
    if (row < least) least = row, best = *g;
    for (size_t i = 0; i < sizeof split_clusters / sizeof *split_clusters; i++) {
        const uint32_t along_m = split_clusters[i].m, along_n = split_clusters[i].n;
        if (!is_open(p->value[GEMM_CLUSTER], along_m, g->m, g->tile_m)) continue;
        if (!is_open(p->value[GEMM_CLUSTER_N], along_n, g->n, g->tile_n)) continue;
        cj__gemm_set_cluster(g, along_m, along_n);
        const double cost = choose_split(p, limits, false, g);
        if (cost <= least && cost < INFINITY) least = cost, best = *g;
    }
    *g = best;
    return least;
}

// ---- tiles

// A pair of square tiles is turned side by side if D is no wider than high: that takes 1 to 3 % less (H200, 2026-11-21), but not
// where a column of tiles would have no other beside it.
static void turn_pair(const cj_params *p, gemm_shape *g) {
    const bool open = p->value[GEMM_CLUSTER] == CJ_PARAM_AUTO && p->value[GEMM_CLUSTER_N] == CJ_PARAM_AUTO;
    const bool square = g->groups > 1 && g->tile_m == g->tile_n && g->n > g->tile_n && g->n <= g->m;
    const uint64_t tiles = cj__gemm_tile_count(g);
    if (!open || !square || g->cluster_m != 2 || g->cluster_n != 1 || cj__gemm_is_split(g)) return;
    cj__gemm_set_cluster(g, 1, 2);
    if (cj__gemm_tile_count(g) > tiles) cj__gemm_set_cluster(g, 2, 1);
}

// Whether tiles are tried by consumers that compute them together, and in turn.
static bool may_be(const cj_params *p, bool in_turn) {
    const uint64_t asked = p->value[GEMM_CONSUMERS];
    if (asked != GEMM_CONSUMERS_AUTO) return in_turn == (asked == GEMM_CONSUMERS_IN_TURN);
    return !in_turn || gpu->turn_step > 0;
}

// Consumers take tiles of 64 rows in turn; unless they are asked to, the widest alone, smaller ones were measured slower.
static bool may_take_turns(const cj_params *p, const cj_limits *limits, const gemm_shape *g, uint64_t tile) {
    const uint32_t rows = cj__gemm_tiles[tile].m, columns = cj__gemm_tiles[tile].n;
    const double   tiles = (double)(cj__ceil_div(g->m, rows) * cj__ceil_div(g->n, columns) * g->batches);
    if (rows > GEMM_GROUP_ROWS || p->value[GEMM_CONSUMERS] != GEMM_CONSUMERS_AUTO) return rows <= GEMM_GROUP_ROWS;
    return columns == cj__gemm_tiles[1].n && tiles >= gpu->turn_rounds * limits->sm_count;
}

// What the prediction of a tile's best shape is multiplied by: those of other widths were measured in one round of whole tiles.
static double tile_times(const cj_limits *limits, const gemm_shape *g) {
    if (g->tile < GEMM_TILE_128x224) return 1;
    if (cj__gemm_is_split(g)) return gpu->beyond * gpu->margin;
    return cj__gemm_tile_count(g) > cj__most(cj__gemm_room(g, limits), 1) ? gpu->beyond : gpu->between;
}

void cj__gemm_choose(const cj_params *p, const cj_limits *limits, gemm_shape *g) {
    const uint64_t asked = p->value[GEMM_TILE], first = asked ? asked : 1, last = asked ? asked : GEMM_TILES - 1;
    double         least = INFINITY;
    uint64_t       best = first;
    bool           best_in_turn = g->in_turn;
    for (int in_turn = 0; in_turn < 2; in_turn++)
        for (uint64_t tile = first; may_be(p, in_turn) && tile <= last; tile++) {
            if (!cj__gemm_tiles[tile].m || (in_turn && !may_take_turns(p, limits, g, tile))) continue;
            g->in_turn = in_turn;
            double cost = choose_cluster(p, limits, tile, g);
            cost *= tile_times(limits, g);
            if (cost < least) least = cost, best = tile, best_in_turn = in_turn;
        }
    g->in_turn = best_in_turn;
    choose_cluster(p, limits, best, g);
    cj__gemm_set_tile(g, best);  // its deferred subtiles depend on the split
    turn_pair(p, g);
}
