// SPDX-License-Identifier: Apache-2.0
// The typed call of argmax: converts a description to the family's parameters.
#include <clusterjit/argmax.h>

#include "call.h"
#include "error.h"

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_argmax_desc *desc = from;
    cj_status             status = cj__call_family(params, "argmax", error);
    if (!status) status = cj__call_number_or(params, "rows", desc->rows, 1, error);
    if (!status) status = cj__call_extent(params, "columns", desc->columns, "choose from", error);
    if (!status) status = cj__call_number(params, "stride", desc->stride, error);
    if (!status) status = cj__call_cluster(params, desc->cluster, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status) status = cj__call_number(params, "parts", desc->parts, error);
    if (!status) status = cj__call_number(params, "lanes", desc->lanes, error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number(params, "align", desc->align, error);
    return status;
}

CALL_HANDLE(cj_argmax)

static cj_status run(cj_kernel *kernel, const cj_argmax_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                     cj_error *error) {
    const uint32_t align = cj__call_align(desc->align, desc->dtype);
    cj_status      status = cj__call_array("x", x, align, "say in align what it is a multiple of", error);
    if (!status) status = cj__call_array("out", out, sizeof(uint32_t), NULL, error);
    if (status) return status;
    void *arguments[] = {&x, &out};
    return cj_kernel_launch(kernel, stream, arguments, 2, error);
}

cj_status cj_argmax_run(cj_argmax *argmax, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    REQUIRE(argmax);
    return run(argmax->call.kernel, &argmax->desc, x, out, stream, error);
}

typedef struct CALL_KEY call_key {
    uint64_t rows, columns, stride;
    uint32_t cluster, block, parts, lanes, dtype, align;
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

cj_status cj_argmax_launch(cj_device *device, const cj_argmax_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                           cj_error *error) {
    REQUIRE(device);
    SIZED(cj_argmax_desc, desc);
    cj_kernel     *kernel;
    const call_key key = {desc->rows,  desc->columns, desc->stride, desc->cluster, desc->block,
                          desc->parts, desc->lanes,   (uint32_t)desc->dtype, desc->align};
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : run(kernel, desc, x, out, stream, error);
}
