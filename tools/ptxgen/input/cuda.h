// SPDX-License-Identifier: Apache-2.0
// CUDA C++ where a command takes PTX: the options of the compiler, and a document that is read through it.
#ifndef PTXGEN_CUDA_H
#define PTXGEN_CUDA_H

#include <clusterjit/device.h>
#include <stdbool.h>

#include "args.h"
#include "document.h"

enum { CUDA_LIST_MAX = 32, CUDA_TARGET = 16 };

typedef struct cuda_options {
    const char *language;               // "cu" or "ptx"; NULL: as the file's name ends
    const char *arch;                   // to compile for; NULL: not given
    char       *option[CUDA_LIST_MAX];  // of NVRTC, owned
    const char *name[CUDA_LIST_MAX];    // name expressions
    unsigned    option_count, name_count;
} cuda_options;

enum { CUDA_ARCH = 0x280, CUDA_STD, CUDA_NAME, CUDA_OPTION };

// Of commands whose --arch means nothing else.
#define CUDA_ARCH_OPTION                                                       \
    {                                                                          \
        .name = "arch", .key = CUDA_ARCH, .group = ARGS_CUDA, .arg = "TARGET", \
        .doc = "Compile for this target (default: the GPU's, else sm_90a)"     \
    }

#define CUDA_OPTIONS                                                                                                     \
    {.name = "language",                                                                                                 \
     .key = 'x', .group = ARGS_CUDA,                                                                                     \
     .arg = "cu|ptx",                                                                                                    \
     .doc = "What the file holds: CUDA C++, which NVRTC compiles, or PTX (default: cu if its name ends in .cu)"},        \
        {.name = "include", .key = 'I', .group = ARGS_CUDA, .arg = "DIR", .doc = "Look for included files in DIR, too"}, \
        {.name = "define", .key = 'D', .group = ARGS_CUDA, .arg = "NAME[=VALUE]", .doc = "Define a macro"},              \
        {.name = "std", .key = CUDA_STD, .group = ARGS_CUDA, .arg = "c++17|c++20|...", .doc = "The language's version"}, \
        {.name = "name-expression",                                                                                      \
         .key = CUDA_NAME, .group = ARGS_CUDA,                                                                           \
         .arg = "NAME",                                                                                                  \
         .doc = "An instance of a template that shall be there, 'kernel<float, 4>'; --entry takes it, too"},             \
    {                                                                                                                    \
        .name = "nvrtc-option", .key = CUDA_OPTION, .group = ARGS_CUDA, .arg = "OPTION",                                 \
        .doc = "Another option of NVRTC, such as --use_fast_math"                                                        \
    }

// Takes one of these options; true when `key` is one. Exits with a message on a value that makes no sense.
bool cuda_set(cuda_options *o, int key, char *value);
void cuda_free(cuda_options *o);

// Whether what stands at `path` is CUDA C++.
bool cuda_is(const cuda_options *o, const char *path);

// The target to compile for on a device with these limits.
const char *cuda_target(const cj_limits *limits, char target[CUDA_TARGET]);

// document_read; of CUDA C++ the document becomes the PTX that it compiles to, for `arch`, with its source as its origin.
// Returns an exit code.
int cuda_read(document *d, const char *path, const cuda_options *o, const char *arch);

#endif
