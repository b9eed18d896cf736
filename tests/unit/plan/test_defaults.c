// SPDX-License-Identifier: Apache-2.0
// A zero field of a description takes the default that its header states, not the command's: each typed call makes the same plan of a
// description without these fields as of one with all of them; and arrays of the stated sizes are enough.
#include <clusterjit/clusterjit.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static void same_plan(const char *noun, const cj_kernel *brief, const cj_kernel *whole) {
    const cj_plan *a = cj_kernel_plan(brief), *b = cj_kernel_plan(whole);
    if (memcmp(&a->grid, &b->grid, sizeof a->grid) || memcmp(&a->block, &b->block, sizeof a->block) ||
        memcmp(&a->cluster, &b->cluster, sizeof a->cluster) || a->launches != b->launches || a->workspace_bytes != b->workspace_bytes)
        fail_msg("%s: %u blocks of %u threads, not %u of %u: a default is not the header's", noun, a->grid.x, a->block.x, b->grid.x,
                 b->block.x);
    assert_int_equal(a->derived_count, b->derived_count);
    assert_memory_equal(a->derived, b->derived, sizeof a->derived);
    assert_string_equal(cj_kernel_ptx(brief), cj_kernel_ptx(whole));
}

// Two handles: of what must be given, then also of the defaults in the header.
#define SAME(noun, required, defaults)                                                      \
    do {                                                                                    \
        const noun##_desc brief = {CJ_INIT(brief), REST required};                          \
        const noun##_desc whole = {CJ_INIT(whole), REST required, REST defaults};           \
        noun             *a = NULL, *b = NULL;                                              \
        cj_error          error = {0};                                                      \
        cj_test_ok(noun##_create(cj_test_device, &brief, &a, &error), &error);              \
        cj_test_ok(noun##_create(cj_test_device, &whole, &b, &error), &error);              \
        same_plan(#noun, noun##_kernel(a), noun##_kernel(b));                               \
        noun##_destroy(a);                                                                  \
        noun##_destroy(b);                                                                  \
    } while (0)
#define REST(...) __VA_ARGS__

static void zero_fields_are_the_headers_defaults(void **state) {
    (void)state;
    SAME(cj_reduce, (.n = 100), (.op = CJ_REDUCE_SUM, .dtype = CJ_F32, .result = CJ_REDUCE_TOTAL));
    SAME(cj_scan, (.columns = 100),
         (.rows = 1, .op = CJ_SCAN_SUM, .dtype = CJ_F32, .stride = 100, .out_stride = 100, .align = 16));
    SAME(cj_topk, (.columns = 100, .k = 3), (.rows = 1, .dtype = CJ_F32, .stride = 100, .align = 16));
    SAME(cj_sort, (.columns = 100), (.rows = 1, .dtype = CJ_F32, .stride = 100));
    SAME(cj_sort, (.columns = 100, .offsets = CJ_I64), (.rows = 1, .dtype = CJ_F32));
    SAME(cj_sort, (.columns = 300000, .offsets = CJ_I64), (.rows = 1, .dtype = CJ_F32, .elements = 300000));
    SAME(cj_sort, (.columns = 100, .payload_bytes = 4), (.payload_stride = 100));
    SAME(cj_sample, (.columns = 100), (.rows = 1, .dtype = CJ_F32, .stride = 100, .align = 16));
    SAME(cj_argmax, (.columns = 100), (.rows = 1, .stride = 100));
    SAME(cj_histogram, (.n = 100),
         (.bins = 256, .dtype = CJ_F32, .counts = CJ_U32, .strategy = CJ_HISTOGRAM_OWNER));
    SAME(cj_stencil, (.extent = {20, 9}), (.dim = 2, .batch = 1, .steps = 1, .radius = 1, .dtype = CJ_F32));
    SAME(cj_exchange, (.n = 100), (.size = 2, .groups = 1, .dtype = CJ_F32, .align = 16, .repeat = 1));
    SAME(cj_exchange, (.pattern = CJ_EXCHANGE_RING, .n = 100), (.shift = 1));
    SAME(cj_exchange, (.pattern = CJ_EXCHANGE_HALO, .n = 100), (.halo = 1));
    SAME(cj_gemm, (.m = 64, .n = 48, .k = 80, .dtype = CJ_BF16), (.lda = 80, .ldb = 48, .ldc = 48, .ldd = 48, .batch = 1));
    SAME(cj_softmax, (.shape = {.rows = 3, .columns = 100}), (.scale = 1));
    SAME(cj_softmax, (.shape = {.rows = 3, .columns = 100}, .mask = 1), (.mask_rows = 1));
    SAME(cj_norm, (.shape = {.rows = 3, .columns = 100}), (.epsilon = 1e-5));
    SAME(cj_crossentropy, (.shape = {.rows = 3, .columns = 100}), (.label = CJ_I64, .has_ignore = 1, .ignore = -100, .scale = 1));
}

// With hazards on, the CPU device finds whatever a launch reads or writes out of bounds.
static void arrays_of_one_row_are_enough_without_rows(void **state) {
    (void)state;
    enum { COLUMNS = 64, TOP = 3 };
    const cj_sort_desc     sort = {CJ_INIT(sort), .columns = COLUMNS};
    const cj_topk_desc     topk = {CJ_INIT(topk), .columns = COLUMNS, .k = TOP};
    const cj_scan_desc     scan = {CJ_INIT(scan), .columns = COLUMNS};
    const cj_argmax_desc   argmax = {CJ_INIT(argmax), .columns = COLUMNS};
    const cj_sample_desc   sample = {CJ_INIT(sample), .columns = COLUMNS};
    float                  x[COLUMNS], sorted[COLUMNS];
    cj_ptr                 in = 0, values = 0, indices = 0, word = 0;
    cj_error               error = {0};
    for (int i = 0; i < COLUMNS; i++) x[i] = (float)(i * 37 % COLUMNS);
    cj_test_watch(0);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof x, &in, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof x, &values, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, COLUMNS * sizeof(int64_t), &indices, &error), &error);
    cj_test_ok(cj_mem_alloc(cj_test_device, sizeof(int32_t), &word, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, in, x, sizeof x, NULL, &error), &error);
    const cj_sample_arrays arrays = {CJ_INIT(arrays), .logits = in, .tokens = word};
    cj_test_ok(cj_scan_launch(cj_test_device, &scan, in, values, NULL, &error), &error);
    cj_test_ok(cj_topk_launch(cj_test_device, &topk, in, values, indices, NULL, &error), &error);
    cj_test_ok(cj_argmax_launch(cj_test_device, &argmax, in, word, NULL, &error), &error);
    cj_test_ok(cj_sample_launch(cj_test_device, &sample, &arrays, NULL, &error), &error);
    cj_test_ok(cj_sort_launch(cj_test_device, &sort, in, values, indices, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, sorted, values, sizeof sorted, NULL, &error), &error);
    for (int i = 0; i < COLUMNS; i++) assert_int_equal(sorted[i], i);
    const cj_ptr all[] = {in, values, indices, word};
    for (size_t i = 0; i < CJ_TEST_COUNT(all); i++) cj_mem_free(cj_test_device, all[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_fields_are_the_headers_defaults),
        cmocka_unit_test(arrays_of_one_row_are_enough_without_rows),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
