// SPDX-License-Identifier: Apache-2.0
// Variables of a module by their names: constant memory, initialized and not. The fault: no barrier between two threads' accesses.
#include "drv.h"

int main(int argc, char **argv) {
    (void)argc;
    open_device(0);
    CUmodule    module = load_kernels(argv[0]);
    CUfunction  evaluate;
    CUdeviceptr coefficients, calls, table, out;
    size_t      bytes;
    float       c[4] = {1, 2, 3, 4}, x[64], y[64];
    int         count;
    CHECK(cuModuleGetFunction(&evaluate, module, "evaluate"));
    CHECK(cuModuleGetGlobal(&coefficients, &bytes, module, "coefficients"));
    REQUIRE(bytes == sizeof c);
    CHECK(cuModuleGetGlobal(&table, &bytes, module, "table"));
    REQUIRE(bytes == sizeof x);
    CHECK(cuModuleGetGlobal(&calls, &bytes, module, "calls"));
    REQUIRE(bytes == sizeof count);
    CHECK(cuMemAlloc(&out, sizeof y));
    for (int i = 0; i < 64; i++) x[i] = (float)(i - 32);
    CHECK(cuMemcpyHtoD(coefficients, c, sizeof c));
    CHECK(cuMemcpyHtoD(table, x, sizeof x));
    void *args[] = {&out};
    for (int launch = 0; launch < 2; launch++) CHECK(cuLaunchKernel(evaluate, 1, 1, 1, 64, 1, 1, 0, NULL, args, NULL));
    CHECK(cuMemcpyDtoH(y, out, sizeof y));
    CHECK(cuMemcpyDtoH(&count, calls, sizeof count));
    for (int i = 0; i < 64; i++) {
        const float at = x[63 - i];
        REQUIRE(y[i] == ((4 * at + 3) * at + 2) * at + 1);
    }
    REQUIRE(count == 42);
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("variables: passed");
    return 0;
}
