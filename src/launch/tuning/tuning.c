// SPDX-License-Identifier: Apache-2.0
// Tuned choices: looked up and stored by parameters.
#include "system.h"

#include <clusterjit/tuning.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "allocate.h"
#include "cache.h"
#include "device.h"
#include "error.h"
#include "hash.h"
#include "log.h"
#include "sized.h"
#include "tuning_file.h"

// ---- a problem as text

enum { WORD = 1024, DEVICE = 128 };  // the longest word is a list of numbers

// The same text for all devices of a model, with any driver; a bar in the name is replaced, since bars separate fields.
static void write_device(const cj_device *device, char text[DEVICE]) {
    const cj_limits *limits = cj_device_limits(device);
    snprintf(text, DEVICE, "%s, sm_%" PRIu32 ", %" PRIu32 " SMs", cj_device_name(device), limits->compute_capability,
             limits->sm_count);
    for (char *c = text; *c; c++)
        if (*c == '|' || (unsigned char)*c < ' ') *c = '_';
}

bool cj_tuning_is_open(const cj_params *params, size_t index) {
    const cj_param_info *info = params ? cj_family_param(params->family, index) : NULL;
    char                 word[WORD];
    return info && info->tune && !strcmp(cj_params_word(params, info->name, word, sizeof word), info->initial);
}

static void write_param(const cj_params *params, size_t index, cj_text *text) {
    const cj_param_info *info = cj_family_param(params->family, index);
    char                 word[WORD];
    if (text->length) cj__text_puts(text, " ");
    if (info->function) {
        const char *function = cj_user_function_text(params->function[index]);
        cj__text_printf(text, "%s=#%08x", info->name, (unsigned)cj__hash(function, strlen(function)));
    } else {
        cj__text_printf(text, "%s=%s", info->name, cj_params_word(params, info->name, word, sizeof word));
    }
}

static bool is_default(const cj_params *params, size_t index) {
    const cj_param_info *info = cj_family_param(params->family, index);
    char                 word[WORD];
    if (info->function) return !params->function[index];
    return !strcmp(cj_params_word(params, info->name, word, sizeof word), info->initial);
}

// Only parameters that differ from their defaults: so a parameter that a later version adds does not change problems of
// now.
static void write_problem(const cj_params *params, cj_text *text) {
    for (size_t i = 0; i < cj_family_param_count(params->family); i++)
        if (!is_default(params, i)) write_param(params, i, text);
    if (!text->length) cj__text_puts(text, "defaults");
}

static void write_choice(const cj_params *problem, const cj_params *choice, cj_text *text) {
    for (size_t i = 0; i < cj_family_param_count(problem->family); i++)
        if (cj_tuning_is_open(problem, i) && !is_default(choice, i)) write_param(choice, i, text);
}

// ---- the choices that are wanted

typedef struct wanted {
    const cj_family *family;          // NULL: any
    char             device[DEVICE];  // empty: any
    cj_text          problem;         // no data: any
} wanted;

static cj_status want(const cj_tuning_filter *filter, wanted *w, cj_error *error) {
    *w = (wanted){.family = filter->problem ? filter->problem->family : filter->family};
    if (filter->device) write_device(filter->device, w->device);
    if (filter->problem) write_problem(filter->problem, &w->problem);
    return w->problem.failed ? cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a problem's name") : CJ_OK;
}

static bool is_wanted(const wanted *w, const cj_tuning *t) {
    return (!w->family || !strcmp(t->family, cj_family_name(w->family))) &&
           (!*w->device || !strcmp(t->device, w->device)) && (!w->problem.data || !strcmp(t->problem, w->problem.data));
}

// ---- reading

// Reads the whole file; no text if there is none.
static cj_status read_file(char **text, size_t *bytes, cj_error *error) {
    cj_disk *disk;
    *text = NULL;
    *bytes = 0;
    cj_status status = cj__cache_open(false, &cj__files, &disk, error);
    if (!status && disk) status = cj__disk_read_text(disk, CJ_TUNING_FILE, text, bytes, error);
    cj__disk_close(disk);
    return status;
}

static void log_damage(const cj_tuning_reader *reader) {
    if (reader->damaged)
        cj__log(CJ_LOG_INFO,
                CJ_TUNING_FILE " in the cache directory has %zu damaged line%s; what is kept there is passed over,"
                               " and gone when ptxgen tune writes it again",
                reader->damaged, reader->damaged == 1 ? "" : "s");
}

static void visit_all(const wanted *w, const char *text, size_t bytes, cj_tuning_visit visit, void *user) {
    cj_tuning_reader reader;
    cj_tuning        t;
    cj__tuning_reader_init(&reader, text, bytes);
    while (cj__tuning_next(&reader, &t))
        if (is_wanted(w, &t)) visit(user, &t);
    log_damage(&reader);
}

cj_status cj_tuning_each(const cj_tuning_filter *filter, cj_tuning_visit visit, void *user, cj_error *error) {
    SIZED(cj_tuning_filter, filter);
    REQUIRE(visit);
    wanted    w;
    char     *text = NULL;
    size_t    bytes;
    cj_status status = want(filter, &w, error);
    if (!status) status = read_file(&text, &bytes, error);
    if (text) visit_all(&w, text, bytes, visit, user);
    cj__free(text);
    cj__text_free(&w.problem);
    return status;
}

// ---- planning with it

typedef struct search {
    cj_params *params;  // the choice is set in these
    char       choice[CJ_TUNING_LINE];
    bool       found;
    cj_error   error;  // why it cannot be set
} search;

// Sets "tile=128x128 cluster=2"; cuts the text into pieces.
static cj_status set_choice(cj_params *params, char *text, cj_error *error) {
    const cj_family *family = params->family;
    const cj_params  asked = *params;
    char            *rest = NULL;
    cj_status        status = CJ_OK;
    for (char *name = strtok_r(text, " ", &rest); name && !status; name = strtok_r(NULL, " ", &rest)) {
        char  *value = strchr(name, '=');
        size_t i = 0;
        if (value) *value++ = '\0';
        while (i < cj_family_param_count(family) && strcmp(cj_family_param(family, i)->name, name)) i++;
        if (!value || !cj_tuning_is_open(&asked, i))
            return cj__fail(error, CJ_INVALID_ARGUMENT, "%s is nothing that tuning chooses here", name);
        status = cj_params_set(params, name, value, error);
    }
    return status;
}

static void take_choice(void *user, const cj_tuning *t) {
    search *s = user;
    s->found = true;
    snprintf(s->choice, sizeof s->choice, "%s", t->choice);
}

static bool is_tunable(const cj_params *params) {
    for (size_t i = 0; i < cj_family_param_count(params->family); i++)
        if (cj_tuning_is_open(params, i)) return true;
    return false;
}

static bool is_switched_off(void) {
    const char *value = cj__getenv("CLUSTERJIT_TUNING");
    return value && !strcmp(value, "off");
}

// Finds the choice and copies its text to `choice`; false if there is none. A file that cannot be read counts as none:
// the disk cache logs why.
static bool find_choice(const cj_device *device, const cj_params *params, search *s) {
    s->found = false;
    if (is_switched_off() || !is_tunable(params)) return false;
    cj_error               error;
    const cj_tuning_filter filter = {CJ_INIT(filter), .device = device, .problem = params};
    if (cj_tuning_each(&filter, take_choice, s, &error)) cj__log(CJ_LOG_DEBUG, "nothing is tuned: %s", error.message);
    return s->found;
}

cj_status cj_tuning_plan(cj_device *device, const cj_params *params, const char *arch, cj_plan *plan, cj_error *error) {
    REQUIRE(device);
    REQUIRE(params);
    REQUIRE(params->family);
    REQUIRE(plan);
    const cj_limits *limits = cj_device_limits(device);
    search           s;
    if (!find_choice(device, params, &s)) return cj_plan_make(params, limits, arch, plan, error);

    cj_params tuned = *params;
    char      choice[CJ_TUNING_LINE];
    cj_error  refused;
    memcpy(choice, s.choice, sizeof choice);
    cj_status status = set_choice(&tuned, choice, &refused);
    if (!status) status = cj_plan_make(&tuned, limits, arch, plan, &refused);
    if (!status) {
        if (!*plan->note) snprintf(plan->note, sizeof plan->note, "tuned for this device: %.200s", s.choice);
        return CJ_OK;
    }
    cj__log(CJ_LOG_INFO, "what tuning has found for %s, %s, is passed over: %s", cj_family_name(params->family),
            s.choice, refused.message);
    return cj_plan_make(params, limits, arch, plan, error);
}

// ---- writing

typedef struct change {
    const wanted    *drop;
    const cj_tuning *add;  // NULL: none
    size_t           dropped;
} change;

static void write_changed(void *user, const char *old, size_t bytes, cj_text *made) {
    change          *c = user;
    cj_tuning_reader reader;
    cj_tuning        t;
    cj__tuning_write_head(made);
    cj__tuning_reader_init(&reader, old, bytes);
    while (cj__tuning_next(&reader, &t)) {
        if (is_wanted(c->drop, &t))
            c->dropped++;
        else
            cj__tuning_write(&t, made);
    }
    if (c->add) cj__tuning_write(c->add, made);
    log_damage(&reader);
}

static cj_status change_file(change *c, bool make, cj_error *error) {
    cj_disk  *disk;
    cj_status status = cj__cache_open(make, &cj__files, &disk, error);
    if (!status && disk) status = cj__disk_edit_text(disk, CJ_TUNING_FILE, write_changed, c, error);
    if (!status && !disk && make) {
        cj__fail(error, CJ_FILE, "the tuning file lies in the directory of the disk cache, which is switched off");
        cj__hint(error, "CLUSTERJIT_CACHE_DIR is empty: give it a directory of your own");
        status = CJ_FILE;
    }
    cj__disk_close(disk);
    return status;
}

static void today(char text[11]) {
    const time_t now = time(NULL);
    struct tm    day;
    if (!gmtime_r(&now, &day) || !strftime(text, 11, "%Y-%m-%d", &day)) snprintf(text, 11, "unknown");
}

static cj_status check_time(const char *name, double time, cj_error *error) {
    if (isfinite(time) && time > 0) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "%s: %g ms is not a finite time above 0", name, time);
    cj__hint(error, "give what a launch took, in milliseconds");
    return CJ_INVALID_ARGUMENT;
}

cj_status cj_tuning_keep(cj_device *device, const cj_params *problem, const cj_params *choice, double time,
                         double untuned, cj_error *error) {
    REQUIRE(device);
    REQUIRE(problem);
    REQUIRE(problem->family);
    REQUIRE(choice);
    REQUIRE(choice->family);
    wanted    w;
    cj_text   chosen = {0};
    char      day[11];
    cj_status status = check_time("time", time, error);
    if (!status) status = check_time("untuned", untuned, error);
    if (status) return status;
    status = want(&(cj_tuning_filter){CJ_INIT(cj_tuning_filter), .device = device, .problem = problem}, &w, error);
    write_choice(problem, choice, &chosen);
    today(day);
    if (!status && chosen.failed) status = cj__fail(error, CJ_OUT_OF_MEMORY, "no memory for a choice");
    if (!status && !chosen.length)
        status = cj__fail(error, CJ_INVALID_ARGUMENT, "choice: it has nothing that the problem leaves open");
    if (!status) {
        const cj_tuning made = {.family = cj_family_name(problem->family),
                                .device = w.device,
                                .problem = w.problem.data,
                                .choice = chosen.data,
                                .made = day,
                                .time = time,
                                .untuned = untuned};
        status = change_file(&(change){.drop = &w, .add = &made}, true, error);
    }
    cj__text_free(&chosen);
    cj__text_free(&w.problem);
    return status;
}

static void count_one(void *user, const cj_tuning *tuning) {
    (void)tuning;
    ++*(size_t *)user;
}

// Makes no file if there is nothing to forget.
cj_status cj_tuning_forget(const cj_tuning_filter *filter, size_t *count, cj_error *error) {
    SIZED(cj_tuning_filter, filter);
    REQUIRE(count);
    *count = 0;
    cj_status status = cj_tuning_each(filter, count_one, count, error);
    if (status || !*count) return status;
    wanted w;
    change c = {.drop = &w};
    status = want(filter, &w, error);
    if (!status) status = change_file(&c, false, error);
    cj__text_free(&w.problem);
    *count = c.dropped;
    return status;
}
