// SPDX-License-Identifier: Apache-2.0
// The parts of scan. Each file calls only those before it: shape.c, plan.c, place.c, segment.c, tile.c, carry.c, stream.c, and
// scan.c, which has the algorithm.
#ifndef CJ_TEMPLATES_SCAN_H
#define CJ_TEMPLATES_SCAN_H

#include "kit.h"

// Parameters.
enum {
#define PARAM(id, ...) SCAN_##id,
#include "params.def"
};

// Bytes a load, lanes; at most: loads of a thread, elements of a load, threads of a block, stages of a stream.
enum { SCAN_LOAD = 16, SCAN_WARP = 32 };
enum { SCAN_LOADS_MAX = 16, SCAN_WIDTH_MAX = 8, SCAN_BLOCK_MAX = 1024, SCAN_STAGES_MAX = 16 };

// Bytes of the workspace before the tiles' statuses; of a stream, bytes that tell which tile a stage has.
enum { SCAN_STATUS_AT = 16, SCAN_TAKEN = 16 };

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// How the beginnings of segments are given, in the order of the parameter's words.
typedef enum scan_heads { SCAN_WHOLE, SCAN_FLAGS, SCAN_OFFSETS_I32, SCAN_OFFSETS_I64 } scan_heads;

// Of their parameters' words: the form; what a block of a stream takes from the work counter.
typedef enum scan_form { SCAN_AUTO, SCAN_DIRECT, SCAN_STREAM } scan_form;
enum { SCAN_COUNTER_AUTO, SCAN_COUNTER_TILE, SCAN_COUNTER_ROW };

// How rows are cut. A tile is what `threads` threads take of a row: `loads` loads each, of `width` elements.
typedef struct scan_shape {
    const char *type;             // that is computed in
    unsigned    bytes, computed;  // of an element in memory, and of that type
    unsigned    width, loads, threads;
    unsigned    lanes, warps;  // of these threads: lanes in each warp, and warps
    unsigned    block, cluster;
    scan_form   form;
    unsigned    stages;      // pipeline stages of a stream
    bool        whole_rows;  // a block of a stream takes a row, and has its tiles one after the other
    unsigned    access;      // elements of an access to global memory: a load of a direct tile is one, or two of half its width
    unsigned    remainder;   // direct tiles: elements of the row's last load, where that is not a whole one; else 0
    unsigned    head;        // elements before the first whole load of one array, at most, if a stream finds them; else 0
    unsigned    tail;        // elements after the last whole load of one array: in a stream, one tile more; with a head, at most
    uint64_t    rows, columns, tile, tiles;  // elements a tile; tiles a row
    scan_heads  heads;
    uint64_t    segments;  // offsets: how many
} scan_shape;

// ---- shape.c

void cj__scan_shape(const cj_plan *plan, scan_shape *s);

static inline uint64_t cj__scan_stride(const cj_plan *plan, unsigned param) {
    return cj__stride(plan, param, plan->params.value[SCAN_COLUMNS]);
}
static inline bool cj__scan_segmented(const scan_shape *s) { return s->heads != SCAN_WHOLE; }

// Of a stream: how many rows or tiles its blocks take from the work counter.
static inline uint64_t cj__scan_numbers(const scan_shape *s) {
    return s->whole_rows ? s->rows : s->rows * (s->tiles + (s->tail > 0));
}

// Whether statuses of tiles are in the workspace.
static inline bool cj__scan_looks_back(const scan_shape *s) {
    return s->form == SCAN_STREAM ? !s->whole_rows : s->tiles > 1 && !s->cluster;
}

// Whether a warp's elements follow others of their row.
static inline bool cj__scan_has_before(const scan_shape *s) {
    return s->form == SCAN_STREAM || s->warps > 1 || s->tiles > 1;
}

uint64_t cj__scan_groups(const scan_shape *s);  // groups of a row's tiles; 0 if one group is all

// Totals in shared memory have slots of so many bytes: after the total, not 0 where it has a head.
static inline unsigned cj__scan_slot(const scan_shape *s) { return s->computed * (cj__scan_segmented(s) ? 2 : 1); }

// Bytes of shared memory of a stream: of a tile and of its stage, with flags; of all stages, and of all but these.
static inline uint64_t cj__scan_tile_bytes(const scan_shape *s) { return s->tile * s->bytes; }
static inline uint64_t cj__scan_stage_bytes(const scan_shape *s) {
    return cj__scan_tile_bytes(s) + (cj__scan_segmented(s) ? s->tile : 0);
}
static inline uint64_t cj__scan_pool(const scan_shape *s) {
    return CJ_POOL_SLACK + s->stages * cj__scan_stage_bytes(s);
}
uint64_t cj__scan_slots(const scan_shape *s);

// ---- plan.c

cj_status cj__scan_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

typedef struct scan_kernel {
    const cj_plan *plan;
    cj_func       *f;
    scan_shape     s;
    cj_prefix      p;  // of the warps that execute
    bool           exclusive, reverse;
    cj_var         x, out, heads, rows, columns, stride, out_stride, workspace;
    cj_reg         thread, warp;
    cj_reg         skipped;  // u64: elements of the head
} scan_kernel;

// What a thread has of a tile. Loads are in the order of the scan, and so are their elements.
typedef struct scan_tile {
    cj_reg row, number;  // u32: the row, and which of its tiles
    cj_reg place;        // u32: the thread's first load in the tile
    cj_reg first, left;  // the same in the row, u64; whole loads from there to the row's end, s32, -1: none
    cj_reg element[SCAN_LOADS_MAX][SCAN_WIDTH_MAX];
    cj_reg prefix[SCAN_LOADS_MAX];  // of each load: in its warp, then in the tile
    cj_reg total;                   // of the warp, then of the tile
    cj_reg carry;                   // the prefix of the tile; cj_none(): it is its row's only one

    // With segments: flags of each load's elements; the loads, bit by bit, before which no segment begins in the tile; not 0 if
    // a segment begins in the tile. If `staged`, the flags are in shared memory at `stage`, in threads where `in_stage` holds.
    cj_reg flags[SCAN_LOADS_MAX][SCAN_WIDTH_MAX / 4], open, headed;
    bool   staged;
    cj_reg stage, in_stage;
} scan_tile;

// ---- place.c: where a thread's loads are, in memory that is laid out as x or out, of so many bytes an element

cj_reg cj__scan_place(const scan_kernel *k);                    // scan_tile.place
void   cj__scan_find_left(const scan_kernel *k, scan_tile *t);  // first and left

// The address of the thread's first load; how many bytes load `load` is from it; whether the row has that load.
cj_reg cj__scan_address(const scan_kernel *k, const scan_tile *t, cj_var array, cj_var stride, unsigned bytes,
                        const char *name);
int    cj__scan_offset(const scan_kernel *k, unsigned load, unsigned bytes);
cj_reg cj__scan_has_load(const scan_kernel *k, const scan_tile *t, unsigned load);

// The address of the thread's first load in shared memory, where the tile's loads have `load_bytes` each.
cj_reg cj__scan_in_stage(const scan_kernel *k, const scan_tile *t, cj_reg stage, unsigned load_bytes, const char *name);

// ---- segment.c: without segments these write nothing

void cj__scan_load_heads(scan_kernel *k, scan_tile *t, bool below);  // flags, and masks of lanes, cj__prefix_masks

// value = the identity, if a segment begins at the element; in reverse, if the element ends its segment's scan.
void cj__scan_restart(const scan_kernel *k, const scan_tile *t, cj_reg value, unsigned load, unsigned element);

// Heads of the lanes of a load.
cj_heads cj__scan_heads_of_load(const scan_kernel *k, const scan_tile *t, unsigned load, cj_heads_asked asked);

// Slots in shared memory, each of a total and of whether it has a head. Loaded one a lane, where `when` holds, the totals are
// scanned over the lanes; returns their heads.
void     cj__scan_store_slot(const scan_kernel *k, cj_reg when, cj_reg slot, cj_reg total, cj_reg headed);
cj_heads cj__scan_load_slots(const scan_kernel *k, cj_reg when, cj_reg slot, unsigned lanes, cj_reg total,
                             cj_heads_asked asked);

// open and headed: of the warp, load after load, as far as they are asked for; then of the tile, where `heads` are its warps'.
void   cj__scan_open_load(const scan_kernel *k, scan_tile *t, unsigned load, const cj_heads *heads, bool open, bool headed);
void   cj__scan_open_warp(const scan_kernel *k, scan_tile *t, cj_reg warp, const cj_heads *heads);
cj_reg cj__scan_is_open(const scan_kernel *k, const scan_tile *t, unsigned load);

// ---- tile.c

void cj__scan_load(scan_kernel *k, scan_tile *t);
void cj__scan_load_found(scan_kernel *k, scan_tile *t);                      // where first and left are known
void cj__scan_load_stage(const scan_kernel *k, scan_tile *t, cj_reg stage);  // from shared memory

// prefix[] of the loads in the warp and the warp's total, as far as either is asked for. Without prefixes the total is the last
// lane's. Then the total alone, in the shortest way.
void cj__scan_warp(const scan_kernel *k, scan_tile *t, bool prefixes, bool total);
void cj__scan_warp_total(const scan_kernel *k, scan_tile *t);

void cj__scan_tile(const scan_kernel *k, scan_tile *t);  // prefix[] in the tile, and its total
void cj__scan_store(const scan_kernel *k, scan_tile *t);

// ---- carry.c: the prefix of a tile of a long row, between blocks

typedef struct scan_exchange {
    cj_reg  workspace;
    cj_work work;  // look-back: the tile's number among all, and the launch's epoch
    cj_push push;  // cluster
} scan_exchange;

scan_exchange cj__scan_begin(const scan_kernel *k, scan_tile *t);  // which tile the block has
void          cj__scan_carry(const scan_kernel *k, scan_tile *t, const scan_exchange *exchange);

// The address of the status of tile `number` of all.
cj_reg cj__scan_status(const scan_kernel *k, cj_reg workspace, cj_reg number);

// ---- stream.c

void cj__scan_stream(scan_kernel *k);

#endif
