// SPDX-License-Identifier: Apache-2.0
#include "check_run.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "minimize.h"
#include "seeds.h"

// ---- hazards

static seen_hazard *find_known(const check_run *r, const cj_hazard *hazard) {
    for (size_t i = 0; i < r->count; i++) {
        const cj_hazard *known = &r->item[i].hazard;
        if (!strcmp(known->rule, hazard->rule) && known->first.line == hazard->first.line &&
            known->second.line == hazard->second.line)
            return &r->item[i];
    }
    return NULL;
}

// The order in which launches one after another would find them.
static int by_launch(const void *a, const void *b) {
    const seen_hazard *left = a, *right = b;
    if (left->entry != right->entry) return left->entry < right->entry ? -1 : 1;
    if (left->machine.cpu.seed != right->machine.cpu.seed)
        return left->machine.cpu.seed < right->machine.cpu.seed ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

static int keep(check_run *r, const cj_hazard *hazard, size_t index, const machine_options *machine) {
    const seen_hazard what = {.hazard = *hazard, .entry = r->entry, .index = index, .machine = *machine};
    seen_hazard      *known = find_known(r, hazard);
    if (known) {
        if (by_launch(&what, known) < 0) *known = what;
        return CODE_OK;
    }
    if (r->count == r->capacity) {
        size_t       capacity = r->capacity ? 2 * r->capacity : 16;
        seen_hazard *grown = realloc(r->item, capacity * sizeof *grown);
        if (!grown) return message_error(CJ_OUT_OF_MEMORY, "no memory for %zu hazards", capacity);
        r->item = grown;
        r->capacity = capacity;
    }
    r->item[r->count++] = what;
    return CODE_OK;
}

int check_run_findings(check_run *r, document *d, findings *found) {
    int code = CODE_OK;
    if (r->count) qsort(r->item, r->count, sizeof *r->item, by_launch);
    for (size_t i = 0; i < r->count && !code; i++) {
        seen_hazard *seen = &r->item[i];
        finding      what = machine_finding(d, &seen->hazard);
        if (seen->machine.cpu.random_schedule && !seen->repeat)
            seen->repeat = repeat_text(&r->words, &seen->machine, NULL, NULL);
        what.repeat = seen->repeat;
        code = findings_add(found, &what);
    }
    findings_sort(found);
    return code;
}

void check_run_free(check_run *r) {
    for (size_t i = 0; i < r->count; i++) free(r->item[i].repeat);
    free(r->item);
}

// ---- launches

static int launch_once(check_run *r, launch_options *l, const machine_options *machine, document *d, cj_device *device,
                       cj_function *function) {
    cj_error error;
    int      code = machine_apply(machine, device);
    if (!code) code = arguments_upload(&l->arguments, device);
    if (code) return code;
    cj_status status = launch_run(l, device, function, &error);
    size_t    count = status == CJ_HAZARD ? cj_cpu_hazard_count(device) : 0;
    if (status && !count) return message_failure(&error);
    for (size_t i = 0; i < count && !code; i++) code = keep(r, cj_cpu_hazard_at(device, i), i, machine);
    json_t *stats = r->launches ? machine_stats_json(machine, device, d) : NULL;
    if (stats)
        json_object_set_new(json_array_get(r->launches, json_array_size(r->launches) - 1), "stats", stats);
    else
        machine_stats(machine, device, d);
    return code;
}

static void note_launch(const launch_options *l, const document *d, const char *entry) {
    static const char form[] = "%s: %s runs with%s (what was not given is made up)";
    char             *options = launch_text(l);
    const char       *words = options ? options : " …";
    const size_t      size = sizeof form + strlen(d->name) + strlen(entry) + strlen(words);
    char             *note = malloc(size);
    if (note) {
        snprintf(note, size, form, d->name, entry, words);
        message_note(note);
    }
    free(note);
    free(options);
}

static void announce(check_run *r, const launch_options *l, const document *d, const char *entry, bool made) {
    if (r->launches) {
        json_t *launch = launch_json(l, d->name, entry);
        json_object_set_new(launch, "made_up", json_boolean(made));
        json_array_append_new(r->launches, launch);
    } else if (made) {
        note_launch(l, d, entry);
    }
}

// ---- many seeds

// An entry on other devices; `trouble` is the failure of the lowest seed whose launch failed without a hazard.
typedef struct entry_seeds {
    check_run            *r;
    const launch_options *launch;
    const document       *ptx;
    const char           *entry;
    pthread_mutex_t       lock;  // of what follows, and of *r
    cj_error              trouble;
    uint64_t              trouble_seed;
    int                   code;
} entry_seeds;

static void *open_seed(void *user) {
    const entry_seeds *s = user;
    return lane_open(s->launch, s->ptx, s->entry);
}

static bool launch_seed(void *user, void *on, const machine_options *machine) {
    entry_seeds    *s = user;
    const lane     *l = on;
    cj_error        error;
    const cj_status status = lane_launch(on, machine, &error);
    const size_t    count = status == CJ_HAZARD ? cj_cpu_hazard_count(l->device) : 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < count && !s->code; i++) s->code = keep(s->r, cj_cpu_hazard_at(l->device, i), i, machine);
    if (status && !count && (!s->trouble.status || machine->cpu.seed < s->trouble_seed)) {
        s->trouble = error;
        s->trouble_seed = machine->cpu.seed;
    }
    pthread_mutex_unlock(&s->lock);
    return status != CJ_OK;
}

static void close_seed(void *on) { lane_close(on); }

// Launches all seeds; leaves the last one as the machine's.
static int run_seeds(check_run *r, const launch_options *l, machine_options *machine, const document *d,
                     const char *entry) {
    const uint64_t   last = machine->last_seed;
    entry_seeds      s = {.r = r, .launch = l, .ptx = d, .entry = entry};
    const seeds_work work = {
        .user = &s, .open = open_seed, .launch = launch_seed, .close = close_seed, .what = "seed", .every = true};
    bool failed;
    pthread_mutex_init(&s.lock, NULL);
    const int code = seeds_search(&work, machine, &failed);
    pthread_mutex_destroy(&s.lock);
    machine->cpu.seed = machine->last_seed = last;
    return code ? code : s.code ? s.code : s.trouble.status ? message_failure(&s.trouble) : CODE_OK;
}

// ---- the smallest launch

// Of the entry's first hazard.
static void minimize_entry(check_run *r, const launch_options *l, const document *d, const char *entry,
                           const cj_function *function, uint64_t first, uint64_t last) {
    const seen_hazard *seen = NULL;
    for (size_t i = 0; i < r->count; i++) {
        if (r->item[i].entry == r->entry && (!seen || by_launch(&r->item[i], seen) < 0)) seen = &r->item[i];
    }
    if (!seen) {
        message_note("no hazard was found, so there is nothing to minimize");
        return;
    }
    minimize m = {.ptx = d,
                  .entry = entry,
                  .launch = *l,
                  .machine = seen->machine,
                  .first_seed = first,
                  .last_seed = last,
                  .hazard = seen->hazard};
    m.info = (cj_entry_info){CJ_INIT(cj_entry_info)};
    cj_function_info(function, &m.info, NULL);
    const bool smaller = minimize_run(&m);
    char      *text = repeat_text(&r->words, &m.machine, entry, &m.launch);
    minimize_note(&m, smaller, text);
    free(text);
}

// ---- entries

static int run_schedules(check_run *r, launch_options *l, machine_options machine, document *d, cj_device *device,
                         cj_function *function, const char *entry) {
    const bool     several = seeds_are_several(&machine);
    const uint64_t first = several ? machine.cpu.seed : 1, last = several ? machine.last_seed : MINIMIZE_SEEDS;
    int            code = several ? run_seeds(r, l, &machine, d, entry) : CODE_OK;
    if (!code) code = launch_once(r, l, &machine, d, device, function);
    if (!code) machine_notes(device, d->name);  // the last launch's: other schedules have the same notes
    if (!code && r->minimize) minimize_entry(r, l, d, entry, function, first, last);
    return code;
}

// The caller owns the given arguments; default arguments exist as long as the launches.
static int run_entry(check_run *r, const launch_options *given, machine_options machine, document *d, cj_device *device,
                     cj_module *module, const char *entry) {
    launch_options l = *given;
    cj_function   *function;
    bool           made;
    int            code = launch_find(entry, d->name, module, &function);
    if (!code) code = launch_derive(&l, d->name, function, &made);
    if (!code) code = launch_check(&l, function);
    if (!code) announce(r, &l, d, entry, made);
    if (!code) code = run_schedules(r, &l, machine, d, device, function, entry);
    r->entry++;
    arguments_release(&l.arguments, device);
    if (!given->arguments.count) arguments_free(&l.arguments);
    return code;
}

static int run_module(check_run *r, const launch_options *given, const machine_options *machine, document *d,
                      cj_device *device, cj_module *module) {
    int         code = CODE_OK;
    const char *entry = given->entry;
    if (entry) return run_entry(r, given, *machine, d, device, module, entry);
    if (cj_module_entry(module, 1) && given->arguments.count)
        return message_error(CJ_INVALID_ARGUMENT,
                             "'%s' has several entries\nsay with --entry whose arguments these are: %s, "
                             "%s, …",
                             d->name, cj_module_entry(module, 0), cj_module_entry(module, 1));
    for (size_t i = 0; (entry = cj_module_entry(module, i)) != NULL; i++) {
        int one = run_entry(r, given, *machine, d, device, module, entry);
        if (!code) code = one;
    }
    return code;
}

static int cannot_load(const document *d, const cj_error *error, bool has_errors) {
    char note[512];
    if (!has_errors) return message_failure(error);
    snprintf(note, sizeof note, "%s is not run: its errors keep it from being loaded", d->name);
    message_note(note);
    return CODE_OK;
}

int check_run_document(check_run *r, const launch_options *launch, const machine_options *machine, document *d,
                       bool has_errors) {
    cj_device_options where = {CJ_INIT(where), .spec = "cpu"};
    cj_device        *device = NULL;
    cj_module        *module = NULL;
    cj_error          error;
    if (cj_device_open(&where, &device, &error)) return message_failure(&error);
    int code;
    if (cj_module_from_ptx(device, d->text, d->length, &module, &error))
        code = cannot_load(d, &error, has_errors);
    else
        code = run_module(r, launch, machine, d, device, module);
    cj_module_unload(module);
    cj_device_close(device);
    return code;
}
