// SPDX-License-Identifier: Apache-2.0
// The expected result of an exchange: which element of the group each element of a block's result is
// (clusterjit/exchange.h).
#ifndef CJ_MODELS_EXCHANGE_MODEL_H
#define CJ_MODELS_EXCHANGE_MODEL_H

#include <clusterjit/exchange.h>
#include <stddef.h>
#include <stdint.h>

// A group of `size` blocks with chunks of `n` elements each. `halo` is 0 except for the pattern halo.
typedef struct exchange_model {
    cj_exchange_pattern pattern;
    uint64_t            size, shift, rounds;
    size_t              n, halo;
} exchange_model;

// The index, in the group's chunks, of the element that becomes element i of block b's result.
size_t exchange_model_source(const exchange_model *m, uint64_t b, size_t i);

#endif
