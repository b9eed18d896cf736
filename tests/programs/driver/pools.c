// SPDX-License-Identifier: Apache-2.0
// Memory in the order of a stream, from the device's pool and from one of our own. The fault: memory is used after it was freed.
#include "drv.h"

enum { N = 1000 };

int main(int argc, char **argv) {
    (void)argc;
    open_device(0);
    CUmodule     module = load_kernels(argv[0]);
    CUfunction   increment;
    CUstream     stream;
    CUmemoryPool pool;
    CUdeviceptr  a, b;
    int          n = N, x[N];
    cuuint64_t   keep = 1 << 20, used;
    const CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CHECK(cuModuleGetFunction(&increment, module, "increment"));
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemPoolCreate(&pool, &properties));
    CHECK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    CHECK(cuMemAllocAsync(&a, sizeof x, stream));
    CHECK(cuMemAllocFromPoolAsync(&b, sizeof x, pool, stream));
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    REQUIRE(used >= sizeof x);
    for (int i = 0; i < N; i++) x[i] = i;
    CHECK(cuMemcpyHtoDAsync(a, x, sizeof x, stream));
    CHECK(cuMemcpyDtoDAsync(b, a, sizeof x, stream));
    CHECK(cuMemFreeAsync(a, stream));
#ifdef FAULT
    void *args[] = {&a, &n};
#else
    void *args[] = {&b, &n};
#endif
    CHECK(cuLaunchKernel(increment, (N + 127) / 128, 1, 1, 128, 1, 1, 0, stream, args, NULL));
    CHECK(cuMemcpyDtoHAsync(x, b, sizeof x, stream));
    CHECK(cuMemFreeAsync(b, stream));
    CHECK(cuStreamSynchronize(stream));
    for (int i = 0; i < N; i++) REQUIRE(x[i] == i + 1);
    CHECK(cuMemPoolTrimTo(pool, 0));
    CHECK(cuMemPoolDestroy(pool));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("pools: passed");
    return 0;
}
