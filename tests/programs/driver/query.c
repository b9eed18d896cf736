// SPDX-License-Identifier: Apache-2.0
// What the driver tells of its devices, and a launch of the largest block that it allows. The fault: no barrier in that block.
#include "drv.h"

static int attribute(CUdevice device, CUdevice_attribute which) {
    int value;
    CHECK(cuDeviceGetAttribute(&value, which, device));
    return value;
}

static void show(CUdevice device) {
    char   name[256];
    size_t bytes;
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDeviceTotalMem(&bytes, device));
    printf("%d: %s, compute capability %d.%d, %d SMs, warps of %d, %zu MiB, clusters: %d\n", device, name,
           attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
           attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
           attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), attribute(device, CU_DEVICE_ATTRIBUTE_WARP_SIZE),
           bytes >> 20, attribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH));
    REQUIRE(attribute(device, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH));
    REQUIRE(attribute(device, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING));
    REQUIRE(attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) > 48 << 10);
    REQUIRE(bytes > 1 << 20);
}

static void use(CUdevice device, const char *program) {
    open_device(device);
    CUmodule    module = load_kernels(program);
    CUfunction  function;
    CUdeviceptr result;
    int         most, blocks, sum, grid, best;
    CHECK(cuModuleGetFunction(&function, module, "block_size"));
    CHECK(cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, most, (size_t)most * sizeof(int)));
    CHECK(cuOccupancyMaxPotentialBlockSize(&grid, &best, function, NULL, 0, 0));
    REQUIRE(blocks > 0 && best > 0 && best <= most && grid > 0);
    CHECK(cuMemAlloc(&result, sizeof(int)));
    CHECK(cuMemsetD32(result, 0, 1));
    void *args[] = {&result};
    CHECK(cuLaunchKernel(function, 1, 1, 1, (unsigned)most, 1, 1, (unsigned)most * sizeof(int), NULL, args, NULL));
    CHECK(cuMemcpyDtoH(&sum, result, sizeof sum));
    REQUIRE(sum == most);
    CHECK(cuMemFree(result));
    CHECK(cuModuleUnload(module));
    close_device(device);
}

int main(int argc, char **argv) {
    int version, count;
    (void)argc;
    CHECK(cuInit(0));
    CHECK(cuDriverGetVersion(&version));
    CHECK(cuDeviceGetCount(&count));
    printf("driver %d.%d, %d device%s\n", version / 1000, version % 1000 / 10, count, count == 1 ? "" : "s");
    for (int i = 0; i < count; i++) {
        CUdevice device;
        CHECK(cuDeviceGet(&device, i));
        show(device);
        use(device, argv[0]);
    }
    puts("query: passed");
    return 0;
}
