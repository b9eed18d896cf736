// SPDX-License-Identifier: Apache-2.0
// The typed call of the reduction: converts a description to the family's parameters.
#include <clusterjit/reduce.h>

#include "call.h"
#include "error.h"
#include "several.h"

static const char *const op_names[] = {
    [CJ_REDUCE_SUM] = "sum",         [CJ_REDUCE_MIN] = "min",       [CJ_REDUCE_MAX] = "max",
    [CJ_REDUCE_PRODUCT] = "product", [CJ_REDUCE_ARGMIN] = "argmin", [CJ_REDUCE_ARGMAX] = "argmax",
    [CJ_REDUCE_MEAN] = "mean",       [CJ_REDUCE_MEANVAR] = "meanvar"};

static const char *const result_names[] = {
    [CJ_REDUCE_TOTAL] = "total", [CJ_REDUCE_BLOCKS] = "block", [CJ_REDUCE_TOTAL_AND_BLOCKS] = "both"};
static const char *const weight_names[] = {[CJ_REDUCE_WEIGHT_NONE] = "none", [CJ_REDUCE_WEIGHT_BLOCK] = "block"};

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_reduce_desc *desc = from;
    cj_status             status = cj__call_family(params, "reduce", error);
    if (!status) status = cj__call_word(params, "op", WORDS(op_names), desc->op, error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_extent(params, "n", desc->n, "reduce", error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status) status = cj__call_cluster(params, desc->cluster, error);
    if (!status) status = cj__call_number(params, "grid", desc->grid, error);
    if (!status) status = cj__call_word(params, "result", WORDS(result_names), desc->result, error);
    if (!status) status = cj__call_word(params, "weight", WORDS(weight_names), desc->weight, error);
    if (!status) status = cj_params_set_function(params, "map", desc->map, error);
    if (!status) status = cj_params_set_function(params, "op-expr", desc->op_function, error);
    if (!status) status = cj_params_set_function(params, "identity", desc->identity, error);
    return status;
}

CALL_HANDLE(cj_reduce)

enum { OUT_ALIGN = 8 };

cj_status cj__reduce_run(cj_kernel *kernel, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                         cj_error *error) {
    uint64_t  n = desc->n;
    cj_status status = cj__call_array("x", x, (uint32_t)cj_dtype_size(desc->dtype), NULL, error);
    if (!status) status = cj__call_array("out", out, OUT_ALIGN, NULL, error);
    if (status) return status;
    void *arguments[] = {&x, &out, &n};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

cj_status cj_reduce_run(cj_reduce *reduce, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    REQUIRE(reduce);
    return cj__reduce_run(reduce->call.kernel, &reduce->desc, x, out, stream, error);
}

// ---- of several GPUs

cj_status cj__reduce_describe(const cj_reduce_desc *desc, cj_params *params, cj_error *error) { return describe(desc, params, error); }

// ---- one call

typedef struct CALL_KEY call_key {
    uint64_t    n;
    const void *map, *op_function, *identity;  // kept alive by the kernel, so that no others have these addresses
    uint32_t    op, dtype, block, cluster, grid, result, weight, unused;  // unused: 0, so that every byte is set
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_reduce_desc *d) {
    return (call_key){.n = d->n,
                      .map = d->map,
                      .op_function = d->op_function,
                      .identity = d->identity,
                      .op = (uint32_t)d->op,
                      .dtype = (uint32_t)d->dtype,
                      .block = d->block,
                      .cluster = d->cluster,
                      .grid = d->grid,
                      .result = (uint32_t)d->result,
                      .weight = (uint32_t)d->weight};
}

cj_status cj_reduce_launch(cj_device *device, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                           cj_error *error) {
    REQUIRE(device);
    SIZED(cj_reduce_desc, desc);
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : cj__reduce_run(kernel, desc, x, out, stream, error);
}
