// SPDX-License-Identifier: Apache-2.0
// Kernels in which every thread computes a known number: they run on any device.
#ifndef CJ_TESTS_PROGRAMS_H
#define CJ_TESTS_PROGRAMS_H

#include <clusterjit/device.h>
#include <stddef.h>
#include <stdint.h>

// entry `kernel(.param .u64 out)`, one block; thread i writes 8 bytes at out + 8 i.
typedef struct cj_program {
    const char *name, *ptx;
    unsigned    threads;
    uint64_t (*expected)(unsigned thread);
} cj_program;

typedef struct cj_programs {
    const cj_program *program;
    size_t            count;
} cj_programs;

extern const cj_programs cj_stack_programs;

// Runs them; names each that fails, and returns how many.
unsigned cj_programs_run(const cj_programs *programs, cj_device *device);

#endif
