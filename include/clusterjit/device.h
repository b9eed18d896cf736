// SPDX-License-Identifier: Apache-2.0
// Devices: where PTX runs. Two kinds with one interface: `gpu` (CUDA driver API, loaded at run time) and `cpu` (executes
// the same PTX text inside the library). Code written once runs on either.
//
// Thread safety: a cj_device may be used by several threads at once. A cj_module or cj_function may be launched by several
// threads at once; it must outlive its launches. Errors: see clusterjit/base.h; every `cj_error *` may be NULL.
#ifndef CLUSTERJIT_DEVICE_H
#define CLUSTERJIT_DEVICE_H

#include <clusterjit/base.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_device   cj_device;
typedef struct cj_module   cj_module;
typedef struct cj_function cj_function;

// A device address: of cj_mem_alloc, or of cj_mem_wrap on the cpu device, where it is a host address. Another pointer of
// the host's, cast to a cj_ptr, is none.
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
    uint8_t  gpc_sms[16];             // SMs of each GPC, the room that a cluster must fit; all 0: unknown
    uint64_t l2_bytes;
    uint64_t global_bytes;
    uint32_t driver_version;          // CUDA driver API, 13000 for 13.0; 0 without a driver
    bool     every_target;            // code for any .target runs, as far as its instructions do: the CPU device
    uint64_t reserved[8];             // 0
} cj_limits;

// Resolves a CUDA driver symbol as cuGetProcAddress does: `version` is the CUDA version of the wanted signature (12000).
// Returns NULL where it is missing. Lets tests play an old driver, a missing symbol, a failing call.
typedef void (*cj_proc)(void);
typedef cj_proc (*cj_resolver)(void *user, const char *symbol, int version);

typedef struct cj_device_options {
    CJ_STRUCT_SIZE(cj_device_options);
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

// Closes the device, whose memory must have been freed before. It is freed with the last of its modules and kernels, which
// work until then; that some are left is said as a warning (clusterjit/log.h). NULL is allowed.
CJ_API void cj_device_close(cj_device *device);

CJ_API const char      *cj_device_kind(const cj_device *device);    // "gpu" or "cpu"
CJ_API const char      *cj_device_name(const cj_device *device);    // "NVIDIA H200", "CPU device"
CJ_API const char      *cj_device_reason(const cj_device *device);  // why this one was chosen, one sentence
CJ_API const cj_limits *cj_device_limits(const cj_device *device);

// Memory on the device, aligned to at least 256 bytes, contents undefined; bytes > 0.
CJ_API cj_status cj_mem_alloc(cj_device *device, size_t bytes, cj_ptr *memory, cj_error *error);
CJ_API void      cj_mem_free(cj_device *device, cj_ptr memory);  // 0 is allowed

// The caller's own array as memory of the cpu device, without a copy: kernels read and write it in place, and it is watched
// as any allocation is (bounds, races), what it holds being initialized. It stays the caller's, which must keep it until
// cj_mem_free, which ends the device's use of it and frees nothing; it must not be read or written by others while a kernel
// runs. Any alignment that the kernels allow (family calls want 16 bytes); its bytes do not count against the device's.
// A pointer of the host's that was not wrapped is no address of the device: accesses through it are out of bounds.
// INVALID_ARGUMENT where some of it is the device's already; UNSUPPORTED on a gpu device, where kernels would reach the
// host's memory over the bus: copy with cj_mem_write there.
CJ_API cj_status cj_mem_wrap(cj_device *device, void *host, size_t bytes, cj_ptr *memory, cj_error *error);

// Copies and fills ordered on `stream`. Host memory may be reused as soon as the call returns: cj_mem_write and cj_mem_read
// wait for the stream, so neither can be captured into a CUDA graph; cj_mem_fill can.
CJ_API cj_status cj_mem_write(cj_device *device, cj_ptr to, const void *from, size_t bytes, cj_stream stream,
                              cj_error *error);
CJ_API cj_status cj_mem_read(cj_device *device, void *to, cj_ptr from, size_t bytes, cj_stream stream, cj_error *error);
CJ_API cj_status cj_mem_fill(cj_device *device, cj_ptr to, uint8_t byte, size_t bytes, cj_stream stream,
                             cj_error *error);

// Loads PTX text (NUL-terminated; `length` without the NUL). The text is not kept. The error carries the JIT compiler's
// log or the parser's line and column. INVALID_KERNEL, COMPILER, DRIVER.
CJ_API cj_status cj_module_from_ptx(cj_device *device, const char *ptx, size_t length, cj_module **module, cj_error *error);
CJ_API void      cj_module_unload(cj_module *module);  // NULL is allowed

// Finds an entry by its name, also by that of its C++ source (cj_module_from_cuda); owned by the module. INVALID_ARGUMENT names
// the entries there are.
CJ_API cj_status cj_module_function(cj_module *module, const char *entry, cj_function **function, cj_error *error);

// The name of the module's i-th entry, NULL after the last; owned by the module.
CJ_API const char *cj_module_entry(const cj_module *module, size_t index);

// The address and the bytes of a variable in global or constant memory (`__device__`, `__constant__`, `__managed__`), by its name or
// that of its C++ source; either of `address` and `bytes` may be NULL. The memory is the module's, and holds its initial value until
// something writes it (cj_mem_write). INVALID_ARGUMENT names the variables there are; DRIVER on a gpu device also where its compiler
// left out a variable that nothing uses.
CJ_API cj_status cj_module_global(cj_module *module, const char *name, cj_ptr *address, size_t *bytes, cj_error *error);

// The name of the module's i-th variable in global or constant memory, NULL after the last; owned by the module.
CJ_API const char *cj_module_global_name(const cj_module *module, size_t index);

// The name that the source has for an entry, without template arguments and parameters: "ns::kernel" of _ZN2ns6kernelIfEEvPf; the
// entry's own where that is no C++ name. Cut to `size` bytes; returns `name`.
CJ_API const char *cj_function_source_name(const cj_function *function, char *name, size_t size);

// An entry's parameters: how many, and of the i-th its name (NULL for no such one), bytes and alignment (0).
CJ_API uint32_t    cj_function_param_count(const cj_function *function);
CJ_API const char *cj_function_param_name(const cj_function *function, uint32_t index);
CJ_API size_t      cj_function_param_bytes(const cj_function *function, uint32_t index);
CJ_API size_t      cj_function_param_align(const cj_function *function, uint32_t index);

// What the i-th parameter takes, as far as its declaration and the entry's body tell.
typedef enum cj_param_kind {
    CJ_PARAM_INTEGER,
    CJ_PARAM_FLOAT,
    CJ_PARAM_POINTER,    // an address is made of it, or it says .ptr
    CJ_PARAM_TENSORMAP,  // 128 bytes, aligned to 64: a cj_tensormap by value
    CJ_PARAM_BYTES,      // another structure by value
    CJ_PARAM_TEXTURE,    // 8 bytes, the handle of a texture (clusterjit/texture.h),
    CJ_PARAM_SURFACE     // of a surface
} cj_param_kind;
CJ_API cj_param_kind cj_function_param_kind(const cj_function *function, uint32_t index);  // BYTES for no such one

// What an entry asks of its launches; {0, 0, 0} and 0 where it does not say.
typedef struct cj_entry_info {
    CJ_STRUCT_SIZE(cj_entry_info);
    cj_dim3  block, block_max;      // .reqntid, .maxntid
    cj_dim3  cluster;               // .reqnctapercluster
    uint32_t cluster_max;           // .maxclusterrank
    uint32_t static_shared;         // bytes
    int      needs_cluster;         // .explicitcluster, or something that it does works in clusters only
    int      needs_dynamic_shared;  // it names shared memory whose bytes the launch says
    int      grid_counts_clusters;  // .blocksareclusters: a launch's grid is in clusters, not in blocks
} cj_entry_info;
CJ_API cj_status cj_function_info(const cj_function *function, cj_entry_info *info, cj_error *error);

// Attributes of a launch; all zero is the ordinary launch. Each is refused by name where a device or its driver cannot do
// it (CONTRACT, rule launch-…). The cpu device runs launches one after another, each to its end: what only says when and
// where blocks run means nothing to it, and is taken without effect.
typedef enum cj_cluster_scheduling {
    CJ_CLUSTER_SCHEDULING_DEFAULT,
    CJ_CLUSTER_SCHEDULING_SPREAD,         // a cluster's blocks over many SMs
    CJ_CLUSTER_SCHEDULING_LOAD_BALANCING  // clusters where there is room
} cj_cluster_scheduling;

typedef enum cj_sync_domain { CJ_SYNC_DOMAIN_DEFAULT, CJ_SYNC_DOMAIN_REMOTE } cj_sync_domain;

typedef struct cj_launch_attributes {
    // gpu: compute capability 9.0. cpu: no effect.
    cj_cluster_scheduling cluster_scheduling;

    // Clusters of this size where they fit, of `cluster` elsewhere: whole multiples of it along x and y, as long along z,
    // and the grid a multiple of both. gpu: compute capability 10.0 and a driver for CUDA 12.8. cpu: clusters are `cluster`.
    cj_dim3 preferred_cluster;

    // Programmatic dependent launch: blocks may start while the kernel before them on the stream still runs, once all of
    // its blocks have executed griddepcontrol.launch_dependents or ended; what it wrote may be read after this kernel's
    // griddepcontrol.wait. gpu: compute capability 9.0. cpu: launches are in order, so both instructions are done at once.
    bool programmatic;

    // All blocks are resident at once, so they may wait for each other (a barrier of the grid). A grid larger than the
    // device holds is refused. gpu and cpu.
    bool cooperative;

    // 0: the stream's. Lower is more urgent, down to the least that the GPU has (-5 on an H200). cpu: no effect.
    int priority;

    // Memory fences wait for writes of their own domain only (CUDA C++ Programming Guide, "Memory Synchronization
    // Domains"): REMOTE suits kernels that write to other GPUs. `sync_domain_map` gives the physical domain of DEFAULT and of
    // REMOTE; {0, 0}: as the stream has it. gpu: compute capability 9.0. cpu: no effect.
    cj_sync_domain sync_domain;
    uint8_t        sync_domain_map[2];
} cj_launch_attributes;

// One launch. `grid` counts blocks; `cluster` is {0, 0, 0} for a launch without clusters, or with those that the kernel
// declares. `arguments[i]` points to the value of the entry's i-th parameter: structures and tensor maps are passed by value,
// so the pointer is to them. The values are copied before cj_launch returns.
typedef struct cj_launch_config {
    CJ_STRUCT_SIZE(cj_launch_config);
    cj_function         *function;
    cj_dim3              grid, block, cluster;
    uint32_t             dynamic_shared;  // bytes; above the default limit of 48 KiB the opt-in is made
    cj_stream            stream;
    void *const         *arguments;
    uint32_t             argument_count;
    const size_t        *argument_bytes;  // of each, held against the entry's parameters; NULL: only counted
    bool                 nonportable;     // allows clusters above the portable size, where the device can place them
    cj_launch_attributes attributes;      // last: they may grow, and struct_size covers them
} cj_launch_config;

// Initializes arguments, argument_count and argument_bytes of a cj_launch_config from up to 16 variables, so that a wrong
// number or a wrong size is refused by name:
//     cj_launch_config config = {CJ_INIT(config), .function = f, .grid = {4, 1, 1}, .block = {256, 1, 1},
//                                CJ_ARGS(x, out, n)};
// The variables and the enclosing block must outlive the use of `config`. C only.
#define CJ_ARGS(...)                                                                   \
    .arguments = (void *const[]){CJ_ARGS_MAP_(CJ_ARG_POINTER_, __VA_ARGS__)},           \
    .argument_count = (uint32_t)(sizeof(size_t[]){CJ_ARGS_MAP_(CJ_ARG_BYTES_, __VA_ARGS__)} / sizeof(size_t)), \
    .argument_bytes = (const size_t[]){CJ_ARGS_MAP_(CJ_ARG_BYTES_, __VA_ARGS__)}

#define CJ_ARG_POINTER_(variable) (void *)(uintptr_t)&(variable)
#define CJ_ARG_BYTES_(variable) sizeof(variable)
#define CJ_ARGS_MAP_(f, ...) \
    CJ_ARGS_PICK_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)(f, __VA_ARGS__)
#define CJ_ARGS_PICK_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) CJ_ARGS_##count##_
#define CJ_ARGS_1_(f, a) f(a)
#define CJ_ARGS_2_(f, a, ...) f(a), CJ_ARGS_1_(f, __VA_ARGS__)
#define CJ_ARGS_3_(f, a, ...) f(a), CJ_ARGS_2_(f, __VA_ARGS__)
#define CJ_ARGS_4_(f, a, ...) f(a), CJ_ARGS_3_(f, __VA_ARGS__)
#define CJ_ARGS_5_(f, a, ...) f(a), CJ_ARGS_4_(f, __VA_ARGS__)
#define CJ_ARGS_6_(f, a, ...) f(a), CJ_ARGS_5_(f, __VA_ARGS__)
#define CJ_ARGS_7_(f, a, ...) f(a), CJ_ARGS_6_(f, __VA_ARGS__)
#define CJ_ARGS_8_(f, a, ...) f(a), CJ_ARGS_7_(f, __VA_ARGS__)
#define CJ_ARGS_9_(f, a, ...) f(a), CJ_ARGS_8_(f, __VA_ARGS__)
#define CJ_ARGS_10_(f, a, ...) f(a), CJ_ARGS_9_(f, __VA_ARGS__)
#define CJ_ARGS_11_(f, a, ...) f(a), CJ_ARGS_10_(f, __VA_ARGS__)
#define CJ_ARGS_12_(f, a, ...) f(a), CJ_ARGS_11_(f, __VA_ARGS__)
#define CJ_ARGS_13_(f, a, ...) f(a), CJ_ARGS_12_(f, __VA_ARGS__)
#define CJ_ARGS_14_(f, a, ...) f(a), CJ_ARGS_13_(f, __VA_ARGS__)
#define CJ_ARGS_15_(f, a, ...) f(a), CJ_ARGS_14_(f, __VA_ARGS__)
#define CJ_ARGS_16_(f, a, ...) f(a), CJ_ARGS_15_(f, __VA_ARGS__)

// Launches. Asynchronous on a GPU; the cpu device returns when the grid has run. Allocates nothing and does not
// synchronize, so a launch can be captured into a CUDA graph; the function's first launch of a new shape may set attributes
// of the function, which a capture allows.
// CONTRACT names the broken launch rule, INVALID_ARGUMENT a wrong argument, HAZARD what the cpu device found, DRIVER the
// driver's own words. Where the environment's CLUSTERJIT_DUMP_DIR names a directory, the PTX of what fails to load or to
// launch is kept there, with a command line that repeats it.
CJ_API cj_status cj_launch(cj_device *device, const cj_launch_config *config, cj_error *error);

// Waits for all work on the stream and reports faults of kernels that ran on it.
CJ_API cj_status cj_synchronize(cj_device *device, cj_stream stream, cj_error *error);

// Milliseconds that the device spent between two launches' ends is measured by running `work(user)` between two events on
// `stream`: host time on the cpu device, CUDA events on a GPU.
CJ_API cj_status cj_time(cj_device *device, cj_stream stream, cj_status (*work)(void *user, cj_error *error), void *user,
                         double *milliseconds, cj_error *error);

// Milliseconds of one replay of a CUDA graph, without what launching costs the host: captures `work` once, replays it once
// to warm up, then `repeat` times (at least 1) back to back between two events, and gives the mean. `work` puts all that it
// does on the stream that it is given, and synchronizes nothing. The cpu device has no graphs: it calls `work` as often, with
// a NULL stream, and takes host time.
CJ_API cj_status cj_time_graph(cj_device *device, cj_status (*work)(void *user, cj_stream stream, cj_error *error),
                               void *user, uint32_t repeat, double *milliseconds, cj_error *error);

#ifdef __cplusplus
}
#endif
#endif
