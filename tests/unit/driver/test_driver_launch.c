// SPDX-License-Identifier: Apache-2.0
// Launches: their forms, attributes and limits; faults, hazards, and what is reported of them; occupancy, tensor maps, textures.
#include "driver_test.h"

static void arguments_come_as_pointers_or_in_a_buffer(void **state) {
    const CUdeviceptr p = allocate(4);
    struct {
        unsigned       a;
        CUdeviceptr    p;
        unsigned short s[3];
    } packed = {100, p, {1, 2, 3}};
    size_t bytes = sizeof packed;
    void  *argument[] = {&packed.a, &packed.p, packed.s};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    (void)state;
    OK(cuLaunchKernel(function("mixed"), 1, 1, 1, 1, 1, 1, 0, NULL, argument, NULL));
    assert_int_equal(word_at(p), 103);
    packed.a = 200;
    OK(cuLaunchKernel(function("mixed"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    assert_int_equal(word_at(p), 203);
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function("mixed"), 1, 1, 1, 1, 1, 1, 0, NULL, argument, extra));
    bytes = 17;
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function("mixed"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    argument[1] = NULL;
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function("mixed"), 1, 1, 1, 1, 1, 1, 0, NULL, argument, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(function("mixed"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static CUresult launch_pair(CUdeviceptr p, unsigned grid, unsigned cluster, CUlaunchAttributeID other, int value) {
    CUlaunchAttribute attribute[2] = {{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}, {.id = other}};
    void             *argument[] = {&p};
    attribute[0].value.clusterDim.x = cluster;
    attribute[0].value.clusterDim.y = attribute[0].value.clusterDim.z = 1;
    attribute[1].value.priority = value;
    const CUlaunchConfig config = {.gridDimX = grid,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 32,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .attrs = attribute,
                                   .numAttrs = 2};
    return cuLaunchKernelEx(&config, function("pair"), argument, NULL);
}

static void attributes_shape_a_launch(void **state) {
    const CUdeviceptr p = allocate(4);
    (void)state;
    OK(launch_pair(p, 4, 2, CU_LAUNCH_ATTRIBUTE_PRIORITY, -1));
    assert_int_equal(word_at(p), 2);
    OK(launch_pair(p, 4, 4, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, 1));
    assert_int_equal(word_at(p), 4);
    OK(launch_pair(p, 4, 1, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 1));
    IS(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch_pair(p, 3, 2, CU_LAUNCH_ATTRIBUTE_IGNORE, 0));
    IS(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch_pair(p, 16, 16, CU_LAUNCH_ATTRIBUTE_IGNORE, 0));
    OK(cuFuncSetAttribute(function("pair"), CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(launch_pair(p, 16, 16, CU_LAUNCH_ATTRIBUTE_IGNORE, 0));
    assert_int_equal(word_at(p), 16);
    IS(CUDA_ERROR_INVALID_VALUE, launch_pair(p, 2, 2, (CUlaunchAttributeID)99, 0));
    IS(CUDA_ERROR_NOT_SUPPORTED, launch_pair(p, 2, 2, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, 1));
    REPORTED("grid 3 x 1 x 1 is not a multiple of cluster 2 x 1 x 1");
}

static void limits_are_held(void **state) {
    CUdeviceptr      p = allocate(4);
    void            *argument[] = {&p};
    const CUfunction f = function("room");
    (void)state;
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, NULL, argument, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, NULL, argument, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 60000, NULL, argument, NULL));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 60000, NULL, argument, NULL));
    assert_int_equal(word_at(p), 60000);
    IS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 60001, NULL, argument, NULL));
    IS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
       cuLaunchCooperativeKernel(f, 100000, 1, 1, 1024, 1, 1, 0, NULL, argument));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, argument, NULL));
    IS(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NOWHERE(CUstream), argument, NULL));
    REPORTED("set CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES");
}

static void a_fault_stays_until_the_context_is_reset(void **state) {
    CUdeviceptr p = allocate(4);
    unsigned    n = 64;
    void       *argument[] = {&p, &n};
    (void)state;
    IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuLaunchKernel(function("add"), 1, 1, 1, 64, 1, 1, 0, NULL, argument, NULL));
    IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree(p));
    REPORTED("\"kind\": \"fault\", \"call\": \"cuLaunchKernel\", \"kernel\": \"add\", \"rule\": \"out-of-bounds\"");
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuCtxSynchronize());
    OK(cuModuleLoadData(&module, ptx));
    IS(CUDA_ERROR_LAUNCH_FAILED, cuLaunchKernel(function("halt"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    REPORTED("\"rule\": \"trap\"");
}

static void memory_of_the_host_is_out_of_bounds(void **state) {
    static unsigned own[4];
    (void)state;
    IS(CUDA_ERROR_ILLEGAL_ADDRESS, launch_more(NULL, (uintptr_t)own, 1));
    REPORTED("memory of the host is reached after cuMemHostRegister");
}

static void a_hazard_is_told_and_the_program_goes_on(void **state) {
    CUdeviceptr p = allocate(4);
    void       *argument[] = {&p};
    (void)state;
    OK(cuLaunchKernel(function("racy"), 2, 1, 1, 64, 1, 1, 0, NULL, argument, NULL));
    OK(cuCtxSynchronize());
    REPORTED("\"kind\": \"hazard\", \"call\": \"cuLaunchKernel\", \"kernel\": \"racy\", \"rule\": \"race-");
    REPORTED("\"what\": \"st.global.u32\"");
    REPORTED("\"file\": \"race.cu\", \"line\": 31, \"column\": 5");
}

static void occupancy_follows_the_limits(void **state) {
    const CUfunction  f = function("add"), pair = function("pair");
    int               blocks = 0, grid = 0, block = 0, clusters = 0;
    size_t            bytes = 0;
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = {2, 1, 1}};
    CUlaunchConfig    config = {.gridDimX = 2,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 32,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .attrs = &cluster,
                                .numAttrs = 1};
    (void)state;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
    assert_int_equal(blocks, 2);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 100000));
    assert_int_equal(blocks, 2);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 4096, 0));
    assert_int_equal(blocks, 0);
    IS(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0));
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
    assert_int_equal(block, 1024);
    assert_int_equal(grid, 264);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 2, 128));
    assert_in_range(bytes, 100000, 116 * 1024);
    OK(cuOccupancyMaxActiveClusters(&clusters, pair, &config));
    assert_true(clusters > 0);
    OK(cuOccupancyMaxPotentialClusterSize(&clusters, pair, &config));
    assert_int_equal(clusters, 8);
    IS(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveClusters(&clusters, pair, NULL));
    IS(CUDA_ERROR_INVALID_HANDLE, cuOccupancyMaxActiveClusters(&clusters, NULL, &config));
}

static void tensor_maps_are_encoded(void **state) {
    const cuuint64_t  dims[] = {64, 64}, strides[] = {256}, crooked[] = {250};
    const cuuint32_t  box[] = {32, 4}, steps[] = {1, 1};
    CUtensorMap       map;
    const CUdeviceptr p = allocate(64 * 256);
    void             *at = (void *)(uintptr_t)p;
    (void)state;
    OK(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, at, dims, strides, box, steps,
                              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    IS(CUDA_ERROR_INVALID_VALUE,
       cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, at, dims, crooked, box, steps,
                              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    IS(CUDA_ERROR_INVALID_VALUE,
       cuTensorMapEncodeTiled(NULL, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, at, dims, strides, box, steps,
                              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

static void textures_and_surfaces_have_objects(void **state) {
    const CUDA_ARRAY_DESCRIPTOR shape = {16, 8, CU_AD_FORMAT_FLOAT, 1};
    CUDA_RESOURCE_DESC          resource = {.resType = CU_RESOURCE_TYPE_ARRAY}, told;
    const CUDA_TEXTURE_DESC     sampler = {.filterMode = CU_TR_FILTER_MODE_LINEAR};
    CUarray                     array = NULL;
    CUtexObject                 texture = 0;
    CUsurfObject                surface = 0;
    (void)state;
    OK(cuArrayCreate(&array, &shape));
    resource.res.array.hArray = array;
    OK(cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    OK(cuTexObjectGetResourceDesc(&told, texture));
    assert_ptr_equal(told.res.array.hArray, array);
    OK(cuSurfObjectCreate(&surface, &resource));
    IS(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(texture + 1));
    OK(cuTexObjectDestroy(texture));
    IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(texture));
    OK(cuSurfObjectDestroy(surface));
    OK(cuArrayDestroy(array));
    IS(CUDA_ERROR_INVALID_HANDLE, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    IS(CUDA_ERROR_NOT_SUPPORTED, cuTexObjectCreate(&texture, &resource, &sampler, NULL));
    IS(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&texture, NULL, &sampler, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(arguments_come_as_pointers_or_in_a_buffer),
        TEST(attributes_shape_a_launch),
        TEST(limits_are_held),
        TEST(a_fault_stays_until_the_context_is_reset),
        TEST(memory_of_the_host_is_out_of_bounds),
        TEST(a_hazard_is_told_and_the_program_goes_on),
        TEST(occupancy_follows_the_limits),
        TEST(tensor_maps_are_encoded),
        TEST(textures_and_surfaces_have_objects),
    };
    open_driver(1, true);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(report_path);
    return failed;
}
