// SPDX-License-Identifier: Apache-2.0
// The calls that make arrays, and that ask about them.
#include <stdlib.h>

#include "capture.h"
#include "places.h"

static size_t bytes_of(CUarray_format format) {
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

static CUresult check(const CUDA_ARRAY3D_DESCRIPTOR *shape) {
    const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST;
    if (!bytes_of(shape->Format))
        return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "arrays of format 0x%x are missing here", (unsigned)shape->Format);
    if (shape->NumChannels != 1 && shape->NumChannels != 2 && shape->NumChannels != 4)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "%u channels; there are 1, 2 or 4", shape->NumChannels);
    if (shape->Flags & ~known)
        return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "arrays with the flags 0x%x are missing here",
                          shape->Flags & ~known);
    if (!shape->Width || shape->Width > 1u << 28 || shape->Height > 1u << 17 || shape->Depth > 1u << 14)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "an array of %zu x %zu x %zu", shape->Width, shape->Height,
                          shape->Depth);
    return CUDA_SUCCESS;
}

// A layered array of one dimension has its layers as depth, and no height.
static cj_array dimensions(const CUDA_ARRAY3D_DESCRIPTOR *shape) {
    cj_array array = {.shape = *shape, .element = bytes_of(shape->Format) * shape->NumChannels};
    array.width = shape->Width * array.element;
    array.rows = shape->Height ? shape->Height : 1;
    array.slices = shape->Depth ? shape->Depth : 1;
    return array;
}

static CUresult make(CUarray *result, const CUDA_ARRAY3D_DESCRIPTOR *shape) {
    cj_context *context = cj__current();
    cj_block   *block = NULL;
    if (!result) return cj__refuse_null("pHandle");
    CUresult code = check(shape);
    if (!code) code = cj__capture_unsafe();
    if (code) return code;
    cj_array       array = dimensions(shape);
    const cj_block wanted = {.bytes = array.width * array.rows * array.slices,
                             .type = CJ_MEMORY_DEVICE,
                             .gpu = context->gpu,
                             .owner = context,
                             .is_array = true};
    code = cj__memory_new(&wanted, &block);
    if (code) return code;
    block->call = NULL;  // the array's handle is what leaks
    cj_array *made = cj__object_new(CJ_ARRAY, sizeof *made, context, free);
    if (!made) {
        cj__memory_free(block);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    array.base = made->base;
    array.memory = block->base;
    array.id = block->id;
    *made = array;
    *result = HANDLE_OF(made);
    return CUDA_SUCCESS;
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *shape) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(shape);
    const CUDA_ARRAY3D_DESCRIPTOR all = {
        .Width = shape->Width, .Height = shape->Height, .Format = shape->Format, .NumChannels = shape->NumChannels};
    LEAVE(make(array, &all));
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *shape) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(shape);
    LEAVE(make(array, shape));
}

CUresult cuArrayDestroy(CUarray given) {
    ENTER(CJ_NEED_CONTEXT);
    FIND(cj_array, array, CJ_ARRAY, given);
    cj_block *block = cj__memory_begin(array->memory);
    if (block && block->id == array->id) cj__memory_free(block);
    cj__object_destroy(array);
    LEAVE(CUDA_SUCCESS);
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *shape, CUarray given) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(shape);
    FIND(cj_array, array, CJ_ARRAY, given);
    if (array->shape.Depth) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the array has three dimensions"));
    *shape = (CUDA_ARRAY_DESCRIPTOR){array->shape.Width, array->shape.Height, array->shape.Format,
                                     array->shape.NumChannels};
    LEAVE(CUDA_SUCCESS);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *shape, CUarray given) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(shape);
    FIND(cj_array, array, CJ_ARRAY, given);
    *shape = array->shape;
    LEAVE(CUDA_SUCCESS);
}
