// SPDX-License-Identifier: Apache-2.0
// How asynchronous reductions combine elements (PTX ISA, "red.async", "cp.reduce.async.bulk").
#ifndef CJ_CPU_COMBINE_H
#define CJ_CPU_COMBINE_H

#include "async.h"

// The function for an operation and a type, both words of a mnemonic; NULL if PTX has none. FTZ is a sum that flushes
// subnormals.
cj_cpu_combine cj__cpu_combine_of(cj_word operation, cj_word type);
// The same for an operation named in a mnemonic.
cj_cpu_combine cj__cpu_combine_in(const cj_mnemonic *mnemonic, cj_word type);
// A sum of f64 in global memory: of two NaNs the result is the added one; signalling NaNs stay signalling (measured on
// an H200).
double cj__cpu_global_sum(double old, double b);

// Replaces an element of `type`, which has the bits of `word`, by the expression of its value `old`, in one atomic step also for
// other host threads; `was` becomes the value before. The swap compares words, not floats, so it works for NaN too.
#define CJ_CPU_REPLACE(at, type, word, was, expression)                                                                \
    do {                                                                                                               \
        union {                                                                                                        \
            lane_##word bits;                                                                                          \
            lane_##type value;                                                                                         \
        } seen, next;                                                                                                  \
        lane_##word *cell = (lane_##word *)(void *)(at);                                                               \
        seen.bits = __atomic_load_n(cell, __ATOMIC_RELAXED);                                                           \
        do {                                                                                                           \
            const lane_##type old = seen.value;                                                                        \
            next.value = (lane_##type)(expression);                                                                    \
        } while (!__atomic_compare_exchange_n(cell, &seen.bits, next.bits, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
        (was) = seen.value;                                                                                            \
    } while (0)

#endif
