// SPDX-License-Identifier: Apache-2.0
// Errors: the last one a thread, names and words, and a fault that stays until the device is reset.
#include <thread>

#include "check.cuh"

__global__ void store(int *at) { *at = 1; }

static void last_error_is_of_its_thread() {
    int *p = nullptr;
    IS(cudaMemcpy(&p, &p, 4, (cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);
    IS(cudaPeekAtLastError() == cudaErrorInvalidMemcpyDirection);
    std::thread([] { IS(cudaPeekAtLastError() == cudaSuccess); }).join();
    IS(cudaDeviceSynchronize() == cudaSuccess);  // a call that works leaves it
    IS(cudaGetLastError() == cudaErrorInvalidMemcpyDirection);
    IS(cudaGetLastError() == cudaSuccess);
}

static void errors_have_names_and_words() {
    const struct {
        cudaError_t code;
        const char *name, *text;
    } rows[] = {{cudaSuccess, "cudaSuccess", "no error"},
                {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
                {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
                {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
                {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
                {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
                {(cudaError_t)12345, "unrecognized error code", "unrecognized error code"}};
    for (const auto &row : rows) {
        IS(!strcmp(cudaGetErrorName(row.code), row.name));
        IS(!strcmp(cudaGetErrorString(row.code), row.text));
    }
}

static void a_fault_stays_until_the_reset() {
    int *p = nullptr;
    OK(cudaMalloc(&p, 4));
    store<<<1, 1>>>(p + 1024);
    IS(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    cudaGetLastError();
    EXPECT(cudaErrorIllegalAddress, cudaMalloc(&p, 4));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    store<<<1, 1>>>(p);
    IS(cudaGetLastError() == cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    OK(cudaMalloc(&p, 4));
    store<<<1, 1>>>(p);
    OK(cudaDeviceSynchronize());
    IS(to_host(p, 1)[0] == 1);
    OK(cudaFree(p));
}

int main() {
    last_error_is_of_its_thread();
    errors_have_names_and_words();
    a_fault_stays_until_the_reset();
    return report();
}
