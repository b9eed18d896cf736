// SPDX-License-Identifier: Apache-2.0
// stencil, 2-D, resident in registers: the grid's rows lie in the registers of a cluster's warps for all steps.
//
// A warp holds `tile` rows, each lane `columns` columns of them. A block holds warps * tile rows one below the other.
// Blocks overlap by two margins of depth * radius rows or more; every `depth` steps the margins are renewed, as each
// block sends rows of its inside to the margins of its neighbours. In between a margin loses `radius` rows of sense a
// step:
//
//   rank 0   | rows ............ | margin |
//   rank 1             | margin | rows ......... | margin |      rows are stored by the block in whose inside they lie
//   rank 2                                | margin | rows ...
//
// Rank p begins at row p (n - rows) / (cluster - 1) of n, so the first block begins and the last one ends where the
// grid does; with periodic boundaries at p n / cluster - margin.
//
//   pool: | rows that warps show each other: [warp][first, last][radius][row] | zeros |   twice, one a step by turns
//         | halo: [above, below][margin][row] |                                           twice, one an exchange by turns
//   arrived[2]: the mbarriers of the two halos; a phase ends when all rows of an exchange have come
//
// What a warp reads above its first row: the last rows of the warp before; at the grid's beginning zeros, or its own
// first row; at the beginning of a margin anything, so its own first row too. Likewise below.
//
// Synchronization, and why it is needed and enough:
//   B1  fence.mbarrier_init, then barrier.cluster, relaxed: the mbarriers are ready before neighbours count on them,
//       and that is all that is published. The loads hide it.
//   B2  bar.sync in each step: rows are shown before they are read. The other half is written next, behind which stands
//       the next B2: nobody writes what may still be read.
//   M   try_wait of `arrived` by the warps that hold margins, before they read the halo; a thread of one of them then
//       makes the exchange after next ready. An exchange writes the half that was read two exchanges before. A
//       neighbour sends into it only after it has this block's rows of the exchange in between, which this block sends
//       behind a B2 that stands behind those reads: that is enough. Every exchange is waited for, so nothing comes any
//       more when the block exits.
#include "stencil.h"

enum { NONE = 1 << 29 };  // farther than any row

typedef struct side {
    cj_reg has, rank;  // whether there is a neighbour, and its rank
    cj_reg distance;   // rows between this block's first one and that one's
} side;

typedef struct resident {
    kernel     *k;
    uint32_t    rows, row_bytes, half, halo_half;  // of a block; bytes
    cj_var      arrived;
    side        above, below;
    cj_reg      top;       // the block's first row in the grid
    cj_reg      warp_row;  // the warp's first row in the block
    cj_reg      lane_at, pool, halo, show, show_half, halo_at, bars, bar, parity;
    cj_reg      arms;  // the thread that makes the mbarriers ready
    cj_reg      column, writes;
    cj_reg      see[2][RADIUS_MAX];                 // addresses of the rows above and below the warp's, nearest first
    stencil_row row[COLUMNS_MAX + 2 * RADIUS_MAX];  // the warp's, between those that it sees above and below
    stencil_row made[COLUMNS_MAX];
} resident;

// ---- where things are

static void emit_top(resident *w, cj_reg top, cj_reg rank) {
    const stencil *s = w->k->s;
    cj_func       *f = w->k->f;
    if (s->boundary == BOUNDARY_PERIODIC) {
        cj_ptx(f, "mul.lo.u32 $1, $2, $3;", top, rank, s->n[1]);
        cj_ptx(f, "div.u32 $1, $1, $2;", top, s->cluster);
        cj_ptx(f, "sub.u32 $1, $1, $2;", top, s->margin);
    } else {
        cj_ptx(f, "mul.lo.u32 $1, $2, $3;", top, rank, s->n[1] - w->rows);
        cj_ptx(f, "div.u32 $1, $1, $2;", top, s->cluster - 1);
    }
}

// Rows from the first one of rank `rank` to that of the rank behind it.
static void emit_distance(resident *w, cj_reg distance, cj_reg rank) {
    cj_func *f = w->k->f;
    cj_reg   next = cj_u32(f, "next_rank"), top = cj_u32(f, "their_top");
    cj_ptx(f, "add.u32 $1, $2, 1;", next, rank);
    emit_top(w, distance, next);
    emit_top(w, top, rank);
    cj_ptx(f, "sub.u32 $1, $1, $2;", distance, top);
}

// The neighbour above or below; round the grid's end where it is periodic.
static side emit_side(resident *w, bool below) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const uint32_t cluster = k->s->cluster;
    side           n = {.has = cj_pred(f, below ? "has_below" : "has_above"),
                        .rank = cj_u32(f, below ? "below" : "above"),
                        .distance = cj_u32(f, "distance")};
    const bool     wraps = k->s->boundary == BOUNDARY_PERIODIC;
    const uint32_t period = wraps ? cluster : cluster - 1;  // distances repeat so
    cj_ptx(f, "add.u32 $1, $2, $3;", n.rank, k->rank, below ? 0 : period - 1);
    emit_distance(w, n.distance, n.rank);
    cj_ptx(f, "add.u32 $1, $2, $3;", n.rank, k->rank, below ? 1 : cluster - 1);
    cj_ptx(f, "rem.u32 $1, $1, $2;", n.rank, cluster);
    if (wraps)
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", n.has, k->rank, cluster);
    else
        cj_ptx(f, "setp.ne.u32 $1, $2, $3;", n.has, k->rank, below ? cluster - 1 : 0);
    return n;
}

static void emit_place(resident *w) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    cj_reg         problem = cj_u32(f, "problem");
    cj_step(f, "the block's rows, and the warp's");
    w->top = cj_s32(f, "top");
    w->warp_row = cj_u32(f, "warp_row");
    w->lane_at = cj_u32(f, "lane_at");
    w->pool = cj_u32(f, "pool_at");
    w->halo = cj_u32(f, "halo");
    cj_ptx(f, "shr.u32 $1, $2, 5;", w->warp_row, k->thread);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", w->warp_row, s->tile);
    emit_top(w, w->top, k->rank);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", w->lane_at, k->lane, VECTOR_BYTES);
    cj_ptx(f, "mov.u32 $1, pool;", w->pool);
    cj_ptx(f, "add.u32 $1, $2, $3;", w->halo, w->pool, 2 * w->half);
    w->bars = cj_shared_address(f, w->arrived);
    cj_ptx(f, "div.u32 $1, $2, $3;", problem, k->block, s->cluster);
    cj__stencil_buffers(k, problem);
    cj_step(f, "the neighbours: how far away their rows begin");
    w->above = emit_side(w, false);
    w->below = emit_side(w, true);
}

// The mbarriers wait for the rows of each neighbour there is.
static void emit_expect(resident *w, cj_reg when, cj_reg bar) {
    cj_func *f = w->k->f;
    cj_reg   bytes = cj_u32(f, "bytes"), more = cj_u32(f, "more");
    cj_ptx(f, "selp.u32 $1, $2, 0, $3;", bytes, w->halo_half / 2, w->above.has);
    cj_ptx(f, "selp.u32 $1, $2, 0, $3;", more, w->halo_half / 2, w->below.has);
    cj_ptx(f, "add.u32 $1, $1, $2;", bytes, more);
    cj_mbarrier_arrive_expect(f, when, bar, CJ_ARG(bytes), "the next exchange but one is waited for");
}

static void emit_mbarriers(resident *w) {
    cj_func *f = w->k->f;
    cj_reg   second = cj_u32(f, "second"), armer = cj_u32(f, "armer");
    cj_step(f, "the mbarriers, ready for two exchanges, by a thread of a warp that holds a margin");
    w->arms = cj_pred(f, "arms");
    cj_ptx(f, "selp.u32 $1, 0, $2, $3;", armer, w->k->s->threads - WARP, w->above.has);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", w->arms, w->k->thread, armer);
    cj_ptx(f, "add.u32 $1, $2, 8;", second, w->bars);
    cj_mbarrier_init(f, w->arms, w->bars, CJ_ARG(1), NULL);
    cj_mbarrier_init(f, w->arms, second, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, "the cluster sees them");
    emit_expect(w, w->arms, w->bars);
    emit_expect(w, w->arms, second);
}

// ---- what a warp sees of others

// The address of the row that warp `warp` shows: first or last rows, the j-th of them.
static void shown_row(resident *w, cj_reg address, cj_reg warp, bool last, uint32_t j) {
    const uint32_t r = w->k->s->radius;
    cj_ptx(w->k->f, "mad.lo.u32 $1, $2, $3, $4;", address, warp, 2 * r * w->row_bytes, w->show);
    cj_ptx(w->k->f, "add.u32 $1, $1, $2;", address, ((last ? r : 0) + j) * w->row_bytes);
}

static void emit_sight(resident *w) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    const uint32_t r = s->radius;
    cj_reg warp = cj_u32(f, "warp"), other = cj_u32(f, "other"), own = cj_u32(f, "own_row"), zeros = cj_u32(f, "zeros");
    cj_reg inner = cj_pred(f, "inner"), zero = cj_f32(f, "zero");
    cj_step(f, "the rows that this warp shows, and those that it sees");
    cj_ptx(f, "shr.u32 $1, $2, 5;", warp, k->thread);
    w->show = cj_u32(f, "show");
    cj_ptx(f, "add.u32 $1, $2, $3;", w->show, w->pool, w->lane_at);
    cj_ptx(f, "add.u32 $1, $2, $3;", zeros, w->show, 2 * r * s->warps * w->row_bytes);
    for (int below = 0; below < 2; below++) {
        cj_ptx(f, "add.u32 $1, $2, $3;", other, warp, below ? 1 : -1);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", inner, other, s->warps);
        shown_row(w, own, warp, below, below ? r - 1 : 0);
        if (s->boundary == BOUNDARY_ZERO)
            cj_ptx(f, "selp.u32 $1, $1, $2, $3;", own, zeros, (below ? &w->below : &w->above)->has);
        for (uint32_t d = 0; d < r; d++) {
            w->see[below][d] = cj_u32(f, below ? "see_below" : "see_above");
            shown_row(w, w->see[below][d], other, !below, below ? d : r - 1 - d);
            cj_ptx(f, "selp.u32 $1, $1, $2, $3;", w->see[below][d], own, inner);
        }
    }
    shown_row(w, w->show, warp, false, 0);
    if (s->boundary != BOUNDARY_ZERO) return;
    cj_ptx(f, "mov.f32 $1, 0f00000000;", zero);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", inner, warp);
    for (uint32_t half = 0; half < 2; half++)
        for (uint32_t p = 0; p < cj__stencil_row_pieces(k); p++)
            cj_ptx(f, "@$1 st.shared.v4.f32 [$2 + $3], {$4, $4, $4, $4};", inner, zeros,
                   half * w->half + p * WARP * VECTOR_BYTES, zero);
}

// ---- rows from and to global memory

// The address of the lane's columns in row `i` of the warp.
static cj_reg global_row(resident *w, cj_reg base, uint32_t i) {
    const stencil *s = w->k->s;
    cj_func       *f = w->k->f;
    cj_reg         y = cj_s32(f, "y"), at = cj_u64(f, "row_at");
    cj_ptx(f, "add.s32 $1, $2, $3;", y, w->top, w->warp_row);
    cj_ptx(f, "add.s32 $1, $1, $2;", y, i);
    if (s->boundary == BOUNDARY_PERIODIC) {
        cj_ptx(f, "add.s32 $1, $1, $2;", y, s->n[1]);
        cj_ptx(f, "rem.u32 $1, $1, $2;", y, s->n[1]);
    }
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, y, s->n[0] * s->bytes, base);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", at, w->column, s->bytes);
    return at;
}

// Lanes beyond the grid's columns read the last ones: what they have is never looked at.
static void emit_load(resident *w) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    cj_step(f, "the warp's rows");
    w->column = cj_s32(f, "column");
    w->writes = cj_pred(f, "writes");
    cj_ptx(f, "mul.lo.s32 $1, $2, $3;", w->column, k->lane, s->columns);
    cj__stencil_row_ends(k, w->column);
    cj_ptx(f, "setp.lt.s32 $1, $2, $3;", w->writes, w->column, s->n[0]);
    cj_ptx(f, "min.s32 $1, $1, $2;", w->column, s->n[0] - s->columns);
    for (uint32_t i = 0; i < s->tile; i++)
        cj__stencil_row_load(k, "ld.global", &w->row[s->radius + i], global_row(w, k->from, i), VECTOR_BYTES);
}

// The rows of this block's inside: from its upper margin to the lower one of the block above the next.
static void emit_store(resident *w) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    cj_reg         from = cj_u32(f, "first_result"), to = cj_u32(f, "results"), row = cj_u32(f, "row");
    cj_reg         result = cj_pred(f, "is_result");
    cj_step(f, "results: the rows of the block's inside");
    cj_ptx(f, "selp.u32 $1, $2, 0, $3;", from, s->margin, w->above.has);
    cj_ptx(f, "add.u32 $1, $2, $3;", to, w->below.distance, s->margin);
    cj_ptx(f, "selp.u32 $1, $1, $2, $3;", to, w->rows, w->below.has);
    cj_ptx(f, "sub.u32 $1, $1, $2;", to, from);
    for (uint32_t i = 0; i < s->tile; i++) {
        cj_ptx(f, "add.u32 $1, $2, $3;", row, w->warp_row, i);
        cj_ptx(f, "sub.u32 $1, $1, $2;", row, from);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", result, row, to);
        cj_ptx(f, "and.pred $1, $1, $2;", result, w->writes);
        cj__stencil_row_store(k, result, "st.global", &w->row[s->radius + i], global_row(w, k->to, i), VECTOR_BYTES);
    }
}

// ---- a step

static void emit_step(resident *w) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    const uint32_t r = s->radius, pitch = WARP * VECTOR_BYTES;
    cj_reg         at = cj_u32(f, "shown");
    cj_step(f, "a step: show the first and the last rows, see the neighbours'");
    cj_ptx(f, "add.u32 $1, $2, $3;", at, w->show, w->show_half);
    for (uint32_t i = 0; i < 2 * r; i++) {
        const stencil_row *row = &w->row[i < r ? r + i : s->tile + i - r];
        if (i) cj_ptx(f, "add.u32 $1, $1, $2;", at, w->row_bytes);
        cj__stencil_row_store(k, cj_always(), "st.shared", row, at, pitch);
    }
    cj_ptx(f, "bar.sync 0; // B2: all rows are shown");
    for (uint32_t d = 0; d < r; d++)
        for (int below = 0; below < 2; below++) {
            const stencil_row *row = &w->row[below ? r + s->tile + d : r - 1 - d];
            cj_ptx(f, "add.u32 $1, $2, $3;", at, w->see[below][d], w->show_half);
            cj__stencil_row_load(k, "ld.shared", row, at, pitch);
        }
    for (uint32_t i = s->box ? 0 : r; i < s->tile + (s->box ? 2 * r : r); i++) cj__stencil_row_sides(k, &w->row[i]);
    for (uint32_t i = 0; i < s->tile; i++) {
        const stencil_row *rows[2 * RADIUS_MAX + 1];
        for (uint32_t d = 0; d <= 2 * r; d++) rows[d] = &w->row[i + d];
        cj__stencil_row_sum(k, &w->made[i], rows);
    }
    for (uint32_t i = 0; i < s->tile; i++) cj__stencil_row_move_own(k, &w->row[r + i], &w->made[i]);
    cj_ptx(f, "sub.u32 $1, $2, $1;", w->show_half, w->half);
}

// ---- an exchange

// The first row of a rank, as emit_top has it, but for the margin; ranks may lie one beyond the ends.
static int64_t top_of(const resident *w, int64_t rank) {
    const stencil *s = w->k->s;
    const int64_t  n = s->n[1], cluster = s->cluster;
    if (s->boundary != BOUNDARY_PERIODIC) return rank * (n - w->rows) / (cluster - 1);
    return (rank + cluster) * n / cluster - n;
}

// Whether row i of any warp of any block lies in a margin: the upper or lower one of its own block, or, where it is
// sent, of the neighbour above or below.
static bool is_in_margin(const resident *w, bool sent, bool below, uint32_t i) {
    const stencil *s = w->k->s;
    const bool     wraps = s->boundary == BOUNDARY_PERIODIC;
    const int64_t  lower = (int64_t)w->rows - s->margin, ranks = s->cluster;
    for (int64_t rank = !wraps && !below; rank < ranks - (!wraps && below); rank++) {
        const int64_t distance = below ? top_of(w, rank + 1) - top_of(w, rank) : top_of(w, rank) - top_of(w, rank - 1);
        const int64_t first = sent ? (below ? distance : lower - distance) : below ? lower : 0;
        for (int64_t row = i; row < w->rows; row += s->tile)
            if (row >= first && row < first + s->margin) return true;
    }
    return false;
}

// The address, in this block, of row number `base` + i of a halo; branches away from rows that lie in no margin.
static cj_reg emit_halo_row(resident *w, cj_reg base, uint32_t i, const char *name, cj_label outside) {
    kernel  *k = w->k;
    cj_func *f = k->f;
    cj_reg   number = cj_u32(f, "halo_row"), at = cj_u32(f, name), skip = cj_pred(f, "skip");
    cj_ptx(f, "add.u32 $1, $2, $3;", number, base, i);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", skip, number, k->s->margin);
    cj_ptx(f, "@$1 bra $2;", skip, outside);
    cj_ptx(f, "add.u32 $1, $2, $3;", at, w->halo, w->lane_at);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, w->halo_at);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", at, number, w->row_bytes);
    return at;
}

// Row i of the warp goes to the neighbour if it lies in that one's margin: its row number there is `base` + i. The
// address is mapped last of all: what it is made of is negative for rows that are not sent, and ptxas would add a
// constant to it that hardware does not wrap around.
static void emit_send(resident *w, const side *n, cj_reg base, uint32_t first_halo, uint32_t i) {
    kernel  *k = w->k;
    cj_func *f = k->f;
    cj_label not_sent = cj_label_new(f, "not_sent");
    cj_reg   at = emit_halo_row(w, base, i, "there", not_sent), bar = cj_u32(f, "their_bar");
    cj_ptx(f, "mapa.shared::cluster.u32 $1, $1, $2;", at, n->rank);
    cj_ptx(f, "add.u32 $1, $2, $3;", bar, w->bars, w->bar);
    cj_ptx(f, "mapa.shared::cluster.u32 $1, $1, $2;", bar, n->rank);
    for (uint32_t p = 0; p < cj__stencil_row_pieces(k); p++) {
        cj_reg         e[4];
        const uint32_t count = cj__stencil_row_piece(k, &w->row[k->s->radius + i], p, e);
        cj_st_async(f, cj_always(), k->s->type, e, count, at,
                    (int32_t)(first_halo * w->row_bytes + p * WARP * VECTOR_BYTES), bar);
    }
    cj_label_here(f, not_sent);
}

// Row i of the warp comes from the halo if it lies in a margin: number `base` + i of that.
static void emit_receive(resident *w, cj_reg base, uint32_t first_halo, uint32_t i) {
    kernel  *k = w->k;
    cj_func *f = k->f;
    cj_label kept = cj_label_new(f, "kept");
    cj_reg   at = emit_halo_row(w, base, i, "halo_from", kept);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, first_halo * w->row_bytes);
    cj__stencil_row_load(k, "ld.shared", &w->row[k->s->radius + i], at, WARP * VECTOR_BYTES);
    cj_label_here(f, kept);
}

// The number that the warp's first row has among a margin's: its number in the block less `first` (a number or a
// register).
static cj_reg margin_base(resident *w, const side *n, cj_arg first) {
    cj_func *f = w->k->f;
    cj_reg   base = cj_u32(f, "margin_row");
    cj_ptx(f, "sub.u32 $1, $2, $3;", base, w->warp_row, first);
    cj_ptx(f, "selp.u32 $1, $1, $2, $3;", base, NONE, n->has);
    return base;
}

typedef struct margins {
    cj_reg send_above, send_below, get_above, get_below;
} margins;

static margins emit_margins(resident *w) {
    const uint32_t lower = w->rows - w->k->s->margin;
    cj_func       *f = w->k->f;
    cj_reg         inside = cj_u32(f, "inside_row");
    cj_step(f, "which of the warp's rows lie in margins: the neighbours' and this block's own");
    cj_ptx(f, "sub.u32 $1, $2, $3;", inside, lower, w->above.distance);
    return (margins){.send_above = margin_base(w, &w->above, CJ_ARG(inside)),
                     .send_below = margin_base(w, &w->below, CJ_ARG(w->below.distance)),
                     .get_above = margin_base(w, &w->above, CJ_ARG(0)),
                     .get_below = margin_base(w, &w->below, CJ_ARG(lower))};
}

// Whether any of the warp's rows lies in a margin of this block.
static cj_reg emit_holds(resident *w, const margins *m) {
    cj_func       *f = w->k->f;
    const uint32_t margin = w->k->s->margin, others = w->k->s->tile - 1;
    cj_reg         holds = cj_pred(f, "holds"), lower = cj_pred(f, "holds_lower"), row = cj_u32(f, "last_margin_row");
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", holds, m->get_above, margin);
    cj_ptx(f, "add.u32 $1, $2, $3;", row, m->get_below, others);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", lower, row, margin + others);
    cj_ptx(f, "or.pred $1, $1, $2;", holds, lower);
    return holds;
}

static void emit_exchange(resident *w, const margins *m) {
    kernel        *k = w->k;
    cj_func       *f = k->f;
    const stencil *s = k->s;
    cj_reg         own_bar = cj_u32(f, "own_bar"), other = cj_pred(f, "other_half");
    cj_label       no_margin = cj_label_new(f, "no_margin");
    cj_step(f, "exchange: rows of the inside go to the neighbours' margins");
    for (uint32_t i = 0; i < s->tile; i++) {
        if (is_in_margin(w, true, false, i)) emit_send(w, &w->above, m->send_above, s->margin, i);
        if (is_in_margin(w, true, true, i)) emit_send(w, &w->below, m->send_below, 0, i);
    }
    cj_ptx(f, "add.u32 $1, $2, $3;", own_bar, w->bars, w->bar);
    cj_step(f, "warps with rows in a margin take them from the halo");
    cj_ptx(f, "@!$1 bra $2;", emit_holds(w, m), no_margin);
    cj_mbarrier_wait(f, own_bar, CJ_ARG(w->parity), CJ_SCOPE_CLUSTER, "M: the neighbours' rows are here");
    for (uint32_t i = 0; i < s->tile; i++) {
        if (is_in_margin(w, false, false, i)) emit_receive(w, m->get_above, 0, i);
        if (is_in_margin(w, false, true, i)) emit_receive(w, m->get_below, s->margin, i);
    }
    emit_expect(w, w->arms, own_bar);
    cj_label_here(f, no_margin);
    cj_step(f, "the other halo is next; behind the second its mbarrier's next phase");
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", other, w->bar);
    cj_ptx(f, "@$1 xor.b32 $2, $2, 1;", other, w->parity);
    cj_ptx(f, "sub.u32 $1, 8, $1;", w->bar);
    cj_ptx(f, "sub.u32 $1, $2, $1;", w->halo_at, w->halo_half);
}

// ---- all of it

static void emit_loop(resident *w, const margins *m) {
    kernel  *k = w->k;
    cj_func *f = k->f;
    cj_reg   left = cj__stencil_steps(k), count = cj_u32(f, "until_exchange"), again = cj_pred(f, "again");
    cj_label step = cj_label_new(f, "next_step"), end = cj_label_new(f, "all_steps");
    cj_reg  *zeroed[] = {&w->show_half, &w->halo_at, &w->bar, &w->parity};
    static const char *const names[] = {"show_half", "halo_at", "bar", "parity"};
    for (int i = 0; i < 4; i++) {
        *zeroed[i] = cj_u32(f, names[i]);
        cj_ptx(f, "mov.u32 $1, 0;", *zeroed[i]);
    }
    cj_ptx(f, "mov.u32 $1, $2;", count, k->s->depth);
    cj_label_here(f, step);
    emit_step(w);
    cj_ptx(f, "sub.u32 $1, $1, 1;", left);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", again, left);
    cj_ptx(f, "@$1 bra $2;", again, end);
    cj_ptx(f, "sub.u32 $1, $1, 1;", count);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", again, count);
    cj_ptx(f, "@$1 bra $2;", again, step);
    cj_ptx(f, "mov.u32 $1, $2;", count, k->s->depth);
    emit_exchange(w, m);
    cj_ptx(f, "bra $1;", step);
    cj_label_here(f, end);
}

static void new_rows(resident *w) {
    for (uint32_t i = 0; i < w->k->s->tile + 2 * w->k->s->radius; i++) w->row[i] = cj__stencil_row(w->k, "row");
    for (uint32_t i = 0; i < w->k->s->tile; i++) w->made[i] = cj__stencil_row(w->k, "made");
}

void cj__stencil_emit_resident(kernel *k) {
    const stencil *s = k->s;
    resident       w = {.k = k, .rows = s->warps * s->tile, .row_bytes = WARP * s->columns * s->bytes};
    w.half = w.row_bytes * (2 * s->radius * s->warps + 1);
    w.halo_half = w.row_bytes * 2 * s->margin;
    w.arrived = cj_shared(k->f, "b64", "arrived", 2, 0);
    new_rows(&w);
    emit_place(&w);
    emit_mbarriers(&w);
    emit_sight(&w);
    cj_cluster_arrive(k->f, CJ_ARRIVE_RELAXED, "B1: this block's mbarriers are ready, which the fence publishes");
    emit_load(&w);
    const margins m = emit_margins(&w);
    cj_cluster_wait(k->f, "B1: the neighbours' are too");
    emit_loop(&w, &m);
    emit_store(&w);
}
