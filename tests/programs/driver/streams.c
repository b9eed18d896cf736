// SPDX-License-Identifier: Apache-2.0
// Two streams that events order, pinned memory, a callback, times. The fault: no barrier between two steps of a sum.
#include "drv.h"

enum { BLOCKS = 8, N = BLOCKS * 256 };

static void CUDA_CB called(void *user) { *(int *)user = 1; }

static void check(const int *x, const int *sums) {
    for (int b = 0; b < BLOCKS; b++) {
        int sum = 0;
        for (int i = 0; i < 256; i++) sum += x[b * 256 + i];
        REQUIRE(sums[b] == sum);
    }
}

int main(int argc, char **argv) {
    int  *x, *sums, done = 0;
    (void)argc;
    open_device(0);
    CUmodule    module = load_kernels(argv[0]);
    CUfunction  block_sum;
    CUstream    up, down;
    CUevent     loaded, begun, summed;
    CUdeviceptr in, out;
    float       ms;
    CHECK(cuModuleGetFunction(&block_sum, module, "block_sum"));
    CHECK(cuMemHostAlloc((void **)&x, N * sizeof *x, CU_MEMHOSTALLOC_PORTABLE));
    CHECK(cuMemAllocHost((void **)&sums, BLOCKS * sizeof *sums));
    CHECK(cuMemAlloc(&in, N * sizeof *x));
    CHECK(cuMemAlloc(&out, BLOCKS * sizeof *sums));
    CHECK(cuStreamCreate(&up, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreateWithPriority(&down, CU_STREAM_NON_BLOCKING, 0));
    CHECK(cuEventCreate(&loaded, CU_EVENT_DISABLE_TIMING));
    CHECK(cuEventCreate(&begun, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&summed, CU_EVENT_DEFAULT));
    for (int i = 0; i < N; i++) x[i] = i % 17;
    void *args[] = {&in, &out};
    CHECK(cuMemcpyHtoDAsync(in, x, N * sizeof *x, up));
    CHECK(cuEventRecord(loaded, up));
    CHECK(cuStreamWaitEvent(down, loaded, CU_EVENT_WAIT_DEFAULT));
    CHECK(cuEventRecord(begun, down));
    CHECK(cuLaunchKernel(block_sum, BLOCKS, 1, 1, 256, 1, 1, 0, down, args, NULL));
    CHECK(cuEventRecord(summed, down));
    CHECK(cuMemcpyDtoHAsync(sums, out, BLOCKS * sizeof *sums, down));
    CHECK(cuLaunchHostFunc(down, called, &done));
    CHECK(cuStreamSynchronize(down));
    CHECK(cuEventSynchronize(summed));
    CHECK(cuEventElapsedTime(&ms, begun, summed));
    REQUIRE(cuStreamQuery(up) == CUDA_SUCCESS && cuEventQuery(summed) == CUDA_SUCCESS);
    REQUIRE(done == 1 && ms >= 0);
    check(x, sums);
    CHECK(cuEventDestroy(loaded));
    CHECK(cuEventDestroy(begun));
    CHECK(cuEventDestroy(summed));
    CHECK(cuStreamDestroy(up));
    CHECK(cuStreamDestroy(down));
    CHECK(cuMemFreeHost(x));
    CHECK(cuMemFreeHost(sums));
    CHECK(cuMemFree(in));
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("streams: passed");
    return 0;
}
