// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double   expected_end;    // on progress_clock
static unsigned phase, phases;  // 0: the task has no phases

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

void progress_phase(unsigned number, unsigned count) { phase = number, phases = count; }

const char *progress_time(double spent, uint64_t done, uint64_t all, char text[PROGRESS_TIME]) {
    const double announced = progress_left(), rest = done ? spent / (double)done * (double)(all - done) : 0;
    char         seconds[PROGRESS_TEXT];
    text[0] = '\0';
    if (announced > 0 || (spent >= 1 && rest >= 1))
        snprintf(text, PROGRESS_TIME, ", about %s left", progress_seconds(announced > rest ? announced : rest, seconds));
    else if (spent >= 1 && !done)
        snprintf(text, PROGRESS_TIME, ", %s so far", progress_seconds(spent, seconds));
    return text;
}

const char *progress_line(const char *what, size_t done, size_t all, double spent, char line[PROGRESS_LINE]) {
    char time[PROGRESS_TIME], of[PROGRESS_TEXT + 16] = "";
    if (phases) snprintf(of, sizeof of, "phase %u of %u, ", phase, phases);
    snprintf(line, PROGRESS_LINE, "%s%s %zu of %zu%s", of, what, done + 1, all, progress_time(spent, done, all, time));
    return line;
}

void progress_show(const char *what, size_t done, size_t all) {
    static double begun;
    char          line[PROGRESS_LINE];
    if (!isatty(STDERR_FILENO)) return;
    if (!done) begun = progress_clock();
    if (done >= all)
        progress_clear();
    else
        progress_say(progress_line(what, done, all, progress_clock() - begun, line));
}
