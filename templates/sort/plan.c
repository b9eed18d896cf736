// SPDX-License-Identifier: Apache-2.0
// How the parameters cut a row into tiles, and the plan.
#include "sort.h"

static const cj_dtype dtypes[] = {CJ_F32, CJ_F64,  CJ_I32, CJ_U32, CJ_I64, CJ_U64,
                                  CJ_F16, CJ_BF16, CJ_I8,  CJ_U8,  CJ_I16, CJ_U16};

enum { BOTH, VALUES, INDICES, NEITHER };  // in the order of the words
enum { MATCH_AUTO, ANY, BALLOTS };
enum { PAIRS_AUTO, PAIRS_YES, PAIRS_NO };
enum { SUMS_BYTES = 4 * SORT_WARP, LINE = 16, CLUSTER_MOST = 16, THREADS_MOST = 1024, RESIDENT_MOST = 32 };

static bool is_float(cj_dtype type) { return type == CJ_F32 || type == CJ_F64 || type == CJ_F16 || type == CJ_BF16; }
static bool is_signed(cj_dtype type) { return type == CJ_I8 || type == CJ_I16 || type == CJ_I32 || type == CJ_I64; }

// ---- the shape

static void lay_out(sort_shape *s) {
    sort_layout *at = &s->at;
    at->sums = sort_warps(s) * sort_warp_bytes(s);
    at->table = at->sums + (s->scanners > SORT_WARP ? (unsigned)SUMS_BYTES : 0);
    at->offsets = at->table + s->cluster * 4 * s->bins;
    at->ranges = at->offsets + (s->cluster || s->form == SORT_BY_GRID ? 4 * s->bins : 0);
    at->rank_ranges = at->ranges + (s->settles ? sort_warps(s) * 2 * s->key_bytes : 0);
    at->retry = at->rank_ranges + (s->settles ? s->cluster * 2 * s->key_bytes : 0);
    const unsigned edge = s->settles && s->cluster ? SORT_REACH * s->key_bytes : 0;
    at->keys = (unsigned)cj__round_up(at->retry + (s->settles ? 4 : 0), LINE) + edge;
    at->indices = (unsigned)cj__round_up(at->keys + s->tile * s->key_bytes + edge, LINE);
    at->bytes = (unsigned)cj__round_up(at->indices + (s->carries && !s->packed ? s->tile * (s->joined ? 4 : s->index_bytes) : 0), LINE);
}

static void shape_of_type(const cj_plan *plan, sort_shape *s) {
    const uint64_t *value = plan->params.value;
    s->dtype = dtypes[value[SORT_DTYPE]];
    s->bytes = (unsigned)cj_dtype_size(s->dtype);
    s->bits = 8 * s->bytes;
    s->floats = is_float(s->dtype);
    s->is_signed = is_signed(s->dtype);
    s->descending = value[SORT_ORDER];
    s->values = value[SORT_RESULT] == BOTH || value[SORT_RESULT] == VALUES;
    s->indices = value[SORT_RESULT] == BOTH || value[SORT_RESULT] == INDICES;
    s->wide_index = !value[SORT_INDEX];
    s->offset_bytes = (unsigned)value[SORT_SEGMENTS] * 4;  // none, i32, i64
    s->payload_bytes = value[SORT_PAYLOAD] ? 1u << (value[SORT_PAYLOAD] - 1) : 0;  // none, b8, b16, b32, b64
    s->carries = s->indices || s->floats || s->payload_bytes;
    s->type = s->bits == 64 ? "u64" : "u32";
    s->ballots = value[SORT_MATCH] != ANY;
    s->spared = cj__is_asked(plan, SORT_BLOCK) && s->bits >= 32 ? (unsigned)SORT_REGISTERS_LESS : 0;
}

enum { WARP_ITEMS = SORT_WARP_COLUMNS / SORT_WARP };  // of a warp that sorts a segment

// Registers that the items of a thread take. By lists a thread also sorts segments with its warp alone.
static unsigned registers_of(const sort_shape *s) {
    const unsigned items = s->lists && s->items < WARP_ITEMS ? (unsigned)WARP_ITEMS : s->items;
    const unsigned places = s->paired ? (items + 1) / 2 : items;
    const unsigned others = SORT_REGISTERS + (s->form == SORT_BY_GRID ? (unsigned)SORT_GRID_REGISTERS : 0) +
                            (s->settles ? (unsigned)SORT_SETTLE_REGISTERS : 0) + (cj__is_power(s->block) ? 0 : (unsigned)SORT_ODD_REGISTERS);
    return items * (s->bits / 32 + (s->bits < 32) + (s->carries && !s->packed)) + places + others;
}

static unsigned digits_of(unsigned bits, unsigned digit) { return (bits + digit - 1) / digit; }

// Digits of the prefix, and their bits. If none is asked for, there is one where it saves passes enough; a cluster then takes longer
// digits where these are fewer, as each pass goes through other SMs.
static void shape_of_digits(const cj_plan *plan, sort_shape *s) {
    const bool     can_settle = s->bits >= 32 && s->form != SORT_BY_GRID && !s->whole, in_cluster = s->form == SORT_BY_CLUSTER;
    const unsigned bits = cj__log2(cj__power_from(plan->params.value[SORT_COLUMNS])) +
                          (in_cluster ? (unsigned)SORT_PREFIX_CLUSTER : (unsigned)SORT_PREFIX_MORE) +
                          (s->dtype == CJ_F64 ? (unsigned)SORT_PREFIX_F64 : 0);
    const unsigned digits = digits_of(bits, SORT_DIGIT_BITS);
    const bool     pays = can_settle && digits + SORT_PREFIX_PAYS <= digits_of(s->bits, SORT_DIGIT_BITS);
    const bool     holds = cj__asked_or(plan, SORT_BLOCK, 1u << SORT_DIGIT_MOST) * SORT_THREAD_BINS >= 1u << SORT_DIGIT_MOST;
    const bool     longer = pays && in_cluster && holds && digits_of(bits, SORT_DIGIT_MOST) < digits;
    s->digit = cj__asked_or(plan, SORT_DIGIT, longer ? SORT_DIGIT_MOST : SORT_DIGIT_BITS);
    s->bins = 1u << s->digit;
    s->prefix = cj__asked_or(plan, SORT_PREFIX, pays ? digits_of(bits, s->digit) : sort_passes(s));
    s->settles = can_settle && s->prefix * s->digit < s->bits;
    if (!s->settles) s->prefix = sort_passes(s);
}

// All of it that follows from form, threads and items.
static void shape_of_tile(const cj_plan *plan, sort_shape *s) {
    const unsigned blocks = s->cluster ? s->cluster : 1;
    shape_of_digits(plan, s);
    s->lists = s->form == SORT_BY_GRID && s->offset_bytes;
    s->group = s->form == SORT_BY_WARP ? SORT_WARP : s->block;
    s->tile = s->group * s->items;
    const bool is_short = s->form != SORT_BY_GRID && (uint64_t)s->tile * blocks <= SORT_SHORT;
    s->packed = s->carries && s->bits <= SORT_INDEX_BITS && is_short;
    s->key_bytes = s->packed ? 4 : s->bytes;
    s->index_bytes = is_short ? 2 : 4;
    s->paired = false;
    const unsigned registers = registers_of(s), most = cj__registers_per_thread(s->block);
    s->paired = registers > most;
    // What peers get is as short as can be; and pairs of registers need room, which costs blocks that share an SM.
    const bool may_join = s->carries && s->key_bytes == 4 && !s->packed && !s->cluster && registers + SORT_JOINED_REGISTERS <= most;
    const bool pays = plan->params.value[SORT_PAIRS] == PAIRS_AUTO ? s->items <= SORT_PAIRS_ITEMS : plan->params.value[SORT_PAIRS] == PAIRS_YES;
    s->joined = may_join && pays && !s->whole;
    s->count_bytes = s->form != SORT_BY_GRID && s->bins >= 2 * SORT_WARP && s->tile < SORT_SHORT ? 2 : 4;
    s->scanners = 1u << cj__log2(cj__least(s->group, sort_warp_bytes(s) / 4));  // a word of counts each, or more
    s->each = s->bins > s->scanners ? s->bins / s->scanners : 1;
    lay_out(s);
}

void cj__sort_shape(const cj_plan *plan, sort_shape *s) {
    const uint64_t *value = plan->params.value;
    *s = (sort_shape){.form = (unsigned)value[SORT_FORM],
                      .cluster = plan->cluster.x,
                      .block = plan->block.x,
                      .items = (unsigned)value[SORT_ITEMS]};
    shape_of_type(plan, s);
    shape_of_tile(plan, s);
}

void cj__sort_warp_shape(const cj_plan *plan, const sort_shape *s, sort_shape *warp) {
    *warp = (sort_shape){.form = SORT_BY_WARP, .block = s->block, .items = WARP_ITEMS, .whole = true, .skips = true};
    shape_of_type(plan, warp);
    shape_of_tile(plan, warp);
}

// ---- the plan

// Of form=grid with segments the same memory is a tile's, and has the tiles of warps.
static uint64_t shared_of(const cj_plan *plan, const sort_shape *s) {
    if (!s->lists) return (uint64_t)(s->block / s->group) * s->at.bytes;
    sort_shape warp;
    cj__sort_warp_shape(plan, s, &warp);
    return cj__most(s->at.bytes, (uint64_t)(s->block / SORT_WARP) * warp.at.bytes);
}

static bool fits(const cj_plan *plan, const sort_shape *s, const cj_limits *limits) {
    return s->items <= SORT_ITEMS_MAX && registers_of(s) <= cj__registers_per_thread(s->block) + (s->lists ? 0 : s->spared) &&
           shared_of(plan, s) <= limits->shared_per_block_optin;
}

// Where threads or items are asked for they are these; else a thread has as many items as its registers are good for.
static void cut(const cj_plan *plan, uint64_t columns, sort_shape *s) {
    const uint64_t items = plan->params.value[SORT_ITEMS];
    const uint64_t threads = cj__power_from(cj__ceil_div(columns, SORT_ITEMS_EACH));
    const uint64_t wanted = cj__least(cj__most(threads, SORT_BLOCK_LEAST), THREADS_MOST);
    s->block = cj__asked_or(plan, SORT_BLOCK, wanted);
    if (cj__is_asked(plan, SORT_ITEMS) && !cj__is_asked(plan, SORT_BLOCK))
        s->block = (unsigned)cj__least(cj__round_up(cj__ceil_div(columns, items), SORT_WARP), THREADS_MOST);
    s->items = cj__asked_or(plan, SORT_ITEMS, cj__ceil_div(columns, s->block));
    if (s->cluster) {  // ranks are told by bits of a place
        s->block = cj__is_asked(plan, SORT_BLOCK) ? s->block : cj__power_from(s->block);
        s->items = cj__is_asked(plan, SORT_ITEMS) ? s->items : cj__power_from(s->items);
    }
    shape_of_tile(plan, s);
}

static bool cut_warp(const cj_plan *plan, const cj_limits *limits, sort_shape *s) {
    s->form = SORT_BY_WARP;
    s->cluster = 0;
    s->block = cj__asked_or(plan, SORT_BLOCK, SORT_WARP_BLOCK);
    s->items = cj__asked_or(plan, SORT_ITEMS, cj__ceil_div(plan->params.value[SORT_COLUMNS], SORT_WARP));
    shape_of_tile(plan, s);
    return s->tile >= plan->params.value[SORT_COLUMNS] && fits(plan, s, limits);
}

// Of a block, or of the blocks of a cluster of so many ranks.
static bool cut_blocks(const cj_plan *plan, const cj_limits *limits, unsigned ranks, sort_shape *s) {
    const uint64_t columns = plan->params.value[SORT_COLUMNS], blocks = ranks ? ranks : 1;
    s->form = ranks ? SORT_BY_CLUSTER : SORT_BY_BLOCK;
    s->cluster = ranks;
    cut(plan, cj__ceil_div(columns, blocks), s);
    return (!ranks || cj__is_power(s->tile)) && s->tile * blocks >= columns && fits(plan, s, limits);
}

// So few that blocks share an SM: but of two ranks, whose items stay in their block by half.
static unsigned few_threads(const sort_shape *s) { return s->cluster == 2 && s->bytes > 2 ? SORT_TWO_BLOCK : SORT_CLUSTER_BLOCK; }

// If none is asked for, the least cluster that holds the row: of blocks with few threads, else of any.
static bool cut_cluster(const cj_plan *plan, const cj_limits *limits, uint64_t asked, sort_shape *s) {
    if (asked != CJ_PARAM_AUTO) return cut_blocks(plan, limits, (unsigned)asked, s);
    for (unsigned any = 0; any < 2; any++)
        for (unsigned ranks = 2; ranks <= CLUSTER_MOST; ranks *= 2)
            if (cut_blocks(plan, limits, ranks, s) && (any || s->block <= few_threads(s))) return true;
    return false;
}

// Elements of all segments, at most; of a matrix.
static uint64_t elements_of(const cj_plan *plan) {
    const uint64_t *value = plan->params.value, most = value[SORT_ROWS] * value[SORT_COLUMNS];
    return value[SORT_ELEMENTS] ? cj__least(value[SORT_ELEMENTS], most) : most;
}

// Rows that tiles hold: those of a matrix, or the most segments of more elements than a tile.
static uint64_t long_rows(const cj_plan *plan, uint64_t tile) {
    const uint64_t rows = plan->params.value[SORT_ROWS];
    if (!plan->params.value[SORT_SEGMENTS]) return rows;
    return plan->params.value[SORT_COLUMNS] > tile ? cj__least(rows, elements_of(plan) / (tile + 1)) : 0;
}

// Their tiles, of which only the last one of each has places to spare.
static uint64_t tiles_of(const cj_plan *plan, uint64_t tile) {
    const uint64_t rows = long_rows(plan, tile), most = rows * cj__ceil_div(plan->params.value[SORT_COLUMNS], tile);
    return plan->params.value[SORT_SEGMENTS] ? cj__least(most, (elements_of(plan) + rows * (tile - 1)) / tile) : most;
}

// Threads of a tile of the grid: twice as many where only then each tile has an SM to itself, as they all run at once.
static uint64_t threads_of_grid(const cj_plan *plan, const cj_limits *limits, uint64_t items) {
    const uint64_t tile = SORT_GRID_BLOCK * items;
    const bool     is_better = tiles_of(plan, tile) > limits->sm_count && tiles_of(plan, 2 * tile) <= limits->sm_count;
    return is_better ? 2 * SORT_GRID_BLOCK : SORT_GRID_BLOCK;
}

// A tile of the grid: a thread for each bin, and a warp for each pass.
static bool cut_grid(const cj_plan *plan, const cj_limits *limits, sort_shape *s) {
    s->form = SORT_BY_GRID;
    s->cluster = 0;
    shape_of_digits(plan, s);
    const uint64_t threads = cj__most(s->bins, cj__power_from(SORT_WARP * sort_passes(s)));
    s->items = cj__asked_or(plan, SORT_ITEMS, s->bits == 64 ? SORT_GRID_ITEMS / 2 : SORT_GRID_ITEMS);
    s->block = cj__asked_or(plan, SORT_BLOCK, cj__most(threads_of_grid(plan, limits, s->items), threads));
    shape_of_tile(plan, s);
    while (!cj__is_asked(plan, SORT_ITEMS) && s->items > 1 && !fits(plan, s, limits)) {
        s->items--;
        shape_of_tile(plan, s);
    }
    return s->each == 1 && s->block / SORT_WARP >= sort_passes(s) && fits(plan, s, limits);
}

// Where bins, statuses and lists lie in the workspace.
static void lay_out_rows(const cj_plan *plan, const sort_shape *s, sort_workspace *w) {
    const uint64_t rows = plan->params.value[SORT_ROWS], passes = sort_passes(s), bins = 4 * (uint64_t)s->bins;
    w->tiles = cj__ceil_div(plan->params.value[SORT_COLUMNS], s->tile);
    w->counters = cj__most(1, cj__least(w->tiles, SORT_COUNTERS / cj__least(rows, SORT_COUNTERS)));
    w->statuses = w->bins + cj__round_up(rows * passes * bins, SORT_PART);
    w->bytes = w->statuses + rows * w->tiles * passes * bins;
}

static void lay_out_segments(const cj_plan *plan, const sort_shape *s, sort_workspace *w) {
    const uint64_t rows = plan->params.value[SORT_ROWS], passes = sort_passes(s), bins = 4 * (uint64_t)s->bins;
    w->longs = long_rows(plan, s->tile);
    w->mediums = plan->params.value[SORT_COLUMNS] > SORT_WARP_COLUMNS ? cj__least(rows, w->elements / (SORT_WARP_COLUMNS + 1)) : 0;
    w->tiles = tiles_of(plan, s->tile);
    w->counters = cj__most(1, cj__least(w->tiles, SORT_COUNTERS));
    w->statuses = w->bins + cj__round_up(w->longs * passes * bins, SORT_PART);
    w->records = w->statuses + w->tiles * passes * bins;
    w->list = w->records + cj__round_up(w->tiles * SORT_RECORD_BYTES, SORT_PART);
    w->bytes = w->list + cj__round_up(4 * w->mediums, SORT_PART);
}

void cj__sort_workspace(const cj_plan *plan, const sort_shape *s, sort_workspace *w) {
    *w = (sort_workspace){.elements = elements_of(plan), .bins = SORT_PART};
    (s->lists ? lay_out_segments : lay_out_rows)(plan, s, w);
    const uint64_t items = w->tiles ? w->elements : 0;
    w->keys[0] = w->bytes;
    const bool single = sort_passes(s) < 3;  // array of items: between two passes
    for (int i = 0; i < (s->values || single ? 1 : 2); i++) {
        w->keys[i] = w->bytes;
        w->bytes += cj__round_up(items * s->bytes, SORT_PART);
    }
    for (int i = 0; i < (s->indices || single ? 1 : 2) && s->carries; i++) {
        w->indices[i] = w->bytes;
        w->bytes += cj__round_up(items * 4, SORT_PART);
    }
}

// Whether segments are so much shorter than the longest that the grid, whose time is that of the elements, is faster than forms whose time is
// that of rows of `columns` elements.
static bool do_lists_pay(const cj_plan *plan) {
    const uint64_t *value = plan->params.value, rows = value[SORT_ROWS], columns = value[SORT_COLUMNS];
    if (!value[SORT_ELEMENTS] || columns <= SORT_WARP_COLUMNS || cj__is_asked(plan, SORT_PREFIX)) return false;
    return columns > SORT_CLUSTER_COLUMNS || (rows * columns >= SORT_LISTS_LEAST && elements_of(plan) * SORT_LISTS_PAY <= rows * columns);
}

// Whether the grid is faster than a cluster that holds the row.
static bool does_grid_pay(const cj_plan *plan, const sort_shape *s) {
    const uint64_t rows = plan->params.value[SORT_ROWS], columns = plan->params.value[SORT_COLUMNS];
    if (s->offset_bytes) return do_lists_pay(plan);
    return columns > SORT_CLUSTER_COLUMNS || rows * s->cluster * s->block <= SORT_GRID_PAYS;
}

// False, and *s as before, where the grid does not have the block and the items that are asked for.
static bool cut_lists(const cj_plan *plan, const cj_limits *limits, sort_shape *s) {
    sort_shape grid = *s;
    if (!cut_grid(plan, limits, &grid)) return false;
    *s = grid;
    return true;
}

// The first of the forms that holds the row: those that are asked for, by name or by a cluster.
static bool choose(const cj_plan *plan, const cj_limits *limits, uint64_t cluster, sort_shape *s) {
    const uint64_t *value = plan->params.value, form = value[SORT_FORM];
    const bool      open = form == SORT_BY_PLAN && (cluster == CJ_PARAM_AUTO || !cluster);
    bool            holds = false;
    if (form == SORT_BY_WARP || (open && value[SORT_COLUMNS] <= SORT_WARP_COLUMNS)) holds = cut_warp(plan, limits, s);
    if (form == SORT_BY_BLOCK || (open && !holds)) holds = cut_blocks(plan, limits, 0, s);
    if (holds && open && do_lists_pay(plan) && cut_lists(plan, limits, s)) return true;
    if (holds || form == SORT_BY_WARP || form == SORT_BY_BLOCK) return holds;
    if (form != SORT_BY_GRID && cluster && cut_cluster(plan, limits, cluster, s) && !(open && does_grid_pay(plan, s))) return true;
    return (form == SORT_BY_GRID || open) && cut_grid(plan, limits, s);
}

static cj_status refuse(const cj_plan *plan, const sort_shape *s, const cj_limits *limits, cj_error *error) {
    const uint64_t *value = plan->params.value;
    REFUSE_IF(s->form == SORT_BY_CLUSTER && !cj__is_power(s->tile),
              "block, items: %u threads of %u elements are %u, but in form=cluster this is a power of two" CJ_HINT
              "choose powers of two, or leave block and items at their defaults",
              s->block, s->items, s->tile);
    return cj__fail(error, CJ_CONTRACT,
                    "columns: %" PRIu64
                    " do not fit %u block%s of %u threads with %u elements each, %u registers a thread and %" PRIu64
                    " bytes of shared memory, of which %s has %u and %u" CJ_HINT
                    "leave form, cluster, block and items at their defaults, or take shorter rows",
                    value[SORT_COLUMNS], s->cluster ? s->cluster : 1, s->cluster > 1 ? "s" : "", s->block, s->items,
                    registers_of(s), shared_of(plan, s), limits->name,
                    cj__registers_per_thread(s->block), limits->shared_per_block_optin);
}

// Blocks that share an SM by the registers that items take, and room to move them.
static unsigned resident(const sort_shape *s) {
    const bool     is_tight = s->settles || s->form == SORT_BY_GRID, is_apart = s->key_bytes == 4 && s->carries && !s->packed && !s->joined;
    const unsigned room = is_tight ? s->items * (unsigned)SORT_SETTLE_ROOM : is_apart ? (unsigned)SORT_APART_ROOM : s->items * (unsigned)SORT_ROOM;
    unsigned       blocks = RESIDENT_MOST;
    while (blocks > 1 && cj__registers_per_thread((uint64_t)blocks * s->block) < registers_of(s) + room) blocks--;
    return blocks;
}

static cj_status check_resident(const cj_plan *plan, const sort_shape *s, cj_error *error) {
    const unsigned blocks = cj__asked_or(plan, SORT_RESIDENT, 1), left = cj__registers_per_thread((uint64_t)blocks * s->block);
    REFUSE_IF(left + SORT_REGISTERS_LESS < registers_of(s),
              "resident: %u blocks of %u threads leave a thread %u registers, and it needs some %u" CJ_HINT
              "leave resident at its default, or ask for fewer",
              blocks, s->block, left, registers_of(s));
    return CJ_OK;
}

static void keep(cj_plan *plan, const sort_shape *s) {
    plan->params.value[SORT_FORM] = s->form;
    plan->params.value[SORT_BLOCK] = s->block;
    plan->params.value[SORT_ITEMS] = s->items;
    plan->params.value[SORT_CLUSTER] = s->cluster;
    plan->params.value[SORT_DIGIT] = s->digit;
    plan->params.value[SORT_PREFIX] = s->prefix;
    plan->params.value[SORT_RESIDENT] = cj__asked_or(plan, SORT_RESIDENT, resident(s));
    plan->params.value[SORT_PAIRS] = s->joined ? PAIRS_YES : PAIRS_NO;
    plan->params.value[SORT_MATCH] = s->ballots ? BALLOTS : ANY;
    plan->block = (cj_dim3){s->block, 1, 1};
    plan->cluster = s->cluster ? (cj_dim3){s->cluster, 1, 1} : (cj_dim3){0};
    plan->dynamic_shared = (uint32_t)shared_of(plan, s);
    if (s->form == SORT_BY_GRID) plan->launches = SORT_PASSES + sort_passes(s) + s->lists;
}

static cj_status check_payload(const cj_plan *plan, cj_error *error) {
    const uint64_t *value = plan->params.value;
    REFUSE_IF(value[SORT_RESULT] == NEITHER && !value[SORT_PAYLOAD],
              "result: neither, and there is no payload, so nothing would be written" CJ_HINT "ask for values or indices, or for a payload: b8, b16, b32 or b64");
    REFUSE_IF(value[SORT_PAYLOAD_STRIDE] && value[SORT_SEGMENTS],
              "payload-stride: %" PRIu64 ", but segments lie one after the other" CJ_HINT "leave payload-stride at 0", value[SORT_PAYLOAD_STRIDE]);
    return cj__check_stride(plan, SORT_PAYLOAD_STRIDE, value[SORT_COLUMNS], error);
}

// Of segments: a tile each, and so many as fill the GPU where warps and blocks take segments in turns.
static uint64_t blocks_of(const cj_plan *plan, const sort_shape *s, const sort_workspace *w) {
    const uint64_t rows = plan->params.value[SORT_ROWS];
    if (s->lists) return cj__most(w->tiles, cj__least(rows, SORT_COUNTERS));
    if (s->form == SORT_BY_GRID) return rows * cj__most(w->tiles, sort_passes(s));
    return s->form == SORT_BY_WARP ? cj__ceil_div(rows, s->block / SORT_WARP) : rows * (s->cluster ? s->cluster : 1);
}

static cj_status check_blocks(const cj_plan *plan, const sort_shape *s, uint64_t blocks, cj_error *error) {
    const uint64_t rows = plan->params.value[SORT_ROWS];
    FAIL_IF(s->lists && blocks > INT32_MAX / SORT_WARP, CJ_CONTRACT,  // warps count rows in 32 bits
            "elements: %" PRIu64 " of %" PRIu64 " segments take %" PRIu64 " blocks, more than %d" CJ_HINT
            "say with elements how many all segments have together, or use several launches",
            elements_of(plan), rows, blocks, (int)(INT32_MAX / SORT_WARP));
    FAIL_IF(blocks > INT32_MAX, CJ_CONTRACT,
            "rows: %" PRIu64 " take %" PRIu64 " blocks, more than the 2^31 - 1 of a grid" CJ_HINT "use several launches", rows, blocks);
    return CJ_OK;
}

cj_status cj__sort_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error) {
    const uint64_t *value = plan->params.value;
    sort_shape      s = {0};
    TRY(cj__check_stride(plan, SORT_STRIDE, value[SORT_COLUMNS], error));
    TRY(check_payload(plan, error));
    REFUSE_IF(value[SORT_SEGMENTS] && value[SORT_STRIDE],
              "stride: %" PRIu64 ", but segments lie one after the other" CJ_HINT "leave stride at 0", value[SORT_STRIDE]);
    const uint64_t cluster = cj__cluster_asked(plan, SORT_CLUSTER, clusters);
    shape_of_type(plan, &s);
    REFUSE_IF(
        value[SORT_FORM] == SORT_BY_CLUSTER && !cluster,
        "form: cluster, but the kernel is generated without clusters (cluster=0, or a target before sm_90)" CJ_HINT
        "choose another form, or cluster from 1 to 16");
    if (!choose(plan, limits, cluster, &s)) return refuse(plan, &s, limits, error);
    REFUSE_IF(s.form != SORT_BY_WARP && s.bins > s.group * SORT_THREAD_BINS,
              "digit: %u bits are %u bins, of which each of %u threads would add up %u, more than %d" CJ_HINT
              "leave digit at its default, or take larger blocks",
              s.digit, s.bins, s.group, s.bins / s.group, SORT_THREAD_BINS);
    TRY(check_resident(plan, &s, error));
    sort_workspace w;
    cj__sort_workspace(plan, &s, &w);
    const uint64_t blocks = blocks_of(plan, &s, &w);
    TRY(check_blocks(plan, &s, blocks, error));
    keep(plan, &s);
    plan->grid = (cj_dim3){(uint32_t)blocks, 1, 1};
    CJ_DERIVE(plan, value[SORT_ROWS], value[SORT_COLUMNS], cj__stride(plan, SORT_STRIDE, value[SORT_COLUMNS]));
    if (s.payload_bytes) CJ_DERIVE(plan, cj__stride(plan, SORT_PAYLOAD_STRIDE, value[SORT_COLUMNS]));
    plan->programmatic = value[SORT_DEPENDENT] && clusters;  // the same targets have programmatic dependent launch
    if (s.form == SORT_BY_GRID) {
        CJ_DERIVE(plan, w.tiles, w.counters);
        if (s.lists) CJ_DERIVE(plan, w.elements);
        plan->workspace_bytes = w.bytes;
    }
    cj__name_entry(plan, "sort_%s_%s", CJ_PARAM_WORD(plan, "order"), CJ_PARAM_WORD(plan, "dtype"));
    return CJ_OK;
}
