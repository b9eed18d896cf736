// SPDX-License-Identifier: Apache-2.0
// What shape rows are worked on in: what is not asked for is chosen, and written back into the plan's parameters, so
// that emit finds all of it there. The constants are measured on an H200 (`ptxgen tune` tells what else there is), but
// for those of sums over rows, which follow from what assembles without spilling. Most of it is one idea: while the
// warps of a block wait for each other's parts, those of other blocks on its SM load and write; so blocks are small,
// and clusters large enough to hold the row in them. In short:
//
//   rows that are short, or few      direct, a block each, or as many blocks as there are SMs
//   few and long                     spread over all SMs
//   nothing is written               direct, in pieces that pass, of small blocks
//   f32, and no column has anything  direct while registers hold it, by clusters of 16 warps a block
//   up to 64 KiB                     stream, a block with all of its SM
//   longer                           stream, clusters of up to 16 blocks of 4 to 16 warps; in the fewest pieces of which
//                                    a thread holds 8 vectors
//   rows that no stream can have     direct; read twice where registers do not hold them
#include <inttypes.h>
#include <stdio.h>

#include "error.h"
#include "occupancy.h"
#include "row.h"

// Bytes of a stage, as far as that is free; the most clusters are worth in a stream, with sums over rows in another one;
// bytes of static shared memory of a stream's mbarriers and claims, besides its slots. A register says which of the
// block's barriers is meant, so that ptxas gives it all.
enum { STAGE_BYTES = 65536, STREAM_CLUSTER = 16, DEALT_CLUSTER = 8, STREAM_MBARRIERS = 256, BARRIERS = 16 };

// Warps of a block: that has its SM to itself, in a stream beside the one that loads; and of one among several.
enum { ALONE_WARPS = 32, SHARING_WARPS = 16, SPREAD_REGISTERS = 64 };

static uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

typedef struct choice {
    cj_plan         *plan;
    const row_op    *op;
    const cj_limits *limits;
    row_shape       *s;
    bool             clusters;
    unsigned         registers;  // that a thread of spread rows needs
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

// Pieces of whole 16-byte words in a stream, of whole cache lines where rows are spread, where the share of each
// block is cut into so many.
static void cut(row_shape *s) {
    enum { LINE_BYTES = 128 };
    const unsigned vector_bytes = s->elements * s->in_bytes;
    const unsigned unit = s->form == ROW_DIRECT ? 1 : s->form == ROW_SPREAD ? LINE_BYTES : 16;
    const unsigned vectors = unit > vector_bytes ? unit / vector_bytes : 1;
    s->piece = ceil_div(ceil_div(s->vectors, cj__row_blocks(s) * s->pieces), vectors) * vectors;
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

// Rows are too few for clusters to stay and claim them: each gets more of the GPU instead.
static bool is_few(const choice *c) {
    enum { BLOCKS = 8 };
    const row_shape *s = c->s;
    const uint64_t   bytes = s->columns * s->in_bytes * c->op->inputs;
    return c->plan->params.value[ROW_ROWS] * least(ceil_div(bytes, STAGE_BYTES), BLOCKS) <
           4 * (uint64_t)c->limits->sm_count;
}

// Nothing is written but a value a row: pieces just pass.
static bool is_passing(const choice *c) { return !c->op->outputs && !c->s->totals && !is_few(c); }

// Vectors that a thread should hold of a piece of several, or of a stage.
static unsigned piece_held(const choice *c) {
    return asked(c, ROW_VECTORS) ? asked(c, ROW_VECTORS) : ROW_HELD / c->op->inputs;
}

// ---- direct

// Vectors that a thread should hold. Passing pieces come one behind the other: what is in flight is what is held.
static unsigned direct_held(const choice *c) {
    enum { PASSING = 4 };
    if (is_passing(c) && c->s->pieces > 1) return piece_held(c);
    if (asked(c, ROW_VECTORS)) return asked(c, ROW_VECTORS);
    return is_passing(c) ? PASSING / c->op->inputs : held_most(c);
}

// Threads for the pieces there are: so that each holds as many vectors as it may, but not fewer than a few warps.
static void spread_threads(choice *c) {
    enum { WARPS_LEAST = 8, PASSING_LEAST = 4 };
    row_shape     *s = c->s;
    const unsigned fewest = is_passing(c) ? PASSING_LEAST : WARPS_LEAST;
    cut(s);
    s->warps = asked(c, ROW_WARPS);
    if (!s->warps)
        s->warps = (unsigned)least(
            most(ceil_div(s->piece, ROW_WARP * direct_held(c)), least(fewest, ceil_div(s->piece, ROW_WARP))),
            warps_most(s));
    s->held = (unsigned)most(ceil_div(s->piece, cj__row_threads(s)), 1);
}

// A short row is a warp's, and a block has several.
static bool is_warp_row(const choice *c) {
    const uint64_t held = asked(c, ROW_VECTORS) ? asked(c, ROW_VECTORS) : least(held_most(c), 4);
    return !c->s->cluster && !asked(c, ROW_WARPS) && asked(c, ROW_PIECES) <= 1 && c->s->vectors <= ROW_WARP * held;
}

// Warps of each of so many blocks a row. Where rows are few, each gets what there is.
static unsigned direct_warps(const choice *c, unsigned blocks) {
    if (asked(c, ROW_WARPS)) return asked(c, ROW_WARPS);
    return (unsigned)least(warps_most(c->s), blocks > 1 && !is_few(c) ? SHARING_WARPS : ALONE_WARPS);
}

static uint64_t cluster_holds(const choice *c, unsigned blocks) {
    return (uint64_t)blocks * direct_warps(c, blocks) * ROW_WARP * direct_held(c);
}

// Blocks a row: enough for the row, or, where rows are few, for as many SMs as there are; each gets a fair amount.
static unsigned direct_cluster(const choice *c) {
    enum { FAIR = 1024, SHORT = 4096, PASSING = 4096, PASSING_CLUSTER = 8 };
    const uint64_t rows = c->plan->params.value[ROW_ROWS], vectors = c->s->vectors;
    const unsigned largest = c->limits->max_cluster;
    unsigned       cluster = 1;
    if (!c->clusters || !largest) return 0;
    if (is_passing(c)) {
        while (2 * cluster <= least(largest, PASSING_CLUSTER) && vectors > (uint64_t)PASSING * cluster) cluster *= 2;
        return cluster > 1 ? cluster : 0;
    }
    while (2 * cluster <= largest && vectors > cluster_holds(c, cluster)) cluster *= 2;
    while (2 * cluster <= largest && vectors >= SHORT && vectors / cluster >= 2 * FAIR &&
           rows * 2 * cluster <= c->limits->sm_count)
        cluster *= 2;
    return cluster > 1 ? cluster : 0;
}

// One, if the most warps hold it; else as many as registers need; and where they pass a few more, so that the block
// stays small.
static uint64_t direct_pieces(const choice *c) {
    enum { PASSING = 1024, PASSING_PIECES = 4, PASSING_WARPS = 8 };
    const unsigned blocks = cj__row_blocks(c->s);
    if (!is_passing(c)) {
        const bool holds = c->s->vectors <= blocks * cluster_holds(c, 1);
        return holds ? 1 : ceil_div(c->s->vectors, cluster_holds(c, blocks));
    }
    const uint64_t share = ceil_div(c->s->vectors, blocks);
    const unsigned warps = asked(c, ROW_WARPS) ? asked(c, ROW_WARPS) : PASSING_WARPS;
    return most(least(ceil_div(share, PASSING), PASSING_PIECES),
                ceil_div(share, (uint64_t)warps * ROW_WARP * piece_held(c)));
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
    if (!asked(c, ROW_PIECES)) s->pieces = direct_pieces(c);
    spread_threads(c);
}

// ---- spread

// How many blocks of so many warps the GPU holds at once: few rows are long ones, of which threads hold what they
// can.
static unsigned room_for(const choice *c, unsigned warps) {
    cj_occupancy        o;
    const cj_kernel_use use = {.threads = warps * ROW_WARP, .registers = c->registers};
    cj__occupancy(&use, c->limits, &o);
    return o.active_clusters;
}

// With rows to claim, and read twice, there is less room for the row itself.
static unsigned spread_most(const choice *c) {
    enum { WORDS = 24 };
    const row_shape *s = c->s;
    const unsigned   words = (unsigned)most(s->elements * s->in_bytes / 4, 1) * c->op->inputs;
    const bool       crowded = s->pieces > 1 && c->plan->params.value[ROW_ROWS] > c->limits->sm_count;
    return crowded ? (unsigned)least(WORDS / words, ROW_HELD) : ROW_HELD;
}

static unsigned spread_held(const choice *c) { return asked(c, ROW_VECTORS) ? asked(c, ROW_VECTORS) : held_most(c); }
static unsigned spread_warps(const choice *c) { return asked(c, ROW_WARPS) ? asked(c, ROW_WARPS) : SHARING_WARPS; }

// Blocks a row: a row's share of the SMs, or of all blocks there is room for where threads would have much each.
// More, and fewer rows at a time, where these do not hold it; but half as many as hold it where the second reading
// finds the matrix in the L2 cache. None with less than a little of the row.
static unsigned spread_blocks(const choice *c) {
    enum { LEAST = 512, MUCH = 4 };
    const uint64_t rows = least(c->plan->params.value[ROW_ROWS], c->limits->sm_count), vectors = c->s->vectors;
    const uint64_t threads = (uint64_t)spread_warps(c) * ROW_WARP, room = room_for(c, spread_warps(c));
    const uint64_t one = c->limits->sm_count / rows, all = room / rows;
    const uint64_t blocks = most(vectors >= MUCH * threads * one ? all : one, 1);
    const uint64_t hold = ceil_div(vectors, threads * spread_held(c));
    const uint64_t bytes = rows * c->s->columns * c->s->in_bytes * c->op->inputs;
    const uint64_t fewest = hold > blocks && 3 * bytes <= 2 * c->limits->l2_bytes ? ceil_div(hold, 2) : hold;
    return (unsigned)most(least(least(most(fewest, blocks), least(room, ROW_BLOCKS_MAX)), vectors / LEAST), 1);
}

// Few rows, each long enough for more blocks than a cluster would give it.
static bool is_spread(const choice *c) {
    enum { LONG = 32768, LONG_A_ROW = 2048 };  // columns
    const uint64_t rows = c->plan->params.value[ROW_ROWS];
    const bool     streams = asked(c, ROW_STAGES) || is_asked(c, ROW_GRID) ||
                         c->plan->params.value[ROW_RESIDENT] == ROW_RESIDENT_YES;
    if (is_asked(c, ROW_BLOCKS)) return true;
    return is_few(c) && !is_asked(c, ROW_CLUSTER) && !streams && c->s->columns >= most(LONG, LONG_A_ROW * rows);
}

static void cut_spread(choice *c) {
    row_shape *s = c->s;
    s->form = ROW_SPREAD;
    s->blocks = asked(c, ROW_BLOCKS) ? asked(c, ROW_BLOCKS) : spread_blocks(c);
    s->pieces = asked(c, ROW_PIECES) ? asked(c, ROW_PIECES) : 1;
    cut(s);
    s->warps = (unsigned)least(spread_warps(c), asked(c, ROW_WARPS) ? ALONE_WARPS : ceil_div(s->piece, ROW_WARP));
    if (!asked(c, ROW_PIECES)) {
        const uint64_t share = s->piece, threads = (uint64_t)s->warps * ROW_WARP;
        s->pieces = ceil_div(share, threads * spread_held(c));
        if (!asked(c, ROW_VECTORS)) s->pieces = ceil_div(share, threads * least(spread_held(c), spread_most(c)));
        cut(s);
    }
    s->held = (unsigned)most(ceil_div(s->piece, cj__row_threads(s)), 1);
    const uint64_t grid = asked(c, ROW_GRID) ? asked(c, ROW_GRID) : room_for(c, s->warps);
    s->claims = c->plan->params.value[ROW_ROWS] > grid / s->blocks;
}

// Where a thread would hold too much for the usual registers, there is room for fewer blocks.
static void plan_spread(choice *c) {
    for (unsigned needed = SPREAD_REGISTERS; needed;) {
        c->registers = needed;
        cut_spread(c);
        needed = cj__row_spread_registers(c->plan, c->op, c->s);
        if (needed <= c->registers) needed = 0;
    }
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

// Of a stream: its stages, and what columns have behind them.
static uint32_t pool_bytes(const choice *c) {
    return (uint32_t)(CJ_POOL_SLACK + c->s->stages * stage_bytes(c) + resident_bytes(c));
}

// For stages.
static uint64_t stream_room(const choice *c) {
    const uint64_t all = c->limits->shared_per_block_optin;
    const uint64_t used = slot_bytes(c->s, c->op) + resident_bytes(c) + STREAM_MBARRIERS + CJ_POOL_SLACK;
    return all > used ? all - used : 0;
}

// Whether bulk copies can have the rows: whole multiples of 16 bytes.
static bool can_stream(const choice *c) {
    const row_shape *s = c->s;
    return c->clusters && align_of(c->plan) == 16 && s->columns * s->in_bytes % 16 == 0 &&
           s->stride * s->in_bytes % 16 == 0;
}

// Pieces of a row that stay in their stages until they have been written from: all but the first.
static uint64_t pieces_kept(const choice *c) { return c->op->outputs ? c->s->pieces - 1 : 0; }

static bool fits_stream(const choice *c) {
    const row_shape *s = c->s;
    return s->held <= ROW_HELD && s->stages >= most(pieces_kept(c), 1) &&
           s->stages * stage_bytes(c) <= stream_room(c) && s->pieces <= ROW_PIECES_MAX;
}

// One f32 row that the largest cluster just holds: no more than two of its blocks fit an SM. Then one that has its SM to
// itself, and three stages for what is ahead, is better.
static bool fills_sms(const choice *c) {
    enum { LARGEST = 16, THREE_FIT = 12 };  // warps of a block
    const row_shape *s = c->s;
    return s->in_bytes == 4 && c->op->inputs == 1 && c->op->outputs && !c->op->columns && !s->totals &&
           c->limits->max_cluster >= LARGEST && s->vectors > (uint64_t)LARGEST * THREE_FIT * ROW_WARP * ROW_HELD;
}

// Two stages beside those that are kept. With what columns have there is more to do for each row, and a third one pays;
// so it does where there is no other block on the SM.
static unsigned stages_wanted(const choice *c) {
    enum { STAGES_MOST = 4 };
    const row_shape *s = c->s;
    if (s->totals) return s->in_bytes == 4 ? 2 : 3;
    const bool third = s->pieces == 1 && (c->op->columns || s->cluster <= 1 || fills_sms(c));
    return (unsigned)least(pieces_kept(c) + 2 + third, STAGES_MOST);
}

// With sums over rows a thread has registers for those of so many vectors.
static unsigned dealt_held(const choice *c) {
    enum { REGISTERS = 48 };
    if (asked(c, ROW_VECTORS)) return asked(c, ROW_VECTORS);
    return asked(c, ROW_WARPS) ? ROW_HELD
                               : (unsigned)least(most(REGISTERS / (c->s->totals * c->s->elements), 1), ROW_HELD);
}

static unsigned dealt_warps(const choice *c) {
    enum { WARPS_LEAST = 8 };
    return (unsigned)least(most(ceil_div(c->s->piece, (uint64_t)ROW_WARP * dealt_held(c)), WARPS_LEAST),
                           warps_most(c->s));
}

// What columns have takes time for each row, for which there are twice as many warps; and registers, of which more warps
// than those have too few for narrow elements.
enum { COLUMNS_WARPS = 8 };

static unsigned held_by_many(const choice *c) {
    enum { NARROW_COLUMNS = 6 };
    const unsigned held = piece_held(c);
    return c->op->columns && c->s->in_bytes == 2 ? (unsigned)most(least(held, NARROW_COLUMNS / c->op->inputs), 1)
                                                 : held;
}

// The fewer the better, and those of several blocks on an SM: every warp of a cluster hears from every other for each
// row.
static unsigned stream_warps(const choice *c) {
    enum { WARPS_LEAST = 4 };
    if (c->s->totals) return dealt_warps(c);
    if (c->s->cluster <= 1) return ALONE_WARPS - 1;
    const uint64_t warps = most(ceil_div(c->s->piece, (uint64_t)ROW_WARP * piece_held(c)),
                                c->op->columns ? COLUMNS_WARPS : WARPS_LEAST);
    if (warps <= COLUMNS_WARPS) return (unsigned)warps;
    return (unsigned)least(ceil_div(c->s->piece, (uint64_t)ROW_WARP * held_by_many(c)), SHARING_WARPS);
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

// Blocks a row: one; or so many that each has so little of the row that several of them fit an SM. What columns have
// takes room there too, and norms meet twice a row: for which larger shares are better.
static unsigned stream_cluster(const choice *c) {
    enum { SHARE_BYTES = 12288, WITH_COLUMNS = 16384, PASSING_BYTES = 16 * STAGE_BYTES };
    const uint64_t bytes = c->s->columns * c->s->in_bytes * c->op->inputs;
    const uint64_t share = !c->op->outputs ? PASSING_BYTES : c->op->columns ? WITH_COLUMNS : SHARE_BYTES;
    unsigned       cluster = 1;
    if (bytes <= STAGE_BYTES) return 1;
    while (2 * cluster <= least(STREAM_CLUSTER, c->limits->max_cluster) && bytes > share * cluster) cluster *= 2;
    return cluster;
}

// Whether the pieces are small enough for what is chosen beside them. Without columns a row that more than a few warps
// of each block would hold comes in two pieces: so they remain few.
static bool is_small(const choice *c) {
    enum { FEW_WARPS = 4 };
    const row_shape *s = c->s;
    const bool       many = s->warps > COLUMNS_WARPS && s->cluster > 1 && !asked(c, ROW_VECTORS);
    const unsigned   held = many ? held_by_many(c) : piece_held(c);
    if ((!asked(c, ROW_WARPS) || asked(c, ROW_VECTORS)) && s->held > held) return false;
    if (asked(c, ROW_PIECES)) return true;
    const bool one = s->pieces == 1 && s->cluster > 1 && !c->op->columns && c->op->outputs && !asked(c, ROW_WARPS);
    return stage_bytes(c) <= STAGE_BYTES && (!one || s->warps <= FEW_WARPS || fills_sms(c));
}

// The fewest pieces that leave so many stages free; of what stays in shared memory because it seems worth it, two.
static bool search_pieces(choice *c, unsigned cluster, unsigned ahead) {
    enum { BESIDE_RESIDENT = 2 };
    const uint64_t given = asked(c, ROW_PIECES), first = most(given, 1);
    const bool     chosen = c->s->resident && c->plan->params.value[ROW_RESIDENT] != ROW_RESIDENT_YES;
    const uint64_t last = given ? given : chosen ? BESIDE_RESIDENT : ROW_PIECES_MAX;
    for (uint64_t pieces = first; pieces <= last; pieces++) {
        cut_stream(c, cluster, pieces);
        const bool free = asked(c, ROW_STAGES) || c->s->stages >= pieces_kept(c) + ahead;
        if (free && is_small(c) && fits_stream(c)) return true;
    }
    return false;
}

// How many of the stream's clusters the GPU holds at once.
static void count_clusters(const choice *c, cj_occupancy *o) {
    const row_shape    *s = c->s;
    const cj_kernel_use use = {.threads = (s->warps + 1) * ROW_WARP,
                               .shared = pool_bytes(c) + slot_bytes(s, c->op) + STREAM_MBARRIERS,
                               .barriers = BARRIERS,
                               .cluster = s->cluster};
    cj__occupancy(&use, c->limits, o);
}

// Whether the GPU's GPCs have room for such clusters on most of their SMs.
static bool has_room(const choice *c) {
    cj_occupancy o;
    count_clusters(c, &o);
    return o.active_clusters && 2 * o.stranded_sms <= c->limits->sm_count;
}

static bool search_claimed(choice *c, unsigned ahead) {
    const unsigned wanted = asked(c, ROW_CLUSTER), chosen = stream_cluster(c);
    const unsigned largest = (unsigned)least(STREAM_CLUSTER, c->limits->max_cluster);
    if (is_asked(c, ROW_CLUSTER)) return wanted <= c->limits->max_cluster && search_pieces(c, wanted, ahead);
    for (unsigned cluster = chosen; cluster; cluster /= 2)
        if (search_pieces(c, cluster, ahead) && has_room(c)) return true;
    return chosen < largest && search_pieces(c, largest, ahead) && has_room(c);
}

// Whether clusters of so many blocks (0: blocks without clusters) hold a row with sums over rows in so many stages, of
// 64 KiB at most or of any size.
static bool try_dealt(choice *c, unsigned cluster, unsigned stages, bool any_size) {
    const row_shape *s = c->s;
    cut_stream(c, cluster, 1);
    const bool sized = any_size ? s->stages > 1 || asked(c, ROW_STAGES) : stage_bytes(c) <= STAGE_BYTES;
    return sized && s->stages >= stages && s->held <= dealt_held(c) && fits_stream(c);
}

// The cluster that is asked for; else the smallest that holds a row in stages of 64 KiB and has something to do on every
// SM; else the smallest that has two stages of any size.
static bool search_dealt(choice *c, unsigned stages) {
    const unsigned largest = c->limits->max_cluster, wanted = asked(c, ROW_CLUSTER);
    const uint64_t rows = c->plan->params.value[ROW_ROWS];
    if (is_asked(c, ROW_CLUSTER))
        return wanted <= largest && (try_dealt(c, wanted, stages, false) || try_dealt(c, wanted, stages, true));
    for (int any_size = 0; any_size < 2; any_size++)
        for (unsigned cluster = 1; cluster <= largest; cluster *= 2) {
            const bool few = rows * cluster < c->limits->sm_count && cluster < DEALT_CLUSTER;
            if (few || (!any_size && cluster > DEALT_CLUSTER)) continue;
            if (try_dealt(c, cluster, stages, any_size)) return true;
        }
    return false;
}

static bool plan_dealt_stream(choice *c) {
    const uint64_t resident = c->plan->params.value[ROW_RESIDENT];
    const unsigned least_stages = resident == ROW_RESIDENT_YES ? 1 : 2;
    c->s->resident = resident != ROW_RESIDENT_NO && c->op->columns > 0;
    for (unsigned stages = 2; c->s->resident && stages >= least_stages; stages--)
        if (search_dealt(c, stages)) return true;
    c->s->resident = false;
    return resident != ROW_RESIDENT_YES && search_dealt(c, 1);
}

// What columns have is read for every row. The waits for other blocks' parts empty the L1 cache, so that it would come
// from the L2 cache each time, which has its hands full with the rows: it stays in shared memory, where two stages
// beside those that are kept remain.
static bool plan_stream(choice *c) {
    enum { AHEAD = 2 };
    const uint64_t resident = c->plan->params.value[ROW_RESIDENT];
    c->s->resident = resident != ROW_RESIDENT_NO && c->op->columns > 0;
    if (c->s->resident && search_claimed(c, AHEAD)) return true;
    if (resident == ROW_RESIDENT_YES && !c->s->resident) return false;
    c->s->resident = resident == ROW_RESIDENT_YES;
    for (unsigned ahead = AHEAD + 1; ahead-- > 0;)
        if (search_claimed(c, ahead)) return true;
    return false;
}

// Whether registers of clusters hold a row, where that is as good as it gets: f32 without anything that columns have, and
// not of the longest rows.
static bool is_held(const choice *c) {
    const row_shape *s = c->s;
    const unsigned   blocks = is_asked(c, ROW_CLUSTER) ? (unsigned)most(asked(c, ROW_CLUSTER), 1)
                                                       : c->limits->max_cluster;
    return s->in_bytes == 4 && !c->op->columns && asked(c, ROW_PIECES) <= 1 && s->vectors <= cluster_holds(c, blocks) &&
           !fills_sms(c);
}

// Rows that one block holds well by direct loads, rows that are few; and what is held or passes, unless a stream's
// parameters are asked for.
static bool is_direct(const choice *c) {
    enum { WIDE_BYTES = 131072, NARROW_BYTES = 32768 };  // narrow elements ask more of a block's arithmetic
    const row_shape *s = c->s;
    const bool       streams = asked(c, ROW_STAGES) || is_asked(c, ROW_GRID) ||
                         c->plan->params.value[ROW_RESIDENT] == ROW_RESIDENT_YES;
    const uint64_t bytes = s->columns * s->in_bytes * c->op->inputs;
    return bytes <= (s->in_bytes == 4 ? WIDE_BYTES : NARROW_BYTES) || is_few(c) ||
           (!streams && (is_passing(c) || is_held(c)));
}

// ---- the plan

// What streams alone have, and was asked for: its name, or NULL. Grids are also of spread rows, and of sums over rows.
static const char *asked_of_stream(const choice *c) {
    if (asked(c, ROW_STAGES)) return "stages";
    if (c->plan->params.value[ROW_RESIDENT] == ROW_RESIDENT_YES) return "resident";
    return is_asked(c, ROW_GRID) && !c->s->totals ? "grid" : NULL;
}

// `name`: what asks for a stream, where form does not.
static cj_status refuse(const choice *c, const char *name, cj_error *error) {
    static const char *const resident[] = {"auto", "no", "yes"};
    const row_shape         *s = c->s;
    char                     cluster[24];
    cj__fail(
        error, CJ_INVALID_ARGUMENT,
        "%s%sform=stream%s does not fit: rows of %" PRIu64 " elements of %u bytes with stride=%" PRIu64
        " align=%u, cluster=%s warps=%u stages=%u pieces=%u (0: any) resident=%s; %s has %u bytes of shared memory a"
        " block",
        name ? name : "", name ? ": it wants " : "", name ? ", which" : "", s->columns, s->in_bytes, s->stride,
        align_of(c->plan), cj_params_word(&c->plan->params, "cluster", cluster, sizeof cluster), asked(c, ROW_WARPS),
        asked(c, ROW_STAGES), asked(c, ROW_PIECES), resident[c->plan->params.value[ROW_RESIDENT]], c->limits->name,
        c->limits->shared_per_block_optin);
    cj__hint(error, "streams need sm_90 and rows of whole 16 bytes; leave form, stages, pieces, resident and grid at "
                    "their defaults");
    return CJ_INVALID_ARGUMENT;
}

// Whether rows with sums over them come in a stream, where they can: those that clusters were asked for, and long ones,
// unless there are too few of them or pieces are asked for.
static bool is_dealt_stream(const choice *c) {
    enum { LONG_BYTES = 16384 };
    const uint64_t bytes = c->s->columns * c->s->in_bytes * c->op->inputs, rows = c->plan->params.value[ROW_ROWS];
    if (asked(c, ROW_CLUSTER)) return true;
    return !asked(c, ROW_PIECES) && can_stream(c) && bytes >= LONG_BYTES && rows * DEALT_CLUSTER >= c->limits->sm_count;
}

static cj_status choose_dealt(choice *c, cj_error *error) {
    const uint64_t form = c->plan->params.value[ROW_FORM];
    const char    *name = asked_of_stream(c);
    const bool     must = form == ROW_STREAM || (c->clusters && asked(c, ROW_CLUSTER)) || name;
    if (form == ROW_DIRECT && must) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "cluster: %u with form=direct and sums over rows, where each block has rows of its own",
                 asked(c, ROW_CLUSTER));
        cj__hint(error, "form=stream deals rows to clusters");
        return CJ_INVALID_ARGUMENT;
    }
    if (must || (form == ROW_AUTO && is_dealt_stream(c))) {
        if (can_stream(c) && asked(c, ROW_PIECES) <= 1 && plan_dealt_stream(c)) return CJ_OK;
        if (must) return refuse(c, form == ROW_STREAM ? NULL : name ? name : "cluster", error);
        c->s->stages = 0;
    }
    plan_direct(c);
    return CJ_OK;
}

static cj_status choose_claimed(choice *c, cj_error *error) {
    row_shape     *s = c->s;
    const uint64_t form = c->plan->params.value[ROW_FORM];
    if (form == ROW_SPREAD || (form == ROW_AUTO && is_spread(c))) {
        plan_spread(c);
        return CJ_OK;
    }
    const char *name = form == ROW_AUTO ? asked_of_stream(c) : NULL;
    if (form == ROW_STREAM || name || (form == ROW_AUTO && can_stream(c) && !is_direct(c))) {
        if (can_stream(c) && plan_stream(c)) return CJ_OK;
        if (form == ROW_STREAM || name) return refuse(c, name, error);
        s->stages = 0;
    }
    plan_direct(c);
    return CJ_OK;
}

// Parameters that exclude each other.
static cj_status check_form(const choice *c, cj_error *error) {
    static const char *const forms[] = {"auto", "direct", "stream", "spread"};
    const uint64_t          *value = c->plan->params.value;
    const char              *form = forms[value[ROW_FORM]];
    const bool               blocks = is_asked(c, ROW_BLOCKS), spread = value[ROW_FORM] == ROW_SPREAD;
    const bool               direct = value[ROW_FORM] == ROW_DIRECT;
    if ((direct || spread || blocks) && asked(c, ROW_STAGES)) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "stages: %u with form=%s, whose loads go to registers",
                 asked(c, ROW_STAGES), direct ? form : "spread");
        cj__hint(error, "form=stream has stages; or leave stages at its default");
    } else if (direct && is_asked(c, ROW_GRID) && !c->s->totals) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "grid: %u with form=direct, whose rows are dealt to as many blocks as they need", asked(c, ROW_GRID));
        cj__hint(error,
                 "the blocks of form=stream and form=spread stay, in a grid of any size; or leave grid at its default");
    } else if ((direct || spread || blocks) && value[ROW_RESIDENT] == ROW_RESIDENT_YES) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "resident: yes with form=%s, which has nothing in shared memory that could stay there",
                 direct ? form : "spread");
        cj__hint(error, "form=stream keeps what columns have; or leave resident at its default");
    } else if ((spread || blocks) && c->s->totals) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "%s with sums over rows, which need rows that a block or a cluster has",
                 spread ? "form: spread" : "blocks");
        cj__hint(error, "leave %s at its default", spread ? "form" : "blocks");
    } else if (blocks && value[ROW_FORM] && !spread) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "blocks: %u with form=%s", asked(c, ROW_BLOCKS), form);
        cj__hint(error, "it belongs to form=spread; here `cluster` says how many blocks have a row");
    } else if ((spread || blocks) && asked(c, ROW_CLUSTER)) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "cluster: %u with form=spread, whose blocks meet in global memory",
                 asked(c, ROW_CLUSTER));
        cj__hint(error, "`blocks` says how many of them have a row");
    } else {
        return CJ_OK;
    }
    return CJ_INVALID_ARGUMENT;
}

static cj_status choose(choice *c, cj_error *error) {
    const row_shape *s = c->s;
    cj_status        status = check_form(c, error);
    if (status) return status;
    status = s->totals ? choose_dealt(c, error) : choose_claimed(c, error);
    if (status) return status;
    const unsigned held = s->form == ROW_SPREAD ? spread_most(c) : ROW_HELD;
    if (s->held <= held) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT,
             "vectors: a thread would hold %u loads of a row of %" PRIu64 " elements, more than %u", s->held,
             s->columns, held);
    cj__hint(error, "allow more warps, a larger cluster or more pieces");
    return CJ_INVALID_ARGUMENT;
}

static void write_back(cj_plan *plan, const row_shape *s) {
    uint64_t *value = plan->params.value;
    value[ROW_FORM] = s->form;
    value[ROW_CLUSTER] = s->cluster;
    value[ROW_BLOCKS] = s->blocks ? s->blocks : CJ_PARAM_AUTO;
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
    s->blocks = value[ROW_BLOCKS] == CJ_PARAM_AUTO ? 0 : (unsigned)value[ROW_BLOCKS];
    s->held = (unsigned)value[ROW_VECTORS];
    s->stages = value[ROW_STAGES] == CJ_PARAM_AUTO ? 0 : (unsigned)value[ROW_STAGES];
    s->pieces = value[ROW_PIECES];
    s->resident = value[ROW_RESIDENT] == ROW_RESIDENT_YES;
    s->claims = s->blocks && value[ROW_ROWS] > plan->grid.x / s->blocks;
    s->rows_per_block = value[ROW_WARPS] == CJ_PARAM_AUTO ? plan->block.x / ROW_WARP : 1;
    s->warps = value[ROW_WARPS] == CJ_PARAM_AUTO ? s->rows_per_block : (unsigned)value[ROW_WARPS];
    cut(s);
    if (s->totals) cj__row_total_cut(plan, s);
}

static cj_status check_grid(const choice *c, uint64_t grid, cj_error *error) {
    const unsigned blocks = cj__row_blocks(c->s);
    if (grid % blocks == 0) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "grid: %" PRIu64 " is not a multiple of %s's %u blocks", grid,
             c->s->cluster ? "the cluster" : "a row", blocks);
    cj__hint(error, "%" PRIu64 " is", ceil_div(grid, blocks) * blocks);
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
                               .shared = plan->dynamic_shared + slot_bytes(s, c->op) + STREAM_MBARRIERS,
                               .barriers = stream ? BARRIERS : 1,
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

// Blocks wait for each other, so all are resident. Groups stay, and have every n-th row.
static cj_status plan_spread_grid(choice *c, cj_error *error) {
    cj_plan       *plan = c->plan;
    row_shape     *s = c->s;
    const uint64_t rows = plan->params.value[ROW_ROWS], grid = asked(c, ROW_GRID), room = room_for(c, s->warps);
    if (!room) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "vectors: %u of a thread, of rows of %" PRIu64
                 " elements, take about %u registers; blocks of warps=%u have"
                 " fewer",
                 s->held, s->columns, c->registers, s->warps);
        cj__hint(error, "take fewer warps, or more pieces or blocks, of which a thread holds fewer vectors");
        return CJ_INVALID_ARGUMENT;
    }
    if (s->blocks > room) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "blocks: %u of %u threads are more than the %" PRIu64 " that %s holds at once", s->blocks,
                 plan->block.x, room, c->limits->name);
        cj__hint(error, "fewer blocks or warps, or leave them at their defaults");
        return CJ_INVALID_ARGUMENT;
    }
    plan->grid = (cj_dim3){(uint32_t)(grid ? grid : least(room / s->blocks, rows) * s->blocks), 1, 1};
    plan->resident = grid ? 0 : s->blocks;
    plan->cooperative = true;
    plan->programmatic = c->clusters;  // of the same targets
    s->claims = rows > plan->grid.x / s->blocks;
    plan->workspace_bytes = cj__row_posts_bytes(c->op, s, plan->grid.x);
    return check_grid(c, grid, error);
}

static cj_status plan_grid(choice *c, cj_error *error) {
    cj_plan         *plan = c->plan;
    const row_shape *s = c->s;
    const uint64_t   rows = plan->params.value[ROW_ROWS], grid = asked(c, ROW_GRID);
    if (s->totals) return plan_dealt_grid(c, error);
    if (s->form == ROW_SPREAD) return plan_spread_grid(c, error);
    if (s->form == ROW_DIRECT) {
        plan->grid = (cj_dim3){(uint32_t)(ceil_div(rows, s->rows_per_block) * cj__row_blocks(s)), 1, 1};
        return CJ_OK;
    }
    plan->dynamic_shared = pool_bytes(c);
    cj_occupancy o;
    count_clusters(c, &o);
    cj_status status = check_grid(c, grid, error);
    if (status) return status;
    const unsigned blocks = cj__row_blocks(s);
    plan->grid = (cj_dim3){(uint32_t)(grid ? grid : most(least(o.active_clusters, rows), 1) * blocks), 1, 1};
    plan->resident = grid ? 0 : blocks;
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
    choice          c = {plan, op, limits, &s, clusters, SPREAD_REGISTERS};
    const uint64_t *value = plan->params.value;
    read_problem(plan, op, &s);
    if ((value[ROW_STRIDE] && s.stride < s.columns) || (value[ROW_OUT_STRIDE] && s.out_stride < s.columns))
        return cj__refuse(error, CJ_INVALID_ARGUMENT, "0 stands for rows without a gap",
                          "%s: %" PRIu64 " is less than the %" PRIu64 " columns: rows would overlap",
                          s.stride < s.columns ? "stride" : "out-stride",
                          s.stride < s.columns ? s.stride : s.out_stride, s.columns);
    if (align_of(plan) < (s.in_bytes > s.out_bytes ? s.in_bytes : s.out_bytes))
        return cj__refuse(error, CJ_INVALID_ARGUMENT,
                          "say what all pointers are multiples of, at least the size of an element",
                          "align: %u bytes are less than an element", align_of(plan));
    if (!clusters && is_asked(&c, ROW_CLUSTER) && asked(&c, ROW_CLUSTER))
        snprintf(plan->note, sizeof plan->note,
                 "%s has no thread block clusters (they need sm_90): generated without,"
                 " cluster=%u is not used",
                 plan->arch, asked(&c, ROW_CLUSTER));
    cj_status status = op->outputs ? cj__refuse_bf16(plan, "out", cj__row_type(plan, ROW_OUT), error) : CJ_OK;
    if (!status) status = choose(&c, error);
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
