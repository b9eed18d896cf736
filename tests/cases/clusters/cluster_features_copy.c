// SPDX-License-Identifier: Apache-2.0
// Bulk and tensor copies: FEATURES row 5.
#include "cluster_features.h"

#include "test.h"

enum { SIDE = 64, TILE = SIDE * SIDE, BYTES = TILE * 4, PIECE = 4096 };

static bool is_meant(const cj_feature *feature, uint32_t block) {
    return feature->number >> cj_feature_rank(feature, block) & 1;
}

// ---- multicast of a tile, again and again on one mbarrier

typedef struct multicast_roles {
    cj_reg leader;        // one thread of each block
    cj_reg sends, tells;  // the leader of rank 0; the leader of a block that gets the tile
    cj_reg meant;         // every thread of a block that gets the tile
} multicast_roles;

static multicast_roles choose_roles(cj_func *f, uint32_t mask) {
    const multicast_roles roles = {.leader = cj_elect_block(f), .sends = cj_pred(f, "sends"), .tells = cj_pred(f, "tells"),
                                   .meant = cj_pred(f, "meant")};
    cj_reg                rank = cj_cluster_rank(f), bit = cj_u32(f, "bit");
    cj_ptx(f, "shr.u32 $1, $2, $3;", bit, mask, rank);
    cj_ptx(f, "and.b32 $1, $1, 1;", bit);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", roles.meant, bit);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $3;", roles.sends, rank, roles.leader);
    cj_ptx(f, "setp.ne.and.u32 $1, $2, 0, $3;", roles.tells, bit, roles.leader);
    return roles;
}

// number: the mask in its low 16 bits, then the rounds. Rank 0 copies the tile to every block of the mask; each of its
// 16 threads adds up its words, and then arrives, so that the next round may overwrite them.
static void write_multicast(const cj_feature_scene *s) {
    cj_func       *f = s->f;
    const uint32_t mask = s->feature->number & 0xffff, rounds = s->feature->number >> 16,
                   threads = cj_feature_size(s->feature->block);
    cj_var tile = cj_shared(f, "u32", "tile", TILE, 128), bars = cj_shared(f, "b64", "full_and_free", 2, 8);
    cj_reg own = cj_shared_address(f, tile), full = cj_shared_address(f, bars), free = cj_u32(f, "free"),
           zero = cj_u32(f, "zero");
    cj_reg at[2] = {cj_s32(f, "column"), cj_s32(f, "row")}, sum = cj_u32(f, "sum"), value = cj_u32(f, "value"),
           word = cj_u32(f, "word");
    cj_reg parity = cj_u32(f, "parity"), before = cj_u32(f, "before"), round = cj_u32(f, "round"),
           more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_round"), skip = cj_label_new(f, "not_meant"), sent = cj_label_new(f, "sent");
    const multicast_roles roles = choose_roles(f, mask);
    cj_ptx(f, "add.u32 $1, $2, 8;", free, full);
    cj_ptx(f, "mov.u32 $1, 0;", zero);
    for (unsigned i = 0; i < 2; i++) cj_ptx(f, "mov.s32 $1, 0;", at[i]);
    cj_mbarrier_init(f, roles.leader, full, CJ_ARG(1), NULL);
    cj_mbarrier_init(f, roles.leader, free, CJ_ARG(__builtin_popcount(mask)), "every block that gets the tile");
    cj_mbarrier_init_done(f, NULL);
    cj_reg free_there = cj_cluster_map_address(f, free, zero);
    cj_ptx(f, "fence.proxy.tensormap::generic.acquire.sys [$1], 128;", s->map);
    cj_cluster_sync(f, "every mbarrier is ready");
    cj_ptx(f, "mov.u32 $1, 0;", sum);
    cj_ptx(f, "mov.u32 $1, 0;", parity);
    cj_ptx(f, "mov.u32 $1, $2;", round, rounds);
    cj_label_here(f, next);
    cj_mbarrier_arrive_expect(f, roles.tells, full, CJ_ARG(BYTES), "the tile");
    cj_ptx(f, "xor.b32 $1, $2, 1;", before, parity);
    cj_ptx(f, "@!$1 bra $2;", roles.sends, sent);
    cj_mbarrier_wait(f, free, CJ_ARG(before), CJ_SCOPE_CLUSTER, "the last tile was read by all");
    cj_tensor_load_multicast(f, cj_always(), own, s->map, at, 2, full, CJ_ARG(mask));
    cj_label_here(f, sent);
    cj_ptx(f, "@!$1 bra $2;", roles.meant, skip);
    cj_mbarrier_wait(f, full, CJ_ARG(parity), CJ_SCOPE_CLUSTER, "the tile is there");
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", word, s->thread, own);
    for (uint32_t i = 0; i < TILE / threads; i += 16) {  // some of the thread's words
        cj_ptx(f, "ld.shared.u32 $1, [$2 + $3];", value, word, i * threads * 4);
        cj_ptx(f, "add.u32 $1, $1, $2;", sum, value);
    }
    cj_ptx(f, "bar.sync 0; // every thread has read it");
    cj_mbarrier_arrive_peer(f, roles.tells, free_there, "it may be overwritten");
    cj_label_here(f, skip);
    cj_mbarrier_flip(f, parity);
    cj_ptx(f, "sub.u32 $1, $1, 1;", round);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, round);
    cj_ptx(f, "@$1 bra $2;", more, next);
    cj_cluster_sync(f, "nobody arrives here any more");
    cj_feature_put(s, 0, sum);
}

static uint32_t expect_multicast(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t threads = cj_feature_size(feature->block);
    uint32_t       sum = 0;
    (void)i;
    for (uint32_t k = 0; k < TILE / threads; k += 16) sum += k * threads + thread;
    return is_meant(feature, block) ? sum * (feature->number >> 16) : 0;
}

// ---- bulk copies: to own memory, to a peer's, back to global

// Each block loads PIECE bytes of the tensor's memory, the piece of its rank, pushes them to the right neighbour and
// stores the bytes that it received to its threads' words.
static void write_bulk(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_var   from = cj_shared(f, "b8", "from", PIECE, 128), to = cj_shared(f, "b8", "to", PIECE, 128),
           bars = cj_shared(f, "b64", "bars", 2, 8);
    cj_reg loaded = cj_shared_address(f, bars), pushed = cj_u32(f, "pushed"), leader = cj_elect_block(f),
           own = cj_shared_address(f, from);
    cj_reg word = cj_u32(f, "word"), value = cj_u32(f, "value"), got = cj_shared_address(f, to),
           right = cj_feature_peer(s, 1);
    cj_ptx(f, "add.u32 $1, $2, 8;", pushed, loaded);
    cj_mbarrier_init(f, leader, loaded, CJ_ARG(1), NULL);
    cj_mbarrier_init(f, leader, pushed, CJ_ARG(1), NULL);
    cj_mbarrier_init_done(f, NULL);
    cj_reg there = cj_cluster_map(f, to, right), pushed_there = cj_cluster_map_address(f, pushed, right);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", word, s->thread, own);
    cj_ptx(f, "mad.lo.u32 $1, $2, 1000, $3;", value, s->block, s->thread);
    cj_ptx(f, "st.shared.u32 [$1], $2;", word, value);
    cj_async_fence(f, "copies may read what the threads have written");
    cj_cluster_sync(f, "every mbarrier is ready, and every piece");
    cj_mbarrier_arrive_expect(f, leader, pushed, CJ_ARG(PIECE), "a piece");
    cj_bulk_push(f, leader, there, own, CJ_ARG(PIECE), pushed_there);
    cj_mbarrier_wait(f, pushed, CJ_ARG(0), CJ_SCOPE_CLUSTER, "the left neighbour's piece");
    cj_reg base = cj_u64(f, "base"), back = cj_u64(f, "back");
    cj_ptx(f, "mul.wide.u32 $1, $2, 4;", back, s->thread);
    cj_ptx(f, "sub.u64 $1, $2, $3;", base, s->out, back);
    cj_bulk_store(f, leader, base, got, CJ_ARG(PIECE));
    cj_bulk_commit(f);
    cj_bulk_wait(f, 0, "it is written");
    cj_cluster_sync(f, "nobody leaves while it is read");
}

static uint32_t expect_bulk(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t size = cj_feature_size(feature->cluster), rank = cj_feature_rank(feature, block);
    (void)i;
    return (block - rank + (rank + size - 1) % size) * 1000 + thread;
}

#define FOUR \
    {4, 1, 1}, {128, 1, 1}, { 4, 1, 1 }
#define MASK(mask, rounds) ((uint32_t)(rounds) << 16 | (mask))

static const cj_feature features[] = {
    {"5_tile_of_64x64_multicast_to_4_blocks", FOUR, 1, MASK(0xf, 4), write_multicast, expect_multicast},
    {"5_tile_multicast_to_a_subset", FOUR, 1, MASK(0xa, 4), write_multicast, expect_multicast},
    {"5_tile_multicast_to_one", FOUR, 1, MASK(0x1, 5), write_multicast, expect_multicast},
    {"5_1024_tiles_on_one_mbarrier", FOUR, 1, MASK(0xf, 1024), write_multicast, expect_multicast},
    {"5_bulk_copies_between_peers_and_to_global", {8, 1, 1}, {1024, 1, 1}, {4, 1, 1}, 1, 0, write_bulk, expect_bulk},
};

const cj_features cj_features_copy = {features, CJ_TEST_COUNT(features)};
