// SPDX-License-Identifier: Apache-2.0
// CUDA arrays and their formats.
#include "runtime.h"

// ---- formats

typedef struct format_row {
    CUarray_format             format;
    int                        bits;
    enum cudaChannelFormatKind kind;
} format_row;

static const format_row formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat},
};

enum { FORMATS = sizeof formats / sizeof *formats };

// Channels are as wide as the first one, and there are 1, 2 or 4.
bool cj__format_of(const struct cudaChannelFormatDesc *channels, CUarray_format *format, unsigned *count) {
    const int bits[] = {channels->x, channels->y, channels->z, channels->w};
    unsigned  used = 0;
    while (used < 4 && bits[used]) used++;
    for (unsigned i = 0; i < 4; i++)
        if (bits[i] != (i < used ? bits[0] : 0)) return false;
    if (used != 1 && used != 2 && used != 4) return false;
    for (size_t i = 0; i < FORMATS; i++) {
        if (formats[i].bits != bits[0] || formats[i].kind != channels->f) continue;
        *format = formats[i].format;
        *count = used;
        return true;
    }
    return false;
}

bool cj__channels_of(CUarray_format format, unsigned count, struct cudaChannelFormatDesc *channels) {
    for (size_t i = 0; i < FORMATS; i++) {
        const int bits = formats[i].bits;
        if (formats[i].format != format) continue;
        *channels = (struct cudaChannelFormatDesc){.x = bits,
                                                   .y = count > 1 ? bits : 0,
                                                   .z = count > 2 ? bits : 0,
                                                   .w = count > 3 ? bits : 0,
                                                   .f = formats[i].kind};
        return true;
    }
    return false;
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind) {
    return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = kind};
}

// ---- arrays

_Static_assert(cudaArrayLayered == CUDA_ARRAY3D_LAYERED && cudaArraySurfaceLoadStore == CUDA_ARRAY3D_SURFACE_LDST &&
                   cudaArrayCubemap == CUDA_ARRAY3D_CUBEMAP && cudaArrayTextureGather == CUDA_ARRAY3D_TEXTURE_GATHER,
               "the flags of arrays are the driver's");

static cudaError_t describe(const char *call, const struct cudaChannelFormatDesc *channels, struct cudaExtent extent,
                            unsigned flags, CUDA_ARRAY3D_DESCRIPTOR *made) {
    *made = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    if (!channels) return cj__refuse(call, cudaErrorInvalidValue, "the channel descriptor is NULL");
    if (cj__format_of(channels, &made->Format, &made->NumChannels)) return cudaSuccess;
    return cj__refuse(call, cudaErrorInvalidChannelDescriptor, "there is no format of %d, %d, %d and %d bits, kind %d",
                      channels->x, channels->y, channels->z, channels->w, (int)channels->f);
}

static cudaError_t create(const char *call, cudaArray_t *array, const struct cudaChannelFormatDesc *channels,
                          struct cudaExtent extent, unsigned flags) {
    CUDA_ARRAY3D_DESCRIPTOR wanted;
    if (!array) return cj__refuse(call, cudaErrorInvalidValue, "array is NULL");
    BEGIN_FOR(call);
    const cudaError_t failed = describe(call, channels, extent, flags, &wanted);
    return failed ? failed : cj__result(cuArray3DCreate((CUarray *)(void *)array, &wanted));
}

cudaError_t cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *channels, size_t width,
                            size_t height, unsigned flags) {
    return create(__func__, array, channels, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *channels,
                              struct cudaExtent extent, unsigned flags) {
    return create(__func__, array, channels, extent, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    BEGIN();
    return array ? cj__result(cuArrayDestroy((CUarray)(void *)array)) : cudaSuccess;
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *channels, struct cudaExtent *extent, unsigned *flags,
                             cudaArray_t array) {
    CUDA_ARRAY3D_DESCRIPTOR      about;
    struct cudaChannelFormatDesc found;
    BEGIN();
    TRY(cuArray3DGetDescriptor(&about, (CUarray)(void *)array));
    if (!cj__channels_of(about.Format, about.NumChannels, &found))
        return cj__refuse(__func__, cudaErrorNotSupported, "the array's format 0x%x has no channel descriptor",
                          (unsigned)about.Format);
    if (channels) *channels = found;
    if (extent) *extent = (struct cudaExtent){about.Width, about.Height, about.Depth};
    if (flags) *flags = about.Flags;
    return cudaSuccess;
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *channels, cudaArray_const_t array) {
    REQUIRE(channels);
    return cudaArrayGetInfo(channels, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

// ---- arrays with levels of detail

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *channels,
                                     struct cudaExtent extent, unsigned levels, unsigned flags) {
    CUDA_ARRAY3D_DESCRIPTOR wanted;
    REQUIRE(array);
    BEGIN();
    const cudaError_t failed = describe(__func__, channels, extent, flags, &wanted);
    return failed ? failed : cj__result(cuMipmappedArrayCreate((CUmipmappedArray *)(void *)array, &wanted, levels));
}

PASS(cudaGetMipmappedArrayLevel, (cudaArray_t * level, cudaMipmappedArray_const_t array, unsigned which),
     cuMipmappedArrayGetLevel((CUarray *)(void *)level, (CUmipmappedArray)(uintptr_t)array, which))
PASS(cudaFreeMipmappedArray, (cudaMipmappedArray_t array),
     array ? cuMipmappedArrayDestroy((CUmipmappedArray)(void *)array) : CUDA_SUCCESS)
