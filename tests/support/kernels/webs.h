// SPDX-License-Identifier: Apache-2.0
// The webs of a function's registers: a web is a write, all reads that it reaches, and all writes that reach one of
// these reads, too. A register that is used for one purpose after the other has several webs, like several registers.
// So the webs are the same whether the author of a kernel uses a register again or a new one, which makes no difference
// to ptxas, either.
#ifndef CJ_TESTS_WEBS_H
#define CJ_TESTS_WEBS_H

#include "arena.h"
#include "ir.h"

typedef struct cj_webs cj_webs;

// Allocated in the arena. Fails the test if memory runs out.
cj_webs *cj_test_webs(const cj_ir_func *func, cj_arena *arena);

// To be called for the statements in their order: enters a statement, and computes the webs of its registers.
void cj_test_webs_enter(cj_webs *webs, size_t stmt);

// The web of a register that the entered statement reads, or writes: a number below cj_test_webs_count.
uint32_t cj_test_web(cj_webs *webs, const cj_ir_reg *reg, bool written);
size_t   cj_test_webs_count(const cj_webs *webs);

#endif
