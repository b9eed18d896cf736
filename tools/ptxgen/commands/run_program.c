// SPDX-License-Identifier: Apache-2.0
// run-program: a CUDA program as it is, with the CPU device's libraries in the place of CUDA's.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "child.h"
#include "command.h"
#include "libraries.h"
#include "machine.h"
#include "message.h"
#include "output.h"
#include "records.h"
#include "sarif.h"

typedef struct program_options {
    machine_options machine;
    unsigned        gpus, count;
    char          **words;  // the program and its arguments
    bool            leaks, json;
    const char     *sarif_path;
    image           file;
    libraries       libraries;
    child_end       end;
    records         records;
} program_options;

enum { KEY_GPUS = ARGS_LONG_ONLY, KEY_LEAKS, KEY_JSON, KEY_SARIF, GPUS_MAX = 16, DIED = 128 };

static const args_option options[] = {
    {.name = "hazards",
     .key = MACHINE_HAZARDS,
     .arg = "on|off",
     .doc = "Watch for races and missing synchronization; exit 1 when one is found (default on)"},
    {.name = "schedule",
     .key = MACHINE_SCHEDULE,
     .arg = "fixed|late|seed:N|seed:A..B",
     .doc =
         "The order of warps and of asynchronous completions: always the same, asynchronous work as late as the program "
         "allows, or all drawn from a seed; seed:A..B runs the program once for each seed, until something is found (default fixed)"},
    {.name = "threads", .key = MACHINE_THREADS, .arg = "N", .doc = "Host threads (default one a core)"},
    {.name = "gpus", .key = KEY_GPUS, .arg = "N", .doc = "Devices that the program sees (1..16, default 1)"},
    {.name = "leaks",
     .key = KEY_LEAKS,
     .arg = "on|off",
     .doc = "Count memory, modules, streams and events that are left at the end as findings (default off)"},
    {.name = "limit",
     .key = MACHINE_LIMIT,
     .arg = "N",
     .doc = "Stop a launch after N million thread instructions, as a livelock"},
    {.name = "json",
     .key = KEY_JSON,
     .doc = "Print what was found and counted as one JSON object; the program's output then goes to standard error"},
    SARIF_OPTION(KEY_SARIF),
    {0},
};

static int set_leaks(program_options *o, const char *value) {
    o->leaks = !strcmp(value, "on");
    if (o->leaks || !strcmp(value, "off")) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "--leaks is '%s'; it is 'on' or 'off'", value);
}

static int set(void *user, int key, char *value) {
    program_options *o = user;
    switch (key) {
    case KEY_GPUS: o->gpus = args_number("--gpus", value, 1, GPUS_MAX); return CODE_OK;
    case KEY_LEAKS: return set_leaks(o, value);
    case KEY_JSON: o->json = true; return CODE_OK;
    case KEY_SARIF: o->sarif_path = value; return CODE_OK;
    default: machine_set(&o->machine, key, value); return CODE_OK;
    }
}

static void rest(void *user, int count, char **words) {
    program_options *o = user;
    o->words = words;
    o->count = (unsigned)count;
}

const args_spec run_program_spec = {
    .doc =
        "Runs a CUDA program as it is on the CPU device: programs on the driver API, programs that 'nvcc -cudart "
        "shared' "
        "built, and what loads either, such as Python. Exits with the program's own code, with 1 when something was "
        "found, 2 when the program cannot be run, 128 + N when signal N ended it. CLUSTERJIT_PROGRAMS names the folder "
        "of the CPU device's libcuda.so.1.",
    .options = options,
    .set = set,
    .words = "PROGRAM [ARGUMENT...]",
    .rest = rest,
    .examples = "ptxgen run-program --schedule seed:1..20 ./program argument",
};

// ---- one run

// VALUE before what the variable has already; NULL: out of memory.
static char *before(const char *value, const char *variable) {
    const char  *old = getenv(variable);
    const size_t size = strlen(value) + (old ? strlen(old) : 0) + 2;
    char        *text = malloc(size);
    if (text) snprintf(text, size, "%s%s%s", value, old && *old ? ":" : "", old ? old : "");
    return text;
}

static const char *number_text(char text[24], uint64_t value) {
    snprintf(text, 24, "%llu", (unsigned long long)value);
    return value ? text : NULL;
}

// The value for a variable that has none and that something stands for; else NULL.
static const char *unless_set(const char *variable, const char *value) {
    const char *old = getenv(variable);
    return (old && *old) || !*value ? NULL : value;
}

static int run_child(program_options *o, const char *report) {
    char                 schedule[MACHINE_SCHEDULE_TEXT], threads[24], gpus[24], limit[24];
    char                *path = before(o->libraries.folder, "LD_LIBRARY_PATH");
    char                *python = *o->libraries.python ? before(o->libraries.python, "PYTHONPATH") : NULL;
    char                *preload = *o->libraries.preload ? before(o->libraries.preload, "LD_PRELOAD") : NULL;
    const child_variable variables[] = {
        {"LD_LIBRARY_PATH", path},
        {"LD_PRELOAD", preload},
        {"PYTHONPATH", python},
        {"CLUSTERJIT_REPORT", report},
        {"CLUSTERJIT_HAZARDS", o->machine.cpu.hazards ? "on" : "off"},
        {"CLUSTERJIT_SCHEDULE", machine_schedule(&o->machine, schedule)},
        {"CLUSTERJIT_THREADS", number_text(threads, o->machine.cpu.threads)},
        {"CLUSTERJIT_GPUS", number_text(gpus, o->gpus)},
        {"TRITON_PTXAS_PATH", unless_set("TRITON_PTXAS_PATH", o->libraries.ptxas)},
        {"TRITON_PTXAS_BLACKWELL_PATH", unless_set("TRITON_PTXAS_BLACKWELL_PATH", o->libraries.ptxas)},
        {"CLUSTERJIT_LIMIT", number_text(limit, o->machine.cpu.instruction_limit / 1000000)},
        {NULL, NULL},
    };
    const child c = {.path = o->file.path,
                     .words = o->words,
                     .variables = variables,
                     .redirect = o->json || (o->sarif_path && !strcmp(o->sarif_path, "-"))};
    fflush(stdout);
    int code = path ? child_run(&c, &o->end) : message_error(CJ_OUT_OF_MEMORY, "no memory for the environment");
    free(path);
    free(python);
    free(preload);
    return code;
}

static int run_once(program_options *o) {
    const char *folder = getenv("TMPDIR");
    char        report[IMAGE_PATH];
    snprintf(report, sizeof report, "%.4000s/ptxgen-report-XXXXXX", folder && *folder ? folder : "/tmp");
    const int file = mkstemp(report);
    if (file < 0) return message_error(CJ_FILE, "cannot write '%s': %s", report, strerror(errno));
    close(file);
    int code = run_child(o, report);
    records_free(&o->records);
    if (!code) code = records_read(&o->records, report, o->words[0], o->leaks);
    unlink(report);
    return code;
}

static size_t found(const program_options *o) { return o->records.hazards + o->records.faults + o->records.leaks; }

static int run_all(program_options *o) {
    int code;
    do code = run_once(o);
    while (!code && !found(o) && !o->end.code && !o->end.signal && machine_next(&o->machine));
    return code;
}

// ---- what is said about the run

static void add_count(char *text, size_t size, size_t count, const char *what) {
    const size_t used = strlen(text);
    if (count) snprintf(text + used, size - used, "%s%zu %s%s", used ? ", " : "", count, what, count == 1 ? "" : "s");
}

// What the program's end counted, or nothing where it did not come to an end of its own.
static void print_counts(const records *r) {
    if (!r->end) return;
    const double launches = records_count(r, "launches"), copies = records_count(r, "copies");
    fprintf(stderr, "%.0f launch%s, %.0f cop%s of %.0f bytes, %.3f s in kernels: ", launches,
            launches > 1 || launches < 1 ? "es" : "", copies, copies > 1 || copies < 1 ? "ies" : "y",
            records_count(r, "bytes"), records_count(r, "seconds"));
}

static void print_summary(const program_options *o, size_t refused) {
    const records *r = &o->records;
    char           verdict[128] = "", schedule[MACHINE_SCHEDULE_TEXT];
    add_count(verdict, sizeof verdict, r->hazards, "hazard");
    add_count(verdict, sizeof verdict, r->faults, "fault");
    add_count(verdict, sizeof verdict, r->leaks, "leak");
    if (!*verdict)
        snprintf(verdict, sizeof verdict, o->machine.cpu.hazards ? "no hazards" : "hazards were not watched");
    add_count(verdict, sizeof verdict, refused, "refused call");
    fprintf(stderr, "%s: ", o->words[0]);
    print_counts(r);
    fprintf(stderr, "%s%s (schedule %s)\n", verdict, r->end ? "" : " until then",
            machine_schedule(&o->machine, schedule));
}

// Of a runtime that is no library: NVIDIA's, which checks that the driver is, too.
static bool has_other_runtime(const program_options *o) {
    return o->file.static_runtime && records_count(&o->records, "launches") < 1;
}

// Why the program had no CUDA, or another one. Returns an exit code.
static int explain(const program_options *o) {
    const records *r = &o->records;
    const char    *name = o->words[0], *runtime = o->file.runtime;
    if (has_other_runtime(o))
        return message_error(CJ_FILE,
                             "'%s' contains NVIDIA's CUDA runtime, which takes NVIDIA's driver alone\nlink it with "
                             "'nvcc -cudart shared'",
                             name);
    if (*runtime && strcmp(runtime, "libcudart.so.13") != 0)
        return message_error(CJ_FILE, "'%s' needs %s; the CPU device has libcudart.so.13\nbuild it with CUDA 13", name,
                             runtime);
    if (!r->any && !o->file.script && !o->file.loads)
        return message_error(CJ_FILE, "'%s' is linked statically: it loads no libcuda.so.1\nlink it dynamically", name);
    char note[IMAGE_PATH + 128];
    if (!r->any && o->end.signal) return CODE_OK;  // nothing was found, and nothing is known
    if (!r->any)
        snprintf(note, sizeof note, "'%.200s' made no CUDA call", name);
    else if (!r->end)
        snprintf(note, sizeof note, "'%.200s' ended before it could count: by a signal, or by _exit", name);
    else if (*o->libraries.found)
        snprintf(note, sizeof note, "its RPATH names %s; the CPU device's was loaded before it", o->libraries.found);
    else
        return CODE_OK;
    message_note(note);
    return CODE_OK;
}

static int print_json(const program_options *o) {
    char    schedule[MACHINE_SCHEDULE_TEXT];
    json_t *words = json_array(), *object;
    for (unsigned i = 1; i < o->count; i++) json_array_append_new(words, output_json_text(o->words[i]));
    object = json_pack("{s:o, s:o, s:b, s:s, s:{s:o, s:o}}", "program", output_json_text(o->words[0]), "arguments",
                       words, "hazards", o->machine.cpu.hazards, "schedule", machine_schedule(&o->machine, schedule),
                       "exit", "code", o->end.signal ? json_null() : json_integer(o->end.code), "signal",
                       o->end.signal ? json_integer(o->end.signal) : json_null());
    json_t *report = records_json(&o->records);
    json_object_update(object, report);
    json_decref(report);
    return output_json(object);
}

static int show(const program_options *o, bool several) {
    char         schedule[MACHINE_SCHEDULE_TEXT], signal[CHILD_SIGNAL], note[MACHINE_SCHEDULE_TEXT + 32];
    const size_t refused = records_print(&o->records, o->end.code || o->end.signal || found(o));
    int          code = explain(o);
    if (o->records.any) print_summary(o, refused);
    if (several && found(o)) {
        snprintf(note, sizeof note, "found with --schedule %s", machine_schedule(&o->machine, schedule));
        message_note(note);
    }
    if (o->end.signal) {
        message_error(CJ_FILE, "'%s' died by signal %s", o->words[0], child_signal(o->end.signal, signal));
        return DIED + o->end.signal;
    }
    return found(o) ? CODE_WRONG : code ? code : o->end.code;
}

int cmd_run_program(int argc, char **argv) {
    program_options o = {.machine.cpu.hazards = true};
    args_parse(&run_program_spec, argc, argv, &o, NULL);
    if (!o.words) return message_error(CJ_INVALID_ARGUMENT, "which program? Its name comes after the options");
    if (!o.json) output_json_none();
    const bool several = o.machine.last_seed > o.machine.cpu.seed;
    sarif      log;
    int        code = sarif_begin(&log, o.sarif_path, o.json);
    if (!code) code = image_find(&o.file, o.words[0]);
    if (!code) code = libraries_find(&o.libraries, &o.file);
    if (!code) code = run_all(&o);
    if (!code) {
        code = show(&o, several);
        records_sarif(&o.records, &log);
        const int shown = o.json ? print_json(&o) : CODE_OK;
        if (!code) code = shown;
    }
    code = sarif_end(&log, code);
    records_free(&o.records);
    return code;
}
