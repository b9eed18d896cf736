// SPDX-License-Identifier: Apache-2.0
// Latency: chains of loads in which each gives the address of the next.
#include <stddef.h>

#include "frame.h"

enum {
    WORDS = 1024,          // of a chain in shared memory
    WORD_STRIDE = 33,      // words from link to link: every bank in turn
    CHAIN = 4,             // loads a round, so that they take longer than the loop's own instructions
    SLOT = 128,            // bytes from link to link in global memory: a cache line
    SLOT_SCALE = 1664525,  // a permutation of the slots: the next is slot * SCALE + STEP, modulo their number
    SLOT_STEP = 1013904223,
};
static const uint32_t START_SCALE = 0x9e3779b1;  // the blocks' chains begin at block * START_SCALE

// ---- shared memory: of this block, or of the block `step` ranks further on

// Each word of the block's own chain is the address of the next one, in the form in which the readers address it.
static void weave_shared(probe_frame *k, cj_reg base) {
    cj_func *f = k->f;
    cj_reg   at = cj_u32(f, "at"), link = cj_u32(f, "link"), i = frame_u32(k, "i", 0), more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_link");
    cj_step(f, "word i holds the address of word i + %d", WORD_STRIDE);
    cj_ptx(f, "mov.u32 $1, $2;", at, base);
    cj_label_here(f, next);
    cj_ptx(f, "add.u32 $1, $2, $3;", link, i, WORD_STRIDE);
    cj_ptx(f, "and.b32 $1, $1, $2;", link, WORDS - 1);
    cj_ptx(f, "mad.lo.u32 $1, $1, 4, $2;", link, base);
    cj_ptx(f, "st.shared$1.u32 [$2], $3;", k->shape->pattern == PROBE_SELF ? "" : "::cluster", at, link);
    cj_ptx(f, "add.u32 $1, $1, 4;", at);
    cj_ptx(f, "add.u32 $1, $1, 1;", i);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, i, WORDS);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

static void write_chase_shared(probe_frame *k) {
    cj_func *f = k->f;
    bool     remote = k->shape->pattern != PROBE_SELF;
    cj_var   chain = cj_shared(f, "u32", "chain", WORDS, 0);
    cj_reg   base = frame_address(k, "base", chain), link = cj_u32(f, "link"), step = cj_u32(f, "step");
    cj_reg   local = cj_u32(f, "local");
    cj_ptx(f, "mov.u32 $1, $2;", local, base);
    if (remote) frame_map(k, base, local, k->rank);
    weave_shared(k, base);
    if (remote) {
        cj_ptx(f, "ld.param.u32 $1, [$2];", step, k->step);
        cj_ptx(f, "add.u32 $1, $1, $2;", step, k->rank);
        cj_ptx(f, "and.b32 $1, $1, $2;", step, k->size - 1);
        frame_map(k, base, local, step);
    }
    cj_ptx(f, "mov.u32 $1, $2;", link, base);

    frame_start(k);
    frame_loop(k);
    for (int i = 0; i < CHAIN; i++) cj_ptx(f, "ld.shared$1.u32 $2, [$2];", remote ? "::cluster" : "", link);
    frame_again(k);
    frame_stop(k, false);
    cj_ptx(f, "sub.u32 $1, $2, $3;", k->check, link, base);
}

static uint64_t expect_chase_shared(const probe_shape *s, const probe_launch *l) {
    (void)s;
    return (uint64_t)l->blocks * 4 * ((uint64_t)l->rounds * CHAIN * WORD_STRIDE % WORDS);
}

static double links(const probe_shape *s) {
    (void)s;
    return CHAIN;
}

const probe_kernel probe_chase_shared = {.name = "chase_shared",
                                         .write = write_chase_shared,
                                         .expect = expect_chase_shared,
                                         .work = links,
                                         .least_rounds = 1};

// ---- global memory: a random walk over cache lines

static uint64_t slots_bytes(const probe_shape *s, uint32_t blocks) {
    (void)blocks;
    return s->bytes;
}

static uint32_t slots(const probe_shape *s) { return (uint32_t)(s->bytes / SLOT); }

// Writes the links; each thread writes those of its own slots, one a round.
static void write_weave(probe_frame *k) {
    cj_func *f = k->f;
    cj_reg   data = frame_data(k), slot = cj_u32(f, "slot"), grid = cj_u32(f, "grid"), next = cj_u32(f, "next");
    cj_reg   at = cj_u64(f, "at"), link = cj_u64(f, "link"), inside = cj_pred(f, "inside");
    cj_ptx(f, "mov.u32 $1, %nctaid.x;", grid);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", grid, k->shape->threads);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", slot, k->block, k->shape->threads, k->thread);
    frame_start(k);
    frame_loop(k);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", inside, slot, slots(k->shape));
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", next, slot, SLOT_SCALE, SLOT_STEP);
    cj_ptx(f, "and.b32 $1, $1, $2;", next, slots(k->shape) - 1);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", link, next, SLOT, data);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, slot, SLOT, data);
    cj_ptx(f, "@$1 st.global.u64 [$2], $3;", inside, at, link);
    cj_ptx(f, "@$1 add.u32 $2, $2, 1;", inside, k->check);
    cj_ptx(f, "add.u32 $1, $1, $2;", slot, grid);
    frame_again(k);
    frame_stop(k, true);
}

static uint64_t expect_weave(const probe_shape *s, const probe_launch *l) {
    uint64_t visited = (uint64_t)l->blocks * s->threads * l->rounds;
    return visited < slots(s) ? visited : slots(s);
}

const probe_kernel probe_weave = {
    .name = "weave", .write = write_weave, .expect = expect_weave, .data_bytes = slots_bytes, .least_rounds = 1};

// .cg bypasses the L1 cache.
static void write_chase_global(probe_frame *k) {
    cj_func *f = k->f;
    cj_reg   data = frame_data(k), slot = cj_u32(f, "slot"), link = cj_u64(f, "link");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", slot, k->block, START_SCALE);
    cj_ptx(f, "and.b32 $1, $1, $2;", slot, slots(k->shape) - 1);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", link, slot, SLOT, data);
    frame_start(k);
    frame_loop(k);
    for (int i = 0; i < CHAIN; i++) cj_ptx(f, "ld.global.cg.u64 $1, [$1];", link);
    frame_again(k);
    frame_stop(k, false);
    cj_ptx(f, "sub.u64 $1, $1, $2;", link, data);
    cj_ptx(f, "shr.u64 $1, $1, $2;", link, 7);
    cj_ptx(f, "cvt.u32.u64 $1, $2;", k->check, link);
}

static uint64_t expect_chase_global(const probe_shape *s, const probe_launch *l) {
    uint64_t sum = 0;
    for (uint32_t block = 0; block < l->blocks; block++) {
        uint32_t slot = block * START_SCALE & (slots(s) - 1);
        for (uint32_t i = 0; i < l->rounds * CHAIN; i++) slot = (slot * SLOT_SCALE + SLOT_STEP) & (slots(s) - 1);
        sum += slot;
    }
    return sum;
}

const probe_kernel probe_chase_global = {.name = "chase_global",
                                         .write = write_chase_global,
                                         .expect = expect_chase_global,
                                         .work = links,
                                         .data_bytes = slots_bytes,
                                         .keeps = true,
                                         .least_rounds = 1};
