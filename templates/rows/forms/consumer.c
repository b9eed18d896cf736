// SPDX-License-Identifier: Apache-2.0
// The consumer warps of a stream: rows from their stages, through registers, to what is written.
#include "stream.h"

// Where the thread's first vector of a stage is.
static void set_stage(row_stream *t, const cj_ring *stage) {
    row_kernel *k = t->k;
    k->stage_at = cj_mad(k->f, "vector_at", k->thread, t->vector_bytes, cj__stage_at(k->f, &t->stages, stage));
}

static void wait_full(row_stream *t) {
    cj__stage_wait_full(t->k->f, &t->stages, &t->stage, "S4: the piece is here");
    set_stage(t, &t->stage);
}

static void fetch(row_stream *t) {
    wait_full(t);
    cj__row_fetch_piece(t->k);
    cj__stage_release(t->k->f, &t->stages, &t->stage);
}

// Sweeps ask where a piece is if it may be cut short, or for its columns.
static void set_swept_piece(row_kernel *k, cj_reg piece) {
    if (cj__row_counts(k) || (k->op->columns && !k->op->columns_written)) cj__row_set_piece(k, piece);
}

// ---- pieces after the first: they stay in shared memory if they are written from, else they pass through registers

static void sweep_more(row_stream *t, const row_part *all) {
    row_kernel    *k = t->k;
    const row_part first = k->part, both[2] = {*all, first};
    cj_step(k->f, "the pieces after it");
    for (unsigned i = 0; i < k->op->values; i++) cj_set(k->f, all->value[i], first.value[i]);
    cj_reg piece = cj_add(k->f, "piece", t->piece, 1), last = cj_add(k->f, "last_piece", t->piece, k->s->pieces);
    CJ_COUNT(k->f, "next_piece", piece, 1, last) {
        set_swept_piece(k, piece);
        (k->op->outputs ? wait_full : fetch)(t);
        k->in_shared = k->op->outputs > 0;
        cj__row_sweep(k);
        cj__row_fold(k, all, both, 2, false);
        k->in_shared = false;
        cj__ring_next(k->f, &t->stage);
    }
}

static void write_more(row_stream *t, const cj_ring *kept) {
    row_kernel *k = t->k;
    cj_step(k->f, "what is written of the pieces after it; their stages become free");
    cj_reg piece = cj_add(k->f, "piece", t->piece, 1), last = cj_add(k->f, "last_piece", t->piece, k->s->pieces);
    CJ_COUNT(k->f, "next_written", piece, 1, last) {
        cj__row_set_piece(k, piece);
        cj__row_place(k, true);
        set_stage(t, kept);
        k->in_shared = true;
        cj__row_write(k);
        k->in_shared = false;
        cj__stage_release(k->f, &t->stages, kept);
        cj__ring_next(k->f, kept);
    }
}

// ---- the exchange

// Whether a row's last piece comes when all lanes have released a piece of the row before, after its exchange.
static bool awaits_reading(const row_stream *t) {
    const row_kernel *k = t->k;
    const uint64_t    kept = !t->taken ? 1 : k->op->outputs ? k->s->pieces - 1 : 0;
    return k->s->stages < k->s->pieces + kept;
}

// The consumers' own barrier, if they have no peers, has the number after those of the stages.
static void exchange_alone(row_stream *t, cj_reg slot) {
    row_kernel *k = t->k;
    cj__row_store_slot(k, t->leads, slot);
    cj_ptx(k->f, "bar.sync $1, $2; // S5: every partial of the row is here", k->s->stages, cj__row_threads(k->s));
}

static void exchange_with_peers(row_stream *t, cj_reg slot) {
    cj_func    *f = t->k->f;
    cj_reg      value[ROW_VALUES];
    cj__row_slot_values(t->k, value);
    if (!awaits_reading(t))
        cj_ptx(f, "bar.warp.sync 0xffffffff; // S5: all lanes have read the partials of the row before");
    cj_st_async(f, t->pushes, "f32", value, t->k->s->slot_words, slot, 0,
                cj__ring_at(f, "peer_full", t->gate, &t->turn, 8));
    cj_mbarrier_wait(f, cj__ring_at(f, "partials_full_at", t->partials_full, &t->turn, 8), CJ_ARG(t->turn.parity),
                     CJ_SCOPE_CLUSTER, "S5: every partial of the row is here");
}

static void exchange(row_stream *t) {
    row_kernel    *k = t->k;
    const unsigned turn_bytes = cj__row_slots_bytes(k->s);
    cj_step(k->f, cj__row_is_alone(t) ? "the warp's partial goes to its slot"
                                      : "the warp's partial goes to every block of the cluster, lane r to rank r");
    cj__row_fold(k, &k->part, &k->part, 1, true);
    cj_reg slot = cj__ring_at(k->f, "slot_at", t->slot, &t->turn, turn_bytes);
    (cj__row_is_alone(t) ? exchange_alone : exchange_with_peers)(t, slot);
    cj_step(k->f, "every warp combines all partials");
    cj__row_fold_slots(k, cj__ring_at(k->f, "slots_at", t->slots, &t->turn, turn_bytes), cj__row_slots(k->s));
    cj__ring_next(k->f, &t->turn);
}

// ---- rows

static void emit_row(row_stream *t) {
    row_kernel    *k = t->k;
    const bool     many = k->s->pieces > 1, keeps = many && k->op->outputs;
    const row_part own = k->part, all = many ? cj__row_part_new(k, "all") : own;
    if (k->op->prepare) k->op->prepare(k);
    cj_step(k->f, "the block's %s of the row goes into registers, and its stage is free",
            many ? "first piece" : "piece");
    if (many) set_swept_piece(k, t->piece);
    fetch(t);
    cj__ring_next(k->f, &t->stage);
    cj_ring kept = {.parity = cj_none(), .count = t->stage.count};
    if (keeps) kept.number = cj_mov(k->f, "u32", "kept_stage", t->stage.number);
    cj__row_sweep(k);
    if (many) sweep_more(t, &all);
    k->part = all;
    exchange(t);
    k->op->finish(k);
    if (k->op->outputs) {
        cj_step(k->f, "what is written");
        if (many) cj__row_set_piece(k, t->piece);
        cj__row_place(k, true);
        cj__row_write(k);
    }
    if (keeps) write_more(t, &kept);
    k->part = own;
}

// Of a row that is dealt every piece stays in its stage until it has been written from: registers have the sums.
static void emit_dealt_row(row_stream *t) {
    row_kernel *k = t->k;
    if (k->op->prepare) k->op->prepare(k);
    cj_step(k->f, "the block's piece of the row, for its values");
    wait_full(t);
    k->in_shared = true;
    cj__row_sweep(k);
    exchange(t);
    k->op->finish(k);
    cj_step(k->f, "and for what is written; then the stage is free");
    cj__row_place(k, true);
    cj__row_write(k);
    k->in_shared = false;
    cj__stage_release(k->f, &t->stages, &t->stage);
    cj__ring_next(k->f, &t->stage);
}

static void next_row(row_stream *t) {
    cj_func    *f = t->k->f;
    if (!t->taken) {
        cj_update(f, t->dealt.next, "add", t->dealt.step);
        return;
    }
    cj_reg full = cj__row_full_at(t), taken = cj__row_taken_at(t);
    cj_mbarrier_wait(f, full, CJ_ARG(t->next.parity), cj__row_is_alone(t) ? CJ_SCOPE_BLOCK : CJ_SCOPE_CLUSTER,
                     "S3: the row's number is here");
    t->k->row = cj_let(f, "u32", "row", "ld.shared.u32 $1, [$2];", taken);
    cj__ring_next(f, &t->next);
}

// Column 0 is so far before what the block has.
static void wait_resident(row_stream *t) {
    row_kernel *k = t->k;
    cj_mbarrier_wait(k->f, t->resident, CJ_ARG(0), CJ_SCOPE_BLOCK, "S6: weight, bias or mask is here, and stays");
    for (unsigned n = 0; n < k->op->columns; n++) {
        const unsigned i = k->op->nth[ROW_COLUMN][n];
        char           name[32];
        snprintf(name, sizeof name, "%s_at", k->op->operand[i].name);
        cj_reg at = cj_add(k->f, name, t->stages.pool, cj__row_resident_offset(t, n));
        k->resident_at[i] = cj_mad(k->f, name, t->piece, -(int64_t)(k->s->piece * t->vector_bytes), at);
    }
}

// Where the warp's partials go: the block's own slots, or those of rank r, for lane r.
static void aim(row_stream *t) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    const bool  alone = cj__row_is_alone(t);
    cj_reg      number = alone ? cj_mov(f, "u32", "own_slot", k->warp)
                               : cj_mad(f, "own_slot", k->rank, k->s->warps, k->warp);
    t->slot = cj_mad(f, "own_slot", number, 4 * k->s->slot_words, t->slots);
    if (alone) return;
    t->pushes = cj_lt(f, "pushes", k->lane, k->s->cluster);
    cj_reg to = cj_min(f, "to", k->lane, k->s->cluster - 1);
    t->slot = cj_cluster_map_address(f, t->slot, to);
    t->gate = cj_cluster_map_address(f, t->partials_full, to);
    t->expects = cj_eq(f, "expects", k->thread, 0);
}

static void begin(row_stream *t) {
    row_kernel *k = t->k;
    cj_step(k->f, "the other warps work: all stages are free");
    cj__stages_begin(k->f, &t->stages, k->s->stages);
    t->stage = cj__ring(k->f, "stage", k->s->stages, true);
    if (t->taken) t->next = cj__ring(k->f, "next_row", t->taken, true);
    t->turn = cj__ring(k->f, "turn", 2, !cj__row_is_alone(t));
    cj_step(k->f, "where a warp's partials go");
    aim(t);
    if (k->s->pieces == 1) cj__row_set_piece(k, t->piece);
    if (k->s->resident) wait_resident(t);
    if (t->taken) return;
    cj__row_sums_clear(k);
    t->dealt = cj__row_deal(k);
}

void cj__row_consume(row_stream *t, cj_label done) {
    cj_func *f = t->k->f;
    begin(t);
    cj_label next = cj_label_new(f, "next_row");
    cj_label_here(f, next);
    cj_step(f, "the next row");
    next_row(t);
    cj_ptx(f, "@$1 bra $2;", cj_ge(f, "out_of_bounds", t->k->row, t->rows), done);
    if (!cj__row_is_alone(t))
        cj_mbarrier_arrive_expect(f, t->expects, cj__ring_at(f, "partials_full_at", t->partials_full, &t->turn, 8),
                                  CJ_ARG(cj__row_slots_bytes(t->k->s)), NULL);
    (t->taken ? emit_row : emit_dealt_row)(t);
    cj_ptx(f, "bra $1;", next);
}
