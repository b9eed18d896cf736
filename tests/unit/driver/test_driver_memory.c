// SPDX-License-Identifier: Apache-2.0
// Memory: allocations, copies, fills, arrays, what is known of an address; and what bad calls get.
#include "driver_test.h"

static void copies_there_and_back(void **state) {
    unsigned from[64], to[64] = {0};
    (void)state;
    for (unsigned i = 0; i < COUNT(from); i++) from[i] = i * i;
    const CUdeviceptr a = allocate(sizeof from), b = allocate(sizeof from);
    OK(cuMemcpyHtoD(a, from, sizeof from));
    OK(cuMemcpyDtoD(b, a, sizeof from));
    OK(cuMemcpyDtoH(to, b, sizeof to));
    assert_memory_equal(from, to, sizeof to);
    memset(to, 0, sizeof to);
    OK(cuMemcpy((uintptr_t)to, a, sizeof to));
    assert_memory_equal(from, to, sizeof to);
    OK(cuMemcpyHtoD(a, from, 0));
}

static void wrong_memory_is_refused(void **state) {
    char              host[16] = {0};
    CUdeviceptr       memory = 0;
    const CUdeviceptr a = allocate(8);
    (void)state;
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(NULL, 4));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&memory, 0));
    IS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&memory, SIZE_MAX));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, host, 9));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, a + 4, 5));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(0, host, 4));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(a, NULL, 4));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(a, (uintptr_t)host, 4));  // not registered
    IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(a + 2, 1, 1));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD32(a, 1, SIZE_MAX));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(a + 1));
    OK(cuMemFree(a));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree(a));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host, a, 4));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFree((uintptr_t)host));
    OK(cuMemFree(0));
    REPORTED("\"call\": \"cuMemcpyHtoD\", \"message\": \"9 bytes at 0x");
}

static void fills_by_element(void **state) {
    unsigned char     host[64];
    const CUdeviceptr a = allocate(sizeof host);
    (void)state;
    OK(cuMemsetD8(a, 0x11, 64));
    OK(cuMemsetD16(a + 2, 0x2222, 3));
    OK(cuMemsetD32(a + 8, 0x33333333, 2));
    OK(cuMemsetD2D8(a + 32, 16, 0x44, 3, 2));
    OK(cuMemcpyDtoH(host, a, sizeof host));
    const unsigned char wanted[] = {0x11, 0x11, 0x22, 0x22, 0x22, 0x22, 0x22, 0x22, 0x33,
                                    0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0x11};
    assert_memory_equal(host, wanted, sizeof wanted);
    assert_int_equal(host[34], 0x44);
    assert_int_equal(host[35], 0x11);
    assert_int_equal(host[50], 0x44);
}

static void copies_boxes(void **state) {
    unsigned char from[6][32], to[6][8] = {{0}};
    CUdeviceptr   a = 0;
    size_t        pitch = 0;
    CUDA_MEMCPY2D there = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = from,
                           .srcPitch = 32,
                           .srcXInBytes = 3,
                           .srcY = 1,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .WidthInBytes = 8,
                           .Height = 4};
    (void)state;
    for (int i = 0; i < 6 * 32; i++) from[i / 32][i % 32] = (unsigned char)i;
    OK(cuMemAllocPitch(&a, &pitch, 8, 6, 4));
    assert_true(pitch >= 8);
    there.dstDevice = a;
    there.dstPitch = pitch;
    OK(cuMemcpy2D(&there));
    const CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = a,
                                .srcPitch = pitch,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = to,
                                .dstPitch = 8,
                                .WidthInBytes = 8,
                                .Height = 4};
    OK(cuMemcpy2D(&back));
    for (int y = 0; y < 4; y++) assert_memory_equal(to[y], &from[y + 1][3], 8);
    there.Height = 1000000;
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&there));
    there.Height = 4;
    there.dstPitch = 4;
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&there));
    there.dstMemoryType = (CUmemorytype)17;
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(&there));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D(NULL));
}

static void copies_through_arrays(void **state) {
    const CUDA_ARRAY3D_DESCRIPTOR shape = {8, 4, 3, CU_AD_FORMAT_FLOAT, 2, 0};
    CUDA_ARRAY3D_DESCRIPTOR       told;
    CUarray                       array = NULL;
    float                         from[3][4][16], to[3][4][16];
    (void)state;
    for (int i = 0; i < 3 * 4 * 16; i++) from[i / 64][i / 16 % 4][i % 16] = (float)i;
    OK(cuArray3DCreate(&array, &shape));
    OK(cuArray3DGetDescriptor(&told, array));
    assert_int_equal(told.Width, 8);
    assert_int_equal(told.Depth, 3);
    assert_int_equal(told.NumChannels, 2);
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = from,
                          .srcPitch = 64,
                          .srcHeight = 4,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = array,
                          .WidthInBytes = 64,
                          .Height = 4,
                          .Depth = 3};
    OK(cuMemcpy3D(&copy));
    const CUDA_MEMCPY3D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                                .srcArray = array,
                                .srcY = 1,
                                .srcZ = 2,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = to,
                                .dstPitch = 64,
                                .dstHeight = 4,
                                .WidthInBytes = 64,
                                .Height = 2,
                                .Depth = 1};
    OK(cuMemcpy3D(&back));
    assert_memory_equal(to[0][0], from[2][1], 128);
    copy.dstZ = 1;
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D(&copy));
    OK(cuArrayDestroy(array));
    IS(CUDA_ERROR_INVALID_HANDLE, cuMemcpy3D(&back));
    IS(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
    told = shape;
    told.NumChannels = 3;
    IS(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, &told));
    IS(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate(&array, NULL));
}

static void the_host_reaches_some_memory(void **state) {
    CUdeviceptr managed = 0, device = 0;
    unsigned   *pinned = NULL, own[256] = {0};
    unsigned    flags = 0, n = 256;
    void       *argument[] = {&device, &n};
    (void)state;
    OK(cuMemAllocManaged(&managed, 1024, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemHostAlloc((void **)&pinned, 1024, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostRegister(own, sizeof own, 0));
    IS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(own + 4, 4, 0));
    const void *places[] = {(void *)(uintptr_t)managed, pinned, own};
    for (size_t i = 0; i < COUNT(places); i++) {
        device = (uintptr_t)places[i];
        OK(cuLaunchKernel(function("add"), 1, 1, 1, 256, 1, 1, 0, NULL, argument, NULL));
        OK(cuCtxSynchronize());
        assert_int_equal(((const unsigned *)places[i])[100], 105);
    }
    OK(cuMemHostGetDevicePointer(&device, pinned + 1, 0));
    assert_int_equal(device, (uintptr_t)(pinned + 1));
    OK(cuMemHostGetFlags(&flags, pinned));
    assert_true(flags & CU_MEMHOSTALLOC_DEVICEMAP);
    IS(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&device, &flags, 0));
    OK(cuMemHostUnregister(own));
    IS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(own));
    OK(cuMemFreeHost(pinned));
    OK(cuMemFree(managed));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&managed, 4, 0));
}

static void an_address_tells_where_it_is(void **state) {
    const CUdeviceptr   a = allocate(100);
    CUdeviceptr         base = 0, host_address = 1;
    size_t              bytes = 0;
    unsigned            type = 0, managed = 1;
    int                 ordinal = -1, local = 0;
    CUcontext           owner = NULL;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER};
    void               *data[] = {&type, &host_address};
    (void)state;
    OK(cuMemGetAddressRange(&base, &bytes, a + 50));
    assert_int_equal(base, a);
    assert_int_equal(bytes, 100);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 50));
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a));
    OK(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, a));
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, a));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(ordinal, 0);
    assert_ptr_equal(owner, context);
    assert_int_equal(managed, 0);
    IS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&local));
    OK(cuPointerGetAttributes(2, which, data, (uintptr_t)&local));  // the host's: nothing is known
    assert_int_equal(type, 0);
    assert_int_equal(host_address, 0);
    IS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &bytes, (uintptr_t)&local));
    IS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&type, (CUpointer_attribute)99, a));
    IS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_CONTEXT, a));
}

static void memory_is_counted(void **state) {
    size_t before = 0, after = 0, total = 0;
    (void)state;
    OK(cuMemGetInfo(&before, &total));
    const CUdeviceptr a = allocate(1 << 20);
    OK(cuMemGetInfo(&after, NULL));
    assert_int_equal(before - after, 1 << 20);
    assert_true(before <= total);
    OK(cuMemFree(a));
    OK(cuMemGetInfo(&after, NULL));
    assert_int_equal(before, after);
}

static void advice_is_taken_for_managed_memory(void **state) {
    const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, nowhere = {CU_MEM_LOCATION_TYPE_DEVICE, 9};
    CUdeviceptr         managed = 0;
    (void)state;
    OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAdvise(managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    OK(cuMemPrefetchAsync(managed, 4096, device, 0, NULL));
    IS(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync(managed, 4096, nowhere, 0, NULL));
    int preferred = 0;
    OK(cuMemRangeGetAttribute(&preferred, sizeof preferred, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, managed, 4096));
    assert_int_equal(preferred, CU_DEVICE_INVALID);
    IS(CUDA_ERROR_INVALID_VALUE,
       cuMemRangeGetAttribute(&preferred, 3, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, managed, 4096));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(managed, 4097, CU_MEM_ADVISE_SET_READ_MOSTLY, device));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(allocate(4), 4, device, 0, NULL));
}

static void copies_in_batches(void **state) {
    unsigned           from[2] = {7, 8}, to[2] = {0};
    const CUdeviceptr  a = allocate(8);
    CUdeviceptr        first[] = {a, a + 4}, second[] = {(uintptr_t)&from[0], (uintptr_t)&from[1]};
    size_t             bytes[] = {4, 4}, index[] = {0};
    CUmemcpyAttributes attributes[] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM}};
    CUstream           stream = NULL;
    (void)state;
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemcpyBatchAsync(first, second, bytes, 2, attributes, index, 1, stream));
    OK(cuMemcpyDtoH(to, a, sizeof to));
    assert_memory_equal(from, to, sizeof to);
    bytes[1] = 5;
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(first, second, bytes, 2, attributes, index, 1, stream));
    IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(first, second, bytes, 2, attributes, index, 1, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(copies_there_and_back),
        TEST(wrong_memory_is_refused),
        TEST(fills_by_element),
        TEST(copies_boxes),
        TEST(copies_through_arrays),
        TEST(the_host_reaches_some_memory),
        TEST(an_address_tells_where_it_is),
        TEST(memory_is_counted),
        TEST(advice_is_taken_for_managed_memory),
        TEST(copies_in_batches),
    };
    open_driver(1, false);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
