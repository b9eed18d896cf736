// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects, which are the driver's: only their descriptions differ.
#include <string.h>

#include "runtime.h"

_Static_assert((int)cudaResourceTypePitch2D == (int)CU_RESOURCE_TYPE_PITCH2D &&
                   (int)cudaAddressModeBorder == (int)CU_TR_ADDRESS_MODE_BORDER &&
                   (int)cudaFilterModeLinear == (int)CU_TR_FILTER_MODE_LINEAR &&
                   sizeof(struct cudaResourceViewDesc) == sizeof(CUDA_RESOURCE_VIEW_DESC),
               "the parts of descriptions are the driver's");

// ---- resources

static cudaError_t resource_of(const char *call, const struct cudaResourceDesc *given, CUDA_RESOURCE_DESC *made) {
    const struct cudaChannelFormatDesc *channels = NULL;
    CUarray_format                      format = CU_AD_FORMAT_FLOAT;
    unsigned                            count = 0;
    if (!given) return cj__refuse(call, cudaErrorInvalidValue, "the resource's description is NULL");
    *made = (CUDA_RESOURCE_DESC){.resType = (CUresourcetype)given->resType, .flags = given->flags};
    if (given->resType == cudaResourceTypeLinear) channels = &given->res.linear.desc;
    if (given->resType == cudaResourceTypePitch2D) channels = &given->res.pitch2D.desc;
    if (channels && !cj__format_of(channels, &format, &count))
        return cj__refuse(call, cudaErrorInvalidChannelDescriptor,
                          "there is no format of %d, %d, %d and %d bits, kind %d", channels->x, channels->y,
                          channels->z, channels->w, (int)channels->f);
    switch (given->resType) {
    case cudaResourceTypeArray: made->res.array.hArray = (CUarray)(void *)given->res.array.array; break;
    case cudaResourceTypeMipmappedArray:
        made->res.mipmap.hMipmappedArray = (CUmipmappedArray)(void *)given->res.mipmap.mipmap;
        break;
    case cudaResourceTypeLinear:
        made->res.linear.devPtr = cj__address(given->res.linear.devPtr);
        made->res.linear.format = format;
        made->res.linear.numChannels = count;
        made->res.linear.sizeInBytes = given->res.linear.sizeInBytes;
        break;
    case cudaResourceTypePitch2D:
        made->res.pitch2D.devPtr = cj__address(given->res.pitch2D.devPtr);
        made->res.pitch2D.format = format;
        made->res.pitch2D.numChannels = count;
        made->res.pitch2D.width = given->res.pitch2D.width;
        made->res.pitch2D.height = given->res.pitch2D.height;
        made->res.pitch2D.pitchInBytes = given->res.pitch2D.pitchInBytes;
        break;
    default: return cj__refuse(call, cudaErrorInvalidValue, "the resource's type %d is none", (int)given->resType);
    }
    return cudaSuccess;
}

static void *pointer_of(CUdeviceptr address) { return (void *)(uintptr_t)address; }

static struct cudaResourceDesc resource_back(const CUDA_RESOURCE_DESC *given) {
    struct cudaResourceDesc made = {.resType = (enum cudaResourceType)given->resType, .flags = given->flags};
    switch (given->resType) {
    case CU_RESOURCE_TYPE_ARRAY: made.res.array.array = (cudaArray_t)(void *)given->res.array.hArray; break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        made.res.mipmap.mipmap = (cudaMipmappedArray_t)(void *)given->res.mipmap.hMipmappedArray;
        break;
    case CU_RESOURCE_TYPE_LINEAR:
        made.res.linear.devPtr = pointer_of(given->res.linear.devPtr);
        cj__channels_of(given->res.linear.format, given->res.linear.numChannels, &made.res.linear.desc);
        made.res.linear.sizeInBytes = given->res.linear.sizeInBytes;
        break;
    default:
        made.res.pitch2D.devPtr = pointer_of(given->res.pitch2D.devPtr);
        cj__channels_of(given->res.pitch2D.format, given->res.pitch2D.numChannels, &made.res.pitch2D.desc);
        made.res.pitch2D.width = given->res.pitch2D.width;
        made.res.pitch2D.height = given->res.pitch2D.height;
        made.res.pitch2D.pitchInBytes = given->res.pitch2D.pitchInBytes;
    }
    return made;
}

// ---- how a texture is read

static CUDA_TEXTURE_DESC sampler_of(const struct cudaTextureDesc *given) {
    CUDA_TEXTURE_DESC made = {.filterMode = (CUfilter_mode)given->filterMode,
                              .maxAnisotropy = given->maxAnisotropy,
                              .mipmapFilterMode = (CUfilter_mode)given->mipmapFilterMode,
                              .mipmapLevelBias = given->mipmapLevelBias,
                              .minMipmapLevelClamp = given->minMipmapLevelClamp,
                              .maxMipmapLevelClamp = given->maxMipmapLevelClamp};
    for (int i = 0; i < 3; i++) made.addressMode[i] = (CUaddress_mode)given->addressMode[i];
    memcpy(made.borderColor, given->borderColor, sizeof made.borderColor);
    if (given->readMode == cudaReadModeElementType) made.flags |= CU_TRSF_READ_AS_INTEGER;
    if (given->normalizedCoords) made.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (given->sRGB) made.flags |= CU_TRSF_SRGB;
    if (given->disableTrilinearOptimization) made.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if (given->seamlessCubemap) made.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    return made;
}

static struct cudaTextureDesc sampler_back(const CUDA_TEXTURE_DESC *given) {
    const unsigned         flags = given->flags;
    struct cudaTextureDesc made = {
        .filterMode = (enum cudaTextureFilterMode)given->filterMode,
        .readMode = flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat,
        .sRGB = (flags & CU_TRSF_SRGB) != 0,
        .normalizedCoords = (flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
        .maxAnisotropy = given->maxAnisotropy,
        .mipmapFilterMode = (enum cudaTextureFilterMode)given->mipmapFilterMode,
        .mipmapLevelBias = given->mipmapLevelBias,
        .minMipmapLevelClamp = given->minMipmapLevelClamp,
        .maxMipmapLevelClamp = given->maxMipmapLevelClamp,
        .disableTrilinearOptimization = (flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0,
        .seamlessCubemap = (flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0};
    for (int i = 0; i < 3; i++) made.addressMode[i] = (enum cudaTextureAddressMode)given->addressMode[i];
    memcpy(made.borderColor, given->borderColor, sizeof made.borderColor);
    return made;
}

// ---- textures

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *texture, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *sampler, const struct cudaResourceViewDesc *view) {
    CUDA_RESOURCE_DESC driver_resource;
    REQUIRE(texture);
    REQUIRE(sampler);
    BEGIN();
    const cudaError_t       failed = resource_of(__func__, resource, &driver_resource);
    const CUDA_TEXTURE_DESC driver_sampler = sampler_of(sampler);
    if (failed) return failed;
    return cj__result(cuTexObjectCreate((CUtexObject *)texture, &driver_resource, &driver_sampler,
                                        (const CUDA_RESOURCE_VIEW_DESC *)(const void *)view));
}

PASS(cudaDestroyTextureObject, (cudaTextureObject_t texture), texture ? cuTexObjectDestroy(texture) : CUDA_SUCCESS)

cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t texture) {
    CUDA_RESOURCE_DESC found;
    REQUIRE(resource);
    BEGIN();
    TRY(cuTexObjectGetResourceDesc(&found, texture));
    *resource = resource_back(&found);
    return cudaSuccess;
}

cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *sampler, cudaTextureObject_t texture) {
    CUDA_TEXTURE_DESC found;
    REQUIRE(sampler);
    BEGIN();
    TRY(cuTexObjectGetTextureDesc(&found, texture));
    *sampler = sampler_back(&found);
    return cudaSuccess;
}

PASS(cudaGetTextureObjectResourceViewDesc, (struct cudaResourceViewDesc * view, cudaTextureObject_t texture),
     cuTexObjectGetResourceViewDesc((CUDA_RESOURCE_VIEW_DESC *)(void *)view, texture))

// ---- surfaces

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *surface, const struct cudaResourceDesc *resource) {
    CUDA_RESOURCE_DESC driver_resource;
    REQUIRE(surface);
    BEGIN();
    const cudaError_t failed = resource_of(__func__, resource, &driver_resource);
    return failed ? failed : cj__result(cuSurfObjectCreate((CUsurfObject *)surface, &driver_resource));
}

PASS(cudaDestroySurfaceObject, (cudaSurfaceObject_t surface), surface ? cuSurfObjectDestroy(surface) : CUDA_SUCCESS)

cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t surface) {
    CUDA_RESOURCE_DESC found;
    REQUIRE(resource);
    BEGIN();
    TRY(cuSurfObjectGetResourceDesc(&found, surface));
    *resource = resource_back(&found);
    return cudaSuccess;
}
