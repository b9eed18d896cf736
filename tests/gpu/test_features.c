// SPDX-License-Identifier: Apache-2.0
// The features of clusters on a GPU.
#include "cluster_features.h"
#include "test.h"

int main(void) {
    const cj_features *const groups[] = {&cj_features_identity, &cj_features_memory, &cj_features_barrier,
                                         &cj_features_copy, &cj_features_stage};
    cj_device               *device = cj_test_gpu();
    int                      failed = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(groups); i++) failed += cj_features_test(device, groups[i], "features");
    cj_device_close(device);
    return failed;
}
