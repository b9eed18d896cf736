// SPDX-License-Identifier: Apache-2.0
// The checker's parts. Each adds what it finds to the report, and reads nothing but the IR.
#ifndef CJ_PTXGEN_CHECKS_H
#define CJ_PTXGEN_CHECKS_H

#include "ir.h"
#include "report.h"

// Operand types, widths and vector lengths of one instruction (check_types.c).
void cj__check_types(const cj_ir_stmt *stmt, cj_report *report);

// The directives of an entry against each other and against what its body does (check_directives.c).
void cj__check_directives(const cj_ir_func *func, cj_report *report);

#endif
