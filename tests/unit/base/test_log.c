// SPDX-License-Identifier: Apache-2.0
// What the library says beside errors, which function gets it, and how much of it.
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

typedef struct heard {
    unsigned     count, inside;
    cj_log_level level;
    char         message[4096];
} heard;

static void hear(void *user, cj_log_level level, const char *message) {
    heard *h = user;
    assert_int_equal(h->inside++, 0);  // calls come one at a time
    h->count++;
    h->level = level;
    snprintf(h->message, sizeof h->message, "%s", message);
    cj__log(CJ_LOG_ERROR, "said while a message is heard: dropped");
    h->inside--;
}

static int quiet(void **state) {
    (void)state;
    cj_log_set(NULL, NULL);
    return unsetenv("CLUSTERJIT_LOG");
}

static void say_all(void) {
    for (int level = CJ_LOG_ERROR; level <= CJ_LOG_DEBUG; level++) cj__log((cj_log_level)level, "level %d", level);
}

static void the_environment_says_how_much_is_heard(void **state) {
    (void)state;
    static const struct {
        const char *word;
        unsigned    count;
    } rows[] = {{NULL, 2}, {"", 2}, {"off", 0}, {"error", 1}, {"warn", 2}, {"warning", 2},
                {"info", 3}, {"debug", 4}, {"loud", 2}};
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        heard h = {0};
        if (rows[i].word) setenv("CLUSTERJIT_LOG", rows[i].word, 1);
        cj_log_set(hear, &h);
        say_all();
        assert_int_equal(h.count, rows[i].count);
        if (h.count) assert_int_equal(h.level, h.count);
        quiet(NULL);
    }
}

static void a_message_is_the_formatted_sentence(void **state) {
    (void)state;
    heard h = {0};
    cj_log_set(hear, &h);
    errno = EIO;
    cj__log(CJ_LOG_WARNING, "%s has %d", "it", 3);
    assert_int_equal(errno, EIO);
    assert_string_equal(h.message, "it has 3");
    assert_int_equal(h.level, CJ_LOG_WARNING);
    assert_string_equal(cj_log_level_name(h.level), "warning");
    assert_string_equal(cj_log_level_name((cj_log_level)99), "off");
    cj__log(CJ_LOG_ERROR, "%04095d", 0);  // longer than a message may be: cut, not overrun
    assert_int_equal(strlen(h.message), 2047);
}

// What all levels leave on standard error.
static size_t standard_error(char *text, size_t size) {
    FILE *file = tmpfile();
    int   kept = dup(2);
    assert_non_null(file);
    fflush(stderr);
    dup2(fileno(file), 2);
    say_all();
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    rewind(file);
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
    return length;
}

static void standard_error_is_written_on_request_alone(void **state) {
    (void)state;
    char  text[512];
    heard h = {0};
    assert_int_equal(standard_error(text, sizeof text), 0);
    setenv("CLUSTERJIT_LOG", "warn", 1);
    standard_error(text, sizeof text);
    assert_string_equal(text, "clusterjit: error: level 1\nclusterjit: warning: level 2\n");
    cj_log_set(hear, &h);
    assert_int_equal(standard_error(text, sizeof text), 0);
}

static void *talk(void *user) {
    (void)user;
    for (int i = 0; i < 500; i++) cj__log(CJ_LOG_ERROR, "message %d", i);
    return NULL;
}

static void threads_are_heard_one_at_a_time(void **state) {
    (void)state;
    heard     h = {0};
    pthread_t thread[4];
    cj_log_set(hear, &h);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, talk, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    assert_int_equal(h.count, 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_environment_says_how_much_is_heard, quiet, quiet),
        cmocka_unit_test_setup_teardown(a_message_is_the_formatted_sentence, quiet, quiet),
        cmocka_unit_test_setup_teardown(standard_error_is_written_on_request_alone, quiet, quiet),
        cmocka_unit_test_setup_teardown(threads_are_heard_one_at_a_time, quiet, quiet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
