// SPDX-License-Identifier: Apache-2.0
#include "places.h"

CUresult cj__array_of(CUarray given, cj_array **array) {
    *array = cj__object_find(CJ_ARRAY, given);
    return *array ? CUDA_SUCCESS : cj__refuse_handle(CJ_ARRAY, given);
}

// What the fields of all descriptions have in common.
typedef struct end {
    CUmemorytype type;
    const void  *host;
    CUdeviceptr  device;
    CUarray      array;
    size_t       x, y, z, lod, pitch, height;
} end;

static CUresult place_of(const end *given, cj_place *place) {
    *place = (cj_place){
        .type = given->type, .x = given->x, .y = given->y, .z = given->z, .pitch = given->pitch, .rows = given->height};
    if (given->lod) return cj__refuse(CUDA_ERROR_INVALID_VALUE, "a LOD of %zu, where there are no mipmaps", given->lod);
    switch (given->type) {
    case CU_MEMORYTYPE_HOST: place->address = (uintptr_t)given->host; return CUDA_SUCCESS;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: place->address = given->device; return CUDA_SUCCESS;
    case CU_MEMORYTYPE_ARRAY: return cj__array_of(given->array, &place->array);
    default: return cj__refuse(CUDA_ERROR_INVALID_VALUE, "memory type %d is not known", (int)given->type);
    }
}

static CUresult both(const end *to, const end *from, cj_copy *copy) {
    const CUresult code = place_of(to, &copy->to);
    return code ? code : place_of(from, &copy->from);
}

CUresult cj__copy_from_2d(const CUDA_MEMCPY2D *given, cj_copy *copy) {
    const end to = {.type = given->dstMemoryType,
                    .host = given->dstHost,
                    .device = given->dstDevice,
                    .array = given->dstArray,
                    .x = given->dstXInBytes,
                    .y = given->dstY,
                    .pitch = given->dstPitch};
    const end from = {.type = given->srcMemoryType,
                      .host = given->srcHost,
                      .device = given->srcDevice,
                      .array = given->srcArray,
                      .x = given->srcXInBytes,
                      .y = given->srcY,
                      .pitch = given->srcPitch};
    *copy = (cj_copy){.bytes = given->WidthInBytes, .height = given->Height, .depth = 1};
    return both(&to, &from, copy);
}

// The structures of copies in one context and between two have the same fields here.
#define FROM_3D(given, copy)                                                                                 \
    const end to = {.type = (given)->dstMemoryType,                                                          \
                    .host = (given)->dstHost,                                                                \
                    .device = (given)->dstDevice,                                                            \
                    .array = (given)->dstArray,                                                              \
                    .x = (given)->dstXInBytes,                                                               \
                    .y = (given)->dstY,                                                                      \
                    .z = (given)->dstZ,                                                                      \
                    .lod = (given)->dstLOD,                                                                  \
                    .pitch = (given)->dstPitch,                                                              \
                    .height = (given)->dstHeight};                                                           \
    const end from = {.type = (given)->srcMemoryType,                                                        \
                      .host = (given)->srcHost,                                                              \
                      .device = (given)->srcDevice,                                                          \
                      .array = (given)->srcArray,                                                            \
                      .x = (given)->srcXInBytes,                                                             \
                      .y = (given)->srcY,                                                                    \
                      .z = (given)->srcZ,                                                                    \
                      .lod = (given)->srcLOD,                                                                \
                      .pitch = (given)->srcPitch,                                                            \
                      .height = (given)->srcHeight};                                                         \
    *(copy) = (cj_copy){.bytes = (given)->WidthInBytes, .height = (given)->Height, .depth = (given)->Depth}; \
    return both(&to, &from, copy)

CUresult cj__copy_from_3d(const CUDA_MEMCPY3D *given, cj_copy *copy) { FROM_3D(given, copy); }
CUresult cj__copy_from_peer(const CUDA_MEMCPY3D_PEER *given, cj_copy *copy) { FROM_3D(given, copy); }

// Lengths of a batch's pointers are in elements of an unknown size, which are bytes where no array is involved.
static CUresult end_of(const CUmemcpy3DOperand *given, size_t element, cj_place *place) {
    *place = (cj_place){.type = CU_MEMORYTYPE_UNIFIED};
    if (given->type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
        place->address = given->op.ptr.ptr;
        place->pitch = given->op.ptr.rowLength * element;
        place->rows = given->op.ptr.layerHeight;
        return CUDA_SUCCESS;
    }
    if (given->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return cj__refuse(CUDA_ERROR_INVALID_VALUE, "operand type %d is not known", (int)given->type);
    place->x = given->op.array.offset.x * element;
    place->y = given->op.array.offset.y;
    place->z = given->op.array.offset.z;
    return cj__array_of(given->op.array.array, &place->array);
}

static size_t element_of(const CUmemcpy3DOperand *given) {
    const cj_array *array = given->type == CU_MEMCPY_OPERAND_TYPE_ARRAY
                                ? cj__object_find(CJ_ARRAY, given->op.array.array)
                                : NULL;
    return array ? array->element : 1;
}

CUresult cj__copy_from_batch(const CUDA_MEMCPY3D_BATCH_OP *given, cj_copy *copy) {
    const size_t to = element_of(&given->dst), from = element_of(&given->src), element = to > from ? to : from;
    *copy = (cj_copy){
        .bytes = given->extent.width * element, .height = given->extent.height, .depth = given->extent.depth};
    const CUresult code = end_of(&given->dst, element, &copy->to);
    return code ? code : end_of(&given->src, element, &copy->from);
}
