// SPDX-License-Identifier: Apache-2.0
// Devices and contexts.
#include "driver_test.h"

static void a_device_says_what_it_is(void **state) {
    int      count = 0, major = 0, shared = 0;
    size_t   bytes = 0;
    char     name[64], id[16];
    CUuuid   first, second;
    CUdevice device = -1;
    (void)state;
    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 2);
    OK(cuDeviceGet(&device, 1));
    assert_int_equal(device, 1);
    OK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    OK(cuDeviceGetAttribute(&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    assert_int_equal(major, 9);
    assert_int_equal(shared, 232448);
    OK(cuDeviceGetName(name, sizeof name, 0));
    OK(cuDeviceTotalMem(&bytes, 0));
    assert_true(bytes > 0);
    OK(cuDeviceGetUuid(&first, 0));
    OK(cuDeviceGetUuid(&second, 1));
    assert_memory_not_equal(&first, &second, sizeof first);
    OK(cuDeviceGetPCIBusId(id, sizeof id, 1));
    OK(cuDeviceGetByPCIBusId(&device, id));
    assert_int_equal(device, 1);
}

static void wrong_devices_are_refused(void **state) {
    int      value = 0;
    CUdevice device;
    char     name[4];
    (void)state;
    IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 2));
    IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
    IS(CUDA_ERROR_INVALID_VALUE, cuDeviceGet(NULL, 0));
    IS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0));
    IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7));
    IS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName(name, 0, 0));
    OK(cuDeviceGetName(name, sizeof name, 0));  // cut
    IS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:7f:00.0"));
    IS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
}

static void contexts_stack_up_in_a_thread(void **state) {
    CUcontext mine = NULL, now = NULL;
    CUdevice  device = -1;
    (void)state;
    OK(cuCtxCreate(&mine, NULL, CU_CTX_SCHED_SPIN, 1));
    OK(cuCtxGetCurrent(&now));
    assert_ptr_equal(now, mine);
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 1);
    OK(cuCtxPushCurrent(context));
    OK(cuCtxGetDevice(&device));
    assert_int_equal(device, 0);
    OK(cuCtxPopCurrent(&now));
    assert_ptr_equal(now, context);
    OK(cuCtxDestroy(mine));
    OK(cuCtxGetCurrent(&now));
    assert_ptr_equal(now, context);
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(mine));
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(mine));
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(context));  // the primary one
}

static void a_destroyed_context_takes_its_own_along(void **state) {
    CUcontext   mine = NULL, now = NULL;
    CUstream    stream = NULL;
    CUdeviceptr memory = 0;
    size_t      before = 0, after = 0;
    (void)state;
    OK(cuMemGetInfo(&before, NULL));
    OK(cuCtxCreate(&mine, NULL, 0, 0));
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemAlloc(&memory, 1 << 20));
    OK(cuCtxPushCurrent(mine));
    OK(cuCtxPopCurrent(&now));
    OK(cuCtxDestroy(mine));
    OK(cuMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
    IS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(memory));
}

static void nothing_works_without_a_context(void **state) {
    CUcontext   now = context;
    CUdeviceptr memory = 0;
    (void)state;
    OK(cuCtxPopCurrent(&now));
    OK(cuCtxGetCurrent(&now));
    assert_null(now);
    IS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&memory, 4));
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&now));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc(&memory, 4));
}

static void the_primary_context_counts_its_retains(void **state) {
    CUcontext again = NULL;
    unsigned  flags = 0;
    int       active = 0;
    (void)state;
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    assert_ptr_equal(again, context);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_true(active);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_false(active);
    IS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
    IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRetain(&again, 0));
    OK(cuCtxSynchronize());
}

static void limits_and_flags(void **state) {
    size_t   value = 0;
    unsigned flags = 0, version = 0;
    int      least = 1, greatest = 1;
    (void)state;
    OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 16 << 20));
    OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
    assert_int_equal(value, 16 << 20);
    IS(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&value, (CUlimit)99));
    IS(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, SIZE_MAX));
    OK(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
    OK(cuCtxGetFlags(&flags));
    assert_int_equal(flags, CU_CTX_SCHED_YIELD);
    OK(cuCtxGetApiVersion(context, &version));
    assert_true(version > 0);
    OK(cuCtxGetStreamPriorityRange(&least, &greatest));
    assert_true(greatest < least);
    IS(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion(NOWHERE(CUcontext), &version));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_device_says_what_it_is),
        TEST(wrong_devices_are_refused),
        TEST(contexts_stack_up_in_a_thread),
        TEST(a_destroyed_context_takes_its_own_along),
        TEST(nothing_works_without_a_context),
        TEST(the_primary_context_counts_its_retains),
        TEST(limits_and_flags),
    };
    CUdevice device;
    if (cuDeviceGet(&device, 0) != CUDA_ERROR_NOT_INITIALIZED) return 1;
    open_driver(2, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
