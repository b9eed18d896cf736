// SPDX-License-Identifier: Apache-2.0
// NVRTC as a table of functions, found at run time. Its C interface has been the same since CUDA 8, so it is declared
// here instead of included from the toolkit: builds without a toolkit have user functions, too. A test compares the
// declarations with the toolkit's.
#ifndef CJ_NVRTC_LIBRARY_H
#define CJ_NVRTC_LIBRARY_H

#include <clusterjit/base.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct _nvrtcProgram *cj_nvrtc_program;

// Every function in use: its name without nvrtc, result, arguments.
#define CJ_NVRTC_LIST(X)                                                                                               \
    X(Version, int, (int *major, int *minor))                                                                          \
    X(GetErrorString, const char *, (int result))                                                                      \
    X(GetNumSupportedArchs, int, (int *count))                                                                         \
    X(GetSupportedArchs, int, (int *archs))                                                                            \
    X(CreateProgram, int,                                                                                              \
      (cj_nvrtc_program * program, const char *source, const char *name, int header_count, const char *const *headers, \
       const char *const *header_names))                                                                               \
    X(DestroyProgram, int, (cj_nvrtc_program * program))                                                               \
    X(AddNameExpression, int, (cj_nvrtc_program program, const char *name))                                            \
    X(GetLoweredName, int, (cj_nvrtc_program program, const char *name, const char **lowered))                         \
    X(CompileProgram, int, (cj_nvrtc_program program, int option_count, const char *const *options))                   \
    X(GetProgramLogSize, int, (cj_nvrtc_program program, size_t * bytes))                                              \
    X(GetProgramLog, int, (cj_nvrtc_program program, char *log))                                                       \
    X(GetPTXSize, int, (cj_nvrtc_program program, size_t * bytes))                                                     \
    X(GetPTX, int, (cj_nvrtc_program program, char *ptx))

typedef struct cj_nvrtc {
#define CJ_X(name, result, arguments) result(*name) arguments;
    CJ_NVRTC_LIST(CJ_X)
#undef CJ_X
} cj_nvrtc;

// nvrtcResult, as far as it matters here.
enum { CJ_NVRTC_SUCCESS = 0, CJ_NVRTC_OUT_OF_MEMORY = 1, CJ_NVRTC_INVALID_OPTION = 5, CJ_NVRTC_COMPILATION = 6 };

// Finds the library and fills the table. The library stays loaded. UNSUPPORTED lists the names that were tried.
cj_status cj__nvrtc_open(cj_nvrtc *nvrtc, cj_error *error);

// The path of the library that the table is of, and its directory; false where that cannot be told, or does not fit.
bool cj__nvrtc_path(const cj_nvrtc *nvrtc, char *path, size_t size);
bool cj__nvrtc_directory(const cj_nvrtc *nvrtc, char *path, size_t size);

#endif
