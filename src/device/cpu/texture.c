// SPDX-License-Identifier: Apache-2.0
// The public calls for textures and surfaces.
#include <clusterjit/texture.h>

#include "cpu_device.h"
#include "error.h"
#include "sized.h"

static cj_status refuse_device(const cj_device *device, const char *call, cj_error *error) {
    cj__fail(error, CJ_UNSUPPORTED, "%s: %s is no CPU device", call, device->limits.name);
    cj__hint(error, "create it with the driver: cuTexObjectCreate, cuSurfObjectCreate");
    return CJ_UNSUPPORTED;
}

static bool is_cpu(const cj_device *device) { return device->ops == &cj__cpu_operations; }

// Describes the image, whose texels must lie in one allocation.
static cj_status describe(cj_cpu_device *cpu, const cj_image *image, cj_cpu_image *made, cj_error *error) {
    cj_status status = cj__image_describe(image, made, error);
    if (status) return status;
    const cj_image *i = &made->is;
    const uint64_t  slices = i->depth * i->layers;
    const uint64_t  bytes = (slices - 1) * i->slice_bytes + (i->height - 1) * i->row_bytes + i->width * made->texel;
    cj_cpu_ranges  *ranges = cj__cpu_ranges_hold(&cpu->memory);
    const bool      is_inside = cj__cpu_ranges_find(ranges, i->address, bytes, NULL) != NULL;
    cj__cpu_ranges_drop(&cpu->memory, ranges);
    if (is_inside) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "image: %llu bytes at 0x%llx are not in one allocation of the CPU device",
             (unsigned long long)bytes, (unsigned long long)i->address);
    cj__hint(error, "memory of the device is that of cj_mem_alloc, or of the host's after cj_mem_wrap");
    return CJ_INVALID_ARGUMENT;
}

static cj_status check_sampler(const cj_cpu_image *image, const cj_sampler *sampler, cj_error *error) {
    const bool is_wide = image->is.format == CJ_TEXEL_U32 || image->is.format == CJ_TEXEL_S32;
    const bool is_real = image->is.format == CJ_TEXEL_F16 || image->is.format == CJ_TEXEL_F32;
    for (unsigned k = 0; k < 3; k++)
        if ((unsigned)sampler->address[k] > CJ_ADDRESS_BORDER)
            return cj__fail(error, CJ_INVALID_ARGUMENT, "sampler: address[%u] is %u; it must be one of cj_address_mode",
                            k, (unsigned)sampler->address[k]);
    if ((unsigned)sampler->filter > CJ_FILTER_LINEAR)
        return cj__fail(error, CJ_INVALID_ARGUMENT, "sampler: filter is %u; it must be one of cj_filter",
                        (unsigned)sampler->filter);
    if (sampler->srgb) return cj__fail(error, CJ_UNSUPPORTED, "sampler: srgb: the CPU device does not convert sRGB");
    if (sampler->filter == CJ_FILTER_LINEAR && !is_real && (is_wide || sampler->as_integer)) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "sampler: filter is linear, but the texels are read as integers");
        cj__hint(error, "only floats are filtered: of 8-bit and 16-bit integers, those read as floats");
        return CJ_INVALID_ARGUMENT;
    }
    return CJ_OK;
}

cj_status cj_cpu_texture_create(cj_device *device, const cj_image *image, const cj_sampler *sampler, uint64_t *texture,
                                cj_error *error) {
    REQUIRE(device);
    SIZED(cj_image, image);
    SIZED(cj_sampler, sampler);
    REQUIRE(texture);
    if (!is_cpu(device)) return refuse_device(device, __func__, error);
    cj_cpu_device *cpu = (cj_cpu_device *)device;
    cj_cpu_image   made;
    cj_status      status = describe(cpu, image, &made, error);
    if (!status) status = check_sampler(&made, sampler, error);
    if (status) return status;
    made.sampler = *sampler;
    return cj__images_add(&cpu->images, CJ_IMAGE_TEXTURE, &made, texture, error);
}

cj_status cj_cpu_surface_create(cj_device *device, const cj_image *image, uint64_t *surface, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_image, image);
    REQUIRE(surface);
    if (!is_cpu(device)) return refuse_device(device, __func__, error);
    cj_cpu_device *cpu = (cj_cpu_device *)device;
    cj_cpu_image   made;
    if (image->linear) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "image: linear memory has no surface");
        cj__hint(error, "kernels write linear memory through its address");
        return CJ_INVALID_ARGUMENT;
    }
    cj_status status = describe(cpu, image, &made, error);
    return status ? status : cj__images_add(&cpu->images, CJ_IMAGE_SURFACE, &made, surface, error);
}

static void destroy(cj_device *device, cj_image_use use, uint64_t handle) {
    if (device && handle && is_cpu(device)) cj__images_remove(&((cj_cpu_device *)device)->images, use, handle);
}

void cj_cpu_texture_destroy(cj_device *device, uint64_t texture) { destroy(device, CJ_IMAGE_TEXTURE, texture); }

void cj_cpu_surface_destroy(cj_device *device, uint64_t surface) { destroy(device, CJ_IMAGE_SURFACE, surface); }
