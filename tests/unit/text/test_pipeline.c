// SPDX-License-Identifier: Apache-2.0
// What the helpers for pipelines of stages and for warp groups write, and what they refuse by name.
#include <clusterjit/pipeline.h>
#include <clusterjit/warpgroup.h>
#include <string.h>

#include "test.h"

typedef struct kernel {
    cj_builder *builder;
    cj_func    *f;
} kernel;

static kernel begin(void) {
    kernel k = {.builder = cj_builder_create("sm_90a")};
    k.f = cj_entry(k.builder, "k");
    cj_block(k.f, 128, 1, 1);
    return k;
}

static char *finish(const kernel *k) {
    char    *text = NULL;
    cj_error error = {0};
    cj_test_ok(cj_builder_finish(k->builder, &text, NULL, &error), &error);
    cj_builder_destroy(k->builder);
    return text;
}

static void expect_refusal(const kernel *k, const char *rule, const char *says) {
    char    *text = NULL;
    cj_error error = {0};
    assert_int_equal(cj_builder_finish(k->builder, &text, NULL, &error), CJ_INVALID_KERNEL);
    assert_string_equal(error.rule, rule);
    if (!strstr(error.message, says)) fail_msg("%s: %s", says, error.message);
    cj_builder_destroy(k->builder);
}

static void a_ring_has_1_to_64_stages(void **state) {
    (void)state;
    static const uint32_t stages[] = {0, 65};
    for (size_t i = 0; i < CJ_TEST_COUNT(stages); i++) {
        kernel k = begin();
        cj_pipeline_declare(k.f, "ring", stages[i]);
        expect_refusal(&k, "array-size", "stages");
    }
}

// FEATURES, row 23: the stage's bytes are announced, and a peer's mbarrier is arrived at.
static void a_producer_announces_bytes_and_a_consumer_arrives_at_peers_without_a_fence(void **state) {
    (void)state;
    static const char *const lines[] = {".b64 ring_full[3]",
                                        ".b64 ring_empty[3]",
                                        "fence.mbarrier_init.release.cluster",
                                        "mbarrier.arrive.expect_tx.shared.b64 _, [%full], 4096",
                                        "mapa.shared::cluster.u32",
                                        "mbarrier.arrive.shared::cluster.b64 _, [%empty"};
    kernel                   k = begin();
    cj_pipeline              pipeline = cj_pipeline_declare(k.f, "ring", 3);
    cj_pipeline_init(k.f, cj_elect_block(k.f), &pipeline, CJ_ARG(2));
    cj_pipeline_at producer = cj_pipeline_begin(k.f, &pipeline, CJ_PRODUCER),
                   consumer = cj_pipeline_begin(k.f, &pipeline, CJ_CONSUMER);
    cj_pipeline_acquire(k.f, &pipeline, &producer, CJ_ARG(4096));
    cj_pipeline_next(k.f, &pipeline, &producer);
    cj_pipeline_wait(k.f, &pipeline, &consumer);
    cj_pipeline_release(k.f, cj_always(), cj_pipeline_peer(k.f, &pipeline, cj_cluster_rank(k.f)), consumer.stage, "done");
    cj_ptx(k.f, "ret;");
    char *text = finish(&k);
    for (size_t i = 0; i < CJ_TEST_COUNT(lines); i++)
        if (!strstr(text, lines[i])) fail_msg("there is no %s in\n%s", lines[i], text);
    cj_text_free(text);
}

static void a_product_has_a_multiple_of_8_columns_up_to_256(void **state) {
    (void)state;
    static const uint32_t columns[] = {0, 12, 264};
    for (size_t i = 0; i < CJ_TEST_COUNT(columns); i++) {
        const cj_wgmma_form form = {columns[i], "bf16", CJ_BY_K, CJ_BY_K, NULL};
        cj_reg              sum[128] = {{0}};
        kernel              k = begin();
        cj_wgmma(k.f, &form, sum, cj_b64(k.f, "a"), cj_b64(k.f, "b"), cj_pred(k.f, "adds"));
        expect_refusal(&k, "modifiers", "multiple of 8");
    }
}

static void a_product_is_of_types_and_orders_that_go_together(void **state) {
    (void)state;
    static const struct {
        cj_wgmma_form form;
        const char   *says;
    } cases[] = {
        {{64, "f32", CJ_BY_K, CJ_BY_K, NULL}, "wgmma of f32 and the same"},
        {{64, "bf16", CJ_BY_K, CJ_BY_K, "f16"}, "wgmma of bf16 and f16"},
        {{64, "tf32", CJ_BY_LINE, CJ_BY_K, NULL}, "only elements of 16 bits"},
        {{64, "e4m3", CJ_BY_K, CJ_BY_LINE, "e5m2"}, "only elements of 16 bits"},
        {{64, "s8", CJ_BY_K, CJ_BY_K, "e4m3"}, "wgmma of s8 and e4m3"},
        {{64, "u8", CJ_BY_K, CJ_BY_LINE, NULL}, "only elements of 16 bits"},
        {{40, "s8", CJ_BY_K, CJ_BY_K, "u8"}, "8, 24, or a multiple of 16"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_reg sum[128] = {{0}};
        kernel k = begin();
        cj_wgmma(k.f, &cases[i].form, sum, cj_b64(k.f, "a"), cj_b64(k.f, "b"), cj_pred(k.f, "adds"));
        expect_refusal(&k, "modifiers", cases[i].says);
    }
}

static void an_array_of_parameters_has_elements_and_a_power_of_two(void **state) {
    (void)state;
    static const uint32_t counts[] = {0, 128}, aligns[] = {64, 48};
    for (size_t i = 0; i < CJ_TEST_COUNT(counts); i++) {
        kernel k = begin();
        cj_param_array(k.f, "b8", "map", counts[i], aligns[i], NULL);
        expect_refusal(&k, "array-size", "parameter 'map'");
    }
    kernel k = begin();
    cj_param_array(k.f, "b8", "map", 128, 64, "a tensor map");
    cj_ptx(k.f, "ret;");
    char *text = finish(&k);
    assert_non_null(strstr(text, ".param .align 64 .b8 map[128]"));
    cj_text_free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_has_1_to_64_stages),
        cmocka_unit_test(a_producer_announces_bytes_and_a_consumer_arrives_at_peers_without_a_fence),
        cmocka_unit_test(a_product_has_a_multiple_of_8_columns_up_to_256),
        cmocka_unit_test(a_product_is_of_types_and_orders_that_go_together),
        cmocka_unit_test(an_array_of_parameters_has_elements_and_a_power_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
