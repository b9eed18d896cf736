// SPDX-License-Identifier: Apache-2.0
// Short rows: groups of a warp's lanes have a row each, or a few, whose loads are all in flight before the first is worked on.
//
//   block   group 0 | group 1 | …   first rows
//           group 0 | group 1 | …   second rows, …
//
// All lanes of a warp take part in each shuffle. So a group after the last row works on that one, and writes nothing: no output,
// and no sum over rows.
#include "engine.h"

// What one row has of its own, the family's values among it.
typedef struct short_row {
    row_kernel k;
    row_op     op;
} short_row;

// The n-th row of the thread's group.
static void begin_row(row_kernel *k, cj_reg first_row, unsigned n, cj_reg rows) {
    cj_func       *f = k->f;
    const unsigned groups = k->s->rows_per_block / k->s->unroll;
    k->row = cj_add(f, "row", first_row, n * groups);
    if (k->op->by_first)
        k->first = cj_let(f, "pred", "first", "setp.lt.and.u32 $1, $2, $3, $4;", k->row, rows, k->first);
    if (k->s->peeled) {
        k->no_row = cj_ge(f, "no_row", k->row, rows);
    } else if (k->op->outputs) {
        k->written = cj_mov(f, "s32", "written", k->left);
        cj_set_if(f, cj_ge(f, "no_row", k->row, rows), k->written, 0);
    }
    cj_update(f, k->row, "min", cj_sub(f, "last_row", rows, 1));
}

void cj__row_short(row_kernel *k, cj_reg first_row, cj_reg rows) {
    const row_shape *s = k->s;
    short_row        each[ROW_AHEAD];
    for (unsigned n = 0; n < s->unroll; n++) {
        row_kernel *row = &each[n].k;
        each[n] = (short_row){*k, *k->op};
        row->op = &each[n].op;
        if (n) cj__row_new_registers(row);
        cj_step(k->f, "its row %u goes into registers", n);
        begin_row(row, first_row, n, rows);
        cj__row_load(row);
    }
    for (unsigned n = 0; n < s->unroll && k->op->prepare; n++) k->op->prepare(&each[n].k);
    if (s->unroll > 1)  // in a loop ptxas moves the loads of all rows but the first after the work on that one
        cj__keep_loads(k->f, cj_eq(k->f, "no_rows", rows, 0), cj__row_word_type(k), each[s->unroll - 1].k.raw[0][0], 1);
    for (unsigned n = 0; n < s->unroll; n++) cj__row_work(&each[n].k);
    if (s->transposed && k->op->outputs) cj__row_image_store(&each[0].k);
}
