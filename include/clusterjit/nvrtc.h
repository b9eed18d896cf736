// SPDX-License-Identifier: Apache-2.0
// A user's CUDA C as part of a generated kernel: a function, or an expression, compiled at run time by NVRTC.
//
//     cj_user_function *square;
//     cj_cuda_desc      desc = {.expression = "x * x", .signature = {CJ_F32, 1, {CJ_F32}, {"x"}}};
//     if (cj_function_from_cuda(&desc, &square, &error)) …
//     cj_reduce_desc sum_of_squares = {.n = n, .map = square};
//
// NVRTC is no part of the library and is not linked: libnvrtc.so of CUDA 12 or later is opened when a function is
// compiled, from CLUSTERJIT_NVRTC (a path) if that is set, else as libnvrtc.so.13, .so.12 and .so where the system
// finds libraries, then beneath CUDA_HOME, CUDA_PATH and /usr/local/cuda. Where there is none the call is refused
// (UNSUPPORTED) and says what was looked for.
//
// The source is trusted code. It runs on the device with the rights of the process, and NVRTC follows #include to any
// file that this user can read: do not compile what others sent you.
//
// Compiled functions are kept in the disk cache (clusterjit/cache.h), under their whole source, its options and NVRTC's
// version; sources that include files are not kept, since what those hold may change.
#ifndef CLUSTERJIT_NVRTC_H
#define CLUSTERJIT_NVRTC_H

#include <clusterjit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

// What to compile; zero-initialize it. Text is only read during the call.
typedef struct cj_cuda_desc {
    const char  *expression;  // of the arguments' names, converted to the result's type as C does: "a > b ? a : b"
    const char  *function;    // or the name of a __device__ function in `source`; one of the two is given
    const char  *source;      // CUDA C++: what the expression or the function needs; NULL for nothing
    const char  *name;        // what messages call the expression, or else the source, as a file's name; NULL: "<expression>"
                              // or "<source>"
    cj_signature signature;   // int, unsigned, long long, unsigned long long stand for the integer types
    const char  *arch;        // the oldest target that it shall run on, "sm_90"; NULL: the oldest that NVRTC has
    const char *const *options;  // further options of NVRTC, such as "-I/my/headers" or "--use_fast_math"
    uint32_t     option_count;
} cj_cuda_desc;

// Compiles. *function is owned by the caller (cj_user_function_destroy) and may outlive everything else. Thread-safe:
// NVRTC compiles in several threads at once. COMPILER with NVRTC's words, the first error first, in lines and columns
// of `expression` and `source`; with the rule user-function where `source` has no such function of the signature that
// is wanted: the message has it and what was found. UNSUPPORTED without NVRTC or for a target that it does not have,
// INVALID_ARGUMENT, OUT_OF_MEMORY. In an expression INFINITY, NAN and the limits of C's types (INT_MAX, FLT_MAX, …) are
// defined.
CJ_API cj_status cj_function_from_cuda(const cj_cuda_desc *desc, cj_user_function **function, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif
