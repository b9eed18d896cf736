// SPDX-License-Identifier: Apache-2.0
// Whether a cluster pays, on times that are made up, in milliseconds.
#include "verdict.h"

#include <string.h>

#include "test.h"

enum { LINES = 5 };

static const struct {
    const char *what;
    struct {
        uint32_t cluster;
        double   median, spread;  // quartiles lie half of the spread to either side
    } line[LINES];
    size_t      with, without;  // LINES: none
    int         pays;
    const char *text;
} cases[] = {
    {"few rows of norms: the form without clusters that is not the plan's is faster than the best cluster",
     {{0, 0.0358, 0.0002}, {0, 0.0118, 0.0001}, {8, 0.0150, 0.0001}, {16, 0.0144, 0.0001}, {1, 0.05, 0}},
     3,
     1,
     -1,
     "A cluster does not pay: without clusters it takes 11.8 us, 1.22 times faster than with the best cluster, of 16 "
     "blocks "
     "(14.4 us)"},
    {"long rows: what is called without clusters is without, and slower than a cluster of 16",
     {{0, 0.9, 0.01}, {1, 0.85, 0.01}, {8, 0.6, 0.01}, {16, 0.522, 0.002}, {0, 1.5, 0.01}},
     3,
     0,
     1,
     "A cluster pays: with 16 blocks it takes 0.522 ms, 1.72 times faster than the best without clusters (0.9 ms)"},
    {"less than two percent",
     {{0, 1.0, 0}, {2, 0.985, 0}, {4, 1.1, 0}, {8, 1.2, 0}, {16, 2, 0}},
     1,
     0,
     0,
     "no difference"},
    {"within the spread",
     {{0, 1.0, 0.2}, {2, 0.9, 0.2}, {4, 1.1, 0}, {8, 1.2, 0}, {16, 2, 0}},
     1,
     0,
     0,
     "no difference"},
    {"a cluster of one block is neither",
     {{1, 0.1, 0}, {0, 1, 0}, {2, 1.5, 0}, {1, 0.1, 0}, {1, 3, 0}},
     2,
     1,
     -1,
     "not pay"},
    {"no kernel without clusters", {{1, 1, 0}, {2, 1, 0}, {4, 2, 0}, {8, 2, 0}, {16, 3, 0}}, 1, LINES, 0, "No verdict"},
    {"no cluster", {{1, 1, 0}, {0, 1, 0}, {0, 2, 0}, {0, 2, 0}, {1, 3, 0}}, LINES, 1, 0, "No verdict"},
};

static void the_best_with_clusters_is_held_against_the_best_without(void **state) {
    (void)state;
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        measurement  time[LINES];
        verdict_time lines[LINES];
        verdict      v;
        for (size_t k = 0; k < LINES; k++) {
            const double median = cases[i].line[k].median, half = cases[i].line[k].spread / 2;
            time[k] = (measurement){.median = median, .low = median - half, .high = median + half};
            lines[k] = (verdict_time){cases[i].line[k].cluster, &time[k]};
        }
        verdict_of(lines, LINES, &v);
        if (v.with != cases[i].with || v.without != cases[i].without || v.pays != cases[i].pays ||
            !strstr(v.text, cases[i].text))
            fail_msg("%s: %zu against %zu, %d: %s", cases[i].what, v.with, v.without, v.pays, v.text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_best_with_clusters_is_held_against_the_best_without)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
