// SPDX-License-Identifier: Apache-2.0
// Host threads that do the same work side by side.
#ifndef PTXGEN_THREADS_H
#define PTXGEN_THREADS_H

#include <stddef.h>

// The host's cores, at least 1 and at most 64.
unsigned threads_cores(void);

// Calls work(user) on `count` threads, the caller's among them, and waits for all; goes on without a thread that cannot be made.
void threads_run(unsigned count, void *(*work)(void *user), void *user);

// Calls work(user, i) once for each i below `count`, on a thread a core at most. Shows the progress as that of `what`, unless
// that is NULL.
void threads_each(const char *what, size_t count, void (*work)(void *user, size_t i), void *user);

#endif
