// SPDX-License-Identifier: Apache-2.0
#ifndef CJ_TEMPLATES_STENCIL_CONSTANTS_H
#define CJ_TEMPLATES_STENCIL_CONSTANTS_H

enum {
#define STENCIL_CONSTANT(name, value, unit, gpu, date, command) name = (value),
#include "constants.def"
#undef STENCIL_CONSTANT
};

#endif
