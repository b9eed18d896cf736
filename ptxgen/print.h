// SPDX-License-Identifier: Apache-2.0
// IR to text, in the layout that people read: parsing what was printed and printing it again gives the same text.
#ifndef CJ_PTXGEN_PRINT_H
#define CJ_PTXGEN_PRINT_H

#include "ir.h"
#include "text.h"

void cj__ir_print(const cj_ir_module *module, cj_text *text);

#endif
