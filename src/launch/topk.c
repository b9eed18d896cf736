// SPDX-License-Identifier: Apache-2.0
// Top-k as a typed call: a description becomes the family's parameters.
#include <clusterjit/topk.h>
#include <inttypes.h>
#include <string.h>

#include "call.h"
#include "error.h"

struct cj_topk {
    cj_kernel *kernel;
    uint32_t   align;
};

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_topk_desc *desc = from;
    cj_status           status = cj__call_family(params, "topk", error);
    if (status) return status;
    if (!desc->columns)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "columns: 0 is below 1: there is nothing to choose from");
    if (!desc->k) return cj__fail(error, CJ_INVALID_ARGUMENT, "k: 0 is below 1: nothing is asked for");
    status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number(params, "rows", desc->rows ? desc->rows : 1, error);
    if (!status) status = cj__call_number(params, "columns", desc->columns, error);
    if (!status) status = cj__call_number(params, "k", desc->k, error);
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

cj_status cj_topk_create(cj_device *device, const cj_topk_desc *desc, cj_topk **topk, cj_error *error) {
    void     *made;
    cj_status status = cj__call_create(device, describe, desc, sizeof **topk, &made, error);
    *topk = made;
    if (made) (*topk)->align = cj__call_align(desc->align, desc->dtype);
    return status;
}

void cj_topk_destroy(cj_topk *topk) { cj__call_destroy(topk); }

static cj_status run(cj_kernel *kernel, uint32_t align, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream,
                     cj_error *error) {
    if (x % align) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "x: 0x%" PRIx64 " is not a multiple of %u bytes", (uint64_t)x, align);
        cj__hint(error, "say in align what it is a multiple of");
        return CJ_INVALID_ARGUMENT;
    }
    void *arguments[] = {&x, &values, &indices};
    return cj_kernel_launch(kernel, stream, arguments, 3, error);
}

cj_status cj_topk_run(cj_topk *topk, cj_ptr x, cj_ptr values, cj_ptr indices, cj_stream stream, cj_error *error) {
    return run(topk->kernel, topk->align, x, values, indices, stream, error);
}

const cj_kernel *cj_topk_kernel(const cj_topk *topk) { return topk->kernel; }

// What the kernel of a one-call top-k depends on.
typedef struct call_key {
    const void  *family;
    cj_stream_id on;
    uint64_t     rows, columns, stride;
    uint32_t     k, dtype, align, cluster, block;
    uint8_t      smallest, kth, index_u32, unsorted;
} call_key;

_Static_assert(sizeof(call_key) <= CJ_WARM_KEY, "the key fits");

static void write_key(const cj_topk_desc *desc, cj_stream stream, cj_warm_key *to) {
    static const char family;  // no other family's keys begin with this address
    call_key          key;
    memset(&key, 0, sizeof key);
    key.family = &family;
    key.on = cj__stream_id(stream);
    key.rows = desc->rows;
    key.columns = desc->columns;
    key.stride = desc->stride;
    key.k = desc->k;
    key.dtype = (uint32_t)desc->dtype;
    key.align = desc->align;
    key.cluster = desc->cluster;
    key.block = desc->block;
    key.smallest = desc->smallest;
    key.kth = desc->kth;
    key.index_u32 = desc->index_u32;
    key.unsorted = desc->unsorted;
    cj__call_key(to, &key, sizeof key);
}

cj_status cj_topk_launch(cj_device *device, const cj_topk_desc *desc, cj_ptr x, cj_ptr values, cj_ptr indices,
                         cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    cj_warm_key key;
    cj_kernel  *kernel;
    write_key(desc, stream, &key);
    cj_status status = cj__call_kernel(device, &key, describe, desc, stream, &kernel, error);
    return status ? status : run(kernel, cj__call_align(desc->align, desc->dtype), x, values, indices, stream, error);
}
