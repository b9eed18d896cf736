// SPDX-License-Identifier: Apache-2.0
#include "collective_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/collective_model.h"
#include "emit.h"
#include "test.h"

static const char *const ops[] = {"broadcast", "reduce", "allreduce", "gather", "allgather", "scatter", "reduce-scatter",
                                  "all-to-all", "scan", "shift"};

typedef struct problem {
    cj_params        params;
    collective_model model;
    uint64_t         clusters;
    size_t           in, out;  // bytes of all clusters
    unsigned char   *x, *want, *got;
    cj_ptr           device_x, device_out, device_cycles;
} problem;

static void open_problem(cj_device *device, const char *params, problem *p) {
    cj_error error = {0};
    cj_test_ok(cj_test_params("collective", params, &p->params, &error), &error);
    p->model = collective_model_of(&p->params);
    p->clusters = cj_params_get(&p->params, "clusters");
    const size_t size = cj_dtype_size(p->model.dtype), elements = p->clusters * collective_model_inputs(&p->model);
    p->in = elements * size;
    p->out = p->clusters * collective_model_outputs(&p->model) * size;
    p->x = malloc(p->in);
    p->want = malloc(p->out);
    p->got = malloc(p->out);
    assert_true(p->x && p->want && p->got);
    for (size_t i = 0; i < elements; i++) collective_model_fill(p->model.dtype, 0, i, p->x + i * size);
    cj_test_ok(cj_mem_alloc(device, p->in, &p->device_x, &error), &error);
    cj_test_ok(cj_mem_alloc(device, p->out, &p->device_out, &error), &error);
    cj_test_ok(cj_mem_alloc(device, p->clusters * p->model.cluster * 8, &p->device_cycles, &error), &error);
    cj_test_ok(cj_mem_write(device, p->device_x, p->x, p->in, NULL, &error), &error);
    for (uint64_t c = 0; c < p->clusters; c++)
        collective_model_run(&p->model, p->x + c * (p->in / p->clusters), p->want + c * (p->out / p->clusters));
}

static void close_problem(cj_device *device, problem *p) {
    cj_mem_free(device, p->device_x);
    cj_mem_free(device, p->device_out);
    cj_mem_free(device, p->device_cycles);
    free(p->x);
    free(p->want);
    free(p->got);
}

static void launch(cj_device *device, cj_kernel *kernel, problem *p, const char *params) {
    cj_error error = {0};
    void    *arguments[] = {&p->device_x, &p->device_out, &p->device_cycles};
    cj_test_ok(cj_mem_fill(device, p->device_out, 0xa5, p->out, NULL, &error), &error);
    cj_status status = cj_kernel_launch(kernel, NULL, arguments, 3, &error);
    if (!status) status = cj_synchronize(device, NULL, &error);
    if (status) print_error("%s\n%s", params, cj_kernel_ptx(kernel));
    cj_test_ok(status, &error);
    cj_test_ok(cj_mem_read(device, p->got, p->device_out, p->out, NULL, &error), &error);
    const size_t size = cj_dtype_size(p->model.dtype);
    for (size_t i = 0; i < p->out; i += size)
        if (!collective_model_same(p->model.dtype, p->got + i, p->want + i))
            fail_msg("%s: element %zu of %zu is wrong", params, i / size, p->out / size);
}

uint64_t cj_test_collective(cj_device *device, const char *params) {
    cj_error   error = {0};
    cj_kernel *kernel = NULL;
    problem    p = {0};
    uint64_t   cycles = 0;
    open_problem(device, params, &p);
    cj_status status = cj_kernel_create(device, &p.params, &kernel, &error);
    if (status) print_error("%s\n", params);
    cj_test_ok(status, &error);
    for (int time = 0; time < 2; time++) launch(device, kernel, &p, params);
    cj_test_ok(cj_mem_read(device, &cycles, p.device_cycles, sizeof cycles, NULL, &error), &error);
    cj_kernel_destroy(kernel);
    close_problem(device, &p);
    return cycles;
}

// ---- random problems

static uint32_t below(uint64_t *state, uint32_t limit) { return (uint32_t)(cj_test_random(state) % limit); }

static bool has_root(const char *op) {
    return !strcmp(op, "broadcast") || !strcmp(op, "reduce") || !strcmp(op, "gather") || !strcmp(op, "scatter");
}

static bool combines(const char *op) { return strstr(op, "reduce") || !strcmp(op, "scan"); }

static void draw(uint64_t *state, const char *op, const char *strategy, uint32_t most, char params[320]) {
    static const char *const dtypes[] = {"f32", "f64", "i32", "u32", "i64", "u64", "f16", "bf16", "i8", "u8", "i16", "u16"};
    static const char *const combine[] = {"sum", "min", "max", "product"};
    static const uint32_t    shapes[][3] = {{1, 2, 1}, {2, 2, 1}, {1, 1, 3}, {2, 2, 2},
                                            {4, 2, 1}, {3, 1, 4}, {2, 4, 2}, {5, 3, 1}};
    uint32_t                 shape[3] = {1 + below(state, 16), 1, 1};
    if (!below(state, 3)) memcpy(shape, shapes[below(state, CJ_TEST_COUNT(shapes))], sizeof shape);
    const uint32_t cluster = shape[0] * shape[1] * shape[2], count = below(state, 3) ? 2 + below(state, most - 1) : 1;
    char           own[80] = "";  // parameters of this op only
    if (has_root(op)) snprintf(own, sizeof own, " root=%u", below(state, cluster));
    if (!strcmp(op, "scan")) snprintf(own, sizeof own, " exclusive=%s", below(state, 2) ? "yes" : "no");
    if (!strcmp(op, "shift"))
        snprintf(own, sizeof own, " distance=%u toward=%s around=%s", below(state, 2 * cluster),
                 below(state, 2) ? "higher" : "lower", below(state, 2) ? "yes" : "no");
    if (combines(op)) snprintf(own + strlen(own), sizeof own - strlen(own), " combine=%s", combine[below(state, 4)]);
    snprintf(params, 320,
             "op=%s strategy=%s dtype=%s count=%u cluster=%u cluster-y=%u cluster-z=%u rounds=%u block=%u clusters=%u%s",
             op, strategy, dtypes[below(state, combines(op) ? 8 : CJ_TEST_COUNT(dtypes))], count, shape[0], shape[1],
             shape[2], 1 + below(state, 3), 32 * (1 + below(state, 4)), 1 + below(state, 2), own);
}

void cj_test_collectives(cj_device *device, uint64_t *state, unsigned draws, uint32_t count) {
    for (size_t op = 0; op < CJ_TEST_COUNT(ops); op++)
        for (unsigned i = 0; i < 2 * draws; i++) {
            char params[320];
            draw(state, ops[op], i % 2 ? "pull" : "push", count, params);
            cj_test_collective(device, params);
        }
    print_message("%zu launches right\n", 4 * draws * CJ_TEST_COUNT(ops));
}
