// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"

enum { ROUNDS_GPU = 15, LAUNCHES_MAX = 512, WARM_MAX = 10 };
static const double ROUND_MS = 2.0;        // time of a round of short launches; it uses all sets at least once
static const double SHORT_MS = 0.01;       // launches that take less go through all sets, however many there are
static const double ALL_ROUNDS_MS = 2000;  // time of all rounds, if longer launches have very many sets
static const double OTHER_ROUNDS = 3;      // rounds that choose the launches and warm up
static const double WARM_MS = 100;         // memory of an idle GPU reaches its speed after tens of milliseconds
static const double WARM_ENOUGH = 0.99;

static bool is_gpu(const cj_device *device) { return strcmp(cj_device_kind(device), "gpu") == 0; }

bool measure_is_real(const cj_device *device) { return is_gpu(device); }

const char *measure_clock(const cj_device *device) { return is_gpu(device) ? "CUDA graph replay" : "host clock"; }

int measure_ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// ---- one round

typedef struct round {
    const contender *c;
    unsigned         launches;
} round_of;

static cj_status launch_round(void *user, cj_stream stream, cj_error *error) {
    const round_of *r = user;
    cj_status       status = CJ_OK;
    for (unsigned i = 0; !status && i < r->launches; i++)
        status = r->c->launch(r->c->user, i % r->c->copies, stream, error);
    return status;
}

static cj_status launch_waiting_round(void *user, cj_error *error) { return launch_round(user, NULL, error); }

static cj_status time_round(cj_device *device, const contender *c, unsigned launches, double *ms, cj_error *error) {
    round_of  r = {c, launches};
    cj_status status = c->waits ? cj_time(device, NULL, launch_waiting_round, &r, ms, error)
                                : cj_time_graph(device, launch_round, &r, 1, ms, error);
    *ms /= launches;
    return status;
}

// The longest round: each of `count` contenders has an equal share of ALL_ROUNDS_MS, for rounds of two replays, of
// which the second one counts.
static double longest_round(size_t count, unsigned rounds) {
    return fmax(ROUND_MS, ALL_ROUNDS_MS / (2 * (double)count * (rounds + OTHER_ROUNDS)));
}

// A first round determines how many launches fill one. A round goes through all sets at least once, so that a replay
// finds none of its inputs in the L2 cache. There is one exception: thousands of sets for a launch that takes long. A
// stencil of 16 KiB and 256 steps has 4,096 sets; a round of all of them takes seconds, and with a launch a step its
// graph has a million nodes. There only the launch's first access, of 32 KiB, gains from the L2 cache.
static cj_status choose_launches(cj_device *device, contender *c, double most_ms, cj_error *error) {
    double    ms = 0;
    cj_status status = CJ_OK;
    c->time.launches = 1;
    if (!is_gpu(device)) return CJ_OK;
    status = time_round(device, c, 1, &ms, error);
    const double wanted = fmin(ceil(ROUND_MS / fmax(ms, 1e-4)), LAUNCHES_MAX);
    const double sets = ms < SHORT_MS ? c->copies : fmin(c->copies, fmax(floor(most_ms / ms), 1));
    c->time.launches = (unsigned)fmax(wanted, sets);
    return status;
}

// ---- all rounds

// The quantile `q` of the sorted times, interpolated between two of them.
static double quantile(const double *time, unsigned count, double q) {
    double   at = q * (count - 1);
    unsigned low = (unsigned)at, high = low + 1 < count ? low + 1 : low;
    return time[low] + (at - low) * (time[high] - time[low]);
}

static void summarize(contender *c, unsigned rounds) {
    double sorted[MEASURE_ROUNDS_MAX];
    memcpy(sorted, c->round, rounds * sizeof *sorted);
    qsort(sorted, rounds, sizeof *sorted, measure_ascending);
    c->time.rounds = rounds;
    c->time.median = quantile(sorted, rounds, 0.5);
    c->time.low = quantile(sorted, rounds, 0.25);
    c->time.high = quantile(sorted, rounds, 0.75);
}

// Rounds that do not count, about WARM_MS of them; *mean is the mean time of one over all contenders.
static cj_status warm_for_a_while(cj_device *device, contender *contenders, size_t count, double *mean,
                                  cj_error *error) {
    cj_status status = CJ_OK;
    double    spent = 0;
    unsigned  rounds = 0;
    for (; !status && spent < WARM_MS; rounds++) {
        for (contender *c = contenders; !status && c < contenders + count; c++) {
            double ms = 0;
            status = time_round(device, c, c->time.launches, &ms, error);
            spent += fmax(ms, 1e-4) * c->time.launches;
        }
    }
    *mean = spent / rounds;
    return status;
}

// Repeats until times no longer fall: clocks rise for a while, too.
static cj_status warm_up(cj_device *device, contender *contenders, size_t count, cj_error *error) {
    cj_status status = CJ_OK;
    double    before = INFINITY, mean = 0;
    for (unsigned i = 0; !status && count && is_gpu(device) && i < WARM_MAX && mean < before * WARM_ENOUGH; i++) {
        if (i) before = mean;
        status = warm_for_a_while(device, contenders, count, &mean, error);
    }
    return status;
}

cj_status measure(cj_device *device, contender *contenders, size_t count, unsigned rounds, cj_error *error) {
    cj_status status = CJ_OK;
    if (!rounds) rounds = is_gpu(device) ? ROUNDS_GPU : MEASURE_ROUNDS_CPU;
    for (size_t i = 0; !status && i < count; i++) {
        progress_show("first launches: kernel", i, count);
        status = choose_launches(device, &contenders[i], longest_round(count, rounds), error);
    }
    progress_say("warming up");
    if (!status) status = warm_up(device, contenders, count, error);
    for (unsigned k = 0; !status && k < rounds; k++) {
        progress_show("measuring: round", k, rounds);
        for (contender *c = contenders; !status && c < contenders + count; c++)
            status = time_round(device, c, c->time.launches, &c->round[k], error);
    }
    progress_show("measuring: round", rounds, rounds);
    for (size_t i = 0; !status && i < count; i++) summarize(&contenders[i], rounds);
    return status;
}

// Two launches, of which the second one is timed: the first finds caches and clocks as other work has left them.
cj_status measure_glance(cj_device *device, const contender *c, double *ms, cj_error *error) {
    cj_status status = time_round(device, c, 1, ms, error);
    return status ? status : time_round(device, c, 1, ms, error);
}

int measure_faster(const measurement *a, const measurement *b) {
    return a->median * (1 + MEASURE_PERCENT / 100.0) < b->median && a->high < b->low;
}
