// SPDX-License-Identifier: Apache-2.0
// Sampling on the CPU device, watched for hazards; and the frequencies of draws, of the device and of the model that it equals.
#include <math.h>

#include "emit.h"
#include "models/sample_model.h"
#include "sample_cases.h"
#include "test.h"

static void rows_of_every_kind_and_size_give_the_models_token(void **state) {
    (void)state;
    for (unsigned schedule = 0; schedule < 3; schedule++) {
        cj_test_watch(schedule);
        cj_test_sample_boundaries(cj_test_device, schedule);
    }
}

static void any_shape_and_values_do(void **state) {
    (void)state;
    uint64_t seed = cj_test_seed();
    for (unsigned i = 0; i < 60; i++) {
        cj_test_watch(i % 3);
        cj_test_sample_random(cj_test_device, &seed, 1500);
    }
}

// More equal logits than the list holds, and k beyond what groups of lanes find.
static void lists_that_overflow_are_searched(void **state) {
    (void)state;
    for (unsigned cluster = 0; cluster < 4; cluster++) {
        cj_sample_desc   d = {CJ_INIT(d),
                              .rows = 2,
                              .columns = 1500,
                              .top_k = true,
                              .top_p = true,
                              .block = 64,
                              .cluster = cluster ? cluster : CJ_SAMPLE_NO_CLUSTER};
        cj_sample_arrays v = {CJ_INIT(v), .temperature = 1, .top_k = 50, .top_p = 0.7f, .seed = 5};
        cj_test_watch(cluster);
        cj_test_sample(cj_test_device, &d, &v, CJ_SAMPLE_EQUAL, false, 1);
        cj_test_sample(cj_test_device, &d, &v, CJ_SAMPLE_FEW, false, 2);
        v.top_k = 700;
        cj_test_sample(cj_test_device, &d, &v, CJ_SAMPLE_RANDOM, false, 3);
        cj_test_sample(cj_test_device, &d, &v, CJ_SAMPLE_FEW, true, 4);
    }
}

// A lane of the only warp has up to 8 vectors of 8 elements in registers; one more, and it reads them again.
static void rows_that_stay_in_registers_and_longer_ones_are_right(void **state) {
    (void)state;
    static const uint64_t columns[] = {1792, 2040, 2048, 2056, 4200};
    for (unsigned i = 0; i < CJ_TEST_COUNT(columns); i++) {
        cj_sample_desc   d = {CJ_INIT(d),      .rows = 2,     .columns = columns[i], .dtype = CJ_BF16, .top_k = true,
                              .top_p = i % 2, .block = 32, .cluster = CJ_SAMPLE_NO_CLUSTER};
        cj_sample_arrays v = {CJ_INIT(v), .temperature = 0.6f, .top_k = 20, .seed = 5};
        if (d.top_p) v.top_p = 0.9f;
        cj_test_watch(i);
        cj_test_sample(cj_test_device, &d, &v, CJ_SAMPLE_RANDOM, false, i);
        cj_test_sample(cj_test_device, &d, &v, CJ_SAMPLE_WILD, false, i);
        cj_test_sample(cj_test_device, &d, &v, CJ_SAMPLE_SINGLE, false, i);
    }
}

static void watch_turn(unsigned turn) { cj_test_watch(turn % 3); }

static void counts_of_keys_find_what_digits_do(void **state) {
    (void)state;
    cj_test_sample_counts(cj_test_device, 1, watch_turn);
}

static void draws_have_the_frequencies_of_each_filter_on_every_plan(void **state) {
    (void)state;
    cj_test_watch(1);
    cj_test_sample_draws(cj_test_device, 1500);
}

static void tokens_of_a_draft_get_the_distribution_of_the_logits(void **state) {
    (void)state;
    cj_test_watch(1);
    cj_test_sample_speculation(cj_test_device, 1500);
}

static void a_call_refuses_what_it_cannot(void **state) {
    (void)state;
    cj_test_watch(0);
    cj_test_sample_call(cj_test_device);
}

static void impossible_shapes_are_refused_by_name(void **state) {
    (void)state;
    cj_test_refused("sample", CJ_INVALID_ARGUMENT, "columns=100 stride=99", "stride: 99 is below the 100 columns");
    cj_test_refused("sample", CJ_INVALID_ARGUMENT, "top-p=0", "top-p: 0 is not above 0 and at most 1");
    cj_test_refused("sample", CJ_INVALID_ARGUMENT, "temperature=-1", "temperature: -1 is not 0 or above");
    cj_test_refused("sample", CJ_INVALID_ARGUMENT, "min-p=1.5", "min-p: 1.5 is not from 0 to 1");
    cj_test_refused("sample", CJ_CONTRACT, "rows=2^30 cluster=4", "more blocks");
}

// ---- values out of their range

// Rows in pairs: a value out of its range, and what it counts as. Both rows have the same seed, so the same token.
typedef struct pair {
    float values[2][6];  // temperature, top_p, min_p, repetition, frequency, presence
} pair;

enum { PAIR_COLUMNS = 40, PAIR_SEEDS = 16, PAIRS = 24 };

static cj_ptr put(const void *from, size_t bytes) {
    cj_error error = {0};
    cj_ptr   at = 0;
    cj_test_ok(cj_mem_alloc(cj_test_device, bytes, &at, &error), &error);
    cj_test_ok(cj_mem_write(cj_test_device, at, from, bytes, NULL, &error), &error);
    return at;
}

// Tokens of all pairs' rows, each with PAIR_SEEDS seeds: rows of a pair lie side by side.
static void sample_pairs(const pair *pairs, size_t count, int32_t *tokens) {
    const uint64_t   rows = count * 2 * PAIR_SEEDS;
    static float     logits[PAIR_COLUMNS * PAIRS * 2 * PAIR_SEEDS], values[6][PAIRS * 2 * PAIR_SEEDS];
    static uint32_t  counts[PAIR_COLUMNS * PAIRS * 2 * PAIR_SEEDS];
    static uint64_t  seeds[PAIRS * 2 * PAIR_SEEDS];
    cj_sample_desc   d = {CJ_INIT(d), .rows = rows, .columns = PAIR_COLUMNS, .top_p = true, .min_p = true, .penalties = true, .block = 32};
    cj_sample_arrays v = {CJ_INIT(v), .temperature = 1};
    cj_error         error = {0};
    assert_true(count <= PAIRS);
    for (uint64_t r = 0; r < rows; r++) {
        for (unsigned c = 0; c < PAIR_COLUMNS; c++) {
            logits[r * PAIR_COLUMNS + c] = (float)(c * 7 % 10) / 3 - 1;
            counts[r * PAIR_COLUMNS + c] = c % 2;
        }
        for (unsigned i = 0; i < 6; i++) values[i][r] = pairs[r / (2 * PAIR_SEEDS)].values[r % 2][i];
        seeds[r] = r / 2;
    }
    cj_ptr *const arrays[] = {&v.temperature_rows, &v.top_p_rows, &v.min_p_rows, &v.repetition_rows, &v.frequency_rows, &v.presence_rows};
    for (unsigned i = 0; i < 6; i++) *arrays[i] = put(values[i], rows * sizeof(float));
    v.logits = put(logits, rows * PAIR_COLUMNS * sizeof(float));
    v.counts = put(counts, rows * PAIR_COLUMNS * sizeof(uint32_t));
    v.seed_rows = put(seeds, rows * sizeof(uint64_t));
    v.tokens = put(tokens, rows * sizeof *tokens);
    cj_test_ok(cj_sample_launch(cj_test_device, &d, &v, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, tokens, v.tokens, rows * sizeof *tokens, NULL, &error), &error);
    for (unsigned i = 0; i < 6; i++) cj_mem_free(cj_test_device, *arrays[i]);
    const cj_ptr others[] = {v.logits, v.counts, v.seed_rows, v.tokens};
    for (unsigned i = 0; i < CJ_TEST_COUNT(others); i++) cj_mem_free(cj_test_device, others[i]);
}

static void values_of_arrays_that_are_out_of_their_range_count_as_said(void **state) {
    (void)state;
    static const pair pairs[] = {{{{-0.0f, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0}}},      {{{-1, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0}}},
                                 {{{-1e-40f, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0}}},    {{{NAN, 1, 0, 1, 0, 0}, {0, 1, 0, 1, 0, 0}}},
                                 {{{1, -1, 0, 1, 0, 0}, {1, 1e-9f, 0, 1, 0, 0}}},     {{{1, 0, 0, 1, 0, 0}, {1, 1e-9f, 0, 1, 0, 0}}},
                                 {{{1, NAN, 0, 1, 0, 0}, {1, 1, 0, 1, 0, 0}}},        {{{1, INFINITY, 0, 1, 0, 0}, {1, 1, 0, 1, 0, 0}}},
                                 {{{1, 1, -1, 1, 0, 0}, {1, 1, 0, 1, 0, 0}}},         {{{1, 1, NAN, 1, 0, 0}, {1, 1, 0, 1, 0, 0}}},
                                 {{{1, 1, 1.5f, 1, 0, 0}, {1, 1, 1, 1, 0, 0}}},       {{{1, 1, INFINITY, 1, 0, 0}, {1, 1, 1, 1, 0, 0}}},
                                 {{{1, 1, 0, 0, 0, 0}, {1, 1, 0, 1, 0, 0}}},          {{{1, 1, 0, -2, 0, 0}, {1, 1, 0, 1, 0, 0}}},
                                 {{{1, 1, 0, NAN, 0, 0}, {1, 1, 0, 1, 0, 0}}},        {{{1, 1, 0, INFINITY, 0, 0}, {1, 1, 0, 1, 0, 0}}},
                                 {{{1, 1, 0, 1, NAN, 0}, {1, 1, 0, 1, 0, 0}}},        {{{1, 1, 0, 1, INFINITY, 0}, {1, 1, 0, 1, 0, 0}}},
                                 {{{1, 1, 0, 1, 0, NAN}, {1, 1, 0, 1, 0, 0}}},        {{{1, 1, 0, 1, 0, INFINITY}, {1, 1, 0, 1, 0, 0}}},
                                 {{{1, 1, 0, 1, -INFINITY, 0}, {1, 1, 0, 1, 0, 0}}},  {{{1, 1, 0, 1, 0, -INFINITY}, {1, 1, 0, 1, 0, 0}}}};
    static int32_t    tokens[CJ_TEST_COUNT(pairs) * 2 * PAIR_SEEDS];
    cj_test_watch(0);
    sample_pairs(pairs, CJ_TEST_COUNT(pairs), tokens);
    for (size_t r = 0; r < CJ_TEST_COUNT(tokens); r += 2) {
        assert_in_range(tokens[r], 0, PAIR_COLUMNS - 1);
        if (tokens[r] != tokens[r + 1])
            fail_msg("pair %zu: token %d, not %d", r / (2 * PAIR_SEEDS), (int)tokens[r], (int)tokens[r + 1]);
    }
}

// The row then has the token that it has without a draft.
static void a_draft_whose_probability_is_nan_is_not_taken(void **state) {
    (void)state;
    enum { ROWS = 32, COLUMNS = 8 };
    static float     logits[ROWS][COLUMNS], draft[ROWS][COLUMNS];
    int32_t          tokens[ROWS], without[ROWS], drafted[ROWS];
    uint32_t         accepted[ROWS];
    cj_sample_desc   d = {CJ_INIT(d), .rows = ROWS, .columns = COLUMNS};
    cj_error         error = {0};
    for (unsigned r = 0; r < ROWS; r++) {
        drafted[r] = (int32_t)(r % COLUMNS);
        for (unsigned c = 0; c < COLUMNS; c++) draft[r][c] = r % 2 || c == r % COLUMNS ? NAN : 0.1f;
    }
    cj_sample_arrays v = {CJ_INIT(v), .temperature = 1, .logits = put(logits, sizeof logits), .tokens = put(tokens, sizeof tokens), .seed = 3};
    cj_test_watch(0);
    cj_test_ok(cj_sample_launch(cj_test_device, &d, &v, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, without, v.tokens, sizeof without, NULL, &error), &error);
    d.draft = true;
    v.draft_tokens = put(drafted, sizeof drafted);
    v.draft_probabilities = put(draft, sizeof draft);
    v.accepted = put(accepted, sizeof accepted);
    cj_test_ok(cj_sample_launch(cj_test_device, &d, &v, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, tokens, v.tokens, sizeof tokens, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, accepted, v.accepted, sizeof accepted, NULL, &error), &error);
    for (unsigned r = 0; r < ROWS; r++) assert_int_equal(accepted[r], 0);
    assert_memory_equal(tokens, without, sizeof tokens);
    const cj_ptr all[] = {v.logits, v.tokens, v.draft_tokens, v.draft_probabilities, v.accepted};
    for (unsigned i = 0; i < CJ_TEST_COUNT(all); i++) cj_mem_free(cj_test_device, all[i]);
}

// ---- the model

// The known answer of Random123: counter 0 and key 0.
static void philox_gives_its_known_number(void **state) {
    (void)state;
    assert_true(sample_model_random(0, 0, 0) == UINT64_C(0xe169c58d6627e8d5));
}

static void masses_are_those_of_exp(void **state) {
    (void)state;
    assert_true(sample_model_mass(3, 3, 0.7f) == UINT64_C(1) << 40);
    for (float x = 0; x < 20; x += 0.01f) {
        const double expected = ldexp(exp(-(double)x / 0.7), 40), found = (double)sample_model_mass(1 - x, 1, 0.7f);
        assert_true(fabs(found - expected) <= 1 + 4e-6 * expected);
    }
}

static void a_million_draws_have_the_frequencies_of_each_filter(void **state) {
    (void)state;
    cj_test_sample_model_draws(170000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_kind_and_size_give_the_models_token),
        cmocka_unit_test(any_shape_and_values_do),
        cmocka_unit_test(lists_that_overflow_are_searched),
        cmocka_unit_test(rows_that_stay_in_registers_and_longer_ones_are_right),
        cmocka_unit_test(counts_of_keys_find_what_digits_do),
        cmocka_unit_test(draws_have_the_frequencies_of_each_filter_on_every_plan),
        cmocka_unit_test(tokens_of_a_draft_get_the_distribution_of_the_logits),
        cmocka_unit_test(a_call_refuses_what_it_cannot),
        cmocka_unit_test(impossible_shapes_are_refused_by_name),
        cmocka_unit_test(values_of_arrays_that_are_out_of_their_range_count_as_said),
        cmocka_unit_test(a_draft_whose_probability_is_nan_is_not_taken),
        cmocka_unit_test(philox_gives_its_known_number),
        cmocka_unit_test(masses_are_those_of_exp),
        cmocka_unit_test(a_million_draws_have_the_frequencies_of_each_filter),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
