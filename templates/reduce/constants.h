// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_TEMPLATES_REDUCE_CONSTANTS_H
#define CJ_TEMPLATES_REDUCE_CONSTANTS_H

enum {
#define REDUCE_CONSTANT(name, value, unit, gpu, date, command) name = (value),
#include "constants.def"
#undef REDUCE_CONSTANT
};

#endif
