// SPDX-License-Identifier: Apache-2.0
// The typed call of the sort: converts a description to the family's parameters.
#include <clusterjit/sort.h>

#include "call.h"
#include "error.h"

static bool has_offsets(const cj_sort_desc *desc) { return desc->offsets != (cj_dtype)0; }

static cj_status describe_result(const cj_sort_desc *desc, cj_params *params, cj_error *error) {
    if (!desc->values_only && !desc->indices_only) return CJ_OK;
    if (desc->values_only && desc->indices_only && !desc->payload_bytes)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "values_only, indices_only: both are set, so nothing would be written");
    return cj_params_set(params, "result",
                         !desc->indices_only  ? "values"
                         : !desc->values_only ? "indices"
                                              : "neither",
                         error);
}

static cj_status describe_payload(const cj_sort_desc *desc, cj_params *params, cj_error *error) {
    static const char *const words[] = {[0] = "none", [1] = "b8", [2] = "b16", [4] = "b32", [8] = "b64"};
    const char *word = desc->payload_bytes < sizeof words / sizeof *words ? words[desc->payload_bytes] : NULL;
    if (!word)
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "payload_bytes: %u is none of 1, 2, 4, 8" CJ_HINT "0 stands for no payload",
                        desc->payload_bytes);
    const cj_status status = cj_params_set(params, "payload", word, error);
    return status ? status : cj__call_number(params, "payload-stride", desc->payload_stride, error);
}

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
    if (!status) status = describe_result(desc, params, error);
    if (!status && desc->index_u32) status = cj_params_set(params, "index", "u32", error);
    if (!status && has_offsets(desc) && desc->offsets != CJ_I32 && desc->offsets != CJ_I64)
        status = cj__fail(error, CJ_INVALID_ARGUMENT, "offsets: %s is neither i32 nor i64", cj_dtype_name(desc->offsets));
    if (!status && has_offsets(desc)) status = cj_params_set(params, "segments", cj_dtype_name(desc->offsets), error);
    if (!status) status = cj__call_number(params, "elements", desc->elements, error);
    if (!status) status = describe_payload(desc, params, error);
    return status;
}

CALL_HANDLE(cj_sort)

// What a call gives: `segmented` and `paired` say which arrays it takes, as a description must say, too.
typedef struct given {
    cj_sort_arrays arrays;
    bool           segmented, paired;
} given;

static cj_status refuse_offsets(bool segmented, bool paired, cj_error *error) {
    if (segmented) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "offsets: the description does not say that there are segments");
        cj__hint(error, "set offsets in the description: CJ_I32 or CJ_I64");
    } else {
        cj__fail(error, CJ_INVALID_ARGUMENT, "offsets: the description says that rows are segments");
        cj__hint(error, paired ? "set the arrays' offsets" : "give the offsets to the call that ends in _segmented");
    }
    return CJ_INVALID_ARGUMENT;
}

static cj_status refuse_payload(bool paired, cj_error *error) {
    if (paired) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "payload: the description does not say that there is one");
        cj__hint(error, "set payload_bytes in the description: 1, 2, 4 or 8");
    } else {
        cj__fail(error, CJ_INVALID_ARGUMENT, "payload: the description says that there is one");
        cj__hint(error, "give the payload to the call that ends in _pairs");
    }
    return CJ_INVALID_ARGUMENT;
}

static cj_status check_arrays(const cj_sort_desc *desc, const cj_sort_arrays *a, cj_error *error) {
    const uint32_t element = (uint32_t)cj_dtype_size(desc->dtype);
    const uint32_t index = desc->index_u32 ? sizeof(uint32_t) : sizeof(int64_t);
    cj_status      status = cj__call_array("x", a->x, element, NULL, error);
    if (!status && !desc->indices_only) status = cj__call_array("values", a->values, element, NULL, error);
    if (!status && !desc->values_only) status = cj__call_array("indices", a->indices, index, NULL, error);
    if (!status && has_offsets(desc))
        status = cj__call_array("offsets", a->offsets, (uint32_t)cj_dtype_size(desc->offsets), NULL, error);
    if (!status && desc->payload_bytes)
        status = cj__call_array("payload", a->payload, desc->payload_bytes, NULL, error);
    if (!status && desc->payload_bytes)
        status = cj__call_array("sorted_payload", a->sorted_payload, desc->payload_bytes, NULL, error);
    return status;
}

static cj_status run(cj_kernel *kernel, const cj_sort_desc *desc, given g, cj_stream stream, cj_error *error) {
    cj_sort_arrays *a = &g.arrays;
    if (g.paired != (desc->payload_bytes > 0)) return refuse_payload(g.paired, error);
    if (g.segmented != has_offsets(desc)) return refuse_offsets(g.segmented, g.paired, error);
    const cj_status status = check_arrays(desc, a, error);
    if (status) return status;
    void    *arguments[6] = {&a->x, &a->values, &a->indices};
    uint32_t count = 3;
    if (g.segmented) arguments[count++] = &a->offsets;
    if (g.paired) arguments[count++] = &a->payload, arguments[count++] = &a->sorted_payload;
    return cj_kernel_launch(kernel, stream, arguments, count, error);
}

static given rows_of(cj_ptr x, cj_ptr values, cj_ptr indices) {
    return (given){.arrays = {.x = x, .values = values, .indices = indices}};
}

static given segments_of(cj_ptr x, cj_ptr offsets, cj_ptr values, cj_ptr indices) {
    return (given){.arrays = {.x = x, .offsets = offsets, .values = values, .indices = indices}, .segmented = true};
}

static given pairs_of(const cj_sort_arrays *arrays) {
    return (given){.arrays = *arrays, .segmented = arrays->offsets != 0, .paired = true};
}

cj_status cj_sort_run(cj_sort *sort, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream, cj_error *error) {
    REQUIRE(sort);
    return run(sort->call.kernel, &sort->desc, rows_of(x, values, indices), stream, error);
}

cj_status cj_sort_run_segmented(cj_sort *sort, cj_ptr x, cj_ptr offsets, cj_ptr values, cj_ptr indices, cj_stream stream,
                                cj_error *error) {
    REQUIRE(sort);
    return run(sort->call.kernel, &sort->desc, segments_of(x, offsets, values, indices), stream, error);
}

cj_status cj_sort_run_pairs(cj_sort *sort, const cj_sort_arrays *arrays, cj_stream stream, cj_error *error) {
    REQUIRE(sort);
    SIZED(cj_sort_arrays, arrays);
    return run(sort->call.kernel, &sort->desc, pairs_of(arrays), stream, error);
}

typedef struct CALL_KEY call_key {
    uint64_t rows, columns, stride, payload_stride, elements;
    uint32_t dtype, cluster, block;
    uint8_t  descending, values_only, indices_only, index_u32, offsets, payload_bytes;
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
                      .offsets = cj__call_u8(d->offsets),
                      .payload_stride = d->payload_stride,
                      .elements = d->elements,
                      .payload_bytes = cj__call_u8(d->payload_bytes)};
}

static cj_status launch(cj_device *device, const cj_sort_desc *desc, given g, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_sort_desc, desc);
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : run(kernel, desc, g, stream, error);
}

cj_status cj_sort_launch(cj_device *device, const cj_sort_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                         cj_stream stream, cj_error *error) {
    return launch(device, desc, rows_of(x, values, indices), stream, error);
}

cj_status cj_sort_launch_segmented(cj_device *device, const cj_sort_desc *desc, cj_ptr x, cj_ptr offsets, cj_ptr values,
                                   cj_ptr indices, cj_stream stream, cj_error *error) {
    return launch(device, desc, segments_of(x, offsets, values, indices), stream, error);
}

cj_status cj_sort_launch_pairs(cj_device *device, const cj_sort_desc *desc, const cj_sort_arrays *arrays,
                               cj_stream stream, cj_error *error) {
    SIZED(cj_sort_arrays, arrays);
    return launch(device, desc, pairs_of(arrays), stream, error);
}
