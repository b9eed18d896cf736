// SPDX-License-Identifier: Apache-2.0
// The direct form: a block or a cluster has one row, or each warp of a block one of its own, and the hardware deals
// out rows. Loads go straight to registers. With several pieces to a block's share the row does not fit: it is then
// read twice, once for its values and once for what is written. row.c tells why the barriers are needed and enough.
#include "row.h"

static bool is_pushed(const row_kernel *k) { return k->s->cluster > 1; }

// The row's number; a warp beyond the last one leaves.
static void emit_row_number(row_kernel *k, cj_label done) {
    cj_func *f = k->f;
    cj_step(f, "the row");
    if (k->s->rows_per_block == 1) {
        cj_ptx(f, "mov.u32 $1, %$2;", k->row, is_pushed(k) ? "clusterid.x" : "ctaid.x");
        return;
    }
    cj_reg rows = cj_u64(f, "rows"), count = cj_u32(f, "count"), past = cj_pred(f, "past");
    cj_ptx(f, "ld.param.u64 $1, [$2];", rows, k->rows);
    cj_ptx(f, "cvt.u32.u64 $1, $2;", count, rows);
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", k->row);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", k->row, k->s->rows_per_block, k->warp);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, k->row, count);
    cj_ptx(f, "@$1 bra $2;", past, done);
}

// ---- where the warps' parts meet

static unsigned slot_count(const row_kernel *k) { return (k->s->cluster ? k->s->cluster : 1) * k->s->warps; }

row_meeting cj__row_meeting(row_kernel *k, bool again) {
    cj_func       *f = k->f;
    const unsigned words = cj__row_slot_words(k->op);
    row_meeting    m = {0};
    if (k->s->form == ROW_SPREAD) m.posts = cj__row_posts(k);
    if (k->s->rows_per_block > 1 || slot_count(k) == 1) return m;
    m.slots = cj_shared_address(f, cj_shared(f, "f32", "slots", slot_count(k) * words * (again ? 2 : 1), 16));
    if (again) {
        m.turn = cj_u32(f, "turn");
        cj_ptx(f, "mov.u32 $1, 0;", m.turn);
    }
    if (!is_pushed(k)) return m;
    m.leads = cj_pred(f, "leads");
    cj_step(f, "each block counts the bytes of the parts that come to it");
    m.met = cj_shared_address(f, cj_shared(f, "b64", "met", 1, 0));
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", m.leads, k->thread);
    cj_mbarrier_init(f, m.leads, m.met, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, "publishes the mbarrier, at D2");
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "D2: this block has started, its mbarrier is there");
    return m;
}

void cj__row_meet(row_kernel *k, const row_meeting *m) {
    cj_func       *f = k->f;
    const unsigned words = cj__row_slot_words(k->op);
    cj_reg         slots = m->slots;
    cj_step(f, "the warp's part, in every lane");
    cj__row_fold(k, &k->part, &k->part, 1, true);
    if (!m->slots.id && m->posts.tag.id) cj__row_meet_posts(k, &m->posts, m->slots);
    if (!m->slots.id) return;
    if (m->turn.id) {
        slots = cj_u32(f, "slots_at");
        cj_ptx(f, "add.u32 $1, $2, $3;", slots, m->slots, m->turn);
        cj_ptx(f, "xor.b32 $1, $1, $2;", m->turn, 4 * words * slot_count(k));
    }
    cj_reg slot = cj_u32(f, "own_slot"), writes = cj_pred(f, "writes");
    if (is_pushed(k)) {
        cj_reg to = cj_u32(f, "to"), value[ROW_VALUES];
        cj__row_slot_values(k, value);
        cj_step(f, "each warp pushes its part to every block of the cluster, lane r to rank r");
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slot, k->rank, k->s->warps, k->warp);
        cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", slot, 4 * words, slots);
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", writes, k->lane, k->s->cluster);
        cj_ptx(f, "min.u32 $1, $2, $3;", to, k->lane, k->s->cluster - 1);
        cj_reg peer = cj_cluster_map_address(f, slot, to), mbarrier = cj_cluster_map_address(f, m->met, to);
        cj_cluster_wait(f, "D2: all blocks have started, their memory may be written");
        cj_mbarrier_arrive_expect(f, m->leads, m->met, CJ_ARG(slot_count(k) * words * 4), "D3: all parts of the row");
        cj_st_async(f, writes, "f32", value, words, peer, 0, mbarrier);
        cj_mbarrier_wait(f, m->met, CJ_ARG(0), CJ_SCOPE_CLUSTER, "D3: every part of the row is here");
    } else {
        cj_step(f, "a slot a warp");
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slot, k->warp, 4 * words, slots);
        cj_ptx(f, "setp.eq.u32 $1, $2, 0;", writes, k->lane);
        cj__row_store_slot(k, writes, slot);
        cj_ptx(f, m->posts.tag.id ? "bar.sync 0; // P1: every part of the block is written"
                                  : "bar.sync 0; // D1: every part of the row is written");
    }
    if (m->posts.tag.id) {
        cj__row_meet_posts(k, &m->posts, slots);
        return;
    }
    cj_step(f, "every warp combines all parts");
    cj__row_fold_slots(k, slots, slot_count(k));
}

// ---- pieces

static cj_reg first_piece(row_kernel *k) {
    cj_reg piece = cj_u32(k->f, "piece");
    if (cj__row_blocks(k->s) > 1)
        cj_ptx(k->f, "mul.lo.u32 $1, $2, $3;", piece, k->rank, k->s->pieces);
    else
        cj_ptx(k->f, "mov.u32 $1, 0;", piece);
    return piece;
}

static cj_reg last_piece(row_kernel *k, cj_reg first) {
    cj_reg last = cj_u32(k->f, "last_piece");
    cj_ptx(k->f, "add.u32 $1, $2, $3;", last, first, k->s->pieces);
    return last;
}

// For each piece from `piece`, which is counted up, to `last`: where it is, and what `body` writes for it.
static void emit_pieces(row_kernel *k, const char *name, cj_reg piece, cj_reg last,
                        void (*body)(row_kernel *k, void *user), void *user) {
    cj_func *f = k->f;
    cj_reg   more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, name);
    cj_label_here(f, next);
    cj__row_set_piece(k, piece);
    cj__row_place(k);
    cj__row_load_piece(k);
    body(k, user);
    cj_ptx(f, "add.u32 $1, $1, 1;", piece);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, piece, last);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

static void add_piece(row_kernel *k, void *user) {
    const row_part *all = user, both[2] = {*all, k->part};
    cj__row_take(k);
    cj__row_fold(k, all, both, 2, false);
}

static void give_piece(row_kernel *k, void *user) {
    (void)user;
    cj__row_give(k);
}

row_part cj__row_values(row_kernel *k, cj_reg piece, cj_reg last) {
    row_part all = cj__row_part_new(k, "all");
    cj_step(k->f, "the row is read piece by piece, for its values");
    cj__row_part_clear(k, &all);
    emit_pieces(k, "next_piece", piece, last, add_piece, &all);
    return all;
}

void cj__row_twice(row_kernel *k, const row_meeting *m) {
    cj_func *f = k->f;
    if (k->op->prepare) k->op->prepare(k);
    cj_reg piece = first_piece(k);
    k->part = cj__row_values(k, piece, last_piece(k, piece));
    cj__row_meet(k, m);
    k->op->finish(k);
    if (!k->op->outputs) return;
    cj_step(f, "and once more, for what is written");
    piece = first_piece(k);
    emit_pieces(k, "next_written", piece, last_piece(k, piece), give_piece, NULL);
}

void cj__row_held(row_kernel *k, const row_meeting *m) {
    cj_func *f = k->f;
    cj__row_place(k);
    cj__row_load_piece(k);
    if (k->s->blocks) cj__row_keep_behind(k, true);
    if (k->op->prepare) k->op->prepare(k);
    k->in_place = k->s->in_bytes == 4;
    cj_step(f, "its part of the row's values");
    cj__row_take(k);
    cj__row_meet(k, m);
    k->op->finish(k);
    if (!k->op->outputs) return;
    cj_step(f, "what is written");
    cj__row_give(k);
}

void cj__row_set_share(row_kernel *k) { cj__row_set_piece(k, first_piece(k)); }

void cj__row_emit_direct(row_kernel *k) {
    cj_label          done = cj_label_new(k->f, "done");
    const row_meeting m = cj__row_meeting(k, false);
    emit_row_number(k, done);
    if (k->s->pieces > 1) {
        cj__row_twice(k, &m);
    } else {
        cj_step(k->f, "the thread's share of the row, in registers");
        cj__row_set_share(k);
        cj__row_held(k, &m);
    }
    if (k->s->rows_per_block > 1) cj_label_here(k->f, done);
    cj_ptx(k->f, "ret;");
}
