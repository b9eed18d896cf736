// SPDX-License-Identifier: Apache-2.0
// form=grid: a row of any length. Launches of one kernel, by turns: the workspace is cleared; some blocks a row count the items of each
// value of each digit; these numbers become what comes before, in the row; then each digit is a launch. There a block takes a
// ticket, which is its tile: tiles before it have been taken by blocks that run. It sorts the tile by the digit (rank.c), looks back at
// the tiles before for what they have of each value, and writes its items: those with the same value lie side by side.
//
//   x --keys, indices--> … --> workspace --> values, indices --> workspace --> values, indices
//
// What is not wanted as a result, values or indices, has a second array in the workspace.
//
// Of segments only those that are longer than a tile have tiles, of which a list tells what they are (segment.c).
//
// D. Merrill, M. Garland: Single-pass parallel prefix scan with decoupled look-back (NVIDIA, 2016); A. Adinets, D. Merrill: Onesweep, a
// faster least significant digit radix sort for GPUs (2022).
#include "sort.h"

static cj_reg part(const sort_kernel *k, cj_reg workspace, const char *name, uint64_t at) {
    return cj_add(k->f, name, workspace, cj_mov(k->f, "u64", "part_at", at));
}

// ---- the launches before

// Tickets, bins and statuses: 0.
static void clear(const sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    cj_func *f = k->f;
    cj_step(f, "turn 0: tickets, bins and statuses are cleared");
    cj_reg number = cj_mad(f, "number", cj_mov(f, "u32", "block", "%ctaid.x"), k->s.block, k->thread);
    cj_reg all = cj_mul(f, "threads", cj_mov(f, "u32", "blocks", "%nctaid.x"), k->s.block);
    CJ_FOR(f, i, "u32", "vector", number, (uint32_t)(w->keys[0] / 16), all) {
        cj_ptx(f, "st.global.v4.u32 [$1], {0, 0, 0, 0};", cj_mad_wide(f, "clear_at", i, 16, workspace));
    }
    cj_ptx(f, "ret;");
}

static void begin_tile(sort_kernel *k, cj_reg tile) { k->first = cj_mad(k->f, "first", tile, k->s.tile, k->own); }

// Each item's digits, in the block's bins.
static void count_tile(sort_kernel *k) {
    cj_func *f = k->f;
    cj__sort_load(k, false);
    for (unsigned i = 0; i < k->s.items; i++) {
        cj_reg inside = cj_lt(f, "inside", cj_add(f, "place", k->first, SORT_WARP * i), k->columns);
        for (unsigned pass = 0; pass < sort_passes(&k->s); pass++) {
            cj__sort_take_digit(k, cj_mov(f, "u32", "shift", pass * k->s.digit));
            cj_reg at = cj_mad(f, "bin_at", cj__sort_digit(k, i), 4, k->counts);
            cj_ptx(f, "@$1 red.shared.add.u32 [$2 + $3], 1;", inside, at, 4 * pass * k->s.bins);
        }
    }
}

static void clear_bins(const sort_kernel *k) {
    cj_func *f = k->f;
    CJ_STRIDE(f, i, cj_mov(f, "u32", "i", k->thread), k->s.block, sort_passes(&k->s) * k->s.bins) {
        cj_ptx(f, "st.shared.u32 [$1], 0;", cj_mad(f, "clear_at", i, 4, k->counts));
    }
    cj_ptx(f, "bar.sync 0; // G1: the bins are clear");
}

static void add_bins(const sort_kernel *k, cj_reg all_bins) {
    cj_func       *f = k->f;
    const unsigned bins = sort_passes(&k->s) * k->s.bins;
    cj_ptx(f, "bar.sync 0; // G2: the block has counted");
    cj_reg to = cj_mad_wide(f, "row_bins", k->row, 4 * bins, all_bins);
    CJ_STRIDE(f, i, cj_mov(f, "u32", "i", k->thread), k->s.block, bins) {
        cj_reg count = cj_let(f, "u32", "count", "ld.shared.u32 $1, [$2];", cj_mad(f, "bin_at", i, 4, k->counts));
        cj_ptx(f, "red.relaxed.gpu.global.add.u32 [$1], $2;", cj_mad_wide(f, "to", i, 4, to), count);
    }
}

static void count_row(sort_kernel *k, cj_reg all_bins) {
    cj_func *f = k->f;
    cj_step(f, "turn 1: some blocks a row count its digits");
    cj_reg block = cj_mov(f, "u32", "block", "%ctaid.x"),
           counters = cj__load_param(f, "u32", k->counters_at, "counters");
    cj_reg tiles = cj__load_param(f, "u32", k->tiles_at, "tiles"), rows = cj__load_param(f, "u32", k->rows_at, "rows");
    k->row = cj_div(f, "row", block, counters);
    CJ_IF_UNI(f, cj_ge(f, "no_row", k->row, rows), "has_row") cj_ptx(f, "ret;");
    cj__sort_find_row(k, true);
    clear_bins(k);
    cj_reg tile = cj_mov(f, "u32", "tile", cj_let(f, "u32", "counter", "rem.u32 $1, $2, $3;", block, counters));
    CJ_COUNT_UNI(f, "next_tile", tile, counters, tiles) {
        begin_tile(k, tile);
        count_tile(k);
    }
    add_bins(k, all_bins);
    cj_ptx(f, "ret;");
}

// Tiles of segments, from `number` up to `end`, as far as they are of the same segment. Moves `number` on.
static void count_run(sort_kernel *k, cj_reg number, cj_reg end, cj_reg workspace, cj_reg all_bins, const sort_workspace *w) {
    cj_func *f = k->f;
    cj__sort_find_tile(k, number, workspace, w);
    cj_reg all = cj_div(f, "tiles_of_segment", cj_add(f, "rounded_up", k->columns, k->s.tile - 1), k->s.tile);
    cj_reg of_block = cj_sub(f, "tiles_of_block", end, number), of_segment = cj_sub(f, "tiles_after", all, k->tile);
    cj_reg left = cj_min(f, "tiles_left", of_block, of_segment);
    cj_reg tile = cj_mov(f, "u32", "tile", k->tile), run_end = cj_add(f, "run_end", k->tile, left);
    clear_bins(k);
    CJ_COUNT_UNI(f, "next_tile", tile, 1, run_end) {
        begin_tile(k, tile);
        count_tile(k);
    }
    add_bins(k, all_bins);  // the thread that reads a bin clears it for the next run
    cj_update(f, number, "add", left);
}

// Each of the blocks that count has as many tiles, side by side.
static void count_segments(sort_kernel *k, cj_reg workspace, cj_reg all_bins, const sort_workspace *w) {
    cj_func *f = k->f;
    cj__sort_listed(k, workspace, w);
    cj_step(f, "some blocks count the digits of long segments");
    cj_reg block = cj_mov(f, "u32", "block", "%ctaid.x"), counters = cj__load_param(f, "u32", k->counters_at, "counters");
    cj_reg tiles = cj__sort_long_tiles(k, workspace), each = cj_div(f, "each", cj_sub(f, "rounded_up", cj_add(f, "sum", tiles, counters), 1), counters);
    CJ_IF_UNI(f, cj_ge(f, "no_counter", block, counters), "is_counter") cj_ptx(f, "ret;");
    cj_reg number = cj_mul(f, "number", block, each), end = cj_min(f, "end", cj_add(f, "own_end", number, each), tiles);
    CJ_IF_UNI(f, cj_ge(f, "no_tiles", number, end), "has_tiles") cj_ptx(f, "ret;");
    CJ_DO_UNI(f, "next_run", cj_lt(f, "has_more", number, end)) { count_run(k, number, end, workspace, all_bins, w); }
    cj_ptx(f, "ret;");
}

// A block has a digit of a row.
static void sum_up(sort_kernel *k, cj_reg all_bins) {
    cj_func *f = k->f;
    cj_step(f, "turn 2: what a row has before each value of a digit");
    cj_reg rows = cj__load_param(f, "u32", k->rows_at, "rows"), number = cj_mov(f, "u32", "digit_of_row", "%ctaid.x");
    CJ_IF_UNI(f, cj_ge(f, "no_digit", number, cj_mul(f, "digits", rows, sort_passes(&k->s))), "has_digit") {
        cj_ptx(f, "ret;");
    }
    k->bins = cj_mad_wide(f, "digit_bins", number, 4 * k->s.bins, all_bins);
    cj__sort_sum_row(k);
    cj_ptx(f, "ret;");
}

// Blocks take the digits of long segments in turns.
static void sum_up_segments(sort_kernel *k, cj_reg workspace, cj_reg all_bins) {
    cj_func *f = k->f;
    cj_step(f, "turn 3: what a segment has before each value of a digit");
    cj_reg number = cj_mov(f, "u32", "digit_of_segment", "%ctaid.x"), blocks = cj_mov(f, "u32", "blocks", "%nctaid.x");
    cj_reg digits = cj_mul(f, "digits", cj__sort_long_segments(k, workspace), sort_passes(&k->s));
    CJ_IF_UNI(f, cj_lt(f, "has_digit", number, digits), "no_digit") {
        CJ_COUNT_UNI(f, "next_digit", number, blocks, digits) {
            k->bins = cj_mad_wide(f, "digit_bins", number, 4 * k->s.bins, all_bins);
            cj__sort_sum_row(k);
            cj_ptx(f, "bar.sync 0; // G3: the warps' sums are read");
        }
    }
    cj_ptx(f, "ret;");
}

// ---- a digit

// The block's ticket, which the pass's work counter gives (kit/schedule.h); tiles of a row lie side by side.
static void take_ticket(sort_kernel *k, cj_reg workspace) {
    cj_func *f = k->f;
    cj_step(f, "the block's tile");
    cj_reg first = cj_eq(f, "first_thread", k->thread, 0), at = cj_mad_wide(f, "ticket_at", k->pass, 4, workspace);
    k->ticket = cj__work_number(f, first, "ticket", at);
    cj_ptx(f, "@$1 st.shared.u32 [$2 + $3], $4;", first, k->counts, k->s.at.sums, k->ticket);
    cj_ptx(f, "bar.sync 0; // G1: the ticket is in shared memory");
    cj_ptx(f, "ld.shared.u32 $1, [$2 + $3];", k->ticket, k->counts, k->s.at.sums);
}

static void take_tile(sort_kernel *k, cj_reg workspace) {
    cj_func *f = k->f;
    take_ticket(k, workspace);
    cj_reg tiles = cj__load_param(f, "u32", k->tiles_at, "tiles"), rows = cj__load_param(f, "u32", k->rows_at, "rows");
    k->row = cj_div(f, "row", k->ticket, tiles);
    CJ_IF_UNI(f, cj_ge(f, "no_row", k->row, rows), "has_tile") cj_ptx(f, "ret;");
    k->tile = cj_let(f, "u32", "tile", "rem.u32 $1, $2, $3;", k->ticket, tiles);
    cj__sort_find_row(k, true);
    begin_tile(k, k->tile);
}

// As many blocks as there are tiles take a ticket each; the others leave at once.
static void take_tile_of_segment(sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    cj_func *f = k->f;
    cj_reg   tiles = cj__sort_long_tiles(k, workspace);
    CJ_IF_UNI(f, cj_ge(f, "no_tile", cj_mov(f, "u32", "block", "%ctaid.x"), tiles), "has_tile") cj_ptx(f, "ret;");
    take_ticket(k, workspace);
    cj__sort_find_tile(k, k->ticket, workspace, w);
    begin_tile(k, k->tile);
}

// Keys and indices of the row between two passes: those that the launch reads, or those that it writes.
typedef struct buffer {
    cj_reg keys, indices;
} buffer;

// One of two arrays of all rows' items: the one in the workspace, or the second.
static cj_reg find_array(const sort_kernel *k, cj_reg is_second, cj_reg workspace, uint64_t at, cj_reg second, cj_reg item, unsigned bytes) {
    cj_reg base = cj_select(k->f, "u64", "array", is_second, second, part(k, workspace, "first_array", at));
    return cj_mad(k->f, "items_of_row", item, bytes, base);
}

// The row's first item among those of all rows.
static cj_reg first_item(const sort_kernel *k) {
    cj_func *f = k->f;
    cj_reg   row = cj_cvt(f, "u64", "row_number", k->row);
    return cj_mul(f, "first_item", row, cj_cvt(f, "u64", "wide_columns", k->columns));
}

// Of results that are a second array a segment has the part where its own results go: other segments write theirs at any time. `second` is that part
// then, less the segment's items before it. `bytes`: of a result.
static cj_reg second_of_segment(const sort_kernel *k, cj_reg results, unsigned bytes, unsigned item_bytes) {
    cj_func *f = k->f;
    cj_reg   own = cj_mad(f, "own_results", k->first_element, bytes, results);
    return cj_sub(f, "second_array", own, cj_mul(f, "bytes_before", k->first_item, item_bytes));
}

// The last pass writes the results, and reads the workspace. Going back from there, passes write the two arrays in turn. The second ones are
// the results' own, where these are wanted.
static buffer find_buffer(const sort_kernel *k, cj_reg workspace, const sort_workspace *w, bool writes) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    const unsigned    turn = (sort_passes(s) + !writes) % 2;
    cj_reg            item = s->lists ? k->first_item : first_item(k);
    cj_reg            odd = cj_and(f, "odd", turn ? cj_add(f, "turn", k->pass, 1) : k->pass, 1), second = cj_ne(f, "second", odd, 0);
    cj_reg            keys = s->values ? cj__load_pointer(f, k->values_to, "values") : part(k, workspace, "second_keys", w->keys[1]);
    if (s->lists && s->values) keys = second_of_segment(k, keys, s->bytes, s->bytes);
    buffer b = {find_array(k, second, workspace, w->keys[0], keys, item, s->bytes), cj_none()};
    if (!s->carries) return b;
    cj_reg indices = s->indices ? cj__load_pointer(f, k->indices_to, "indices") : part(k, workspace, "second_indices", w->indices[1]);
    if (s->lists && s->indices) indices = second_of_segment(k, indices, s->wide_index ? 8 : 4, 4);
    b.indices = find_array(k, second, workspace, w->indices[0], indices, item, 4);
    return b;
}

static void load_again(const sort_kernel *k, const buffer *b) {
    cj_func *f = k->f;
    cj_reg   greatest = cj__sort_greatest(k);
    cj_step(f, "the tile's items, as the launch before wrote them");
    for (unsigned i = 0; i < k->s.items; i++) {
        cj_reg place = cj_add(f, "place", k->first, SORT_WARP * i), inside = cj_lt(f, "inside", place, k->columns);
        cj_set(f, k->key[i], greatest);
        cj__load(f, inside, "ld.global", sort_type(k->s.bytes), &k->key[i], 1,
                 cj_mad_wide(f, "key_at", place, k->s.bytes, b->keys), 0);
        if (!k->s.carries) continue;
        cj__load(f, inside, "ld.global", "u32", &k->index[i], 1, cj_mad_wide(f, "index_at", place, 4, b->indices), 0);
    }
}

// Item i's place in the row; false in *inside for what is not of the row, which is last in its tile.
static cj_reg place_in_row(const sort_kernel *k, unsigned item, cj_reg *inside) {
    cj_func *f = k->f;
    cj_reg   in_tile = cj_add(f, "in_tile", k->own, SORT_WARP * item);
    cj_reg   before = cj_mad(f, "in_row", k->tile, k->s.tile, in_tile);
    *inside = cj_lt(f, "inside", before, k->columns);
    cj_reg offset = cj__sort_offset(k, item);
    return cj_add(f, "place", in_tile, offset);
}

static void store_again(const sort_kernel *k, const buffer *b) {
    cj_func *f = k->f;
    cj_step(f, "items, for the next launch");
    for (unsigned i = 0; i < k->s.items; i++) {
        cj_reg inside, place = place_in_row(k, i, &inside);
        cj__store(f, inside, "st.global", sort_type(k->s.bytes), &k->key[i], 1,
                  cj_mad_wide(f, "key_to", place, k->s.bytes, b->keys), 0);
        if (!k->s.carries) continue;
        cj__store(f, inside, "st.global", "u32", &k->index[i], 1, cj_mad_wide(f, "index_to", place, 4, b->indices), 0);
    }
    cj_ptx(f, "ret;");
}

static void write_results(sort_kernel *k) {
    cj_step(k->f, "results, with the bits that x has");
    cj__sort_results(k);
    cj__sort_write(k, place_in_row);
    cj_ptx(k->f, "ret;");
}

static void load_tile(sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    if (sort_passes(&k->s) == 1) {
        cj__sort_load(k, true);
        return;
    }
    CJ_IF_ELSE_UNI(k->f, cj_eq(k->f, "is_first", k->pass, 0), "again", "loaded") { cj__sort_load(k, true); }
    else {
        const buffer from = find_buffer(k, workspace, w, false);
        load_again(k, &from);
    }
}

static cj_reg statuses_of_pass(const sort_kernel *k, cj_reg workspace, const sort_workspace *w) {
    cj_func *f = k->f;
    cj_reg   tickets = cj__load_param(f, "u32", k->tiles_at, "tiles"), rows = k->s.lists ? cj_none() : cj__load_param(f, "u32", k->rows_at, "rows");
    cj_reg   statuses = part(k, workspace, "statuses", w->statuses);
    if (!k->s.lists) tickets = cj_mul(f, "tickets_of_pass", tickets, rows);
    return cj_mad_wide(f, "statuses", cj_mul(f, "tickets_before", k->pass, tickets), 4 * k->s.bins, statuses);
}

static void sort_digit(sort_kernel *k, cj_reg workspace, cj_reg all_bins, const sort_workspace *w) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    const unsigned    passes = sort_passes(s);
    if (s->lists)
        take_tile_of_segment(k, workspace, w);
    else
        take_tile(k, workspace);
    cj__sort_take_digit(k, cj_mul(f, "shift", k->pass, s->digit));
    k->bins = cj_mad_wide(f, "digit_bins", cj_mad(f, "digit_of_row", k->row, passes, k->pass), 4 * s->bins, all_bins);
    k->statuses = statuses_of_pass(k, workspace, w);
    cj_reg is_last = passes > 1 ? cj_eq(f, "is_last", k->pass, passes - 1) : cj_none();
    load_tile(k, workspace, w);
    cj__sort_rank(k);
    cj__sort_scan(k);
    cj__sort_scatter(k);
    cj__sort_offsets(k);
    cj__sort_gather(k);
    if (passes > 1) {
        CJ_UNLESS_UNI(f, is_last, "last_digit") {
            const buffer to = find_buffer(k, workspace, w, true);
            store_again(k, &to);
        }
    }
    write_results(k);
}

// The turns before those of the digits.
static void begin_rows(sort_kernel *k, cj_reg turn, cj_reg workspace, cj_reg bins, const sort_workspace *w) {
    cj_func *f = k->f;
    CJ_IF_UNI(f, cj_eq(f, "clears", turn, SORT_CLEARS), "cleared") clear(k, workspace, w);
    CJ_IF_UNI(f, cj_eq(f, "counts", turn, SORT_COUNTS), "counted") count_row(k, bins);
    CJ_IF_UNI(f, cj_eq(f, "sums_up", turn, SORT_SUMS), "summed_up") sum_up(k, bins);
}

static void begin_segments(sort_kernel *k, cj_reg turn, cj_reg workspace, cj_reg bins, const sort_workspace *w) {
    cj_func *f = k->f;
    CJ_IF_UNI(f, cj_eq(f, "clears", turn, SORT_CLEARS), "cleared") cj__sort_clear_lists(k, workspace);
    CJ_IF_UNI(f, cj_eq(f, "lists", turn, SORT_CLEARS + 1), "listed_all") cj__sort_list(k, workspace, w);
    CJ_IF_UNI(f, cj_eq(f, "counts", turn, SORT_COUNTS + 1), "counted") count_segments(k, workspace, bins, w);
    CJ_IF_UNI(f, cj_eq(f, "sums_up", turn, SORT_SUMS + 1), "summed_up") sum_up_segments(k, workspace, bins);
}

void cj__sort_grid(sort_kernel *k) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    sort_workspace    w;
    cj__sort_workspace(k->plan, s, &w);
    cj_reg turn = cj__load_param(f, "u32", k->turn_at, "turn"),
           workspace = cj__load_pointer(f, k->workspace_at, "workspace");
    cj_reg bins = part(k, workspace, "bins", w.bins);
    k->own = cj_mad(f, "own", k->warp, SORT_WARP * s->items, k->lane);
    k->own_counts = cj_mad(f, "own_counts", k->warp, sort_warp_bytes(s), k->counts);
    cj_registers(f, "u32", "rank_in_warp", s->paired ? (s->items + 1) / 2 : s->items, k->place);
    (s->lists ? begin_segments : begin_rows)(k, turn, workspace, bins, &w);
    k->pass = cj_sub(f, "pass", turn, SORT_PASSES + s->lists);
    sort_digit(k, workspace, bins, &w);
}
