// SPDX-License-Identifier: Apache-2.0
// The shape that rows are worked on in: what is not asked for is chosen, and written back into the plan's parameters, so
// that emit finds all of it there. constants.def has what was measured. While the warps of a block wait for each other's
// partials, those of other blocks on its SM load and write: so blocks are small, and clusters large enough to hold the
// row in them. In short:
//
//   short rows, or few rows       direct, a block each, or as many blocks as there are SMs
//   few rows, of which much moves spread over all SMs
//   nothing is written            direct, in pieces that pass, of small blocks
//   f32 without weight and bias   direct while registers hold the row, by clusters of 16 warps a block
//   up to 64 KiB                  stream, a block with all of its SM
//   longer                        stream, clusters of up to 16 blocks of 4 to 16 warps; in the fewest pieces of which a
//                                 thread holds 8 vectors
//   no bulk copies possible       direct; read twice if registers do not hold the row
#include <math.h>

#include "plan.h"

// ---- which form

// The parameter that is asked for and that streams alone have, "" where that is form, or NULL. Spread rows and sums over rows
// have grids, too; and with these, each block of the direct form has rows of its own.
static const char *asked_of_stream(const choice *c) {
    const uint64_t form = c->plan->params.value[ROW_FORM];
    if (form != ROW_AUTO) return form == ROW_STREAM ? "" : NULL;
    if (asked(c, ROW_STAGES)) return "stages";
    if (is_yes(c, ROW_RESIDENT)) return "resident";
    if (c->s->totals) return c->clusters && asked(c, ROW_CLUSTER) ? "cluster" : NULL;
    return is_asked(c, ROW_GRID) ? "grid" : NULL;
}

static cj_status choose_form(choice *c, cj_error *error) {
    const cj_plan  *plan = c->plan;
    const uint64_t  form = plan->params.value[ROW_FORM];
    const row_shape start = *c->s;
    if (!c->s->totals && (form == ROW_SPREAD || (form == ROW_AUTO && cj__row_is_spread(c)))) {
        cj__row_plan_spread(c);
        return CJ_OK;
    }
    const char *name = asked_of_stream(c);
    if (name || (form == ROW_AUTO && cj__row_is_streamed(c))) {
        if (cj__row_plan_stream(c)) return CJ_OK;
        REFUSE_IF(
            name,
            "%s%sform=stream%s does not fit: rows of %" PRIu64 " elements of %u bytes with stride=%" PRIu64
            " align=%u, cluster=%s warps=%s stages=%s pieces=%s resident=%s; %s has %u bytes of shared memory a "
            "block" CJ_HINT
            "streams need sm_90 and rows of whole 16 bytes; leave form, stages, pieces, resident%s and grid at their "
            "defaults",
            name, *name ? ": it wants " : "", *name ? ", which" : "", c->s->columns, c->s->in_bytes, c->s->stride,
            cj__row_align(plan), CJ_PARAM_WORD(plan, "cluster"), CJ_PARAM_WORD(plan, "warps"),
            CJ_PARAM_WORD(plan, "stages"), CJ_PARAM_WORD(plan, "pieces"), CJ_PARAM_WORD(plan, "resident"),
            c->limits->name, c->limits->shared_per_block_optin, c->s->totals ? ", cluster" : "");
        c->s->stages = 0;
    }
    cj__row_plan_direct(c);
    const bool open = form == ROW_AUTO && !is_asked(c, ROW_CLUSTER) && !is_asked(c, ROW_AT_ONCE);
    if (!open || !cj__row_is_better_spread(c)) return CJ_OK;
    *c->s = start;
    cj__row_plan_spread(c);
    return CJ_OK;
}

// Short rows with gaps between them fill some sectors by several stores. The L2 cache collects these before it writes the sector, unless the
// stores ask to leave the cache first.
static bool are_sectors_shared(const row_shape *s, uint64_t rows) {
    enum { SECTOR_BYTES = 32 };
    const bool apart = (s->columns * s->out_bytes) % SECTOR_BYTES || (s->out_stride * s->out_bytes) % SECTOR_BYTES;
    const bool large = rows * s->out_stride * s->out_bytes >= SHARED_SECTORS_LEAST;
    return s->rows_per_block > 1 && !s->transposed && s->out_stride != s->columns && apart && large;
}

// Where this differs from what is asked for, the kit refuses that (cj__given_check_plan).
static void write_back(cj_plan *plan, const row_shape *s) {
    uint64_t *value = plan->params.value;
    value[ROW_FORM] = s->form;
    value[ROW_CLUSTER] = s->cluster;
    value[ROW_BLOCKS] = s->blocks ? s->blocks : CJ_PARAM_AUTO;
    value[ROW_WARPS] = s->rows_per_block > 1 ? CJ_PARAM_AUTO : s->warps;
    value[ROW_LANES] = s->rows_per_block > 1 ? s->lanes : CJ_PARAM_AUTO;
    value[ROW_UNROLL] = s->rows_per_block > 1 ? s->unroll : CJ_PARAM_AUTO;
    value[ROW_TRANSPOSE] = s->form != ROW_DIRECT ? ROW_OPEN : s->transposed ? ROW_YES : ROW_NO;
    value[ROW_PEEL] = s->form == ROW_STREAM ? CJ_PARAM_AUTO : s->peeled ? s->elements : 0;
    value[ROW_SPLIT] = s->form == ROW_STREAM ? CJ_PARAM_AUTO : cj__row_is_split(s) ? s->elements : 0;
    value[ROW_ACROSS] = !cj__row_is_split(s) || !s->peeled ? ROW_OPEN : s->across ? ROW_YES : ROW_NO;
    value[ROW_VECTORS] = s->held;
    value[ROW_STAGES] = s->stages ? s->stages : CJ_PARAM_AUTO;
    value[ROW_PIECES] = s->pieces;
    const bool streaming = ROW_STORES_STREAM && !are_sectors_shared(s, value[ROW_ROWS]);
    if (!value[ROW_STORE]) value[ROW_STORE] = streaming ? ROW_STORE_STREAMING : ROW_STORE_PLAIN;
    if (s->form != ROW_DIRECT || s->totals) value[ROW_AT_ONCE] = CJ_PARAM_AUTO;
    value[ROW_RESIDENT] = s->resident ? ROW_YES : ROW_NO;
    if (s->form == ROW_DIRECT && !s->totals) value[ROW_GRID] = CJ_PARAM_AUTO;
}

// ---- the grid

// Blocks at most: each writes its sums, which others read afterwards. Short rows have as many blocks as make the rows of a group and the sums of all
// blocks take equally long. Few rows have as many as add up the sums afterwards.
static uint64_t sums_blocks_most(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   sms = c->limits->sm_count, work = cj__ceil_div(c->rows, s->rows_per_block);
    if (s->form == ROW_STREAM) return work;
    if (s->pieces > 1) return c->rows * s->pieces <= sms ? SUMS_PIECES_BLOCKS * sms : UINT64_MAX;
    const uint64_t last = cj__ceil_div(s->totals * s->columns, SUMS_LAST_COLUMNS);
    const double   rows = s->rows_per_block > 1 ? round(sqrt((double)work / SUMS_EVEN_BLOCKS)) : 1;  // a group
    return cj__most(cj__ceil_div(work, (uint64_t)fmax(rows, 1)), cj__least(last, sms));
}

// Persistent blocks, to which rows or pieces are dealt: as many as the GPU holds with the fewest registers that a thread
// may get. A driver that counts fewer makes the grid smaller. Where a thread would need more than there are, ptxas spills some: a block runs all the same.
static void plan_sums_grid(choice *c) {
    cj_plan     *plan = c->plan;
    row_shape   *s = c->s;
    const bool   twice = s->form != ROW_STREAM && s->pieces > 1;
    cj_occupancy o;
    cj__row_occupancy(c, cj__row_sums_registers(c, s->held), &o);
    if (!o.active_clusters) cj__row_occupancy(c, 0, &o);
    cj__row_set_grid(c, cj__least(cj__most(o.active_clusters, 1), sums_blocks_most(c)));
    cj__row_cut_sums(plan, s);
    plan->launches = twice ? 3 : 2;
    plan->workspace_bytes = cj__row_values_offset(plan, s) +
                            (twice ? c->rows * s->shares * c->op->values * sizeof(float) : 0);
}

static void plan_stream_grid(choice *c) {
    cj_occupancy o;
    cj__row_occupancy(c, 0, &o);
    cj__row_set_grid(c, cj__most(cj__least(o.active_clusters, c->rows), 1));
    c->plan->workspace_bytes = sizeof(uint32_t);
}

// HBM turns between reading and writing less often if SMs have no more on its way than they need: of rows that a block each reads
// once and writes, and that the L2 cache does not hold; measured of norms, whose sweeps take little time. Where it would be more blocks than
// three, all that an SM holds are faster: 0.
static unsigned blocks_at_once(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   bytes = (uint64_t)s->held * cj__row_threads(s) * s->elements * s->in_bytes * c->op->inputs;
    const uint64_t   at_once = cj__ceil_div(ROW_FLIGHT_BYTES, bytes);
    const bool       large = c->rows * c->row_bytes > c->limits->l2_bytes && c->op->outputs;
    const bool       is_norm = c->op->fold != ROW_FOLD_EXP && c->op->inputs == 1;
    const bool       one = s->rows_per_block == 1 && s->pieces == 1 && !s->cluster && !s->peeled;
    return large && is_norm && one && at_once == ROW_AT_ONCE_BLOCKS ? ROW_AT_ONCE_BLOCKS : 0;
}

// Where an SM shall have few blocks at once, each has shared memory that it does not use: more blocks would not fit.
static cj_status plan_direct_grid(choice *c, cj_error *error) {
    const row_shape *s = c->s;
    const unsigned   most = c->limits->shared_per_block_optin;
    const unsigned   at_once = asked_or(c, ROW_AT_ONCE, blocks_at_once(c));
    const uint64_t   groups = cj__ceil_div(c->rows, s->rows_per_block);
    TRY(cj__check_grid(groups * cj__row_blocks(s), c->rows, cj__row_blocks(s), error));
    c->plan->grid = (cj_dim3){(uint32_t)(groups * cj__row_blocks(s)), 1, 1};
    c->plan->params.value[ROW_AT_ONCE] = at_once ? at_once : CJ_PARAM_AUTO;
    if (at_once) c->plan->dynamic_shared = (uint32_t)cj__least(c->limits->shared_per_sm / (at_once + 1), most);
    return CJ_OK;
}

static cj_status plan_grid(choice *c, cj_error *error) {
    cj_plan         *plan = c->plan;
    const row_shape *s = c->s;
    const unsigned   blocks = cj__row_blocks(s);
    if (s->form == ROW_STREAM) plan->dynamic_shared = cj__row_pool_bytes(c);
    if (s->totals)
        plan_sums_grid(c);
    else if (s->form == ROW_SPREAD)
        TRY(cj__row_plan_spread_grid(c, error));
    else if (s->form == ROW_STREAM)
        plan_stream_grid(c);
    else
        TRY(plan_direct_grid(c, error));
    REFUSE_IF(plan->grid.x % blocks, "grid: %" PRIu32 " is not a multiple of %s's %u blocks" CJ_HINT "%" PRIu64 " is",
              plan->grid.x, s->cluster ? "the cluster" : "a row", blocks, cj__round_up(plan->grid.x, blocks));
    return CJ_OK;
}

// ---- the plan

// Rounding to the type that is written, and of sums: the longest way of an element is that through a thread, a warp and
// the slots, or along the rows and their partials.
static double error_bound(const choice *c) {
    const row_shape *s = c->s;
    const char      *type = cj__row_type(c->plan, ROW_OUT);
    const double     narrow = type[0] == 'b' ? 0x1p-8 : type[1] == '1' ? 0x1p-11 : 0;
    const uint64_t   parts = s->totals ? cj__row_sum_partials(c->plan, s) : 0;
    const double     sums = parts ? (double)(s->unroll * cj__ceil_div(c->rows, parts * s->rows_per_block) + parts) : 0;
    return narrow + 0x1p-24 * (64 + (double)(s->held * s->elements) * 2 + 4 * (double)s->pieces + sums);
}

static cj_status check_problem(const choice *c, cj_error *error) {
    const row_shape *s = c->s;
    TRY(cj__check_stride(c->plan, ROW_STRIDE, s->columns, error));
    TRY(cj__check_stride(c->plan, ROW_OUT_STRIDE, s->columns, error));
    REFUSE_IF(cj__row_align(c->plan) < cj__most(s->in_bytes, s->out_bytes),
              "align: %u bytes are less than an element" CJ_HINT
              "say what all pointers are multiples of, at least the size of an element",
              cj__row_align(c->plan));
    return c->op->outputs ? cj__refuse_bf16(c->plan, "out", cj__row_type(c->plan, ROW_OUT), error) : CJ_OK;
}

// Large matrices with weight or bias, or with sums over rows, are no dependent launches: nobody writes what these read while they run, so their
// loads are .nc, and ptxas moves them up. Where weights are loaded in parts it would move up too many.
static bool is_dependent(const choice *c) {
    const row_shape *s = c->s;
    const bool       moves = s->form == ROW_DIRECT && c->op->columns && !cj__row_is_split(s);
    return c->rows * c->row_bytes <= DEPENDENT_BYTES || !(s->totals || moves);
}

cj_status cj__row_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    row_op    op;
    row_shape s;
    TRY(cj__row_op(plan, &op, error));
    cj__row_problem(plan, &op, &s);
    choice c = {
        .plan = plan, .op = &op, .limits = limits, .s = &s, .clusters = clusters, .registers = SPREAD_REGISTERS};
    c.rows = plan->params.value[ROW_ROWS];
    c.row_bytes = s.columns * s.in_bytes * op.inputs;
    TRY(check_problem(&c, error));
    cj__cluster_asked(plan, ROW_CLUSTER, clusters);
    TRY(choose_form(&c, error));
    const unsigned held = s.form == ROW_SPREAD ? cj__row_spread_held_most(&c)
                          : s.transposed       ? ROW_TRANSPOSED
                                               : ROW_HELD;
    REFUSE_IF(s.held > held,
              "vectors: a thread would hold %u loads of a row of %" PRIu64 " elements, more than %u" CJ_HINT
              "allow more warps, a larger cluster or more pieces",
              s.held, s.columns, held);
    const unsigned warps_most = limits->max_threads_per_block / ROW_WARP - 1;
    REFUSE_IF(s.form == ROW_STREAM && s.warps > warps_most,
              "warps: %u, but a block of form=stream has %u and a warp that fetches" CJ_HINT "choose at most %u, or leave warps at its default", s.warps,
              warps_most, warps_most);
    REFUSE_IF(is_yes(&c, ROW_ACROSS) && !s.across,
              "across: yes, but no vector that is written stands across two of what is read: columns=%" PRIu64 " stride=%" PRIu64 " out-stride=%" PRIu64
              " align=%u" CJ_HINT
              "leave across at its default; it is for rows of %d vectors or more, written beside the vectors of what is read, in form=direct or spread, and"
              " without sums over rows",
              s.columns, s.stride, s.out_stride, cj__row_align(plan), ROW_ACROSS_LEAST);
    write_back(plan, &s);
    plan->block = (cj_dim3){(s.warps + (s.form == ROW_STREAM)) * ROW_WARP, 1, 1};
    plan->programmatic = clusters && is_dependent(&c);  // the same targets have programmatic dependent launch
    if (s.cluster) plan->cluster = (cj_dim3){s.cluster, 1, 1};
    CJ_DERIVE(plan, c.rows);
    cj__name_entry(plan, "%s_%s", plan->params.family->name, cj__row_type(plan, ROW_DTYPE));
    TRY(plan_grid(&c, error));
    plan->error_bound = error_bound(&c);
    return CJ_OK;
}
