// SPDX-License-Identifier: Apache-2.0
// stencil, register forms: a warp holds a row of the grid, each lane `columns` columns of it; shuffles bring the columns next
// to a lane's own.
#include "stencil.h"

stencil_row cj__stencil_row(const kernel *k, const char *name) {
    stencil_row row;
    cj_registers(k->f, k->s->type, name, k->s->columns + 2 * k->s->radius, row.at);
    return row;
}

// A box needs the neighbours' columns of all rows, a star only those of the row in the middle: its other rows are the lane's own
// columns alone.
static uint32_t begin_of(const stencil *s) { return s->box ? 0 : s->radius; }
static uint32_t end_of(const stencil *s) { return s->columns + (s->box ? 2 : 1) * s->radius; }

void cj__stencil_row_move(const kernel *k, const stencil_row *into, const stencil_row *from, bool own) {
    const uint32_t r = k->s->radius, end = own ? r + k->s->columns : end_of(k->s);
    for (uint32_t i = own ? r : begin_of(k->s); i < end; i++) cj_set(k->f, into->at[i], from->at[i]);
}

static cj_arg zero_of(const stencil *s) { return s->bytes == 4 ? cj_arg_f32(0) : cj_arg_f64(0); }

void cj__stencil_row_zero(const kernel *k, const stencil_row *row) {
    for (uint32_t i = begin_of(k->s); i < end_of(k->s); i++) cj_set(k->f, row->at[i], zero_of(k->s));
}

stencil_ends cj__stencil_row_ends(const kernel *k, cj_reg x) {
    const stencil *s = k->s;
    if (s->boundary == BOUNDARY_PERIODIC && s->strips > 1) return (stencil_ends){.wraps = false};
    cj_reg         first = cj_eq(k->f, "first", x, 0), last = cj_eq(k->f, "last", x, s->n[0] - s->columns);
    stencil_ends   e = {.first = first, .last = last, .wraps = s->boundary == BOUNDARY_PERIODIC && s->strips == 1};
    if (!e.wraps) return e;
    e.left = cj_sub(k->f, "lane_left", k->lane, 1);
    cj_set_if(k->f, first, e.left, s->n[0] / s->columns - 1);
    e.right = cj_add(k->f, "lane_right", k->lane, 1);
    cj_set_if(k->f, last, e.right, 0);
    return e;
}

// into = what the lane before this has in `from` (left), or the lane after it.
static void shuffle(const kernel *k, const stencil_ends *e, cj_reg into, cj_reg from, bool left) {
    const char  *mode = e->wraps ? "idx" : left ? "up" : "down";
    const cj_arg lane = e->wraps ? CJ_ARG(left ? e->left : e->right) : CJ_ARG(1);
    cj__shuffle(k->f, mode, k->s->bytes, into, from, lane, left && !e->wraps ? 0 : WARP - 1);
}

void cj__stencil_row_sides(const kernel *k, const stencil_ends *ends, const stencil_row *row) {
    const stencil *s = k->s;
    const uint32_t r = s->radius, columns = s->columns;
    const bool     zero = s->boundary == BOUNDARY_ZERO;
    for (uint32_t d = 0; d < r; d++) {
        cj_reg left = row->at[d], right = row->at[r + columns + d];
        shuffle(k, ends, left, row->at[columns + d], true);
        shuffle(k, ends, right, row->at[r + d], false);
        if (s->boundary == BOUNDARY_PERIODIC) continue;
        cj_set_if(k->f, ends->first, left, zero ? zero_of(s) : CJ_ARG(row->at[r]));
        cj_set_if(k->f, ends->last, right, zero ? zero_of(s) : CJ_ARG(row->at[r + columns - 1]));
    }
}

typedef struct window {
    const stencil_row *const *rows;
    uint32_t                  radius, column;
} window;

static cj_reg tap_in(void *user, const stencil_tap *tap) {
    const window *w = user;
    const int32_t r = (int32_t)w->radius;
    return w->rows[tap->at[1] + r]->at[(int32_t)w->column + r + tap->at[0]];
}

void cj__stencil_row_sum(const kernel *k, const stencil_row *into, const stencil_row *const *rows) {
    window w = {rows, k->s->radius, 0};
    for (; w.column < k->s->columns; w.column++) cj__stencil_sum(k, into->at[k->s->radius + w.column], tap_in, &w);
}

const cj_reg *cj__stencil_row_piece(const kernel *k, const stencil_row *row, uint32_t piece) {
    return &row->at[k->s->radius + piece * cj__stencil_row_count(k)];
}

void cj__stencil_row_load(const kernel *k, const char *load, const stencil_row *row, cj_reg address, uint32_t pitch) {
    for (uint32_t p = 0; p < cj__stencil_row_pieces(k); p++)
        cj__load(k->f, cj_always(), load, k->s->type, cj__stencil_row_piece(k, row, p), cj__stencil_row_count(k),
                 address, p * pitch);
}

void cj__stencil_row_store(const kernel *k, cj_reg when, const char *store, const stencil_row *row, cj_reg address,
                           uint32_t pitch) {
    for (uint32_t p = 0; p < cj__stencil_row_pieces(k); p++)
        cj__store(k->f, when, store, k->s->type, cj__stencil_row_piece(k, row, p), cj__stencil_row_count(k), address,
                  p * pitch);
}
