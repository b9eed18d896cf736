// SPDX-License-Identifier: Apache-2.0
// The tuning file: what is kept is planned with, for that problem and left open alone; damage, other writers, and what
// a family's table says of tuning. CJ_FEW=1 runs fewer processes.
#define _GNU_SOURCE
#include "test.h"

#include <clusterjit/tuning.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emit.h"

// ---- a directory of the test's own

static char directory[64], file[96];

static int make_directory(void **state) {
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/cj-tuning-XXXXXX");
    if (!mkdtemp(directory)) return 1;
    snprintf(file, sizeof file, "%s/tuning-1.txt", directory);
    unsetenv("CLUSTERJIT_TUNING");
    return setenv("CLUSTERJIT_CACHE_DIR", directory, 1);
}

static int remove_directory(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command);
}

static cj_params params_of(const char *words) {
    cj_params params;
    cj_error  error = {0};
    cj_test_ok(cj_test_params("gemm", words, &params, &error), &error);
    return params;
}

static void keep(const char *problem, const char *choice) {
    const cj_params of = params_of(problem), with = params_of(choice);
    cj_error        error = {0};
    cj_test_ok(cj_tuning_keep(cj_test_device, &of, &with, 0.5, 0.75, &error), &error);
}

static cj_plan plan_of(const char *problem) {
    const cj_params params = params_of(problem);
    cj_plan         plan;
    cj_error        error = {0};
    cj_test_ok(cj_tuning_plan(cj_test_device, &params, NULL, &plan, &error), &error);
    return plan;
}

static bool is_tuned(const char *problem) { return strstr(plan_of(problem).note, "tuned for this device") != NULL; }

static void count(void *user, const cj_tuning *tuning) {
    (void)tuning;
    ++*(size_t *)user;
}

static size_t kept(void) {
    size_t   n = 0;
    cj_error error = {0};
    cj_test_ok(cj_tuning_each(&(cj_tuning_filter){CJ_INIT(cj_tuning_filter)}, count, &n, &error), &error);
    return n;
}

static void write_file(const char *bytes, size_t length) {
    FILE *to = fopen(file, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, length, to), length);
    fclose(to);
}

// ---- what is kept is planned with

static void a_kept_choice_is_planned_with(void **state) {
    (void)state;
    assert_false(is_tuned("m=300 n=200 k=100"));
    keep("m=300 n=200 k=100", "m=300 n=200 k=100 tile=64x64 stages=3");
    const cj_plan plan = plan_of("m=300 n=200 k=100");
    char          word[16];
    assert_string_equal(cj_params_word(&plan.params, "tile", word, sizeof word), "64x64");
    assert_int_equal(cj_params_get(&plan.params, "stages"), 3);
    assert_string_equal(plan.note, "tuned for this device: tile=64x64 stages=3");
}

static void kernels_are_made_with_it(void **state) {
    (void)state;
    const cj_params params = params_of("m=300 n=200 k=100");
    cj_kernel      *kernel = NULL;
    cj_error        error = {0};
    keep("m=300 n=200 k=100", "m=300 n=200 k=100 tile=64x64 stages=3");
    cj_test_ok(cj_kernel_create(cj_test_device, &params, &kernel, &error), &error);
    assert_int_equal(cj_params_get(&cj_kernel_plan(kernel)->params, "stages"), 3);
    cj_kernel_destroy(kernel);
    cj_test_ok(cj_kernel_get(cj_test_device, &params, NULL, &kernel, &error), &error);
    assert_int_equal(cj_params_get(&cj_kernel_plan(kernel)->params, "stages"), 3);
    cj_kernel_release(kernel);
}

static void other_problems_and_what_a_caller_says_stay(void **state) {
    (void)state;
    keep("m=300 n=200 k=100", "tile=64x64 stages=3");
    assert_false(is_tuned("m=301 n=200 k=100"));
    assert_false(is_tuned("m=300 n=200 k=100 dtype=f16"));
    assert_false(is_tuned("m=300 n=200 k=100 stages=4"));
    assert_false(is_tuned("m=300 n=200 k=100 tile=128x128"));
    keep("m=300 n=200 k=100 stages=4", "tile=64x128");
    assert_true(is_tuned("m=300 n=200 k=100 stages=4"));
    const cj_plan plan = plan_of("m=300 n=200 k=100");
    assert_int_equal(cj_params_get(&plan.params, "stages"), 3);
}

static void the_environment_switches_it_off(void **state) {
    (void)state;
    keep("m=300", "tile=64x64");
    setenv("CLUSTERJIT_TUNING", "off", 1);
    assert_false(is_tuned("m=300"));
    unsetenv("CLUSTERJIT_TUNING");
    assert_true(is_tuned("m=300"));
}

static void a_choice_that_the_plan_refuses_is_passed_over(void **state) {
    (void)state;
    keep("m=300", "tile=128x256 stages=16");
    assert_false(is_tuned("m=300"));
    keep("m=300", "tile=128x256 stages=3");
    assert_true(is_tuned("m=300"));
}

static void a_problem_has_one_choice_and_an_empty_one_is_refused(void **state) {
    (void)state;
    const cj_params params = params_of("m=300");
    cj_error        error = {0};
    keep("m=300", "tile=64x64");
    keep("m=400", "tile=64x64");
    keep("m=300", "tile=64x128");
    assert_int_equal(kept(), 2);
    assert_int_equal(cj_tuning_keep(cj_test_device, &params, &params, 1, 1, &error), CJ_INVALID_ARGUMENT);
    assert_int_equal(kept(), 2);
}

static void times_that_are_none_are_refused_by_name(void **state) {
    (void)state;
    const double    times[] = {0, -1, (double)NAN, (double)INFINITY};
    const cj_params problem = params_of("m=300"), choice = params_of("m=300 tile=64x64");
    for (size_t i = 0; i < CJ_TEST_COUNT(times); i++) {
        cj_error error = {0};
        assert_int_equal(cj_tuning_keep(cj_test_device, &problem, &choice, times[i], 1, &error), CJ_INVALID_ARGUMENT);
        assert_memory_equal(error.message, "time: ", 6);
        assert_int_equal(cj_tuning_keep(cj_test_device, &problem, &choice, 1, times[i], &error), CJ_INVALID_ARGUMENT);
        assert_memory_equal(error.message, "untuned: ", 9);
    }
    assert_int_equal(kept(), 0);
}

static void forgetting_takes_what_is_meant(void **state) {
    (void)state;
    const cj_params        params = params_of("m=300");
    const cj_family       *topk;
    cj_error               error = {0};
    size_t                 gone = 7;
    const cj_tuning_filter one = {CJ_INIT(one), .device = cj_test_device, .problem = &params}, all = {CJ_INIT(all)};
    cj_test_ok(cj_tuning_forget(&all, &gone, &error), &error);
    assert_int_equal(gone, 0);
    assert_int_not_equal(access(file, F_OK), 0);  // and made no file
    keep("m=300", "tile=64x64");
    keep("m=400", "tile=64x64");
    keep("m=500", "tile=64x64");
    cj_test_ok(cj_family_find("topk", &topk, &error), &error);
    cj_test_ok(cj_tuning_forget(&(cj_tuning_filter){CJ_INIT(cj_tuning_filter), .family = topk}, &gone, &error), &error);
    assert_int_equal(gone, 0);
    cj_test_ok(cj_tuning_forget(&one, &gone, &error), &error);
    assert_int_equal(gone, 1);
    assert_false(is_tuned("m=300"));
    assert_true(is_tuned("m=400"));
    cj_test_ok(cj_tuning_forget(&all, &gone, &error), &error);
    assert_int_equal(gone, 2);
}

static void without_a_directory_there_is_no_file(void **state) {
    (void)state;
    const cj_params params = params_of("m=300"), choice = params_of("tile=64x64");
    cj_error        error = {0};
    keep("m=300", "tile=64x64");
    chmod(directory, 0755);
    assert_false(is_tuned("m=300"));
    assert_int_equal(cj_tuning_keep(cj_test_device, &params, &choice, 1, 2, &error), CJ_FILE);
    chmod(directory, 0700);
    setenv("CLUSTERJIT_CACHE_DIR", "", 1);
    assert_false(is_tuned("m=300"));
    assert_int_equal(cj_tuning_keep(cj_test_device, &params, &choice, 1, 2, &error), CJ_FILE);
    assert_non_null(strstr(error.hint, "CLUSTERJIT_CACHE_DIR"));
    setenv("CLUSTERJIT_CACHE_DIR", directory, 1);
}

// ---- damage

static const char *const sound[] = {"m=300", "m=400", "m=500"};

static char *three_lines(size_t *length) {
    for (int i = 0; i < 3; i++) keep(sound[i], "tile=64x64");
    char *text = cj_test_read(file);
    assert_non_null(text);
    *length = strlen(text);
    return text;
}

static void is_sound(void *user, const cj_tuning *t) {
    (void)user;
    bool known = false;
    for (int i = 0; i < 3; i++) known = known || !strcmp(t->problem, sound[i]);
    assert_true(known && !strcmp(t->family, "gemm") && !strcmp(t->choice, "tile=64x64") && t->time == 0.5 &&
                t->untuned == 0.75);
}

static void check_sound(void) {
    cj_error error = {0};
    cj_test_ok(cj_tuning_each(&(cj_tuning_filter){CJ_INIT(cj_tuning_filter)}, is_sound, NULL, &error), &error);
}

static void every_truncation_leaves_whole_lines(void **state) {
    (void)state;
    size_t length;
    char  *text = three_lines(&length);
    for (size_t cut = 0; cut <= length; cut += cj_test_few() ? 7 : 1) {
        size_t whole = 0;
        for (size_t i = 1; i <= cut; i++) whole += text[i] == '\n';  // the newline itself may be missing
        write_file(text, cut);
        check_sound();
        assert_int_equal(kept(), whole ? whole - 1 : 0);  // the first line is for people
    }
    free(text);
}

static void every_flipped_byte_costs_at_most_its_line_and_joined_ones(void **state) {
    (void)state;
    size_t length;
    char  *text = three_lines(&length);
    for (size_t i = 0; i < length; i += cj_test_few() ? 7 : 1) {
        text[i] = (char)(text[i] ^ 1 << i % 8);
        write_file(text, length);
        check_sound();
        assert_true(kept() >= 1);
        text[i] = (char)(text[i] ^ 1 << i % 8);
    }
    free(text);
}

static void writing_mends_the_file(void **state) {
    (void)state;
    size_t length;
    char  *text = three_lines(&length);
    text[length / 2] ^= 1;
    write_file(text, length);
    assert_int_equal(kept(), 2);
    keep("m=600", "tile=64x64");
    free(text);
    text = cj_test_read(file);
    size_t lines = 0;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    assert_int_equal(lines, 1 + 3);
    static const char garbage[] = "\0garbage\n\xff\xfe | | |\nno end";
    write_file(garbage, sizeof garbage - 1);
    assert_int_equal(kept(), 0);
    keep("m=600", "tile=64x64");
    assert_int_equal(kept(), 1);
    free(text);
}

// ---- other writers

enum { PROCESSES = 6, THREADS = 3, KEPT = 5 };

static void *keep_some(void *user) {
    const unsigned index = *(const unsigned *)user;
    for (unsigned i = 0; i < KEPT; i++) {
        char problem[32];
        snprintf(problem, sizeof problem, "m=%u", 1 + index * KEPT + i);
        keep(problem, "tile=64x64");
    }
    return NULL;
}

static void keep_in_threads(unsigned process) {
    pthread_t threads[THREADS];
    unsigned  index[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        index[i] = process * THREADS + i;
        pthread_create(&threads[i], NULL, keep_some, &index[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

static void writers_at_once_lose_nothing(void **state) {
    (void)state;
    const unsigned processes = cj_test_few() ? 2 : PROCESSES;
    pid_t          children[PROCESSES];
    for (unsigned i = 0; i < processes; i++) {
        children[i] = fork();
        if (children[i]) continue;
        keep_in_threads(i);
        _exit(0);
    }
    for (unsigned i = 0; i < processes; i++) {
        int status;
        assert_true(kept() <= processes * THREADS * KEPT);  // a reader among them sees whole lines
        waitpid(children[i], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(kept(), processes * THREADS * KEPT);
}

// ---- what the tables say

static void words_to_try_are_values_and_defaults_leave_it_to_the_plan(void **state) {
    (void)state;
    size_t tunable = 0;
    for (size_t f = 0; f < cj_family_count(); f++)
        for (size_t i = 0; i < cj_family_param_count(cj_family_at(f)); i++) {
            const cj_param_info *info = cj_family_param(cj_family_at(f), i);
            char                 words[128], *rest = NULL;
            cj_params            params;
            cj_error             error = {0};
            if (!info->tune) continue;
            tunable++;
            cj_params_init(&params, cj_family_at(f));
            assert_true(cj_tuning_is_open(&params, i));
            assert_true(!strcmp(info->initial, "auto") || !strcmp(info->initial, "0"));
            snprintf(words, sizeof words, "%s", info->tune);
            for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
                cj_test_ok(cj_params_set(&params, info->name, word, &error), &error);
                assert_false(cj_tuning_is_open(&params, i));
            }
        }
    assert_true(tunable > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_kept_choice_is_planned_with),
        TEST(kernels_are_made_with_it),
        TEST(other_problems_and_what_a_caller_says_stay),
        TEST(the_environment_switches_it_off),
        TEST(a_choice_that_the_plan_refuses_is_passed_over),
        TEST(a_problem_has_one_choice_and_an_empty_one_is_refused),
        TEST(times_that_are_none_are_refused_by_name),
        TEST(forgetting_takes_what_is_meant),
        TEST(without_a_directory_there_is_no_file),
        TEST(every_truncation_leaves_whole_lines),
        TEST(every_flipped_byte_costs_at_most_its_line_and_joined_ones),
        TEST(writing_mends_the_file),
        TEST(writers_at_once_lose_nothing),
        cmocka_unit_test(words_to_try_are_values_and_defaults_leave_it_to_the_plan),
    };
    return cmocka_run_group_tests(tests, cj_test_open_cpu, cj_test_close);
}
