// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_TEMPLATES_HISTOGRAM_CONSTANTS_H
#define CJ_TEMPLATES_HISTOGRAM_CONSTANTS_H

enum {
#define HISTOGRAM_CONSTANT(name, value, unit, gpu, date, command) name = (value),
#include "constants.def"
#undef HISTOGRAM_CONSTANT
};

#endif
