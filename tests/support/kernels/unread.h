// SPDX-License-Identifier: Apache-2.0
// Instructions of a function that compute what nobody reads: a kernel is as well without them.
#ifndef CJ_TESTS_UNREAD_H
#define CJ_TESTS_UNREAD_H

#include "ir.h"

// Marks the statements that are instructions which only compute, and none of whose results another instruction reads. Of the
// results of a vector or of d|p one that is read is enough: the others must be named. Returns how many.
unsigned cj_test_unread(const cj_ir_func *func, bool *unread);

#endif
