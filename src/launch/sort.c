// SPDX-License-Identifier: Apache-2.0
// The typed call of the sort: converts a description to the family's parameters.
#include <clusterjit/sort.h>

#include "call.h"
#include "error.h"

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_sort_desc *desc = from;
    cj_status           status = cj__call_family(params, "sort", error);
    if (status) return status;
    if (!desc->columns) return cj__fail(error, CJ_INVALID_ARGUMENT, "columns: 0 is below 1: there is nothing to sort");
    status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number(params, "rows", desc->rows, error);
    if (!status) status = cj__call_number(params, "columns", desc->columns, error);
    if (!status) status = cj__call_number(params, "stride", desc->stride, error);
    if (!status) status = cj__call_cluster(params, desc->cluster, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status && desc->descending) status = cj_params_set(params, "order", "descending", error);
    if (!status && desc->values_only && desc->indices_only)
        status = cj__fail(error, CJ_INVALID_ARGUMENT, "values_only, indices_only: both are set, so nothing would be written");
    if (!status && desc->values_only) status = cj_params_set(params, "result", "values", error);
    if (!status && desc->indices_only) status = cj_params_set(params, "result", "indices", error);
    if (!status && desc->index_u32) status = cj_params_set(params, "index", "u32", error);
    return status;
}

CALL_HANDLE(cj_sort)

static cj_status run(cj_kernel *kernel, const cj_sort_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                     cj_stream stream, cj_error *error) {
    const uint32_t element = (uint32_t)cj_dtype_size(desc->dtype);
    const uint32_t index = desc->index_u32 ? sizeof(uint32_t) : sizeof(int64_t);
    cj_status      status = cj__call_array("x", x, element, NULL, error);
    if (!status && !desc->indices_only) status = cj__call_array("values", values, element, NULL, error);
    if (!status && !desc->values_only) status = cj__call_array("indices", indices, index, NULL, error);
    if (status) return status;
    void *arguments[] = {&x, &values, &indices};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

cj_status cj_sort_run(cj_sort *sort, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream, cj_error *error) {
    REQUIRE(sort);
    return run(sort->call.kernel, &sort->desc, x, values, indices, stream, error);
}

typedef struct CALL_KEY call_key {
    uint64_t rows, columns, stride;
    uint32_t dtype, cluster, block;
    uint8_t  descending, values_only, indices_only, index_u32;
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_sort_desc *d) {
    return (call_key){.rows = d->rows,
                      .columns = d->columns,
                      .stride = d->stride,
                      .dtype = (uint32_t)d->dtype,
                      .cluster = d->cluster,
                      .block = d->block,
                      .descending = d->descending,
                      .values_only = d->values_only,
                      .indices_only = d->indices_only,
                      .index_u32 = d->index_u32};
}

cj_status cj_sort_launch(cj_device *device, const cj_sort_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                         cj_stream stream, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_sort_desc, desc);
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : run(kernel, desc, x, values, indices, stream, error);
}
