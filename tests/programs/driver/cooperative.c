// SPDX-License-Identifier: Apache-2.0
// A grid whose blocks all run at once, with barriers of the grid. The fault: no barrier.
#include "drv.h"

enum { N = 700, STEPS = 5 };

int main(int argc, char **argv) {
    int x[N], y[N], n = N, steps = STEPS, blocks, launch;
    (void)argc;
    open_device(0);
    CUmodule    module = load_kernels(argv[0]);
    CUfunction  ring;
    CUdeviceptr a, b;
    CHECK(cuModuleGetFunction(&ring, module, "ring"));
    CHECK(cuDeviceGetAttribute(&launch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
    REQUIRE(launch);
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, ring, 96, 0));
    REQUIRE(blocks > 0);
    CHECK(cuMemAlloc(&a, sizeof x));
    CHECK(cuMemAlloc(&b, sizeof x));
    for (int i = 0; i < N; i++) x[i] = i % 10;
    CHECK(cuMemcpyHtoD(a, x, sizeof x));
    void *args[] = {&a, &b, &n, &steps};
    CHECK(cuLaunchCooperativeKernel(ring, 4, 1, 1, 96, 1, 1, 0, NULL, args));
    CHECK(cuMemcpyDtoH(y, STEPS % 2 ? b : a, sizeof y));
    for (int s = 0; s < STEPS; s++) {
        int before[N];
        memcpy(before, x, sizeof x);
        for (int i = 0; i < N; i++) x[i] = before[i] + before[(i + N - 1) % N];
    }
    REQUIRE(!memcmp(x, y, sizeof x));
    CHECK(cuMemFree(a));
    CHECK(cuMemFree(b));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("cooperative: passed");
    return 0;
}
