// SPDX-License-Identifier: Apache-2.0
// Whether each synchronizing instruction of a kernel is needed, and its absence seen: the kernel without it, or with it
// weakened to relaxed, must be refused by the checker, be found to have a hazard or a deadlock, or give a wrong result,
// under some schedule of the CPU device. What is mutated, and into what, is a table in mutation.c.
#ifndef CJ_TESTS_MUTATION_H
#define CJ_TESTS_MUTATION_H

#include "test.h"

typedef struct cj_specimen cj_specimen;

struct cj_specimen {
    const char *words;  // what it was made of, for messages
    const char *ptx, *entry;
    size_t      bytes;  // of a result
    // Launches it on cj_test_device from a fresh state, and reads the result.
    cj_status (*run)(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error);
    // Whether the CPU device can miss this line's code, of `length` bytes; NULL: every line's.
    bool (*can_miss)(const cj_specimen *specimen, const char *line, size_t length);
    void *user;
};

// How many mutants give the kernel's own result under each of several schedules; each is named.
unsigned cj_mutants_surviving(const cj_specimen *specimen);

// Fails the test unless the kernel gives one result, and nothing is found, under its own schedule and `seeds` others.
void cj_schedules_agree(const cj_specimen *specimen, uint64_t seeds);

#endif
