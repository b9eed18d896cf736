// SPDX-License-Identifier: Apache-2.0
// Memory of all devices of this process; and registered memory: where that of each rank lies, as kernels of this process reach it.
//
//     own memory  -->  what it is, its IPC handle  --all_gather-->  opened; where that fails, NCCL's window of it
//                      whether this rank reaches all, and why not  --all_gather-->  registered, or an error on all ranks
//
// In one process peer access has opened it all. A launch takes the addresses of all ranks as arguments, and a checksum of where
// the arrays lie in their registered memory, which its kernels compare before they touch any.
#include <clusterjit/cpu.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocate.h"
#include "device.h"
#include "error.h"
#include "gpus_state.h"
#include "log.h"

enum { GRAIN = CJ_CPU_MULTICAST_GRAIN };

cj_status cj__gpus_check_multicast(const cj_gpus *gpus, cj_error *error) {
    for (uint32_t r = 0; r < gpus->local && gpus->multicast; r++) {
        for (uint32_t q = 0; q < r; q++)
            REFUSE_IF(gpus->device[q] == gpus->device[r], "multicast: ranks %" PRIu32 " and %" PRIu32 " are one device" CJ_HINT
                      "give a device for each rank, or leave multicast out", q, r);
    }
    return CJ_OK;
}

// ---- memory of all ranks

// Whether `all` bytes from `begin` on hold these.
static bool holds(cj_ptr begin, uint64_t all, cj_ptr memory, uint64_t bytes) {
    return memory >= begin && memory - begin < all && bytes <= all - (memory - begin);
}

// Mixes the place of an array into *what: which memory it is in, and where.
static void mix_place(uint64_t *what, uint64_t number, uint64_t offset) {
    *what = (*what ^ number) * UINT64_C(1099511628211);
    *what = (*what ^ offset) * UINT64_C(1099511628211);
}

// ---- multicast addresses: what one process of CPU devices has for memory of cj_gpus_alloc, and for what is registered

static cj_gpus_cast *find_cast(const cj_gpus *gpus, cj_ptr memory, uint64_t bytes) {
    for (size_t i = 0; i < gpus->cast_count; i++)
        if (holds(gpus->cast[i].own[0], gpus->cast[i].bytes, memory, bytes)) return &gpus->cast[i];
    return NULL;
}

static cj_status bind_all(const cj_gpus *gpus, cj_gpus_cast *made, cj_error *error) {
    TRY(cj_cpu_multicast_create(gpus->device, gpus->local, made->bytes, 0, &made->object, error));
    for (uint32_t r = 0; r < gpus->local; r++) {
        TRY(cj_cpu_multicast_bind(made->object, r, 0, made->own[r], made->bytes, error));
        TRY(cj_cpu_multicast_map(made->object, r, &made->address, error));
    }
    return CJ_OK;
}

static cj_status cast(cj_gpus *gpus, const cj_ptr *memory, size_t bytes, bool registered, cj_error *error) {
    cj_gpus_cast made = {.bytes = bytes / GRAIN * GRAIN, .registered = registered, .number = gpus->casts};
    void        *list = gpus->cast;
    if (!gpus->multicast || !made.bytes) return CJ_OK;
    memcpy(made.own, memory, gpus->local * sizeof *memory);
    TRY(cj__gpus_grow(&list, gpus->cast_count, &gpus->cast_room, sizeof made, error));
    gpus->cast = list;
    const cj_status status = bind_all(gpus, &made, error);
    if (status) {
        cj_cpu_multicast_destroy(made.object);
        return status;
    }
    gpus->casts++;
    gpus->cast[gpus->cast_count++] = made;
    return CJ_OK;
}

static void uncast(cj_gpus *gpus, cj_ptr first, bool registered) {
    for (size_t i = 0; i < gpus->cast_count; i++) {
        cj_gpus_cast *one = &gpus->cast[i];
        if (one->own[0] != first || one->registered != registered) continue;
        cj_cpu_multicast_destroy(one->object);
        memmove(one, one + 1, (gpus->cast_count - i - 1) * sizeof *one);
        gpus->cast_count--;
        return;
    }
}

void cj__gpus_uncast_all(cj_gpus *gpus) {
    while (gpus->cast_count) uncast(gpus, gpus->cast[0].own[0], gpus->cast[0].registered);
}

static cj_status find_alike(const cj_gpus *gpus, const char *name, const cj_ptr *memory, uint64_t bytes, const cj_gpus_cast **found,
                            cj_error *error) {
    REFUSE_IF(!gpus->multicast, "%s: these GPUs have no multicast addresses" CJ_HINT "make the cj_gpus with the option multicast", name);
    const cj_gpus_cast *one = *found = find_cast(gpus, memory[0], bytes);
    REFUSE_IF(!one, "%s: %" PRIu64 " bytes at 0x%llx have no multicast address" CJ_HINT "take memory of cj_gpus_alloc, or register it", name,
              bytes, (unsigned long long)memory[0]);
    for (uint32_t r = 1; r < gpus->local; r++)
        REFUSE_IF(memory[r] - one->own[r] != memory[0] - one->own[0],
                  "%s: that of rank %" PRIu32 " is at another place of its memory than that of rank 0" CJ_HINT "take the same place on all ranks", name, r);
    return CJ_OK;
}

static cj_status cast_address(const cj_gpus *gpus, const char *name, const cj_ptr *memory, uint64_t bytes, cj_ptr *address, uint64_t *what,
                                cj_error *error) {
    const cj_gpus_cast *found = NULL;
    TRY(find_alike(gpus, name, memory, bytes, &found, error));
    const uint64_t offset = memory[0] - found->own[0];
    *address = found->address + offset;
    mix_place(what, found->number, offset);
    return CJ_OK;
}

cj_status cj_gpus_multicast(const cj_gpus *gpus, const cj_ptr *memory, cj_ptr *address, cj_error *error) {
    uint64_t what = 0;
    REQUIRE(gpus);
    REQUIRE(memory);
    REQUIRE(address);
    return cast_address(gpus, "memory", memory, 1, address, &what, error);
}

// ---- memory of each device

cj_status cj_gpus_alloc(cj_gpus *gpus, size_t bytes, cj_ptr *memory, cj_error *error) {
    REQUIRE(gpus);
    REQUIRE(memory);
    const size_t room = gpus->multicast && bytes <= SIZE_MAX - GRAIN ? (bytes + GRAIN - 1) / GRAIN * GRAIN : bytes;  // all of it has a multicast address
    memset(memory, 0, gpus->local * sizeof *memory);
    for (uint32_t i = 0; i < gpus->local; i++) {
        cj_status status = cj_mem_alloc(gpus->device[i], room, &memory[i], error);
        if (!status) continue;
        cj_gpus_free(gpus, memory);
        return status;
    }
    const cj_status status = cast(gpus, memory, room, false, error);
    if (status) cj_gpus_free(gpus, memory);
    return status;
}

void cj_gpus_free(cj_gpus *gpus, const cj_ptr *memory) {
    if (gpus && memory && memory[0]) uncast(gpus, memory[0], false);
    for (uint32_t i = 0; gpus && memory && i < gpus->local; i++)
        if (memory[i]) cj_mem_free(gpus->device[i], memory[i]);
}

// ---- registered

typedef struct offer {
    uint64_t bytes, number, offset;  // offset: from the allocation that the handle is of
    uint64_t process;
    cj_ptr   memory;                 // for ranks of the same process
    cj_ipc   shared;
    uint32_t status, is_shared, has_windows;
    char     message[256];
} offer;

typedef struct verdict {
    uint32_t reached;
    char     why[256];
} verdict;

// ---- what is registered

// The region in which the byte at `memory` lies, if `bytes` from there on do. The end of a region is not in it: there another one may begin.
static cj_gpus_region *find(const cj_gpus *gpus, cj_ptr memory, uint64_t bytes) {
    for (size_t i = 0; i < gpus->region_count; i++)
        if (holds(gpus->region[i].own[0], gpus->region[i].bytes, memory, bytes)) return &gpus->region[i];
    return NULL;
}

// Whether all arrays of this process lie at the same place of one region.
static bool is_alike(const cj_gpus *gpus, const cj_gpus_region *region, const cj_ptr *array) {
    for (uint32_t i = 1; i < gpus->local; i++)
        if (array[i] - region->own[i] != array[0] - region->own[0]) return false;
    return true;
}

bool cj__gpus_is_registered(const cj_gpus *gpus, const cj_ptr *array, uint64_t bytes) {
    const cj_gpus_region *region = find(gpus, array[0], bytes);
    return region && is_alike(gpus, region, array);
}

static cj_status check(const cj_gpus *gpus, const cj_ptr *memory, size_t bytes, cj_ptr *base, cj_error *error) {
    REFUSE_IF(!bytes, "bytes: 0 is below 1: there is nothing to register");
    for (uint32_t i = 0; i < gpus->local; i++) {
        cj_device *device = gpus->device[i];
        cj_error   why = {0};
        REFUSE_IF(memory[i] % 16, "memory of rank %" PRIu32 ": 0x%llx is no multiple of 16 bytes" CJ_HINT "register from such an address on",
                  gpus->first + i, (unsigned long long)memory[i]);
        REFUSE_IF(device->ops->locate(device, memory[i], bytes, &base[i], &why),
                  "memory of rank %" PRIu32 ": %.240s" CJ_HINT "register memory of the rank's own device, which one allocation holds",
                  gpus->first + i, why.message);
        for (size_t k = 0; k < gpus->region_count; k++) {
            const cj_gpus_region *one = &gpus->region[k];
            REFUSE_IF(memory[i] < one->own[i] + one->bytes && one->own[i] < memory[i] + bytes,
                      "memory of rank %" PRIu32 ": 0x%llx is registered already, in %zu bytes from 0x%llx on" CJ_HINT
                      "arrays may lie anywhere in registered memory: unregister that first, or leave this out",
                      gpus->first + i, (unsigned long long)memory[i], one->bytes, (unsigned long long)one->own[i]);
        }
    }
    return CJ_OK;
}

// Peer access reaches what cuMemAlloc gave, which is also what IPC shares; memory of cuMemCreate and of pools is neither.
static cj_status check_peers(const cj_gpus *gpus, const cj_ptr *base, cj_error *error) {
    cj_ipc   shared;
    cj_error why = {0};
    for (uint32_t i = 0; i < gpus->local; i++) {
        cj_device *device = gpus->device[i];
        FAIL_IF(device->ops->share && device->ops->share(device, base[i], &shared, &why), CJ_UNSUPPORTED,
                "memory of rank %" PRIu32 ": peers may not reach it: %.240s" CJ_HINT
                "allocate it with cj_mem_alloc, cudaMalloc or cuMemAlloc", gpus->first + i, why.message);
    }
    return CJ_OK;
}

// ---- among processes

static void make_offer(cj_gpus *gpus, const cj_gpus_region *made, cj_ptr base, cj_status status, const cj_error *failed,
                       offer *mine) {
    cj_device *device = gpus->device[0];
    cj_error   why = {0};
    memset(mine, 0, sizeof *mine);
    *mine = (offer){.bytes = made->bytes,
                    .number = made->number,
                    .process = gpus->process,
                    .memory = made->own[0],
                    .status = (uint32_t)status,
                    .has_windows = cj__nccl_has_windows(&gpus->nccl.library)};
    if (status) {
        snprintf(mine->message, sizeof mine->message, "%.250s", failed->message);
        return;
    }
    mine->offset = made->own[0] - base;
    mine->is_shared = !device->ops->share(device, base, &mine->shared, &why);
    if (!mine->is_shared) snprintf(mine->message, sizeof mine->message, "%.250s", why.message);
}

static cj_status compare(const offer *first, const offer *one, uint32_t rank, cj_error *error) {
    FAIL_IF(one->status, (cj_status)one->status, "rank %" PRIu32 " failed: %.255s", rank, one->message);
    REFUSE_IF(one->bytes != first->bytes, "rank %" PRIu32 " registers %" PRIu64 " bytes, rank 0 %" PRIu64 CJ_HINT
              "register the same size on all ranks", rank, one->bytes, first->bytes);
    REFUSE_IF(one->number != first->number, "rank %" PRIu32 " registers memory for the %" PRIu64 ". time, rank 0 for the %" PRIu64 "." CJ_HINT
              "register in the same order on all ranks", rank, one->number + 1, first->number + 1);
    return CJ_OK;
}

static cj_status open_one(cj_gpus *gpus, cj_gpus_region *made, const offer *other, uint32_t rank, cj_error *error) {
    cj_device *device = gpus->device[0];
    FAIL_IF(!other->is_shared, CJ_UNSUPPORTED, "it does not share its memory: %.200s", other->message);
    if (other->process == gpus->process) {  // cj_gpus_create_rank let it be reached
        made->at[rank] = other->memory;
        return CJ_OK;
    }
    TRY(device->ops->open_shared(device, &other->shared, &made->opened[rank], error));
    made->at[rank] = made->opened[rank] + other->offset;
    return CJ_OK;
}

static void open_all(cj_gpus *gpus, cj_gpus_region *made, const offer *all, verdict *mine) {
    *mine = (verdict){.reached = 1};
    for (uint32_t q = 0; q < gpus->count && mine->reached; q++) {
        cj_error why = {0};
        made->at[gpus->first] = made->own[0];
        if (q == gpus->first || !open_one(gpus, made, &all[q], q, &why)) continue;
        mine->reached = 0;
        snprintf(mine->why, sizeof mine->why, "rank %" PRIu32 " does not reach the memory of rank %" PRIu32 ": %.170s", gpus->first, q,
                 why.message);
    }
}

static void close_all(cj_gpus *gpus, cj_gpus_region *region) {
    for (uint32_t q = 0; q < gpus->count; q++)
        if (region->opened[q]) gpus->device[0]->ops->close_shared(gpus->device[0], region->opened[q]);
    memset(region->opened, 0, sizeof region->opened);
    if (region->window) gpus->nccl.library.CommWindowDeregister(gpus->nccl.comm, region->window);
    region->window = NULL;
}

// The same by a window of NCCL: it carries memory that IPC does not, such as that of cuMemCreate.
static cj_status open_window(cj_gpus *gpus, cj_gpus_region *made, verdict *mine, cj_error *error) {
    cj_nccl_ranks *n = &gpus->nccl;
    close_all(gpus, made);
    TRY(CJ_NCCL(n, error, CommWindowRegister, (n->comm, (void *)(uintptr_t)made->own[0], made->bytes, &made->window, CJ_NCCL_SYMMETRIC)));
    *mine = (verdict){.reached = 1};
    for (uint32_t q = 0; q < gpus->count; q++) {
        void *found = NULL;
        if (q == gpus->first) continue;
        TRY(CJ_NCCL(n, error, GetPeerDevicePointer, (made->window, 0, (int)q, &found)));
        made->at[q] = (cj_ptr)(uintptr_t)found;
        if (found || !mine->reached) continue;
        mine->reached = 0;
        snprintf(mine->why, sizeof mine->why, "rank %" PRIu32 " does not reach the memory of rank %" PRIu32 ", also by a window of NCCL",
                 gpus->first, q);
    }
    return CJ_OK;
}

static const verdict *first_unreached(const verdict *all, uint32_t count) {
    for (uint32_t q = 0; q < count; q++)
        if (!all[q].reached) return &all[q];
    return NULL;
}

static cj_status exchange_offers(cj_gpus *gpus, cj_gpus_region *made, const offer *mine, cj_error *error) {
    const cj_gpus_exchange *with = &gpus->exchange;
    offer                   all[CJ_GPUS_MAX];
    verdict                 own, verdicts[CJ_GPUS_MAX];
    bool                    has_windows = true;
    TRY(with->all_gather(with->user, mine, all, sizeof *mine, error));
    for (uint32_t q = 0; q < gpus->count; q++) {
        TRY(compare(&all[0], &all[q], q, error));
        has_windows = has_windows && all[q].has_windows;
    }
    open_all(gpus, made, all, &own);
    TRY(with->all_gather(with->user, &own, verdicts, sizeof own, error));
    const verdict *why = first_unreached(verdicts, gpus->count);
    if (why && has_windows) {
        cj_error failed = {0};
        if (open_window(gpus, made, &own, &failed)) {  // the others wait for this rank's verdict
            own.reached = 0;
            snprintf(own.why, sizeof own.why, "rank %" PRIu32 ": %.230s", gpus->first, failed.message);
        }
        TRY(with->all_gather(with->user, &own, verdicts, sizeof own, error));
        why = first_unreached(verdicts, gpus->count);
    }
    FAIL_IF(why, CJ_UNSUPPORTED, "%.255s" CJ_HINT "allocate it with cudaMalloc, or register it with a communicator of NCCL 2.29 or later: "
            "collectives go through mailboxes, or by NCCL, without that", why->why);
    return CJ_OK;
}

// ---- the public calls

static cj_status add(cj_gpus *gpus, const cj_gpus_region *made, cj_error *error) {
    void *list = gpus->region;
    TRY(cj__gpus_grow(&list, gpus->region_count, &gpus->region_room, sizeof *made, error));
    gpus->region = list;
    gpus->region[gpus->region_count++] = *made;
    cj__log(CJ_LOG_INFO, "rank %" PRIu32 " of %" PRIu32 " GPUs has registered %zu bytes, which all ranks reach%s", gpus->first, gpus->count,
            made->bytes, made->window ? " by a window of NCCL" : "");
    return CJ_OK;
}

cj_status cj_gpus_register(cj_gpus *gpus, const cj_ptr *memory, size_t bytes, cj_error *error) {
    REQUIRE(gpus);
    REQUIRE(memory);
    FAIL_IF(!gpus->mail, CJ_UNSUPPORTED, "%s" CJ_HINT "cj_gpus_run goes by NCCL, which needs no registration", gpus->unreached);
    cj_gpus_region made = {.bytes = bytes, .number = gpus->registrations++};
    cj_ptr         base[CJ_GPUS_MAX];
    cj_error       why = {0};
    memcpy(made.own, memory, gpus->local * sizeof *memory);
    cj_status status = check(gpus, memory, bytes, base, &why);
    if (gpus->exchange.all_gather) {
        offer mine;
        make_offer(gpus, &made, base[0], status, &why, &mine);
        const cj_status exchanged = exchange_offers(gpus, &made, &mine, status ? NULL : &why);  // the others hear of this rank's failure, too
        status = status ? status : exchanged;
    } else {
        if (!status) status = check_peers(gpus, base, &why);
        memcpy(made.at, memory, gpus->local * sizeof *memory);
    }
    if (!status) status = cast(gpus, memory, bytes, true, &why);
    const bool has_address = !status;
    if (!status) status = add(gpus, &made, &why);
    if (status && has_address) uncast(gpus, memory[0], true);
    if (status) close_all(gpus, &made);
    if (status && error) *error = why;
    return status;
}

// This rank's launches have ended, it has closed the memory of its peers, and so have the others theirs.
static cj_status leave(cj_gpus *gpus, cj_gpus_region *region, cj_error *error) {
    unsigned char mine = 1, all[CJ_GPUS_MAX];
    for (uint32_t i = 0; i < gpus->local; i++) TRY(gpus->device[i]->ops->settle(gpus->device[i], error));
    close_all(gpus, region);
    return gpus->exchange.all_gather ? gpus->exchange.all_gather(gpus->exchange.user, &mine, all, 1, error) : CJ_OK;
}

cj_status cj_gpus_unregister(cj_gpus *gpus, const cj_ptr *memory, cj_error *error) {
    REQUIRE(gpus);
    REQUIRE(memory);
    cj_gpus_region *region = find(gpus, memory[0], 0);
    for (uint32_t i = 0; i < gpus->local; i++)
        REFUSE_IF(!region || memory[i] != region->own[i],
                  "memory of rank %" PRIu32 ": 0x%llx is not where registered memory begins" CJ_HINT "give what cj_gpus_register was given",
                  gpus->first + i, (unsigned long long)memory[i]);
    const cj_status status = leave(gpus, region, error);
    uncast(gpus, memory[0], true);
    memmove(region, region + 1, (size_t)(gpus->region + gpus->region_count - region - 1) * sizeof *region);
    gpus->region_count--;
    return status;
}

void cj__gpus_close_regions(cj_gpus *gpus) {
    for (size_t i = 0; i < gpus->region_count; i++) close_all(gpus, &gpus->region[i]);
    cj__free(gpus->region);
    gpus->region = NULL;
    gpus->region_count = 0;
}

// ---- launches

static cj_status require_registered(const cj_gpus *gpus, const char *name, const cj_ptr *array, uint64_t bytes, cj_error *error) {
    const cj_gpus_region *region = find(gpus, array[0], bytes);
    REFUSE_IF(!region, "%s: %" PRIu64 " bytes at 0x%llx are not registered" CJ_HINT
              "register the memory with cj_gpus_register; CJ_GPUS_MEMORY_ANY and kernels of memory=mail do without", name, bytes,
              (unsigned long long)array[0]);
    REFUSE_IF(!is_alike(gpus, region, array), "%s: it lies at different places of the registered memory of this process's ranks" CJ_HINT
              "take the same place on all ranks", name);
    return CJ_OK;
}

// Where the array lies on each rank; mixes the place into *what.
static void addresses_of(const cj_gpus *gpus, const cj_ptr *array, cj_ptr *on, uint64_t *what) {
    const cj_gpus_region *region = find(gpus, array[0], 0);
    const uint64_t        offset = array[0] - region->own[0];
    for (uint32_t q = 0; q < gpus->count; q++) on[q] = region->at[q] + offset;
    mix_place(what, region->number, offset);
}

// The same, or the array's one multicast address; mixes the place into *what.
static cj_status find_array(const cj_gpus *gpus, bool multicast, const char *name, const cj_ptr *array, uint64_t bytes, cj_ptr *on,
                            uint64_t *what, cj_error *error) {
    if (multicast) return cast_address(gpus, name, array, bytes, on, what, error);
    TRY(require_registered(gpus, name, array, bytes, error));
    addresses_of(gpus, array, on, what);
    return CJ_OK;
}

cj_status cj__gpus_addresses(const cj_gpus *gpus, const cj_gpus_arrays *arrays, const cj_ptr *x, const cj_ptr *out, cj_gpus_addresses *found,
                             cj_error *error) {
    uint64_t what = UINT64_C(14695981039346656037);
    *found = (cj_gpus_addresses){.of_all_x = arrays->of_all_x, .of_all_out = arrays->of_all_out};
    const bool multicast = arrays->multicast;
    if (found->of_all_x) TRY(find_array(gpus, multicast, "x", x, arrays->x_bytes, found->x, &what, error));
    if (found->of_all_out) TRY(find_array(gpus, multicast, "out", out, arrays->out_bytes, found->out, &what, error));
    found->what = (uint32_t)(what ^ what >> 32);
    return CJ_OK;
}
