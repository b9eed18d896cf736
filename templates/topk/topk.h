// SPDX-License-Identifier: Apache-2.0
// The parts of topk. Each file calls only those before it: plan.c; sift.c and select.c and parts.c (form=sift); radix.c
// (form=radix); sort.c; result.c; warp.c (form=warp); and topk.c, which has the algorithm.
#ifndef CJ_TEMPLATES_TOPK_H
#define CJ_TEMPLATES_TOPK_H

#include "kit.h"

// Parameters.
enum {
#define PARAM(id, ...) TOPK_##id,
#include "params.def"
};

// Bytes a load, lanes, slices in flight, elements that a thread has of a slice, at least and at most; bytes of a candidate.
enum { TOPK_AUTO, TOPK_SIFT, TOPK_RADIX, TOPK_BY_WARP };  // the words of form
enum { TOPK_LOAD = 16, TOPK_WARP = 32, TOPK_SLICES = 4, TOPK_EACH = 4, TOPK_EACH_MAX = 8, TOPK_CANDIDATE = 8 };

// Of a row in parts: bytes of its counter.
enum { TOPK_COUNTER = 16 };

// form=warp: bits of a lane; candidates of a lane, at most; columns of a row, at most.
enum { TOPK_WARP_BITS = 5, TOPK_WARP_EACH = 8, TOPK_WARP_MOST = TOPK_WARP_EACH * TOPK_WARP };

// form=radix: bits of a digit; bytes of its bins; bytes of an access to the keys that are held, and of a warp's.
enum { TOPK_DIGIT = 11, TOPK_BINS = 4 << TOPK_DIGIT, TOPK_HELD = 16, TOPK_LINE = TOPK_HELD * TOPK_WARP };

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// Where the kernel goes on after a selection: a round, the row (or the block's part of it), all ranks' candidates; some of other
// parts' candidates, all of them.
enum { TOPK_AFTER_ROUND, TOPK_AFTER_ALL, TOPK_AFTER_RANKS, TOPK_AFTER_SOME, TOPK_AFTER_PARTS, TOPK_SELECTIONS };

// How a row is read: slices, each of `loads` loads a thread, of `width` elements; form=radix: so many loads at once.
typedef struct topk_shape {
    cj_dtype dtype;
    unsigned bytes, width, loads;
    unsigned block, cluster, parts;
    unsigned k, slice;  // elements of a slice, of one block
    unsigned slack,
        own;        // a warp with more candidates than `slack` asks for a selection; places of a warp, for a round more
    unsigned pool;  // places in all: of the selected candidates, then of each warp
    bool     radix;   // form=radix
    bool     tail;    // form=sift: the row ends within a load
    unsigned lanes, each;  // form=warp: lanes of a row, else 0; candidates of a lane
    uint64_t shared;  // bytes of dynamic shared memory
    unsigned region;  // form=radix: bytes of bins or pool; the keys are held after them
    bool     guesses;                         // a first threshold
    bool     sorts;                           // the result; else its places are counted
    bool     smallest, kth, any, wide_index;  // any: in any order
} topk_shape;

typedef struct topk_kernel {
    const cj_plan *plan;
    cj_func       *f;
    topk_shape     s;
    cj_var         x, values, indices, columns_at, stride_at;
    cj_var         rows_at, piece_at, workspace;  // rows_at: form=warp; piece_at: of a row in parts
    cj_reg         thread, lane, below;  // below: mask of the lanes before this one
    cj_reg         row, rank;
    cj_reg         base, columns;  // of the row: its address, its elements as u32
    cj_reg         from, end;      // the block's part of it, if it has parts; else end is columns, in whole loads
    cj_reg         part, space, taken, own;  // space: the row's in the workspace; there candidates are taken up to `taken`, but from `own` on
    cj_reg         pool, own_at;   // addresses of places: of the selected candidates, of the warp's own

    // Registers that change from slice to slice.
    cj_reg element[TOPK_SLICES][TOPK_EACH_MAX], column[TOPK_SLICES][TOPK_EACH];  // two in a word if packed (sift.c); of a load's first element
    cj_reg threshold, filling;                                                   // a key; every element is a candidate
    cj_reg bound;        // as a number: no element greater than the threshold is less than it
    cj_reg count, mine;  // selected candidates; the warp's own
    cj_reg least;        // of a row in parts: k candidates are not less than this one, which is one of them or 1
    cj_reg exchange;     // address of what warps exchange in a selection (select.c)

    // The selection is written once. `resume` says which of `after` it goes on to.
    cj_label select, after[TOPK_SELECTIONS];
    cj_reg   resume;
} topk_kernel;

// ---- plan.c

void      cj__topk_shape(const cj_plan *plan, topk_shape *s);
cj_status cj__topk_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// Of the workspace: bytes of a row in parts.
uint64_t cj__topk_row_bytes(const topk_shape *s);

// ---- sift.c

// A u32 in the order of the elements, of an element in the upper bits of a word: of 16 bits the upper half of the key has all.
cj_reg cj__topk_key_of_bits(const topk_kernel *k, cj_reg bits);

unsigned    cj__topk_round(const topk_kernel *k);     // elements of a round, of all blocks of the row
const char *cj__topk_register(const topk_kernel *k);  // the type of an element's registers
const char *cj__topk_number(const topk_kernel *k);    // the type of the registers in which elements are compared

// How many of a key's lowest bits follow from the others: those that 16-bit elements do not have of an f32.
unsigned cj__topk_key_low(const topk_kernel *k);

// All slices of the first round; slice i of the round after this.
void cj__topk_load_first(topk_kernel *k);
void cj__topk_load_next(const topk_kernel *k, unsigned i);

void cj__topk_guess(const topk_kernel *k);             // the first threshold
void cj__topk_set_bound(const topk_kernel *k);         // from the threshold
void cj__topk_sift(const topk_kernel *k, unsigned i);  // slice i: its candidates go to the warp's places
// A place among the warp's own for the candidate of each lane where it `passes`; and the candidate to that place.
typedef struct topk_place {
    cj_reg passes, ballot, at;
} topk_place;

topk_place cj__topk_take_place(const topk_kernel *k, cj_reg passes);
void       cj__topk_put(const topk_kernel *k, const topk_place *place, cj_reg candidate);

void cj__topk_sift_tail(const topk_kernel *k);         // the row's last elements, fewer than a load has

// ---- select.c: of more candidates than k the first k stay, in any order

void   cj__topk_select(const topk_kernel *k);
// bound: a number that `wanted` of the selected candidates are not less than, if there are more; they are all selected.
void cj__topk_find_bound(const topk_kernel *k, unsigned wanted, cj_reg bound);

void   cj__topk_select_if_full(const topk_kernel *k, cj_reg full, unsigned way);  // after a round; full: whether it was needed
cj_reg cj__topk_candidate(const topk_kernel *k, cj_reg there, cj_reg at);  // the one at that address; 0 if not `there`

// ---- radix.c: the first k of the row are in the pool, in any order, and every thread (in a cluster, of rank 0) can read them

void cj__topk_radix(topk_kernel *k);

// ---- parts.c: the candidates of all parts of the row, in the block that comes last; the others exit. It selects from them.

void     cj__topk_begin_parts(topk_kernel *k);     // before any selection
void     cj__topk_parts(const topk_kernel *k, cj_reg full);

// ---- sort.c

void cj__topk_sort(const topk_kernel *k);  // the selected candidates, the greatest first

// ---- result.c

// Where results go, and the number of the row's first one.
typedef struct topk_results {
    cj_reg values, indices, first;
} topk_results;

unsigned     cj__topk_first(const topk_shape *s);  // the place of the first candidate that is a result
topk_results cj__topk_results_open(const topk_kernel *k);

// Result `place` of the row is the element at `index`.
void cj__topk_write_result(const topk_kernel *k, const topk_results *r, cj_reg index, cj_reg place);

void cj__topk_results(const topk_kernel *k);  // of the candidates in the pool

// ---- warp.c: form=warp, after the prologue

void cj__topk_warp(topk_kernel *k);

#endif
