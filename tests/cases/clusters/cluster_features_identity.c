// SPDX-License-Identifier: Apache-2.0
// The identity of blocks and threads: FEATURES rows 2, 8, 12 and 16.
#include "cluster_features.h"

#include "test.h"

// The k-th component of an extent or position.
static uint32_t component(cj_dim3 d, uint32_t k) { return k == 0 ? d.x : k == 1 ? d.y : d.z; }

static cj_dim3 divided(cj_dim3 a, cj_dim3 b) { return (cj_dim3){a.x / b.x, a.y / b.y, a.z / b.z}; }
static cj_dim3 product(cj_dim3 a, cj_dim3 b) { return (cj_dim3){a.x * b.x, a.y * b.y, a.z * b.z}; }

static void put3(const cj_feature_scene *s, uint32_t i, cj_reg3 value) {
    cj_feature_put(s, i, value.x);
    cj_feature_put(s, i + 1, value.y);
    cj_feature_put(s, i + 2, value.z);
}

// ---- blocks and clusters

enum {
    RANK,
    SIZE,
    INDEX,
    COUNT,
    BLOCK,
    SHAPE = BLOCK + 3,
    PLACE = SHAPE + 3,
    GRID = PLACE + 3,
    NUMBER = GRID + 3,
    TOTAL,
    BLOCK_WORDS
};

static void write_blocks(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_feature_put(s, RANK, cj_cluster_rank(f));
    cj_feature_put(s, SIZE, cj_cluster_size(f));
    cj_feature_put(s, INDEX, cj_cluster_index(f));
    cj_feature_put(s, COUNT, cj_cluster_count(f));
    put3(s, BLOCK, cj_cluster_block_index(f));
    put3(s, SHAPE, cj_cluster_shape(f));
    put3(s, PLACE, cj_cluster_grid_index(f));
    put3(s, GRID, cj_cluster_grid_shape(f));
    cj_feature_put(s, NUMBER, cj_cluster_number(f));
    cj_feature_put(s, TOTAL, cj_cluster_total(f));
}

static uint32_t expect_blocks(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const cj_dim3  c = feature->cluster, grid = divided(feature->grid, c), at = cj_feature_place(feature->grid, block);
    const cj_dim3  place = divided(at, c);
    const uint32_t rank = cj_feature_rank(feature, block);
    (void)thread;
    switch (i) {
    case RANK: return rank;
    case SIZE: return cj_feature_size(c);
    case INDEX: return place.x;
    case COUNT: return grid.x;
    case NUMBER: return cj_feature_number(grid, place);
    case TOTAL: return cj_feature_size(grid);
    default: break;
    }
    if (i < SHAPE) return component(cj_feature_place(c, rank), i - BLOCK);
    if (i < PLACE) return component(c, i - SHAPE);
    return i < GRID ? component(place, i - PLACE) : component(grid, i - GRID);
}

// ---- threads, and addresses

enum { THREAD, THREADS, AT, EXTENT = AT + 3, QUERIED = EXTENT + 3, READ, INDEPENDENT, THREAD_WORDS };

// The rank of an address that was mapped, and the word there; the thread executes other instructions between the
// barrier's arrive and wait.
static void write_threads(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_var   slot = cj_shared(f, "u32", "slot", 1, 0);
    cj_reg   rank = cj_cluster_rank(f), value = cj_u32(f, "value"), between = cj_u32(f, "between"),
           leader = cj_pred(f, "leader");
    cj_feature_put(s, THREAD, cj_cluster_thread_rank(f));
    cj_feature_put(s, THREADS, cj_cluster_thread_count(f));
    put3(s, AT, cj_cluster_thread_index(f));
    put3(s, EXTENT, cj_cluster_thread_shape(f));
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, s->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", leader, slot, rank);
    cj_cluster_arrive(f, CJ_ARRIVE_RELEASE, "the slot is written");
    cj_ptx(f, "mul.lo.u32 $1, $2, 3;", between, s->thread);
    cj_cluster_wait(f, "everyone's slot is written");
    cj_reg peer = cj_cluster_map(f, slot, cj_feature_peer(s, 1));
    cj_dsmem_load(f, cj_always(), "u32", &value, 1, peer, 0);
    cj_feature_put(s, QUERIED, cj_cluster_rank_of(f, peer));
    cj_feature_put(s, READ, value);
    cj_feature_put(s, INDEPENDENT, between);
    cj_cluster_sync(f, "nobody leaves while it is read");
}

static uint32_t expect_threads(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t threads = cj_feature_size(feature->block), size = cj_feature_size(feature->cluster);
    const uint32_t rank = cj_feature_rank(feature, block);
    const cj_dim3  in_cluster = cj_feature_place(feature->cluster, rank), at = cj_feature_place(feature->block, thread);
    switch (i) {
    case THREAD: return rank * threads + thread;
    case THREADS: return size * threads;
    case QUERIED:
    case READ: return (rank + 1) % size;
    case INDEPENDENT: return thread * 3;
    default: break;
    }
    if (i < EXTENT) return component(product(in_cluster, feature->block), i - AT) + component(at, i - AT);
    return component(product(feature->cluster, feature->block), i - EXTENT);
}

// ---- small results

static void write_rank_and_size(const cj_feature_scene *s) {
    cj_reg packed = cj_u32(s->f, "packed");
    cj_ptx(s->f, "shl.b32 $1, $2, 16;", packed, cj_cluster_rank(s->f));
    cj_ptx(s->f, "or.b32 $1, $1, $2;", packed, cj_cluster_size(s->f));
    cj_feature_put(s, 0, packed);
}

static uint32_t expect_rank_and_size(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    (void)thread, (void)i;
    return cj_feature_rank(feature, block) << 16 | cj_feature_size(feature->cluster);
}

// The mask of the cluster; how many threads of the block one election elects, and another one.
static void write_elections(const cj_feature_scene *s) {
    cj_func *f = s->f;
    cj_reg   mask = cj_u32(f, "mask"), ones = cj_u32(f, "ones"), all = cj_u32(f, "all");
    cj_ptx(f, "cvt.u32.u16 $1, $2;", mask, cj_cluster_mask(f));
    cj_feature_put(s, 0, mask);
    cj_ptx(f, "bar.red.popc.u32 $1, 0, $2;", all, cj_elect(f));
    cj_ptx(f, "bar.red.popc.u32 $1, 0, $2;", ones, cj_elect_block(f));
    cj_feature_put(s, 1, all);
    cj_feature_put(s, 2, ones);
}

static uint32_t expect_elections(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    (void)block, (void)thread;
    if (!i) return (1u << cj_feature_size(feature->cluster)) - 1;
    return i == 1 ? cj_feature_size(feature->block) / 32 : 1;
}

#define LINE(cluster_) \
    {4 * (cluster_), 1, 1}, {64, 1, 1}, { cluster_, 1, 1 }

static const cj_feature features[] = {
    {"2_identity_in_a_line_of_blocks", {12, 1, 1}, {32, 1, 1}, {4, 1, 1}, BLOCK_WORDS, 0, write_blocks, expect_blocks},
    {"2_identity_in_a_plane_of_blocks", {6, 4, 1}, {32, 1, 1}, {2, 2, 1}, BLOCK_WORDS, 0, write_blocks, expect_blocks},
    {"2_identity_in_space", {2, 6, 4}, {32, 1, 1}, {1, 3, 2}, BLOCK_WORDS, 0, write_blocks, expect_blocks},
    {"2_identity_in_16_blocks", {16, 2, 2}, {32, 1, 1}, {4, 2, 2}, BLOCK_WORDS, 0, write_blocks, expect_blocks},
    {"8_rank_and_size_of_every_block", LINE(4), 1, 0, write_rank_and_size, expect_rank_and_size},
    {"12_masks_and_one_elected_writer_of_1_block", LINE(1), 3, 0, write_elections, expect_elections},
    {"12_masks_and_one_elected_writer_of_4_blocks",
     {4, 1, 1},
     {16, 4, 2},
     {4, 1, 1},
     3,
     0,
     write_elections,
     expect_elections},
    {"12_masks_and_one_elected_writer_of_16_blocks", LINE(16), 3, 0, write_elections, expect_elections},
    {"16_everything_of_cluster_group_in_a_line",
     {8, 1, 1},
     {64, 1, 1},
     {4, 1, 1},
     THREAD_WORDS,
     0,
     write_threads,
     expect_threads},
    {"16_everything_of_cluster_group_in_space",
     {2, 2, 4},
     {4, 4, 2},
     {2, 2, 2},
     THREAD_WORDS,
     0,
     write_threads,
     expect_threads},
};

const cj_features cj_features_identity = {features, CJ_TEST_COUNT(features)};
