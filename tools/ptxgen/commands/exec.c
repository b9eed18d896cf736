// SPDX-License-Identifier: Apache-2.0
// exec: runs an entry of any PTX file, with arguments from the command line.
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "cuda.h"
#include "describe.h"
#include "finding.h"
#include "launch.h"
#include "machine.h"
#include "message.h"
#include "minimize.h"
#include "output.h"
#include "repeat.h"
#include "sarif.h"
#include "seeds.h"

enum { OUTPUTS_MAX = 32 };

// What to do with an argument's buffer after the launch.
typedef struct wanted {
    unsigned    index;
    uint64_t    count;  // elements to print
    const char *path;   // file to write; NULL: print
} wanted;

typedef struct exec_options {
    const char     *path, *device;
    launch_options  launch;
    wanted          wanted[OUTPUTS_MAX];
    unsigned        wanted_count;
    bool            ran;  // the last launch ran to its end or to a hazard: there are results
    bool            json;
    json_t         *findings, *outputs;  // with --json
    machine_options machine;
    cuda_options    cuda;
    const char     *sarif_path;
    sarif           sarif;
    bool            minimize;
    repeat          words;
    char           *repeat;  // the command that repeats what is found; NULL: this one
} exec_options;

enum { KEY_PRINT = ARGS_LONG_ONLY, KEY_DUMP, KEY_DEVICE, KEY_JSON, KEY_SARIF, KEY_MINIMIZE };

static const args_option options[] = {
    LAUNCH_OPTIONS("the file's only one", "1", "1", "0"),
    {.name = "print", .key = KEY_PRINT, .arg = "I[:COUNT]", .doc = "Print argument I's buffer afterwards, on one line"},
    {.name = "dump", .key = KEY_DUMP, .arg = "I=FILE", .doc = "Write argument I's buffer to FILE afterwards, raw"},
    {.name = "device", .key = KEY_DEVICE, .arg = "cpu|gpu|gpu:N|auto", .doc = "Where to run (default cpu)"},
    {.name = "json",
     .key = KEY_JSON,
     .doc = "Print the launch, the buffers that --print names, what was found and counted as one JSON object"},
    SARIF_OPTION(KEY_SARIF),
    MINIMIZE_OPTION(KEY_MINIMIZE),
    MACHINE_OPTIONS,
    CUDA_ARCH_OPTION,
    CUDA_OPTIONS,
    {0},
};

// I, I:COUNT or I=FILE; whether argument I is a buffer is checked after all arguments are known.
static int add_wanted(exec_options *o, const char *option, const char *text, char separator) {
    uint64_t index;
    wanted   w = {.count = UINT64_MAX};
    if (o->wanted_count == OUTPUTS_MAX)
        return message_error(CJ_INVALID_ARGUMENT, "more than %d of --print and --dump", OUTPUTS_MAX);
    const char *end = cj_number_read(text, &index);
    bool        ok = end && index < ARGUMENTS_MAX;
    if (ok && separator == '=')
        ok = *end == '=' && end[1], w.path = end + 1;
    else if (ok && *end == ':')
        end = cj_number_read(end + 1, &w.count), ok = end && !*end && w.count;
    else
        ok = ok && !*end;
    if (!ok)
        return message_error(CJ_INVALID_ARGUMENT, "%s is '%s'; it is %s", option, text,
                             separator == '=' ? "I=FILE" : "I or I:COUNT");
    w.index = (unsigned)index;
    o->wanted[o->wanted_count++] = w;
    return CODE_OK;
}

static int set(void *user, int key, char *value) {
    exec_options *o = user;
    switch (key) {
    case KEY_PRINT: return add_wanted(o, "--print", value, ':');
    case KEY_DUMP: return add_wanted(o, "--dump", value, '=');
    case KEY_DEVICE: o->device = value; return CODE_OK;
    case KEY_JSON: o->json = true; return CODE_OK;
    case KEY_SARIF: o->sarif_path = value; return CODE_OK;
    case KEY_MINIMIZE: o->minimize = true; return CODE_OK;
    default:
        if (!launch_set(&o->launch, key, value) && !machine_set(&o->machine, key, value))
            cuda_set(&o->cuda, key, value);
        return CODE_OK;
    }
}

static int take(void *user, char *word) { return args_take_file(&((exec_options *)user)->path, word); }

const args_spec exec_spec = {
    .doc = "Runs an entry of a PTX file, or of CUDA C++ (.cu; '-' is standard input), on the CPU device or on a GPU. "
           "Exits 1 when a hazard was found.",
    .options = options,
    .set = set,
    .words = "FILE",
    .files = "ptx cu",
    .take = take,
    .examples = "ptxgen exec kernel.ptx --grid 2 --block 64 --cluster 2 --arg 'u32[64]=zeros' --print 0 --hazards on",
};

// Whether a buffer goes to standard output.
static bool prints(const exec_options *o) {
    for (unsigned i = 0; i < o->wanted_count; i++)
        if (!o->wanted[i].path) return true;
    return false;
}

static int check_wanted(const exec_options *o) {
    const arguments *given = &o->launch.arguments;
    for (unsigned i = 0; i < o->wanted_count; i++) {
        unsigned index = o->wanted[i].index;
        if (index >= given->count)
            return message_error(CJ_INVALID_ARGUMENT, "there is no argument %u: %u are given, counted from 0", index,
                                 given->count);
        if (!argument_has_buffer(&given->item[index]))
            return message_error(CJ_INVALID_ARGUMENT, "argument %u, '%s', is no buffer", index,
                                 given->item[index].text);
    }
    return CODE_OK;
}

// The hazards of the last launch.
static void add_findings(exec_options *o, cj_device *device, document *ptx) {
    for (size_t i = 0; i < cj_cpu_hazard_count(device); i++) {
        finding found = machine_finding(ptx, cj_cpu_hazard_at(device, i));
        found.repeat = o->repeat;
        sarif_add(&o->sarif, ptx, &found);
        if (o->json) json_array_append_new(o->findings, finding_json(ptx, &found));
    }
}

static int launch_once(exec_options *o, cj_device *device, document *ptx, cj_function *function) {
    cj_error error;
    int      code = machine_apply(&o->machine, device);
    if (!code) code = arguments_upload(&o->launch.arguments, device);
    if (code) return code;
    const cj_status status = launch_run(&o->launch, device, function, &error);
    o->ran = !status || status == CJ_HAZARD;
    code = machine_report(device, ptx, status, &error);
    if (status == CJ_HAZARD) add_findings(o, device, ptx);
    if (!o->json) machine_stats(&o->machine, device, ptx);
    return code;
}

// exec opts in to non-portable clusters; a program must do that itself.
static void note_nonportable(const exec_options *o, const cj_device *device, const cj_function *function) {
    cj_entry_info info = {CJ_INIT(info)};
    char          note[160];
    cj_function_info(function, &info, NULL);
    const cj_dim3  c = o->launch.cluster.x ? o->launch.cluster : info.cluster;
    const uint64_t blocks = (uint64_t)c.x * c.y * c.z, portable = cj_device_limits(device)->max_cluster_portable;
    if (blocks <= portable || blocks > cj_device_limits(device)->max_cluster) return;
    snprintf(note, sizeof note,
             "a cluster of %" PRIu64 " blocks is above the portable %" PRIu64
             ": exec opts in to it; a program must set nonportable",
             blocks, portable);
    message_note(note);
}

// ---- many seeds

// The entry on other devices.
typedef struct other_lanes {
    const exec_options *o;
    const document     *ptx;
    const char         *entry;
} other_lanes;

static void *open_other(void *user) {
    const other_lanes *of = user;
    return lane_open(&of->o->launch, of->ptx, of->entry);
}

static bool fails(void *user, void *on, const machine_options *machine) {
    cj_error error;
    (void)user;
    return lane_launch(on, machine, &error) != CJ_OK;
}

static void close_other(void *on) { lane_close(on); }

// Leaves the lowest seed that fails, or the last one, as the schedule.
static int search_seeds(exec_options *o, document *ptx, const char *entry) {
    other_lanes      of = {o, ptx, entry};
    const seeds_work work = {.user = &of, .open = open_other, .launch = fails, .close = close_other, .what = "seed"};
    bool             failed;
    return seeds_search(&work, &o->machine, &failed);
}

// ---- the smallest launch

// Launches to find the hazard that stays. *found: there is one.
static int find_hazard(exec_options *o, cj_device *device, cj_function *function, cj_hazard *hazard, bool *found) {
    cj_error error;
    int      code = machine_apply(&o->machine, device);
    if (!code) code = arguments_upload(&o->launch.arguments, device);
    if (code) return code;
    *found = launch_run(&o->launch, device, function, &error) == CJ_HAZARD && cj_cpu_hazard_count(device);
    if (*found) *hazard = *cj_cpu_hazard_at(device, 0);
    if (!*found)
        message_note(o->machine.cpu.hazards ? "no hazard was found, so there is nothing to minimize"
                                            : "no hazard was found, so there is nothing to minimize: add --hazards on");
    return CODE_OK;
}

// Leaves the smallest launch, and its schedule, as those of the command.
static int minimize_launch(exec_options *o, cj_device *device, document *ptx, cj_function *function, const char *entry,
                           uint64_t first_seed, uint64_t last_seed) {
    minimize m = {.ptx = ptx, .entry = entry, .launch = o->launch, .first_seed = first_seed, .last_seed = last_seed};
    bool     found;
    int      code = find_hazard(o, device, function, &m.hazard, &found);
    if (code || !found) return code;
    m.machine = o->machine;
    m.info = (cj_entry_info){CJ_INIT(cj_entry_info)};
    cj_function_info(function, &m.info, NULL);
    const bool smaller = minimize_run(&m);
    o->launch.grid = m.launch.grid;
    o->launch.cluster = m.launch.cluster;
    o->launch.block = m.launch.block;
    o->machine = m.machine;
    o->machine.cpu.threads = 1;
    o->repeat = repeat_text(&o->words, &o->machine, entry, &o->launch);
    code = find_hazard(o, device, function, &m.hazard, &found);
    if (code || !minimize_find(&m.hazard, device))
        return code ? code : message_error(CJ_HAZARD, "the smallest launch does not show the hazard again");
    minimize_note(&m, smaller, o->repeat);
    return CODE_OK;
}

static int search(exec_options *o, cj_device *device, document *ptx, cj_function *function, const char *entry) {
    const bool     several = seeds_are_several(&o->machine);
    const uint64_t first = several ? o->machine.cpu.seed : 1, last = several ? o->machine.last_seed : MINIMIZE_SEEDS;
    int            code = machine_apply(&o->machine, device);
    if (!code && o->minimize && strcmp(cj_device_kind(device), "cpu"))
        code = message_error(CJ_INVALID_ARGUMENT, "--minimize is the CPU device's; this is %s\nadd --device cpu",
                             cj_device_name(device));
    if (!code && several) code = search_seeds(o, ptx, entry);
    if (!code && o->minimize) code = minimize_launch(o, device, ptx, function, entry, first, last);
    if (!code && several && !o->repeat) o->repeat = repeat_text(&o->words, &o->machine, NULL, NULL);
    return code;
}

// Launches under the schedule or, of many, under the first that fails.
static int launch_all(exec_options *o, cj_device *device, document *ptx, cj_function *function, const char *entry) {
    const bool several = seeds_are_several(&o->machine);
    char       schedule[MACHINE_SCHEDULE_TEXT], *note = NULL;
    size_t     size;
    int        code = search(o, device, ptx, function, entry);
    if (!code) code = launch_once(o, device, ptx, function);
    if (code != CODE_WRONG || !several || o->minimize) return code;
    FILE *to = open_memstream(&note, &size);
    if (!to) return code;
    fprintf(to, "found with --schedule %s; this repeats it: %s", machine_schedule(&o->machine, schedule),
            o->repeat ? o->repeat : "");
    fclose(to);
    message_note(note);
    free(note);
    return code;
}

// An argument's buffer after the launch: prints it, adds it to the outputs of the JSON object, or writes it to a file
// that JSON names.
static int show_one(exec_options *o, const wanted *w, const argument *a) {
    int code = w->path ? output_save(w->path, (const char *)a->bytes, argument_bytes(a)) : CODE_OK;
    if (!o->json && !w->path) argument_print(a, w->count);
    if (o->json)
        json_array_append_new(o->outputs,
                              json_pack("{s:i, s:s, s:o*, s:s*}", "argument", (int)w->index, "type", a->type->name,
                                        "values", w->path ? NULL : argument_json(a, w->count), "file", w->path));
    return code;
}

static int show(exec_options *o, cj_device *device) {
    cj_error error;
    for (unsigned i = 0; i < o->wanted_count; i++) {
        const wanted *w = &o->wanted[i];
        argument     *a = &o->launch.arguments.item[w->index];
        if (cj_mem_read(device, a->bytes, a->memory, argument_bytes(a), NULL, &error)) return message_failure(&error);
        int code = show_one(o, w, a);
        if (code) return code;
    }
    return CODE_OK;
}

static int print_json(const exec_options *o, const cj_device *device, const cj_module *module, document *ptx) {
    const bool  on_cpu = strcmp(cj_device_kind(device), "cpu") == 0;
    char        schedule[MACHINE_SCHEDULE_TEXT];
    const char *entry = o->launch.entry ? o->launch.entry : cj_module_entry(module, 0);
    json_t     *object = launch_json(&o->launch, o->path, entry);
    json_t     *result = json_pack("{s:o, s:s*, s:O, s:O, s:o*, s:o*}", "device", describe_device(device), "schedule",
                               on_cpu ? machine_schedule(&o->machine, schedule) : NULL, "outputs", o->outputs,
                                   "findings", o->findings, "stats", machine_stats_json(&o->machine, device, ptx),
                                   "repeat", o->repeat ? output_json_text(o->repeat) : NULL);
    cj_cpu_stats stats = {CJ_INIT(stats)};
    if (!cj_cpu_stats_read(device, &stats, NULL)) {
        json_object_set_new(object, "time_ms", json_real(stats.seconds * 1e3));
        json_object_set_new(object, "thread_instructions", output_json_uint(stats.thread_instructions));
    }
    json_object_update(object, result);
    json_decref(result);
    return output_json(object);
}

// Shows results of a kernel with hazards, too: they may help to find the fault.
static int run(exec_options *o, cj_device *device, document *ptx, cj_module *module) {
    cj_function *function;
    int          code = launch_find(o->launch.entry, o->path, module, &function);
    if (!code) code = launch_check(&o->launch, function);
    if (!code) note_nonportable(o, device, function);
    if (!code) code = launch_all(o, device, ptx, function, o->launch.entry ? o->launch.entry : cj_module_entry(module, 0));
    if (!o->ran) return code;
    int shown = show(o, device);
    if (!shown && o->json) shown = print_json(o, device, module, ptx);
    return code ? code : shown;
}

static int run_document(exec_options *o, cj_device *device, document *ptx) {
    cj_module *module = NULL;
    cj_error   error;
    int        code = CODE_OK;
    if (cj_module_from_ptx(device, ptx->text, ptx->length, &module, &error)) {
        const finding wrong = finding_of(&error);
        if (error.status == CJ_INVALID_KERNEL) sarif_add(&o->sarif, ptx, &wrong);
        code = finding_refuse(ptx, &error);
    }
    if (!code) code = run(o, device, ptx, module);
    arguments_release(&o->launch.arguments, device);
    cj_module_unload(module);
    return code;
}

static int run_on_device(exec_options *o) {
    cj_device_options where = {CJ_INIT(where), .spec = o->device};
    cj_device        *device = NULL;
    cj_error          error;
    char              target[CUDA_TARGET];
    document          ptx;
    if (cj_device_open(&where, &device, &error)) return message_failure(&error);
    int code = machine_apply(&o->machine, device);
    if (!code)
        code = cuda_read(&ptx, o->path, &o->cuda,
                         o->cuda.arch ? o->cuda.arch : cuda_target(cj_device_limits(device), target));
    if (!code) {
        code = run_document(o, device, &ptx);
        document_free(&ptx);
    }
    cj_device_close(device);
    return code;
}

int cmd_exec(int argc, char **argv) {
    exec_options o = {.device = "cpu", .words = {argc, argv}};
    args_parse(&exec_spec, argc, argv, &o, NULL);
    if (!o.launch.grid.x) o.launch.grid = (cj_dim3){1, 1, 1};
    if (!o.launch.block.x) o.launch.block = (cj_dim3){1, 1, 1};
    if (o.json) o.findings = json_array(), o.outputs = json_array();
    int code = o.path ? check_wanted(&o) : message_error(CJ_INVALID_ARGUMENT, "which file? '-' is standard input");
    if (!code) code = sarif_begin(&o.sarif, o.sarif_path, o.json || prints(&o));
    o.machine.aside = o.json || sarif_is_output(&o.sarif);
    if (!code) code = run_on_device(&o);
    code = sarif_end(&o.sarif, code);
    arguments_free(&o.launch.arguments);
    cuda_free(&o.cuda);
    json_decref(o.findings);
    json_decref(o.outputs);
    free(o.repeat);
    return code;
}
