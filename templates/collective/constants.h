// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_TEMPLATES_COLLECTIVE_CONSTANTS_H
#define CJ_TEMPLATES_COLLECTIVE_CONSTANTS_H

enum {
#define COLLECTIVE_CONSTANT(name, value, unit, gpu, date, command) name = (value),
#include "constants.def"
#undef COLLECTIVE_CONSTANT
};

#endif
