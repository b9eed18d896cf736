// SPDX-License-Identifier: Apache-2.0
// Clusters of each size by cuLaunchKernelEx. The fault: the peers' sums are read before they are there.
#include "drv.h"

enum { BLOCKS = 16, PER_BLOCK = 300, N = BLOCKS * PER_BLOCK };

static int x[N];

static void launch(CUfunction function, CUdeviceptr in, CUdeviceptr out, unsigned size) {
    int                   per_block = PER_BLOCK, sums[BLOCKS];
    void                 *args[] = {&in, &out, &per_block};
    CUlaunchAttribute     attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {size, 1, 1}};
    const CUlaunchConfig  config = {.gridDimX = BLOCKS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 64, .blockDimY = 1,
                                    .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
    int clusters;
    CHECK(cuOccupancyMaxActiveClusters(&clusters, function, &config));
    REQUIRE(clusters > 0);
    CHECK(cuLaunchKernelEx(&config, function, args, NULL));
    CHECK(cuMemcpyDtoH(sums, out, sizeof sums));
    for (unsigned c = 0; c < BLOCKS / size; c++) {
        int sum = 0;
        for (unsigned i = c * size * PER_BLOCK; i < (c + 1) * size * PER_BLOCK; i++) sum += x[i];
        REQUIRE(sums[c] == sum);
    }
    printf("clusters of %u: %d fit\n", size, clusters);
}

int main(int argc, char **argv) {
    (void)argc;
    open_device(0);
    CUmodule    module = load_kernels(argv[0]);
    CUfunction  function;
    CUdeviceptr in, out;
    CHECK(cuModuleGetFunction(&function, module, "cluster_sum"));
    CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    CHECK(cuMemAlloc(&in, sizeof x));
    CHECK(cuMemAlloc(&out, BLOCKS * sizeof(int)));
    for (int i = 0; i < N; i++) x[i] = i % 100;
    CHECK(cuMemcpyHtoD(in, x, sizeof x));
    for (unsigned size = 1; size <= 16; size *= 2) launch(function, in, out, size);
    CHECK(cuMemFree(in));
    CHECK(cuMemFree(out));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("clusters: passed");
    return 0;
}
