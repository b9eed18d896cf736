// SPDX-License-Identifier: Apache-2.0
#include "compare.h"

#include <clusterjit/tuning.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "progress.h"

enum { FORMS_MAX = 512, FEW_ROUNDS = 3, FINALISTS = 2, WORD = 32 };

static const double SEARCH_SECONDS = 20, FIRST_SHARE = 0.6;  // of the time: for forms that differ from the plan's
static const double SLOW = 3;                                // times the fastest of its size at a glance: not raced

// The cluster sizes to compare. 0: without clusters.
static const uint32_t sizes[] = {0, 1, 2, 4, 8, 16};
enum { SIZES = sizeof sizes / sizeof *sizes };
_Static_assert((int)SIZES == (int)COMPARE_SIZES, "");

// 1: the sizes; 2: their forms; 3: forms like the best of these; 4: the finalists; 5: checks. Without times: 1, and each form once; 3:
// more rounds, if they are asked for.
static void begin_phase(const comparison *c, unsigned number) {
    progress_phase(number, c->timed ? 5 : c->s.options.rounds > 1 ? 3 : 2);
}

int compare_open(comparison *c, const study_options *options, const args_family *family) {
    *c = (comparison){.given = family->given, .begun = progress_clock()};
    c->forms = calloc(FORMS_MAX, sizeof *c->forms);
    if (!c->forms) return message_error(CJ_OUT_OF_MEMORY, "no memory for %d kernels", FORMS_MAX);
    progress_say("making the input");
    int code = study_open(&c->s, options, family, FORMS_MAX);
    progress_clear();
    c->timed = !code && measure_is_real(c->s.w.device);
    c->begun = progress_clock();
    return code;
}

void compare_close(comparison *c) {
    study_close(&c->s);
    free(c->forms);
}

static const cj_family *family_of(const comparison *c) { return c->s.w.params.family; }

static const char *name_of(const comparison *c, size_t i) { return cj_family_param(family_of(c), i)->name; }

// ---- adding forms

// A histogram whose blocks count in each other's memory is shown besides the other strategy, whichever is faster.
static bool is_remote(const form *f) {
    char word[WORD];
    return !strcmp(cj_family_name(f->params.family), "histogram") &&
           !strcmp(cj_params_word(&f->params, "strategy", word, sizeof word), "remote");
}

// Whether two forms have the same cluster size and the same problem.
static bool is_alike(const form *a, const form *b) {
    return a->blocks == b->blocks && a->cluster == b->cluster && is_remote(a) == is_remote(b);
}

// Different values may give the same plan.
static form *find_planned(comparison *c, const cj_plan *plan, uint32_t blocks) {
    for (form *f = c->forms; f < c->forms + c->count; f++)
        if (f->blocks == blocks && !memcmp(f->v->plan.params.value, plan->params.value, sizeof plan->params.value) &&
            study_cluster(&f->v->plan) == study_cluster(plan))
            return f;
    return NULL;
}

static void note_refusal(comparison *c, uint32_t blocks, uint32_t cluster, const char *text) {
    if (c->line_count == COMPARE_LINES) return;
    line *l = &c->lines[c->line_count++];
    *l = (line){.blocks = blocks, .cluster = cluster};
    snprintf(l->refused, sizeof l->refused, "%s", text);
}

static bool is_refusal(cj_status status) {
    return status == CJ_INVALID_ARGUMENT || status == CJ_CONTRACT || status == CJ_UNSUPPORTED;
}

static void keep_first(comparison *c, const cj_error *why) {
    if (!c->why.status) c->why = *why;
}

static int load(comparison *c, const cj_params *params, uint32_t blocks, form **added, char refused[STUDY_REASON]) {
    form    *f = &c->forms[c->count];
    variant *v = &c->s.variants[c->s.count];
    int      code = study_add(&c->s, params);
    if (code) return code;
    if (!v->kernel) {
        c->s.count--;
        snprintf(refused, STUDY_REASON, "%s", v->refused);
        keep_first(c, &v->why);
        return CODE_OK;
    }
    *f = (form){.params = *params, .v = v, .blocks = blocks, .cluster = study_cluster(&v->plan)};
    c->count++;
    *added = f;
    return CODE_OK;
}

// *added is the form, which may be an earlier one; NULL after a refusal, whose message is in `refused`.
static int add(comparison *c, const cj_params *params, uint32_t blocks, form **added, char refused[STUDY_REASON]) {
    cj_plan   plan;
    cj_error  error;
    cj_status status = cj_tuning_plan(c->s.w.device, params, c->s.options.arch, &plan, &error);
    *added = NULL;
    if (status && !is_refusal(status)) return message_failure(&error);
    if (status) {
        snprintf(refused, STUDY_REASON, "%s%s%s", error.message, *error.rule ? ", rule " : "", error.rule);
        keep_first(c, &error);
    } else {
        *added = find_planned(c, &plan, blocks);
    }
    if (status || *added || c->count == FORMS_MAX) return CODE_OK;
    return load(c, params, blocks, added, refused);
}

static int set_number(cj_params *params, const char *name, uint32_t value) {
    char     text[12];
    cj_error error;
    snprintf(text, sizeof text, "%u", value);
    return cj_params_set(params, name, text, &error) ? message_failure(&error) : CODE_OK;
}

// Adds the plan's form of a cluster size. A plan may choose another size; then the form is one of that size.
static int add_size(comparison *c, const cj_params *problem, uint32_t blocks, uint32_t cluster) {
    cj_params params = *problem;
    form     *f;
    char      refused[STUDY_REASON] = "";
    int       code = set_number(&params, "cluster", cluster);
    if (code) return code;
    c->seeds[c->seed_count++] = (seed){params, blocks, cluster};
    code = add(c, &params, blocks, &f, refused);
    if (code || (f && f->cluster == cluster)) return code;
    if (f && f->cluster)
        snprintf(refused, sizeof refused, "planned with clusters of %u", f->cluster);
    else if (f)
        snprintf(refused, sizeof refused, "%s", *f->v->plan.note ? f->v->plan.note : "planned without clusters");
    note_refusal(c, blocks, cluster, refused);
    return CODE_OK;
}

// The parameter's maximum, from the family's table.
static uint64_t most_of(const comparison *c, const char *name) {
    for (size_t i = 0; i < cj_family_param_count(family_of(c)); i++)
        if (!strcmp(name_of(c, i), name)) return cj_family_param(family_of(c), i)->maximum;
    return 0;
}

static bool is_given(const comparison *c, const char *name) {
    size_t i = 0;
    while (strcmp(name_of(c, i), name) != 0) i++;
    return c->given[i];
}

static int add_remote(comparison *c, uint32_t cluster) {
    cj_params params = c->s.w.params;
    cj_error  error;
    if (cluster < 2 || strcmp(cj_family_name(family_of(c)), "histogram") || is_given(c, "strategy")) return CODE_OK;
    if (cj_params_set(&params, "strategy", "remote", &error)) return message_failure(&error);
    return add_size(c, &params, 0, cluster);
}

static int add_problem(comparison *c) {
    char  refused[STUDY_REASON] = "";
    form *f;
    int   code = add(c, &c->s.w.params, 0, &f, refused);
    for (size_t i = 0; !code && i < SIZES && sizes[i] <= most_of(c, "cluster"); i++) {
        progress_show("loading: cluster size", i, SIZES);
        code = add_size(c, &c->s.w.params, 0, sizes[i]);
        if (!code) code = add_remote(c, sizes[i]);
    }
    if (!code && c->count) c->plan = f;
    return code;
}

// A problem of `blocks` blocks: with a cluster, and without one.
static int add_blocks(comparison *c, uint32_t blocks) {
    cj_params params = c->s.w.params;
    int       code = add_size(c, &params, blocks, blocks);
    if (!code && cj_params_get(&params, "size") != UINT64_MAX) code = set_number(&params, "size", blocks);
    return code ? code : add_size(c, &params, blocks, 0);
}

static int add_all_blocks(comparison *c) {
    const uint64_t asked = cj_params_get(&c->s.w.params, "size");
    int            code = CODE_OK;
    if (asked && asked != UINT64_MAX) return add_blocks(c, (uint32_t)asked);
    for (size_t i = 2; !code && i < SIZES; i++) {
        progress_show("loading: cluster size", i - 2, SIZES - 2);
        code = add_blocks(c, sizes[i]);
    }
    return code;
}

static int add_sizes(comparison *c) {
    int code = c->s.own ? add_all_blocks(c) : add_problem(c);
    progress_clear();
    if (code || c->count) return code;
    const cj_status status = c->why.status == CJ_UNSUPPORTED ? CJ_UNSUPPORTED : CJ_CONTRACT;
    if (!*c->why.hint) return message_error(status, "no cluster size can be launched: %s", c->lines[0].refused);
    return message_error(status, "no cluster size can be launched: %s\n%s", c->lines[0].refused, c->why.hint);
}

// ---- other forms

// Reads the next of blank-separated words; false after the last.
static bool next_word(const char **at, char word[WORD]) {
    if (!*at) return false;
    *at += strspn(*at, " ");
    const size_t length = strcspn(*at, " ");
    snprintf(word, WORD, "%.*s", (int)length, *at);
    *at += length;
    return length > 0;
}

// Without peers, counters in a peer's memory are the block's own: the row would repeat the owner's row.
static bool lacks_peers(const seed *from, const char *word) { return from->cluster < 2 && !strcmp(word, "remote"); }

// The values to try for a parameter; NULL: it keeps its value.
static const char *values_of(const comparison *c, size_t i) {
    const cj_param_info *info = cj_family_param(family_of(c), i);
    if (!strcmp(info->name, "cluster") || c->given[i]) return NULL;
    if (cj_tuning_is_open(&c->s.w.params, i)) return info->tune;
    return !strcmp(info->name, "strategy") ? info->choices : NULL;
}

static bool has_form(const comparison *c, uint32_t blocks, uint32_t cluster) {
    for (const form *f = c->forms; f < c->forms + c->count; f++)
        if (f->blocks == blocks && f->cluster == cluster) return true;
    return false;
}

// Adds all forms that differ from it in one parameter, until `end` (by the clock); for a size without a timed form, the
// first possible form.
static int expand(comparison *c, const seed *from, double end) {
    for (size_t i = 0; i < cj_family_param_count(family_of(c)); i++) {
        const char *words = values_of(c, i);
        char        word[WORD], refused[STUDY_REASON];
        while (next_word(&words, word)) {
            cj_params params = from->params;
            cj_error  error;
            form     *added;
            if (lacks_peers(from, word)) continue;
            if (!c->timed && has_form(c, from->blocks, from->cluster)) return CODE_OK;
            if (c->timed && progress_clock() > end) {
                c->left_out++;
                continue;
            }
            if (cj_params_set(&params, name_of(c, i), word, &error)) return message_failure(&error);
            int code = add(c, &params, from->blocks, &added, refused);
            if (code) return code;
        }
    }
    return CODE_OK;
}

// Each gets an equal part of a share of the time, and the time that earlier ones have left.
static int expand_all(comparison *c, const seed *from, size_t count, double share) {
    const double begin = progress_clock(), end = c->begun + share * SEARCH_SECONDS;
    int          code = CODE_OK;
    for (size_t i = 0; !code && i < count; i++) {
        progress_show("loading: forms of size", i, count);
        code = expand(c, &from[i], begin + (end - begin) * (double)(i + 1) / (double)count);
    }
    progress_clear();
    return code;
}

// ---- racing

static bool is_better(const form *a, const form *b) {
    if (a->stage != b->stage) return a->stage > b->stage;  // a form with more rounds comes first
    return a->time.median < b->time.median;
}

static form *best_like(const comparison *c, const form *like) {
    form *best = NULL;
    for (form *f = c->forms; f < c->forms + c->count; f++)
        if (is_alike(f, like) && (!best || is_better(f, best))) best = f;
    return best;
}

// How many forms of the same size are faster.
static unsigned rank_of(const comparison *c, const form *f) {
    unsigned rank = 0;
    for (const form *g = c->forms; g < c->forms + c->count; g++) rank += g != f && is_alike(f, g) && is_better(g, f);
    return rank;
}

static int race(comparison *c, form *const some[], size_t count, unsigned rounds, form_stage stage) {
    contender *races = calloc(count + 1, sizeof *races);
    cj_error   error;
    if (!races) return message_error(CJ_OUT_OF_MEMORY, "no memory for the times");
    for (size_t i = 0; i < count; i++) races[i] = *some[i]->v->race;
    cj_status status = measure(c->s.w.device, races, count, rounds, &error);
    for (size_t i = 0; !status && i < count; i++) {
        *some[i]->v->race = races[i];
        some[i]->time = races[i].time;
        some[i]->stage = stage;
    }
    free(races);
    return status ? message_failure(&error) : CODE_OK;
}

static int glance(comparison *c, size_t first) {
    cj_error error;
    for (size_t i = first; i < c->count; i++) {
        progress_show("a glance at kernel", i - first, c->count - first);
        if (measure_glance(c->s.w.device, c->forms[i].v->race, &c->forms[i].glance, &error))
            return message_failure(&error);
    }
    progress_clear();
    return CODE_OK;
}

static bool is_slow(const comparison *c, const form *f) {
    for (const form *g = c->forms; g < c->forms + c->count; g++)
        if (is_alike(f, g) && f->glance > SLOW * g->glance) return true;
    return false;
}

// Races the forms from `first` on, except those that are several times slower in a first timing.
static int race_new(comparison *c, size_t first) {
    form  *some[FORMS_MAX];
    size_t count = 0;
    int    code = glance(c, first);
    for (size_t i = first; i < c->count; i++)
        if (!is_slow(c, &c->forms[i])) some[count++] = &c->forms[i];
    return code ? code : race(c, some, count, FEW_ROUNDS, FORM_TRIED);
}

static size_t list_best(comparison *c, form *some[], unsigned ranks) {
    size_t count = 0;
    for (form *f = c->forms; f < c->forms + c->count; f++)
        if ((f->stage && rank_of(c, f) < ranks) || f == c->plan) some[count++] = f;
    return count;
}

static int race_all(comparison *c) {
    form  *some[FORMS_MAX];
    seed   best[COMPARE_LINES];
    size_t count;
    begin_phase(c, 2);
    int code = expand_all(c, c->seeds, c->seed_count, FIRST_SHARE);
    if (!code) code = race_new(c, 0);
    const size_t raced = c->count;
    count = list_best(c, some, 1);
    if (count > COMPARE_LINES) count = COMPARE_LINES;
    for (size_t i = 0; i < count; i++) best[i] = (seed){some[i]->params, some[i]->blocks, some[i]->cluster};
    begin_phase(c, 3);
    if (!code) code = expand_all(c, best, count, 1);
    if (!code) code = race_new(c, raced);
    begin_phase(c, 4);
    count = list_best(c, some, FINALISTS);
    return code ? code : race(c, some, count, c->s.options.rounds, FORM_MEASURED);
}

// The CPU device: runs each form once, which checks it; the launch's own time counts unless more rounds are asked for.
static int run_all(comparison *c) {
    const unsigned rounds = c->s.options.rounds > 1 ? c->s.options.rounds : 0;
    form          *some[FORMS_MAX];
    begin_phase(c, 2);
    int code = expand_all(c, c->seeds, c->seed_count, 1);
    for (size_t i = 0; !code && i < c->count; i++) {
        double ms = 0;
        some[i] = &c->forms[i];
        progress_show("running: kernel", i, c->count);
        code = study_check(&c->s, some[i]->v, 1, &ms);
        some[i]->time = (measurement){.median = ms, .low = ms, .high = ms, .rounds = 1, .launches = 1};
        some[i]->stage = FORM_MEASURED;
        some[i]->v->race->time = some[i]->time;
        some[i]->v->race->round[0] = ms;
    }
    progress_clear();
    begin_phase(c, 3);
    return code || !rounds ? code : race(c, some, c->count, rounds, FORM_MEASURED);
}

// ---- the result

static int by_size(const void *a, const void *b) {
    const line *x = a, *y = b;
    if (x->blocks != y->blocks) return x->blocks < y->blocks ? -1 : 1;
    if (x->cluster != y->cluster) return x->cluster < y->cluster ? -1 : 1;
    if (x->best && y->best && is_remote(x->best) != is_remote(y->best)) return is_remote(x->best) ? 1 : -1;
    return (y->best != NULL) - (x->best != NULL) + x->is_plan - y->is_plan;
}

static void add_line(comparison *c, const form *f) {
    if (c->line_count == COMPARE_LINES) return;
    c->lines[c->line_count++] = (line){.blocks = f->blocks, .cluster = f->cluster, .best = f, .is_plan = f == c->plan};
}

// A size for which some form exists is not shown as refused.
static void drop_refusals(comparison *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->line_count; i++)
        if (!has_form(c, c->lines[i].blocks, c->lines[i].cluster)) c->lines[kept++] = c->lines[i];
    c->line_count = kept;
}

static const form *first_like(const comparison *c, const form *like) {
    const form *f = c->forms;
    while (!is_alike(f, like)) f++;
    return f;
}

static void make_lines(comparison *c) {
    drop_refusals(c);
    for (const form *f = c->forms; f < c->forms + c->count; f++) {
        if (f != first_like(c, f)) continue;
        const form *best = c->timed ? best_like(c, f) : f;
        add_line(c, best);
        if (c->plan && is_alike(c->plan, f) && c->plan != best) add_line(c, c->plan);
    }
    qsort(c->lines, c->line_count, sizeof *c->lines, by_size);
}

static void judge(comparison *c) {
    verdict_time times[COMPARE_LINES];
    for (size_t i = 0; i < c->line_count;) {
        group *g = &c->groups[c->group_count];
        *g = (group){.blocks = c->lines[i].blocks, .first = i};
        for (; i < c->line_count && c->lines[i].blocks == g->blocks; i++) {
            static const measurement never = {.median = HUGE_VAL, .low = HUGE_VAL, .high = HUGE_VAL};
            const form              *f = c->lines[i].best;
            times[g->count++] = (verdict_time){f ? c->lines[i].cluster : 1, f ? &f->time : &never};
        }
        verdict_of(times, g->count, &g->verdict);
        if (++c->group_count == COMPARE_GROUPS) return;
    }
}

static int check_lines(comparison *c) {
    int code = CODE_OK;
    begin_phase(c, 5);
    for (size_t i = 0; !code && i < c->line_count; i++) {
        progress_show("checking: kernel", i, c->line_count);
        if (c->lines[i].best) code = study_check(&c->s, c->lines[i].best->v, 1, NULL);
    }
    progress_clear();
    return code;
}

int compare_search(comparison *c) {
    cj_error error;
    begin_phase(c, 1);
    int code = add_sizes(c);
    if (!code && measure_ceilings(c->s.w.device, &c->s.read_ceiling, &c->s.copy_ceiling, &error))
        code = message_failure(&error);
    if (!code) code = c->timed ? race_all(c) : run_all(c);
    if (code) return code;
    make_lines(c);
    if (c->timed) judge(c);
    code = c->timed ? check_lines(c) : CODE_OK;
    progress_phase(0, 0);
    return code;
}

// ---- as text

static bool is_form(const char *name) { return !strcmp(name, "form") || !strcmp(name, "strategy"); }

const char *compare_choice(const comparison *c, const form *f, char buffer[COMPARE_TEXT]) {
    size_t used = 0;
    buffer[0] = '\0';
    if (f->blocks && !f->cluster) return strcpy(buffer, "through global memory");
    for (size_t i = 0; i < cj_family_param_count(family_of(c)) && used < COMPARE_TEXT; i++) {
        const bool changed = f->params.value[i] != c->s.w.params.value[i];
        char       word[WORD];
        if (!strcmp(name_of(c, i), "cluster") || !strcmp(name_of(c, i), "size")) continue;
        if (!changed && !is_form(name_of(c, i))) continue;
        cj_params_word(&f->v->plan.params, name_of(c, i), word, sizeof word);
        used += (size_t)snprintf(buffer + used, COMPARE_TEXT - used, "%s%s=%s", used ? " " : "", name_of(c, i), word);
    }
    return buffer;
}
