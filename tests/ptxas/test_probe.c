// SPDX-License-Identifier: Apache-2.0
// Every kernel of `ptxgen probe` assembles without a warning.
#include "test.h"

#include <probe.h>

static void assemble(const probe_figure *figure, uint32_t size) {
    probe_shape shape = figure->shape;
    char        log[4096], *text = NULL;
    cj_error    error = {0};
    shape.cluster = size;
    cj_test_ok(probe_write(figure->kernel, &shape, "sm_90a", &text, NULL, &error), &error);
    if (!cj_test_assemble(text, "sm_90a", log, sizeof log))
        fail_msg("%s, cluster %u: %s\n%s", figure->name, size, log, text);
    cj_text_free(text);
}

// One size of each figure, another from figure to figure.
static void every_kernel_assembles(void **state) {
    (void)state;
    for (size_t i = 0; i < probe_figure_count; i++) {
        uint32_t size = 1u << (i % PROBE_SIZES);
        while (probe_figures[i].sizes && !(probe_figures[i].sizes & size)) size = size == PROBE_LARGEST ? 1 : 2 * size;
        assemble(&probe_figures[i], probe_figures[i].sizes ? size : 0);
    }
}

static void the_walk_that_is_woven_first_assembles(void **state) {
    (void)state;
    const probe_figure weave = {.name = "weave", .kernel = &probe_weave, .shape = {.threads = 256, .bytes = 1 << 30}};
    assemble(&weave, 0);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_assembles),
        cmocka_unit_test(the_walk_that_is_woven_first_assembles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
