// SPDX-License-Identifier: Apache-2.0
// One line on standard error that shows how far a task is and how long it still takes, rewritten again and again on a
// terminal; prints nothing elsewhere. The code that begins a line must clear it.
#ifndef PTXGEN_PROGRESS_H
#define PTXGEN_PROGRESS_H

#include <stddef.h>

// Seconds of a monotonic clock.
double progress_clock(void);

// Shows "making the input": a task of unknown length.
void progress_say(const char *what);

// "measuring: round 3 of 15, about 4 s left": `done` of `all` parts, which take about as long each, are done; the first
// call, with 0 done, starts the clock. Clears the line once all are done.
void progress_show(const char *what, size_t done, size_t all);

void progress_clear(void);

// The command's expected end: progress_expect sets it, `seconds` from now; progress_left returns the seconds until then.
// 0: no end was set, or it has passed.
void   progress_expect(double seconds);
double progress_left(void);

// "40 s", "4 min", "2.5 h"; returns `buffer`.
enum { PROGRESS_TEXT = 32 };
const char *progress_seconds(double seconds, char buffer[PROGRESS_TEXT]);

#endif
