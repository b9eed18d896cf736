// SPDX-License-Identifier: Apache-2.0
// Kernels that measure what a cluster's hardware does. Each times a loop of `rounds` rounds with the SM's clock and the
// GPU's timer, and computes a check from the data that it moved. The sum of the checks over all blocks is known
// beforehand, so a kernel that did something else gives no figure. Every wait is bounded and ends in a trap.
//
// Launch: grid a multiple of the cluster, all blocks resident at once, arguments
//     u64 out    probe_record out[grid], zero before the launch
// u64 data   probe_kernel.data_bytes() bytes, each 0x01 or zero as probe_kernel says; 0 if there are none
//     u32 rounds at least probe_kernel.least_rounds; of st.async back and forth at most 1024, of allreduce 512
//     u32 step   distance in ranks, for chase_shared; else unused
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <clusterjit/ptx.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct probe_record {
    uint64_t start, end;  // nanoseconds of the GPU's timer, read by the block's first thread
    uint64_t cycles;      // of its SM between the two
    uint64_t check;       // the lower 32 bits count
} probe_record;

typedef enum probe_op {
    PROBE_LOAD,       // ld: the reader moves the data
    PROBE_STORE,      // st
    PROBE_ST_ASYNC,   // st.async with an mbarrier
    PROBE_BULK,       // cp.async.bulk from shared memory, with an mbarrier
    PROBE_MULTICAST,  // cp.async.bulk from global memory
    PROBE_RED,        // red.add to random words
    PROBE_ARRIVE,     // an mbarrier alone, by the short form of arrive
    PROBE_RELEASE,    // … by arrive.release.cluster, which orders the thread's writes to everything before it
    PROBE_FLAG,       // a flag with release and acquire in the other's shared memory
    PROBE_GLOBAL      // through global memory
} probe_op;

// The shared memory that a block accesses. C is the cluster's size, r the block's rank.
typedef enum probe_pattern {
    PROBE_SELF,       // its own
    PROBE_NEIGHBOUR,  // of rank (r + 1) % C
    PROBE_TO_ONE,     // of rank 0, which accesses none itself
    PROBE_TO_ALL      // of every other block in turn; red: of a random block; multicast: of all at once
} probe_pattern;

typedef struct probe_shape {
    uint32_t      cluster;  // blocks, a power of two; 0: launched without clusters
    uint32_t      threads;  // a block
    uint64_t      bytes;    // of the memory that is read, or of one transfer
    probe_op      op;
    probe_pattern pattern;
} probe_shape;

// One launch, for computing its expected check.
typedef struct probe_launch {
    uint32_t blocks, rounds, step;
} probe_launch;

typedef struct probe_frame probe_frame;

typedef struct probe_kernel {
    const char *name;
    void (*write)(probe_frame *k);
    uint64_t (*expect)(const probe_shape *s, const probe_launch *l);  // sum of the blocks' checks
    double (*work)(const probe_shape *s);  // of a round, on average over the blocks: see probe_unit
    uint64_t (*data_bytes)(const probe_shape *s, uint32_t blocks);  // NULL: none
    uint64_t (*shared_bytes)(const probe_shape *s);                 // of a block, mbarriers aside; NULL: a few
    bool     any_size;                                              // shape.bytes may be halved to fit
    uint8_t  fill;                                                  // of data before each launch …
    bool     keeps;                                                 // … or data keeps what the previous launch left
    uint32_t least_rounds;
} probe_kernel;

extern const probe_kernel probe_chase_shared, probe_weave, probe_chase_global;  // latency.c
extern const probe_kernel probe_stream, probe_read_global;                      // stream.c
extern const probe_kernel probe_pipeline;                                       // pipeline.c
extern const probe_kernel probe_barrier, probe_ping_pong, probe_allreduce;      // sync.c
extern const probe_kernel probe_exchange;                                       // exchange.c

// What a kernel's work counts, which determines the unit of its figure.
typedef enum probe_unit {
    PROBE_TIMES,  // latencies, one after another: cycles each
    PROBE_BYTES,  // bytes moved: TB/s of the GPU, bytes a clock of an SM
    PROBE_COUNT   // operations: 10^9 a second
} probe_unit;

enum { PROBE_SIZES = 5, PROBE_LARGEST = 16 };  // clusters of 1, 2, 4, 8, 16 blocks

// A row of the report: a kernel over some cluster sizes, and earlier figures of it.
typedef struct probe_figure {
    const char         *topic, *name;
    const probe_kernel *kernel;
    probe_shape         shape;   // the cluster is set for each size
    unsigned            sizes;   // bit i: clusters of 2^i blocks; 0: without clusters
    uint32_t            rounds;  // on a GPU: about a millisecond; 0: as many as read all bytes
    probe_unit          unit;
    bool                each_step;            // measured once for each distance in ranks
    double              before[PROBE_SIZES];  // in cycles, TB/s or 10^9/s; 0: not known
    const char         *source;               // the publication of the earlier figure; NULL: none
} probe_figure;

extern const probe_figure probe_figures[];
extern const size_t       probe_figure_count;

// Halves shape->bytes until the kernel's shared memory fits `limit` bytes a block. False if it may not be halved, or if
// too little would be left.
bool probe_fit(const probe_kernel *kernel, probe_shape *shape, uint64_t limit);

// The kernel's text for a target such as "sm_90a" (shared memory beyond 48 KiB is static, which needs an 'a'), owned by
// the caller (cj_text_free). The entry has the kernel's name.
cj_status probe_write(const probe_kernel *kernel, const probe_shape *shape, const char *arch, char **text,
                      size_t *length, cj_error *error);

#endif
