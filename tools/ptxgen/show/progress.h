// SPDX-License-Identifier: Apache-2.0
// One line on standard error that says how far something is and how long it still takes, written over and over where
// that is a terminal; elsewhere nothing. Whoever begins a line clears it.
#ifndef PTXGEN_PROGRESS_H
#define PTXGEN_PROGRESS_H

#include <stddef.h>

// Seconds of a clock that only goes forward.
double progress_clock(void);

// "making the input": something whose length is not known.
void progress_say(const char *what);

// "measuring: round 3 of 15, about 4 s left": `done` of `all` parts are done, which take about as long each; the first
// call, with 0 done, starts the clock. Clears the line once all are.
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
