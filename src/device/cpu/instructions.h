// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_CPU_INSTRUCTIONS_H
#define CJ_CPU_INSTRUCTIONS_H

#include "prepare.h"

extern const cj_cpu_instructions cj__cpu_instructions;

#endif
