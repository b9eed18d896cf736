// SPDX-License-Identifier: Apache-2.0
// Several devices: their mailboxes, and launches on all of this process.
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

enum { MAIL_BYTES = 8 << 20, MAIL_LEAST = 1024, MAIL_MOST = 1 << 30, LIMIT = 1 << 25, TIMEOUT_MS = 60000 };

// ---- memory

cj_status cj_gpus_alloc(cj_gpus *gpus, size_t bytes, cj_ptr *memory, cj_error *error) {
    REQUIRE(gpus);
    REQUIRE(memory);
    memset(memory, 0, gpus->local * sizeof *memory);
    for (uint32_t i = 0; i < gpus->local; i++) {
        cj_status status = cj_mem_alloc(gpus->device[i], bytes, &memory[i], error);
        if (!status) continue;
        cj_gpus_free(gpus, memory);
        return status;
    }
    return CJ_OK;
}

void cj_gpus_free(cj_gpus *gpus, const cj_ptr *memory) {
    for (uint32_t i = 0; gpus && memory && i < gpus->local; i++)
        if (memory[i]) cj_mem_free(gpus->device[i], memory[i]);
}

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

cj_status cj__gpus_make(const cj_gpus_options *options, cj_gpus **made, cj_error *error) {
    const uint64_t mail = options && options->mail_bytes ? options->mail_bytes : MAIL_BYTES;
    const uint64_t limit = options && options->limit ? options->limit : LIMIT;
    REFUSE_IF(mail < MAIL_LEAST || mail > MAIL_MOST || mail % MAIL_LEAST,
              "mail_bytes: %" PRIu64 " is no multiple of %d from %d to %d" CJ_HINT "0 is %d", mail, MAIL_LEAST,
              MAIL_LEAST, MAIL_MOST, MAIL_BYTES);
    REFUSE_IF(limit > UINT32_MAX, "limit: %" PRIu64 " is above 2^32 - 1" CJ_HINT "0 is 2^25", limit);
    *made = cj__calloc(1, sizeof **made);
    if (!*made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a cj_gpus");
    (*made)->mail_bytes = mail;
    (*made)->limit = limit;
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
              "count: %" PRIu32 " devices work together, but 2 to %d can" CJ_HINT "give each device once", count,
              CJ_GPUS_MAX);
    for (uint32_t r = 0; r < count; r++) REQUIRE(device[r]);
    TRY(cj__gpus_make(options, &made, error));
    made->count = made->local = count;
    memcpy(made->device, device, count * sizeof *device);
    const cj_status status = connect(made, error);
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
    free_boxes(gpus);
    cj__nccl_end(&gpus->nccl);
    cj__free(gpus->loaded);
    cj__free(gpus->agreed);
    cj__free(gpus);
}

uint32_t   cj_gpus_count(const cj_gpus *gpus) { return gpus ? gpus->count : 0; }
cj_device *cj_gpus_device(const cj_gpus *gpus, uint32_t rank) {
    return gpus && rank >= gpus->first && rank - gpus->first < gpus->local ? gpus->device[rank - gpus->first] : NULL;
}

// ---- what went wrong

// Of all reports that with the largest cause: a rank that came with something else is why others wait.
cj_status cj_gpus_check(cj_gpus *gpus, cj_error *error) {
    REQUIRE(gpus);
    uint32_t worst = 0, by = 0;
    for (uint32_t i = 0; i < gpus->local && gpus->mail; i++) {
        uint32_t failed = 0;
        TRY(cj_mem_read(gpus->device[i], &failed, gpus->box[gpus->first + i] + CJ_BOX_FAILED, sizeof failed, NULL,
                        error));
        TRY(cj_synchronize(gpus->device[i], NULL, error));
        if (failed > worst) worst = failed, by = gpus->first + i;
    }
    gpus->failed = gpus->failed || worst;
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

// ---- launches

// Arguments of one rank: its arrays, the boxes, rank and limit.
enum { ARGUMENTS = 3 * CJ_GPUS_MAX + CJ_GPUS_ARRAYS + 3 };
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

// What each kernel is given after its arrays, of the i-th rank of this process.
static void add_boxes(const cj_gpus *gpus, uint32_t i, arguments *a) {
    for (uint32_t q = 0; q < gpus->count; q++) add(a, gpus->box[q]);
    add(a, gpus->first + i);
    add(a, gpus->limit);
}

static cj_status check_launch(const cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, cj_error *error) {
    REQUIRE(gpus);
    REQUIRE(kernel);
    REFUSE_IF(!count || count > gpus->local,
              "count: %" PRIu32 " kernels for %" PRIu32 " devices" CJ_HINT "give one a device", count, gpus->local);
    FAIL_IF(!gpus->mail, CJ_UNSUPPORTED, "%s" CJ_HINT "cj_gpus_run goes by NCCL", gpus->unreached);
    FAIL_IF(gpus->failed, CJ_DRIVER,
            "an earlier launch of these %" PRIu32 " GPUs failed" CJ_HINT "cj_gpus_check says how; make a new cj_gpus",
            gpus->count);
    for (uint32_t r = 0; r < count; r++) {
        REQUIRE(kernel[r]);
        REFUSE_IF(cj__kernel_device(kernel[r]) != gpus->device[r],
                  "the kernel of rank %" PRIu32 " was loaded on another device" CJ_HINT "load it on that of the rank",
                  gpus->first + r);
    }
    return CJ_OK;
}

static cj_status launch_all(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, arguments *given, const cj_stream *stream,
                            cj_error *error) {
    cj_ready         ready[CJ_GPUS_MAX];
    cj_launch_config config[CJ_GPUS_MAX];
    for (uint32_t r = 0; r < count; r++) {
        add_boxes(gpus, r, &given[r]);
        TRY(cj__kernel_ready(kernel[r], stream ? stream[r] : NULL, given[r].pointer, given[r].count, &ready[r], error));
        config[r] = ready[r].config;
    }
    return cj__launch_together(config, count, gpus->device, gpus->local, error);
}

cj_status cj_gpus_launch_arrays(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, const cj_ptr *const *array,
                                uint32_t arrays, const cj_stream *stream, cj_error *error) {
    arguments given[CJ_GPUS_MAX];
    TRY(check_launch(gpus, kernel, count, error));
    REFUSE_IF(arrays > CJ_GPUS_ARRAYS, "arrays: %" PRIu32 " are more than %d", arrays, CJ_GPUS_ARRAYS);
    for (uint32_t k = 0; k < arrays; k++) {
        REQUIRE(array);
        REQUIRE(array[k]);
    }
    for (uint32_t r = 0; r < count; r++) {
        given[r].count = 0;
        for (uint32_t k = 0; k < arrays; k++) add(&given[r], array[k][r]);
    }
    return launch_all(gpus, kernel, count, given, stream, error);
}

// The kernels of registered arrays: x and out of all ranks where they are reached, else the rank's own.
static cj_status launch_direct(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, const cj_gpus_arrays *arrays, const cj_ptr *x,
                               const cj_ptr *out, const cj_stream *stream, cj_error *error) {
    arguments         given[CJ_GPUS_MAX];
    cj_gpus_addresses at;
    TRY(check_launch(gpus, kernel, count, error));
    TRY(cj__gpus_addresses(gpus, arrays, x, out, &at, error));
    for (uint32_t r = 0; r < count; r++) {
        given[r].count = 0;
        for (uint32_t q = 0; q < (at.of_all_x ? gpus->count : 1); q++) add(&given[r], at.of_all_x ? at.x[q] : x[r]);
        for (uint32_t q = 0; q < (at.of_all_out ? gpus->count : 1); q++) add(&given[r], at.of_all_out ? at.out[q] : out[r]);
        add(&given[r], at.what);
    }
    return launch_all(gpus, kernel, count, given, stream, error);
}

cj_status cj_gpus_launch(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, const cj_ptr *x, const cj_ptr *out,
                         const cj_stream *stream, cj_error *error) {
    REFUSE_IF(!x != !out, "x and out: one of them is NULL" CJ_HINT "give both, or none for a barrier");
    REQUIRE(gpus);
    REQUIRE(kernel);
    REQUIRE(kernel[0]);
    const cj_gpus_arrays arrays = cj__gpus_arrays(cj_kernel_plan(kernel[0]));
    if (arrays.direct) {
        REQUIRE(x);
        return launch_direct(gpus, kernel, count, &arrays, x, out, stream, error);
    }
    return cj_gpus_launch_arrays(gpus, kernel, count, x ? (const cj_ptr *[]){x, out} : NULL, x ? 2 : 0, stream, error);
}
