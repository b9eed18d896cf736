// SPDX-License-Identifier: Apache-2.0
// The plan of the stream form: cluster, pieces, stages and warps; with sums over rows below.
#include "plan.h"

// Bytes of static shared memory of a stream's mbarriers and taken rows, beside its slots. A register says which of the
// block's barriers is meant, so that ptxas gives it all.
enum { STREAM_MBARRIERS = 256, BARRIERS = 16 };

static uint64_t stage_bytes(const choice *c) { return c->s->piece * c->s->elements * c->s->in_bytes * c->op->inputs; }

// Weight, bias and mask of a block's share of a row.
static uint64_t resident_bytes(const choice *c) {
    const row_shape *s = c->s;
    return s->resident ? s->pieces * s->piece * s->elements * s->in_bytes * c->op->columns : 0;
}

// The stages, and resident weights after them.
uint32_t cj__row_pool_bytes(const choice *c) {
    return (uint32_t)(CJ_POOL_SLACK + c->s->stages * stage_bytes(c) + resident_bytes(c));
}

static uint64_t room_for_stages(const choice *c) {
    const uint64_t all = c->limits->shared_per_block_optin;
    const uint64_t used = 2 * cj__row_slots_bytes(c->s) + resident_bytes(c) + STREAM_MBARRIERS + CJ_POOL_SLACK;
    return all > used ? all - used : 0;
}

// Whether bulk copies can load the rows.
static bool can_stream(const choice *c) {
    const row_shape *s = c->s;
    return c->clusters && cj__row_align(c->plan) == 16 && s->columns * s->in_bytes % 16 == 0 &&
           s->stride * s->in_bytes % 16 == 0;
}

// Pieces of a row that stay in their stages until they have been written from: all but the first.
static uint64_t pieces_kept(const choice *c) { return c->op->outputs ? c->s->pieces - 1 : 0; }

// Elements that a thread of many warps holds without a spill, beside a piece that comes from shared memory: as ptxas 13.0
// compiles for sm_90. Sweeps that read a mask or weights, and two of these, take registers, too.
static unsigned elements_fit(const choice *c) {
    const bool wide = c->s->in_bytes == 4, swept = c->op->columns && !c->op->columns_written, two = c->op->inputs > 1;
    if (c->s->totals) return 0;
    if (swept) return two ? (wide ? MANY_HOLDS_SWEPT_TWO : MANY_HOLDS_SWEPT_NARROW) : MANY_HOLDS_COLUMNS;
    if (two) return wide && c->op->columns < 2 ? MANY_HOLDS_TWO : MANY_HOLDS_TWO_NARROW;
    return !wide ? MANY_HOLDS_NARROW : c->op->columns > 1 ? MANY_HOLDS_COLUMNS : MANY_HOLDS;
}

// Blocks of more than 24 warps have 64 registers a thread.
static bool fits_registers(const choice *c) {
    const row_shape *s = c->s;
    const bool       kept = s->totals || (s->pieces > 1 && c->op->outputs);
    return s->warps < MANY_WARPS || !kept || s->held == 1 || s->held * s->elements * c->op->inputs <= elements_fit(c);
}

static bool fits_stream(const choice *c) {
    const row_shape *s = c->s;
    return s->held <= ROW_HELD && fits_registers(c) && s->stages >= cj__most(pieces_kept(c), 1) &&
           s->stages * stage_bytes(c) <= room_for_stages(c) && s->pieces <= ROW_PIECES_MAX;
}

// An f32 row that the largest cluster just holds: no more than two of its blocks fit an SM. Then a block that has its SM
// to itself, with three stages ahead, is faster.
static bool fills_sms(const choice *c) {
    return c->s->in_bytes == 4 && c->op->inputs == 1 && c->op->outputs && !c->op->columns && !c->s->totals &&
           c->limits->max_cluster >= STREAM_CLUSTER && c->s->vectors > (uint64_t)STREAM_CLUSTER * THREE_FIT * ROW_WARP * ROW_HELD;
}

// Two stages beside those that are kept. A third one pays if weight or bias take time, or if no other block is on the SM.
static unsigned stages_wanted(const choice *c) {
    const row_shape *s = c->s;
    if (s->totals) return s->in_bytes == 4 ? SUMS_STAGES : SUMS_STAGES_NARROW;
    const bool third = s->pieces == 1 && (c->op->columns || s->cluster <= 1 || fills_sms(c));
    return (unsigned)cj__least(pieces_kept(c) + STAGES_AHEAD + third, STAGES_MOST);
}

// With sums over rows a thread has registers for those of so many vectors.
static unsigned sums_held(const choice *c) {
    const uint64_t fit = cj__least(cj__most(HELD_STREAM_SUMS / (c->s->totals * c->s->elements), 1), ROW_HELD);
    return asked_or(c, ROW_VECTORS, asked(c, ROW_WARPS) ? ROW_HELD : fit);
}

// Vectors of a thread where there are more than a few warps: fewer of f16 and bf16 beside weight or bias.
static unsigned held_by_many(const choice *c) {
    const unsigned held = cj__row_piece_held(c);
    return c->op->columns && c->s->in_bytes == 2
               ? (unsigned)cj__most(cj__least(held, NARROW_COLUMN_HELD / c->op->inputs), 1)
               : held;
}

// The fewer the better, and those of several blocks on an SM: every warp of a cluster hears from every other for each
// row.
static unsigned stream_warps(const choice *c) {
    const uint64_t warp = ROW_WARP, piece = c->s->piece;
    if (c->s->totals)
        return (unsigned)cj__least(cj__most(cj__ceil_div(piece, warp * sums_held(c)), SUMS_STREAM_WARPS),
                                   cj__row_warps_most(c->s));
    if (c->s->cluster <= 1) return ALONE_WARPS - 1;
    const uint64_t warps = cj__most(cj__ceil_div(piece, warp * cj__row_piece_held(c)),
                                    c->op->columns ? COLUMN_WARPS : STREAM_WARPS_LEAST);
    return (unsigned)(warps <= COLUMN_WARPS ? warps
                                            : cj__least(cj__ceil_div(piece, warp * held_by_many(c)), SHARING_WARPS));
}

static void cut_stream(choice *c, unsigned cluster, uint64_t pieces) {
    row_shape *s = c->s;
    s->form = ROW_STREAM;
    s->cluster = cluster;
    s->pieces = pieces;
    cj__row_cut(s);
    s->warps = asked_or(c, ROW_WARPS, stream_warps(c));
    s->held = (unsigned)cj__most(cj__ceil_div(s->piece, cj__row_threads(s)), 1);
    s->stages = asked_or(c, ROW_STAGES, cj__least(cj__most(room_for_stages(c) / stage_bytes(c), 1), stages_wanted(c)));
}

// Blocks a row: one, or as many as leave each so little of the row that several of them fit an SM. Resident weights take
// room there too, and norms combine twice a row: for them larger shares are faster.
static unsigned stream_cluster(const choice *c) {
    const uint64_t share = !c->op->outputs ? SHARE_PASSING_BYTES : c->op->columns ? SHARE_COLUMN_BYTES : SHARE_BYTES;
    unsigned       cluster = 1;
    if (c->row_bytes <= STAGE_BYTES) return 1;
    while (2 * cluster <= cj__least(STREAM_CLUSTER, c->limits->max_cluster) && c->row_bytes > share * cluster)
        cluster *= 2;
    return cluster;
}

// Whether pieces are small enough for what is chosen beside them. Without weights a row that more than a few warps of
// each block would hold comes in two pieces: so warps remain few.
static bool is_small(const choice *c) {
    const row_shape *s = c->s;
    const bool       many = s->warps > COLUMN_WARPS && s->cluster > 1 && !asked(c, ROW_VECTORS);
    const unsigned   held = many ? held_by_many(c) : cj__row_piece_held(c);
    if ((!asked(c, ROW_WARPS) || asked(c, ROW_VECTORS)) && s->held > held) return false;
    if (asked(c, ROW_PIECES)) return true;
    const bool one = s->pieces == 1 && s->cluster > 1 && !c->op->columns && c->op->outputs && !asked(c, ROW_WARPS);
    return stage_bytes(c) <= STAGE_BYTES && (!one || s->warps <= ONE_PIECE_WARPS || fills_sms(c));
}

// The fewest pieces that leave so many stages free. Weights that are resident by the plan's choice allow few pieces.
static bool search_pieces(choice *c, unsigned cluster, unsigned ahead) {
    const uint64_t given = asked(c, ROW_PIECES), first = cj__most(given, 1);
    const bool     chosen = c->s->resident && !is_yes(c, ROW_RESIDENT);
    const uint64_t last = given ? given : chosen ? RESIDENT_PIECES : ROW_PIECES_MAX;
    for (uint64_t pieces = first; pieces <= last; pieces++) {
        cut_stream(c, cluster, pieces);
        const bool free = asked(c, ROW_STAGES) || c->s->stages >= pieces_kept(c) + ahead;
        if (free && is_small(c) && fits_stream(c)) return true;
    }
    return false;
}

// Clusters, or blocks, that the GPU holds at once; registers 0: as many as ptxas takes.
void cj__row_occupancy(const choice *c, unsigned registers, cj_occupancy *o) {
    const row_shape    *s = c->s;
    const bool          stream = s->form == ROW_STREAM;
    const cj_kernel_use use = {.threads = (s->warps + stream) * ROW_WARP,
                               .registers = registers,
                               .shared = (stream ? cj__row_pool_bytes(c) : 0) + 2 * cj__row_slots_bytes(s) +
                                         STREAM_MBARRIERS,
                               .barriers = stream ? BARRIERS : 1,
                               .cluster = s->cluster};
    cj__occupancy(&use, c->limits, o);
}

// Whether the GPU's GPCs have room for such clusters on at least half of their SMs.
static bool has_room(const choice *c) {
    cj_occupancy o;
    cj__row_occupancy(c, 0, &o);
    return o.active_clusters && 2 * o.stranded_sms <= c->limits->sm_count;
}

static bool search_cluster(choice *c, unsigned ahead) {
    const unsigned wanted = asked(c, ROW_CLUSTER), chosen = stream_cluster(c);
    const unsigned largest = (unsigned)cj__least(STREAM_CLUSTER, c->limits->max_cluster);
    if (is_asked(c, ROW_CLUSTER)) return wanted <= c->limits->max_cluster && search_pieces(c, wanted, ahead);
    for (unsigned cluster = chosen; cluster; cluster /= 2)
        if (search_pieces(c, cluster, ahead) && has_room(c)) return true;
    return chosen < largest && search_pieces(c, largest, ahead) && has_room(c);
}

// Weight, bias and mask are read for every row. The waits for other blocks' partials empty the L1 cache, so that they
// would come from the L2 cache, which is busy with the rows: they stay in shared memory if stages enough remain.
static bool plan_rows(choice *c) {
    const uint64_t resident = c->plan->params.value[ROW_RESIDENT];
    c->s->resident = resident != ROW_NO && c->op->columns > 0;
    if (c->s->resident && search_cluster(c, STAGES_AHEAD)) return true;
    if (resident == ROW_YES && !c->s->resident) return false;
    c->s->resident = resident == ROW_YES;
    for (unsigned ahead = STAGES_AHEAD + 1; ahead-- > 0;)
        if (search_cluster(c, ahead)) return true;
    return false;
}

// Whether registers of clusters hold a row and nothing is faster: f32 without weights, and not of the longest rows.
static bool is_held(const choice *c) {
    const unsigned blocks = is_asked(c, ROW_CLUSTER) ? (unsigned)cj__most(asked(c, ROW_CLUSTER), 1)
                                                     : c->limits->max_cluster;
    return c->s->in_bytes == 4 && !c->op->columns && asked(c, ROW_PIECES) <= 1 &&
           c->s->vectors <= cj__row_cluster_holds(c, blocks) && !fills_sms(c);
}

// Rows whose outputs begin beside vectors: a stream would store them element by element, the direct form peels them.
static bool is_stored_narrow(const choice *c) {
    return c->op->outputs && c->s->elements * c->s->in_bytes <= PEEL_PLAIN_BYTES;
}

// Rows that one block holds well in registers, and few rows; unless a stream's parameters are asked for, also rows that
// are held, pass or are stored narrow.
static bool is_direct(const choice *c) {
    return c->row_bytes <= (c->s->in_bytes == 4 ? DIRECT_WIDE_BYTES : DIRECT_NARROW_BYTES) || cj__row_is_few(c) ||
           (!cj__row_asks_stream(c) && (cj__row_is_passing(c) || is_held(c) || is_stored_narrow(c)));
}

// ---- with sums over rows

// Whether clusters of so many blocks (0: blocks without clusters) hold a row in so many stages, of STAGE_BYTES at most or
// of any size.
static bool try_sums(choice *c, unsigned cluster, unsigned stages, bool any_size) {
    cut_stream(c, cluster, 1);
    const bool sized = any_size ? c->s->stages > 1 || asked(c, ROW_STAGES) : stage_bytes(c) <= STAGE_BYTES;
    return sized && c->s->stages >= stages && c->s->held <= sums_held(c) && fits_stream(c);
}

// The cluster that is asked for; else the smallest that holds a row in stages of STAGE_BYTES and has something to do on
// every SM; else the smallest that has two stages of any size.
static bool search_sums(choice *c, unsigned stages) {
    const unsigned largest = c->limits->max_cluster, wanted = asked(c, ROW_CLUSTER);
    if (is_asked(c, ROW_CLUSTER))
        return wanted <= largest && (try_sums(c, wanted, stages, false) || try_sums(c, wanted, stages, true));
    for (int any_size = 0; any_size < 2; any_size++)
        for (unsigned cluster = 1; cluster <= largest; cluster *= 2) {
            const bool few = c->rows * cluster < c->limits->sm_count && cluster < SUMS_CLUSTER;
            if (few || (!any_size && cluster > SUMS_CLUSTER)) continue;
            if (try_sums(c, cluster, stages, any_size)) return true;
        }
    return false;
}

static bool plan_sums(choice *c) {
    const uint64_t resident = c->plan->params.value[ROW_RESIDENT];
    const unsigned least_stages = resident == ROW_YES ? 1 : 2;
    c->s->resident = resident != ROW_NO && c->op->columns > 0;
    for (unsigned stages = 2; c->s->resident && stages >= least_stages; stages--)
        if (search_sums(c, stages)) return true;
    c->s->resident = false;
    return resident != ROW_YES && search_sums(c, 1);
}

// Long rows, unless there are too few of them or pieces are asked for.
static bool are_long(const choice *c) {
    return !asked(c, ROW_PIECES) && c->row_bytes >= SUMS_STREAM_BYTES && c->rows * SUMS_CLUSTER >= c->limits->sm_count;
}

// ---- any

bool cj__row_is_streamed(const choice *c) { return can_stream(c) && (c->s->totals ? are_long(c) : !is_direct(c)); }

bool cj__row_plan_stream(choice *c) {
    if (!can_stream(c)) return false;
    return c->s->totals ? asked(c, ROW_PIECES) <= 1 && plan_sums(c) : plan_rows(c);
}
