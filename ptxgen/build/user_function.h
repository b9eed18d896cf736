// SPDX-License-Identifier: Apache-2.0
// A user's function as text that the builder can put into a kernel.
//
// The body is written in braces at every call: ptxas does not inline a .func, and PTX scopes keep the body's registers
// and labels to themselves. What the body uses beside it (constants, helpers) is written once, before the kernel. Both
// are texts in the builder's own manner: $1 is the prefix of module-level names, $2 the result, $3 and up the
// arguments.
#ifndef CJ_PTXGEN_USER_FUNCTION_H
#define CJ_PTXGEN_USER_FUNCTION_H

#include <clusterjit/ptx.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "arena.h"
#include "check.h"

enum { CJ_USER_PREFIX = 1, CJ_USER_RESULT = 2, CJ_USER_ARGUMENT = 3 };

struct cj_user_function {
    cj_arena              arena;
    atomic_uint           shares;
    const char           *text;       // for comments: one line
    const cj_target_info *target;     // the oldest that it can be put into
    cj_dtype              result, argument[CJ_FUNCTION_ARGUMENTS];
    uint32_t              count;
    const char           *items;      // or ""
    const char           *body;
    bool                  reads_late; // an argument may be read after the result is written
    bool                  is_constant;
    uint64_t              constant;   // bits of the result
};

// The same as cj_function_from_ptx; `text` is what to call it in comments, NULL for its name.
cj_status cj__user_function_make(const char *ptx, size_t length, const char *name, const cj_signature *signature,
                                 const char *text, cj_user_function **function, cj_error *error);

// One share more, and one less: the last one frees it. NULL is allowed.
const cj_user_function *cj__user_function_share(const cj_user_function *function);
void                    cj__user_function_drop(const cj_user_function *function);

// Whether it takes `count` values of a type to one of that type. INVALID_ARGUMENT with the rule user-function names
// `parameter`, the signature wanted and the one found.
cj_status cj__user_function_check(const cj_user_function *function, const char *parameter, cj_dtype type,
                                  uint32_t count, cj_error *error);

// "s32" for I32, and for I8: the type of the registers that it is computed in.
const char *cj__dtype_ptx(cj_dtype type);

// Refuses a signature that cannot be: INVALID_ARGUMENT.
cj_status cj__signature_check(const cj_signature *signature, cj_error *error);

#endif
