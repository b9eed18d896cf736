// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_TEMPLATES_ROW_CONSTANTS_H
#define CJ_TEMPLATES_ROW_CONSTANTS_H

enum {
#define ROW_CONSTANT(name, value, unit, gpu, date, command) name = (value),
#include "constants.def"
#undef ROW_CONSTANT
};

#endif
