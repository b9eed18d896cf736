// SPDX-License-Identifier: Apache-2.0
// The typed call of the histogram: converts a description to the family's parameters.
#include <clusterjit/histogram.h>

#include "call.h"
#include "error.h"
#include "histogram/histogram.h"
#include "several.h"

enum { BINS = 256 };  // the default

static const char *const strategies[] = {[CJ_HISTOGRAM_OWNER] = "owner", [CJ_HISTOGRAM_REMOTE] = "remote"};

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_histogram_desc *desc = from;
    cj_status                status = cj__call_family(params, "histogram", error);
    if (!status) status = cj__call_extent(params, "n", desc->n, "count", error);
    if (!status) status = cj__call_number_or(params, "bins", desc->bins, BINS, error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = desc->counts ? cj__call_dtype(params, "counts", desc->counts, error) : CJ_OK;
    if (!status) status = cj__call_real(params, "lower", desc->lower, error);
    if (!status) status = cj__call_real(params, "upper", desc->upper, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status) status = cj__call_number(params, "cluster", desc->cluster, error);
    if (!status) status = cj__call_number(params, "grid", desc->grid, error);
    if (!status) status = cj__call_word(params, "strategy", WORDS(strategies), desc->strategy, error);
    return status;
}

static uint32_t count_bytes(const cj_histogram_desc *desc) {
    return desc->counts == CJ_U64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

static size_t counts_bytes(const cj_histogram_desc *desc) {
    return (size_t)(desc->bins ? desc->bins : BINS) * count_bytes(desc);
}

static cj_status check(const cj_histogram_desc *desc, cj_ptr x, cj_ptr counts, cj_error *error) {
    cj_status status = cj__call_array("x", x, (uint32_t)cj_dtype_size(desc->dtype), NULL, error);
    return status ? status : cj__call_array("counts", counts, count_bytes(desc), NULL, error);
}

// What overwrites the counts: a kernel that does so by itself where that is faster, else one that adds, after a fill.
static cj_status describe_run(const void *from, cj_params *params, cj_error *error) {
    const cj_status status = describe(from, params, error);
    return status ? status : cj_params_set(params, "result", "auto", error);
}

// The call's kernel adds. `set`: the one that overwrites; NULL: none.
typedef struct kept {
    cj_histogram_desc desc;
    cj_kernel        *set;
} kept;

struct cj_histogram {
    cj_call call;
    kept    kept;
};

_Static_assert(offsetof(struct cj_histogram, kept) == sizeof(cj_call), "what is kept is where the copy is");

// The kernel that overwrites, if there is one.
static cj_status create_set(cj_device *device, const cj_histogram_desc *desc, cj_kernel **set, cj_error *error) {
    cj_params params;
    cj_plan   plan;
    TRY(describe_run(desc, &params, error));
    TRY(cj_plan_make(&params, cj_device_limits(device), NULL, &plan, error));
    return cj__histogram_overwrites(&plan) ? cj_kernel_create(device, &params, set, error) : CJ_OK;
}

cj_status cj_histogram_create(cj_device *device, const cj_histogram_desc *desc, cj_histogram **made, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_histogram_desc, desc);
    REQUIRE(made);
    const kept copy = {.desc = *desc};  // a description is where it begins
    void      *handle;
    cj_status  status = cj__call_create(device, describe, &copy, sizeof copy, &handle, error);
    *made = handle;
    if (!status) status = create_set(device, desc, &(*made)->kept.set, error);
    if (!status) return CJ_OK;
    cj__call_destroy(*made);
    *made = NULL;
    return status;
}

void cj_histogram_destroy(cj_histogram *made) {
    if (made) cj_kernel_destroy(made->kept.set);
    cj__call_destroy(made);
}

const cj_kernel *cj_histogram_kernel(const cj_histogram *made) { return made ? made->call.kernel : NULL; }

static cj_status add(cj_kernel *kernel, uint64_t n, cj_ptr x, cj_ptr counts, cj_stream stream, cj_error *error) {
    void *arguments[] = {&x, &counts, &n};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

// `set`: a kernel that overwrites the counts, or NULL: they are zeroed, and `kernel` adds.
static cj_status run(cj_device *device, cj_kernel *kernel, cj_kernel *set, const cj_histogram_desc *desc, cj_ptr x,
                     cj_ptr counts, cj_stream stream, cj_error *error) {
    cj_status status = check(desc, x, counts, error);
    if (!status && !set) status = cj_mem_fill(device, counts, 0, counts_bytes(desc), stream, error);
    return status ? status : add(set ? set : kernel, desc->n, x, counts, stream, error);
}

cj_status cj_histogram_add(cj_histogram *histogram, cj_ptr x, cj_ptr counts, cj_stream stream, cj_error *error) {
    REQUIRE(histogram);
    cj_status status = check(&histogram->kept.desc, x, counts, error);
    return status ? status : add(histogram->call.kernel, histogram->kept.desc.n, x, counts, stream, error);
}

cj_status cj_histogram_run(cj_histogram *histogram, cj_ptr x, cj_ptr counts, cj_stream stream, cj_error *error) {
    REQUIRE(histogram);
    return run(histogram->call.device, histogram->call.kernel, histogram->kept.set, &histogram->kept.desc, x, counts,
               stream, error);
}

// ---- of several GPUs

cj_status cj__histogram_describe(const cj_histogram_desc *desc, cj_params *params, cj_error *error) {
    return describe_run(desc, params, error);
}

cj_status cj__histogram_run(cj_device *device, cj_kernel *kernel, const cj_histogram_desc *desc, cj_ptr x, cj_ptr counts, cj_stream stream,
                            cj_error *error) {
    return run(device, kernel, cj__histogram_overwrites(cj_kernel_plan(kernel)) ? kernel : NULL, desc, x, counts, stream, error);
}

// ---- one call

typedef struct CALL_KEY call_key {
    uint64_t n, bins;
    double   lower, upper;
    uint32_t dtype, counts, block, cluster, grid, strategy;
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_histogram_desc *d) {
    return (call_key){.n = d->n,
                      .bins = d->bins,
                      .lower = d->lower,
                      .upper = d->upper,
                      .dtype = (uint32_t)d->dtype,
                      .counts = (uint32_t)d->counts,
                      .block = d->block,
                      .cluster = d->cluster,
                      .grid = d->grid,
                      .strategy = (uint32_t)d->strategy};
}

cj_status cj_histogram_launch(cj_device *device, const cj_histogram_desc *desc, cj_ptr x, cj_ptr counts,
                              cj_stream stream, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_histogram_desc, desc);
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe_run, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : cj__histogram_run(device, kernel, desc, x, counts, stream, error);
}
