// SPDX-License-Identifier: Apache-2.0
// Push: st.async straight into the unit's place in the peer's buffer, whose mbarrier counts the bytes. Of long parts in many
// rounds, bulk copies from buffer to buffer. exchange.c tells why the barriers suffice.
#include <clusterjit/control.h>

#include "kernel.h"

enum { FREE_AT = 16, MBARRIER = 8 };  // where free[] begins, after full[]; bytes of an mbarrier

static void init_mbarriers(const exchange_kernel *k, uint32_t from, uint32_t arrivals, const char *why) {
    for (unsigned i = 0; i < EXCHANGE_BUFFERS; i++)
        cj_mbarrier_init(k->f, k->leader, cj_add(k->f, "mbarrier", k->box, from + MBARRIER * i), CJ_ARG(arrivals), why);
}

exchange_links cj__exchange_push_setup(const exchange_kernel *k) {
    cj_func       *f = k->f;
    exchange_links l = {.link = {0}};
    cj_step(f, "mbarriers, before any peer needs them");
    if (k->s.bulk)
        init_mbarriers(k, 0, 1 + k->s.parts - k->s.turned,
                       "full: the arrival that expects the bytes, and one for each part");
    else
        init_mbarriers(k, 0, 1, "full: one arrival, which expects the bytes");
    if (k->s.credits) init_mbarriers(k, FREE_AT, 1, "free: one arrival, of the block to the left");
    cj_mbarrier_init_done(f, "peers may see them");
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, NULL);
    cj_cluster_wait(f, "B1: every block's mbarriers are ready");
    if (k->s.credits) l.link = cj__exchange_window(k, cj__exchange_around(k, CJ_ARG(k->s.shift)));
    return l;
}

// The mbarrier of this round's buffer at an offset from where shared memory begins, own or a peer's.
static cj_reg mbarrier_at(const exchange_kernel *k, cj_reg window, cj_reg turn, uint32_t offset, const char *name) {
    cj_reg at = cj_add(k->f, name, window, turn);
    return offset ? cj_add(k->f, name, at, offset) : at;
}

// By threads that hold something: of others nobody would wait for a phase, so that they could miss one.
static void trade_units(const exchange_kernel *k, const exchange_turn *t, cj_reg turn, const exchange_units *u,
                        cj_reg full) {
    cj_func *f = k->f;
    cj_reg   mbarrier = full;
    if (k->s.credits) {
        cj_reg before = cj_xor(f, "parity_before", t->parity, 1);
        cj_mbarrier_wait(f, mbarrier_at(k, k->box, turn, FREE_AT, "free"), CJ_ARG(before), CJ_SCOPE_CLUSTER,
                         "this buffer was read where it is written now");
    }
    for (unsigned i = 0; i < k->s.vectors; i++) {
        if (cj__exchange_stays(k, i)) continue;
        cj_reg to = cj__exchange_in_buffer(k, t, u->address[i]);
        if (!i || k->s.parts > 1) mbarrier = mbarrier_at(k, u->window[i], turn, 0, "full_there");
        cj_st_async(f, u->is_held[i], "b32", u->value[i], k->s.slot / 4, to, EXCHANGE_HEAD, mbarrier);
    }
    cj_mbarrier_wait(f, full, CJ_ARG(t->parity), CJ_SCOPE_CLUSTER, "everything has come");
    cj__exchange_load_sent(k, t, u);
}

void cj__exchange_push_round(const exchange_kernel *k, const exchange_links *l, const exchange_tile *tile,
                             const exchange_units *u, cj_reg round) {
    cj_func            *f = k->f;
    const exchange_turn t = cj__exchange_turn(k, round);
    cj_reg              turn = cj_shl(f, "mbarriers", t.number, 3), full = mbarrier_at(k, k->box, turn, 0, "full");
    cj_reg              bytes = cj_mul(f, "bytes", tile->left, (k->s.parts - k->s.turned) * k->s.slot);
    cj_mbarrier_arrive_expect(f, k->leader, full, CJ_ARG(bytes), "what will come");
    CJ_IF(f, u->holds, "holds_nothing") trade_units(k, &t, turn, u, full);
    if (!k->s.credits) return;
    cj_ptx(f, "bar.sync 0; // B2: every thread has read it");
    cj_mbarrier_arrive_peer(f, k->leader, mbarrier_at(k, l->link, turn, FREE_AT, "free_there"),
                            "it may be written again");
}

// ---- bulk copies

// Thread p of warp 0 copies part p, in an all-to-all from the own part on the next one. All blocks begin with the same
// peer: measured on an H200, 2026-11-21, that is faster than if each began with the next rank.
exchange_links cj__exchange_bulk_setup(const exchange_kernel *k) {
    cj_func       *f = k->f;
    const uint32_t slots = k->s.tile * k->s.slot;
    exchange_links l = cj__exchange_push_setup(k);
    cj_step(f, "a thread for each part that leaves: where the part begins, and where it goes");
    l.sends = cj_lt(f, "sends", k->thread, k->s.parts - k->s.turned);
    cj_reg part = cj_min(f, "part", k->thread, k->s.parts - 1);
    if (k->s.turned) {
        cj_reg after_own = cj_ge(f, "after_own", part, k->rank);
        cj_ptx(f, "@$1 add.u32 $2, $2, 1;", after_own, part);
        part = cj_min(f, "part", part, k->s.parts - 1);
    }
    l.there = cj__exchange_window(k, cj__exchange_peer(k, part, false));
    l.from = cj_mad(f, "from", part, slots, k->box);
    l.to = cj_mad(f, "to", cj__exchange_part_there(k, part), slots, l.there);
    return l;
}

// Copies of at most copy_bytes each.
static void copy_part(const exchange_kernel *k, const exchange_links *l, cj_reg to, cj_reg from, cj_reg left,
                      cj_reg mbarrier) {
    cj_func *f = k->f;
    cj_reg   more = cj_pred(f, "more");
    CJ_DO(f, "next_copy", more) {
        cj_reg bytes = cj_min(f, "bytes", left, k->s.copy_bytes);
        cj_bulk_push(f, l->sends, to, from, CJ_ARG(bytes), mbarrier);
        cj_ptx(f, "add.u32 $1, $1, $2;", from, bytes);
        cj_ptx(f, "add.u32 $1, $1, $2;", to, bytes);
        cj_ptx(f, "sub.u32 $1, $1, $2;", left, bytes);
        cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    }
}

// One round by warp 0, from the buffer of this turn into the peers' other ones.
static void bulk_round(const exchange_kernel *k, const exchange_links *l, const exchange_tile *tile, cj_reg round) {
    cj_func *f = k->f;
    cj_reg   turn = cj_and(f, "turn", round, 1), other = cj_xor(f, "other", turn, 1);
    cj_reg   parity = cj_let(f, "u32", "parity", "bfe.u32 $1, $2, 1, 1;", round);
    cj_reg   full = cj_mad(f, "full", other, MBARRIER, k->box);
    cj_reg   full_there = cj_mad(f, "full_there", other, MBARRIER, l->there);
    cj_reg   from = cj_mad(f, "from", turn, k->s.buffer_bytes, l->from);
    cj_reg   to = cj_mad(f, "to", other, k->s.buffer_bytes, l->to);
    cj_ptx(f, "add.u32 $1, $1, $2;", from, EXCHANGE_HEAD);
    cj_ptx(f, "add.u32 $1, $1, $2;", to, EXCHANGE_HEAD);
    cj_reg left = cj_mul(f, "bytes_left", tile->left, k->s.slot);
    cj_reg bytes = cj_mul(f, "bytes", left, k->s.parts - k->s.turned);
    cj_mbarrier_arrive_expect(f, k->leader, full, CJ_ARG(bytes), "what will come");
    cj_ptx(
        f,
        "@$1 mbarrier.arrive.shared::cluster.b64 _, [$2]; // what this round overwrites there has been sent and taken",
        l->sends, full_there);
    copy_part(k, l, to, from, left, full_there);
    cj_mbarrier_wait(f, full, CJ_ARG(parity), CJ_SCOPE_CLUSTER, "everything has come");
}

static void all_bulk_rounds(const exchange_kernel *k, const exchange_links *l, const exchange_tile *t, cj_reg round,
                            cj_reg end) {
    cj_func *f = k->f;
    cj_reg   more = cj_pred(f, "more");
    cj_step(f, "a round, by warp 0");
    CJ_DO(f, "next_round", more) {
        bulk_round(k, l, t, round);
        cj_ptx(f, "add.u32 $1, $1, 1;", round);
        cj_ptx(f, "setp.ne.u32 $1, $2, $3;", more, round, end);
    }
}

// Into the buffer of the first round's turn; out of that of the turn after the last one.
void cj__exchange_bulk_rounds(const exchange_kernel *k, const exchange_links *l, const exchange_tile *tile,
                              const exchange_units *u, cj_reg round) {
    cj_func *f = k->f;
    cj_step(f, "what leaves, into the buffer");
    exchange_turn t = cj__exchange_turn(k, round);
    cj__exchange_store_sent(k, &t, u);
    cj_async_fence(f, "copies see what threads wrote, and come after what they read");
    cj_ptx(f, "bar.sync 0; // C1: the buffer is written, and what came before has been read");
    cj_reg end = cj_add(f, "rounds_end", round, k->s.repeat);
    if (k->s.threads == 32)
        all_bulk_rounds(k, l, tile, round, end);
    else
        CJ_UNLESS(f, cj_ge(f, "other_warp", k->thread, 32), "rounds_done") all_bulk_rounds(k, l, tile, round, end);
    cj_ptx(f, "bar.sync 0; // C2: what came can be read");
    cj_set(f, round, end);
    t = cj__exchange_turn(k, round);
    cj__exchange_load_sent(k, &t, u);
}
