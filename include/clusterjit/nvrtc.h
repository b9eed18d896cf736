// SPDX-License-Identifier: Apache-2.0
// CUDA C at run time, compiled by NVRTC: a function or an expression that becomes part of a generated kernel, and modules of
// kernels.
//
//     cj_user_function *square;
//     cj_cuda_desc      desc = {CJ_INIT(desc), .expression = "x * x", .signature = {CJ_F32, 1, {CJ_F32}, {"x"}}};
//     if (cj_function_from_cuda(&desc, &square, &error)) …
//     cj_reduce_desc sum_of_squares = {CJ_INIT(sum_of_squares), .n = n, .map = square};
//
// NVRTC is no part of the library and is not linked: libnvrtc.so of CUDA 12 or later is opened when a function is
// compiled, from CLUSTERJIT_NVRTC (a path) if that is set, else as libnvrtc.so.13, .so.12 and .so where the system
// finds libraries, then beneath CUDA_HOME, CUDA_PATH and /usr/local/cuda, then in pip's wheels (nvidia-cuda-nvrtc) beneath
// VIRTUAL_ENV, the prefix of PATH's python3, ~/.local and /usr/local. Where there is none the call is refused
// (UNSUPPORTED) and says what was looked for. CUDA's own headers (cooperative_groups.h, cuda/ptx, cub/cub.cuh) are found beside
// that library, else beneath CUDA_HOME, CUDA_PATH and /usr/local/cuda.
//
// The source is trusted code. It runs on the device with the rights of the process, and NVRTC follows #include to any
// file that this user can read: do not compile what others sent you.
//
// Compiled functions are kept in the disk cache (clusterjit/cache.h), under their whole source, its options and NVRTC's
// version; functions that include files are not kept, since what those hold may change. Modules are kept with what they include:
// the content of the user's headers, and the place and time of CUDA's, are part of the key.
#ifndef CLUSTERJIT_NVRTC_H
#define CLUSTERJIT_NVRTC_H

#include <clusterjit/device.h>
#include <clusterjit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

// The NVRTC that is used: its version, and the path of the library. UNSUPPORTED where there is none, FILE where the path does not
// fit `size` bytes.
CJ_API cj_status cj_nvrtc_find(int *major, int *minor, char *path, size_t size, cj_error *error);

// What to compile. Begin with CJ_INIT. Text is only read during the call.
typedef struct cj_cuda_desc {
    CJ_STRUCT_SIZE(cj_cuda_desc);
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

// Kernels in CUDA C++. Begin with CJ_INIT. Text is only read during the call.
//
//     static const char *const names[] = {"scale<float, 4>"};
//     cj_cuda_source source = {CJ_INIT(source), .text = text, .name = "scale.cu", .names = names, .name_count = 1};
//     cj_module     *module;
//     cj_function   *scale;
//     if (cj_module_from_cuda(device, &source, &module, &error) ||
//         cj_module_function(module, "scale<float, 4>", &scale, &error)) …
typedef struct cj_cuda_source {
    CJ_STRUCT_SIZE(cj_cuda_source);
    const char        *text;
    const char        *name;     // the file's, in messages and in the lines of the source; NULL: "<source>"
    const char *const *names;    // name expressions: instances of templates that shall be there
    uint32_t           name_count;
    const char        *arch;     // "sm_90a"; NULL: the device's, of cj_ptx_from_cuda the oldest that NVRTC has
    const char *const *options;  // further options of NVRTC: "-I/my/headers", "-DN=4", "--std=c++20"
    uint32_t           option_count;
} cj_cuda_source;

// Compiles to a module with all its __global__ functions; cj_module_unload takes it back. COMPILER with NVRTC's words;
// UNSUPPORTED without NVRTC or for a target that it does not have; INVALID_ARGUMENT; OUT_OF_MEMORY; and as
// cj_module_from_ptx. cj_module_function finds an entry by its name expression, by its C++ name ("ns::kernel") where that is one
// entry's alone, and by its lowered name. What the CPU device finds is named by lines of the source.
CJ_API cj_status cj_module_from_cuda(cj_device *device, const cj_cuda_source *source, cj_module **module,
                                     cj_error *error);

// The PTX that it is made of, with the lines of the source (-lineinfo) and, at its head, a comment for each name expression,
// "// cuda-name: LOWERED = EXPRESSION", by which the loader of the text finds the entry. NUL-terminated, owned by the caller
// (cj_text_free); `length` may be NULL.
CJ_API cj_status cj_ptx_from_cuda(const cj_cuda_source *source, char **ptx, size_t *length, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif
