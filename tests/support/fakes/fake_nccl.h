// SPDX-License-Identifier: Apache-2.0
// What tests tell the fake libnccl (fake_nccl.c), by functions that they find in it by name.
#ifndef CJ_TESTS_FAKE_NCCL_H
#define CJ_TESTS_FAKE_NCCL_H

#include <stdbool.h>

enum { FAKE_NCCL_RANKS = 16 };

typedef struct fake_nccl {
    int         version;  // the answer of ncclGetVersion
    int         ranks;    // threads, each with a communicator
    const char *failing;  // a call that fails with `code` at its `from`-th time (1 is the first) and later
    int         from, code;
    int         async;   // the answer of ncclCommGetAsyncError
    bool        absent;  // whoever waits for the others goes on without them, as their kernels would not end
    bool        far;     // windows give no address of a peer
    int         windows; // that are registered
    _Atomic int group;   // groups that were begun and not ended, by all threads
} fake_nccl;

typedef fake_nccl *fake_nccl_reset_type(void);                      // fake_nccl_reset: 2.28.9, 2 ranks
typedef void      *fake_nccl_comm_type(int rank, int cuda_device);  // fake_nccl_comm: the communicator of a rank
typedef int        fake_nccl_calls_type(const char *call);          // fake_nccl_calls: since the reset

#endif
