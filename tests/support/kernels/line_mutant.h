// SPDX-License-Identifier: Apache-2.0
// Lines of PTX that are nearly right: a line with scaffold.h's names in which a word, an operand, a register, a number
// or the guard was changed at random.
#ifndef CJ_TESTS_LINE_MUTANT_H
#define CJ_TESTS_LINE_MUTANT_H

#include <stddef.h>
#include <stdint.h>

enum { CJ_MUTANT_MAX = 2048 };

// Writes one mutant of the line: mostly one change, sometimes two or three. Draws from *random (cj_test_random).
void cj_test_mutate(const char *line, uint64_t *random, char *mutant, size_t size);

#endif
