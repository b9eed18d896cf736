// SPDX-License-Identifier: Apache-2.0
// A workload's device memory: a buffer in each of its sets; and what kernels wrote there, if it was right.
#ifndef PTXGEN_SETS_H
#define PTXGEN_SETS_H

#include "workload.h"

// Allocates a buffer of `bytes` for each of the w->copies sets. Returns an exit code; call sets_free also after a
// failure.
int  sets_alloc(const workload *w, size_t bytes, cj_ptr **each);
void sets_free(const workload *w, cj_ptr *each);  // NULL is allowed

// Writes the same bytes to the buffer of each set. Returns an exit code.
int sets_write(const workload *w, const cj_ptr *each, const void *from, size_t bytes);

// Two arrays of results that a check has found right. Where only one result is right, others need no check but that they are the same.
typedef struct sets_right {
    void *values, *indices;  // NULL: none yet
} sets_right;

bool sets_is_right(const sets_right *right, const void *values, size_t bytes, const void *indices, size_t index_bytes);
void sets_keep_right(sets_right *right, const void *values, size_t bytes, const void *indices, size_t index_bytes);
void sets_free_right(sets_right *right);

#endif
