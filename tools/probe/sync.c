// SPDX-License-Identifier: Apache-2.0
// The cost of synchronization: barriers, a value sent to a peer and back, and a value of each block whose sum every
// block gets.
#include <stddef.h>

#include "frame.h"

enum {
    BARRIERS = 4,      // a round
    FLAG_BYTES = 128,  // from flag to flag in global memory
    SLOTS = 1024,      // rounds of a ping-pong: st.async orders nothing but its own bytes, so no slot is written twice
    SIDE = 64,         // bytes of a round's slots in an allreduce
    SIDES = 512,       // rounds of an allreduce by st.async, for the same reason
};

// ---- barriers

// Every thread writes a word before the barriers; a thread of the next block reads it after them.
static void write_barrier(probe_frame *k) {
    cj_func *f = k->f;
    uint32_t threads = k->shape->threads;
    cj_var   words = cj_shared(f, "u32", "words", threads, 0);
    cj_reg   at = cj_u32(f, "at"), value = cj_u32(f, "value"), there = cj_u32(f, "there"), wraps = cj_pred(f, "wraps");
    cj_ptx(f, "add.u32 $1, $2, 1;", value, k->thread);
    frame_element(k, at, words, k->thread, 4);
    cj_ptx(f, "mov.u32 $1, $2;", there, at);
    if (k->shape->cluster) frame_map(k, there, at, frame_rank(k, "neighbour", 1));
    frame_start(k);
    cj_ptx(f, "st.shared$1.u32 [$2], $3;", k->shape->cluster ? "::cluster" : "", there, value);
    frame_loop(k);
    for (int i = 0; i < BARRIERS; i++) frame_barrier(k, "timed");
    frame_again(k);
    frame_stop(k, false);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", wraps, value, threads);
    cj_ptx(f, "@$1 mov.u32 $2, 0;", wraps, value);
    frame_element(k, at, words, value, 4);
    cj_ptx(f, "ld.shared.u32 $1, [$2];", k->check, at);
}

static uint64_t expect_barrier(const probe_shape *s, const probe_launch *l) {
    return l->blocks * frame_series((uint64_t)s->threads + 1);
}

static double barriers(const probe_shape *s) {
    (void)s;
    return BARRIERS;
}

const probe_kernel probe_barrier = {
    .name = "barrier", .write = write_barrier, .expect = expect_barrier, .work = barriers, .least_rounds = 1};

// ---- there and back: even ranks send first, odd ones answer; one thread a block

typedef struct ping {
    cj_reg even, odd;  // predicates
    cj_reg slot, bar, there, bar_there;
    cj_reg own, other;  // addresses in global memory
    cj_reg value, parity, least;
} ping;

static void send(probe_frame *k, const ping *p, cj_reg guard) {
    cj_func *f = k->f;
    cj_reg   next = cj_u32(f, "next");
    cj_ptx(f, "add.u32 $1, $2, 1;", next, p->value);
    switch (k->shape->op) {
    case PROBE_ARRIVE: cj_ptx(f, "@$1 mbarrier.arrive.shared::cluster.b64 _, [$2];", guard, p->bar_there); break;
    case PROBE_RELEASE:
        cj_ptx(f, "@$1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$2];", guard, p->bar_there);
        break;
    case PROBE_ST_ASYNC:
        cj_ptx(f, "@$1 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [$2], $3, [$4];", guard, p->there, next,
               p->bar_there);
        break;
    case PROBE_FLAG: cj_ptx(f, "@$1 st.release.cluster.shared::cluster.u32 [$2], $3;", guard, p->there, next); break;
    default: cj_ptx(f, "@$1 st.release.gpu.global.u32 [$2], $3;", guard, p->other, next); break;
    }
}

static void expect_value(probe_frame *k, cj_reg bar) {
    cj_reg state = cj_b64(k->f, "state");
    cj_ptx(k->f, "mbarrier.arrive.expect_tx.shared::cta.b64 $1, [$2], 4;", state, bar);
}

// The received value is one more than the last one sent; the first value that an odd rank receives is 1.
static void receive(probe_frame *k, const ping *p) {
    cj_func *f = k->f;
    if (k->shape->op == PROBE_FLAG) frame_poll(k, "ld.acquire.cluster.shared.u32", p->value, p->slot, p->least);
    if (k->shape->op == PROBE_GLOBAL) frame_poll(k, "ld.acquire.gpu.global.u32", p->value, p->own, p->least);
    if (k->shape->op == PROBE_FLAG || k->shape->op == PROBE_GLOBAL) {
        cj_ptx(f, "add.u32 $1, $1, 2;", p->least);
        return;
    }
    frame_wait(k, p->bar, p->parity);
    cj_ptx(f, "xor.b32 $1, $1, 1;", p->parity);
    if (k->shape->op == PROBE_ST_ASYNC) expect_value(k, p->bar);  // expects the next value before any block can send it
    if (k->shape->op == PROBE_ST_ASYNC)
        cj_ptx(f, "ld.shared.u32 $1, [$2];", p->value, p->slot);
    else
        cj_ptx(f, "add.u32 $1, $1, 2;", p->value);
}

static void prepare_ping(probe_frame *k, ping *p) {
    cj_func *f = k->f;
    cj_var   slot = cj_shared(f, "u32", "slot", k->shape->op == PROBE_ST_ASYNC ? SLOTS : 1, 0),
           bar = cj_shared(f, "b64", "arrived", 1, 0);
    cj_reg low = cj_u32(f, "low"), peer = cj_u32(f, "peer"), zero = frame_u32(k, "zero", 0);
    p->slot = frame_address(k, "slot", slot);
    p->bar = frame_address(k, "arrived", bar);
    p->there = cj_u32(f, "slot_there");
    p->bar_there = cj_u32(f, "arrived_there");
    p->even = cj_pred(f, "even");
    p->odd = cj_pred(f, "odd");
    p->parity = frame_u32(k, "parity", 0);
    p->value = cj_u32(f, "value");
    p->least = cj_u32(f, "least");
    cj_ptx(f, "xor.b32 $1, $2, 1;", peer, k->rank);
    frame_map(k, p->there, p->slot, peer);
    frame_map(k, p->bar_there, p->bar, peer);
    cj_ptx(f, "and.b32 $1, $2, 1;", low, k->rank);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", p->even, low);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", p->odd, low);
    if (k->shape->op == PROBE_ARRIVE || k->shape->op == PROBE_RELEASE)
        cj_ptx(f, "sub.u32 $1, 0, $2;", p->value, low);  // increases by two a round
    else
        cj_ptx(f, "mov.u32 $1, 0;", p->value);
    cj_ptx(f, "sub.u32 $1, 2, $2;", p->least, low);
    cj_ptx(f, "st.shared.u32 [$1], $2;", p->slot, zero);
    frame_mbarriers(k, bar, 1, 1);
    if (k->shape->op != PROBE_GLOBAL) return;
    p->own = frame_data(k);
    p->other = cj_u64(f, "flag_there");
    cj_ptx(f, "xor.b32 $1, $2, 1;", peer, k->block);  // clusters begin at even blocks
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", p->other, peer, FLAG_BYTES, p->own);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", p->own, k->block, FLAG_BYTES);
}

static void write_ping_pong(probe_frame *k) {
    cj_func *f = k->f;
    ping     p = {0};
    prepare_ping(k, &p);
    if (k->shape->op == PROBE_ST_ASYNC) expect_value(k, p.bar);
    frame_start(k);
    frame_loop(k);
    send(k, &p, p.even);
    receive(k, &p);
    send(k, &p, p.odd);
    if (k->shape->op == PROBE_ST_ASYNC) {
        cj_ptx(f, "add.u32 $1, $1, 4;", p.slot);
        cj_ptx(f, "add.u32 $1, $1, 4;", p.there);
    }
    frame_again(k);
    frame_stop(k, false);
    cj_ptx(f, "mov.u32 $1, $2;", k->check, p.value);
}

// An even rank ends with 2 * rounds, an odd one with one less.
static uint64_t expect_ping_pong(const probe_shape *s, const probe_launch *l) {
    (void)s;
    return (uint64_t)l->blocks / 2 * (4 * (uint64_t)l->rounds - 1);
}

static double once(const probe_shape *s) {
    (void)s;
    return 1;
}

static uint64_t flag_bytes(const probe_shape *s, uint32_t blocks) {
    return s->op == PROBE_GLOBAL ? (uint64_t)blocks * FLAG_BYTES : 0;
}

const probe_kernel probe_ping_pong = {.name = "ping_pong",
                                      .write = write_ping_pong,
                                      .expect = expect_ping_pong,
                                      .work = once,
                                      .data_bytes = flag_bytes,
                                      .least_rounds = 1};

// ---- allreduce of one f32 a block: every block gets the mean, which is the next round's value

// Mbarriers come in pairs, for odd and even rounds: no thread is more than one round ahead of another. So do the slots
// for values that are pulled; each round of st.async has slots of its own.
static void all_by_push(probe_frame *k, cj_reg slots, cj_reg bar, cj_reg bar_value, cj_reg value, cj_reg in) {
    cj_func *f = k->f;
    cj_reg   there = cj_u32(f, "there"), bar_there = cj_u32(f, "arrived_there"), state = cj_b64(f, "state");
    cj_ptx(f, "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 $2, [$3], $4;", k->first, state, bar, 4 * k->size);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", there, k->rank, slots);
    cj_ptx(f, "@$1 mapa.shared::cluster.u32 $2, $2, $3;", in, there, k->thread);
    cj_ptx(f, "@$1 mapa.shared::cluster.u32 $2, $3, $4;", in, bar_there, bar, k->thread);
    cj_ptx(f, "@$1 st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [$2], $3, [$4];", in, there, value,
           bar_there);
    frame_wait(k, bar, bar_value);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", there, k->thread, slots);
    cj_ptx(f, "mov.f32 $1, 0f00000000;", value);
    cj_ptx(f, "@$1 ld.shared.f32 $2, [$3];", in, value, there);
}

static void all_by_pull(probe_frame *k, cj_reg slots, cj_reg value, cj_reg in) {
    cj_func *f = k->f;
    cj_reg   there = cj_u32(f, "there");
    cj_ptx(f, "@$1 st.shared.f32 [$2], $3;", k->first, slots, value);
    frame_barrier(k, "every block's value is there");
    cj_ptx(f, "@$1 mapa.shared::cluster.u32 $2, $3, $4;", in, there, slots, k->thread);
    cj_ptx(f, "mov.f32 $1, 0f00000000;", value);
    cj_ptx(f, "@$1 ld.shared::cluster.f32 $2, [$3];", in, value, there);
}

static void write_allreduce(probe_frame *k) {
    cj_func *f = k->f;
    bool     push = k->shape->op == PROBE_ST_ASYNC;
    cj_var   slots = cj_shared(f, "f32", "slots", (push ? SIDES : 2) * SIDE / 4, 128),
           bars = cj_shared(f, "b64", "arrived", 2, 0);
    cj_reg value = cj_f32(f, "value"), in = cj_pred(f, "in"), odd = cj_u32(f, "odd"), parity = cj_u32(f, "parity");
    cj_reg at = cj_u32(f, "slots_now"), at_side = cj_u32(f, "side"), bar = cj_u32(f, "arrived_now");
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", in, k->thread, k->size);
    cj_ptx(f, "cvt.rn.f32.u32 $1, $2;", value, k->rank);
    frame_mbarriers(k, bars, 2, 1);
    frame_start(k);
    frame_loop(k);
    cj_ptx(f, "and.b32 $1, $2, 1;", odd, k->round);
    cj_ptx(f, "and.b32 $1, $2, $3;", at_side, k->round, push ? SIDES - 1 : 1);
    frame_element(k, at, slots, at_side, SIDE);
    frame_element(k, bar, bars, odd, 8);
    cj_ptx(f, "bfe.u32 $1, $2, 1, 1;", parity, k->round);
    if (push)
        all_by_push(k, at, bar, parity, value, in);
    else
        all_by_pull(k, at, value, in);
    cj_warp_reduce(f, (cj_combine){.op = CJ_COMBINE_SUM, .type = "f32"}, value, 32);
    cj_ptx(f, "mul.f32 $1, $1, $2;", value, 1.0f / (float)k->size);
    frame_again(k);
    frame_stop(k, false);
    cj_ptx(f, "add.f32 $1, $1, $1;", value);
    cj_ptx(f, "@$1 cvt.rzi.u32.f32 $2, $3;", k->first, k->check, value);
}

// Twice the mean of the ranks.
static uint64_t expect_allreduce(const probe_shape *s, const probe_launch *l) {
    return (uint64_t)l->blocks * (s->cluster - 1);
}

const probe_kernel probe_allreduce = {
    .name = "allreduce", .write = write_allreduce, .expect = expect_allreduce, .work = once, .least_rounds = 1};
