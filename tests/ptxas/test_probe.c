// SPDX-License-Identifier: Apache-2.0
// Every kernel of `ptxgen probe` assembles without a warning.
#include "test.h"

#include <clusterjit/clusterjit.h>
#include <probe.h>

// False where a block of this target has no room for the figure.
static bool assemble(const probe_figure *figure, uint32_t size, const char *arch) {
    probe_shape      shape = figure->shape;
    char             log[4096], *text = NULL;
    const cj_limits *limits;
    cj_error         error = {0};
    shape.cluster = size;
    cj_test_ok(cj_limits_builtin(arch, &limits, &error), &error);
    if (!probe_fit(figure->kernel, &shape, limits->shared_per_block_optin)) return false;
    cj_test_ok(probe_write(figure->kernel, &shape, arch, &text, NULL, &error), &error);
    if (!cj_test_assemble(text, arch, log, sizeof log))
        fail_msg("%s, cluster %u, %s: %s\n%s", figure->name, size, arch, log, text);
    cj_text_free(text);
    return true;
}

// One size of each figure, another from figure to figure; returns how many have no room.
static unsigned assemble_all(const char *arch, uint32_t largest) {
    unsigned left_out = 0;
    for (size_t i = 0; i < probe_figure_count; i++) {
        uint32_t size = 1u << (i % PROBE_SIZES);
        while (probe_figures[i].sizes && (!(probe_figures[i].sizes & size) || size > largest))
            size = size >= largest ? 1 : 2 * size;
        left_out += !assemble(&probe_figures[i], probe_figures[i].sizes ? size : 0, arch);
    }
    return left_out;
}

static void every_kernel_assembles(void **state) {
    (void)state;
    assert_int_equal(assemble_all("sm_90a", PROBE_LARGEST), 0);
}

// There a block has 99 KiB: tiles are smaller, and the exchanges of 64 KiB through shared memory have no room.
static void they_fit_a_target_with_less_shared_memory(void **state) {
    (void)state;
    assert_int_equal(assemble_all("sm_120a", 8), 2);
}

static void the_walk_that_is_woven_first_assembles(void **state) {
    (void)state;
    const probe_figure weave = {.name = "weave", .kernel = &probe_weave, .shape = {.threads = 256, .bytes = 1 << 30}};
    assert_true(assemble(&weave, 0, "sm_90a"));
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_assembles),
        cmocka_unit_test(they_fit_a_target_with_less_shared_memory),
        cmocka_unit_test(the_walk_that_is_woven_first_assembles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
