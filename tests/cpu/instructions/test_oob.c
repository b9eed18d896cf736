// SPDX-License-Identifier: Apache-2.0
// fma.rn.oob on the CPU device: one NaN stands for what is out of bounds, as a factor; under .relu numbers below 0 are
// 0, too.
#include "semantics_oob.h"

#include <string.h>

#include "half.h"
#include "test.h"

// Whether a number gives 0 or less with both pairs of other operands.
static bool is_below(unsigned form, unsigned code) {
    const bool     brain = strstr(cj_oob_form[form], "bf16");
    const unsigned infinite = brain ? 0x7f80 : 0x7c00, most = brain ? 0xbfc0 : 0xbe00;  // -1.5
    const bool     relu = strstr(cj_oob_form[form], "relu");
    return relu && code >= most && code <= (infinite | 0x8000);
}

static void one_nan_is_out_of_bounds(void **state) {
    (void)state;
    static cj_oob_sweep sweep;
    cj_device          *device = NULL;
    cj_error            error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    cj_oob_run(device, &sweep);
    cj_oob_print("CPU device", &sweep);
    for (unsigned i = 0; i < CJ_OOB_FORMS * CJ_OOB_PLACES * CJ_OOB_CODES; i++) {
        const unsigned code = i % CJ_OOB_CODES, place = i / CJ_OOB_CODES % CJ_OOB_PLACES,
                       form = i / CJ_OOB_CODES / CJ_OOB_PLACES;
        const bool expected = is_below(form, code) || (place < 2 && (code & 0x7fff) == CJ_HALF_OUTSIDE);
        if (sweep.is_zero[form][place][code] != expected)
            fail_msg("%s, place %u, 0x%04x: %d", cj_oob_form[form], place, code, !expected);
    }
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_nan_is_out_of_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
