// SPDX-License-Identifier: Apache-2.0
// Several devices: their mailboxes, and what went wrong on them.
#include <clusterjit/gpus.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocate.h"
#include "box.h"
#include "device.h"
#include "error.h"
#include "gpus_state.h"
#include "sized.h"

_Static_assert(CJ_GPUS_MAX == CJ_BOX_GPUS && CJ_GPUS_MAX <= CJ_TOGETHER_MAX, "a box has a hello of each GPU");

enum { MAIL_BYTES = 8 << 20, MAIL_LEAST = 1024, MAIL_MOST = 1 << 30, TIMEOUT_MS = 60000 };

// Polls until a thread gives up: some 20 s on a GPU. The CPU device executes a poll in some 9 us, so that it takes 10 s (Xeon, November 2026).
enum { LIMIT_GPU = 1 << 25, LIMIT_CPU = 1 << 20 };

static uint64_t default_limit(const cj_device *device) { return strcmp(cj_device_kind(device), "cpu") ? LIMIT_GPU : LIMIT_CPU; }

// ---- boxes

size_t cj__gpus_box_bytes(const cj_gpus *gpus) { return CJ_BOX_MAIL + CJ_BOX_SETS * (size_t)gpus->mail_bytes + CJ_BOX_FLAGS; }

cj_status cj__gpus_make_box(cj_gpus *gpus, uint32_t index, cj_error *error) {
    const size_t bytes = cj__gpus_box_bytes(gpus);
    cj_ptr      *box = &gpus->box[gpus->first + index];
    TRY(cj_mem_alloc(gpus->device[index], bytes, box, error));
    TRY(cj_mem_fill(gpus->device[index], *box, 0, bytes, NULL, error));
    return cj_synchronize(gpus->device[index], NULL, error);
}

// ---- beginning and end

// Each device reaches all others, and has a box of zeros.
static cj_status connect(cj_gpus *gpus, cj_error *error) {
    for (uint32_t r = 0; r < gpus->count; r++) {
        cj_device *device = gpus->device[r];
        gpus->reach[r] = r ? CJ_GPUS_REACH_PEER : CJ_GPUS_REACH_OWN;
        for (uint32_t q = 0; q < gpus->count; q++) {
            if (q == r) continue;
            FAIL_IF(!device->ops->reach || device->ops != gpus->device[q]->ops, CJ_UNSUPPORTED,
                    "rank %" PRIu32 " is a device of kind %s, rank %" PRIu32 " of kind %s" CJ_HINT
                    "give devices of one kind",
                    r, cj_device_kind(device), q, cj_device_kind(gpus->device[q]));
            TRY(device->ops->reach(device, gpus->device[q], error));
        }
    }
    for (uint32_t r = 0; r < gpus->count; r++) TRY(cj__gpus_make_box(gpus, r, error));
    gpus->mail = true;
    return CJ_OK;
}

cj_status cj__gpus_make(const cj_device *device, const cj_gpus_options *options, cj_gpus **made, cj_error *error) {
    const uint64_t mail = options && options->mail_bytes ? options->mail_bytes : MAIL_BYTES;
    const uint64_t limit = options && options->limit ? options->limit : default_limit(device);
    REFUSE_IF(mail < MAIL_LEAST || mail > MAIL_MOST || mail % MAIL_LEAST,
              "mail_bytes: %" PRIu64 " is no multiple of %d from %d to %d" CJ_HINT "0 is %d", mail, MAIL_LEAST,
              MAIL_LEAST, MAIL_MOST, MAIL_BYTES);
    REFUSE_IF(limit > UINT32_MAX, "limit: %" PRIu64 " is above 2^32 - 1" CJ_HINT "0 is %" PRIu64, limit, default_limit(device));
    FAIL_IF(options && options->multicast && strcmp(cj_device_kind(device), "cpu") != 0, CJ_UNSUPPORTED,
            "multicast: NVLink multicast is not used on GPUs: this device is %s" CJ_HINT "leave it out; it is for CPU devices", device->limits.name);
    *made = cj__calloc(1, sizeof **made);
    if (!*made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a cj_gpus");
    (*made)->mail_bytes = mail;
    (*made)->limit = limit;
    (*made)->multicast = options && options->multicast;
    (*made)->timeout_ms = options && options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;
    return CJ_OK;
}

cj_status cj_gpus_create(cj_device *const *device, uint32_t count, const cj_gpus_options *options, cj_gpus **gpus,
                         cj_error *error) {
    cj_gpus *made;
    REQUIRE(device);
    REQUIRE(gpus);
    *gpus = NULL;
    SIZED_OR_NULL(cj_gpus_options, options);
    REFUSE_IF(count < 2 || count > CJ_GPUS_MAX,
              "count: %" PRIu32 " devices work together, but 2 to %d can" CJ_HINT "give a device for each rank; one device needs no cj_gpus", count,
              CJ_GPUS_MAX);
    for (uint32_t r = 0; r < count; r++)
        REFUSE_IF(!device[r], "device: that of rank %" PRIu32 " of %" PRIu32 " is NULL" CJ_HINT "give an open device for each rank", r, count);
    TRY(cj__gpus_make(device[0], options, &made, error));
    made->count = made->local = count;
    memcpy(made->device, device, count * sizeof *device);
    cj_status status = cj__gpus_check_multicast(made, error);
    if (!status) status = connect(made, error);
    if (status)
        cj_gpus_destroy(made);
    else
        *gpus = made;
    return status;
}

// The boxes of other processes are closed before the ranks part, the own ones are freed after that.
static void free_boxes(cj_gpus *gpus) {
    for (uint32_t r = 0; r < gpus->count && r < CJ_GPUS_MAX; r++)
        if (gpus->reach[r] == CJ_GPUS_REACH_IPC) gpus->device[0]->ops->close_shared(gpus->device[0], gpus->box[r]);
    cj__bootstrap_close(gpus->bootstrap, !gpus->failed);
    for (uint32_t i = 0; i < gpus->local && gpus->first + i < CJ_GPUS_MAX; i++)
        cj_mem_free(gpus->device[i], gpus->box[gpus->first + i]);
}

void cj_gpus_destroy(cj_gpus *gpus) {
    if (!gpus) return;
    for (size_t i = 0; i < gpus->loaded_count; i++)
        for (uint32_t r = 0; r < gpus->local; r++) cj_kernel_destroy(gpus->loaded[i].kernel[r]);
    cj__gpus_destroy_products(gpus);
    cj__gpus_close_regions(gpus);
    cj__gpus_uncast_all(gpus);
    free_boxes(gpus);
    cj__nccl_end(&gpus->nccl);
    cj__free(gpus->loaded);
    cj__free(gpus->agreed);
    cj__free(gpus->cast);
    cj__free(gpus);
}

uint32_t   cj_gpus_count(const cj_gpus *gpus) { return gpus ? gpus->count : 0; }
cj_device *cj_gpus_device(const cj_gpus *gpus, uint32_t rank) {
    return gpus && rank >= gpus->first && rank - gpus->first < gpus->local ? gpus->device[rank - gpus->first] : NULL;
}

// ---- what went wrong

enum { FAILED_WORDS = (CJ_BOX_HELLO - CJ_BOX_FAILED) / sizeof(uint32_t) };  // the report, then words that nobody writes

// No kernel reports such a thing: something else has written there.
static cj_status check_report(const cj_gpus *gpus, uint32_t by, const uint32_t *word, cj_error *error) {
    const uint32_t cause = word[0] >> 8, rank = word[0] & 255;
    const bool     is_report = !word[0] || ((cause == CJ_BOX_ABSENT || cause == CJ_BOX_DIFFERS) && rank < gpus->count);
    uint32_t       other = is_report ? 1 : 0;
    while (is_report && other < FAILED_WORDS && !word[other]) other++;
    FAIL_IF(other < FAILED_WORDS, CJ_DRIVER,
            "the mailbox of rank %" PRIu32 " was overwritten: at byte %zu of it is 0x%08" PRIx32 ", which no kernel of these GPUs writes" CJ_HINT
            "something wrote beyond its memory, or to memory that had been freed on another rank: compute-sanitizer may find it",
            by, other * sizeof *word, word[other]);
    return CJ_OK;
}

// Of all reports that with the largest cause: a rank that came with something else is why others wait.
cj_status cj_gpus_check(cj_gpus *gpus, cj_error *error) {
    REQUIRE(gpus);
    uint32_t  worst = 0, by = 0;
    cj_status status = CJ_OK;
    for (uint32_t i = 0; i < gpus->local && gpus->mail && !status; i++) {
        uint32_t word[FAILED_WORDS] = {0};
        TRY(cj_mem_read(gpus->device[i], word, gpus->box[gpus->first + i] + CJ_BOX_FAILED, sizeof word, NULL, error));
        TRY(cj_synchronize(gpus->device[i], NULL, error));
        status = check_report(gpus, gpus->first + i, word, error);
        if (word[0] > worst) worst = word[0], by = gpus->first + i;
    }
    gpus->failed = gpus->failed || worst || status;
    if (status) return status;
    REFUSE_IF(worst >> 8 == CJ_BOX_DIFFERS,
              "rank %" PRIu32 " came with another description than rank %" PRIu32 CJ_HINT
              "give all ranks the same operation, type, count and options",
              worst & 255, by);
    FAIL_IF(worst, CJ_DRIVER,
            "rank %" PRIu32 " did not come: rank %" PRIu32 " looked %" PRIu64 " times for its message" CJ_HINT
            "see what that rank does instead; or raise the limit",
            worst & 255, by, gpus->limit);
    return gpus->nccl.comm ? cj__gpus_check_nccl(gpus, error) : CJ_OK;
}
