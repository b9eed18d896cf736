// SPDX-License-Identifier: Apache-2.0
// A tensor map, and a copy through it that reaches every block of a cluster. The fault: the tile is read before it has come.
#include "drv.h"

enum { ROWS = 8, COLUMNS = 32, TILES = 3, CLUSTER = 4, BLOCKS = TILES * CLUSTER };

int main(int argc, char **argv) {
    static float x[TILES * ROWS][COLUMNS], y[BLOCKS][ROWS][COLUMNS];
    (void)argc;
    open_device(0);
    CUmodule    module = load_kernels(argv[0]);
    CUfunction  multicast;
    CUdeviceptr in, out;
    CHECK(cuModuleGetFunction(&multicast, module, "multicast"));
    CHECK(cuMemAlloc(&in, sizeof x));
    CHECK(cuMemAlloc(&out, sizeof y));
    for (int i = 0; i < TILES * ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) x[i][j] = (float)(i * COLUMNS + j);
    CHECK(cuMemcpyHtoD(in, x, sizeof x));

    CUtensorMap      map;
    const cuuint64_t sizes[] = {COLUMNS, TILES * ROWS}, strides[] = {COLUMNS * sizeof(float)};
    const cuuint32_t box[] = {COLUMNS, ROWS}, steps[] = {1, 1};
    CHECK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, (void *)in, sizes, strides, box, steps,
                                 CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                 CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    void                *args[] = {&map, &out};
    CUlaunchAttribute    attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {CLUSTER, 1, 1}};
    const CUlaunchConfig config = {.gridDimX = BLOCKS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1,
                                   .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
    CHECK(cuLaunchKernelEx(&config, multicast, args, NULL));
    CHECK(cuMemcpyDtoH(y, out, sizeof y));
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                REQUIRE(y[b][i][j] == x[b / CLUSTER * ROWS + i][j] + (float)(b % CLUSTER));
    CHECK(cuMemFree(in));
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("tma: passed");
    return 0;
}
