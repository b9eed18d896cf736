// SPDX-License-Identifier: Apache-2.0
// Every kernel of `ptxgen probe`, with hazards watched: it moves what it says that it moves, its waits end, and nothing
// in it is a race. How long it takes is measured on a GPU alone.
#include "test.h"

#include <clusterjit/cpu.h>
#include <inttypes.h>
#include <probe.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_BLOCKS = 32, BYTES = 64 << 10, LITTLE_SHARED = 99 << 10 };

static cj_device *device;

static void open_device(uint64_t seed) {
    cj_error error = {0};
    cj_test_ok(cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, &error),
               &error);
    cj_cpu_options options = {CJ_INIT(options), .random_schedule = seed != 0, .seed = seed, .hazards = true,
                              .instruction_limit = 1 << 28};
    cj_test_ok(cj_cpu_configure(device, &options, &error), &error);
}

static cj_status launch(const probe_kernel *kernel, const probe_shape *shape, const probe_launch *l, cj_ptr data,
                        uint64_t *check, cj_error *error) {
    probe_record     record[MAX_BLOCKS] = {{0}};
    char            *text = NULL;
    size_t           length;
    cj_module       *module = NULL;
    cj_ptr           out = 0;
    uint32_t         size = shape->cluster;
    cj_launch_config config = {CJ_INIT(config),
                               .grid = {l->blocks, 1, 1},
                               .block = {shape->threads, 1, 1},
                               .cluster = {size, size > 0, size > 0},
                               .nonportable = true,
                               CJ_ARGS(out, data, l->rounds, l->step)};
    cj_status        status = probe_write(kernel, shape, "sm_90a", &text, &length, error);
    if (!status) status = cj_module_from_ptx(device, text, length, &module, error);
    if (!status) status = cj_module_function(module, kernel->name, &config.function, error);
    if (!status) status = cj_mem_alloc(device, sizeof record, &out, error);
    if (!status) status = cj_mem_write(device, out, record, sizeof record, NULL, error);
    if (!status) status = cj_launch(device, &config, error);
    if (!status) status = cj_mem_read(device, record, out, sizeof record, NULL, error);
    *check = 0;
    for (uint32_t i = 0; i < l->blocks; i++) *check += record[i].check;
    cj_mem_free(device, out);
    cj_module_unload(module);
    cj_text_free(text);
    return status;
}

static void checked(const probe_figure *figure, const probe_kernel *kernel, probe_shape shape, probe_launch l,
                    cj_ptr data) {
    uint64_t  check, expected = kernel->expect(&shape, &l) & UINT32_MAX;
    cj_error  error = {0};
    cj_status status = launch(kernel, &shape, &l, data, &check, &error);
    if (status)
        fail_msg("%s, cluster %u, %u rounds, step %u: line %u: %s %s", figure->name, shape.cluster, l.rounds, l.step,
                 error.line, error.message, error.hint);
    if ((check & UINT32_MAX) != expected)
        fail_msg("%s, cluster %u, %u rounds, step %u: check %" PRIu64 ", not %" PRIu64, figure->name, shape.cluster,
                 l.rounds, l.step, check & UINT32_MAX, expected);
}

// The shape as it is launched here, where a block has `room` bytes of shared memory, if these are enough at all. What is
// walked in global memory is smaller, and so is what st.async moves: to the watch each of these stores is a party of its
// own.
static probe_shape small(const probe_figure *figure, uint32_t size, const probe_launch *l, uint64_t room) {
    probe_shape shape = figure->shape;
    shape.cluster = size;
    probe_fit(figure->kernel, &shape, room);
    if (figure->kernel == &probe_chase_global) shape.bytes = BYTES;
    if (figure->kernel == &probe_read_global) shape.bytes = (uint64_t)l->blocks * l->rounds * 64 * shape.threads;
    if (shape.op == PROBE_ST_ASYNC && shape.bytes) {
        shape.threads = 64;
        shape.bytes = shape.bytes > 32768 ? 2048 : 1024;
    }
    return shape;
}

// Two clusters.
static void run_figure(const probe_figure *figure, uint32_t size, uint32_t rounds, uint64_t room) {
    const probe_kernel *kernel = figure->kernel;
    probe_launch        l = {.blocks = size ? 2 * size : 2, .rounds = rounds, .step = size - 1};
    probe_shape         shape = small(figure, size, &l, room);
    cj_ptr              data = 0;
    cj_error            error = {0};
    uint64_t            bytes = kernel->data_bytes ? kernel->data_bytes(&shape, l.blocks) : 0;
    if (bytes) {
        cj_test_ok(cj_mem_alloc(device, bytes, &data, &error), &error);
        cj_test_ok(cj_mem_fill(device, data, kernel->fill, bytes, NULL, &error), &error);
    }
    if (kernel == &probe_chase_global) {
        probe_shape weave = {.threads = 64, .bytes = shape.bytes};
        checked(figure, &probe_weave, weave, (probe_launch){.blocks = 2, .rounds = BYTES / 128 / 128 + 1}, data);
    }
    checked(figure, kernel, shape, l, data);
    cj_mem_free(device, data);
}

static void every_kernel_moves_what_it_times(void **state) {
    uint64_t       seed = *(const uint64_t *)*state, random = seed;
    const unsigned largest = cj_test_few() ? 2 : seed ? 4 : PROBE_LARGEST;  // many blocks in a random order take long
    const uint64_t room = seed ? LITTLE_SHARED : UINT64_MAX;
    open_device(seed);
    for (size_t i = 0; i < probe_figure_count; i++) {
        const probe_figure *figure = &probe_figures[i];
        uint32_t            rounds = figure->kernel->least_rounds + (uint32_t)(cj_test_random(&random) % 3);
        if (!figure->sizes) run_figure(figure, 0, rounds, room);
        for (unsigned size = 1; size <= largest; size *= 2)
            if (figure->sizes & size) run_figure(figure, size, rounds, room);
    }
    cj_device_close(device);
}

int main(void) {
    uint64_t                fixed = 0, seed = cj_test_seed() | 1;
    const struct CMUnitTest tests[] = {
        {"every_kernel_moves_what_it_times", every_kernel_moves_what_it_times, NULL, NULL, &fixed},
        {"every_kernel_moves_what_it_times, random schedule", every_kernel_moves_what_it_times, NULL, NULL, &seed},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
