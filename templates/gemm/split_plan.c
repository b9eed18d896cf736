// SPDX-License-Identifier: Apache-2.0
// How many blocks share the K of a tile: few tiles and a long K want many.
#include <inttypes.h>
#include <math.h>

#include "error.h"
#include "gemm.h"
#include "occupancy.h"

// What a model of an H200 knows, in clocks: a step of the largest tile; how long a stage takes to be refilled from global
// memory; an exchange in a cluster besides its bytes, and what waiting for all rings adds; a meeting of parts in global
// memory (what is posted, and a counter's round trip); there, one round of loads for a warp, which brings the sums of
// ROUND_PARTS parts. Bytes a clock: what one block can take, what L2 gives to all (what is multicast counts once), what it
// gives to one where K is not shared; sums to peers and from peers; what the block whose warps come last reads; and global
// memory for all. Where K is shared, this differs by 4 % from 106 measurements of 10 problems. What is shared must be
// faster by a margin in all that global memory does not take: what tiles take that are not is known less well.
static const double STEP = 1024, REFILL = 1970, EXCHANGE = 480, RINGS = 300, MEETING = 1180, ROUND = 750,
                    BLOCK_BYTES = 70, L2_BYTES = 5150, L2_BYTES_WHOLE = 48, SEND_BYTES = 9.4, PEER_BYTES = 12,
                    POST_BYTES = 43, GLOBAL_BYTES = 2500, MARGIN = 1.25;

enum { ROUND_PARTS = 4, LARGEST = 128 * 256 };  // sums of the largest tile

// SMs of GPCs as there are: all that a GPC can have, and what most have at least.
enum { GPC_SMS = 18, GPC_SMS_FEW = 16 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

static uint32_t mates_of(const gemm_shape *g) { return g->cluster_m * g->cluster_n; }

static uint64_t room_in(const gemm_shape *g, const cj_limits *limits) {
    const cj_kernel_use use = {.threads = GEMM_GROUP * (g->groups + 1),
                               .shared = limits->shared_per_block_optin,
                               .cluster = mates_of(g) * g->split};
    cj_occupancy        o;
    cj__occupancy(&use, limits, &o);
    return o.active_clusters ? o.active_clusters : 1;
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

// Clusters that a GPU holds at once, an SM for each block. A cluster that does not fit beside the others comes after
// them and doubles the time: where GPCs are not known, they are taken for those that hold fewer. (22 clusters of 6 fit
// GPCs of 18 SMs, but 16 those of 16, of which an H200 has some.)
static uint64_t room_for(const gemm_shape *g, const cj_limits *limits) {
    if (limits->gpc_sms[0]) return room_in(g, limits);
    const uint64_t whole = room_in_gpcs_of(g, limits, GPC_SMS), few = room_in_gpcs_of(g, limits, GPC_SMS_FEW);
    return whole < few ? whole : few;
}

// Clocks that global memory takes at least: all of A and B comes from there if L2 does not hold it, a little faster to many
// blocks than to few.
static double global_clocks(const gemm_shape *g, const cj_limits *limits, double blocks) {
    const double bytes = (double)g->k * (double)g->a_type->bytes * (double)g->batches * ((double)g->m + (double)g->n);
    const double share = fmin(blocks / limits->sm_count, 1);
    return bytes > (double)limits->l2_bytes ? bytes / (GLOBAL_BYTES * sqrt(sqrt(share))) : 0;
}

// Both at the same time: where they are near each other, neither hides the other.
static double beside(double clocks, double others) { return cbrt(clocks * clocks * clocks + others * others * others); }

// Clocks of a step of so many blocks: what is slowest of products, loads, and refills of all stages but one, for which the
// sums of peers leave room.
static double step_clocks(const gemm_shape *g, const cj_limits *limits, double blocks, double cost) {
    const double once = (double)(g->a_bytes / g->cluster_n + g->b_bytes / g->cluster_m);
    const double loads = fmax((double)(g->a_bytes + g->b_bytes) / BLOCK_BYTES, once * blocks / L2_BYTES);
    const double refill = global_clocks(g, limits, blocks) > 0 ? REFILL / (g->stages - 1) : 0;
    return fmax(cost * STEP, fmax(loads, refill));
}

// Clocks of the meeting of a tile's shares, where all clusters share what is left behind whole rounds.
static double rest_clocks(const gemm_shape *g, uint64_t clusters, uint64_t left) {
    const double shares = ceil((double)clusters / (double)left) + 1;
    return MEETING + (double)g->tile_m * g->tile_n * sizeof(float) * (shares + 1) / POST_BYTES;
}

// Rounds of whole tiles, the last of which may be a part of one, and what comes behind them.
static double cost_whole(const gemm_shape *g, const cj_limits *limits, bool may_share, double cost, double end) {
    const uint64_t room = limits->sm_count > mates_of(g) ? limits->sm_count / mates_of(g) : 1;
    const uint64_t tiles = cj__gemm_tiles(g), left = tiles % room;
    const bool     rest = may_share && cj__gemm_rest_pays(g, room);
    const double   rounds = rest ? (double)tiles / (double)room : (double)ceil_div(tiles, room);
    const double   bytes = (double)(g->a_bytes / g->cluster_n + g->b_bytes / g->cluster_m);
    const double   steps = rounds * (double)g->steps * fmax(cost * STEP, bytes / L2_BYTES_WHOLE);
    const double   results = ceil(rounds) * end * STEP + (rest ? rest_clocks(g, room, left) : 0);
    const double   blocks = (double)(tiles < room ? tiles : room) * mates_of(g);
    return beside(steps + results, global_clocks(g, limits, blocks)) / STEP;
}

// Clocks of a meeting in global memory: every part posts the pieces that its block owns, and the last one, a warp for
// itself, adds up those of all, round by round.
static double meeting_clocks(const gemm_shape *g) {
    const uint64_t warps = (uint64_t)g->groups * GEMM_WARPS, owned = ceil_div(warps * g->pieces, g->split);
    const double   rounds = (double)(ceil_div(owned, warps) * ceil_div(g->parts, ROUND_PARTS));
    const double   piece = (double)(g->piece * GEMM_WARP_ROWS * sizeof(float));
    if (g->parts == 1) return 0;
    return MEETING + fmax(rounds * ROUND, (double)(owned * g->parts) * piece / POST_BYTES);
}

// Clocks of an exchange in a cluster: a block sends all pieces but its own, and has those of all others.
static double exchange_clocks(const gemm_shape *g) {
    const double sent = (double)(g->tile_m * g->tile_n * sizeof(float)) * (g->split - 1) / g->split;
    if (g->split == 1) return 0;
    return EXCHANGE + (g->in_ring ? RINGS : 0) + fmax(sent / SEND_BYTES, cj__gemm_split_bytes(g) / PEER_BYTES);
}

static double cost_shared(const gemm_shape *g, const cj_limits *limits, uint64_t room, double cost) {
    const uint64_t clusters = cj__gemm_tiles(g) * g->parts, at_once = clusters < room ? clusters : room;
    const double   rounds = (double)ceil_div(clusters, room), blocks = (double)(at_once * mates_of(g) * g->split);
    const double   steps = (double)ceil_div(g->steps, cj__gemm_shares(g)) * step_clocks(g, limits, blocks, cost);
    const double   sums = rounds * (exchange_clocks(g) + meeting_clocks(g));
    const double   global = global_clocks(g, limits, blocks), takes = beside(rounds * steps, global) + sums;
    return (global + (takes - global) * MARGIN) / STEP;
}

// Stages that would be more, and shares so long that they are worth it: measured, of 74 steps 3 % with a sixth stage, and
// of 18 none.
enum { RING_STAGES = 6, RING_STEPS = 32 };

// Where peers' sums come, and how many stages there is room for then.
static void choose_sums(const cj_plan *plan, const cj_limits *limits, gemm_shape *g) {
    const uint64_t asked = plan->params.value[GEMM_SUMS], stages = plan->params.value[GEMM_STAGES];
    g->in_ring = false;
    const uint32_t apart = g->stages = cj__gemm_stages_most(g, limits);
    if (g->split == 1 || asked == GEMM_SUMS_APART) return;
    g->in_ring = true;
    const uint32_t most = cj__gemm_stages_most(g, limits);
    const bool     is_long = apart < RING_STAGES && ceil_div(g->steps, cj__gemm_shares(g)) >= RING_STEPS;
    const bool     pays = most > apart && (apart < GEMM_STAGES_MIN || stages > apart || (!stages && is_long));
    const bool     fits = (stages ? stages : most) * (g->a_bytes + g->b_bytes) >= cj__gemm_split_bytes(g);
    g->in_ring = asked == GEMM_SUMS_RING || (pays && fits);
    if (g->in_ring) g->stages = most;
}

typedef struct span {
    uint64_t from, to;
} span;

static span span_of(uint64_t asked, uint64_t most) {
    return asked ? (span){asked, asked} : (span){1, most > 1 ? most : 1};
}

// Of all that fits, what takes least; what was asked for where nothing does. Clusters of a power of two blocks fit as
// counted; of 40 clusters of 3, or 20 of 6, the last ones came late.
double cj__gemm_split_choose(const cj_plan *plan, const cj_limits *limits, double cost, double end, bool whole,
                             gemm_shape *g) {
    const uint64_t *value = plan->params.value, tiles = cj__gemm_tiles(g);
    const uint64_t  peers = limits->max_cluster < GEMM_SPLIT_MAX ? limits->max_cluster : GEMM_SPLIT_MAX;
    const uint64_t  stages = value[GEMM_STAGES] > GEMM_STAGES_MIN ? value[GEMM_STAGES] : GEMM_STAGES_MIN;
    const span      split = span_of(value[GEMM_SPLIT], g->clustered && !g->rest ? peers / mates_of(g) : 1);
    const bool      may_share = g->rest || cj__gemm_rest_may(&plan->params);
    gemm_shape      best = *g;
    double          least = INFINITY;
    best.split = (uint32_t)split.from;
    best.parts = value[GEMM_PARTS] ? (uint32_t)value[GEMM_PARTS] : 1;
    for (g->split = (uint32_t)split.from; g->split <= split.to; g->split *= 2) {
        const uint64_t room = room_for(g, limits), most = g->rest ? 1 : room / tiles;
        const span     parts = span_of(value[GEMM_PARTS], most < GEMM_PARTS_MAX ? most : GEMM_PARTS_MAX);
        for (g->parts = (uint32_t)parts.from; g->parts <= parts.to; g->parts++) {
            choose_sums(plan, limits, g);
            if (g->stages < stages || (!whole && !cj__gemm_is_split(g))) continue;
            const double takes = cj__gemm_is_split(g) ? cost_shared(g, limits, room, cost)
                                                      : cost_whole(g, limits, may_share, cost, end);
            if (takes < least) least = takes, best = *g;
        }
    }
    *g = best;
    return least;
}

bool cj__gemm_rest_may(const cj_params *p) {
    return p->value[GEMM_REST] == GEMM_REST_AUTO && p->value[GEMM_PARTS] != 1;
}

// The last round takes its share of a tile's steps instead of all of them, and then the sums of a tile's shares meet.
bool cj__gemm_rest_pays(const gemm_shape *g, uint64_t clusters) {
    const uint64_t tiles = cj__gemm_tiles(g), left = tiles % clusters;
    if (cj__gemm_is_split(g) || tiles < clusters || !left || g->steps * clusters > INT32_MAX) return false;
    const double part = (double)(g->tile_m * g->tile_n) / LARGEST, whole = (double)g->steps * STEP * part;
    return whole * (1 - (double)left / (double)clusters) > rest_clocks(g, clusters, left) * MARGIN;
}

// ---- what cannot be

cj_status cj__gemm_split_check(const gemm_shape *g, cj_error *error) {
    const uint64_t clusters = cj__gemm_tiles(g) * g->parts;
    if (g->split > 1 && !g->clustered)
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "parts share a K without clusters",
                          "split: %" PRIu32 ", but cluster=0 asks for no clusters", g->split);
    if (g->split * mates_of(g) > GEMM_SPLIT_MAX) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "split: %" PRIu32 " times %" PRIu32 " x %" PRIu32 " blocks are more than the %d of a cluster",
                 g->split, g->cluster_m, g->cluster_n, GEMM_SPLIT_MAX);
        cj__hint(error, "cluster=1 cluster-n=1 leaves all of them to split");
        return CJ_INVALID_ARGUMENT;
    }
    if (g->rest && cj__gemm_is_split(g)) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "rest: shared, but all tiles are: split %" PRIu32 ", parts %" PRIu32,
                 g->split, g->parts);
        cj__hint(error, "rest=auto goes with any split and parts");
        return CJ_INVALID_ARGUMENT;
    }
    if (cj__gemm_is_split(g) && clusters * g->split * mates_of(g) > INT32_MAX)
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "make one of them smaller",
                          "split, parts: %" PRIu64 " clusters are more than a grid holds",
                        clusters);
    return CJ_OK;
}

cj_status cj__gemm_split_check_ring(const gemm_shape *g, cj_error *error) {
    const uint32_t stages = g->stages * (g->a_bytes + g->b_bytes), sums = cj__gemm_split_bytes(g);
    if (!g->in_ring || stages >= sums) return CJ_OK;
    cj__fail(error, CJ_CONTRACT,
             "sums: ring, but the sums of %" PRIu32 " blocks take %" PRIu32 " bytes, and %" PRIu32 " stages have %" PRIu32,
             g->split, sums, g->stages, stages);
    cj__hint(error, "stages=0 takes as many as there is room for, and sums=apart needs none of theirs");
    return CJ_CONTRACT;
}

cj_status cj__gemm_split_no_room(const gemm_shape *g, cj_error *error) {
    cj__fail(error, CJ_CONTRACT,
             "split: the sums of %" PRIu32 " blocks take %" PRIu32
             " bytes of shared memory, which leaves no room for two stages of %" PRIu32,
             g->split, cj__gemm_split_bytes(g), g->a_bytes + g->b_bytes);
    cj__hint(error, "a smaller tile than %" PRIu32 "x%" PRIu32 " has room, and so has parts instead of split",
             g->tile_m, g->tile_n);
    return CJ_CONTRACT;
}
