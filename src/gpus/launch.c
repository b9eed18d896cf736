// SPDX-License-Identifier: Apache-2.0
// Launches on all devices of this process: a kernel's arrays, then what each kernel of GPUs is given.
#include <inttypes.h>

#include "device.h"
#include "error.h"
#include "family.h"
#include "gpus_state.h"
#include "together.h"

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

// A kernel stores to as many boxes as its text has GPUs, and as far in them as its mail.
static cj_status check_kernel(const cj_gpus *gpus, const cj_kernel *kernel, uint32_t rank, cj_error *error) {
    const cj_params *params = &cj_kernel_plan(kernel)->params;
    REFUSE_IF(!params->family->mail, "the kernel of rank %" PRIu32 " is of the family %s, which is of one GPU" CJ_HINT
              "give a kernel of allreduce, allreducenorm or another family of several GPUs", rank, params->family->name);
    REFUSE_IF(params->value[0] != gpus->count, "gpus: the kernel of rank %" PRIu32 " is of %" PRIu64 " GPUs, and these are %" PRIu32 CJ_HINT
              "load it with gpus=%" PRIu32, rank, params->value[0], gpus->count, gpus->count);
    REFUSE_IF(params->value[params->family->mail] != gpus->mail_bytes,
              "mail: the kernel of rank %" PRIu32 " is of boxes with %" PRIu64 " bytes of mail, and these have %" PRIu64 CJ_HINT
              "load it with mail=%" PRIu64 ", or make the cj_gpus with that mail_bytes", rank, params->value[params->family->mail],
              gpus->mail_bytes, gpus->mail_bytes);
    return CJ_OK;
}

cj_status cj__gpus_check_failed(const cj_gpus *gpus, cj_error *error) {
    FAIL_IF(gpus->failed, CJ_DRIVER, "an earlier launch of these %" PRIu32 " GPUs failed" CJ_HINT "cj_gpus_check says how; make a new cj_gpus",
            gpus->count);
    return CJ_OK;
}

cj_status cj__gpus_check_ranks(const cj_gpus *gpus, cj_error *error) {
    FAIL_IF(!gpus->mail, CJ_UNSUPPORTED, "%s" CJ_HINT "fused calls, and kernels that a program launches, need GPUs that all reach each other; "
            "of the collectives cj_gpus_run goes by NCCL, and with it cj_gpus_reduce, cj_gpus_histogram and the products", gpus->unreached);
    return cj__gpus_check_failed(gpus, error);
}

static cj_status check_launch(const cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, cj_error *error) {
    REQUIRE(gpus);
    REQUIRE(kernel);
    REFUSE_IF(!count || count > gpus->local,
              "count: %" PRIu32 " kernels for %" PRIu32 " devices" CJ_HINT "give one a device", count, gpus->local);
    TRY(cj__gpus_check_ranks(gpus, error));
    for (uint32_t r = 0; r < count; r++) {
        REQUIRE(kernel[r]);
        REFUSE_IF(cj__kernel_device(kernel[r]) != gpus->device[r],
                  "the kernel of rank %" PRIu32 " was loaded on another device" CJ_HINT "load it on that of the rank",
                  gpus->first + r);
        TRY(check_kernel(gpus, kernel[r], gpus->first + r, error));
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

// The kernels of registered arrays: x and out of all ranks where they are reached, or their multicast address, else the rank's own.
static cj_status launch_direct(cj_gpus *gpus, cj_kernel *const *kernel, uint32_t count, const cj_gpus_arrays *arrays, const cj_ptr *x,
                               const cj_ptr *out, const cj_stream *stream, cj_error *error) {
    arguments         given[CJ_GPUS_MAX];
    cj_gpus_addresses at;
    TRY(check_launch(gpus, kernel, count, error));
    TRY(cj__gpus_addresses(gpus, arrays, x, out, &at, error));
    const uint32_t each = arrays->multicast ? 1 : gpus->count;  // addresses for the arrays of all
    for (uint32_t r = 0; r < count; r++) {
        given[r].count = 0;
        for (uint32_t q = 0; q < (at.of_all_x ? each : 1); q++) add(&given[r], at.of_all_x ? at.x[q] : x[r]);
        for (uint32_t q = 0; q < (at.of_all_out ? each : 1); q++) add(&given[r], at.of_all_out ? at.out[q] : out[r]);
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
