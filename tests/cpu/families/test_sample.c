// SPDX-License-Identifier: Apache-2.0
// Sampling on the CPU device, watched for hazards; and the frequencies of draws, of the device and of the model that it equals.
#include <math.h>
#include <stdlib.h>

#include "emit.h"
#include "models/row_model.h"
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
// With an infinite temperature all tokens are alike but those that are -infinity or NaN: +infinity is one of them.
static void an_infinite_temperature_takes_infinite_logits_too(void **state) {
    (void)state;
    enum { COLUMNS = 4096 };  // of each kind of logit 1024
    static float     logits[COLUMNS], p[COLUMNS];
    const float      kinds[] = {INFINITY, -3, -INFINITY, NAN};
    cj_sample_desc   d = {CJ_INIT(d), .rows = 1, .columns = COLUMNS, .distribution = true};
    cj_sample_arrays v = {CJ_INIT(v), .temperature = INFINITY};
    int32_t          token = -1;
    cj_error         error = {0};
    for (unsigned c = 0; c < COLUMNS; c++) logits[c] = kinds[c % 4];
    v.logits = put(logits, sizeof logits), v.tokens = put(&token, sizeof token), v.probabilities = put(p, sizeof p);
    cj_test_watch(0);
    cj_test_ok(cj_sample_launch(cj_test_device, &d, &v, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, &token, v.tokens, sizeof token, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, p, v.probabilities, sizeof p, NULL, &error), &error);
    assert_in_range(token, 0, COLUMNS - 1);
    assert_true(token % 4 < 2);
    for (unsigned c = 0; c < COLUMNS; c++) assert_true(fabsf(p[c] - (c % 4 < 2 ? 1.0f / 2048 : 0)) <= 1e-9f);
    cj_mem_free(cj_test_device, v.logits), cj_mem_free(cj_test_device, v.tokens), cj_mem_free(cj_test_device, v.probabilities);
}

// ---- the model

// The known answer of Random123: counter 0 and key 0.
static void philox_gives_its_known_number(void **state) {
    (void)state;
    assert_true(sample_model_random(0, 0, 0) == UINT64_C(0xe169c58d6627e8d5));
}

// The bound that docs/families/sample.md states: d temperatures below the greatest, a mass is within 3e-7 + 2e-7 d of exp(-d), and then
// rounded to a whole number.
static double mass_bound(double d) { return (3e-7 + 2e-7 * d) * ldexp(exp(-d), 40) + 0.5; }

static void masses_are_those_of_exp(void **state) {
    (void)state;
    static const float temperatures[] = {0.05f, 0.3f, 0.7f, 1, 1.5f, 40}, greatest[] = {3, 1, -7.3f, 0.1f, 250};
    for (size_t t = 0; t < CJ_TEST_COUNT(temperatures); t++) {
        for (size_t g = 0; g < CJ_TEST_COUNT(greatest); g++) {
            assert_true(sample_model_mass(greatest[g], greatest[g], temperatures[t]) == UINT64_C(1) << 40);
            for (int i = 0; i < 40000; i++) {
                const float  v = greatest[g] - (float)i * 0.00075f * temperatures[t];
                const double d = ((double)greatest[g] - (double)v) / (double)temperatures[t];
                const double off = (double)sample_model_mass(v, greatest[g], temperatures[t]) - ldexp(exp(-d), 40);
                if (fabs(off) > mass_bound(d)) fail_msg("%g temperatures below the greatest a mass is off by %g of %g", d, off, mass_bound(d));
            }
        }
    }
}

// ---- thresholds of long rows, held against sums of f64

typedef struct exact {
    double   share;  // e^-d, of the greatest
    uint32_t column;
} exact;

static int by_share(const void *a, const void *b) {
    const exact *x = a, *y = b;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    return x->column < y->column ? -1 : x->column > y->column;
}

enum { LONGEST = 128256 };

static float    long_row[LONGEST], long_p[LONGEST];
static uint16_t long_halves[LONGEST];
static exact    long_exact[LONGEST];

// Normal logits, rounded to bf16 if the type is that: `spread` wide. Their shares in falling order.
static void make_long_row(cj_dtype type, uint32_t columns, double spread, double temperature, uint64_t *seed) {
    double most = -INFINITY;
    for (uint32_t i = 0; i < columns; i++) {
        double x = -6;
        for (int n = 0; n < 12; n++) x += (double)(cj_test_random(seed) >> 11) / 9007199254740992.0;
        long_row[i] = (float)(x * spread);
        if (type == CJ_BF16) {
            row_model_write(type, long_halves, i, (double)long_row[i]);
            long_row[i] = (float)row_model_read(type, long_halves, i);
        }
        most = fmax(most, (double)long_row[i]);
    }
    for (uint32_t i = 0; i < columns; i++) long_exact[i] = (exact){exp(((double)long_row[i] - most) / temperature), i};
    qsort(long_exact, columns, sizeof *long_exact, by_share);
}

static double sum_of(uint32_t count) {
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += long_exact[i].share;
    return sum;
}

// How far a sum of masses of the row may be from the sum of shares, of that sum: rounded masses, and the share of all.
static double sum_bound(uint32_t columns) {
    double off = 0;
    for (uint32_t i = 0; i < columns; i++) off += ldexp(mass_bound(-log(long_exact[i].share)), -40);
    return 2 * off / sum_of(columns) + 0x1p-32;
}

// `kept` tokens are as few as have the share p of `all`; each is one of the greatest, and its probability is right.
static void check_long_row(uint32_t columns, uint32_t all, float p, const cj_sample_desc *d) {
    const double bound = sum_bound(columns), whole = sum_of(all);
    uint32_t     kept = 0;
    for (uint32_t i = 0; i < columns; i++) kept += long_p[i] > 0;
    for (uint32_t i = 0; i < kept; i++)
        if (!(long_p[long_exact[i].column] > 0)) fail_msg("%u columns: token %u is not kept, but one below it", columns, long_exact[i].column);
    assert_in_range(kept, 1, all);
    if (d->top_p && (sum_of(kept) / whole < (double)p - bound || sum_of(kept - 1) / whole > (double)p + bound))
        fail_msg("%u columns, top-p %g: %u tokens have %.9g, one fewer %.9g", columns, (double)p, kept, sum_of(kept) / whole,
                 sum_of(kept - 1) / whole);
    if (!d->top_p) assert_int_equal(kept, all);
    const double share = sum_of(kept);
    for (uint32_t i = 0; i < kept; i++) {
        const double exact_p = long_exact[i].share / share, off = fabs((double)long_p[long_exact[i].column] - exact_p);
        const double own = ldexp(mass_bound(-log(long_exact[i].share)), -40) / share;
        if (off > own + exact_p * (bound + 2e-7)) fail_msg("%u columns: the probability %.9g is off by %g", columns, exact_p, off);
    }
}

static void run_long_row(cj_dtype type, uint32_t columns, uint32_t k, float p, float temperature, uint64_t seed) {
    const cj_sample_desc d = {CJ_INIT(d), .columns = columns, .dtype = type, .top_k = k > 0, .top_p = p < 1, .distribution = true};
    cj_sample_arrays     v = {CJ_INIT(v), .temperature = temperature, .top_k = (int32_t)k, .top_p = p, .seed = seed};
    cj_error             error = {0};
    make_long_row(type, columns, seed % 2 ? 2 : 1, (double)temperature, &seed);
    v.logits = type == CJ_BF16 ? put(long_halves, columns * 2) : put(long_row, columns * 4);
    v.tokens = put(long_row, 4);
    v.probabilities = put(long_row, columns * 4);
    cj_test_ok(cj_sample_launch(cj_test_device, &d, &v, NULL, &error), &error);
    cj_test_ok(cj_mem_read(cj_test_device, long_p, v.probabilities, columns * 4, NULL, &error), &error);
    check_long_row(columns, k ? k : columns, p, &d);
    cj_mem_free(cj_test_device, v.logits);
    cj_mem_free(cj_test_device, v.tokens);
    cj_mem_free(cj_test_device, v.probabilities);
}

// Of bf16 the last kept token is one of many equal ones; of f32 without top-p every token with a mass is kept, so top-k says how many.
static void thresholds_of_long_rows_are_those_of_f64_sums(void **state) {
    (void)state;
    static const uint32_t columns[] = {20000, LONGEST};
    static const float    ps[] = {0.5f, 0.9f, 0.99f};
    const cj_cpu_options unwatched = {CJ_INIT(unwatched)};
    cj_error             error = {0};
    cj_test_ok(cj_cpu_configure(cj_test_device, &unwatched, &error), &error);  // these rows are long
    for (size_t c = 0; c < CJ_TEST_COUNT(columns); c++) {
        for (size_t i = 0; i < CJ_TEST_COUNT(ps); i++) {
            run_long_row(CJ_F32, columns[c], 0, ps[i], i % 2 ? 1 : 1.5f, 2 * c + i);
            run_long_row(CJ_BF16, columns[c], 0, ps[i], i % 2 ? 0.7f : 1, c + i);
        }
        run_long_row(CJ_F32, columns[c], 1000, 1, 1, c);
        run_long_row(CJ_F32, columns[c], 50, 0.9f, 0.7f, c);
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
        cmocka_unit_test(an_infinite_temperature_takes_infinite_logits_too),
        cmocka_unit_test(a_draft_whose_probability_is_nan_is_not_taken),
        cmocka_unit_test(philox_gives_its_known_number),
        cmocka_unit_test(masses_are_those_of_exp),
        cmocka_unit_test(thresholds_of_long_rows_are_those_of_f64_sums),
        cmocka_unit_test(a_million_draws_have_the_frequencies_of_each_filter),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
