// SPDX-License-Identifier: Apache-2.0
// Multicast objects: what is bound where, whatever the order of binds, mappings and their ends; what is refused.
#include "driver_test.h"

enum { PAGE = 2 << 20, DEVICES = 3 };

static const char kernels[] =
    ".version 8.1\n.target sm_90\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 n)\n{\n .reg .b32 %r1; .reg .b64 %rd1;\n"
    " ld.param.u64 %rd1,[p]; ld.param.u32 %r1,[n]; multimem.red.global.add.u32 [%rd1],%r1; ret;\n}\n"
    ".visible .entry sum(.param .u64 p, .param .u64 to)\n{\n .reg .b32 %r1; .reg .b64 %rd<3>;\n"
    " ld.param.u64 %rd1,[p]; ld.param.u64 %rd2,[to]; multimem.ld_reduce.global.add.u32 %r1,[%rd1];\n"
    " st.global.u32 [%rd2],%r1; ret;\n}\n"
    ".visible .entry both(.param .u64 p, .param .u64 q)\n{\n .reg .b32 %r1; .reg .b64 %rd<3>;\n"
    " ld.param.u64 %rd1,[p]; ld.param.u64 %rd2,[q]; mov.u32 %r1,%ctaid.x;\n"
    " multimem.st.global.u32 [%rd1],%r1;\n st.global.u32 [%rd2],7; ret;\n}\n";

static CUcontext contexts[DEVICES];
static CUmodule  modules[DEVICES];

static CUmemGenericAllocationHandle memory_on(int device, size_t bytes) {
    const CUmemAllocationProp    kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CUmemGenericAllocationHandle handle = 0;
    OK(cuMemCreate(&handle, bytes, &kind, 0));
    return handle;
}

static CUmemGenericAllocationHandle team_of(unsigned devices, size_t bytes) {
    const CUmulticastObjectProp  wanted = {.numDevices = devices, .size = bytes};
    CUmemGenericAllocationHandle team = 0;
    OK(cuMulticastCreate(&team, &wanted));
    for (unsigned i = 0; i < devices; i++) OK(cuMulticastAddDevice(team, (int)i));
    return team;
}

static CUmemAccessDesc access_of(int device) {
    return (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t bytes, size_t offset, int first, int last) {
    CUdeviceptr at = 0;
    OK(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    OK(cuMemMap(at, bytes, offset, handle, 0));
    for (int i = first; i <= last; i++) {
        const CUmemAccessDesc access = access_of(i);
        OK(cuMemSetAccess(at, bytes, &access, 1));
    }
    return at;
}

static void unmap(CUdeviceptr at, size_t bytes) {
    OK(cuMemUnmap(at, bytes));
    OK(cuMemAddressFree(at, bytes));
}

static CUresult launch(int device, const char *name, unsigned blocks, CUdeviceptr p, CUdeviceptr second) {
    CUfunction function = NULL;
    void      *argument[] = {&p, &second};
    OK(cuCtxSetCurrent(contexts[device]));
    OK(cuModuleGetFunction(&function, modules[device], name));
    return cuLaunchKernel(function, blocks, 1, 1, 1, 1, 1, 0, NULL, argument, NULL);
}

static void set_word(CUdeviceptr at, unsigned word) { OK(cuMemcpyHtoD(at, &word, sizeof word)); }

// ---- what is bound where

static void binds_before_and_after_the_mapping_are_the_same(void **state) {
    const CUmemGenericAllocationHandle team = team_of(2, 2 * (size_t)PAGE), first = memory_on(0, PAGE),
                                       second = memory_on(1, 2 * (size_t)PAGE);
    (void)state;
    const CUdeviceptr x = map(first, PAGE, 0, 0, 0);
    OK(cuMulticastBindMem(team, PAGE, first, 0, PAGE, 0));
    const CUdeviceptr all = map(team, 2 * (size_t)PAGE, 0, 0, 1), upper = map(team, PAGE, PAGE, 1, 1);
    const CUdeviceptr y = map(second, 2 * (size_t)PAGE, 0, 1, 1);
    OK(cuMulticastBindAddr(team, PAGE, y + PAGE, PAGE, 0));
    set_word(x + 64, 10);
    set_word(y + PAGE + 64, 20);
    OK(launch(0, "add", 1, all + PAGE + 64, 5));
    OK(launch(1, "add", 1, upper + 64, 1));
    assert_int_equal(word_at(x + 64), 16);
    assert_int_equal(word_at(y + PAGE + 64), 26);
    OK(launch(1, "sum", 1, upper + 64, y));
    assert_int_equal(word_at(y), 42);
    OK(cuMulticastUnbind(team, 0, PAGE, PAGE));
    OK(cuMulticastUnbind(team, 1, PAGE, PAGE));
    OK(cuMemRelease(team));
    unmap(all, 2 * (size_t)PAGE);
    unmap(upper, PAGE);
    unmap(x, PAGE);
    unmap(y, 2 * (size_t)PAGE);
    OK(cuMemRelease(first));
    OK(cuMemRelease(second));
}

// Memory without a mapping is bound all the same; what is written so is there in a mapping that comes later, and goes on after it.
static void bound_memory_needs_no_mapping(void **state) {
    const CUmemGenericAllocationHandle team = team_of(2, PAGE), first = memory_on(0, PAGE), second = memory_on(1, PAGE);
    (void)state;
    OK(cuMulticastBindMem(team, 0, first, 0, PAGE, 0));
    OK(cuMulticastBindMem(team, 0, second, 0, PAGE, 0));
    const CUdeviceptr all = map(team, PAGE, 0, 0, 1);
    OK(launch(1, "add", 1, all, 3));
    const CUdeviceptr x = map(first, PAGE, 0, 0, 0);
    assert_int_equal(word_at(x), 3);
    OK(launch(1, "add", 1, all, 4));
    assert_int_equal(word_at(x), 7);
    OK(launch(0, "sum", 1, all, x + 64));
    assert_int_equal(word_at(x + 64), 14);
    unmap(x, PAGE);
    OK(launch(0, "add", 1, all, 1));
    OK(cuMemRelease(first));  // bound memory lives on
    OK(launch(1, "add", 1, all, 1));
    const CUdeviceptr y = map(second, PAGE, 0, 1, 1);
    assert_int_equal(word_at(y), 9);
    OK(launch(1, "sum", 1, all, y + 64));
    assert_int_equal(word_at(y + 64), 18);
    OK(cuMulticastUnbind(team, 0, 0, PAGE));
    OK(cuMulticastUnbind(team, 1, 0, PAGE));
    unmap(y, PAGE);
    unmap(all, PAGE);
    OK(cuMemRelease(second));
    OK(cuMemRelease(team));
}

static void handles_and_access_are_those_of_virtual_memory(void **state) {
    const CUmemGenericAllocationHandle team = team_of(2, PAGE);
    CUmemGenericAllocationHandle       again = 0;
    unsigned long long                 flags = 0;
    int                                file = 0, supported = 0;
    const CUmemAccessDesc              other = access_of(2);
    const CUmemLocation where = {CU_MEM_LOCATION_TYPE_DEVICE, 1}, not_here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    (void)state;
    OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
    assert_int_equal(supported, 1);
    const CUdeviceptr all = map(team, PAGE, 0, 1, 1);
    OK(cuMemGetAccess(&flags, &where, all));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemGetAccess(&flags, &not_here, all));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    IS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(all, PAGE, &other, 1));
    OK(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)all));
    assert_int_equal(again, team);
    OK(cuMemRelease(again));
    IS(CUDA_ERROR_NOT_SUPPORTED,
       cuMemExportToShareableHandle(&file, team, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(all, 1, 4));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&file, all, 4));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(all, PAGE));
    OK(cuMemRelease(team));
    unmap(all, PAGE);
    IS(CUDA_ERROR_INVALID_HANDLE, cuMemRelease(team));
}

// ---- what is refused

static void objects_that_cannot_be_are_refused(void **state) {
    CUmulticastObjectProp        wanted = {.numDevices = 2, .size = PAGE};
    CUmemGenericAllocationHandle team = 0, memory = memory_on(0, PAGE);
    CUdeviceptr                  at = 0;
    size_t                       step = 0;
    (void)state;
    OK(cuMulticastGetGranularity(&step, &wanted, CU_MULTICAST_GRANULARITY_MINIMUM));
    assert_int_equal(step, PAGE);
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastGetGranularity(&step, &wanted, (CUmulticastGranularity_flags)2));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&team, NULL));
    wanted.size = PAGE + 4096;
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&team, &wanted));
    wanted.size = 0;
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&team, &wanted));
    wanted = (CUmulticastObjectProp){.numDevices = 0, .size = PAGE};
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&team, &wanted));
    wanted.numDevices = DEVICES + 1;
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&team, &wanted));
    wanted = (CUmulticastObjectProp){.numDevices = 2, .size = PAGE, .flags = 1};
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&team, &wanted));
    wanted = (CUmulticastObjectProp){.numDevices = 2, .size = PAGE, .handleTypes = CU_MEM_HANDLE_TYPE_FABRIC};
    IS(CUDA_ERROR_NOT_SUPPORTED, cuMulticastCreate(&team, &wanted));
    wanted.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMulticastCreate(&team, &wanted));
    OK(cuMulticastAddDevice(team, 1));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(team, 1));
    IS(CUDA_ERROR_INVALID_DEVICE, cuMulticastAddDevice(team, DEVICES));
    IS(CUDA_ERROR_INVALID_HANDLE, cuMulticastAddDevice(memory, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, 0, memory, 0, PAGE, 0));  // a device is missing
    OK(cuMemAddressReserve(&at, PAGE, 0, 0, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, PAGE, 0, team, 0));
    OK(cuMulticastAddDevice(team, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(team, 2));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, PAGE, PAGE, team, 0));
    OK(cuMemAddressFree(at, PAGE));
    OK(cuMemRelease(memory));
    OK(cuMemRelease(team));
    IS(CUDA_ERROR_INVALID_HANDLE, cuMulticastUnbind(team, 0, 0, PAGE));
}

static void binds_that_cannot_be_are_refused(void **state) {
    const CUmemGenericAllocationHandle team = team_of(2, 2 * (size_t)PAGE), memory = memory_on(1, 2 * (size_t)PAGE),
                                       strange = memory_on(2, PAGE);
    const CUmemAllocationProp    on_host = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
    CUmemGenericAllocationHandle host = 0;
    CUdeviceptr                  plain = 0;
    (void)state;
    OK(cuMemCreate(&host, PAGE, &on_host, 0));
    OK(cuMulticastBindMem(team, 0, memory, 0, PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, 0, memory, PAGE, PAGE, 0));  // twice
    IS(CUDA_ERROR_INVALID_DEVICE, cuMulticastBindMem(team, PAGE, strange, 0, PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, PAGE, host, 0, PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, PAGE, memory, 0, PAGE / 2, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, PAGE / 2, memory, 0, PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, PAGE, memory, PAGE / 2, PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, PAGE, memory, 2 * (size_t)PAGE, PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, PAGE, memory, 0, 2 * (size_t)PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, PAGE, memory, 0, 0, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(team, PAGE, memory, 0, PAGE, 1));
    IS(CUDA_ERROR_INVALID_HANDLE, cuMulticastBindMem(team, PAGE, team, 0, PAGE, 0));
    IS(CUDA_ERROR_INVALID_HANDLE, cuMulticastBindMem(memory, PAGE, memory, 0, PAGE, 0));
    OK(cuMemAlloc(&plain, 4096));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(team, PAGE, plain, PAGE, 0));
    const CUdeviceptr y = map(memory, 2 * (size_t)PAGE, 0, 1, 1);
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(team, PAGE, y + 4096, PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(team, PAGE, y + PAGE, 2 * (size_t)PAGE, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(team, 0, 0, PAGE));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(team, 1, 0, 2 * (size_t)PAGE));
    OK(cuMulticastUnbind(team, 1, 0, PAGE));
    IS(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(team, 1, 0, PAGE));
    char *told = report();
    assert_non_null(strstr(told, "device 1 has bound 2097152 bytes at 0 of the multicast object already"));
    assert_non_null(strstr(told, "the memory is device 2's, which was not added"));
    assert_non_null(strstr(told, "mcOffset is 0x100000, which is no multiple of the granularity"));
    assert_non_null(strstr(told, "1 of the multicast object's 2 devices were added"));
    free(told);
    unmap(y, 2 * (size_t)PAGE);
    OK(cuMemFree(plain));
    OK(cuMemRelease(memory));
    OK(cuMemRelease(strange));
    OK(cuMemRelease(host));
    OK(cuMemRelease(team));
}

// The two ways to a member's bytes are one piece of memory to the watch.
static void a_race_of_the_two_ways_is_found(void **state) {
    const CUmemGenericAllocationHandle team = team_of(2, PAGE), first = memory_on(0, PAGE), second = memory_on(1, PAGE);
    (void)state;
    const CUdeviceptr x = map(first, PAGE, 0, 0, 0), all = map(team, PAGE, 0, 0, 0);
    OK(cuMulticastBindMem(team, 0, first, 0, PAGE, 0));
    OK(cuMulticastBindMem(team, 0, second, 0, PAGE, 0));
    OK(launch(0, "both", 2, all, x));
    char *told = report();
    assert_non_null(strstr(told, "race-grid"));
    assert_non_null(strstr(told, "multimem.st.global.u32"));
    free(told);
    unmap(all, PAGE);
    unmap(x, PAGE);
    OK(cuMemRelease(team));
    OK(cuMemRelease(first));
    OK(cuMemRelease(second));
}

static int open_all(void **state) {
    (void)state;
    open_driver(DEVICES, true);
    for (int i = 0; i < DEVICES; i++) {
        OK(cuDevicePrimaryCtxRetain(&contexts[i], i));
        OK(cuCtxSetCurrent(contexts[i]));
        OK(cuModuleLoadData(&modules[i], kernels));
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binds_before_and_after_the_mapping_are_the_same),
        cmocka_unit_test(bound_memory_needs_no_mapping),
        cmocka_unit_test(handles_and_access_are_those_of_virtual_memory),
        cmocka_unit_test(objects_that_cannot_be_are_refused),
        cmocka_unit_test(binds_that_cannot_be_are_refused),
        cmocka_unit_test(a_race_of_the_two_ways_is_found),
    };
    return cmocka_run_group_tests(tests, open_all, NULL);
}
