// SPDX-License-Identifier: Apache-2.0
// Launches on a GPU. CJ_FEW=1 launches less often, for compute-sanitizer.
#include <stdlib.h>
#include <string.h>

#include "launch_cases.h"
#include "test.h"

int main(void) {
    const char *few = getenv("CJ_FEW");
    return cj_test_launches(cj_test_gpu(), few && !strcmp(few, "1") ? 100 : 10000);
}
