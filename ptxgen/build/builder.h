// SPDX-License-Identifier: Apache-2.0
// What stands on the builder and is part of the library says through this what is wrong with what it was asked for.
#ifndef CJ_BUILDER_H
#define CJ_BUILDER_H

#include <clusterjit/ptx.h>
#include <stdbool.h>

// The number of the module's target: 90 for sm_90a. 0: it is unknown, which finish says.
unsigned cj__func_target(const cj_func *f);

// Makes it the builder's error, unless there is one already.
void cj__func_refuse(cj_func *f, const char *rule, const char *format, ...) CJ_PRINTF(3, 4);

// Whether a handle is a register of this function; one that is unset, cj_none() or cj_always() becomes the builder's error,
// after the words that name the operand.
bool cj__func_has(cj_func *f, cj_reg reg, const char *format, ...) CJ_PRINTF(3, 4);

// Whether a pointer that a call takes is there; NULL becomes the builder's error, in words that name it. Without a kernel
// nothing is written either way.
bool cj__func_needs(cj_func *f, const char *call, const char *name, const void *pointer);
#define NEEDS(f, pointer) cj__func_needs(f, __func__, #pointer, pointer)

#endif
