// SPDX-License-Identifier: Apache-2.0
// The histogram as a typed call: a description becomes the family's parameters.
#include <clusterjit/histogram.h>
#include <string.h>

#include "call.h"
#include "error.h"

struct cj_histogram {
    cj_kernel *kernel;
    cj_device *device;
    uint64_t   n;
    size_t     bytes;  // of the counts
};

enum { BINS = 256 };  // the default

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_histogram_desc *desc = from;
    cj_status                status = cj__call_family(params, "histogram", error);
    if (!status && !desc->n) return cj__fail(error, CJ_INVALID_ARGUMENT, "n: 0 is below 1: there is nothing to count");
    if (!status) status = cj__call_number(params, "n", desc->n, error);
    if (!status) status = cj__call_number(params, "bins", desc->bins ? desc->bins : BINS, error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = desc->counts ? cj__call_dtype(params, "counts", desc->counts, error) : CJ_OK;
    if (!status) status = cj__call_real(params, "lower", desc->lower, error);
    if (!status) status = cj__call_real(params, "upper", desc->upper, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status) status = cj__call_number(params, "cluster", desc->cluster, error);
    if (!status) status = cj__call_number(params, "grid", desc->grid, error);
    return status;
}

static size_t counts_bytes(const cj_histogram_desc *desc) {
    return (size_t)(desc->bins ? desc->bins : BINS) * (desc->counts == CJ_U64 ? sizeof(uint64_t) : sizeof(uint32_t));
}

cj_status cj_histogram_create(cj_device *device, const cj_histogram_desc *desc, cj_histogram **histogram,
                              cj_error *error) {
    void     *made;
    cj_status status = cj__call_create(device, describe, desc, sizeof **histogram, &made, error);
    *histogram = made;
    if (!made) return status;
    (*histogram)->device = device;
    (*histogram)->n = desc->n;
    (*histogram)->bytes = counts_bytes(desc);
    return CJ_OK;
}

void cj_histogram_destroy(cj_histogram *histogram) { cj__call_destroy(histogram); }

static cj_status add(cj_kernel *kernel, cj_ptr x, cj_ptr counts, uint64_t n, cj_stream stream, cj_error *error) {
    void *arguments[] = {&x, &counts, &n};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

cj_status cj_histogram_add(cj_histogram *histogram, cj_ptr x, cj_ptr counts, cj_stream stream, cj_error *error) {
    return add(histogram->kernel, x, counts, histogram->n, stream, error);
}

cj_status cj_histogram_run(cj_histogram *histogram, cj_ptr x, cj_ptr counts, cj_stream stream, cj_error *error) {
    cj_status status = cj_mem_fill(histogram->device, counts, 0, histogram->bytes, stream, error);
    return status ? status : cj_histogram_add(histogram, x, counts, stream, error);
}

const cj_kernel *cj_histogram_kernel(const cj_histogram *histogram) { return histogram->kernel; }

// What the kernel of a one-call histogram depends on.
typedef struct call_key {
    const void  *family;
    cj_stream_id on;
    uint64_t     n, bins;
    double       lower, upper;
    uint32_t     dtype, counts, block, cluster, grid;
} call_key;

_Static_assert(sizeof(call_key) <= CJ_WARM_KEY, "the key fits");

static void write_key(const cj_histogram_desc *desc, cj_stream stream, cj_warm_key *to) {
    static const char family;  // no other family's keys begin with this address
    call_key          key;
    memset(&key, 0, sizeof key);
    key.family = &family;
    key.on = cj__stream_id(stream);
    key.n = desc->n;
    key.bins = desc->bins;
    key.lower = desc->lower;
    key.upper = desc->upper;
    key.dtype = (uint32_t)desc->dtype;
    key.counts = (uint32_t)desc->counts;
    key.block = desc->block;
    key.cluster = desc->cluster;
    key.grid = desc->grid;
    cj__call_key(to, &key, sizeof key);
}

cj_status cj_histogram_launch(cj_device *device, const cj_histogram_desc *desc, cj_ptr x, cj_ptr counts,
                              cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    cj_warm_key key;
    cj_kernel  *kernel;
    write_key(desc, stream, &key);
    cj_status status = cj__call_kernel(device, &key, describe, desc, stream, &kernel, error);
    if (!status) status = cj_mem_fill(device, counts, 0, counts_bytes(desc), stream, error);
    return status ? status : add(kernel, x, counts, desc->n, stream, error);
}
