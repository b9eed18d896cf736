// SPDX-License-Identifier: Apache-2.0
// The typed call of top-k: converts a description to the family's parameters.
#include <clusterjit/topk.h>

#include "call.h"
#include "error.h"
#include "several.h"

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_topk_desc *desc = from;
    cj_status           status = cj__call_family(params, "topk", error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number_or(params, "rows", desc->rows, 1, error);
    if (!status) status = cj__call_extent(params, "columns", desc->columns, "choose from", error);
    if (!status) status = cj__call_extent(params, "k", desc->k, "choose", error);
    if (!status) status = cj__call_number(params, "stride", desc->stride, error);
    if (!status) status = cj__call_number(params, "align", desc->align, error);
    if (!status) status = cj__call_cluster(params, desc->cluster, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status && desc->smallest) status = cj_params_set(params, "order", "smallest", error);
    if (!status && desc->kth && desc->unsorted)
        status = cj__fail(error, CJ_INVALID_ARGUMENT, "unsorted, kth: both are set, but the k-th alone has no order");
    if (!status && desc->kth) status = cj_params_set(params, "result", "kth", error);
    if (!status && desc->unsorted) status = cj_params_set(params, "result", "any", error);
    if (!status && desc->index_u32) status = cj_params_set(params, "index", "u32", error);
    return status;
}

CALL_HANDLE(cj_topk)

cj_status cj__topk_run(cj_kernel *kernel, const cj_topk_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                       cj_stream stream, cj_error *error) {
    const uint32_t element = (uint32_t)cj_dtype_size(desc->dtype), align = cj__call_align(desc->align, desc->dtype);
    const uint32_t index = desc->index_u32 ? sizeof(uint32_t) : sizeof(int64_t);
    cj_status      status = cj__call_array("x", x, align, "say in align what it is a multiple of", error);
    if (!status) status = cj__call_array("values", values, element, NULL, error);
    if (!status) status = cj__call_array("indices", indices, index, NULL, error);
    if (status) return status;
    void *arguments[] = {&x, &values, &indices};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

cj_status cj_topk_run(cj_topk *topk, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream, cj_error *error) {
    REQUIRE(topk);
    return cj__topk_run(topk->call.kernel, &topk->desc, x, values, indices, stream, error);
}

// ---- of several GPUs

cj_status cj__topk_describe(const cj_topk_desc *desc, cj_params *params, cj_error *error) { return describe(desc, params, error); }

// ---- one call

typedef struct CALL_KEY call_key {
    uint64_t rows, columns, stride;
    uint32_t k, dtype, align, cluster, block;
    uint8_t  smallest, kth, index_u32, unsorted;
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_topk_desc *d) {
    return (call_key){.rows = d->rows,
                      .columns = d->columns,
                      .stride = d->stride,
                      .k = d->k,
                      .dtype = (uint32_t)d->dtype,
                      .align = d->align,
                      .cluster = d->cluster,
                      .block = d->block,
                      .smallest = d->smallest,
                      .kth = d->kth,
                      .index_u32 = d->index_u32,
                      .unsorted = d->unsorted};
}

cj_status cj_topk_launch(cj_device *device, const cj_topk_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                         cj_stream stream, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_topk_desc, desc);
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : cj__topk_run(kernel, desc, x, values, indices, stream, error);
}
