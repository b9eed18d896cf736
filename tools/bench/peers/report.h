// SPDX-License-Identifier: Apache-2.0
// What came out: a line each as a table, JSON and a plot.
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <clusterjit/clusterjit.h>

#include "measure.h"
#include "plot.h"
#include "rows.h"

enum { LINE_REASON = 512 };

typedef struct line {
    const contest *row;
    measurement ours, peer;
    double      ratio;                 // peer's time over ours
    double      share;                 // of the read ceiling; 0: it does not bound this work
    char        reason[LINE_REASON];   // why there are no figures, or none that count; empty: there are
} line;

typedef struct report {
    cj_device  *device;
    double      read_ceiling, copy_ceiling;  // bytes a second
    const line *lines;
    unsigned    count;
} report;

// Whether a line reaches its goals.
int report_reached(const line *l);

// Each returns an exit code after its message.
int report_print(const report *r);
int report_json(const report *r, const char *path);
int report_plot(const report *r, plot *p);

#endif
