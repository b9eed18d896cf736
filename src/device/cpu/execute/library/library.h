// SPDX-License-Identifier: Apache-2.0
// Functions without a body that CUDA's compilers call: those of its device runtime, such as vprintf and malloc. The driver
// gives a GPU their code; here the host executes them, one thread after another.
#ifndef CJ_CPU_LIBRARY_H
#define CJ_CPU_LIBRARY_H

#include "exec.h"

enum { CJ_LIBRARY_ARGUMENTS = 5 };

// A thread's call: its arguments, zero-extended; `result` is what the function returns.
typedef struct cj_library_call {
    cj_cpu_warp     *w;
    const cj_cpu_op *op;
    unsigned         lane;
    uint64_t         argument[CJ_LIBRARY_ARGUMENTS], result;
} cj_library_call;

typedef struct cj_library_function {
    const char *name;
    bool (*run)(cj_library_call *call);              // false: a hazard was reported
    uint8_t result, argument[CJ_LIBRARY_ARGUMENTS];  // bytes; 0: none
    bool    prints, allocates;
} cj_library_function;

// The function that a declaration without a body stands for. NULL: none, and the call is refused with the reason.
const cj_library_function *cj__library_function(cj_cpu_prepare *p, const cj_ir_func *func);

// ---- the functions

bool cj__library_vprintf(cj_library_call *call);
bool cj__library_malloc(cj_library_call *call);
bool cj__library_aligned_malloc(cj_library_call *call);
bool cj__library_free(cj_library_call *call);
bool cj__library_assertfail(cj_library_call *call);

// ---- memory of the calling thread (memory.c); false: a hazard was reported

// Reads bytes at a generic address.
bool cj__library_read(cj_library_call *call, uint64_t address, void *to, uint64_t bytes);
// Appends the string at a generic address, up to its NUL or to `most` bytes.
bool cj__library_string(cj_library_call *call, uint64_t address, uint64_t most, cj_text *text);

#endif
