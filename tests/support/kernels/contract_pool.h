// SPDX-License-Identifier: Apache-2.0
// Random kernels that do nothing, for comparing our verdict on directives with those of ptxas and the driver:
// directives with values around every limit, static shared memory, many registers, registers of the cluster.
#ifndef CJ_TESTS_CONTRACT_POOL_H
#define CJ_TESTS_CONTRACT_POOL_H

#include "contract.h"
#include "test.h"
#include "text.h"

typedef struct cj_pool_kernel {
    cj_text     ptx;       // entry k(.param .u64 p), which returns at once if p is 0
    char        arch[16];  // its .target
    bool        loads;     // our verdict: the text is valid, and breaks no rule on loading
    cj_error    why;       // if it does not load
    cj_contract contract;
} cj_pool_kernel;

// Makes the next kernel of the sequence and judges it for a GPU with those limits.
void cj_test_pool_kernel(uint64_t *random, const cj_limits *limits, cj_pool_kernel *kernel);
void cj_test_pool_free(cj_pool_kernel *kernel);

// One of these, all equally likely.
#define CJ_PICK(random, array) ((array)[cj_test_random(random) % CJ_TEST_COUNT(array)])

// True with this probability.
bool cj_test_chance(uint64_t *random, unsigned percent);

#endif
