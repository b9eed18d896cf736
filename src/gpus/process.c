// SPDX-License-Identifier: Apache-2.0
// One process a GPU: ranks introduce themselves, open each other's boxes, and tell each other whether that worked.
//
//     own box  -->  introduction: the rank, what was asked, the box's handle  --all_gather-->  the boxes of the others
//                   verdict: whether this rank reaches all, and why not  --all_gather-->  mail, or NCCL, or an error
//
// What fails on one rank before an exchange goes into what it tells, so that the others end with an error that names it, too.
#include "system.h"

#include <clusterjit/gpus.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocate.h"
#include "device.h"
#include "error.h"
#include "gpus_state.h"
#include "hash.h"
#include "log.h"
#include "sized.h"

typedef struct introduction {
    char     magic[8];
    uint32_t version;  // of the library: what kernels and this structure are like
    uint32_t rank, size, limit;
    uint64_t mail_bytes;
    uint64_t host, process;
    cj_ptr   box;  // these two: for ranks of the same process
    uint64_t device;
    cj_ipc   shared;
    uint32_t status, is_shared;
    char     name[64];      // of the host
    char     message[256];  // what went wrong on this rank; or why it shares no box
} introduction;

typedef struct verdict {
    uint32_t status, reached;
    char     why[256];
} verdict;

static const char magic[8] = "cjgpus1";

enum { VERSION = CJ_VERSION_MAJOR * 1000000 + CJ_VERSION_MINOR * 1000 + CJ_VERSION_PATCH };

// ---- this rank

static uint64_t mix(uint64_t seed, const void *from, size_t bytes) {
    const unsigned char *at = from;
    for (size_t i = 0; i < bytes; i++) seed = (seed ^ at[i]) * UINT64_C(1099511628211);
    return seed;
}

// Containers of one machine are one host: their IPC works, or fails and says so.
static uint64_t host_of(const char *name) {
    char          boot[64] = "";
    const int     file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? 0 : read(file, boot, sizeof boot);
    if (file >= 0) close(file);
    return got > 0 ? mix(14695981039346656037u, boot, (size_t)got) : mix(14695981039346656037u, name, strlen(name));
}

// Processes of different containers may have the same number.
static uint64_t process_of(void) {
    struct stat    space = {0};
    const uint64_t number = (uint64_t)getpid();
    if (stat("/proc/self/ns/pid", &space)) space.st_ino = 0;
    const uint64_t inode = (uint64_t)space.st_ino;
    return mix(mix(14695981039346656037u, &number, sizeof number), &inode, sizeof inode);
}

static cj_status make_box(cj_gpus *gpus, introduction *mine, cj_error *error) {
    cj_device *device = gpus->device[0];
    cj_error   why = {0};
    TRY(cj__gpus_make_box(gpus, 0, error));
    mine->box = gpus->box[gpus->first];
    mine->is_shared = !device->ops->share(device, mine->box, &mine->shared, &why);
    if (!mine->is_shared) snprintf(mine->message, sizeof mine->message, "%.250s", why.message);
    return CJ_OK;
}

static void introduce(cj_gpus *gpus, introduction *mine, cj_error *error) {
    memset(mine, 0, sizeof *mine);
    memcpy(mine->magic, magic, sizeof magic);
    mine->version = VERSION;
    mine->rank = gpus->first;
    mine->size = gpus->count;
    mine->limit = (uint32_t)gpus->limit;
    mine->mail_bytes = gpus->mail_bytes;
    if (gethostname(mine->name, sizeof mine->name - 1)) strcpy(mine->name, "unknown");
    mine->host = host_of(mine->name);
    mine->process = gpus->process = process_of();
    mine->device = (uintptr_t)gpus->device[0];
    if (gpus->count > CJ_GPUS_MAX) return;  // none has a box
    cj_error why = {0};
    mine->status = (uint32_t)make_box(gpus, mine, &why);
    if (!mine->status) return;
    snprintf(mine->message, sizeof mine->message, "%.250s", why.message);
    if (error) *error = why;
}

// ---- the other ranks

static cj_status check(const introduction *first, const introduction *one, uint32_t rank, cj_error *error) {
    REFUSE_IF(memcmp(one->magic, magic, sizeof magic) || one->version != VERSION || one->version != first->version,
              "rank %" PRIu32 " came with another version of clusterjit than this %s" CJ_HINT
              "install the same one for all ranks",
              rank, cj_version());
    REFUSE_IF(one->rank != rank,
              "rank %" PRIu32 "'s place in the exchange has what rank %" PRIu32 " gave" CJ_HINT
              "all_gather puts what ranks give in the order of ranks",
              rank, one->rank);
    REFUSE_IF(one->size != first->size,
              "rank %" PRIu32 " came with size %" PRIu32 ", rank 0 with %" PRIu32 CJ_HINT
              "give all ranks the same size",
              rank, one->size, first->size);
    REFUSE_IF(one->mail_bytes != first->mail_bytes,
              "rank %" PRIu32 " came with mail_bytes %" PRIu64 ", rank 0 with %" PRIu64 CJ_HINT
              "give all ranks the same options",
              rank, one->mail_bytes, first->mail_bytes);
    REFUSE_IF(one->limit != first->limit,
              "rank %" PRIu32 " came with limit %" PRIu32 ", rank 0 with %" PRIu32 CJ_HINT
              "give all ranks the same options",
              rank, one->limit, first->limit);
    FAIL_IF(one->status, (cj_status)one->status, "rank %" PRIu32 " failed: %.255s", rank, one->message);
    return CJ_OK;
}

static cj_status open_box(cj_gpus *gpus, const introduction *mine, const introduction *other, cj_error *error) {
    cj_device     *device = gpus->device[0];
    const uint32_t rank = other->rank;
    FAIL_IF(other->host != mine->host, CJ_UNSUPPORTED, "it is on the host %.63s, this one on %.63s", other->name,
            mine->name);
    if (other->process == mine->process) {
        TRY(device->ops->reach(device, (cj_device *)(uintptr_t)other->device, error));
        gpus->box[rank] = other->box;
        gpus->reach[rank] = CJ_GPUS_REACH_PEER;
        return CJ_OK;
    }
    FAIL_IF(!other->is_shared, CJ_UNSUPPORTED, "it does not share its mailbox: %.200s", other->message);
    TRY(device->ops->open_shared(device, &other->shared, &gpus->box[rank], error));
    gpus->reach[rank] = CJ_GPUS_REACH_IPC;
    return CJ_OK;
}

static void open_boxes(cj_gpus *gpus, const introduction *all, verdict *mine) {
    memset(mine, 0, sizeof *mine);
    mine->reached = gpus->count <= CJ_GPUS_MAX;
    if (!mine->reached)
        snprintf(mine->why, sizeof mine->why, "there are %" PRIu32 " ranks, and mailboxes serve %d at most",
                 gpus->count, CJ_GPUS_MAX);
    for (uint32_t q = 0; q < gpus->count && mine->reached; q++) {
        cj_error why = {0};
        if (q == gpus->first || !open_box(gpus, &all[gpus->first], &all[q], &why)) continue;
        mine->reached = 0;
        snprintf(mine->why, sizeof mine->why, "rank %" PRIu32 " does not reach rank %" PRIu32 ": %.180s", gpus->first,
                 q, why.message);
    }
}

static cj_status judge(cj_gpus *gpus, const verdict *all, cj_error *error) {
    gpus->mail = true;
    for (uint32_t q = 0; q < gpus->count; q++) {
        FAIL_IF(all[q].status, (cj_status)all[q].status, "rank %" PRIu32 " failed: %.255s", q, all[q].why);
        if (all[q].reached || !gpus->mail) continue;
        gpus->mail = false;
        memcpy(gpus->unreached, all[q].why, sizeof gpus->unreached);
        gpus->unreached[sizeof gpus->unreached - 1] = '\0';
    }
    FAIL_IF(!gpus->mail && !gpus->nccl.library.version, CJ_UNSUPPORTED,
            "%s" CJ_HINT
            "GPUs that NVLink or PCIe peer access joins on one node reach each other; others work together by NCCL: "
            "cj_gpus_create_nccl",
            gpus->unreached);
    return CJ_OK;
}

static cj_status exchange_boxes(cj_gpus *gpus, const cj_gpus_exchange *exchange, introduction *rank, verdict *reached,
                                cj_error *error) {
    introduction mine;
    verdict      opened;
    cj_error     own = {0};
    introduce(gpus, &mine, &own);
    TRY(exchange->all_gather(exchange->user, &mine, rank, sizeof mine, error));
    if (mine.status) {
        if (error) *error = own;
        return (cj_status)mine.status;
    }
    for (uint32_t q = 0; q < gpus->count; q++) TRY(check(&rank[0], &rank[q], q, error));
    open_boxes(gpus, rank, &opened);
    TRY(exchange->all_gather(exchange->user, &opened, reached, sizeof opened, error));
    return judge(gpus, reached, error);
}

static void tell(const cj_gpus *gpus) {
    if (gpus->mail)
        cj__log(CJ_LOG_INFO,
                "rank %" PRIu32 " of %" PRIu32 " GPUs reaches the mailboxes of all, of %" PRIu64 " bytes a set%s",
                gpus->first, gpus->count, gpus->mail_bytes,
                gpus->nccl.library.version ? "; larger arrays go by NCCL" : "");
    else
        cj__log(CJ_LOG_INFO, "rank %" PRIu32 " of %" PRIu32 " GPUs works by NCCL alone: %s", gpus->first, gpus->count,
                gpus->unreached);
}

static cj_status check_kind(const cj_device *device, cj_error *error) {
    REFUSE_IF(!device->ops->share,
              "%s is of kind %s, whose memory other processes do not reach" CJ_HINT
              "give CPU devices to cj_gpus_create, in one process",
              device->limits.name, device->ops->kind);
    return CJ_OK;
}

cj_status cj__gpus_join(cj_gpus *gpus, cj_device *device, const cj_gpus_exchange *exchange, cj_error *error) {
    TRY(check_kind(device, error));
    gpus->count = exchange->size;
    gpus->first = exchange->rank;
    gpus->local = 1;
    gpus->device[0] = device;
    gpus->exchange = *exchange;
    if (gpus->first < CJ_GPUS_MAX) gpus->reach[gpus->first] = CJ_GPUS_REACH_OWN;
    introduction *rank = cj__calloc(gpus->count, sizeof *rank);
    verdict      *reached = cj__calloc(gpus->count, sizeof *reached);
    cj_status     status = rank && reached ? exchange_boxes(gpus, exchange, rank, reached, error)
                                           : cj__fail(error, CJ_OUT_OF_MEMORY,
                                                      "no memory for the introductions of %" PRIu32 " ranks", gpus->count);
    cj__free(rank);
    cj__free(reached);
    if (!status) tell(gpus);
    return status;
}

// ---- the public calls

static cj_status end(cj_gpus *made, cj_status status, cj_gpus **gpus) {
    if (status)
        cj_gpus_destroy(made);
    else
        *gpus = made;
    return status;
}

cj_status cj_gpus_create_rank(cj_device *device, const cj_gpus_exchange *exchange, const cj_gpus_options *options,
                              cj_gpus **gpus, cj_error *error) {
    cj_gpus *made;
    REQUIRE(device);
    REQUIRE(gpus);
    *gpus = NULL;
    SIZED(cj_gpus_exchange, exchange);
    SIZED_OR_NULL(cj_gpus_options, options);
    REQUIRE(exchange->all_gather);
    REFUSE_IF(exchange->size < 2 || exchange->size > CJ_GPUS_MAX,
              "size: %" PRIu32 " ranks work together, but 2 to %d can" CJ_HINT
              "more than that work by NCCL: cj_gpus_create_nccl",
              exchange->size, CJ_GPUS_MAX);
    REFUSE_IF(exchange->rank >= exchange->size, "rank: %" PRIu32 " is not below size %" PRIu32, exchange->rank,
              exchange->size);
    TRY(cj__gpus_make(device, options, &made, error));
    return end(made, cj__gpus_join(made, device, exchange, error), gpus);
}

static cj_status join_by_nccl(cj_gpus *gpus, cj_device *device, void *communicator, cj_error *error) {
    TRY(cj__nccl_load(&gpus->nccl.library, error));
    TRY(cj__nccl_ask(&gpus->nccl, communicator, device, error));
    gpus->nccl.timeout_ms = gpus->timeout_ms;
    const cj_gpus_exchange exchange = {CJ_INIT(exchange), .rank = gpus->nccl.rank, .size = gpus->nccl.size,
                                       .all_gather = cj__nccl_all_gather, .user = &gpus->nccl};
    return cj__gpus_join(gpus, device, &exchange, error);
}

cj_status cj_gpus_create_nccl(cj_device *device, void *communicator, const cj_gpus_options *options, cj_gpus **gpus,
                              cj_error *error) {
    cj_gpus *made;
    REQUIRE(device);
    REQUIRE(communicator);
    REQUIRE(gpus);
    *gpus = NULL;
    SIZED_OR_NULL(cj_gpus_options, options);
    TRY(cj__gpus_make(device, options, &made, error));
    return end(made, join_by_nccl(made, device, communicator, error), gpus);
}

cj_status cj_gpus_create_env(cj_device *device, const cj_gpus_options *options, cj_gpus **gpus, cj_error *error) {
    cj_gpus         *made;
    cj_gpus_exchange exchange = {CJ_INIT(exchange), .all_gather = cj__bootstrap_all_gather};
    REQUIRE(device);
    REQUIRE(gpus);
    *gpus = NULL;
    SIZED_OR_NULL(cj_gpus_options, options);
    TRY(check_kind(device, error));  // before it waits for anybody
    TRY(cj__gpus_make(device, options, &made, error));
    cj_status status = cj__bootstrap_open(made->timeout_ms, &made->bootstrap, &exchange.rank, &exchange.size, error);
    exchange.user = made->bootstrap;
    if (!status && exchange.size > CJ_GPUS_MAX)
        status = cj__fail(error, CJ_UNSUPPORTED,
                          "size: %" PRIu32 " ranks work together, but 2 to %d can" CJ_HINT
                          "more than that work by NCCL: cj_gpus_create_nccl",
                          exchange.size, CJ_GPUS_MAX);
    if (!status) status = cj__gpus_join(made, device, &exchange, error);
    return end(made, status, gpus);
}
