// SPDX-License-Identifier: Apache-2.0
// A CUDA driver in plain C, to be injected through cj_device_options.resolver: two H200s that hold memory and run
// nothing. It refuses what the real one refuses, counts what is alive, and fails where a test asks it to.
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
    uint32_t attributes;         // how many, the cluster's among them
    uint32_t scheduling;         // CUclusterSchedulingPolicy
    cj_dim3  preferred_cluster;
    bool     programmatic, cooperative;
    int      priority, sync_domain;
    uint8_t  sync_domain_map[2];
    uint64_t first_argument;  // 8 bytes of it
} cj_fake_launch;

// One at a time: the driver API has no room for a user pointer. Its calls may come from several threads; the counts are
// then read when all have ended.
typedef struct cj_fake {
    // What to play. Set after cj_fake_reset.
    int         version;   // CUDA version; newer symbols are missing
    const char *missing;   // a symbol that is missing
    const char *failing;   // a call that fails with `code`,
    unsigned    from, to;  // from its `from`-th time (1 is the first) to its `to`-th
    int         code;
    bool        nameless;  // cuGetErrorName and cuGetErrorString answer with NULL, as the stub's do
    int         gpu_count;
    int         compute_capability;  // of every GPU
    int         largest_cluster;     // what cuOccupancyMaxPotentialClusterSize answers
    int         active_clusters;     // what cuOccupancyMaxActiveClusters answers
    int         blocks_per_sm;       // what cuOccupancyMaxActiveBlocksPerMultiprocessor answers
    double      launch_ms;           // what each launch takes between two events; 0: 1.5 ms are between any two

    // What happened.
    int            alive_contexts, alive_modules, alive_memory, alive_events, alive_links;
    int            compiles;        // PTX texts made into an image or a module
    int            damaged_images;  // images that are none of its own making: a real driver may crash
    int            alive_streams, alive_graphs;
    int            launches, nonportable_optins, shared_optins, cluster_questions, replays;
    cj_fake_launch launch;  // the last one
} cj_fake;

extern cj_fake cj_fake_driver;

// The driver fails `call` with `code`: every time, or from its `from`-th time (1 is the first) to its `to`-th.
void cj_fake_fail(const char *call, int code);
void cj_fake_fail_times(const char *call, unsigned from, unsigned to, int code);

// Everything as new: CUDA 13.0, two GPUs of compute capability 9.0, no failure.
void cj_fake_reset(void);

// The resolver to inject; its user pointer is not used.
cj_proc cj_fake_resolve(void *user, const char *symbol, int version);

// How often a call ("cuMemAlloc") was made since the reset.
unsigned cj_fake_calls(const char *symbol);

// The calls from now on, in their order, until they are asked for: "cuCtxGetCurrent cuLaunchKernelEx". One thread's.
void        cj_fake_log_start(void);
const char *cj_fake_log_end(void);

// The i-th symbol, NULL behind the last, and whether a device can be opened without it.
const char *cj_fake_symbol(size_t i, bool *optional);

// Contexts that a caller made: create, destroy, what is current, make current (NULL: none).
void *cj_fake_context_create(void);
void  cj_fake_context_destroy(void *context);
void *cj_fake_context_current(void);
void  cj_fake_context_set(void *context);

#endif
