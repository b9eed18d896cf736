// SPDX-License-Identifier: Apache-2.0
// A row being measured: two sides that do the same work on the same inputs, in turns.
#ifndef BENCH_RACE_H
#define BENCH_RACE_H

#include <clusterjit/clusterjit.h>

#include "measure.h"
#include "rows.h"

// The shared object of peers.h; NULL functions where it is not there.
typedef struct peer_library {
    const char *(*run)(const peer_problem *problem, void *temporary, size_t *bytes, const void *in, void *out, void *stream);
    const char *(*fill)(const peer_problem *problem, void *in);
    const char *(*prepare)(const peer_problem *problem, void *temporary);
    int (*have)(const peer_problem *problem);
} peer_library;

enum { OURS, PEER, SIDES };

typedef struct race {
    const contest         *row;
    cj_device          *device;
    const peer_library *peers;

    // Sets of buffers, one after the other: set i is at `in` + i * in_bytes, and so on.
    unsigned copies;
    size_t   in_bytes, out_bytes, temporary_bytes;
    cj_ptr   in, out[SIDES], temporary, cycles;

    const char      *arguments;      // of kernels of ours: see race.c
    bool             adds;           // they add to what is in the output, which is zeroed before
    cj_kernel       *kernel[SIDES];  // PEER: where the row says so
    cj_module       *module;         // the family's reference in CUDA C++, where the row says so
    cj_launch_config reference;

    contender sides[SIDES];
    bool      equal;      // both sides gave the same results, before the measurement and in it
    char      wrong[160]; // where they did not
} race;

// Measures a row. Any failure is in *error; race_close follows in any case.
cj_status race_run(race *r, const contest *row, cj_device *device, const peer_library *peers, unsigned rounds, cj_error *error);
void      race_close(race *r);

// Bytes that must be read at least, where these alone bound the work; else 0.
double race_bytes_read(const contest *row);

// Bytes that must be read and written at least, where both bound the work; else 0.
double race_bytes_copied(const contest *row);

#endif
