// SPDX-License-Identifier: Apache-2.0
// Text to IR.
#ifndef CJ_PTXGEN_PARSE_H
#define CJ_PTXGEN_PARSE_H

#include "ir.h"

// Parses a whole PTX file (any bytes survive; NUL bytes are refused). *module is owned by the caller (cj__ir_free), also when
// the text breaks a rule: then it is NULL and the error has line, column, what was expected and what was found.
// INVALID_KERNEL, OUT_OF_MEMORY.
cj_status cj__ir_parse(const char *text, size_t length, cj_ir_module **module, cj_error *error);

#endif
