// SPDX-License-Identifier: Apache-2.0
// Reading and checking take time in proportion to the text: of four times as much of anything, about four times as long.
// The least of several times is taken, of texts long enough for a clock; where work grew with the square, the ratio
// would be near 16.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include "check.h"
#include "parse.h"
#include "report.h"
#include "test.h"
#include "text.h"

enum { TRIES = 5, FACTOR = 4, RATIO_MOST = 8 };

static const char head[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

static void entries(cj_text *text, unsigned count) {
    for (unsigned i = 0; i < count; i++) cj__text_printf(text, ".visible .entry k%u()\n{\n    ret;\n}\n", i);
}

static void calls(cj_text *text, unsigned count) {
    cj__text_puts(text, ".func f0()\n{\n    ret;\n}\n");
    for (unsigned i = 1; i < count; i++)
        cj__text_printf(text, ".func f%u()\n{\nunused:\n    call f%u;\n    ret;\n}\n", i, i - 1);
}

static void variables(cj_text *text, unsigned count) {
    for (unsigned i = 0; i < count; i++) cj__text_printf(text, ".visible .global .u32 v%u = %u;\n", i, i);
}

static void registers(cj_text *text, unsigned count) {
    cj__text_puts(text, ".visible .entry k()\n{\n");
    for (unsigned i = 0; i < count; i++) cj__text_printf(text, "    .reg .u32 %%r%u;\n    mov.u32 %%r%u, 1;\n", i, i);
    cj__text_puts(text, "    ret;\n}\n");
}

static void branches(cj_text *text, unsigned count) {
    cj__text_puts(text, ".visible .entry k()\n{\n    .reg .u32 %r;\n    .reg .pred %p;\n    mov.u32 %r, 0;\n");
    for (unsigned i = 0; i < count; i++)
        cj__text_printf(text, "l%u:\n    setp.eq.u32 %%p, %%r, %u;\n    add.u32 %%r, %%r, 1;\n    @%%p bra l%u;\n", i,
                        i, i / 2);
    cj__text_puts(text, "    ret;\n}\n");
}

static void scopes(cj_text *text, unsigned count) {
    cj__text_puts(text, ".visible .entry k()\n{\n");
    for (unsigned i = 0; i < count; i++)
        cj__text_puts(text, "    {\n    .local .u32 v;\n    .reg .u64 %a;\n    mov.u64 %a, v;\n    }\n");
    cj__text_puts(text, "    ret;\n}\n");
}

static void barriers(cj_text *text, unsigned count) {
    cj__text_puts(text, ".visible .entry k()\n{\n    .shared .u32 s;\n    .reg .u32 %r;\n");
    for (unsigned i = 0; i < count; i++)
        cj__text_puts(text,
                      "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n    mapa.shared::cluster.u32 %r, s, 0;\n"
                      "    st.shared::cluster.u32 [%r], 1;\n");
    cj__text_puts(text, "    barrier.cluster.arrive;\n    barrier.cluster.wait;\n    ret;\n}\n");
}

static void mistakes(cj_text *text, unsigned count) {
    cj__text_puts(text, ".visible .entry k()\n{\n    .reg .u32 %r;\n    .reg .f32 %f;\n    mov.u32 %r, 0;\n");
    for (unsigned i = 0; i < count; i++) cj__text_puts(text, "    add.f32 %f, %f, %r;\n");
    cj__text_puts(text, "    ret;\n}\n");
}

static double seconds(const cj_text *text) {
    double least = 1e9;
    for (unsigned i = 0; i < TRIES; i++) {
        struct timespec begin, end;
        cj_report       report = {0};
        cj_ir_module   *module;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        assert_int_equal(cj__ir_parse_report(text->data, text->length, &module, &report), CJ_OK);
        cj__check_forms(module, &report);
        cj__check_paths(module, &report);
        cj__report_sort(&report);
        cj__ir_free(module);
        cj__arena_free(&report.arena);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        const double taken = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        if (taken < least) least = taken;
    }
    return least;
}

static double seconds_of(void (*write)(cj_text *text, unsigned count), unsigned count) {
    cj_text text = {0};
    cj__text_puts(&text, head);
    write(&text, count);
    const double taken = seconds(&text);
    cj__text_free(&text);
    return taken;
}

static void time_grows_with_the_text(void **state) {
    (void)state;
    static const struct {
        const char *what;
        void (*write)(cj_text *text, unsigned count);
        unsigned count;
    } texts[] = {{"entries", entries, 10000},    {"calls", calls, 6000},       {"variables", variables, 8000},
                 {"registers", registers, 6000}, {"branches", branches, 3000}, {"scopes", scopes, 3000},
                 {"barriers", barriers, 3000},   {"mistakes", mistakes, 6000}};
    for (size_t i = 0; i < CJ_TEST_COUNT(texts); i++) {
        const double once = seconds_of(texts[i].write, texts[i].count);
        const double more = seconds_of(texts[i].write, FACTOR * texts[i].count);
        if (more > RATIO_MOST * once)
            fail_msg("%u %s take %.1f ms, %d times as many %.1f ms", texts[i].count, texts[i].what, once * 1e3, FACTOR,
                     more * 1e3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_grows_with_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
