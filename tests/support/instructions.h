// SPDX-License-Identifier: Apache-2.0
// What a PTX text does, without how it is written: its directives, variables and instructions, in which comments, blank
// lines and the order of declarations are left out, and registers (more exactly, their webs: webs.h) and labels have numbers
// in the order of their first use. Two texts with the same instructions are the same to ptxas but for names.
#ifndef CJ_TESTS_INSTRUCTIONS_H
#define CJ_TESTS_INSTRUCTIONS_H

#include <stdint.h>
#include <stdio.h>

// Writes them, a line each. Fails the test where the text does not parse.
void cj_test_instructions(const char *ptx, FILE *out);

// A digest (XXH3, 64 bits) of what cj_test_instructions writes.
uint64_t cj_test_instructions_digest(const char *ptx);

#endif
