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
// more for each product.
static const struct tile {
    uint32_t m, n;
    double   cost;
} tiles[] = {{0, 0, 0}, {128, 256, 1}, {128, 128, 0.56}, {64, 256, 0.62}, {64, 128, 0.36}, {64, 64, 0.25}};

enum { TILE_COUNT = sizeof tiles / sizeof *tiles, STAGES_MAX = 8 };

// What the system and the mbarriers take besides.
enum { SHARED_ASIDE = 1024 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

static void set_tile(gemm_shape *g, const struct tile *tile) {
    g->tile_m = tile->m;
    g->tile_n = tile->n;
    g->groups = tile->m / GEMM_GROUP_ROWS;
    g->pieces = tile->n / GEMM_BOX;
    g->a_bytes = tile->m * GEMM_ROW;
    g->b_bytes = tile->n * GEMM_ROW;
}

static void set_cluster(gemm_shape *g, uint64_t along_m, uint64_t along_n) {
    g->clustered = along_m > 0;
    g->cluster_m = along_m ? (uint32_t)along_m : 1;
    g->cluster_n = along_m ? (uint32_t)along_n : 1;
    g->tiles_m = ceil_div(g->m, (uint64_t)g->tile_m * g->cluster_m);
    g->tiles_n = ceil_div(g->n, (uint64_t)g->tile_n * g->cluster_n);
    g->steps = ceil_div(g->k, GEMM_STEP);
    // Results leave behind the steps of the next tile: there are enough of them, with zeros from beyond K.
    if (g->steps < g->pieces) g->steps = g->pieces;
}

static void read_problem(const cj_params *p, gemm_shape *g) {
    const uint64_t       *value = p->value;
    const cj_matrix_order a = value[GEMM_A] ? CJ_BY_LINE : CJ_BY_K, b = value[GEMM_B] ? CJ_BY_K : CJ_BY_LINE;
    *g = (gemm_shape){.type = value[GEMM_DTYPE] ? "f16" : "bf16",
                      .flipped = value[GEMM_D],
                      .adds_c = value[GEMM_C],
                      .k = value[GEMM_K]};
    g->m = value[g->flipped ? GEMM_N : GEMM_M];
    g->n = value[g->flipped ? GEMM_M : GEMM_N];
    g->a = g->flipped ? b : a;
    g->b = g->flipped ? a : b;
}

void cj__gemm_read(const cj_params *p, gemm_shape *g) {
    read_problem(p, g);
    set_tile(g, &tiles[p->value[GEMM_TILE]]);
    set_cluster(g, p->value[GEMM_CLUSTER], p->value[GEMM_CLUSTER_N]);
    g->stages = (uint32_t)p->value[GEMM_STAGES];
}

// ---- choices

static uint32_t blocks_of(const gemm_shape *g) { return g->cluster_m * g->cluster_n; }
static uint32_t store_bytes(const gemm_shape *g) { return g->groups * GEMM_WARPS * GEMM_STORES * GEMM_STORE_BYTES; }

// Pairs share what they load, wherever there is a pair.
static void choose_cluster(const cj_plan *plan, gemm_shape *g) {
    uint64_t along_m = plan->params.value[GEMM_CLUSTER], along_n = plan->params.value[GEMM_CLUSTER_N];
    if (along_m == CJ_PARAM_AUTO) {
        along_m = g->m > g->tile_m && along_n < GEMM_CLUSTER_MAX ? 2 : 1;
        if (along_m == 1 && along_n == 1 && g->n > g->tile_n) along_n = 2;
    }
    set_cluster(g, along_m, along_n);
}

static double cost_of(const gemm_shape *g, const struct tile *tile, const cj_limits *limits) {
    const uint64_t room = limits->sm_count > blocks_of(g) ? limits->sm_count / blocks_of(g) : 1;
    return (double)ceil_div(g->tiles_m * g->tiles_n, room) * tile->cost;
}

static void choose_tile(const cj_plan *plan, const cj_limits *limits, gemm_shape *g) {
    const uint64_t asked = plan->params.value[GEMM_TILE];
    double         least = INFINITY;
    uint64_t       best = asked;
    for (uint64_t i = 1; !asked && i < TILE_COUNT; i++) {
        set_tile(g, &tiles[i]);
        choose_cluster(plan, g);
        if (cost_of(g, &tiles[i], limits) < least) least = cost_of(g, &tiles[i], limits), best = i;
    }
    set_tile(g, &tiles[best]);
    choose_cluster(plan, g);
}

static cj_status choose_stages(const cj_plan *plan, const cj_limits *limits, gemm_shape *g, cj_error *error) {
    const uint32_t room = limits->shared_per_block_optin - SHARED_ASIDE - store_bytes(g);
    const uint32_t most = room / (g->a_bytes + g->b_bytes), asked = (uint32_t)plan->params.value[GEMM_STAGES];
    if (asked == 1)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "stages: 1; a stage is free when the next one is being multiplied, so it takes 2");
    g->stages = asked ? asked : most < STAGES_MAX ? most : STAGES_MAX;
    if (g->stages <= most) return CJ_OK;
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

static cj_status check(const cj_plan *plan, const gemm_shape *g, cj_error *error) {
    const uint64_t *value = plan->params.value;
    if (strcmp(plan->arch, "sm_90a")) {
        cj__fail(error, CJ_UNSUPPORTED, "gemm uses wgmma and setmaxnreg, which only sm_90a has; the target is %s",
                 plan->arch);
        cj__hint(error, "devices of compute capability 9.0 run it");
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
    if (g->tiles_m * g->tiles_n > TILES_MAX)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "m, n: %" PRIu64 " x %" PRIu64 " are more than %d tiles", g->m, g->n,
                        TILES_MAX);
    if (!value[GEMM_CLUSTER] && value[GEMM_CLUSTER_N] > 1)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "cluster-n: %" PRIu64 ", but cluster=0 asks for none",
                        value[GEMM_CLUSTER_N]);
    return CJ_OK;
}

// What was chosen becomes the parameters, so that emit chooses nothing.
static void keep_choices(cj_plan *plan, const gemm_shape *g) {
    plan->params.value[GEMM_TILE] = tile_index(g);
    plan->params.value[GEMM_CLUSTER] = g->clustered ? g->cluster_m : 0;
    plan->params.value[GEMM_CLUSTER_N] = g->cluster_n;
    plan->params.value[GEMM_STAGES] = g->stages;
}

static void shape_launch(cj_plan *plan, const cj_limits *limits, const gemm_shape *g) {
    const uint32_t blocks = blocks_of(g);
    plan->block = (cj_dim3){GEMM_GROUP * (g->groups + 1), 1, 1};
    if (g->clustered) plan->cluster = (cj_dim3){blocks, 1, 1};
    plan->dynamic_shared = g->stages * (g->a_bytes + g->b_bytes) + store_bytes(g);
    const cj_kernel_use use = {
        .threads = plan->block.x, .shared = plan->dynamic_shared + SHARED_ASIDE, .cluster = plan->cluster.x};
    cj_occupancy o;
    cj__occupancy(&use, limits, &o);
    uint64_t clusters = g->clustered ? o.active_clusters : (uint64_t)o.blocks_per_sm * limits->sm_count;
    if (clusters > g->tiles_m * g->tiles_n) clusters = g->tiles_m * g->tiles_n;
    plan->grid = (cj_dim3){(uint32_t)(clusters ? clusters * blocks : blocks), 1, 1};
    plan->resident = blocks;
}

// Devices of compute capability 9.0 run sm_90a too.
static void choose_target(cj_plan *plan, const cj_limits *limits) {
    if (!strcmp(plan->arch, "sm_90") && limits->compute_capability == 90)
        snprintf(plan->arch, sizeof plan->arch, "sm_90a");
}

cj_status cj__gemm_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    gemm_shape g;
    (void)clusters;  // the target that it is for has them
    choose_target(plan, limits);
    read_problem(&plan->params, &g);
    choose_tile(plan, limits, &g);
    cj_status status = check(plan, &g, error);
    if (!status) status = choose_stages(plan, limits, &g, error);
    if (status) return status;
    keep_choices(plan, &g);
    shape_launch(plan, limits, &g);
    plan->derived[0] = g.tiles_m;
    plan->derived[1] = g.tiles_n;
    plan->derived[2] = g.steps;
    plan->derived_count = 3;
    plan->error_bound = ldexp(1, strcmp(g.type, "f16") ? -8 : -11) + ldexp((double)g.k, -22);
    snprintf(plan->entry, sizeof plan->entry, "gemm_%s_%" PRIu32 "x%" PRIu32, g.type, g.tile_m, g.tile_n);
    return CJ_OK;
}

// ---- tensor maps

void cj__gemm_map(const gemm_shape *g, unsigned which, gemm_map *map) {
    const bool            is_a = which == GEMM_MAP_A;
    const uint64_t        lines = is_a ? g->m : g->n;
    const cj_matrix_order order = is_a ? g->a : g->b;
    const uint32_t        tile = is_a ? g->tile_m : g->tile_n, parts = is_a ? g->cluster_n : g->cluster_m;
    if (which == GEMM_MAP_C || which == GEMM_MAP_D)
        *map = (gemm_map){{g->n, g->m}, {GEMM_BOX, GEMM_WARP_ROWS}};
    else if (order == CJ_BY_K)
        *map = (gemm_map){{g->k, lines}, {GEMM_STEP, tile / parts}};
    else
        *map = (gemm_map){{lines, g->k}, {GEMM_BOX, GEMM_STEP / parts}};
}
