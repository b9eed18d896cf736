// SPDX-License-Identifier: Apache-2.0
#include "sets.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

int sets_alloc(const workload *w, size_t bytes, cj_ptr **each) {
    cj_error error;
    *each = calloc(w->copies, sizeof **each);
    if (!*each) return message_error(CJ_OUT_OF_MEMORY, "no host memory for %u sets of buffers", w->copies);
    for (unsigned c = 0; c < w->copies; c++)
        if (cj_mem_alloc(w->device, bytes, &(*each)[c], &error)) return message_failure(&error);
    return CODE_OK;
}

void sets_free(const workload *w, cj_ptr *each) {
    for (unsigned c = 0; each && c < w->copies; c++) cj_mem_free(w->device, each[c]);
    free(each);
}

int sets_write(const workload *w, const cj_ptr *each, const void *from, size_t bytes) {
    cj_error error;
    for (unsigned c = 0; c < w->copies; c++)
        if (cj_mem_write(w->device, each[c], from, bytes, NULL, &error)) return message_failure(&error);
    return CODE_OK;
}

bool sets_is_right(const sets_right *right, const void *values, size_t bytes, const void *indices, size_t index_bytes) {
    return right->values && !memcmp(right->values, values, bytes) && !memcmp(right->indices, indices, index_bytes);
}

// Without memory for them all results are checked.
void sets_keep_right(sets_right *right, const void *values, size_t bytes, const void *indices, size_t index_bytes) {
    sets_free_right(right);
    right->values = malloc(bytes);
    right->indices = malloc(index_bytes);
    if (!right->values || !right->indices) {
        sets_free_right(right);
        return;
    }
    memcpy(right->values, values, bytes);
    memcpy(right->indices, indices, index_bytes);
}

void sets_free_right(sets_right *right) {
    free(right->values);
    free(right->indices);
    *right = (sets_right){0};
}
