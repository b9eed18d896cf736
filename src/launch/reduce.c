// SPDX-License-Identifier: Apache-2.0
// The reduction as a typed call: a description becomes the family's parameters.
#include <clusterjit/reduce.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"

struct cj_reduce {
    cj_kernel *kernel;
    uint64_t   n;
};

static const char *const op_names[] = {[CJ_REDUCE_SUM] = "sum", [CJ_REDUCE_MIN] = "min", [CJ_REDUCE_MAX] = "max"};

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
    if ((status = set(params, "cluster", desc->cluster, error))) return status;
    return set(params, "grid", desc->grid, error);
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
