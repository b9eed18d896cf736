// SPDX-License-Identifier: Apache-2.0
// Names of a module's entries and of its variables: their own, and those that the source has for them.
#ifndef CJ_PTXGEN_ENTRY_NAME_H
#define CJ_PTXGEN_ENTRY_NAME_H

#include "ir.h"
#include "text.h"

// The i-th entry of the module, in the order of the text, or NULL.
const cj_ir_func *cj__ir_entry_at(const cj_ir_module *module, size_t index);

// The entry of that name: its own; a C++ name expression that a comment at the head gives (blanks do not matter); the name that
// its own was lowered from, "ns::kernel", if that is one entry's alone. INVALID_ARGUMENT names the entries there are.
cj_status cj__ir_entry_named(const cj_ir_module *module, const char *name, const cj_ir_func **entry, cj_error *error);

// The same of the module's variables in global and constant memory, those of its functions' bodies excluded.
const cj_ir_var *cj__ir_global_at(const cj_ir_module *module, size_t index);
cj_status cj__ir_global_named(const cj_ir_module *module, const char *name, const cj_ir_var **global, cj_error *error);

// The only entry of the module. INVALID_ARGUMENT: there is none, or there are several.
cj_status cj__ir_entry_only(const cj_ir_module *module, const cj_ir_func **entry, cj_error *error);

// Adds such a comment: "// cuda-name: _Z6kernelIfLi4EEvPf = kernel<float, 4>".
void cj__entry_name_put(cj_text *ptx, const char *lowered, const char *name);

#endif
