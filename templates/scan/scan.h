// SPDX-License-Identifier: Apache-2.0
// The scan's parts, from the file that tells its algorithm (scan.c) to those that write its steps.
#ifndef CJ_TEMPLATES_SCAN_H
#define CJ_TEMPLATES_SCAN_H

#include "family.h"

// Parameters, in the order of the table.
enum {
    SCAN_ROWS,
    SCAN_COLUMNS,
    SCAN_OP,
    SCAN_DTYPE,
    SCAN_EXCLUSIVE,
    SCAN_REVERSE,
    SCAN_HEADS,
    SCAN_SEGMENTS,
    SCAN_STRIDE,
    SCAN_OUT_STRIDE,
    SCAN_ALIGN,
    SCAN_CLUSTER,
    SCAN_BLOCK,
    SCAN_LOADS,
    SCAN_FORM,
    SCAN_CLAIM,
    SCAN_STAGES,
    SCAN_GRID,
    SCAN_OP_EXPR,
    SCAN_IDENTITY
};

extern const cj_param_info cj__scan_params[];

// Bytes a load, lanes, loads of a thread, elements of a load, threads of a block, stages of a stream,
// tiles of a group, bytes of the workspace before the posts; of a stream, bytes that tell which tile a stage has.
enum {
    SCAN_LOAD = 16,
    SCAN_WARP = 32,
    SCAN_LOADS_MAX = 16,
    SCAN_WIDTH_MAX = 8,
    SCAN_BLOCK_MAX = 1024,
    SCAN_STAGES_MAX = 16,
    SCAN_GROUP = 32,
    SCAN_POSTS_AT = 16,
    SCAN_TOLD = 16
};

// What was fitted to a GPU.
#define CONSTANT(name, value, unit, measured_on, day, command) name = (value),
enum {
#include "constants.def"
};
#undef CONSTANT

// How the beginnings of segments are given, in the order of the parameter's words.
typedef enum scan_heads { SCAN_WHOLE, SCAN_FLAGS, SCAN_OFFSETS_I32, SCAN_OFFSETS_I64 } scan_heads;

// Of their parameters' words: how tiles come to blocks; what a block of a stream claims.
typedef enum scan_form { SCAN_AUTO, SCAN_DIRECT, SCAN_STREAM } scan_form;
enum { SCAN_CLAIM_AUTO, SCAN_CLAIM_TILE, SCAN_CLAIM_ROW };

// How rows are cut. A tile is what `threads` threads take of a row: `loads` loads each, of `width` elements.
typedef struct scan_shape {
    const char *type;             // that is computed in
    unsigned    bytes, computed;  // of an element in memory, and of that type
    unsigned    width, loads, threads;
    unsigned    lanes, warps;  // of those threads: lanes of a warp, and warps
    unsigned    block, cluster;
    scan_form   form;
    unsigned    stages;      // of a stream
    bool        whole_rows;  // a block of a stream claims a row, and has its tiles one after the other
    unsigned    tail;        // elements behind the last whole load of one array: of a stream a tile more
    uint64_t    rows, columns, tile, tiles;  // elements a tile; tiles a row
    scan_heads  heads;
    uint64_t    segments;  // offsets: how many
} scan_shape;

// ---- shape.c

void cj__scan_shape(const cj_plan *plan, scan_shape *s);

bool     cj__scan_asked(const cj_plan *plan, int param);   // not "auto"
uint64_t cj__scan_stride(const cj_plan *plan, int param);  // the columns where it is 0
bool     cj__scan_segmented(const scan_shape *s);
uint64_t cj__scan_claims(const scan_shape *s);  // of a stream: what its blocks claim, rows or tiles
bool     cj__scan_posts(const scan_shape *s);   // tiles of a row meet in the workspace
uint64_t cj__scan_groups(const scan_shape *s);  // groups of tiles of a row that meet there; 0 where one is all

// Bytes of shared memory of a stream: of a tile and of its stage, with flags; of all stages, and of all but these.
uint64_t cj__scan_tile_bytes(const scan_shape *s);
uint64_t cj__scan_stage_bytes(const scan_shape *s);
uint64_t cj__scan_pool(const scan_shape *s);
uint64_t cj__scan_slots(const scan_shape *s);

// Totals in shared memory have slots of so many bytes: after the total, not 0 where it has a head.
unsigned cj__scan_slot(const scan_shape *s);

// ---- plan.c

cj_status cj__scan_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

typedef struct scan_kernel {
    const cj_plan *plan;
    cj_func       *f;
    scan_shape     s;
    cj_combine     combine;
    bool           exclusive, reverse;
    cj_var         x, out, heads, rows, columns, stride, out_stride, workspace;
    cj_reg         thread, lane, warp;
    cj_reg         row, tile;          // u32: of this thread
    cj_reg         space, claim, tag;  // posts: the workspace; which tile of all this is, u32; this launch's tag, even
    cj_reg         arrived;            // cluster: the mbarrier
    cj_reg         first;              // the thread's first load in its row, counted in loads, u64
    cj_reg         place;              // the same in its tile, u32
    cj_reg         left;               // loads from there to the row's end, s32
    cj_reg         element[SCAN_LOADS_MAX][SCAN_WIDTH_MAX];
    cj_reg         before[SCAN_LOADS_MAX];  // what stands before each load: first in its warp, then in its tile
    cj_reg         total;                   // of the warp, then of the tile
    cj_reg         carry;                   // of all tiles before

    // Of segments: flags of each load's elements; masks of the lanes before this one, and with it; which loads, bit by
    // bit, nothing in the tile begins before; not 0 where a segment begins in the tile.
    cj_reg flags[SCAN_LOADS_MAX][SCAN_WIDTH_MAX / 4], below, upto, open, headed;
    cj_reg flags_stage, flags_come;  // of a stream: where the tile's flags are in shared memory, if they have come
} scan_kernel;

// ---- lanes.c

cj_reg cj__scan_value(scan_kernel *k, const char *name);  // a new register of the type that is computed in
void   cj__scan_clear(scan_kernel *k, cj_reg value);      // becomes the identity
void   cj__scan_move(scan_kernel *k, cj_reg when, cj_reg to, cj_reg from);

// into = earlier op into, under a condition.
void cj__scan_before(scan_kernel *k, cj_reg when, cj_reg into, cj_reg earlier);

// to = `from` of lane `source` (a number or a register) of each `lanes` lanes.
void cj__scan_pick(scan_kernel *k, cj_reg to, cj_reg from, cj_arg source, unsigned lanes);

// to = `from` of the lane before, in each `lanes` lanes.
void cj__scan_previous(scan_kernel *k, cj_reg to, cj_reg from, unsigned lanes);

// value = op over it and that of all lanes before, in each `lanes` lanes; `reach`, where it is a register: over that
// of so many lanes before. All 32 execute it.
void cj__scan_lanes(scan_kernel *k, cj_reg value, cj_reg reach, unsigned lanes);

// ---- place.c: loads: where the thread's first lies, in an array laid out as x or out, of so many bytes an element; how far
// from there load `load` is; whether the row has it

cj_reg cj__scan_address(scan_kernel *k, cj_var array, cj_var stride, unsigned bytes, const char *name);
int    cj__scan_offset(const scan_kernel *k, unsigned load, unsigned bytes);
cj_reg cj__scan_has_load(scan_kernel *k, unsigned load);

// Where the thread's first load of a tile is in shared memory, whose loads take so many bytes: a new u32 register.
cj_reg cj__scan_in_stage(scan_kernel *k, cj_reg stage, unsigned load_bytes, const char *name);

// The thread's place in its tile; in a tile of its row: its first load, and how many are left from there to the row's
// end.
void cj__scan_find_place(scan_kernel *k);
void cj__scan_find_left(scan_kernel *k);

// Of blocks that have several rows: the last may have fewer.
void cj__scan_find_row(scan_kernel *k);

// ---- segment.c

void cj__scan_find_masks(scan_kernel *k);  // below, upto
void cj__scan_find_heads(scan_kernel *k);  // flags, and these

// value becomes the identity where a segment begins at the element; in reverse, where it ends a segment's scan.
void cj__scan_restart(scan_kernel *k, cj_reg value, unsigned load, unsigned element);

// Where lanes are cut: a bit for each of the warp that has a head; those of the `lanes` lanes that belong together, and
// of these those before this one; how many lanes back the own segment reaches. Without segments these are no registers.
typedef struct scan_cut {
    cj_reg heads, within, before, reach;
} scan_cut;

scan_cut cj__scan_cut(scan_kernel *k, cj_reg begins, unsigned lanes);
scan_cut cj__scan_cut_load(scan_kernel *k, unsigned load);

// A cut of slots of totals, one a lane.
scan_cut cj__scan_cut_slots(scan_kernel *k, cj_reg reads, cj_reg slot, unsigned lanes);

cj_reg cj__scan_none(scan_kernel *k, cj_reg heads);  // a predicate: none of the bits

// total = total op next, or next alone where any of `heads` is in it.
void cj__scan_append(scan_kernel *k, cj_reg total, cj_reg next, cj_reg heads);

// open and headed of the warp, load after load; then of the tile, whose warps the cut is of; and whether what is before
// stands before the load.
void   cj__scan_open_load(scan_kernel *k, unsigned load, const scan_cut *cut);
void   cj__scan_open_warp(scan_kernel *k, cj_reg warp, const scan_cut *cut);
cj_reg cj__scan_is_open(scan_kernel *k, unsigned load);

// ---- tile.c

void cj__scan_load(scan_kernel *k);
void cj__scan_load_found(scan_kernel *k);          // the same where first and left are known
void cj__scan_take(scan_kernel *k, cj_reg stage);  // the same from a tile in shared memory

// before[v] becomes what stands before load v in the warp (in each `lanes` lanes of it), total all of that, as far as
// either is asked for. Without the first, the total is the last lane's.
void cj__scan_fold_warp(scan_kernel *k, bool befores, bool total);
void cj__scan_sum_warp(scan_kernel *k);  // the total alone, by the shortest way

void cj__scan_fold(scan_kernel *k);  // before[] and total, within the warp; then within the tile
void cj__scan_give(scan_kernel *k);

// ---- what stands before a tile (scan_meet.c)

void cj__scan_place(scan_kernel *k);  // row and tile
void cj__scan_meet(scan_kernel *k);   // carry

// One thread: claim is the next of `all` numbers, tag this launch's. Who gets the last of all sets the counter for the
// next launch.
void cj__scan_claim(scan_kernel *k, cj_reg all);

// Of segments, posts carry whether the tile has a head: the tag to post with; what a tag that was found has, taken off
// it; lanes that hold tiles, cut.
cj_reg   cj__scan_tile_tag(scan_kernel *k);
void     cj__scan_take_head(scan_kernel *k, cj_reg head, cj_reg tag);
scan_cut cj__scan_cut_tiles(scan_kernel *k, cj_reg head);

// Posts: bytes of one; a value and its tag to `at`; from there, with the tag 0 while it is being written.
unsigned cj__scan_post_bytes(const scan_kernel *k);
void     cj__scan_post(scan_kernel *k, cj_reg when, cj_reg at, cj_reg value, cj_reg tag);
void     cj__scan_look(scan_kernel *k, cj_reg when, cj_reg at, int offset, cj_reg value, cj_reg tag);

// ---- a stream of tiles (scan_stream.c)

void cj__scan_stream(scan_kernel *k);

#endif
