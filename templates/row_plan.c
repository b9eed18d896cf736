// SPDX-License-Identifier: Apache-2.0
// What shape rows are worked on in: what is not asked for is chosen, and written back into the plan's parameters, so
// that emit finds all of it there. The constants are measured on an H200, but for those of sums over rows, which follow
// from what assembles without spilling.
#include <inttypes.h>
#include <stdio.h>

#include "error.h"
#include "occupancy.h"
#include "row.h"

// Bytes of a stage, as far as that is free; the most clusters are worth in a stream; bytes of static shared memory of a
// stream's barriers, besides its slots.
enum { STAGE_BYTES = 65536, STREAM_CLUSTER = 8, STREAM_BARRIERS = 256, STREAM_WARPS = 31, HALF_WARPS = 16 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

typedef struct choice {
    cj_plan         *plan;
    const row_op    *op;
    const cj_limits *limits;
    row_shape       *s;
    bool             clusters;
} choice;

// What is asked for, or 0.
static unsigned asked(const choice *c, unsigned param) {
    const uint64_t value = c->plan->params.value[param];
    return value == CJ_PARAM_AUTO ? 0 : (unsigned)value;
}

static bool is_asked(const choice *c, unsigned param) { return c->plan->params.value[param] != CJ_PARAM_AUTO; }

static unsigned align_of(const cj_plan *plan) { return 16u >> plan->params.value[ROW_ALIGN]; }

static void read_problem(const cj_plan *plan, const row_op *op, row_shape *s) {
    const uint64_t *value = plan->params.value;
    *s = (row_shape){.columns = value[ROW_COLUMNS], .rows_per_block = 1, .pieces = 1, .totals = op->totals};
    s->in_bytes = value[ROW_DTYPE] ? 2 : 4;
    s->out_bytes = *cj__row_type(plan, ROW_OUT) == 'f' && cj__row_type(plan, ROW_OUT)[1] == '3' ? 4 : 2;
    s->stride = value[ROW_STRIDE] ? value[ROW_STRIDE] : s->columns;
    s->out_stride = value[ROW_OUT_STRIDE] ? value[ROW_OUT_STRIDE] : s->columns;
    const unsigned widest = s->in_bytes > s->out_bytes ? s->in_bytes : s->out_bytes;
    for (s->elements = 16 / widest; s->elements > 1; s->elements /= 2)
        if ((s->columns | s->stride | s->out_stride) % s->elements == 0 && align_of(plan) % (s->elements * widest) == 0)
            break;
    s->vectors = s->columns / s->elements;
}

// Pieces of whole 16-byte words, where the share of each block is cut into so many.
static void cut(row_shape *s) {
    const unsigned vector_bytes = s->elements * s->in_bytes, words = vector_bytes < 16 ? 16 / vector_bytes : 1;
    s->piece = ceil_div(ceil_div(s->vectors, cj__row_blocks(s) * s->pieces), s->form == ROW_STREAM ? words : 1);
    if (s->form == ROW_STREAM) s->piece *= words;
}

// Vectors that a thread may hold: of all inputs together 32 registers. Sums over rows need registers too, for which
// blocks are smaller.
static unsigned held_most(const choice *c) {
    enum { WITH_TOTALS = 72 };
    const row_shape *s = c->s;
    const unsigned   words = s->elements * s->in_bytes < 4 ? 1 : s->elements * s->in_bytes / 4;
    const unsigned   registers = s->totals ? WITH_TOTALS : s->in_bytes == 4 ? 32 : 16;
    return (unsigned)least(most(registers / (words * c->op->inputs + s->totals * s->elements), 1), ROW_HELD);
}

// With sums over rows more warps, in a stream with the one that loads, would have too few registers for these.
static unsigned warps_most(const row_shape *s) {
    enum { WITH_TOTALS = 16 };
    return !s->totals ? 32 : s->form == ROW_STREAM ? WITH_TOTALS - 1 : WITH_TOTALS;
}

// Threads for the pieces there are: so that each holds as many vectors as it may, but not fewer than eight warps.
static void spread_threads(choice *c) {
    enum { WARPS_LEAST = 8 };
    row_shape     *s = c->s;
    const unsigned held = asked(c, ROW_VECTORS) ? asked(c, ROW_VECTORS) : held_most(c);
    cut(s);
    s->warps = asked(c, ROW_WARPS);
    if (!s->warps)
        s->warps = (unsigned)least(
            most(ceil_div(s->piece, ROW_WARP * held), least(WARPS_LEAST, ceil_div(s->piece, ROW_WARP))), warps_most(s));
    s->held = (unsigned)most(ceil_div(s->piece, cj__row_threads(s)), 1);
}

// ---- direct

// A short row is a warp's, and a block has several.
static bool is_warp_row(const choice *c) {
    return !c->s->cluster && !asked(c, ROW_WARPS) && !asked(c, ROW_PIECES) &&
           c->s->vectors <= (uint64_t)ROW_WARP * least(held_most(c), 4);
}

// Blocks a row: enough for the row, or, where rows are few, for as many SMs as there are; each gets a fair amount.
static unsigned direct_cluster(const choice *c) {
    enum { FAIR = 1024, SHORT = 4096 };
    const uint64_t rows = c->plan->params.value[ROW_ROWS], one = (uint64_t)32 * ROW_WARP * held_most(c);
    unsigned       cluster = 1;
    if (!c->clusters || !c->limits->max_cluster) return 0;
    while (cluster < c->limits->max_cluster && c->s->vectors > one * cluster) cluster *= 2;
    while (2 * cluster <= c->limits->max_cluster && c->s->vectors >= SHORT && c->s->vectors / cluster >= 2 * FAIR &&
           rows * 2 * cluster <= c->limits->sm_count)
        cluster *= 2;
    return cluster > 1 ? cluster : 0;
}

static void plan_direct(choice *c) {
    enum { ROWS_PER_BLOCK = 8 };
    row_shape *s = c->s;
    s->form = ROW_DIRECT;
    s->cluster = is_asked(c, ROW_CLUSTER) ? asked(c, ROW_CLUSTER) : direct_cluster(c);
    if (!c->clusters || s->totals) s->cluster = 0;
    s->pieces = asked(c, ROW_PIECES) ? asked(c, ROW_PIECES) : 1;
    if (is_warp_row(c)) {
        s->rows_per_block = s->warps = ROWS_PER_BLOCK;
        s->piece = s->vectors;
        s->held = (unsigned)ceil_div(s->vectors, ROW_WARP);
        return;
    }
    const unsigned held = asked(c, ROW_VECTORS) ? asked(c, ROW_VECTORS) : held_most(c);
    const unsigned warps = asked(c, ROW_WARPS) ? asked(c, ROW_WARPS) : warps_most(s);
    if (!asked(c, ROW_PIECES)) s->pieces = ceil_div(s->vectors, (uint64_t)cj__row_blocks(s) * warps * ROW_WARP * held);
    spread_threads(c);
}

// ---- stream

static uint64_t stage_bytes(const choice *c) { return c->s->piece * c->s->elements * c->s->in_bytes * c->op->inputs; }

static uint64_t slot_bytes(const row_shape *s, const row_op *op) {
    return UINT64_C(2) * cj__row_blocks(s) * s->warps * cj__row_slot_words(op) * 4;
}

// What columns have, of a block's share.
static uint64_t resident_bytes(const choice *c) {
    const row_shape *s = c->s;
    return s->resident ? s->pieces * s->piece * s->elements * s->in_bytes * c->op->columns : 0;
}

// For stages.
static uint64_t stream_room(const choice *c) {
    const uint64_t all = c->limits->shared_per_block_optin, used = slot_bytes(c->s, c->op) + resident_bytes(c);
    return all > STREAM_BARRIERS + used ? all - STREAM_BARRIERS - used : 0;
}

// Whether bulk copies can have the rows: whole multiples of 16 bytes.
static bool can_stream(const choice *c) {
    const row_shape *s = c->s;
    return c->clusters && align_of(c->plan) == 16 && s->columns * s->in_bytes % 16 == 0 &&
           s->stride * s->in_bytes % 16 == 0;
}

// The pieces of a row that are kept must fit the stages; what only passes needs no more than two.
static bool fits_stream(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   kept = c->op->outputs ? s->pieces - 1 : 1;
    return s->held <= ROW_HELD && s->stages >= most(kept, 1) && s->stages * stage_bytes(c) <= stream_room(c) &&
           s->pieces <= ROW_PIECES_MAX;
}

// A piece of f32 that sixteen warps hold to the last vector: two blocks of these share an SM, with a stage each, and do
// as well as a block of 31 warps whose share comes out even.
static bool is_halved(const choice *c) {
    const row_shape *s = c->s;
    return s->in_bytes == 4 && s->out_bytes == 4 && c->op->inputs == 1 && s->pieces == 1 && !s->resident &&
           !s->totals && s->piece == (uint64_t)HALF_WARPS * ROW_WARP * ROW_HELD;
}

// Two stages are enough where they need not hold a row's pieces; narrow elements take longer to work on, and want a
// third.
static unsigned stages_wanted(const choice *c) {
    if (is_halved(c) && !asked(c, ROW_WARPS)) return 1;
    return c->s->pieces == 1 && c->s->in_bytes == 4 ? 2 : 3;
}

// With sums over rows a thread has registers for those of so many vectors.
static unsigned dealt_held(const choice *c) {
    enum { REGISTERS = 48 };
    const bool given = asked(c, ROW_WARPS) || asked(c, ROW_VECTORS);
    return given ? ROW_HELD : (unsigned)least(most(REGISTERS / (c->s->totals * c->s->elements), 1), ROW_HELD);
}

static unsigned stream_warps(const choice *c) {
    enum { WARPS_LEAST = 8 };
    if (!c->s->totals) return is_halved(c) ? HALF_WARPS : STREAM_WARPS;
    return (unsigned)least(most(ceil_div(c->s->piece, (uint64_t)ROW_WARP * dealt_held(c)), WARPS_LEAST),
                           warps_most(c->s));
}

static void cut_stream(choice *c, unsigned cluster, uint64_t pieces) {
    row_shape *s = c->s;
    s->form = ROW_STREAM;
    s->cluster = cluster;
    s->pieces = pieces;
    cut(s);
    s->warps = asked(c, ROW_WARPS) ? asked(c, ROW_WARPS) : stream_warps(c);
    s->held = (unsigned)most(ceil_div(s->piece, cj__row_threads(s)), 1);
    s->stages = asked(c, ROW_STAGES);
    if (!s->stages) s->stages = (unsigned)least(most(stream_room(c) / stage_bytes(c), 1), stages_wanted(c));
}

// Where nothing is written pieces just pass, and the fewer warps meet, the better: the smallest cluster that gives all
// SMs several rows.
static unsigned passing_cluster(const choice *c) {
    unsigned cluster = 1;
    while (cluster < STREAM_CLUSTER && c->plan->params.value[ROW_ROWS] * cluster < 4 * (uint64_t)c->limits->sm_count)
        cluster *= 2;
    return cluster;
}

// The smallest cluster with so many stages of 64 KiB; then several pieces of that size.
static bool search_claimed(choice *c, unsigned stages) {
    const unsigned wanted = is_asked(c, ROW_CLUSTER) ? asked(c, ROW_CLUSTER) : c->op->outputs ? 0 : passing_cluster(c);
    for (uint64_t pieces = most(asked(c, ROW_PIECES), 1); pieces <= ROW_PIECES_MAX; pieces++) {
        for (unsigned cluster = 1; cluster <= c->limits->max_cluster; cluster *= 2) {
            if (wanted ? cluster != wanted : cluster > STREAM_CLUSTER) continue;
            cut_stream(c, cluster, pieces);
            const bool small = stage_bytes(c) <= STAGE_BYTES || asked(c, ROW_PIECES);
            if (small && c->s->stages >= stages && fits_stream(c)) return true;
        }
        if (asked(c, ROW_PIECES)) break;
    }
    return false;
}

// With sums over rows: the smallest cluster that holds a row in so many stages of 64 KiB and has something to do on every
// SM; else the smallest that has two stages of any size.
static bool search_dealt(choice *c, unsigned stages) {
    const row_shape *s = c->s;
    const unsigned   wanted = asked(c, ROW_CLUSTER);
    const uint64_t   rows = c->plan->params.value[ROW_ROWS];
    for (int any_size = 0; any_size < 2; any_size++)
        for (unsigned cluster = 1; cluster <= c->limits->max_cluster; cluster *= 2) {
            const bool few = rows * cluster < c->limits->sm_count && cluster < STREAM_CLUSTER;
            if (wanted ? cluster != wanted : few || (!any_size && cluster > STREAM_CLUSTER)) continue;
            cut_stream(c, cluster, 1);
            const bool sized = any_size ? s->stages > 1 || asked(c, ROW_STAGES) : stage_bytes(c) <= STAGE_BYTES;
            if (sized && s->stages >= stages && s->held <= dealt_held(c) && fits_stream(c)) return true;
        }
    return false;
}

// What columns have is read for every row. The waits for other blocks' parts empty the L1 cache, so that it would come
// from the L2 cache each time, which has its hands full with the rows: it stays in shared memory, where two stages
// remain beside it, or one where pieces pass on into registers.
static bool plan_stream(choice *c) {
    const uint64_t resident = c->plan->params.value[ROW_RESIDENT];
    bool (*const search)(choice *, unsigned) = c->s->totals ? search_dealt : search_claimed;
    c->s->resident = resident != ROW_RESIDENT_NO && c->op->columns > 0;
    const unsigned least_stages = c->s->totals && resident != ROW_RESIDENT_YES ? 2 : 1;
    for (unsigned stages = 2; c->s->resident && stages >= least_stages; stages--)
        if (search(c, stages)) return true;
    c->s->resident = false;
    return resident != ROW_RESIDENT_YES && search(c, 1);
}

// Rows that one block holds well by direct loads, and rows too few for clusters to stay and claim them.
static bool is_direct(const choice *c) {
    enum { WIDE_BYTES = 131072, NARROW_BYTES = 32768 };  // narrow elements ask more of a block's arithmetic
    const row_shape *s = c->s;
    const uint64_t   rows = c->plan->params.value[ROW_ROWS], bytes = s->columns * s->in_bytes * c->op->inputs;
    const uint64_t   blocks = least(ceil_div(bytes, STAGE_BYTES), STREAM_CLUSTER);
    return bytes <= (s->in_bytes == 4 ? WIDE_BYTES : NARROW_BYTES) || rows * blocks < 4 * (uint64_t)c->limits->sm_count;
}

// ---- the plan

static cj_status refuse(const choice *c, cj_error *error) {
    static const char *const resident[] = {"auto", "no", "yes"};
    const row_shape         *s = c->s;
    cj__fail(
        error, CJ_INVALID_ARGUMENT,
        "form=stream does not fit: rows of %" PRIu64 " elements of %u bytes with stride=%" PRIu64
        " align=%u, cluster=%u (0: any) warps=%u stages=%u pieces=%u resident=%s; %s has %u bytes of shared memory a"
        " block",
        s->columns, s->in_bytes, s->stride, align_of(c->plan), asked(c, ROW_CLUSTER), asked(c, ROW_WARPS),
        asked(c, ROW_STAGES), asked(c, ROW_PIECES), resident[c->plan->params.value[ROW_RESIDENT]], c->limits->name,
        c->limits->shared_per_block_optin);
    cj__hint(
        error,
        "streams need clusters and rows of whole 16 bytes; leave form, stages, pieces and resident at their defaults");
    return CJ_INVALID_ARGUMENT;
}

// Whether rows with sums over them come in a stream, where they can: what clusters were asked for, and long ones,
// unless there are too few of them.
static bool is_dealt_stream(const choice *c) {
    enum { LONG_BYTES = 16384 };
    const uint64_t bytes = c->s->columns * c->s->in_bytes * c->op->inputs, rows = c->plan->params.value[ROW_ROWS];
    if (is_asked(c, ROW_CLUSTER) || asked(c, ROW_PIECES)) return asked(c, ROW_CLUSTER) > 0;
    return can_stream(c) && bytes >= LONG_BYTES && rows * STREAM_CLUSTER >= c->limits->sm_count;
}

static cj_status choose_dealt(choice *c, cj_error *error) {
    const uint64_t form = c->plan->params.value[ROW_FORM];
    const bool     must = form == ROW_STREAM || (c->clusters && asked(c, ROW_CLUSTER));
    if (form == ROW_DIRECT && must) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "cluster: %u with form=direct and sums over rows, where each block has rows of its own",
                 asked(c, ROW_CLUSTER));
        cj__hint(error, "form=stream deals rows to clusters");
        return CJ_INVALID_ARGUMENT;
    }
    if (must || (form == ROW_AUTO && is_dealt_stream(c))) {
        if (can_stream(c) && asked(c, ROW_PIECES) <= 1 && plan_stream(c)) return CJ_OK;
        if (must) return refuse(c, error);
        c->s->stages = 0;
    }
    plan_direct(c);
    return CJ_OK;
}

static cj_status choose_claimed(choice *c, cj_error *error) {
    row_shape     *s = c->s;
    const uint64_t form = c->plan->params.value[ROW_FORM];
    if (form == ROW_STREAM || (form == ROW_AUTO && can_stream(c) && !is_direct(c))) {
        if (can_stream(c) && plan_stream(c)) return CJ_OK;
        if (form == ROW_STREAM) return refuse(c, error);
        s->stages = 0;
    }
    plan_direct(c);
    return CJ_OK;
}

static cj_status choose(choice *c, cj_error *error) {
    const row_shape *s = c->s;
    const cj_status  status = s->totals ? choose_dealt(c, error) : choose_claimed(c, error);
    if (status) return status;
    if (s->held <= ROW_HELD) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT,
             "vectors: a thread would hold %u loads of a row of %" PRIu64 " elements, more than %d", s->held,
             s->columns, ROW_HELD);
    cj__hint(error, "allow more warps, a larger cluster or more pieces");
    return CJ_INVALID_ARGUMENT;
}

static void write_back(cj_plan *plan, const row_shape *s) {
    uint64_t *value = plan->params.value;
    value[ROW_FORM] = s->form;
    value[ROW_CLUSTER] = s->cluster;
    value[ROW_WARPS] = s->rows_per_block > 1 ? CJ_PARAM_AUTO : s->warps;
    value[ROW_VECTORS] = s->held;
    value[ROW_STAGES] = s->stages ? s->stages : CJ_PARAM_AUTO;
    value[ROW_PIECES] = s->pieces;
    value[ROW_RESIDENT] = s->resident ? ROW_RESIDENT_YES : ROW_RESIDENT_NO;
}

void cj__row_read(const cj_plan *plan, const row_op *op, row_shape *s) {
    const uint64_t *value = plan->params.value;
    read_problem(plan, op, s);
    s->form = (row_form)value[ROW_FORM];
    s->cluster = (unsigned)value[ROW_CLUSTER];
    s->held = (unsigned)value[ROW_VECTORS];
    s->stages = value[ROW_STAGES] == CJ_PARAM_AUTO ? 0 : (unsigned)value[ROW_STAGES];
    s->pieces = value[ROW_PIECES];
    s->resident = value[ROW_RESIDENT] == ROW_RESIDENT_YES;
    s->rows_per_block = value[ROW_WARPS] == CJ_PARAM_AUTO ? plan->block.x / ROW_WARP : 1;
    s->warps = value[ROW_WARPS] == CJ_PARAM_AUTO ? s->rows_per_block : (unsigned)value[ROW_WARPS];
    cut(s);
    if (s->totals) cj__row_total_cut(plan, s);
}

// Of a stream: its stages, and what columns have behind them.
static uint32_t pool_bytes(const choice *c) { return (uint32_t)(c->s->stages * stage_bytes(c) + resident_bytes(c)); }

static cj_status check_grid(const choice *c, uint64_t grid, cj_error *error) {
    const row_shape *s = c->s;
    if (grid % cj__row_blocks(s) == 0) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "grid: %" PRIu64 " is not a multiple of the cluster's %u blocks", grid,
             s->cluster);
    cj__hint(error, "%" PRIu64 " is", ceil_div(grid, s->cluster) * s->cluster);
    return CJ_INVALID_ARGUMENT;
}

// As many blocks as there is room for, with the fewest registers that a thread may get: they stay, and rows or pieces
// are dealt to them. A driver that counts fewer has the grid made smaller.
static cj_status plan_dealt_grid(choice *c, cj_error *error) {
    enum { OTHER_REGISTERS = 16 };
    cj_plan       *plan = c->plan;
    row_shape     *s = c->s;
    const uint64_t rows = plan->params.value[ROW_ROWS], grid = asked(c, ROW_GRID),
                   words = s->elements * s->in_bytes / 4;
    const bool     stream = s->form == ROW_STREAM;
    const uint64_t held = s->elements * s->totals + (stream ? 0 : c->op->inputs * most(words, 1));
    cj_occupancy   o;
    plan->dynamic_shared = stream ? pool_bytes(c) : 0;
    const cj_kernel_use use = {.threads = plan->block.x,
                               .registers = (uint32_t)(OTHER_REGISTERS + s->held * held),
                               .shared = plan->dynamic_shared + slot_bytes(s, c->op) + STREAM_BARRIERS,
                               .cluster = s->cluster};
    cj__occupancy(&use, c->limits, &o);
    const uint64_t room = most(o.active_clusters, 1), work = ceil_div(rows, s->rows_per_block);
    const bool     twice = !stream && s->pieces > 1;
    plan->grid = (cj_dim3){(uint32_t)(grid ? grid : (twice ? room : least(room, work)) * cj__row_blocks(s)), 1, 1};
    plan->resident = grid ? 0 : cj__row_blocks(s);
    cj__row_total_cut(plan, s);
    plan->launches = twice ? 3 : 2;
    plan->workspace_bytes = cj__row_total_values_at(plan, s) + (twice ? rows * s->shares * c->op->values * 4 : 0);
    return check_grid(c, grid, error);
}

static cj_status plan_grid(choice *c, cj_error *error) {
    cj_plan         *plan = c->plan;
    const row_shape *s = c->s;
    const uint64_t   rows = plan->params.value[ROW_ROWS], grid = asked(c, ROW_GRID);
    if (s->totals) return plan_dealt_grid(c, error);
    if (s->form == ROW_DIRECT) {
        plan->grid = (cj_dim3){(uint32_t)(ceil_div(rows, s->rows_per_block) * cj__row_blocks(s)), 1, 1};
        return CJ_OK;
    }
    plan->dynamic_shared = pool_bytes(c);
    const cj_kernel_use use = {.threads = plan->block.x,
                               .shared = plan->dynamic_shared + slot_bytes(s, c->op) + STREAM_BARRIERS,
                               .cluster = s->cluster};
    cj_occupancy        o;
    cj__occupancy(&use, c->limits, &o);
    cj_status status = check_grid(c, grid, error);
    if (status) return status;
    plan->grid = (cj_dim3){(uint32_t)(grid ? grid : most(least(o.active_clusters, rows), 1) * s->cluster), 1, 1};
    plan->resident = grid ? 0 : s->cluster;
    plan->workspace_bytes = sizeof(uint32_t);
    return CJ_OK;
}

// Rows that a sum over rows has added one after the other, and parts.
static double total_length(const choice *c) {
    const uint64_t rows = c->plan->params.value[ROW_ROWS];
    const uint64_t parts = c->s->totals ? cj__row_total_parts(c->plan, c->s) : 0;
    return parts ? (double)ceil_div(rows, parts * c->s->rows_per_block) + (double)parts : 0;
}

// Rounding to the type that is written, and of sums whose longest way is that of a thread, a warp, and the slots, or
// along the rows.
static double error_bound(const choice *c) {
    const char  *type = cj__row_type(c->plan, ROW_OUT);
    const double narrow = type[0] == 'b' ? 0x1p-8 : type[1] == '1' ? 0x1p-11 : 0;
    return narrow +
           0x1p-24 * (64 + (double)(c->s->held * c->s->elements) * 2 + 4 * (double)c->s->pieces + total_length(c));
}

cj_status cj__row_plan(cj_plan *plan, const row_op *op, const cj_limits *limits, bool clusters, cj_error *error) {
    row_shape       s;
    choice          c = {plan, op, limits, &s, clusters};
    const uint64_t *value = plan->params.value;
    read_problem(plan, op, &s);
    if ((value[ROW_STRIDE] && s.stride < s.columns) || (value[ROW_OUT_STRIDE] && s.out_stride < s.columns))
        return cj__fail(
            error, CJ_INVALID_ARGUMENT, "%s: %" PRIu64 " is less than the %" PRIu64 " columns: rows would overlap",
            s.stride < s.columns ? "stride" : "out-stride", s.stride < s.columns ? s.stride : s.out_stride, s.columns);
    if (align_of(plan) < (s.in_bytes > s.out_bytes ? s.in_bytes : s.out_bytes))
        return cj__fail(error, CJ_INVALID_ARGUMENT, "align: %u bytes are less than an element", align_of(plan));
    if (!clusters && is_asked(&c, ROW_CLUSTER) && asked(&c, ROW_CLUSTER))
        snprintf(plan->note, sizeof plan->note,
                 "%s has no thread block clusters (they need sm_90): generated without,"
                 " cluster=%u is not used",
                 plan->arch, asked(&c, ROW_CLUSTER));
    cj_status status = choose(&c, error);
    if (status) return status;
    write_back(plan, &s);
    plan->block = (cj_dim3){(s.warps + (s.form == ROW_STREAM)) * ROW_WARP, 1, 1};
    if (s.cluster) plan->cluster = (cj_dim3){s.cluster, 1, 1};
    plan->derived[plan->derived_count++] = value[ROW_ROWS];
    snprintf(plan->entry, sizeof plan->entry, "%s_%s", plan->params.family->name, cj__row_type(plan, ROW_DTYPE));
    status = plan_grid(&c, error);
    plan->error_bound = error_bound(&c);
    return status;
}
