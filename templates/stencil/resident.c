// SPDX-License-Identifier: Apache-2.0
// stencil, 2-D, resident in registers: the grid's rows lie in the registers of a cluster's warps for all steps.
//
// A warp holds `tile` rows, each lane `columns` columns of them. A block holds warps * tile rows one below the other.
// Blocks overlap by two margins of depth * radius rows or more; every `depth` steps the margins are renewed, as each
// block sends rows of its inside to the margins of its neighbours. In between, each step spends `radius` rows of a
// margin:
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
// Barriers (docs/maintaining/stencil.md has the proof):
//   B1  of the cluster, relaxed, after fence.mbarrier_init: the mbarriers are ready before neighbours send
//   B2  bar.sync in each step: rows are shown before they are loaded
//   M   mbarrier.try_wait, by warps that hold rows of a margin: the neighbours' rows of an exchange have come. A thread of one of
//       them then arms the mbarrier for the exchange after next
#include "stencil.h"

enum { NONE = 1 << 29, BAR_BYTES = 8 };  // NONE: farther than any row

typedef struct side {
    cj_reg has, rank;  // whether there is a neighbour, and its rank
    cj_reg distance;   // rows between this block's first one and that one's
} side;

typedef struct resident {
    const kernel   *k;
    cj_func        *f;
    const stencil  *s;
    uint32_t        rows, row_bytes, half, halo_half;  // of a block; bytes
    stencil_buffers global;
    stencil_ends    ends;
    side            side[2];                    // above and below
    cj_reg          top, warp_row;              // the block's first row in the grid, and the warp's in the block
    cj_reg          lane_at, pool, halo, bars;  // the lane's offset in a row; addresses
    cj_reg          arms;                       // the thread that makes the mbarriers ready
    cj_reg          column, writes;             // the lane's first column that is read; whether the lane has results
    cj_reg          show,
        see[2][RADIUS_MAX];  // addresses of the rows that the warp shows; of those above and below, nearest first
    cj_reg      show_half, halo_at, bar, parity;    // which half is next: offsets, and the parity of the mbarrier
    stencil_row row[COLUMNS_MAX + 2 * RADIUS_MAX];  // the warp's, between those that it sees above and below
    stencil_row made[COLUMNS_MAX];
} resident;

enum { ABOVE, BELOW };

// ---- where things are

static cj_reg emit_top(const resident *w, cj_reg rank) {
    const stencil *s = w->s;
    const bool     wraps = s->boundary == BOUNDARY_PERIODIC;
    cj_reg         top = cj_mul(w->f, "top", rank, wraps ? s->n[1] : s->n[1] - w->rows);
    cj_update(w->f, top, "div", wraps ? s->cluster : s->cluster - 1);
    if (wraps) cj_update(w->f, top, "sub", s->margin);
    return top;
}

// The neighbour above or below; round the grid's end where it is periodic. The distance is that of the rank above to the next.
static side emit_side(const resident *w, int which) {
    cj_func       *f = w->f;
    const bool     wraps = w->s->boundary == BOUNDARY_PERIODIC, below = which == BELOW;
    const uint32_t cluster = w->s->cluster, period = wraps ? cluster : cluster - 1;  // distances repeat so
    side           n;
    cj_reg         upper = cj_add(f, "upper_rank", w->k->rank, below ? 0 : period - 1);
    cj_reg         their_top = emit_top(w, cj_add(f, "next_rank", upper, 1));
    n.distance = cj_sub(f, "distance", their_top, emit_top(w, upper));
    n.rank = cj_rem(f, below ? "below" : "above", cj_add(f, "rank", w->k->rank, below ? 1 : cluster - 1), cluster);
    n.has = wraps ? cj_lt(f, below ? "has_below" : "has_above", w->k->rank, cluster)
                  : cj_ne(f, below ? "has_below" : "has_above", w->k->rank, below ? cluster - 1 : 0);
    return n;
}

static void emit_place(resident *w) {
    const kernel *k = w->k;
    cj_func      *f = w->f;
    cj_step(f, "the block's rows, and the warp's");
    w->warp_row = cj_shr(f, "warp_row", k->thread, 5);
    cj_update(f, w->warp_row, "mul", w->s->tile);
    w->top = emit_top(w, k->rank);
    w->lane_at = cj_mul(f, "lane_at", k->lane, VECTOR_BYTES);
    w->pool = cj_mov(f, "u32", "pool_at", "pool");
    w->halo = cj_add(f, "halo", w->pool, 2 * w->half);
    w->bars = cj_shared_address(f, cj_shared(f, "b64", "arrived", 2, 0));
    const bool is_numbered = cj__stencil_is_numbered(w->s);
    w->global = cj__stencil_buffers(k, is_numbered ? cj_div(f, "problem", k->block, w->s->cluster) : cj_none());
    cj_step(f, "the neighbours: how far away their rows begin");
    w->side[ABOVE] = emit_side(w, ABOVE);
    w->side[BELOW] = emit_side(w, BELOW);
}

// The mbarriers wait for the rows of each neighbour there is.
static void emit_expect(const resident *w, cj_reg bar) {
    cj_reg above = cj_select(w->f, "u32", "bytes", w->side[ABOVE].has, w->halo_half / 2, 0);
    cj_reg below = cj_select(w->f, "u32", "bytes", w->side[BELOW].has, w->halo_half / 2, 0);
    cj_mbarrier_arrive_expect(w->f, w->arms, bar, CJ_ARG(cj_add(w->f, "bytes", above, below)),
                              "the next exchange but one is waited for");
}

static void emit_mbarriers(resident *w) {
    cj_func *f = w->f;
    cj_step(f, "the mbarriers, ready for two exchanges, by a thread of a warp that holds a margin");
    w->arms = cj_eq(f, "arms", w->k->thread, cj_select(f, "u32", "armer", w->side[ABOVE].has, 0, w->s->threads - WARP));
    cj_reg second = cj_add(f, "second", w->bars, BAR_BYTES);
    cj_mbarrier_init(f, w->arms, w->bars, CJ_ARG(1), NULL);
    cj_mbarrier_init(f, w->arms, second, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, "the cluster sees them");
    emit_expect(w, w->bars);
    emit_expect(w, second);
}

// ---- what a warp sees of others

// The address of the row that warp `warp` shows: first or last rows, the j-th of them.
static cj_reg shown_row(const resident *w, const char *name, cj_reg warp, bool last, uint32_t j) {
    const uint32_t r = w->s->radius;
    cj_reg         row = cj_mad(w->f, name, warp, 2 * r * w->row_bytes, w->show);
    cj_update(w->f, row, "add", ((last ? r : 0) + j) * w->row_bytes);
    return row;
}

// What the warp sees above or below: rows of the next warp; at the block's end zeros where the grid ends, or its own row.
static void emit_sight_of(resident *w, cj_reg warp, cj_reg zeros, int which) {
    const uint32_t r = w->s->radius;
    const bool     below = which == BELOW;
    cj_reg other = cj_add(w->f, "other", warp, below ? 1 : -1), inner = cj_lt(w->f, "inner", other, w->s->warps);
    cj_reg own = shown_row(w, "own_row", warp, below, below ? r - 1 : 0);
    if (w->s->boundary == BOUNDARY_ZERO) own = cj_select(w->f, "u32", "own_row", w->side[which].has, own, zeros);
    for (uint32_t d = 0; d < r; d++) {
        cj_reg theirs = shown_row(w, "their_row", other, !below, below ? d : r - 1 - d);
        w->see[which][d] = cj_select(w->f, "u32", below ? "see_below" : "see_above", inner, theirs, own);
    }
}

static void emit_sight(resident *w) {
    cj_func *f = w->f;
    cj_step(f, "the rows that this warp shows, and those that it sees");
    cj_reg warp = cj_shr(f, "warp", w->k->thread, 5);
    w->show = cj_add(f, "show", w->pool, w->lane_at);
    cj_reg zeros = cj_none();
    if (w->s->boundary == BOUNDARY_ZERO)
        zeros = cj_add(f, "zeros", w->show, 2 * w->s->radius * w->s->warps * w->row_bytes);
    emit_sight_of(w, warp, zeros, ABOVE);
    emit_sight_of(w, warp, zeros, BELOW);
    w->show = shown_row(w, "show", warp, false, 0);
    if (w->s->boundary != BOUNDARY_ZERO) return;
    cj_reg zero = cj_mov(f, "f32", "zero", 0.0f), first = cj_eq(f, "first_warp", warp, 0);
    for (uint32_t half = 0; half < 2; half++)
        for (uint32_t p = 0; p < cj__stencil_row_pieces(w->k); p++)
            cj_ptx(f, "@$1 st.shared.v4.f32 [$2 + $3], {$4, $4, $4, $4};", first, zeros,
                   half * w->half + p * WARP * VECTOR_BYTES, zero);
}

// ---- rows from and to global memory

// The address of the lane's columns in row `i` of the warp.
static cj_reg global_row(const resident *w, cj_reg base, uint32_t i) {
    const stencil *s = w->s;
    cj_reg         y = cj_let(w->f, "s32", "y", "add.s32 $1, $2, $3;", w->top, w->warp_row);
    cj_update(w->f, y, "add", i);
    if (s->boundary == BOUNDARY_PERIODIC) cj__stencil_enter_grid(w->k, y, s->n[1], s->n[1]);
    cj_reg row = cj_let(w->f, "u64", "row_at", "mad.wide.u32 $1, $2, $3, $4;", y, s->n[0] * s->bytes, base);
    return cj_let(w->f, "u64", "row_at", "mad.wide.u32 $1, $2, $3, $4;", w->column, s->bytes, row);
}

// Lanes beyond the grid's columns read the last ones: what they have is never looked at.
static void emit_load(resident *w) {
    const stencil *s = w->s;
    cj_step(w->f, "the warp's rows");
    cj_reg column = cj_let(w->f, "s32", "column", "mul.lo.s32 $1, $2, $3;", w->k->lane, s->columns);
    w->ends = cj__stencil_row_ends(w->k, column);
    w->writes = cj_lt(w->f, "writes", column, s->n[0]);
    w->column = cj_min(w->f, "column", column, s->n[0] - s->columns);
    for (uint32_t i = 0; i < s->tile; i++)
        cj__stencil_row_load(w->k, "ld.global", &w->row[s->radius + i], global_row(w, w->global.from, i), VECTOR_BYTES);
}

// The rows of this block's inside: from its upper margin to the lower one of the block above the next.
static void emit_store(const resident *w) {
    cj_func       *f = w->f;
    const stencil *s = w->s;
    cj_step(f, "results: the rows of the block's inside");
    cj_reg from = cj_select(f, "u32", "first_result", w->side[ABOVE].has, s->margin, 0);
    cj_reg end = cj_add(f, "results", w->side[BELOW].distance, s->margin);
    end = cj_select(f, "u32", "results", w->side[BELOW].has, end, w->rows);
    cj_reg count = cj_sub(f, "results", end, from);
    for (uint32_t i = 0; i < s->tile; i++) {
        cj_reg row = cj_sub(f, "row", cj_add(f, "row", w->warp_row, i), from);
        cj_reg result = cj_and(f, "is_result", cj_lt(f, "is_inside", row, count), w->writes);
        cj__stencil_row_store(w->k, result, "st.global", &w->row[s->radius + i], global_row(w, w->global.to, i),
                              VECTOR_BYTES);
    }
}

// ---- a step

static void emit_step(const resident *w) {
    const stencil *s = w->s;
    const uint32_t r = s->radius, pitch = WARP * VECTOR_BYTES;
    cj_step(w->f, "a step: show the first and the last rows, see the neighbours'");
    cj_reg shown = cj_add(w->f, "shown", w->show, w->show_half);
    for (uint32_t i = 0; i < 2 * r; i++) {
        if (i) cj_update(w->f, shown, "add", w->row_bytes);
        cj__stencil_row_store(w->k, cj_always(), "st.shared", &w->row[i < r ? r + i : s->tile + i - r], shown, pitch);
    }
    cj_ptx(w->f, "bar.sync 0; // B2: all rows are shown");
    for (uint32_t d = 0; d < r; d++)
        for (int below = ABOVE; below <= BELOW; below++)
            cj__stencil_row_load(w->k, "ld.shared", &w->row[below ? r + s->tile + d : r - 1 - d],
                                 cj_add(w->f, "seen", w->see[below][d], w->show_half), pitch);
    for (uint32_t i = s->box ? 0 : r; i < s->tile + (s->box ? 2 * r : r); i++)
        cj__stencil_row_sides(w->k, &w->ends, &w->row[i]);
    for (uint32_t i = 0; i < s->tile; i++) {
        const stencil_row *rows[2 * RADIUS_MAX + 1];
        for (uint32_t d = 0; d <= 2 * r; d++) rows[d] = &w->row[i + d];
        cj__stencil_row_sum(w->k, &w->made[i], rows);
    }
    for (uint32_t i = 0; i < s->tile; i++) cj__stencil_row_move(w->k, &w->row[r + i], &w->made[i], true);
    cj_ptx(w->f, "sub.u32 $1, $2, $1;", w->show_half, w->half);
}

// ---- an exchange

// The first row of a rank, as emit_top has it, but for the margin; ranks may lie one beyond the ends.
static int64_t top_of(const resident *w, int64_t rank) {
    const int64_t n = w->s->n[1], cluster = w->s->cluster;
    if (w->s->boundary != BOUNDARY_PERIODIC) return rank * (n - w->rows) / (cluster - 1);
    return (rank + cluster) * n / cluster - n;
}

// Whether row i of any warp of any block lies in a margin: the upper or lower one of its own block, or, where it is
// sent, of the neighbour above or below.
static bool is_in_margin(const resident *w, bool sent, bool below, uint32_t i) {
    const stencil *s = w->s;
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

// The number that the warp's first row has among a margin's: its number in the block less `first` (a number or a
// register).
static cj_reg margin_base(const resident *w, int which, cj_arg first) {
    cj_reg base = cj_sub(w->f, "margin_row", w->warp_row, first);
    return cj_select(w->f, "u32", "margin_row", w->side[which].has, base, NONE);
}

typedef struct margins {
    cj_reg send[2], get[2];
} margins;

static margins emit_margins(const resident *w) {
    const uint32_t lower = w->rows - w->s->margin;
    margins        m;
    cj_step(w->f, "which of the warp's rows lie in margins: the neighbours' and this block's own");
    cj_reg inside = cj_sub(w->f, "inside_row", lower, w->side[ABOVE].distance);
    m.send[ABOVE] = margin_base(w, ABOVE, CJ_ARG(inside));
    m.send[BELOW] = margin_base(w, BELOW, CJ_ARG(w->side[BELOW].distance));
    m.get[ABOVE] = margin_base(w, ABOVE, CJ_ARG(0));
    m.get[BELOW] = margin_base(w, BELOW, CJ_ARG(lower));
    return m;
}

// Row i of the warp goes to the neighbour, at `at` of its halo. Addresses are mapped last of all: what they are made of is
// negative for rows that are not sent, and ptxas would add a constant to it that hardware does not wrap around.
static void send_row(const resident *w, int which, uint32_t i, cj_reg at) {
    const uint32_t first = which == ABOVE ? w->s->margin : 0;  // above, this block's rows are the lower margin
    cj_ptx(w->f, "mapa.shared::cluster.u32 $1, $1, $2;", at, w->side[which].rank);
    cj_reg bar = cj_add(w->f, "their_bar", w->bars, w->bar);
    cj_ptx(w->f, "mapa.shared::cluster.u32 $1, $1, $2;", bar, w->side[which].rank);
    for (uint32_t p = 0; p < cj__stencil_row_pieces(w->k); p++)
        cj_st_async(w->f, cj_always(), w->s->type, cj__stencil_row_piece(w->k, &w->row[w->s->radius + i], p),
                    cj__stencil_row_count(w->k), at, (int32_t)(first * w->row_bytes + p * WARP * VECTOR_BYTES), bar);
}

// Row i of the warp is number `base` + i of a margin: the neighbour's, to which it goes, or the own one, which it comes from;
// if that margin has such a row.
static void emit_halo_row(const resident *w, bool sent, int which, cj_reg base, uint32_t i) {
    cj_func *f = w->f;
    cj_reg   number = cj_add(f, "halo_row", base, i);
    CJ_UNLESS(f, cj_ge(f, "in_no_margin", number, w->s->margin), sent ? "not_sent" : "kept") {
        cj_reg half = cj_add(f, "halo_half", cj_add(f, "halo_lane", w->halo, w->lane_at), w->halo_at);
        cj_reg at = cj_mad(f, "halo_row_at", number, w->row_bytes, half);
        if (sent) {
            send_row(w, which, i, at);
        } else {
            cj_update(f, at, "add", (which == BELOW ? w->s->margin : 0) * w->row_bytes);
            cj__stencil_row_load(w->k, "ld.shared", &w->row[w->s->radius + i], at, WARP * VECTOR_BYTES);
        }
    }
}

// The rows that may lie in a margin of some rank: `base` has the warp's first row in the margins above and below.
static void emit_halo_rows(const resident *w, bool sent, const cj_reg base[2]) {
    for (uint32_t i = 0; i < w->s->tile; i++)
        for (int which = ABOVE; which <= BELOW; which++)
            if (is_in_margin(w, sent, which == BELOW, i)) emit_halo_row(w, sent, which, base[which], i);
}

// Whether any of the warp's rows lies in a margin of this block.
static cj_reg emit_holds(const resident *w, const margins *m) {
    const uint32_t margin = w->s->margin, others = w->s->tile - 1;
    cj_reg         upper = cj_lt(w->f, "holds_upper", m->get[ABOVE], margin);
    cj_reg         row = cj_add(w->f, "last_margin_row", m->get[BELOW], others);
    return cj_or(w->f, "holds", upper, cj_lt(w->f, "holds_lower", row, margin + others));
}

static void emit_exchange(const resident *w, const margins *m) {
    cj_func *f = w->f;
    cj_step(f, "exchange: rows of the inside go to the neighbours' margins");
    emit_halo_rows(w, true, m->send);
    cj_reg own_bar = cj_add(f, "own_bar", w->bars, w->bar);
    cj_step(f, "warps with rows in a margin take them from the halo");
    CJ_IF(f, emit_holds(w, m), "no_margin") {
        cj_mbarrier_wait(f, own_bar, CJ_ARG(w->parity), CJ_SCOPE_CLUSTER, "M: the neighbours' rows are here");
        emit_halo_rows(w, false, m->get);
        emit_expect(w, own_bar);
    }
    cj_step(f, "the other halo is next; after the second its mbarrier's next phase");
    cj_ptx(f, "@$1 xor.b32 $2, $2, 1;", cj_ne(f, "is_second", w->bar, 0), w->parity);
    cj_ptx(f, "sub.u32 $1, $2, $1;", w->bar, BAR_BYTES);
    cj_ptx(f, "sub.u32 $1, $2, $1;", w->halo_at, w->halo_half);
}

// ---- all of it

static void emit_loop(resident *w, const margins *m) {
    cj_func *f = w->f;
    cj_reg   left = cj__stencil_steps(w->k);
    w->show_half = cj_mov(f, "u32", "show_half", 0);
    w->halo_at = cj_mov(f, "u32", "halo_at", 0);
    w->bar = cj_mov(f, "u32", "bar", 0);
    w->parity = cj_mov(f, "u32", "parity", 0);
    cj_reg count = cj_mov(f, "u32", "until_exchange", w->s->depth);
    CJ_LOOP(f, step, "next_step", "all_steps") {
        emit_step(w);
        cj_update(f, left, "sub", 1);
        cj_leave(&step, cj_eq(f, "is_last", left, 0));
        cj_update(f, count, "sub", 1);
        cj_repeat(&step, cj_ne(f, "no_exchange", count, 0));
        cj_set(f, count, w->s->depth);
        emit_exchange(w, m);
    }
}

void cj__stencil_emit_resident(const kernel *k) {
    const stencil *s = k->s;
    resident w = {.k = k, .f = k->f, .s = s, .rows = s->warps * s->tile, .row_bytes = WARP * s->columns * s->bytes};
    w.half = w.row_bytes * (2 * s->radius * s->warps + 1);
    w.halo_half = w.row_bytes * 2 * s->margin;
    for (uint32_t i = 0; i < s->tile + 2 * s->radius; i++) w.row[i] = cj__stencil_row(k, "row");
    for (uint32_t i = 0; i < s->tile; i++) w.made[i] = cj__stencil_row(k, "made");
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
