// SPDX-License-Identifier: Apache-2.0
// tune: finds the fastest plan for a problem and stores it for later kernels; shows the stored choices.
#include <clusterjit/tuning.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "output.h"
#include "table.h"
#include "tune.h"

// ---- arguments

typedef struct tune_options {
    study_options study;
    bool          dry_run, verbose, list, forget;
} tune_options;

enum { TUNE_DRY_RUN = 0x180, TUNE_FORGET, TUNE_LIST };

static const args_option options[] = {
    STUDY_OPTIONS,
    {.name = "dry-run",
     .key = TUNE_DRY_RUN,
     .doc = "Check what differs from the plan's choice in one parameter; measure and keep nothing. Works on the CPU "
            "device too"},
    {.name = "verbose", .key = 'v', .doc = "Show all candidates, and why others cannot be launched"},
    {.name = "list", .key = TUNE_LIST, .doc = "Show what is kept instead, of all families or of one"},
    {.name = "forget",
     .key = TUNE_FORGET,
     .doc = "Forget what is kept instead: all, what is kept of FAMILY, or, with parameters, what is kept of that "
            "problem"},
    MACHINE_OPTIONS,
    {0},
};

static int set(void *user, int key, char *value) {
    tune_options *o = user;
    switch (key) {
    case TUNE_DRY_RUN: o->dry_run = true; break;
    case TUNE_FORGET: o->forget = true; break;
    case TUNE_LIST: o->list = true; break;
    case 'v': o->verbose = true; break;
    default: return study_set(&o->study, key, value);
    }
    return CODE_OK;
}

static int refuse_word(void *user, char *word) {
    (void)user;
    return args_late_family(word);
}

// clang-format off
#define TUNE_DOC                                                                                                       \
    "Measures a problem of FAMILY with other values for the parameters that are left to the plan, in turns, as bench " \
    "does: those that the family's table names ('ptxgen list'), one changed at a time, first of "                      \
    "the plan's choice, then of the fastest so far. The results of the plan's choice and of the fastest are checked "  \
    "as run checks them. So are those of the others, but of large scans, softmax, cross-entropy and norms only 2^18 "  \
    "elements. A wrong result ends the command, and nothing is kept. "                                                 \
    "Where one is faster than what the plan has by itself, it is kept "                                                \
    "in tuning-1.txt in the directory of the disk cache, and every later kernel for this problem on this model of "    \
    "GPU has it, run, bench and programs included; CLUSTERJIT_TUNING=off passes it over."
// clang-format on

static const args_spec family_spec = {.doc = TUNE_DOC, .options = options, .set = set, .params = true};
const args_spec tune_spec = {.doc = TUNE_DOC,
                                    .options = options,
                                    .set = set,
                                    .take = refuse_word,
                                    .words = "FAMILY [--PARAMETER=VALUE...]\n[--list|--forget]",
                                    .examples = "ptxgen tune scan --rows 4096 --columns 65536\nptxgen tune --list",
                                    .params = true};

// ---- the table of candidates

enum { CELL = 64, SHOWN = 12 };

typedef struct column {
    const char *name;
    void (*text)(const tune *t, const candidate *c, char cell[CELL]);
} column;

static void time_cell(const tune *t, const candidate *c, char cell[CELL]) {
    (void)t;
    figure_time(c->v->race->time.median, cell);
}

static void spread_cell(const tune *t, const candidate *c, char cell[CELL]) {
    const measurement *m = &c->v->race->time;
    (void)t;
    snprintf(cell, CELL, "%.1f %%", 100 * (m->high - m->low) / m->median);
}

static void rate_cell(const tune *t, const candidate *c, char cell[CELL]) {
    if (t->s.w.unit)
        figure_rate(t->s.w.operations / (c->v->race->time.median * 1e-3), t->s.w.unit, cell);
    else
        figure_rate(study_rate(c->v), "B", cell);
}

static double ratio(const tune *t, const candidate *c) {
    return tune_plan(t)->v->race->time.median / c->v->race->time.median;
}

static void ratio_cell(const tune *t, const candidate *c, char cell[CELL]) {
    snprintf(cell, CELL, "%.3f", ratio(t, c));
}

static void role_cell(const tune *t, const candidate *c, char cell[CELL]) {
    const char *role = c == tune_winner(t) ? "the fastest"
                       : c == tune_plan(t) ? "the plan's"
                       : c->final          ? ""
                                           : "few rounds";
    snprintf(cell, CELL, "%s", role);
}

static const column columns[] = {
    {"TIME", time_cell}, {"SPREAD", spread_cell}, {"RATE", rate_cell}, {"RATIO", ratio_cell}, {"", role_cell}};

enum { COLUMNS = sizeof columns / sizeof *columns };

// Fills in the values that the plan chose for the open parameters.
static size_t fill_values(const tune *t, const candidate *c, table *rows) {
    char cell[CELL];
    for (size_t i = 0; i < t->open_count; i++) {
        const char *name = cj_family_param(t->s.w.params.family, t->open[i])->name;
        table_set(rows, i, cj_params_word(&c->v->plan.params, name, cell, sizeof cell));
    }
    return t->open_count;
}

static void add_line(table *rows, const tune *t, const candidate *c, bool timed) {
    char cell[CELL];
    table_row(rows);
    const size_t at = fill_values(t, c, rows);
    for (size_t i = 0; timed && i < COLUMNS; i++) {
        columns[i].text(t, c, cell);
        table_set(rows, at + i, cell);
    }
}

// Whether candidate i of the ranking has a line in the table.
static bool is_shown(const tune *t, const tune_options *o, size_t i) {
    return i < SHOWN || o->verbose || t->ranking[i] == tune_plan(t);
}

static int print_candidates(const tune *t, const tune_options *o) {
    table *rows = table_new();
    size_t left = 0;
    for (size_t i = 0; i < t->open_count; i++)
        table_column(rows, cj_family_param(t->s.w.params.family, t->open[i])->name, TABLE_RIGHT);
    for (size_t i = 0; !o->dry_run && i < COLUMNS; i++)
        table_column(rows, columns[i].name, *columns[i].name ? TABLE_RIGHT : TABLE_LEFT);
    for (size_t i = 0; i < t->ranked; i++)
        if (is_shown(t, o, i))
            add_line(rows, t, t->ranking[i], !o->dry_run);
        else
            left++;
    const int code = table_print(rows);
    if (!code && left) printf("%zu more were right; --verbose shows them\n", left);
    return code;
}

static void print_refusals(const tune *t) {
    char text[TUNE_TEXT];
    for (const candidate *c = t->candidates; c < t->candidates + t->count; c++)
        if (tune_refusal(c)) printf("%s: not launched: %s\n", tune_choice(t, c, text), tune_refusal(c));
}

static void print_outcome(const tune *t, const tune_options *o) {
    const candidate *winner = o->dry_run ? NULL : tune_winner(t);
    char             text[TUNE_TEXT];
    if (o->dry_run)
        printf("%zu candidates, all with right results; nothing was measured or kept.\n", t->ranked);
    else if (winner)
        printf("Kept: %s, %.3f times as fast as the plan's choice.\n", tune_choice(t, winner, text), ratio(t, winner));
    else
        printf("Nothing is faster than the plan's choice, by more than %d %% and beyond the spread: nothing is kept.\n",
               MEASURE_PERCENT);
}

static int print_text(const tune *t, const tune_options *o) {
    printf("%s on %s (%s): %zu candidates\n", cj_family_name(t->s.w.params.family), cj_device_name(t->s.w.device),
           cj_device_reason(t->s.w.device), t->ranked);
    int code = print_candidates(t, o);
    if (code) return code;
    if (o->verbose)
        print_refusals(t);
    else if (t->count > t->ranked)
        printf("%zu more cannot be launched; --verbose says why\n", t->count - t->ranked);
    print_outcome(t, o);
    return CODE_OK;
}

static json_t *candidate_json(const tune *t, const candidate *c, bool timed) {
    char    text[TUNE_TEXT];
    json_t *object = timed ? study_json_variant(&t->s, c->v) : json_object();
    json_object_set_new(object, "choice", json_string(tune_choice(t, c, text)));
    if (timed) json_object_set_new(object, "ratio", json_real(ratio(t, c)));
    return object;
}

static int print_json(const tune *t, const tune_options *o) {
    const candidate *winner = o->dry_run ? NULL : tune_winner(t);
    char             text[TUNE_TEXT];
    json_t          *object = study_json(&t->s), *rows = json_array(), *refused = json_array();
    for (size_t i = 0; i < t->ranked; i++) json_array_append_new(rows, candidate_json(t, t->ranking[i], !o->dry_run));
    for (const candidate *c = t->candidates; c < t->candidates + t->count; c++)
        if (tune_refusal(c))
            json_array_append_new(refused, json_pack("{s:s, s:o}", "choice", tune_choice(t, c, text), "reason",
                                                     output_json_text(tune_refusal(c))));
    json_object_set_new(object, "candidates", rows);
    json_object_set_new(object, "refused", refused);
    json_object_set_new(object, "kept", winner ? json_string(tune_choice(t, winner, text)) : json_null());
    return output_json(object);
}

// ---- tuning

static int admit(const cj_device *device) {
    if (measure_is_real(device)) return CODE_OK;
    return message_error(CJ_UNSUPPORTED,
                         "nothing is tuned on the CPU device, whose times say nothing about a GPU (%s)\n"
                         "run this where there is a GPU; --dry-run checks the candidates here",
                         cj_device_reason(device));
}

// If the plan's own choice is the fastest, removes an older stored choice.
static int keep(const tune *t) {
    const candidate *winner = tune_winner(t);
    const cj_params *problem = &t->s.w.params;
    size_t           forgotten;
    cj_error         error;
    cj_status        status;
    if (winner)
        status = cj_tuning_keep(t->s.w.device, problem, &winner->params, winner->v->race->time.median,
                                tune_plan(t)->v->race->time.median, &error);
    else
        status = cj_tuning_forget(
            &(cj_tuning_filter){CJ_INIT(cj_tuning_filter), .device = t->s.w.device, .problem = problem}, &forgotten,
            &error);
    return status ? message_failure(&error) : CODE_OK;
}

static int tune_family(const tune_options *o, const args_family *family) {
    tune t;
    int  code = tune_open(&t, &o->study, family);
    if (!code) code = tune_search(&t, !o->dry_run);
    if (!code && !o->dry_run) code = keep(&t);
    if (!code) code = o->study.json ? print_json(&t, o) : print_text(&t, o);
    tune_close(&t);
    return code;
}

// ---- the stored choices

typedef struct listing {
    table  *rows;
    json_t *array;
} listing;

static void list_line(void *user, const cj_tuning *k) {
    const listing *l = user;
    char           time[FIGURE_TEXT], untuned[FIGURE_TEXT];
    if (l->array) {
        json_array_append_new(l->array, json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:s}", "family", k->family, "device",
                                                  output_json_text(k->device), "problem", output_json_text(k->problem),
                                                  "choice", k->choice, "time_ms", output_json_real(k->time),
                                                  "untuned_ms", output_json_real(k->untuned), "made", k->made));
        return;
    }
    const char *cells[] = {
        k->family, k->device, k->problem, k->choice, figure_time(k->time, time), figure_time(k->untuned, untuned),
        k->made};
    table_row(l->rows);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) table_set(l->rows, i, cells[i]);
}

static const struct {
    const char *title;
    table_side  side;
} kept_columns[] = {{"FAMILY", TABLE_LEFT}, {"DEVICE", TABLE_LEFT},   {"PROBLEM", TABLE_LEFT}, {"CHOICE", TABLE_LEFT},
                    {"TIME", TABLE_RIGHT},  {"UNTUNED", TABLE_RIGHT}, {"DAY", TABLE_LEFT}};

static int list_text(const cj_tuning_filter *filter) {
    listing  l = {.rows = table_new()};
    cj_error error;
    for (size_t i = 0; i < sizeof kept_columns / sizeof *kept_columns; i++)
        table_column(l.rows, kept_columns[i].title, kept_columns[i].side);
    int code = cj_tuning_each(filter, list_line, &l, &error) ? message_failure(&error) : CODE_OK;
    if (!code && !table_rows(l.rows)) puts("Nothing is kept.");
    const int printed = table_print(l.rows);
    return code ? code : printed;
}

static int list_kept(const cj_tuning_filter *filter, bool json) {
    listing  l = {.array = json_array()};
    cj_error error;
    if (!json) {
        json_decref(l.array);
        return list_text(filter);
    }
    if (!cj_tuning_each(filter, list_line, &l, &error)) return output_json(json_pack("{s:o}", "plans", l.array));
    json_decref(l.array);
    return message_failure(&error);
}

static int forget_kept(const cj_tuning_filter *filter, bool json) {
    size_t   count;
    cj_error error;
    if (cj_tuning_forget(filter, &count, &error)) return message_failure(&error);
    if (json) return output_json(json_pack("{s:I}", "forgotten", (json_int_t)count));
    printf("Forgotten: %zu\n", count);
    return CODE_OK;
}

static bool any_given(const args_family *family) {
    for (size_t i = 0; i < CJ_PARAM_MAX; i++)
        if (family->given[i]) return true;
    return false;
}

static int show_kept(const tune_options *o, const args_family *family) {
    const cj_tuning_filter filter = {CJ_INIT(filter), .family = family ? family->params.family : NULL,
                                     .problem = family && any_given(family) ? &family->params : NULL};
    if (o->list + o->forget + o->dry_run > 1)
        return message_error(CJ_INVALID_ARGUMENT, "--list, --forget and --dry-run exclude each other");
    return o->list ? list_kept(&filter, o->study.json) : forget_kept(&filter, o->study.json);
}

// ---- the command

static int tune_all(int argc, char **argv, tune_options *o) {
    args_parse(&tune_spec, argc, argv, o, NULL);
    if (o->list || o->forget) return show_kept(o, NULL);
    return message_error(CJ_INVALID_ARGUMENT, "which kernel family? Its name comes first\n"
                                              "'ptxgen list' shows them; --list and --forget are of all families");
}

int cmd_tune(int argc, char **argv) {
    tune_options o = {.study = {.device = "auto", .untuned = true, .admit = admit}};
    args_family  family;
    if (argc > 1 && argv[1][0] == '-') return tune_all(argc, argv, &o);
    args_parse(&family_spec, argc, argv, &o, &family);
    if (o.study.gpus) return message_error(CJ_INVALID_ARGUMENT, "choices are those of one GPU\nleave --gpus out");
    if (o.dry_run) o.study.admit = NULL;
    int code = o.list || o.forget ? show_kept(&o, &family) : tune_family(&o, &family);
    args_family_free(&family);
    return code;
}
