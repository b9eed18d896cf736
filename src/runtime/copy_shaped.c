// SPDX-License-Identifier: Apache-2.0
// Copies in two and three dimensions: each becomes the driver's CUDA_MEMCPY3D, whatever it copies between.
#include <string.h>

#include "runtime.h"

typedef enum cudaMemcpyKind kind_t;

// ---- the description

// The memory types of a kind's two sides.
static bool types_of(kind_t kind, CUmemorytype *from, CUmemorytype *to) {
    static const CUmemorytype types[][2] = {
        [cudaMemcpyHostToHost] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST},
        [cudaMemcpyHostToDevice] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE},
        [cudaMemcpyDeviceToHost] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST},
        [cudaMemcpyDeviceToDevice] = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE},
        [cudaMemcpyDefault] = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED},
    };
    if ((unsigned)kind > cudaMemcpyDefault) return false;
    *from = types[kind][0];
    *to = types[kind][1];
    return true;
}

static CUresult element_bytes(CUarray array, size_t *bytes) {
    CUDA_ARRAY3D_DESCRIPTOR      about;
    struct cudaChannelFormatDesc channels;
    const CUresult               result = cuArray3DGetDescriptor(&about, array);
    if (result) return result;
    if (!cj__channels_of(about.Format, about.NumChannels, &channels)) return CUDA_ERROR_NOT_SUPPORTED;
    *bytes = (size_t)(channels.x + channels.y + channels.z + channels.w) / 8;
    return CUDA_SUCCESS;
}

// One side of a copy: the array, or the pitched memory. `unit` is the bytes that a position along x counts.
static void fill_source(CUDA_MEMCPY3D *copy, const struct cudaMemcpy3DParms *given, CUmemorytype type, size_t unit) {
    copy->srcXInBytes = given->srcPos.x * unit;
    copy->srcY = given->srcPos.y;
    copy->srcZ = given->srcPos.z;
    copy->srcMemoryType = given->srcArray ? CU_MEMORYTYPE_ARRAY : type;
    copy->srcArray = (CUarray)(void *)given->srcArray;
    if (given->srcArray) return;
    if (type == CU_MEMORYTYPE_HOST)
        copy->srcHost = given->srcPtr.ptr;
    else
        copy->srcDevice = cj__address(given->srcPtr.ptr);
    copy->srcPitch = given->srcPtr.pitch;
    copy->srcHeight = given->srcPtr.ysize;
}

static void fill_target(CUDA_MEMCPY3D *copy, const struct cudaMemcpy3DParms *given, CUmemorytype type, size_t unit) {
    copy->dstXInBytes = given->dstPos.x * unit;
    copy->dstY = given->dstPos.y;
    copy->dstZ = given->dstPos.z;
    copy->dstMemoryType = given->dstArray ? CU_MEMORYTYPE_ARRAY : type;
    copy->dstArray = (CUarray)(void *)given->dstArray;
    if (given->dstArray) return;
    if (type == CU_MEMORYTYPE_HOST)
        copy->dstHost = given->dstPtr.ptr;
    else
        copy->dstDevice = cj__address(given->dstPtr.ptr);
    copy->dstPitch = given->dstPtr.pitch;
    copy->dstHeight = given->dstPtr.ysize;
}

// The extent counts elements along x if an array takes part, else bytes; so does a position in an array.
cudaError_t cj__describe_copy(const char *call, const struct cudaMemcpy3DParms *given, CUDA_MEMCPY3D *copy) {
    CUmemorytype from = CU_MEMORYTYPE_HOST, to = CU_MEMORYTYPE_HOST;
    size_t       from_unit = 1, to_unit = 1;
    if (!given) return cj__refuse(call, cudaErrorInvalidValue, "the parameters are NULL");
    if (!types_of(given->kind, &from, &to))
        return cj__refuse(call, cudaErrorInvalidMemcpyDirection, "the kind %d is none", (int)given->kind);
    if (!given->srcArray == !given->srcPtr.ptr || !given->dstArray == !given->dstPtr.ptr)
        return cj__refuse(call, cudaErrorInvalidValue,
                          "each side of a copy is an array or a pointer: one of them, not both");
    if (given->srcArray) TRY(element_bytes((CUarray)(void *)given->srcArray, &from_unit));
    if (given->dstArray) TRY(element_bytes((CUarray)(void *)given->dstArray, &to_unit));
    const size_t unit = given->srcArray ? from_unit : to_unit, width = given->extent.width * unit;
    const bool   many_rows = given->extent.height > 1 || given->extent.depth > 1;
    if ((!given->srcArray && many_rows && given->srcPtr.pitch < width) ||
        (!given->dstArray && many_rows && given->dstPtr.pitch < width))
        return cj__refuse(call, cudaErrorInvalidPitchValue,
                          "rows of %zu bytes are longer than a pitch (%zu, %zu bytes)", width, given->srcPtr.pitch,
                          given->dstPtr.pitch);
    memset(copy, 0, sizeof *copy);
    fill_source(copy, given, from, from_unit);
    fill_target(copy, given, to, to_unit);
    copy->WidthInBytes = width;
    copy->Height = given->extent.height;
    copy->Depth = given->extent.depth;
    return cudaSuccess;
}

cudaError_t cj__describe_linear(const char *call, void *to, const void *from, size_t bytes, kind_t kind,
                                CUDA_MEMCPY3D *copy) {
    struct cudaMemcpy3DParms given = {
        .dstPtr = {.ptr = to, .pitch = bytes, .xsize = bytes, .ysize = 1}, .extent = {bytes, 1, 1}, .kind = kind};
    given.srcPtr = (struct cudaPitchedPtr){.pitch = bytes, .xsize = bytes, .ysize = 1};
    memcpy(&given.srcPtr.ptr, &from, sizeof from);
    return cj__describe_copy(call, &given, copy);
}

static enum cudaMemcpyKind kind_of(CUmemorytype from, CUmemorytype to) {
    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
    if (from == CU_MEMORYTYPE_HOST) return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

static struct cudaPitchedPtr pitched(CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch,
                                     size_t height) {
    struct cudaPitchedPtr made = {.pitch = pitch, .xsize = pitch, .ysize = height};
    if (type == CU_MEMORYTYPE_HOST)
        memcpy(&made.ptr, &host, sizeof host);
    else
        memcpy(&made.ptr, &device, sizeof device);
    return made;
}

cudaError_t cj__copy_back(const CUDA_MEMCPY3D *copy, struct cudaMemcpy3DParms *made) {
    size_t     from_unit = 1, to_unit = 1;
    const bool from_array = copy->srcMemoryType == CU_MEMORYTYPE_ARRAY,
               to_array = copy->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    if (from_array) TRY(element_bytes(copy->srcArray, &from_unit));
    if (to_array) TRY(element_bytes(copy->dstArray, &to_unit));
    *made = (struct cudaMemcpy3DParms){
        .srcPos = {copy->srcXInBytes / from_unit, copy->srcY, copy->srcZ},
        .dstPos = {copy->dstXInBytes / to_unit, copy->dstY, copy->dstZ},
        .extent = {copy->WidthInBytes / (from_array ? from_unit : to_unit), copy->Height, copy->Depth},
        .kind = kind_of(copy->srcMemoryType, copy->dstMemoryType)};
    if (from_array)
        made->srcArray = (cudaArray_t)(void *)copy->srcArray;
    else
        made->srcPtr = pitched(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcPitch, copy->srcHeight);
    if (to_array)
        made->dstArray = (cudaArray_t)(void *)copy->dstArray;
    else
        made->dstPtr = pitched(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstPitch, copy->dstHeight);
    return cudaSuccess;
}

// ---- copies

static cudaError_t copy_shaped(const char *call, const struct cudaMemcpy3DParms *given, bool async, CUstream stream) {
    CUDA_MEMCPY3D copy;
    BEGIN_FOR(call);
    const cudaError_t failed = cj__describe_copy(call, given, &copy);
    if (failed || !copy.WidthInBytes || !copy.Height || !copy.Depth) return failed;
    return cj__result(async ? cuMemcpy3DAsync(&copy, stream) : cuMemcpy3D(&copy));
}

cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *copy) { return copy_shaped(__func__, copy, false, NULL); }

cudaError_t cudaMemcpy3D_ptds(const struct cudaMemcpy3DParms *copy) { return copy_shaped(__func__, copy, false, NULL); }

cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *copy, cudaStream_t stream) {
    return copy_shaped(__func__, copy, true, stream);
}

cudaError_t cudaMemcpy3DAsync_ptsz(const struct cudaMemcpy3DParms *copy, cudaStream_t stream) {
    return copy_shaped(__func__, copy, true, cj__own_stream(stream));
}

// All devices' memory is reached by its address: a copy between devices is one within them all.
static cudaError_t copy_peer(const char *call, const struct cudaMemcpy3DPeerParms *given, bool async, CUstream stream) {
    CUcontext there = NULL, here = NULL;
    if (!given) return cj__refuse(call, cudaErrorInvalidValue, "the parameters are NULL");
    BEGIN_FOR(call);
    TRY(cj__primary(given->dstDevice, &there));
    TRY(cj__primary(given->srcDevice, &here));
    const struct cudaMemcpy3DParms plain = {.srcArray = given->srcArray,
                                            .srcPos = given->srcPos,
                                            .srcPtr = given->srcPtr,
                                            .dstArray = given->dstArray,
                                            .dstPos = given->dstPos,
                                            .dstPtr = given->dstPtr,
                                            .extent = given->extent,
                                            .kind = cudaMemcpyDeviceToDevice};
    return copy_shaped(call, &plain, async, stream);
}

cudaError_t cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *copy) {
    return copy_peer(__func__, copy, false, NULL);
}

cudaError_t cudaMemcpy3DPeer_ptds(const struct cudaMemcpy3DPeerParms *copy) {
    return copy_peer(__func__, copy, false, NULL);
}

cudaError_t cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *copy, cudaStream_t stream) {
    return copy_peer(__func__, copy, true, stream);
}

cudaError_t cudaMemcpy3DPeerAsync_ptsz(const struct cudaMemcpy3DPeerParms *copy, cudaStream_t stream) {
    return copy_peer(__func__, copy, true, cj__own_stream(stream));
}

// ---- in two dimensions, with a side each that is pitched memory or an array. Here also an array's extent is in bytes.

typedef struct side {
    cudaArray_t array;
    size_t      x, y;  // x in bytes
    const void *pointer;
    size_t      pitch;
} side;

static cudaError_t copy_2d(const char *call, side to, side from, size_t width, size_t height, kind_t kind, bool async,
                           CUstream stream) {
    size_t unit = 1;
    BEGIN_FOR(call);
    if (to.array || from.array) TRY(element_bytes((CUarray)(void *)(to.array ? to.array : from.array), &unit));
    if (width % unit || to.x % unit || from.x % unit)
        return cj__refuse(call, cudaErrorInvalidValue,
                          "bytes along x (%zu from %zu to %zu) are no multiple of an element's %zu", width, from.x,
                          to.x, unit);
    if ((!to.array && to.pitch < width) || (!from.array && from.pitch < width))
        return cj__refuse(call, cudaErrorInvalidPitchValue,
                          "rows of %zu bytes are longer than a pitch (%zu, %zu bytes)", width, from.pitch, to.pitch);
    struct cudaMemcpy3DParms given = {.srcArray = from.array,
                                      .srcPos = {.x = from.array ? from.x / unit : 0, .y = from.y},
                                      .dstArray = to.array,
                                      .dstPos = {.x = to.array ? to.x / unit : 0, .y = to.y},
                                      .extent = {width / unit, height, 1},
                                      .kind = kind};
    if (!from.array) given.srcPtr = (struct cudaPitchedPtr){.pitch = from.pitch, .xsize = width, .ysize = height};
    if (!to.array) given.dstPtr = (struct cudaPitchedPtr){.pitch = to.pitch, .xsize = width, .ysize = height};
    memcpy(&given.srcPtr.ptr, &from.pointer, sizeof from.pointer);
    memcpy(&given.dstPtr.ptr, &to.pointer, sizeof to.pointer);
    return copy_shaped(call, &given, async, stream);
}

// An array that is read: CUDA's type of it is to a constant.
static cudaArray_t read_of(cudaArray_const_t array) { return (cudaArray_t)(uintptr_t)array; }

// NAME, NAME_ptds, NAMEAsync and NAMEAsync_ptsz: the parameters in parentheses, the function that copies, its arguments.
#define FORMS(name, parameters, async_parameters, copy, ...)                                            \
    cudaError_t name parameters { return copy(#name, __VA_ARGS__, false, NULL); }                       \
    cudaError_t name##_ptds parameters { return copy(#name, __VA_ARGS__, false, NULL); }                \
    cudaError_t name##Async async_parameters { return copy(#name "Async", __VA_ARGS__, true, stream); } \
    cudaError_t name##Async_ptsz async_parameters {                                                     \
        return copy(#name "Async", __VA_ARGS__, true, cj__own_stream(stream));                          \
    }
#define PITCHED(memory, bytes) ((side){.pointer = (memory), .pitch = (bytes)})
#define ARRAY(which, at_x, at_y) ((side){.array = (which), .x = (at_x), .y = (at_y)})

FORMS(cudaMemcpy2D,
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, kind_t kind),
      (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, kind_t kind,
       cudaStream_t stream),
      copy_2d, PITCHED(to, to_pitch), PITCHED(from, from_pitch), width, height, kind)
FORMS(cudaMemcpy2DToArray,
      (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, kind_t kind),
      (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height, kind_t kind,
       cudaStream_t stream),
      copy_2d, ARRAY(to, x, y), PITCHED(from, pitch), width, height, kind)
FORMS(cudaMemcpy2DFromArray,
      (void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, kind_t kind),
      (void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height, kind_t kind,
       cudaStream_t stream),
      copy_2d, PITCHED(to, pitch), ARRAY(read_of(from), x, y), width, height, kind)

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                     size_t from_y, size_t width, size_t height, kind_t kind) {
    return copy_2d(__func__, ARRAY(to, to_x, to_y), ARRAY(read_of(from), from_x, from_y), width, height, kind, false,
                   NULL);
}

cudaError_t cudaMemcpy2DArrayToArray_ptds(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                          size_t from_x, size_t from_y, size_t width, size_t height, kind_t kind) {
    return cudaMemcpy2DArrayToArray(to, to_x, to_y, from, from_x, from_y, width, height, kind);
}

// ---- by bytes, from row to row of the arrays: old functions, which a few programs still call

static cudaError_t row_bytes(side given, size_t *bytes) {
    CUDA_ARRAY3D_DESCRIPTOR about;
    size_t                  unit = 0;
    *bytes = SIZE_MAX;
    if (!given.array) return cudaSuccess;
    TRY(element_bytes((CUarray)(void *)given.array, &unit));
    TRY(cuArray3DGetDescriptor(&about, (CUarray)(void *)given.array));
    *bytes = about.Width * unit;
    return cudaSuccess;
}

// The side after `bytes` bytes, which did not leave its row.
static side after(side given, size_t bytes, size_t row) {
    if (!given.array) {
        given.pointer = (const char *)given.pointer + bytes;
        return given;
    }
    given.x += bytes;
    if (given.x == row) {
        given.x = 0;
        given.y++;
    }
    return given;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static cudaError_t copy_bytes(const char *call, side to, side from, size_t count, kind_t kind, bool async,
                              CUstream stream) {
    size_t      to_row = 0, from_row = 0;
    cudaError_t code = cudaSuccess;
    BEGIN_FOR(call);
    if ((code = row_bytes(to, &to_row)) || (code = row_bytes(from, &from_row))) return code;
    if (to.x >= to_row || from.x >= from_row)
        return cj__refuse(call, cudaErrorInvalidValue, "byte %zu or %zu of a row lies after an array's end", from.x,
                          to.x);
    for (size_t piece; count && !code; count -= piece) {
        piece = least(count, least(to_row - to.x, from_row - from.x));
        to.pitch = from.pitch = piece;
        code = copy_2d(call, to, from, piece, 1, kind, async, stream);
        to = after(to, piece, to_row);
        from = after(from, piece, from_row);
    }
    return code;
}

FORMS(cudaMemcpyToArray, (cudaArray_t to, size_t x, size_t y, const void *from, size_t count, kind_t kind),
      (cudaArray_t to, size_t x, size_t y, const void *from, size_t count, kind_t kind, cudaStream_t stream),
      copy_bytes, ARRAY(to, x, y), PITCHED(from, 0), count, kind)
FORMS(cudaMemcpyFromArray, (void *to, cudaArray_const_t from, size_t x, size_t y, size_t count, kind_t kind),
      (void *to, cudaArray_const_t from, size_t x, size_t y, size_t count, kind_t kind, cudaStream_t stream),
      copy_bytes, PITCHED(to, 0), ARRAY(read_of(from), x, y), count, kind)

cudaError_t cudaMemcpyArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                   size_t from_y, size_t count, kind_t kind) {
    return copy_bytes(__func__, ARRAY(to, to_x, to_y), ARRAY(read_of(from), from_x, from_y), count, kind, false, NULL);
}

cudaError_t cudaMemcpyArrayToArray_ptds(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
                                        size_t from_y, size_t count, kind_t kind) {
    return copy_bytes("cudaMemcpyArrayToArray", ARRAY(to, to_x, to_y), ARRAY(read_of(from), from_x, from_y), count,
                      kind, false, NULL);
}

// ---- many at once

_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes) &&
                   sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP) &&
                   sizeof(struct cudaMemcpy3DOperand) == sizeof(CUmemcpy3DOperand),
               "the structures of batches are the driver's");

PASS_STREAM(cudaMemcpyBatchAsync,
            (void *const *to, const void *const *from, const size_t *sizes, size_t count,
             struct cudaMemcpyAttributes *attributes, size_t *indices, size_t attribute_count, cudaStream_t stream),
            cuMemcpyBatchAsync((CUdeviceptr *)(uintptr_t)to, (CUdeviceptr *)(uintptr_t)from, (size_t *)(uintptr_t)sizes,
                               count, (CUmemcpyAttributes *)(void *)attributes, indices, attribute_count, stream))
PASS_STREAM(cudaMemcpy3DBatchAsync,
            (size_t count, struct cudaMemcpy3DBatchOp *copies, unsigned long long flags, cudaStream_t stream),
            cuMemcpy3DBatchAsync(count, (CUDA_MEMCPY3D_BATCH_OP *)(void *)copies, flags, stream))
