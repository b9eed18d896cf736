// SPDX-License-Identifier: Apache-2.0
// Figures as text: "3.104 us", "0.2547 ms", "4.22 TB/s", "17.1 G samples/s".
#ifndef PTXGEN_FIGURE_H
#define PTXGEN_FIGURE_H

// Both return `buffer`.
enum { FIGURE_TEXT = 48 };
const char *figure_time(double milliseconds, char buffer[FIGURE_TEXT]);
const char *figure_rate(double per_second, const char *unit, char buffer[FIGURE_TEXT]);

#endif
