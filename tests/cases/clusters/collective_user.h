// SPDX-License-Identifier: Apache-2.0
// A kernel written line by line, as a user would, with two collectives in a loop: a shift of arrays, and an allreduce of
// values with an operation of the user's own.
#ifndef CJ_TESTS_COLLECTIVE_USER_H
#define CJ_TESTS_COLLECTIVE_USER_H

#include <clusterjit/clusterjit.h>

void cj_test_collective_user(cj_device *device, cj_strategy strategy);

#endif
