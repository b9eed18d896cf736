// SPDX-License-Identifier: Apache-2.0
// C = A B through tiles in shared memory; the arguments go in one buffer. The fault: no barrier before a tile is overwritten.
#include <stddef.h>

#include "drv.h"

enum { M = 48, K = 64, N = 32, TILE = 16 };

typedef struct arguments {
    CUdeviceptr c, a, b;
    int         width_a, width_b;
} arguments;

static float a[M][K], b[K][N], c[M][N];

int main(int argc, char **argv) {
    (void)argc;
    open_device(0);
    CUmodule   module = load_kernels(argv[0]);
    CUfunction multiply;
    CHECK(cuModuleGetFunction(&multiply, module, "multiply_16"));
    for (int i = 0; i < M; i++)
        for (int k = 0; k < K; k++) a[i][k] = (float)((i + k) % 7);
    for (int k = 0; k < K; k++)
        for (int j = 0; j < N; j++) b[k][j] = (float)((k * j) % 5);

    arguments args = {.width_a = K, .width_b = N};
    size_t    size = sizeof args;
    CHECK(cuMemAlloc(&args.a, sizeof a));
    CHECK(cuMemAlloc(&args.b, sizeof b));
    CHECK(cuMemAlloc(&args.c, sizeof c));
    CHECK(cuMemcpyHtoD(args.a, a, sizeof a));
    CHECK(cuMemcpyHtoD(args.b, b, sizeof b));
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(multiply, N / TILE, M / TILE, 1, TILE, TILE, 1, 0, NULL, NULL, extra));
    CHECK(cuMemcpyDtoH(c, args.c, sizeof c));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += a[i][k] * b[k][j];
            REQUIRE(c[i][j] == sum);
        }
    CHECK(cuMemFree(args.a));
    CHECK(cuMemFree(args.b));
    CHECK(cuMemFree(args.c));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("matrixmul: passed");
    return 0;
}
