// SPDX-License-Identifier: Apache-2.0
// What a command says of the time that it still takes, on times that are made up.
#include "progress.h"

#include "test.h"

static const struct {
    double      spent;
    uint64_t    done, all;
    const char *text;
} times[] = {
    {0.4, 0, 10, ""},                        // it has just begun
    {3.2, 0, 1, ", 3 s so far"},             // none is done: nobody knows how long one takes
    {150, 0, 2, ", 2 min so far"},           //
    {0.9, 3, 10, ""},                        // too early to say
    {2, 1, 5, ", about 8 s left"},           // 4 of 2 s each
    {30, 10, 40, ", about 2 min left"},      // 30 of 3 s each; 90 s and more are minutes
    {60, 1, 11, ", about 10 min left"},      //
    {600, 1, 13, ", about 2 h left"},        //
    {9.5, 19, 20, ""},                       // less than a second
    {89, 1, 2, ", about 89 s left"},         //
};

static void what_is_left_follows_from_what_is_done(void **state) {
    char text[PROGRESS_TIME];
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(times); i++)
        assert_string_equal(progress_time(times[i].spent, times[i].done, times[i].all, text), times[i].text);
}

// Of several launches, of which one is soon done.
static void an_announced_end_counts_if_it_is_later(void **state) {
    char text[PROGRESS_TIME];
    (void)state;
    progress_expect(40.4);
    assert_string_equal(progress_time(2, 1, 5, text), ", about 40 s left");
    assert_string_equal(progress_time(0, 0, 5, text), ", about 40 s left");
    assert_string_equal(progress_time(20, 1, 5, text), ", about 80 s left");
    progress_expect(0);
    assert_string_equal(progress_time(2, 1, 5, text), ", about 8 s left");
}

static void a_line_names_its_phase(void **state) {
    char line[PROGRESS_LINE];
    (void)state;
    assert_string_equal(progress_line("measuring: round", 2, 15, 1, line), "measuring: round 3 of 15, about 6 s left");
    progress_phase(2, 5);
    assert_string_equal(progress_line("measuring: round", 2, 15, 1, line),
                        "phase 2 of 5, measuring: round 3 of 15, about 6 s left");
    assert_string_equal(progress_line("checking: kernel", 0, 4, 0, line), "phase 2 of 5, checking: kernel 1 of 4");
    progress_phase(0, 0);
    assert_string_equal(progress_line("checking: kernel", 0, 4, 0, line), "checking: kernel 1 of 4");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_follows_from_what_is_done),
        cmocka_unit_test(an_announced_end_counts_if_it_is_later),
        cmocka_unit_test(a_line_names_its_phase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
