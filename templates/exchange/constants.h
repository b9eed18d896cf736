// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_TEMPLATES_EXCHANGE_CONSTANTS_H
#define CJ_TEMPLATES_EXCHANGE_CONSTANTS_H

enum {
#define EXCHANGE_CONSTANT(name, value, unit, gpu, date, command) name = (value),
#include "constants.def"
#undef EXCHANGE_CONSTANT
};

#endif
