// SPDX-License-Identifier: Apache-2.0
#include "stencil_cases.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "test.h"

enum { TAPS = 32 };

// A problem, for the host's computation.
typedef struct problem {
    int64_t  n[3], batch, steps, radius, boundary, dim;
    bool     box, wide;
    uint32_t taps;
    double   weight[TAPS];
    size_t   points;
} problem;

static problem problem_of(const cj_params *p) {
    static const char *const extents[] = {"nx", "ny", "nz"};
    problem                  q = {.dim = (int64_t)cj_params_get(p, "dim"),
                                  .batch = (int64_t)cj_params_get(p, "batch"),
                                  .steps = (int64_t)cj_params_get(p, "steps"),
                                  .radius = (int64_t)cj_params_get(p, "radius"),
                                  .boundary = (int64_t)cj_params_get(p, "boundary"),
                                  .box = cj_params_get(p, "shape") == 1,
                                  .wide = cj_params_get(p, "dtype") == 1,
                                  .points = 1};
    uint32_t                 box = 1;
    for (int a = 0; a < 3; a++) {
        q.n[a] = a < q.dim ? (int64_t)cj_params_get(p, extents[a]) : 1;
        q.points *= (size_t)q.n[a];
        if (a < q.dim) box *= (uint32_t)(2 * q.radius + 1);
    }
    q.taps = q.box ? box : (uint32_t)(2 * q.dim * q.radius + 1);
    return q;
}

// ---- the host's computation: of whole grids. tools/ptxgen/work/stencil.c has another, written apart from this one, so that one mistake
// is not in both.

// The point's index along an axis; -1 for a point that counts as zero.
static int64_t map_index(const problem *q, int64_t at, int64_t n) {
    if (at >= 0 && at < n) return at;
    if (q->boundary == 0) return -1;
    if (q->boundary == 1) return at < 0 ? 0 : n - 1;
    return (at % n + n) % n;
}

static double element(const problem *q, const void *grid, size_t i) {
    return q->wide ? ((const double *)grid)[i] : (double)((const float *)grid)[i];
}

static double neighbour(const problem *q, const void *grid, const int64_t at[3], const int64_t away[3]) {
    int64_t index = 0;
    for (int a = 3; a-- > 0;) {
        int64_t i = map_index(q, at[a] + away[a], q->n[a]);
        if (i < 0) return 0;
        index = index * q->n[a] + i;
    }
    return element(q, grid, (size_t)index);
}

static double new_value(const problem *q, const void *grid, const int64_t at[3]) {
    const int64_t r = q->radius, ry = q->dim > 1 ? r : 0, rz = q->dim > 2 ? r : 0;
    double        sum = 0;
    uint32_t      tap = 0;
    for (int64_t z = -rz; z <= rz; z++)
        for (int64_t y = -ry; y <= ry; y++)
            for (int64_t x = -r; x <= r; x++) {
                if (!q->box && (x != 0) + (y != 0) + (z != 0) > 1) continue;
                const double v = neighbour(q, grid, at, (const int64_t[]){x, y, z}), w = q->weight[tap];
                if (q->wide)
                    sum = tap ? fma(v, w, sum) : v * w;
                else
                    sum = tap ? (double)fmaf((float)v, (float)w, (float)sum) : (double)((float)v * (float)w);
                tap++;
            }
    return sum;
}

static void store(const problem *q, void *grid, size_t i, double value) {
    if (q->wide)
        ((double *)grid)[i] = value;
    else
        ((float *)grid)[i] = (float)value;
}

static void host_step(const problem *q, const void *from, void *to) {
    size_t i = 0;
    for (int64_t z = 0; z < q->n[2]; z++)
        for (int64_t y = 0; y < q->n[1]; y++)
            for (int64_t x = 0; x < q->n[0]; x++) store(q, to, i++, new_value(q, from, (const int64_t[]){x, y, z}));
}

// The grids after all steps, in `grid`.
static void host_steps(const problem *q, void *grid) {
    const size_t   bytes = q->points * (q->wide ? 8 : 4);
    unsigned char *from = grid, *to = malloc(bytes);
    assert_non_null(to);
    for (int64_t b = 0; b < q->batch; b++)
        for (int64_t s = 0; s < q->steps; s++) {
            host_step(q, from + (size_t)b * bytes, to);
            memcpy(from + (size_t)b * bytes, to, bytes);
        }
    free(to);
}

// ---- a case

static double random_real(uint64_t *random) { return (double)(cj_test_random(random) >> 40) * 0x1p-23 - 1; }

static void set_weights(cj_params *params, problem *q, uint64_t *random) {
    const uint32_t given = (uint32_t)cj_params_get(params, "weights");
    cj_error       error = {0};
    for (uint32_t i = 0; i < q->taps; i++)
        q->weight[i] = given ? params->reals[i] : random_real(random) * 1.5 / q->taps;
    cj_test_ok(cj_params_set_reals(params, "weights", q->weight, q->taps, &error), &error);
}

static void check(const problem *q, const void *got, const void *want, const char *where) {
    const size_t bytes = q->wide ? 8 : 4, count = q->points * (size_t)q->batch;
    for (size_t i = 0; i < count; i++) {
        if (!memcmp((const char *)got + i * bytes, (const char *)want + i * bytes, bytes)) continue;
        const size_t  p = i % q->points;
        const int64_t x = (int64_t)p % q->n[0], y = (int64_t)p / q->n[0] % q->n[1], z = (int64_t)p / q->n[0] / q->n[1];
        fail_msg("%s: point (%" PRId64 ", %" PRId64 ", %" PRId64 ") of grid %zu is %.9g, not %.9g", where, x, y, z,
                 i / q->points, element(q, got, i), element(q, want, i));
    }
}

static void launch_twice(cj_device *device, cj_kernel *kernel, const problem *q, const void *in, const void *want,
                         const char *where) {
    const size_t bytes = q->points * (size_t)q->batch * (q->wide ? 8 : 4);
    cj_ptr       from = 0, to = 0;
    cj_error     error = {0};
    void        *got = malloc(bytes), *arguments[] = {&from, &to};
    assert_non_null(got);
    cj_test_ok(cj_mem_alloc(device, bytes, &from, &error), &error);
    cj_test_ok(cj_mem_alloc(device, bytes, &to, &error), &error);
    cj_test_ok(cj_mem_write(device, from, in, bytes, NULL, &error), &error);
    for (int time = 0; time < 2; time++) {
        cj_test_ok(cj_mem_fill(device, to, 0xff, bytes, NULL, &error), &error);
        cj_status status = cj_kernel_launch(kernel, NULL, arguments, 2, &error);
        if (!status) status = cj_mem_read(device, got, to, bytes, NULL, &error);
        if (status) fail_msg("%s: %s: %s %s", where, cj_status_name(status), error.message, error.hint);
        check(q, got, want, where);
    }
    cj_test_ok(cj_mem_read(device, got, from, bytes, NULL, &error), &error);
    if (memcmp(got, in, bytes)) fail_msg("%s: the input was changed", where);
    cj_mem_free(device, from);
    cj_mem_free(device, to);
    free(got);
}

// Drawn parameters may contradict each other: then the plan refuses them, and names one of them.
static bool is_refused_by_name(const char *message) {
    static const char *const says[] = {"does not fit", "cluster: ", "tile: ", "depth: ", "block: "};
    for (size_t i = 0; i < CJ_TEST_COUNT(says); i++)
        if (strstr(message, says[i])) return true;
    return false;
}

bool cj_test_stencil(cj_device *device, const char *words, uint64_t *random) {
    cj_params  params;
    cj_kernel *kernel = NULL;
    cj_error   error = {0};
    cj_test_ok(cj_test_params("stencil", words, &params, &error), &error);
    problem q = problem_of(&params);
    set_weights(&params, &q, random);
    cj_status status = cj_kernel_create(device, &params, &kernel, &error);
    if (status == CJ_INVALID_ARGUMENT && is_refused_by_name(error.message)) return false;
    if (status) fail_msg("%s: %s: %s %s", words, cj_status_name(status), error.message, error.hint);

    const size_t count = q.points * (size_t)q.batch, bytes = count * (q.wide ? 8 : 4);
    void        *in = malloc(bytes), *want = malloc(bytes);
    char         where[400];
    assert_non_null(in);
    assert_non_null(want);
    for (size_t i = 0; i < count; i++) store(&q, in, i, random_real(random));
    memcpy(want, in, bytes);
    host_steps(&q, want);
    snprintf(where, sizeof where, "%s (%s, cluster %u)", words, cj_kernel_plan(kernel)->entry,
             cj_kernel_plan(kernel)->cluster.x);
    launch_twice(device, kernel, &q, in, want, where);
    cj_kernel_destroy(kernel);
    free(in);
    free(want);
    return true;
}

// ---- random problems

static uint32_t draw(uint64_t *random, uint32_t from, uint32_t to) {
    return from + (uint32_t)(cj_test_random(random) % (to - from + 1));
}

#define PICK(random, ...)   \
    ((const char *const[]){ \
        __VA_ARGS__})[draw(random, 0, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *) - 1)]

static void random_words(char words[320], uint32_t points, uint64_t *random) {
    const uint32_t dim = draw(random, 1, 3), most = dim == 3 ? points / 3 + 1 : points;
    const bool     lanes = dim == 2 && draw(random, 0, 2);  // nx a multiple of 4, for form=registers
    const bool     box = draw(random, 0, 2) == 0 && dim > 1;
    const uint32_t nx = lanes ? 4 * draw(random, 1, (most + 3) / 4) : draw(random, 1, most);
    const uint32_t ny = draw(random, 1, lanes ? 2 * most : most), nz = draw(random, 1, most);
    const uint32_t radius = draw(random, 1, !box ? 4 : dim == 2 ? 2 : 1);
    const char    *form = lanes ? PICK(random, "registers", "registers", "auto", "shared")
                                : PICK(random, "auto", "shared");
    snprintf(
        words, 320,
        "dim=%u nx=%u ny=%u nz=%u radius=%u shape=%s boundary=%s dtype=%s strategy=%s form=%s cluster=%s batch=%u"
        " steps=%u block=%s tile=%s depth=%s",
        dim, nx, ny, nz, radius, box ? "box" : "star", PICK(random, "zero", "clamp", "periodic"),
        PICK(random, "f32", "f32", "f64"), PICK(random, "auto", "resident", "resident", "blocked", "blocked", "step"),
        form, PICK(random, "0", "1", "2", "3", "4", "8", "16"), draw(random, 1, 3), draw(random, 1, 9),
        PICK(random, "0", "0", "32", "96"), PICK(random, "0", "0", "3", "5"), PICK(random, "0", "0", "1", "2", "3"));
}

size_t cj_test_stencil_random(cj_device *device, size_t count, uint32_t points, uint64_t *random) {
    enum { TRIES = 20 };  // draws for each problem that must run: about half of them are refused by name
    size_t ran = 0;
    for (size_t i = 0; i < TRIES * count && ran < count; i++) {
        char words[320];
        random_words(words, points, random);
        ran += cj_test_stencil(device, words, random);
    }
    return ran;
}

void cj_test_stencil_three_point(cj_device *device, const uint32_t *n, size_t count) {
    static const char *const clusters[] = {"1", "2", "4", "7", "8", "16"};
    uint64_t                 random = 7;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < CJ_TEST_COUNT(clusters); c++) {
            char words[160];
            snprintf(words, sizeof words,
                     "dim=1 nx=%u weights=0.25,0.5,0.25 steps=1 strategy=blocked tile=256 block=256"
                     " cluster=%s",
                     n[i], clusters[c]);
            if (n[i] < strtoul(clusters[c], NULL, 10)) continue;  // some block would have no points
            assert_true(cj_test_stencil(device, words, &random));
        }
}

// ---- typed calls

typedef struct call {
    cj_device      *device;
    cj_stencil_desc desc;
    problem         q;
    cj_ptr          in, out;
    float           grid[37 * 5], want[37 * 5];
} call;

static void expect(call *c, const double weights[5]) {
    memcpy(c->q.weight, weights, 5 * sizeof *weights);
    memcpy(c->want, c->grid, sizeof c->want);
    host_steps(&c->q, c->want);
}

static void read_and_check(call *c, const char *where) {
    float    got[37 * 5];
    cj_error error = {0};
    cj_test_ok(cj_mem_read(c->device, got, c->out, sizeof got, NULL, &error), &error);
    cj_test_ok(cj_mem_fill(c->device, c->out, 0xff, sizeof got, NULL, &error), &error);
    check(&c->q, got, c->want, where);
}

void cj_test_stencil_calls(cj_device *device) {
    static const double lists[2][5] = {{0.1, 0.2, 0.3, 0.25, 0.15}, {-0.5, 0.125, 1, 0.25, 0.0625}};
    call                c = {.device = device,
                             .desc = {CJ_INIT(cj_stencil_desc), .dim = 2, .extent = {37, 5},
                                      .steps = 3, .boundary = CJ_STENCIL_CLAMP,
                                      .weights = lists[0], .weight_count = 5},
                             .q = {.n = {37, 5, 1},
                                   .batch = 1,
                                   .steps = 3,
                                   .radius = 1,
                                   .boundary = 1,
                                   .dim = 2,
                                   .taps = 5,
                                   .points = 37 * 5}};
    cj_error            error = {0};
    cj_stencil         *stencil = NULL;
    for (size_t i = 0; i < CJ_TEST_COUNT(c.grid); i++) c.grid[i] = (float)(i % 11) / 8;
    cj_test_ok(cj_mem_alloc(device, sizeof c.grid + 16, &c.in, &error), &error);
    cj_test_ok(cj_mem_alloc(device, sizeof c.grid, &c.out, &error), &error);
    cj_test_ok(cj_mem_write(device, c.in, c.grid, sizeof c.grid, NULL, &error), &error);
    expect(&c, lists[0]);
    cj_test_ok(cj_stencil_create(device, &c.desc, &stencil, &error), &error);
    cj_test_ok(cj_stencil_run(stencil, c.in, c.out, NULL, &error), &error);
    read_and_check(&c, "cj_stencil_run");
    assert_int_equal(cj_stencil_run(stencil, c.in + 4, c.out, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_stencil_run(stencil, c.in, 0, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "out: NULL"));
    cj_stencil_destroy(stencil);
    for (int turn = 0; turn < 4; turn++) {
        expect(&c, lists[turn % 2]);
        c.desc.weights = lists[turn % 2];
        cj_test_ok(cj_stencil_launch(device, &c.desc, c.in, c.out, NULL, &error), &error);
        read_and_check(&c, "cj_stencil_launch");
    }
    c.desc.extent[1] = 0;
    assert_int_equal(cj_stencil_launch(device, &c.desc, c.in, c.out, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "extent[1]"));
    cj_mem_free(device, c.in);
    cj_mem_free(device, c.out);
}
