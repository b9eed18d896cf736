// SPDX-License-Identifier: Apache-2.0
// flags: -lcuda
// The driver API and the runtime in one program: contexts, streams, memory, modules and kernels of one are the other's.
#include <cuda.h>

#include "check.cuh"

#define DRIVER(call) IS((call) == CUDA_SUCCESS)

__device__ int  variable;
__global__ void add(int *to, int value) { *to += value + variable; }

static void handles_are_the_same() {
    CUstream     stream = nullptr;
    CUevent      event = nullptr;
    CUdeviceptr  memory = 0;
    CUcontext    context = nullptr, primary = nullptr;
    cudaKernel_t kernel = nullptr;
    CUfunction   function = nullptr;
    int          value = 4, four = 4;
    OK(cudaFree(nullptr));
    DRIVER(cuCtxGetCurrent(&context));
    DRIVER(cuDevicePrimaryCtxRetain(&primary, 0));
    IS(context && context == primary);
    DRIVER(cuDevicePrimaryCtxRelease(0));
    DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DRIVER(cuEventCreate(&event, CU_EVENT_DEFAULT));
    DRIVER(cuMemAlloc(&memory, 4));
    OK(cudaMemset((void *)memory, 0, 4));
    OK(cudaMemcpyToSymbol(variable, &four, 4));
    add<<<1, 1, 0, stream>>>((int *)memory, 1);
    OK(cudaEventRecord(event, stream));
    OK(cudaGetKernel(&kernel, (const void *)add));
    DRIVER(cuKernelGetFunction(&function, kernel));
    void *arguments[] = {&memory, &value};
    DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    OK(cudaLaunchKernel((const void *)function, dim3(1), dim3(1), arguments, 0, stream));
    OK(cudaStreamSynchronize(stream));
    IS(to_host((int *)memory, 1)[0] == 5 + 8 + 8);
    OK(cudaStreamDestroy(stream));
    OK(cudaEventDestroy(event));
    OK(cudaFree((void *)memory));
}

// The runtime works in a context that the program made, and loads its kernels into it.
static void a_context_of_the_program_is_used() {
    CUcontext own = nullptr, now = nullptr;
    int      *p = nullptr, seven = 7;
    DRIVER(cuCtxCreate(&own, nullptr, 0, 0));
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    OK(cudaMemcpyToSymbol(variable, &seven, 4));
    add<<<1, 1>>>(p, 3);
    IS(to_host(p, 1)[0] == 10);
    DRIVER(cuCtxGetCurrent(&now));
    IS(now == own);
    OK(cudaFree(p));
    DRIVER(cuCtxDestroy(own));
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&p, 4));
    OK(cudaMemset(p, 0, 4));
    add<<<1, 1>>>(p, 3);
    IS(to_host(p, 1)[0] == 7);  // the variable of the primary context
    OK(cudaFree(p));
}

int main() {
    handles_are_the_same();
    a_context_of_the_program_is_used();
    return report();
}
