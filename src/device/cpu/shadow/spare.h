// SPDX-License-Identifier: Apache-2.0
// Memory of the watch. Nodes of clocks come and go: a host thread keeps those that it frees, by size, and takes them again
// before it asks malloc. One thread may free what another has allocated.
#ifndef CJ_CPU_SPARE_H
#define CJ_CPU_SPARE_H

#include <stdbool.h>
#include <stddef.h>

// Allocates zeroed memory for a launch's clocks and shadows; a failure sets the host thread's
// cj__watch_starved. cj__watch_open clears the caller's, which in the end has what any thread of the launch has.
void                     *cj__watch_calloc(size_t bytes);
extern _Thread_local bool cj__watch_starved;

// How many bytes are allocated for a piece of so many.
size_t cj__spare_round(size_t bytes);
// A piece whose bytes are undefined; NULL as cj__watch_calloc. What is given back names the same size.
void *cj__spare_take(size_t bytes);
void  cj__spare_give(void *memory, size_t bytes);
// Frees all that the calling thread has kept.
void cj__spare_free(void);

#endif
