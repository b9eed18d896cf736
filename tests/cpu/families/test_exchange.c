// SPDX-License-Identifier: Apache-2.0
// The exchange on the CPU device, which watches for hazards under fixed and random schedules.
#include <string.h>

#include "exchange_cases.h"
#include "test.h"

static void configure(uint64_t seed) {
    cj_error       error = {0};
    cj_cpu_options options = {CJ_INIT(options), .hazards = true, .random_schedule = seed > 0, .seed = seed,
                              .instruction_limit = 1000 * 1000 * 1000};
    cj_test_ok(cj_cpu_configure(cj_test_device, &options, &error), &error);
}

// Every pattern by every strategy, as they are and in five rounds, over these chunk sizes and group sizes.
static void run_all(const uint32_t *n, size_t n_count, const uint32_t *size, size_t size_count) {
    for (int pattern = 0; pattern <= CJ_EXCHANGE_ALL_TO_ALL; pattern++)
        for (int strategy = 0; strategy <= CJ_EXCHANGE_GLOBAL; strategy++)
            for (size_t i = 0; i < n_count; i++)
                for (size_t k = 0; k < size_count; k++) {
                    cj_exchange_desc d = {CJ_INIT(d),
                                          .pattern = (cj_exchange_pattern)pattern,
                                          .strategy = (cj_exchange_strategy)strategy,
                                          .n = n[i],
                                          .size = size[k],
                                          .groups = 2,
                                          .repeat = i % 2 ? 5 : 1,
                                          .halo = (n[i] + 2) / 3};
                    if (pattern == CJ_EXCHANGE_ALL_TO_ALL) d.n *= d.size;
                    cj_test_exchange(cj_test_device, &d);
                }
}

static void every_pattern_gives_what_its_definition_says(void **state) {
    (void)state;
    static const uint32_t n[] = {1, 3, 4, 31, 32, 33, 256}, size[] = {1, 2, 3, 4};
    run_all(n, CJ_TEST_COUNT(n), size, CJ_TEST_COUNT(size));
}

static void groups_of_up_to_sixteen_blocks_are_right(void **state) {
    (void)state;
    static const uint32_t n[] = {5, 64}, size[] = {7, 8, 15, 16};
    run_all(n, CJ_TEST_COUNT(n), size, CJ_TEST_COUNT(size));
}

// More than threads hold at once: several tiles, the last one smaller.
static void chunks_of_several_tiles_are_right(void **state) {
    (void)state;
    for (int pattern = 0; pattern <= CJ_EXCHANGE_ALL_TO_ALL; pattern++)
        for (int strategy = 0; strategy <= CJ_EXCHANGE_GLOBAL; strategy++) {
            cj_exchange_desc d = {CJ_INIT(d),
                                  .pattern = (cj_exchange_pattern)pattern,
                                  .strategy = (cj_exchange_strategy)strategy,
                                  .n = 4 * 1111,
                                  .size = 2,
                                  .halo = 1500,
                                  .block = 32,
                                  .repeat = 3};
            cj_test_exchange(cj_test_device, &d);
            d.grid = 2;
            cj_test_exchange(cj_test_device, &d);
            d = (cj_exchange_desc){CJ_INIT(cj_exchange_desc),
                                   .pattern = d.pattern,
                                   .strategy = d.strategy,
                                   .n = 32768,
                                   .size = 2,
                                   .halo = 16384,
                                   .repeat = 2};
            cj_test_exchange(cj_test_device, &d);
        }
}

// Parts that go by bulk copies: of one copy and of several, in one tile and in more with a shorter last one, for groups that
// take turns, under random schedules.
static void long_parts_are_right(void **state) {
    (void)state;
    static const struct {
        uint32_t part, size, block;
    } cases[] = {{256, 2, 0}, {260, 2, 128}, {1300, 2, 0}, {516, 3, 96}, {256, 8, 512}};
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < CJ_TEST_COUNT(cases); i++) {
        const uint32_t   n = cases[i].part, size = cases[i].size;
        cj_exchange_desc d = {
            CJ_INIT(d),          .pattern = CJ_EXCHANGE_ALL_TO_ALL, .n = n * size,           .size = size, .groups = 2,
            .repeat = 8 + i % 2, .block = cases[i].block,           .grid = i % 2 ? size : 0};
        configure(i % 3 ? seed + i : 0);
        cj_test_exchange(cj_test_device, &d);
        if (size > 3) continue;
        d.pattern = i % 2 ? CJ_EXCHANGE_PAIR : CJ_EXCHANGE_HALO;
        d.n = d.halo = n;
        cj_test_exchange(cj_test_device, &d);
        d.pattern = CJ_EXCHANGE_RING;
        cj_test_exchange(cj_test_device, &d);
    }
    configure(0);
}

static void random_descriptions_are_right_under_random_schedules(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < 40; i++) {
        configure(i % 4 ? seed + i : 0);
        cj_test_exchange_random(cj_test_device, &seed, 256);
    }
    configure(0);
}

static void an_exchange_in_place_is_right(void **state) {
    (void)state;
    enum { SIZE = 4, N = 100 };
    for (int strategy = 0; strategy <= CJ_EXCHANGE_GLOBAL; strategy++) {
        const cj_exchange_desc desc = {CJ_INIT(desc),
                                       .pattern = CJ_EXCHANGE_RING,
                                       .strategy = (cj_exchange_strategy)strategy,
                                       .n = N,
                                       .size = SIZE,
                                       .dtype = CJ_U32};
        uint32_t               v[SIZE * N];
        cj_ptr                 x = 0;
        cj_error               error = {0};
        for (uint32_t i = 0; i < SIZE * N; i++) v[i] = i;
        cj_test_ok(cj_mem_alloc(cj_test_device, sizeof v, &x, &error), &error);
        cj_test_ok(cj_mem_write(cj_test_device, x, v, sizeof v, NULL, &error), &error);
        cj_test_ok(cj_exchange_launch(cj_test_device, &desc, x, x, NULL, &error), &error);
        cj_test_ok(cj_exchange_launch(cj_test_device, &desc, x, x, NULL, &error), &error);
        cj_test_ok(cj_mem_read(cj_test_device, v, x, sizeof v, NULL, &error), &error);
        for (uint32_t i = 0; i < SIZE * N; i++) assert_int_equal(v[i], (i + 2 * N) % (SIZE * N));
        cj_mem_free(cj_test_device, x);
    }
}

static void refused(cj_exchange_desc desc, cj_status status, const char *words) {
    cj_exchange *exchange = NULL;
    cj_error     error = {0};
    assert_int_equal(cj_exchange_create(cj_test_device, &desc, &exchange, &error), status);
    assert_null(exchange);
    if (!strstr(error.message, words)) fail_msg("'%s' does not say '%s'", error.message, words);
}

static void what_cannot_be_exchanged_is_refused_by_name(void **state) {
    (void)state;
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 0}, CJ_INVALID_ARGUMENT, "n: 0");
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 1, .size = 17}, CJ_INVALID_ARGUMENT, "size: 17");
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 10, .size = 4, .pattern = CJ_EXCHANGE_ALL_TO_ALL},
            CJ_INVALID_ARGUMENT, "multiple of the 4");
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 10, .halo = 11, .pattern = CJ_EXCHANGE_HALO},
            CJ_INVALID_ARGUMENT, "halo=11");
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 10, .size = 4, .grid = 6}, CJ_INVALID_ARGUMENT,
            "grid=6");
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 10, .align = 2}, CJ_INVALID_ARGUMENT, "align=2");
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = UINT32_MAX, .dtype = CJ_F64}, CJ_INVALID_ARGUMENT,
            "exceeds 4 GiB");
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 1, .pattern = (cj_exchange_pattern)9},
            CJ_INVALID_ARGUMENT, "pattern: 9");
    refused((cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 1, .strategy = (cj_exchange_strategy)9},
            CJ_INVALID_ARGUMENT, "strategy: 9");
    cj_error error = {0};
    assert_int_equal(cj_exchange_launch(cj_test_device, &(cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 4}, 4096,
                                        4100, NULL, &error),
                     CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "out: 0x1004 is not a multiple of 16"));
    assert_int_equal(cj_exchange_launch(cj_test_device, &(cj_exchange_desc){CJ_INIT(cj_exchange_desc), .n = 4}, 0, 4096,
                                        NULL, &error),
                     CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "x: NULL"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_gives_what_its_definition_says),
        cmocka_unit_test(groups_of_up_to_sixteen_blocks_are_right),
        cmocka_unit_test(chunks_of_several_tiles_are_right),
        cmocka_unit_test(long_parts_are_right),
        cmocka_unit_test(random_descriptions_are_right_under_random_schedules),
        cmocka_unit_test(an_exchange_in_place_is_right),
        cmocka_unit_test(what_cannot_be_exchanged_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
