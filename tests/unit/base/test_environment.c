// SPDX-License-Identifier: Apache-2.0
// base/environment: a variable whose word means nothing is warned of, once in a process, wherever warnings go.
#define _POSIX_C_SOURCE 200809L
#include "test.h"

#include <clusterjit/device.h>
#include <clusterjit/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void hear(void *user, cj_log_level level, const char *message) {
    (void)user;
    dprintf(1, "%s: %s\n", cj_log_level_name(level), message);
}

// What a process of its own says that sets its callback, or none, twice, and opens a device twice.
static void child(const char *log, const char *tuning, bool callback) {
    log ? setenv("CLUSTERJIT_LOG", log, 1) : unsetenv("CLUSTERJIT_LOG");
    tuning ? setenv("CLUSTERJIT_TUNING", tuning, 1) : unsetenv("CLUSTERJIT_TUNING");
    for (int time = 0; time < 2; time++) {
        cj_device *device = NULL;
        cj_log_set(callback ? hear : NULL, NULL);
        if (cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = "cpu"}, &device, NULL))
            dprintf(1, "no device\n");
        cj_device_close(device);
    }
}

static void words_of(const char *log, const char *tuning, bool callback, char *text, size_t size) {
    int    ends[2];
    size_t length = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t process = fork();
    if (!process) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        child(log, tuning, callback);
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], text + length, size - 1 - length)) > 0;) length += (size_t)got;
    text[length] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(process, NULL, 0), process);
}

#define LOG "warning: CLUSTERJIT_LOG is 'loud'; it is off, error, warn, info or debug: taken as warn\n"
#define TUNING "warning: CLUSTERJIT_TUNING is 'of'; it is off or on: taken as on\n"

static void a_word_that_means_nothing_is_warned_of_once(void **state) {
    (void)state;
    static const struct {
        const char *log, *tuning;
        bool        callback;
        const char *said;
    } rows[] = {
        {NULL, NULL, true, ""},
        {"", "", true, ""},
        {"loud", NULL, true, LOG},
        {NULL, "of", true, TUNING},
        {"loud", "of", true, LOG TUNING},
        {"off", "of", true, ""},
        {"error", "of", true, ""},
        {"warn", "of", true, TUNING},
        {"warning", "on", true, ""},
        {"error", "off", true, ""},
        {"off", "on", true, ""},
        {NULL, "of", false, ""},  // a library is silent where nobody listens and nobody asked
        {"loud", NULL, false, "clusterjit: " LOG},
        {"loud", "of", false, "clusterjit: " LOG "clusterjit: " TUNING},
        {"warn", "of", false, "clusterjit: " TUNING},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(rows); i++) {
        char text[2048];
        words_of(rows[i].log, rows[i].tuning, rows[i].callback, text, sizeof text);
        if (strcmp(text, rows[i].said)) fail_msg("row %zu: '%s', not '%s'", i, text, rows[i].said);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_word_that_means_nothing_is_warned_of_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
