// SPDX-License-Identifier: Apache-2.0
// The typed call of the sort: converts a description to the family's parameters.
#include <clusterjit/sort.h>

#include "call.h"
#include "error.h"

static bool has_offsets(const cj_sort_desc *desc) { return desc->offsets != (cj_dtype)0; }

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_sort_desc *desc = from;
    cj_status           status = cj__call_family(params, "sort", error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number_or(params, "rows", desc->rows, 1, error);
    if (!status) status = cj__call_extent(params, "columns", desc->columns, "sort", error);
    if (!status) status = cj__call_number(params, "stride", desc->stride, error);
    if (!status) status = cj__call_cluster(params, desc->cluster, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status && desc->descending) status = cj_params_set(params, "order", "descending", error);
    if (!status && desc->values_only && desc->indices_only)
        status = cj__fail(error, CJ_INVALID_ARGUMENT, "values_only, indices_only: both are set, so nothing would be written");
    if (!status && desc->values_only) status = cj_params_set(params, "result", "values", error);
    if (!status && desc->indices_only) status = cj_params_set(params, "result", "indices", error);
    if (!status && desc->index_u32) status = cj_params_set(params, "index", "u32", error);
    if (!status && has_offsets(desc) && desc->offsets != CJ_I32 && desc->offsets != CJ_I64)
        status = cj__fail(error, CJ_INVALID_ARGUMENT, "offsets: %s is neither i32 nor i64", cj_dtype_name(desc->offsets));
    if (!status && has_offsets(desc)) status = cj_params_set(params, "segments", cj_dtype_name(desc->offsets), error);
    return status;
}

CALL_HANDLE(cj_sort)

// The arrays of a launch; `offsets` of segments.
typedef struct arrays {
    cj_ptr x, values, indices, offsets;
    bool   segmented;
} arrays;

static cj_status refuse_offsets(const arrays *a, cj_error *error) {
    if (a->segmented) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "offsets: the description does not say that there are segments");
        cj__hint(error, "set offsets in the description: CJ_I32 or CJ_I64");
    } else {
        cj__fail(error, CJ_INVALID_ARGUMENT, "offsets: the description says that rows are segments");
        cj__hint(error, "give the offsets to the call that ends in _segmented");
    }
    return CJ_INVALID_ARGUMENT;
}

static cj_status run(cj_kernel *kernel, const cj_sort_desc *desc, arrays a, cj_stream stream, cj_error *error) {
    if (a.segmented != has_offsets(desc)) return refuse_offsets(&a, error);
    const uint32_t element = (uint32_t)cj_dtype_size(desc->dtype);
    const uint32_t index = desc->index_u32 ? sizeof(uint32_t) : sizeof(int64_t);
    cj_status      status = cj__call_array("x", a.x, element, NULL, error);
    if (!status && !desc->indices_only) status = cj__call_array("values", a.values, element, NULL, error);
    if (!status && !desc->values_only) status = cj__call_array("indices", a.indices, index, NULL, error);
    if (!status && a.segmented)
        status = cj__call_array("offsets", a.offsets, (uint32_t)cj_dtype_size(desc->offsets), NULL, error);
    if (status) return status;
    void *arguments[] = {&a.x, &a.values, &a.indices, &a.offsets};
    return cj_kernel_launch(kernel, stream, arguments, a.segmented ? 4 : 3, error);
}

cj_status cj_sort_run(cj_sort *sort, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream, cj_error *error) {
    REQUIRE(sort);
    return run(sort->call.kernel, &sort->desc, (arrays){.x = x, .values = values, .indices = indices}, stream, error);
}

cj_status cj_sort_run_segmented(cj_sort *sort, cj_ptr x, cj_ptr offsets, cj_ptr values, cj_ptr indices, cj_stream stream,
                                cj_error *error) {
    REQUIRE(sort);
    const arrays all = {.x = x, .values = values, .indices = indices, .offsets = offsets, .segmented = true};
    return run(sort->call.kernel, &sort->desc, all, stream, error);
}

typedef struct CALL_KEY call_key {
    uint64_t rows, columns, stride;
    uint32_t dtype, cluster, block;
    uint8_t  descending, values_only, indices_only, index_u32, offsets;
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
                      .index_u32 = d->index_u32,
                      .offsets = cj__call_u8(d->offsets)};
}

static cj_status launch(cj_device *device, const cj_sort_desc *desc, arrays a, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_sort_desc, desc);
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : run(kernel, desc, a, stream, error);
}

cj_status cj_sort_launch(cj_device *device, const cj_sort_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                         cj_stream stream, cj_error *error) {
    return launch(device, desc, (arrays){.x = x, .values = values, .indices = indices}, stream, error);
}

cj_status cj_sort_launch_segmented(cj_device *device, const cj_sort_desc *desc, cj_ptr x, cj_ptr offsets, cj_ptr values,
                                   cj_ptr indices, cj_stream stream, cj_error *error) {
    const arrays all = {.x = x, .values = values, .indices = indices, .offsets = offsets, .segmented = true};
    return launch(device, desc, all, stream, error);
}
