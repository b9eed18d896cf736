// SPDX-License-Identifier: Apache-2.0
#include "sets.h"

#include <stdlib.h>

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
