// SPDX-License-Identifier: Apache-2.0
// run, for every family: one problem, launched a few times on poisoned outputs, each result checked.
#define _POSIX_C_SOURCE 200809L
#include "run_workload.h"

#include <clusterjit/gpus.h>
#include <clusterjit/tuning.h>
#include <inttypes.h>
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
#include "minimize.h"
#include "output.h"
#include "progress.h"
#include "run_output.h"
#include "seeds.h"
#include "workload.h"

enum { REPEAT_GPU = 10, REPEAT_CPU = 1, FAILURE_TEXT = 32 };

typedef struct runner {
    const run_options *options;
    workload           w;
    uint32_t           local_rank;  // of one process a GPU
    cj_plan            plan;
    cj_kernel         *kernel;
    double            *times;     // milliseconds, of the timed launches
    unsigned           launches;  // timed
    workload_verdict   verdict;   // of the last launch
    machine_options    machine;   // of the launches: of many seeds, the first that fails
    char              *repeat;    // the command that repeats them; NULL: this one
    bool               is_other;  // launches some of many seeds, and says nothing
    char failure[FAILURE_TEXT];   // that the smallest problem is to show, "" without --minimize; failure_of says it
    bool smaller;                 // than the problem that was given
} runner;

// --gpus N of this process, or as many as a launcher has started, of which this process is one.
static int find_type_of_gpus(runner *r) {
    const char *name = cj_family_name(r->w.params.family);
    cj_error    error;
    uint32_t    rank;
    r->w.type = workload_find_whole(name);
    r->w.collective = r->options->collective;
    r->w.chunks = r->options->chunks;
    if (!r->w.type) return message_error(CJ_INVALID_ARGUMENT, "%s runs on one GPU\n--gpus goes with reduce, histogram, gemm and the families of several GPUs", name);
    r->w.ranks = !strcmp(r->options->gpus, "env");
    if (r->w.ranks) return cj_gpus_env(&rank, &r->w.gpus, &r->local_rank, &error) ? message_failure(&error) : CODE_OK;
    r->w.gpus = args_number("--gpus", r->options->gpus, 2, CJ_GPUS_MAX);
    return CODE_OK;
}

static int find_type(runner *r) {
    const char *name = cj_family_name(r->w.params.family);
    if (r->options->gpus) return find_type_of_gpus(r);
    if (r->options->collective || r->options->chunks)
        return message_error(CJ_INVALID_ARGUMENT, "--%s goes with --gpus", r->options->chunks ? "chunks" : "collective");
    r->w.type = workload_find(name);
    return r->w.type ? CODE_OK : workload_missing(name);
}

static int check_output(runner *r) { return r->options->output ? run_output_check(r->options->output) : CODE_OK; }

static int write_output(runner *r) {
    return r->options->output ? run_output_write(&r->w, r->kernel, r->options->output) : CODE_OK;
}

static int open_device(runner *r) {
    cj_device_options options = {CJ_INIT(options), .spec = r->options->device};
    char              own[16];
    if (r->w.ranks && !strcmp(options.spec, "auto")) {  // each rank of a node has a GPU of its own
        snprintf(own, sizeof own, "gpu:%" PRIu32, r->local_rank);
        options.spec = own;
    }
    cj_error          error;
    if (cj_device_open(&options, &r->w.device, &error)) return message_failure(&error);
    return machine_apply(&r->machine, r->w.device);
}

// ---- many seeds

static int  load_kernel(runner *r);
static void release(runner *r);

static void *open_seed(void *user) {
    const runner           *of = user;
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
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
    return machine_configure(machine, r->w.device, &error) || workload_try(&r->w, r->kernel, 0, NULL, &r->verdict) ||
           !r->verdict.ok;
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
    if (r->failure[0])
        fprintf(to, "%s %s%s: %s", r->smaller ? "the smallest problem that shows" : "no smaller problem shows",
                r->failure, r->smaller ? "" : "; this one does", r->repeat);
    else
        fprintf(to, "found with --schedule %s; this repeats it: %s", machine_schedule(&r->machine, schedule),
                r->repeat);
    fclose(to);
    message_note(note);
    free(note);
}

// ---- the smallest problem

// How a try has failed: the rule of its first hazard, or in words; "": it has not.
static const char *failure_of(const runner *r, int code) {
    if (code && cj_cpu_hazard_count(r->w.device)) return cj_cpu_hazard_at(r->w.device, 0)->rule;
    return code ? "a failure" : r->verdict.ok ? "" : "a wrong result";
}

static const char *try_once(runner *r, const machine_options *machine) {
    cj_error  error;
    const int code = machine_configure(machine, r->w.device, &error)
                         ? CODE_DEVICE
                         : workload_try(&r->w, r->kernel, 0, NULL, &r->verdict);
    return failure_of(r, code);
}

static bool fails_so(void *user, void *on, const machine_options *machine) {
    return !strcmp(try_once(on, machine), ((const runner *)user)->failure);
}

// Launches the whole problem once: what stays, and how many instructions a smaller one may execute.
static void find_failure(runner *r) {
    message_quiet(true);
    runner      *whole = open_seed(r);
    cj_cpu_stats stats = {CJ_INIT(stats)};
    if (whole) snprintf(r->failure, sizeof r->failure, "%s", try_once(whole, &r->machine));
    if (whole && strcmp(r->failure, "livelock") && !cj_cpu_stats_read(whole->w.device, &stats, NULL))
        r->machine.cpu.instruction_limit = minimize_limit(&stats);
    if (whole) close_seed(whole);
    message_quiet(false);
}

// A number among the parameters that may shrink.
typedef struct number {
    runner              *of;
    const cj_param_info *info;
    uint64_t            *value, first, last;  // seeds that are tried
} number;

static bool stays(void *user) {
    const number    *n = user;
    const seeds_work work = {
        .user = n->of, .open = open_seed, .launch = fails_so, .close = close_seed, .what = "minimizing: seed"};
    char line[64];
    if (n->info->multiple && *n->value % n->info->multiple && *n->value != n->info->minimum) return false;
    snprintf(line, sizeof line, "minimizing: --%s %llu", n->info->name, (unsigned long long)*n->value);
    progress_say(line);
    message_quiet(true);
    void *one = open_seed(n->of);  // no plan may suit the number
    if (one) close_seed(one);
    message_quiet(false);
    return one && seeds_any_schedule(&work, &n->of->machine, n->first, n->last);
}

static bool may_shrink(const cj_param_info *info, uint64_t value) {
    return !info->choices && !info->function && !info->real && !info->reals && value != CJ_PARAM_AUTO &&
           value > info->minimum;
}

// All numbers in turns, as long as one becomes smaller.
static void shrink(runner *r, uint64_t first, uint64_t last) {
    const cj_family *family = r->w.params.family;
    bool             again = true;
    for (unsigned pass = 0; again && pass < MINIMIZE_PASSES; pass++) {
        again = false;
        for (size_t i = 0; i < cj_family_param_count(family); i++) {
            number n = {r, cj_family_param(family, i), &r->w.params.value[i], first, last};
            if (may_shrink(n.info, *n.value)) again |= minimize_number(n.value, n.info->minimum, stays, &n);
        }
    }
    progress_clear();
}

// How many words, from argv[i] on, give the option of this name; 0: it is another word.
static int words_of(const repeat *words, int i, const char *name) {
    const char  *word = words->argv[i];
    const size_t length = strlen(name);
    if (strncmp(word, "--", 2) || strncmp(word + 2, name, length)) return 0;
    if (word[2 + length] == '=') return 1;
    return word[2 + length] ? 0 : i + 1 < words->argc ? 2 : 1;
}

// The command line with the numbers that became smaller.
static char *smallest_text(const runner *r, const cj_params *whole) {
    enum { OPTION = 64 };
    const repeat *words = &r->options->words;
    const size_t  count = cj_family_param_count(whole->family);
    char          option[CJ_PARAM_MAX][OPTION];
    repeat        said = {.argv = malloc(((size_t)words->argc + count) * sizeof *said.argv)};
    if (!said.argv) return NULL;
    for (int i = 0, skip; i < words->argc; i += skip ? skip : 1) {
        skip = 0;
        for (size_t k = 0; k < count && !skip; k++) {
            if (r->w.params.value[k] != whole->value[k])
                skip = words_of(words, i, cj_family_param(whole->family, k)->name);
        }
        if (!skip) said.argv[said.argc++] = words->argv[i];
    }
    for (size_t k = 0; k < count; k++) {
        if (r->w.params.value[k] == whole->value[k]) continue;
        snprintf(option[k], OPTION, "--%s=%llu", cj_family_param(whole->family, k)->name,
                 (unsigned long long)r->w.params.value[k]);
        said.argv[said.argc++] = option[k];
    }
    char *text = repeat_text(&said, &r->machine, NULL, NULL);
    free(said.argv);
    return text;
}

// Leaves the smallest problem, and its schedule, as those of the command.
static int minimize_problem(runner *r) {
    const machine_options given = r->options->machine;
    const bool            several = seeds_are_several(&given);
    const uint64_t        limit = r->machine.cpu.instruction_limit;
    const cj_params       whole = r->w.params;
    if (!r->options->minimize) return CODE_OK;
    if (strcmp(cj_device_kind(r->w.device), "cpu"))
        return message_error(CJ_INVALID_ARGUMENT, "--minimize is the CPU device's; this is %s\nadd --device cpu",
                             cj_device_name(r->w.device));
    find_failure(r);
    if (r->failure[0])
        shrink(r, several ? given.cpu.seed : 1, several ? given.last_seed : MINIMIZE_SEEDS);
    else
        message_note(given.cpu.hazards ? "nothing failed, so there is nothing to minimize"
                                       : "nothing failed, so there is nothing to minimize: add --hazards on");
    r->machine.cpu.instruction_limit = limit;
    if (!r->failure[0]) return CODE_OK;
    r->smaller = memcmp(whole.value, r->w.params.value, sizeof whole.value) != 0;
    free(r->repeat);
    r->repeat = smallest_text(r, &whole);
    return machine_apply(&r->machine, r->w.device);
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
    static int (*const steps[])(runner * r) = {find_type,     check_output, open_device, search_seeds, minimize_problem,
                                               open_workload, load_kernel,  launch_all,  write_output, report};
    runner r = {.options = options,
                .machine = options->machine,
                .local_rank = family->local_rank,
                .w = {.params = family->params,
                      .ranks = family->ranks,
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
