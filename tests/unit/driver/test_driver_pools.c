// SPDX-License-Identifier: Apache-2.0
// Pools, virtual memory, and memory of two devices.
#include "driver_test.h"

enum { PAGE = 2 << 20 };

static void pools_count_what_they_gave(void **state) {
    const CUmemPoolProps wanted = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool         pool = NULL, now = NULL;
    CUdeviceptr          a = 0, b = 0;
    cuuint64_t           used = 0, threshold = 123;
    (void)state;
    OK(cuMemPoolCreate(&pool, &wanted));
    OK(cuMemAllocFromPoolAsync(&a, 1000, pool, NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 1000);
    OK(cuMemFreeAsync(a, NULL));
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    assert_int_equal(used, 0);
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &used));
    assert_int_equal(used, 1000);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    threshold = 0;
    OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    assert_int_equal(threshold, 123);
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuMemAllocAsync(&b, 8, NULL));
    OK(cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, b));
    assert_ptr_equal(now, pool);
    OK(cuMemPoolDestroy(pool));
    OK(cuMemsetD8(b, 1, 8));  // it outlives its pool
    OK(cuMemFree(b));
    OK(cuDeviceGetMemPool(&now, 0));
    assert_ptr_not_equal(now, pool);
    IS(CUDA_ERROR_INVALID_HANDLE, cuMemPoolDestroy(pool));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(now));  // the default one
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(b, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute(now, (CUmemPool_attribute)77, &used));
}

// A pool of managed memory, with a preferred location or none, and one of the host's pinned memory: host and kernels reach both.
static void pools_have_managed_and_pinned_memory(void **state) {
    CUmemPoolProps        wanted[] = {{CU_MEM_ALLOCATION_TYPE_MANAGED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                      {CU_MEM_ALLOCATION_TYPE_MANAGED, .location = {CU_MEM_LOCATION_TYPE_NONE, 0}},
                                      {CU_MEM_ALLOCATION_TYPE_MANAGED, .location = {CU_MEM_LOCATION_TYPE_HOST, 0}},
                                      {CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST, 0}},
                                      {CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}}};
    const CUmemAccessDesc none = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    const CUmemAccessDesc host = {{CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const bool        managed = wanted[i].allocType == CU_MEM_ALLOCATION_TYPE_MANAGED;
        CUmemoryPool      pool = NULL, now = NULL, first = NULL;
        CUdeviceptr       a = 0;
        unsigned          is_managed = 2, type = 0;
        CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
        OK(cuMemPoolCreate(&pool, &wanted[i]));
        OK(cuMemPoolGetAccess(&flags, pool, &wanted[3].location));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        CUmemLocation second = none.location;
        OK(cuMemPoolGetAccess(&flags, pool, &second));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        OK(cuMemPoolSetAccess(pool, &none, 1));
        OK(cuMemPoolGetAccess(&flags, pool, &second));
        assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, &host, 1));
        OK(cuMemAllocFromPoolAsync(&a, 64, pool, NULL));
        OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
        assert_int_equal(is_managed, managed);
        OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
        if (!managed) assert_int_equal(type, CU_MEMORYTYPE_HOST);
        *(int *)(uintptr_t)a = 7;
        OK(i % 2 ? cuMemFree(a) : cuMemFreeAsync(a, NULL));
        OK(cuMemGetMemPool(&first, &wanted[i].location, wanted[i].allocType));
        OK(cuMemSetMemPool(&wanted[i].location, wanted[i].allocType, pool));
        OK(cuMemGetMemPool(&now, &wanted[i].location, wanted[i].allocType));
        assert_ptr_equal(now, pool);
        OK(cuDeviceGetMemPool(&now, 0));
        assert_ptr_not_equal(now, pool);  // ordinary allocations stay where they were
        IS(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, pool));
        OK(cuMemPoolDestroy(pool));
        OK(cuMemGetMemPool(&now, &wanted[i].location, wanted[i].allocType));
        assert_ptr_equal(now, first);
    }
}

static void pools_of_no_such_place_are_refused(void **state) {
    CUmemPoolProps    wanted = {CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_NONE, 0}};
    CUmemLocation     host = {CU_MEM_LOCATION_TYPE_HOST, 0}, gone = {CU_MEM_LOCATION_TYPE_DEVICE, 99};
    CUmemAccessDesc   access = {host, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemoryPool      pool = NULL;
    (void)state;
    IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &wanted));  // pinned memory is somewhere
    wanted.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &wanted));
    wanted = (CUmemPoolProps){(CUmemAllocationType)3, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &wanted));
    IS(CUDA_ERROR_INVALID_DEVICE, cuMemGetMemPool(&pool, &gone, CU_MEM_ALLOCATION_TYPE_MANAGED));
    OK(cuDeviceGetMemPool(&pool, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, &access, 1));  // of a device: not the host's
    OK(cuMemPoolGetAccess(&flags, pool, &host));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
}

static CUmemGenericAllocationHandle physical(size_t bytes, int device) {
    const CUmemAllocationProp    kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
    CUmemGenericAllocationHandle handle = 0;
    OK(cuMemCreate(&handle, bytes, &kind, 0));
    return handle;
}

static const CUmemAccessDesc access_0 = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc access_1 = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

// Two pages side by side are one piece of memory to copies and kernels.
static void pages_are_mapped_side_by_side(void **state) {
    const CUmemGenericAllocationHandle first = physical(PAGE, 0), second = physical(PAGE, 0);
    CUdeviceptr                        at = 0;
    unsigned                           n = 32;
    (void)state;
    OK(cuMemAddressReserve(&at, 4 * (size_t)PAGE, 0, 0, 0));
    OK(cuMemMap(at, PAGE, 0, first, 0));
    OK(cuMemMap(at + PAGE, PAGE, 0, second, 0));
    OK(cuMemMap(at + 2 * (size_t)PAGE, PAGE, 0, first, 0));  // the first again
    OK(cuMemSetAccess(at, 3 * (size_t)PAGE, &access_0, 1));
    OK(cuMemsetD8(at, 9, 3 * (size_t)PAGE));
    CUdeviceptr p = at + PAGE - 64;
    void       *argument[] = {&p, &n};
    OK(cuLaunchKernel(function("add"), 1, 1, 1, 32, 1, 1, 0, NULL, argument, NULL));
    assert_int_equal(word_at(at + PAGE - 4), 5 + 15);
    assert_int_equal(word_at(at + PAGE), 5 + 16);
    assert_int_equal(word_at(at + 3 * (size_t)PAGE - 4), 5 + 15);
    OK(cuMemRelease(first));
    OK(cuMemUnmap(at, PAGE));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(at, 1, 4));
    assert_int_equal(word_at(at + 3 * (size_t)PAGE - 4), 5 + 15);
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(at, 4 * (size_t)PAGE));  // still mapped
    OK(cuMemUnmap(at + PAGE, 2 * (size_t)PAGE));
    OK(cuMemAddressFree(at, 4 * (size_t)PAGE));
    OK(cuMemRelease(second));
    IS(CUDA_ERROR_INVALID_HANDLE, cuMemRelease(second));
}

static void wrong_mappings_are_refused(void **state) {
    const CUmemGenericAllocationHandle memory = physical(PAGE, 0);
    CUmemGenericAllocationHandle       other = 0;
    CUdeviceptr                        at = 0;
    size_t                             step = 0;
    CUmemAllocationProp kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    (void)state;
    OK(cuMemGetAllocationGranularity(&step, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    assert_int_equal(step, PAGE);
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&at, PAGE + 1, 0, 0, 0));
    OK(cuMemAddressReserve(&at, PAGE, 0, 0, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at + PAGE, PAGE, 0, memory, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, PAGE, PAGE, memory, 0));
    IS(CUDA_ERROR_INVALID_HANDLE, cuMemMap(at, PAGE, 0, 12345, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(at, PAGE, &access_0, 1));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(at, PAGE));
    OK(cuMemMap(at, PAGE, 0, memory, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, PAGE, 0, memory, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(at));
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemAddressFree(at, PAGE));
    OK(cuMemRelease(memory));
    kind.location.id = 9;
    IS(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&other, PAGE, &kind, 0));
    IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&other, (size_t)PAGE << 30,
                                             &(CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                                    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                             0));
}

static void memory_goes_through_a_file_descriptor(void **state) {
    const CUmemAllocationProp    kind = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                         .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle memory = 0, again = 0;
    CUdeviceptr                  at = 0;
    int                          file = -1;
    (void)state;
    OK(cuMemCreate(&memory, PAGE, &kind, 0));
    OK(cuMemExportToShareableHandle(&file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&again, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(file);
    OK(cuMemAddressReserve(&at, 2 * (size_t)PAGE, 0, 0, 0));
    OK(cuMemMap(at, PAGE, 0, memory, 0));
    OK(cuMemMap(at + PAGE, PAGE, 0, again, 0));
    OK(cuMemSetAccess(at, 2 * (size_t)PAGE, &access_0, 1));
    OK(cuMemsetD32(at, 77, 1));
    assert_int_equal(word_at(at + PAGE), 77);
    OK(cuMemUnmap(at, 2 * (size_t)PAGE));
    OK(cuMemAddressFree(at, 2 * (size_t)PAGE));
    OK(cuMemRelease(memory));
    OK(cuMemRelease(again));
    IS(CUDA_ERROR_INVALID_VALUE,
       cuMemImportFromShareableHandle(&again, (void *)(intptr_t)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

// ---- two devices

static CUcontext other;

static void use(CUcontext which) { OK(cuCtxSetCurrent(which)); }

// Adds 3 to a word of device 1's memory with a kernel of device 0, and tells how that went.
static CUresult reach_other(CUdeviceptr memory) { return launch_more(NULL, memory, 3); }

static int open_other(void **state) {
    begin(state);
    OK(cuDevicePrimaryCtxRetain(&other, 1));
    return 0;
}

static int close_other(void **state) {
    OK(cuDevicePrimaryCtxReset(1));
    OK(cuDevicePrimaryCtxRelease(1));
    return finish(state);
}

static void copies_need_no_peer_access(void **state) {
    unsigned value = 41;
    (void)state;
    use(other);
    const CUdeviceptr there = allocate(4);
    OK(cuMemcpyHtoD(there, &value, 4));
    use(context);
    const CUdeviceptr here = allocate(4);
    OK(cuMemcpyPeer(here, context, there, other, 4));
    assert_int_equal(word_at(here), 41);
    IS(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeer(here, NOWHERE(CUcontext), there, other, 4));
}

static void kernels_need_peer_access(void **state) {
    (void)state;
    use(other);
    const CUdeviceptr there = allocate(4);
    OK(cuMemsetD32(there, 1, 1));
    use(context);
    IS(CUDA_ERROR_ILLEGAL_ADDRESS, reach_other(there));
    REPORTED("it is memory of device 1: call cuCtxEnablePeerAccess");
}

static void peers_reach_memory_old_and_new(void **state) {
    int can = 0;
    (void)state;
    OK(cuDeviceCanAccessPeer(&can, 0, 1));
    assert_true(can);
    use(other);
    const CUdeviceptr old = allocate(4);
    OK(cuMemsetD32(old, 1, 1));
    use(context);
    OK(cuCtxEnablePeerAccess(other, 0));
    IS(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(other, 0));
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(context, 0));
    use(other);
    const CUdeviceptr new = allocate(4);
    OK(cuMemsetD32(new, 2, 1));
    use(context);
    OK(reach_other(old));
    OK(reach_other(new));
    assert_int_equal(word_at(old), 4);
    assert_int_equal(word_at(new), 5);
    OK(cuCtxDisablePeerAccess(other));
    IS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
    IS(CUDA_ERROR_ILLEGAL_ADDRESS, reach_other(old));
}

static void mapped_memory_says_which_device_reaches_it(void **state) {
    const CUmemGenericAllocationHandle memory = physical(PAGE, 1);
    const CUmemLocation                here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    unsigned long long                 flags = 0;
    CUdeviceptr                        at = 0;
    (void)state;
    OK(cuMemAddressReserve(&at, PAGE, 0, 0, 0));
    OK(cuMemMap(at, PAGE, 0, memory, 0));
    OK(cuMemSetAccess(at, PAGE, &access_1, 1));
    OK(cuMemGetAccess(&flags, &here, at));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemSetAccess(at, PAGE, &access_0, 1));
    OK(cuMemGetAccess(&flags, &here, at));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemsetD32(at, 1, 1));
    OK(reach_other(at));
    assert_int_equal(word_at(at), 4);
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemAddressFree(at, PAGE));
    OK(cuMemRelease(memory));
}

static void contexts_do_not_mix(void **state) {
    CUstream         there = NULL;
    CUevent          event = NULL, here = NULL;
    const CUfunction f = function("more");
    CUdeviceptr      p = allocate(4);
    unsigned         n = 1;
    float            ms = 0;
    void            *argument[] = {&p, &n};
    (void)state;
    OK(cuEventCreate(&here, 0));
    OK(cuEventRecord(here, NULL));
    use(other);
    OK(cuStreamCreate(&there, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuEventRecord(event, there));
    use(context);
    IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, there, argument, NULL));
    IS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(here, there));
    IS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&ms, here, event));
    OK(cuStreamWaitEvent(NULL, event, 0));  // this is what events of another device are for
}

#define PAIR(name) cmocka_unit_test_setup_teardown(name, open_other, close_other)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(pools_count_what_they_gave),
        TEST(pools_have_managed_and_pinned_memory),
        TEST(pools_of_no_such_place_are_refused),
        TEST(pages_are_mapped_side_by_side),
        TEST(wrong_mappings_are_refused),
        TEST(memory_goes_through_a_file_descriptor),
        PAIR(copies_need_no_peer_access),
        PAIR(kernels_need_peer_access),
        PAIR(peers_reach_memory_old_and_new),
        PAIR(mapped_memory_says_which_device_reaches_it),
        PAIR(contexts_do_not_mix),
    };
    open_driver(2, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
