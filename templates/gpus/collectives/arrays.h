// SPDX-License-Identifier: Apache-2.0
// Which arrays the kernel of a collective in registered memory is given: for launches.
#ifndef CJ_TEMPLATES_GPUS_ARRAYS_H
#define CJ_TEMPLATES_GPUS_ARRAYS_H

#include <clusterjit/kernel.h>
#include <stdbool.h>

// What a kernel of registered arrays is given; `direct` false: it is none.
typedef struct cj_gpus_arrays {
    bool     direct;
    bool     multicast;             // of_all_x, of_all_out: one multicast address for all GPUs
    bool     of_all_x, of_all_out;  // x, out of each GPU; else the own one alone
    uint64_t x_bytes, out_bytes;    // of one GPU
} cj_gpus_arrays;

cj_gpus_arrays cj__gpus_arrays(const cj_plan *plan);

#endif
