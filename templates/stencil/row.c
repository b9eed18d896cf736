// SPDX-License-Identifier: Apache-2.0
// stencil, register forms: a warp holds a row, each lane `columns` columns of it, and looks at its neighbours' by
// shuffles.
#include <stdio.h>

#include "stencil.h"

stencil_row cj__stencil_row(kernel *k, const char *name) {
    stencil_row    row;
    const uint32_t width = k->s->columns + 2 * k->s->radius;
    for (uint32_t i = 0; i < width; i++) {
        char element[32];
        snprintf(element, sizeof element, "%s_%u", name, i);
        row.at[i] = cj_register(k->f, k->s->type, element);
    }
    return row;
}

// The columns of which something is made: the lane's own, with box the neighbours' too.
static void moved(const kernel *k, uint32_t *from, uint32_t *to) {
    *from = k->s->box ? 0 : k->s->radius;
    *to = k->s->columns + k->s->radius + (k->s->box ? k->s->radius : 0);
}

static void move(kernel *k, const stencil_row *into, const stencil_row *from, uint32_t i, uint32_t end) {
    for (; i < end; i++) cj_ptx(k->f, "mov.$1 $2, $3;", k->s->type, into->at[i], from->at[i]);
}

void cj__stencil_row_move(kernel *k, const stencil_row *into, const stencil_row *from) {
    uint32_t i, end;
    moved(k, &i, &end);
    move(k, into, from, i, end);
}

void cj__stencil_row_move_own(kernel *k, const stencil_row *into, const stencil_row *from) {
    move(k, into, from, k->s->radius, k->s->radius + k->s->columns);
}

static void move_zero(kernel *k, cj_reg when, cj_reg into) {
    const char *zero = k->s->bytes == 4 ? "0f00000000" : "0d0000000000000000";
    if (when.id)
        cj_ptx(k->f, "@$1 mov.$2 $3, $4;", when, k->s->type, into, zero);
    else
        cj_ptx(k->f, "mov.$1 $2, $3;", k->s->type, into, zero);
}

void cj__stencil_row_zero(kernel *k, const stencil_row *row) {
    uint32_t i, end;
    for (moved(k, &i, &end); i < end; i++) move_zero(k, cj_always(), row->at[i]);
}

void cj__stencil_row_ends(kernel *k, cj_reg x) {
    cj_func       *f = k->f;
    const stencil *s = k->s;
    k->first = cj_pred(f, "first");
    k->last = cj_pred(f, "last");
    cj_ptx(f, "setp.eq.s32 $1, $2, 0;", k->first, x);
    cj_ptx(f, "setp.eq.s32 $1, $2, $3;", k->last, x, s->n[0] - s->columns);
    if (s->boundary != BOUNDARY_PERIODIC || s->strips > 1) return;
    k->lane_left = cj_u32(f, "lane_left");
    k->lane_right = cj_u32(f, "lane_right");
    cj_ptx(f, "sub.u32 $1, $2, 1;", k->lane_left, k->lane);
    cj_ptx(f, "@$1 mov.u32 $2, $3;", k->first, k->lane_left, s->n[0] / s->columns - 1);
    cj_ptx(f, "add.u32 $1, $2, 1;", k->lane_right, k->lane);
    cj_ptx(f, "@$1 mov.u32 $2, 0;", k->last, k->lane_right);
}

// into = what another lane has in `from`: the one before this, or behind it, or round the grid's end.
static void shuffle(kernel *k, cj_reg into, cj_reg from, bool left) {
    char        line[96];
    const char *way = k->lane_left.id ? "idx.b32 $1, $2, $3, 31"
                      : left          ? "up.b32 $1, $2, 1, 0"
                                      : "down.b32 $1, $2, 1, 31";
    cj_reg      lane = left ? k->lane_left : k->lane_right;
    snprintf(line, sizeof line, "shfl.sync.%s, 0xffffffff;", way);
    if (k->s->bytes == 4) {
        if (k->lane_left.id)
            cj_ptx(k->f, line, into, from, lane);
        else
            cj_ptx(k->f, line, into, from);
        return;
    }
    cj_reg half[2] = {cj_b32(k->f, "low"), cj_b32(k->f, "high")};
    cj_ptx(k->f, "mov.b64 {$1, $2}, $3;", half[0], half[1], from);
    for (int i = 0; i < 2; i++) {
        if (k->lane_left.id)
            cj_ptx(k->f, line, half[i], half[i], lane);
        else
            cj_ptx(k->f, line, half[i], half[i]);
    }
    cj_ptx(k->f, "mov.b64 $1, {$2, $3};", into, half[0], half[1]);
}

void cj__stencil_row_sides(kernel *k, const stencil_row *row) {
    const stencil *s = k->s;
    const uint32_t r = s->radius, columns = s->columns;
    for (uint32_t d = 0; d < r; d++) {
        cj_reg left = row->at[d], right = row->at[r + columns + d];
        shuffle(k, left, row->at[columns + d], true);
        shuffle(k, right, row->at[r + d], false);
        if (s->boundary == BOUNDARY_ZERO) {
            move_zero(k, k->first, left);
            move_zero(k, k->last, right);
        } else if (s->boundary == BOUNDARY_CLAMP) {
            cj_ptx(k->f, "@$1 mov.$2 $3, $4;", k->first, s->type, left, row->at[r]);
            cj_ptx(k->f, "@$1 mov.$2 $3, $4;", k->last, s->type, right, row->at[r + columns - 1]);
        }
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

void cj__stencil_row_sum(kernel *k, const stencil_row *into, const stencil_row *const *rows) {
    window w = {rows, k->s->radius, 0};
    for (; w.column < k->s->columns; w.column++) cj__stencil_sum(k, into->at[k->s->radius + w.column], tap_in, &w);
}

uint32_t cj__stencil_row_pieces(const kernel *k) { return k->s->columns * k->s->bytes / VECTOR_BYTES; }

uint32_t cj__stencil_row_piece(const kernel *k, const stencil_row *row, uint32_t piece, cj_reg element[4]) {
    const uint32_t count = VECTOR_BYTES / k->s->bytes;
    for (uint32_t i = 0; i < 4; i++) element[i] = row->at[k->s->radius + piece * count + (i < count ? i : 0)];
    return count;
}

void cj__stencil_row_load(kernel *k, const char *operation, const stencil_row *row, cj_reg address, uint32_t pitch) {
    cj_reg e[4];
    for (uint32_t p = 0; p < cj__stencil_row_pieces(k); p++)
        cj_ptx(k->f,
               cj__stencil_row_piece(k, row, p, e) == 4 ? "$1.v4.f32 {$2, $3, $4, $5}, [$6 + $7];"
                                                        : "$1.v2.f64 {$2, $3}, [$6 + $7];",
               operation, e[0], e[1], e[2], e[3], address, p * pitch);
}

void cj__stencil_row_store(kernel *k, cj_reg when, const char *operation, const stencil_row *row, cj_reg address,
                           uint32_t pitch) {
    cj_reg e[4];
    char   line[64];
    for (uint32_t p = 0; p < cj__stencil_row_pieces(k); p++) {
        const bool four = cj__stencil_row_piece(k, row, p, e) == 4;
        snprintf(line, sizeof line, "%s$1%s", when.id ? "@$8 " : "",
                 four ? ".v4.f32 [$6 + $7], {$2, $3, $4, $5};" : ".v2.f64 [$6 + $7], {$2, $3};");
        cj_ptx(k->f, line, operation, e[0], e[1], e[2], e[3], address, p * pitch, when);
    }
}
