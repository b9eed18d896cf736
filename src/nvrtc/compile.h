// SPDX-License-Identifier: Apache-2.0
// CUDA C to PTX.
#ifndef CJ_NVRTC_COMPILE_H
#define CJ_NVRTC_COMPILE_H

#include <clusterjit/base.h>
#include <stdbool.h>

#include "library.h"

enum { CJ_CUDA_OPTIONS_MAX = 32 };

// A program. A #line directive in its text makes messages name another file.
typedef struct cj_cuda_program {
    const char        *text;
    const char        *what;    // the name of the text in messages: "the expression 'x*x'"
    const char        *arch;    // "sm_90"
    const char *const *options;
    uint32_t           option_count;
    const char        *file;  // what the compiler calls the text; NULL: "<clusterjit>"
    bool is_module;  // kernels, with the lines of their source (-lineinfo); else a part of one: device functions
                     // are kept though nothing calls them
    const char *const
            *names;       // of a module: name expressions, each of which becomes a comment at the head of the PTX that
    uint32_t name_count;  // says its entry (entry_name.h)
} cj_cuda_program;

// The directories of the toolkit's headers, as options: "-I/usr/local/cuda/include".
enum { CJ_CUDA_INCLUDES = 6 };
typedef struct cj_cuda_includes {
    char     option[CJ_CUDA_INCLUDES][1024];
    uint32_t count;
} cj_cuda_includes;

void cj__cuda_includes(const cj_nvrtc *nvrtc, cj_cuda_includes *includes);

// Compiles to PTX: NUL-terminated, malloc'ed. COMPILER with the log, from its first error on; UNSUPPORTED for a target
// that this NVRTC does not have, INVALID_ARGUMENT for too many options, OUT_OF_MEMORY.
cj_status cj__cuda_compile(const cj_nvrtc *nvrtc, const cj_cuda_program *program, char **ptx, cj_error *error);

// The oldest target that this NVRTC has, as "sm_75".
cj_status cj__cuda_oldest(const cj_nvrtc *nvrtc, char arch[16], cj_error *error);

// "long long" for I64; NULL for f16 and bf16, which CUDA C has only in a header.
const char *cj__cuda_type(cj_dtype type);

// Finds CUDA's headers ("…/include") beneath CUDA_HOME, CUDA_PATH or /usr/local/cuda. False if there are none.
bool cj__cuda_include(char *path, size_t size);

#endif
