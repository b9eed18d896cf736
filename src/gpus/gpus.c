// SPDX-License-Identifier: Apache-2.0
// Several devices of one process: their mailboxes, and launches on all of them.
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
#include "together.h"

_Static_assert(CJ_GPUS_MAX == CJ_BOX_GPUS && CJ_GPUS_MAX <= CJ_TOGETHER_MAX, "a box has a hello of each GPU");

enum { MAIL_BYTES = 8 << 20, MAIL_LEAST = 1024, MAIL_MOST = 1 << 30, LIMIT = 1 << 25, SETS = 2 };

// ---- memory

cj_status cj_gpus_alloc(cj_gpus *gpus, size_t bytes, cj_ptr *memory, cj_error *error) {
    REQUIRE(gpus);
    REQUIRE(memory);
    memset(memory, 0, gpus->count * sizeof *memory);
    for (uint32_t r = 0; r < gpus->count; r++) {
        cj_status status = cj_mem_alloc(gpus->device[r], bytes, &memory[r], error);
        if (!status) continue;
        cj_gpus_free(gpus, memory);
        return status;
    }
    return CJ_OK;
}

void cj_gpus_free(cj_gpus *gpus, const cj_ptr *memory) {
    for (uint32_t r = 0; gpus && memory && r < gpus->count; r++)
        if (memory[r]) cj_mem_free(gpus->device[r], memory[r]);
}

// ---- beginning and end

// Each device reaches all others, and has a box of zeros.
static cj_status connect(cj_gpus *gpus, cj_error *error) {
    for (uint32_t r = 0; r < gpus->count; r++) {
        cj_device *device = gpus->device[r];
        for (uint32_t q = 0; q < gpus->count; q++) {
            if (q == r) continue;
            FAIL_IF(!device->ops->reach || device->ops != gpus->device[q]->ops, CJ_UNSUPPORTED,
                    "rank %" PRIu32 " is a device of kind %s, rank %" PRIu32 " of kind %s" CJ_HINT
                    "give devices of one kind", r, cj_device_kind(device), q, cj_device_kind(gpus->device[q]));
            TRY(device->ops->reach(device, gpus->device[q], error));
        }
    }
    const size_t bytes = CJ_BOX_MAIL + SETS * (size_t)gpus->mail_bytes;
    TRY(cj_gpus_alloc(gpus, bytes, gpus->box, error));
    for (uint32_t r = 0; r < gpus->count; r++) {
        TRY(cj_mem_fill(gpus->device[r], gpus->box[r], 0, bytes, NULL, error));
        TRY(cj_synchronize(gpus->device[r], NULL, error));
    }
    return CJ_OK;
}

cj_status cj_gpus_create(cj_device *const *device, uint32_t count, const cj_gpus_options *options, cj_gpus **gpus,
                         cj_error *error) {
    REQUIRE(device);
    REQUIRE(gpus);
    *gpus = NULL;
    SIZED_OR_NULL(cj_gpus_options, options);
    REFUSE_IF(count < 2 || count > CJ_GPUS_MAX, "count: %" PRIu32 " devices work together, but 2 to %d can" CJ_HINT
              "give each device once", count, CJ_GPUS_MAX);
    for (uint32_t r = 0; r < count; r++) REQUIRE(device[r]);
    const uint64_t mail = options && options->mail_bytes ? options->mail_bytes : MAIL_BYTES;
    const uint64_t limit = options && options->limit ? options->limit : LIMIT;
    REFUSE_IF(mail < MAIL_LEAST || mail > MAIL_MOST || mail % MAIL_LEAST,
              "mail_bytes: %" PRIu64 " is no multiple of %d from %d to %d" CJ_HINT "0 is %d", mail, MAIL_LEAST, MAIL_LEAST,
              MAIL_MOST, MAIL_BYTES);
    REFUSE_IF(limit > UINT32_MAX, "limit: %" PRIu64 " is above 2^32 - 1" CJ_HINT "0 is 2^25", limit);
    cj_gpus *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for %" PRIu32 " GPUs", count);
    *made = (cj_gpus){.count = count, .mail_bytes = mail, .limit = limit};
    memcpy(made->device, device, count * sizeof *device);
    const cj_status status = connect(made, error);
    if (status)
        cj_gpus_destroy(made);
    else
        *gpus = made;
    return status;
}

void cj_gpus_destroy(cj_gpus *gpus) {
    if (!gpus) return;
    for (size_t i = 0; i < gpus->loaded_count; i++)
        for (uint32_t r = 0; r < gpus->count; r++) cj_kernel_destroy(gpus->loaded[i].kernel[r]);
    cj_gpus_free(gpus, gpus->box);
    cj__free(gpus->loaded);
    cj__free(gpus);
}

uint32_t   cj_gpus_count(const cj_gpus *gpus) { return gpus ? gpus->count : 0; }
cj_device *cj_gpus_device(const cj_gpus *gpus, uint32_t rank) {
    return gpus && rank < gpus->count ? gpus->device[rank] : NULL;
}

// ---- what went wrong

// Of all reports that with the largest cause: a rank that came with something else is why others wait.
cj_status cj_gpus_check(cj_gpus *gpus, cj_error *error) {
    REQUIRE(gpus);
    uint32_t worst = 0, by = 0;
    for (uint32_t r = 0; r < gpus->count; r++) {
        uint32_t failed = 0;
        TRY(cj_mem_read(gpus->device[r], &failed, gpus->box[r] + CJ_BOX_FAILED, sizeof failed, NULL, error));
        TRY(cj_synchronize(gpus->device[r], NULL, error));
        if (failed > worst) worst = failed, by = r;
    }
    gpus->failed = gpus->failed || worst;
    REFUSE_IF(worst >> 8 == CJ_BOX_DIFFERS,
              "rank %" PRIu32 " came with another description than rank %" PRIu32 CJ_HINT
              "give all ranks the same operation, type, count and options", worst & 255, by);
    FAIL_IF(worst, CJ_DRIVER,
            "rank %" PRIu32 " did not come: rank %" PRIu32 " looked %" PRIu64 " times for its message" CJ_HINT
            "see what that rank does instead; or raise the limit", worst & 255, by, gpus->limit);
    return CJ_OK;
}

// ---- launches

// Arguments of one rank: its arrays, the boxes, rank and limit.
enum { ARGUMENTS = CJ_GPUS_ARRAYS + CJ_GPUS_MAX + 2 };
typedef struct arguments {
    uint64_t value[ARGUMENTS];
    void    *pointer[ARGUMENTS];
    uint32_t count;
} arguments;

static void add(arguments *a, uint64_t value) {
    a->value[a->count] = value;
    a->pointer[a->count] = &a->value[a->count];
    a->count++;
}

static void fill(const cj_gpus *gpus, uint32_t rank, const cj_ptr *const *array, uint32_t arrays, arguments *a) {
    a->count = 0;
    for (uint32_t i = 0; i < arrays; i++) add(a, array[i][rank]);
    for (uint32_t q = 0; q < gpus->count; q++) add(a, gpus->box[q]);
    add(a, rank);
    add(a, gpus->limit);
}

cj_status cj_gpus_launch(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, const cj_ptr *x, const cj_ptr *out,
                         const cj_stream *stream, cj_error *error) {
    REFUSE_IF(!x != !out, "x and out: one of them is NULL" CJ_HINT "give both, or none for a barrier");
    return cj_gpus_launch_arrays(gpus, kernel, count, x ? (const cj_ptr *[]){x, out} : NULL, x ? 2 : 0, stream, error);
}

cj_status cj_gpus_launch_arrays(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, const cj_ptr *const *array,
                                uint32_t arrays, const cj_stream *stream, cj_error *error) {
    REQUIRE(gpus);
    REQUIRE(kernel);
    REFUSE_IF(arrays > CJ_GPUS_ARRAYS, "arrays: %" PRIu32 " are more than %d", arrays, CJ_GPUS_ARRAYS);
    for (uint32_t i = 0; i < arrays; i++) {
        REQUIRE(array);
        REQUIRE(array[i]);
    }
    REFUSE_IF(!count || count > gpus->count, "count: %" PRIu32 " kernels for %" PRIu32 " devices" CJ_HINT
              "give one a device", count, gpus->count);
    FAIL_IF(gpus->failed, CJ_DRIVER, "an earlier launch of these %" PRIu32 " GPUs failed" CJ_HINT
            "cj_gpus_check says how; make a new cj_gpus", gpus->count);
    arguments        given[CJ_GPUS_MAX];
    cj_ready         ready[CJ_GPUS_MAX];
    cj_launch_config config[CJ_GPUS_MAX];
    for (uint32_t r = 0; r < count; r++) {
        REQUIRE(kernel[r]);
        REFUSE_IF(cj__kernel_device(kernel[r]) != gpus->device[r],
                  "the kernel of rank %" PRIu32 " was loaded on another device" CJ_HINT "load it on that of the rank", r);
        fill(gpus, r, array, arrays, &given[r]);
        TRY(cj__kernel_ready(kernel[r], stream ? stream[r] : NULL, given[r].pointer, given[r].count, &ready[r], error));
        config[r] = ready[r].config;
    }
    return cj__launch_together(config, count, gpus->device, gpus->count, error);
}
