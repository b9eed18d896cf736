// SPDX-License-Identifier: Apache-2.0
// The plan of the form skinny: how many lines a block has, how far its loads are ahead.
#include "skinny.h"

enum { SETS_MIN = 2 };

// ---- the shape

static bool is_few(uint64_t lines) { return lines <= SKINNY_EIGHTS_MAX * MMA_COLUMNS; }

skinny_shape cj__skinny_shape(const gemm_shape *g) {
    const bool   many_is_a = !is_few(g->m);
    skinny_shape s = {.many_is_a = many_is_a, .many = many_is_a ? &g->a : &g->b, .few = many_is_a ? &g->b : &g->a};
    s.groups = s.many->lines / MMA_LINES;
    s.eights = (uint32_t)cj__ceil_div(cj__least(s.few->extent, s.few->lines), MMA_COLUMNS);
    s.slices = s.many->lines * s.eights > cj__gemm_constants.skinny_sliced ? 1 : SKINNY_SLICES_MAX;
    s.sets = g->stages;
    return s;
}

// Whether this form computes the problem: both operands by K in whole chunks, few lines of one of them.
static bool can(const gemm_shape *g) {
    const bool by_k = g->a.order == CJ_BY_K && g->b.order == CJ_BY_K;
    return by_k && (is_few(g->m) || is_few(g->n)) && g->k * g->a.type->bytes % MMA_CHUNK == 0;
}

static void set_tile(gemm_shape *g, uint64_t tile) { cj__mma_set_tile(g, tile, !is_few(g->m)); }

void cj__skinny_read(const cj_params *p, gemm_shape *g) {
    cj__gemm_problem(p, g);
    set_tile(g, p->value[GEMM_TILE]);
    g->stages = (uint32_t)p->value[GEMM_STAGES];
}

// Targets that multiply 8 bits as f16 (sm_90): ptxas has registers for that beside few sums.
static bool has_registers(const gemm_shape *g) {
    const bool is_wide = cj__least(g->m, g->n) > MMA_COLUMNS;
    return !cj__gemm_is_narrow_float(g->a.type) || !is_wide || g->tile == SKINNY_TILE_FIRST + SKINNY_TILES - 1;
}

// The most lines a block that leave a block for each SM: each block reads all of the few lines.
static void choose(const cj_params *p, const cj_limits *limits, gemm_shape *g) {
    uint64_t tile = p->value[GEMM_TILE] ? p->value[GEMM_TILE] : SKINNY_TILE_FIRST;
    set_tile(g, tile);
    while (!p->value[GEMM_TILE] && tile < SKINNY_TILE_FIRST + SKINNY_TILES - 1 &&
           (cj__gemm_tile_count(g) < limits->sm_count || !has_registers(g)))
        set_tile(g, ++tile);
    const bool is_small = tile != SKINNY_TILE_FIRST && cj__least(g->m, g->n) > MMA_COLUMNS;  // a set: 4 loads a lane
    g->stages = p->value[GEMM_STAGES] ? (uint32_t)p->value[GEMM_STAGES] : is_small ? SKINNY_SETS_MAX : SETS_MIN;
}

// What other forms have.
static bool asks_for_others(const cj_params *p) {
    const uint64_t *value = p->value;
    return value[GEMM_TILE] || value[GEMM_CLUSTER] != CJ_PARAM_AUTO || value[GEMM_CLUSTER_N] != CJ_PARAM_AUTO ||
           value[GEMM_STAGES] || value[GEMM_SPLIT] || value[GEMM_PARTS] || value[GEMM_SUMS] || value[GEMM_CONSUMERS] ||
           value[GEMM_SWAP];
}

// There are blocks for all SMs, and they have little to read: a tile of 64 lines would wait longer for its first stage. So it would if there are fewer
// blocks, of short lines.
bool cj__skinny_pays(const cj_params *p, const cj_limits *limits) {
    gemm_shape g;
    cj__gemm_problem(p, &g);
    if (asks_for_others(p) || !can(&g)) return false;
    const uint64_t many = cj__most(g.m, g.n), line = g.k * g.a.type->bytes;
    const bool     fills = many / MMA_LINES * g.batches >= limits->sm_count;
    const double   bytes = (double)line * (double)many * (double)g.batches;
    if (!fills) return (double)line <= cj__gemm_constants.skinny_short_line;
    return (double)line <= cj__gemm_constants.skinny_line && bytes <= cj__gemm_constants.skinny_bytes;
}

// ---- what is refused

static cj_status check(const cj_plan *plan, const gemm_shape *g, cj_error *error) {
    const uint64_t *value = plan->params.value;
    TRY(cj__mma_check_target(plan, g, error));
    TRY(cj__mma_check_given(&plan->params, "skinny", error));
    REFUSE_IF(value[GEMM_PARTS] > 1,
              "parts: %" PRIu64 ", but form=skinny splits K among the warps of a block alone" CJ_HINT
              "form=mma and form=wgmma have parts",
              value[GEMM_PARTS]);
    REFUSE_IF(!is_few(g->m) && !is_few(g->n),
              "m, n: %" PRIu64 " x %" PRIu64 ", but form=skinny is for at most %d rows or columns" CJ_HINT
              "leave form at its default",
              value[GEMM_M], value[GEMM_N], SKINNY_EIGHTS_MAX * MMA_COLUMNS);
    REFUSE_IF(!can(g),
              "k: form=skinny reads lines of whole %d bytes by K; here A lies by %s, B by %s, and K has %" PRIu64
              " bytes" CJ_HINT "leave form at its default, or store a by rows, b by columns",
              MMA_CHUNK, g->a.order == CJ_BY_K ? "K" : "line", g->b.order == CJ_BY_K ? "K" : "line",
              g->k * g->a.type->bytes);
    REFUSE_IF(g->stages < SETS_MIN || g->stages > SKINNY_SETS_MAX,
              "stages: %u, but form=skinny loads %d to %d sets of registers ahead" CJ_HINT
              "leave stages at its default",
              g->stages, SETS_MIN, SKINNY_SETS_MAX);
    REFUSE_IF(!has_registers(g),
              "tile: %ux%u"
              " leaves no registers to convert 8-bit floats of more than %d rows or columns" CJ_HINT "16x16 does",
              cj__mma_tiles[g->tile].m, cj__mma_tiles[g->tile].n, MMA_COLUMNS);
    return cj__gemm_check_tiles(&plan->params, g, 1, error);
}

// ---- the launch

cj_status cj__skinny_plan(cj_plan *plan, const cj_limits *limits, cj_error *error) {
    gemm_shape g;
    cj__gemm_problem(&plan->params, &g);
    choose(&plan->params, limits, &g);
    TRY(cj__gemm_check_problem(&plan->params, &g, error));
    TRY(check(plan, &g, error));
    cj__mma_keep_choices(plan, &g);
    const skinny_shape s = cj__skinny_shape(&g);
    plan->block = (cj_dim3){SKINNY_WARPS * GEMM_WARP, 1, 1};
    plan->grid = (cj_dim3){(uint32_t)cj__gemm_tile_count(&g), 1, 1};
    plan->dynamic_shared = CJ_POOL_SLACK + SKINNY_WARPS * cj__skinny_warp_bytes(&s);
    plan->programmatic = plan->params.value[GEMM_DEPENDENT] != 0;
    CJ_DERIVE(plan, g.tiles_m, g.tiles_n, g.batches, g.m, g.n, g.k,
              cj__ceil_div(g.k * g.a.type->bytes, cj__skinny_set_bytes(&s)));
    cj__name_entry(plan, "gemm_skinny_%s_%ux%u", g.a.type->name, g.tile_m, g.tile_n);
    plan->error_bound = cj__gemm_error_bound(&g);
    return CJ_OK;
}
