// SPDX-License-Identifier: Apache-2.0
// What the probe kernels share: parameters, thread identity, the timed loop, bounded waits, the record at the end.
#ifndef PROBE_FRAME_H
#define PROBE_FRAME_H

#include <clusterjit/clusterjit.h>

#include "probe.h"

struct probe_frame {
    cj_func           *f;
    const probe_shape *shape;
    uint32_t           size;  // blocks of the cluster; 1 without
    cj_var             out, data, step;
    cj_reg             thread, block, rank, rounds, round;
    cj_reg             first;  // pred: the block's first thread
    cj_reg             check;  // u32, of this thread
    cj_reg             start_clock, start_time, cycles, end_time;
    cj_label           again, skip;
};

// A barrier of all threads of the cluster (without one, of the block), which sees the others' writes after it.
void frame_barrier(probe_frame *k, const char *why);

// Read the clocks before and after the timed part. `settled`: after a frame_barrier, so that all of the work is
// complete.
void frame_start(probe_frame *k);
void frame_stop(probe_frame *k, bool settled);

// for (round = 0; round < rounds; round++) { … }
void frame_loop(probe_frame *k);
void frame_again(probe_frame *k);

// Waits until the mbarrier at `address` (u32, in this block) has completed the phase of this parity (u32 register).
void frame_wait(probe_frame *k, cj_reg address, cj_reg parity);

// Loads with `load` ("ld.acquire.gpu.global.u32") from `address` into `value` until it is at least `least`.
void frame_poll(probe_frame *k, const char *load, cj_reg value, cj_reg address, cj_reg least);

// The first thread initializes `count` mbarriers of `arrivals` each, for the whole cluster; a frame_barrier must
// follow.
void frame_mbarriers(probe_frame *k, cj_var first, uint32_t count, uint32_t arrivals);

// New registers: a u32 with a value; the address of a variable; data's global address; (rank + by) % size.
cj_reg frame_u32(probe_frame *k, const char *name, uint32_t value);
cj_reg frame_address(probe_frame *k, const char *name, cj_var variable);
cj_reg frame_data(probe_frame *k);
cj_reg frame_rank(probe_frame *k, const char *name, uint32_t by);

// to = the address of element `index` of a variable, of `bytes` bytes each.
void frame_element(probe_frame *k, cj_reg to, cj_var variable, cj_reg index, uint64_t bytes);

// to = `address` in the block of `rank`.
void frame_map(probe_frame *k, cj_reg to, cj_reg address, cj_reg rank);

// All threads of the block process the words of `bytes` bytes at `memory`, 16 bytes a thread at a time: set them to
// base + index * scale (scale 0 or 1), or add them to the check.
void frame_fill(probe_frame *k, cj_var memory, uint64_t bytes, cj_reg base, uint32_t scale);
void frame_sum(probe_frame *k, cj_var memory, uint64_t bytes);

// Sum over x in [0, n) of x.
static inline uint64_t frame_series(uint64_t n) { return n * (n - 1) / 2; }

#endif
