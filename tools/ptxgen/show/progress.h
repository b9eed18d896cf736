// SPDX-License-Identifier: Apache-2.0
// One line on standard error that shows how far a task is and how long it still takes, rewritten again and again on a
// terminal; prints nothing elsewhere. The code that begins a line must clear it.
#ifndef PTXGEN_PROGRESS_H
#define PTXGEN_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

// Seconds of a monotonic clock.
double progress_clock(void);

// Shows "making the input": a task of unknown length.
void progress_say(const char *what);

// The task has `count` phases, of which this one begins; progress_show says so: "phase 2 of 5, measuring: round 3 of 15". What is left
// is then that of the phase. With count 0 there are no phases, which is so at first.
void progress_phase(unsigned number, unsigned count);

// "measuring: round 3 of 15, about 4 s left": `done` of `all` parts, which take about as long each, are done; the first
// call, with 0 done, starts the clock. Clears the line once all are done.
void progress_show(const char *what, size_t done, size_t all);

void progress_clear(void);

// The command's expected end: progress_expect sets it, `seconds` from now; progress_left returns the seconds until then.
// 0: no end was set, or it has passed.
void   progress_expect(double seconds);
double progress_left(void);

// The line that progress_show shows, and its end, for `spent` seconds; they return their buffer. Nothing is said of less than a second.
//   ", about 12 s left"   `done` of `all` took that long; or the command's expected end, if that is later
//   ", 3 s so far"        none is done, so that nobody knows
enum { PROGRESS_TEXT = 32, PROGRESS_TIME = PROGRESS_TEXT + 16, PROGRESS_LINE = 160 };
const char *progress_time(double spent, uint64_t done, uint64_t all, char text[PROGRESS_TIME]);
const char *progress_line(const char *what, size_t done, size_t all, double spent, char line[PROGRESS_LINE]);

// "40 s", "4 min", "2.5 h"; returns `buffer`.
const char *progress_seconds(double seconds, char buffer[PROGRESS_TEXT]);

#endif
