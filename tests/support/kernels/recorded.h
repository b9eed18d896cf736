// SPDX-License-Identifier: Apache-2.0
// The kernels of tests/golden/digests.txt. A line has the digest of a kernel's instructions (instructions.h) and the
// request for the kernel: "ARCH FAMILY NAME=VALUE...".
#ifndef CJ_TESTS_RECORDED_H
#define CJ_TESTS_RECORDED_H

#include <clusterjit/kernel.h>

typedef void cj_recorded_taker(const char *request, uint64_t digest, void *user);

// Calls `take` for every `every`-th line, starting with the first; returns how many. Fails the test if the file cannot
// be read.
unsigned cj_test_each_recorded(unsigned every, cj_recorded_taker *take, void *user);

// The kernel of a request as text, freed by the caller (cj_text_free). Fails the test if planning or emitting fails.
char *cj_test_emit_request(const char *request);

#endif
