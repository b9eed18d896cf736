// SPDX-License-Identifier: Apache-2.0
// The shape of rows: what a family reads and writes, how rows are cut into vectors and pieces, and what a plan says of
// it.
#include "engine.h"

const char *cj__row_type(const cj_plan *plan, unsigned param) {
    static const char *const types[] = {"f32", "f16", "bf16"};
    const uint64_t           dtype = plan->params.value[ROW_DTYPE], out = plan->params.value[ROW_OUT];
    return types[param == ROW_OUT && out ? out - 1 : dtype];
}

// ---- operands

unsigned cj__row_add(row_op *op, row_role role, const char *name, const char *type, const char *help) {
    unsigned *const count[] = {&op->inputs, &op->outputs, &op->columns, &op->each, &op->totals};
    op->operand[op->operands] = (row_operand){name, help, role, type, 0};
    op->nth[role][(*count[role])++] = op->operands;
    return op->operands++;
}

// ---- cuts

// The vector: as wide as alignment, strides and columns allow, 16 bytes at most.
void cj__row_problem(const cj_plan *plan, const row_op *op, row_shape *s) {
    const uint64_t *value = plan->params.value;
    *s = (row_shape){.columns = value[ROW_COLUMNS], .rows_per_block = 1, .pieces = 1, .totals = op->totals};
    s->slot_words = op->values == 3 ? 4 : op->values;
    s->lanes = ROW_WARP;
    s->unroll = 1;
    s->in_bytes = value[ROW_DTYPE] ? 2 : 4;
    s->out_bytes = cj__row_type(plan, ROW_OUT)[1] == '3' ? 4 : 2;
    s->stride = cj__stride(plan, ROW_STRIDE, s->columns);
    s->out_stride = cj__stride(plan, ROW_OUT_STRIDE, s->columns);
    if (value[ROW_ROWS] == 1) s->stride = s->out_stride = cj__round_up(s->columns, ROW_ELEMENTS);  // to no other row
    const unsigned widest = (unsigned)cj__most(s->in_bytes, s->out_bytes);
    s->elements = cj__load_width(value[ROW_ALIGN], widest, s->columns | s->stride | s->out_stride);
    s->access = s->elements;
    s->vectors = s->columns / s->elements;
}

// Whether one matrix alone is accessed: the kernel finds where its rows' vectors begin, whatever its pointer is a multiple of.
static bool is_alone(const row_op *op) { return op->inputs == 1 && !op->outputs; }

// Elements of a vector of peeled rows, at most: every matrix's row of a number begins as far after a vector's start as any other's.
unsigned cj__row_peel_most(const cj_plan *plan, const row_op *op, const row_shape *s) {
    uint64_t apart = s->stride > s->out_stride ? s->stride - s->out_stride : s->out_stride - s->stride;
    if (!op->outputs) apart = 0;
    for (unsigned i = 0; i < op->operands; i++) apart |= op->operand[i].period * s->stride;
    const uint64_t align = is_alone(op) ? 0 : plan->params.value[ROW_ALIGN];
    return cj__load_width(align, (unsigned)cj__most(s->in_bytes, s->out_bytes), apart);
}

// Elements of a vector that is loaded in parts, or across two, at most: what is written allows so many, if its rows are peeled or begin with
// one. Where pointers are multiples of less than a vector, the kernel finds where vectors begin.
unsigned cj__row_split_most(const cj_plan *plan, const row_shape *s, bool peeled) {
    const uint64_t align = peeled ? 0 : plan->params.value[ROW_ALIGN];
    return cj__load_width(align, (unsigned)cj__most(s->in_bytes, s->out_bytes), peeled ? 0 : s->columns | s->out_stride);
}

// Rows that are loaded across vectors leave one vector more to each edge (peel.c).
void cj__row_widen(const cj_plan *plan, const row_op *op, row_shape *s, unsigned elements, row_wider how) {
    s->access = (unsigned)cj__least(cj__row_peel_most(plan, op, s), elements);
    s->elements = elements;
    s->peeled = how != ROW_PARTS;
    s->across = how == ROW_PEELED_ACROSS;
    s->vectors = s->columns / elements - (s->across ? 2 : 0);
    s->unaligned = how > ROW_PARTS && plan->params.value[ROW_ALIGN];
    s->anywhere = s->unaligned || (s->peeled && is_alone(op) && plan->params.value[ROW_ALIGN]);
}

// Pieces of a stream are whole 16-byte words; those of spread rows are whole cache lines.
void cj__row_cut(row_shape *s) {
    enum { LINE_BYTES = 128 };
    const unsigned unit = s->form == ROW_DIRECT ? 1 : s->form == ROW_SPREAD ? LINE_BYTES : 16;
    s->piece = cj__round_up(cj__ceil_div(s->vectors, cj__row_blocks(s) * s->pieces),
                            cj__most(unit / (s->elements * s->in_bytes), 1));
}

uint64_t cj__row_sum_partials(const cj_plan *plan, const row_shape *s) {
    return s->strips ? s->strips : plan->grid.x / cj__row_blocks(s);
}

uint64_t cj__row_values_offset(const cj_plan *plan, const row_shape *s) {
    return cj__row_sum_partials(plan, s) * s->totals * s->columns * 4;
}

// Every block has something to do: a few tiles if there are as many rows. Every warp has a slice of a few partials.
void cj__row_cut_sums(const cj_plan *plan, row_shape *s) {
    const uint64_t rows = plan->params.value[ROW_ROWS], grid = plan->grid.x;
    const uint64_t warps = plan->block.x / ROW_WARP, sums = s->totals * s->columns;
    s->strips = s->shares = 0;
    if (s->form == ROW_DIRECT && s->pieces > 1) {
        s->strips = cj__least(cj__ceil_div(SUMS_TILES * grid, s->pieces), rows);
        const uint64_t wanted = cj__least(cj__least(cj__ceil_div(grid, rows), SUMS_SHARES), s->pieces);
        s->shares = (unsigned)cj__ceil_div(s->pieces, cj__ceil_div(s->pieces, wanted));
    }
    const uint64_t parts = cj__row_sum_partials(plan, s);
    for (s->slices = 1; 2 * s->slices <= warps; s->slices *= 2)
        if (sums * s->slices >= grid * plan->block.x || parts < (uint64_t)2 * SUMS_SLICE * s->slices) break;
}

// ---- from the plan

cj_status cj__row_op(const cj_plan *plan, row_op *op, cj_error *error) {
    const row_family *family = plan->params.family->own;
    *op = (row_op){0};
    return family->describe(plan, op, error);
}

void cj__row_read(const cj_plan *plan, const row_op *op, row_shape *s) {
    const uint64_t *value = plan->params.value;
    cj__row_problem(plan, op, s);
    const unsigned peel = cj__asked_or(plan, ROW_PEEL, 0), split = cj__asked_or(plan, ROW_SPLIT, 0);
    const row_wider beside = value[ROW_ACROSS] == ROW_YES ? ROW_PEELED_ACROSS : ROW_PEELED_PARTS;
    if (split || peel) cj__row_widen(plan, op, s, split ? split : peel, !split ? ROW_PEELED : peel ? beside : ROW_PARTS);
    s->transposed = value[ROW_TRANSPOSE] == ROW_YES;
    s->form = (row_form)value[ROW_FORM];
    s->cluster = (unsigned)value[ROW_CLUSTER];
    s->blocks = cj__asked_or(plan, ROW_BLOCKS, 0);
    s->held = (unsigned)value[ROW_VECTORS];
    s->stages = cj__asked_or(plan, ROW_STAGES, 0);
    s->pieces = value[ROW_PIECES];
    s->resident = value[ROW_RESIDENT] == ROW_YES;
    s->counted = s->blocks && value[ROW_ROWS] > plan->grid.x / s->blocks;
    s->warps = cj__asked_or(plan, ROW_WARPS, plan->block.x / ROW_WARP);
    if (cj__is_asked(plan, ROW_LANES)) {
        s->lanes = (unsigned)value[ROW_LANES];
        s->unroll = (unsigned)value[ROW_UNROLL];
        s->rows_per_block = cj__row_block_rows(s);
    }
    cj__row_cut(s);
    if (s->totals) cj__row_cut_sums(plan, s);
}
