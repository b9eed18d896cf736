// SPDX-License-Identifier: Apache-2.0
// What the tests share: cmocka with the headers it needs before it, random numbers that can be repeated, skips that can
// be seen, and the tools that a test may want. Helpers that skip end the process: call them at the start of main, or
// in a group's setup.
#ifndef CJ_TESTS_TEST_H
#define CJ_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <clusterjit/base.h>
#include <clusterjit/device.h>

#define CJ_TEST_COUNT(array) (sizeof(array) / sizeof *(array))

// The seed of this run, printed once: CJ_SEED from the environment, else from the clock.
uint64_t cj_test_seed(void);

// The next of a sequence that starts at *state, which is any number (splitmix64).
uint64_t cj_test_random(uint64_t *state);

// CJ_FEW=1 in the environment: a sanitizer slows the test down, which runs a few of its cases then.
bool cj_test_few(void);

// Whether to run the case of that number: always, but with CJ_FEW one case in `in`. The seed says which, so that every case runs
// for some seed; the table should have `in` cases or more.
bool cj_test_chosen(size_t number, size_t in);

// CJ_PART=K/N in the environment, K from 0: N processes share the cases of a test that takes long, and this one has those
// whose number is K modulo N. Without it, and of a test that does not ask, all.
bool cj_test_mine(size_t number);

// Prints why and ends the process with code 77, which ctest shows as skipped.
_Noreturn void cj_test_skip(const char *format, ...) CJ_PRINTF(1, 2);

// Fails the running test with the error's message and hint unless the status is OK.
#define cj_test_ok(status, error) cj__test_ok(status, error, __FILE__, __LINE__)
void cj__test_ok(cj_status status, const cj_error *error, const char *file, int line);

// A GPU, owned by the caller. Without one the process ends as skipped, or as failed where CJ_REQUIRE_GPU=1. A driver
// that is there but fails is a failure.
cj_device *cj_test_gpu(void);

// The device of a group of tests. Setups of the group: the CPU device; the same, which watches for hazards; a GPU, as cj_test_gpu
// has it. And its teardown.
extern cj_device *cj_test_device;
int cj_test_open_cpu(void **state);
int cj_test_open_watched(void **state);
int cj_test_open_gpu(void **state);
int cj_test_close(void **state);

// The CPU device watches from here on, and takes warps in the order of a seed; 0: in its own.
void cj_test_watch(uint64_t seed);

// The path of ptxas: $CJ_PTXAS, else from PATH, else /usr/local/cuda/bin; without one the process ends as skipped.
const char *cj_test_ptxas(void);

// Assembles PTX text for a target ("sm_90a"); false when ptxas refuses, warns or spills registers, with its words in `log`.
bool cj_test_assemble(const char *ptx, const char *arch, char *log, size_t size);

// The same, but asks only whether ptxas takes it: nothing is optimized, which takes most of the time of large texts.
bool cj_test_accepts(const char *ptx, const char *arch, char *log, size_t size);

// The same as cj_test_assemble, but a warning is no refusal.
bool cj_test_takes(const char *ptx, const char *arch, char *log, size_t size);

// What ptxas says of the form alone: nothing is optimized, warnings are not read, and for an arch such as "compute_90a" the text
// is only parsed. CRASHES: ptxas ended without a verdict.
typedef enum cj_test_verdict { CJ_TEST_TAKES, CJ_TEST_REFUSES, CJ_TEST_CRASHES } cj_test_verdict;
cj_test_verdict cj_test_judge(const char *ptx, const char *arch, char *log, size_t size);

// A whole file, NUL-terminated, to be freed by the caller. NULL when it cannot be read.
char *cj_test_read(const char *path);

#endif
