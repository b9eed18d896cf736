// SPDX-License-Identifier: Apache-2.0
// The reduction as a typed call: a description becomes the family's parameters.
#include <clusterjit/reduce.h>
#include <string.h>

#include "call.h"
#include "error.h"

struct cj_reduce {
    cj_kernel *kernel;
    uint64_t   n;
};

static const char *const op_names[] = {
    [CJ_REDUCE_SUM] = "sum",         [CJ_REDUCE_MIN] = "min",       [CJ_REDUCE_MAX] = "max",
    [CJ_REDUCE_PRODUCT] = "product", [CJ_REDUCE_ARGMIN] = "argmin", [CJ_REDUCE_ARGMAX] = "argmax",
    [CJ_REDUCE_MEAN] = "mean",       [CJ_REDUCE_MEANVAR] = "meanvar"};

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_reduce_desc *desc = from;
    cj_status             status = cj__call_family(params, "reduce", error);
    if (status) return status;
    if (!desc->n) return cj__fail(error, CJ_INVALID_ARGUMENT, "n: 0 is below 1: there is nothing to reduce");
    if ((unsigned)desc->op >= sizeof op_names / sizeof *op_names)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "op: %d is not a cj_reduce_op", (int)desc->op);
    status = cj_params_set(params, "op", op_names[desc->op], error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number(params, "n", desc->n, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status) status = cj__call_cluster(params, desc->cluster, error);
    if (!status) status = cj__call_number(params, "grid", desc->grid, error);
    if (!status) status = cj_params_set_function(params, "map", desc->map, error);
    if (!status) status = cj_params_set_function(params, "op-expr", desc->op_function, error);
    if (!status) status = cj_params_set_function(params, "identity", desc->identity, error);
    return status;
}

cj_status cj_reduce_create(cj_device *device, const cj_reduce_desc *desc, cj_reduce **reduce, cj_error *error) {
    void     *made;
    cj_status status = cj__call_create(device, describe, desc, sizeof **reduce, &made, error);
    *reduce = made;
    if (made) (*reduce)->n = desc->n;
    return status;
}

void cj_reduce_destroy(cj_reduce *reduce) { cj__call_destroy(reduce); }

cj_status cj_reduce_run(cj_reduce *reduce, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    void *arguments[] = {&x, &out, &reduce->n};
    return cj_kernel_launch(reduce->kernel, stream, arguments, 3, error);
}

const cj_kernel *cj_reduce_kernel(const cj_reduce *reduce) { return reduce->kernel; }

// What the kernel of a one-call reduction depends on.
typedef struct call_key {
    const void  *family;
    cj_stream_id on;
    uint64_t     n;
    const void  *map, *op_function, *identity;  // kept alive by the kernel, so no others have these addresses meanwhile
    uint32_t     op, dtype, block, cluster, grid;
} call_key;

_Static_assert(sizeof(call_key) <= CJ_WARM_KEY, "the key fits");

static void write_key(const cj_reduce_desc *desc, cj_stream stream, cj_warm_key *to) {
    call_key key;
    memset(&key, 0, sizeof key);
    key.family = op_names;  // no other family's keys begin with this address
    key.on = cj__stream_id(stream);
    key.n = desc->n;
    key.op = (uint32_t)desc->op;
    key.dtype = (uint32_t)desc->dtype;
    key.block = desc->block;
    key.cluster = desc->cluster;
    key.grid = desc->grid;
    key.map = desc->map;
    key.op_function = desc->op_function;
    key.identity = desc->identity;
    cj__call_key(to, &key, sizeof key);
}

cj_status cj_reduce_launch(cj_device *device, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                           cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    cj_warm_key key;
    cj_kernel  *kernel;
    write_key(desc, stream, &key);
    cj_status status = cj__call_kernel(device, &key, describe, desc, stream, &kernel, error);
    if (status) return status;
    uint64_t n = desc->n;
    void    *arguments[] = {&x, &out, &n};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}
