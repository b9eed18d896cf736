// SPDX-License-Identifier: Apache-2.0
// From lines of PTX to lines of the source that a compiler made it of (.loc, .file).
#ifndef CJ_PTXGEN_SOURCE_H
#define CJ_PTXGEN_SOURCE_H

#include <clusterjit/check.h>

#include "ir.h"

// The .loc that holds at a line of the text, or NULL. One that names no line (LLVM's line 0) leaves the one before it.
const cj_ir_loc *cj__ir_loc_at(const cj_ir_module *module, uint32_t line);

// What .file says of that number, or NULL.
const char *cj__ir_file(const cj_ir_module *module, uint32_t number);

// The place of the source of a line of the text, with where it was inlined, in the arena. NULL: the text names none.
const cj_source *cj__ir_source(cj_ir_module *module, uint32_t line, cj_arena *arena);

#endif
