// SPDX-License-Identifier: Apache-2.0
// The row engine: kernels that read each row of a matrix, bring a few values of it together, and write what follows
// from them. row.c tells the algorithm; row_plan.c chooses the shape; row_load.c moves elements; row_fold.c brings
// values together; row_direct.c, row_stream.c and row_spread.c write a form each; row_total.c has sums over rows. A
// family says what is done with elements (row_op).
#ifndef CJ_TEMPLATES_ROW_H
#define CJ_TEMPLATES_ROW_H

#include "family.h"

// The parameters that every family of rows begins with; its own follow from ROW_OWN on.
enum {
    ROW_ROWS,
    ROW_COLUMNS,
    ROW_DTYPE,
    ROW_OUT,
    ROW_STRIDE,
    ROW_OUT_STRIDE,
    ROW_ALIGN,
    ROW_FORM,
    ROW_CLUSTER,
    ROW_BLOCKS,
    ROW_WARPS,
    ROW_VECTORS,
    ROW_STAGES,
    ROW_PIECES,
    ROW_RESIDENT,
    ROW_GRID,
    ROW_OWN
};

#define ROW_PARAMS                                                                                                     \
    [ROW_ROWS] = {.name = "rows", .minimum = 1, .maximum = 1 << 26, .initial = "1024", .help = "rows of the matrix"},  \
    [ROW_COLUMNS] = {.name = "columns",                                                                                \
                     .minimum = 1,                                                                                     \
                     .maximum = 1 << 28,                                                                               \
                     .initial = "4096",                                                                                \
                     .help = "elements of a row"},                                                                     \
    [ROW_DTYPE] = {.name = "dtype",                                                                                    \
                   .choices = "f32 f16 bf16",                                                                          \
                   .initial = "f32",                                                                                   \
                   .help = "type of what is read; computed in f32"},                                                   \
    [ROW_OUT] = {.name = "out", .choices = "same f32 f16 bf16", .initial = "same", .help = "type of what is written"}, \
    [ROW_STRIDE] = {.name = "stride",                                                                                  \
                    .minimum = 0,                                                                                      \
                    .maximum = 1 << 29,                                                                                \
                    .initial = "0",                                                                                    \
                    .help = "elements from row to row of what is read; 0: columns"},                                   \
    [ROW_OUT_STRIDE] = {.name = "out-stride",                                                                          \
                        .minimum = 0,                                                                                  \
                        .maximum = 1 << 29,                                                                            \
                        .initial = "0",                                                                                \
                        .help = "elements from row to row of what is written; 0: columns"},                            \
    [ROW_ALIGN] = {.name = "align",                                                                                    \
                   .choices = "16 8 4 2",                                                                              \
                   .initial = "16",                                                                                    \
                   .help = "bytes that all pointers to elements are multiples of"},                                    \
    [ROW_FORM] = {.name = "form",                                                                                      \
                  .choices = "auto direct stream spread",                                                              \
                  .initial = "auto",                                                                                   \
                  .tune = "direct stream spread",                                                                      \
                  .help = "direct: a row a block or cluster; stream: clusters stay, and rows come by bulk copies;"     \
                          " spread: few rows, each of as many blocks as there are"},                                   \
    [ROW_CLUSTER] = {.name = "cluster",                                                                                \
                     .maximum = 16,                                                                                    \
                     .automatic = true,                                                                                \
                     .initial = "auto",                                                                                \
                     .tune = "0 1 2 4 8 16",                                                                           \
                     .help = "blocks a row; 0: generate without clusters"},                                            \
    [ROW_BLOCKS] = {.name = "blocks",                                                                                  \
                    .minimum = 1,                                                                                      \
                    .maximum = ROW_BLOCKS_MAX,                                                                         \
                    .automatic = true,                                                                                 \
                    .initial = "auto",                                                                                 \
                    .tune = "8 16 32 64 128",                                                                          \
                    .help = "spread: blocks a row, whose parts meet in global memory"},                                \
    [ROW_WARPS] = {.name = "warps",                                                                                    \
                   .minimum = 1,                                                                                       \
                   .maximum = 32,                                                                                      \
                   .automatic = true,                                                                                  \
                   .initial = "auto",                                                                                  \
                   .tune = "4 8 16",                                                                                   \
                   .help = "warps of a block that work on a row; stream has one more that loads"},                     \
    [ROW_VECTORS] = {.name = "vectors",                                                                                \
                     .minimum = 1,                                                                                     \
                     .maximum = 8,                                                                                     \
                     .automatic = true,                                                                                \
                     .at_most = true,                                                                                  \
                     .initial = "auto",                                                                                \
                     .help = "loads of a thread that are held in registers at once, at most"},                         \
    [ROW_STAGES] = {.name = "stages",                                                                                  \
                    .minimum = 1,                                                                                      \
                    .maximum = 4,                                                                                      \
                    .automatic = true,                                                                                 \
                    .initial = "auto",                                                                                 \
                    .tune = "1 2 3",                                                                                   \
                    .help = "stream: pieces that fit shared memory at once"},                                          \
    [ROW_PIECES] = {.name = "pieces",                                                                                  \
                    .minimum = 1,                                                                                      \
                    .maximum = 1 << 20,                                                                                \
                    .automatic = true,                                                                                 \
                    .initial = "auto",                                                                                 \
                    .tune = "1 2 3 4",                                                                                 \
                    .help = "pieces of a block's share of a row; direct reads them twice where there are several"},    \
    [ROW_RESIDENT] = {.name = "resident",                                                                              \
                      .choices = "auto no yes",                                                                        \
                      .initial = "auto",                                                                               \
                      .tune = "no yes",                                                                                \
                      .help = "stream, yes: what each column has (weights, a mask) stays in shared memory"},           \
    [ROW_GRID] = {.name = "grid",                                                                                      \
                  .minimum = 1,                                                                                        \
                  .maximum = INT32_MAX,                                                                                \
                  .automatic = true,                                                                                   \
                  .initial = "auto",                                                                                   \
                  .help = "stream, spread, and sums over rows: blocks in the grid, a multiple of those of a row"}

enum {
    ROW_INPUTS = 2,
    ROW_OUTPUTS = 2,
    ROW_OPERANDS = 9,
    ROW_ELEMENTS = 8,
    ROW_WORDS = 4,
    ROW_HELD = 8,
    ROW_VALUES = 4,
    ROW_TOTALS = 2,
    ROW_WARP = 32,
    ROW_PIECES_MAX = 32,   // of a stream
    ROW_BLOCKS_MAX = 1024  // of a spread row
};

typedef enum row_form { ROW_AUTO, ROW_DIRECT, ROW_STREAM, ROW_SPREAD } row_form;
enum { ROW_RESIDENT_AUTO, ROW_RESIDENT_NO, ROW_RESIDENT_YES };

// How rows are cut, in vectors: what a thread loads at once, `elements` elements. A row has `vectors` of them, and
// each of the cluster's ranks has `pieces` pieces of `piece` vectors, the last of them shorter; a thread holds `held`
// of a piece.
typedef struct row_shape {
    row_form form;
    unsigned in_bytes, out_bytes;  // of an element
    unsigned elements;             // of a vector
    uint64_t columns, stride, out_stride, vectors;
    unsigned cluster;  // blocks a row; 0: no cluster
    unsigned blocks;   // a row, of the spread form; else 0
    bool     claims;   // … whose groups claim the rows behind their first
    unsigned warps, rows_per_block;
    unsigned held, stages;
    uint64_t pieces, piece;
    bool     resident;  // the block's share of what columns have stays in shared memory, behind the stages
    unsigned totals;    // sums over rows, below; 0: none, nor what follows here
    uint64_t strips;    // of rows, in each of which a block adds up a piece; 0: rows are held, and read once
    unsigned shares;    // of a row, whose values come one by one
    unsigned slices;    // of all parts of a column, which as many warps add up
} row_shape;

unsigned cj__row_threads(const row_shape *s);  // that work on a row, of one block
unsigned cj__row_blocks(const row_shape *s);   // that work on a row

// ---- what a family says

// What its kernel reads and writes: matrices of `dtype` or of `out`; one value for each column, of dtype; one value
// for each row, of `type`; a sum over all rows for each column, of out. In the order of the kernel's parameters.
typedef enum row_role { ROW_INPUT, ROW_OUTPUT, ROW_COLUMN, ROW_EACH, ROW_TOTAL } row_role;

typedef struct row_operand {
    const char *name, *help;
    row_role    role;
    const char *type;    // ROW_EACH: "f32", "s64"
    uint64_t    period;  // ROW_INPUT: rows after which the matrix repeats; 0: none
} row_operand;

// How values come together: each a sum; the largest t and the sum of 2^(t - largest), and sums; count, mean and the
// sum of squared distances from the mean.
typedef enum row_fold { ROW_FOLD_SUM, ROW_FOLD_EXP, ROW_FOLD_MOMENTS } row_fold;

typedef struct row_part {
    cj_reg value[ROW_VALUES];
} row_part;

typedef struct row_kernel row_kernel;

// One vector on its way: elements of the inputs, and of what is written.
typedef struct row_vector {
    unsigned      number;            // v of the piece
    const cj_reg *word[ROW_INPUTS];  // as loaded: elements of f32, or pairs of narrower ones, or one of these alone
    cj_reg        in[ROW_INPUTS][ROW_ELEMENTS], out[ROW_OUTPUTS][ROW_ELEMENTS];
} row_vector;

typedef struct row_op {
    row_operand operand[ROW_OPERANDS];
    unsigned    operands, inputs, outputs, columns, totals;
    row_fold    fold;  // with totals: sums, of which finish makes multiples
    unsigned    values;
    void (*prepare)(row_kernel *k);                        // of a row, before its elements are there; may be NULL
    bool in_pairs;                                         // the first sweep takes words where they are pairs, not `in`
    void (*before)(row_kernel *k);                         // the first sweep; may be NULL
    void (*sweep[2])(row_kernel *k, const row_vector *v);  // elements of a piece into k->part; the second may be NULL
    void (*between)(row_kernel *k);                        // the two sweeps; may be NULL
    void (*after)(row_kernel *k);                          // them, where the part is not yet one; may be NULL
    void (*finish)(row_kernel *k);                         // k->part is the row's
    void (*give)(row_kernel *k, const row_vector *v);  // what is written, and adds to k->total; NULL with no outputs
    bool        columns_given;                         // what columns have is for give alone, not for sweeps
    const void *own;                                   // the family's, for these functions
} row_op;

// ---- the kernel

struct row_kernel {
    const cj_plan   *plan;
    const row_op    *op;
    const row_shape *s;
    cj_func         *f;
    cj_var           param[ROW_OPERANDS], rows, turn, workspace;
    cj_reg           thread, lane, warp, rank;  // thread: of those that work on the row
    cj_reg           row;                       // u32
    cj_reg           first;                     // the thread that writes what a row has once
    cj_reg           column;                    // the thread's first column in the piece, u32
    cj_reg           left;                      // vectors of the piece from the thread's first on, s32
    cj_reg           base[ROW_OPERANDS];        // addresses, of matrices with the thread's column in it
    cj_reg           at[ROW_OPERANDS];          // matrices: of the thread's first vector in this row
    bool             in_place;                  // what sweeps write into elements is found again by give
    bool             in_shared;                 // elements are read from shared memory, at stage_at
    cj_reg           stage_at;
    cj_reg           resident_at[ROW_OPERANDS];                // where column 0 of it would be in shared memory
    cj_reg           kept[ROW_OPERANDS][ROW_HELD][ROW_WORDS];  // of columns, as loaded, where registers keep them
    cj_reg           raw[ROW_INPUTS][ROW_HELD][ROW_WORDS], passing[ROW_INPUTS][ROW_WORDS];
    cj_reg           total[ROW_TOTALS][ROW_HELD][ROW_ELEMENTS];
    row_part         part;
    void            *own;  // registers of the family
};

// The shape of a plan, chosen and written back into its parameters; and read from them. `op` says how many matrices
// there are.
cj_status cj__row_plan(cj_plan *plan, const row_op *op, const cj_limits *limits, bool clusters, cj_error *error);
void      cj__row_read(const cj_plan *plan, const row_op *op, row_shape *s);

// Writes the kernel. `own` is k->own.
void cj__row_emit(const cj_plan *plan, const row_op *op, void *own, cj_builder *builder);

// ---- for families

bool        cj__row_in_pairs(const row_kernel *k);  // whether the first sweep gets pairs
void        cj__row_unpack(row_kernel *k, cj_reg pair, const cj_reg to[2]);
cj_reg      cj__row_f32(row_kernel *k, const char *name, double value);         // a new register with a constant
cj_reg      cj__row_load_each(row_kernel *k, unsigned operand, cj_reg when);    // the row's value, a new register
void        cj__row_store_each(row_kernel *k, unsigned operand, cj_reg value);  // by the first thread
void        cj__row_load_column(row_kernel *k, unsigned operand, unsigned v, cj_reg into[ROW_ELEMENTS]);
cj_reg      cj__row_load_rows(row_kernel *k);                          // how many there are, a new u32
cj_reg      cj__row_count(row_kernel *k);                              // the thread's elements of the piece, a new f32
const char *cj__row_type(const cj_plan *plan, unsigned param);         // "f32", "f16", "bf16" of dtype and out
const char *cj__row_load_global(const row_kernel *k);                  // "ld.global.nc", or "ld.global"
void        cj__row_convert(row_kernel *k, cj_reg into, cj_reg half);  // one element of dtype, as loaded

unsigned cj__row_nth(const row_op *op, row_role role, unsigned n);  // the index of the n-th operand of that role
void     cj__row_add_operand(row_op *op, row_role role, const char *name, const char *type, const char *help);
void     cj__row_add_repeated(row_op *op, const char *name, uint64_t period, const char *help);  // an input matrix

// ---- for the engine

void cj__row_load_piece(row_kernel *k);   // from global memory, at k->at, into registers
void cj__row_fetch_piece(row_kernel *k);  // from shared memory, at k->stage_at, into registers
void cj__row_new_registers(row_kernel *k);
void cj__row_keep_columns(row_kernel *k);  // loads what columns of this piece have into registers, if there are enough
void cj__row_take(row_kernel *k);          // sweeps: a piece into k->part
void cj__row_give(row_kernel *k);          // a piece's outputs
void cj__row_place(row_kernel *k);         // k->at of k->row
void cj__row_set_piece(row_kernel *k, cj_reg piece);  // column and left of the piece of that number in the row

// k->row, or, of an operand that repeats, the row of it that this one has: a new register.
cj_reg cj__row_of(row_kernel *k, unsigned operand);

// into = the parts together, of all lanes too if `lanes`. into may be among the parts.
void     cj__row_fold(row_kernel *k, const row_part *into, const row_part *part, unsigned parts, bool lanes);
row_part cj__row_part_new(row_kernel *k, const char *name);
void     cj__row_part_clear(row_kernel *k, const row_part *part);
unsigned cj__row_slot_words(const row_op *op);  // of a part in shared memory: 1, 2 or 4

void cj__row_slot_values(const row_kernel *k, cj_reg value[ROW_VALUES]);  // k->part, as a slot has it
void cj__row_store_slot(row_kernel *k, cj_reg when, cj_reg slot);         // k->part
void cj__row_load_slot(row_kernel *k, const row_part *part, cj_reg slot, unsigned offset, cj_reg when);

// k->part = all slots of an array of `count` parts at the address `slots`, in every lane of every warp that executes
// it.
void cj__row_fold_slots(row_kernel *k, cj_reg slots, unsigned count);

// Where the parts of a row's blocks meet in global memory, and the row's tag (row_spread.c).
typedef struct row_posts {
    cj_reg tag, rows, leads;  // leads: the block's thread 0
    cj_reg claimed, next;     // the next row: as rank 0 has it, and then all
    cj_reg row, next_at;      // where the block's warps find the row's part and the next row, in shared memory
} row_posts;

// Where the parts of a block's or a cluster's warps meet: once, or, `again`, for row after row.
typedef struct row_meeting {
    cj_reg    slots, met, turn;  // addresses; bytes from the slots of one row to those of the next
    cj_reg    leads;             // thread 0, where parts are pushed
    row_posts posts;             // of the spread form
} row_meeting;

row_meeting cj__row_meeting(row_kernel *k, bool again);
void        cj__row_meet(row_kernel *k, const row_meeting *m);  // k->part becomes that of the row, in every lane

void cj__row_held(row_kernel        *k,
                  const row_meeting *m);  // a row that registers hold, of k->row and the piece that is set

// The values of pieces `piece` to `last`, two registers of which the first is counted up: a new part.
row_part cj__row_values(row_kernel *k, cj_reg piece, cj_reg last);

void cj__row_set_share(row_kernel *k);                    // column and left of the block's one piece
void cj__row_twice(row_kernel *k, const row_meeting *m);  // a row that is read twice

unsigned cj__row_post_copies(const row_shape *s);
size_t   cj__row_copy_bytes(const row_op *op, const row_shape *s, uint32_t blocks);  // from one to the next
unsigned cj__row_spread_registers(const cj_plan *plan, const row_op *op, const row_shape *s);
size_t   cj__row_posts_bytes(const row_op *op, const row_shape *s, uint32_t blocks);  // of the workspace
void cj__row_keep_behind(row_kernel *k, bool row);  // keeps columns, behind the row's loads or its meeting's first step
row_posts cj__row_posts(row_kernel *k);
void      cj__row_meet_posts(row_kernel *k, const row_posts *p, cj_reg slots);  // of the block's warps

void cj__row_emit_direct(row_kernel *k);
void cj__row_emit_spread(row_kernel *k);
void cj__row_emit_stream(row_kernel *k);

// Sums over rows. What the kernel writes behind the rows' own launches goes to a label of its own: _turns branches
// there, and _add_up writes it.
cj_label cj__row_total_turns(row_kernel *k);
void     cj__row_total_clear(row_kernel *k);
void     cj__row_total_store(row_kernel *k, cj_reg part);  // as that part of all sums
void     cj__row_store_totals(row_kernel *k, cj_reg at);   // the thread's, from address `at` of its first column on
void     cj__row_total_add_up(row_kernel *k, cj_label here, const char *parts);
void     cj__row_emit_dealt(row_kernel *k);                             // the direct form with sums
uint64_t cj__row_total_parts(const cj_plan *plan, const row_shape *s);  // of each column
uint64_t cj__row_total_values_at(const cj_plan   *plan,
                                 const row_shape *s);  // bytes of the workspace before the rows' values

#endif
