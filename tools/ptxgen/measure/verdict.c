// SPDX-License-Identifier: Apache-2.0
#include "verdict.h"

#include <stdbool.h>
#include <stdio.h>

#include "figure.h"

static size_t fastest(const verdict_time *times, size_t count, bool with) {
    size_t best = count;
    for (size_t i = 0; i < count; i++) {
        const bool counts = with ? times[i].cluster > 1 : !times[i].cluster;
        if (counts && (best == count || times[i].time->median < times[best].time->median)) best = i;
    }
    return best;
}

static double spread(const measurement *t) { return 100 * (t->high - t->low) / t->median; }

static void compare(const verdict_time *with, const verdict_time *without, verdict *v) {
    const double wider = spread(with->time) > spread(without->time) ? spread(with->time) : spread(without->time);
    const double a = with->time->median, b = without->time->median;
    char         t[FIGURE_TEXT], u[FIGURE_TEXT];
    v->pays = measure_faster(with->time, without->time) - measure_faster(without->time, with->time);
    figure_time(a, t);
    figure_time(b, u);
    if (v->pays > 0)
        snprintf(v->text, sizeof v->text,
                 "A cluster pays: with %u blocks it takes %s, %.2f times faster than the best without clusters (%s); "
                 "the spread is %.1f %%.",
                 with->cluster, t, b / a, u, wider);
    else if (v->pays < 0)
        snprintf(v->text, sizeof v->text,
                 "A cluster does not pay: without clusters it takes %s, %.2f times faster than with the best cluster, "
                 "of %u blocks (%s); the spread is %.1f %%.",
                 u, a / b, with->cluster, t, wider);
    else
        snprintf(v->text, sizeof v->text,
                 "A cluster makes no difference (of more than %d %%, and beyond the spread of %.1f %%): %s with %u "
                 "blocks, %s without clusters.",
                 MEASURE_PERCENT, wider, t, with->cluster, u);
}

void verdict_of(const verdict_time *times, size_t count, verdict *v) {
    *v = (verdict){.with = fastest(times, count, true), .without = fastest(times, count, false)};
    if (v->with == count)
        snprintf(v->text, sizeof v->text, "No verdict: no kernel with a cluster of two or more blocks ran.");
    else if (v->without == count)
        snprintf(v->text, sizeof v->text, "No verdict: no kernel without clusters ran.");
    else
        compare(&times[v->with], &times[v->without], v);
}
