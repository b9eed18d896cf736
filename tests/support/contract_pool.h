// SPDX-License-Identifier: Apache-2.0
// Random kernels that do nothing, for holding our verdict on directives against ptxas' and the driver's: directives
// with values around every limit, static shared memory, many registers, registers of the cluster.
#ifndef CJ_TESTS_CONTRACT_POOL_H
#define CJ_TESTS_CONTRACT_POOL_H

#include "contract.h"
#include "test.h"
#include "text.h"

typedef struct cj_pool_kernel {
    cj_text     ptx;       // entry k(.param .u64 p): with p = 0 it ends at once
    char        arch[16];  // its .target
    bool        loads;     // what we say: the text is right, and no rule on loading is broken
    cj_error    why;       // where it does not
    cj_contract contract;
} cj_pool_kernel;

// Makes the next kernel of the sequence and judges it for a GPU with those limits.
void cj_test_pool_kernel(uint64_t *random, const cj_limits *limits, cj_pool_kernel *kernel);
void cj_test_pool_free(cj_pool_kernel *kernel);

// One of these, each as likely as the others.
#define CJ_PICK(random, array) ((array)[cj_test_random(random) % CJ_TEST_COUNT(array)])

// True in so many of 100 cases.
bool cj_test_chance(uint64_t *random, unsigned percent);

#endif
