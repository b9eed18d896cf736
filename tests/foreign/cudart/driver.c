// SPDX-License-Identifier: Apache-2.0
// What programs ask of the driver through the runtime: the encoder of tensor maps.
#include <clusterjit/tensormap.h>
#include <cuda.h>
#include <string.h>

#include "cudart.h"

_Static_assert(sizeof(cj_tensormap) == sizeof(CUtensorMap), "both are 128 bytes");
_Static_assert(sizeof(cuuint64_t) == sizeof(uint64_t) && sizeof(cuuint32_t) == sizeof(uint32_t), "same integers");

// The library's enumerators have the driver's values.
static CUresult encode_tiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                             const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box,
                             const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                             CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
    cj_tensormap    made;
    cj_error        error = {0};
    const cj_status status = cj_tensormap_encode_tiled(
        cj_cudart_device(), &made, (cj_tensormap_type)type, rank, (uintptr_t)address, dims, strides, box,
        element_strides, (cj_tensormap_interleave)interleave, (cj_tensormap_swizzle)swizzle, (cj_tensormap_l2)l2,
        (cj_tensormap_fill)fill, &error);
    if (cj_cudart_result("cuTensorMapEncodeTiled", status, &error)) return CUDA_ERROR_INVALID_VALUE;
    memcpy(map, &made, sizeof made);
    return CUDA_SUCCESS;
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDA_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *result) {
    (void)version, (void)flags;
    if (strcmp(symbol, "cuTensorMapEncodeTiled") != 0) {
        *result = cudaDriverEntryPointSymbolNotFound;
        return cj_cudart_refuse(symbol, cudaErrorNotSupported, "this function of the driver is not known here");
    }
    CUresult (*const found)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                            const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                            CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill) = encode_tiled;
    memcpy(function, &found, sizeof found);
    *result = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
