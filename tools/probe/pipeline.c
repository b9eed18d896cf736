// SPDX-License-Identifier: Apache-2.0
// Throughput of operations that complete on an mbarrier: st.async, bulk copies from shared memory, bulk copies from
// global memory with and without multicast.
//
//   sender                                    receiver
//   wait empty[s]   <------ arrive --------   consumer warp: wait full[s], arrive and expect bytes, arrive at empty[s]
//   data, bytes  -------------------------->  tile[s], full[s]
//
// Round j uses stage s = j % STAGES, and a block sends to the same blocks in every round. Why this suffices: a sender
// writes stage s only after all of its receivers have signalled that the bytes before have arrived, and they expect the
// bytes of the next round at full[s] before they signal. Nothing is read before the end. A stage has room for all
// senders of a round, one slice for each rank.
//
// The arrive has no .release.cluster: that puts a fence of gpu scope before it, which takes longer than the round.
#include <stddef.h>

#include "frame.h"

enum { STAGES = 4, CONSUMERS = 32, POOL = 16 << 20 };

// How many blocks write into one block in a round; one block also writes to that many.
static uint32_t partners(const probe_shape *s) {
    if (s->pattern == PROBE_TO_ALL) return s->op == PROBE_MULTICAST ? s->cluster : s->cluster - 1;
    return s->pattern == PROBE_TO_ONE ? s->cluster - 1 : 1;
}

// Bytes that one block sends to each other one in a round; a stage is shape->bytes.
static uint32_t slice(const probe_shape *s) {
    bool shared = s->pattern == PROBE_TO_ONE || s->pattern == PROBE_TO_ALL;
    return (uint32_t)s->bytes / (shared ? s->cluster : 1);
}

static uint32_t producers(const probe_shape *s) { return s->threads - CONSUMERS; }

typedef struct pipeline {
    cj_var tile, source, full, empty;
    cj_reg stage, parity, wrapped;  // of the round, in the running role
    cj_reg at, barrier;             // in this block
    cj_reg peer;                    // the block that this one sends to, or signals
    cj_reg offset;                  // of the block's own slice in a stage
} pipeline;

// ---- rounds: stage and parity

static void first_round(probe_frame *k, pipeline *p, uint32_t parity) {
    p->stage = frame_u32(k, "stage", 0);
    p->parity = frame_u32(k, "parity", parity);
    p->wrapped = cj_pred(k->f, "wrapped");
}

static void next_round(probe_frame *k, const pipeline *p) {
    cj_func *f = k->f;
    cj_ptx(f, "add.u32 $1, $1, 1;", p->stage);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", p->wrapped, p->stage, STAGES);
    cj_ptx(f, "@$1 mov.u32 $2, 0;", p->wrapped, p->stage);
    cj_ptx(f, "@$1 xor.b32 $2, $2, 1;", p->wrapped, p->parity);
}

// ---- the sender

static void send_st_async(probe_frame *k, const pipeline *p, cj_reg value) {
    cj_func *f = k->f;
    cj_reg   at = cj_u32(f, "at"), barrier = cj_u32(f, "full_there"), sends = cj_pred(f, "sends");
    uint32_t sweep = 16 * producers(k->shape), all = slice(k->shape);
    cj_ptx(f, "mad.lo.u32 $1, $2, 16, $3;", at, k->thread, p->at);
    frame_map(k, at, at, p->peer);
    frame_map(k, barrier, p->barrier, p->peer);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", sends, k->thread, all / 16);
    for (uint32_t offset = 0; offset < all; offset += sweep)
        cj_ptx(f, "@$1 st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [$2 + $3], {$4, $4, $4, $4}, [$5];",
               sends, at, offset, value, barrier);
}

static void send_bulk(probe_frame *k, const pipeline *p) {
    cj_func *f = k->f;
    cj_reg   at = cj_u32(f, "at"), barrier = cj_u32(f, "full_there");
    frame_map(k, at, p->at, p->peer);
    frame_map(k, barrier, p->barrier, p->peer);
    cj_ptx(f, "@$1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$2], [$3], $4, [$5];",
           k->first, at, p->source, slice(k->shape), barrier);
}

// TO_ALL: sends to the blocks after this one in turn, so that not all blocks send to the same one first.
static void send_to_each(probe_frame *k, const pipeline *p, cj_reg value) {
    for (uint32_t i = 1; i <= (k->shape->pattern == PROBE_TO_ALL ? partners(k->shape) : 1); i++) {
        if (k->shape->pattern == PROBE_TO_ALL) {
            cj_ptx(k->f, "add.u32 $1, $2, $3;", p->peer, k->rank, i);
            cj_ptx(k->f, "and.b32 $1, $1, $2;", p->peer, k->size - 1);
        }
        if (k->shape->op == PROBE_BULK)
            send_bulk(k, p);
        else
            send_st_async(k, p, value);
    }
}

// Multicasts from POOL bytes, which stay in the L2 cache; each cluster reads a stage's worth a round, its blocks the
// same bytes.
static void send_multicast(probe_frame *k, const pipeline *p, cj_reg data, cj_reg place, cj_reg mask) {
    cj_func *f = k->f;
    cj_reg   from = cj_u64(f, "from");
    cj_ptx(f, "cvt.u64.u32 $1, $2;", from, place);
    cj_ptx(f, "add.u64 $1, $1, $2;", from, data);
    if (k->shape->pattern == PROBE_TO_ALL)
        cj_ptx(f,
               "@$1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[$2], [$3], $4, [$5], $6;",
               k->first, p->at, from, slice(k->shape), p->barrier, mask);
    else
        cj_ptx(f, "@$1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$2], [$3], $4, [$5];",
               k->first, p->at, from, slice(k->shape), p->barrier);
    cj_ptx(f, "add.u32 $1, $1, $2;", place, k->shape->bytes);
    cj_ptx(f, "and.b32 $1, $1, $2;", place, POOL - 1);
}

static void sender(probe_frame *k, pipeline *p) {
    cj_func *f = k->f;
    cj_reg   value = cj_u32(f, "value"), place = cj_u32(f, "place"), mask = cj_register(f, "b16", "mask"), data = {0};
    cj_step(f, "sender: each round waits for an empty stage, and fills it over there");
    cj_ptx(f, "shl.b32 $1, $2, 16;", value, k->rank);
    if (k->shape->op == PROBE_MULTICAST) {
        data = frame_data(k);
        cj_ptx(f, "mov.u16 $1, $2;", mask, (1 << k->size) - 1);
        // The clusters start far apart, each block of a cluster in its own slice.
        cj_ptx(f, "sub.u32 $1, $2, $3;", place, k->block, k->rank);
        cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", place, POOL / 128, p->offset);
        cj_ptx(f, "and.b32 $1, $1, $2;", place, POOL - 1);
    }
    first_round(k, p, 1);  // a new stage is empty without an arrival: the phase before the first counts as complete
    frame_loop(k);
    frame_element(k, p->barrier, p->empty, p->stage, 8);
    frame_wait(k, p->barrier, p->parity);
    frame_element(k, p->barrier, p->full, p->stage, 8);
    frame_element(k, p->at, p->tile, p->stage, k->shape->bytes);
    cj_ptx(f, "add.u32 $1, $1, $2;", p->at, p->offset);
    if (k->shape->op == PROBE_MULTICAST)
        send_multicast(k, p, data, place, mask);
    else
        send_to_each(k, p, value);
    cj_ptx(f, "add.u32 $1, $1, 1;", value);
    next_round(k, p);
    frame_again(k);
}

// ---- the receiver

// The block that each lane of the consumers signals that a stage is empty.
static void name_senders(probe_frame *k, const pipeline *p, cj_reg lane) {
    cj_func *f = k->f;
    bool     every = k->shape->op == PROBE_MULTICAST && k->shape->pattern == PROBE_TO_ALL;
    if (every) {
        cj_ptx(f, "mov.u32 $1, $2;", p->peer, lane);
    } else if (k->shape->pattern == PROBE_TO_ONE) {
        cj_ptx(f, "add.u32 $1, $2, 1;", p->peer, lane);
    } else if (k->shape->pattern != PROBE_SELF) {  // the blocks before this one, the nearest first
        cj_ptx(f, "not.b32 $1, $2;", p->peer, lane);
        cj_ptx(f, "add.u32 $1, $1, $2;", p->peer, k->rank);
        cj_ptx(f, "and.b32 $1, $1, $2;", p->peer, k->size - 1);
    }
}

static void receiver(probe_frame *k, pipeline *p) {
    cj_func *f = k->f;
    cj_reg   lane = cj_u32(f, "lane"), there = cj_u32(f, "empty_there"), leads = cj_pred(f, "leads"),
           tells = cj_pred(f, "tells");
    cj_reg state = cj_b64(f, "state"), empty = cj_u32(f, "empty");
    cj_step(f, "receiver: each round waits for a full stage, and says that it is empty");
    cj_ptx(f, "sub.u32 $1, $2, $3;", lane, k->thread, producers(k->shape));
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leads, lane);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", tells, lane, partners(k->shape));
    name_senders(k, p, lane);
    first_round(k, p, 0);
    frame_loop(k);
    frame_element(k, p->barrier, p->full, p->stage, 8);
    frame_wait(k, p->barrier, p->parity);
    cj_ptx(f, "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 $2, [$3], $4;", leads, state, p->barrier,
           partners(k->shape) * slice(k->shape));
    cj_ptx(f, "bar.warp.sync 0xffffffff; // armed before it is said to be empty");
    frame_element(k, empty, p->empty, p->stage, 8);
    cj_ptx(f, "@$1 mapa.shared::cluster.u32 $2, $3, $4;", tells, there, empty, p->peer);
    cj_ptx(f, "@$1 mbarrier.arrive.shared::cluster.b64 _, [$2];", tells, there);
    next_round(k, p);
    frame_again(k);
}

// ---- the kernel

static void prepare(probe_frame *k, pipeline *p) {
    cj_func *f = k->f;
    cj_reg   base = cj_u32(f, "base"), zero = frame_u32(k, "zero", 0), state = cj_b64(f, "state");
    uint32_t stage = (uint32_t)k->shape->bytes;
    p->tile = cj_shared(f, "u32", "tile", STAGES * stage / 4, 128);
    if (k->shape->op == PROBE_BULK) p->source = cj_shared(f, "u32", "source", slice(k->shape) / 4, 128);
    p->full = cj_shared(f, "b64", "full", STAGES, 0);
    p->empty = cj_shared(f, "b64", "empty", STAGES, 0);
    cj_step(f, "nothing has arrived; all stages are empty, and expect their bytes");
    cj_ptx(f, "shl.b32 $1, $2, 16;", base, k->rank);
    frame_fill(k, p->tile, STAGES * stage, zero, 0);
    if (k->shape->op == PROBE_BULK) frame_fill(k, p->source, slice(k->shape), base, 1);
    cj_ptx(f, "fence.proxy.async; // generic stores before asynchronous copies");
    frame_mbarriers(k, p->full, STAGES, 1);
    frame_mbarriers(k, p->empty, STAGES, k->shape->pattern == PROBE_TO_ALL ? partners(k->shape) : 1);
    for (uint32_t s = 0; s < STAGES; s++)
        cj_ptx(f, "@$1 mbarrier.arrive.expect_tx.shared::cta.b64 $2, [$3 + $4], $5;", k->first, state, p->full, 8 * s,
               partners(k->shape) * slice(k->shape));
}

// Computes the receiver and its slice, if they do not change.
static void aim(probe_frame *k, pipeline *p) {
    cj_func *f = k->f;
    bool     to_one = k->shape->pattern == PROBE_TO_ONE;
    p->peer = cj_u32(f, "peer");
    p->at = cj_u32(f, "at");
    p->barrier = cj_u32(f, "barrier");
    p->offset = cj_u32(f, "offset");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", p->offset, k->rank, slice(k->shape) == k->shape->bytes ? 0 : slice(k->shape));
    if (to_one)
        cj_ptx(f, "mov.u32 $1, 0;", p->peer);
    else if (k->shape->pattern == PROBE_NEIGHBOUR)
        cj_ptx(f, "mov.u32 $1, $2;", p->peer, frame_rank(k, "after", 1));
    else
        cj_ptx(f, "mov.u32 $1, $2;", p->peer, k->rank);
}

static void write_pipeline(probe_frame *k) {
    cj_func *f = k->f;
    pipeline p = {0};
    cj_reg   receives = cj_pred(f, "receives"), idle = cj_pred(f, "idle"), is_zero = cj_pred(f, "is_zero");
    cj_label other = cj_label_new(f, "receive"), joined = cj_label_new(f, "joined");
    prepare(k, &p);
    aim(k, &p);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", receives, k->thread, producers(k->shape));
    if (k->shape->pattern == PROBE_TO_ONE) {  // rank 0 only receives, the others only send
        cj_ptx(f, "setp.eq.u32 $1, $2, 0;", is_zero, k->rank);
        cj_ptx(f, "xor.pred $1, $2, $3;", idle, is_zero, receives);
        cj_ptx(f, "@$1 mov.u32 $2, 0;", idle, k->rounds);
    }
    frame_start(k);
    cj_ptx(f, "@$1 bra $2;", receives, other);
    sender(k, &p);
    cj_ptx(f, "bra $1;", joined);
    cj_label_here(f, other);
    receiver(k, &p);
    cj_label_here(f, joined);
    frame_stop(k, true);
    cj_step(f, "what arrived");
    frame_sum(k, p.tile, STAGES * k->shape->bytes);
}

// The last round that wrote into a stage, and the sums of the bytes that it left there.
static uint64_t slice_sum(const probe_shape *s, uint32_t sender, uint32_t round) {
    uint64_t words = slice(s) / 4, base = (uint64_t)sender << 16;
    if (s->op == PROBE_MULTICAST) return words * 0x01010101;
    return s->op == PROBE_BULK ? words * base + frame_series(words) : words * (base + round);
}

static uint64_t expect_pipeline(const probe_shape *s, const probe_launch *l) {
    uint32_t size = s->cluster;
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < (s->pattern == PROBE_TO_ONE ? 1 : size); rank++)
        for (uint32_t round = l->rounds - STAGES; round < l->rounds; round++)
            for (uint32_t i = 1; i <= partners(s); i++)
                sum += slice_sum(s, s->pattern == PROBE_NEIGHBOUR ? (rank + size - 1) % size : (rank + i) % size,
                                 round);
    return sum * (l->blocks / size);
}

// The bytes that a block receives.
static double pipeline_work(const probe_shape *s) {
    return (double)partners(s) * slice(s) / (s->pattern == PROBE_TO_ONE ? s->cluster : 1);
}

static uint64_t pool_bytes(const probe_shape *s, uint32_t blocks) {
    (void)blocks;
    return s->op == PROBE_MULTICAST ? POOL : 0;
}

static uint64_t stages_bytes(const probe_shape *s) { return STAGES * s->bytes + (s->op == PROBE_BULK ? slice(s) : 0); }

const probe_kernel probe_pipeline = {.name = "pipeline",
                                     .write = write_pipeline,
                                     .expect = expect_pipeline,
                                     .work = pipeline_work,
                                     .data_bytes = pool_bytes,
                                     .shared_bytes = stages_bytes,
                                     .any_size = true,
                                     .fill = 0x01,
                                     .least_rounds = STAGES};
