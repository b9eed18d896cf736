// SPDX-License-Identifier: Apache-2.0
// sort: the elements of each row of a matrix in order, equal ones as they came, and where they were.
//
// Algorithm. A radix sort from the least digit up. An element becomes an unsigned key in the order of the results (key.c), with its
// index where that is wanted: in the same register where both have 16 bits. A group (a warp or a block; in form=cluster the
// blocks of a cluster) holds a row, or a part of it, in registers: each warp has a part of the tile, and its lanes have
// neighbours. A pass takes a digit of 8 bits or fewer: a warp counts its items of each digit, and finds the place of each among them;
// the counts are summed up over digits, ranks and warps (rank.c); items go to their places in shared memory, and are read
// back in this order (move.c). Each pass keeps the order of items with the same digit, so the last one leaves them sorted. Keys of 32 and
// 64 bits are sorted by their highest digits alone, of those that differ in the row (range.c); then neighbours settle (settle.c).
//
//   x[]  --keys-->  registers  --places-->  keys[], indices[]  --own part-->  registers  …  --bits-->  values[], indices[]
//
//   shared, of each group:  | counts[warp][digit] | sums[warp] | table[rank][digit] | ranges | keys[tile] | indices[tile] |  or pairs of both
//
// A payload, an array beside x, is put into the order of the keys where results are written: by then a thread has the index of each item
// that it writes (result.c).
//
// A row beyond a cluster is sorted by the grid (grid.c): each pass is a launch, in which a block sorts a tile by the digit and finds out
// from the tiles before it where its items go. Of segments, a launch sorts the short ones and lists the others before that (segment.c).
//
// Barriers; docs/maintaining/sort.md says why each is needed and enough. Of form=warp those of the block are bar.warp.sync.
//   W1, W2, W3  bar.warp.sync     the warp's counts are clear; are read; have a load's items
//   S1  bar.sync                  all warps have counted
//   C1  barrier.cluster           in a cluster: each rank's bins are in every table
//   S2  bar.sync                  the warps' sums are written
//   S3  bar.sync                  all starts are written
//   S4  bar.sync                  all items are in their places in the tile
//   C2  barrier.cluster           all ranks have read their tiles
//   C3  barrier.cluster           all items are in their places in the row
//   C0  barrier.cluster           all blocks have started
//   N1  bar.sync                  settling: the warps' ranges are written
//   N2  barrier.cluster           the ranges of all ranks are known
//   N3  bar.sync                  the keys beside the tile are here
//   N4  bar.sync, barrier.cluster all have settled, or said that they cannot
//   N5  bar.sync                  all threads know that they sort again
//   G1  bar.sync                  form=grid: the block's ticket is told; counting, the block's bins are clear
//   G2  bar.sync                  form=grid, counting: the block has counted
//   G3  bar.sync                  form=grid of segments: the warps' sums are read, before the block sums up the next digit
#include "sort.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [SORT_##id] = {__VA_ARGS__},
#include "params.def"
};

static void write_head(const sort_kernel *k, cj_builder *b) {
    const sort_shape *s = &k->s;
    cj_head(b, "clusterjit: sort  dtype=%s order=%s result=%s\n", CJ_PARAM_WORD(k->plan, "dtype"),
            CJ_PARAM_WORD(k->plan, "order"), CJ_PARAM_WORD(k->plan, "result"));
    cj_head(b, "  row  --%u elements a thread-->  keys of %u bits%s", s->items, s->bits,
            s->packed    ? ", with the index in the lower half"
            : s->carries ? ", and indices"
                         : "");
    cj_head(b, "  keys  --%u digits of %u bits: counts, sums, places in shared memory%s-->  %svalues, indices\n",
            s->prefix, s->digit,
            s->cluster                ? " of the cluster"
            : s->form == SORT_BY_GRID ? ", and in the workspace"
                                      : "",
            s->settles ? "settle among neighbours  -->  " : "");
    if (s->payload_bytes) cj_head(b, "  payload of %u bytes  --at each index, %d loads at once-->  sorted_payload\n", s->payload_bytes, SORT_PAYLOAD_BATCH);
    cj_head(b, "Launch: block %u threads%s; %u bytes of dynamic shared memory.", s->block,
            s->cluster ? ", as a cluster launch" : "", k->plan->dynamic_shared);
    if (s->form != SORT_BY_GRID) return;
    sort_workspace w;
    cj__sort_workspace(k->plan, s, &w);
    cj_head(b, "%u launches, turn = 0, 1, ...: clear, %scount, sum up, then a digit each: x -> ... -> workspace -> results.",
            k->plan->launches, s->lists ? "sort short segments and list others, sort those of at most a tile and " : "");
    cj_head(b,
            "The workspace of %" PRIu64
            " bytes may hold anything before. Bytes from its first: tickets 0, bins %" PRIu64 ", statuses %" PRIu64 ",",
            w.bytes, w.bins, w.statuses);
    cj_head(b, s->carries ? "keys %" PRIu64 ", indices %" PRIu64 "." : "keys %" PRIu64 ".", w.keys[0], w.indices[0]);
    if (sort_passes(s) < 3) return;
    cj_head(b, "Between passes items are there, or in %s%s%s.", s->values ? "values" : "second keys after them", s->carries ? " and " : "",
            !s->carries ? "" : s->indices ? "indices" : "second indices after them");
}

// ---- prologue

static void declare_payload(sort_kernel *k) {
    const bool segments = k->s.offset_bytes;
    k->payload_at = cj_param(k->f, "u64", "payload", segments ? "like x" : "payload[rows][payload_stride]");
    k->payload_to = cj_param(k->f, "u64", "sorted_payload", segments ? "like x" : "sorted_payload[rows][columns]");
}

static void declare(sort_kernel *k) {
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", k->s.offset_bytes ? "x[offsets[rows]]" : "x[rows][stride]");
    k->values_to = cj_param(f, "u64", "values", !k->s.values ? "not used" : k->s.offset_bytes ? "like x" : "values[rows][columns]");
    k->indices_to = cj_param(f, "u64", "indices", !k->s.indices ? "not used" : k->s.offset_bytes ? "like x, from each segment's begin" : "indices[rows][columns]");
    if (k->s.offset_bytes) k->offsets_at = cj_param(f, "u64", "offsets", "offsets[rows + 1]: where segments begin, and the end");
    if (k->s.payload_bytes) declare_payload(k);
    k->rows_at = cj_param(f, "u64", "rows", NULL);
    k->columns_at = cj_param(f, "u64", "columns", "elements of a row");
    k->stride_at = cj_param(f, "u64", "stride", "elements from row to row");
    if (k->s.payload_bytes) k->payload_stride_at = cj_param(f, "u64", "payload_stride", k->s.offset_bytes ? "not used" : "elements from row to row of payload");
    if (k->s.form == SORT_BY_GRID) {
        k->tiles_at = cj_param(f, "u64", "tiles", k->s.lists ? "of all segments, at most" : "of a row");
        k->counters_at = cj_param(f, "u64", "counters", k->s.lists ? "blocks that count" : "blocks that count a row");
        if (k->s.lists) k->elements_at = cj_param(f, "u64", "elements", "of all segments, at most");
        k->turn_at = cj_param(f, "u64", "turn", "of the launches");
    }
    k->workspace_at = cj_param(f, "u64", "workspace", k->s.form == SORT_BY_GRID ? "below" : "not used");
    cj__registers(k->plan, f, cj__registers_per_thread(k->plan->params.value[SORT_RESIDENT] * k->s.block), true);
}

// Threads of a warp that has no row are done.
static void begin_group(sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            thread = cj_mov(f, "u32", "thread", "%tid.x");
    k->lane = cj_and(f, "lane", thread, SORT_WARP - 1);
    k->below = cj_mov(f, "u32", "lanes_below", "%lanemask_lt");
    k->above = cj_mov(f, "u32", "lanes_above", "%lanemask_gt");
    if (s->ballots) k->all = cj_or(f, "all_lanes", cj_mov(f, "u32", "lanes_upto", "%lanemask_le"), k->above);
    cj_reg zero = cj_and(f, "zero", k->below, k->above);  // of which ptxas does not know that it is the same in all lanes:
    k->counts = cj_add(f, "counts", cj_mov(f, "u32", "pool_at", "pool"), zero);  // addresses then are multiply-adds, which have their own pipe
    k->warp = cj_shr(f, "warp", thread, 5);
    k->thread = thread;
    if (s->form != SORT_BY_GRID) k->row = cj__group_number(f, "row", s->cluster);
    if (s->cluster) k->rank = cj_cluster_rank(f);
    if (s->form != SORT_BY_WARP) return;
    cj_step(f, "the warp's row and shared memory");
    k->counts = cj_mad(f, "counts", k->warp, s->at.bytes, k->counts);
    k->row = cj_mad(f, "row", k->row, s->block / SORT_WARP, k->warp);
    cj_reg rows = cj__load_param(f, "u32", k->rows_at, "rows");
    k->warp = cj_mov(f, "u32", "only_warp", 0);
    k->thread = k->lane;
    CJ_IF_UNI(f, cj_ge(f, "no_row", k->row, rows), "has_row") { cj_ptx(f, "ret;"); }
}

static void begin_row(sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_step(f, "the row, and the thread's places");
    cj__sort_find_row(k, true);
    k->own = cj_mad(f, "own", k->warp, SORT_WARP * s->items, k->lane);
    k->first = s->cluster ? cj_mad(f, "first", k->rank, s->tile, k->own) : k->own;
    k->own_counts = cj_mad(f, "own_counts", k->warp, sort_warp_bytes(s), k->counts);
    cj_registers(f, "u32", "rank_in_warp", s->paired ? (s->items + 1) / 2 : s->items, k->place);
}

// Items are sorted by a prefix, and settle; where they cannot, they are sorted by the whole key, from the order that they have.
static void emit_rounds(sort_kernel *k) {
    cj__sort_fit(k);
    cj_reg shift = cj_mov(k->f, "u32", "shift", k->start);
    CJ_LOOP_UNI(k->f, rounds, "next_round", "in_order") {
        cj__sort_digits(k, shift);
        cj_leave(&rounds, cj__sort_settle(k));
        cj_set(k->f, shift, 0);
    }
}

static void emit_sort(const cj_plan *plan, cj_builder *b) {
    sort_kernel k = {.plan = plan};
    cj__sort_shape(plan, &k.s);
    write_head(&k, b);
    cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    k.f = cj__entry(plan, b);
    declare(&k);
    begin_group(&k);
    cj__follow_launches(plan, k.f);
    if (k.s.form == SORT_BY_GRID) {
        cj__sort_grid(&k);
        return;
    }
    begin_row(&k);
    if (k.s.settles) cj__sort_begin_settle(&k);
    if (k.s.cluster) cj_cluster_arrive(k.f, CJ_ARRIVE_RELAXED, "C0: this block has started");
    cj__sort_load(&k, true);
    if (k.s.cluster) cj_cluster_wait(k.f, "C0: all blocks have started");
    if (k.s.settles)
        emit_rounds(&k);
    else
        cj__sort_digits(&k, cj_mov(k.f, "u32", "shift", sort_low(&k.s)));
    cj__sort_finish(&k);
    cj_ptx(k.f, "ret;");
}

const cj_family cj__family_sort = {CJ_FAMILY("sort", "the elements of each row in order, stable, and where they were",
                                             params, cj__sort_plan, emit_sort)};
