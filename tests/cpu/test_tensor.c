// SPDX-License-Identifier: Apache-2.0
// Tensor maps and tensor copies on the CPU device, held against tiles that are put together here, element by element.
#include <clusterjit/tensormap.h>
#include <stdlib.h>

#include "kernel.h"
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
    cj_test_ok(cj_module_load(b->device, ptx, strlen(ptx), &module, error), error);
    cj_test_ok(cj_module_function(module, "kernel", &function, error), error);
    const cj_launch_config config = {
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

// ---- the reference

// An element of the tile: its place in shared memory, and in the tensor (UINT64_MAX: outside).
typedef struct element {
    uint64_t shared, global;
} element;

static unsigned extent(const tensor *t, unsigned i) {
    if (i >= t->rank) return 1;
    const uint32_t stride = i ? t->element_strides[i] : 1;
    return (t->box[i] + stride - 1) / stride;
}

static element element_at(const tensor *t, const unsigned index[5]) {
    const unsigned span = t->swizzle ? 16u << t->swizzle : 0, row = extent(t, 0) * t->element;
    uint64_t       line = 0;
    element        e = {0, 0};
    for (unsigned i = t->rank; i-- > 1;) line = line * extent(t, i) + index[i];
    e.shared = line * (span ? span : row) + index[0] * t->element;
    const uint64_t piece = e.shared / 16 % 8, key = e.shared / 128 % 8;
    if (t->swizzle) e.shared += ((piece ^ (key & (span / 16 - 1))) - piece) * 16;
    for (unsigned i = 0; i < t->rank; i++) {
        const int64_t at = t->at[i] + (int64_t)index[i] * (i ? t->element_strides[i] : 1);
        if (at < 0 || at >= (int64_t)t->dims[i]) return (element){e.shared, UINT64_MAX};
        e.global += (uint64_t)at * (i ? t->strides[i - 1] : t->element);
    }
    return e;
}

#define EVERY_ELEMENT(t, index) for (unsigned index[5] = {0}; index[4] < extent(t, 4); advance(t, index))

static void advance(const tensor *t, unsigned index[5]) {
    for (unsigned i = 0; i < 5; i++) {
        if (++index[i] < extent(t, i) || i == 4) return;
        index[i] = 0;
    }
}

static unsigned elements(const tensor *t) {
    return extent(t, 0) * extent(t, 1) * extent(t, 2) * extent(t, 3) * extent(t, 4);
}

// Bytes that the tile takes in shared memory, to whole lines.
static unsigned footprint(const tensor *t) {
    const unsigned span = t->swizzle ? 16u << t->swizzle : extent(t, 0) * t->element;
    return (elements(t) / extent(t, 0) * span + 127) / 128 * 128;
}

// ---- tiles

static const tensor tiles[] = {
    {CJ_TENSORMAP_U32, 1, 4, {1000}, {0}, {64}, {1}, {100}, 0, 0},
    {CJ_TENSORMAP_U32, 1, 4, {100}, {0}, {64}, {1}, {70}, 0, 0},
    {CJ_TENSORMAP_F32, 1, 4, {100}, {0}, {64}, {1}, {-9}, 0, CJ_TENSORMAP_FILL_NAN},
    {CJ_TENSORMAP_U8, 2, 1, {100, 50}, {112}, {32, 8}, {1, 1}, {13, 3}, 0, 0},
    {CJ_TENSORMAP_U16, 2, 2, {64, 64}, {128}, {64, 16}, {1, 1}, {0, 8}, CJ_TENSORMAP_SWIZZLE_128B, 0},
    {CJ_TENSORMAP_BF16,
     2,
     2,
     {64, 64},
     {128},
     {32, 16},
     {1, 1},
     {40, 56},
     CJ_TENSORMAP_SWIZZLE_64B,
     CJ_TENSORMAP_FILL_NAN},
    {CJ_TENSORMAP_U32, 2, 4, {64, 64}, {256}, {8, 20}, {1, 1}, {-4, -3}, CJ_TENSORMAP_SWIZZLE_32B, 0},
    {CJ_TENSORMAP_U32, 2, 4, {64, 64}, {256}, {32, 9}, {1, 1}, {31, 60}, CJ_TENSORMAP_SWIZZLE_128B, 0},
    {CJ_TENSORMAP_F64, 2, 8, {20, 20}, {160}, {16, 4}, {1, 1}, {0, 100}, 0, CJ_TENSORMAP_FILL_NAN},  // wholly outside
    {CJ_TENSORMAP_U32, 3, 4, {20, 9, 7}, {80, 720}, {4, 3, 5}, {1, 1, 1}, {2, 7, 4}, 0, 0},
    {CJ_TENSORMAP_S64, 3, 8, {8, 8, 8}, {64, 512}, {4, 8, 5}, {1, 2, 3}, {2, -1, 1}, CJ_TENSORMAP_SWIZZLE_32B, 0},
    {CJ_TENSORMAP_F16,
     4,
     2,
     {24, 5, 4, 6},
     {48, 240, 960},
     {8, 5, 3, 2},
     {1, 1, 2, 1},
     {16, 0, 1, 5},
     0,
     CJ_TENSORMAP_FILL_NAN},
    {CJ_TENSORMAP_U32,
     5,
     4,
     {12, 4, 3, 3, 4},
     {48, 192, 576, 1728},
     {4, 2, 3, 2, 3},
     {1, 1, 1, 1, 2},
     {8, 3, -1, 2, 0},
     0,
     0},
    {CJ_TENSORMAP_U32, 2, 4, {256, 256}, {1024}, {256, 8}, {1, 1}, {0, 0}, 0, 0},
};

static const unsigned char *outside(const tensor *t) {
    static const unsigned char zero[8] = {0}, half[8] = {0xff, 0x7f}, single[8] = {0xff, 0xff, 0xff, 0x7f},
                               wide[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
    return !t->fill ? zero : t->element == 2 ? half : t->element == 4 ? single : wide;
}

static void tiles_are_loaded(void **state) {
    (void)state;
    for (size_t k = 0; k < CJ_TEST_COUNT(tiles); k++) {
        const tensor  *t = &tiles[k];
        bench          b = open_bench();
        cj_tensormap   map = encode(&b, t);
        cj_error       error = {0};
        char           ptx[PTX_BYTES];
        unsigned char *expected = calloc(1, footprint(t));
        tensor_load_ptx(ptx, sizeof ptx, t->rank, elements(t) * t->element);
        cj_test_ok(run_bench(&b, ptx, &map, footprint(t), t->at, (shape){1, 128, 0}, &error), &error);
        EVERY_ELEMENT(t, index) {
            const element e = element_at(t, index);
            memcpy(expected + e.shared, e.global == UINT64_MAX ? outside(t) : b.tensor_bytes + e.global, t->element);
        }
        if (memcmp(expected, b.out_bytes, footprint(t))) fail_msg("tile %zu is not as it should be", k);
        free(expected);
        close_bench(&b);
    }
}

static void tiles_are_stored(void **state) {
    (void)state;
    for (size_t k = 0; k < CJ_TEST_COUNT(tiles); k++) {
        const tensor  *t = &tiles[k];
        bench          b = open_bench();
        cj_tensormap   map = encode(&b, t);
        cj_error       error = {0};
        char           ptx[PTX_BYTES];
        unsigned char *expected = malloc(TENSOR_BYTES);
        memcpy(expected, b.tensor_bytes, TENSOR_BYTES);
        uint64_t seed = k;
        for (unsigned i = 0; i < footprint(t); i++) b.out_bytes[i] = (unsigned char)cj_test_random(&seed);
        EVERY_ELEMENT(t, index) {
            const element e = element_at(t, index);
            if (e.global != UINT64_MAX) memcpy(expected + e.global, b.out_bytes + e.shared, t->element);
        }
        tensor_store_ptx(ptx, sizeof ptx, t->rank, "");
        cj_test_ok(run_bench(&b, ptx, &map, footprint(t), t->at, (shape){1, 128, 0}, &error), &error);
        if (memcmp(expected, b.tensor_bytes, TENSOR_BYTES)) fail_msg("tile %zu is not stored as it should be", k);
        free(expected);
        close_bench(&b);
    }
}

// ---- reductions of one type

static uint32_t combine(const char *operation, uint32_t old, uint32_t b) {
    if (!strcmp(operation, ".add")) return old + b;
    if (!strcmp(operation, ".min")) return old < b ? old : b;
    if (!strcmp(operation, ".max")) return old > b ? old : b;
    if (!strcmp(operation, ".inc")) return old >= b ? 0 : old + 1;
    if (!strcmp(operation, ".dec")) return !old || old > b ? b : old - 1;
    if (!strcmp(operation, ".and")) return old & b;
    return !strcmp(operation, ".or") ? old | b : old ^ b;
}

static void tiles_are_reduced(void **state) {
    (void)state;
    static const char *const operations[] = {".add", ".min", ".max", ".inc", ".dec", ".and", ".or", ".xor"};
    const tensor            *t = &tiles[7];
    for (size_t k = 0; k < CJ_TEST_COUNT(operations); k++) {
        bench        b = open_bench();
        cj_tensormap map = encode(&b, t);
        cj_error     error = {0};
        char         ptx[PTX_BYTES];
        uint32_t    *before = malloc(TENSOR_BYTES);
        uint64_t     seed = k;
        memcpy(before, b.tensor_bytes, TENSOR_BYTES);
        for (unsigned i = 0; i < footprint(t); i++) b.out_bytes[i] = (unsigned char)cj_test_random(&seed);
        tensor_store_ptx(ptx, sizeof ptx, t->rank, operations[k]);
        cj_test_ok(run_bench(&b, ptx, &map, footprint(t), t->at, (shape){1, 128, 0}, &error), &error);
        EVERY_ELEMENT(t, index) {
            const element e = element_at(t, index);
            uint32_t      given;
            memcpy(&given, b.out_bytes + e.shared, sizeof given);
            if (e.global != UINT64_MAX) before[e.global / 4] = combine(operations[k], before[e.global / 4], given);
        }
        if (memcmp(before, b.tensor_bytes, TENSOR_BYTES)) fail_msg("%s is not as it should be", operations[k]);
        free(before);
        close_bench(&b);
    }
}

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
    cpu_options = (cj_cpu_options){0};
    return right;
}

static void a_tile_for_four_blocks(void **state) {
    (void)state;
    for (unsigned iterations = 4; iterations <= 16; iterations *= 2) {
        for (unsigned seed = 0; seed < 4; seed++) {
            const cj_cpu_options options = {.random_schedule = seed > 0, .seed = seed, .hazards = iterations == 4};
            cj_status            status;
            assert_true(multicast(iterations, wait_for_tile, &options, &status));
            assert_int_equal(status, CJ_OK);
        }
    }
}

static void a_tile_that_nobody_waits_for(void **state) {
    (void)state;
    cj_status status;
    assert_true(!multicast(4, "", &(cj_cpu_options){0}, &status) || status == CJ_HAZARD);
    multicast(4, "", &(cj_cpu_options){.hazards = true}, &status);
    assert_int_equal(status, CJ_HAZARD);
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

static void wrong_maps_are_refused(void **state) {
    (void)state;
    const tensor good = tiles[4];
    bench        b = open_bench();
    char         ptx[PTX_BYTES];
    cj_error     error = {0};
    cj_tensormap map = encode(&b, &good);
    tensor_load_ptx(ptx, sizeof ptx, 3, 2048);
    assert_int_equal(run_bench(&b, ptx, &map, 2048, good.at, (shape){1, 128, 0}, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "tensor-map");
    assert_non_null(strstr(error.message, "rank 2, the instruction 3"));
    memset(&map, 0x55, sizeof map);
    tensor_load_ptx(ptx, sizeof ptx, 2, 2048);
    assert_int_equal(run_bench(&b, ptx, &map, 2048, good.at, (shape){1, 128, 0}, &error), CJ_HAZARD);
    assert_non_null(strstr(error.message, "no tensor map of the CPU device"));
    close_bench(&b);
}

// Each breaks one rule of a good tile; the message names the argument.
static void arguments_are_checked(void **state) {
    (void)state;
    enum { CASES = 13 };
    bench b = open_bench();
    for (unsigned k = 0; k < CASES; k++) {
        static const char *const words[CASES] = {
            "type is 99",    "rank is 6",          "address is",       "dims[1] is 0",          "strides[0] is 100",
            "box[1] is 257", "element_strides[1]", "a multiple of 16", "more than the swizzle", "fill is NaN",
            "interleaved",   "swizzle is 7",       "round to tf32"};
        tensor   t = tiles[4];
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
        case 10: t = tiles[9], interleave = CJ_TENSORMAP_INTERLEAVE_16B; break;
        case 11: t.swizzle = (cj_tensormap_swizzle)7; break;
        default: t = tiles[7], t.type = CJ_TENSORMAP_TF32;
        }
        cj_tensormap map;
        cj_error     error = {0};
        cj_status status = cj_tensormap_encode_tiled(b.device, &map, t.type, t.rank, address, t.dims, t.strides, t.box,
                                                     t.element_strides, (cj_tensormap_interleave)interleave, t.swizzle,
                                                     CJ_TENSORMAP_L2_NONE, t.fill, &error);
        assert_int_equal(status, k == 10 || k == 12 ? CJ_UNSUPPORTED : CJ_INVALID_ARGUMENT);
        if (!strstr(error.message, words[k])) fail_msg("no '%s' in '%s'", words[k], error.message);
    }
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_are_loaded),
        cmocka_unit_test(tiles_are_stored),
        cmocka_unit_test(tiles_are_reduced),
        cmocka_unit_test(a_tile_for_four_blocks),
        cmocka_unit_test(a_tile_that_nobody_waits_for),
        cmocka_unit_test(maps_are_changed_by_kernels),
        cmocka_unit_test(wrong_maps_are_refused),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
