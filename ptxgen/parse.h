// SPDX-License-Identifier: Apache-2.0
// Text to IR.
#ifndef CJ_PTXGEN_PARSE_H
#define CJ_PTXGEN_PARSE_H

#include "ir.h"
#include "report.h"

// Parses a whole PTX file of any bytes, with or without a NUL at its end. *module is owned by the caller (cj__ir_free).
// Where the text breaks a rule it is NULL, and the error has line, column, what was expected and what was found.
// INVALID_KERNEL, OUT_OF_MEMORY.
cj_status cj__ir_parse(const char *text, size_t length, cj_ir_module **module, cj_error *error);

// The same, but goes on behind an error and adds every finding to the report, one a broken statement. OK whether or not
// rules are broken: *module then lacks the broken statements and says so (`broken`, in it and in its functions); its
// version is 0, its target "" where the file gives none. OUT_OF_MEMORY: *module is NULL.
cj_status cj__ir_parse_report(const char *text, size_t length, cj_ir_module **module, cj_report *report);

#endif
