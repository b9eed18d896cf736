// SPDX-License-Identifier: Apache-2.0
// The heap of device malloc and free: random sequences against a model, its limit, what is left in it, and the threads of the
// host that work on it at once.
#include "kernel.h"

#define DECLARE ".extern .func (.param .b64 r) malloc (.param .b64 n);\n.extern .func free (.param .b64 p);\n"
#define MALLOC(result, bytes)                                                                                      \
    "    { .param .b64 p; .param .b64 r; st.param.b64 [p], " bytes "; call (r), malloc, (p); ld.param.b64 " result \
    ", [r]; }\n"
#define FREE(pointer) "    { .param .b64 p; st.param.b64 [p], " pointer "; call free, (p); }\n"

// Each thread's two words: bytes to allocate or 0, then what to free or 0; the address comes into the first. It writes its
// number into the first and last byte.
static const char step[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n" DECLARE ".visible .entry kernel(.param .u64 out)\n{\n" OPEN
    "    add.u64 %at, %at, %at;\n    sub.u64 %at, %at, %out;\n"
    "    ld.global.u64 %l1, [%at];\n    ld.global.u64 %l2, [%at+8];\n" FREE(
        "%l2") "    setp.eq.u64 %p1, %l1, 0;\n    @%p1 ret;\n" MALLOC("%l3",
                                                                      "%l1") "    st.global.u64 [%at], %l3;\n    "
                                                                             "setp.eq.u64 %p1, %l3, 0;\n    @%p1 ret;\n"
                                                                             "    st.u8 [%l3], %thread;\n    add.u64 "
                                                                             "%l4, %l3, %l1;\n    st.u8 [%l4+-1], "
                                                                             "%thread;\n    ret;\n}\n";

static cj_device   *device;
static cj_module   *module;
static cj_function *function;
static cj_ptr       memory;

static void open_with(cj_cpu_options options) {
    cj_error error = {0};
    cpu_options = options;
    device = open_cpu();
    cj_test_ok(cj_module_from_ptx(device, step, sizeof step - 1, &module, &error), &error);
    cj_test_ok(cj_module_function(module, "kernel", &function, &error), &error);
    cj_test_ok(cj_mem_alloc(device, RESULTS * 8, &memory, &error), &error);
}

static void close_all(void) {
    cj_mem_free(device, memory);
    cj_module_unload(module);
    cj_device_close(device);
}

static cj_status launch(uint64_t *words, unsigned grid, unsigned block, cj_error *error) {
    cj_test_ok(cj_mem_write(device, memory, words, RESULTS * 8, NULL, error), error);
    const cj_launch_config config = {CJ_INIT(config), .function = function, .grid = {grid, 1, 1},
                                     .block = {block, 1, 1}, CJ_ARGS(memory)};
    const cj_status status = cj_launch(device, &config, error);
    cj_test_ok(cj_mem_read(device, words, memory, RESULTS * 8, NULL, error), error);
    return status;
}

static cj_cpu_heap_state heap(void) {
    cj_cpu_heap_state state = {CJ_INIT(state)};
    cj_error          error = {0};
    cj_test_ok(cj_cpu_heap_read(device, &state, &error), &error);
    return state;
}

// ---- one thread after another, against a model

typedef struct model {
    uint64_t address[64], bytes[64];
    size_t   count;
    uint64_t used;
} model;

static void expect_apart(const model *m, uint64_t address, uint64_t bytes) {
    assert_int_equal(address % 16, 0);
    for (size_t i = 0; i < m->count; i++)
        if (address < m->address[i] + m->bytes[i] && m->address[i] < address + bytes)
            fail_msg("%llu bytes at 0x%llx overlap block %zu", (unsigned long long)bytes, (unsigned long long)address,
                     i);
}

static void expect_blocks(const model *m) {
    const cj_cpu_heap_block *block;
    uint64_t                 used = 0, before = 0;
    size_t                   count = 0;
    for (; (block = cj_cpu_heap_at(device, count)); count++) {
        size_t i = 0;
        while (i < m->count && m->address[i] != block->address) i++;
        assert_true(i < m->count && m->bytes[i] == block->bytes && block->address > before && block->line > 0);
        used += block->bytes;
        before = block->address;
    }
    assert_int_equal(count, m->count);
    assert_int_equal(used, m->used);
    assert_int_equal(heap().blocks, m->count);
    assert_int_equal(heap().used, m->used);
}

static void blocks_are_those_of_a_model(void **state) {
    (void)state;
    static uint64_t words[RESULTS];
    uint64_t        random = cj_test_seed();
    model           m = {.count = 0};
    unsigned        refused = 0;
    open_with((cj_cpu_options){CJ_INIT(cj_cpu_options), .hazards = true, .heap_bytes = 1 << 16});
    for (unsigned n = 0; n < 600; n++) {
        cj_error error = {0};
        memset(words, 0, 16);
        if (m.count && cj_test_random(&random) % 2) {
            const size_t gone = cj_test_random(&random) % m.count;
            words[1] = m.address[gone];
            m.used -= m.bytes[gone];
            m.address[gone] = m.address[--m.count];
            m.bytes[gone] = m.bytes[m.count];
        }
        if (m.count < 64 && cj_test_random(&random) % 4)
            words[0] = 1 + (cj_test_random(&random) & 0x3fff) % (1u << cj_test_random(&random) % 15);
        const uint64_t bytes = words[0];
        cj_test_ok(launch(words, 1, 1, &error), &error);
        refused += bytes && !words[0];
        if (bytes && !words[0]) assert_true(m.used + bytes > 1 << 14);  // a quarter: blocks are scattered
        if (bytes && words[0]) {
            expect_apart(&m, words[0], bytes);
            m.address[m.count] = words[0];
            m.bytes[m.count++] = bytes;
            m.used += bytes;
        }
        expect_blocks(&m);
    }
    assert_int_equal(heap().refused, refused);
    assert_true(refused > 0 && heap().most <= 1 << 16);
    close_all();
}

// ---- threads at once

static void serve_threads(bool hazards) {
    enum { GRID = 32, BLOCK = 64, THREADS = GRID * BLOCK };
    static uint64_t words[RESULTS];
    memset(words, 0, sizeof words);
    open_with((cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 4, .hazards = hazards});
    for (unsigned round = 0; round < 20; round++) {
        cj_error error = {0};
        for (unsigned t = 0; t < THREADS; t++) {
            words[2 * t + 1] = round ? words[2 * t] : 0;  // what it got in the round before
            words[2 * t] = 1 + (t * 37 + round * 101) % 300;
        }
        cj_test_ok(launch(words, GRID, BLOCK, &error), &error);
        for (unsigned t = 0; t < THREADS; t++) assert_true(words[2 * t] != 0);
        assert_int_equal(heap().blocks, THREADS);
    }
    for (unsigned t = 0; t < THREADS; t++) {
        words[2 * t + 1] = words[2 * t];
        words[2 * t] = 0;
    }
    cj_error error = {0};
    cj_test_ok(launch(words, GRID, BLOCK, &error), &error);
    assert_int_equal(heap().blocks, 0);
    assert_int_equal(heap().used, 0);
    assert_int_equal(heap().refused, 0);
    assert_int_equal(heap().allocations, 20 * THREADS);
    close_all();
}

static void threads_of_the_host_get_blocks_of_their_own(void **state) {
    (void)state;
    serve_threads(false);
}

// What one thread frees another one gets, and nothing orders them but the heap: no race.
static void watched_threads_get_blocks_of_their_own(void **state) {
    (void)state;
    serve_threads(true);
}

static void a_heap_with_blocks_keeps_its_size(void **state) {
    (void)state;
    static uint64_t words[RESULTS] = {100};
    cj_error        error = {0};
    cj_ptr          block;
    open_with((cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1});
    assert_int_equal(heap().limit, 8 << 20);
    cj_test_ok(cj_cpu_configure(device, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .heap_bytes = 1000}, &error),
               &error);
    assert_int_equal(heap().limit, 1008);
    cj_test_ok(launch(words, 1, 1, &error), &error);
    block = words[0];
    assert_int_equal(cj_cpu_configure(device, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .heap_bytes = 2000}, &error),
                     CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "the heap of 1008 bytes holds 1 blocks"));
    assert_int_equal(cj_mem_read(device, words, block, 8, NULL, &error), CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "of the heap of kernels"));
    words[0] = 0, words[1] = block;
    cj_test_ok(launch(words, 1, 1, &error), &error);
    cj_test_ok(cj_cpu_configure(device, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .heap_bytes = 2000}, &error),
               &error);
    assert_int_equal(heap().limit, 2000);
    assert_int_equal(
        cj_cpu_configure(device, &(cj_cpu_options){CJ_INIT(cj_cpu_options), .heap_bytes = 1ull << 40}, &error),
        CJ_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "the most is 34359738368"));
    close_all();
}

// A pointer of one launch is good in the next; one that was freed is not, and neither is another kernel's allocation.
static void misuse_across_launches_is_found(void **state) {
    (void)state;
    static uint64_t words[RESULTS];
    cj_error        error = {0};
    open_with((cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1});
    words[0] = 40;
    cj_test_ok(launch(words, 1, 1, &error), &error);
    const uint64_t block = words[0];
    words[0] = 0, words[1] = block;
    cj_test_ok(launch(words, 1, 1, &error), &error);
    assert_int_equal(launch(words, 1, 1, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "double-free");
    words[1] = memory;
    assert_int_equal(launch(words, 1, 1, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "foreign-free");
    words[1] = block + 1000;
    assert_int_equal(launch(words, 1, 1, &error), CJ_HAZARD);
    assert_string_equal(error.rule, "foreign-free");
    close_all();
}

static void other_functions_without_a_body_are_refused_with_what_to_do(void **state) {
    (void)state;
    static const struct {
        const char *name, *words;
    } cases[] = {
        {"cudaLaunchDeviceV2", "call it from the host"},
        {"__cudaCDP2LaunchDevice", "launch the kernel from the host"},
        {"cudaCGGetIntrinsicHandle", "this_grid().sync()"},
        {"__nv_sinf", "libdevice"},
        {"helper", "without -rdc=true"},
    };
    static uint64_t results[RESULTS];
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char     text[2048];
        cj_error error = {0};
        snprintf(text, sizeof text, "%s.extern .func %s ();\n%s%s    call %s;\n%s", HEAD, cases[i].name, ENTRY, OPEN,
                 cases[i].name, CLOSE);
        cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options)};
        assert_int_equal(run_kernel(text, (launch_shape){1, 1, 0, 0}, results, &error), CJ_UNSUPPORTED);
        if (!strstr(error.message, cases[i].words) || !strstr(error.message, cases[i].name))
            fail_msg("'%s' does not say '%s'", error.message, cases[i].words);
    }
    cj_error                                                            error = {0};
    static const char                                                   text[] = HEAD
        ".extern .func (.param .b32 r) malloc (.param .b64 n);\n" ENTRY OPEN
        "    { .param .b64 p; .param .b32 r; st.param.b64 [p], 8; call (r), malloc, (p); }\n" CLOSE;
    assert_int_equal(run_kernel(text, (launch_shape){1, 1, 0, 0}, results, &error), CJ_UNSUPPORTED);
    assert_non_null(strstr(error.message, "malloc has other parameters"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_those_of_a_model),
        cmocka_unit_test(threads_of_the_host_get_blocks_of_their_own),
        cmocka_unit_test(watched_threads_get_blocks_of_their_own),
        cmocka_unit_test(a_heap_with_blocks_keeps_its_size),
        cmocka_unit_test(misuse_across_launches_is_found),
        cmocka_unit_test(other_functions_without_a_body_are_refused_with_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
