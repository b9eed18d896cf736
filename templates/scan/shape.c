// SPDX-License-Identifier: Apache-2.0
// How rows are cut into tiles, and tiles into loads; how much shared memory they need.
#include "scan.h"

// Four mbarriers, the stage's tile, the prefix of each warp and of the tile.
uint64_t cj__scan_slots(const scan_shape *s) {
    enum { MBARRIERS = 32, ALIGNMENT = 128 };
    return s->stages * (MBARRIERS + SCAN_TAKEN + s->warps * cj__scan_slot(s) + s->computed) + ALIGNMENT;
}

// Where rows begin: multiples of these numbers, which are or'ed.
static uint64_t starts_of(const cj_plan *plan) {
    if (plan->params.value[SCAN_ROWS] == 1) return 0;
    return cj__scan_stride(plan, SCAN_STRIDE) | cj__scan_stride(plan, SCAN_OUT_STRIDE);
}

// Many rows that a block each holds.
static bool are_rows_many(const scan_shape *s) { return s->rows >= SCAN_MANY_ROWS && s->columns * s->bytes <= SCAN_MANY_BYTES; }

// Rows of several tiles that begin beside each other's loads, of elements of 2 or 8 bytes.
static bool are_rows_apart(const scan_shape *s) {
    return s->rows > 1 && s->bytes != 4 && s->access * s->bytes < SCAN_LOAD && s->columns * s->computed > SCAN_APART_BYTES;
}

// Whether two accesses are a load, so that prefixes are of half as many loads: where one array is aligned to less than 16 bytes, of many
// rows, and of rows apart.
static bool do_accesses_pair(const scan_shape *s) {
    if (s->rows == 1) return true;
    if (are_rows_apart(s)) return s->bytes == 8 || s->access * s->bytes == SCAN_PAIR_ACCESS;
    return are_rows_many(s) && s->columns > 2 * s->access;
}

// Elements of a load that may be several accesses. Four are one, if half a warp then has one of many rows instead of a warp.
static unsigned width_in_accesses(const cj_plan *plan, const scan_shape *s) {
    const unsigned most = SCAN_LOAD / s->bytes, pair = do_accesses_pair(s) ? 2 : 1;
    const uint64_t loads = cj__ceil_div(s->columns, 2 * s->access);
    unsigned       width = pair * s->access;
    if (pair > 1 && s->rows > 1 && loads > SCAN_WARP / 2 && loads <= SCAN_WARP) width = 4 * s->access;
    return (unsigned)cj__least(cj__power_from(cj__asked_or(plan, SCAN_WIDTH, width)), most);
}

// Of direct tiles: a row may end within a load, if each begins at a multiple of an access. In reverse, where it would begin there,
// and with segments no load crosses the end of a row.
static void let_row_end(const cj_plan *plan, scan_shape *s) {
    const uint64_t *value = plan->params.value;
    const uint64_t  least = cj__is_asked(plan, SCAN_WIDTH) || are_rows_many(s) ? 1 : SCAN_REMAINDER_LEAST;
    if (value[SCAN_REVERSE] || cj__scan_segmented(s) || s->columns < least) return;
    s->access = cj__load_width(value[SCAN_ALIGN], s->bytes, starts_of(plan));
    s->access = (unsigned)cj__least(s->access, cj__power_from(cj__asked_or(plan, SCAN_WIDTH, s->access)));
    s->width = width_in_accesses(plan, s);
    s->remainder = (unsigned)(s->columns % s->width);
}

// Loads of a row, the last of which may be a part of one.
static uint64_t loads_of_row(const scan_shape *s) { return cj__ceil_div(s->columns, s->width); }

// Loads of a thread: it holds its elements, their flags, and a prefix for each load at once.
static unsigned loads_of(const cj_plan *plan, const scan_shape *s, unsigned bytes) {
    unsigned       loads = SCAN_LOADS_MAX;
    const unsigned flags = cj__scan_segmented(s) ? (s->width > 4 ? 8 : 4) : 0;
    while (loads > 1 && loads * ((s->width + 1) * s->computed + flags) > bytes) loads /= 2;
    return cj__asked_or(plan, SCAN_LOADS, loads);
}

uint64_t cj__scan_groups(const scan_shape *s) {
    return cj__scan_looks_back(s) && s->tiles > CJ_LOOKBACK_GROUP ? cj__ceil_div(s->tiles, CJ_LOOKBACK_GROUP) : 0;
}

// One array may end anywhere: its elements after the last whole load are a tile of their own. In reverse they would be the first
// tile, which is not written. An array that is aligned to less than a load has a head, too, which the kernel finds: its elements belong
// to the first tile, and the last tile may have none. A stream's block: summing and scanning warps, the producer's warp, the publishing one, and unless it
// takes whole rows the one that looks back.
static void shape_stream(const cj_plan *plan, scan_shape *s) {
    const uint64_t *value = plan->params.value;
    const unsigned access = cj__load_width(value[SCAN_ALIGN], s->bytes, 0);
    const bool     one = s->rows == 1 && !value[SCAN_REVERSE];
    if (one && (!value[SCAN_ALIGN] || (!cj__scan_segmented(s) && access * s->bytes >= 4))) {
        s->width = SCAN_LOAD / s->bytes;
        s->access = access;
        s->head = access < s->width ? s->width - 1 : 0;
    }
    s->threads = cj__asked_or(plan, SCAN_BLOCK, SCAN_STREAM_BLOCK);
    s->loads = loads_of(plan, s, SCAN_STREAM_BYTES);
    if (!cj__is_asked(plan, SCAN_LOADS) && s->bytes == 4 && !cj__scan_segmented(s) &&
        value[SCAN_COUNTER] != SCAN_COUNTER_ROW && s->loads > SCAN_STREAM_LOADS)
        s->loads = SCAN_STREAM_LOADS;
    const uint64_t row = s->columns / s->width;  // loads of a row, whose tiles should be of one length
    if (!cj__is_asked(plan, SCAN_LOADS) && row)
        s->loads = (unsigned)cj__ceil_div(row, cj__ceil_div(row, (uint64_t)s->threads * s->loads) * s->threads);
    s->lanes = SCAN_WARP;
    s->warps = s->threads / SCAN_WARP;
    s->tile = (uint64_t)s->threads * s->loads * s->width;
    s->tail = s->head ? s->head : (unsigned)(s->columns % s->width);
    s->tiles = cj__ceil_div(s->columns - (s->head ? 0 : s->tail), s->tile);
    s->stages = (unsigned)value[SCAN_STAGES];
    s->whole_rows = value[SCAN_COUNTER] == SCAN_COUNTER_ROW;
    s->block = SCAN_WARP * (2 * s->warps + (s->whole_rows ? 2 : 3));
}

// A row that one block could hold, in a cluster that is asked for: each block has an equal share, of at least a warp.
static void share_short_row(const cj_plan *plan, scan_shape *s) {
    const uint64_t row = loads_of_row(s), share = cj__ceil_div(row, plan->params.value[SCAN_CLUSTER]);
    const unsigned held = loads_of(plan, s, SCAN_TILED_BYTES), threads = cj__power_from(cj__ceil_div(share, held));
    s->block = s->threads = cj__asked_or(plan, SCAN_BLOCK, cj__most(threads, SCAN_WARP));
    s->loads = cj__asked_or(plan, SCAN_LOADS, cj__ceil_div(share, s->threads));
    s->tiles = cj__ceil_div(row, (uint64_t)s->threads * s->loads);
}

// One array of which the largest tiles are fewer than there are SMs: two loads a thread, then fewer threads, then one load.
static void make_tiles_smaller(const cj_plan *plan, scan_shape *s, uint64_t row) {
    const bool loads = !cj__is_asked(plan, SCAN_LOADS), block = !cj__is_asked(plan, SCAN_BLOCK);
    while (2 * row <= (uint64_t)SCAN_FEW_TILES * s->threads * s->loads) {
        if (loads && s->loads > 2)
            s->loads /= 2;
        else if (block && s->threads > SCAN_FEW_BLOCK)
            s->block = s->threads /= 2;
        else if (loads && s->loads > 1)
            s->loads = 1;
        else
            return;
    }
}

// Threads of a row that one tile has, with so many loads each: one warp or less if that is enough.
static unsigned threads_of(const cj_plan *plan, uint64_t row, uint64_t loads) {
    const uint64_t threads = cj__power_from(row < SCAN_WARP ? row : cj__most(cj__ceil_div(row, loads), SCAN_WARP));
    return (unsigned)cj__least(threads, cj__asked_or(plan, SCAN_BLOCK, SCAN_BLOCK_MAX));
}

// A row that one tile has, of `alone` loads a thread at most. Rows that leave SMs without a block have fewer, in more warps.
static void take_in_one_tile(const cj_plan *plan, scan_shape *s, uint64_t row, unsigned alone) {
    s->threads = threads_of(plan, row, alone);
    const unsigned in_block = (unsigned)cj__most(SCAN_LEAST_BLOCK / s->threads, 1);
    const bool     ends = row <= 2 * SCAN_FEW_BLOCK && s->remainder;
    const unsigned threads = threads_of(plan, row, cj__least(alone, ends ? SCAN_ENDING_LOADS : SCAN_FEW_LOADS));
    const bool     few = s->rows <= SCAN_FEW_TILES * in_block || s->rows * threads <= SCAN_FEW_THREADS;
    if (!cj__is_asked(plan, SCAN_LOADS) && few) s->threads = threads;
    s->loads = (unsigned)cj__ceil_div(row, s->threads);
    s->block = cj__asked_or(plan, SCAN_BLOCK, cj__most(s->threads, SCAN_LEAST_BLOCK));
    s->tiles = 1;
}

// The shape that the parameters ask for; block, loads and cluster may be "auto".
void cj__scan_shape(const cj_plan *plan, scan_shape *s) {
    const uint64_t *value = plan->params.value;
    const cj_dtype  dtype = (cj_dtype)value[SCAN_DTYPE];
    *s = (scan_shape){.type = cj__dtype_ptx(dtype),
                      .bytes = (unsigned)cj_dtype_size(dtype),
                      .rows = value[SCAN_ROWS],
                      .computed = (unsigned)cj_dtype_size(cj_dtype_arithmetic(dtype)),
                      .columns = value[SCAN_COLUMNS],
                      .heads = (scan_heads)value[SCAN_HEADS],
                      .segments = value[SCAN_SEGMENTS]};
    s->width = s->access = cj__load_width(value[SCAN_ALIGN], s->bytes, s->columns | starts_of(plan));
    s->form = (scan_form)value[SCAN_FORM];
    if (s->form == SCAN_STREAM) {
        shape_stream(plan, s);
        return;
    }
    let_row_end(plan, s);
    const uint64_t row = loads_of_row(s);
    const unsigned alone = loads_of(plan, s, SCAN_ALONE_BYTES);
    const unsigned cluster = cj__asked_or(plan, SCAN_CLUSTER, 0);
    const bool     few = s->rows <= SCAN_FEW_ROWS && !cluster;
    const bool     part = few && s->columns * s->bytes > SCAN_STREAM_ROW && !cj__is_asked(plan, SCAN_LOADS);
    const uint64_t loads = part ? cj__least(alone, SCAN_ENDING_LOADS) : alone;  // that a thread of one block may have
    const bool     one_block = row <= loads * cj__asked_or(plan, SCAN_BLOCK, SCAN_BLOCK_MAX);
    if (cluster && one_block) {
        share_short_row(plan, s);
    } else if (one_block) {
        take_in_one_tile(plan, s, row, alone);
    } else {
        const bool     apart = are_rows_apart(s), wide = apart && s->bytes == 8 && !few && !cj__scan_segmented(s);
        const unsigned block = !apart ? SCAN_TILED_BLOCK : wide ? SCAN_APART_BLOCK / 2 : SCAN_APART_BLOCK;
        s->block = s->threads = cj__asked_or(plan, SCAN_BLOCK, block);
        s->loads = loads_of(plan, s, apart && s->bytes == 2 ? SCAN_ALONE_BYTES : SCAN_TILED_BYTES);
        if (wide) s->loads = cj__asked_or(plan, SCAN_LOADS, SCAN_APART_LOADS);
        if (few) make_tiles_smaller(plan, s, s->rows * row);
        s->tiles = cj__ceil_div(row, (uint64_t)s->threads * s->loads);
    }
    s->tile = (uint64_t)s->threads * s->loads * s->width;
    s->lanes = (unsigned)cj__least(s->threads, SCAN_WARP);
    s->warps = s->threads / s->lanes;
    if (s->tiles > 1) s->cluster = cluster;
}
