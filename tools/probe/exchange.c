// SPDX-License-Identifier: Apache-2.0
// Two blocks exchange `bytes` bytes each and read what they received, round after round:
//   STORE     st.shared::cluster, and a cluster barrier
//   ST_ASYNC  st.async on the receiver's mbarrier
//   GLOBAL    stores to global memory, and a flag there with release and acquire, as without clusters
// Buffers come in pairs, for odd and even rounds. With STORE and GLOBAL, before a block writes a buffer again, it has
// received its peer's signal of the round in between, which the peer sent after it had read the buffer. st.async orders
// nothing but its own bytes: there the peer arrives at an mbarrier after it has read a buffer; the arrival comes long
// before the sender waits for it.
#include <stddef.h>

#include "frame.h"

enum { FLAG_ROOM = 128 };  // bytes for a block's flag in global memory, after its two buffers

typedef struct exchange {
    cj_var buffer, bars, read;
    cj_reg here, there;     // this round's buffers: the block's own, and the peer's; 32 or 64 bits
    cj_reg offset, mirror;  // bytes of the thread's first vector, and of the one that it reads
    cj_reg value, odd, parity;
    cj_reg own, other;  // GLOBAL: both blocks' parts of data
} exchange;

static bool is_global(const probe_frame *k) { return k->shape->op == PROBE_GLOBAL; }

static uint64_t part_bytes(const probe_shape *s) { return 2 * s->bytes + FLAG_ROOM; }

static void prepare_exchange(probe_frame *k, exchange *x) {
    cj_func *f = k->f;
    cj_reg   other = cj_u32(f, "other");
    x->offset = cj_u32(f, "offset");
    x->mirror = cj_u32(f, "mirror");
    x->value = cj_u32(f, "value");
    x->odd = cj_u32(f, "odd");
    x->parity = cj_u32(f, "parity");
    x->here = cj_register(f, is_global(k) ? "u64" : "u32", "here");
    x->there = cj_register(f, is_global(k) ? "u64" : "u32", "there");
    cj_ptx(f, "mul.lo.u32 $1, $2, 16;", x->offset, k->thread);
    cj_ptx(f, "sub.u32 $1, $2, $3;", x->mirror, 16 * (k->shape->threads - 1), x->offset);
    cj_ptx(f, "shl.b32 $1, $2, 16;", x->value, k->rank);
    if (!is_global(k)) {
        x->buffer = cj_shared(f, "u32", "buffer", (uint32_t)(2 * k->shape->bytes / 4), 128);
        x->bars = cj_shared(f, "b64", "arrived", 2, 0);
        x->read = cj_shared(f, "b64", "read", 2, 0);
        frame_mbarriers(k, x->bars, 2, 1);
        frame_mbarriers(k, x->read, 2, 1);
        return;
    }
    x->own = frame_data(k);
    x->other = cj_u64(f, "other_part");
    cj_ptx(f, "xor.b32 $1, $2, 1;", other, k->block);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", x->other, other, part_bytes(k->shape), x->own);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", x->own, k->block, part_bytes(k->shape));
}

// Chooses this round's buffers.
static void turn(probe_frame *k, const exchange *x, cj_reg peer) {
    cj_func *f = k->f;
    uint64_t bytes = k->shape->bytes;
    cj_ptx(f, "and.b32 $1, $2, 1;", x->odd, k->round);
    cj_ptx(f, "bfe.u32 $1, $2, 1, 1;", x->parity, k->round);
    if (is_global(k)) {
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", x->here, x->odd, bytes, x->own);
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", x->there, x->odd, bytes, x->other);
        cj_ptx(f, "mad.wide.u32 $1, $2, 1, $1;", x->there, x->offset);
        cj_ptx(f, "mad.wide.u32 $1, $2, 1, $1;", x->here, x->mirror);
        return;
    }
    frame_element(k, x->here, x->buffer, x->odd, bytes);
    cj_ptx(f, "add.u32 $1, $2, $3;", x->there, x->here, x->offset);
    frame_map(k, x->there, x->there, peer);
    cj_ptx(f, "add.u32 $1, $1, $2;", x->here, x->mirror);
}

// The instruction that writes a vector.
static const char *const store[] = {[PROBE_STORE] = "st.shared::cluster", [PROBE_GLOBAL] = "st.global"};

static void send(probe_frame *k, const exchange *x, cj_reg bar, cj_reg peer) {
    cj_func *f = k->f;
    uint32_t row = 16 * k->shape->threads;
    if (k->shape->op != PROBE_ST_ASYNC) {
        for (uint32_t at = 0; at < k->shape->bytes; at += row)
            cj_ptx(f, "$1.v4.u32 [$2 + $3], {$4, $4, $4, $4};", store[k->shape->op], x->there, at, x->value);
        return;
    }
    cj_reg state = cj_b64(f, "state"), bar_there = cj_u32(f, "arrived_there"), before = cj_u32(f, "before");
    frame_element(k, bar, x->read, x->odd, 8);
    cj_ptx(f, "xor.b32 $1, $2, 1;", before, x->parity);
    frame_wait(k, bar, before);
    frame_element(k, bar, x->bars, x->odd, 8);
    cj_ptx(f, "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 $2, [$3], $4;", k->first, state, bar, k->shape->bytes);
    frame_map(k, bar_there, bar, peer);
    for (uint32_t at = 0; at < k->shape->bytes; at += row)
        cj_ptx(f, "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [$1 + $2], {$3, $3, $3, $3}, [$4];",
               x->there, at, x->value, bar_there);
}

// The block's first thread signals the peer's first thread; each block has a barrier before and after the signal.
static void wait_by_flag(probe_frame *k, const exchange *x) {
    cj_func *f = k->f;
    cj_reg   least = cj_u32(f, "least"), seen = cj_u32(f, "seen"), at = cj_u64(f, "flag");
    cj_label follow = cj_label_new(f, "follow");
    cj_reg   rest = cj_pred(f, "rest");
    cj_ptx(f, "bar.sync 0; // the block has written");
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", rest, k->thread);
    cj_ptx(f, "@$1 bra $2;", rest, follow);
    cj_ptx(f, "add.u32 $1, $2, 1;", least, k->round);
    cj_ptx(f, "st.release.gpu.global.u32 [$1 + $2], $3;", x->other, 2 * k->shape->bytes, least);
    cj_ptx(f, "add.u64 $1, $2, $3;", at, x->own, 2 * k->shape->bytes);
    frame_poll(k, "ld.acquire.gpu.global.u32", seen, at, least);
    cj_label_here(f, follow);
    cj_ptx(f, "bar.sync 0; // the peer has written");
}

static void take(probe_frame *k, const exchange *x) {
    cj_func *f = k->f;
    cj_reg   word[4];
    for (int i = 0; i < 4; i++) word[i] = cj_u32(f, "word");
    for (uint32_t at = 0; at < k->shape->bytes; at += 16 * k->shape->threads) {
        cj_ptx(f, "ld.$1.v4.u32 {$2, $3, $4, $5}, [$6 + $7];", is_global(k) ? "global" : "shared", word[0], word[1],
               word[2], word[3], x->here, at);
        for (int i = 0; i < 4; i++) cj_ptx(f, "add.u32 $1, $1, $2;", k->check, word[i]);
    }
}

// ST_ASYNC: tells the sender that it may write the buffer again.
static void release(probe_frame *k, const exchange *x, cj_reg bar, cj_reg peer) {
    cj_func *f = k->f;
    frame_element(k, bar, x->read, x->odd, 8);
    frame_map(k, bar, bar, peer);
    cj_ptx(f, "bar.sync 0; // the block has read");
    cj_ptx(f, "@$1 mbarrier.arrive.shared::cluster.b64 _, [$2];", k->first, bar);
}

static void write_exchange(probe_frame *k) {
    exchange x = {0};
    cj_reg   bar = cj_u32(k->f, "arrived_now"), peer = cj_u32(k->f, "peer");
    prepare_exchange(k, &x);
    cj_ptx(k->f, "xor.b32 $1, $2, 1;", peer, k->rank);
    frame_start(k);
    frame_loop(k);
    turn(k, &x, peer);
    send(k, &x, bar, peer);
    if (k->shape->op == PROBE_STORE) frame_barrier(k, "both have written");
    if (k->shape->op == PROBE_ST_ASYNC) frame_wait(k, bar, x.parity);
    if (k->shape->op == PROBE_GLOBAL) wait_by_flag(k, &x);
    take(k, &x);
    if (k->shape->op == PROBE_ST_ASYNC) release(k, &x, bar, peer);
    cj_ptx(k->f, "add.u32 $1, $1, 1;", x.value);
    frame_again(k);
    frame_stop(k, true);
}

// Words are the sender's rank * 2^16 + round.
static uint64_t expect_exchange(const probe_shape *s, const probe_launch *l) {
    uint64_t words = s->bytes / 4, sum = 0;
    for (uint32_t block = 0; block < l->blocks; block++)
        sum += words * ((uint64_t)l->rounds * ((uint64_t)(block % s->cluster) << 16) + frame_series(l->rounds));
    return sum;
}

static double once(const probe_shape *s) {
    (void)s;
    return 1;
}

static uint64_t parts_bytes(const probe_shape *s, uint32_t blocks) {
    return s->op == PROBE_GLOBAL ? blocks * part_bytes(s) : 0;
}

static uint64_t buffers_bytes(const probe_shape *s) { return s->op == PROBE_GLOBAL ? 0 : 2 * s->bytes; }

const probe_kernel probe_exchange = {.name = "exchange",
                                     .write = write_exchange,
                                     .expect = expect_exchange,
                                     .work = once,
                                     .data_bytes = parts_bytes,
                                     .shared_bytes = buffers_bytes,
                                     .least_rounds = 1};
