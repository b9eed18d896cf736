// SPDX-License-Identifier: Apache-2.0
// From lines of PTX to lines of the source that a compiler made it of (.loc, .file).
#ifndef CJ_PTXGEN_SOURCE_H
#define CJ_PTXGEN_SOURCE_H

#include <clusterjit/check.h>

#include "ir.h"

// What .file says of that number, or NULL.
const char *cj__ir_file(const cj_ir_module *module, uint32_t number);

// The place of the source of a line of the text: of what a header of the CUDA toolkit inlined, the place that called it. Its line
// is 0 if the text names none.
cj_ir_place cj__ir_place_at(const cj_ir_module *module, uint32_t line);

// The same, with where it was inlined, in the arena. NULL: the text names none.
const cj_source *cj__ir_source(cj_ir_module *module, uint32_t line, cj_arena *arena);

#endif
