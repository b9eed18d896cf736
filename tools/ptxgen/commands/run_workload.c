// SPDX-License-Identifier: Apache-2.0
// run, for every family: one problem, launched a few times on poisoned outputs, each result checked.
#define _POSIX_C_SOURCE 200809L
#include "run_workload.h"

#include <clusterjit/tuning.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe.h"
#include "element.h"
#include "estimate.h"
#include "families.h"
#include "measure.h"
#include "message.h"
#include "output.h"
#include "run_output.h"
#include "seeds.h"
#include "workload.h"

enum { REPEAT_GPU = 10, REPEAT_CPU = 1 };

typedef struct runner {
    const run_options *options;
    workload           w;
    cj_plan            plan;
    cj_kernel         *kernel;
    double            *times;     // milliseconds, of the timed launches
    unsigned           launches;  // timed
    workload_verdict   verdict;   // of the last launch
    machine_options    machine;   // of the launches: of many seeds, the first that fails
    char              *repeat;    // the command that repeats them; NULL: this one
    bool               is_other;  // launches some of many seeds, and says nothing
} runner;

static int find_type(runner *r) {
    const char *name = cj_family_name(r->w.params.family);
    r->w.type = workload_find(name);
    return r->w.type ? CODE_OK : workload_missing(name);
}

static int check_output(runner *r) { return r->options->output ? run_output_check(r->options->output) : CODE_OK; }

static int write_output(runner *r) {
    return r->options->output ? run_output_write(&r->w, r->kernel, r->options->output) : CODE_OK;
}

static int open_device(runner *r) {
    cj_device_options options = {.spec = r->options->device};
    cj_error          error;
    if (cj_device_open(&options, &r->w.device, &error)) return message_failure(&error);
    return machine_apply(&r->machine, r->w.device);
}

// ---- many seeds

static int  load_kernel(runner *r);
static void release(runner *r);

static void *open_seed(void *user) {
    const runner           *of = user;
    const cj_device_options options = {.spec = "cpu"};
    runner                 *r = malloc(sizeof *r);
    cj_error                error;
    if (!r) return NULL;
    *r = (runner){.options = of->options, .w = of->w, .is_other = true};
    r->w.device = NULL;
    if (!cj_device_open(&options, &r->w.device, &error) && !r->w.type->open(&r->w) && !load_kernel(r)) return r;
    release(r);
    free(r);
    return NULL;
}

static bool fails(void *user, void *on, const machine_options *machine) {
    runner  *r = on;
    cj_error error;
    (void)user;
    return cj_cpu_configure(r->w.device, &machine->cpu, &error) ||
           workload_try(&r->w, r->kernel, 0, NULL, &r->verdict) || !r->verdict.ok;
}

static void close_seed(void *on) {
    release(on);
    free(on);
}

static int search_seeds(runner *r) {
    const seeds_work work = {.user = r, .open = open_seed, .launch = fails, .close = close_seed, .what = "seed"};
    bool             failed;
    if (!seeds_are_several(&r->machine)) return CODE_OK;
    const int code = seeds_search(&work, &r->machine, &failed);
    if (code || !failed) return code ? code : machine_apply(&r->machine, r->w.device);
    r->repeat = repeat_text(&r->options->words, &r->machine, NULL, NULL);
    return machine_apply(&r->machine, r->w.device);
}

static void note_repeat(const runner *r) {
    char   schedule[MACHINE_SCHEDULE_TEXT], *note = NULL;
    size_t size;
    FILE  *to = r->repeat ? open_memstream(&note, &size) : NULL;
    if (!to) return;
    fprintf(to, "found with --schedule %s; this repeats it: %s", machine_schedule(&r->machine, schedule), r->repeat);
    fclose(to);
    message_note(note);
    free(note);
}

static unsigned launches_of(const runner *r) {
    const bool gpu = strcmp(cj_device_kind(r->w.device), "gpu") == 0;
    return r->options->repeat ? r->options->repeat : gpu ? REPEAT_GPU : REPEAT_CPU;
}

static void estimate(runner *r) {
    const unsigned times = 1 + launches_of(r);
    estimate_say(&r->w, (estimate_use){.launches = times, .checks = times});
}

// A file's array may determine how large the problem is.
static int open_workload(runner *r) {
    if (!r->options->input) estimate(r);
    const int code = r->w.type->open(&r->w);
    if (!code && r->options->input) estimate(r);
    return code;
}

static int load_kernel(runner *r) {
    cj_error error;
    if (cj_tuning_plan(r->w.device, &r->w.params, r->options->arch, &r->plan, &error) ||
        cj_kernel_load(r->w.device, &r->plan, &r->kernel, &error))
        return message_failure(&error);
    if (r->plan.note[0] && !r->is_other) message_note(r->plan.note);
    return CODE_OK;
}

// Every launch starts from poisoned outputs, and from the workspace as the previous launch left it.
static int launch_all(runner *r) {
    r->launches = launches_of(r);
    r->times = malloc(r->launches * sizeof *r->times);
    if (!r->times) return message_error(CJ_OUT_OF_MEMORY, "no host memory for the times");
    int code = workload_try(&r->w, r->kernel, 0, NULL, &r->verdict);
    for (unsigned i = 0; !code && r->verdict.ok && i < r->launches; i++)
        code = workload_try(&r->w, r->kernel, 0, &r->times[i], &r->verdict);
    if (!r->verdict.ok) r->launches = 0;  // times of a kernel with wrong results say nothing
    if (!code && !r->options->json) machine_stats(&r->machine, r->w.device, NULL);
    return code;
}

static double median_time(runner *r) {
    if (!r->launches) return NAN;
    qsort(r->times, r->launches, sizeof *r->times, measure_ascending);
    return 0.5 * (r->times[(r->launches - 1) / 2] + r->times[r->launches / 2]);
}

static const char *clock_name(const runner *r) {
    return strcmp(cj_device_kind(r->w.device), "gpu") == 0 ? "CUDA events" : "host clock";
}

static const char *deviation_text(const runner *r, double value, char buffer[ELEMENT_TEXT]) {
    if (!r->w.whole) return element_real_text(value, 7, buffer);
    snprintf(buffer, ELEMENT_TEXT, "%.0f", value);
    return buffer;
}

static int print_text(runner *r) {
    const workload_verdict *v = &r->verdict;
    char                    text[ELEMENT_TEXT];
    r->w.type->print(&r->w, r->kernel);
    printf("Error: %s\n", deviation_text(r, v->error, text));
    if (isnan(v->bound))
        printf("Error bound: unknown (%.*s)\n", (int)strcspn(v->text, "\n"), v->text);
    else
        printf("Error bound: %s\n", deviation_text(r, v->bound, text));
    printf("Device: %s (%s)\n", cj_device_name(r->w.device), cj_device_reason(r->w.device));
    if (r->launches)
        printf("Time: %.4g ms (kernel, median of %u launch%s after a first, %s)\n", median_time(r), r->launches,
               r->launches == 1 ? "" : "es", clock_name(r));
    return CODE_OK;
}

static int print_json(runner *r) {
    json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "family", cj_family_name(r->w.params.family), "parameters",
                               describe_params(&r->w.params), "plan", describe_plan(&r->plan), "device",
                               describe_device(r->w.device));
    r->w.type->json(&r->w, r->kernel, object);
    json_t *rest = json_pack("{s:o, s:o, s:b, s:o, s:I, s:s, s:o*, s:o*}", "error", output_json_real(r->verdict.error),
                             "error_bound", output_json_real(r->verdict.bound), "ok", r->verdict.ok, "time_ms",
                             output_json_real(median_time(r)), "launches", (json_int_t)r->launches, "time_source",
                             clock_name(r), "stats", machine_stats_json(&r->machine, r->w.device, NULL), "repeat",
                             r->repeat ? output_json_text(r->repeat) : NULL);
    json_object_update(object, rest);
    json_decref(rest);
    return output_json(object);
}

static int report(runner *r) {
    int code = r->options->json ? print_json(r) : print_text(r);
    if (code || r->verdict.ok) return code;
    fflush(stdout);
    return workload_wrong(&r->verdict, NULL);
}

static void release(runner *r) {
    free(r->times);
    cj_kernel_destroy(r->kernel);
    if (!r->w.device) return;
    r->w.type->close(&r->w);
    cj_device_close(r->w.device);
}

int run_workload(const run_options *options, const args_family *family) {
    static int (*const steps[])(runner * r) = {find_type,   check_output, open_device,  search_seeds, open_workload,
                                               load_kernel, launch_all,   write_output, report};
    runner r = {.options = options,
                .machine = options->machine,
                .w = {.params = family->params,
                      .given = family->given,
                      .arch = options->arch,
                      .parts = true,
                      .fill = options->fill,
                      .input = options->input}};
    int    code = CODE_OK;
    for (size_t i = 0; !code && i < sizeof steps / sizeof steps[0]; i++) code = steps[i](&r);
    if (code) note_repeat(&r);
    free(r.repeat);
    release(&r);
    return code;
}
