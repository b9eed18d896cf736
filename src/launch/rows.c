// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "error.h"

static const char *const outs[] = {"same", "f32", "f16", "bf16"};

enum { OUTS = sizeof outs / sizeof *outs, ALIGN_MOST = 16 };

static cj_status set_shape(const cj_rows *shape, cj_params *params, cj_error *error) {
    if (!shape->rows || !shape->columns)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: 0 is below 1: there is nothing to do",
                        shape->rows ? "columns" : "rows");
    cj_status status = cj__call_number(params, "rows", shape->rows, error);
    if (!status) status = cj__call_number(params, "columns", shape->columns, error);
    if (!status) status = cj__call_dtype(params, "dtype", shape->dtype, error);
    if (!status) status = cj__call_word(params, "out", outs, OUTS, (unsigned)shape->out, error);
    if (!status) status = cj__call_number(params, "stride", shape->stride, error);
    if (!status) status = cj__call_number(params, "out-stride", shape->out_stride, error);
    if (!status) status = cj__call_number(params, "align", shape->align, error);
    return status;
}

static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const row_spec        *spec = from;
    const row_spec_family *family = spec->family;
    cj_status              status = cj__call_family(params, family->name, error);
    if (!status) status = set_shape(&spec->shape, params, error);
    for (unsigned i = 0; !status && i < ROW_SPEC_REALS && family->real[i]; i++)
        status = cj__call_real(params, family->real[i], spec->real[i], error);
    for (unsigned i = 0; !status && i < ROW_SPEC_CHOICES && family->choice[i].name; i++) {
        if (spec->choice[i] > 1)
            return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: neither %s nor %s", family->choice[i].name,
                            family->choice[i].words[0], family->choice[i].words[1]);
        status = cj_params_set(params, family->choice[i].name, family->choice[i].words[spec->choice[i]], error);
    }
    return status || !family->number ? status : cj__call_number(params, family->number, spec->number, error);
}

cj_status cj__row_create(cj_device *device, const row_spec *spec, size_t bytes, void **handle, cj_error *error) {
    return cj__call_create(device, describe, spec, bytes, handle, error);
}

void cj__row_call_add_each(row_call *call, const char *name, cj_ptr array) {
    if (!array && !call->missing) call->missing = name;
    call->array[call->count++] = array;
}

void cj__row_call_add(row_call *call, const char *name, cj_ptr array) {
    cj__row_call_add_each(call, name, array);
    call->bits |= array;
}

cj_status cj__row_call_run(cj_kernel *kernel, row_call *call, cj_stream stream, cj_error *error) {
    const cj_ptr align = ALIGN_MOST >> cj_params_get(&cj_kernel_plan(kernel)->params, "align");
    void        *arguments[ROW_CALL_ARRAYS];
    if (call->missing)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: the description wants this array, and it is 0", call->missing);
    if (call->bits % align) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "an array is not aligned to the %" PRIu64 " bytes that the kernel was made for", (uint64_t)align);
        cj__hint(error, "say a smaller align in the description's shape; memory of cj_mem_alloc is aligned to 256");
        return CJ_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < call->count; i++) arguments[i] = &call->array[i];
    return cj_kernel_launch(kernel, stream, arguments, call->count, error);
}

// What the kernel of a one-call function depends on. No other family's keys begin with this address.
typedef struct call_key {
    const row_spec_family *family;
    cj_stream_id           on;
    uint32_t               rows, columns, stride, out_stride, number;
    double                 real[ROW_SPEC_REALS];
    uint8_t                dtype, out, align, choice[ROW_SPEC_CHOICES];
} call_key;

_Static_assert(sizeof(call_key) <= CJ_WARM_KEY, "the key fits");

// No kernel is made with so many of any of these.
static uint32_t narrow(uint64_t value) { return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX; }
static uint8_t  byte(unsigned value) { return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX; }

static void write_key(const row_spec *spec, cj_stream stream, cj_warm_key *to) {
    const cj_rows *shape = &spec->shape;
    call_key       key;
    memset(&key, 0, sizeof key);
    key.family = spec->family;
    key.on = cj__stream_id(stream);
    key.rows = narrow(shape->rows);
    key.columns = narrow(shape->columns);
    key.stride = narrow(shape->stride);
    key.out_stride = narrow(shape->out_stride);
    key.number = narrow(spec->number);
    memcpy(key.real, spec->real, sizeof key.real);
    key.dtype = byte(shape->dtype);
    key.out = byte(shape->out);
    key.align = byte(shape->align);
    memcpy(key.choice, spec->choice, sizeof key.choice);
    cj__call_key(to, &key, sizeof key);
}

cj_status cj__row_call_launch(cj_device *device, row_spec *spec, row_call *call, cj_stream stream, cj_error *error) {
    cj_warm_key key;
    cj_kernel  *kernel;
    spec->shape.align = ALIGN_MOST;
    while (spec->shape.align > 2 && call->bits % spec->shape.align) spec->shape.align /= 2;
    write_key(spec, stream, &key);
    cj_status status = cj__call_kernel(device, &key, describe, spec, stream, &kernel, error);
    return status ? status : cj__row_call_run(kernel, call, stream, error);
}
