// SPDX-License-Identifier: Apache-2.0
// A CUDA runtime on the CPU device: what nvcc's programs call, over this library's public interface, so that they run
// unchanged where there is no GPU. Linked in libcudart's place (nvcc -cudart none). Enough for CUB and CUTLASS; one host
// thread.
//
// The environment says how it runs: CJ_THREADS host threads (default 2), CJ_SCHEDULE=N a random schedule with that seed,
// CJ_HAZARDS=1 with hazards watched for, CJ_PTX=FILE with that PTX in place of the program's. What goes wrong is said on
// standard error, and returned as CUDA's error.
#ifndef CJ_TESTS_FOREIGN_CUDART_H
#define CJ_TESTS_FOREIGN_CUDART_H

#include <clusterjit/device.h>
#include <cuda_runtime_api.h>

// The device, opened by the first call; NULL where it cannot be.
cj_device *cj_cudart_device(void);

// What CUDA's error is of a status, which becomes the last error; a failure is said with the name of the call.
cudaError_t cj_cudart_result(const char *call, cj_status status, const cj_error *error);
// The same for what is found here.
cudaError_t cj_cudart_refuse(const char *call, cudaError_t code, const char *why);

#endif
