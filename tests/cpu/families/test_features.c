// SPDX-License-Identifier: Apache-2.0
// The features of clusters on the CPU device, which watches for hazards.
#include "cluster_features.h"
#include "test.h"

int main(void) {
    const cj_features *const groups[] = {&cj_features_identity, &cj_features_memory, &cj_features_barrier,
                                         &cj_features_copy, &cj_features_stage};
    const cj_cpu_options     options = {CJ_INIT(options), .hazards = true};
    cj_device               *device = NULL;
    int                      failed = 0;
    if (cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, NULL) ||
        cj_cpu_configure(device, &options, NULL))
        return 1;
    for (size_t i = 0; i < CJ_TEST_COUNT(groups); i++) failed += cj_features_test(device, groups[i], "features");
    cj_device_close(device);
    return failed;
}
