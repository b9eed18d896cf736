// SPDX-License-Identifier: Apache-2.0
// The row engine's parts, each above the one before:
//
//   shape.c       how rows are cut; what a plan says of that
//   element.c     vectors: from memory into registers, as f32, through what a family does with them, and out
//   peel.c        rows that begin between two vectors
//   transpose.c   rows of a few columns, between memory and an image of them in shared memory
//   fold.c        partials of threads, lanes and slots combine
//   exchange.c    partials of warps, of a cluster's blocks or of a spread row's: each warp gets the row's
//   pass.c        a row that registers hold, one that is read twice, or rows of a warp's lanes
//   sums.c        sums over rows: registers, partials, and how these are added up
//   sums_twice.c, direct.c, spread.c, stream.c   the forms
//   row.c         the kernel's head, and the form
#ifndef CJ_TEMPLATES_ROW_ENGINE_H
#define CJ_TEMPLATES_ROW_ENGINE_H

#include "row.h"

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// ---- shape.c

// Whether lanes of a warp have it (pass.c). The slots that a block has for a row, one for each warp that gives it a partial; their bytes.
static inline bool     cj__row_is_short(const row_shape *s) { return s->lanes < ROW_WARP || s->unroll > 1; }
static inline unsigned cj__row_slots(const row_shape *s) { return (unsigned)cj__most(s->cluster, 1) * s->warps; }
static inline unsigned cj__row_slots_bytes(const row_shape *s) { return 4 * cj__row_slots(s) * s->slot_words; }

cj_status cj__row_op(const cj_plan *plan, row_op *op, cj_error *error);
void     cj__row_read(const cj_plan *plan, const row_op *op, row_shape *s);
uint64_t cj__row_sum_partials(const cj_plan *plan, const row_shape *s);   // of each column
uint64_t cj__row_values_offset(const cj_plan *plan, const row_shape *s);  // bytes of the workspace before rows' values

// Bytes that all pointers are multiples of; short rows of a block.
static inline unsigned cj__row_align(const cj_plan *plan) { return 16u >> plan->params.value[ROW_ALIGN]; }
static inline unsigned cj__row_block_rows(const row_shape *s) { return s->warps * (ROW_WARP / s->lanes) * s->unroll; }

void     cj__row_problem(const cj_plan *plan, const row_op *op, row_shape *s);
unsigned cj__row_peel_most(const cj_plan *plan, const row_op *op, const row_shape *s);
unsigned cj__row_split_most(const cj_plan *plan, const row_shape *s, bool peeled);

// Wider vectors: peeled ones of all matrices; or of what is written, and how these are loaded where what is read begins beside them.
typedef enum row_wider { ROW_PEELED, ROW_PARTS, ROW_PEELED_PARTS, ROW_PEELED_ACROSS } row_wider;
void     cj__row_widen(const cj_plan *plan, const row_op *op, row_shape *s, unsigned elements, row_wider how);
void     cj__row_cut(row_shape *s);  // into pieces, from form, blocks and number of pieces
void     cj__row_cut_sums(const cj_plan *plan, row_shape *s);

// ---- element.c

void   cj__row_new_registers(row_kernel *k);
static inline const char *cj__row_word_type(const row_kernel *k) { return k->s->elements * k->s->in_bytes == 2 ? "b16" : "b32"; }
bool   cj__row_counts(const row_kernel *k);             // whether k->left is needed
void   cj__row_set_piece(row_kernel *k, cj_reg piece);  // column and left, of the piece of that number in the row
void   cj__row_set_share(row_kernel *k);                // of the block's one piece
cj_reg cj__row_first_piece(row_kernel *k);              // of the block
void   cj__row_place(row_kernel *k, bool written);      // k->at of k->row, of what is written if it is
cj_reg cj__row_of(row_kernel *k, unsigned operand);     // k->row, or that row of an operand that repeats
cj_reg cj__row_load_rows(row_kernel *k);                // how many there are, u32
void   cj__row_load_piece(row_kernel *k);               // from global memory, at k->at
void   cj__row_fetch_piece(row_kernel *k);              // from shared memory, at k->stage_at
void   cj__row_keep_columns(row_kernel *k);             // weight and bias of this piece, if there are registers enough
void   cj__row_keep_late(row_kernel *k, bool row);  // the same of spread rows, after the row's loads or while partials
                                                    // are exchanged
void cj__row_sweep(row_kernel *k);                  // a piece into k->part
void cj__row_write(row_kernel *k);                  // a piece's outputs
void cj__row_store_sums(row_kernel *k, cj_reg at);  // the thread's sums over rows, from address `at` on

// ---- peel.c

// The thread's element beside the vectors of a peeled row, as a vector of one element: to be worked on as k is.
typedef struct row_beside {
    row_kernel k;
    row_shape  s;
} row_beside;

row_kernel *cj__row_beside(row_beside *b, const row_kernel *k);

// k's column, left and edge, of the row there, whose elements have so many bytes; whether it is written.
void cj__row_peel(row_kernel *k, cj_reg row_at, unsigned bytes, bool written);
void cj__row_load_shifted(row_kernel *k, unsigned operand, unsigned v, const cj_reg word[ROW_WORDS]);  // of a column

// Of what is read across vectors, the thread's elements of which begin at an address: where its vectors are. Then the two across which
// the thread's vector v stands, and what it has of them.
void cj__row_find_vectors(row_kernel *k, unsigned operand, cj_reg at, unsigned unit_bytes);
void cj__row_load_both(row_kernel *k, unsigned operand, unsigned v, const char *load, const cj_reg both[2 * ROW_WORDS]);
void cj__row_take(row_kernel *k, const row_shift *by, const cj_reg both[2 * ROW_WORDS], const cj_reg word[ROW_WORDS]);
// Whether what is written decides where vectors begin, beside which what is read begins.
static inline bool cj__row_is_split(const row_shape *s) { return s->access < s->elements; }

// Of unaligned rows: whether what is read begins with vectors in every row or in none.
static inline bool cj__row_keeps_apart(const row_shape *s, unsigned elements) {
    return s->stride % elements == s->out_stride % elements;
}

// Whether rows may begin beside a vector; else a peeled row has a tail alone.
static inline bool cj__row_has_head(const row_shape *s) {
    const bool apart = (!cj__row_is_split(s) && s->stride % s->elements) || s->out_stride % s->elements;
    return s->peeled && (s->anywhere || apart);
}
static inline uint64_t cj__row_least_vectors(const row_shape *s) {
    if (!cj__row_has_head(s)) return s->vectors;
    return (s->columns - (s->elements - 1)) / s->elements - (s->across ? 2 : 0);
}

// ---- transpose.c

void cj__row_image_open(row_kernel *k, cj_reg first_row, cj_reg rows);  // first_row: the lane's
void cj__row_image_load(row_kernel *k);   // the warp's rows; stage_at and written_at: where the lane finds its own
void cj__row_image_store(row_kernel *k);  // what the lanes have written there
static inline unsigned cj__row_image_bytes(const row_shape *s, unsigned element) {
    return ROW_WARP * (unsigned)s->columns * element;
}

// ---- fold.c

row_part cj__row_part_new(row_kernel *k, const char *name);
void     cj__row_part_clear(row_kernel *k, const row_part *part);

// into = the partials combined, of all lanes too if `lanes`. into may be among them.
void cj__row_fold(row_kernel *k, const row_part *into, const row_part *part, unsigned parts, bool lanes);

// A slot in shared memory: k->part, as it stores that, and its loads.
void cj__row_slot_values(const row_kernel *k, cj_reg value[ROW_VALUES]);
void cj__row_store_slot(row_kernel *k, cj_reg when, cj_reg slot);
void cj__row_load_slot(row_kernel *k, const row_part *part, cj_reg slot, unsigned offset, cj_reg when);

// k->part = all slots of an array of `count` at the address `slots`, in every lane of every warp that executes it.
void cj__row_fold_slots(row_kernel *k, cj_reg slots, unsigned count);

// ---- exchange.c

void cj__row_exchange_open(row_kernel *k, bool again);  // k->x: once, or, `again`, for row after row
void cj__row_exchange(row_kernel *k);                   // k->part becomes that of the row, in every lane

// Of spread rows, whose blocks exchange theirs in mailboxes.
size_t   cj__row_mail_bytes(const row_shape *s, uint32_t blocks);                // of the workspace
size_t   cj__row_mail_copy_bytes(const row_shape *s, uint32_t blocks);           // from one copy to the next
void     cj__row_mail_close(row_kernel *k);                                      // keeps the tag for the next launch
void     cj__row_next_group(row_kernel *k, cj_reg row, cj_reg from);             // row = from + groups
bool     cj__row_starts_next_late(const row_kernel *k);  // whether the next launch's blocks wait for this row
bool     cj__row_share_is_long(const row_kernel *k);
unsigned cj__row_spread_registers(const cj_plan *plan, const row_op *op, const row_shape *s);

// ---- pass.c

void cj__row_held(row_kernel *k);  // a row that registers hold, of the piece that is set: load, prepare, work
void cj__row_pass(row_kernel *k);  // that, or a row of several pieces, which is read twice
void cj__row_short(row_kernel *k, cj_reg first_row, cj_reg rows);  // the rows of a group of lanes, from its first on

// The values of pieces `piece` to `last`, two registers of which the first is counted up.
row_part cj__row_values(row_kernel *k, cj_reg piece, cj_reg last);

// ---- sums.c

// The rows by emit_rows, the kernel of all launches but the last; in that, all partials are added up.
void   cj__row_emit_sums(row_kernel *k, void (*emit_rows)(row_kernel *k));
void   cj__row_sums_clear(row_kernel *k);
void   cj__row_sums_store(row_kernel *k, cj_reg partial);  // the thread's, as that partial of all sums

// ---- the forms

void cj__row_emit_direct(row_kernel *k);
void cj__row_emit_sums_held(row_kernel *k);  // with sums over rows
void cj__row_emit_sums_twice(row_kernel *k);
void cj__row_emit_spread(row_kernel *k);
void cj__row_emit_stream(row_kernel *k);

#endif
