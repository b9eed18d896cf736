// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <stddef.h>

static const struct {
    CUresult    code;
    const char *name, *text;
} errors[] = {
#define X(name, text) {CUDA_##name, "CUDA_" #name, text},
#include "errors.def"
#undef X
};

enum { COUNT = sizeof errors / sizeof *errors };

static size_t index_of(CUresult code) {
    size_t i = 0;
    while (i < COUNT && errors[i].code != code) i++;
    return i;
}

CUresult cuGetErrorName(CUresult code, const char **name) {
    const size_t i = index_of(code);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    *name = i < COUNT ? errors[i].name : NULL;
    return i < COUNT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **text) {
    const size_t i = index_of(code);
    if (!text) return CUDA_ERROR_INVALID_VALUE;
    *text = i < COUNT ? errors[i].text : NULL;
    return i < COUNT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
