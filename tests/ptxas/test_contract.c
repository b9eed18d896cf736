// SPDX-License-Identifier: Apache-2.0
// Which directives and how much static shared memory ptxas takes: our verdict on random kernels is its own.
#include <clusterjit/contract.h>
#include <string.h>

#include "contract_pool.h"

enum { KERNELS = 120 };

// ptxas makes code for the target it is given; which GPU that runs on is not its concern.
static bool for_another_gpu(const cj_pool_kernel *kernel) { return !strcmp(kernel->why.rule, "kernel-target"); }

// The driver takes static shared memory that ptxas refuses; of that there is a warning.
static bool ptxas_should_take(const cj_pool_kernel *kernel, const cj_limits *limits) {
    const bool own = strchr(kernel->arch, 'a') != NULL;
    return kernel->loads &&
           kernel->contract.static_shared <= (own ? limits->shared_per_block_optin : limits->shared_per_block);
}

static void ptxas_takes_what_we_take(void **state) {
    (void)state;
    cj_limits limits;
    uint64_t  random = cj_test_seed();
    unsigned  refused = 0;
    cj_test_ok(cj_limits_named("sm_90", &limits, NULL), NULL);
    for (int i = 0; i < KERNELS; i++) {
        cj_pool_kernel kernel;
        char           log[4096];
        cj_test_pool_kernel(&random, &limits, &kernel);
        if (!for_another_gpu(&kernel)) {
            bool takes = cj_test_takes(kernel.ptx.data, kernel.arch, log, sizeof log);
            if (takes != ptxas_should_take(&kernel, &limits))
                fail_msg("ptxas %s it, we do not: %s\n%s\n%s", takes ? "takes" : "refuses", kernel.why.message, log,
                         kernel.ptx.data);
            refused += !takes;
        }
        cj_test_pool_free(&kernel);
    }
    print_message("%d kernels, %u refused\n", KERNELS, refused);
    assert_true(refused > 0);
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {cmocka_unit_test(ptxas_takes_what_we_take)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
