// SPDX-License-Identifier: Apache-2.0
#include "figure.h"

#include <stdio.h>

const char *figure_time(double milliseconds, char buffer[FIGURE_TEXT]) {
    if (milliseconds < 0.1)
        snprintf(buffer, FIGURE_TEXT, "%.4g us", milliseconds * 1e3);
    else
        snprintf(buffer, FIGURE_TEXT, "%.4g ms", milliseconds);
    return buffer;
}

const char *figure_rate(double per_second, const char *unit, char buffer[FIGURE_TEXT]) {
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    size_t                   i = 0;
    for (; per_second >= 1000 && i + 1 < sizeof prefixes / sizeof *prefixes; i++) per_second /= 1000;
    snprintf(buffer, FIGURE_TEXT, "%.3g %s%s%s/s", per_second, prefixes[i], unit[1] ? " " : "",
             unit);  // TB/s, G samples/s
    return buffer;
}
