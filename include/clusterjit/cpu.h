// SPDX-License-Identifier: Apache-2.0
// What only the CPU device has: its schedule, the hazards that it watches for, and what it counted.
//
// These calls take a device of kind "cpu"; on any other they fail with UNSUPPORTED. Configure between launches; hazards
// are those of the last launch and stay until the next one. Thread safety: one thread at a time a device.
//
// To multimem instructions the device is a multicast team of one: every address of its global memory is its own
// multicast address. A multicast object (below) has several members.
#ifndef CLUSTERJIT_CPU_H
#define CLUSTERJIT_CPU_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cj_cpu_options {
    CJ_STRUCT_SIZE(cj_cpu_options);
    bool     random_schedule;   // order of warps, and when asynchronous work completes, drawn from the seed; else fixed
    uint64_t seed;
    bool     late_schedule;     // as the fixed one, but asynchronous work completes only when no thread can go on without
                                // it; not together with random_schedule
    bool     hazards;           // watch every access for races and missing synchronization (off: bounds, alignment, windows,
                                // deadlock and the like are still seen)
    uint32_t threads;           // host threads that run clusters; 0: one a core, with hazards one: then each run of a seed
                                // is the same also where clusters race with each other
    bool     stats;             // count by class, bytes and bank conflicts (off: instructions are counted)
    uint32_t stack_bytes;       // of local memory that a thread gets beyond what its functions declare, where recursion,
                                // calls by address or alloca need it; 512 KiB at most; 0: 16 KiB
    uint64_t instruction_limit; // thread instructions a launch may execute before it is stopped as a livelock; 0: none
    // Called about twice a second during a launch, from a thread of the launch, and, where it was, once more at the
    // launch's end, with all clusters done even if a hazard stopped it; NULL: never.
    void (*progress)(void *user, uint64_t clusters_done, uint64_t clusters, uint64_t thread_instructions);
    void *progress_user;
    // Takes what the kernels of a launch print (device printf), when the launch ends, on its thread: the text of one cluster after
    // the other, each in the order of its execution, 64 MiB at most and then a line that says what is lost. NULL: standard output. Not NUL-terminated text of
    // `bytes` bytes, valid during the call.
    void (*print)(void *user, const char *text, size_t bytes);
    void    *print_user;
    uint64_t heap_bytes;        // of the heap of device malloc and free, 32 GiB at most; 0: 8 MiB, as on a GPU. A heap that holds
                                // blocks keeps its size: another one is INVALID_ARGUMENT
} cj_cpu_options;

// Sets all of them. A device begins with a fixed schedule, hazards off, one thread a core, no limit, no progress, printing to
// standard output, and a heap of 8 MiB.
CJ_API cj_status cj_cpu_configure(cj_device *device, const cj_cpu_options *options, cj_error *error);

// One party of a hazard.
typedef struct cj_hazard_side {
    unsigned line;       // of the PTX; 0: there is no such party
    char     what[48];   // "st.shared::cluster.f32", "cp.async.bulk (asynchronous)", …
    cj_dim3  thread, block;
    uint32_t rank;       // of the block in its cluster
} cj_hazard_side;

typedef struct cj_hazard {
    char           rule[32];
    char           message[1024];  // one paragraph: the thread, its access, where, with both lines
    char           hint[512];
    cj_hazard_side first, second;  // the access that was seen to break the rule is `second`; first.line 0: one party only
    uint64_t       address;        // in the space's own terms; 0 where no memory is involved
    uint64_t       bytes;
    char           symbol[64];     // the variable as the PTX names it, or ""
    char           variable[64];   // the same as the source names it: "kernel::tile" of _ZZ6kernelPfE4tile
    uint64_t       offset;         // bytes into it
    uint64_t       count;          // times that this rule was broken by these two lines
} cj_hazard;

// Hazards of the last launch, each pair of lines once, in the order found; at most 64 are kept. A launch that found any
// returned HAZARD with the first one as its error.
CJ_API size_t           cj_cpu_hazard_count(const cj_device *device);
CJ_API const cj_hazard *cj_cpu_hazard_at(const cj_device *device, size_t index);  // NULL after the last

// What the last launch did that looks like a race and gives the same result in any order: several threads, or all lanes of
// a bulk copy, write the same value ("same-value"); a weak load that only begins a compare-and-swap loop ("cas-guess").
// Kept as hazards are; a launch does not fail for them.
CJ_API size_t           cj_cpu_note_count(const cj_device *device);
CJ_API const cj_hazard *cj_cpu_note_at(const cj_device *device, size_t index);  // NULL after the last

// The heap of device malloc and free. Its blocks last until a kernel frees them, across launches and modules.
typedef struct cj_cpu_heap_state {
    CJ_STRUCT_SIZE(cj_cpu_heap_state);
    uint64_t limit;        // bytes
    uint64_t used, blocks; // of blocks that are not freed: at the end of a program these are leaks
    uint64_t most;         // bytes in use at once, so far
    uint64_t allocations;  // calls of malloc so far,
    uint64_t refused;      // of which so many got NULL
} cj_cpu_heap_state;

typedef struct cj_cpu_heap_block {
    cj_ptr   address;
    uint64_t bytes;
    unsigned line;           // of the PTX that called malloc
    cj_dim3  thread, block;  // that called it
} cj_cpu_heap_block;

CJ_API cj_status cj_cpu_heap_read(const cj_device *device, cj_cpu_heap_state *state, cj_error *error);
// The i-th block that is not freed, by address; valid until the next such call. NULL after the last, or on a device that is
// no CPU device.
CJ_API const cj_cpu_heap_block *cj_cpu_heap_at(const cj_device *device, size_t index);

// A multicast object: a range of addresses that stands for memory of several CPU devices, its members, as NVLink multicast of GPUs
// does. multimem.st and multimem.red act on the same bytes of every member; multimem.ld_reduce combines them in the order of the
// members, each sum rounded to the type (or that of .acc), and the result once to the type. Any other access there is a hazard,
// multicast-address. Each member's access is checked, watched and counted as if its own kernel had made it.
//
// A launch reaches what the object stands for, whichever member's it is. Bind and map between launches. Thread safety: one thread at
// a time an object.
typedef struct cj_cpu_multicast cj_cpu_multicast;

enum { CJ_CPU_MULTICAST_MAX = 16, CJ_CPU_MULTICAST_GRAIN = 16 };  // members; bytes: sizes, offsets and memory are multiples

// `bytes` of addresses, at `address` (0: where the host has room): host addresses that nothing else uses, and that the caller
// keeps so. No device twice. Destroy it before its devices are closed.
CJ_API cj_status cj_cpu_multicast_create(cj_device *const *device, uint32_t count, uint64_t bytes, cj_ptr address,
                                         cj_cpu_multicast **multicast, cj_error *error);
CJ_API void      cj_cpu_multicast_destroy(cj_cpu_multicast *multicast);  // NULL is allowed

// The bytes from `offset` on are those at `memory` of the member: in one allocation of its device, which lives until they are unbound.
// INVALID_ARGUMENT if a byte of them is bound already.
CJ_API cj_status cj_cpu_multicast_bind(cj_cpu_multicast *multicast, uint32_t member, uint64_t offset, cj_ptr memory,
                                       uint64_t bytes, cj_error *error);
// Ends a bind, of the same offset and bytes.
CJ_API cj_status cj_cpu_multicast_unbind(cj_cpu_multicast *multicast, uint32_t member, uint64_t offset, uint64_t bytes,
                                         cj_error *error);

// Lets kernels of the member's device use the addresses, until cj_mem_free(device, address) or the object's end.
CJ_API cj_status cj_cpu_multicast_map(cj_cpu_multicast *multicast, uint32_t member, cj_ptr *address, cj_error *error);

// What the launches since the last cj_cpu_stats_clear did, or all of the device's. Counts are of threads (an instruction of
// a full warp counts 32), bytes are those of threads.
#define CJ_CPU_CLASSES(X) X(INTEGER, "integer") X(FLOAT, "float") X(MOVE, "move and convert") X(MEMORY, "memory") \
    X(CONTROL, "control") X(WARP, "warp") X(BARRIER, "barrier and fence") X(ASYNC, "asynchronous") X(MATRIX, "matrix")

typedef enum cj_cpu_class {
#define CJ_X(name, text) CJ_CPU_##name,
    CJ_CPU_CLASSES(CJ_X)
#undef CJ_X
    CJ_CPU_CLASS_COUNT
} cj_cpu_class;

// Instructions that multiply matrices.
#define CJ_CPU_MATRICES(X) X(MMA, "mma") X(WMMA, "wmma") X(WGMMA, "wgmma")

typedef enum cj_cpu_matrix {
#define CJ_X(name, text) CJ_CPU_MATRIX_##name,
    CJ_CPU_MATRICES(CJ_X)
#undef CJ_X
    CJ_CPU_MATRIX_COUNT
} cj_cpu_matrix;

enum { CJ_CPU_CLASS_ROOM = 16, CJ_CPU_MATRIX_ROOM = 8 };  // of arrays, so that a new class moves no field

typedef struct cj_cpu_stats {
    CJ_STRUCT_SIZE(cj_cpu_stats);
    uint64_t thread_instructions, warp_instructions;
    uint64_t by_class[CJ_CPU_CLASS_ROOM];        // thread instructions
    uint64_t global_read, global_written;        // bytes, without texels
    uint64_t shared_read, shared_written;        // of the thread's own block
    uint64_t dsmem_read, dsmem_written;          // of other blocks of the cluster, by st.async and bulk copies too (which
                                                 // are in async_bytes as well), but not what multicast brings them
    uint64_t local_bytes, async_bytes;           // local memory; all that was moved asynchronously. Of that:
    uint64_t copy_bytes, bulk_bytes, tensor_bytes;  // by cp.async; by bulk copies and reductions; by those with a tensor map
    uint64_t multicast_bytes;                    // bulk and tensor, with .multicast: for each block that received them
    uint64_t matrix_instructions[CJ_CPU_MATRIX_ROOM];   // of a warp, of wgmma: of a warp group
    uint64_t multiply_adds[CJ_CPU_MATRIX_ROOM];   // in them; of sparse ones those that are made
    uint64_t wgmma_shared_read;                  // bytes of A and B that wgmma read through descriptors
    uint64_t atomics;
    uint64_t block_barriers, cluster_barriers, mbarrier_waits;
    uint64_t bank_conflicts;                     // shared-memory wavefronts beyond the first of each access
    uint64_t global_sectors;                     // of 32 bytes of global memory, in each access of a warp
    double   seconds;                            // host time
} cj_cpu_stats;

CJ_API cj_status cj_cpu_stats_read(const cj_device *device, cj_cpu_stats *stats, cj_error *error);
CJ_API cj_status cj_cpu_stats_clear(cj_device *device, cj_error *error);

// The same of the last launch with stats, for each line of the PTX that was executed; cj_source_map_find (clusterjit/check.h) tells
// the line of the source.
typedef struct cj_cpu_line_stats {
    unsigned line;
    uint64_t thread_instructions, warp_instructions;
    uint64_t global_bytes, shared_bytes, dsmem_bytes, local_bytes;  // read or written; dsmem: of peers
    uint64_t async_bytes;                                           // moved asynchronously by what this line began
    uint64_t global_sectors, bank_conflicts;
    uint64_t
        barrier_waits;  // threads that came to a barrier of the block or the cluster, or asked for a phase of an mbarrier
} cj_cpu_line_stats;

CJ_API size_t                   cj_cpu_line_count(const cj_device *device);
CJ_API const cj_cpu_line_stats *cj_cpu_line_at(const cj_device *device, size_t index);  // by line; NULL after the last

#ifdef __cplusplus
}
#endif
#endif
