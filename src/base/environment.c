// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

// The variables whose value is one of a few words, and those words.
static const struct {
    const char *name, *words[8];
} variables[] = {
    {"CLUSTERJIT_LOG", {"off", "error", "warn", "info", "debug", "warning"}},
    {"CLUSTERJIT_TUNING", {"on", "off"}},
};

static void check_variable(size_t i) {
    const char *value = cj__getenv(variables[i].name);
    if (!value || !*value) return;
    for (const char *const *word = variables[i].words; *word; word++)
        if (!strcmp(value, *word)) return;
    if (i == 0)
        cj__log(CJ_LOG_WARNING, "CLUSTERJIT_LOG is '%s'; it is off, error, warn, info or debug: taken as warn", value);
    else
        cj__log(CJ_LOG_WARNING, "CLUSTERJIT_TUNING is '%s'; it is off or on: taken as on", value);
}

static void check_all(void) {
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) check_variable(i);
}

void cj__environment_check(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, check_all);
}

void cj_log_set(cj_log_callback callback, void *user) {
    cj__log_hear(callback, user);
    if (callback) cj__environment_check();
}
