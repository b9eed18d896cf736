// SPDX-License-Identifier: Apache-2.0
// The exchange of processes that a launcher has started: what its environment says, and TCP to rank 0.
#ifndef CJ_GPUS_SOCKET_H
#define CJ_GPUS_SOCKET_H

#include <clusterjit/base.h>
#include <stdbool.h>

typedef struct cj_bootstrap cj_bootstrap;

// What the environment of a launcher says.
typedef struct cj_launched {
    const char *launcher;
    uint32_t    rank, size, local;  // local: on this node
    char        address[256], port[8];
    uint64_t    job;  // the same in all processes of a job
} cj_launched;

cj_status cj__launched(cj_launched *launched, cj_error *error);

// Waits until all ranks have come to rank 0. DRIVER names those that do not come in time.
cj_status cj__bootstrap_open(uint32_t timeout_ms, cj_bootstrap **made, uint32_t *rank, uint32_t *size, cj_error *error);

// cj_gpus_exchange.all_gather. DRIVER names a rank that has ended, or does not come in time; there is no further exchange then.
cj_status cj__bootstrap_all_gather(void *bootstrap, const void *mine, void *all, size_t bytes, cj_error *error);

void cj__bootstrap_close(cj_bootstrap *bootstrap,
                         bool together);  // together: waits a few seconds until all ranks close; NULL is allowed

#endif
