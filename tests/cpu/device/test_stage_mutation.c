// SPDX-License-Identifier: Apache-2.0
// A pipeline of stages whose producer and consumer are different blocks: every synchronizing instruction that
// clusterjit/pipeline.h writes for it is needed, and the CPU device sees that it is missing (mutation.h).
#include "cluster_features.h"
#include "mutation.h"

enum { SEEDS = 100, RINGS = 2 };  // the features of two blocks; the third is the same text for eight

static cj_status run(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error) {
    return cj_feature_launch(cj_test_device, specimen->user, function, out, error);
}

static void for_each_ring(void (*visit)(const cj_specimen *specimen)) {
    for (size_t i = 0; i < RINGS; i++) {
        cj_feature feature = cj_features_stage.feature[i];
        char      *text = NULL;
        cj_error   error = {0};
        cj_test_ok(cj_feature_write(&feature, &text, &error), &error);
        const cj_specimen specimen = {.words = feature.name,
                                      .ptx = text,
                                      .entry = CJ_FEATURE_ENTRY,
                                      .bytes = cj_feature_bytes(&feature),
                                      .run = run,
                                      .user = &feature};
        visit(&specimen);
        cj_text_free(text);
    }
}

static void expect_no_survivor(const cj_specimen *specimen) { assert_int_equal(cj_mutants_surviving(specimen), 0); }

static void every_synchronization_is_needed_and_its_absence_is_seen(void **state) {
    (void)state;
    for_each_ring(expect_no_survivor);
}

static void expect_agreement(const cj_specimen *specimen) { cj_schedules_agree(specimen, SEEDS); }

static void no_schedule_finds_fault_with_the_rings(void **state) {
    (void)state;
    for_each_ring(expect_agreement);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_synchronization_is_needed_and_its_absence_is_seen),
        cmocka_unit_test(no_schedule_finds_fault_with_the_rings),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
