// SPDX-License-Identifier: Apache-2.0
// Every call of the driver failing, in a life that makes each of them: the first time, the last, from then on, and with
// each code that a driver is known to give. What is asked of the library: an error that names the call, or what the
// table of silent calls says; nothing left over; and the same life again, on the same device once the fault has passed.
#define _POSIX_C_SOURCE 200809L
#include <clusterjit/clusterjit.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda_peer.h"
#include "cuda_rig.h"

static const struct {
    int       code;
    cj_status status;
} codes[] = {{1, CJ_DRIVER},     {2, CJ_OUT_OF_MEMORY}, {3, CJ_DRIVER},   {34, CJ_NO_DEVICE},
             {200, CJ_COMPILER}, {209, CJ_COMPILER},    {218, CJ_COMPILER}, {222, CJ_COMPILER},
             {700, CJ_DRIVER},   {719, CJ_DRIVER},      {720, CJ_DRIVER}, {912, CJ_DRIVER}};

// Calls whose failure is not reported, and why. SOMETIMES: it is, where another call of the same name is what matters.
static const struct silence {
    const char *call;
    enum { NEVER_REPORTED, SOMETIMES } how;
    bool        loses;  // what it was to release is lost with it, one thing a failure
    const char *why;
} silences[] = {
    {"cuGetErrorName", NEVER_REPORTED, false, "the library has names of its own"},
    {"cuGetErrorString", NEVER_REPORTED, false, "the code and the hint say enough"},
    {"cuLinkCreate", NEVER_REPORTED, false, "without an image to keep, the text is loaded"},
    {"cuLinkAddData", NEVER_REPORTED, false, "likewise"},
    {"cuLinkComplete", NEVER_REPORTED, false, "likewise"},
    {"cuLinkDestroy", NEVER_REPORTED, true, "a release has no one to tell"},
    {"cuMemFree", NEVER_REPORTED, true, "likewise"},
    {"cuModuleUnload", NEVER_REPORTED, true, "likewise"},
    {"cuEventDestroy", NEVER_REPORTED, true, "likewise"},
    {"cuGraphExecDestroy", NEVER_REPORTED, true, "likewise"},
    {"cuGraphDestroy", NEVER_REPORTED, true, "likewise"},
    {"cuStreamDestroy", NEVER_REPORTED, true, "likewise"},
    {"cuIpcCloseMemHandle", NEVER_REPORTED, true, "likewise"},
    {"cuDevicePrimaryCtxRelease", NEVER_REPORTED, true, "likewise"},
    {"cuCtxPopCurrent", NEVER_REPORTED, false, "it repeats the fault of an earlier kernel, which the next wait tells"},
    {"cuCtxGetCurrent", SOMETIMES, true, "before a release: the context is gone, and with it what is in it"},
    {"cuCtxPushCurrent", SOMETIMES, true, "likewise"},
    {"cuModuleLoadDataEx", SOMETIMES, false, "of an image: the text is loaded instead"},
    {"cuStreamEndCapture", SOMETIMES, false, "the captured work's own error comes first"},
};

static const struct silence *silence_of(const char *call) {
    for (size_t i = 0; i < CJ_TEST_COUNT(silences); i++) {
        if (!strcmp(silences[i].call, call)) return &silences[i];
    }
    return NULL;
}

// ---- a life, in steps that each clean up after themselves

static cj_device *device;  // NULL while it is being opened

static cj_status open_device(cj_error *error) {
    cj_device *opened = NULL;
    cj_status  status = open_fake("gpu", NULL, &opened, error);
    if (!status) device = opened;
    return status;
}

static cj_status use_memory(cj_error *error) {
    uint64_t  there = 7, back = 0;
    cj_ptr    memory = 0;
    cj_status status = cj_mem_alloc(device, sizeof there, &memory, error);
    if (!status) status = cj_mem_fill(device, memory, 0, sizeof there, NULL, error);
    if (!status) status = cj_mem_write(device, memory, &there, sizeof there, NULL, error);
    if (!status) status = cj_mem_read(device, &back, memory, sizeof back, NULL, error);
    if (!status) status = cj_synchronize(device, NULL, error);
    if (!status) assert_int_equal(back, there);
    cj_mem_free(device, memory);
    return status;
}

static cj_status borrow_context(cj_error *error) {
    void      *context = cj_fake_context_create();
    cj_device *borrower = NULL;
    cj_status  status = open_fake("gpu", context, &borrower, error);
    cj_device_close(borrower);
    cj_fake_context_destroy(context);
    return status;
}

static cj_status get_function(cj_module **module, cj_function **function, cj_error *error) {
    cj_status status = cj_module_get(device, kernel, sizeof kernel - 1, module, error);
    return status ? status : cj_module_function(*module, "k", function, error);
}

static cj_status launch_attributes(cj_function *function, cj_error *error) {
    uint64_t               out = 0;
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {32, 1, 1},
                                     .block = {64, 1, 1},
                                     .cluster = {16, 1, 1},
                                     .dynamic_shared = 100 << 10,
                                     .nonportable = true,
                                     .attributes = {.cluster_scheduling = CJ_CLUSTER_SCHEDULING_SPREAD,
                                                    .programmatic = true,
                                                    .priority = -1,
                                                    .sync_domain = CJ_SYNC_DOMAIN_REMOTE},
                                     CJ_ARGS(out)};
    return cj_launch(device, &config, error);
}

static cj_status launch_cooperative(cj_function *function, cj_error *error) {
    uint64_t               out = 0;
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = function,
                                     .grid = {4, 1, 1},
                                     .block = {64, 1, 1},
                                     .attributes = {.cooperative = true},
                                     CJ_ARGS(out)};
    return cj_launch(device, &config, error);
}

static cj_status ask_occupancy(cj_function *function, cj_error *error) {
    const cj_occupancy_query query = {CJ_INIT(query), .block = {128, 1, 1}, .cluster = {4, 1, 1}};
    cj_cluster_occupancy     occupancy = {CJ_INIT(occupancy)};
    uint32_t                 largest = 0;
    cj_status                status = cj_function_occupancy(function, &query, &occupancy, error);
    return status ? status : cj_function_max_cluster(function, &query, &largest, error);
}

// Compiles and keeps the image the first time, loads it from the disk the second.
static cj_status use_module(cj_error *error) {
    cj_status status = CJ_OK;
    for (int i = 0; i < 2 && !status; i++) {
        cj_module   *module = NULL;
        cj_function *function = NULL;
        status = get_function(&module, &function, error);
        if (!status) status = launch_attributes(function, error);
        if (!status) status = launch_cooperative(function, error);
        if (!status) status = ask_occupancy(function, error);
        if (!status) status = cj_module_global(module, "counter", NULL, NULL, error);
        cj_module_release(module);
    }
    return status;
}

static cj_status call_reduce(cj_stream stream, cj_error *error) {
    const cj_reduce_desc desc = {CJ_INIT(desc), .n = 1000};
    return cj_reduce_launch(device, &desc, 4096, 8192, stream, error);
}

static cj_status reduce(cj_error *error) { return call_reduce(NULL, error); }

static cj_status timed(void *user, cj_error *error) { return call_reduce(user, error); }

static cj_status use_time(cj_error *error) {
    double milliseconds;
    return cj_time(device, NULL, timed, NULL, &milliseconds, error);
}

// A kernel of its own, for one that is made in a capture would wait in it.
static cj_status captured(void *user, cj_stream stream, cj_error *error) {
    cj_ptr    x = 4096, out = 8192;
    uint64_t  n = 1000;
    void     *arguments[] = {&x, &out, &n};
    return cj_kernel_launch(user, stream, arguments, 3, error);
}

static cj_status use_graph(cj_error *error) {
    const cj_family *family;
    cj_params        params;
    cj_kernel       *made = NULL;
    double           milliseconds;
    cj_test_ok(cj_family_find("reduce", &family, error), error);
    cj_params_init(&params, family);
    cj_status status = cj_kernel_create(device, &params, &made, error);
    if (!status) status = cj_time_graph(device, captured, made, 3, &milliseconds, error);
    cj_kernel_destroy(made);
    return status;
}

static cj_status wait_in_capture(void *user, cj_stream stream, cj_error *error) {
    return cj_synchronize(user, stream, error);
}

// The driver's own refusal, without any fault: OK where it is that one.
static cj_status be_refused(cj_error *error) {
    enum { CAPTURE_UNSUPPORTED = 900 };
    double    milliseconds;
    cj_status status = cj_time_graph(device, wait_in_capture, device, 1, &milliseconds, error);
    assert_int_not_equal(status, CJ_OK);
    return error->driver_code == CAPTURE_UNSUPPORTED ? CJ_OK : status;
}

static cj_status encode_maps(cj_error *error) {
    const uint64_t dims[] = {64, 32, 8}, strides[] = {256, 8192};
    const uint32_t box[] = {8, 4, 1}, steps[] = {1, 1, 1};
    const int32_t  lower[] = {0}, upper[] = {0};
    cj_tensormap   map;
    cj_status      status = cj_tensormap_encode_tiled(
        device, &map, CJ_TENSORMAP_F32, 3, 4096, dims, strides, box, steps, CJ_TENSORMAP_INTERLEAVE_NONE,
        CJ_TENSORMAP_SWIZZLE_NONE, CJ_TENSORMAP_L2_NONE, CJ_TENSORMAP_FILL_ZEROS, error);
    if (status) return status;
    return cj_tensormap_encode_im2col(device, &map, CJ_TENSORMAP_F32, 3, 4096, dims, strides, lower, upper, 8, 4, steps,
                                      CJ_TENSORMAP_INTERLEAVE_NONE, CJ_TENSORMAP_SWIZZLE_NONE, CJ_TENSORMAP_L2_NONE,
                                      CJ_TENSORMAP_FILL_ZEROS, error);
}

static cj_status use_peer(cj_error *error) { return reach_a_peer(device, error); }

static cj_status (*const steps[])(cj_error *error) = {open_device, use_memory, borrow_context, use_module,  reduce,
                                                      use_time,    be_refused, use_graph,      encode_maps, use_peer};

// ---- faults

typedef struct fault {
    const char *call;  // NULL: none
    unsigned    from, to;
    int         code;
    cj_status   status;
} fault;

// What it says, where it fails.
static void check_error(const fault *f, cj_status status, const cj_error *error) {
    const struct silence *silence = silence_of(f->call);
    if (status != f->status || error->status != status || error->driver_code != f->code)
        fail_msg("%s, code %d: status %s, driver_code %d: %s", f->call, f->code, cj_status_name(status),
                 error->driver_code, error->message);
    assert_contains(error->message, f->call);
    assert_true(error->hint[0]);
    if (silence && silence->how == NEVER_REPORTED) fail_msg("%s is reported: %s", f->call, error->message);
}

// Whether it went well, the second time where the fault has passed.
static bool attempt(cj_status (*step)(cj_error *error), const fault *f, unsigned *failed) {
    cj_error  error = {0}, again = {0};
    cj_status status = step(&error);
    if (!status) return true;
    ++*failed;
    if (!f->call) cj_test_ok(status, &error);
    check_error(f, status, &error);
    if (cj_fake_calls(f->call) < f->to) return false;
    cj_test_ok(step(&again), &again);
    return true;
}

// How many steps failed.
static unsigned live(const fault *f) {
    uint64_t entries, bytes;
    unsigned failed = 0;
    cj_fake_reset();
    cj_fake_driver.failing = f->call;
    cj_fake_driver.from = f->from;
    cj_fake_driver.to = f->to;
    cj_fake_driver.code = f->code;
    if (attempt(steps[0], f, &failed)) {
        for (size_t i = 1; i < CJ_TEST_COUNT(steps); i++) attempt(steps[i], f, &failed);
        cj_device_close(device);
    }
    device = NULL;
    cj_test_ok(cj_cache_clear(&entries, &bytes, NULL), NULL);
    assert_int_equal(cj_fake_driver.damaged_images, 0);
    return failed;
}

static void live_well(void) {
    const fault none = {0};
    live(&none);
    assert_int_equal(alive(), 0);
    assert_null(cj_fake_context_current());
}

static void live_with(const fault *f) {
    const struct silence *silence = silence_of(f->call);
    const unsigned        failed = live(f), times = cj_fake_calls(f->call);
    const unsigned        happened = times < f->from ? 0 : (times < f->to ? times : f->to) - f->from + 1;
    assert_true(happened > 0);
    if (!failed && (!silence || (silence->how == SOMETIMES && f->from == 1 && f->to > times)))
        fail_msg("%s, code %d, from %u to %u: nothing was reported", f->call, f->code, f->from, f->to);
    const int lost = silence && silence->loses ? (int)happened : 0;
    if (alive() < 0 || alive() > lost)
        fail_msg("%s, code %d, from %u to %u: %d left over, where at most %d may be", f->call, f->code, f->from, f->to,
                 alive(), lost);
}

// How often a healthy life makes each call.
static void count_calls(unsigned *count) {
    bool        optional;
    const char *call;
    live_well();
    for (size_t i = 0; (call = cj_fake_symbol(i, &optional)) != NULL; i++) count[i] = cj_fake_calls(call);
}

enum { CALLS_MAX = 80 };

static void a_life_makes_every_call(void **state) {
    (void)state;
    unsigned    count[CALLS_MAX] = {0};
    bool        optional;
    const char *call;
    count_calls(count);
    for (size_t i = 0; (call = cj_fake_symbol(i, &optional)) != NULL; i++) {
        assert_true(i < CALLS_MAX);
        if (!count[i]) fail_msg("no step of the life makes %s", call);
    }
    for (size_t i = 0; i < CJ_TEST_COUNT(silences); i++) assert_true(cj_fake_calls(silences[i].call) > 0);
}

static void every_call_fails_first_last_and_for_good_with_every_code(void **state) {
    (void)state;
    unsigned    count[CALLS_MAX] = {0};
    bool        optional;
    const char *call;
    count_calls(count);
    for (size_t i = 0; (call = cj_fake_symbol(i, &optional)) != NULL; i++) {
        for (size_t c = 0; c < CJ_TEST_COUNT(codes); c++) {
            const fault first = {call, 1, 1, codes[c].code, codes[c].status};
            fault       last = first, all = first;
            last.from = last.to = count[i];
            all.to = UINT32_MAX;
            live_with(&first);
            if (count[i] > 1) live_with(&last);
            live_with(&all);
        }
        live_well();
    }
}

static void every_call_fails_each_time_that_it_is_made(void **state) {
    (void)state;
    unsigned    count[CALLS_MAX] = {0};
    bool        optional;
    const char *call;
    count_calls(count);
    for (size_t i = 0; (call = cj_fake_symbol(i, &optional)) != NULL; i++) {
        for (unsigned n = 1; n <= count[i]; n++) {
            const fault once = {call, n, n, 719, CJ_DRIVER}, on = {call, n, UINT32_MAX, 719, CJ_DRIVER};
            live_with(&once);
            live_with(&on);
        }
        live_well();
    }
}

// ---- the cache's directory, and silence

static char directory[] = "/tmp/cj-faults-XXXXXX";

static void hear_nothing(void *user, cj_log_level level, const char *message) {
    (void)user, (void)level, (void)message;
}

static int start(void **state) {
    (void)state;
    cj_log_set(hear_nothing, NULL);
    return !mkdtemp(directory) || setenv("CLUSTERJIT_CACHE_DIR", directory, 1);
}

static int finish(void **state) {
    (void)state;
    char command[64];
    cj_fake_reset();
    cj_log_set(NULL, NULL);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_life_makes_every_call),
        cmocka_unit_test(every_call_fails_first_last_and_for_good_with_every_code),
        cmocka_unit_test(every_call_fails_each_time_that_it_is_made),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
