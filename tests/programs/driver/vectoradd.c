// SPDX-License-Identifier: Apache-2.0
// c = a + b, as the driver API's first program does it. The fault: one thread too many.
#include "drv.h"

int main(int argc, char **argv) {
    const int    n = argc > 1 ? atoi(argv[1]) : 5000;
    const size_t bytes = (size_t)n * sizeof(float);
    open_device(0);
    CUmodule   module = load_kernels(argv[0]);
    CUfunction add;
    CHECK(cuModuleGetFunction(&add, module, "vector_add"));

    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    for (int i = 0; i < n; i++) a[i] = (float)i, b[i] = 0.5f * (float)i;
    CUdeviceptr da, db, dc;
    CHECK(cuMemAlloc(&da, bytes));
    CHECK(cuMemAlloc(&db, bytes));
    CHECK(cuMemAlloc(&dc, bytes));
    CHECK(cuMemcpyHtoD(da, a, bytes));
    CHECK(cuMemcpyHtoD(db, b, bytes));

    void          *args[] = {&da, &db, &dc, (void *)&n};
    const unsigned block = 256, grid = ((unsigned)n + block - 1) / block;
    CHECK(cuLaunchKernel(add, grid, 1, 1, block, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(c, dc, bytes));
    for (int i = 0; i < n; i++) REQUIRE(c[i] == 1.5f * (float)i);

    CHECK(cuMemFree(da));
    CHECK(cuMemFree(db));
    CHECK(cuMemFree(dc));
    CHECK(cuModuleUnload(module));
    close_device(0);
    free(a);
    free(b);
    free(c);
    puts("vectoradd: passed");
    return 0;
}
