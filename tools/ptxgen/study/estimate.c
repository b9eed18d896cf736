// SPDX-License-Identifier: Apache-2.0
// A trial is the same problem with its largest sizes halved until little work is left. Instructions of a launch are
// counted exactly, so two trials, with the same number of blocks if the grid is open, give the cost of a block (a
// histogram's bins) and the cost of work; the second trial's speed converts instructions to time. Work is the product
// of all sizes.
#include "estimate.h"

#include <clusterjit/cpu.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "message.h"
#include "progress.h"

enum { SIZES_MAX = 12 };

static const double TRIAL_WORK = 0x1p14, GROWTH = 16;  // of the first trial; factor from one to the next
static const double TRIAL_SECONDS = 0.1;               // a trial that takes so long is the last
static const double SMALL_WORK = 0x1p20;               // problems with less work are not estimated
static const double SAID_SECONDS = 5;                  // shorter commands are not announced
static const double SAID_MOST = 100 * 366 * 86400.0;   // no memory holds what takes longer: opening it says so
static const double SHORT_SECONDS = 1.5;               // the longest time for the suggested smaller size

// The sizes in all families that work is proportional to. Those that only repeat the same work are reduced first, since
// other kernels may be chosen for smaller values of the others.
static const struct {
    const char *name;
    bool        repeats;
} size_names[] = {{"rows", true},   {"batch", true}, {"steps", true},    {"clusters", true}, {"repeat", true},
                  {"rounds", true}, {"n", false},    {"columns", false}, {"nx", false},      {"ny", false},
                  {"nz", false},    {"m", false},    {"k", false},       {"count", false}};
enum { NAMES = sizeof size_names / sizeof *size_names, REPEATED = 4 };

typedef struct sizes {
    size_t   index[SIZES_MAX];  // of the parameters
    bool     repeats[SIZES_MAX];
    bool     fixed[SIZES_MAX];  // cannot be reduced further
    unsigned count;
} sizes;

// A trial's work, counts and seconds.
typedef struct trial {
    double work, blocks, instructions;
    double open, launch, check;
} trial;

// ---- sizes

// nz is not used if dim=2.
static bool is_used(const cj_params *p, const char *name) {
    const uint64_t dim = cj_params_get(p, "dim");
    if (!strcmp(name, "k") && cj_params_get(p, "m") == UINT64_MAX) return false;  // for topk: not a size
    return dim == UINT64_MAX || !((dim < 2 && !strcmp(name, "ny")) || (dim < 3 && !strcmp(name, "nz")));
}

static sizes sizes_of(const cj_params *p) {
    sizes s = {.count = 0};
    for (size_t i = 0; i < cj_family_param_count(p->family) && s.count < SIZES_MAX; i++) {
        const char *name = cj_family_param(p->family, i)->name;
        for (size_t k = 0; k < NAMES; k++) {
            if (strcmp(name, size_names[k].name) || !is_used(p, name)) continue;
            s.repeats[s.count] = size_names[k].repeats;
            s.index[s.count++] = i;
            break;
        }
    }
    return s;
}

static double work_of(const cj_params *p, const sizes *s) {
    double work = 1;
    for (unsigned i = 0; i < s->count; i++) work *= (double)p->value[s->index[i]];
    const uint64_t elements = cj_params_get(p, "elements");  // of all segments; UINT64_MAX: the family has none
    return elements ? fmin(work, (double)elements) : work;
}

// Blocks of the grid; 0: the plan refuses it.
static double blocks_of(const workload *w, const cj_params *p) {
    cj_plan plan;
    if (cj_plan_make(p, cj_device_limits(w->device), NULL, &plan, NULL)) return 0;
    return (double)plan.grid.x * plan.grid.y * plan.grid.z;
}

static bool is_planned(const workload *w, const cj_params *p) { return blocks_of(w, p) > 0; }

// The largest size that can be reduced, repetitions first; s->count if there is none.
static unsigned largest_of(const cj_params *p, const sizes *s) {
    for (int repeats = 1; repeats >= 0; repeats--) {
        unsigned largest = s->count;
        for (unsigned i = 0; i < s->count; i++) {
            const uint64_t value = p->value[s->index[i]];
            if (s->fixed[i] || value <= (repeats ? REPEATED : 1) || s->repeats[i] < repeats) continue;
            if (largest == s->count || value > p->value[s->index[largest]]) largest = i;
        }
        if (largest < s->count) return largest;
    }
    return s->count;
}

// Halves a size; false if none can be reduced.
static bool shrink(const workload *w, cj_params *p, sizes *s) {
    for (unsigned i; (i = largest_of(p, s)) < s->count;) {
        const uint64_t before = p->value[s->index[i]];
        p->value[s->index[i]] = before / 2;
        if (is_planned(w, p)) return true;
        p->value[s->index[i]] = before;
        s->fixed[i] = true;
    }
    return false;
}

// ---- trials

// A failure gives no estimate: the command will report it.
static bool run_once(workload *t, trial *found) {
    cj_kernel       *kernel = NULL;
    workload_verdict verdict;
    cj_cpu_stats     stats = {CJ_INIT(stats)};
    double           ms = 0;
    const double     begin = progress_clock();
    bool             done = !t->type->open(t) && !cj_kernel_create(t->device, &t->params, &kernel, NULL);
    const double     opened = progress_clock();
    done = done && !workload_try(t, kernel, 0, &ms, &verdict) && !cj_cpu_stats_read(t->device, &stats, NULL);
    found->open = opened - begin;
    found->launch = ms * 1e-3;
    found->check = progress_clock() - opened - found->launch;
    found->instructions = done ? (double)stats.thread_instructions : 0;
    cj_kernel_destroy(kernel);
    t->type->close(t);
    return done;
}

// Keeps the grid if it has a value, or if the plan refuses that value.
static void set_grid(const workload *w, cj_params *p, double blocks) {
    cj_params changed = *p;
    for (size_t i = 0; i < cj_family_param_count(p->family); i++) {
        if (strcmp(cj_family_param(p->family, i)->name, "grid") || w->given[i]) continue;
        changed.value[i] = (uint64_t)blocks;
        if (is_planned(w, &changed)) *p = changed;
    }
}

static bool try_size(const workload *w, double most, double blocks, trial *found) {
    sizes    s = sizes_of(&w->params);
    workload t = {.type = w->type, .device = w->device, .params = w->params, .given = w->given, .fill = w->fill,
                  .gpus = w->gpus, .collective = w->collective, .chunks = w->chunks};
    while (work_of(&t.params, &s) > most)
        if (!shrink(w, &t.params, &s)) return false;
    found->work = work_of(&t.params, &s);
    if (blocks > 0) set_grid(w, &t.params, blocks);
    found->blocks = blocks_of(w, &t.params);
    return run_once(&t, found);
}

// Makes at least two trials, the second as large as is quick.
static bool make_trials(const workload *w, double work, trial *first, trial *second) {
    if (!try_size(w, TRIAL_WORK, 0, second)) return false;
    do {
        *first = *second;
        if (!try_size(w, first->work * GROWTH, first->blocks, second)) return false;
    } while (second->launch + second->check < TRIAL_SECONDS && second->work * GROWTH < work);
    return second->work > first->work && second->instructions > 0;
}

// Thread instructions of a launch. If both trials have equally many blocks, a block has a cost of its own.
static double predict_instructions(const trial *a, const trial *b, double work, double blocks) {
    const double growth = fmax((b->instructions - a->instructions) / (b->work - a->work), 0);
    if (a->blocks != b->blocks) return b->instructions + growth * (work - b->work);
    return growth * work + fmax(b->instructions - growth * b->work, 0) / b->blocks * blocks;
}

// Seconds of the whole command for that work.
static double predict(const trial *a, const trial *b, double work, double blocks, estimate_use use) {
    const double instructions = predict_instructions(a, b, work, blocks), times = work / b->work;
    const double checking = (b->check - a->check) / (b->work - a->work),
                 check = b->check + fmax(checking, 0) * (work - b->work);
    return use.launches * b->launch * instructions / b->instructions + times * b->open + use.checks * check;
}

// ---- as text

// Prints "2^20" if it is a power of two.
static int add_size(char *to, size_t room, const char *name, uint64_t value) {
    unsigned bits = 0;
    while (value >> bits > 1) bits++;
    if (bits >= 12 && value == UINT64_C(1) << bits) return snprintf(to, room, " --%s 2^%u", name, bits);
    return snprintf(to, room, " --%s %" PRIu64, name, value);
}

// The options that make it short; "" if no size does.
static const char *name_smaller(const workload *w, const trial *a, const trial *b, estimate_use use, char text[160],
                                double *seconds) {
    cj_params p = w->params;
    sizes     s = sizes_of(&p);
    size_t    used = 0;
    text[0] = '\0';
    while ((*seconds = predict(a, b, work_of(&p, &s), blocks_of(w, &p), use)) > SHORT_SECONDS)
        if (!shrink(w, &p, &s)) return "";
    for (unsigned i = 0; i < s.count && used < 160; i++)
        if (p.value[s.index[i]] != w->params.value[s.index[i]])
            used += (size_t)add_size(text + used, 160 - used, cj_family_param(p.family, s.index[i])->name,
                                     p.value[s.index[i]]);
    return text;
}

void estimate_say(const workload *w, estimate_use use) {
    const sizes  s = sizes_of(&w->params);
    const double work = work_of(&w->params, &s);
    trial        a, b;
    char         all[PROGRESS_TEXT], less[PROGRESS_TEXT], smaller[160], text[320];
    double       seconds, fewer;
    if (strcmp(cj_device_kind(w->device), "cpu") || w->input || work <= SMALL_WORK || !is_planned(w, &w->params))
        return;
    progress_say("seeing how long this takes");
    message_quiet(true);
    const bool known = make_trials(w, work, &a, &b);
    message_quiet(false);
    progress_clear();
    cj_cpu_stats_clear(w->device, NULL);
    if (!known) return;
    seconds = predict(&a, &b, work, blocks_of(w, &w->params), use);
    if (seconds < SAID_SECONDS || seconds > SAID_MOST) return;
    const int used = snprintf(text, sizeof text, "this takes about %s on the CPU device",
                              progress_seconds(seconds, all));
    if (*name_smaller(w, &a, &b, use, smaller, &fewer))
        snprintf(text + used, sizeof text - (size_t)used, ";%s takes about %s", smaller, progress_seconds(fewer, less));
    message_note(text);
    progress_expect(seconds);
}
