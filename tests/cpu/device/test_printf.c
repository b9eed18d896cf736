// SPDX-License-Identifier: Apache-2.0
// Device printf against the host's: random formats and buffers of arguments. Where the text of a launch goes, and in which order.
#include <math.h>
#include <stdlib.h>

#include "kernel.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral"

enum { CASES = 400, BUFFER = 512 };

static char   printed[1 << 16];
static size_t printed_bytes;
static size_t calls;

static void take(void *user, const char *text, size_t bytes) {
    assert_ptr_equal(user, printed);
    assert_true(printed_bytes + bytes < sizeof printed);
    memcpy(printed + printed_bytes, text, bytes);
    printed_bytes += bytes;
    printed[printed_bytes] = '\0';
    calls++;
}

static cj_cpu_options collecting(uint32_t threads) {
    return (cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = threads, .print = take, .print_user = printed};
}

#define DECLARE ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 b);\n"
#define CALL                                                                                       \
    "    .param .b64 p0;\n    .param .b64 p1;\n    .param .b32 p2;\n    st.param.b64 [p0], %l1;\n" \
    "    st.param.b64 [p1], %l2;\n    call (p2), vprintf, (p0, p1);\n    ld.param.b32 %r1, [p2];\n"

// `results` holds the format, from byte BUFFER on the arguments. The first word becomes what printf returns.
static int32_t print(const void *format_and_arguments, cj_status expected) {
    static const char text[] = HEAD DECLARE ENTRY OPEN "    mov.u64 %l1, %out;\n    add.u64 %l2, %out, 512;\n" CALL
                                                       "    st.global.u32 [%out], %r1;" CLOSE;
    static uint64_t results[RESULTS];
    cj_error        error = {0};
    memset(results, 0, sizeof results);
    memcpy(results, format_and_arguments, 2 * BUFFER);
    printed_bytes = calls = 0;
    printed[0] = '\0';
    const cj_status status = run_kernel(text, (launch_shape){1, 1, 0, 0}, results, &error);
    if (status != expected) fail_msg("status %d: %s", status, error.message);
    return (int32_t)results[0];
}

// ---- random formats

typedef struct drawn {
    _Alignas(8) char format[BUFFER];
    unsigned char buffer[BUFFER];
    char          expected[1 << 14];
    size_t        format_at, buffer_at, expected_at;
    int           count;
} drawn;

static void put(drawn *d, const void *value, size_t bytes) {
    d->buffer_at = (d->buffer_at + bytes - 1) / bytes * bytes;
    memcpy(d->buffer + d->buffer_at, value, bytes);
    d->buffer_at += bytes;
    d->count++;
}

#define EXPECT(...) \
    d->expected_at += (size_t)snprintf(d->expected + d->expected_at, sizeof d->expected - d->expected_at, __VA_ARGS__)

static void add_integer(drawn *d, const char *prefix, char conversion, uint64_t *random) {
    static const struct {
        const char *text;
        size_t      bytes;
    } sizes[] = {{"", 4}, {"hh", 4}, {"h", 4}, {"l", 8}, {"ll", 8}, {"j", 8}, {"z", 8}, {"t", 8}};
    const size_t   k = cj_test_random(random) % CJ_TEST_COUNT(sizes);
    const uint64_t value = cj_test_random(random) >> cj_test_random(random) % 64;
    char           spelled[64];
    snprintf(spelled, sizeof spelled, "%s%s%c", prefix, sizes[k].text, conversion);
    d->format_at += (size_t)snprintf(d->format + d->format_at, BUFFER - d->format_at, "%s,", spelled);
    put(d, &value, sizes[k].bytes);
    if (sizes[k].bytes == 8)
        EXPECT(spelled, (long)value);
    else
        EXPECT(spelled, (int)value);
    EXPECT(",");
}

static void add_real(drawn *d, const char *prefix, char conversion, uint64_t *random) {
    uint64_t bits = cj_test_random(random);
    double   value;
    char     spelled[64];
    memcpy(&value, &bits, sizeof value);
    if (value != value || value > 1e15 || value < -1e15) value = (double)(int64_t)bits / 1e12;
    if (cj_test_random(random) % 10 == 0) value = cj_test_random(random) % 2 ? (double)INFINITY : -0.0;
    snprintf(spelled, sizeof spelled, "%s%c", prefix, conversion);
    d->format_at += (size_t)snprintf(d->format + d->format_at, BUFFER - d->format_at, "%s,", spelled);
    put(d, &value, sizeof value);
    EXPECT(spelled, value);
    EXPECT(",");
}

// Flags, a width and a precision, each there or not; either may come from the arguments.
static void draw_prefix(drawn *d, uint64_t *random, char for_device[32], char for_host[32]) {
    size_t at = 1, host_at = 1;
    for_device[0] = for_host[0] = '%';
    for (unsigned i = 0; i < 5; i++)
        if (cj_test_random(random) % 4 == 0) for_device[at++] = for_host[host_at++] = "-+ #0"[i];
    for (unsigned part = 0; part < 2; part++) {
        const int  value = (int)(cj_test_random(random) % 20);
        const bool given = cj_test_random(random) % 2, asked = cj_test_random(random) % 4 == 0;
        if (!given || (!part && !value)) continue;
        if (part) for_device[at++] = for_host[host_at++] = '.';
        at += (size_t)snprintf(for_device + at, 32 - at, asked ? "*" : "%d", value);
        host_at += (size_t)snprintf(for_host + host_at, 32 - host_at, "%d", value);
        if (asked) put(d, &value, sizeof value);
    }
    for_device[at] = for_host[host_at] = '\0';
}

static void add(drawn *d, uint64_t *random) {
    static const char conversions[] = "diouxXaAeEfFgG";
    const char        conversion = conversions[cj_test_random(random) % (sizeof conversions - 1)];
    char              for_device[32], for_host[32], *end = d->format + d->format_at;
    draw_prefix(d, random, for_device, for_host);
    if (strchr("diouxX", conversion))
        add_integer(d, for_host, conversion, random);
    else
        add_real(d, for_host, conversion, random);
    // The device's format may name widths by *; the rest of the specification is the same.
    char rest[64];
    snprintf(rest, sizeof rest, "%s", end + strlen(for_host));
    d->format_at = (size_t)(end - d->format) +
                   (size_t)snprintf(end, BUFFER - (size_t)(end - d->format), "%s%s", for_device, rest);
}

static void formats_are_those_of_the_host(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    cpu_options = collecting(1);
    for (unsigned n = 0; n < CASES; n++) {
        static drawn d;
        memset(&d, 0, sizeof d);
        while (d.count < 24 && d.format_at < BUFFER - 64 && cj_test_random(&random) % 8) add(&d, &random);
        assert_int_equal(print(&d, CJ_OK), d.count);
        if (strcmp(printed, d.expected) != 0) fail_msg("'%s' gives\n%s\nand not\n%s", d.format, printed, d.expected);
    }
}

static void what_is_no_specification_is_printed_as_it_is(void **state) {
    (void)state;
    static const struct {
        const char *format, *printed;
        int         returned;
    } cases[] = {
        {"plain\n", "plain\n", 0}, {"100%%", "100%", 0}, {"%y %d", "%y 7", 1}, {"%", "%", 0},
        {"%-", "%-", 0},           {"%n", "%n", 0},      {"%ll", "%ll", 0},
    };
    cpu_options = collecting(1);
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        char both[2 * BUFFER] = {0};
        snprintf(both, BUFFER, "%s", cases[i].format);
        both[BUFFER] = 7;
        assert_int_equal(print(both, CJ_OK), cases[i].returned);
        if (strcmp(printed, cases[i].printed) != 0) fail_msg("'%s' gives '%s'", cases[i].format, printed);
    }
}

// ---- where it goes

// Each thread prints a line: its number in the grid, from global memory.
static const char lines[] = HEAD                                            DECLARE
    ".global .align 1 .b8 line[8] = {37, 117, 32, 37, 117, 10, 0};\n" ENTRY OPEN
    "    .local .align 8 .b8 buffer[8];\n    mov.u32 %r2, %ctaid.x;\n    st.local.u32 [buffer], %r2;\n"
    "    mov.u32 %r3, %tid.x;\n    st.local.u32 [buffer+4], %r3;\n    mov.u64 %l1, line;\n    cvta.global.u64 %l1, "
    "%l1;\n"
    "    mov.u64 %l2, buffer;\n    cvta.local.u64 %l2, %l2;\n" CALL CLOSE;

static void text_comes_cluster_after_cluster(void **state) {
    (void)state;
    static uint64_t results[RESULTS];
    static char     expected[sizeof printed];
    size_t          at = 0;
    for (unsigned block = 0; block < 60; block++)
        for (unsigned thread = 0; thread < 32; thread++)
            at += (size_t)snprintf(expected + at, sizeof expected - at, "%u %u\n", block, thread);
    for (uint32_t threads = 1; threads < 5; threads++) {
        cj_error error = {0};
        cpu_options = collecting(threads);
        printed_bytes = calls = 0;
        cj_test_ok(run_kernel(lines, (launch_shape){60, 32, 0, 0}, results, &error), &error);
        assert_string_equal(printed, expected);
        assert_int_equal(calls, 60);
    }
}

// What was printed before a launch failed is still there.
static void a_failed_launch_shows_what_it_printed(void **state) {
    (void)state;
    char both[2 * BUFFER] = {0};
    cpu_options = collecting(1);
    snprintf(both, BUFFER, "%s", "before %s");
    assert_int_equal(print(both, CJ_OK), 1);
    assert_string_equal(printed, "before (null)");
    both[BUFFER] = 64;
    print(both, CJ_HAZARD);
    assert_string_equal(printed, "before ");
}

static char   last[256];
static size_t all_bytes;

static void take_last(void *user, const char *text, size_t bytes) {
    (void)user;
    all_bytes += bytes;
    snprintf(last, sizeof last, "%.*s", bytes < sizeof last ? (int)bytes : 0, text);
}

// 66 threads print a MiB each.
static void a_text_that_is_cut_says_so_once(void **state) {
    (void)state;
    static const char said[] = "\n[clusterjit: 2097152 bytes more are lost; of a launch's text 64 MiB are kept]\n";
    static const char text[] = HEAD DECLARE ENTRY OPEN "    mov.u64 %l1, %out;\n    add.u64 %l2, %out, 512;\n" CALL CLOSE;
    static uint64_t   results[RESULTS];
    cj_error          error = {0};
    cpu_options = (cj_cpu_options){CJ_INIT(cj_cpu_options), .threads = 1, .print = take_last};
    memcpy(results, "%1048576d", 10);
    cj_test_ok(run_kernel(text, (launch_shape){1, 66, 0, 0}, results, &error), &error);
    assert_string_equal(last, said);
    assert_int_equal(all_bytes, (64u << 20) + strlen(said));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_those_of_the_host),
        cmocka_unit_test(what_is_no_specification_is_printed_as_it_is),
        cmocka_unit_test(text_comes_cluster_after_cluster),
        cmocka_unit_test(a_failed_launch_shows_what_it_printed),
        cmocka_unit_test(a_text_that_is_cut_says_so_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
