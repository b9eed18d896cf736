// SPDX-License-Identifier: Apache-2.0
#include "sample_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/row_model.h"
#include "models/sample_model.h"
#include "test.h"

enum { POISON = 0xa5, GUARD = 32, SHAPES = 8, TOLD = 5 };

typedef struct problem {
    cj_sample_desc    desc;
    cj_sample_arrays  values;
    uint64_t          stride, words;
    size_t            bytes;
    void             *logits;
    uint32_t         *mask, *counts;
    sample_model_row *rows;
    float            *draft;         // probabilities, of rows of columns
    int32_t          *draft_tokens;
    cj_ptr            told[TOLD];    // arrays of what is told, poisoned: as in told_arrays
} problem;

static float draw_real(uint64_t *seed) { return (float)(cj_test_random(seed) >> 40) / (1 << 24); }

// Roughly normal: a sum of four.
static double logit_of(cj_sample_fill fill, uint64_t i, uint64_t columns, uint64_t *seed) {
    static const double wild[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1e38, -1e38, 1e-40};
    double              x = -4;
    for (int n = 0; n < 4; n++) x += 2 * (double)draw_real(seed);
    switch (fill) {
    case CJ_SAMPLE_FEW: return floor(x);
    case CJ_SAMPLE_EQUAL: return 1.5;
    case CJ_SAMPLE_SINGLE: return i == columns / 2 ? -3 : -INFINITY;
    case CJ_SAMPLE_WILD: return cj_test_random(seed) % 4 ? x : wild[cj_test_random(seed) % CJ_TEST_COUNT(wild)];
    case CJ_SAMPLE_NONE: return i % 2 ? NAN : -INFINITY;
    case CJ_SAMPLE_WIDE: return 50 * x;
    case CJ_SAMPLE_TINY: return cj_test_random(seed) % 8 ? ldexp(floor(x), -30) : x * draw_real(seed);
    default: return x;
    }
}

// The value, or one time in eight one that is out of its range.
static float maybe_wrong(float value, uint64_t *seed) {
    static const float wrong[] = {NAN, INFINITY, -INFINITY, -1, -0.0f, 0, 1, 2};
    return cj_test_random(seed) % 8 ? value : wrong[cj_test_random(seed) % CJ_TEST_COUNT(wrong)];
}

static void fill_problem(problem *p, cj_sample_fill fill, bool each, uint64_t *seed) {
    const cj_sample_desc   *d = &p->desc;
    const cj_sample_arrays *v = &p->values;
    for (uint64_t i = 0; i < (d->rows - 1) * p->stride + d->columns; i++)
        row_model_write(d->dtype, p->logits, i, logit_of(fill, i % p->stride, d->columns, seed));
    for (uint64_t i = 0; i < d->rows * p->words; i++)
        p->mask[i] = (uint32_t)(cj_test_random(seed) | cj_test_random(seed)) & (i / p->words == 1 ? 0 : UINT32_MAX);
    for (uint64_t i = 0; i < d->rows * d->columns; i++)
        p->counts[i] = cj_test_random(seed) % 4 ? 0 : (uint32_t)(cj_test_random(seed) % 5);
    for (uint64_t r = 0; r < d->rows; r++) {
        p->rows[r] = (sample_model_row){v->temperature, v->top_p ? v->top_p : 1,
                                        v->min_p,       v->repetition ? v->repetition : 1,
                                        v->frequency,   v->presence,
                                        v->top_k,       v->seed,
                                        v->offset,      (uint32_t)r};
        if (!each) continue;
        p->rows[r] = (sample_model_row){r % 5 == 4 ? 0 : maybe_wrong(draw_real(seed) * 2, seed),
                                        maybe_wrong(draw_real(seed) * 1.2f, seed),
                                        maybe_wrong(draw_real(seed) / 4, seed),
                                        maybe_wrong(0.5f + draw_real(seed), seed),
                                        maybe_wrong(draw_real(seed) - 0.5f, seed),
                                        maybe_wrong(draw_real(seed) - 0.5f, seed),
                                        (int32_t)(cj_test_random(seed) % (d->columns + 2)) - 1,
                                        cj_test_random(seed),
                                        cj_test_random(seed),
                                        0};
        sample_model_row *row = &p->rows[r];
        if (!d->top_k) row->top_k = 0;
        if (!d->top_p) row->top_p = 1;
        if (!d->min_p) row->min_p = 0;
        if (!d->penalties) row->repetition = 1, row->frequency = row->presence = 0;
    }
}

// Probabilities that sum to something about 1, some of them 0; of one row in four no token, of another the last.
static void fill_draft(problem *p, uint64_t *seed) {
    const uint64_t columns = p->desc.columns;
    for (uint64_t i = 0; i < p->desc.rows * columns; i++)
        p->draft[i] = maybe_wrong(cj_test_random(seed) % 3 ? 2 * draw_real(seed) * draw_real(seed) / (float)columns * 4 : 0, seed);
    for (uint64_t r = 0; r < p->desc.rows; r++) {
        const uint64_t turn = cj_test_random(seed) % 4;
        p->draft_tokens[r] = turn == 0 ? -1 : (int32_t)(turn == 1 ? columns - 1 : cj_test_random(seed) % columns);
    }
}

static cj_ptr upload(cj_device *device, const void *from, size_t bytes) {
    cj_error error = {0};
    cj_ptr   at = 0;
    cj_test_ok(cj_mem_alloc(device, bytes, &at, &error), &error);
    cj_test_ok(cj_mem_write(device, at, from, bytes, NULL, &error), &error);
    return at;
}

// An array of member `offset` of each row's values.
static cj_ptr upload_each(cj_device *device, const problem *p, size_t offset, size_t size) {
    unsigned char *all = malloc(p->desc.rows * size);
    assert_non_null(all);
    for (uint64_t r = 0; r < p->desc.rows; r++) memcpy(all + r * size, (const char *)&p->rows[r] + offset, size);
    const cj_ptr at = upload(device, all, p->desc.rows * size);
    free(all);
    return at;
}

static void give_each(cj_device *device, problem *p) {
#define EACH(member) \
    p->values.member##_rows = upload_each(device, p, offsetof(sample_model_row, member), sizeof p->rows->member)
    EACH(temperature);
    EACH(seed);
    EACH(offset);
    if (p->desc.top_k) EACH(top_k);
    if (p->desc.top_p) EACH(top_p);
    if (p->desc.min_p) EACH(min_p);
    if (!p->desc.penalties) return;
    EACH(repetition);
    EACH(frequency);
    EACH(presence);
#undef EACH
}

// ---- what else is told

static size_t told_count(const problem *p, size_t i) {
    const cj_sample_desc *d = &p->desc;
    const size_t          counts[TOLD] = {d->log_probability ? d->rows : 0, d->rows * d->top, d->rows * d->top,
                                          d->distribution ? d->rows * d->columns : 0, d->draft ? d->rows : 0};
    return counts[i];
}

static void open_told(cj_device *device, problem *p) {
    cj_ptr  *place[TOLD] = {&p->values.log_probability, &p->values.top_tokens, &p->values.top_log_probabilities,
                            &p->values.probabilities, &p->values.accepted};
    cj_error error = {0};
    for (size_t i = 0; i < TOLD; i++) {
        if (!told_count(p, i)) continue;
        cj_test_ok(cj_mem_alloc(device, told_count(p, i) * 4 + GUARD, &p->told[i], &error), &error);
        cj_test_ok(cj_mem_fill(device, p->told[i], POISON, told_count(p, i) * 4 + GUARD, NULL, &error), &error);
        *place[i] = p->told[i];
    }
    if (!p->desc.draft) return;
    p->values.draft_tokens = upload(device, p->draft_tokens, p->desc.rows * 4);
    p->values.draft_probabilities = upload(device, p->draft, p->desc.rows * p->desc.columns * 4);
}

static void close_told(cj_device *device, const problem *p) {
    for (size_t i = 0; i < TOLD; i++)
        if (p->told[i]) cj_mem_free(device, p->told[i]);
    if (!p->desc.draft) return;
    cj_mem_free(device, p->values.draft_tokens);
    cj_mem_free(device, p->values.draft_probabilities);
}

static void *read_told(cj_device *device, const problem *p, size_t i) {
    const size_t   bytes = told_count(p, i) * 4;
    unsigned char *found = malloc(bytes + GUARD);
    cj_error       error = {0};
    assert_non_null(found);
    if (!bytes) return found;
    cj_test_ok(cj_mem_read(device, found, p->told[i], bytes + GUARD, NULL, &error), &error);
    for (int g = 0; g < GUARD; g++)
        if (found[bytes + (size_t)g] != POISON) fail_msg("wrote after array %zu of what is told", i);
    return found;
}

static void same_log(float found, double expected) {
    if (isinf(expected) ? (double)found != expected : !(fabs((double)found - expected) <= 2e-5 + 1e-6 * fabs(expected)))
        fail_msg("a log-probability is %.9g, not %.9g", (double)found, expected);
}

// Row r of everything that is told; `kept` are the masses.
static void check_row(const problem *p, void *const *told, uint64_t r, const sample_model_more *more, const uint64_t *kept) {
    const cj_sample_desc *d = &p->desc;
    float                 all = 0;
    uint64_t              sum = 0;
    if (d->log_probability) same_log(((const float *)told[0])[r], more->log_probability);
    for (uint32_t i = 0; i < d->top; i++) {
        assert_int_equal(((const int32_t *)told[1])[r * d->top + i], more->top_token[i]);
        same_log(((const float *)told[2])[r * d->top + i], more->top_log_probability[i]);
    }
    for (uint64_t i = 0; i < d->columns; i++) sum += kept[i];
    all = (float)(sum ? sum : 1);
    for (uint64_t i = 0; i < d->columns && d->distribution; i++)
        if (((const float *)told[3])[r * d->columns + i] != (float)kept[i] / all)
            fail_msg("row %" PRIu64 ": token %" PRIu64 " has probability %.9g, not %.9g", r, i,
                     (double)((const float *)told[3])[r * d->columns + i], (double)((float)kept[i] / all));
    if (d->draft) assert_int_equal(((const uint32_t *)told[4])[r], more->accepted);
}

static void check_tokens(cj_device *device, const problem *p, const int32_t *tokens, cj_sample_fill fill) {
    const cj_sample_desc *d = &p->desc;
    void                 *told[TOLD];
    uint64_t             *kept = malloc(d->columns * sizeof *kept);
    assert_non_null(kept);
    for (size_t i = 0; i < TOLD; i++) told[i] = read_told(device, p, i);
    for (uint64_t r = 0; r < d->rows; r++) {
        sample_model_more more = {.top = d->top, .draft = d->draft ? p->draft + r * d->columns : NULL,
                                  .draft_token = d->draft ? p->draft_tokens[r] : -1};
        const int32_t     token = sample_model_tell(d->dtype, (char *)p->logits + r * p->stride * p->bytes, d->columns,
                                                    d->mask ? p->mask + r * p->words : NULL,
                                                    d->penalties ? p->counts + r * d->columns : NULL, &p->rows[r], kept, &more);
        check_row(p, told, r, &more, kept);
        if (token != tokens[r])
            fail_msg("%" PRIu64 " x %" PRIu64 ", block %u, cluster %u, fill %d: row %" PRIu64 " gives %" PRId32
                     ", not %" PRId32
                     " (temperature %g, k %d, p %g, min-p %g, penalties %g %g %g, mask %d, seed %" PRIu64 ")",
                     d->rows, d->columns, d->block, d->cluster, (int)fill, r, tokens[r], token,
                     (double)p->rows[r].temperature, (int)p->rows[r].top_k, (double)p->rows[r].top_p,
                     (double)p->rows[r].min_p, (double)p->rows[r].repetition, (double)p->rows[r].frequency,
                     (double)p->rows[r].presence, (int)d->mask, p->rows[r].seed);
    }
    for (size_t i = 0; i < TOLD; i++) free(told[i]);
    free(kept);
    for (int i = 0; i < GUARD; i++)
        if (((const unsigned char *)(tokens + d->rows))[i] != POISON) fail_msg("wrote after the tokens");
}

static void launch_and_check(cj_device *device, problem *p, cj_sample_fill fill, bool each) {
    const size_t bytes = p->desc.rows * sizeof(int32_t) + GUARD;
    int32_t     *tokens = malloc(bytes);
    cj_sample   *sample = NULL;
    cj_error     error = {0};
    assert_non_null(tokens);
    memset(tokens, POISON, bytes);
    p->values.logits = upload(device, p->logits, ((p->desc.rows - 1) * p->stride + p->desc.columns) * p->bytes);
    p->values.tokens = upload(device, tokens, bytes);
    if (p->desc.mask) p->values.mask = upload(device, p->mask, p->desc.rows * p->words * 4);
    if (p->desc.penalties) p->values.counts = upload(device, p->counts, p->desc.rows * p->desc.columns * 4);
    if (each) give_each(device, p);
    open_told(device, p);
    if (cj_sample_create(device, &p->desc, &sample, &error)) fail_msg("%s %s", error.message, error.hint);
    for (int time = 0; time < 2; time++)
        if (cj_sample_run(sample, &p->values, NULL, &error))
            fail_msg("%" PRIu64 " x %" PRIu64 ", block %u, cluster %u, filters %d%d%d%d%d, told %d%d%d %u: %s %s", p->desc.rows,
                     p->desc.columns, p->desc.block, p->desc.cluster, p->desc.top_k, p->desc.top_p, p->desc.min_p, p->desc.penalties,
                     p->desc.mask, p->desc.log_probability, p->desc.distribution, p->desc.draft, p->desc.top, error.message, error.hint);
    if (cj_mem_read(device, tokens, p->values.tokens, bytes, NULL, &error))
        fail_msg("%s %s", error.message, error.hint);
    check_tokens(device, p, tokens, fill);
    close_told(device, p);
    cj_sample_destroy(sample);
    const cj_sample_arrays *a = &p->values;
    const cj_ptr            all[] = {a->logits,           a->tokens,        a->mask,       a->counts,
                                     a->temperature_rows, a->top_p_rows,    a->min_p_rows, a->repetition_rows,
                                     a->frequency_rows,   a->presence_rows, a->top_k_rows, a->seed_rows,
                                     a->offset_rows};
    for (size_t i = 0; i < CJ_TEST_COUNT(all); i++)
        if (all[i]) cj_mem_free(device, all[i]);
    free(tokens);
}

void cj_test_sample(cj_device *device, const cj_sample_desc *desc, const cj_sample_arrays *values, cj_sample_fill fill,
                    bool each, uint64_t seed) {
    problem p = {.desc = *desc, .values = *values, .bytes = cj_dtype_size(desc->dtype)};
    p.stride = desc->stride ? desc->stride : desc->columns;
    p.words = (desc->columns + 31) / 32;
    p.logits = malloc(desc->rows * p.stride * p.bytes);
    p.mask = malloc(desc->rows * p.words * 4);
    p.counts = malloc(desc->rows * desc->columns * 4);
    p.rows = malloc(desc->rows * sizeof *p.rows);
    p.draft = malloc(desc->rows * desc->columns * sizeof *p.draft);
    p.draft_tokens = malloc(desc->rows * sizeof *p.draft_tokens);
    assert_true(p.logits && p.mask && p.counts && p.rows && p.draft && p.draft_tokens);
    fill_problem(&p, fill, each, &seed);
    fill_draft(&p, &seed);
    launch_and_check(device, &p, fill, each);
    free(p.logits);
    free(p.mask);
    free(p.counts);
    free(p.rows);
    free(p.draft);
    free(p.draft_tokens);
}

// Which filters: bits of `which`.
static void set_filters(cj_sample_desc *d, cj_sample_arrays *v, unsigned which, uint64_t *seed) {
    if ((d->top_k = which & 1)) v->top_k = 1 + (int32_t)(cj_test_random(seed) % 60);
    if ((d->top_p = which >> 1 & 1)) v->top_p = 0.05f + 0.9f * draw_real(seed);
    if ((d->min_p = which >> 2 & 1)) v->min_p = draw_real(seed) / 2;
    if ((d->penalties = which >> 3 & 1)) v->repetition = 1.3f, v->frequency = 0.25f, v->presence = 0.5f;
    d->mask = which >> 4 & 1;
}

// What else is told: bits of `which`.
static void set_told(cj_sample_desc *d, unsigned which) {
    static const uint32_t tops[] = {0, 1, 5, 32};
    d->log_probability = which & 1;
    d->distribution = which >> 1 & 1;
    d->draft = which >> 2 & 1;
    d->top = tops[which >> 3 & 3];
}

void cj_test_sample_boundaries(cj_device *device, uint64_t seed) {
    static const uint64_t sizes[] = {1, 2, 31, 32, 33, 127, 255, 256, 257, 520};
    static const unsigned filters[] = {0, 1, 2, 4, 8, 16, 3, 31};
    static const cj_dtype types[] = {CJ_F32, CJ_F16, CJ_BF16};
    for (size_t s = 0; s < CJ_TEST_COUNT(sizes); s++) {
        for (unsigned fill = 0; fill < CJ_SAMPLE_FILLS; fill++) {
            const uint64_t   turn = s * CJ_SAMPLE_FILLS + fill + seed;
            cj_sample_desc   d = {CJ_INIT(d),
                                  .rows = 2,
                                  .columns = sizes[s],
                                  .dtype = types[turn % 3],
                                  .block = turn % 2 ? 64 : 32,
                                  .cluster = turn % 4 ? CJ_SAMPLE_NO_CLUSTER : 2};
            cj_sample_arrays v = {CJ_INIT(v), .temperature = turn % 7 ? 0.8f : 0, .seed = turn, .offset = 3 * turn};
            set_filters(&d, &v, filters[(turn + turn / 8) % CJ_TEST_COUNT(filters)], &seed);
            if (turn % 2) set_told(&d, (unsigned)cj_test_random(&seed));
            cj_test_sample(device, &d, &v, (cj_sample_fill)fill, false, seed);
        }
    }
}

void cj_test_sample_counts(cj_device *device, unsigned every, void (*before)(unsigned turn)) {
    static const struct { uint32_t block, cluster; } plans[] = {
        {1024, CJ_SAMPLE_NO_CLUSTER}, {512, 2}, {512, 3}, {256, 4}, {160, 8}, {64, 16}, {0, 0}};
    static const float temperatures[] = {0.7f, 0, 1, 40, 0.05f};
    uint64_t seed = 9;
    for (unsigned turn = 0; turn < CJ_TEST_COUNT(plans) * CJ_SAMPLE_FILLS; turn += every) {
        cj_sample_desc   d = {CJ_INIT(d),       .rows = 2,     .columns = (turn % 7 < 2 ? 17000 : 8200) + turn % 3 * 4, .dtype = CJ_BF16,
                              .top_p = true,    .block = plans[turn % CJ_TEST_COUNT(plans)].block,
                              .min_p = turn % 5 == 1, .cluster = plans[turn % CJ_TEST_COUNT(plans)].cluster};
        cj_sample_arrays v = {CJ_INIT(v), .temperature = temperatures[turn % CJ_TEST_COUNT(temperatures)], .seed = turn};
        v.top_p = turn % 3 ? 0.05f + 0.95f * draw_real(&seed) : 0.999f;
        if (d.min_p) v.min_p = draw_real(&seed) / 8;
        d.mask = turn % 4 == 3;
        if (turn % 6 == 5) set_told(&d, (unsigned)cj_test_random(&seed));
        if (before) before(turn);
        cj_test_sample(device, &d, &v, (cj_sample_fill)(turn / CJ_TEST_COUNT(plans)), turn % 2, cj_test_random(&seed));
    }
    for (unsigned fill = 0; fill < CJ_SAMPLE_FILLS; fill += every) {  // draws from parts without top-p
        cj_sample_desc   d = {CJ_INIT(d), .rows = 1, .columns = 65544, .dtype = CJ_BF16, .block = fill % 3 ? 1024 : 512,
                              .min_p = fill % 2, .cluster = fill % 3 ? CJ_SAMPLE_NO_CLUSTER : 2};
        cj_sample_arrays v = {CJ_INIT(v), .temperature = temperatures[fill % CJ_TEST_COUNT(temperatures)], .seed = fill};
        if (d.min_p) v.min_p = 0.01f;
        if (before) before(fill);
        cj_test_sample(device, &d, &v, (cj_sample_fill)fill, false, cj_test_random(&seed));
    }
}

void cj_test_sample_random(cj_device *device, uint64_t *seed, uint64_t most) {
    static const cj_dtype types[] = {CJ_F32, CJ_F16, CJ_BF16};
    static const uint32_t clusters[] = {0, CJ_SAMPLE_NO_CLUSTER, 1, 2, 3, 4, 8};
    cj_sample_desc   d = {CJ_INIT(d), .rows = 1 + cj_test_random(seed) % 4, .columns = 1 + cj_test_random(seed) % most};
    cj_sample_arrays v = {CJ_INIT(v), .temperature = draw_real(seed) * 2, .seed = cj_test_random(seed)};
    d.dtype = types[cj_test_random(seed) % 3];
    d.cluster = clusters[cj_test_random(seed) % CJ_TEST_COUNT(clusters)];
    if (cj_test_few() && d.cluster == 1) d.cluster = 2;  // compute-sanitizer (CUDA 13.0) takes a cluster of one block's writes for invalid
    d.block = 32 * (uint32_t)(cj_test_random(seed) % 5);
    if (cj_test_random(seed) % 2) d.columns = (d.columns + 7) / 8 * 8;
    if (cj_test_random(seed) % 2) d.stride = d.columns + cj_test_random(seed) % 40;
    set_filters(&d, &v, cj_test_random(seed) % 32, seed);
    if (cj_test_random(seed) % 2) set_told(&d, (unsigned)cj_test_random(seed));
    const cj_sample_fill fill = (cj_sample_fill)(cj_test_random(seed) % 3 ? 0 : cj_test_random(seed) % CJ_SAMPLE_FILLS);
    cj_test_sample(device, &d, &v, fill, cj_test_random(seed) % 2, cj_test_random(seed));
}

// ---- frequencies

enum { TOKENS = 16 };

// Token i's probability, but for a factor: 0 if a filter drops it.
static void shares_of(const float *logits, const sample_model_row *v, double *share) {
    const int k = v->top_k > 0 ? v->top_k : TOKENS;
    int       order[TOKENS];
    double    whole = 0, taken = 0, first;
    for (int i = 0; i < TOKENS; i++) {
        int at = i;
        share[i] = exp((double)logits[i] / (double)v->temperature);
        for (; at && logits[order[at - 1]] < logits[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    first = share[order[0]];
    for (int n = 0; n < k; n++) whole += share[order[n]];
    for (int n = 0; n < TOKENS; n++) {
        const double own = share[order[n]];
        if (n >= k || taken >= (double)v->top_p * whole || own < (double)v->min_p * first) share[order[n]] = 0;
        taken += own;
    }
}

// Chi-square of at most 15 degrees of freedom is above 49 once in 60000.
static void check_frequencies(const float *logits, const sample_model_row *values, const int32_t *tokens,
                              uint32_t draws) {
    double   share[TOKENS], kept = 0, chi = 0;
    unsigned counts[TOKENS] = {0};
    shares_of(logits, values, share);
    for (int i = 0; i < TOKENS; i++) kept += share[i];
    for (uint32_t n = 0; n < draws; n++) {
        assert_in_range(tokens[n], 0, TOKENS - 1);
        counts[tokens[n]]++;
    }
    for (int i = 0; i < TOKENS; i++) {
        const double expected = draws * share[i] / kept;
        if (share[i] == 0)
            assert_int_equal(counts[i], 0);
        else
            chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    if (chi > 49)
        fail_msg("chi-square of %u draws is %g (temperature %g, k %d, p %g, min-p %g)", draws, chi,
                 (double)values->temperature, (int)values->top_k, (double)values->top_p, (double)values->min_p);
}

// Every row has the same logits; the row's number is part of its random number.
static void draw_tokens(cj_device *device, cj_ptr logits, uint32_t draws, const sample_model_row *row, uint32_t block,
                        uint32_t cluster, int32_t *tokens) {
    cj_sample_desc   d = {CJ_INIT(d), .rows = draws, .columns = TOKENS, .block = block, .cluster = cluster};
    cj_sample_arrays v = {CJ_INIT(v),          .logits = logits,    .temperature = row->temperature,
                          .top_k = row->top_k, .top_p = row->top_p, .min_p = row->min_p,
                          .seed = row->seed};
    cj_error         error = {0};
    d.top_k = row->top_k > 0;
    d.top_p = row->top_p < 1;
    d.min_p = row->min_p > 0;
    memset(tokens, POISON, draws * sizeof *tokens);
    v.tokens = upload(device, tokens, draws * sizeof *tokens);
    cj_test_ok(cj_sample_launch(device, &d, &v, NULL, &error), &error);
    cj_test_ok(cj_mem_read(device, tokens, v.tokens, draws * sizeof *tokens, NULL, &error), &error);
    cj_mem_free(device, v.tokens);
}

static const sample_model_row drawn[] = {
    {.temperature = 0.9f, .top_p = 1, .repetition = 1, .seed = 77},
    {.temperature = 2.5f, .top_p = 1, .repetition = 1, .seed = 78},
    {.temperature = 0.9f, .top_p = 1, .repetition = 1, .top_k = 5, .seed = 79},
    {.temperature = 0.9f, .top_p = 0.75f, .repetition = 1, .seed = 80},
    {.temperature = 0.9f, .top_p = 1, .repetition = 1, .min_p = 0.2f, .seed = 81},
    {.temperature = 0.9f, .top_p = 0.8f, .repetition = 1, .top_k = 9, .min_p = 0.1f, .seed = 82},
};

static float drawn_logit(size_t i) { return 2 * sinf(1 + 7.0f * (float)(i % TOKENS)); }

void cj_test_sample_model_draws(uint32_t draws) {
    float    logits[TOKENS];
    int32_t *tokens = malloc(draws * sizeof *tokens);
    assert_non_null(tokens);
    for (size_t i = 0; i < TOKENS; i++) logits[i] = drawn_logit(i);
    for (size_t i = 0; i < CJ_TEST_COUNT(drawn); i++) {
        sample_model_row row = drawn[i];
        for (row.offset = 0; row.offset < draws; row.offset++)
            tokens[row.offset] = sample_model_token(CJ_F32, logits, TOKENS, NULL, NULL, &row, NULL);
        check_frequencies(logits, &row, tokens, draws);
    }
    free(tokens);
}

void cj_test_sample_draws(cj_device *device, uint32_t draws) {
    static const struct { uint32_t block, cluster; } plans[] = {{64, CJ_SAMPLE_NO_CLUSTER}, {32, 2}, {0, 0}};
    float   *logits = malloc(draws * TOKENS * sizeof *logits);
    int32_t *tokens = malloc(draws * sizeof *tokens), *others = malloc(draws * sizeof *others);
    assert_true(logits && tokens && others);
    for (size_t i = 0; i < (size_t)draws * TOKENS; i++) logits[i] = drawn_logit(i);
    const cj_ptr at = upload(device, logits, draws * TOKENS * sizeof *logits);
    for (size_t i = 0; i < CJ_TEST_COUNT(drawn); i++) {
        draw_tokens(device, at, draws, &drawn[i], 32, CJ_SAMPLE_NO_CLUSTER, tokens);
        check_frequencies(logits, &drawn[i], tokens, draws);
        draw_tokens(device, at, draws, &drawn[i], plans[i % 3].block, plans[i % 3].cluster, others);
        assert_memory_equal(tokens, others, draws * sizeof *tokens);
    }
    cj_mem_free(device, at);
    free(logits);
    free(tokens);
    free(others);
}

// A token by the draft's probabilities.
static int32_t draw_draft(const float *p, uint64_t *random) {
    float   left = draw_real(random);
    int32_t token = 0;
    while (token < TOKENS - 1 && (left -= p[token]) >= 0) token++;
    return token;
}

void cj_test_sample_speculation(cj_device *device, uint32_t draws) {
    uint64_t random = 11;
    cj_error error = {0};
    float   *logits = malloc(draws * TOKENS * sizeof *logits), *p = malloc(draws * TOKENS * sizeof *p);
    int32_t *drafted = malloc(draws * sizeof *drafted), *tokens = malloc(draws * sizeof *tokens);
    assert_true(logits && p && drafted && tokens);
    for (size_t i = 0; i < (size_t)draws * TOKENS; i++) {
        logits[i] = drawn_logit(i);
        p[i] = (float)(1 + i % TOKENS) / (TOKENS * (TOKENS + 1) / 2);
    }
    for (uint32_t r = 0; r < draws; r++) drafted[r] = draw_draft(p, &random);
    for (size_t i = 0; i < CJ_TEST_COUNT(drawn); i++) {
        const sample_model_row *row = &drawn[i];
        const cj_sample_desc    d = {CJ_INIT(d),           .rows = draws,          .columns = TOKENS,       .top_k = row->top_k > 0,
                                     .top_p = row->top_p < 1, .min_p = row->min_p > 0, .draft = true,       .block = 32,
                                     .cluster = i % 2 ? 2 : CJ_SAMPLE_NO_CLUSTER};
        const cj_sample_arrays  v = {CJ_INIT(v),
                                     .logits = upload(device, logits, draws * TOKENS * sizeof *logits),
                                     .tokens = upload(device, tokens, draws * sizeof *tokens),
                                     .draft_tokens = upload(device, drafted, draws * sizeof *drafted),
                                     .draft_probabilities = upload(device, p, draws * TOKENS * sizeof *p),
                                     .accepted = upload(device, tokens, draws * sizeof *tokens),
                                     .temperature = row->temperature,
                                     .top_k = row->top_k,
                                     .top_p = row->top_p,
                                     .min_p = row->min_p,
                                     .seed = row->seed};
        cj_test_ok(cj_sample_launch(device, &d, &v, NULL, &error), &error);
        cj_test_ok(cj_mem_read(device, tokens, v.tokens, draws * sizeof *tokens, NULL, &error), &error);
        check_frequencies(logits, row, tokens, draws);
        const cj_ptr all[] = {v.logits, v.tokens, v.draft_tokens, v.draft_probabilities, v.accepted};
        for (size_t j = 0; j < CJ_TEST_COUNT(all); j++) cj_mem_free(device, all[j]);
    }
    free(logits);
    free(p);
    free(drafted);
    free(tokens);
}

static void refuse(cj_device *device, const cj_sample_desc *desc, const cj_sample_arrays *values, const char *text) {
    cj_error error = {0};
    assert_int_equal(cj_sample_launch(device, desc, values, NULL, &error), CJ_INVALID_ARGUMENT);
    if (!strstr(error.message, text)) fail_msg("'%s' does not say '%s'", error.message, text);
}

void cj_test_sample_call(cj_device *device) {
    uint32_t         zeros[64] = {0};
    const cj_ptr     at = upload(device, zeros, sizeof zeros);
    cj_sample_desc   d = {CJ_INIT(d), .rows = 1, .columns = 8, .top_k = true, .top_p = true};
    cj_sample_arrays v = {CJ_INIT(v), .logits = at, .tokens = at + 64, .temperature = 1, .top_k = 3, .top_p = 0.5f},
                     w = v;
    cj_error error = {0};
    cj_test_ok(cj_sample_launch(device, &d, &v, NULL, &error), &error);
    w.top_k = -1, refuse(device, &d, &w, "top_k: -1 is below 0"), w = v;
    w.top_p = 1.5f, refuse(device, &d, &w, "top_p: 1.5 is not above 0 and at most 1"), w = v;
    w.temperature = -2, refuse(device, &d, &w, "temperature: -2 is not 0 or above"), w = v;
    w.min_p = 0.1f, refuse(device, &d, &w, "min_p: it is given, but the kernel does not have it"), w = v;
    w.min_p = 2, refuse(device, &d, &w, "min_p: 2 is not from 0 to 1"), w = v;
    w.repetition = -1, refuse(device, &d, &w, "repetition: -1 is not above 0"), w = v;
    w.repetition = INFINITY, refuse(device, &d, &w, "repetition: inf is not above 0, or not finite"), w = v;
    w.frequency = NAN, refuse(device, &d, &w, "nan is not finite"), w = v;
    w.presence = INFINITY, refuse(device, &d, &w, "presence: inf is not finite"), w = v;
    w.temperature = NAN, refuse(device, &d, &w, "temperature: "), w = v;
    w.min_p = NAN, refuse(device, &d, &w, "min_p: "), w = v;
    w.top_p = NAN, refuse(device, &d, &w, "top_p: "), w = v;
    w.counts = at, refuse(device, &d, &w, "counts: it is given, but the kernel does not have it"), w = v;
    w.mask = at, refuse(device, &d, &w, "mask: it is given, but the kernel does not have it"), w = v;
    w.probabilities = at, refuse(device, &d, &w, "probabilities: it is given, but the kernel does not have it"), w = v;
    d.draft = true, refuse(device, &d, &w, "draft_tokens"), d.draft = false;
    d.top = 33, refuse(device, &d, &w, "top"), d.top = 0;
    w.logits = 0, refuse(device, &d, &w, "logits"), w = v;
    w.top_k_rows = at + 2, refuse(device, &d, &w, "top_k_rows"), w = v;
    d.mask = true, refuse(device, &d, &w, "mask");
    d.columns = 0, refuse(device, &d, &w, "columns: 0 is below 1");
    cj_mem_free(device, at);
}
