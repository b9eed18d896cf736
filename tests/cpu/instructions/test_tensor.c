// SPDX-License-Identifier: Apache-2.0
// Tensor maps and tensor copies on the CPU device.
#include <clusterjit/tensormap.h>
#include <stdlib.h>

#include "kernel.h"
#include "semantics_tensor.h"
#include "tensor_kernels.h"

enum { TENSOR_BYTES = 1 << 18, OUT_BYTES = 1 << 18, PTX_BYTES = 16384 };

typedef struct tensor {
    cj_tensormap_type    type;
    unsigned             rank, element;  // bytes of one
    uint64_t             dims[5], strides[4];
    uint32_t             box[5], element_strides[5];
    int32_t              at[5];
    cj_tensormap_swizzle swizzle;
    cj_tensormap_fill    fill;
} tensor;

// What a launch works on: the device's memory and what it holds.
typedef struct bench {
    cj_device     *device;
    cj_ptr         tensor, out;
    unsigned char *tensor_bytes, *out_bytes;
} bench;

static bench open_bench(void) {
    bench    b = {.device = open_cpu(), .tensor_bytes = malloc(TENSOR_BYTES), .out_bytes = calloc(1, OUT_BYTES)};
    cj_error error = {0};
    cj_test_ok(cj_mem_alloc(b.device, TENSOR_BYTES, &b.tensor, &error), &error);
    cj_test_ok(cj_mem_alloc(b.device, OUT_BYTES, &b.out, &error), &error);
    uint64_t state = 7;
    for (unsigned i = 0; i < TENSOR_BYTES; i++) b.tensor_bytes[i] = (unsigned char)cj_test_random(&state);
    return b;
}

static void close_bench(bench *b) {
    cj_mem_free(b->device, b->tensor);
    cj_mem_free(b->device, b->out);
    cj_device_close(b->device);
    free(b->tensor_bytes);
    free(b->out_bytes);
}

static cj_tensormap encode(const bench *b, const tensor *t) {
    cj_tensormap map;
    cj_error     error = {0};
    cj_test_ok(cj_tensormap_encode_tiled(b->device, &map, t->type, t->rank, b->tensor, t->dims, t->strides, t->box,
                                         t->element_strides, CJ_TENSORMAP_INTERLEAVE_NONE, t->swizzle,
                                         CJ_TENSORMAP_L2_NONE, t->fill, &error),
               &error);
    return map;
}

typedef struct shape {
    unsigned grid, block, cluster;
} shape;

// Runs a kernel on copies of the bench's bytes, which come back there.
static cj_status run_bench(bench *b, const char *ptx, cj_tensormap *map, uint32_t bytes, const int32_t *at, shape size,
                           cj_error *error) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    int32_t      coordinates[5];
    memcpy(coordinates, at, sizeof coordinates);
    cj_test_ok(cj_mem_write(b->device, b->tensor, b->tensor_bytes, TENSOR_BYTES, NULL, error), error);
    cj_test_ok(cj_mem_write(b->device, b->out, b->out_bytes, OUT_BYTES, NULL, error), error);
    cj_test_ok(cj_module_from_ptx(b->device, ptx, strlen(ptx), &module, error), error);
    cj_test_ok(cj_module_function(module, "kernel", &function, error), error);
    const cj_launch_config config = {
        CJ_INIT(config),
        .function = function,
        .grid = {size.grid, 1, 1},
        .block = {size.block, 1, 1},
        .cluster = size.cluster ? (cj_dim3){size.cluster, 1, 1} : (cj_dim3){0, 0, 0},
        .dynamic_shared = 65536,
        .arguments = (void *[]){&b->out, map, &bytes, coordinates},
        .argument_count = 4,
    };
    cj_status status = cj_launch(b->device, &config, error);
    cj_test_ok(cj_mem_read(b->device, b->tensor_bytes, b->tensor, TENSOR_BYTES, NULL, NULL), NULL);
    cj_test_ok(cj_mem_read(b->device, b->out_bytes, b->out, OUT_BYTES, NULL, NULL), NULL);
    cj_module_unload(module);
    return status;
}

// ---- tiles

// What tests/gpu/test_tensor.c compares with a chip: under the fixed schedule, and under a random one with hazards
// watched for, all tiles are as their model, and nothing is reported.
static void tiles_are_as_their_model(void **state) {
    (void)state;
    const uint64_t seed = cj_test_seed();
    for (unsigned watched = 0; watched < 2; watched++) {
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .hazards = watched,
                                       .random_schedule = watched, .seed = seed};
        cj_device     *cpu = open_cpu();
        const unsigned failed = cj_tensor_check(cpu, seed);
        cj_device_close(cpu);
        if (failed) fail_msg("%u of %u tiles are not", failed, cj_tensor_count());
    }
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
}

static const tensor swizzled = {CJ_TENSORMAP_U16,          2, 2, {64, 64}, {128}, {64, 16}, {1, 1}, {0, 8},
                                CJ_TENSORMAP_SWIZZLE_128B, 0};
static const tensor deep = {CJ_TENSORMAP_U32, 3, 4, {20, 9, 7}, {80, 720}, {4, 3, 5}, {1, 1, 1}, {2, 7, 4}, 0, 0};

// ---- FEATURES, row 5

static const char wait_for_tile[] =
    "wait:\n    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [bar], %r9;\n    @!%p1 bra wait;\n";

// Runs it, and returns whether every thread's sum is right.
static bool multicast(unsigned iterations, const char *wait, const cj_cpu_options *options, cj_status *status) {
    const tensor t = {CJ_TENSORMAP_U32, 2, 4, {64, 1024}, {256}, {64, 64}, {1, 1}, {0, 0, 0, 0, 0}, 0, 0};
    char         ptx[PTX_BYTES];
    cj_error     error = {0};
    cpu_options = *options;
    bench        b = open_bench();
    cj_tensormap map = encode(&b, &t);
    tensor_multicast_ptx(ptx, sizeof ptx, wait);
    *status = run_bench(&b, ptx, &map, iterations << 16, t.at, (shape){4, 128, 4}, &error);
    bool            right = true;
    const uint32_t *words = (const uint32_t *)(const void *)b.tensor_bytes;
    const uint32_t *sums = (const uint32_t *)(const void *)b.out_bytes;
    for (unsigned thread = 0; thread < 128; thread++) {
        uint32_t sum = 0;
        for (unsigned i = thread; i < iterations * 4096; i += 128) sum += words[i];
        for (unsigned block = 0; block < 4; block++) right &= sums[block * 128 + thread] == sum;
    }
    close_bench(&b);
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
    return right;
}

static void a_tile_for_four_blocks(void **state) {
    (void)state;
    for (unsigned iterations = 4; iterations <= 16; iterations *= 2) {
        for (unsigned seed = 0; seed < 4; seed++) {
            const cj_cpu_options options = {CJ_INIT(options), .random_schedule = seed > 0, .seed = seed,
                                            .hazards = iterations == 4};
            cj_status            status;
            assert_true(multicast(iterations, wait_for_tile, &options, &status));
            assert_int_equal(status, CJ_OK);
        }
    }
}

static void a_tile_that_nobody_waits_for(void **state) {
    (void)state;
    cj_status status;
    for (unsigned late = 0; late < 2; late++) {
        const cj_cpu_options options = {CJ_INIT(options), .late_schedule = late};
        assert_true(!multicast(4, "", &options, &status) || status == CJ_HAZARD);
        assert_true(multicast(4, wait_for_tile, &options, &status));
        assert_int_equal(status, CJ_OK);
    }
    multicast(4, "", &(cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true}, &status);
    assert_int_equal(status, CJ_HAZARD);
}

// Thread 0 stores 16 bytes as a tile and, after `wait`, loads the tile again: the sum of its words.
static uint32_t stored_and_loaded(const char *wait, bool late) {
    static const char begin[] = TENSOR_HEAD
        "    @!%p0 bra done;\n    mov.u32 %r5, tile;\n    st.shared.v4.u32 [%r5], {1, 2, 3, 4};\n"
        "    fence.proxy.async.shared::cta;\n"
        "    cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%l1, {%c0}], [%r5];\n"
        "    cp.async.bulk.commit_group;\n";
    static const char end[] =
        "    mbarrier.arrive.expect_tx.shared::cta.b64 %l3, [bar], 16;\n"
        "    cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r5 + 128], "
        "[%l1, {%c0}], [bar];\n    mov.u32 %r9, 0;\n" TENSOR_WAIT
        "    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r5 + 128];\n    add.u32 %r10, %r10, %r11;\n"
        "    add.u32 %r10, %r10, %r12;\n    add.u32 %r10, %r10, %r13;\n    st.global.u32 [%l0], %r10;\n"
        "    cp.async.bulk.wait_group 0;\ndone:\n" TENSOR_END;
    const tensor t = {CJ_TENSORMAP_U32, 1, 4, {64}, {0}, {4}, {1}, {0}, 0, 0};
    char         ptx[PTX_BYTES];
    cj_error     error = {0};
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .late_schedule = late};
    bench        b = open_bench();
    cj_tensormap map = encode(&b, &t);
    memset(b.tensor_bytes, 0, TENSOR_BYTES);
    snprintf(ptx, sizeof ptx, "%s%s%s", begin, wait, end);
    cj_test_ok(run_bench(&b, ptx, &map, 64, t.at, (shape){1, 32, 0}, &error), &error);
    const uint32_t sum = *(const uint32_t *)(const void *)b.out_bytes;
    close_bench(&b);
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
    return sum;
}

static void a_stored_tile_is_there_after_the_wait(void **state) {
    (void)state;
    for (unsigned late = 0; late < 2; late++)
        assert_int_equal(stored_and_loaded("    cp.async.bulk.wait_group 0;\n", late), 10);
    assert_int_equal(stored_and_loaded("", true), 0);
}

// ---- maps

static void maps_are_changed_by_kernels(void **state) {
    (void)state;
    const tensor t = {CJ_TENSORMAP_U64, 2, 8, {8, 100}, {64}, {8, 4}, {1, 1}, {0, 0, 0, 0, 0}, 0, 0};
    bench        b = open_bench();
    cj_tensormap map = encode(&b, &t);
    cj_error     error = {0};
    for (unsigned i = 0; i < 64; i++) b.out_bytes[4096 + 8 * i] = (unsigned char)(i + 1);
    cj_test_ok(run_bench(&b, tensor_replace, &map, 256, t.at, (shape){1, 32, 0}, &error), &error);
    for (unsigned i = 0; i < 32; i++) {  // the tensor has three rows now
        uint64_t got;
        memcpy(&got, b.out_bytes + 8192 + 8 * i, sizeof got);
        assert_int_equal(got, i < 24 ? i + 1 : 0);
    }
    close_bench(&b);
}

// Hosts do that in maps of tensors of less than 128 KiB (bit 21 of the second 64 bits): they are the same maps.
static void a_bit_that_hosts_clear_means_nothing(void **state) {
    (void)state;
    const tensor good = swizzled;
    bench        b = open_bench();
    char         ptx[PTX_BYTES];
    uint64_t     words[sizeof(cj_tensormap) / 8];
    cj_error     error = {0};
    cj_tensormap map = encode(&b, &good);
    memcpy(words, &map, sizeof map);
    assert_false(words[1] >> 21 & 1);  // wherever the tensor lies
    assert_int_equal(words[1] & UINT32_MAX, 0);
    words[1] &= ~(UINT64_C(1) << 21);
    memcpy(&map, words, sizeof map);
    tensor_load_ptx(ptx, sizeof ptx, 2, 2048);
    cj_test_ok(run_bench(&b, ptx, &map, 2048, good.at, (shape){1, 128, 0}, &error), &error);
    memset(&map, 0, sizeof map);  // no map either
    assert_int_equal(run_bench(&b, ptx, &map, 2048, good.at, (shape){1, 128, 0}, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "tensor-map");
    close_bench(&b);
}

static void wrong_maps_are_refused(void **state) {
    (void)state;
    const tensor good = swizzled;
    bench        b = open_bench();
    char         ptx[PTX_BYTES];
    cj_error     error = {0};
    cj_tensormap map = encode(&b, &good);
    tensor_load_ptx(ptx, sizeof ptx, 3, 2048);
    assert_int_equal(run_bench(&b, ptx, &map, 2048, good.at, (shape){1, 128, 0}, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "tensor-map");
    assert_non_null(strstr(error.message, "rank 2, the instruction 3"));
    int32_t between[5] = {good.at[0] + 1, good.at[1]};
    tensor_load_ptx(ptx, sizeof ptx, 2, 2048);
    assert_int_equal(run_bench(&b, ptx, &map, 2048, between, (shape){1, 128, 0}, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "misaligned");
    assert_non_null(strstr(error.message, "not at a multiple of 16 bytes"));
    memset(&map, 0x55, sizeof map);
    tensor_load_ptx(ptx, sizeof ptx, 2, 2048);
    assert_int_equal(run_bench(&b, ptx, &map, 2048, good.at, (shape){1, 128, 0}, &error), CJ_HAZARD);
    assert_non_null(strstr(error.message, "no tensor map of the CPU device"));
    close_bench(&b);
}

// As on a chip, which stops those that begin in front of the tensor.
static void stores_begin_in_the_tensor(void **state) {
    (void)state;
    static const struct {
        int32_t     at[5];
        const char *message;  // NULL: nothing is wrong with it
    } cases[] = {{{0, 0}, NULL},
                 {{8, 60}, NULL},  // over the end
                 {{64, 64}, NULL},
                 {{-8, 0}, "coordinate 0 is -8"},
                 {{0, -1}, "coordinate 1 is -1"},
                 {{0, -4096}, "coordinate 1 is -4096"}};
    const tensor t = {CJ_TENSORMAP_U32, 2, 4, {64, 64}, {256}, {32, 16}, {1, 1}, {0}, CJ_TENSORMAP_SWIZZLE_128B, 0};
    bench        b = open_bench();
    cj_tensormap map = encode(&b, &t);
    for (unsigned k = 0; k < 2 * CJ_TEST_COUNT(cases); k++) {
        const char *message = cases[k / 2].message;
        char        ptx[PTX_BYTES];
        cj_error    error = {0};
        tensor_store_ptx(ptx, sizeof ptx, 2, k % 2);
        const cj_status status = run_bench(&b, ptx, &map, 0, cases[k / 2].at, (shape){1, 32, 0}, &error);
        assert_int_equal(status, message ? CJ_HAZARD : CJ_OK);
        if (!message) continue;
        assert_string_equal(error.rule, "out-of-bounds");
        if (!strstr(error.message, message)) fail_msg("no '%s' in '%s'", message, error.message);
    }
    close_bench(&b);
}

// Each breaks one rule of a good tile; the message names the argument.
static void arguments_are_checked(void **state) {
    (void)state;
    enum { CASES = 12 };
    bench b = open_bench();
    for (unsigned k = 0; k < CASES; k++) {
        static const char *const words[CASES] = {
            "type is 99",    "rank is 6",          "address is",       "dims[1] is 0",          "strides[0] is 100",
            "box[1] is 257", "element_strides[1]", "a multiple of 16", "more than the swizzle", "fill is NaN",
            "interleaved",   "swizzle is 7"};
        tensor   t = swizzled;
        cj_ptr   address = b.tensor;
        uint32_t interleave = 0;
        switch (k) {
        case 0: t.type = (cj_tensormap_type)99; break;
        case 1: t.rank = 6; break;
        case 2: address += 8; break;
        case 3: t.dims[1] = 0; break;
        case 4: t.strides[0] = 100; break;
        case 5: t.box[1] = 257; break;
        case 6: t.element_strides[1] = 9; break;
        case 7: t.box[0] = 4; break;
        case 8: t.swizzle = CJ_TENSORMAP_SWIZZLE_64B; break;
        case 9: t.fill = CJ_TENSORMAP_FILL_NAN; break;
        case 10: t = deep, interleave = CJ_TENSORMAP_INTERLEAVE_16B; break;
        default: t.swizzle = (cj_tensormap_swizzle)7;
        }
        cj_tensormap map;
        cj_error     error = {0};
        cj_status status = cj_tensormap_encode_tiled(b.device, &map, t.type, t.rank, address, t.dims, t.strides, t.box,
                                                     t.element_strides, (cj_tensormap_interleave)interleave, t.swizzle,
                                                     CJ_TENSORMAP_L2_NONE, t.fill, &error);
        assert_int_equal(status, k == 10 ? CJ_UNSUPPORTED : CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, words[k])) fail_msg("no '%s' in '%s'", words[k], error.message);
    }
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_as_their_model),     cmocka_unit_test(a_tile_for_four_blocks),
        cmocka_unit_test(a_tile_that_nobody_waits_for),
        cmocka_unit_test(a_stored_tile_is_there_after_the_wait), cmocka_unit_test(maps_are_changed_by_kernels),
        cmocka_unit_test(a_bit_that_hosts_clear_means_nothing),
        cmocka_unit_test(wrong_maps_are_refused),       cmocka_unit_test(stores_begin_in_the_tensor),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
