// SPDX-License-Identifier: Apache-2.0
// Two devices: a copy from one to the other, and a kernel of one that reads the other's memory. The fault: no barrier in it.
#include "drv.h"

enum { N = 500 };

int main(int argc, char **argv) {
    int x[N], y[N], n = N, count, can;
    (void)argc;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    REQUIRE(count >= 2);
    CUcontext   one = open_device(0), two;
    CUdeviceptr a, b, copy;
    CHECK(cuMemAlloc(&a, sizeof x));
    for (int i = 0; i < N; i++) x[i] = i;
    CHECK(cuMemcpyHtoD(a, x, sizeof x));

    two = open_device(1);
    CUmodule   module = load_kernels(argv[0]);
    CUfunction add;
    CHECK(cuModuleGetFunction(&add, module, "add_peer"));
    CHECK(cuDeviceCanAccessPeer(&can, 1, 0));
    REQUIRE(can);
    CHECK(cuCtxEnablePeerAccess(one, 0));
    CHECK(cuMemAlloc(&b, sizeof x));
    CHECK(cuMemAlloc(&copy, sizeof x));
    CHECK(cuMemcpyPeer(b, two, a, one, sizeof x));
    CHECK(cuMemcpyPeer(copy, two, a, one, sizeof x));
    void *args[] = {&b, &a, &n};
    CHECK(cuLaunchKernel(add, 1, 1, 1, 128, 1, 1, sizeof x, NULL, args, NULL));
    CHECK(cuMemcpyDtoH(x, b, sizeof x));
    CHECK(cuMemcpyDtoH(y, copy, sizeof y));
    for (int i = 0; i < N; i++) REQUIRE(x[i] == N - 1 && y[i] == i);

    CUdevice where;
    CHECK(cuPointerGetAttribute(&where, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, b));
    REQUIRE(where == 1);
    CHECK(cuCtxDisablePeerAccess(one));
    CHECK(cuMemFree(b));
    CHECK(cuMemFree(copy));
    CHECK(cuModuleUnload(module));
    close_device(1);
    CHECK(cuCtxSetCurrent(one));
    CHECK(cuMemFree(a));
    close_device(0);
    puts("peers: passed");
    return 0;
}
