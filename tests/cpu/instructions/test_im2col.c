// SPDX-License-Identifier: Apache-2.0
// Columns of pixels on the CPU device; and what is refused of their tensor maps.
#include "im2col.h"

#include <clusterjit/tensormap.h>

#include "kernel.h"

static void columns_are_what_a_walk_gives(void **state) {
    (void)state;
    for (int hazards = 0; hazards <= 1; hazards++) {
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = hazards, .random_schedule = hazards,
                                       .seed = cj_test_seed()};
        cj_device *device = open_cpu();
        assert_int_equal(cj_im2col_run(device, cj_test_seed()), 0);
        cj_device_close(device);
    }
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
}

typedef struct arguments {
    unsigned             rank;
    uint64_t             dims[5], strides[4];
    int32_t              lower[3], upper[3];
    uint32_t             channels, pixels, steps[5];
    cj_tensormap_swizzle swizzle;
} arguments;

static const arguments good = {4,  {16, 8, 8, 2}, {32, 256, 2048},         {-1, -1}, {1, 1}, 16,
                               64, {1, 1, 1, 1},  CJ_TENSORMAP_SWIZZLE_32B};

static cj_status encode(cj_device *device, cj_ptr memory, const arguments *a, cj_tensormap *map, cj_error *error) {
    return cj_tensormap_encode_im2col(device, map, CJ_TENSORMAP_F16, a->rank, memory, a->dims, a->strides, a->lower,
                                      a->upper, a->channels, a->pixels, a->steps, CJ_TENSORMAP_INTERLEAVE_NONE,
                                      a->swizzle, CJ_TENSORMAP_L2_NONE, CJ_TENSORMAP_FILL_ZEROS, error);
}

// Each breaks one rule; the message names the argument.
static void arguments_are_checked(void **state) {
    (void)state;
    static const char *const words[] = {"rank is 2",
                                        "rank is 6",
                                        "lower[0] is -129; it must be -128 to 127 for rank 4",
                                        "upper[1] is 128; it must be -128 to 127 for rank 4",
                                        "lower[1] is 7 and upper[1] -1: of 8 pixels the bounding box has none",
                                        "channels is 0",
                                        "channels is 257",
                                        "pixels is 0",
                                        "pixels is 1025",
                                        "element_strides[2] is 9",
                                        "they must be a multiple of 16",
                                        "more than the swizzle's 32",
                                        "lower[2] is -17; it must be -16 to 15 for rank 5",
                                        "upper[0] is 32768; it must be -32768 to 32767 for rank 3"};
    cj_device               *device = open_cpu();
    cj_ptr                   memory = 0;
    cj_error                 error = {0};
    cj_tensormap             map;
    cj_test_ok(cj_mem_alloc(device, 4096, &memory, &error), &error);
    cj_test_ok(encode(device, memory, &good, &map, &error), &error);
    for (unsigned k = 0; k < CJ_TEST_COUNT(words); k++) {
        arguments a = good;
        switch (k) {
        case 0: a.rank = 2; break;
        case 1: a.rank = 6; break;
        case 2: a.lower[0] = -129; break;
        case 3: a.upper[1] = 128; break;
        case 4: a.lower[1] = 7, a.upper[1] = -1; break;
        case 5: a.channels = 0; break;
        case 6: a.channels = 257; break;
        case 7: a.pixels = 0; break;
        case 8: a.pixels = 1025; break;
        case 9: a.steps[2] = 9; break;
        case 10: a.channels = 4; break;
        case 11: a.channels = 24; break;
        case 12: a.rank = 5, a.dims[4] = 1, a.strides[3] = 4096, a.steps[4] = 1, a.lower[2] = -17; break;
        default: a.rank = 3, a.upper[0] = 32768;
        }
        assert_int_equal(encode(device, memory, &a, &map, &error), CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, words[k])) fail_msg("no '%s' in '%s'", words[k], error.message);
    }
    cj_mem_free(device, memory);
    cj_device_close(device);
}

// A launch that is refused with a message: its map, its coordinates or its offsets are not for what it does.
typedef struct refusal {
    cj_im2col_way way;
    int32_t       at[5];
    uint16_t      offset[3];
    const char   *rule, *message;
} refusal;

static void refuse(cj_device *device, const cj_tensormap *map, const refusal *r) {
    char         ptx[CJ_IM2COL_PTX];
    uint32_t     words = 1024;
    refusal      copy = *r;
    cj_tensormap copied = *map;
    cj_ptr       out = 0;
    cj_error     error = {0};
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_im2col_ptx(ptx, 4, r->way);
    cj_test_ok(cj_mem_alloc(device, 4096, &out, &error), &error);
    cj_test_ok(cj_mem_write(device, out, &words, sizeof words, NULL, &error), &error);
    cj_test_ok(cj_module_from_ptx(device, ptx, strlen(ptx), &module, &error), &error);
    cj_test_ok(cj_module_function(module, "kernel", &function, &error), &error);
    const cj_launch_config config = {
        CJ_INIT(config),        .function = function,
        .grid = {1, 1, 1},      .block = {32, 1, 1},
        .dynamic_shared = 4096, .arguments = (void *[]){&out, &copied, &words, copy.at, copy.offset},
        .argument_count = 5};
    assert_int_equal(cj_launch(device, &config, &error), CJ_HAZARD);
    assert_string_equal(error.rule, r->rule);
    if (!strstr(error.message, r->message)) fail_msg("no '%s' in '%s'", r->message, error.message);
    cj_module_unload(module);
    cj_mem_free(device, out);
}

static void what_does_not_fit_is_named(void **state) {
    (void)state;
    const uint32_t box[4] = {16, 1, 1, 1}, steps[4] = {1, 1, 1, 1};
    cj_device     *device = open_cpu();
    cj_ptr         memory = 0;
    cj_error       error = {0};
    cj_tensormap   columns, inner, tiles;
    arguments      a = good;
    cj_test_ok(cj_mem_alloc(device, 4096, &memory, &error), &error);
    cj_test_ok(encode(device, memory, &good, &columns, &error), &error);
    for (unsigned i = 0; i < 2; i++) a.lower[i] = 0, a.upper[i] = -1;
    cj_test_ok(encode(device, memory, &a, &inner, &error), &error);
    cj_test_ok(cj_tensormap_encode_tiled(device, &tiles, CJ_TENSORMAP_F16, 4, memory, good.dims, good.strides, box,
                                         steps, CJ_TENSORMAP_INTERLEAVE_NONE, CJ_TENSORMAP_SWIZZLE_NONE,
                                         CJ_TENSORMAP_L2_NONE, CJ_TENSORMAP_FILL_ZEROS, &error),
               &error);
    refuse(device, &tiles, &(refusal){.rule = "tensor-map", .message = "one of tiles, the copy one of im2col mode"});
    refuse(device, &columns, &(refusal){.offset = {0, 256},
                                        .rule = "tensor-map",
                                        .message = "offset 1 is 256; with rank 4 it is at most 255"});
    static const refusal stores[] = {
        {CJ_IM2COL_STORE, {-8, 0, 0, 0}, {0}, "out-of-bounds", "coordinate 0 is -8"},
        {CJ_IM2COL_STORE, {0, 0, 0, -1}, {0}, "out-of-bounds", "coordinate 3 is -1"},
        {CJ_IM2COL_ADD, {0, 7, 0, 0}, {0}, "out-of-bounds", "coordinate 1 is 7: a store begins in the bounding box, 0"}};
    for (unsigned k = 0; k < CJ_TEST_COUNT(stores); k++) refuse(device, &inner, &stores[k]);
    refuse(device, &columns,
           &(refusal){.way = CJ_IM2COL_STORE, .rule = "tensor-map", .message = "its bounding box leaves the tensor"});
    cj_mem_free(device, memory);
    cj_device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns_are_what_a_walk_gives),
                                       cmocka_unit_test(arguments_are_checked),
                                       cmocka_unit_test(what_does_not_fit_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
