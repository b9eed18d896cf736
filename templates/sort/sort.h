// SPDX-License-Identifier: Apache-2.0
// The parts of sort. Each file calls only those before it: plan.c; key.c; result.c; rank.c; move.c; range.c; settle.c; row.c; segment.c; grid.c;
// sort.c, which has the algorithm.
#ifndef CJ_TEMPLATES_SORT_H
#define CJ_TEMPLATES_SORT_H

#include "kit.h"

// Parameters.
enum {
#define PARAM(id, ...) SORT_##id,
#include "params.def"
};

// What is to be fitted to a GPU.
#include "constants.def"

enum { SORT_BY_PLAN, SORT_BY_WARP, SORT_BY_BLOCK, SORT_BY_CLUSTER, SORT_BY_GRID };  // the words of form
enum { SORT_PART = 256 };  // bytes: arrays of the workspace begin at multiples; the first part has tickets, and numbers of the lists
enum { SORT_RECORD_BYTES = 32 };  // of a tile of a segment, in the workspace
enum { SORT_REACH = 8 };  // how far neighbours settle
enum { SORT_WARP = 32, SORT_ITEMS_MAX = 32, SORT_SHORT = 65536, SORT_INDEX_BITS = 16 };

// Where things lie in the shared memory of a group: bytes from its first.
typedef struct sort_layout {
    unsigned sums, table, offsets, ranges, rank_ranges, retry, keys, indices, bytes;  // the warps' counts are first
} sort_layout;

// A group of threads (a warp or a block) holds a tile of items: keys, with indices where these are carried.
typedef struct sort_shape {
    cj_dtype    dtype;
    unsigned    bytes, bits;  // of an element
    bool        floats, is_signed, descending, wide_index;
    bool        values, indices;  // what is written
    unsigned    offset_bytes;     // of segments; 0: rows are those of a matrix
    unsigned    payload_bytes;    // of an element; 0: there is none
    bool        carries, packed;  // indices; in the lower half of the key's register
    unsigned    form, cluster, block, group, items, tile;
    unsigned    digit, bins;
    unsigned    prefix;   // digits that passes sort by at first
    bool        settles;  // these are not all
    bool        whole;    // passes sort by the whole key, whatever the prefix
    bool        lists;    // form=grid of segments
    bool        skips;    // loads after the end of the row are neither ranked nor moved: their items have the greatest key, and stay where they are
    bool        ballots;
    unsigned    spared;   // registers that a thread may have less than are counted
    bool        paired;  // two places a register
    const char *type;                     // of a key's register
    unsigned    key_bytes, index_bytes;  // in shared memory
    bool        joined;                  // there a key of 4 bytes and its index are a pair, which is one access
    unsigned    count_bytes;            // of a warp's count of a digit: 2 where a tile has fewer items than 2^16
    unsigned    scanners, each;         // threads that sum the bins up, and bins of each
    sort_layout at;
} sort_shape;

// form=grid: tiles of a row; blocks that count a row; launches before those of the digits; where things lie in the workspace:
// bytes from its first. Each pass has a ticket counter, and a status of each bin of each tile.
enum { SORT_CLEARS, SORT_COUNTS, SORT_SUMS, SORT_PASSES };

// Of segments: the most elements, long segments (of more than a tile), their tiles, and segments of more than a warp holds and at most a tile.
// These are `tiles`, too.
typedef struct sort_workspace {
    uint64_t tiles, counters, bins, statuses, keys[2], indices[2], bytes;
    uint64_t elements, longs, mediums, records, list;
} sort_workspace;

typedef struct sort_kernel {
    const cj_plan *plan;
    cj_func       *f;
    sort_shape     s;
    cj_var         x, values_to, indices_to, offsets_at, columns_at, stride_at, rows_at;
    cj_var         payload_at, payload_to, payload_stride_at;
    cj_var         tiles_at, counters_at, elements_at, turn_at, workspace_at;  // of form=grid
    cj_reg         thread, lane, warp, below, above;  // thread and warp: of the group; masks of the lanes before and after
    cj_reg         all;                               // the mask of all lanes, which is -1
    cj_reg         row, rank;
    cj_reg         base, columns;                     // of the row: its address, its elements as u32
    cj_reg         counts, own_counts;                // addresses: of the group's shared memory, of the warp's counts
    cj_reg         own, first;                        // place of the thread's first item: in the tile, in the row
    cj_reg         shift, byte;                       // of the digit: its first bit; where it is a byte of the key, the selector of prmt
    cj_reg         ticket, tile, pass;                // of form=grid; the ticket is the number of the tile among all rows'
    cj_reg         bins, statuses;                    // addresses of the pass: what the row has before each digit; of all tiles
    cj_reg         bin_total, bin_start;              // of the thread's digit in the tile
    cj_reg         key[SORT_ITEMS_MAX], index[SORT_ITEMS_MAX], place[SORT_ITEMS_MAX];
    cj_reg values, indices, sorted_payload;           // addresses: of the row's results
    cj_reg payload_row;                               // address: of the row's payload
    cj_reg settled_first;                             // settles: what is to be added to a place that was kept
    cj_reg first_element;  // of a segment, in x and in the results
    cj_reg first_item;     // of a segment's tile: where the segment begins among all items of the workspace
    cj_reg least, most, lead, start;                  // settles: of the row's keys; of most - least: bits before the highest; the first digit's bit
} sort_kernel;

static inline const char *sort_type(unsigned bytes) {
    static const char *const types[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
    return types[bytes];
}
static inline unsigned sort_warp_bytes(const sort_shape *s) { return s->count_bytes * s->bins; }  // of a warp's counts
static inline unsigned sort_warps(const sort_shape *s) { return s->group / SORT_WARP; }
static inline unsigned sort_passes(const sort_shape *s) { return (s->bits + s->digit - 1) / s->digit; }
static inline unsigned sort_low(const sort_shape *s) { return s->packed ? SORT_INDEX_BITS : 0; }  // the first digit's bit

// ---- plan.c

void      cj__sort_shape(const cj_plan *plan, sort_shape *s);
void      cj__sort_warp_shape(const cj_plan *plan, const sort_shape *s, sort_shape *warp);  // of a warp, beside tiles of the grid
void      cj__sort_workspace(const cj_plan *plan, const sort_shape *s, sort_workspace *w);
cj_status cj__sort_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// ---- key.c: elements as unsigned numbers in the order of the results

void   cj__sort_find_row(sort_kernel *k, bool reads);                        // columns; base, if x is read
void   cj__sort_load(sort_kernel *k, bool indices);                          // the thread's items, of x; their indices, if asked
cj_reg cj__sort_greatest(const sort_kernel *k);                              // the key of places after the row
cj_reg cj__sort_constant(const sort_kernel *k, const char *name, uint64_t value);  // in a register as wide as a key's

// The bits of the element with that key.
cj_reg cj__sort_bits(const sort_kernel *k, cj_reg key, cj_reg inside, cj_reg index);

// ---- result.c: the only place where results leave

void cj__sort_results(sort_kernel *k);  // addresses of the row's results and of its payload

// The place of an item among the row's results; *inside: it is one of the row.
typedef cj_reg sort_place(const sort_kernel *k, unsigned item, cj_reg *inside);

void cj__sort_write(sort_kernel *k, sort_place *place_of);  // the thread's items

// ---- rank.c: the place of each item among those of its digit in the warp; then what comes before in the row

void cj__sort_sync(const sort_kernel *k, const char *why);  // of the group
void cj__sort_rank(const sort_kernel *k);
void cj__sort_each_load(const sort_kernel *k, void (*body)(const sort_kernel *k, unsigned item));  // of those that are ranked
void cj__sort_scan(sort_kernel *k);

void cj__sort_offsets(const sort_kernel *k);  // in a cluster and in a grid: of each digit
void cj__sort_sum_row(sort_kernel *k);        // form=grid: numbers of items of each digit become what comes before
void   cj__sort_take_digit(sort_kernel *k, cj_reg shift);  // the one that the pass sorts by
cj_reg cj__sort_digit(const sort_kernel *k, unsigned item);

cj_reg cj__sort_offset(const sort_kernel *k, unsigned item);  // from a place in the tile to the place in the row
cj_reg cj__sort_place(const sort_kernel *k, unsigned item);  // among the warp's items of the digit
void   cj__sort_keep_place(const sort_kernel *k, unsigned item, cj_reg place);  // below 2^16 where two places share a register

// ---- move.c: items to their places in shared memory, and back to registers

void cj__sort_scatter(const sort_kernel *k);
void cj__sort_exchange(const sort_kernel *k);  // in a cluster
void cj__sort_gather(const sort_kernel *k);

// ---- range.c: keys without what they have in common

void cj__sort_fit(sort_kernel *k);         // of least and most that the thread's items have: the row's; keys become (key - least) << lead
void cj__sort_find_range(sort_kernel *k);  // again, for the results: the passes have no registers to keep it in

// ---- settle.c: the order of items with the same prefix

void   cj__sort_begin_settle(const sort_kernel *k);  // before C0
cj_reg cj__sort_settle(sort_kernel *k);              // a predicate: all items are in order, in the places kept, SORT_REACH after their own

// ---- row.c: a row that the group holds

void cj__sort_digits(sort_kernel *k, cj_reg shift);  // a pass each, from that bit on, which is advanced
void cj__sort_finish(sort_kernel *k);                // its results

// ---- segment.c: form=grid of segments. Turns are those of rows, with one more after the first.

void   cj__sort_clear_lists(const sort_kernel *k, cj_reg workspace);                            // turn 0
void   cj__sort_list(const sort_kernel *k, cj_reg workspace, const sort_workspace *w);          // turn 1
void   cj__sort_listed(const sort_kernel *k, cj_reg workspace, const sort_workspace *w);        // segments that a block holds
cj_reg cj__sort_long_tiles(const sort_kernel *k, cj_reg workspace);                             // tiles of long segments
cj_reg cj__sort_long_segments(const sort_kernel *k, cj_reg workspace);                          // how many these are
void   cj__sort_find_tile(sort_kernel *k, cj_reg number, cj_reg workspace, const sort_workspace *w);  // row: among long segments; tile; base

// ---- grid.c: a row of any length, a launch a digit

void cj__sort_grid(sort_kernel *k);

cj_reg cj__sort_count(const sort_kernel *k, const char *name, cj_reg at);  // the count there

#endif
