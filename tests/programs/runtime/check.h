// SPDX-License-Identifier: Apache-2.0
// What the programs on the runtime share: a check of each call.
#ifndef CHECK_H
#define CHECK_H

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                               \
    do {                                                                                                          \
        const cudaError_t result_ = (call);                                                                       \
        if (result_ != cudaSuccess) {                                                                             \
            fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, cudaGetErrorString(result_), result_); \
            exit(EXIT_FAILURE);                                                                                   \
        }                                                                                                         \
    } while (0)

#define REQUIRE(condition)                                                         \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(EXIT_FAILURE);                                                    \
        }                                                                          \
    } while (0)

#endif
