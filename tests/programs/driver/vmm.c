// SPDX-License-Identifier: Apache-2.0
// Virtual memory: two pieces of physical memory in one range of addresses, which grows. The fault: a write after the mapped part.
#include "drv.h"

static CUmemAllocationProp properties(void) {
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
}

static CUmemGenericAllocationHandle map(CUdeviceptr at, size_t bytes) {
    const CUmemAllocationProp    wanted = properties();
    const CUmemAccessDesc        access = {.location = wanted.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle memory;
    CHECK(cuMemCreate(&memory, bytes, &wanted, 0));
    CHECK(cuMemMap(at, bytes, 0, memory, 0));
    CHECK(cuMemSetAccess(at, bytes, &access, 1));
    return memory;
}

int main(int argc, char **argv) {
    (void)argc;
    open_device(0);
    CUmodule                  module = load_kernels(argv[0]);
    CUfunction                fill;
    CUdeviceptr               range;
    size_t                    grain;
    const CUmemAllocationProp wanted = properties();
    CHECK(cuModuleGetFunction(&fill, module, "fill"));
    CHECK(cuMemGetAllocationGranularity(&grain, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CHECK(cuMemAddressReserve(&range, 4 * grain, 0, 0, 0));
    CUmemGenericAllocationHandle first = map(range, grain), second = map(range + grain, grain);

    // The last words of the first piece, and the second: a kernel's range goes over the seam.
    unsigned long long n = 4096 + grain / sizeof(unsigned);
    CUdeviceptr        from = range + grain - 4096 * sizeof(unsigned);
    void              *args[] = {&from, &n};
    CHECK(cuLaunchKernel(fill, 8, 1, 1, 256, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize());
    unsigned seam[2], last;
    CHECK(cuMemcpyDtoH(seam, range + grain - sizeof seam[0], sizeof seam));
    CHECK(cuMemcpyDtoH(&last, range + 2 * grain - sizeof last, sizeof last));
    REQUIRE(seam[0] == 4095 * 3 && seam[1] == 4096 * 3 && last == (unsigned)(n - 1) * 3);

    CHECK(cuMemUnmap(range, grain));
    CHECK(cuMemUnmap(range + grain, grain));
    CHECK(cuMemRelease(first));
    CHECK(cuMemRelease(second));
    CHECK(cuMemAddressFree(range, 4 * grain));
    CHECK(cuModuleUnload(module));
    close_device(0);
    puts("vmm: passed");
    return 0;
}
