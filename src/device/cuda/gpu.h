// SPDX-License-Identifier: Apache-2.0
// The GPU device: its structs, and the functions that its files call of each other.
#ifndef CJ_CUDA_GPU_H
#define CJ_CUDA_GPU_H

#include <stdatomic.h>
#include <stdbool.h>

#include "device.h"
#include "driver.h"

typedef struct cj_gpu {
    cj_device base;
    cj_driver driver;
    CUdevice  device;
    CUcontext context;
    bool      retained;  // the context is the primary one, and must be released
} cj_gpu;

typedef struct cj_gpu_module {
    cj_module base;
    CUmodule  handle;
} cj_gpu_module;

typedef struct cj_gpu_function {
    cj_function base;
    CUfunction  handle;
    int         fixed_shared;  // bytes of static shared memory, as assembled
    // Each is set once, when a launch first needs it. Opting in twice does no harm, so threads take no lock.
    atomic_bool large_shared;   // opted into shared memory above the default limit
    atomic_bool large_cluster;  // opted into clusters above the portable size
} cj_gpu_function;

static inline cj_gpu *cj__gpu(cj_device *device) { return (cj_gpu *)(void *)device; }

// context.c: make the device's context current for a few calls, and restore the one that was current before. Every
// enter that succeeds is followed by a leave.
cj_status cj__gpu_enter(cj_gpu *gpu, bool *pushed, cj_error *error);
void      cj__gpu_leave(cj_gpu *gpu, bool pushed);

// module.c
cj_status cj__gpu_load(cj_device *device, const char *image, size_t length, cj_ir_module *ir, cj_module **module,
                       cj_error *error);
cj_status cj__gpu_compile(cj_device *device, const char *ptx, size_t length, char **image, size_t *bytes,
                          cj_error *error);
void      cj__gpu_compiler(const cj_device *device, char *line, size_t size);
void      cj__gpu_unload(cj_module *module);
cj_status cj__gpu_function(cj_module *module, const cj_ir_func *entry, cj_function **function, cj_error *error);
cj_status cj__gpu_global(cj_module *module, const cj_ir_var *var, cj_ptr *address, cj_error *error);

// launch.c
cj_status cj__gpu_launch(cj_device *device, const cj_launch_config *config, cj_dim3 cluster, cj_error *error);
cj_status cj__gpu_synchronize(cj_device *device, cj_stream stream, cj_error *error);

// peer.c
cj_status cj__gpu_reach(cj_device *device, cj_device *peer, cj_error *error);
cj_status cj__gpu_share(cj_device *device, cj_ptr memory, cj_ipc *shared, cj_error *error);
cj_status cj__gpu_open_shared(cj_device *device, const cj_ipc *shared, cj_ptr *memory, cj_error *error);
void      cj__gpu_close_shared(cj_device *device, cj_ptr memory);
cj_status cj__gpu_busy(cj_device *device, cj_stream stream, bool *busy, cj_error *error);
int       cj__gpu_number(const cj_device *device);
cj_status cj__gpu_locate(cj_device *device, cj_ptr memory, size_t bytes, cj_ptr *base, cj_error *error);
cj_status cj__gpu_settle(cj_device *device, cj_error *error);

// side.c
cj_status cj__gpu_make_side(cj_device *device, cj_side *side, cj_error *error);
void      cj__gpu_free_side(cj_device *device, const cj_side *side);
cj_status cj__gpu_follow(cj_device *device, const cj_side *side, cj_stream later, cj_stream earlier, cj_error *error);

// place.c
cj_status cj__gpu_admit(cj_function *function, cj_launch_shape *shape, cj_error *error);
cj_status cj__gpu_occupancy(cj_function *function, const cj_launch_shape *shape, cj_placement *placement,
                            cj_error *error);

// time.c
cj_status cj__gpu_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                       double *milliseconds, cj_error *error);
cj_status cj__gpu_time_graph(cj_device *device, cj_status (*work)(void *user, cj_stream stream, cj_error *error),
                             void *user, uint32_t repeat, double *milliseconds, cj_error *error);

#endif
