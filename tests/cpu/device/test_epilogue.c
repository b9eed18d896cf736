// SPDX-License-Identifier: Apache-2.0
// An epilogue that stores tiles by TMA, as CUTLASS writes it: all threads put their results into shared memory, one thread
// stores the tile with cp.async.bulk.tensor while all compute the next one into another buffer. With hazards on it is right
// and silent; its faulty twins are found.
#include <clusterjit/tensormap.h>

#include "kernel.h"

enum { THREADS = 128, TILES = 5, ROWS = 16, COLUMNS = 32, WORDS = TILES * ROWS * COLUMNS };
enum { TENSOR_ROWS = TILES * ROWS - 5, UNTOUCHED = 0x5e5e5e5e };  // the last tile's last rows are out of bounds

// Tile t is rows 16 t to 16 t + 15 of 32 words; its word i is 1000 t + i. Thread 5 stores it. %t counts tiles, %buffer is the
// tile's place in shared memory: of tile t the one of t & mask.
#define EPILOGUE(mask, body, last)                                                                                     \
    ".version 8.3\n.target sm_90a\n.address_size 64\n.visible .entry kernel(.param .align 64 .b8 map[128])\n{\n"       \
    "    .shared .align 128 .b8 tile[4096];\n    .reg .b32 %t, %buffer, %row, %zero, %word<4>, %at, %r0;\n"            \
    "    .reg .b64 %map;\n    .reg .pred %stores, %more;\n    mov.b64 %map, map;\n    cvta.param.u64 %map, %map;\n"    \
    "    mov.u32 %r0, %tid.x;\n    setp.eq.u32 %stores, %r0, 5;\n    mov.u32 %t, 0;\n    mov.u32 %zero, 0;\n"          \
    "next:\n    and.b32 %at, %t, " mask ";\n    mov.u32 %buffer, tile;\n    mad.lo.u32 %buffer, %at, 2048, %buffer;\n" \
    "    mul.lo.u32 %row, %t, 16;\n" body                                                                              \
    "    add.u32 %t, %t, 1;\n    setp.lt.u32 %more, %t, 5;\n    @%more bra next;\n" last "    ret;\n}\n"
#define PUT                                                                                                      \
    "    mul.lo.u32 %word0, %r0, 4;\n    mad.lo.u32 %word0, %t, 1000, %word0;\n    add.u32 %word1, %word0, 1;\n" \
    "    add.u32 %word2, %word0, 2;\n    add.u32 %word3, %word0, 3;\n    mad.lo.u32 %at, %r0, 16, %buffer;\n"    \
    "    st.shared.v4.u32 [%at], {%word0, %word1, %word2, %word3};\n"
#define FENCE "    fence.proxy.async.shared::cta;\n"
#define BAR "    bar.sync 1, 128;\n"
#define STORE \
    "    @%stores cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {%zero, %row}], [%buffer];\n"
#define COMMIT "    @%stores cp.async.bulk.commit_group;\n"
#define WAIT_READ(n) "    @%stores cp.async.bulk.wait_group.read " n ";\n"

static const struct {
    const char *name, *ptx, *rule;  // NULL: it is right
} manners[] = {
    {"two buffers", EPILOGUE("1", PUT FENCE BAR STORE COMMIT WAIT_READ("1") BAR, WAIT_READ("0")), NULL},
    {"one buffer", EPILOGUE("0", PUT FENCE BAR STORE COMMIT WAIT_READ("0") BAR, ""), NULL},
    {"no fence", EPILOGUE("1", PUT BAR STORE COMMIT WAIT_READ("1") BAR, WAIT_READ("0")), "proxy-fence"},
    {"no barrier before the store", EPILOGUE("1", PUT FENCE STORE COMMIT WAIT_READ("1") BAR, WAIT_READ("0")),
     "race-block"},
    {"reuse without a wait", EPILOGUE("1", PUT FENCE BAR STORE COMMIT BAR, WAIT_READ("0")), "race-block"},
    {"a wait for too few", EPILOGUE("0", PUT FENCE BAR STORE COMMIT WAIT_READ("1") BAR, WAIT_READ("0")), "race-block"},
    {"a wait that no barrier follows", EPILOGUE("0", PUT FENCE BAR STORE COMMIT WAIT_READ("0"), ""), "race-block"},
    {"a wait for no group", EPILOGUE("0", PUT FENCE BAR STORE WAIT_READ("0") BAR COMMIT, WAIT_READ("0")), "race-block"},
    {"no wait before the exit", EPILOGUE("1", PUT FENCE BAR STORE COMMIT WAIT_READ("1") BAR, ""), "exit-in-flight"},
};

static cj_status run_epilogue(const char *ptx, uint32_t tensor[WORDS], cj_error *error) {
    cj_device     *device = open_cpu();
    cj_module     *module = NULL;
    cj_function   *function = NULL;
    cj_ptr         memory = 0;
    cj_tensormap   map;
    const uint64_t dims[] = {COLUMNS, TENSOR_ROWS}, strides[] = {COLUMNS * 4};
    const uint32_t box[] = {COLUMNS, ROWS}, steps[] = {1, 1};
    cj_test_ok(cj_mem_alloc(device, WORDS * 4, &memory, error), error);
    cj_test_ok(cj_mem_fill(device, memory, UNTOUCHED & 0xff, WORDS * 4, NULL, error), error);
    cj_test_ok(cj_tensormap_encode_tiled(device, &map, CJ_TENSORMAP_U32, 2, memory, dims, strides, box, steps,
                                         CJ_TENSORMAP_INTERLEAVE_NONE, CJ_TENSORMAP_SWIZZLE_NONE, CJ_TENSORMAP_L2_NONE,
                                         CJ_TENSORMAP_FILL_ZEROS, error),
               error);
    cj_test_ok(cj_module_from_ptx(device, ptx, strlen(ptx), &module, error), error);
    cj_test_ok(cj_module_function(module, "kernel", &function, error), error);
    const cj_launch_config config = {CJ_INIT(config),          .function = function,          .grid = {1, 1, 1},
                                     .block = {THREADS, 1, 1}, .arguments = (void *[]){&map}, .argument_count = 1};
    const cj_status        status = cj_launch(device, &config, error);
    keep_found(device);
    cj_test_ok(cj_mem_read(device, tensor, memory, WORDS * 4, NULL, NULL), NULL);
    cj_module_unload(module);
    cj_mem_free(device, memory);
    cj_device_close(device);
    return status;
}

static void check_tensor(const uint32_t tensor[WORDS], const char *name) {
    for (uint32_t i = 0; i < WORDS; i++) {
        const uint32_t tile = i / (ROWS * COLUMNS);
        const uint32_t want = i < TENSOR_ROWS * COLUMNS ? 1000 * tile + i % (ROWS * COLUMNS) : UNTOUCHED;
        if (tensor[i] != want) fail_msg("%s: word %u is %u, not %u", name, i, tensor[i], want);
    }
}

static bool is_found(const char *rule) {
    for (size_t i = 0; i < found_count; i++) {
        if (!strcmp(found[i].rule, rule)) return true;
    }
    return false;
}

// A random schedule may complete a store before the exit that does not wait for it; the fixed one does not.
static bool is_over(const char *rule) { return !strcmp(rule, "exit-in-flight"); }

static void tiles_are_stored_while_the_next_is_computed(void **state) {
    (void)state;
    static uint32_t tensor[WORDS];
    for (unsigned seed = 0; seed < 8; seed++) {  // 0: the fixed schedule
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .random_schedule = seed,
                                       .seed = seed + cj_test_seed()};
        for (size_t i = 0; i < CJ_TEST_COUNT(manners); i++) {
            cj_error        error = {0};
            const cj_status status = run_epilogue(manners[i].ptx, tensor, &error);
            if (!manners[i].rule) {
                cj_test_ok(status, &error);
                assert_int_equal(found_count, 0);
                check_tensor(tensor, manners[i].name);
            } else if (!is_found(manners[i].rule) && !(is_over(manners[i].rule) && !found_count && seed)) {
                fail_msg("%s, seed %u: no %s (%s)", manners[i].name, seed, manners[i].rule, error.message);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles_are_stored_while_the_next_is_computed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
