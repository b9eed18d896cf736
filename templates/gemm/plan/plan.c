// SPDX-License-Identifier: Apache-2.0
// The plan: the chosen shape is checked, gets its stages and its launch, and becomes parameters again.
#include "plan.h"

// ---- what is refused

static cj_status check_cluster(const cj_params *p, const gemm_shape *g, cj_error *error) {
    const uint32_t  along_m = g->cluster_m, along_n = g->cluster_n;
    const uint64_t *value = p->value;
    REFUSE_IF((along_m & (along_m - 1)) || (along_n & (along_n - 1)) || along_m * along_n > GEMM_CLUSTER_MAX,
              "cluster: %u x %u blocks; each is 1, 2 or 4, and together at most %d" CJ_HINT
              "cluster counts blocks one below the other, cluster-n side by side",
              along_m, along_n, GEMM_CLUSTER_MAX);
    TRY(cj__gemm_check_tiles(p, g, 1, error));
    REFUSE_IF(!value[GEMM_CLUSTER] && value[GEMM_CLUSTER_N] > 1 && value[GEMM_CLUSTER_N] != CJ_PARAM_AUTO,
              "cluster-n: %" PRIu64 ", but cluster=0 asks for none" CJ_HINT "leave one of them at its default",
              value[GEMM_CLUSTER_N]);
    return CJ_OK;
}

static cj_status check_split(const gemm_shape *g, cj_error *error) {
    const uint64_t clusters = cj__gemm_tile_count(g) * g->parts;
    REFUSE_IF(g->split > 1 && !g->clustered,
              "split: %u, but cluster=0 asks for no clusters" CJ_HINT "parts splits K without clusters", g->split);
    REFUSE_IF(g->split * cj__gemm_multicast(g) > GEMM_SPLIT_MAX,
              "split: %u times %u x %u blocks are more than the %d of a cluster" CJ_HINT
              "cluster=1 cluster-n=1 leaves all of them to split",
              g->split, g->cluster_m, g->cluster_n, GEMM_SPLIT_MAX);
    REFUSE_IF(cj__gemm_is_split(g) && clusters * g->split * cj__gemm_multicast(g) > INT32_MAX,
              "split, parts: %" PRIu64 " clusters are more than a grid holds" CJ_HINT "make one of them smaller",
              clusters);
    return CJ_OK;
}

static cj_status check(const cj_plan *plan, const cj_limits *limits, const gemm_shape *g, cj_error *error) {
    FAIL_IF(strcmp(plan->arch, "sm_90a"), CJ_UNSUPPORTED,
            "form=wgmma uses wgmma and setmaxnreg, which only sm_90a has; the target is %s" CJ_HINT "%s", plan->arch,
            limits->compute_capability == 90 ? "name sm_90a, or no target: devices of compute capability 9.0 run it"
                                             : "form=mma runs on devices of compute capability 8.0 and later");
    TRY(check_cluster(&plan->params, g, error));
    REFUSE_IF(plan->params.value[GEMM_SUMS] == GEMM_SUMS_STAGES && !g->sums_in_stages,
              "sums: stages, but no blocks of a cluster split K: split %u" CJ_HINT
              "split=2 and more has blocks that do; or leave sums at its default",
              g->split);
    REFUSE_IF(g->turned && !cj__gemm_can_swap(g),
              "swap: yes, but results of %s are stored by rows of tiles alone" CJ_HINT "out=bf16, f16 and f32 are stored by columns, too",
              g->d_type->name);
    REFUSE_IF(g->in_turn && g->teams == 1,
              "consumers: in-turn, but a tile of %ux%u with split %u, parts %u has no two that compute tiles of 64 rows" CJ_HINT
              "tiles of 64 rows without split-K have them: split=1 parts=1; or leave consumers at its default",
              g->tile_m, g->tile_n, g->split, g->parts);
    return check_split(g, error);
}

// ---- what follows from the choice

// Stages that a block uses: of one or two tiles no more than they have steps. More would keep the next launch's blocks from the SM.
static uint64_t stages_used(const gemm_shape *g, const cj_limits *limits) {
    const uint64_t clusters = cj__most(limits->sm_count / cj__gemm_multicast(g), 1);
    const uint64_t tiles = cj__gemm_is_split(g) ? 1 : cj__ceil_div(cj__gemm_tile_count(g), clusters), steps = cj__ceil_div(g->steps, (uint64_t)g->split * g->parts);
    return tiles <= GEMM_TILES_HELD ? cj__least(cj__most(tiles * steps, GEMM_STAGES_MIN), GEMM_STAGES_MAX) : GEMM_STAGES_MAX;
}

static cj_status choose_stages(const cj_plan *plan, const cj_limits *limits, gemm_shape *g, cj_error *error) {
    const uint32_t most = cj__gemm_stages_most(g, limits), asked = (uint32_t)plan->params.value[GEMM_STAGES];
    const uint32_t sums = cj__gemm_peer_bytes(g);
    REFUSE_IF(asked == 1, "stages: 1; a stage is free when the next one is being multiplied, so it takes 2" CJ_HINT
                          "choose 2 or more, or leave stages at its default");
    FAIL_IF(
        most < GEMM_STAGES_MIN && g->split > 1, CJ_CONTRACT,
        "split: the sums of %u blocks take %u bytes of shared memory, which leaves no room for two stages of %u" CJ_HINT
        "a smaller tile than %ux%u has room, and so has parts instead of split",
        g->split, sums, cj__gemm_stage_bytes(g), g->tile_m, g->tile_n);
    g->stages = asked ? asked : (uint32_t)cj__least(most, g->sums_in_stages ? GEMM_STAGES_MAX : stages_used(g, limits));
    FAIL_IF(g->stages > most, CJ_CONTRACT,
            "stages: %u stages of %u bytes do not fit the shared memory of a block" CJ_HINT
            "a tile of %ux%u has room for %u",
            asked, cj__gemm_stage_bytes(g), g->tile_m, g->tile_n, most);
    const uint32_t stages = g->stages * cj__gemm_stage_bytes(g);
    FAIL_IF(g->sums_in_stages && stages < sums, CJ_CONTRACT,
            "sums: stages, but the sums of %u blocks take %u bytes, and %u stages have %u" CJ_HINT
            "stages=0 takes as many as there is room for, and sums=apart needs none of theirs",
            g->split, sums, g->stages, stages);
    return CJ_OK;
}

// What was chosen becomes the parameters, so that emit chooses nothing.
static void keep_choices(cj_plan *plan, const gemm_shape *g) {
    plan->params.value[GEMM_TILE] = g->tile;
    plan->params.value[GEMM_CLUSTER] = g->clustered ? g->cluster_m : 0;
    plan->params.value[GEMM_CLUSTER_N] = g->cluster_n;
    plan->params.value[GEMM_STAGES] = g->stages;
    plan->params.value[GEMM_SPLIT] = g->split;
    plan->params.value[GEMM_PARTS] = g->parts;
    plan->params.value[GEMM_SUMS] = g->sums_in_stages ? GEMM_SUMS_STAGES : GEMM_SUMS_APART;
    plan->params.value[GEMM_SWAP] = g->turned ? GEMM_SWAP_YES : GEMM_SWAP_NO;
    plan->params.value[GEMM_CONSUMERS] = g->teams > 1 ? GEMM_CONSUMERS_IN_TURN : GEMM_CONSUMERS_TOGETHER;
}

// A split gives each cluster one tile, or a part of one. All others are persistent: as many clusters as run at once.
static void shape_launch(cj_plan *plan, const cj_limits *limits, const gemm_shape *g) {
    const uint32_t blocks = cj__gemm_multicast(g) * g->split;
    plan->block = (cj_dim3){cj__gemm_threads(g), 1, 1};
    if (g->clustered) plan->cluster = (cj_dim3){blocks, 1, 1};
    plan->dynamic_shared = GEMM_SHARED_ALIGN + g->stages * cj__gemm_stage_bytes(g) + cj__gemm_store_bytes(g) +
                           cj__gemm_peer_bytes_apart(g);
    if (cj__gemm_is_split(g)) {
        plan->grid = (cj_dim3){(uint32_t)(cj__gemm_tile_count(g) * g->parts * blocks), 1, 1};
        return;
    }
    const cj_kernel_use use = {
        .threads = plan->block.x, .shared = plan->dynamic_shared + GEMM_MBARRIER_BYTES, .cluster = plan->cluster.x};
    cj_occupancy o;
    cj__occupancy(&use, limits, &o);
    const uint64_t at_once = g->clustered ? o.active_clusters : (uint64_t)o.blocks_per_sm * limits->sm_count;
    const uint64_t clusters = cj__least(cj__most(at_once, 1), cj__gemm_tile_count(g));
    plan->grid = (cj_dim3){(uint32_t)clusters * blocks, 1, 1};
    plan->resident = blocks;
}

// What each plan derives; D's extents follow where lines have a tail.
enum { DERIVED = 5 };

bool cj__gemm_takes_ends(const cj_plan *plan) { return plan->derived_count > DERIVED; }

cj_status cj__gemm_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    gemm_shape g;
    (void)clusters;  // the only target has them
    cj__gemm_problem(&plan->params, &g);
    cj__gemm_choose(&plan->params, limits, &g);
    TRY(cj__gemm_check_problem(&plan->params, &g, error));
    TRY(check(plan, limits, &g, error));
    TRY(choose_stages(plan, limits, &g, error));
    shape_launch(plan, limits, &g);
    keep_choices(plan, &g);
    CJ_DERIVE(plan, g.tiles_m, g.tiles_n, g.steps, g.batches, g.bias == GEMM_BIAS_ROWS ? g.m : g.n);
    if (cj__gemm_has_tail(&g)) CJ_DERIVE(plan, cj__gemm_lines(&g), cj__gemm_line(&g));
    if (cj__gemm_is_split(&g))
        cj__name_entry(plan, "gemm_%s_%ux%u_split_%ux%u", g.a.type->name, g.tile_m, g.tile_n, g.split, g.parts);
    else
        cj__name_entry(plan, "gemm_%s_%ux%u", g.a.type->name, g.tile_m, g.tile_n);
    plan->workspace_bytes = cj__gemm_workspace(&g);
    plan->error_bound = cj__gemm_error_bound(&g);
    plan->programmatic = plan->params.value[GEMM_DEPENDENT] != 0;
    return CJ_OK;
}
