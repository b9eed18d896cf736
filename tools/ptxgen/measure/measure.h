// SPDX-License-Identifier: Apache-2.0
// How long launches take: after a warm-up, over sets of buffers that do not stay in the L2 cache, without the host's
// cost of a launch, many times; kernels to be compared run in turns. Does not depend on the command, so that benchmarks
// may use it.
#ifndef PTXGEN_MEASURE_H
#define PTXGEN_MEASURE_H

#include <clusterjit/device.h>
#include <stdbool.h>

// Milliseconds of one launch: the median of the rounds, and the quartiles about it.
typedef struct measurement {
    double   median, low, high;
    unsigned rounds, launches;  // launches of each round, one after another
} measurement;

enum { MEASURE_ROUNDS_MAX = 300, MEASURE_ROUNDS_CPU = 3 };

// A kernel (or peer) in a comparison.
typedef struct contender {
    // Launches on set `copy` of the buffers. Must be capturable into a graph, unless it `waits`, and has run before.
    cj_status (*launch)(void *user, unsigned copy, cj_stream stream, cj_error *error);
    void       *user;
    const char *peer;                       // the library whose kernel it is, if it is not ours: "cuBLAS"
    unsigned    copies;                     // sets of buffers; a round goes through all of them
    bool        waits;                      // for the device, which no graph holds: its rounds are launched one after the other
    measurement time;                       // the result
    double      round[MEASURE_ROUNDS_MAX];  // milliseconds of a launch in each round, in the order of the rounds
} contender;

// Whether the device's times mean something: those of the CPU device do not.
bool measure_is_real(const cj_device *device);

// The clock: "CUDA graph replay" on a GPU, else "host clock".
const char *measure_clock(const cj_device *device);

// Times `rounds` rounds (0: as many as suit the device) of each contender, in turns, so that a disturbance slows all of
// them. Shows progress if standard error is a terminal.
cj_status measure(cj_device *device, contender *contenders, size_t count, unsigned rounds, cj_error *error);

// A rough time of a launch in milliseconds: exact enough to drop a kernel that is several times slower than another.
cj_status measure_glance(cj_device *device, const contender *c, double *ms, cj_error *error);

// Whether `a` takes less time than `b`, by more than the spread (their quartiles do not overlap) and than two runs
// differ.
enum { MEASURE_PERCENT = 2 };
int measure_faster(const measurement *a, const measurement *b);

// The highest throughput of reading, and of copying (bytes read + written), on this device, in bytes a second, over
// buffers much larger than the L2 cache; 0 on the CPU device.
cj_status measure_ceilings(cj_device *device, double *read, double *copy, cj_error *error);

// For qsort: doubles, ascending.
int measure_ascending(const void *a, const void *b);

#endif
