// SPDX-License-Identifier: Apache-2.0
// stencil's plan: strategy, form and sizes. What is not asked for (0, auto) is chosen and written back into the plan's
// parameters, so that emit finds all of it there. constants.def has what was measured.
#include "stencil.h"

static uint32_t ceil_div(uint64_t a, uint64_t b) { return (uint32_t)cj__ceil_div(a, b); }
static uint32_t least(uint64_t a, uint64_t b) { return (uint32_t)cj__least(a, b); }
static uint32_t most_of(uint64_t a, uint64_t b) { return (uint32_t)cj__most(a, b); }

// ---- resident

typedef struct choice {
    const cj_limits *limits;
    const stencil   *asked;
    uint32_t         cluster;  // the most; 0: the target has none
    bool             exactly;  // it is asked for
} choice;

static bool shared_fits(const stencil *s, const choice *c) {
    return cj__stencil_shared_bytes(s) <= c->limits->shared_per_block_optin;
}

// Blocks a problem for all of them to run at once: clusters do not reach the last SMs.
static uint32_t spread(const choice *c) {
    uint32_t cluster = 1;
    if (c->exactly) return most_of(c->cluster, 1);
    while (2 * cluster <= c->cluster &&
           2 * cluster * c->asked->batch <= c->limits->sm_count / STENCIL_SM_GROUP * STENCIL_SM_REACHED)
        cluster *= 2;
    return cluster;
}

// Whether blocks of warps * tile rows, which overlap by two margins or more, cover the grid's rows, and every margin
// lies within the rows of one neighbour.
static bool covers(const stencil *s) {
    const uint32_t rows = s->warps * s->tile, n = s->n[1], c = s->cluster;
    if (s->boundary == BOUNDARY_PERIODIC) return n / c >= s->margin && ceil_div(n, c) + 2 * s->margin <= rows;
    return rows <= n && (n - rows) / (c - 1) >= s->margin && ceil_div(n - rows, c - 1) + 2 * s->margin <= rows;
}

// Registers that a thread may have: a quarter of the file a scheduler, in units of 8.
static uint32_t registers_of(uint32_t threads) { return least(255, cj__registers_per_thread(threads)); }

static bool fits_rows(const stencil *s, const choice *c) {
    const uint32_t others = s->box ? STENCIL_BOX_REGISTERS + 2 * s->bytes : STENCIL_STAR_REGISTERS,
                   words = s->columns * s->bytes / 4 * (s->tile + 2 * s->radius) + others;
    return covers(s) && registers_of(s->warps * WARP) >= words && shared_fits(s, c);
}

// As few warps as have registers for all rows, the same number for each of an SM's four schedulers. Margins of more
// rows cost less than more frequent exchanges.
static bool fit_rows(stencil *s, const choice *c) {
    const stencil *asked = c->asked;
    for (s->depth = asked->depth ? asked->depth : most_of(STENCIL_MARGIN / s->radius, 1); s->depth;
         s->depth = asked->depth ? 0 : s->depth / 2) {
        s->margin = s->depth * s->radius;
        for (s->warps = asked->warps ? asked->warps : STENCIL_WARPS; s->warps <= WARP;
             s->warps += asked->warps ? WARP : STENCIL_WARPS) {
            s->threads = s->warps * WARP;
            for (s->tile = s->radius; s->tile <= STENCIL_ROWS; s->tile++)
                if ((!asked->tile || asked->tile == s->tile) && fits_rows(s, c)) return true;
        }
    }
    return false;
}

static bool fit_resident_registers(stencil *s, const choice *c) {
    *s = *c->asked;
    s->strategy = STRATEGY_RESIDENT;
    s->form = FORM_REGISTERS;
    if (s->dim != 2 || s->n[0] % 4) return false;
    cj__stencil_layout(s);
    if (s->columns > COLUMNS_MAX) return false;
    for (s->cluster = most_of(spread(c), 2); s->cluster <= c->cluster; s->cluster *= 2)
        if (fit_rows(s, c)) return true;
    return false;
}

static bool fit_resident_shared(stencil *s, const choice *c) {
    *s = *c->asked;
    s->strategy = STRATEGY_RESIDENT;
    s->form = FORM_SHARED;
    const uint32_t rows = most_of(s->n[s->dim - 1] / s->radius, 1);
    const uint32_t most = most_of(least(c->cluster, rows), 1);
    const uint32_t grain = c->exactly ? most : most_of(s->points / STENCIL_GRAIN, 1);
    if (c->exactly && most < c->cluster) return false;
    s->depth = least(s->steps, 2);  // two buffers, or one
    s->tile = 0;
    for (s->cluster = least(least(spread(c), most), grain);; s->cluster = least(2 * s->cluster, most)) {
        const uint64_t points = s->points / s->cluster + 1;
        if (!c->asked->threads) s->threads = least(cj__round_up(points, WARP), c->limits->max_threads_per_block);
        cj__stencil_layout(s);
        if (shared_fits(s, c)) return true;
        if (s->cluster == most) return false;
    }
}

// ---- blocked

static uint64_t blocks_of(const stencil *s) {
    uint64_t tiles = s->batch;
    if (s->form == FORM_REGISTERS && s->strategy != STRATEGY_RESIDENT)
        return cj__ceil_div(tiles * s->strips * ceil_div(s->n[1], s->tile), s->warps);
    for (uint32_t a = 0; a < AXES && s->form == FORM_SHARED; a++) tiles *= s->axis[a].tiles;
    return tiles * s->cluster;
}

// Steps a launch: as many rows in flight as 64 registers hold.
static uint32_t stream_depth(const stencil *s) {
    const uint32_t width = 4 + (s->box ? 2 * s->radius : 0);
    return most_of(STENCIL_STREAM_LEVELS / (2 * s->radius * width * (s->bytes / 4)), 1);
}

// Rows a warp: enough warps for all SMs; the rows that it reads beyond them are shared by as many as that allows.
static uint32_t stream_rows(const stencil *s, const cj_limits *limits) {
    const uint64_t warps = (uint64_t)limits->sm_count * (s->depth > 1 ? STENCIL_STREAM_WARPS : STENCIL_STEP_WARPS);
    const uint32_t rows = least(ceil_div(s->n[1] * s->batch * s->strips, warps),
                                s->depth > 1 ? STENCIL_STREAM_ROWS : STENCIL_STEP_ROWS * s->radius);
    return most_of(rows, s->depth > 1 ? STENCIL_STREAM_MARGINS * s->margin : 1);
}

static bool has_registers(const stencil *s) { return cj__stencil_stream_registers(s) <= registers_of(s->threads); }

static bool fit_stream(stencil *s, const choice *c) {
    s->form = FORM_REGISTERS;
    if (s->cluster > 1 && c->exactly) return false;
    s->cluster = 1;
    if (s->dim != 2 || s->n[0] % 4) return false;
    if (!s->threads) s->threads = STENCIL_STREAM_BLOCK;
    if (!s->depth) {
        s->depth = least(stream_depth(s), s->steps);
        while (s->depth > 1 && !has_registers(s)) s->depth--;
    }
    if (s->depth * s->radius > 32 || !has_registers(s)) return false;
    cj__stencil_layout(s);
    if (!s->tile) s->tile = stream_rows(s, c->limits);
    s->tile = least(s->tile, s->n[1]);
    return true;
}

static bool fit_blocked_shared(stencil *s, const choice *c) {
    // Tiles as large as is fast, smaller where shared memory or too few blocks for all SMs want it.
    static const uint32_t depths[] = {[1] = STENCIL_REACH_1D, [2] = STENCIL_REACH_2D, [3] = STENCIL_REACH_3D};
    static const uint32_t tiles[] = {[1] = STENCIL_TILE_1D, [2] = STENCIL_TILE_2D, [3] = STENCIL_TILE_3D};
    s->form = FORM_SHARED;
    if (!s->depth) s->depth = least(most_of(depths[s->dim] / s->radius, 1), s->steps);
    if (!s->threads) s->threads = STENCIL_SHARED_BLOCK;
    const uint32_t n = s->n[s->dim - 1], first = s->tile ? s->tile : least(tiles[s->dim], ceil_div(n, s->cluster));
    for (s->tile = first; s->tile; s->tile = c->asked->tile ? 0 : s->tile / 2) {
        cj__stencil_layout(s);
        while (s->cluster > 1 && s->axis[s->dim - 1].length / s->cluster < s->radius) {
            if (c->exactly) return false;
            s->cluster--;
            cj__stencil_layout(s);
        }
        const bool enough = blocks_of(s) >= c->limits->sm_count || s->tile / 2 < s->depth * s->radius || s->tile == 1;
        if (shared_fits(s, c) && (c->asked->tile || enough)) return true;
    }
    return false;
}

static bool fit_blocked(stencil *s, const choice *c, bool one_step) {
    stencil way = *c->asked;
    way.strategy = one_step ? STRATEGY_STEP : STRATEGY_BLOCKED;
    way.cluster = (c->exactly || c->asked->strategy == STRATEGY_BLOCKED) && c->cluster ? c->cluster : 1;
    way.depth = one_step ? 1 : least(way.depth, way.steps);
    *s = way;
    if (way.form != FORM_SHARED && fit_stream(s, c)) return true;
    *s = way;
    return way.form != FORM_REGISTERS && fit_blocked_shared(s, c);
}

// ---- the plan

static bool choose(stencil *s, const choice *c) {
    const stencil *asked = c->asked;
    const bool     any = asked->strategy == STRATEGY_AUTO;
    if (asked->strategy == STRATEGY_RESIDENT || (any && asked->steps > 1)) {
        if (asked->form != FORM_SHARED && fit_resident_registers(s, c)) return true;
        const bool fits = asked->form != FORM_REGISTERS && fit_resident_shared(s, c);
        // The blocked form has the whole GPU. In 1-D its margins cost next to nothing, so that a cluster never pays.
        const bool pays = s->dim == 1 ? s->cluster == 1 : s->points / s->cluster <= STENCIL_RESIDENT_POINTS;
        if (fits && (!any || pays)) return true;
        if (!any) return false;
    }
    return fit_blocked(s, c, asked->strategy == STRATEGY_STEP || (any && asked->steps == 1));
}

static cj_status check_problem(const cj_params *p, const stencil *s, cj_error *error) {
    const double elements = (double)s->n[0] * s->n[1] * s->n[2] * (double)s->batch;
    REFUSE_IF(elements > 0x1p40,
              "batch, nx, ny, nz: %" PRIu64 " grids of %ux%ux%u points are %.3g points in all, more than 2^40" CJ_HINT
              "use several launches, of fewer grids",
              s->batch, s->n[0], s->n[1], s->n[2], elements);
    REFUSE_IF(s->tap_count > CJ_REALS_MAX,
              "shape=box: radius=%u has %u taps with dim=%u, more than %d" CJ_HINT
              "boxes have a radius of 1 in 3-D and of 1 or 2 in 2-D",
              s->radius, s->tap_count, s->dim, CJ_REALS_MAX);
    REFUSE_IF(p->value[WEIGHTS] && p->value[WEIGHTS] != s->tap_count,
              "weights: %" PRIu64 " numbers for %u taps" CJ_HINT
              "one for each tap of a %s of radius %u in %u dimensions, in the order of memory",
              p->value[WEIGHTS], s->tap_count, s->box ? "box" : "star", s->radius, s->dim);
    for (uint32_t i = 0; i < s->tap_count && s->bytes == 4; i++) TRY(cj__check_f32("weights", s->tap[i].weight, error));
    return CJ_OK;
}

static void write_back(cj_params *p, const stencil *s) {
    p->value[STRATEGY] = s->strategy;
    p->value[FORM] = s->form;
    p->value[CLUSTER] = s->cluster > 1 ? s->cluster : 0;
    p->value[BLOCK] = s->threads;
    p->value[TILE] = s->tile;
    p->value[DEPTH] = s->depth;
}

cj_status cj__stencil_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    stencil    asked, s;
    cj_params *params = &plan->params;
    cj__stencil_read(params, &asked);
    TRY(check_problem(params, &asked, error));
    const uint64_t given = params->value[CLUSTER];
    const bool     open = given == CJ_PARAM_AUTO;
    const choice   c = {limits, &asked, clusters ? open ? limits->max_cluster : (uint32_t)given : 0, clusters && !open};
    // Each block of a cluster has rows along the last axis, for its neighbours as many as the radius.
    const uint32_t rows = asked.n[asked.dim - 1];
    REFUSE_IF(c.exactly && c.cluster > 1 && rows / c.cluster < asked.radius,
              "cluster: %u blocks would share %u points along the last axis, of which each needs radius=%u" CJ_HINT
              "there is room for %u; or leave cluster at its default",
              c.cluster, rows, asked.radius, rows / asked.radius);
    REFUSE_IF(!choose(&s, &c),
              "strategy=%s form=%s does not fit: a grid of %ux%ux%u %s with cluster=%s block=%u tile=%u depth=%u "
              "(0: any); %s has %u bytes of shared memory and %u registers a block" CJ_HINT
              "leave strategy, form, cluster, block, tile and depth at their defaults",
              CJ_PARAM_WORD(plan, "strategy"), CJ_PARAM_WORD(plan, "form"), asked.n[0], asked.n[1], asked.n[2],
              asked.type, CJ_PARAM_WORD(plan, "cluster"), asked.threads, asked.tile, asked.depth, limits->name,
              limits->shared_per_block_optin, limits->registers_per_block);
    cj__stencil_layout(&s);
    const uint64_t blocks = blocks_of(&s), most = least(limits->max_grid.x, UINT32_MAX / s.warps);
    REFUSE_IF(blocks > most,
              "batch, nx, ny, nz: %" PRIu64 " blocks of %u threads are more than fit a grid of %s: %" PRIu64 CJ_HINT
              "use several launches, of fewer grids",
              blocks, s.threads, limits->name, most);
    if (!clusters && !open && given > 1) cj__note_no_clusters(plan, given);
    write_back(params, &s);
    if (given == 1) params->value[CLUSTER] = 1;  // which is the same
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    plan->block = (cj_dim3){s.threads, 1, 1};
    if (s.cluster > 1) plan->cluster = (cj_dim3){s.cluster, 1, 1};
    plan->dynamic_shared = (uint32_t)cj__stencil_shared_bytes(&s);
    plan->launches = s.strategy == STRATEGY_RESIDENT ? 0 : (uint32_t)s.launches;
    CJ_DERIVE(plan, s.steps);
    if (s.launches > 1) plan->workspace_bytes = s.batch * s.points * s.bytes;
    cj__name_entry(plan, "stencil_%ud_%s_%s_%s", s.dim, s.type, CJ_PARAM_WORD(plan, "strategy"),
                   CJ_PARAM_WORD(plan, "form"));
    return CJ_OK;
}
