// SPDX-License-Identifier: Apache-2.0
// Tensor maps. The library's enumerators have the driver's values.
#include <clusterjit/tensormap.h>
#include <string.h>

#include "driver.h"

_Static_assert(sizeof(cj_tensormap) == sizeof(CUtensorMap), "both are 128 bytes");
_Static_assert(sizeof(cuuint64_t) == sizeof(uint64_t) && sizeof(cuuint32_t) == sizeof(uint32_t), "same integers");

static cj_device *device_of(void) {
    const cj_context *context = cj__current();
    return context ? context->gpu->device : cj__driver.gpu[0].device;
}

static CUresult result_of(CUtensorMap *map, const cj_tensormap *made, cj_status status, const cj_error *error) {
    if (status) return cj__refuse_error(error);
    memcpy(map, made, sizeof *made);
    return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                                const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
    ENTER(CJ_NEED_INIT);
    cj_tensormap made;
    cj_error     error = {0};
    REQUIRE(map);
    const cj_status status = cj_tensormap_encode_tiled(
        device_of(), &made, (cj_tensormap_type)type, rank, (uintptr_t)address, dims, strides, box, element_strides,
        (cj_tensormap_interleave)interleave, (cj_tensormap_swizzle)swizzle, (cj_tensormap_l2)l2,
        (cj_tensormap_fill)fill, &error);
    LEAVE(result_of(map, &made, status, &error));
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                 const cuuint64_t *dims, const cuuint64_t *strides, const int *lower, const int *upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
    ENTER(CJ_NEED_INIT);
    cj_tensormap made;
    cj_error     error = {0};
    REQUIRE(map);
    const cj_status status = cj_tensormap_encode_im2col(
        device_of(), &made, (cj_tensormap_type)type, rank, (uintptr_t)address, dims, strides, lower, upper, channels,
        pixels, element_strides, (cj_tensormap_interleave)interleave, (cj_tensormap_swizzle)swizzle,
        (cj_tensormap_l2)l2, (cj_tensormap_fill)fill, &error);
    LEAVE(result_of(map, &made, status, &error));
}
