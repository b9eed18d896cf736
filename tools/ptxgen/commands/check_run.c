// SPDX-License-Identifier: Apache-2.0
#include "check_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

// ---- hazards

static bool is_known(const check_run *r, const cj_hazard *hazard) {
    for (size_t i = 0; i < r->count; i++) {
        const cj_hazard *known = &r->item[i].hazard;
        if (!strcmp(known->rule, hazard->rule) && known->first.line == hazard->first.line &&
            known->second.line == hazard->second.line)
            return true;
    }
    return false;
}

static int keep(check_run *r, const cj_hazard *hazard, const machine_options *machine) {
    char schedule[MACHINE_SCHEDULE_TEXT];
    if (is_known(r, hazard)) return CODE_OK;
    if (r->count == r->capacity) {
        size_t       capacity = r->capacity ? 2 * r->capacity : 16;
        seen_hazard *grown = realloc(r->item, capacity * sizeof *grown);
        if (!grown) return message_error(CJ_OUT_OF_MEMORY, "no memory for %zu hazards", capacity);
        r->item = grown;
        r->capacity = capacity;
    }
    seen_hazard *seen = &r->item[r->count++];
    seen->hazard = *hazard;
    snprintf(seen->hint, sizeof seen->hint, "%s", hazard->hint);
    if (machine->cpu.random_schedule)
        snprintf(seen->hint, sizeof seen->hint, "%s%sseen with --schedule %s", hazard->hint, *hazard->hint ? "; " : "",
                 machine_schedule(machine, schedule));
    return CODE_OK;
}

int check_run_findings(const check_run *r, document *d, findings *found) {
    int code = CODE_OK;
    for (size_t i = 0; i < r->count && !code; i++) {
        finding what = machine_finding(d, &r->item[i].hazard);
        what.what.hint = r->item[i].hint;
        code = findings_add(found, &what);
    }
    findings_sort(found);
    return code;
}

void check_run_free(check_run *r) { free(r->item); }

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
    for (size_t i = 0; i < count && !code; i++) code = keep(r, cj_cpu_hazard_at(device, i), machine);
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
    while (!code) {
        code = launch_once(r, &l, &machine, d, device, function);
        if (!machine_next(&machine)) break;
    }
    if (!code) machine_notes(device, d->name);  // the last launch's: other schedules have the same notes
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
    cj_device_options where = {.spec = "cpu"};
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
