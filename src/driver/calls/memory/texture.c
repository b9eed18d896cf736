// SPDX-License-Identifier: Apache-2.0
// Texture and surface objects: the CPU device's, which kernels take as numbers.
#include <clusterjit/texture.h>
#include <stdlib.h>

#include "places.h"

// What a texture or surface was made of.
typedef struct made {
    struct made            *next;
    uint64_t                object;
    cj_context             *context;  // kept
    bool                    is_surface, has_view;
    CUDA_RESOURCE_DESC      resource;
    CUDA_TEXTURE_DESC       texture;
    CUDA_RESOURCE_VIEW_DESC view;
} made;

static made *all;

static made **find(uint64_t object, bool is_surface) {
    made **at = &all;
    while (*at && ((*at)->object != object || (*at)->is_surface != is_surface)) at = &(*at)->next;
    return at;
}

static CUresult refuse_object(uint64_t object, bool is_surface) {
    return cj__refuse(CUDA_ERROR_INVALID_VALUE, "0x%llx is no %s, or one that was destroyed",
                      (unsigned long long)object, is_surface ? "surface" : "texture");
}

// ---- images

static CUresult image_of_array(CUarray given, cj_image *image) {
    cj_array      *array = NULL;
    const CUresult code = cj__array_of(given, &array);
    if (code) return code;
    const CUDA_ARRAY3D_DESCRIPTOR *shape = &array->shape;
    const bool                     layered = shape->Flags & CUDA_ARRAY3D_LAYERED;
    *image = (cj_image){CJ_INIT(cj_image),
                        .address = array->memory,
                        .format = (cj_texel)shape->Format,
                        .channels = shape->NumChannels,
                        .width = shape->Width,
                        .height = shape->Height,
                        .depth = layered ? 0 : shape->Depth,
                        .layers = layered ? shape->Depth : 0,
                        .row_bytes = array->width,
                        .slice_bytes = array->width * array->rows};
    return CUDA_SUCCESS;
}

static unsigned bytes_of(CUarray_format format) {
    return format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT8 ? 1
           : format == CU_AD_FORMAT_UNSIGNED_INT32 || format == CU_AD_FORMAT_SIGNED_INT32 ||
                   format == CU_AD_FORMAT_FLOAT
               ? 4
               : 2;
}

static CUresult image_of(const CUDA_RESOURCE_DESC *resource, cj_image *image) {
    if (!resource) return cj__refuse_null("pResDesc");
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY: return image_of_array(resource->res.array.hArray, image);
    case CU_RESOURCE_TYPE_LINEAR: {
        const size_t texel = (size_t)bytes_of(resource->res.linear.format) * resource->res.linear.numChannels;
        *image = (cj_image){CJ_INIT(cj_image),
                            .address = resource->res.linear.devPtr,
                            .format = (cj_texel)resource->res.linear.format,
                            .channels = resource->res.linear.numChannels,
                            .width = texel ? resource->res.linear.sizeInBytes / texel : 0,
                            .linear = true};
        return CUDA_SUCCESS;
    }
    case CU_RESOURCE_TYPE_PITCH2D:
        *image = (cj_image){CJ_INIT(cj_image),
                            .address = resource->res.pitch2D.devPtr,
                            .format = (cj_texel)resource->res.pitch2D.format,
                            .channels = resource->res.pitch2D.numChannels,
                            .width = resource->res.pitch2D.width,
                            .height = resource->res.pitch2D.height,
                            .row_bytes = resource->res.pitch2D.pitchInBytes};
        return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "mipmapped arrays are missing here");
    default: return cj__refuse(CUDA_ERROR_INVALID_VALUE, "resource type %d is not known", (int)resource->resType);
    }
}

static CUresult sampler_of(const CUDA_TEXTURE_DESC *texture, cj_sampler *sampler) {
    if (!texture) return cj__refuse_null("pTexDesc");
    if (texture->flags & CU_TRSF_SEAMLESS_CUBEMAP)
        return cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "cube maps are missing here");
    *sampler = (cj_sampler){CJ_INIT(cj_sampler), .filter = (cj_filter)texture->filterMode,
                            .normalized = texture->flags & CU_TRSF_NORMALIZED_COORDINATES,
                            .as_integer = texture->flags & CU_TRSF_READ_AS_INTEGER,
                            .srgb = texture->flags & CU_TRSF_SRGB};
    for (int i = 0; i < 3; i++) sampler->address[i] = (cj_address_mode)texture->addressMode[i];
    for (int i = 0; i < 4; i++) sampler->border[i] = texture->borderColor[i];
    return CUDA_SUCCESS;
}

// ---- textures and surfaces

static CUresult remember(uint64_t object, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
                         const CUDA_RESOURCE_VIEW_DESC *view) {
    made *m = malloc(sizeof *m);
    if (!m) return CUDA_ERROR_OUT_OF_MEMORY;
    *m = (made){.next = all,
                .object = object,
                .context = cj__keep(cj__current()),
                .is_surface = !texture,
                .resource = *resource};
    if (texture) m->texture = *texture;
    m->has_view = view != NULL;
    if (view) m->view = *view;
    all = m;
    return CUDA_SUCCESS;
}

CUresult cuTexObjectCreate(CUtexObject *result, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *texture,
                           const CUDA_RESOURCE_VIEW_DESC *view) {
    ENTER(CJ_NEED_CONTEXT);
    cj_image   image = {CJ_INIT(image)};
    cj_sampler sampler = {CJ_INIT(sampler)};
    uint64_t   object = 0;
    cj_error   error = {0};
    cj_device *device = cj__current()->gpu->device;
    REQUIRE(result);
    TRY(image_of(resource, &image));
    TRY(sampler_of(texture, &sampler));
    if (view && view->format != CU_RES_VIEW_FORMAT_NONE)
        LEAVE(cj__refuse(CUDA_ERROR_NOT_SUPPORTED, "views with another format are missing here"));
    if (cj_cpu_texture_create(device, &image, &sampler, &object, &error)) LEAVE(cj__refuse_error(&error));
    const CUresult code = remember(object, resource, texture, view);
    if (code)
        cj_cpu_texture_destroy(device, object);
    else
        *result = object;
    LEAVE(code);
}

CUresult cuSurfObjectCreate(CUsurfObject *result, const CUDA_RESOURCE_DESC *resource) {
    ENTER(CJ_NEED_CONTEXT);
    cj_image   image = {CJ_INIT(image)};
    uint64_t   object = 0;
    cj_error   error = {0};
    cj_device *device = cj__current()->gpu->device;
    REQUIRE(result);
    REQUIRE(resource);
    if (resource->resType != CU_RESOURCE_TYPE_ARRAY)
        LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "a surface is made of an array"));
    TRY(image_of(resource, &image));
    if (cj_cpu_surface_create(device, &image, &object, &error)) LEAVE(cj__refuse_error(&error));
    const CUresult code = remember(object, resource, NULL, NULL);
    if (code)
        cj_cpu_surface_destroy(device, object);
    else
        *result = object;
    LEAVE(code);
}

static CUresult destroy(uint64_t object, bool is_surface) {
    made **at = find(object, is_surface), *m = *at;
    if (!m) return refuse_object(object, is_surface);
    *at = m->next;
    if (is_surface)
        cj_cpu_surface_destroy(m->context->gpu->device, object);
    else
        cj_cpu_texture_destroy(m->context->gpu->device, object);
    cj__let(m->context);
    free(m);
    return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject object) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(destroy(object, false));
}

CUresult cuSurfObjectDestroy(CUsurfObject object) {
    ENTER(CJ_NEED_CONTEXT);
    LEAVE(destroy(object, true));
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject object) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(resource);
    const made *m = *find(object, false);
    if (!m) LEAVE(refuse_object(object, false));
    *resource = m->resource;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *texture, CUtexObject object) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(texture);
    const made *m = *find(object, false);
    if (!m) LEAVE(refuse_object(object, false));
    *texture = m->texture;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *view, CUtexObject object) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(view);
    const made *m = *find(object, false);
    if (!m) LEAVE(refuse_object(object, false));
    if (!m->has_view) LEAVE(cj__refuse(CUDA_ERROR_INVALID_VALUE, "the texture was made without a view"));
    *view = m->view;
    LEAVE(CUDA_SUCCESS);
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject object) {
    ENTER(CJ_NEED_CONTEXT);
    REQUIRE(resource);
    const made *m = *find(object, true);
    if (!m) LEAVE(refuse_object(object, true));
    *resource = m->resource;
    LEAVE(CUDA_SUCCESS);
}
