// SPDX-License-Identifier: Apache-2.0
// What the calls of clusterjit/cluster.h write: every call in every form assembles, without a warning, and what PTX has
// no form for is refused.
#include "test.h"

#include <clusterjit/cluster.h>
#include <string.h>

enum { BYTES = 16 };

// What the calls are about: a kernel with shared memory, a peer's address of it, and registers of every width.
typedef struct scene {
    cj_func *f;
    cj_var   tile, ready;
    cj_reg   own, mbarrier, rank, peer, peer_mbarrier, when, global, parity, mask;
} scene;

static void open_scene(scene *s, cj_builder *b) {
    cj_func *f = s->f = cj_entry(b, "calls");
    cj_block(f, 8, 4, 4);
    cj_cluster(f, 2, 2, 1);
    s->tile = cj_shared(f, "b8", "tile", 1024, 128);
    s->ready = cj_shared(f, "b64", "ready", 2, 8);
    s->own = cj_shared_address(f, s->tile);
    s->mbarrier = cj_shared_address(f, s->ready);
    s->rank = cj_cluster_rank(f);
    s->peer = cj_cluster_map_address(f, s->own, s->rank);
    s->peer_mbarrier = cj_cluster_map(f, s->ready, s->rank);
    s->when = cj_elect_block(f);
    s->global = cj_u64(f, "global");
    s->parity = cj_u32(f, "parity");
    s->mask = cj_cluster_mask(f);
    cj_ptx(f, "mov.u64 $1, 0;", s->global);
    cj_ptx(f, "mov.u32 $1, 0;", s->parity);
}

static void identity(const scene *s) {
    cj_func *f = s->f;
    cj_cluster_size(f);
    cj_cluster_index(f);
    cj_cluster_count(f);
    cj_cluster_block_index(f);
    cj_cluster_shape(f);
    cj_cluster_number(f);
    cj_cluster_total(f);
    cj_cluster_thread_rank(f);
    cj_cluster_thread_count(f);
    cj_cluster_thread_index(f);
    cj_cluster_thread_shape(f);
    cj_cluster_rank_of(f, s->peer);
    cj_elect(f);
}

// Types of memory, the register that each takes, and the most elements.
static const struct {
    const char *type, *reg;
    unsigned    most;
} memory_types[] = {
    {"b8", "b16", 4},  {"u8", "u32", 4},  {"s8", "s16", 4},  {"b16", "b16", 4}, {"u16", "u16", 4},
    {"s16", "s32", 4}, {"b32", "b32", 4}, {"u32", "u32", 4}, {"s32", "s32", 4}, {"f32", "f32", 4},
    {"b64", "b64", 2}, {"u64", "u64", 2}, {"s64", "s64", 2}, {"f64", "f64", 2},
};

static void loads_and_stores(const scene *s) {
    for (size_t i = 0; i < CJ_TEST_COUNT(memory_types); i++)
        for (unsigned count = 1; count <= memory_types[i].most; count *= 2) {
            cj_reg v[4];
            for (unsigned k = 0; k < count; k++) v[k] = cj_register(s->f, memory_types[i].reg, "v");
            cj_dsmem_load(s->f, cj_always(), memory_types[i].type, v, count, s->peer, 0);
            cj_dsmem_store(s->f, s->when, memory_types[i].type, v, count, s->peer, BYTES);
            if (memory_types[i].type[1] != '8' && memory_types[i].type[1] != '1')
                cj_st_async(s->f, s->when, memory_types[i].type, v, count, s->peer, BYTES, s->peer_mbarrier);
        }
}

static const struct {
    const char *op, *types, *async;  // of red.async
} atomics[] = {
    {"add", "u32 s32 u64 f32 f64", "u32 s32 u64"},
    {"min", "u32 s32 u64 s64", "u32 s32"},
    {"max", "u32 s32 u64 s64", "u32 s32"},
    {"inc", "u32", "u32"},
    {"dec", "u32", "u32"},
    {"and", "b32 b64", "b32"},
    {"or", "b32 b64", "b32"},
    {"xor", "b32 b64", "b32"},
    {"add.noftz", "f16 f16x2 bf16 bf16x2", ""},
};

static void every_atomic(const scene *s) {
    for (size_t i = 0; i < CJ_TEST_COUNT(atomics); i++)
        for (const char *at = atomics[i].types; *at; at += strcspn(at, " "), at += *at == ' ') {
            char type[8] = {0};
            memcpy(type, at, strcspn(at, " "));
            bool   packed = strchr(type, 'x') != NULL, half = !packed && strstr(type, "f16");
            cj_reg old = cj_register(s->f, packed ? "b32" : half ? "b16" : type, "old");
            cj_dsmem_atom(s->f, s->when, atomics[i].op, type, old, s->peer, 0, CJ_ARG(old));
            cj_dsmem_red(s->f, cj_always(), atomics[i].op, type, s->peer, BYTES, CJ_ARG(old));
            if (strstr(atomics[i].async, type))
                cj_red_async(s->f, s->when, atomics[i].op, type, s->peer, 0, old, s->peer_mbarrier);
        }
    cj_reg narrow = cj_b32(s->f, "narrow"), wide = cj_b64(s->f, "wide");
    cj_dsmem_atom(s->f, s->when, "exch", "b32", narrow, s->peer, 0, CJ_ARG(7));
    cj_dsmem_atom(s->f, s->when, "exch", "b64", wide, s->peer, 0, CJ_ARG(wide));
    cj_dsmem_cas(s->f, s->when, "b32", narrow, s->peer, 0, CJ_ARG(narrow), CJ_ARG(1));
    cj_dsmem_cas(s->f, s->when, "b64", wide, s->peer, 0, CJ_ARG(wide), CJ_ARG(1));
}

static void barriers(const scene *s) {
    cj_func *f = s->f;
    for (cj_arrive a = CJ_ARRIVE_RELEASE; a <= CJ_ARRIVE_DEFAULT; a++) {
        cj_cluster_arrive(f, a, "why");
        cj_cluster_wait(f, NULL);
    }
    cj_cluster_sync(f, "why");
    cj_cluster_fence(f, "why");
}

static void mbarriers(const scene *s) {
    cj_func *f = s->f;
    cj_mbarrier_init(f, s->when, s->mbarrier, CJ_ARG(2), "why");
    cj_mbarrier_init_done(f, NULL);
    cj_mbarrier_expect(f, s->when, s->mbarrier, CJ_ARG(BYTES), NULL);
    cj_mbarrier_arrive(f, cj_always(), s->mbarrier, "why");
    cj_mbarrier_arrive_expect(f, s->when, s->mbarrier, CJ_ARG(s->parity), NULL);
    cj_mbarrier_arrive_peer(f, s->when, s->peer_mbarrier, NULL);
    cj_mbarrier_arrive_expect_peer(f, s->when, s->peer_mbarrier, CJ_ARG(BYTES), "why");
    cj_mbarrier_try(f, s->mbarrier, CJ_ARG(s->parity), CJ_SCOPE_BLOCK, NULL);
    cj_mbarrier_wait(f, s->mbarrier, CJ_ARG(0), CJ_SCOPE_CLUSTER, "why");
    cj_mbarrier_flip(f, s->parity);
    cj_mbarrier_inval(f, s->when, s->mbarrier, NULL);
}

static void copies(const scene *s) {
    cj_func *f = s->f;
    cj_reg   at[5];
    for (unsigned i = 0; i < CJ_TEST_COUNT(at); i++) {
        at[i] = cj_s32(f, "at");
        cj_ptx(f, "mov.s32 $1, 0;", at[i]);
    }
    cj_async_fence(f, "why");
    cj_bulk_load(f, s->when, s->own, s->global, CJ_ARG(BYTES), s->mbarrier);
    cj_bulk_load_multicast(f, s->when, s->own, s->global, CJ_ARG(BYTES), s->mbarrier, CJ_ARG(s->mask));
    cj_bulk_load_multicast(f, s->when, s->own, s->global, CJ_ARG(BYTES), s->mbarrier, CJ_ARG(5));
    cj_bulk_push(f, s->when, s->peer, s->own, CJ_ARG(BYTES), s->peer_mbarrier);
    cj_bulk_store(f, s->when, s->global, s->own, CJ_ARG(s->parity));
    for (unsigned rank = 1; rank <= CJ_TEST_COUNT(at); rank++) {
        cj_tensor_load(f, s->when, s->own, s->global, at, rank, s->mbarrier);
        cj_tensor_load_multicast(f, s->when, s->own, s->global, at, rank, s->mbarrier, CJ_ARG(s->mask));
        cj_tensor_store(f, cj_always(), s->global, at, rank, s->own);
    }
    cj_bulk_commit(f);
    cj_bulk_wait_read(f, 1, NULL);
    cj_bulk_wait(f, 0, "why");
}

static void (*const parts[])(const scene *) = {identity, loads_and_stores, every_atomic, barriers, mbarriers, copies};

static void every_call_assembles(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(parts); i++) {
        cj_builder *b = cj_builder_create("sm_90");
        cj_error    error = {0};
        scene       s;
        char       *text = NULL, log[4096];
        open_scene(&s, b);
        parts[i](&s);
        cj_ptx(s.f, "ret;");
        cj_test_ok(cj_builder_finish(b, &text, NULL, &error), &error);
        cj_builder_destroy(b);
        if (!cj_test_assemble(text, "sm_90", log, sizeof log)) fail_msg("%s\n%s", log, text);
        cj_text_free(text);
    }
}

static void minimum_of_floats(const scene *s) {
    cj_dsmem_red(s->f, cj_always(), "min", "f32", s->peer, 0, CJ_ARG(1.0f));
}

static void vector_of(const scene *s, unsigned count) {
    cj_reg v[4];
    for (unsigned i = 0; i < CJ_TEST_COUNT(v); i++) v[i] = cj_b32(s->f, "v");
    cj_dsmem_load(s->f, cj_always(), "b32", v, count, s->peer, 0);
}

static void vector_of_three(const scene *s) { vector_of(s, 3); }
static void vector_of_none(const scene *s) { vector_of(s, 0); }
static void vector_of_many(const scene *s) { vector_of(s, 1000); }

static void tensor_of_six(const scene *s) {
    cj_reg at[6] = {{0}};
    cj_tensor_store(s->f, cj_always(), s->global, at, 6, s->own);
}

static void (*const wrong[])(const scene *) = {minimum_of_floats, vector_of_three, vector_of_none, vector_of_many,
                                               tensor_of_six};

static void what_ptx_cannot_say_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(wrong); i++) {
        cj_builder *b = cj_builder_create("sm_90");
        cj_error    error = {0};
        scene       s;
        char       *text = NULL;
        open_scene(&s, b);
        wrong[i](&s);
        cj_ptx(s.f, "ret;");
        assert_int_equal(cj_builder_finish(b, &text, NULL, &error), CJ_INVALID_KERNEL);
        assert_null(text);
        assert_true(error.rule[0] != 0);
        cj_builder_destroy(b);
    }
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_assembles),
        cmocka_unit_test(what_ptx_cannot_say_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
