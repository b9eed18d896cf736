// SPDX-License-Identifier: Apache-2.0
// The rounds of each strategy, in exchange.c's words: push, of long parts in many rounds by bulk copies, pull, and global.
// docs/maintaining/exchange.md tells why the barriers suffice.
#include "exchange.h"

// ---- push: st.async into the unit's place in the peer's buffer, whose mbarrier counts the bytes

enum { FREE_AT = 16, MBARRIER = 8 };  // where free[] begins, after full[]; bytes of an mbarrier

static void init_mbarriers(const exchange_kernel *k, uint32_t from, uint32_t arrivals, const char *why) {
    for (unsigned i = 0; i < EXCHANGE_BUFFERS; i++)
        cj_mbarrier_init(k->f, k->leader, cj_add(k->f, "mbarrier", k->box, from + MBARRIER * i), CJ_ARG(arrivals), why);
}

static void push_setup(exchange_kernel *k) {
    cj_step(k->f, "mbarriers, before any peer needs them");
    if (k->s.bulk) init_mbarriers(k, 0, 1 + k->s.parts - k->s.turned, "full: the arrival that expects the bytes, and one for each part");
    if (!k->s.bulk) init_mbarriers(k, 0, 1, "full: one arrival, which expects the bytes");
    if (k->s.credits) init_mbarriers(k, FREE_AT, 1, "free: one arrival, of the block to the left");
    cj_mbarrier_init_done(k->f, "peers may see them");
    cj_cluster_arrive(k->f, CJ_ARRIVE_RELAXED, NULL);
    cj_cluster_wait(k->f, "B1: every block's mbarriers are ready");
    if (k->s.credits) k->link = cj__exchange_window(k, cj__exchange_around(k, CJ_ARG(k->s.shift)));
}

// The mbarrier of this round's buffer at an offset from where shared memory begins, own or a peer's.
static cj_reg mbarrier_at(const exchange_kernel *k, cj_reg window, cj_reg turn, uint32_t offset, const char *name) {
    cj_reg at = cj_add(k->f, name, window, turn);
    return offset ? cj_add(k->f, name, at, offset) : at;
}

// By threads that hold something: no thread would wait for those of others, so that they could miss a phase.
static void trade_units(const exchange_kernel *k, const exchange_turn *t, cj_reg turn, const exchange_units *u,
                        cj_reg full) {
    cj_reg mbarrier = full;
    if (k->s.credits) {
        cj_reg before = cj_xor(k->f, "parity_before", t->parity, 1);
        cj_mbarrier_wait(k->f, mbarrier_at(k, k->box, turn, FREE_AT, "free"), CJ_ARG(before), CJ_SCOPE_CLUSTER,
                         "this buffer was read where it is written now");
    }
    for (unsigned i = 0; i < k->s.vectors; i++) {
        if (cj__exchange_stays(k, i)) continue;
        cj_reg to = cj__exchange_in_buffer(k, t, u->address[i]);
        if (!i || k->s.parts > 1) mbarrier = mbarrier_at(k, u->window[i], turn, 0, "full_there");
        cj_st_async(k->f, u->is_held[i], "b32", u->value[i], k->s.slot / 4, to, EXCHANGE_HEAD, mbarrier);
    }
    cj_mbarrier_wait(k->f, full, CJ_ARG(t->parity), CJ_SCOPE_CLUSTER, "everything has come");
    cj__exchange_load_sent(k, t, u);
}

static void push_round(const exchange_kernel *k, const exchange_units *u, cj_reg round) {
    const exchange_turn t = cj__exchange_turn(k, round);
    cj_reg              turn = cj_shl(k->f, "mbarriers", t.number, 3), full = mbarrier_at(k, k->box, turn, 0, "full");
    cj_reg              bytes = cj_mul(k->f, "bytes", u->tile.left, (k->s.parts - k->s.turned) * k->s.slot);
    cj_mbarrier_arrive_expect(k->f, k->leader, full, CJ_ARG(bytes), "what will come");
    CJ_IF(k->f, u->holds, "holds_nothing") trade_units(k, &t, turn, u, full);
    if (!k->s.credits) return;
    cj_ptx(k->f, "bar.sync 0; // B2: every thread has read it");
    cj_mbarrier_arrive_peer(k->f, k->leader, mbarrier_at(k, k->link, turn, FREE_AT, "free_there"),
                            "it may be written again");
}

// ---- push by bulk copies from buffer to buffer

// Thread p of warp 0 copies part p, in an all-to-all from the own part on the next one. All blocks begin with the same
// peer: measured on an H200, 2026-11-21, that is faster than if each began with the next rank.
static void bulk_setup(exchange_kernel *k) {
    cj_func       *f = k->f;
    const uint32_t slots = k->s.tile * k->s.slot;
    push_setup(k);
    cj_step(f, "a thread for each part that leaves: where the part begins, and where it goes");
    k->sends = cj_lt(f, "sends", k->thread, k->s.parts - k->s.turned);
    cj_reg part = cj_min(f, "part", k->thread, k->s.parts - 1);
    if (k->s.turned) {
        cj_reg after_own = cj_ge(f, "after_own", part, k->rank);
        cj_ptx(f, "@$1 add.u32 $2, $2, 1;", after_own, part);
        part = cj_min(f, "part", part, k->s.parts - 1);
    }
    k->there = cj__exchange_window(k, cj__exchange_peer(k, part, false));
    k->from = cj_mad(f, "from", part, slots, k->box);
    k->to = cj_mad(f, "to", cj__exchange_part_there(k, part), slots, k->there);
}

// Copies of at most copy_bytes each.
static void copy_part(const exchange_kernel *k, cj_reg to, cj_reg from, cj_reg left, cj_reg mbarrier) {
    cj_func *f = k->f;
    CJ_DO(f, "next_copy", cj_ne(f, "more", left, 0)) {
        cj_reg bytes = cj_min(f, "bytes", left, k->s.copy_bytes);
        cj_bulk_push(f, k->sends, to, from, CJ_ARG(bytes), mbarrier);
        cj_update(f, from, "add", bytes);
        cj_update(f, to, "add", bytes);
        cj_update(f, left, "sub", bytes);
    }
}

// One round by warp 0, from the buffer of this turn into the peers' other ones.
static void bulk_round(const exchange_kernel *k, const exchange_units *u, cj_reg round) {
    cj_func *f = k->f;
    cj_reg   turn = cj_and(f, "turn", round, 1), other = cj_xor(f, "other", turn, 1);
    cj_reg   parity = cj_let(f, "u32", "parity", "bfe.u32 $1, $2, 1, 1;", round);
    cj_reg   full = cj_mad(f, "full", other, MBARRIER, k->box);
    cj_reg   full_there = cj_mad(f, "full_there", other, MBARRIER, k->there);
    cj_reg   from = cj_mad(f, "from", turn, k->s.buffer_bytes, k->from);
    cj_reg   to = cj_mad(f, "to", other, k->s.buffer_bytes, k->to);
    cj_ptx(f, "add.u32 $1, $1, $2;", from, EXCHANGE_HEAD);
    cj_ptx(f, "add.u32 $1, $1, $2;", to, EXCHANGE_HEAD);
    cj_reg left = cj_mul(f, "bytes_left", u->tile.left, k->s.slot);
    cj_reg bytes = cj_mul(f, "bytes", left, k->s.parts - k->s.turned);
    cj_mbarrier_arrive_expect(f, k->leader, full, CJ_ARG(bytes), "what will come");
    cj_ptx(
        f,
        "@$1 mbarrier.arrive.shared::cluster.b64 _, [$2]; // what this round overwrites there has been sent and taken",
        k->sends, full_there);
    copy_part(k, to, from, left, full_there);
    cj_mbarrier_wait(f, full, CJ_ARG(parity), CJ_SCOPE_CLUSTER, "everything has come");
}

// ---- pull: a cluster barrier, and loads of peers' buffers

// All units, from peers' buffers.
static void load_all(const exchange_kernel *k, const exchange_turn *t, const exchange_units *u, const char *load, int64_t offset) {
    for (unsigned i = 0; i < k->s.vectors; i++)
        cj__exchange_load_unit(k, u, i, load, cj__exchange_in_buffer(k, t, u->address[i]), offset);
}

static void pull_round(const exchange_kernel *k, const exchange_units *u, cj_reg round) {
    const exchange_turn t = cj__exchange_turn(k, round);
    cj__exchange_store_own(k, u, "st.shared", cj__exchange_in_buffer(k, &t, k->own));
    cj_cluster_sync(k->f, "P1: every block's buffer is written, and the other one was read");
    load_all(k, &t, u, "ld.shared::cluster", EXCHANGE_HEAD);
}

// ---- global, without clusters: flags, and loads of buffers in global memory

// Each of the first threads watches one block's flag: those that it trades with, in a ring on both sides.
static cj_reg watched_peer(const exchange_kernel *k, uint32_t links) {
    if (k->s.pattern == CJ_EXCHANGE_PAIR) return cj__exchange_peer(k, cj_none(), true);
    cj_reg part = cj_min(k->f, "part", k->thread, links - 1);
    if (k->s.pattern != CJ_EXCHANGE_RING) return cj__exchange_peer(k, part, true);
    cj_reg is_source = cj_eq(k->f, "is_source", part, 0);
    cj_reg distance = cj_select(k->f, "u32", "distance", is_source, k->s.shift, k->s.size - k->s.shift);
    return cj__exchange_around(k, CJ_ARG(distance));
}

static void global_setup(exchange_kernel *k) {
    cj_func       *f = k->f;
    const uint32_t links = k->s.pattern == CJ_EXCHANGE_RING ? 2 : k->s.parts;
    cj_reg         flags = cj__load_pointer(f, k->workspace, "flags");
    cj_step(f, "the own flag, which counts rounds from launch to launch, and those to wait for");
    k->flag = cj_mad_wide(f, "flag", k->block, EXCHANGE_FLAG, flags);
    k->before = cj_let(f, "u32", "rounds_before", "ld.global.u32 $1, [$2];", k->flag);
    k->watches = cj_lt(f, "watches", k->thread, links);
    cj_reg peer = watched_peer(k, links);
    k->link = cj_mad_wide(f, "flag_there", cj__exchange_block_of(k, peer), EXCHANGE_FLAG, flags);
}

static void global_round(const exchange_kernel *k, const exchange_units *u, cj_reg round) {
    cj_func            *f = k->f;
    const exchange_turn t = cj__exchange_turn(k, round);
    cj_reg              ahead = {0};
    cj__exchange_store_own(k, u, "st.global", cj__exchange_in_buffer(k, &t, k->own));
    cj_reg now = cj_add(f, "now", cj_add(f, "now", k->before, round), 1);
    cj_ptx(f, "bar.sync 0; // G1: the buffer is written");
    cj_ptx(f, "@$1 st.release.gpu.global.u32 [$2], $3;", k->leader, k->flag, now);
    CJ_IF(f, k->watches, "come") {
        CJ_DO(f, "watch", cj_let(f, "pred", "early", "setp.lt.s32 $1, $2, 0;", ahead)) {
            cj_reg seen = cj_let(f, "u32", "seen", "ld.acquire.gpu.global.u32 $1, [$2];", k->link);
            ahead = cj_sub(f, "ahead", seen, now);
        }
    }
    cj_ptx(f, "bar.sync 0; // G2: those that it trades with have written theirs, and read the other one");
    load_all(k, &t, u, "ld.global", 0);
}

// ---- all rounds

// What is written before the rounds, and a round, of each strategy; and of bulk copies, which push, too.
typedef struct way {
    void (*setup)(exchange_kernel *k);
    void (*round)(const exchange_kernel *k, const exchange_units *u, cj_reg round);
} way;

static const way *way_of(const exchange_kernel *k) {
    static const way bulk = {bulk_setup, bulk_round}, ways[] = {[CJ_EXCHANGE_PUSH] = {push_setup, push_round},
                                                                [CJ_EXCHANGE_PULL] = {NULL, pull_round},
                                                                [CJ_EXCHANGE_GLOBAL] = {global_setup, global_round}};
    return k->s.bulk ? &bulk : &ways[k->s.strategy];
}

void cj__exchange_setup(exchange_kernel *k) {
    if (way_of(k)->setup) way_of(k)->setup(k);
}

static void emit_loop(const exchange_kernel *k, const exchange_units *u, cj_reg round, cj_reg end) {
    cj_step(k->f, k->s.bulk ? "a round, by warp 0" : "a round");
    CJ_DO(k->f, "next_round", cj_ne(k->f, "more", round, end)) {
        way_of(k)->round(k, u, round);
        cj_update(k->f, round, "add", 1);
    }
}

// Into the buffer of the first round's turn; out of that of the turn after the last one.
static void bulk_rounds(const exchange_kernel *k, const exchange_units *u, cj_reg round) {
    cj_func *f = k->f;
    cj_step(f, "what leaves, into the buffer");
    exchange_turn t = cj__exchange_turn(k, round);
    cj__exchange_store_sent(k, &t, u);
    cj_async_fence(f, "copies see what threads wrote, and come after what they read");
    cj_ptx(f, "bar.sync 0; // C1: the buffer is written, and what came before has been read");
    cj_reg end = cj_add(f, "rounds_end", round, k->s.repeat);
    if (k->s.threads == 32)
        emit_loop(k, u, round, end);
    else
        CJ_UNLESS(f, cj_ge(f, "other_warp", k->thread, 32), "rounds_done") emit_loop(k, u, round, end);
    cj_ptx(f, "bar.sync 0; // C2: what came can be read");
    cj_set(f, round, end);
    t = cj__exchange_turn(k, round);
    cj__exchange_load_sent(k, &t, u);
}

void cj__exchange_rounds(const exchange_kernel *k, const exchange_units *u, cj_reg round) {
    if (k->s.bulk)
        bulk_rounds(k, u, round);
    else
        emit_loop(k, u, round, cj_add(k->f, "rounds_end", round, k->s.repeat));
}
