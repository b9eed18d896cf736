// SPDX-License-Identifier: Apache-2.0
// Whole numbers, as plans count.
#ifndef CJ_TEMPLATES_WHOLE_H
#define CJ_TEMPLATES_WHOLE_H

#include <stdint.h>

static inline uint64_t ceil_div(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
static inline uint64_t round_up(uint64_t a, uint64_t unit) { return ceil_div(a, unit) * unit; }
static inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

#endif
