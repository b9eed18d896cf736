// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces of the CPU device: how kernels see texels in the device's memory through tex, tld4, txq, suld, sust,
// sured and suq (CUDA C++: cudaTextureObject_t, cudaSurfaceObject_t). A handle is 64 bits that a kernel takes as a parameter.
//
// On any other device these calls fail with UNSUPPORTED: create cuTexObject or cuSurfObject with the driver there.
// Thread safety: handles may be created and destroyed by several threads at once. A handle must outlive the launches that use it;
// its texels must be there when a kernel reads them, else the launch reports out-of-bounds. What a kernel does with a handle
// that was destroyed is reported, too (rule texture-handle).
//
// What a fetch computes is what the CUDA C++ Programming Guide says in "Texture Fetching": linear filtering takes weights of
// 8 bits of fraction, rounded to nearest, and sums in f64 before it rounds to f32. A coordinate that is not a number counts as 0;
// an infinite one lies outside. Components that a texel lacks read as 0.
#ifndef CLUSTERJIT_TEXTURE_H
#define CLUSTERJIT_TEXTURE_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

// Formats of a texel's component: name, value (that of the driver's CUarray_format), bytes.
#define CJ_TEXEL_LIST(X) \
    X(U8, 0x01, 1)       \
    X(U16, 0x02, 2)      \
    X(U32, 0x03, 4)      \
    X(S8, 0x08, 1)       \
    X(S16, 0x09, 2)      \
    X(S32, 0x0a, 4)      \
    X(F16, 0x10, 2)      \
    X(F32, 0x20, 4)

typedef enum cj_texel {
#define CJ_X(name, value, bytes) CJ_TEXEL_##name = (value),
    CJ_TEXEL_LIST(CJ_X)
#undef CJ_X
} cj_texel;

// Texels in memory. Texel (x, y, z) is at address + x * texel + y * row_bytes + z * slice_bytes; z is the layer of a layered
// image. The memory is that of cj_mem_alloc or cj_mem_wrap, and lies in one allocation.
typedef struct cj_image {
    CJ_STRUCT_SIZE(cj_image);
    cj_ptr   address;        // a multiple of a texel's bytes
    cj_texel format;         // of a component
    uint32_t channels;       // components of a texel: 1, 2 or 4
    size_t   width;          // texels; 1 to 131072, of linear memory to 2^28
    size_t   height, depth;  // 0: the image has 1 dimension, or 2. Up to 65536, of 3 dimensions each up to 16384
    size_t   layers;         // of an image of 1 or 2 dimensions, up to 2048; 0: it is not layered
    size_t   row_bytes, slice_bytes;  // 0: packed
    bool     linear;         // linear memory of 1 dimension: kernels fetch by integer coordinates (tex1Dfetch)
} cj_image;

// What a coordinate outside of the image reads. WRAP and MIRROR take normalized coordinates; with others they are CLAMP. The
// values are those of CUaddress_mode.
typedef enum cj_address_mode {
    CJ_ADDRESS_WRAP = 0,
    CJ_ADDRESS_CLAMP = 1,
    CJ_ADDRESS_MIRROR = 2,
    CJ_ADDRESS_BORDER = 3  // the border's colour
} cj_address_mode;

typedef enum cj_filter { CJ_FILTER_POINT = 0, CJ_FILTER_LINEAR = 1 } cj_filter;  // the values of CUfilter_mode

typedef struct cj_sampler {
    CJ_STRUCT_SIZE(cj_sampler);
    cj_address_mode address[3];  // of x, y, z
    cj_filter       filter;      // LINEAR: of what is read as floats
    bool            normalized;  // coordinates from 0 to 1 span the image
    bool            as_integer;  // 8-bit and 16-bit integers are read as integers; else as floats, 0 to 1 or -1 to 1
    bool            srgb;        // UNSUPPORTED if set
    float           border[4];
} cj_sampler;

// Creates a texture, a handle that kernels pass to tex, tld4 and txq. INVALID_ARGUMENT names the field that is wrong,
// UNSUPPORTED what the CPU device does not have.
CJ_API cj_status cj_cpu_texture_create(cj_device *device, const cj_image *image, const cj_sampler *sampler,
                                       uint64_t *texture, cj_error *error);
CJ_API void      cj_cpu_texture_destroy(cj_device *device, uint64_t texture);  // 0 is allowed

// The same for a surface, a handle for suld, sust, sured and suq. Linear memory is INVALID_ARGUMENT.
CJ_API cj_status cj_cpu_surface_create(cj_device *device, const cj_image *image, uint64_t *surface, cj_error *error);
CJ_API void      cj_cpu_surface_destroy(cj_device *device, uint64_t surface);  // 0 is allowed

#ifdef __cplusplus
}
#endif
#endif
