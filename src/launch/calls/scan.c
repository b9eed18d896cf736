// SPDX-License-Identifier: Apache-2.0
// The typed call of the scan: converts a description to the family's parameters.
#include <clusterjit/scan.h>

#include "call.h"
#include "error.h"

static const char *const op_names[] = {
    [CJ_SCAN_SUM] = "sum", [CJ_SCAN_MIN] = "min", [CJ_SCAN_MAX] = "max", [CJ_SCAN_PRODUCT] = "product"};

static const char *const heads_names[] = {[CJ_SCAN_NO_HEADS] = "none",
                                          [CJ_SCAN_FLAGS] = "flags",
                                          [CJ_SCAN_OFFSETS_I32] = "i32",
                                          [CJ_SCAN_OFFSETS_I64] = "i64"};

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_scan_desc *desc = from;
    cj_status           status = cj__call_family(params, "scan", error);
    if (!status) status = cj__call_word(params, "op", WORDS(op_names), desc->op, error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number_or(params, "rows", desc->rows, 1, error);
    if (!status) status = cj__call_extent(params, "columns", desc->columns, "scan", error);
    if (!status) status = cj__call_number(params, "stride", desc->stride, error);
    if (!status) status = cj__call_number(params, "out-stride", desc->out_stride, error);
    if (!status) status = cj__call_number(params, "align", desc->align, error);
    if (!status) status = cj__call_number(params, "cluster", desc->cluster, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status && desc->exclusive) status = cj_params_set(params, "exclusive", "yes", error);
    if (!status && desc->reverse) status = cj_params_set(params, "reverse", "yes", error);
    if (!status) status = cj__call_word(params, "heads", WORDS(heads_names), desc->heads, error);
    if (!status) status = cj__call_number(params, "segments", desc->segments, error);
    if (!status) status = cj_params_set_function(params, "op-expr", desc->op_function, error);
    if (!status) status = cj_params_set_function(params, "identity", desc->identity, error);
    return status;
}

CALL_HANDLE(cj_scan)

// The arrays of a launch; `heads` is 0 if the scan has no segments.
typedef struct arrays {
    cj_ptr x, heads, out;
    bool   segmented;
} arrays;

static cj_status refuse_heads(bool segmented, cj_error *error) {
    if (!segmented) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "heads: the description says that rows are cut into segments");
        cj__hint(error, "give the flags or offsets to the call that ends in _segmented");
    } else {
        cj__fail(error, CJ_INVALID_ARGUMENT, "heads: the description does not say what they are");
        cj__hint(error, "set heads in the description: flags, or offsets and segments");
    }
    return CJ_INVALID_ARGUMENT;
}

// The alignment of `heads` in bytes, if the arrays are aligned to `align`.
static uint32_t heads_align(const cj_scan_desc *desc, uint32_t align) {
    switch (desc->heads) {
    case CJ_SCAN_FLAGS: return align / (uint32_t)cj_dtype_size(desc->dtype);
    case CJ_SCAN_OFFSETS_I32: return 4;
    case CJ_SCAN_OFFSETS_I64: return 8;
    default: return 1;
    }
}

static cj_status check(const cj_scan_desc *desc, const arrays *a, cj_error *error) {
    static const char hint[] = "say in align what x and out are multiples of";
    const uint32_t    align = cj__call_align(desc->align, desc->dtype), heads = heads_align(desc, align);
    if ((desc->heads != CJ_SCAN_NO_HEADS) != a->segmented) return refuse_heads(a->segmented, error);
    cj_status status = cj__call_array("x", a->x, align, hint, error);
    if (!status) status = cj__call_array("out", a->out, align, hint, error);
    return status || !a->segmented ? status : cj__call_array("heads", a->heads, heads, NULL, error);
}

static cj_status run(cj_kernel *kernel, const cj_scan_desc *desc, arrays a, cj_stream stream, cj_error *error) {
    cj_status status = check(desc, &a, error);
    if (status) return status;
    void *arguments[] = {&a.x, &a.out, &a.heads};
    return cj_kernel_launch(kernel, stream, arguments, a.segmented ? 3 : 2, error);
}

cj_status cj_scan_run(cj_scan *scan, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    REQUIRE(scan);
    return run(scan->call.kernel, &scan->desc, (arrays){.x = x, .out = out}, stream, error);
}

cj_status cj_scan_run_segmented(cj_scan *scan, cj_ptr x, cj_ptr heads, cj_ptr out, cj_stream stream, cj_error *error) {
    REQUIRE(scan);
    return run(scan->call.kernel, &scan->desc, (arrays){.x = x, .heads = heads, .out = out, .segmented = true}, stream,
               error);
}

typedef struct CALL_KEY call_key {
    uint64_t    rows, columns, stride, out_stride, segments;
    const void *op_function, *identity;  // kept alive by the kernel, so that no others have these addresses
    uint32_t    block;
    uint8_t     op, dtype, exclusive, reverse, align, cluster, heads;
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_scan_desc *d) {
    return (call_key){.rows = d->rows,
                      .columns = d->columns,
                      .stride = d->stride,
                      .out_stride = d->out_stride,
                      .segments = d->segments,
                      .op_function = d->op_function,
                      .identity = d->identity,
                      .block = d->block,
                      .op = cj__call_u8(d->op),
                      .dtype = cj__call_u8(d->dtype),
                      .exclusive = d->exclusive,
                      .reverse = d->reverse,
                      .align = cj__call_u8(d->align),
                      .cluster = cj__call_u8(d->cluster),
                      .heads = cj__call_u8(d->heads)};
}

static cj_status launch(cj_device *device, const cj_scan_desc *desc, arrays a, cj_stream stream, cj_error *error) {
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : run(kernel, desc, a, stream, error);
}

cj_status cj_scan_launch(cj_device *device, const cj_scan_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                         cj_error *error) {
    REQUIRE(device);
    SIZED(cj_scan_desc, desc);
    return launch(device, desc, (arrays){.x = x, .out = out}, stream, error);
}

cj_status cj_scan_launch_segmented(cj_device *device, const cj_scan_desc *desc, cj_ptr x, cj_ptr heads, cj_ptr out,
                                   cj_stream stream, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_scan_desc, desc);
    return launch(device, desc, (arrays){.x = x, .heads = heads, .out = out, .segmented = true}, stream, error);
}
