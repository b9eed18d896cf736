// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
// Launches of a matrix product on the fake driver: tensor maps are encoded when what they depend on has changed.
#include <clusterjit/gemm.h>
#include <stdlib.h>

#include "cuda_rig.h"

enum { MAPS = 3 };  // of A, B and D

static unsigned encoded(void) { return cj_fake_calls("cuTensorMapEncodeTiled"); }

static void maps_are_encoded_when_pointers_change(void **state) {
    (void)state;
    cj_device         *device = NULL;
    cj_gemm           *gemm = NULL;
    cj_error           error = {0};
    const cj_gemm_desc desc = {CJ_INIT(desc), .m = 256, .n = 256, .k = 128, .dtype = CJ_BF16};
    cj_gemm_operands   o = {CJ_INIT(o), .a = 0x10000, .b = 0x20000, .d = 0x30000, .alpha = 1};
    cj_test_ok(open_fake("gpu", NULL, &device, &error), &error);
    cj_test_ok(cj_gemm_create(device, &desc, &gemm, &error), &error);
    cj_test_ok(cj_gemm_run(gemm, &o, NULL, &error), &error);
    assert_int_equal(encoded(), MAPS);
    for (int i = 0; i < 3; i++) cj_test_ok(cj_gemm_run(gemm, &o, NULL, &error), &error);
    o.alpha = 2;  // which is no part of a map
    cj_test_ok(cj_gemm_run(gemm, &o, (cj_stream)8, &error), &error);
    assert_int_equal(encoded(), MAPS);
    o.d = 0x40000;
    cj_test_ok(cj_gemm_run(gemm, &o, NULL, &error), &error);
    assert_int_equal(encoded(), 2 * MAPS);
    o.a = 8;  // refused, and remembered by nobody
    assert_int_equal(cj_gemm_run(gemm, &o, NULL, &error), CJ_INVALID_ARGUMENT);
    o.a = 0x10000;
    cj_test_ok(cj_gemm_run(gemm, &o, NULL, &error), &error);
    assert_int_equal(encoded(), 2 * MAPS);
    assert_int_equal(cj_fake_driver.launches, 7);
    cj_gemm_destroy(gemm);
    cj_device_close(device);
}

static void leading_dimensions_change_them_too(void **state) {
    (void)state;
    cj_device             *device = NULL;
    cj_error               error = {0};
    cj_gemm_desc           desc = {CJ_INIT(desc), .m = 256, .n = 256, .k = 128, .dtype = CJ_BF16};
    const cj_gemm_operands o = {CJ_INIT(o), .a = 0x10000, .b = 0x20000, .d = 0x30000, .alpha = 1};
    cj_test_ok(open_fake("gpu", NULL, &device, &error), &error);
    for (int i = 0; i < 2; i++) cj_test_ok(cj_gemm_launch(device, &desc, &o, NULL, &error), &error);
    assert_int_equal(encoded(), MAPS);
    desc.lda = 136;
    for (int i = 0; i < 2; i++) cj_test_ok(cj_gemm_launch(device, &desc, &o, NULL, &error), &error);
    assert_int_equal(encoded(), 2 * MAPS);
    cj_device_close(device);
}

int main(void) {
    setenv("CLUSTERJIT_CACHE_DIR", "", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(maps_are_encoded_when_pointers_change, reset),
        cmocka_unit_test_setup(leading_dimensions_change_them_too, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
