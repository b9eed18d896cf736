// SPDX-License-Identifier: Apache-2.0
// The producer warp of a stream: takes rows, and loads their pieces into stages as these become free.
#include "stream.h"

// ---- rows

static void take_alone(row_stream *t) {
    cj_func *f = t->k->f;
    cj_note(f, "the block takes a row");
    t->k->row = cj__work_take_by_warp(f, t->leads, t->counter, cj__group_count(t->k->s->cluster), t->rows);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", t->leads, cj__row_taken_at(t), t->k->row);
    cj_mbarrier_arrive(f, t->leads, cj__row_full_at(t), "S3: the row's number is here");
}

// Rank 0 takes the next row, and tells every block of the cluster.
static void take_for_cluster(row_stream *t) {
    row_kernel           *k = t->k;
    cj_reg                full = cj__row_full_at(t), taken = cj__row_taken_at(t);
    const cj_cluster_work work = {.leads = t->leads,
                                  .lane = k->lane,
                                  .rank = k->rank,
                                  .counter = t->counter,
                                  .tiles = t->rows,
                                  .full = full,
                                  .slot = taken,
                                  .parity = t->next.parity,
                                  .cluster = k->s->cluster};
    k->row = cj__work_take_for_cluster(k->f, &work, "S3: the row's number is here");
    if (k->s->pieces == 1)  // else a barrier comes before the row's last piece
        cj_ptx(k->f, "bar.warp.sync 0xffffffff; // S3: all lanes have read it, before what tells others that");
}

static void next_row(row_stream *t) {
    if (!t->taken) {
        cj_update(t->k->f, t->dealt.next, "add", t->dealt.step);
        return;
    }
    (cj__row_is_alone(t) ? take_alone : take_for_cluster)(t);
    cj__ring_next(t->k->f, &t->next);
}

// ---- copies

// The bytes of a matrix in `pieces` pieces of the block's share, from number `number` on.
static cj_reg piece_bytes(row_stream *t, uint64_t number, uint64_t pieces) {
    cj_func         *f = t->k->f;
    const row_shape *s = t->k->s;
    if (s->vectors == cj__row_blocks(s) * s->pieces * s->piece)
        return cj_mov(f, "s32", "piece_bytes", pieces * s->piece * t->vector_bytes);
    cj_reg from = cj_add(f, "piece_from", t->piece, number);
    cj_reg bytes = cj_let(f, "s32", "piece_bytes", "mad.lo.s32 $1, $2, $3, $4;", from, -(int64_t)s->piece,
                          (int64_t)s->vectors);
    cj_update(f, bytes, "max", 0);
    cj_update(f, bytes, "min", pieces * s->piece);
    cj_update(f, bytes, "mul", t->vector_bytes);
    return bytes;
}

// `count` copies of `bytes` are announced at the mbarrier `full`; the lane that makes them, if there are any.
static cj_reg announce(row_stream *t, cj_reg bytes, unsigned count, cj_reg full) {
    cj_func *f = t->k->f;
    cj_reg   all = cj_let(f, "u32", "all_bytes", "mul.lo.u32 $1, $2, $3;", bytes, count);
    cj_mbarrier_arrive_expect(f, t->leads, full, CJ_ARG(all), NULL);
    return cj_let(f, "pred", "copies", "setp.gt.and.s32 $1, $2, 0, $3;", bytes, t->leads);
}

static void load_resident(row_stream *t) {
    row_kernel *k = t->k;
    cj_reg      bytes = piece_bytes(t, 0, k->s->pieces);
    cj_note(k->f, "weight, bias or mask, once");
    cj_reg copies = announce(t, bytes, k->op->columns, t->resident);
    for (unsigned n = 0; n < k->op->columns; n++) {
        cj_reg base = k->base[k->op->nth[ROW_COLUMN][n]];
        cj_reg from = cj_mad_wide(k->f, "from", t->piece, k->s->piece * t->vector_bytes, base);
        cj_reg into = cj_add(k->f, "into", t->stages.pool, cj__row_resident_offset(t, n));
        cj_bulk_load(k->f, copies, into, from, CJ_ARG(bytes), t->resident);
    }
}

// What an input's copies say of the L2 cache: rows that are read once leave it first, those that repeat last.
static cj_reg new_policy(row_kernel *k, unsigned input) {
    const bool repeats = k->op->operand[k->op->nth[ROW_INPUT][input]].period > 0;
    return cj_let(k->f, "b64", "policy", "createpolicy.fractional.L2::evict_$2.b64 $1, 0f3F800000;",
                  repeats ? "last" : "first");
}

static void load_piece(row_stream *t, const cj_reg row[ROW_INPUTS], uint64_t number) {
    row_kernel    *k = t->k;
    const uint64_t piece_bytes_most = k->s->piece * t->vector_bytes;
    cj_reg         full = cj__stage_full(k->f, &t->stages, &t->stage), into = cj__stage_at(k->f, &t->stages, &t->stage);
    cj_reg         copies = announce(t, t->bytes[number], k->op->inputs, full);
    for (unsigned i = 0; i < k->op->inputs; i++) {
        cj_reg from = cj_add(k->f, "from", row[i], number * piece_bytes_most);
        cj_ptx(k->f,
               "@$1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [$2], [$3], $4, "
               "[$5], $6;",
               copies, into, from, t->bytes[number], full, t->policy[i]);
        if (i + 1 < k->op->inputs) cj_update(k->f, into, "add", piece_bytes_most);
    }
    cj__ring_next(k->f, &t->stage);
}

static void begin(row_stream *t) {
    row_kernel      *k = t->k;
    const row_shape *s = k->s;
    t->stage = cj__ring(k->f, "free_stage", s->stages, false);
    if (t->taken) {
        t->next = cj__ring(k->f, "next_row", t->taken, !cj__row_is_alone(t));
        t->counter = cj__load_pointer(k->f, k->workspace, "counter");
    } else {
        t->dealt = cj__row_deal(k);
    }
    for (unsigned i = 0; i < k->op->inputs; i++) {
        t->policy[i] = new_policy(k, i);
        t->share[i] = cj_mad_wide(k->f, "share", t->piece, s->piece * t->vector_bytes,
                                  k->base[k->op->nth[ROW_INPUT][i]]);
    }
    if (s->resident) load_resident(t);
    for (uint64_t n = 0; n < s->pieces; n++) t->bytes[n] = piece_bytes(t, n, 1);
}

void cj__row_produce(row_stream *t, cj_label done) {
    row_kernel *k = t->k;
    cj_func    *f = k->f;
    cj_step(f, "the last warp loads");
    begin(t);
    cj_label next = cj_label_new(f, "next_load");
    cj_label_here(f, next);
    cj_step(f, "when there is room for it: the next row");
    cj__stage_wait_free(f, &t->stages, &t->stage);
    next_row(t);
    cj_ptx(f, "@$1 bra $2;", cj_ge(f, "out_of_bounds", k->row, t->rows), done);
    cj_reg row[ROW_INPUTS];
    for (unsigned i = 0; i < k->op->inputs; i++)
        row[i] = cj_mad_wide(f, "row_at", cj__row_of(k, k->op->nth[ROW_INPUT][i]), k->s->stride * k->s->in_bytes,
                             t->share[i]);
    for (uint64_t n = 0; n < k->s->pieces; n++) {
        if (n) cj__stage_wait_free(f, &t->stages, &t->stage);
        load_piece(t, row, n);
    }
    cj_ptx(f, "bra $1;", next);
}
