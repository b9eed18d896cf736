// SPDX-License-Identifier: Apache-2.0
// Reductions with user functions, for both devices: the same functions as CUDA C and as C, exact in every type.
#ifndef CJ_TESTS_USER_FUNCTIONS_H
#define CJ_TESTS_USER_FUNCTIONS_H

#include <clusterjit/clusterjit.h>

// Skips the test, visibly, if NVRTC is missing.
void cj_test_nvrtc(void);

// Compiles an expression of x, or of a and b, or of nothing, in one type. Fails the test if it does not compile.
cj_user_function *cj_test_expression(const char *expression, cj_dtype type, uint32_t arguments);

// The number of cases, and the name of one.
size_t      cj_test_user_case_count(void);
const char *cj_test_user_case_name(size_t index);

// The parameters of a case's reduction, which own its functions until cj_test_user_release.
void cj_test_user_params(size_t index, cj_dtype type, cj_params *params);
void cj_test_user_release(const cj_params *params);

// Runs a case in one type over sizes and clusters (0: without) and compares with the host's result; returns the
// launches.
size_t cj_test_user_case(cj_device *device, size_t index, cj_dtype type, const uint64_t *n, size_t n_count,
                         const char *const *cluster, size_t cluster_count);

#endif
