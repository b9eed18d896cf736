// SPDX-License-Identifier: Apache-2.0
// NCCL as a table of functions, found at run time, and its results as errors. No header of NCCL is needed.
#ifndef CJ_GPUS_NCCL_H
#define CJ_GPUS_NCCL_H

#include <clusterjit/gpus.h>
#include <stdbool.h>

// Every function in use: its name without nccl, what it returns, its parameters. Types and operations are int there, as they are
// enums; ncclComm_t and cudaStream_t are pointers.
#define CJ_NCCL_LIST(X)                                                                                         \
    X(GetVersion, int, (int *version))                                                                          \
    X(GetErrorString, const char *, (int result))                                                               \
    X(GetLastError, const char *, (void *comm))                                                                 \
    X(CommGetAsyncError, int, (void *comm, int *result))                                                        \
    X(CommCount, int, (void *comm, int *count))                                                                 \
    X(CommCuDevice, int, (void *comm, int *device))                                                             \
    X(CommUserRank, int, (void *comm, int *rank))                                                               \
    X(AllReduce, int, (const void *x, void *out, size_t count, int type, int op, void *comm, void *stream))     \
    X(ReduceScatter, int, (const void *x, void *out, size_t count, int type, int op, void *comm, void *stream)) \
    X(AllGather, int, (const void *x, void *out, size_t count, int type, void *comm, void *stream))             \
    X(Broadcast, int, (const void *x, void *out, size_t count, int type, int root, void *comm, void *stream))   \
    X(Send, int, (const void *x, size_t count, int type, int peer, void *comm, void *stream))                   \
    X(Recv, int, (void *out, size_t count, int type, int peer, void *comm, void *stream))                       \
    X(GroupStart, int, (void))                                                                                  \
    X(GroupEnd, int, (void))

// Windows, of NCCL 2.29 and later: each may be NULL.
#define CJ_NCCL_OPTIONAL_LIST(X)                                                                \
    X(CommWindowRegister, int, (void *comm, void *memory, size_t bytes, void **window, int flags)) \
    X(CommWindowDeregister, int, (void *comm, void *window))                                    \
    X(GetPeerDevicePointer, int, (void *window, size_t offset, int peer, void **memory))

typedef struct cj_nccl {
    int version;  // 22809: 2.28.9; 0: not loaded
#define CJ_X(name, result, parameters) result(*name) parameters;
    CJ_NCCL_LIST(CJ_X)
    CJ_NCCL_OPTIONAL_LIST(CJ_X)
#undef CJ_X
} cj_nccl;

static inline bool cj__nccl_has_windows(const cj_nccl *nccl) {
    return nccl->version && nccl->CommWindowRegister && nccl->CommWindowDeregister && nccl->GetPeerDevicePointer;
}

// A communicator of the caller's, with what an exchange by NCCL needs.
typedef struct cj_nccl_ranks {
    cj_nccl    library;
    void      *comm;
    cj_device *device;
    uint32_t   rank, size, timeout_ms;
    cj_ptr     scratch;  // of exchanges; it grows
    size_t     scratch_bytes;
} cj_nccl_ranks;

enum { CJ_NCCL_LEAST = 22700, CJ_NCCL_U8 = 1, CJ_NCCL_I32 = 2, CJ_NCCL_SUM = 0, CJ_NCCL_SYMMETRIC = 1 };

// Loads what CLUSTERJIT_NCCL names, else libnccl.so.2: it stays loaded. UNSUPPORTED without it, with an older version, or where
// a function is missing.
cj_status cj__nccl_load(cj_nccl *nccl, cj_error *error);

// Rank and size, as the communicator says. INVALID_ARGUMENT: a communicator of another device.
cj_status cj__nccl_ask(cj_nccl_ranks *ranks, void *comm, cj_device *device, cj_error *error);

// A failed call as an error: its name, NCCL's text for the result, and its last message.
cj_status cj__nccl_fail(const cj_nccl *nccl, void *comm, int result, const char *call, cj_error *error);

// CJ_NCCL(ranks, error, CommCount, (comm, &count)) calls ncclCommCount and returns a cj_status.
#define CJ_NCCL(ranks, error, name, arguments) \
    cj__nccl_status(&(ranks)->library, (ranks)->comm, (ranks)->library.name arguments, "nccl" #name, (error))

// NCCL answers ncclInProgress (7) to calls of communicators that do not block: they have begun.
static inline cj_status cj__nccl_status(const cj_nccl *nccl, void *comm, int result, const char *call,
                                        cj_error *error) {
    return !result || result == 7 ? CJ_OK : cj__nccl_fail(nccl, comm, result, call, error);
}

// cj_gpus_exchange.all_gather of a cj_nccl_ranks. DRIVER when the ranks do not come in time.
cj_status cj__nccl_all_gather(void *ranks, const void *mine, void *all, size_t bytes, cj_error *error);
void      cj__nccl_end(cj_nccl_ranks *ranks);

#endif
