// SPDX-License-Identifier: Apache-2.0
// The row engine, as its families see it: kernels that read each row of a matrix, reduce it to a few values, and write
// what follows from them and the elements. A family says what is done with elements (row_op); the plan chooses a form
// (plan.h), and the engine writes it (engine.h). docs/maintaining/rows.md tells how the forms work.
#ifndef CJ_TEMPLATES_ROW_H
#define CJ_TEMPLATES_ROW_H

#include <stddef.h>

#include "kit.h"

// ---- parameters

// The parameters that every family of rows begins with (params.def). Its own follow from ROW_OWN on.
enum {
#define PARAM(id, ...) ROW_##id,
#include "params.def"
    ROW_OWN
};

// At most: operands of a kind, elements and 32-bit words of a vector, vectors that a thread holds, values of a partial, pieces
// of a stream's row, blocks of a spread row.
enum { ROW_INPUTS = 2, ROW_OUTPUTS = 2, ROW_TOTALS = 2, ROW_OPERANDS = 9 };
enum { ROW_ELEMENTS = 8, ROW_WORDS = 4, ROW_HELD = 8, ROW_VALUES = 4, ROW_PIECES_MAX = 32, ROW_BLOCKS_MAX = 1024 };
enum { ROW_WARP = 32 };
enum { ROW_AHEAD = 4 };  // short rows that a thread loads before it works on the first, at most
enum { ROW_OWN_BYTES = 512 };  // of row_op.own

enum { ROW_ACROSS_LEAST = 4 };  // vectors of a row that is loaded across vectors: two at most are edges
enum { ROW_TRANSPOSED = 16 };  // columns of a row that a lane has after a transposition, at most

// ---- the shape

typedef enum row_form { ROW_AUTO, ROW_DIRECT, ROW_STREAM, ROW_SPREAD } row_form;
enum { ROW_OPEN, ROW_NO, ROW_YES };  // of resident, transpose and across: auto no yes
enum { ROW_STORE_AUTO, ROW_STORE_STREAMING, ROW_STORE_PLAIN };

// How rows are cut, in vectors: what a thread loads at once, `elements` elements. A row has `vectors` of them, and
// each of the cluster's ranks has `pieces` pieces of `piece` vectors, the last of them shorter; a thread holds `held`
// of a piece.
typedef struct row_shape {
    row_form form;
    unsigned in_bytes, out_bytes;  // of an element
    unsigned elements;             // of a vector
    unsigned access;               // what is read begins beside a vector by a multiple of so many elements: fewer than a vector has, or no such row
    bool     unaligned;            // of peeled rows that are loaded so: pointers may be beside a vector, too
    bool     anywhere;             // of peeled rows: a vector may begin at any element of a row, whatever the strides are
    bool     across;               // peeled rows: vectors are taken out of two of what is read; else they are loaded in parts
    bool     peeled;               // a row is some elements, vectors, and some elements (peel.c); `vectors`: the most
    bool     transposed;           // lanes have rows, which come and go through shared memory (transpose.c)
    uint64_t columns, stride, out_stride, vectors;
    unsigned cluster;  // blocks a row; 0: no cluster
    unsigned blocks;   // a row, of the spread form; else 0
    bool     counted;  // … whose groups take the rows after their first from a work counter
    unsigned warps, rows_per_block;
    unsigned slot_words;  // of a partial in shared memory: 1, 2 or 4
    unsigned lanes;   // of a warp, on a row, where a block has several
    unsigned unroll;  // short rows that a thread loads before it works on the first
    unsigned held, stages;
    uint64_t pieces, piece;
    bool     resident;  // the block's share of weight, bias or mask stays in shared memory, after the stages
    unsigned totals;    // sums over rows, below; 0: none, nor what follows here
    uint64_t strips;    // of rows, in each of which a block adds up a piece; 0: rows are held, and read once
    unsigned shares;    // of a row, whose values come one by one
    unsigned slices;    // of all partials of a column, which as many warps add up
} row_shape;

// That work on a row: threads of one block; blocks.
static inline unsigned cj__row_threads(const row_shape *s) {
    return s->rows_per_block > 1 ? s->lanes : s->warps * ROW_WARP;
}
static inline unsigned cj__row_blocks(const row_shape *s) {
    return s->blocks ? s->blocks : s->cluster ? s->cluster : 1;
}

// ---- what a family says

// What its kernel reads and writes: matrices of `dtype` or of `out`; one value a column, of dtype (weight, bias, mask); one
// value a row, of `type`; a sum over all rows for each column, of out. In the order of the kernel's parameters.
typedef enum row_role { ROW_INPUT, ROW_OUTPUT, ROW_COLUMN, ROW_EACH, ROW_TOTAL } row_role;

typedef struct row_operand {
    const char *name, *help;
    row_role    role;
    const char *type;    // ROW_EACH: "f32", "s64"
    uint64_t    period;  // ROW_INPUT: rows after which the matrix repeats; 0: none
} row_operand;

// How partials combine: each value a sum; the largest t and the sum of 2^(base * (t - largest)), and sums; count, mean and the
// sum of squared distances from the mean.
typedef enum row_fold { ROW_FOLD_SUM, ROW_FOLD_EXP, ROW_FOLD_MOMENTS } row_fold;

typedef struct row_part {
    cj_reg value[ROW_VALUES];
} row_part;

typedef struct row_kernel row_kernel;

// The thread's element beside the vectors of a peeled row: as a row of its own has it.
typedef struct row_edge {
    cj_reg column, left, written;
    cj_reg at[ROW_OPERANDS], raw[ROW_INPUTS][ROW_WORDS], kept[ROW_OPERANDS][ROW_WORDS];
} row_edge;

// How an array's vectors stand beside those that are wanted: whether these begin half a vector later, a quarter, an eighth; and how
// that divides words, for prmt.
enum { ROW_SHIFTS = 3 };

typedef struct row_shift {
    cj_reg by[ROW_SHIFTS], halves;
} row_shift;

// One vector on its way: elements of the inputs, and of what is written.
typedef struct row_vector {
    unsigned      number;            // v of the piece
    const cj_reg *word[ROW_INPUTS];  // as loaded: elements of f32, or pairs of narrower ones, or one of these alone
    cj_reg        in[ROW_INPUTS][ROW_ELEMENTS], out[ROW_OUTPUTS][ROW_ELEMENTS];
} row_vector;

// Functions that may be NULL are not needed.
typedef struct row_op {
    row_operand operand[ROW_OPERANDS];
    unsigned    operands, inputs, outputs, columns, each, totals;
    unsigned    nth[ROW_TOTAL + 1][ROW_OPERANDS];  // the numbers of those of a role
    row_fold    fold;  // with totals: sums, of which finish makes multiples
    double      base;  // of ROW_FOLD_EXP: what a distance is multiplied by, for a power of 2
    unsigned    values;
    unsigned    swept;                                     // the first input that sweeps take
    bool        in_pairs;                                  // the first sweep takes words if they are pairs, not `in`
    void (*prepare)(row_kernel *k);                        // before the row's elements are there
    void (*before)(row_kernel *k);                         // before the first sweep
    void (*sweep[2])(row_kernel *k, const row_vector *v);  // elements of a piece into k->part
    void (*between)(row_kernel *k);                        // between the two sweeps
    void (*after)(row_kernel *k);                          // after them: k->part is the thread's
    void (*finish)(row_kernel *k);                         // k->part is the row's
    void (*write)(row_kernel *k, const row_vector *v);     // makes v->out, and adds to k->total
    bool        by_first;                                  // k->first reads or writes a value of the row
    bool        columns_written;                           // weight and bias are for write alone, not for sweeps
    max_align_t own[ROW_OWN_BYTES / sizeof(max_align_t)];  // the family's values, for these functions
} row_op;

// cj_family.own of a family of rows: fills `op`, which is zero, or refuses parameters.
typedef struct row_family {
    cj_status (*describe)(const cj_plan *plan, row_op *op, cj_error *error);
} row_family;

// A family, {ROW_FAMILY("softmax", "rows of …")}, of its file's `params` and `rows`.
#define ROW_FAMILY(name_, summary_) CJ_FAMILY(name_, summary_, params, cj__row_plan, cj__row_emit), .own = &rows

// ---- the kernel

// Where partials are exchanged.
typedef struct row_exchange {
    cj_reg  slots, turn;  // address; bytes from the slots of one row to those of the next; or cj_none()
    cj_reg  leads;        // thread 0, where partials are pushed or mailed
    cj_push push;

    // Of a spread row.
    cj_reg tag, rows;
    cj_reg taken, next;      // the next row: as rank 0 has it from the work counter, and then all
    cj_reg row_at, next_at;  // where the block's warps find the row's partial and the next row, in shared memory
} row_exchange;

struct row_kernel {
    const cj_plan   *plan;
    row_op          *op;
    const row_shape *s;
    cj_func         *f;
    cj_var           param[ROW_OPERANDS], rows, turn, workspace;
    cj_reg           thread, lane, warp, rank;  // thread: of those that work on the row
    cj_reg           base[ROW_OPERANDS];        // addresses
    cj_reg           first;                     // the thread that writes the values of a row; none where none are (by_first)
    row_part         part;
    row_exchange     x;

    // Of the row, and of the piece of it that is being worked on.
    cj_reg row;                                        // u32
    cj_reg column;                                     // the thread's first, u32
    cj_reg left;                                       // vectors from the thread's first on, s32
    cj_reg written;                                    // the same, of short rows: 0 where there is no row to be written
    cj_reg at[ROW_OPERANDS];                           // matrices: of the thread's first vector
    cj_reg raw[ROW_INPUTS][ROW_TRANSPOSED][ROW_WORDS]; // the elements that the thread holds
    cj_reg passing[ROW_INPUTS][ROW_WORDS];             // one vector of those that stay in shared memory
    cj_reg kept[ROW_OPERANDS][ROW_HELD][ROW_WORDS];    // weight and bias, once registers keep them
    bool   keeps;                                      // whether these are made
    unsigned skipped;                                  // so many inputs, the first ones, are not loaded
    cj_reg resident_at[ROW_OPERANDS];                  // where column 0 of these would be in shared memory
    cj_reg total[ROW_TOTALS][ROW_HELD][ROW_ELEMENTS];  // sums over rows
    // Of a peeled row.
    row_edge edge;
    cj_reg   vector, piece;  // the thread's first; of the row
    cj_reg   aligned;        // the column that `column` would be if the row began with a vector
    row_shift head;        // by which weight, bias and mask, which begin with vectors, stand beside the row's
    cj_reg   no_row;         // short rows: whether there is none to be written
    cj_reg    whole, whole_too;       // unaligned: whether all that is read begins with vectors; whether the second output does
    // Of a row that is loaded across vectors.
    cj_reg    below[ROW_OPERANDS];    // of what is read: where the vector is in which the thread's first one begins
    row_shift beside[ROW_OPERANDS];   // and how far after it that is

    // Of transposed rows: the warp's image of them in shared memory, and of a row in it that is to be written; the first row; the
    // elements from the lane's first on.
    cj_reg image, written_at, image_row, image_left;

    cj_reg stage_at;                                   // of the thread's first vector in shared memory
    bool   in_shared;                                  // elements are read from stage_at
};

// Those of each family: the shape is chosen, and written back into the plan's parameters; then it is read, and emitted.
cj_status cj__row_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);
void      cj__row_emit(const cj_plan *plan, cj_builder *builder);

// ---- for families. Calls that return a register make it.

unsigned    cj__row_add(row_op *op, row_role role, const char *name, const char *type, const char *help);  // its number
const char *cj__row_type(const cj_plan *plan, unsigned param);  // "f32", "f16", "bf16" of dtype and out

bool        cj__row_in_place(const row_kernel *k);  // whether write finds what sweeps have written into elements
bool        cj__row_in_pairs(const row_kernel *k);  // whether the first sweep gets pairs
cj_reg      cj__row_f32(row_kernel *k, const char *name, double value);         // a constant
cj_reg      cj__row_load_each(row_kernel *k, unsigned operand);                 // the row's value
void        cj__row_store_each(row_kernel *k, unsigned operand, cj_reg value);  // by the first thread
void        cj__row_load_column(row_kernel *k, unsigned operand, unsigned v, cj_reg into[ROW_ELEMENTS]);
cj_reg      cj__row_count(row_kernel *k);              // the thread's elements of the piece, f32

static inline const char *cj__row_store_global(const row_kernel *k) {
    return k->plan->params.value[ROW_STORE] == ROW_STORE_PLAIN ? "st.global" : "st.global.cs";
}

#endif
