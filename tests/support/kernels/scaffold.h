// SPDX-License-Identifier: Apache-2.0
// Kernels around a few lines of PTX: the samples of the instruction table, and lines in tests, use their names.
//
//   %r0 to %r99  b32     %f0 …  f32     tile, space, table, stack  1 KiB: shared, global, constant, local
//   %l0 …        b64     %d0 …  f64     x                          a parameter of 256 bytes
//   %h0 …        b16     %p0 …  pred    result, argument           .param .b32, for calls of ext (of nothing: none)
//   %b0 …        b8      %q0 …  b128    done, targets              a label after the lines;  its .branchtargets
// proto, protov: the prototypes of ext and of nothing; protor: of a function with a result and no argument
#ifndef CJ_TESTS_SCAFFOLD_H
#define CJ_TESTS_SCAFFOLD_H

#include "ir.h"
#include "text.h"

// The file's head; `version` is 10 * major + minor.
void cj_test_head(cj_text *text, unsigned version, const char *target);

// An entry with the declarations above and `lines` as its body.
void cj_test_entry(cj_text *text, const char *name, const char *lines);

// Head and one entry "k", parsed; fails the test if parsing fails. Freed by the caller with cj__ir_free.
cj_ir_module *cj_test_module(unsigned version, const char *target, const char *lines);

// The same for a whole text.
cj_ir_module *cj_test_parsed(const char *text);

// The least target that has every instruction of the module, from sm_10 up; ignores the module's own .version.
unsigned cj_test_least_target(const cj_ir_module *module);

// The first instruction of the module's first entry.
const cj_ir_inst *cj_test_first_inst(const cj_ir_module *module);

#endif
