// SPDX-License-Identifier: Apache-2.0
// Several GPUs of the fake driver in one process: typed calls are launches alone, so that graphs hold them.
#include <clusterjit/gpus.h>

#include "cuda_rig.h"
#include "gpus_state.h"

enum { RANKS = 2, BYTES = 1 << 20 };

static cj_device *device[RANKS];
static cj_gpus   *gpus;
static cj_ptr     x[CJ_GPUS_MAX], y[CJ_GPUS_MAX], z[CJ_GPUS_MAX], w[CJ_GPUS_MAX], v[CJ_GPUS_MAX];

static cj_status call_run(const cj_stream *stream, cj_error *error) {
    const cj_gpus_desc desc = {CJ_INIT(desc), .count = 1000};
    return cj_gpus_run(gpus, &desc, x, y, stream, error);
}

// Straight into registered memory.
static cj_status call_registered(const cj_stream *stream, cj_error *error) {
    const cj_gpus_desc desc = {CJ_INIT(desc), .count = 1000, .memory = CJ_GPUS_MEMORY_REGISTERED};
    return cj_gpus_run(gpus, &desc, v, v, stream, error);
}

static cj_status call_norm(const cj_stream *stream, cj_error *error) {
    const cj_gpus_norm_desc   desc = {CJ_INIT(desc), .rows = 4, .columns = 64};
    const cj_gpus_norm_arrays arrays = {CJ_INIT(arrays), .x = x, .sum = y, .y = z};
    return cj_gpus_norm(gpus, &desc, &arrays, stream, error);
}

static cj_status call_crossentropy(const cj_stream *stream, cj_error *error) {
    const cj_gpus_crossentropy_desc   desc = {CJ_INIT(desc), .rows = 4, .columns = 64};
    const cj_gpus_crossentropy_arrays arrays = {CJ_INIT(arrays), .x = x, .label = w, .loss = y, .lse = z};
    return cj_gpus_crossentropy(gpus, &desc, &arrays, stream, error);
}

static cj_status call_softmax(const cj_stream *stream, cj_error *error) {
    const cj_gpus_softmax_desc desc = {CJ_INIT(desc), .rows = 4, .columns = 64};
    return cj_gpus_softmax(gpus, &desc, x, y, stream, error);
}

static cj_status call_topk(const cj_stream *stream, cj_error *error) {
    const cj_topk_desc desc = {CJ_INIT(desc), .rows = 4, .columns = 64, .k = 8};
    return cj_gpus_topk(gpus, &desc, x, y, z, stream, error);
}

static cj_status call_reduce(const cj_stream *stream, cj_error *error) {
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 1000};
    return cj_gpus_reduce(gpus, &desc, x, y, stream, error);
}

// Of more than a block takes: the kernel has a workspace, which nothing may allocate in a capture.
static cj_status call_large_reduce(const cj_stream *stream, cj_error *error) {
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 1 << 28};
    return cj_gpus_reduce(gpus, &desc, x, y, stream, error);
}

static cj_status call_large_histogram(const cj_stream *stream, cj_error *error) {
    const cj_histogram_desc desc = {CJ_INIT(desc), .n = 1 << 28, .bins = 1024};
    return cj_gpus_histogram(gpus, &desc, x, y, stream, error);
}

static cj_status call_large_topk(const cj_stream *stream, cj_error *error) {
    const cj_topk_desc desc = {CJ_INIT(desc), .rows = 1, .columns = 1 << 24, .k = 512};
    return cj_gpus_topk(gpus, &desc, x, y, z, stream, error);
}

static cj_status call_histogram(const cj_stream *stream, cj_error *error) {
    const cj_histogram_desc desc = {CJ_INIT(desc), .n = 1000};
    return cj_gpus_histogram(gpus, &desc, x, y, stream, error);
}

// In chunks, each rank's exchanges on a stream of the library's own, which the graph captures too.
static const cj_gpus_gemm_desc product = {CJ_INIT(product), .m = 256, .n = 64, .k = 64, .dtype = CJ_BF16, .chunks = 4};

static cj_status call_scatter(const cj_stream *stream, cj_error *error) {
    return cj_gpus_gemm_reduce_scatter(gpus, &product, x, y, z, stream, error);
}

static cj_status call_gather(const cj_stream *stream, cj_error *error) {
    return cj_gpus_all_gather_gemm(gpus, &product, x, y, z, stream, error);
}

typedef cj_status call(const cj_stream *stream, cj_error *error);

static call *const calls[] = {call_run, call_registered, call_norm, call_crossentropy, call_softmax, call_topk, call_reduce, call_large_reduce,
                              call_histogram, call_large_histogram, call_large_topk, call_scatter, call_gather};

static int start(void **state) {
    (void)state;
    cj_error error = {0};
    cj_ptr  *arrays[] = {x, y, z, w, v};
    cj_fake_reset();
    cj_fake_driver.gpu_count = RANKS;
    for (uint32_t r = 0; r < RANKS; r++) {
        char spec[16];
        snprintf(spec, sizeof spec, "gpu:%u", r);
        cj_test_ok(open_fake(spec, NULL, &device[r], &error), &error);
    }
    const cj_gpus_options multicast = {CJ_INIT(multicast), .multicast = true};
    assert_int_equal(cj_gpus_create(device, RANKS, &multicast, &gpus, &error), CJ_UNSUPPORTED);
    assert_non_null(strstr(error.message, "NVLink multicast is not used on GPUs"));
    cj_test_ok(cj_gpus_create(device, RANKS, NULL, &gpus, &error), &error);
    for (size_t i = 0; i < CJ_TEST_COUNT(arrays); i++) cj_test_ok(cj_gpus_alloc(gpus, BYTES, arrays[i], &error), &error);
    cj_test_ok(cj_gpus_register(gpus, v, BYTES, &error), &error);
    return 0;
}

static int stop(void **state) {
    (void)state;
    cj_ptr *arrays[] = {x, y, z, w, v};
    cj_test_ok(cj_gpus_unregister(gpus, v, NULL), NULL);
    for (size_t i = 0; i < CJ_TEST_COUNT(arrays); i++) cj_gpus_free(gpus, arrays[i]);
    cj_gpus_destroy(gpus);
    for (uint32_t r = 0; r < RANKS; r++) cj_device_close(device[r]);
    assert_int_equal(alive(), 0);
    return 0;
}

// What rank 0 does goes into the graph; rank 1 launches on its default stream.
static cj_status in_graph(void *user, cj_stream stream, cj_error *error) {
    const cj_stream streams[RANKS] = {stream, NULL};
    return (*(call **)user)(streams, error);
}

static void every_typed_call_can_be_captured_after_its_first(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        cj_error error = {0};
        double   milliseconds;
        call    *one = calls[i];
        cj_test_ok(calls[i](NULL, &error), &error);
        const int memory = cj_fake_driver.alive_memory, modules = cj_fake_driver.alive_modules;
        cj_test_ok(cj_time_graph(device[0], in_graph, &one, 2, &milliseconds, &error), &error);
        assert_int_equal(cj_fake_driver.alive_memory, memory);
        assert_int_equal(cj_fake_driver.alive_modules, modules);
    }
}

static void calls_that_are_repeated_allocate_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(calls); i++) {
        cj_error error = {0};
        cj_test_ok(calls[i](NULL, &error), &error);
        const int memory = cj_fake_driver.alive_memory, modules = cj_fake_driver.alive_modules;
        for (unsigned time = 0; time < 3; time++) cj_test_ok(calls[i](NULL, &error), &error);
        assert_int_equal(cj_fake_driver.alive_memory, memory);
        assert_int_equal(cj_fake_driver.alive_modules, modules);
    }
}

// The sides' launches are in the graph: 4 products and 4 exchanges of rank 0, and those of rank 1 beside it.
static void exchanges_are_captured_beside_their_products(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        cj_error error = {0};
        double   milliseconds;
        call    *one = i ? call_gather : call_scatter;
        cj_test_ok(one(NULL, &error), &error);
        const int before = cj_fake_driver.launches;
        cj_test_ok(cj_time_graph(device[0], in_graph, &one, 1, &milliseconds, &error), &error);
        assert_int_equal(cj_fake_driver.launches - before, 8 + 2 * 8);  // rank 1's at the capture; two replays of rank 0's
        assert_int_equal(cj_fake_driver.alive_streams, RANKS * (i + 1));
    }
}

// A persistent product leaves SMs to the exchange beside it.
static void products_leave_sms_to_their_exchanges(void **state) {
    (void)state;
    cj_error                error = {0};
    const cj_gpus_gemm_desc large = {CJ_INIT(large), .m = 2560, .n = 4096, .k = 64, .dtype = CJ_BF16, .chunks = 2};
    cj_fake_driver.active_clusters = 66;  // of 2 blocks, which is what the GPU holds
    cj_test_ok(cj_gpus_gemm_reduce_scatter(gpus, &large, x, y, z, NULL, &error), &error);
    const cj_plan *plan = cj_kernel_plan(gpus->product[0].kernel[0]);
    const uint32_t sms = cj_device_limits(device[0])->sm_count;
    assert_true(plan->grid.x <= sms - 16 && plan->grid.x > sms / 2);
}

// Each driver call of the first call with a description may fail: nothing is left over, and the next call works.
static void a_product_that_fails_leaves_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"cuStreamCreateWithPriority", "cuEventCreate", "cuMemAlloc", "cuModuleLoadDataEx",
                                        "cuStreamWaitEvent"};
    for (size_t i = 0; i < CJ_TEST_COUNT(names); i++) {
        cj_error  error = {0};
        const int memory = cj_fake_driver.alive_memory, streams = cj_fake_driver.alive_streams, events = cj_fake_driver.alive_events;
        const bool is_made = !strcmp(names[i], "cuStreamWaitEvent");  // the product is whole, and the call fails
        cj_fake_fail(names[i], 2);
        assert_int_equal(call_scatter(NULL, &error), CJ_OUT_OF_MEMORY);
        assert_contains(error.message, names[i]);
        cj_fake_fail("", 0);
        assert_true(is_made || (cj_fake_driver.alive_memory == memory && cj_fake_driver.alive_streams == streams &&
                                cj_fake_driver.alive_events == events));
    }
    cj_error error = {0};
    cj_test_ok(call_scatter(NULL, &error), &error);
}

// Two ranks of one GPU: their launches wait for each other, so they need two streams.
static void ranks_of_one_gpu_need_streams_of_their_own(void **state) {
    (void)state;
    cj_error           error = {0};
    cj_device *const   shared[RANKS] = {device[0], device[0]};
    const cj_stream    alike[RANKS] = {(cj_stream)8, (cj_stream)8}, own[RANKS] = {(cj_stream)8, (cj_stream)16};
    const cj_gpus_desc desc = {CJ_INIT(desc), .count = 1000};
    cj_gpus           *both = NULL;
    cj_test_ok(cj_gpus_create(shared, RANKS, NULL, &both, &error), &error);
    const int before = cj_fake_driver.launches;
    assert_int_equal(cj_gpus_run(both, &desc, x, y, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_contains(error.message, "launches 0 and 1 beside each other are on one stream of one GPU");
    assert_int_equal(cj_gpus_run(both, &desc, x, y, alike, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(cj_fake_driver.launches, before);
    cj_test_ok(cj_gpus_run(both, &desc, x, y, own, &error), &error);
    assert_int_equal(cj_fake_driver.launches, before + RANKS);
    cj_gpus_destroy(both);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(exchanges_are_captured_beside_their_products, start, stop),
        cmocka_unit_test_setup_teardown(products_leave_sms_to_their_exchanges, start, stop),
        cmocka_unit_test_setup_teardown(a_product_that_fails_leaves_nothing, start, stop),
        cmocka_unit_test_setup_teardown(ranks_of_one_gpu_need_streams_of_their_own, start, stop),
        cmocka_unit_test_setup_teardown(every_typed_call_can_be_captured_after_its_first, start, stop),
        cmocka_unit_test_setup_teardown(calls_that_are_repeated_allocate_nothing, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
