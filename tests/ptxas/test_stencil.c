// SPDX-License-Identifier: Apache-2.0
// Every stencil kernel assembles, without a warning: every way and form with every boundary and type, and with each of
// these the next radius, shape, dimension, cluster and target in turn.
#include <stdio.h>

#include "emit.h"
#include "test.h"

static const char *const ways[] = {
    "dim=2 nx=64 ny=70 strategy=resident form=registers cluster=4",
    "dim=2 nx=384 ny=70 strategy=resident form=registers cluster=8 depth=1",
    "dim=2 nx=1024 ny=70 strategy=blocked form=registers steps=5 depth=2",
    "dim=2 nx=100 ny=70 strategy=step form=registers steps=2",
    "dim=1 nx=5000 strategy=resident form=shared",
    "dim=2 nx=99 ny=70 strategy=blocked form=shared cluster=4",
    "dim=3 nx=25 ny=30 nz=35 strategy=resident form=shared cluster=8",
    "dim=3 nx=99 ny=50 nz=35 strategy=step form=shared",
};
static const char *const boundaries[] = {"zero", "clamp", "periodic"};
static const char *const dtypes[] = {"f32", "f64"};
static const char *const shapes[] = {"shape=star radius=1", "shape=star radius=4", "shape=box radius=1",
                                     "shape=star radius=2", "shape=star radius=3"};
static const char *const targets[] = {"sm_90", "sm_90a", "sm_100a"};

static void assemble(const char *params, const char *arch) { cj_test_assembles("stencil", params, arch); }

static void emitted_kernels_assemble(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t way = 0; way < CJ_TEST_COUNT(ways); way++)
        for (size_t b = 0; b < CJ_TEST_COUNT(boundaries); b++)
            for (size_t t = 0; t < CJ_TEST_COUNT(dtypes); t++, turn++) {
                char        params[200];
                const char *shape =
                    shapes[way == 1 ? 0 : turn % CJ_TEST_COUNT(shapes)];  // few wide rows fit the registers
                snprintf(params, sizeof params, "%s %s boundary=%s dtype=%s", ways[way], shape, boundaries[b],
                         dtypes[t]);
                assemble(params, targets[turn % CJ_TEST_COUNT(targets)]);
            }
}

static void kernels_without_clusters_assemble(void **state) {
    (void)state;
    assemble("nx=1024 ny=1024", "sm_80");
    assemble("dim=3 nx=30 ny=30 nz=30 dtype=f64 boundary=periodic", "sm_86");
    assemble("dim=1 nx=100000 radius=3 boundary=clamp", "sm_89");
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_kernels_assemble),
        cmocka_unit_test(kernels_without_clusters_assemble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
