// SPDX-License-Identifier: Apache-2.0
// The calls that fill memory.
#include "submit.h"

static CUresult fill(CUstream stream, cj_set set) {
    return cj__submit(stream, &(cj_work){.kind = CJ_WORK_SET, .as.set = set});
}

// A function for each size of an element: flat and in rows, without a stream and with one.
#define FILL(name, name_2d, type, size)                                                                               \
    CUresult name##_v2(CUdeviceptr to, type value, size_t count) {                                                    \
        ENTER(CJ_NEED_CONTEXT);                                                                                       \
        LEAVE(fill(NULL, (cj_set){.to = to, .width = count, .height = 1, .value = value, .element = size}));          \
    }                                                                                                                 \
    CUresult name##Async(CUdeviceptr to, type value, size_t count, CUstream stream) {                                 \
        ENTER(CJ_NEED_CONTEXT);                                                                                       \
        LEAVE(fill(stream, (cj_set){.to = to, .width = count, .height = 1, .value = value, .element = size}));        \
    }                                                                                                                 \
    CUresult name_2d##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height) {                    \
        ENTER(CJ_NEED_CONTEXT);                                                                                       \
        LEAVE(fill(NULL, (cj_set){to, pitch, width, height, value, size}));                                           \
    }                                                                                                                 \
    CUresult name_2d##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, CUstream stream) { \
        ENTER(CJ_NEED_CONTEXT);                                                                                       \
        LEAVE(fill(stream, (cj_set){to, pitch, width, height, value, size}));                                         \
    }

FILL(cuMemsetD8, cuMemsetD2D8, unsigned char, 1)
FILL(cuMemsetD16, cuMemsetD2D16, unsigned short, 2)
FILL(cuMemsetD32, cuMemsetD2D32, unsigned, 4)
