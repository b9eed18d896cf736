// SPDX-License-Identifier: Apache-2.0
// The product's shape on a GPU: tile, cluster, stages, grid.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "gemm.h"
#include "occupancy.h"

// In the order of the words of `tile`. What a step of K takes, measured against the largest tile: smaller ones load
// more for each product; and what of a tile's results the next tile's steps do not hide, in such steps.
static const struct tile {
    uint32_t m, n;
    double   cost, end;
} tiles[] = {{0, 0, 0, 0},       {128, 256, 1, 2.5},    {128, 128, 0.5, 0.5},
             {64, 256, 0.62, 1}, {64, 128, 0.36, 0.25}, {64, 64, 0.25, 0.125}};

enum { TILE_COUNT = sizeof tiles / sizeof *tiles, STAGES_MAX = 8 };

enum { SQUARE = 128 };  // the side of the large square tile

// Bytes that the mbarriers take besides, at most.
enum { SHARED_ASIDE = 512 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

static void set_tile(gemm_shape *g, const struct tile *tile) {
    g->tile_m = tile->m;
    g->tile_n = tile->n;
    g->groups = tile->m / GEMM_GROUP_ROWS;
    g->piece = g->d_type->bytes == 4 ? GEMM_ROW / 4 : GEMM_BOX;
    g->pieces = tile->n / g->piece;
    g->kept = g->pieces <= GEMM_KEPT_MAX && !cj__gemm_is_split(g) ? g->pieces : 0;
    g->a_bytes = tile->m * GEMM_ROW;
    g->b_bytes = tile->n * GEMM_ROW;
}

static void set_cluster(gemm_shape *g, uint64_t along_m, uint64_t along_n) {
    g->clustered = along_m > 0;
    g->cluster_m = along_m ? (uint32_t)along_m : 1;
    g->cluster_n = along_m ? (uint32_t)along_n : 1;
    g->tiles_m = ceil_div(g->m, (uint64_t)g->tile_m * g->cluster_m);
    g->tiles_n = ceil_div(g->n, (uint64_t)g->tile_n * g->cluster_n);
    g->steps = ceil_div(g->k, g->step);
}

void cj__gemm_read(const cj_params *p, gemm_shape *g) {
    cj__gemm_problem(p, g);
    g->split = (uint32_t)p->value[GEMM_SPLIT];
    g->parts = (uint32_t)p->value[GEMM_PARTS];
    g->rest = p->value[GEMM_REST] == GEMM_REST_SHARED;
    set_tile(g, &tiles[p->value[GEMM_TILE]]);
    set_cluster(g, p->value[GEMM_CLUSTER], p->value[GEMM_CLUSTER_N]);
    g->stages = (uint32_t)p->value[GEMM_STAGES];
    g->in_ring = p->value[GEMM_SUMS] == GEMM_SUMS_RING;
}

// ---- choices

static uint32_t store_bytes(const gemm_shape *g) { return g->groups * GEMM_WARPS * GEMM_STORES * GEMM_STORE_BYTES; }

// Pairs share what they load, wherever there is a pair.
static void choose_cluster(const cj_plan *plan, gemm_shape *g) {
    uint64_t   along_m = plan->params.value[GEMM_CLUSTER], along_n = plan->params.value[GEMM_CLUSTER_N];
    const bool open_n = along_n == CJ_PARAM_AUTO;
    if (open_n) along_n = 1;
    if (along_m == CJ_PARAM_AUTO) {
        along_m = g->m > g->tile_m && along_n < GEMM_CLUSTER_MAX ? 2 : 1;
        if (along_m == 1 && open_n && g->n > g->tile_n) along_n = 2;
    }
    set_cluster(g, along_m, along_n);
}

// A pair of square tiles that makes whole tiles of a D that is no wider than high lies side by side: measured, that takes
// 1 to 3 % less.
static void turn_pair(const cj_plan *plan, gemm_shape *g) {
    const uint64_t *value = plan->params.value;
    const bool      open = value[GEMM_CLUSTER] == CJ_PARAM_AUTO && value[GEMM_CLUSTER_N] == CJ_PARAM_AUTO;
    const bool      square = g->tile_m == SQUARE && g->tile_n == SQUARE && g->n > SQUARE && g->n <= g->m;
    if (open && square && g->cluster_m == 2 && !cj__gemm_is_split(g)) set_cluster(g, 1, 2);
}

// Clusters that may be worth it where K is shared, besides the pair that whole tiles have. Those that share more come
// last, for they are faster where the model sees no difference; but four along one axis never were.
static const struct { uint32_t m, n; } shared_clusters[] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}};

static bool is_open(uint64_t asked, uint32_t along, uint64_t length, uint32_t tile) {
    return asked == along || (asked == CJ_PARAM_AUTO && length > (uint64_t)tile * (along - 1));
}

static double try_tile(const cj_plan *plan, const cj_limits *limits, const struct tile *tile, gemm_shape *g) {
    const uint64_t *value = plan->params.value;
    set_tile(g, tile);
    choose_cluster(plan, g);
    double     least = cj__gemm_split_choose(plan, limits, tile->cost, tile->end, true, g);
    gemm_shape best = *g;
    for (size_t i = 0; i < sizeof shared_clusters / sizeof *shared_clusters; i++) {
        const uint32_t along_m = shared_clusters[i].m, along_n = shared_clusters[i].n;
        if (!is_open(value[GEMM_CLUSTER], along_m, g->m, g->tile_m)) continue;
        if (!is_open(value[GEMM_CLUSTER_N], along_n, g->n, g->tile_n)) continue;
        set_cluster(g, along_m, along_n);
        const double cost = cj__gemm_split_choose(plan, limits, tile->cost, tile->end, false, g);
        if (cost <= least && cost < INFINITY) least = cost, best = *g;
    }
    *g = best;
    return least;
}

static void choose_tile(const cj_plan *plan, const cj_limits *limits, gemm_shape *g) {
    const uint64_t asked = plan->params.value[GEMM_TILE];
    double         least = INFINITY;
    uint64_t       best = asked ? asked : 1;
    for (uint64_t i = 1; !asked && i < TILE_COUNT; i++) {
        const double cost = try_tile(plan, limits, &tiles[i], g);
        if (cost < least) least = cost, best = i;
    }
    try_tile(plan, limits, &tiles[best], g);
    set_tile(g, &tiles[best]);  // which knows now whether K is shared
    turn_pair(plan, g);
}

uint32_t cj__gemm_stages_most(const gemm_shape *g, const cj_limits *limits) {
    const uint32_t all = limits->shared_per_block_optin - SHARED_ASIDE - GEMM_SHARED_ALIGN,
                   taken = store_bytes(g) + cj__gemm_split_apart(g);
    return all > taken ? (all - taken) / (g->a_bytes + g->b_bytes) : 0;
}

static cj_status choose_stages(const cj_plan *plan, const cj_limits *limits, gemm_shape *g, cj_error *error) {
    const uint32_t most = cj__gemm_stages_most(g, limits), asked = (uint32_t)plan->params.value[GEMM_STAGES];
    if (asked == 1)
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "choose 2 or more, or leave stages at its default",
                          "stages: 1; a stage is free when the next one is being multiplied, so it takes 2");
    if (most < GEMM_STAGES_MIN && g->split > 1) return cj__gemm_split_no_room(g, error);
    g->stages = asked ? asked : most < STAGES_MAX ? most : STAGES_MAX;
    if (g->stages <= most) return cj__gemm_split_check_ring(g, error);
    cj__fail(error, CJ_CONTRACT,
             "stages: %" PRIu32 " stages of %" PRIu32 " bytes do not fit the shared memory of a block", asked,
             g->a_bytes + g->b_bytes);
    cj__hint(error, "a tile of %" PRIu32 "x%" PRIu32 " has room for %" PRIu32, g->tile_m, g->tile_n, most);
    return CJ_CONTRACT;
}

static uint64_t tile_index(const gemm_shape *g) {
    uint64_t i = 1;
    while (tiles[i].m != g->tile_m || tiles[i].n != g->tile_n) i++;
    return i;
}

enum { TILES_MAX = INT32_MAX };

static cj_status check(const cj_plan *plan, const cj_limits *limits, const gemm_shape *g, cj_error *error) {
    const uint64_t *value = plan->params.value;
    if (strcmp(plan->arch, "sm_90a")) {
        cj__fail(error, CJ_UNSUPPORTED, "gemm uses wgmma and setmaxnreg, which only sm_90a has; the target is %s",
                 plan->arch);
        if (limits->compute_capability == 90)
            cj__hint(error, "name sm_90a, or no target: devices of compute capability 9.0 run it");
        else
            cj__hint(error, "only devices of compute capability 9.0 run it");
        return CJ_UNSUPPORTED;
    }
    const uint32_t along_m = g->cluster_m, along_n = g->cluster_n;
    if ((along_m & (along_m - 1)) || (along_n & (along_n - 1)) || along_m * along_n > GEMM_CLUSTER_MAX) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "cluster: %" PRIu32 " x %" PRIu32 " blocks; each is 1, 2 or 4, and together at most %d", along_m,
                 along_n, GEMM_CLUSTER_MAX);
        cj__hint(error, "cluster counts blocks one below the other, cluster-n side by side");
        return CJ_INVALID_ARGUMENT;
    }
    if (cj__gemm_tiles(g) > TILES_MAX)
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "use several launches",
                          "m, n, batch: %" PRIu64 " x %" PRIu64 ", %" PRIu64 " times, are more than %d tiles",
                          value[GEMM_M], value[GEMM_N], g->batches, TILES_MAX);
    if (!value[GEMM_CLUSTER] && value[GEMM_CLUSTER_N] > 1 && value[GEMM_CLUSTER_N] != CJ_PARAM_AUTO)
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "leave one of them at its default",
                          "cluster-n: %" PRIu64 ", but cluster=0 asks for none", value[GEMM_CLUSTER_N]);
    if (g->rest && g->steps * limits->sm_count > INT32_MAX)
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "leave rest at its default",
                          "rest: shared, but %" PRIu64 " steps of K are too many for it", g->steps);
    if (value[GEMM_SUMS] != GEMM_SUMS_RING || g->in_ring) return cj__gemm_split_check(g, error);
    cj__fail(error, CJ_INVALID_ARGUMENT, "sums: ring, but no blocks of a cluster share a K: split %" PRIu32, g->split);
    cj__hint(error, "split=2 and more has blocks that do; or leave sums at its default");
    return CJ_INVALID_ARGUMENT;
}

// What was chosen becomes the parameters, so that emit chooses nothing.
static void keep_choices(cj_plan *plan, const gemm_shape *g) {
    plan->params.value[GEMM_TILE] = tile_index(g);
    plan->params.value[GEMM_CLUSTER] = g->clustered ? g->cluster_m : 0;
    plan->params.value[GEMM_CLUSTER_N] = g->cluster_n;
    plan->params.value[GEMM_STAGES] = g->stages;
    plan->params.value[GEMM_SPLIT] = g->split;
    plan->params.value[GEMM_PARTS] = g->parts;
    plan->params.value[GEMM_SUMS] = g->in_ring ? GEMM_SUMS_RING : GEMM_SUMS_APART;
    plan->params.value[GEMM_REST] = g->rest ? GEMM_REST_SHARED : GEMM_REST_WHOLE;
}

static uint64_t clusters_of(const cj_plan *plan, const gemm_shape *g) { return plan->grid.x / cj__gemm_blocks(g); }

// Whether the tiles that are left are shared.
static void choose_rest(const cj_plan *plan, gemm_shape *g) {
    if (cj__gemm_rest_may(&plan->params)) g->rest = cj__gemm_rest_pays(g, clusters_of(plan, g));
}

static void shape_launch(cj_plan *plan, const cj_limits *limits, gemm_shape *g) {
    const uint32_t blocks = cj__gemm_blocks(g) * g->split;
    plan->block = (cj_dim3){GEMM_GROUP * (g->groups + 1), 1, 1};
    if (g->clustered) plan->cluster = (cj_dim3){blocks, 1, 1};
    plan->dynamic_shared = GEMM_SHARED_ALIGN + g->stages * (g->a_bytes + g->b_bytes) + store_bytes(g) +
                           cj__gemm_split_apart(g);
    if (cj__gemm_is_split(g)) {
        plan->grid = (cj_dim3){(uint32_t)(cj__gemm_tiles(g) * g->parts * blocks), 1, 1};
        return;
    }
    const cj_kernel_use use = {
        .threads = plan->block.x, .shared = plan->dynamic_shared + SHARED_ASIDE, .cluster = plan->cluster.x};
    cj_occupancy o;
    cj__occupancy(&use, limits, &o);
    uint64_t       clusters = g->clustered ? o.active_clusters : (uint64_t)o.blocks_per_sm * limits->sm_count;
    const uint64_t wanted = cj__gemm_tiles(g) * (g->rest ? g->steps : 1);
    if (clusters > wanted) clusters = wanted;
    plan->grid = (cj_dim3){(uint32_t)(clusters ? clusters * blocks : blocks), 1, 1};
    plan->resident = blocks;
    choose_rest(plan, g);
}

// What a plan derives; the last ones, D's extents, only for the ends of ragged lines.
enum { DERIVED = 7, DERIVED_ENDS = 2 };

bool cj__gemm_takes_ends(const cj_plan *plan) { return plan->derived_count == DERIVED; }

cj_status cj__gemm_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    gemm_shape g;
    (void)clusters;  // the target that it is for has them
    cj__gemm_problem(&plan->params, &g);
    g.rest = plan->params.value[GEMM_REST] == GEMM_REST_SHARED;
    g.in_ring = false;
    choose_tile(plan, limits, &g);
    cj_status status = cj__gemm_check_problem(&plan->params, &g, error);
    if (!status) status = check(plan, limits, &g, error);
    if (!status) status = choose_stages(plan, limits, &g, error);
    if (status) return status;
    shape_launch(plan, limits, &g);
    keep_choices(plan, &g);
    // Results leave behind the steps of the next tile: there are enough of them, with zeros from beyond K.
    const uint64_t steps = g.steps < g.kept ? g.kept : g.steps;
    const uint64_t bias_length = g.bias == GEMM_BIAS_ROWS ? g.m : g.n;
    const uint64_t derived[DERIVED] = {g.tiles_m, g.tiles_n, steps, g.batches, bias_length, g.m, g.n};
    memcpy(plan->derived, derived, sizeof derived);
    plan->derived_count = cj__gemm_is_ragged(&g) ? DERIVED : DERIVED - DERIVED_ENDS;
    plan->workspace_bytes = cj__gemm_split_workspace(&g) + cj__gemm_rest_workspace(&g, clusters_of(plan, &g));
    plan->error_bound = cj__gemm_error_bound(&g);
    plan->programmatic = plan->params.value[GEMM_DEPENDENT] != 0;
    int length = snprintf(plan->entry, sizeof plan->entry, "gemm_%s_%" PRIu32 "x%" PRIu32, g.a_type->name, g.tile_m,
                          g.tile_n);
    if (cj__gemm_is_split(&g))
        snprintf(plan->entry + length, sizeof plan->entry - (size_t)length, "_split_%" PRIu32 "x%" PRIu32, g.split,
                 g.parts);
    return CJ_OK;
}

// ---- tensor maps

// Of A or B.
static gemm_map operand_map(const gemm_shape *g, bool is_a) {
    const uint64_t   lines = is_a ? g->m : g->n;
    const uint32_t   tile = is_a ? g->tile_m : g->tile_n, parts = is_a ? g->cluster_n : g->cluster_m;
    const gemm_type *type = is_a ? g->a_type : g->b_type;
    if ((is_a ? g->a : g->b) == CJ_BY_K)
        return (gemm_map){.type = type, .dims = {g->k, lines}, .box = {g->step, tile / parts}};
    return (gemm_map){.type = type, .dims = {lines, g->k}, .box = {GEMM_BOX, g->step / parts}};
}

void cj__gemm_map(const gemm_shape *g, unsigned which, gemm_map *map) {
    const bool shared[GEMM_MAPS] = {g->shared_a, g->shared_b, g->shared_c, false};
    if (which == GEMM_MAP_A || which == GEMM_MAP_B)
        *map = operand_map(g, which == GEMM_MAP_A);
    else
        *map = (gemm_map){.type = which == GEMM_MAP_C ? g->c_type : g->d_type,
                          .dims = {g->n, g->m},
                          .box = {g->piece, GEMM_WARP_ROWS}};
    map->swizzle = map->box[0] * map->type->bytes == GEMM_ROW ? CJ_TENSORMAP_SWIZZLE_128B : CJ_TENSORMAP_SWIZZLE_64B;
    map->length = map->dims[0];
    if (which == GEMM_MAP_D && cj__gemm_is_ragged(g)) map->dims[0] = cj__gemm_tail_map(g);
    map->rank = g->batches > 1 && !shared[which] ? 3 : 2;
    map->dims[2] = g->batches;
    map->box[2] = 1;
}
