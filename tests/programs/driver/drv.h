// SPDX-License-Identifier: Apache-2.0
// What the programs on the driver API share, as NVIDIA's samples share a helper: a check of each call, and a module from a file.
#ifndef DRV_H
#define DRV_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const CUresult result_ = (call);                                                           \
        if (result_ != CUDA_SUCCESS) {                                                             \
            const char *name_ = "?";                                                               \
            cuGetErrorName(result_, &name_);                                                       \
            fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, name_, (int)result_); \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

#define REQUIRE(condition)                                                               \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
            exit(EXIT_FAILURE);                                                          \
        }                                                                                \
    } while (0)

// The image that nvcc made of the program's kernels lies beside it: PROGRAM.image.
static inline CUmodule load_kernels(const char *program) {
    char     path[4096];
    CUmodule module;
    snprintf(path, sizeof path, "%s.image", program);
    CHECK(cuModuleLoad(&module, path));
    return module;
}

static inline CUcontext open_device(int ordinal) {
    CUdevice  device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, ordinal));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    return context;
}

static inline void close_device(int ordinal) {
    CUdevice device;
    CHECK(cuDeviceGet(&device, ordinal));
    CHECK(cuCtxSynchronize());
    CHECK(cuDevicePrimaryCtxRelease(device));
}

#endif
