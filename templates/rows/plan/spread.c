// SPDX-License-Identifier: Apache-2.0
// The plan of the spread form: blocks a row, pieces, and the registers that a thread needs for them.
#include "plan.h"

// Registers of a thread as ptxas 13.0 needs them. The row that it holds comes first; sweeps hold it as f32. Beside it
// are the work counter, moments, copies of the mailbox, and weight or mask, where sweeps read it. Of several inputs not
// all is held at once; but where a row's pieces are read twice, ptxas unrolls their loop. For sm_90 the counts are of
// what ptxas compiles without spilling; for other targets it takes a few more.
unsigned cj__row_spread_registers(const cj_plan *plan, const row_op *op, const row_shape *s) {
    static const struct {
        unsigned holds, registers;
    } more[] = {{SPREAD_80_HOLDS, 80}, {SPREAD_96_HOLDS, 96}, {UINT32_MAX, 128}};
    const bool measured = cj__target_number(plan) == CJ_TARGET_MEASURED, swept = op->columns && !op->columns_written;
    unsigned   held = s->held * s->elements * op->inputs, i = 0;
    if (!op->outputs) return SPREAD_REGISTERS;  // sweeps are done with what they have seen
    if (op->inputs > 1) held -= held / 4;
    if (s->across) held += SPREAD_ACROSS;
    if (s->counted) held += SPREAD_COUNTER;
    if (op->values > 2) held += s->in_bytes < 4 ? SPREAD_MOMENTS : 1;
    if (cj__mail_copies(s->blocks) > 1) held += SPREAD_COPY;
    if (swept) held += SPREAD_COLUMN;
    if (op->columns && s->in_bytes < 4 && s->held == ROW_HELD) held += SPREAD_LOADS;
    if (s->counted && s->pieces > 1 && op->inputs > 1 && !(measured && s->warps >= SHARING_WARPS))
        held += SPREAD_UNROLLED;
    if (held <= (measured ? SPREAD_64_HOLDS : SPREAD_64_HOLDS_OTHERS)) return SPREAD_REGISTERS;
    while (held > more[i].holds) i++;
    return more[i].registers;
}

// Blocks of so many warps that the GPU holds at once.
static unsigned room_for(const choice *c, unsigned warps) {
    cj_occupancy        o;
    const cj_kernel_use use = {.threads = warps * ROW_WARP, .registers = c->registers};
    cj__occupancy(&use, c->limits, &o);
    return o.active_clusters;
}

unsigned cj__row_spread_held_most(const choice *c) {
    const unsigned words = (unsigned)cj__most(c->s->elements * c->s->in_bytes / 4, 1) * c->op->inputs;
    const bool     crowded = c->s->pieces > 1 && c->rows > c->limits->sm_count;
    return crowded ? (unsigned)cj__least(HELD_CROWDED / words, ROW_HELD) : ROW_HELD;
}

static unsigned spread_held(const choice *c) {
    const unsigned least = c->s->across ? ROW_HELD : c->s->access < c->s->elements && c->s->in_bytes == 4 ? SPREAD_HELD_LEAST : 1;
    return asked_or(c, ROW_VECTORS, cj__most(cj__row_held_most(c), least));
}

static unsigned spread_warps(const choice *c) { return asked_or(c, ROW_WARPS, SHARING_WARPS); }

// Rows at once that are to be read twice, where the registers of all SMs hold no more than a few: while a group's blocks wait for
// each other, those of other groups load and write. The second reading finds all of these rows in the L2 cache, of which they take one
// of CACHE_PARTS parts, or two of them two. 0: not two.
static uint64_t cached_rows(const choice *c) {
    const uint64_t l2 = c->limits->l2_bytes, part = l2 / (CACHE_PARTS * c->row_bytes);
    if (c->rows < 2 || !c->op->outputs || CACHE_PARTS * c->row_bytes > l2) return 0;
    return cj__least(cj__most(part, 2), c->rows);
}

// Bytes of a row that are read and written.
static uint64_t moved_bytes(const choice *c) {
    return c->row_bytes + c->op->outputs * c->s->columns * c->s->out_bytes;
}

// Blocks that a row is worth: each block more takes bytes from the others, but all wait for its message.
static uint64_t worth_blocks(const choice *c) {
    uint64_t       blocks = 1;
    const uint64_t bytes = c->op->outputs ? SPREAD_BLOCK_BYTES : SPREAD_BLOCK_BYTES / 2, squares = moved_bytes(c) / bytes;
    while ((blocks + 1) * (blocks + 1) <= squares) blocks++;
    return blocks;
}

// Blocks that hold enough of a row which is read twice. If the second reading finds the matrix in the L2 cache, or there are no more than a few
// rows, whose weights are read twice too, blocks of all rows work at the same time, whatever they hold: 0.
static uint64_t fewest_blocks(const choice *c, uint64_t room, uint64_t hold) {
    const uint64_t rows = cj__least(c->rows, c->limits->sm_count), at_once = SPREAD_GROUPS * hold > room ? cached_rows(c) : 0;
    const bool     cached = CACHE_PARTS * rows * c->row_bytes <= 2 * c->limits->l2_bytes;
    if (!c->op->outputs) return 0;
    if (cached) return c->rows > rows ? cj__ceil_div(hold, 2) : 0;
    if (at_once) return cj__least(room / at_once, hold);
    return c->op->columns && c->rows <= SPREAD_TOGETHER ? 0 : hold;
}

// Blocks whose threads have a vector less, if these are no more than half as many again.
static uint64_t even_blocks(const choice *c, uint64_t blocks, uint64_t threads) {
    const uint64_t held = cj__ceil_div(c->s->vectors, blocks * threads);
    const uint64_t more = held > 1 ? cj__ceil_div(c->s->vectors, threads * (held - 1)) : blocks;
    return 2 * more <= 3 * blocks && more * c->rows <= c->limits->sm_count ? more : blocks;
}

// Blocks a row: what it is worth, of its share of the SMs; or, if threads would have much each, of all blocks that the GPU holds.
static unsigned spread_blocks(const choice *c) {
    const uint64_t rows = cj__least(c->rows, c->limits->sm_count), vectors = c->s->vectors;
    const uint64_t threads = (uint64_t)spread_warps(c) * ROW_WARP, room = room_for(c, spread_warps(c));
    const uint64_t one = c->limits->sm_count / rows, all = room / rows;
    const uint64_t hold = cj__ceil_div(vectors, threads * asked_or(c, ROW_VECTORS, cj__row_held_most(c)));
    const bool     much = vectors >= SPREAD_MUCH * threads * one && (rows > 1 || hold > one);
    const uint64_t blocks = cj__most(much ? all : cj__most(cj__least(one, worth_blocks(c)), cj__least(one, hold)), 1);
    const uint64_t most = cj__most(cj__least(room, ROW_BLOCKS_MAX), 1);  // no room is refused with the grid
    const uint64_t chosen = cj__least(cj__most(fewest_blocks(c, room, hold), blocks), most);
    return (unsigned)cj__least(even_blocks(c, chosen, threads), most);
}

// Whether a row moves so little that a cluster is faster: its blocks exchange sooner, but they are at most 16.
static bool is_for_cluster(const choice *c) {
    const bool     alone = c->rows == 1 && c->op->outputs, all = c->rows * cj__row_places(CROWDED_CLUSTER) <= c->limits->sm_count;
    const bool     held = c->op->outputs || c->s->vectors <= CROWDED_CLUSTER * SHARING_WARPS * ROW_WARP * ROW_HELD;
    const uint64_t most = alone ? CLUSTER_MOVED_ALONE : all ? CLUSTER_MOVED_BYTES : CLUSTER_MOVED_BYTES / 2;
    return c->clusters && held && moved_bytes(c) <= most;
}

// Few rows, each long enough for more blocks than a cluster would give it.
bool cj__row_is_spread(const choice *c) {
    if (is_asked(c, ROW_BLOCKS)) return true;
    return cj__row_is_few(c) && !is_asked(c, ROW_CLUSTER) && !cj__row_asks_stream(c) && !is_for_cluster(c) &&
           c->s->columns >= cj__most(SPREAD_COLUMNS, SPREAD_COLUMNS_A_ROW * c->rows);
}

static void cut_spread(choice *c) {
    row_shape *s = c->s;
    s->form = ROW_SPREAD;
    s->blocks = asked_or(c, ROW_BLOCKS, spread_blocks(c));
    s->pieces = asked_or(c, ROW_PIECES, 1);
    cj__row_cut(s);
    s->warps = (unsigned)cj__least(spread_warps(c),
                                   asked(c, ROW_WARPS) ? ALONE_WARPS : cj__ceil_div(s->piece, ROW_WARP));
    if (!asked(c, ROW_PIECES)) {
        const uint64_t share = s->piece, threads = (uint64_t)s->warps * ROW_WARP;
        s->pieces = cj__ceil_div(share, threads * spread_held(c));
        if (!asked(c, ROW_VECTORS))
            s->pieces = cj__ceil_div(share, threads * cj__least(spread_held(c), cj__row_spread_held_most(c)));
        cj__row_cut(s);
    }
    s->held = (unsigned)cj__most(cj__ceil_div(s->piece, cj__row_threads(s)), 1);
    s->counted = c->rows > asked_or(c, ROW_GRID, room_for(c, s->warps)) / s->blocks;
}

// Whether vectors of so many elements, beside which what is read may begin, are loaded in parts: where the caller asks for it, or what is
// read usually begins with vectors, too. Else they are taken out of two.
static row_wider split_how(const choice *c, unsigned elements) {
    const uint64_t across = c->plan->params.value[ROW_ACROSS];
    const bool     wide = cj__row_peel_most(c->plan, c->op, c->s) * c->s->in_bytes >= SPREAD_PART_BYTES;
    const bool     parts = across ? across == ROW_NO : wide || cj__row_may_be_whole(c, c->s, elements);
    return parts ? ROW_PEELED_PARTS : ROW_PEELED_ACROSS;
}

// Elements of a vector of what is written, if what is read may begin beside it.
static unsigned split_most(const choice *c) {
    const unsigned most = cj__row_split_most(c->plan, c->s, true);
    const bool     no = is_asked(c, ROW_SPLIT) && !asked(c, ROW_SPLIT);
    return !c->op->outputs || no || c->s->columns < ROW_ACROSS_LEAST * most ? 0 : most;
}

// A long row has vectors as wide as what is written allows, and edges beside them.
static void choose_peel(choice *c) {
    const unsigned together = cj__row_peel_most(c->plan, c->op, c->s), apart = split_most(c);
    const unsigned most = (unsigned)cj__most(together, apart);
    const unsigned wanted = is_asked(c, ROW_PEEL) ? asked(c, ROW_PEEL) : asked_or(c, ROW_SPLIT, most);
    if (wanted <= c->s->elements || wanted > most || wanted & (wanted - 1) || c->s->columns < 2 * wanted) return;
    if (wanted <= together && asked(c, ROW_SPLIT)) return;
    cj__row_widen(c->plan, c->op, c->s, wanted, wanted <= together ? ROW_PEELED : split_how(c, wanted));
}

// If a thread holds too much for the usual registers, the GPU holds fewer blocks.
void cj__row_plan_spread(choice *c) {
    choose_peel(c);
    for (unsigned needed = SPREAD_REGISTERS; needed;) {
        c->registers = needed;
        cut_spread(c);
        needed = cj__row_spread_registers(c->plan, c->op, c->s);
        if (needed <= c->registers) needed = 0;
    }
}

// Blocks wait for each other, so all are resident. Groups of blocks are persistent.
cj_status cj__row_plan_spread_grid(choice *c, cj_error *error) {
    cj_plan       *plan = c->plan;
    row_shape     *s = c->s;
    const uint64_t room = room_for(c, s->warps);
    REFUSE_IF(!room,
              "vectors: %u of a thread, of rows of %" PRIu64
              " elements, take about %u registers; blocks of warps=%u have fewer" CJ_HINT
              "take fewer warps, or more pieces or blocks, of which a thread holds fewer vectors",
              s->held, s->columns, c->registers, s->warps);
    REFUSE_IF(s->blocks > room,
              "blocks: %u of %u threads are more than the %" PRIu64 " that %s holds at once" CJ_HINT
              "fewer blocks or warps, or leave them at their defaults",
              s->blocks, plan->block.x, room, c->limits->name);
    cj__row_set_grid(c, cj__least(room / s->blocks, c->rows));
    plan->cooperative = true;
    s->counted = c->rows > plan->grid.x / s->blocks;
    plan->workspace_bytes = cj__row_mail_bytes(s, plan->grid.x);
    return CJ_OK;
}
