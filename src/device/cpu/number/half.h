// SPDX-License-Identifier: Apache-2.0
// Operations on halves that atomics need, too. Codes of f16, or of bf16 where `brain`.
#ifndef CJ_CPU_HALF_H
#define CJ_CPU_HALF_H

#include <stdbool.h>
#include <stdint.h>

// The NaN that a tensor copy leaves for a half outside of its tensor, where NaNs are asked for. fma.oob takes it for 0,
// whatever its sign (an H200's; no page says which it is).
enum { CJ_HALF_OUTSIDE = 0x7ff7 };

uint16_t cj__half_sum(uint16_t a, uint16_t b, bool brain);
uint16_t cj__half_smaller(uint16_t a, uint16_t b, bool brain);
uint16_t cj__half_larger(uint16_t a, uint16_t b, bool brain);

#endif
