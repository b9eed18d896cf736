// SPDX-License-Identifier: Apache-2.0
// The meaning of a PTX text, independent of how it is written: its directives, variables and instructions, without
// comments, blank lines and the order of declarations; registers (more exactly, their webs: webs.h) and labels have
// numbers in the order of their first use. To ptxas two texts with the same instructions differ only in names.
#ifndef CJ_TESTS_INSTRUCTIONS_H
#define CJ_TESTS_INSTRUCTIONS_H

#include <stdint.h>
#include <stdio.h>

// Writes them, one line each. Fails the test if the text does not parse.
void cj_test_instructions(const char *ptx, FILE *out);

// A digest (XXH3, 64 bits) of what cj_test_instructions writes.
uint64_t cj_test_instructions_digest(const char *ptx);

#endif
