// SPDX-License-Identifier: Apache-2.0
// Random requests: a family, some of its parameters, drawn from its table, and a target.
#ifndef CJ_TESTS_DRAW_H
#define CJ_TESTS_DRAW_H

#include <clusterjit/kernel.h>
#include <stdbool.h>

typedef struct cj_draw {
    cj_params   params;
    const char *arch;
    bool        is_set[CJ_PARAM_MAX];
    char        command[1024];  // the arguments of `ptxgen emit` for it: "softmax --rows 63 --dtype f16 --arch sm_90"
} cj_draw;

// The next request of the sequence that starts at *random (cj_test_random). Every drawn value is in its parameter's
// range; the plan decides whether the values go together. Functions are not set.
void cj_test_draw(const cj_family *family, uint64_t *random, cj_draw *draw);

// Takes about half of what is set back to its default. False: nothing is set.
bool cj_test_draw_less(uint64_t *random, cj_draw *draw);

#endif
