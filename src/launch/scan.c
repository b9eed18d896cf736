// SPDX-License-Identifier: Apache-2.0
// The scan as a typed call: a description becomes the family's parameters.
#include <clusterjit/scan.h>
#include <inttypes.h>
#include <string.h>

#include "call.h"
#include "error.h"

// What the pointers must be multiples of, in bytes.
typedef struct alignment {
    uint32_t      arrays, heads;
    cj_scan_heads given;
} alignment;

struct cj_scan {
    cj_kernel *kernel;
    alignment  align;
};

static const char *const op_names[] = {
    [CJ_SCAN_SUM] = "sum", [CJ_SCAN_MIN] = "min", [CJ_SCAN_MAX] = "max", [CJ_SCAN_PRODUCT] = "product"};

static const char *const heads_names[] = {[CJ_SCAN_NO_HEADS] = "none",
                                          [CJ_SCAN_FLAGS] = "flags",
                                          [CJ_SCAN_OFFSETS_I32] = "i32",
                                          [CJ_SCAN_OFFSETS_I64] = "i64"};

static alignment alignment_of(const cj_scan_desc *desc) {
    const uint32_t arrays = cj__call_align(desc->align, desc->dtype);
    alignment      a = {.arrays = arrays, .heads = 1, .given = desc->heads};
    if (desc->heads == CJ_SCAN_FLAGS) a.heads = arrays / (uint32_t)cj_dtype_size(desc->dtype);
    if (desc->heads > CJ_SCAN_FLAGS) a.heads = desc->heads == CJ_SCAN_OFFSETS_I64 ? 8 : 4;
    return a;
}

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_scan_desc *desc = from;
    cj_status           status = cj__call_family(params, "scan", error);
    if (status) return status;
    if (!desc->columns) return cj__fail(error, CJ_INVALID_ARGUMENT, "columns: 0 is below 1: there is nothing to scan");
    if ((unsigned)desc->op >= sizeof op_names / sizeof *op_names)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "op: %d is not a cj_scan_op", (int)desc->op);
    status = cj_params_set(params, "op", op_names[desc->op], error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number(params, "rows", desc->rows, error);
    if (!status) status = cj__call_number(params, "columns", desc->columns, error);
    if (!status) status = cj__call_number(params, "stride", desc->stride, error);
    if (!status) status = cj__call_number(params, "out-stride", desc->out_stride, error);
    if (!status) status = cj__call_number(params, "align", desc->align, error);
    if (!status) status = cj__call_number(params, "cluster", desc->cluster, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status && desc->exclusive) status = cj_params_set(params, "exclusive", "yes", error);
    if (!status && desc->reverse) status = cj_params_set(params, "reverse", "yes", error);
    if (!status)
        status = cj__call_word(params, "heads", heads_names, sizeof heads_names / sizeof *heads_names,
                               (unsigned)desc->heads, error);
    if (!status) status = cj__call_number(params, "segments", desc->segments, error);
    if (!status) status = cj_params_set_function(params, "op-expr", desc->op_function, error);
    if (!status) status = cj_params_set_function(params, "identity", desc->identity, error);
    return status;
}

cj_status cj_scan_create(cj_device *device, const cj_scan_desc *desc, cj_scan **scan, cj_error *error) {
    void     *made;
    cj_status status = cj__call_create(device, describe, desc, sizeof **scan, &made, error);
    *scan = made;
    if (made) (*scan)->align = alignment_of(desc);
    return status;
}

void cj_scan_destroy(cj_scan *scan) { cj__call_destroy(scan); }

// What a launch is given; no heads where none are meant.
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

static cj_status check(const alignment *align, const arrays *a, cj_error *error) {
    if ((align->given != CJ_SCAN_NO_HEADS) != a->segmented) return refuse_heads(a->segmented, error);
    if ((a->x | a->out) % align->arrays) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "x, out: 0x%" PRIx64 " and 0x%" PRIx64 " are not both multiples of %u bytes", (uint64_t)a->x,
                 (uint64_t)a->out, align->arrays);
        cj__hint(error, "say in align what they are multiples of");
        return CJ_INVALID_ARGUMENT;
    }
    if (!(a->heads % align->heads)) return CJ_OK;
    return cj__fail(error, CJ_INVALID_ARGUMENT, "heads: 0x%" PRIx64 " is not a multiple of %u bytes",
                    (uint64_t)a->heads, align->heads);
}

static cj_status run(cj_kernel *kernel, const alignment *align, arrays a, cj_stream stream, cj_error *error) {
    cj_status status = check(align, &a, error);
    if (status) return status;
    void *arguments[] = {&a.x, &a.out, &a.heads};
    return cj_kernel_launch(kernel, stream, arguments, a.segmented ? 3 : 2, error);
}

cj_status cj_scan_run(cj_scan *scan, cj_ptr x, cj_ptr out, cj_stream stream, cj_error *error) {
    return run(scan->kernel, &scan->align, (arrays){.x = x, .out = out}, stream, error);
}

cj_status cj_scan_run_segmented(cj_scan *scan, cj_ptr x, cj_ptr heads, cj_ptr out, cj_stream stream, cj_error *error) {
    return run(scan->kernel, &scan->align, (arrays){.x = x, .heads = heads, .out = out, .segmented = true}, stream,
               error);
}

const cj_kernel *cj_scan_kernel(const cj_scan *scan) { return scan->kernel; }

// What the kernel of a one-call scan depends on.
typedef struct call_key {
    const void  *family;
    cj_stream_id on;
    uint64_t     rows, columns, stride, out_stride, segments;
    const void  *op_function, *identity;  // kept alive by the kernel, so no others have these addresses meanwhile
    uint8_t      op, dtype, exclusive, reverse, align, cluster;
    uint16_t     block;
    uint32_t     heads;
} call_key;

_Static_assert(sizeof(call_key) <= CJ_WARM_KEY, "the key fits");

// False where a field is larger than its place in the key: then it is no parameter of any kernel either.
static bool write_key(const cj_scan_desc *desc, cj_stream stream, cj_warm_key *to) {
    call_key key;
    memset(&key, 0, sizeof key);
    key.family = op_names;  // no other family's keys begin with this address
    key.on = cj__stream_id(stream);
    key.rows = desc->rows;
    key.columns = desc->columns;
    key.stride = desc->stride;
    key.out_stride = desc->out_stride;
    key.segments = desc->segments;
    key.heads = (uint32_t)desc->heads;
    key.op_function = desc->op_function;
    key.identity = desc->identity;
    key.op = (uint8_t)desc->op;
    key.dtype = (uint8_t)desc->dtype;
    key.exclusive = desc->exclusive;
    key.reverse = desc->reverse;
    key.align = (uint8_t)desc->align;
    key.cluster = (uint8_t)desc->cluster;
    key.block = (uint16_t)desc->block;
    cj__call_key(to, &key, sizeof key);
    return key.op == (unsigned)desc->op && key.dtype == (unsigned)desc->dtype && key.align == desc->align &&
           key.cluster == desc->cluster && key.block == desc->block;
}

static cj_status launch(cj_device *device, const cj_scan_desc *desc, arrays a, cj_stream stream, cj_error *error) {
    REQUIRE(device);
    REQUIRE(desc);
    cj_warm_key key;
    cj_kernel  *kernel;
    cj_params   params;
    cj_status   status = write_key(desc, stream, &key) ? CJ_OK : describe(desc, &params, error);
    if (!status) status = cj__call_kernel(device, &key, describe, desc, stream, &kernel, error);
    if (status) return status;
    const alignment align = alignment_of(desc);
    return run(kernel, &align, a, stream, error);
}

cj_status cj_scan_launch(cj_device *device, const cj_scan_desc *desc, cj_ptr x, cj_ptr out, cj_stream stream,
                         cj_error *error) {
    return launch(device, desc, (arrays){.x = x, .out = out}, stream, error);
}

cj_status cj_scan_launch_segmented(cj_device *device, const cj_scan_desc *desc, cj_ptr x, cj_ptr heads, cj_ptr out,
                                   cj_stream stream, cj_error *error) {
    return launch(device, desc, (arrays){.x = x, .heads = heads, .out = out, .segmented = true}, stream, error);
}
