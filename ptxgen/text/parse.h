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

// The same, but goes on after an error and adds every finding to the report, one a broken statement. OK whether or not
// rules are broken: *module then lacks the broken statements and says so (`broken`, in it and in its functions); its
// version is 0, its target "" where the file gives none. OUT_OF_MEMORY: *module is NULL.
cj_status cj__ir_parse_report(const char *text, size_t length, cj_ir_module **module, cj_report *report);

// The same, for a reader that needs each body once: `each` is called after every function that has a body, broken or not,
// with the module as far as it is read; then the body is dropped, and with it what its statements, registers and variables
// are made of. Comments, empty lines and .loc are not kept at all. The module keeps its head, names and heads of functions.
typedef void cj_ir_each(void *user, cj_ir_module *module, const cj_ir_func *func);
cj_status cj__ir_parse_each(const char *text, size_t length, cj_ir_module **module, cj_report *report, cj_ir_each *each,
                            void *user);

#endif
