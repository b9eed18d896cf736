// SPDX-License-Identifier: Apache-2.0
// The kernel families in CUDA C++ (templates/reference), compiled by NVRTC: tests and benchmarks compare the emitted
// kernels with them.
#ifndef CJ_NVRTC_REFERENCE_H
#define CJ_NVRTC_REFERENCE_H

#include <clusterjit/base.h>

// Compiles a family's reference for a target and a type: with clusters of `cluster` blocks, through cooperative groups,
// or without clusters if that is 0. `op` and `identity` are CUDA C expressions, of a and b and of nothing: "a + b",
// "0". NUL-terminated, owned by the caller (free); its entry is FAMILY_reference. The result is not cached. Errors as
// cj_function_from_cuda; INVALID_ARGUMENT for a family that has no reference.
cj_status cj__reference_compile(const char *family, const char *arch, cj_dtype type, const char *op,
                                const char *identity, uint32_t cluster, char **ptx, cj_error *error);

#endif
