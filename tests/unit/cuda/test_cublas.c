// SPDX-License-Identifier: Apache-2.0
// What the command knows of cuBLAS without its headers, held against them where they are.
#include "test.h"

#include "../../../tools/ptxgen/toolchain/cublas_abi.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>

#define X(ours, theirs, number) _Static_assert((int)(ours) == (int)(theirs), #theirs);
CUBLAS_CONSTANTS(X)
#undef X
_Static_assert(CUBLAS_OP_N == 0 && CUBLAS_OP_T == 1, "whether a matrix is transposed is given as 0 or 1");
_Static_assert(sizeof(cublas_algorithm) == sizeof(cublasLtMatmulAlgo_t), "cublasLtMatmulAlgo_t");
_Static_assert(sizeof(cublas_choice) == sizeof(cublasLtMatmulHeuristicResult_t), "cublasLtMatmulHeuristicResult_t");
_Static_assert(offsetof(cublas_choice, status) == offsetof(cublasLtMatmulHeuristicResult_t, state), "state");

static void its_numbers_are_those_of_the_headers(void **state) { (void)state; }
#else
static void its_numbers_are_those_of_the_headers(void **state) {
    (void)state;
    skip();
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(its_numbers_are_those_of_the_headers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
