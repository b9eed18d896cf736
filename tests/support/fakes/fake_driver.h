// SPDX-License-Identifier: Apache-2.0
// A CUDA driver in plain C, to be injected through cj_device_options.resolver: two H200s that have memory and execute
// nothing. It refuses what the real driver refuses, counts what has not been released, and fails where a test asks it
// to.
#ifndef CJ_TESTS_FAKE_DRIVER_H
#define CJ_TESTS_FAKE_DRIVER_H

#include <clusterjit/device.h>
#include <stdbool.h>

typedef struct cj_fake_launch {
    cj_dim3  grid, block;
    bool     clustered;  // a cluster attribute was given
    cj_dim3  cluster;
    uint32_t dynamic_shared;
    void    *stream;
    uint32_t attributes;         // how many, including the cluster's
    uint32_t scheduling;         // CUclusterSchedulingPolicy
    cj_dim3  preferred_cluster;
    bool     programmatic, cooperative;
    int      priority, sync_domain;
    uint8_t  sync_domain_map[2];
    uint64_t first_argument;  // 8 bytes of it
} cj_fake_launch;

// There is only one: the driver API has no user pointer. Calls may come from several threads; the counts must be read
// after all have ended.
typedef struct cj_fake {
    // The fake's behaviour. Set it after cj_fake_reset.
    int         version;   // CUDA version; newer symbols are missing
    const char *missing;   // a symbol that is missing
    const char *failing;   // a call that fails with `code`,
    unsigned    from, to;  // from its `from`-th time (1 is the first) to its `to`-th
    int         code;
    bool        nameless;  // cuGetErrorName and cuGetErrorString answer with NULL, as the stub's do
    int         gpu_count;
    int         compute_capability;  // of every GPU
    int         largest_cluster;     // the answer of cuOccupancyMaxPotentialClusterSize
    int         active_clusters;     // the answer of cuOccupancyMaxActiveClusters
    int         blocks_per_sm;       // the answer of cuOccupancyMaxActiveBlocksPerMultiprocessor
    bool        peerless;            // no GPU reaches another one's memory
    bool        never_ready;         // the answer of cuStreamQuery
    size_t      range_bytes;         // of every allocation, as cuMemGetAddressRange says it; 0: more than any test has
    int         other_place;         // of all memory, as cuPointerGetAttribute says it; 0: that of the current context
    double      launch_ms;           // the time of each launch between two events; 0: any two events are 1.5 ms apart

    // Observations:
    int            alive_contexts, alive_modules, alive_memory, alive_events, alive_links;
    int            compiles;        // PTX texts made into an image or a module
    int            damaged_images;  // images that the fake did not make: a real driver may crash on them
    int            alive_streams, alive_graphs;
    int            alive_opened;    // memory of other processes
    int            launches, nonportable_optins, shared_optins, cluster_questions, replays;
    cj_fake_launch launch;  // the last one
} cj_fake;

extern cj_fake cj_fake_driver;

// The driver fails `call` with `code`: every time, or from its `from`-th time (1 is the first) to its `to`-th.
void cj_fake_fail(const char *call, int code);
void cj_fake_fail_times(const char *call, unsigned from, unsigned to, int code);

// Resets everything: CUDA 13.0, two GPUs of compute capability 9.0, no failure.
void cj_fake_reset(void);

// The resolver to inject; its user pointer is not used.
cj_proc cj_fake_resolve(void *user, const char *symbol, int version);

// From now on, and for good, memory is that of all processes which are forked later; nothing of it is given back.
void cj_fake_share(void);

// How many times a call ("cuMemAlloc") was made since the reset.
unsigned cj_fake_calls(const char *symbol);

// Records the calls of one thread, from now until they are read: "cuCtxGetCurrent cuLaunchKernelEx".
void        cj_fake_log_start(void);
const char *cj_fake_log_end(void);

// The i-th symbol, NULL after the last, and whether a device can be opened without it.
const char *cj_fake_symbol(size_t i, bool *optional);

// Contexts that a caller makes: create, destroy, get the current one, set it (NULL: none).
void *cj_fake_context_create(void);
void  cj_fake_context_destroy(void *context);
void *cj_fake_context_current(void);
void  cj_fake_context_set(void *context);

#endif
