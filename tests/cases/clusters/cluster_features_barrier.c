// SPDX-License-Identifier: Apache-2.0
// Barriers: FEATURES rows 4, 12 and 23.
#include "cluster_features.h"

#include "test.h"

// ---- the block's barrier and the cluster's

// Thread t writes, and the block's last thread - t reads; then the same across the cluster. `number` chooses how it
// waits.
enum { PLAIN, SPLIT, RELAXED_FIRST };

static void write_barriers(const cj_feature_scene *s) {
    cj_func       *f = s->f;
    const uint32_t threads = cj_feature_size(s->feature->block);
    cj_var         slot = cj_shared(f, "u32", "slot", threads, 0);
    cj_reg         own = cj_shared_address(f, slot), other = cj_u32(f, "other"), value = cj_u32(f, "value");
    if (s->feature->number == RELAXED_FIRST) cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "this block has started");
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", other, s->thread, own);
    cj_ptx(f, "mad.lo.u32 $1, $2, 100, $3;", value, s->block, s->thread);
    cj_ptx(f, "st.shared.u32 [$1], $2;", other, value);
    cj_ptx(f, "bar.sync 0; // the block has written");
    cj_ptx(f, "sub.u32 $1, $2, $3;", other, threads - 1, s->thread);
    cj_ptx(f, "mad.lo.u32 $1, $1, 4, $2;", other, own);
    cj_ptx(f, "ld.shared.u32 $1, [$2];", value, other);
    cj_feature_put(s, 0, value);
    if (s->feature->number == RELAXED_FIRST) cj_cluster_wait(f, "everyone has started");
    cj_cluster_arrive(f, s->feature->number == PLAIN ? CJ_ARRIVE_DEFAULT : CJ_ARRIVE_RELEASE, "this block's slots");
    cj_reg peer = cj_cluster_map_address(f, other, cj_feature_peer(s, 1));
    cj_cluster_wait(f, "everyone's slots");
    cj_dsmem_load(f, cj_always(), "u32", &value, 1, peer, 0);
    cj_cluster_sync(f, "nobody leaves while it is read");
    cj_feature_put(s, 1, value);
}

static uint32_t expect_barriers(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t size = cj_feature_size(feature->cluster), rank = cj_feature_rank(feature, block);
    const uint32_t from = i ? block - rank + (rank + 1) % size : block;
    return from * 100 + cj_feature_size(feature->block) - 1 - thread;
}

// ---- arriving on another block's mbarrier

// A value goes around the ring in rounds: one thread of each block stores it into the right neighbour's slot and
// arrives there. `number` rounds use one mbarrier; a second mbarrier tells the left neighbour that the value was read.
static void write_ring(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_var   slot = cj_shared(f, "u32", "slot", 1, 0), bars = cj_shared(f, "b64", "full_and_free", 2, 8);
    cj_reg   right = cj_feature_peer(s, 1), left = cj_feature_peer(s, cj_feature_size(s->feature->cluster) - 1);
    cj_reg   full = cj_shared_address(f, bars), free = cj_u32(f, "free"), leader = cj_elect_block(f),
           value = cj_u32(f, "value");
    cj_reg parity = cj_u32(f, "parity"), before = cj_u32(f, "before"), round = cj_u32(f, "round"),
           more = cj_pred(f, "more");
    cj_reg   own = cj_shared_address(f, slot);
    cj_label next = cj_label_new(f, "next_round"), step = cj_label_new(f, "in_step");
    cj_ptx(f, "add.u32 $1, $2, 8;", free, full);
    cj_mbarrier_init(f, leader, full, CJ_ARG(1), "one value");
    cj_mbarrier_init(f, leader, free, CJ_ARG(1), "its taker");
    cj_mbarrier_init_done(f, "peers may see them");
    cj_reg there = cj_cluster_map(f, slot, right), full_there = cj_cluster_map(f, bars, right);
    cj_reg free_there = cj_cluster_map_address(f, free, left);
    cj_ptx(f, "mov.u32 $1, $2;", value, cj_cluster_rank(f));
    cj_ptx(f, "mov.u32 $1, 0;", parity);
    cj_ptx(f, "mov.u32 $1, $2;", round, s->feature->number);
    cj_cluster_sync(f, "every mbarrier is ready");
    cj_label_here(f, next);
    cj_ptx(f, "@!$1 bra $2; // one thread a block passes it on", leader, step);
    cj_ptx(f, "xor.b32 $1, $2, 1;", before, parity);
    cj_mbarrier_wait(f, free, CJ_ARG(before), CJ_SCOPE_CLUSTER, "the right neighbour has taken the last one");
    cj_dsmem_store(f, cj_always(), "u32", &value, 1, there, 0);
    cj_mbarrier_arrive_peer(f, cj_always(), full_there, "publish the value");
    cj_mbarrier_wait(f, full, CJ_ARG(parity), CJ_SCOPE_CLUSTER, "the left neighbour's value");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", value, own);
    cj_ptx(f, "add.u32 $1, $1, 10;", value);
    cj_mbarrier_arrive_peer(f, cj_always(), free_there, "it was taken");
    cj_mbarrier_flip(f, parity);
    cj_label_here(f, step);
    cj_ptx(f, "bar.sync 0; // the others keep step");
    cj_ptx(f, "sub.u32 $1, $1, 1;", round);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, round);
    cj_ptx(f, "@$1 bra $2;", more, next);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", leader, own, value);
    cj_cluster_sync(f, "nobody arrives here any more, and the block may see its value");
    cj_mbarrier_inval(f, leader, full, "the memory is free for something else");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", value, own);
    cj_feature_put(s, 0, value);
}

static uint32_t expect_ring(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t size = cj_feature_size(feature->cluster), rank = cj_feature_rank(feature, block);
    (void)thread, (void)i;
    return (rank + size - feature->number % size) % size + 10 * feature->number;
}

// ---- the handshake: map, release fence, expect the transaction, one elected lane arrives, wait by phase

// Each block sends its number to the right neighbour's slot by st.async. A cluster of one block sends to itself: only
// the phase changes.
static void write_handshake(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_var   slot = cj_shared(f, "u32", "slot", 1, 8), bar = cj_shared(f, "b64", "ready", 1, 8);
    cj_reg   right = cj_feature_peer(s, 1), ready = cj_shared_address(f, bar), leader = cj_elect_block(f),
           value = cj_u32(f, "value");
    cj_mbarrier_init(f, leader, ready, CJ_ARG(2), "the own arrival, which expects, and the sender's");
    cj_mbarrier_init_done(f, "peers may see it");
    cj_reg there = cj_cluster_map(f, slot, right), ready_there = cj_cluster_map(f, bar, right);
    cj_cluster_sync(f, "every mbarrier is ready");
    cj_ptx(f, "add.u32 $1, $2, 500;", value, s->block);
    cj_cluster_fence(f, "what was written before is seen before the arrival");
    cj_mbarrier_expect(f, leader, ready, CJ_ARG(4), "one word");
    cj_mbarrier_arrive(f, leader, ready, NULL);
    cj_st_async(f, leader, "u32", &value, 1, there, 0, ready_there);
    cj_mbarrier_arrive_peer(f, leader, ready_there, NULL);
    cj_mbarrier_wait(f, ready, CJ_ARG(0), CJ_SCOPE_CLUSTER, "phase 0 has ended");
    cj_reg flipped = cj_mbarrier_try(f, ready, CJ_ARG(1), CJ_SCOPE_BLOCK, "phase 1 has not");
    cj_reg ended = cj_u32(f, "ended");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", value, cj_shared_address(f, slot));
    cj_ptx(f, "selp.u32 $1, 1, 0, $2;", ended, flipped);
    cj_feature_put(s, 0, value);
    cj_feature_put(s, 1, ended);
    cj_cluster_sync(f, "nobody arrives here any more");
}

static uint32_t expect_handshake(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t size = cj_feature_size(feature->cluster), rank = cj_feature_rank(feature, block);
    (void)thread;
    return i ? 0 : 500 + block - rank + (rank + size - 1) % size;
}

// ---- red.async: every thread of the cluster adds to a counter of rank 0, whose mbarrier completes after all of them

static void write_red_async(const cj_feature_scene *s) {
    cj_func       *f = s->f;
    const uint32_t threads = cj_feature_size(s->feature->block) * cj_feature_size(s->feature->cluster);
    cj_var         sum = cj_shared(f, "u32", "sum", 1, 8), bar = cj_shared(f, "b64", "ready", 1, 8);
    cj_reg         ready = cj_shared_address(f, bar), leader = cj_elect_block(f), zero = cj_u32(f, "zero"),
           one = cj_u32(f, "one");
    cj_reg   value = cj_u32(f, "value"), outside = cj_pred(f, "outside");
    cj_label end = cj_label_new(f, "end");
    cj_ptx(f, "mov.u32 $1, 0;", zero);
    cj_ptx(f, "mov.u32 $1, 1;", one);
    cj_ptx(f, "mov.u32 $1, 0;", value);
    cj_mbarrier_init(f, leader, ready, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, NULL);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", leader, cj_shared_address(f, sum), zero);
    cj_reg sum_there = cj_cluster_map(f, sum, zero), ready_there = cj_cluster_map(f, bar, zero);
    cj_cluster_sync(f, "the sum and the mbarrier are there");
    cj_mbarrier_arrive_expect(f, leader, ready, CJ_ARG(threads * 4), "a word of each thread");
    cj_red_async(f, cj_always(), "add", "u32", sum_there, 0, one, ready_there);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", outside, cj_cluster_rank(f));
    cj_ptx(f, "@$1 bra $2;", outside, end);
    cj_mbarrier_wait(f, ready, CJ_ARG(0), CJ_SCOPE_CLUSTER, "all have counted");
    cj_ptx(f, "ld.shared.u32 $1, [$2];", value, cj_shared_address(f, sum));
    cj_label_here(f, end);
    cj_feature_put(s, 0, value);
}

static uint32_t expect_red_async(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    (void)thread, (void)i;
    return cj_feature_rank(feature, block) ? 0 : cj_feature_size(feature->block) * cj_feature_size(feature->cluster);
}

#define LINE(cluster_) \
    {2 * (cluster_), 1, 1}, {64, 1, 1}, { cluster_, 1, 1 }

static const cj_feature features[] = {
    {"4_block_and_cluster_barrier", LINE(4), 2, PLAIN, write_barriers, expect_barriers},
    {"12_cluster_arrive_and_wait", LINE(8), 2, SPLIT, write_barriers, expect_barriers},
    {"12_relaxed_arrive_that_says_only_that_it_started", LINE(2), 2, RELAXED_FIRST, write_barriers, expect_barriers},
    {"4_arriving_on_another_block_s_mbarrier", LINE(4), 1, 1, write_ring, expect_ring},
    {"4_a_thousand_rounds_on_one_mbarrier", LINE(4), 1, 1000, write_ring, expect_ring},
    {"4_rounds_around_16_blocks", LINE(16), 1, 40, write_ring, expect_ring},
    {"23_handshake_of_4_blocks", LINE(4), 2, 0, write_handshake, expect_handshake},
    {"23_handshake_of_a_cluster_of_one", LINE(1), 2, 0, write_handshake, expect_handshake},
    {"3_asynchronous_reduction", LINE(8), 1, 0, write_red_async, expect_red_async},
};

const cj_features cj_features_barrier = {features, CJ_TEST_COUNT(features)};
