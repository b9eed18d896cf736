// SPDX-License-Identifier: Apache-2.0
// The arguments of a launch, from a buffer.
#include <stdlib.h>
#include <string.h>

#include "library.h"

// CU_LAUNCH_PARAM_BUFFER_POINTER and its size, in place of pointers to arguments.
typedef struct packed {
    unsigned char *buffer;
    size_t         bytes;
} packed;

static CUresult read_extra(void **extra, packed *result) {
    *result = (packed){0};
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (i > 8) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "`extra` has no end");
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            result->buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
            memcpy(&result->bytes, extra[i + 1], sizeof result->bytes);
        else
            return cj__refuse(CUDA_ERROR_INVALID_VALUE, "`extra` has an entry that is not known");
    }
    return result->buffer ? CUDA_SUCCESS : cj__refuse(CUDA_ERROR_INVALID_VALUE, "`extra` names no buffer");
}

CUresult cj__arguments_of(const cj_fun *fun, void **extra, void ***argument) {
    packed         given;
    size_t         at = 0;
    const uint32_t count = cj_function_param_count(fun->code);
    CUresult       code = read_extra(extra, &given);
    void         **made = code ? NULL : calloc(count + 1, sizeof *made);
    if (code || !made) return code ? code : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < count && !code; i++) {
        const size_t align = cj_function_param_align(fun->code, i), bytes = cj_function_param_bytes(fun->code, i);
        at = (at + align - 1) / align * align;
        if (at + bytes > given.bytes)
            code = cj__refuse(CUDA_ERROR_INVALID_VALUE, "%s: argument %u ends at byte %zu of a buffer of %zu",
                              fun->name, i, at + bytes, given.bytes);
        made[i] = given.buffer + at;
        at += bytes;
    }
    if (code)
        free(made);
    else
        *argument = made;
    return code;
}
