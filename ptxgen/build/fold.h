// SPDX-License-Identifier: Apache-2.0
// Lines that a parameter makes empty of meaning, or simpler: an addition of 0, a division by 1 or by 32.
#ifndef CJ_PTXGEN_FOLD_H
#define CJ_PTXGEN_FOLD_H

#include <stdbool.h>

#include "text.h"

// `line` is `format` with its operands put in. True where a number that came as one makes the arithmetic idle: the line
// then says the same without it, and is empty where nothing is left to do. What `format` itself says stays as it is.
bool cj__fold(const char *format, cj_text *line);

#endif
