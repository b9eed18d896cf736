// SPDX-License-Identifier: Apache-2.0
// Launches on the CPU device.
#include "launch_cases.h"
#include "test.h"

int main(void) {
    cj_device *device = NULL;
    cj_error   error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    return cj_test_launches(device, 300);
}
