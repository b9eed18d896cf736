// SPDX-License-Identifier: Apache-2.0
// Launches on a GPU. CJ_FEW=1 launches less often, for compute-sanitizer.

#include "launch_cases.h"
#include "test.h"

int main(void) {
    return cj_test_launches(cj_test_gpu(), cj_test_few() ? 100 : 10000);
}
