// SPDX-License-Identifier: Apache-2.0
// Many all-reduces of random sizes on two streams of each GPU, beside matrix products on a third: through mail, in pieces and straight into
// registered memory, each compared with the model. On a machine without a GPU the CPU device plays 2 and 4 of them, and does fewer.
//
//     CJ_TURNS=10000 build/dev/tests/test_gpu_gpus_stress   # as many on GPUs; 10000 is their default
#include <clusterjit/clusterjit.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streams.h"
#include "test.h"

enum { STREAMS = 2, COUNT = 1 << 15, BYTES = 4 * COUNT, PRODUCT = 256, TURNS_GPU = 10000, TURNS_CPU = 60, CHECKED = 32 };

// Blocks of a launch: those of both streams are on a GPU at once, so that none waits for a peer's that cannot begin.
enum { GRID_MOST = 32 };

static cj_device *device[CJ_GPUS_MAX];
static uint32_t   count;   // GPUs
static bool       is_cpu;
static cj_stream  stream[STREAMS + 1][CJ_GPUS_MAX];  // the last ones are those of products

// ---- GPUs and streams

static void open_gpus(void) {
    for (; count < CJ_GPUS_MAX; count++) {
        char spec[16];
        snprintf(spec, sizeof spec, "gpu:%u", count);
        const cj_device_options options = {CJ_INIT(options), .spec = spec};
        if (cj_device_open(&options, &device[count], NULL)) break;
    }
    if (count < 2) return;
    for (uint32_t r = 0; r < count; r++) {
        cj_stream *const to[] = {&stream[0][r], &stream[1][r], &stream[2][r]};
        if (!cj_test_streams(r, to, STREAMS + 1)) cj_test_skip("libcuda.so.1 makes no stream");
    }
}

static void open_cpus(void) {
    cj_error                error = {0};
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    cj_cpu_options          watch = {CJ_INIT(watch), .hazards = true, .instruction_limit = 400 * 1000 * 1000};
    if (count) cj_device_close(device[0]);
    for (is_cpu = true, count = 0; count < 4; count++) {
        cj_test_ok(cj_device_open(&options, &device[count], &error), &error);
        cj_test_ok(cj_cpu_configure(device[count], &watch, &error), &error);
    }
}

// ---- the work

// A cj_gpus has one stream at a time, so each of the two has its own, with its own mail and memory.
typedef struct lane {
    cj_gpus *gpus;
    cj_ptr   x[CJ_GPUS_MAX], out[CJ_GPUS_MAX];
    unsigned number;
} lane;

// Whole numbers below 2^12, whose sums are exact in f32 and in any order.
static float value_of(unsigned number, uint32_t rank, uint64_t at) { return (float)((at * 7 + rank * 131 + number * 17) % 4093); }

static void open_lane(lane *l, unsigned number, uint32_t many) {
    static float          host[COUNT];
    cj_error              error = {0};
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = 64 << 10};
    l->number = number;
    cj_test_ok(cj_gpus_create(device, many, &options, &l->gpus, &error), &error);
    cj_test_ok(cj_gpus_alloc(l->gpus, BYTES, l->x, &error), &error);
    cj_test_ok(cj_gpus_alloc(l->gpus, BYTES, l->out, &error), &error);
    for (uint32_t r = 0; r < many; r++) {
        for (uint64_t i = 0; i < COUNT; i++) host[i] = value_of(number, r, i);
        cj_test_ok(cj_mem_write(device[r], l->x[r], host, BYTES, NULL, &error), &error);
        cj_test_ok(cj_mem_fill(device[r], l->out[r], 0, BYTES, NULL, &error), &error);
        cj_test_ok(cj_synchronize(device[r], NULL, &error), &error);
    }
    cj_test_ok(cj_gpus_register(l->gpus, l->x, BYTES, &error), &error);
    cj_test_ok(cj_gpus_register(l->gpus, l->out, BYTES, &error), &error);
}

static void close_lane(lane *l) {
    cj_error error = {0};
    cj_test_ok(cj_gpus_unregister(l->gpus, l->out, &error), &error);
    cj_test_ok(cj_gpus_unregister(l->gpus, l->x, &error), &error);
    cj_gpus_free(l->gpus, l->out);
    cj_gpus_free(l->gpus, l->x);
    cj_gpus_destroy(l->gpus);
}

// One of few sizes around boundaries, as each has kernels of its own: 1 to COUNT elements.
static uint64_t draw_count(uint64_t *random) {
    static const uint64_t counts[] = {1, 3, 4, 255, 256, 1000, 1023, 2048, 2052, 4096, 8191, 8192, 16384, 30000, COUNT};
    return counts[cj_test_random(random) % (is_cpu ? 10 : CJ_TEST_COUNT(counts))];
}

static cj_gpus_desc run_one(lane *l, uint64_t *random) {
    cj_error     error = {0};
    cj_gpus_desc sum = {CJ_INIT(sum), .count = draw_count(random)};
    sum.grid = 1 + (uint32_t)(cj_test_random(random) % GRID_MOST);
    sum.memory = (cj_gpus_memory)(cj_test_random(random) % 3);
    if (sum.memory == CJ_GPUS_MEMORY_MAIL && sum.count <= 1024) sum.shots = (uint32_t)(cj_test_random(random) % 3);
    cj_test_ok(cj_gpus_run(l->gpus, &sum, l->x, l->out, is_cpu ? NULL : stream[l->number], &error), &error);
    return sum;
}

static void check_lane(const lane *l, const cj_gpus_desc *last) {
    static float   found[COUNT];
    cj_error       error = {0};
    const uint32_t many = cj_gpus_count(l->gpus);
    for (uint32_t r = 0; r < many; r++) {
        cj_test_ok(cj_synchronize(device[r], is_cpu ? NULL : stream[l->number][r], &error), &error);
        cj_test_ok(cj_mem_read(device[r], found, l->out[r], last->count * 4, is_cpu ? NULL : stream[l->number][r], &error), &error);
        for (uint64_t i = 0; i < last->count; i++) {
            float want = 0;
            for (uint32_t q = 0; q < many; q++) want += value_of(l->number, q, i);
            if (found[i] != want)
                fail_msg("element %" PRIu64 " of %" PRIu64 " of GPU %" PRIu32 " of %" PRIu32 " is %g, not %g (memory %d, stream %u)", i, last->count,
                         r, many, (double)found[i], (double)want, (int)last->memory, l->number);
        }
    }
    cj_test_ok(cj_gpus_check(l->gpus, &error), &error);
}

// A product on each GPU's third stream, whose result nobody reads: it takes SMs from the collectives.
static void multiply(uint32_t many, const cj_ptr *matrix) {
    const cj_gemm_desc desc = {CJ_INIT(desc), .m = PRODUCT, .n = PRODUCT, .k = PRODUCT, .dtype = CJ_BF16};
    for (uint32_t r = 0; r < many; r++) {
        cj_error               error = {0};
        const cj_gemm_operands operands = {CJ_INIT(operands), .a = matrix[r], .b = matrix[r] + 2 * PRODUCT * PRODUCT,
                                           .d = matrix[r] + 4 * PRODUCT * PRODUCT, .alpha = 1};
        cj_test_ok(cj_gemm_launch(device[r], &desc, &operands, stream[STREAMS][r], &error), &error);
    }
}

static void turn_all(uint32_t many, unsigned turns, uint64_t *random) {
    lane         lanes[STREAMS];
    cj_gpus_desc last[STREAMS];
    cj_ptr       matrix[CJ_GPUS_MAX];
    cj_error     error = {0};
    for (unsigned s = 0; s < STREAMS; s++) open_lane(&lanes[s], s, many);
    cj_test_ok(cj_gpus_alloc(lanes[0].gpus, 6 * PRODUCT * PRODUCT, matrix, &error), &error);
    for (uint32_t r = 0; r < many; r++) cj_test_ok(cj_mem_fill(device[r], matrix[r], 0, 6 * PRODUCT * PRODUCT, NULL, &error), &error);
    for (unsigned turn = 0; turn < turns; turn++) {
        for (unsigned s = 0; s < STREAMS; s++) last[s] = run_one(&lanes[s], random);
        if (!is_cpu && turn % 3 == 0) multiply(many, matrix);
        for (unsigned s = 0; s < STREAMS && (is_cpu || turn % CHECKED == 0 || turn + 1 == turns); s++) check_lane(&lanes[s], &last[s]);
    }
    for (uint32_t r = 0; r < many; r++) cj_test_ok(cj_synchronize(device[r], stream[STREAMS][r], &error), &error);
    cj_gpus_free(lanes[0].gpus, matrix);
    for (unsigned s = 0; s < STREAMS; s++) close_lane(&lanes[s]);
}

static void all_reduces_of_random_sizes_on_two_streams_beside_products(void **state) {
    (void)state;
    const char    *given = getenv("CJ_TURNS");
    const unsigned turns = given ? (unsigned)strtoul(given, NULL, 10) : is_cpu ? TURNS_CPU : cj_test_few() ? TURNS_GPU / 20 : TURNS_GPU;
    uint64_t       random = cj_test_seed();
    for (uint32_t many = 2; many <= count; many *= 2) turn_all(many, turns, &random);
}

int main(void) {
    open_gpus();
    if (count < 2) open_cpus();
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_reduces_of_random_sizes_on_two_streams_beside_products)};
    const int               failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (uint32_t r = 0; r < count; r++) cj_device_close(device[r]);
    return failed;
}
