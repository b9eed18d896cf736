// SPDX-License-Identifier: Apache-2.0
// What a caller sets he gets, or it is refused by name: in the plan, in the text, and as far as tuning goes.
#include <clusterjit/kernel.h>
#include <clusterjit/tuning.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static bool speaks_of_clusters(const char *text) {
    static const char *const words[] = {"reqnctapercluster", "explicitcluster", "barrier.cluster", "mapa.",
                                        "%clusterid",        "%nclusterid",     "%cluster_"};
    for (size_t i = 0; i < CJ_TEST_COUNT(words); i++)
        if (strstr(text, words[i])) return true;
    return false;
}

static void plan_of(const char *family, const char *words, cj_plan *plan) {
    const cj_limits *limits;
    cj_params        params;
    cj_error         error = {0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
    cj_test_ok(cj_test_params(family, words, &params, &error), &error);
    if (cj_plan_make(&params, limits, NULL, plan, &error)) fail_msg("%s %s: %s", family, words, error.message);
}

static void expect_none(const char *family, const char *words) {
    cj_plan plan;
    plan_of(family, words, &plan);
    char *text = cj_test_emit(family, words, strcmp(family, "gemm") ? "sm_90" : "sm_90a");
    if (plan.cluster.x || plan.cluster.y || plan.cluster.z)
        fail_msg("%s %s: a cluster of %u", family, words, plan.cluster.x);
    if (speaks_of_clusters(text)) fail_msg("%s %s: the text speaks of clusters", family, words);
    cj_text_free(text);
}

static void rows_without_clusters_have_none(void **state) {
    (void)state;
    static const char *const families[] = {"softmax", "logsoftmax", "rmsnorm", "layernorm", "crossentropy"};
    static const char *const shapes[] = {"rows=4096 columns=65536",  "rows=1024 columns=262144",
                                         "rows=256 columns=1048576", "rows=5000 columns=4096",
                                         "rows=64 columns=32768",    "rows=9 columns=1003"};
    static const char *const types[] = {"f32", "f16", "bf16"};
    for (size_t f = 0; f < CJ_TEST_COUNT(families); f++)
        for (size_t s = 0; s < CJ_TEST_COUNT(shapes); s++)
            for (size_t t = 0; t < CJ_TEST_COUNT(types); t++) {
                char words[160];
                snprintf(words, sizeof words, "%s dtype=%s cluster=0", shapes[s], types[t]);
                expect_none(families[f], words);
                if (!strstr(families[f], "norm") || strstr(families[f], "soft")) continue;
                strcat(words, " pass=backward weight-gradient=yes");
                expect_none(families[f], words);
            }
}

static void every_family_without_clusters_has_none(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"reduce", "n=2^20 cluster=0"},
        {"reduce", "n=2^14 result=block cluster=0"},
        {"histogram", "n=2^20 bins=2^18 cluster=0"},
        {"stencil", "cluster=0"},
        {"stencil", "strategy=blocked cluster=0"},
        {"stencil", "dim=1 nx=100000 strategy=blocked cluster=1"},
        {"exchange", "cluster=0 size=4"},
        {"scan", "columns=2^16 cluster=0"},
        {"scan", "rows=1000 columns=2^16 cluster=0"},
        {"scan", "rows=1000 columns=2^16"},
        {"topk", "rows=4 columns=2^20 cluster=0"},
        {"gemm", "cluster=0"},
        {"gemm", "m=64 n=64 k=2^16 cluster=0"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) { expect_none(cases[i][0], cases[i][1]); }
    cj_test_refused("collective", CJ_INVALID_ARGUMENT, "cluster=0", "cluster: 0 and size: 0");
    cj_test_refused("collective", CJ_INVALID_ARGUMENT, "op=scan count=9 cluster=0", "cluster: 0");
}

// A plan's own parameters, planned again, come to the same plan: what was chosen is what can be asked for.
static void a_plan_asked_for_by_its_parameters_is_the_same(void **state) {
    (void)state;
    static const char *const cases[][2] = {{"softmax", "rows=4096 columns=65536 cluster=0"},
                                           {"softmax", "rows=4096 columns=65536"},
                                           {"softmax", "rows=8 columns=65536"},
                                           {"softmax", "rows=4096 columns=100"},
                                           {"rmsnorm", "rows=4096 columns=8192 pass=backward weight-gradient=yes"},
                                           {"scan", "rows=1000 columns=2^16"},
                                           {"scan", "columns=1000 cluster=8"},
                                           {"stencil", ""},
                                           {"stencil", "dim=3 nx=20 ny=20 nz=20"},
                                           {"stencil", "nx=4096 ny=4096 cluster=2 strategy=blocked"},
                                           {"gemm", "m=200 n=200 k=2^15"},
                                           {"reduce", "n=2^20"},
                                           {"topk", "rows=4 columns=2^20"}};
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_plan          first, again;
        const cj_limits *limits;
        cj_error         error = {0};
        plan_of(cases[i][0], cases[i][1], &first);
        cj_test_ok(cj_limits_builtin("sm_90", &limits, &error), &error);
        if (cj_plan_make(&first.params, limits, NULL, &again, &error))
            fail_msg("%s %s: %s", cases[i][0], cases[i][1], error.message);
        assert_memory_equal(first.params.value, again.params.value, sizeof first.params.value);
        assert_memory_equal(&first.grid, &again.grid, sizeof first.grid);
        assert_memory_equal(&first.cluster, &again.cluster, sizeof first.cluster);
    }
}

static void clusters_that_are_asked_for_are_there(void **state) {
    (void)state;
    static const struct {
        const char *family, *words;
        uint32_t    cluster;
    } cases[] = {
        {"scan", "columns=1024 cluster=16", 16},
        {"scan", "columns=200 cluster=2", 2},
        {"scan", "rows=9 columns=5000 cluster=3 heads=flags", 3},
        {"softmax", "rows=4096 columns=100 cluster=4", 4},
        {"stencil", "nx=4096 ny=4096 cluster=3", 3},
        {"stencil", "dim=1 nx=4096 cluster=2 strategy=step", 2},
        {"stencil", "nx=64 ny=64 cluster=5", 5},
        {"topk", "columns=100 cluster=8", 8},
        {"reduce", "n=5 cluster=16", 16},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_plan plan;
        char    directive[48];
        plan_of(cases[i].family, cases[i].words, &plan);
        snprintf(directive, sizeof directive, ".reqnctapercluster %u, 1, 1", cases[i].cluster);
        char *text = cj_test_emit(cases[i].family, cases[i].words, "sm_90");
        if (plan.cluster.x != cases[i].cluster || !strstr(text, directive))
            fail_msg("%s %s: the cluster has %u blocks", cases[i].family, cases[i].words, plan.cluster.x);
        cj_text_free(text);
    }
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=10 cluster=16", "cluster: 16 blocks would share a row of 10");
    cj_test_refused("scan", CJ_INVALID_ARGUMENT, "columns=1000 block=256 cluster=4",
                    "cluster: 4 blocks would share a row");
}

static void what_has_no_effect_is_refused_by_name(void **state) {
    (void)state;
    cj_test_refused("collective", CJ_INVALID_ARGUMENT, "root=1", "root: 1 has no effect with op=allreduce");
    cj_test_refused("collective", CJ_INVALID_ARGUMENT, "op=gather combine=max",
                    "combine: max has no effect with op=gather");
    cj_test_refused("collective", CJ_INVALID_ARGUMENT, "exclusive=yes", "exclusive: yes has no effect");
    cj_test_refused("collective", CJ_INVALID_ARGUMENT, "op=scan toward=lower", "toward: lower has no effect");
    cj_test_refused("exchange", CJ_INVALID_ARGUMENT, "halo=4", "halo: 4 has no effect with pattern=pair");
    cj_test_refused("exchange", CJ_INVALID_ARGUMENT, "pattern=halo shift=2", "shift: 2 has no effect");
    cj_test_refused("exchange", CJ_INVALID_ARGUMENT, "cluster=0 size=2 strategy=pull", "strategy: pull with cluster=0");
    cj_test_refused("stencil", CJ_INVALID_ARGUMENT, "nx=64 ny=64 strategy=resident form=shared tile=4",
                    "tile: 4 is asked for");
}

// "0" and what is left to the plan are different problems to tuning, and so to the cache.
static void no_cluster_and_any_are_different_problems(void **state) {
    (void)state;
    static const char *const families[] = {"reduce", "softmax", "scan", "stencil", "topk", "gemm"};
    for (size_t i = 0; i < CJ_TEST_COUNT(families); i++) {
        cj_params any, none;
        cj_error  error = {0};
        cj_test_ok(cj_test_params(families[i], "", &any, &error), &error);
        cj_test_ok(cj_test_params(families[i], "cluster=0", &none, &error), &error);
        assert_memory_not_equal(any.value, none.value, sizeof any.value);
        size_t at = 0;
        while (strcmp(cj_family_param(any.family, at)->name, "cluster")) at++;
        assert_true(!cj_family_param(any.family, at)->tune || cj_tuning_is_open(&any, at));
        assert_false(cj_tuning_is_open(&none, at));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_without_clusters_have_none),
        cmocka_unit_test(every_family_without_clusters_has_none),
        cmocka_unit_test(a_plan_asked_for_by_its_parameters_is_the_same),
        cmocka_unit_test(clusters_that_are_asked_for_are_there),
        cmocka_unit_test(what_has_no_effect_is_refused_by_name),
        cmocka_unit_test(no_cluster_and_any_are_different_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
