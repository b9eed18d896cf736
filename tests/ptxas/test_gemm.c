// SPDX-License-Identifier: Apache-2.0
// Every matrix product assembles, without a warning: every tile with every cluster, and with each of these the next
// layout and type in turn.
#include <clusterjit/ptx.h>
#include <stdio.h>

#include "emit.h"
#include "test.h"

static const char *const tiles[] = {"128x256", "128x128", "64x256", "64x128", "64x64"};
static const char *const clusters[] = {"cluster=0",
                                       "cluster=1",
                                       "cluster=2",
                                       "cluster=4",
                                       "cluster=1 cluster-n=2",
                                       "cluster=1 cluster-n=4",
                                       "cluster=2 cluster-n=2"};
static const char *const orders[] = {"row", "column"};

static void emitted_kernels_assemble(void **state) {
    (void)state;
    unsigned turn = 0;
    for (size_t tile = 0; tile < CJ_TEST_COUNT(tiles); tile++)
        for (size_t cluster = 0; cluster < CJ_TEST_COUNT(clusters); cluster++, turn++) {
            char params[192], log[4096];
            snprintf(params, sizeof params, "tile=%s %s a=%s b=%s d=%s c=%s dtype=%s", tiles[tile], clusters[cluster],
                     orders[turn % 2], orders[turn / 2 % 2], orders[turn / 4 % 2], turn % 3 ? "no" : "yes",
                     turn % 5 ? "bf16" : "f16");
            char *text = cj_test_emit("gemm", params, "sm_90a");
            if (!cj_test_assemble(text, "sm_90a", log, sizeof log)) fail_msg("%s: %s", params, log);
            cj_text_free(text);
        }
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {cmocka_unit_test(emitted_kernels_assemble)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
