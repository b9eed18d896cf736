// SPDX-License-Identifier: Apache-2.0
// Whether each synchronizing instruction of a kernel is needed, and a test notices its absence: without it, or with it
// weakened to relaxed, the kernel must be refused by the checker, have a hazard or a deadlock, or give a wrong result,
// under some schedule of the CPU device. A table in mutation.c lists the mutations.
//
// CJ_MUTANT_THREADS=N in the environment: each launch has N host threads, not one.
//
// CJ_COUNT_SEEDS=N in the environment: instead, prints for each mutant whether the fixed and the late schedule give a wrong
// result with hazards off, and the first of N seeds that does (0: none).
#ifndef CJ_TESTS_MUTATION_H
#define CJ_TESTS_MUTATION_H

#include "test.h"

typedef struct cj_specimen cj_specimen;

struct cj_specimen {
    const char *words;  // the request for the kernel, for messages
    const char *ptx, *entry;
    size_t      bytes;  // of a result
    // Launches it on cj_test_device from a fresh state, and reads the result.
    cj_status (*run)(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error);
    // Whether the CPU device can notice that this line's code, of `length` bytes, is missing; NULL: for every line.
    bool (*can_miss)(const cj_specimen *specimen, const char *line, size_t length);
    void *user;
};

// How many mutants give the kernel's own result under all of several schedules; prints each of them.
unsigned cj_mutants_surviving(const cj_specimen *specimen);

// Fails the test unless the kernel gives the same result, without a hazard, under the fixed schedule, the late one and those
// of `seeds` seeds.
void cj_schedules_agree(const cj_specimen *specimen, uint64_t seeds);

// The kernels of a test program, by their words: `open` makes one, which the specimen's `user` holds, and `close` frees it.
typedef struct cj_specimens {
    const char *const *words;
    size_t             count;
    size_t             share;  // with CJ_FEW one kernel in so many
    cj_specimen (*open)(const char *words);
    void (*close)(const cj_specimen *specimen);
} cj_specimens;

// The program's main, on the CPU device: no mutant of any of them survives, and the schedules of so many seeds agree on each.
int cj_mutation_main(const cj_specimens *all, uint64_t seeds);

#endif
