// SPDX-License-Identifier: Apache-2.0
// The reductions of tests/cpu/families/test_user_function.c on a GPU, with larger sizes. CJ_FEW=1 runs a few, for
// compute-sanitizer.

#include "test.h"
#include "user_functions.h"

static const cj_dtype types[] = {CJ_F32, CJ_F64, CJ_I32, CJ_U32, CJ_I64, CJ_U64};

static void every_type_and_cluster_is_right(void **state) {
    (void)state;
    static const uint64_t    n[] = {1, 33, 2050, (1 << 20) + 3};
    static const char *const clusters[] = {"0", "1", "2", "4", "8", "16"};
    const bool               few = cj_test_few();
    size_t                   launches = 0;
    for (size_t c = 0; c < cj_test_user_case_count(); c++)
        for (size_t t = 0; t < CJ_TEST_COUNT(types); t++)
            launches += cj_test_user_case(cj_test_device, c, types[t], n, few ? 2 : CJ_TEST_COUNT(n), clusters,
                                          few ? 3 : CJ_TEST_COUNT(clusters));
    print_message("%zu launches right\n", launches);
}

int main(void) {
    cj_test_nvrtc();
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_type_and_cluster_is_right)};
    return cmocka_run_group_tests(tests, cj_test_open_gpu, cj_test_close);
}
