// SPDX-License-Identifier: Apache-2.0
// A producer block that feeds another block's pipeline stages (clusterjit/pipeline.h): FEATURES row 18.
//
// In each cluster the last rank consumes what the first one produces; blocks between them only wait at the end. Item i
// is one word of each thread, block * 1000 + thread * 7 + i; the consumer's threads add up their words.
#include <clusterjit/pipeline.h>

#include "cluster_features.h"
#include "test.h"

enum { STAGES = 3, ITEMS = 11 };  // the last round of the stages is not full

// Registers and memory that both roles have.
typedef struct ring_scene {
    const cj_feature_scene *s;
    cj_pipeline             pipeline;
    cj_reg                  stages, leader, item;
    uint32_t                threads, bytes;  // of a block, and of a stage
} ring_scene;

static cj_reg word_of(const ring_scene *r, cj_reg stages, const cj_pipeline_at *at) {
    cj_func *f = r->s->f;
    cj_reg   word = cj_u32(f, "word");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", word, at->stage, r->bytes, stages);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $1;", word, r->s->thread);
    return word;
}

static cj_label begin_items(const ring_scene *r) {
    cj_label again = cj_label_new(r->s->f, "next_item");
    cj_ptx(r->s->f, "mov.u32 $1, 0;", r->item);
    cj_label_here(r->s->f, again);
    return again;
}

static void next_item(const ring_scene *r, const cj_pipeline_at *at, cj_label again) {
    cj_func *f = r->s->f;
    cj_reg   more = cj_pred(f, "more");
    cj_pipeline_next(f, &r->pipeline, at);
    cj_ptx(f, "add.u32 $1, $1, 1;", r->item);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, r->item, ITEMS);
    cj_ptx(f, "@$1 bra $2;", more, again);
}

// Writes a value of this thread to the consumer's stage.
typedef void push_writer(const ring_scene *r, const cj_pipeline_at *at, cj_reg value, cj_reg there, cj_reg full);

static void push_words(const ring_scene *r, const cj_pipeline_at *at, cj_reg value, cj_reg there, cj_reg full) {
    cj_st_async(r->s->f, cj_always(), "b32", &value, 1, word_of(r, there, at), 0, full);
}

static void push_bulk(const ring_scene *r, const cj_pipeline_at *at, cj_reg value, cj_reg there, cj_reg full) {
    cj_func *f = r->s->f;
    cj_reg   from = cj_u32(f, "from"), into = cj_u32(f, "into");
    cj_ptx(f, "st.shared.u32 [$1], $2;", word_of(r, r->stages, at), value);
    cj_async_fence(f, "the copy may read what this thread has written");
    cj_ptx(f, "bar.sync 0; // all words of the item are written");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", from, at->stage, r->bytes, r->stages);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", into, at->stage, r->bytes, there);
    cj_bulk_push(f, r->leader, into, from, CJ_ARG(r->bytes), full);
}

static void write_producer(const ring_scene *r, cj_reg consumer, push_writer *push) {
    cj_func *f = r->s->f;
    cj_reg   value = cj_u32(f, "value");
    cj_reg   there = cj_cluster_map_address(f, r->stages, consumer), to = cj_pipeline_consumer(f, &r->pipeline, consumer);
    cj_pipeline_at at = cj_pipeline_begin(f, &r->pipeline, CJ_PRODUCER);
    cj_label       again = begin_items(r);
    cj_reg         full = cj_pipeline_acquire_peer(f, r->leader, &r->pipeline, &at, to, CJ_ARG(r->bytes));
    cj_ptx(f, "mad.lo.u32 $1, $2, 7, $3;", value, r->s->thread, r->item);
    cj_ptx(f, "mad.lo.u32 $1, $2, 1000, $1;", value, r->s->block);
    push(r, &at, value, there, full);
    next_item(r, &at, again);
}

static void write_consumer(const ring_scene *r, cj_reg producer, cj_reg sum) {
    cj_func       *f = r->s->f;
    cj_reg         value = cj_u32(f, "value"), from = cj_pipeline_peer(f, &r->pipeline, producer);
    cj_pipeline_at at = cj_pipeline_begin(f, &r->pipeline, CJ_CONSUMER);
    cj_label       again = begin_items(r);
    cj_pipeline_wait_peer(f, &r->pipeline, &at);
    cj_ptx(f, "ld.shared.u32 $1, [$2];", value, word_of(r, r->stages, &at));
    cj_ptx(f, "add.u32 $1, $1, $2;", sum, value);
    cj_pipeline_release(f, cj_always(), from, at.stage, "this thread has read its word");
    next_item(r, &at, again);
}

static void write_roles(const cj_feature_scene *s, push_writer *push) {
    cj_func   *f = s->f;
    ring_scene r = {.s = s, .threads = cj_feature_size(s->feature->block), .leader = cj_elect_block(f)};
    r.bytes = r.threads * 4;
    r.item = cj_u32(f, "item");
    r.stages = cj_shared_address(f, cj_shared(f, "u32", "words", STAGES * r.threads, 128));
    r.pipeline = cj_pipeline_declare(f, "ring", STAGES);
    cj_pipeline_init(f, r.leader, &r.pipeline, CJ_ARG(r.threads));
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "the fence above publishes the mbarriers");
    cj_cluster_wait(f, "every block has started, and its mbarriers are ready");

    cj_reg   rank = cj_cluster_rank(f), producer = cj_u32(f, "producer"), consumer = cj_u32(f, "consumer");
    cj_reg   sum = cj_u32(f, "sum"), is_producer = cj_pred(f, "is_producer"), is_consumer = cj_pred(f, "is_consumer");
    cj_label produce = cj_label_new(f, "produce"), end = cj_label_new(f, "end");
    cj_ptx(f, "mov.u32 $1, 0;", sum);
    cj_ptx(f, "mov.u32 $1, 0;", producer);
    cj_ptx(f, "mov.u32 $1, $2;", consumer, cj_feature_size(s->feature->cluster) - 1);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", is_producer, rank, producer);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", is_consumer, rank, consumer);
    cj_ptx(f, "@$1 bra $2;", is_producer, produce);
    cj_ptx(f, "@!$1 bra $2;", is_consumer, end);
    write_consumer(&r, producer, sum);
    cj_ptx(f, "bra $1;", end);
    cj_label_here(f, produce);
    write_producer(&r, consumer, push);
    cj_label_here(f, end);
    cj_cluster_sync(f, "no block leaves while another writes to it");
    cj_feature_put(s, 0, sum);
}

static void write_words(const cj_feature_scene *s) { write_roles(s, push_words); }
static void write_bulk(const cj_feature_scene *s) { write_roles(s, push_bulk); }

static uint32_t expect_sums(const cj_feature *feature, uint32_t block, uint32_t thread, uint32_t i) {
    const uint32_t last = cj_feature_size(feature->cluster) - 1;
    (void)i;
    if (cj_feature_rank(feature, block) != last) return 0;
    return ITEMS * ((block - last) * 1000 + thread * 7) + ITEMS * (ITEMS - 1) / 2;
}

static const cj_feature features[] = {
    {"18_producer_block_feeds_a_peers_stages_by_st_async",
     {4, 1, 1},
     {64, 1, 1},
     {2, 1, 1},
     1,
     0,
     write_words,
     expect_sums},
    {"18_producer_block_feeds_a_peers_stages_by_bulk_copies",
     {4, 1, 1},
     {64, 1, 1},
     {2, 1, 1},
     1,
     0,
     write_bulk,
     expect_sums},
    {"18_producer_block_feeds_the_last_rank_of_eight",
     {16, 1, 1},
     {256, 1, 1},
     {8, 1, 1},
     1,
     0,
     write_bulk,
     expect_sums},
};

const cj_features cj_features_stage = {features, CJ_TEST_COUNT(features)};
