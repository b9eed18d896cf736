// SPDX-License-Identifier: Apache-2.0
// The plan of the direct form: lanes of a warp, or blocks a row; warps a block, pieces.
#include "plan.h"

// ---- short rows

// Lanes a row, rows a thread. As few lanes as possible have a row, since what a thread does once a row (addresses, shuffles,
// logarithms) then serves more elements; but each load takes whole sectors of the row.

static unsigned vector_bytes(const row_shape *s) { return s->elements * s->in_bytes; }

enum { WIDEST_LOAD = 16 };  // bytes

// Whether rows that have a warp each fill all SMs.
static bool are_rows_many(const choice *c) { return c->rows * ROW_WARP >= cj__threads_at_once(c->limits); }

// Whether rows are so few that the launch waits for each thread's steps, not for the memory: shuffles count then. The exponentials of a lane
// come one after another, and few rows of these have a warp each.
static bool are_steps_waited_for(const choice *c) {
    const uint64_t sms = c->limits->sm_count;
    return c->rows <= LANE_ROWS * sms && (c->op->fold != ROW_FOLD_EXP || c->rows >= 2 * sms);
}

// Whether rows lie one after the other, without gaps.
static bool are_rows_dense(const choice *c) {
    return c->s->stride == c->s->columns && (!c->op->outputs || c->s->out_stride == c->s->columns);
}

// What the lanes of a short row load at once, at least. Rows that begin anywhere within sectors, and have gaps between them, have these in two loads.
static unsigned run_bytes(const choice *c) {
    const row_shape *s = c->s;
    if (s->totals && !are_rows_many(c)) return SUMS_RUN_BYTES;
    const bool dense = vector_bytes(s) == 2 && s->columns <= DENSE_COLUMNS && are_rows_dense(c);
    const bool anywhere = !dense && (c->plan->params.value[ROW_ALIGN] || (s->stride * s->in_bytes) % WIDEST_LOAD ||
                                     (s->out_stride * s->out_bytes) % WIDEST_LOAD);
    const bool short_way = are_steps_waited_for(c) && s->columns <= LANE_ELEMENTS * ROW_WARP / 2;
    const bool wider = s->totals ? vector_bytes(s) >= SUMS_RUN_VECTOR : anywhere && !short_way;
    return vector_bytes(s) < WIDEST_LOAD && wider ? NARROW_RUN_BYTES : SHORT_RUN_BYTES;
}

// Short rows with sums over rows, so many that all SMs have some, and so few bytes that the L2 cache has them: each block's sums are written and read
// again, so there should be few blocks, of many rows each.
static bool are_sums_cached(const choice *c) {
    return c->s->totals && c->rows >= SUMS_CACHED_ROWS * (uint64_t)c->limits->sm_count && c->rows * c->row_bytes <= SUMS_CACHED_BYTES;
}

// Lanes of such a row: as few as hold it.
static unsigned lanes_of_cached(const choice *c) {
    const row_shape *s = c->s;
    const unsigned   most = s->elements == 1 ? SUMS_CACHED_LOADS : (unsigned)cj__most(SUMS_CACHED_HELD / s->elements, 1);
    unsigned         lanes = s->elements == 1 ? SUMS_CACHED_LANES / 2 : SUMS_CACHED_LANES;
    while (lanes < ROW_WARP && lanes * most < s->vectors) lanes *= 2;
    return (unsigned)cj__least(lanes, cj__power_from(s->vectors));
}

// Vectors that a thread should hold of a short row: fewer with sums over rows, whose registers leave an SM fewer threads.
static unsigned short_held(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   row = cj__least(cj__row_held_most(c), SHORT_HELD_BYTES / vector_bytes(s));
    const uint64_t   most = s->totals ? cj__least(row, SHORT_SUMS_HELD / s->elements) : row;
    return asked_or(c, ROW_VECTORS, cj__most(most, 1));
}

// Many rows of f16 or bf16 whose threads would have two vectors, but some have one: a warp a row is faster, but for softmax, and where
// some lanes have a vector less and two columns (constants.def, WARP_ROW_NARROW).
static unsigned narrow_held(const choice *c) {
    const row_shape *s = c->s;
    const bool       alone = c->op->inputs == 1 && c->op->fold != ROW_FOLD_EXP && !s->peeled && s->access == s->elements;
    const bool       whole = s->vectors % ROW_WARP == 0 || c->op->columns < 2;
    return are_rows_many(c) && !s->totals && s->in_bytes == 2 && alone && whole ? WARP_ROW_NARROW : 0;
}

// Vectors that it may hold, of a row that a whole warp has.
static unsigned held_most(const choice *c) {
    const unsigned few = are_rows_many(c) && !c->s->totals ? ROW_HELD : WARP_ROW_HELD;
    const unsigned most = (unsigned)cj__most(cj__least(cj__row_held_most(c), few), narrow_held(c));
    if (asked(c, ROW_LANES)) return asked_or(c, ROW_VECTORS, cj__row_held_most(c));
    return asked_or(c, ROW_VECTORS, cj__most(most, short_held(c)));
}

// Elements before and after the vectors, each of which another thread has.
static unsigned edges_most(const row_shape *s) {
    return !s->peeled ? 0 : 2 * (s->elements - 1) + (s->across ? 2 * s->elements : 0);
}

// Rows that take all threads that the SMs hold and a part of them again: half the lanes, with twice as much each, take them once.
static unsigned fill_one_wave(const choice *c, unsigned lanes) {
    const row_shape *s = c->s;
    const uint64_t   threads = cj__threads_at_once(c->limits), all = c->rows * lanes;
    const bool       fits = s->vectors <= (uint64_t)lanes / 2 * cj__least(cj__row_held_most(c), WARP_ROW_HELD);
    const bool       runs = lanes / 2 * vector_bytes(s) >= run_bytes(c) && lanes / 2 >= edges_most(s);
    return c->op->inputs == 1 && lanes > 1 && all > threads && all < 2 * threads && fits && runs ? lanes / 2 : lanes;
}

// Loads that so many lanes have of a row, those of lanes without a vector among them.
static uint64_t slots_of(const row_shape *s, unsigned lanes) { return lanes * cj__ceil_div(s->vectors, lanes); }

// Many rows by narrow vectors, where a quarter of all loads have none: half or a quarter of the lanes have more each, and no more in all. Not where
// the memory is waited for, and each run of lanes is a sector of its own.
static unsigned waste_fewer(const choice *c, unsigned lanes) {
    const row_shape *s = c->s;
    const uint64_t   all = slots_of(s, lanes), most = cj__least(WASTED_HELD, cj__row_held_most(c));
    const bool       few = c->rows <= LANE_ROWS * (uint64_t)c->limits->sm_count;
    const bool       apart = c->op->outputs && !are_rows_dense(c) && c->rows * c->row_bytes > c->limits->l2_bytes;
    unsigned         best = lanes;
    if (few || apart || c->op->inputs > 1 || s->peeled || vector_bytes(s) == WIDEST_LOAD || 4 * (all - s->vectors) < all) return lanes;
    for (unsigned less = lanes / 2; less >= WASTED_LANES && 4 * less >= lanes && less * most >= s->vectors; less /= 2)
        if (slots_of(s, less) <= slots_of(s, best)) best = less;
    return best;
}

// If rows are so few that no SM has two blocks, each lane has one vector, or a few elements: the launch then takes as long as one thread does.
static unsigned choose_lanes(const choice *c) {
    const row_shape *s = c->s;
    unsigned         lanes = 1;
    if (asked(c, ROW_LANES)) return (unsigned)cj__power_from(asked(c, ROW_LANES));
    if (are_sums_cached(c)) return lanes_of_cached(c);
    while (lanes < ROW_WARP && lanes < s->vectors &&
           (lanes * vector_bytes(s) < run_bytes(c) || lanes * short_held(c) < s->vectors))
        lanes *= 2;
    while (lanes < edges_most(s)) lanes *= 2;
    if (s->totals) return lanes;  // blocks stay, fewer than would fit
    const unsigned enough = are_steps_waited_for(c) ? LANE_ELEMENTS : 0;
    while (lanes < ROW_WARP && lanes < s->vectors && lanes * enough < s->columns &&
           2 * lanes * c->rows <= c->limits->sm_count * ROWS_PER_BLOCK * ROW_WARP)
        lanes *= 2;
    return waste_fewer(c, fill_one_wave(c, lanes));
}

// Rows that a thread has registers for, beside its sums over rows.
static unsigned ahead_most(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   words = cj__most(vector_bytes(s) / 4, 1), sums = s->held * s->elements * s->totals;
    if (!s->totals) return ROW_AHEAD;
    return (unsigned)cj__most((HELD_AHEAD > sums ? HELD_AHEAD - sums : 0) / (s->held * words * c->op->inputs), 1);
}

// Peeled rows of f16 or bf16 that a warp has and writes with gaps between them, so many that it takes two after one another all the same: it
// loads these together.
static bool do_peeled_pair(const choice *c) {
    const row_shape *s = c->s;
    const bool       whole = s->peeled && !cj__row_is_split(s) && s->in_bytes == 2 && s->out_stride != s->columns;
    return whole && s->lanes == ROW_WARP && c->rows * ROW_WARP >= PEELED_PAIR_WAVES * cj__threads_at_once(c->limits);
}

// Rows of vectors that are read with large gaps between them, of softmax and its like: each has sectors of its own, and threads that have one row
// find them sooner than threads that have four.
static bool are_rows_sparse(const choice *c) {
    enum { ELEMENTS = 4 };
    const row_shape *s = c->s;
    return !s->totals && c->op->fold == ROW_FOLD_EXP && s->elements >= ELEMENTS && 2 * s->stride > 3 * s->columns;
}

// Rows that a thread loads ahead: as many as make one wave of all rows. Threads with sums over rows are too few to hide a row's latency: they load two.
static unsigned choose_unroll(const choice *c) {
    const row_shape *s = c->s;
    const unsigned   row = s->held * vector_bytes(s) * c->op->inputs;
    unsigned         most = (unsigned)cj__least(SHORT_FLIGHT_BYTES / row, ROW_AHEAD), unroll = 1;
    if (s->totals) most = (unsigned)cj__least(cj__most(most, SUMS_ROWS_AHEAD), ahead_most(c));
    if (do_peeled_pair(c)) most = (unsigned)cj__most(most, 2);
    if (are_rows_sparse(c)) most = 1;
    if (asked(c, ROW_UNROLL)) return (unsigned)cj__least(asked(c, ROW_UNROLL), ahead_most(c));
    while (2 * unroll <= most && c->rows * s->lanes > unroll * cj__threads_at_once(c->limits)) unroll *= 2;
    return unroll;
}

// Rows whose vectors are single elements: each lane then does once what several would do. It pays where rows lie one after the
// other, so that a warp copies whole lines (constants.def, TRANSPOSE_LEAST).
static bool is_transposed(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   way = c->plan->params.value[ROW_TRANSPOSE];
    const bool others = s->cluster || asked(c, ROW_WARPS) || asked(c, ROW_PIECES) > 1 || asked(c, ROW_LANES) > 1 ||
                        asked(c, ROW_UNROLL) > 1 || asked(c, ROW_VECTORS);
    if (way == ROW_NO || s->totals || s->peeled || others || s->elements > 1) return false;
    for (unsigned i = 0; i < c->op->operands; i++)
        if (c->op->operand[i].period) return false;
    if (way == ROW_YES) return s->columns <= ROW_TRANSPOSED;
    return are_rows_dense(c) && s->columns >= TRANSPOSE_LEAST && s->columns <= TRANSPOSE_MOST && c->rows >= TRANSPOSE_ROWS;
}

static void plan_transposed(choice *c) {
    row_shape *s = c->s;
    s->transposed = true;
    s->warps = ROWS_PER_BLOCK;
    s->lanes = s->unroll = 1;
    s->piece = s->vectors;
    s->held = (unsigned)s->vectors;
    s->rows_per_block = cj__row_block_rows(s);
}

// Few rows with sums over rows, of several loads a lane: a launch waits for each of them.
static bool are_sums_waited_for(const choice *c) {
    return c->s->totals && !asked(c, ROW_LANES) && !asked(c, ROW_UNROLL) && c->rows <= SUMS_WAITED_ROWS && c->s->vectors > SUMS_WAITED_LOADS * ROW_WARP;
}

// False: the row is longer than a warp's, or a block is faster.
static bool plan_short(choice *c) {
    row_shape     *s = c->s;
    const unsigned lanes = choose_lanes(c);
    if (are_sums_waited_for(c)) return false;
    if (s->cluster || asked(c, ROW_WARPS) || asked(c, ROW_PIECES) > 1 || s->vectors > (uint64_t)lanes * held_most(c))
        return false;
    s->warps = s->totals && are_rows_many(c) ? SUMS_ROWS_PER_BLOCK : ROWS_PER_BLOCK;
    s->lanes = lanes;
    s->piece = s->vectors;
    s->held = (unsigned)cj__ceil_div(s->vectors, lanes);
    s->unroll = choose_unroll(c);
    s->rows_per_block = cj__row_block_rows(s);
    return true;
}

// ---- rows of a block or a cluster

// Sums over a few rows, of which no thread should have much: a launch waits for it.
static bool are_sums_of_few(const choice *c) {
    return c->s->totals && c->rows < SUMS_PIECE_ROWS && c->s->columns <= SUMS_FEW_COLUMNS;
}

// A cluster of few rows, each block of which has its SM to itself: more warps have less each.
static bool is_cluster_of_few(const choice *c) {
    const row_shape *s = c->s;
    const bool       fits = s->vectors <= (uint64_t)s->cluster * SHARING_WARPS * ROW_WARP * FEW_CLUSTER_HELD;
    return s->cluster > 1 && fits && !s->totals && vector_bytes(s) >= WIDEST_LOAD / 2 &&
           c->rows * cj__row_places(s->cluster) <= c->limits->sm_count;
}

// Vectors that a thread should hold. Pieces that pass come one after the other: what is in flight is what is held.
static unsigned direct_held(const choice *c) {
    const bool passing = cj__row_is_passing(c);
    if (are_sums_of_few(c)) return asked_or(c, ROW_VECTORS, cj__most(SUMS_FEW_HELD / c->s->elements, 1));
    if (passing && c->s->pieces > 1) return cj__row_piece_held(c);
    if (passing) return asked_or(c, ROW_VECTORS, PASSING_HELD / c->op->inputs);
    return asked_or(c, ROW_VECTORS, is_cluster_of_few(c) ? cj__least(FEW_CLUSTER_HELD, cj__row_held_most(c)) : cj__row_held_most(c));
}

// Sums over so many rows, of no more than so many columns, that small blocks are faster; of fewer rows it is fewer columns.
static bool are_sums_pieces_small(const choice *c) {
    const unsigned few = c->s->elements > 1 && c->s->in_bytes == 2 ? SUMS_PIECE_MANY_WIDE : SUMS_PIECE_MANY;
    const unsigned most = c->rows < few ? SUMS_FEW_COLUMNS : SUMS_PIECE_COLUMNS;
    return c->s->totals && c->rows >= SUMS_PIECE_ROWS && c->s->columns <= most;
}

// Warps of a block that has sums over rows, and rows in small pieces.
static unsigned sums_piece_warps(const choice *c) {
    const bool many = c->rows >= SUMS_SINGLE_ROWS && c->s->columns <= SUMS_FEW_COLUMNS;
    const bool single = c->s->elements == 1 && (many || (c->s->in_bytes == 4 && are_rows_many(c)));
    return single ? SUMS_SINGLE_WARPS : SUMS_PIECE_WARPS;
}

// Warps of a block whose pieces pass, `least` at least: few rows have more, up to as many as fill half of an SM, of some vectors each.
static unsigned passing_warps(const choice *c, unsigned least) {
    const uint64_t blocks = cj__row_blocks(c->s), share = cj__ceil_div(c->s->vectors, blocks);
    const uint64_t full = (uint64_t)ALONE_WARPS * c->limits->sm_count;
    unsigned       warps = least;
    while (2 * warps <= ALONE_WARPS && share >= 2 * warps * ROW_WARP * PASSING_HELD && 2 * warps * c->rows * blocks <= full) warps *= 2;
    return warps;
}

// Warps of a block that has a row of many, with sums over rows, at least: half as many have no more loads in all, if these are a few each.
static unsigned fewest_sums_warps(const choice *c) {
    const uint64_t vectors = c->s->piece, half = SUMS_HELD_WARPS * ROW_WARP, all = (uint64_t)DIRECT_WARPS_LEAST * ROW_WARP;
    const uint64_t loads = cj__round_up(vectors, cj__least(all, cj__round_up(vectors, ROW_WARP)));
    if (c->rows <= c->limits->sm_count) return SUMS_WARPS;
    return are_rows_many(c) && vectors <= SUMS_HELD_LOADS * half && cj__round_up(vectors, half) <= loads ? SUMS_HELD_WARPS : DIRECT_WARPS_LEAST;
}

// A block has a few warps at least. If rows are so many that all SMs are full of small blocks, the warps that a row with
// little in a load needs are enough, and others hold two vectors a thread, or six where nothing is written: more warps would have
// few bytes in flight.
static unsigned fewest_warps(const choice *c) {
    const bool     many = c->rows >= cj__threads_at_once(c->limits) / (MANY_ROWS_WARPS * ROW_WARP) && !c->s->totals;
    const uint64_t two = cj__ceil_div(c->s->piece, 2 * ROW_WARP), six = cj__ceil_div(c->s->piece, PASSING_ALONE_HELD * ROW_WARP);
    if (cj__row_is_passing(c)) return many && six < PASSING_WARPS_LEAST ? (unsigned)six : passing_warps(c, PASSING_WARPS_LEAST);
    if (c->s->pieces > 1 && (are_sums_pieces_small(c) || are_sums_of_few(c))) return sums_piece_warps(c);
    if (c->s->totals && c->s->pieces == 1) return fewest_sums_warps(c);
    if (many && c->s->columns <= NARROW_ROW_COLUMNS) return 1;
    return many ? (unsigned)cj__least(two, DIRECT_WARPS_LEAST) : DIRECT_WARPS_LEAST;
}

// Warps for the pieces there are: each thread holds as many vectors as it may.
static void choose_warps(choice *c) {
    row_shape *s = c->s;
    cj__row_cut(s);
    const unsigned fewest = fewest_warps(c);
    s->warps = asked_or(c, ROW_WARPS,
                        cj__least(cj__most(cj__ceil_div(s->piece, ROW_WARP * direct_held(c)),
                                           cj__least(fewest, cj__ceil_div(s->piece, ROW_WARP))),
                                  cj__row_warps_most(s)));
    s->held = (unsigned)cj__most(cj__ceil_div(s->piece, cj__row_threads(s)), 1);
}

// Warps of each of so many blocks a row. If rows are few, each gets what there is.
static unsigned direct_warps(const choice *c, unsigned blocks) {
    return asked_or(
        c, ROW_WARPS,
        cj__least(cj__row_warps_most(c->s), blocks > 1 && !cj__row_is_few(c) ? SHARING_WARPS : ALONE_WARPS));
}

uint64_t cj__row_cluster_holds(const choice *c, unsigned blocks) {
    return (uint64_t)blocks * direct_warps(c, blocks) * ROW_WARP * direct_held(c);
}

// Vectors that a block of a cluster has of a row that is written, at least: the fewer, the wider they are.
static uint64_t least_vectors(const choice *c) {
    return c->op->outputs ? cj__least(CLUSTER_VECTORS, CLUSTER_BLOCK_BYTES / vector_bytes(c->s)) : CLUSTER_VECTORS;
}

// Blocks that few rows may have together: as many as there are SMs; if a cluster's blocks have much each, some an SM.
static uint64_t blocks_for_few(const choice *c, uint64_t share, unsigned cluster) {
    const uint64_t sms = c->limits->sm_count;
    if (cluster == 1 || share < FEW_BLOCK_VECTORS) return sms;
    return c->op->outputs ? FEW_BLOCKS_PER_SM * sms : sms + sms / 2;
}

// Peeled rows whose weights or bias are peeled too: a thread takes these out of two vectors, and all of a row at once leaves an SM one block. In a
// few pieces, which are loaded again, these are loaded while others compute.
static bool comes_in_pieces(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   least = (s->in_bytes == 4 ? PEELED_PIECES_ROWS : 2) * (uint64_t)c->limits->sm_count;
    return s->peeled && !cj__row_is_split(s) && c->op->columns && c->op->outputs && !s->totals && c->rows >= least &&
           s->vectors >= CLUSTER_ROW_VECTORS && s->vectors <= CROWDED_CLUSTER * SHARING_WARPS * ROW_WARP * direct_held(c);
}

// Vectors that a block has of such a row.
static uint64_t pieces_hold(const choice *c) { return (uint64_t)PEELED_PIECES * SHARING_WARPS * ROW_WARP * direct_held(c); }

// Rows of a whole block an SM, so few that the last of them leave many SMs idle: smaller blocks of a cluster end sooner.
static bool do_waves_end_unevenly(const choice *c) {
    const row_shape *s = c->s;
    const bool       large = s->vectors > (uint64_t)SHARING_WARPS * ROW_WARP * direct_held(c);
    return large && c->rows <= TAIL_ROWS_PER_SM * (uint64_t)c->limits->sm_count && vector_bytes(s) == WIDEST_LOAD && s->access == s->elements &&
           !cj__row_is_few(c);
}

// Blocks a row: enough to hold the row, or, if rows are few, as many as there are SMs, with a fair amount for each.
static unsigned direct_cluster(const choice *c) {
    const uint64_t vectors = c->s->vectors;
    const unsigned largest = c->limits->max_cluster;
    unsigned       cluster = 1;
    if (!c->clusters || !largest) return 0;
    if (cj__row_is_passing(c)) {
        const uint64_t bytes = vectors * vector_bytes(c->s);
        const uint64_t most = cj__least(largest, cj__row_passes_singly(c) ? PASSING_CLUSTER / 2 : PASSING_CLUSTER);
        if (cj__row_has_its_sm(c) && c->rows <= c->limits->sm_count) return 0;
        while (2 * cluster <= most && bytes > (uint64_t)PASSING_BYTES * cluster) cluster *= 2;
        return cluster > 1 ? cluster : 0;
    }
    if (comes_in_pieces(c)) {
        while (2 * cluster <= largest && vectors > (uint64_t)cluster * pieces_hold(c)) cluster *= 2;
        return cluster > 1 ? cluster : 0;
    }
    while (2 * cluster <= largest && vectors > cj__row_cluster_holds(c, cluster)) cluster *= 2;
    if (cluster == 1 && do_waves_end_unevenly(c)) cluster = (unsigned)cj__least(TAIL_CLUSTER, largest);
    while (2 * cluster <= largest && vectors >= CLUSTER_ROW_VECTORS && vectors / cluster >= 2 * least_vectors(c) &&
           c->rows * cj__row_places(2 * cluster) <= blocks_for_few(c, vectors / cluster, cluster))
        cluster *= 2;
    return cluster > 1 ? cluster : 0;
}

// Rows that are not loaded in whole vectors take more instructions: so many of them leave an SM room for two blocks, one of which loads while
// the other one computes. A block of fewer warps has that room, and one of f32 of one input is as fast by itself.
static bool do_blocks_share(const choice *c) {
    const row_shape *s = c->s;
    const bool       alone = cj__row_blocks(s) == 1, single = s->in_bytes == 4 && c->op->inputs == 1;
    const bool       small = s->vectors <= (uint64_t)SHARING_WARPS * ROW_WARP * direct_held(c);
    return (s->peeled || s->access < s->elements) && !cj__row_is_few(c) && !(alone && (small || single));
}

// Warps of blocks that share an SM. Those of the largest clusters, which wait for each other the longest, are smaller and have more pieces
// where they would be full of a row that takes two columns, or a column and two inputs. So are those of clusters that softmax's rows of f16 or bf16
// would nearly fill.
static unsigned sharing_warps(const choice *c) {
    const row_shape *s = c->s;
    const unsigned   warps = (unsigned)cj__least(cj__row_warps_most(s), SHARING_WARPS);
    const uint64_t   full = (uint64_t)s->cluster * warps * ROW_WARP * direct_held(c);
    const uint64_t   pieces = s->in_bytes == 4 ? CROWDED_PIECES : CROWDED_PIECES_NARROW;
    const bool       heavy = c->op->columns && c->op->columns + c->op->inputs > 2;
    const bool       crowded = s->cluster == CROWDED_CLUSTER && s->vectors >= full && s->vectors <= pieces * full;
    const bool     softmax = c->op->fold == ROW_FOLD_EXP && !c->op->each && s->in_bytes == 2 && c->rows >= WAITING_ROWS;
    const bool     filled = s->cluster >= WAITING_CLUSTER && 4 * s->vectors >= 3 * full && s->vectors <= full;
    return asked_or(c, ROW_WARPS, (heavy && crowded) || (softmax && filled) ? CROWDED_WARPS : warps);
}

// Warps of a block that holds a row with sums over rows, at most: ptxas would spill registers of more.
static uint64_t sums_warps_most(const choice *c) {
    const uint64_t threads = cj__threads_for_registers(cj__row_sums_registers(c, direct_held(c)), c->limits);
    return cj__least(cj__row_warps_most(c->s), cj__most(threads / ROW_WARP, SUMS_WARPS));
}

// With sums over rows a block that does not hold the row is small: others on its SM load while it computes. A block that holds one of a few
// rows has the fewer vectors a thread, the more sums there are.
static uint64_t sums_piece_most(const choice *c) {
    const bool     few = are_sums_of_few(c), small = few || are_sums_pieces_small(c);
    const uint64_t warp = (uint64_t)ROW_WARP * direct_held(c), alone = few ? cj__most(warp / c->s->totals, ROW_WARP) : warp;
    const uint64_t whole = asked_or(c, ROW_WARPS, few || !small ? SUMS_WARPS : sums_warps_most(c)) * alone;
    return c->s->vectors <= whole || !small ? whole : asked_or(c, ROW_WARPS, sums_piece_warps(c)) * warp;
}

// Rows of f16 or bf16 that come by short vectors: more instructions, too. Two small blocks share an SM, if a row is then a few pieces; 0: not so.
static uint64_t short_vectors_most(const choice *c) {
    const row_shape *s = c->s;
    const uint64_t   most = (uint64_t)cj__row_blocks(s) * CROWDED_WARPS * ROW_WARP * direct_held(c);
    const bool       are_short = s->in_bytes == 2 && vector_bytes(s) <= WIDEST_LOAD / 2 && s->access == s->elements && !s->peeled;
    const bool       open = !asked(c, ROW_WARPS) && c->op->outputs && !cj__row_is_few(c);
    return open && are_short && s->cluster > 1 && s->vectors <= PEELED_PIECES * most ? most : 0;
}

// Vectors of a row that its blocks hold at once.
static uint64_t piece_most(const choice *c) {
    const row_shape *s = c->s;
    const unsigned   blocks = cj__row_blocks(s);
    const uint64_t   small = short_vectors_most(c);
    if (s->totals) return sums_piece_most(c);
    if (comes_in_pieces(c)) return cj__least(cj__ceil_div(s->vectors, PEELED_PIECES), (uint64_t)blocks * pieces_hold(c) / PEELED_PIECES);
    if (small) return small;
    if (do_blocks_share(c)) return (uint64_t)blocks * sharing_warps(c) * ROW_WARP * direct_held(c);
    return s->vectors <= blocks * cj__row_cluster_holds(c, 1) ? s->vectors : cj__row_cluster_holds(c, blocks);
}

// As many as registers need. Pieces that pass are a few more: the block stays small.
static uint64_t direct_pieces(const choice *c) {
    const unsigned blocks = cj__row_blocks(c->s);
    if (!cj__row_is_passing(c)) return cj__ceil_div(c->s->vectors, piece_most(c));
    const uint64_t share = cj__ceil_div(c->s->vectors, blocks);
    const unsigned warps = passing_warps(c, PASSING_WARPS);
    const uint64_t threads = (uint64_t)asked_or(c, ROW_WARPS, warps) * ROW_WARP;
    const uint64_t least = warps > PASSING_WARPS ? 1 : cj__least(cj__ceil_div(share, PASSING_PIECE), PASSING_PIECES);
    return cj__most(least, cj__ceil_div(share, threads * cj__row_piece_held(c)));
}

static void plan_vectors(choice *c) {
    row_shape *s = c->s;
    s->cluster = is_asked(c, ROW_CLUSTER) ? asked(c, ROW_CLUSTER) : direct_cluster(c);
    if (!c->clusters || s->totals) s->cluster = 0;
    s->pieces = asked_or(c, ROW_PIECES, 1);
    if (is_transposed(c)) {
        plan_transposed(c);
        return;
    }
    if (plan_short(c)) return;
    if (!asked(c, ROW_PIECES)) s->pieces = direct_pieces(c);
    choose_warps(c);
}

// ---- rows that begin between two vectors

// What a row takes, in instructions of all of its threads: a vector's accesses, and what is done with its elements, among them
// those that take elements out of two vectors; at the edges both, of one element. Pieces are loaded once for the sum, and again for the results.
static uint64_t cost_of(const choice *c) {
    const row_shape *s = c->s;
    const row_op    *op = c->op;
    const bool       whole = s->unaligned && cj__row_keeps_apart(s, s->elements), across = s->across && !whole;
    const unsigned   columns = s->across || cj__row_has_head(s) ? op->columns : 0, taken = columns + (across ? op->inputs : 0);
    const uint64_t   loads = op->inputs * (whole ? 1 : across ? 2 : s->elements / s->access) + (s->across ? op->columns : 0);
    const uint64_t   accesses = (loads + op->outputs + op->columns) * PEEL_ACCESS;
    const uint64_t   vector = s->elements * (PEEL_ELEMENT + taken * PEEL_COLUMN) + accesses;
    const uint64_t   again = s->pieces > 1 && op->outputs ? loads * PEEL_ACCESS : 0;
    const uint64_t   edge = s->peeled ? PEEL_ELEMENT + accesses + PEEL_EDGE : 0;
    if (s->held > ROW_HELD) return UINT64_MAX;
    return (uint64_t)cj__row_threads(s) * cj__row_blocks(s) * (s->pieces * s->held * (vector + again) + edge + PEEL_ROW);
}

// A small matrix takes as long as one thread does, and edges take longer than elements that are loaded one by one (layernorm 115 x 27
// bf16, stride 81: 1.68 us peeled, 1.36 by elements; 512 x 1024, strides 1083 and 1071: 3.25 and 2.45).
static bool do_edges_wait(const choice *c, unsigned elements) {
    const uint64_t columns = c->s->columns;
    const bool     warp = columns > ELEMENTS_MOST && columns <= cj__least(NARROW_ROW_COLUMNS, (uint64_t)ROW_WARP * WARP_ROW_HELD * elements);
    const bool     many = warp && c->rows >= SMALL_ROWS_PER_SM * (uint64_t)c->limits->sm_count;
    return c->rows * c->row_bytes < SMALL_PLAIN_BYTES && columns <= SMALL_PLAIN_COLUMNS && !many;
}

// Nor is a matrix of a few MiB peeled whose rows a warp has by elements, but not by a vector a lane (softmax 8192 x 161 f32, output stride 225:
// 6.49 us peeled, 5.07 by elements).
static bool do_short_edges_wait(const choice *c, unsigned elements) {
    const uint64_t columns = c->s->columns;
    return c->rows * c->row_bytes < SMALL_SHORT_BYTES && columns > (uint64_t)ROW_WARP * elements && columns <= ELEMENTS_MOST;
}

static bool may_peel(const choice *c, const row_shape *plain, unsigned elements) {
    if (asked(c, ROW_SPLIT) || is_yes(c, ROW_ACROSS) || plain->totals || plain->columns < 2 * elements) return false;
    if (is_asked(c, ROW_PEEL)) return c->plan->params.value[ROW_PEEL] == elements;
    return vector_bytes(plain) <= PEEL_PLAIN_BYTES && !do_edges_wait(c, elements) && !do_short_edges_wait(c, elements);
}

// Whether the caller asks for nothing else than vectors of so many elements that are loaded so.
static bool is_split_allowed(const choice *c, unsigned elements, row_wider how) {
    const uint64_t *value = c->plan->params.value;
    if (is_asked(c, ROW_PEEL) && value[ROW_PEEL] != (how == ROW_PARTS ? 0 : elements)) return false;
    if (is_asked(c, ROW_SPLIT) && value[ROW_SPLIT] != elements) return false;
    if (is_yes(c, ROW_ACROSS)) return how == ROW_PEELED_ACROSS;
    return value[ROW_ACROSS] == ROW_OPEN || how != ROW_PEELED_ACROSS;
}

// Short rows of x and y that begin beside each other's vectors, anywhere among words of 8 bytes: a warp loads and stores whole runs of them by
// elements, where peeled rows take a vector apart and have two edges (rmsnorm 4194304 x 112 bf16, output stride 147: 1243 us peeled, 869 by
// elements). Gradients, which read more than they write, gain nothing.
static bool is_by_elements(const choice *c, const row_shape *plain) {
    const bool apart = (plain->stride * plain->in_bytes | plain->out_stride * plain->out_bytes) % ELEMENTS_APART;
    return apart && !is_yes(c, ROW_ACROSS) && plain->columns >= ELEMENTS_LEAST && plain->columns <= ELEMENTS_MOST &&
           c->op->outputs >= c->op->inputs;
}

// Bytes of a vector that rows of these alone allow, at most, where wider ones in parts may be better. f32 gains from twice as many, unless threads
// hold few of a long row beside its weights.
static unsigned split_plain_most(const choice *c, const row_shape *plain) {
    return plain->in_bytes == 4 && (!c->op->columns || plain->columns <= SPLIT_WIDE_COLUMNS) ? SPLIT_PLAIN_BYTES : PEEL_PLAIN_BYTES;
}

// Loads of parts find their lines in the L1 cache, of which a warp's vectors take several: they are a few parts. Of unaligned rows that may
// be whole there usually are none, and these are not loaded across vectors; nor are few short rows, each of whose threads is waited for
// (626 x 72 f32, stride 81: rmsnorm 2.27 us so, 2.03 in parts).
static bool may_split(const choice *c, const row_shape *plain, unsigned elements, row_wider how) {
    const unsigned part = cj__row_peel_most(c->plan, c->op, plain);
    const unsigned least = how == ROW_PEELED_ACROSS ? ROW_ACROSS_LEAST : how == ROW_PEELED_PARTS ? 2 : 1;
    const bool     whole = how != ROW_PARTS && cj__row_may_be_whole(c, plain, elements);
    const bool     busy = are_rows_many(c) || plain->columns > NARROW_ROW_COLUMNS;
    const bool     waits = how != ROW_PARTS && (do_edges_wait(c, elements) || is_by_elements(c, plain));
    const bool     pays = !waits && (how == ROW_PEELED_ACROSS ? !whole && busy : whole || elements <= SPLIT_PARTS * part);
    if (plain->totals || !c->op->outputs || part >= elements || plain->columns < least * elements) return false;
    if (!is_split_allowed(c, elements, how)) return false;
    return is_asked(c, ROW_SPLIT) || (!asked(c, ROW_PEEL) && vector_bytes(plain) <= split_plain_most(c, plain) && pays);
}

// Shapes of wider vectors than `plain` has: one becomes the best if its threads have all edges and it takes no more instructions.
static void try_wider(choice *c, const row_shape *plain, row_wider how, row_shape *best, uint64_t *least) {
    const unsigned most = how == ROW_PEELED ? cj__row_peel_most(c->plan, c->op, plain)
                                            : cj__row_split_most(c->plan, plain, how != ROW_PARTS);
    for (unsigned elements = 2 * plain->elements; elements <= most; elements *= 2) {
        *c->s = *plain;
        if (!(how == ROW_PEELED ? may_peel(c, plain, elements) : may_split(c, plain, elements, how))) continue;
        cj__row_widen(c->plan, c->op, c->s, elements, how);
        plan_vectors(c);
        if (cj__row_threads(c->s) < edges_most(c->s) || cost_of(c) > *least) continue;
        *best = *c->s;
        *least = cost_of(c);
    }
}

// Whether weights or bias of f16 or bf16 are loaded in parts.
static bool are_columns_in_parts(const choice *c, const row_shape *s) {
    return s->peeled && cj__row_is_split(s) && !s->across && s->in_bytes == 2 && c->op->columns;
}

// A cluster whose blocks load these waits for them: all blocks that there are have a row sooner.
static bool is_slow_in_parts(const choice *c) {
    const row_shape *s = c->s;
    return are_columns_in_parts(c, s) && s->cluster > 1 && s->columns >= SPREAD_COLUMNS && s->columns <= SPREAD_PARTS_COLUMNS;
}

// Rows that the largest cluster reads twice, of so many bytes: blocks of all SMs hold more of one, and find the rest in the L2 cache. Not those
// that are taken out of two vectors, whose threads hold less.
static bool is_long(const choice *c) {
    const row_shape *s = c->s;
    const bool       heavy = (s->in_bytes == 4 || c->op->inputs > 1 || c->op->columns) && c->rows <= SPREAD_PIECES_ROWS;
    const uint64_t   least = heavy && s->pieces >= SPREAD_PIECES ? SPREAD_PIECES_BYTES : SPREAD_ROW_BYTES;
    return c->op->outputs && s->cluster == CROWDED_CLUSTER && !s->across && c->row_bytes >= least;
}

bool cj__row_is_better_spread(const choice *c) { return is_slow_in_parts(c) || is_long(c); }

// Longer rows of layernorm, that the largest cluster holds or nearly holds, are faster by accesses of 4 bytes.
static bool is_slow_by_parts(const choice *c, const row_shape *plain, const row_shape *s) {
    const bool asks = asked(c, ROW_PEEL) || asked(c, ROW_SPLIT) || is_yes(c, ROW_ACROSS);
    const bool held = s->cluster == CROWDED_CLUSTER && s->pieces <= 2 && vector_bytes(plain) == PEEL_PLAIN_BYTES;
    return !asks && held && are_columns_in_parts(c, s) && c->op->values > 1 && s->columns > SPREAD_PARTS_COLUMNS;
}

// Vectors as short as it takes for rows of these alone; or wider ones, with an edge, or loaded in parts or across two, if they take
// fewer instructions.
void cj__row_plan_direct(choice *c) {
    c->s->form = ROW_DIRECT;
    const row_shape plain = *c->s;
    plan_vectors(c);
    row_shape best = *c->s;
    uint64_t  least = asked(c, ROW_PEEL) || asked(c, ROW_SPLIT) || is_yes(c, ROW_ACROSS) ? UINT64_MAX : cost_of(c);
    for (row_wider how = ROW_PEELED; !best.transposed && how <= ROW_PEELED_ACROSS; how++)
        try_wider(c, &plain, how, &best, &least);
    if (is_slow_by_parts(c, &plain, &best)) {
        *c->s = plain;
        plan_vectors(c);
        return;
    }
    *c->s = best;
}
