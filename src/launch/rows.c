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

cj_status cj__row_describe(const row_spec *spec, cj_params *params, cj_error *error) {
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

void cj__row_call_add_each(row_call *call, const char *name, cj_ptr array) {
    if (!array && !call->missing) call->missing = name;
    call->array[call->count++] = array;
}

void cj__row_call_add(row_call *call, const char *name, cj_ptr array) {
    cj__row_call_add_each(call, name, array);
    call->bits |= array;
}

cj_status cj__row_call_run(cj_kernel *kernel, uint32_t align, row_call *call, cj_stream stream, cj_error *error) {
    void *arguments[ROW_CALL_ARRAYS];
    if (!align) align = ALIGN_MOST;
    if (call->missing)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "%s: the description wants this array, and it is 0", call->missing);
    if (call->bits % align) {
        cj__fail(error, CJ_INVALID_ARGUMENT,
                 "an array is not aligned to the %" PRIu32 " bytes that the kernel was made for", align);
        cj__hint(error, "say a smaller align in the description's shape; memory of cj_mem_alloc is aligned to 256");
        return CJ_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < call->count; i++) arguments[i] = &call->array[i];
    return cj_kernel_launch(kernel, stream, arguments, call->count, error);
}

typedef struct CALL_KEY call_key {
    const row_spec_family *family;
    uint32_t               rows, columns, stride, out_stride, number;
    double                 real[ROW_SPEC_REALS];
    uint8_t                dtype, out, align, choice[ROW_SPEC_CHOICES];
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const row_spec *spec) {
    const cj_rows *shape = &spec->shape;
    call_key       key = {.family = spec->family,
                          .rows = cj__call_u32(shape->rows),
                          .columns = cj__call_u32(shape->columns),
                          .stride = cj__call_u32(shape->stride),
                          .out_stride = cj__call_u32(shape->out_stride),
                          .number = cj__call_u32(spec->number),
                          .dtype = cj__call_u8(shape->dtype),
                          .out = cj__call_u8(shape->out),
                          .align = cj__call_u8(shape->align)};
    memcpy(key.real, spec->real, sizeof key.real);
    memcpy(key.choice, spec->choice, sizeof key.choice);
    return key;
}

static cj_status describe(const void *spec, cj_params *params, cj_error *error) {
    return cj__row_describe(spec, params, error);
}

cj_status cj__row_call_launch(cj_device *device, row_spec *spec, row_call *call, cj_stream stream, cj_error *error) {
    cj_kernel *kernel;
    spec->shape.align = ALIGN_MOST;
    while (spec->shape.align > 2 && call->bits % spec->shape.align) spec->shape.align /= 2;
    const call_key key = key_of(spec);
    cj_status      status = cj__call_kernel(device, describe, spec, &key, sizeof key, stream, &kernel, error);
    return status ? status : cj__row_call_run(kernel, spec->shape.align, call, stream, error);
}
