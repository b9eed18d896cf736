// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double expected_end;  // on progress_clock

double progress_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_expect(double seconds) { expected_end = progress_clock() + seconds; }

double progress_left(void) {
    const double left = expected_end - progress_clock();
    return left > 0 ? left : 0;
}

const char *progress_seconds(double seconds, char buffer[PROGRESS_TEXT]) {
    if (seconds < 90)
        snprintf(buffer, PROGRESS_TEXT, "%.0f s", seconds < 1 ? 1 : seconds);
    else if (seconds < 90 * 60)
        snprintf(buffer, PROGRESS_TEXT, "%.0f min", seconds / 60);
    else
        snprintf(buffer, PROGRESS_TEXT, "%.3g h", seconds / 3600);
    return buffer;
}

void progress_clear(void) {
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

void progress_say(const char *what) {
    if (isatty(STDERR_FILENO)) fprintf(stderr, "\r\033[K%s", what);
}

void progress_show(const char *what, size_t done, size_t all) {
    static double begun;
    char          left[PROGRESS_TEXT];
    if (!isatty(STDERR_FILENO)) return;
    if (!done) begun = progress_clock();
    const double spent = progress_clock() - begun;
    if (done >= all)
        progress_clear();
    else if (!done || spent < 1)
        fprintf(stderr, "\r\033[K%s %zu of %zu", what, done + 1, all);
    else
        fprintf(stderr, "\r\033[K%s %zu of %zu, about %s left", what, done + 1, all,
                progress_seconds(spent / (double)done * (double)(all - done), left));
}
