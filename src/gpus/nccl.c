// SPDX-License-Identifier: Apache-2.0
// Loads NCCL, asks a communicator for its rank and size, and exchanges bytes through it.
#include "system.h"

#include "nccl.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "device.h"
#include "error.h"
#include "text.h"

// ---- the library

static const struct {
    const char *name;
    size_t      at;
} functions[] = {
#define CJ_X(name, result, parameters) {"nccl" #name, offsetof(cj_nccl, name)},
    CJ_NCCL_LIST(CJ_X)
    CJ_NCCL_OPTIONAL_LIST(CJ_X)
#undef CJ_X
};

enum {
#define CJ_X(name, result, parameters) INDEX_##name,
    CJ_NCCL_LIST(CJ_X)
#undef CJ_X
    NEEDED  // how many of them
};

static cj_status no_library(const char *named, cj_error *error) {
    const char *why = dlerror();
    return cj__fail(error, CJ_UNSUPPORTED,
                    "NCCL was not found: %s%.300s (dlopen: %.300s)" CJ_HINT
                    "install NCCL 2.27 or later for the whole system (libnccl2 of NVIDIA's repository), or set CLUSTERJIT_NCCL to the path of "
                    "libnccl.so.2: that of pip install nvidia-nccl-cu13 is nvidia/nccl/lib/libnccl.so.2 in site-packages, where no loader "
                    "looks; it is found if the program has loaded it before, as import torch does",
                    named ? "CLUSTERJIT_NCCL=" : "looked for ",
                    named ? named : "libnccl.so.2 and libnccl.so among loaded libraries, in LD_LIBRARY_PATH and in the system's folders",
                    why ? why : "no reason");
}

static cj_status open_library(void **library, cj_error *error) {
    const char *named = cj__getenv("CLUSTERJIT_NCCL");
    if (named && !*named) named = NULL;
    *library = dlopen(named ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!*library && !named) *library = dlopen("libnccl.so", RTLD_NOW | RTLD_LOCAL);
    return *library ? CJ_OK : no_library(named, error);
}

static void find(cj_nccl *nccl, void *library) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *symbol = dlsym(library, functions[i].name);
        _Static_assert(sizeof symbol == sizeof(void (*)(void)), "function and object pointers are of one size");
        memcpy((char *)nccl + functions[i].at, &symbol, sizeof symbol);
    }
}

// The version is asked first: an older library may lack functions.
static cj_status check(cj_nccl *nccl, cj_error *error) {
    int version = 0, result = nccl->GetVersion ? nccl->GetVersion(&version) : 0;
    FAIL_IF(!nccl->GetVersion || result, CJ_UNSUPPORTED,
            "libnccl does not say its version (%s%d)" CJ_HINT "see that CLUSTERJIT_NCCL names a libnccl.so.2",
            nccl->GetVersion ? "ncclGetVersion gives " : "ncclGetVersion is missing: ", result);
    FAIL_IF(version < CJ_NCCL_LEAST, CJ_UNSUPPORTED,
            "libnccl is NCCL %d.%d.%d, and 2.27 or later is needed" CJ_HINT
            "install a newer NCCL, or set CLUSTERJIT_NCCL to the path of one",
            version / 10000, version / 100 % 100, version % 100);
    for (size_t i = 0; i < NEEDED; i++) {
        void *symbol;
        memcpy(&symbol, (char *)nccl + functions[i].at, sizeof symbol);
        FAIL_IF(!symbol, CJ_UNSUPPORTED,
                "libnccl (NCCL %d.%d.%d) lacks %s" CJ_HINT "set CLUSTERJIT_NCCL to the path of NVIDIA's",
                version / 10000, version / 100 % 100, version % 100, functions[i].name);
    }
    nccl->version = version;
    return CJ_OK;
}

cj_status cj__nccl_load(cj_nccl *nccl, cj_error *error) {
    void *library;
    *nccl = (cj_nccl){0};
    TRY(open_library(&library, error));
    find(nccl, library);
    return check(nccl, error);
}

// The last message is often that of another communicator's call: it is told as what NCCL said last.
cj_status cj__nccl_fail(const cj_nccl *nccl, void *comm, int result, const char *call, cj_error *error) {
    const char *text = nccl->GetErrorString(result), *last = nccl->GetLastError(comm);
    cj__fail(error, CJ_DRIVER, "%s: %.200s (ncclResult_t %d)%s%.500s" CJ_HINT "NCCL_DEBUG=INFO makes NCCL say more",
             call, text ? text : "no text", result, last && *last ? "; NCCL said last: " : "", last ? last : "");
    if (error) error->driver_code = result;
    return CJ_DRIVER;
}

// ---- the communicator

cj_status cj__nccl_ask(cj_nccl_ranks *ranks, void *comm, cj_device *device, cj_error *error) {
    int number = 0, rank = 0, size = 0;
    ranks->comm = comm;
    ranks->device = device;
    TRY(CJ_NCCL(ranks, error, CommCuDevice, (comm, &number)));
    REFUSE_IF(!device->ops->number,
              "the communicator is of CUDA device %d, and the device is of kind %s" CJ_HINT "open gpu:%d", number,
              device->ops->kind, number);
    REFUSE_IF(number != device->ops->number(device),
              "the communicator is of CUDA device %d, and the device is CUDA device %d" CJ_HINT
              "open gpu:%d, or give the communicator of that device",
              number, device->ops->number(device), number);
    TRY(CJ_NCCL(ranks, error, CommCount, (comm, &size)));
    TRY(CJ_NCCL(ranks, error, CommUserRank, (comm, &rank)));
    REFUSE_IF(size < 2, "the communicator has %d rank" CJ_HINT "give one of 2 or more", size);
    ranks->rank = (uint32_t)rank;
    ranks->size = (uint32_t)size;
    return CJ_OK;
}

// ---- an exchange through it, on the default stream

static cj_status make_room(cj_nccl_ranks *ranks, size_t bytes, cj_error *error) {
    if (bytes <= ranks->scratch_bytes) return CJ_OK;
    cj_mem_free(ranks->device, ranks->scratch);
    ranks->scratch = 0;
    ranks->scratch_bytes = 0;
    TRY(cj_mem_alloc(ranks->device, bytes, &ranks->scratch, error));
    ranks->scratch_bytes = bytes;
    return CJ_OK;
}

// Memory that NCCL may still write is never freed: cuMemFree would wait for the ranks that do not come.
static cj_status give_up(cj_nccl_ranks *ranks, cj_error *error) {
    int         state = 0;
    const char *said = ranks->library.CommGetAsyncError(ranks->comm, &state) || !state
                           ? "no error"
                           : ranks->library.GetErrorString(state);
    ranks->scratch = 0;
    ranks->scratch_bytes = 0;
    return cj__fail(error, CJ_DRIVER,
                    "rank %" PRIu32 " of %" PRIu32 " waited %" PRIu32 " ms in ncclAllGather for the other ranks "
                    "(the communicator's state: %.100s)" CJ_HINT
                    "each rank makes the same calls: see which one does not, or has "
                    "ended; NCCL_DEBUG=INFO helps. cj_gpus_options.timeout_ms is how long to wait",
                    ranks->rank, ranks->size, ranks->timeout_ms, said ? said : "no text");
}

static cj_status wait_for_all(cj_nccl_ranks *ranks, cj_error *error) {
    const uint64_t end = cj__clock_ms() + ranks->timeout_ms;
    for (bool busy = true; busy;) {
        TRY(ranks->device->ops->busy(ranks->device, NULL, &busy, error));
        if (busy && cj__clock_ms() >= end) return give_up(ranks, error);
        if (busy) cj__clock_rest();
    }
    return CJ_OK;
}

cj_status cj__nccl_all_gather(void *user, const void *mine, void *all, size_t bytes, cj_error *error) {
    cj_nccl_ranks *ranks = user;
    TRY(make_room(ranks, (ranks->size + 1) * bytes, error));
    const cj_ptr to = ranks->scratch + bytes;
    TRY(cj_mem_write(ranks->device, ranks->scratch, mine, bytes, NULL, error));
    TRY(CJ_NCCL(
        ranks, error, AllGather,
        ((const void *)(uintptr_t)ranks->scratch, (void *)(uintptr_t)to, bytes, CJ_NCCL_U8, ranks->comm, NULL)));
    TRY(wait_for_all(ranks, error));
    return cj_mem_read(ranks->device, all, to, ranks->size * bytes, NULL, error);
}

void cj__nccl_end(cj_nccl_ranks *ranks) {
    if (ranks->device) cj_mem_free(ranks->device, ranks->scratch);
    ranks->scratch = 0;
}
