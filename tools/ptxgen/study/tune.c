// SPDX-License-Identifier: Apache-2.0
#include "tune.h"

#include <clusterjit/tuning.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "progress.h"

enum { CANDIDATES_MAX = 1024, FIRST_ROUNDS = 3, FASTEST = 4, FINALISTS = 8 };

// ---- opening

static const cj_param_info *open_param(const tune *t, size_t i) {
    return cj_family_param(t->s.w.params.family, t->open[i]);
}

static void find_open(tune *t, const cj_params *params) {
    for (size_t i = 0; i < cj_family_param_count(params->family); i++)
        if (cj_tuning_is_open(params, i)) t->open[t->open_count++] = i;
}

static int refuse_family(const cj_family *family) {
    char   names[TUNE_TEXT] = "";
    size_t used = 0;
    for (size_t i = 0; i < cj_family_param_count(family) && used < sizeof names; i++)
        if (cj_family_param(family, i)->tune)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                     cj_family_param(family, i)->name);
    if (!used)
        return message_error(CJ_UNSUPPORTED, "%s has no parameters that tuning may choose", cj_family_name(family));
    return message_error(CJ_INVALID_ARGUMENT, "nothing is left to tune: %s has values already\nleave one of them out",
                         names);
}

// Reads the next of blank-separated words; false after the last.
enum { WORD = 32 };
static bool next_word(const char **at, char word[WORD]) {
    *at += strspn(*at, " ");
    const size_t length = strcspn(*at, " ");
    snprintf(word, WORD, "%.*s", (int)length, *at);
    *at += length;
    return length > 0;
}

static unsigned count_values(const tune *t) {
    unsigned count = 0;
    char     word[WORD];
    for (size_t i = 0; i < t->open_count; i++)
        for (const char *words = open_param(t, i)->tune; next_word(&words, word);) count++;
    return count;
}

int tune_open(tune *t, const study_options *options, const args_family *family) {
    *t = (tune){.s.w.params = family->params};
    find_open(t, &family->params);
    if (!t->open_count) return refuse_family(family->params.family);
    t->candidates = calloc(CANDIDATES_MAX, sizeof *t->candidates);
    t->ranking = calloc(CANDIDATES_MAX, sizeof(candidate *));
    if (!t->candidates || !t->ranking)
        return message_error(CJ_OUT_OF_MEMORY, "no memory for %d candidates", CANDIDATES_MAX);
    study_options with_count = *options;
    with_count.kernels = 1 + count_values(t);
    return study_open(&t->s, &with_count, family, CANDIDATES_MAX);
}

void tune_close(tune *t) {
    study_close(&t->s);
    free(t->candidates);
    free(t->ranking);
}

// ---- candidates

static bool same_values(const cj_params *a, const cj_params *b) { return !memcmp(a->value, b->value, sizeof a->value); }

static bool is_tried(const tune *t, const cj_params *params) {
    for (const candidate *c = t->candidates; c < t->candidates + t->count; c++)
        if (same_values(&c->params, params)) return true;
    return false;
}

// Different values may give the same plan: such a candidate is not loaded. Of those that are, study_add_all refuses copies.
static bool is_planned(const tune *t, const cj_plan *plan) {
    for (const candidate *c = t->candidates; c < t->candidates + t->count; c++)
        if (!c->refused[0] && same_values(&c->planned, &plan->params)) return true;
    return false;
}

static bool is_refusal(cj_status status) {
    return status == CJ_INVALID_ARGUMENT || status == CJ_CONTRACT || status == CJ_UNSUPPORTED;
}

// Loads the candidates from `first` on that are planned.
static int load(tune *t, size_t first) {
    const cj_params **params = calloc(t->count + 1, sizeof *params);
    size_t            count = 0;
    if (!params) return message_error(CJ_OUT_OF_MEMORY, "no memory for %zu candidates", t->count);
    for (candidate *c = t->candidates + first; c < t->candidates + t->count; c++)
        if (!c->refused[0]) {
            c->v = &t->s.variants[t->s.count + count];
            params[count++] = &c->params;
        }
    int code = study_add_all(&t->s, params, count, "loading: candidate");
    free(params);
    for (candidate *c = t->candidates + first; c < t->candidates + t->count; c++)
        if (c->v && c->v->kernel) t->ranking[t->ranked++] = c;
    return code;
}

// The first is the plan's own choice, with which all others are compared.
static int add(tune *t, const cj_params *params) {
    cj_plan  plan;
    cj_error error;
    if (t->count == CANDIDATES_MAX || is_tried(t, params)) return CODE_OK;
    cj_status status = cj_plan_make(params, cj_device_limits(t->s.w.device), t->s.options.arch, &plan, &error);
    if (status && (!t->count || !is_refusal(status))) return message_failure(&error);
    if (!status && is_planned(t, &plan)) return CODE_OK;
    candidate *c = &t->candidates[t->count++];
    c->params = *params;
    c->planned = plan.params;
    if (status) snprintf(c->refused, sizeof c->refused, "%s", error.message);
    return CODE_OK;
}

static int add_first(tune *t) {
    int code = add(t, &t->s.w.params);
    if (!code) code = load(t, 0);
    if (code || t->ranked) return code;
    return message_error(CJ_CONTRACT, "%s", tune_plan(t)->v->refused);
}

// Adds all candidates that differ from it in one parameter.
static int expand(tune *t, candidate *c) {
    int code = CODE_OK;
    c->expanded = true;
    for (size_t i = 0; i < t->open_count; i++) {
        const char *words = open_param(t, i)->tune;
        char        word[WORD];
        while (!code && next_word(&words, word)) {
            cj_params params = c->params;
            cj_error  error;
            code = cj_params_set(&params, open_param(t, i)->name, word, &error) ? message_failure(&error) : add(t, &params);
        }
    }
    return code;
}

// ---- checking and racing

// The plan's own results are checked first, and whole. Those of others may be a sample (`sampled` of workload.h).
static int check(tune *t, const candidate *c, bool whole) {
    workload_verdict verdict;
    char             text[TUNE_TEXT];
    t->s.w.sampled = !whole;
    int              code = workload_try(&t->s.w, c->v->kernel, 0, NULL, &verdict);
    if (code || verdict.ok) return code;
    return workload_wrong(&verdict, tune_choice(t, c, text));
}

// New candidates follow the others in the ranking, in the order in which they were added.
static int check_new(tune *t, bool whole) {
    int code = CODE_OK;
    for (; !code && t->checked < t->ranked; t->checked++) {
        progress_show("checking: candidate", t->checked, t->ranked);
        code = check(t, t->ranking[t->checked], whole || !t->checked);
    }
    progress_show("", t->ranked, t->ranked);
    return code;
}

// Finalists first: few rounds say less than many.
static int faster(const void *a, const void *b) {
    const candidate *x = *(candidate *const *)a, *y = *(candidate *const *)b;
    if (x->final != y->final) return x->final ? -1 : 1;
    return measure_ascending(&x->v->race->time.median, &y->v->race->time.median);
}

static void rank(tune *t) { qsort(t->ranking, t->ranked, sizeof *t->ranking, faster); }

// Races the best so far and the plan's own choice, with which all others are compared.
static int race_finalists(tune *t) {
    contender *finals = calloc(FINALISTS, sizeof *finals);
    size_t     count = 0;
    cj_error   error;
    if (!finals) return message_error(CJ_OUT_OF_MEMORY, "no memory for the last rounds");
    t->candidates[0].final = true;
    for (size_t i = 0; i < t->ranked && i < FINALISTS - 1; i++) t->ranking[i]->final = true;
    for (size_t i = 0; i < t->ranked; i++)
        if (t->ranking[i]->final) finals[count++] = *t->ranking[i]->v->race;
    cj_status status = measure(t->s.w.device, finals, count, t->s.options.rounds, &error);
    for (size_t i = t->ranked; i > 0; i--)
        if (t->ranking[i - 1]->final) *t->ranking[i - 1]->v->race = finals[--count];
    free(finals);
    return status ? message_failure(&error) : CODE_OK;
}

static int race_new(tune *t, size_t *raced) {
    cj_error  error;
    cj_status status = measure(t->s.w.device, t->s.races + *raced, t->s.race_count - *raced, FIRST_ROUNDS, &error);
    *raced = t->s.race_count;
    return status ? message_failure(&error) : CODE_OK;
}

// Expands the fastest candidates that have not been expanded.
static int expand_fastest(tune *t) {
    const size_t first = t->count;
    int          code = CODE_OK;
    for (size_t i = 0; !code && i < t->ranked && i < FASTEST; i++)
        if (!t->ranking[i]->expanded) code = expand(t, t->ranking[i]);
    return code ? code : load(t, first);
}

static int race(tune *t) {
    size_t raced = 0;
    int    code = CODE_OK;
    while (!code && raced < t->s.race_count) {
        code = race_new(t, &raced);
        rank(t);
        if (!code) code = expand_fastest(t);
        if (!code) code = check_new(t, false);
    }
    if (!code) code = race_finalists(t);
    rank(t);
    for (size_t i = 0; !code && i < t->ranked && t->ranking[i]->final; i++)
        code = check(t, t->ranking[i], !i || t->ranking[i] == tune_plan(t));
    return code;
}

int tune_search(tune *t, bool timed) {
    int code = add_first(t);
    if (!code) code = expand_fastest(t);
    if (!code) code = check_new(t, !timed);
    return code || !timed ? code : race(t);
}

// ---- looking

const candidate *tune_plan(const tune *t) { return &t->candidates[0]; }

const candidate *tune_winner(const tune *t) {
    const candidate *best = t->ranking[0];
    return measure_faster(&best->v->race->time, &tune_plan(t)->v->race->time) ? best : NULL;
}

const char *tune_refusal(const candidate *c) {
    if (!c->v) return c->refused;
    return c->v->kernel ? NULL : c->v->refused;
}

const char *tune_choice(const tune *t, const candidate *c, char buffer[TUNE_TEXT]) {
    size_t used = 0;
    for (size_t i = 0; i < t->open_count && used < TUNE_TEXT; i++) {
        const cj_param_info *info = open_param(t, i);
        char                 word[WORD];
        cj_params_word(&c->params, info->name, word, sizeof word);
        if (!strcmp(word, info->initial)) continue;
        used += (size_t)snprintf(buffer + used, TUNE_TEXT - used, "%s%s=%s", used ? " " : "", info->name, word);
    }
    if (!used) snprintf(buffer, TUNE_TEXT, "the plan's choice");
    return buffer;
}
