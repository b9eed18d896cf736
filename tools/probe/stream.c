// SPDX-License-Identifier: Apache-2.0
// Throughput of loads, stores and reductions by all threads.
//
//   tile of a block  [ slice 0 | slice 1 | … ]   a slice is 16 bytes of each thread: what one instruction of all threads moves
//
// Loads read all slices of a tile, LOADS at a time. Stores go to the slice of the sender's rank, so that no two blocks
// write the same bytes. Reductions go to random words.
#include <stddef.h>

#include "frame.h"

enum { LOADS = 4, RANDOM_SCALE = 1664525, RANDOM_STEP = 1013904223 };

static uint32_t cluster_size(const probe_shape *s) { return s->cluster ? s->cluster : 1; }

// TO_ALL: the next block is `shift` ranks further on, 1 to C - 1 and again.
static uint32_t shift_of(uint32_t round, uint32_t size) { return 1 + round % (size - 1); }

typedef struct stream {
    cj_reg tile, remote, lane;  // addresses: of the own tile; of the other block's; thread * 16
    cj_reg shift, peer, over;
} stream;

static const char *window(const probe_frame *k) { return k->shape->pattern == PROBE_SELF ? "" : "::cluster"; }

// The tile of the first round.
static void aim(probe_frame *k, stream *s) {
    cj_func *f = k->f;
    s->remote = cj_u32(f, "remote");
    cj_ptx(f, "mov.u32 $1, $2;", s->remote, s->tile);
    if (k->shape->pattern == PROBE_NEIGHBOUR) frame_map(k, s->remote, s->tile, frame_rank(k, "neighbour", 1));
    if (k->shape->pattern == PROBE_TO_ONE) {
        cj_reg idle = cj_pred(f, "idle");
        frame_map(k, s->remote, s->tile, frame_u32(k, "target", 0));
        cj_ptx(f, "setp.eq.u32 $1, $2, 0;", idle, k->rank);
        cj_ptx(f, "@$1 mov.u32 $2, 0;", idle, k->rounds);
    }
    s->shift = frame_u32(k, "shift", 1);
    s->peer = cj_u32(f, "peer");
    s->over = cj_pred(f, "over");
}

// TO_ALL: chooses the tile of the next peer at the start of each round.
static void aim_at_next(probe_frame *k, const stream *s) {
    cj_func *f = k->f;
    if (k->shape->pattern != PROBE_TO_ALL) return;
    cj_ptx(f, "add.u32 $1, $2, $3;", s->peer, k->rank, s->shift);
    cj_ptx(f, "and.b32 $1, $1, $2;", s->peer, k->size - 1);
    frame_map(k, s->remote, s->tile, s->peer);
    cj_ptx(f, "add.u32 $1, $1, 1;", s->shift);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", s->over, s->shift, k->size);
    cj_ptx(f, "@$1 mov.u32 $2, 1;", s->over, s->shift);
}

// ---- loads

static void loads(probe_frame *k, const stream *s) {
    cj_func *f = k->f;
    uint32_t sweep = 16 * k->shape->threads;
    cj_reg   word[LOADS][4], at = cj_u32(f, "at"), offset = frame_u32(k, "offset", 0);
    for (int i = 0; i < LOADS; i++)
        for (int w = 0; w < 4; w++) word[i][w] = cj_u32(f, "word");
    frame_start(k);
    frame_loop(k);
    aim_at_next(k, s);
    cj_ptx(f, "add.u32 $1, $2, $3;", at, s->remote, offset);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, s->lane);
    for (int i = 0; i < LOADS; i++)
        cj_ptx(f, "ld.shared$1.v4.u32 {$2, $3, $4, $5}, [$6 + $7];", window(k), word[i][0], word[i][1], word[i][2],
               word[i][3], at, (uint32_t)i * sweep);
    for (int i = 0; i < LOADS; i++)
        for (int w = 0; w < 4; w++) cj_ptx(f, "add.u32 $1, $1, $2;", k->check, word[i][w]);
    cj_ptx(f, "add.u32 $1, $1, $2;", offset, LOADS * sweep);
    cj_ptx(f, "and.b32 $1, $1, $2;", offset, k->shape->bytes - 1);
    frame_again(k);
    frame_stop(k, true);
}

// Words of a block's tile are rank * 2^16 + index.
static uint64_t window_sum(uint32_t rank, uint64_t first, uint64_t count) {
    return count * ((uint64_t)rank << 16) + frame_series(first + count) - frame_series(first);
}

static uint64_t expect_loads(const probe_shape *s, const probe_launch *l) {
    uint32_t size = cluster_size(s);
    uint64_t words = (uint64_t)LOADS * 4 * s->threads, tile = s->bytes / 4, sum = 0;
    for (uint32_t rank = 0; rank < size; rank++)
        for (uint32_t round = 0; round < l->rounds; round++) {
            uint32_t peer = rank;
            if (s->pattern == PROBE_NEIGHBOUR) peer = (rank + 1) % size;
            if (s->pattern == PROBE_TO_ALL) peer = (rank + shift_of(round, size)) % size;
            if (s->pattern == PROBE_TO_ONE && !rank) continue;
            sum += window_sum(s->pattern == PROBE_TO_ONE ? 0 : peer, round * words % tile, words);
        }
    return sum * (l->blocks / size);
}

// ---- stores

static void stores(probe_frame *k, const stream *s) {
    cj_func *f = k->f;
    cj_reg   value = cj_u32(f, "value"), slice = cj_u32(f, "slice"), at = cj_u32(f, "at");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slice, k->rank, 16 * k->shape->threads, s->lane);
    cj_ptx(f, "shl.b32 $1, $2, 16;", value, k->rank);
    frame_start(k);
    frame_loop(k);
    aim_at_next(k, s);
    cj_ptx(f, "add.u32 $1, $2, $3;", at, s->remote, slice);
    cj_ptx(f, "st.shared$1.v4.u32 [$2], {$3, $3, $3, $3};", window(k), at, value);
    cj_ptx(f, "bar.warp.sync 0xffffffff; // else of several rounds' stores the assembler keeps the last alone");
    cj_ptx(f, "add.u32 $1, $1, 1;", value);
    frame_again(k);
    frame_stop(k, true);
}

// Each slice that was written keeps the last round's value.
static uint64_t expect_stores(const probe_shape *s, const probe_launch *l) {
    uint32_t size = cluster_size(s), peers = s->pattern == PROBE_TO_ALL ? size - 1 : 1;
    uint64_t words = 4 * (uint64_t)s->threads, sum = 0;
    for (uint32_t rank = s->pattern == PROBE_TO_ONE; rank < size; rank++)
        for (uint32_t last = l->rounds - peers; last < l->rounds; last++)
            sum += words * (((uint64_t)rank << 16) + last);
    return sum * (l->blocks / size);
}

// ---- reductions

static void reductions(probe_frame *k, const stream *s) {
    cj_func *f = k->f;
    cj_reg   random = cj_u32(f, "random"), at = cj_u32(f, "at"), one = frame_u32(k, "one", 1);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", random, k->block, k->shape->threads, k->thread);
    frame_start(k);
    frame_loop(k);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", random, RANDOM_SCALE, RANDOM_STEP);
    if (k->shape->pattern == PROBE_TO_ALL) {
        cj_ptx(f, "shr.u32 $1, $2, 10;", s->peer, random);
        cj_ptx(f, "and.b32 $1, $1, $2;", s->peer, k->size - 1);
        frame_map(k, s->remote, s->tile, s->peer);
    }
    cj_ptx(f, "shr.u32 $1, $2, 14;", at, random);
    cj_ptx(f, "and.b32 $1, $1, $2;", at, k->shape->bytes - 4);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, s->remote);
    cj_ptx(f, "red.relaxed.cluster.shared$1.add.u32 [$2], $3;", window(k), at, one);
    frame_again(k);
    frame_stop(k, true);
}

static uint64_t expect_reductions(const probe_shape *s, const probe_launch *l) {
    return (uint64_t)l->blocks * s->threads * l->rounds;
}

// ---- the kernel

static const struct {
    uint32_t scale;  // the tile's first contents: words rank * 2^16 + index, or zeros
    void (*write)(probe_frame *k, const stream *s);
    uint64_t (*expect)(const probe_shape *s, const probe_launch *l);
} kinds[] = {[PROBE_LOAD] = {1, loads, expect_loads},
             [PROBE_STORE] = {0, stores, expect_stores},
             [PROBE_RED] = {0, reductions, expect_reductions}};

static void write_stream(probe_frame *k) {
    cj_func *f = k->f;
    uint32_t scale = kinds[k->shape->op].scale;
    cj_var   tile = cj_shared(f, "u32", "tile", (uint32_t)(k->shape->bytes / 4), 128);
    cj_reg   base = frame_u32(k, "base", 0);
    stream   s = {.tile = frame_address(k, "tile", tile), .lane = cj_u32(f, "lane")};
    cj_ptx(f, "mul.lo.u32 $1, $2, 16;", s.lane, k->thread);
    cj_step(f, "the block's own tile");
    if (scale) cj_ptx(f, "shl.b32 $1, $2, 16;", base, k->rank);
    frame_fill(k, tile, k->shape->bytes, base, scale);
    aim(k, &s);
    kinds[k->shape->op].write(k, &s);
    if (scale) return;
    cj_step(f, "what arrived");
    frame_sum(k, tile, k->shape->bytes);
}

static uint64_t tile_bytes(const probe_shape *s) { return s->bytes; }

static uint64_t expect_stream(const probe_shape *s, const probe_launch *l) { return kinds[s->op].expect(s, l); }

// TO_ONE: all blocks but one move data.
static double stream_work(const probe_shape *s) {
    double each = s->op == PROBE_LOAD ? 16 * LOADS : s->op == PROBE_STORE ? 16 : 1;
    double share = s->pattern == PROBE_TO_ONE ? 1 - 1.0 / s->cluster : 1;
    return each * s->threads * share;
}

// TO_ALL stores go to each of 15 blocks in turn.
const probe_kernel probe_stream = {.name = "stream",
                                   .write = write_stream,
                                   .expect = expect_stream,
                                   .work = stream_work,
                                   .shared_bytes = tile_bytes,
                                   .any_size = true,
                                   .least_rounds = 16};

// ---- the grid reads global memory once

static uint64_t read_bytes(const probe_shape *s, uint32_t blocks) {
    (void)blocks;
    return s->bytes;
}

static void write_read_global(probe_frame *k) {
    cj_func *f = k->f;
    cj_reg   word[LOADS][4], at[LOADS], stride = cj_u32(f, "stride"), wide = cj_u64(f, "stride_wide");
    cj_reg   own = cj_u32(f, "own");
    at[0] = frame_data(k);
    for (int i = 1; i < LOADS; i++) at[i] = cj_u64(f, "at");
    for (int i = 0; i < LOADS; i++)
        for (int w = 0; w < 4; w++) word[i][w] = cj_u32(f, "word");
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", stride);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", stride, 16 * k->shape->threads);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", wide, stride);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", own, k->block, k->shape->threads, k->thread);
    cj_ptx(f, "mad.wide.u32 $1, $2, 16, $1;", at[0], own);
    for (int i = 1; i < LOADS; i++) cj_ptx(f, "add.u64 $1, $2, $3;", at[i], at[i - 1], wide);
    cj_ptx(f, "shl.b64 $1, $1, 2;", wide);
    frame_start(k);
    frame_loop(k);
    for (int i = 0; i < LOADS; i++)
        cj_ptx(f, "ld.global.nc.v4.u32 {$1, $2, $3, $4}, [$5];", word[i][0], word[i][1], word[i][2], word[i][3], at[i]);
    for (int i = 0; i < LOADS; i++) {
        for (int w = 0; w < 4; w++) cj_ptx(f, "add.u32 $1, $1, $2;", k->check, word[i][w]);
        cj_ptx(f, "add.u64 $1, $1, $2;", at[i], wide);
    }
    frame_again(k);
    frame_stop(k, true);
}

static uint64_t expect_read_global(const probe_shape *s, const probe_launch *l) {
    return (uint64_t)l->blocks * s->threads * l->rounds * LOADS * 4 * 0x01010101;
}

static double read_work(const probe_shape *s) { return 16.0 * LOADS * s->threads; }

const probe_kernel probe_read_global = {.name = "read_global",
                                        .write = write_read_global,
                                        .expect = expect_read_global,
                                        .work = read_work,
                                        .data_bytes = read_bytes,
                                        .fill = 0x01,
                                        .least_rounds = 1};
