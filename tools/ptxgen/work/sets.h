// SPDX-License-Identifier: Apache-2.0
// A workload's device memory: a buffer in each of its sets.
#ifndef PTXGEN_SETS_H
#define PTXGEN_SETS_H

#include "workload.h"

// Allocates a buffer of `bytes` for each of the w->copies sets. Returns an exit code; call sets_free also after a
// failure.
int  sets_alloc(const workload *w, size_t bytes, cj_ptr **each);
void sets_free(const workload *w, cj_ptr *each);  // NULL is allowed

// Writes the same bytes to the buffer of each set. Returns an exit code.
int sets_write(const workload *w, const cj_ptr *each, const void *from, size_t bytes);

#endif
