// SPDX-License-Identifier: Apache-2.0
// The webs of a function's registers: a web is a write, all reads that it reaches, and all writes that reach one of these
// reads, too. A register that is used for one thing after the other has several webs, as several registers would; so
// whether a kernel's writer takes a register again or a new one makes no difference, as it makes none to ptxas.
#ifndef CJ_TESTS_WEBS_H
#define CJ_TESTS_WEBS_H

#include "arena.h"
#include "ir.h"

typedef struct cj_webs cj_webs;

// Lives in the arena. Fails the test where memory runs out.
cj_webs *cj_test_webs(const cj_ir_func *func, cj_arena *arena);

// Walks the statements in their order: enters each, which says what its registers are.
void cj_test_webs_enter(cj_webs *webs, size_t stmt);

// The web of a register that the entered statement reads, or writes: a number below cj_test_webs_count.
uint32_t cj_test_web(cj_webs *webs, const cj_ir_reg *reg, bool written);
size_t   cj_test_webs_count(const cj_webs *webs);

#endif
