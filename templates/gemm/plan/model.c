// SPDX-License-Identifier: Apache-2.0
// What a shape takes, predicted: "The cost model" in docs/maintaining/gemm.md has the formulas, constants.def the numbers.
#include "plan.h"

enum { LARGE_TILE = 128 * 256, SQUARE_TILE = 128 * 128, SMALLEST_TILE = 64 * 64 };

static const gemm_constants *const gpu = &cj__gemm_constants;

// ---- clusters that run at once

static uint64_t room_in(const gemm_shape *g, const cj_limits *limits) {
    return cj__clusters_at_once(limits, cj__gemm_threads(g), limits->shared_per_block_optin,
                                cj__gemm_multicast(g) * g->split);
}

static uint64_t room_in_gpcs_of(const gemm_shape *g, const cj_limits *target, uint32_t sms) {
    cj_limits limits = *target;
    uint32_t  left = target->sm_count;
    for (size_t i = 0; left && i < sizeof limits.gpc_sms / sizeof *limits.gpc_sms; i++) {
        limits.gpc_sms[i] = (uint8_t)(left < sms ? left : sms);
        left -= limits.gpc_sms[i];
    }
    return room_in(g, &limits);
}

// A cluster that does not fit beside the others runs after them and doubles the time. So where the GPCs are not known, they
// are taken for those that hold fewer clusters: 22 clusters of 6 fit GPCs of 18 SMs, but 16 fit GPCs of 16.
uint64_t cj__gemm_room(const gemm_shape *g, const cj_limits *limits) {
    if (limits->gpc_sms[0]) return room_in(g, limits);
    const uint64_t whole = room_in_gpcs_of(g, limits, (uint32_t)gpu->gpc_sms),
                   few = room_in_gpcs_of(g, limits, (uint32_t)gpu->gpc_sms_few);
    return cj__least(whole, few);
}

// ---- the mainloop

// Global memory, at least: all of A and B comes from there if L2 does not hold it, a little faster to many blocks.
static double global_clocks(const gemm_shape *g, const cj_limits *limits, double blocks) {
    const double bytes = (double)g->k * (double)g->a.type->bytes * (double)g->batches * ((double)g->m + (double)g->n);
    const double part = fmin(blocks / limits->sm_count, 1);
    return bytes > (double)limits->l2_bytes ? bytes / (gpu->global_bytes * sqrt(sqrt(part))) : 0;
}

// Two things at the same time: where they take about as long, neither hides the other.
static double beside(double clocks, double others) { return cbrt(clocks * clocks * clocks + others * others * others); }

static double tile_clocks(const gemm_shape *g) {
    if (g->teams > 1 && gpu->turn_step > 0) return gpu->turn_step * g->tile_n / cj__gemm_tiles[1].n;
    return cj__gemm_tiles[g->tile].step * gpu->step;
}

// L2 reads whole lines: where a matrix's lines are no multiple of them, each 128 bytes of a box lie in two. Where all SMs compute
// many tiles that costs less, but not by consumers in turn.
static double l2_lines(const gemm_shape *g, const gemm_operand *o, const cj_limits *limits) {
    const double rounds = (double)g->m * (double)g->n * (double)g->batches / (SQUARE_TILE * (double)limits->sm_count);
    if (!o->is_cut) return 1;
    return g->teams > 1 || rounds < gpu->cut_rounds ? 2 : gpu->cut_lines;
}

// Bytes of L2's lines for a stage that a block loads itself: its multicast group loads the others.
static double loaded_bytes(const gemm_shape *g, const cj_limits *limits) {
    return g->a.bytes / g->a.loaders * l2_lines(g, &g->a, limits) + g->b.bytes / g->b.loaders * l2_lines(g, &g->b, limits);
}

// A step of so many blocks: the slowest of products, loads, and refills of all stages but one.
static double step_clocks(const gemm_shape *g, const cj_limits *limits, double blocks) {
    const double loads = fmax(cj__gemm_stage_bytes(g) / gpu->block_bytes, loaded_bytes(g, limits) * blocks / gpu->l2_bytes);
    const double refill = global_clocks(g, limits, blocks) > 0 ? gpu->refill / (g->stages - 1) : 0;
    return fmax(tile_clocks(g), fmax(loads, refill));
}

// ---- results

static bool is_large(const gemm_shape *g) { return g->tile_m * g->tile_n >= LARGE_TILE && g->d_type->bytes <= 2; }

// A tile's results on their way to memory, while so many blocks write theirs.
static double result_clocks(const gemm_shape *g, double blocks) {
    const double bytes = (double)(g->tile_m * g->tile_n * g->d_type->bytes) * (is_large(g) ? gpu->large_results : 1);
    return fmax(bytes / gpu->store_bytes, bytes * blocks / gpu->stores_bytes);
}

// Of the last tile's, those of the smallest tile do not count: what the costs of splits were fitted to contains them.
static double last_result_clocks(const gemm_shape *g, double blocks) {
    return result_clocks(g, blocks) - (double)(SMALLEST_TILE * g->d_type->bytes) / gpu->store_bytes;
}

// ---- partials

// Split-K across clusters: each part stores the partials of the subtiles that its block owns, and each warp of the last part
// loads those of all parts, round by round.
static double meeting_clocks(const gemm_shape *g) {
    const uint64_t warps = cj__gemm_consumer_warps(g), owned = cj__gemm_owned(g);
    const double   rounds = (double)(cj__ceil_div(owned, warps) * cj__ceil_div(g->parts, (uint64_t)gpu->round_parts));
    const double   bytes = (double)(owned * g->parts) * cj__gemm_subtile_bytes(g);
    return g->parts == 1 ? 0 : gpu->meeting + fmax(rounds * gpu->round, bytes / gpu->post_bytes);
}

// Split-K in a cluster: a block pushes all subtiles but those that it owns, and takes its own from all others.
static double exchange_clocks(const gemm_shape *g) {
    const double sent = (double)(g->tile_m * g->tile_n * sizeof(float)) * (g->split - 1) / g->split;
    if (g->split == 1) return 0;
    return gpu->exchange + (g->sums_in_stages ? gpu->stages_wait : 0) +
           fmax(sent / gpu->send_bytes, cj__gemm_peer_bytes(g) / gpu->peer_bytes);
}

// ---- the whole

// Unsplit tiles that run at once: pairs fill the GPU, larger groups leave SMs of its GPCs over.
static uint64_t room_unsplit(const gemm_shape *g, const cj_limits *limits) {
    const uint32_t multicast = cj__gemm_multicast(g);
    if (multicast > 2) return cj__most(cj__gemm_room(g, limits), 1);
    return limits->sm_count > multicast ? limits->sm_count / multicast : 1;
}

// A step where hundreds of blocks load: most of it from L2, unless few rows (columns) of tiles read all of B (A) at once.
static double step_clocks_unsplit(const gemm_shape *g, const cj_limits *limits, double blocks) {
    const bool   is_once = (double)cj__least(g->tiles_m, g->tiles_n) <= gpu->once_tiles;
    const double step = fmax(tile_clocks(g), loaded_bytes(g, limits) / gpu->l2_bytes_whole);
    if (!is_once || !(global_clocks(g, limits, blocks) > 0)) return step;
    return beside(step, gpu->refill_once / (double)(cj__least(g->stages, GEMM_STAGES_MAX) - 1));
}

// Scaling and packing beside no products; the special functions of GELU and SiLU are most of it.
static double end_clocks(const gemm_shape *g) {
    const bool is_special = g->activation == GEMM_GELU || g->activation == GEMM_SILU;
    return cj__gemm_tiles[g->tile].end * gpu->step + (is_special ? g->tile_m * g->tile_n / gpu->activate : 0);
}

// What of a tile's results no products hide: those of consumers in turn are hidden, and so are deferred ones of 16 bits,
// but for what comes before they are stored. Others wait for buffers, but for the last ones.
static double unhidden_clocks(const gemm_shape *g, double results) {
    const double end = end_clocks(g);
    if (g->teams > 1) return 0;
    if ((g->deferred && g->d_type->bytes <= 2) || g->subtiles <= cj__gemm_stores(g)) return end;
    return end + results * (g->subtiles - cj__gemm_stores(g)) / g->subtiles;
}

// The first tile's steps and the last tile's results, and of each round between the slower of both.
double cj__gemm_cost_unsplit(const gemm_shape *g, const cj_limits *limits) {
    const uint64_t room = room_unsplit(g, limits), tiles = cj__gemm_tile_count(g);
    const double   blocks = (double)(cj__least(tiles, room) * cj__gemm_multicast(g));
    const double   rounds = (double)cj__ceil_div(tiles, room);
    const double   steps = (double)g->steps * step_clocks_unsplit(g, limits, blocks);
    const double   results = result_clocks(g, blocks), busy = steps + unhidden_clocks(g, results);
    const double   slower = g->deferred && is_large(g) ? beside(busy, results) : fmax(busy, results);
    const double   round = slower + (g->teams > 1 ? 0 : gpu->turn);
    const double   global = global_clocks(g, limits, blocks);
    return beside(steps + (rounds - 1) * round + last_result_clocks(g, blocks), global) / gpu->step;
}

// A split must be predicted faster by a margin in all that global memory does not take: the model of unsplit tiles is less
// exact.
double cj__gemm_cost_split(const gemm_shape *g, const cj_limits *limits, uint64_t room) {
    const uint64_t clusters = cj__gemm_tile_count(g) * g->parts, at_once = clusters < room ? clusters : room;
    const double   rounds = (double)cj__ceil_div(clusters, room);
    const double   blocks = (double)(at_once * cj__gemm_multicast(g) * g->split);
    const double   steps = (double)cj__ceil_div(g->steps, cj__gemm_splits(g)) * step_clocks(g, limits, blocks);
    const double   partials = rounds * (exchange_clocks(g) + meeting_clocks(g));
    const bool     is_narrow = g->m <= g->tile_m || g->n <= g->tile_n;
    const double   times = is_narrow && cj__gemm_multicast(g) > 1 ? gpu->coupled : 1;
    const double   global = global_clocks(g, limits, blocks) * times, takes = beside(rounds * steps, global) + partials;
    return (global + (takes - global) * gpu->margin) / gpu->step;
}
