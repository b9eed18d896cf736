// SPDX-License-Identifier: Apache-2.0
#include "cluster_features.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { SIDE = 64, POISON = 0xa5 };

cj_dim3 cj_feature_place(cj_dim3 shape, uint32_t number) {
    return (cj_dim3){number % shape.x, number / shape.x % shape.y, number / shape.x / shape.y};
}

uint32_t cj_feature_number(cj_dim3 shape, cj_dim3 at) { return at.x + shape.x * (at.y + shape.y * at.z); }

uint32_t cj_feature_size(cj_dim3 shape) { return shape.x * shape.y * shape.z; }

uint32_t cj_feature_rank(const cj_feature *feature, uint32_t block) {
    const cj_dim3 at = cj_feature_place(feature->grid, block), c = feature->cluster;
    return cj_feature_number(c, (cj_dim3){at.x % c.x, at.y % c.y, at.z % c.z});
}

void cj_feature_put(const cj_feature_scene *s, uint32_t i, cj_reg value) {
    cj_ptx(s->f, "st.global.u32 [$1 + $2], $3;", s->out, i * 4, value);
}

cj_reg cj_feature_peer(const cj_feature_scene *s, uint32_t distance) {
    cj_reg peer = cj_u32(s->f, "peer");
    cj_ptx(s->f, "add.u32 $1, $2, $3;", peer, cj_cluster_rank(s->f), distance);
    cj_ptx(s->f, "and.b32 $1, $1, $2;", peer, cj_feature_size(s->feature->cluster) - 1);
    return peer;
}

// ---- a kernel

// number = x + shape.x * (y + shape.y * z) of special registers.
static cj_reg linear(cj_func *f, const char *name, const char *index, const char *shape) {
    cj_reg number = cj_u32(f, name), x = cj_u32(f, "x"), y = cj_u32(f, "y"), extent = cj_u32(f, "extent");
    cj_ptx(f, "mov.u32 $1, %$2.z;", number, index);
    cj_ptx(f, "mov.u32 $1, %$2.y;", y, index);
    cj_ptx(f, "mov.u32 $1, %$2.x;", x, index);
    cj_ptx(f, "mov.u32 $1, %$2.y;", extent, shape);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", number, extent, y);
    cj_ptx(f, "mov.u32 $1, %$2.x;", extent, shape);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", number, extent, x);
    return number;
}

cj_status cj_feature_write(const cj_feature *feature, char **text, cj_error *error) {
    cj_builder      *b = cj_builder_create("sm_90");
    cj_func         *f = cj_entry(b, CJ_FEATURE_ENTRY);
    cj_feature_scene s = {.feature = feature, .f = f};
    cj_var out = cj_param(f, "u64", "out", "the threads' words"), map = cj_param(f, "u64", "map", "a tensor map");
    cj_block(f, feature->block.x, feature->block.y, feature->block.z);
    cj_cluster(f, feature->cluster.x, feature->cluster.y, feature->cluster.z);
    s.thread = linear(f, "thread", "tid", "ntid");
    s.block = linear(f, "block", "ctaid", "nctaid");
    s.out = cj_u64(f, "out");
    s.map = cj_u64(f, "map");
    cj_reg word = cj_u32(f, "word");
    cj_ptx(f, "ld.param.u64 $1, [$2];", s.map, map);
    cj_ptx(f, "ld.param.u64 $1, [$2];", s.out, out);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", s.out);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", word, s.block, cj_feature_size(feature->block), s.thread);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", s.out, word, feature->words * 4);
    feature->write(&s);
    cj_ptx(f, "ret;");
    cj_status status = cj_builder_finish(b, text, NULL, error);
    cj_builder_destroy(b);
    return status;
}

// ---- a launch

typedef struct memory {
    cj_ptr out, tile, map;
} memory;

static void prepare(cj_device *device, size_t bytes, memory *m) {
    static const uint64_t dims[] = {SIDE, SIDE}, strides[] = {SIDE * 4};
    static const uint32_t box[] = {SIDE, SIDE}, steps[] = {1, 1};
    uint32_t              tile[SIDE * SIDE];
    cj_tensormap          map;
    cj_error              error = {0};
    for (uint32_t i = 0; i < SIDE * SIDE; i++) tile[i] = i;
    cj_test_ok(cj_mem_alloc(device, bytes, &m->out, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof tile, &m->tile, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof map, &m->map, &error), &error);
    cj_test_ok(cj_mem_fill(device, m->out, POISON, bytes, NULL, &error), &error);
    cj_test_ok(cj_mem_write(device, m->tile, tile, sizeof tile, NULL, &error), &error);
    cj_test_ok(cj_tensormap_encode_tiled(device, &map, CJ_TENSORMAP_U32, 2, m->tile, dims, strides, box, steps,
                                         CJ_TENSORMAP_INTERLEAVE_NONE, CJ_TENSORMAP_SWIZZLE_NONE, CJ_TENSORMAP_L2_NONE,
                                         CJ_TENSORMAP_FILL_ZEROS, &error),
               &error);
    cj_test_ok(cj_mem_write(device, m->map, &map, sizeof map, NULL, &error), &error);
}

static void compare(const cj_feature *feature, const uint32_t *words) {
    const uint32_t threads = cj_feature_size(feature->block);
    for (uint32_t block = 0; block < cj_feature_size(feature->grid); block++)
        for (uint32_t thread = 0; thread < threads; thread++)
            for (uint32_t i = 0; i < feature->words; i++) {
                const uint32_t found = words[(block * threads + thread) * feature->words + i];
                const uint32_t expected = feature->expected(feature, block, thread, i);
                if (found != expected)
                    fail_msg("%s: word %u of thread %u of block %u is 0x%x, not 0x%x", feature->name, i, thread, block,
                             found, expected);
            }
}

size_t cj_feature_bytes(const cj_feature *feature) {
    return (size_t)cj_feature_size(feature->grid) * cj_feature_size(feature->block) * feature->words * 4;
}

cj_status cj_feature_launch(cj_device *device, const cj_feature *feature, cj_function *function, uint32_t *words,
                            cj_error *error) {
    const size_t bytes = cj_feature_bytes(feature);
    memory       m = {0};
    prepare(device, bytes, &m);
    cj_launch_config config = {CJ_INIT(config),         .function = function,        .grid = feature->grid,
                               .block = feature->block, .cluster = feature->cluster, .nonportable = true,
                               CJ_ARGS(m.out, m.map)};
    cj_status        status = cj_launch(device, &config, error);
    if (!status) status = cj_mem_read(device, words, m.out, bytes, NULL, error);
    cj_mem_free(device, m.out);
    cj_mem_free(device, m.tile);
    cj_mem_free(device, m.map);
    return status;
}

void cj_feature_run(cj_device *device, const cj_feature *feature) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_error     error = {0};
    char        *text = NULL;
    uint32_t    *words = malloc(cj_feature_bytes(feature));
    assert_non_null(words);
    cj_test_ok(cj_feature_write(feature, &text, &error), &error);
    cj_test_ok(cj_module_from_ptx(device, text, strlen(text), &module, &error), &error);
    cj_test_ok(cj_module_function(module, CJ_FEATURE_ENTRY, &function, &error), &error);
    cj_test_ok(cj_feature_launch(device, feature, function, words, &error), &error);
    compare(feature, words);
    cj_module_unload(module);
    cj_text_free(text);
    free(words);
}

// ---- all of them

static cj_device *on;

// A GPU accepts .shared::cluster in a cluster of one block; compute-sanitizer's memcheck stops it there.
static bool is_stopped(const cj_feature *feature) {
    return cj_test_few() && !strcmp(cj_device_kind(on), "gpu") && cj_feature_size(feature->cluster) == 1;
}

static void run(void **state) {
    if (is_stopped(*state)) skip();
    cj_feature_run(on, *state);
}

int cj_features_test(cj_device *device, const cj_features *features, const char *group) {
    struct CMUnitTest *tests = calloc(features->count, sizeof *tests);
    if (!tests) return 1;
    on = device;
    for (size_t i = 0; i < features->count; i++) {
        const void *feature = &features->feature[i];
        tests[i] = (struct CMUnitTest){.name = features->feature[i].name, .test_func = run};
        memcpy(&tests[i].initial_state, &feature, sizeof feature);  // cmocka takes no pointer to const
    }
    int failed = _cmocka_run_group_tests(group, tests, features->count, NULL, NULL);
    free(tests);
    return failed;
}
