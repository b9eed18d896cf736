// SPDX-License-Identifier: Apache-2.0
// What the tests share: cmocka with the headers that it needs before it, repeatable random numbers, visible skips, and
// tools. Helpers that skip end the process: call them at the start of main, or in a group's setup.
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

// The next number of a sequence that starts at *state, which is any number (splitmix64).
uint64_t cj_test_random(uint64_t *state);

// CJ_FEW=1 in the environment: a sanitizer makes the test slow, so it runs only a few of its cases.
bool cj_test_few(void);

// Whether to run the case with that number: always, but with CJ_FEW one case in `in`. The seed chooses it, so that each
// case runs for some seed; the table should have `in` cases or more.
bool cj_test_chosen(size_t number, size_t in);

// CJ_PART=K/N in the environment, K from 0: N processes divide the cases of a long test, and this one runs those whose
// number is K modulo N. Without CJ_PART it runs all.
bool cj_test_mine(size_t number);

// Prints the reason and ends the process with code 77, which ctest shows as skipped.
_Noreturn void cj_test_skip(const char *format, ...) CJ_PRINTF(1, 2);

// Fails the running test with the error's message and hint unless the status is OK.
#define cj_test_ok(status, error) cj__test_ok(status, error, __FILE__, __LINE__)
void cj__test_ok(cj_status status, const cj_error *error, const char *file, int line);

// Opens a GPU, owned by the caller. Without one the process ends as skipped or, if CJ_REQUIRE_GPU=1, as failed. A
// driver that exists but fails is a failure.
cj_device *cj_test_gpu(void);

// The device of a group of tests, and the group's setups: the CPU device; the CPU device with hazards on; a GPU, as in
// cj_test_gpu. And its teardown.
extern cj_device *cj_test_device;
int cj_test_open_cpu(void **state);
int cj_test_open_watched(void **state);
int cj_test_open_gpu(void **state);
int cj_test_close(void **state);

// From now on hazards are on, and the CPU device schedules warps by this seed; 0: by the fixed schedule.
void cj_test_watch(uint64_t seed);

// The path of ptxas: $CJ_PTXAS, else from PATH, else in /usr/local/cuda/bin; if there is none the process ends as
// skipped.
const char *cj_test_ptxas(void);

// Assembles PTX text for a target ("sm_90a"); false if ptxas refuses, warns or spills registers, with its messages in
// `log`.
bool cj_test_assemble(const char *ptx, const char *arch, char *log, size_t size);

// The same, but accepts spills: `bytes` gets the most that a function spills.
bool cj_test_assemble_spills(const char *ptx, const char *arch, unsigned long *bytes, char *log, size_t size);

// As cj_test_assemble, but only asks whether ptxas accepts it: without optimization, which takes most of the time of large texts.
bool cj_test_accepts(const char *ptx, const char *arch, char *log, size_t size);

// The same as cj_test_assemble, but accepts warnings.
bool cj_test_takes(const char *ptx, const char *arch, char *log, size_t size);

// ptxas' verdict on the form alone: without optimization; warnings are ignored; for an arch such as "compute_90a" the
// text is only parsed. CRASHES: ptxas ended without a verdict.
typedef enum cj_test_verdict { CJ_TEST_TAKES, CJ_TEST_REFUSES, CJ_TEST_CRASHES } cj_test_verdict;
cj_test_verdict cj_test_judge(const char *ptx, const char *arch, char *log, size_t size);

// Reads a whole file, NUL-terminated, to be freed by the caller. NULL if it cannot be read.
char *cj_test_read(const char *path);

#endif
