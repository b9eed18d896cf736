// SPDX-License-Identifier: Apache-2.0
// The kernel families in CUDA C++ (templates/reference), compiled by NVRTC: what tests and benchmarks hold ours
// against.
#ifndef CJ_NVRTC_REFERENCE_H
#define CJ_NVRTC_REFERENCE_H

#include <clusterjit/base.h>

// Compiles a family's reference for a target and a type: with clusters of `cluster` blocks, by way of cooperative
// groups, or without where that is 0. `op` and `identity` are CUDA C of a and b, and of nothing: "a + b", "0".
// NUL-terminated, owned by the caller (free); its entry is FAMILY_reference. Nothing is kept. Errors as
// cj_function_from_cuda; INVALID_ARGUMENT for a family that has none.
cj_status cj__reference_compile(const char *family, const char *arch, cj_dtype type, const char *op,
                                const char *identity, uint32_t cluster, char **ptx, cj_error *error);

#endif
