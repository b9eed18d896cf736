// SPDX-License-Identifier: Apache-2.0
// The reduction as a typed call: a description becomes the family's parameters.
#include <clusterjit/reduce.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "keep.h"

struct cj_reduce {
    cj_kernel *kernel;
    uint64_t   n;
};

static const char *const op_names[] = {
    [CJ_REDUCE_SUM] = "sum",         [CJ_REDUCE_MIN] = "min",       [CJ_REDUCE_MAX] = "max",
    [CJ_REDUCE_PRODUCT] = "product", [CJ_REDUCE_ARGMIN] = "argmin", [CJ_REDUCE_ARGMAX] = "argmax",
    [CJ_REDUCE_MEAN] = "mean",       [CJ_REDUCE_MEANVAR] = "meanvar"};

// A number by name; 0 leaves the default.
static cj_status set(cj_params *params, const char *name, uint64_t value, cj_error *error) {
    char text[24];
    if (!value) return CJ_OK;
    snprintf(text, sizeof text, "%" PRIu64, value);
    return cj_params_set(params, name, text, error);
}

static cj_status params_of(const cj_reduce_desc *desc, cj_params *params, cj_error *error) {
    const cj_family *family;
    cj_status status = cj_family_find("reduce", &family, error);
    if (status) return status;
    cj_params_init(params, family);
    if (!desc->n) return cj__fail(error, CJ_INVALID_ARGUMENT, "n: 0 is below 1: there is nothing to reduce");
    if ((unsigned)desc->op >= sizeof op_names / sizeof *op_names)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "op: %d is not a cj_reduce_op", (int)desc->op);
    if (!cj_dtype_name(desc->dtype))
        return cj__fail(error, CJ_INVALID_ARGUMENT, "dtype: %d is not a cj_dtype", (int)desc->dtype);
    if ((status = cj_params_set(params, "op", op_names[desc->op], error))) return status;
    if ((status = cj_params_set(params, "dtype", cj_dtype_name(desc->dtype), error))) return status;
    if ((status = set(params, "n", desc->n, error))) return status;
    if ((status = set(params, "block", desc->block, error))) return status;
    const bool without = desc->cluster == CJ_REDUCE_NO_CLUSTER;
    status = without ? cj_params_set(params, "cluster", "0", error) : set(params, "cluster", desc->cluster, error);
    if (status) return status;
    if ((status = set(params, "grid", desc->grid, error))) return status;
    if ((status = cj_params_set_function(params, "map", desc->map, error))) return status;
    if ((status = cj_params_set_function(params, "op-expr", desc->op_function, error))) return status;
    return cj_params_set_function(params, "identity", desc->identity, error);
}

cj_status cj_reduce_create(cj_device *device, const cj_reduce_desc *desc, cj_reduce **reduce, cj_error *error) {
    *reduce = NULL;
    cj_params params;
    cj_status status = params_of(desc, &params, error);
    if (status) return status;
    cj_reduce *made = calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while creating a reduction");
    made->n = desc->n;
    status = cj_kernel_create(device, &params, &made->kernel, error);
    if (status) {
        free(made);
        return status;
    }
    *reduce = made;
    return CJ_OK;
}

void cj_reduce_destroy(cj_reduce *reduce) {
    if (!reduce) return;
    cj_kernel_destroy(reduce->kernel);
    free(reduce);
}

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
    memset(to, 0, sizeof *to);
    memcpy(to->bytes, &key, sizeof key);
}

// The first call of its key. The table keeps the share in the kernel that was got, unless another thread's is there
// already.
static cj_status make_kernel(cj_device *device, const cj_reduce_desc *desc, cj_stream stream, const cj_warm_key *key,
                             cj_kernel **kernel, cj_error *error) {
    cj_params  params;
    cj_keep   *keep;
    cj_kernel *got = NULL, *kept = NULL;
    cj_status  status = params_of(desc, &params, error);
    if (!status) status = cj__keep_of(device, &keep, error);
    if (!status) status = cj_kernel_get(device, &params, stream, &got, error);
    if (status) return status;
    bool added = false;
    kept = cj__warm_add(&keep->warm, key, got, &added);
    if (!added) cj_kernel_release(got);
    if (!kept) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to keep a reduction's kernel");
    *kernel = kept;
    return CJ_OK;
}

cj_status cj_reduce_launch(cj_device *device, const cj_reduce_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                           cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    cj_warm_key    key;
    const cj_keep *keep = cj__keep(device);
    write_key(desc, stream, &key);
    cj_kernel *kernel = keep ? cj__warm_find(&keep->warm, &key) : NULL;
    if (!kernel) {
        cj_status status = make_kernel(device, desc, stream, &key, &kernel, error);
        if (status) return status;
    }
    uint64_t n = desc->n;
    void    *arguments[] = {&x, &out, &n};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}
