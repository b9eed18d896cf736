// SPDX-License-Identifier: Apache-2.0
// A multicast object of two devices, and an all-reduce through it. The fault: a plain load from its address.
#include "drv.h"

enum { DEVICES = 2, N = 1 << 14 };

static CUmemAllocationProp memory_of(int device) {
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
}

static CUmemAccessDesc access_of(int device) {
    return (CUmemAccessDesc){.location = {CU_MEM_LOCATION_TYPE_DEVICE, device},
                             .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t bytes, int first, int last) {
    CUdeviceptr at;
    CHECK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CHECK(cuMemMap(at, bytes, 0, handle, 0));
    for (int i = first; i < last; i++) {
        const CUmemAccessDesc access = access_of(i);
        CHECK(cuMemSetAccess(at, bytes, &access, 1));
    }
    return at;
}

static void unmap(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle) {
    CHECK(cuMemUnmap(at, bytes));
    CHECK(cuMemAddressFree(at, bytes));
    CHECK(cuMemRelease(handle));
}

static CUcontext                    context[DEVICES];
static CUmodule                     module[DEVICES];
static CUmemGenericAllocationHandle own[DEVICES], team;
static CUdeviceptr                  x[DEVICES], all;

// An object of as many bytes of each device as its granularity, and the array of each device in it.
static size_t make_team(void) {
    CUmulticastObjectProp wanted = {.numDevices = DEVICES, .size = N * sizeof(float)};
    CHECK(cuMulticastGetGranularity(&wanted.size, &wanted, CU_MULTICAST_GRANULARITY_RECOMMENDED));
    CHECK(cuMulticastCreate(&team, &wanted));
    for (int i = 0; i < DEVICES; i++) CHECK(cuMulticastAddDevice(team, i));
    for (int i = 0; i < DEVICES; i++) {
        const CUmemAllocationProp kind = memory_of(i);
        CHECK(cuMemCreate(&own[i], wanted.size, &kind, 0));
        x[i] = map(own[i], wanted.size, i, i + 1);
        CHECK(cuMulticastBindMem(team, 0, own[i], 0, wanted.size, 0));
    }
    all = map(team, wanted.size, 0, DEVICES);
    return wanted.size;
}

static void launch(int device, const char *name, void **args) {
    CUfunction function;
    CHECK(cuCtxSetCurrent(context[device]));
    CHECK(cuModuleGetFunction(&function, module[device], name));
    CHECK(cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, NULL, args, NULL));
    CHECK(cuCtxSynchronize());
}

int main(int argc, char **argv) {
    int count, supported, n = N;
    (void)argc;
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&count));
    REQUIRE(count >= DEVICES);
    for (int i = 0; i < DEVICES; i++) {
        CHECK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, i));
        REQUIRE(supported);
        context[i] = open_device(i);
        module[i] = load_kernels(argv[0]);
    }

    const size_t bytes = make_team();
    for (int i = 0; i < DEVICES; i++) launch(i, "fill", (void *[]){&x[i], &i, &n});
    for (int i = 0; i < DEVICES; i++) {
        int first = N / 4 / DEVICES * i, last = first + N / 4 / DEVICES;
        launch(i, "all_reduce", (void *[]){&all, &first, &last});
    }
    for (int i = 0; i < DEVICES; i++) {
        static float sums[N];
        CHECK(cuMemcpyDtoH(sums, x[i], sizeof sums));
        for (int k = 0; k < N; k++) REQUIRE(sums[k] == 3.0f * (float)k);
    }

    for (int i = 0; i < DEVICES; i++) CHECK(cuMulticastUnbind(team, i, 0, bytes));
    unmap(all, bytes, team);
    for (int i = 0; i < DEVICES; i++) {
        unmap(x[i], bytes, own[i]);
        CHECK(cuCtxSetCurrent(context[i]));
        CHECK(cuModuleUnload(module[i]));
        close_device(i);
    }
    puts("multicast: passed");
    return 0;
}
