// SPDX-License-Identifier: Apache-2.0
// Holds IR against the instruction table: versions, targets, operand types.
#ifndef CJ_PTXGEN_CHECK_H
#define CJ_PTXGEN_CHECK_H

#include "ir.h"

// A target by name ("sm_90a"): its number, suffix and least .version; false when unknown.
typedef struct cj_target_info {
    const char *text;
    uint16_t    number;
    char        suffix;
    uint16_t    ptx;
} cj_target_info;

const cj_target_info *cj__target_find(const char *text);

// The least .version that everything in the module needs, its target included.
uint16_t cj__least_version(const cj_ir_module *module);

// The first broken rule as an error (INVALID_KERNEL with rule, line, column), or OK.
cj_status cj__check(const cj_ir_module *module, cj_error *error);

#endif
