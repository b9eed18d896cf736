// SPDX-License-Identifier: Apache-2.0
// ptxgen/parse with texts that nobody wrote: every one is refused with a place, or prints to itself. Worth most under
// the address sanitizer. The text lies at the end of its allocation, without a NUL after it.
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "parse.h"
#include "print.h"

enum { MUTATIONS = 20000, LONGEST = 256 };

static char  *sample;
static size_t sample_length;

static int read_sample(void **state) {
    (void)state;
    cj_test_seed();
    sample = cj_test_read(CJ_TEST_DIR "/unit/text/sample.ptx");
    sample_length = sample ? strlen(sample) : 0;
    return !sample;
}

static int free_sample(void **state) {
    (void)state;
    free(sample);
    return 0;
}

static uint32_t line_count(const char *text, size_t length) {
    uint32_t lines = 1;
    for (size_t i = 0; i < length; i++) lines += text[i] == '\n';
    return lines;
}

// Prints what was read; reading and printing that again must change nothing.
static void print_twice(const cj_ir_module *module) {
    cj_text  once = {0}, twice = {0};
    cj_error error = {0};
    cj__ir_print(module, &once);
    cj_ir_module *again;
    cj_status     status = cj__ir_parse(once.data, once.length, &again, &error);
    if (status) print_error("%u:%u of what was printed:\n%s\n", error.line, error.column, once.data);
    cj_test_ok(status, &error);
    cj__ir_print(again, &twice);
    assert_string_equal(once.data, twice.data);
    cj__check(again, &error);
    cj__ir_free(again);
    cj__text_free(&once);
    cj__text_free(&twice);
}

static void try_text(const char *text, size_t length) {
    char *exact = malloc(length ? length : 1);
    assert_non_null(exact);
    memcpy(exact, text, length);
    cj_ir_module *module;
    cj_error      error = {0};
    if (cj__ir_parse(exact, length, &module, &error)) {
        assert_null(module);
        assert_int_equal(error.status, CJ_INVALID_KERNEL);
        assert_true(*error.rule && *error.message);
        assert_true(error.line >= 1 && error.line <= line_count(text, length));
        assert_true(error.column >= 1 && error.column <= length + 1);
    } else {
        print_twice(module);
        cj__ir_free(module);
    }
    free(exact);
}

static void every_truncation_survives(void **state) {
    (void)state;
    for (size_t length = 0; length <= sample_length; length++) try_text(sample, length);
}

// A byte that PTX might hold, or any.
static char some_byte(uint64_t random) {
    static const char likely[] = "\0\n\"/*{}()[]<>;:,.@!|%$_+-=0189abfxUL \t\r\xff";
    return random & 256 ? (char)random : likely[random % (sizeof likely - 1)];
}

// Changes, inserts, removes or repeats a few bytes of `text`, which has room for LONGEST more.
static size_t mutate(char *text, size_t length, uint64_t *random) {
    for (uint64_t changes = cj_test_random(random) % 3 + 1; changes; changes--) {
        size_t   at = cj_test_random(random) % length;
        uint64_t choice = cj_test_random(random);
        size_t   run = 1 + choice / 16 % 24;
        if (at + run > length) run = length - at;
        switch (choice % 4) {
        case 0: text[at] = some_byte(cj_test_random(random)); break;
        case 1:
            memmove(text + at + 1, text + at, length++ - at);
            text[at] = some_byte(cj_test_random(random));
            break;
        case 2:
            memmove(text + at, text + at + run, length - at - run);
            length -= run;
            break;
        default:
            memmove(text + at + run, text + at, length - at);
            length += run;
            break;
        }
    }
    return length;
}

static void mutations_survive(void **state) {
    (void)state;
    uint64_t random = cj_test_seed();
    char    *text = malloc(sample_length + LONGEST);
    assert_non_null(text);
    for (int i = 0; i < MUTATIONS; i++) {
        memcpy(text, sample, sample_length);
        try_text(text, mutate(text, sample_length, &random));
    }
    free(text);
}

static void any_bytes_survive(void **state) {
    (void)state;
    static const char head[] = ".version 8.0\n.target sm_90\n.entry k() { ";
    uint64_t          random = cj_test_seed();
    char              text[LONGEST];
    for (int i = 0; i < MUTATIONS; i++) {
        size_t start = i % 2 ? sizeof head - 1 : 0, length = start + cj_test_random(&random) % (LONGEST - start);
        memcpy(text, head, start);
        for (size_t k = start; k < length; k++) text[k] = some_byte(cj_test_random(&random));
        try_text(text, length);
    }
    for (int byte = 0; byte < 256; byte++) {
        memset(text, byte, sizeof text);
        try_text(text, sizeof text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_truncation_survives),
        cmocka_unit_test(mutations_survive),
        cmocka_unit_test(any_bytes_survive),
    };
    return cmocka_run_group_tests(tests, read_sample, free_sample);
}
