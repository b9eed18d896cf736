// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cj_device *cj_test_gpu(void) {
    cj_device *device = NULL;
    cj_error   error = {0};
    cj_status status = cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "gpu"}, &device, &error);
    if (status == CJ_OK) return device;

    const char *required = getenv("CJ_REQUIRE_GPU");
    bool        may_skip = !required || strcmp(required, "1") != 0;
    if (status == CJ_NO_DEVICE && may_skip) cj_test_skip("%s", error.message);
    fprintf(stderr, "FAIL: no GPU: %s: %s\n%s\n", cj_status_name(status), error.message, error.hint);
    exit(1);
}
