// SPDX-License-Identifier: Apache-2.0
// IR to text, in the layout that people read: parsing what was printed and printing it again gives the same text.
#ifndef CJ_PTXGEN_PRINT_H
#define CJ_PTXGEN_PRINT_H

#include "ir.h"
#include "text.h"

void cj__ir_print(const cj_ir_module *module, cj_text *text);

// One item of a module; one statement in that many braces, which it may open or close.
void cj__print_item(const cj_ir_module *module, const cj_ir_item *item, cj_text *text);
void cj__print_stmt(cj_text *text, const cj_ir_stmt *stmt, size_t *depth);
void cj__print_operand(cj_text *text, const cj_ir_operand *operand);

#endif
