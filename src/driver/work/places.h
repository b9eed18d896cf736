// SPDX-License-Identifier: Apache-2.0
// CUDA's descriptions of copies, as our own.
#ifndef CJ_DRIVER_PLACES_H
#define CJ_DRIVER_PLACES_H

#include "work.h"

CUresult cj__copy_from_2d(const CUDA_MEMCPY2D *given, cj_copy *copy);
CUresult cj__copy_from_3d(const CUDA_MEMCPY3D *given, cj_copy *copy);
CUresult cj__copy_from_peer(const CUDA_MEMCPY3D_PEER *given, cj_copy *copy);
CUresult cj__copy_from_batch(const CUDA_MEMCPY3D_BATCH_OP *given, cj_copy *copy);

// An array of a handle; the handle must be alive.
CUresult cj__array_of(CUarray given, cj_array **array);

#endif
