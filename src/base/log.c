// SPDX-License-Identifier: Apache-2.0
#include "system.h"

#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t    lock = PTHREAD_MUTEX_INITIALIZER;  // guards the two below, and calls of the callback
static cj_log_callback    hearer;
static void              *hearer_user;
static _Thread_local bool speaking;  // this thread is inside the callback

static const struct {
    const char *word, *name;  // the word in CLUSTERJIT_LOG, and the name in a message
} levels[] = {
    [CJ_LOG_OFF] = {"off", "off"},    [CJ_LOG_ERROR] = {"error", "error"}, [CJ_LOG_WARNING] = {"warn", "warning"},
    [CJ_LOG_INFO] = {"info", "info"}, [CJ_LOG_DEBUG] = {"debug", "debug"},
};

enum { LEVEL_COUNT = sizeof levels / sizeof levels[0] };

const char *cj_log_level_name(cj_log_level level) {
    return (unsigned)level < LEVEL_COUNT ? levels[level].name : levels[CJ_LOG_OFF].name;
}

void cj__log_hear(cj_log_callback callback, void *user) {
    pthread_mutex_lock(&lock);
    hearer = callback;
    hearer_user = user;
    pthread_mutex_unlock(&lock);
}

// The level that CLUSTERJIT_LOG sets; `initial` if it is unset. An unknown word means warnings: its user wanted to see
// something.
static cj_log_level threshold(cj_log_level initial) {
    const char *word = cj__getenv("CLUSTERJIT_LOG");
    if (!word || !*word) return initial;
    for (size_t i = 0; i < LEVEL_COUNT; i++) {
        if (!strcmp(word, levels[i].word) || !strcmp(word, levels[i].name)) return (cj_log_level)i;
    }
    return CJ_LOG_WARNING;
}

void cj__log(cj_log_level level, const char *format, ...) {
    if (speaking) return;
    const int kept = errno;
    pthread_mutex_lock(&lock);
    if (level <= threshold(hearer ? CJ_LOG_WARNING : CJ_LOG_OFF)) {
        char    message[2048];
        va_list args;
        va_start(args, format);
        vsnprintf(message, sizeof message, format, args);
        va_end(args);
        speaking = true;
        if (hearer)
            hearer(hearer_user, level, message);
        else
            fprintf(stderr, "clusterjit: %s: %s\n", cj_log_level_name(level), message);
        speaking = false;
    }
    pthread_mutex_unlock(&lock);
    errno = kept;
}
