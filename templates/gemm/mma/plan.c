// SPDX-License-Identifier: Apache-2.0
// The plan of the form mma: tile, split-K and stages, as the parameters say or as they are predicted to take least.
#include <math.h>

#include "mma.h"
#include "plan.h"

enum {
    TARGET = 80,
    TARGET_8_BITS = 89,
    TARGET_DEPENDENT = 90,
    TARGET_CONVERTS = 90,
    TARGET_CONVERTS_END = 120
};

static const gemm_constants *const gpu = &cj__gemm_constants;

const mma_tile cj__mma_tiles[MMA_ALL_TILES] = {
    {0, 0, 0, 0},   {128, 256, 2, 4}, {128, 128, 2, 2}, {64, 256, 1, 4}, {64, 128, 2, 2},
    {64, 64, 2, 2}, {256, 128, 4, 2}, {128, 64, 2, 2},  {32, 128, 1, 4}, {16, 128, 1, 4},
    {16, 64, 1, 1}, {16, 32, 1, 1},   {16, 16, 1, 1},
};

// A thread's sums of f64 are 64 at most, of 32x64 a warp.
static const mma_tile tiles_of_f64[MMA_ALL_TILES] = {
    {0, 0, 0, 0},   {0, 0, 0, 0}, {128, 128, 4, 2}, {0, 0, 0, 0},     {64, 128, 2, 2},
    {64, 64, 2, 2}, {0, 0, 0, 0}, {128, 64, 4, 1},  {32, 128, 1, 4}, {16, 128, 1, 4},
};

const mma_tile *cj__mma_tile(const gemm_type *type, uint64_t tile) { return (cj__gemm_is_f64(type) ? tiles_of_f64 : cj__mma_tiles) + tile; }

static const mma_tile *tile_of(const gemm_shape *g) { return cj__mma_tile(g->a.type, g->tile); }

// ---- the shape

static uint32_t operand_bytes(const gemm_operand *o) {
    return (o->order == CJ_BY_K || o->lines > cj__mma_box(o) ? o->lines : cj__mma_box(o)) * GEMM_ROW;
}

void cj__mma_set_tile(gemm_shape *g, uint64_t tile, bool turned) {
    const mma_tile *t = cj__mma_tile(g->a.type, tile);
    g->tile = (uint32_t)tile;
    g->a.lines = g->tile_m = turned ? t->n : t->m;
    g->b.lines = g->tile_n = turned ? t->m : t->n;
    g->a.bytes = operand_bytes(&g->a);
    g->b.bytes = operand_bytes(&g->b);
    cj__gemm_set_cluster(g, 0, 0);
    g->rows = g->tile_m;
}

void cj__mma_read(const cj_params *p, gemm_shape *g) {
    cj__gemm_problem(p, g);
    cj__mma_set_tile(g, p->value[GEMM_TILE], false);
    g->parts = (uint32_t)p->value[GEMM_PARTS];
    g->stages = (uint32_t)p->value[GEMM_STAGES];
}

static uint64_t steps_of_part(const gemm_shape *g) { return cj__ceil_div(g->steps, g->parts); }

// Targets that multiply 8 bits as f16: ptxas converts fragments, and has registers for that beside half as many sums.
static bool converts(const gemm_shape *g, unsigned target) {
    return cj__gemm_is_narrow_float(g->a.type) && target >= TARGET_CONVERTS && target < TARGET_CONVERTS_END;
}

// Elements that wait for their stage have registers beside the sums of a tile of 64x128.
static bool has_registers_to_load(const gemm_shape *g) {
    const uint32_t loads = cj__mma_loads(g, tile_of(g));
    return !loads || (loads <= MMA_LOADED_MAX && loads + cj__mma_sums(tile_of(g)) <= (uint32_t)gpu->mma_loaded_sums);
}

static bool has_registers(const gemm_shape *g, unsigned target) {
    if (!has_registers_to_load(g)) return false;
    return cj__mma_sums(tile_of(g)) <= (uint32_t)(converts(g, target) ? MMA_SUMS_MAX / 2 : MMA_SUMS_MAX);
}

// ---- stages

static uint32_t stages_in(const gemm_shape *g, uint32_t shared) {
    return shared > CJ_POOL_SLACK ? (shared - CJ_POOL_SLACK) / cj__mma_stage_bytes(g) : 0;
}

// Of each of two blocks that share an SM.
static uint32_t paired_stages(const gemm_shape *g, const cj_limits *limits) {
    return stages_in(g, limits->shared_per_sm / 2 - limits->shared_reserved);
}

enum { F64_SIDE = 64 };  // of the tiles that are best where K is short

static uint64_t f64_tiles(uint64_t edge) { return cj__ceil_div(edge, F64_SIDE); }

// Whether K has so few steps, and D so many tiles, that f64 has tiles of 64x64, of which an SM has several at once.
static bool is_short_f64(const gemm_shape *g, const cj_limits *limits) {
    const uint64_t tiles = f64_tiles(g->m) * f64_tiles(g->n) * g->batches;
    return cj__gemm_is_f64(g->a.type) && g->steps <= gpu->mma_f64_short && tiles >= gpu->mma_f64_tiles * limits->sm_count;
}

// Whether f64 is faster by other tiles than this one.
static bool is_slow_f64(const gemm_shape *g, const cj_limits *limits) {
    const bool narrow = g->n <= F64_SIDE && f64_tiles(g->m) >= gpu->mma_f64_narrow;
    if (is_short_f64(g, limits)) return g->tile_m != F64_SIDE || g->tile_n != F64_SIDE;
    return cj__gemm_is_f64(g->a.type) && narrow && g->tile_n > F64_SIDE;
}

// As many as leave room for two blocks of 4 warps on an SM, if those are enough; else as many as fit. Elements in registers are one step
// ahead, whatever the stages.
static uint32_t stages_of(const gemm_shape *g, const cj_limits *limits) {
    if (is_short_f64(g, limits)) return (uint32_t)gpu->mma_f64_stages;
    if (cj__mma_loads(g, tile_of(g))) return GEMM_STAGES_MIN;
    const uint32_t most = stages_in(g, limits->shared_per_block_optin), paired = paired_stages(g, limits);
    const bool     pairs = cj__mma_warps(tile_of(g)) == 4 && paired >= gpu->mma_paired_stages;
    return (uint32_t)cj__least(pairs ? paired : most, (uint64_t)gpu->mma_stages);
}

// ---- the choice

// Clocks in which an SM accesses memory for a step of an operand, if that is not by 16 bytes: a warp's copy of a piece each, or its loads and
// a store into the stage.
static double access_clocks(const gemm_operand *o) {
    const uint32_t pieces = o->lines * GEMM_ROW / cj__mma_piece(o), loads = cj__mma_piece_loads(o);
    return o->align < GEMM_ALIGN ? (double)pieces / GEMM_WARP * (1 + loads) * gpu->mma_access : 0;
}

// Clocks of a step of a block: its products, its bytes from L2, or its accesses, whichever takes longest; it waits for elements that it loads.
static double step_clocks(const gemm_shape *g) {
    const double rate = cj__gemm_is_f64(g->a.type) ? gpu->mma_f64_products : gpu->mma_products;
    const double products = (double)g->tile_m * g->tile_n * g->step / rate;
    const double width = g->a.type->bytes == 1 ? 0.5 : g->a.type->bytes == 4 ? 2 : 1;
    const double copies = fmax((double)(g->tile_m + g->tile_n) * GEMM_ROW / gpu->mma_l2_bytes, access_clocks(&g->a) + access_clocks(&g->b));
    const bool loads = cj__mma_piece_loads(&g->a) + cj__mma_piece_loads(&g->b) > 0;
    return fmax(products * width, copies + (loads ? gpu->mma_load : 0));
}

// Blocks that an SM has at once: two of small tiles, if shared memory has room for the stages that they get.
static unsigned blocks_beside(const gemm_shape *g, const cj_limits *limits) {
    const bool small = g->tile_m * g->tile_n <= (uint32_t)gpu->mma_beside_tile;
    return small && paired_stages(g, limits) >= stages_of(g, limits) ? 2 : 1;
}

// Rounds of blocks on all SMs, each of which takes its steps and its end. Split-K adds the sums' way through L2. While one block of an SM waits
// for its loads, the other one multiplies: counted where K is split, and where all blocks are at work at once.
static double cost(const gemm_shape *g, const cj_limits *limits) {
    const double   sums = (double)g->tile_m * g->tile_n * cj__gemm_sum_bytes(g);
    const uint64_t blocks = cj__gemm_tile_count(g) * g->parts;
    const bool     pairs = blocks > limits->sm_count && (g->parts > 1 || blocks <= 2 * (uint64_t)limits->sm_count);
    const unsigned beside = pairs ? blocks_beside(g, limits) : 1;
    const double   rounds = ceil((double)blocks / (limits->sm_count * beside));
    const double   step = step_clocks(g) * (beside > 1 ? gpu->mma_beside : 1);
    const double   combine = g->parts > 1 ? gpu->mma_combine + sums * (g->parts + 1) / gpu->mma_l2_bytes : 0;
    return rounds * ((double)steps_of_part(g) * step + gpu->mma_end + sums / gpu->mma_l2_bytes) + combine;
}

// So many parts that none is empty and the blocks are a few rounds at most.
static uint64_t parts_most(const gemm_shape *g, const cj_limits *limits) {
    enum { ROUNDS = 3 };
    const uint64_t blocks = (uint64_t)limits->sm_count * blocks_beside(g, limits) * ROUNDS;
    const uint64_t room = cj__most(blocks / cj__gemm_tile_count(g), 1);
    return cj__least(cj__least(room, g->steps), GEMM_PARTS_MAX);
}

static void choose_parts(const cj_params *p, const cj_limits *limits, gemm_shape *g, gemm_shape *best, double *least) {
    const uint64_t asked = p->value[GEMM_PARTS], most = asked ? asked : parts_most(g, limits);
    for (g->parts = (uint32_t)(asked ? asked : 1); g->parts <= most; g->parts++) {
        const double clocks = cost(g, limits);
        if (clocks >= *least) continue;
        *least = clocks;
        *best = *g;
    }
}

static void choose(const cj_plan *plan, const cj_limits *limits, gemm_shape *g) {
    const cj_params *p = &plan->params;
    const uint64_t   asked = p->value[GEMM_TILE];
    gemm_shape       best = *g;
    double           least = INFINITY;
    cj__mma_set_tile(&best, asked ? asked : MMA_TILES - 1, false);
    best.parts = p->value[GEMM_PARTS] ? (uint32_t)p->value[GEMM_PARTS] : 1;
    for (uint64_t tile = asked ? asked : 1; tile < (asked ? asked + 1 : MMA_TILES); tile++) {
        if (!cj__mma_tile(g->a.type, tile)->m) continue;
        cj__mma_set_tile(g, tile, false);
        if (stages_in(g, limits->shared_per_block_optin) < cj__most(GEMM_STAGES_MIN, p->value[GEMM_STAGES])) continue;
        if (!asked && (!has_registers(g, cj__target_number(plan)) || is_slow_f64(g, limits))) continue;
        choose_parts(p, limits, g, &best, &least);
    }
    *g = best;
}

// ---- what is refused

cj_status cj__mma_check_target(const cj_plan *plan, const gemm_shape *g, cj_error *error) {
    const unsigned target = cj__target_number(plan);
    FAIL_IF(target < TARGET, CJ_UNSUPPORTED,
            "gemm uses wgmma (sm_90a), or mma.sync with cp.async (from sm_80 on); the target is %s" CJ_HINT
            "name sm_80 or a later target",
            plan->arch);
    const bool narrow = cj__gemm_is_narrow_float(g->a.type);
    if (target >= TARGET_8_BITS || (!narrow && !cj__gemm_is_narrow_float(g->d_type))) return CJ_OK;
    return cj__fail(error, CJ_UNSUPPORTED,
                    "%s: %s needs sm_89; the target is %s" CJ_HINT
                    "devices of compute capability 8.9 and later have 8-bit floats",
                    narrow ? "dtype" : "out", (narrow ? g->a.type : g->d_type)->name, plan->arch);
}

// What only blocks of a cluster, or persistent clusters, can do. The form skinny has no parts to take in place of split.
cj_status cj__mma_check_given(const cj_params *p, const char *form, cj_error *error) {
    static const struct {
        unsigned    param;
        uint64_t    most, automatic;
        const char *has_no;
    } rules[] = {{GEMM_CLUSTER, 0, CJ_PARAM_AUTO, "clusters"},
                 {GEMM_CLUSTER_N, 1, CJ_PARAM_AUTO, "clusters"},
                 {GEMM_SPLIT, 1, 0, "clusters"},
                 {GEMM_SUMS, GEMM_SUMS_APART, 0, "clusters"},
                 {GEMM_CONSUMERS, GEMM_CONSUMERS_TOGETHER, 0, "warp groups that take turns"}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        char                 word[32];
        const uint64_t       value = p->value[rules[i].param];
        const cj_param_info *info = cj_family_param(p->family, rules[i].param);
        const bool           has_parts = rules[i].param == GEMM_SPLIT && p->value[GEMM_FORM] == GEMM_FORM_MMA;
        if (value <= rules[i].most || value == rules[i].automatic) continue;
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: %s, but form=%s has no %s" CJ_HINT "leave %s at its default%s",
                        info->name, cj_params_word(p, info->name, word, sizeof word), form, rules[i].has_no, info->name,
                        has_parts ? "; parts splits K without clusters" : "");
    }
    return CJ_OK;
}

static cj_status check(const cj_plan *plan, const gemm_shape *g, cj_error *error) {
    TRY(cj__mma_check_target(plan, g, error));
    TRY(cj__mma_check_given(&plan->params, "mma", error));
    REFUSE_IF(!has_registers_to_load(g),
              "tile: %ux%u leaves no registers for elements of A and B that no copy takes (align-a, align-b)" CJ_HINT
              "64x64 does; or leave tile at its default",
              g->tile_m, g->tile_n);
    REFUSE_IF(!has_registers(g, cj__target_number(plan)),
              "tile: %ux%u leaves no registers to convert 8-bit floats, as %s must" CJ_HINT
              "64x128, 128x64 and smaller tiles have half as many sums",
              g->tile_m, g->tile_n, plan->arch);
    return cj__gemm_check_tiles(&plan->params, g, g->parts, error);
}

// Before a tile is set.
static cj_status check_tile(const cj_params *p, const gemm_shape *g, cj_error *error) {
    const uint64_t  asked = p->value[GEMM_TILE];
    const mma_tile *t = &cj__mma_tiles[asked];
    REFUSE_IF(asked && !cj__mma_tile(g->a.type, asked)->m, "tile: %ux%u leaves no registers for sums of f64" CJ_HINT
              "128x128 and smaller tiles do; or leave tile at its default", t->m, t->n);
    return CJ_OK;
}

static cj_status set_stages(const cj_plan *plan, const cj_limits *limits, gemm_shape *g, cj_error *error) {
    const uint32_t most = stages_in(g, limits->shared_per_block_optin), asked = (uint32_t)plan->params.value[GEMM_STAGES];
    REFUSE_IF(asked == 1, "stages: 1; a stage is copied while the one before is multiplied, so it takes 2" CJ_HINT
                          "choose 2 or more, or leave stages at its default");
    const bool loads = cj__mma_piece_loads(&g->a) && cj__mma_piece_loads(&g->b);
    REFUSE_IF(loads && asked > GEMM_STAGES_MIN, "stages: %u, but A and B come through registers, one step ahead: others would hold nothing that"
              " comes sooner" CJ_HINT "leave stages at its default, or promise that A or B is aligned to %d bytes", asked, MMA_COPY_LEAST);
    g->stages = asked ? asked : stages_of(g, limits);
    if (g->stages >= GEMM_STAGES_MIN && g->stages <= most) return CJ_OK;
    cj__fail(error, CJ_CONTRACT, "stages: %u stages of %u bytes do not fit the shared memory of a block",
             asked ? asked : GEMM_STAGES_MIN, cj__mma_stage_bytes(g));
    cj__hint(error, "a tile of %ux%u has room for %u", g->tile_m, g->tile_n, most);
    return CJ_CONTRACT;
}

// ---- the launch

void cj__mma_keep_choices(cj_plan *plan, const gemm_shape *g) {
    uint64_t *value = plan->params.value;
    value[GEMM_TILE] = g->tile;
    value[GEMM_CLUSTER] = 0;
    value[GEMM_CLUSTER_N] = 1;
    value[GEMM_STAGES] = g->stages;
    value[GEMM_SPLIT] = 1;
    value[GEMM_PARTS] = g->parts;
    value[GEMM_SUMS] = GEMM_SUMS_APART;
    value[GEMM_CONSUMERS] = GEMM_CONSUMERS_TOGETHER;
    value[GEMM_SWAP] = GEMM_SWAP_NO;
    value[GEMM_DEPENDENT] &= cj__target_number(plan) >= TARGET_DEPENDENT;
}

static void shape_launch(cj_plan *plan, const gemm_shape *g) {
    const mma_tile *t = tile_of(g);
    const uint32_t  warps = cj__mma_warps(t), results = warps * cj__mma_result_bytes(g, t);
    const uint64_t  tiles = cj__gemm_tile_count(g);
    plan->block = (cj_dim3){warps * GEMM_WARP, 1, 1};
    plan->grid = (cj_dim3){(uint32_t)(tiles * g->parts), 1, 1};
    plan->dynamic_shared = CJ_POOL_SLACK + (uint32_t)cj__most(g->stages * cj__mma_stage_bytes(g), results);
    if (g->parts > 1)
        plan->workspace_bytes = (size_t)(tiles * warps * (sizeof(uint32_t) + (uint64_t)g->parts * cj__mma_sums(t) * GEMM_WARP * cj__gemm_sum_bytes(g)));
    plan->programmatic = plan->params.value[GEMM_DEPENDENT] != 0;
}

cj_status cj__mma_plan(cj_plan *plan, const cj_limits *limits, cj_error *error) {
    gemm_shape g;
    cj__gemm_problem(&plan->params, &g);
    TRY(check_tile(&plan->params, &g, error));
    choose(plan, limits, &g);
    TRY(cj__gemm_check_problem(&plan->params, &g, error));
    TRY(check(plan, &g, error));
    TRY(set_stages(plan, limits, &g, error));
    cj__mma_keep_choices(plan, &g);
    shape_launch(plan, &g);
    CJ_DERIVE(plan, g.tiles_m, g.tiles_n, g.batches, g.m, g.n, g.k, steps_of_part(&g));
    cj__name_entry(plan, "gemm_mma_%s_%ux%u%s", g.a.type->name, g.tile_m, g.tile_n, g.parts > 1 ? "_split" : "");
    plan->error_bound = cj__gemm_error_bound(&g);
    return CJ_OK;
}
