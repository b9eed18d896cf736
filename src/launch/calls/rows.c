// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

static const char *const outs[] = {"same", "f32", "f16", "bf16"};

enum { OUTS = sizeof outs / sizeof *outs, ALIGN_MOST = 16 };

static cj_status set_shape(const cj_rows *shape, cj_params *params, cj_error *error) {
    cj_status status = cj__call_extent(params, "rows", shape->rows, "do", error);
    if (!status) status = cj__call_extent(params, "columns", shape->columns, "do", error);
    if (!status) status = cj__call_dtype(params, "dtype", shape->dtype, error);
    if (!status) status = cj__call_word(params, "out", outs, OUTS, (unsigned)shape->out, error);
    if (!status) status = cj__call_number(params, "stride", shape->stride, error);
    if (!status) status = cj__call_number(params, "out-stride", shape->out_stride, error);
    if (!status) status = cj__call_number(params, "align", shape->align, error);
    return status;
}

cj_status cj__row_describe(const row_spec *spec, cj_params *params, cj_error *error) {
    const row_spec_family *family = spec->family;
    if (!family) return cj__fail(error, CJ_INVALID_ARGUMENT, "kind: %u is outside 0 to 1", spec->kind);
    cj_status status = cj__call_family(params, family->name, error);
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

static void add(row_call *call, const char *name, cj_ptr array, uint8_t bytes) {
    call->array[call->count] = array;
    call->name[call->count] = name;
    call->value[call->count++] = bytes;
}

void cj__row_call_add_each(row_call *call, const char *name, cj_ptr array, uint8_t bytes) {
    add(call, name, array, bytes);
    call->wrong |= !array || array & (bytes - 1u);
}

void cj__row_call_add(row_call *call, const char *name, cj_ptr array) {
    add(call, name, array, 0);
    call->wrong |= !array;
    call->bits |= array;
}

// Names the first array that is 0 or not aligned.
static cj_status check(const row_call *call, uint32_t align, const char *hint, cj_error *error) {
    cj_status status = CJ_OK;
    if (!call->wrong && !(call->bits & (align - 1))) return CJ_OK;
    for (uint32_t i = 0; !status && i < call->count; i++)
        status = cj__call_array(call->name[i], call->array[i], call->value[i] ? call->value[i] : align,
                                call->value[i] ? NULL : hint, error);
    return status;
}

static cj_status launch(cj_kernel *kernel, row_call *call, cj_stream stream, cj_error *error) {
    void *arguments[ROW_CALL_ARRAYS];
    for (uint32_t i = 0; i < call->count; i++) arguments[i] = &call->array[i];
    return cj_kernel_launch(kernel, stream, arguments, call->count, error);
}

cj_status cj__row_call_run(cj_kernel *kernel, uint32_t align, row_call *call, cj_stream stream, cj_error *error) {
    static const char hint[] =
        "say a smaller align in the description's shape; memory of cj_mem_alloc is aligned to 256";
    cj_status status = check(call, align ? align : ALIGN_MOST, hint, error);
    return status ? status : launch(kernel, call, stream, error);
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

// The size of the largest element of the matrices; types that are none are refused with the description.
static uint32_t widest(const cj_rows *shape) {
    const size_t read = cj_dtype_size(shape->dtype), written = shape->out == CJ_ROWS_OUT_F32 ? sizeof(float) : 0;
    const size_t most = read > written ? read : written;
    return most ? (uint32_t)most : 1;
}

cj_status cj__row_call_launch(cj_device *device, row_spec *spec, row_call *call, cj_stream stream, cj_error *error) {
    static const char hint[] = "arrays begin at multiples of the largest of their elements";
    cj_kernel        *kernel;
    cj_status         status = check(call, widest(&spec->shape), hint, error);
    if (status) return status;
    spec->shape.align = ALIGN_MOST;
    while (spec->shape.align > 2 && call->bits % spec->shape.align) spec->shape.align /= 2;
    const call_key key = key_of(spec);
    status = cj__call_kernel(device, describe, spec, &key, sizeof key, stream, &kernel, error);
    return status ? status : launch(kernel, call, stream, error);
}
