// SPDX-License-Identifier: Apache-2.0
// The reduction's test, for either device: every type and operation, sizes around every boundary, all clusters and blocks,
// against references in higher precision. Outputs are poisoned and each kernel is launched twice on its workspace.
#ifndef CJ_TESTS_REDUCE_CASES_H
#define CJ_TESTS_REDUCE_CASES_H

#include <clusterjit/clusterjit.h>

typedef struct cj_reduce_cases {
    const uint64_t *n;  // sizes, ascending
    size_t          n_count;
    const uint32_t *cluster;
    size_t          cluster_count;
    const uint32_t *block;
    size_t          block_count;
    uint64_t        unaligned_n;  // sizes up to this also with x moved by one element
    cj_device      *twin;         // sizes up to twin_n must give the same bits on this device too; NULL: none
    uint64_t        twin_n;
} cj_reduce_cases;

// Runs all of them for one type; fails the running cmocka test at the first wrong value. Returns the launches made.
size_t cj_test_reduce(cj_device *device, cj_dtype type, const cj_reduce_cases *cases);

#endif
