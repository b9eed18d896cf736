// SPDX-License-Identifier: Apache-2.0
// Devices: where PTX runs. Two kinds behind one interface: `gpu` (CUDA driver API, loaded at run time) and `cpu` (executes
// the same PTX text inside the library). Code written once runs on either.
//
// Thread safety: a cj_device may be used by several threads at once. A cj_module or cj_function may be launched by several
// threads at once; it must outlive its launches. Errors: see clusterjit/base.h; every `cj_error *` may be NULL.
#ifndef CLUSTERJIT_DEVICE_H
#define CLUSTERJIT_DEVICE_H

#include <clusterjit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_device   cj_device;
typedef struct cj_module   cj_module;
typedef struct cj_function cj_function;

// A device address. On the cpu device it is a host address.
typedef uint64_t cj_ptr;

// A CUstream cast to a pointer; NULL is the default stream. The cpu device runs every launch to its end and ignores it.
typedef void *cj_stream;

// What a device or target allows. Plain data: a plan for any GPU can be made on a machine that has none.
// Sizes are bytes, counts are per the unit in the name.
typedef struct cj_limits {
    char     name[64];                // "NVIDIA H200", "sm_90 (built in)", …
    uint32_t compute_capability;      // 10 * major + minor: 90 for sm_90
    uint32_t sm_count;
    uint32_t warp_size;
    uint32_t max_threads_per_block;
    cj_dim3  max_block;
    cj_dim3  max_grid;
    uint32_t max_threads_per_sm;
    uint32_t max_blocks_per_sm;
    uint32_t registers_per_block;
    uint32_t registers_per_sm;
    uint32_t shared_per_block;        // without opt-in
    uint32_t shared_per_block_optin;  // with opt-in
    uint32_t shared_per_sm;
    uint32_t shared_reserved;         // taken by the system for each block
    uint32_t max_cluster_portable;    // blocks; 0 where there are no clusters
    uint32_t max_cluster;             // blocks, with the non-portable opt-in
    uint64_t l2_bytes;
    uint64_t global_bytes;
    uint32_t driver_version;          // CUDA driver API, 13000 for 13.0; 0 without a driver
} cj_limits;

// Resolves a CUDA driver symbol as cuGetProcAddress does: `version` is the CUDA version of the wanted signature (12000).
// Returns NULL where it is missing. Lets tests play an old driver, a missing symbol, a failing call.
typedef void (*cj_proc)(void);
typedef cj_proc (*cj_resolver)(void *user, const char *symbol, int version);

typedef struct cj_device_options {
    const char *spec;      // "auto" (or NULL), "gpu", "gpu:N", "cpu"
    void       *context;   // CUcontext to work in, on its GPU (spec "auto" or "gpu"); NULL retains the primary context
                           // of the GPU. Ignored by cpu.
    cj_resolver resolver;  // NULL loads libcuda.so.1
    void       *resolver_user;
} cj_device_options;

// Opens a device. "auto" takes the first GPU that has clusters, else the cpu device; cj_device_reason says why.
// `options` may be NULL (auto). On success *device is owned by the caller.
// INVALID_ARGUMENT for an unknown spec, NO_DEVICE without such a device, UNSUPPORTED when the driver is too old, DRIVER
// when it is there but fails; "auto" then runs on the cpu device, and the reason carries the error.
CJ_API cj_status cj_device_open(const cj_device_options *options, cj_device **device, cj_error *error);

// Frees the device; its modules and memory must have been freed before. NULL is allowed.
CJ_API void cj_device_close(cj_device *device);

CJ_API const char      *cj_device_kind(const cj_device *device);    // "gpu" or "cpu"
CJ_API const char      *cj_device_name(const cj_device *device);    // "NVIDIA H200", "CPU device"
CJ_API const char      *cj_device_reason(const cj_device *device);  // why this one was chosen, one sentence
CJ_API const cj_limits *cj_device_limits(const cj_device *device);

// Memory on the device, aligned to at least 256 bytes, contents undefined; bytes > 0.
CJ_API cj_status cj_mem_alloc(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error);
CJ_API void      cj_mem_free(cj_device *device, cj_ptr memory);  // 0 is allowed

// Copies and fills ordered on `stream`. Host memory may be reused as soon as the call returns.
// cj_mem_read returns when the bytes have arrived.
CJ_API cj_status cj_mem_write(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream,
                              cj_error *error);
CJ_API cj_status cj_mem_read(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error);
CJ_API cj_status cj_mem_fill(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream,
                             cj_error *error);

// Loads PTX text (NUL-terminated; `length` without the NUL). The text is not kept. The error carries the JIT compiler's
// log or the parser's line and column. INVALID_KERNEL, COMPILER, DRIVER.
CJ_API cj_status cj_module_load(cj_device *device, const char *ptx, size_t length, cj_module **module, cj_error *error);
CJ_API void      cj_module_unload(cj_module *module);  // NULL is allowed

// Finds an entry; owned by the module. INVALID_ARGUMENT names the entries there are.
CJ_API cj_status cj_module_function(cj_module *module, const char *entry, cj_function **function, cj_error *error);

// The name of the module's i-th entry, NULL behind the last; owned by the module.
CJ_API const char *cj_module_entry(const cj_module *module, size_t index);

// An entry's parameters: how many, and of the i-th its name (NULL for no such one) and bytes (0).
CJ_API uint32_t    cj_function_param_count(const cj_function *function);
CJ_API const char *cj_function_param_name(const cj_function *function, uint32_t index);
CJ_API size_t      cj_function_param_bytes(const cj_function *function, uint32_t index);

// One launch. `grid` counts blocks; `cluster` is {0, 0, 0} for a launch without clusters. `arguments[i]` points to the
// value of the entry's i-th parameter. Clusters larger than the portable size are opted into when the function allows it.
typedef struct cj_launch_config {
    cj_function *function;
    cj_dim3      grid, block, cluster;
    uint32_t     dynamic_shared;  // bytes; above the default limit the opt-in is made
    cj_stream    stream;
    void *const *arguments;
    uint32_t     argument_count;
} cj_launch_config;

// Launches. Asynchronous on a GPU; the cpu device returns when the grid has run. CONTRACT names the broken launch rule,
// HAZARD what the cpu device found, DRIVER the driver's own words.
CJ_API cj_status cj_launch(cj_device *device, const cj_launch_config *config, cj_error *error);

// Waits for all work on the stream and reports faults of kernels that ran on it.
CJ_API cj_status cj_synchronize(cj_device *device, cj_stream stream, cj_error *error);

// Milliseconds that the device spent between two launches' ends is measured by running `work(user)` between two events on
// `stream`: host time on the cpu device, CUDA events on a GPU.
CJ_API cj_status cj_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                         double *milliseconds, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif
