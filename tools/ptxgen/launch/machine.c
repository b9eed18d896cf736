// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "machine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "finding.h"
#include "lines.h"
#include "message.h"
#include "progress.h"
#include "stats.h"

// "fixed", "late", "seed:N" or "seed:A..B".
static bool read_schedule(const char *value, machine_options *o) {
    const char *end;
    o->cpu.late_schedule = !strcmp(value, "late");
    o->cpu.random_schedule = !o->cpu.late_schedule && strcmp(value, "fixed") != 0;
    o->cpu.seed = o->last_seed = 0;
    if (!o->cpu.random_schedule) return true;
    if (strncmp(value, "seed:", 5)) return false;
    end = cj_number_read(value + 5, &o->cpu.seed);
    o->last_seed = o->cpu.seed;
    if (end && !strncmp(end, "..", 2)) end = cj_number_read(end + 2, &o->last_seed);
    return end && !*end && o->cpu.seed <= o->last_seed;
}

static void set_schedule(machine_options *o, const char *value) {
    if (!read_schedule(value, o))
        exit(message_error(CJ_INVALID_ARGUMENT,
                           "--schedule is '%s'; it is 'fixed', 'late', 'seed:N', or 'seed:A..B' with A <= B", value));
}

bool machine_next(machine_options *o) {
    if (o->cpu.seed >= o->last_seed) return false;
    o->cpu.seed++;
    return true;
}

const char *machine_schedule(const machine_options *o, char buffer[MACHINE_SCHEDULE_TEXT]) {
    if (o->cpu.random_schedule)
        snprintf(buffer, MACHINE_SCHEDULE_TEXT, "seed:%" PRIu64, o->cpu.seed);
    else
        snprintf(buffer, MACHINE_SCHEDULE_TEXT, o->cpu.late_schedule ? "late" : "fixed");
    return buffer;
}

static void set_hazards(machine_options *o, const char *value) {
    o->cpu.hazards = !strcmp(value, "on");
    if (!o->cpu.hazards && strcmp(value, "off"))
        exit(message_error(CJ_INVALID_ARGUMENT, "--hazards is '%s'; it is 'on' or 'off'", value));
}

bool machine_set(machine_options *o, int key, const char *value) {
    switch (key) {
    case MACHINE_SCHEDULE: set_schedule(o, value); break;
    case MACHINE_HAZARDS: set_hazards(o, value); break;
    case MACHINE_STATS: o->cpu.stats = true; break;
    case MACHINE_THREADS: o->cpu.threads = args_number("--threads", value, 1, 1024); break;
    case MACHINE_LIMIT:
        o->cpu.instruction_limit = args_number("--limit", value, 1, 1000000000) * UINT64_C(1000000);
        break;
    default: return false;
    }
    o->given = true;
    return true;
}

// A status line on a terminal: rewritten during the launch and cleared at its end.
static void show_progress(void *user, uint64_t done, uint64_t clusters, uint64_t instructions) {
    static struct {
        uint64_t instructions;
        double   time, begun;  // 0: no call yet in this launch; the first call comes half a second after its start
    } before;
    char left[PROGRESS_TIME];
    (void)user;
    const double time = progress_clock(), seconds = before.time > 0 ? time - before.time : 0.5;
    if (!(before.begun > 0)) before.begun = time - 0.5;
    if (done < clusters)
        fprintf(stderr, "%" PRIu64 " of %" PRIu64 " clusters, %.0f million thread instructions a second%s\033[K\r",
                done, clusters, (double)(instructions - before.instructions) / seconds * 1e-6,
                progress_time(time - before.begun, done, clusters, left));
    else
        fputs("\033[K", stderr);
    before.instructions = done < clusters ? instructions : 0;
    before.time = done < clusters ? time : 0;
    if (done >= clusters) before.begun = 0;
}

static void print_aside(void *user, const char *text, size_t bytes) {
    (void)user;
    fwrite(text, 1, bytes, stderr);
}

cj_status machine_configure(const machine_options *o, cj_device *device, cj_error *error) {
    cj_cpu_options options = o->cpu;
    options.struct_size = sizeof options;
    return cj_cpu_configure(device, &options, error);
}

int machine_apply(const machine_options *o, cj_device *device) {
    cj_error        error;
    machine_options on = *o;
    if (strcmp(cj_device_kind(device), "cpu")) {
        if (!o->given) return CODE_OK;
        return message_error(CJ_INVALID_ARGUMENT,
                             "--schedule, --hazards, --stats, --threads and --limit are the CPU device's; "
                             "this is %s\nadd --device cpu",
                             cj_device_name(device));
    }
    if (on.cpu.random_schedule) on.cpu.threads = 1;  // so that the seed alone determines what happens
    if (isatty(STDERR_FILENO)) on.cpu.progress = show_progress;
    if (o->aside) on.cpu.print = print_aside;
    return machine_configure(&on, device, &error) ? message_failure(&error) : CODE_OK;
}

finding machine_finding(document *ptx, const cj_hazard *hazard) {
    size_t      length, blanks = 0;
    const char *line = document_line(ptx, hazard->second.line, &length);
    while (line && blanks < length && (line[blanks] == ' ' || line[blanks] == '\t')) blanks++;
    return (finding){.what = {.severity = CJ_SEVERITY_ERROR,
                              .rule = hazard->rule,
                              .line = hazard->second.line,
                              .column = (unsigned)blanks + 1,
                              .message = hazard->message,
                              .hint = hazard->hint},
                     .other = hazard->first.line,
                     .other_what = hazard->first.what,
                     .symbol = hazard->symbol,
                     .variable = hazard->variable};
}

void machine_notes(const cj_device *device, const char *file) {
    char text[sizeof(cj_hazard) + 256];
    for (size_t i = 0; i < cj_cpu_note_count(device); i++) {
        const cj_hazard *note = cj_cpu_note_at(device, i);
        snprintf(text, sizeof text, "%s: %s [%s]; %s", file, note->message, note->rule, note->hint);
        message_note(text);
    }
}

int machine_report(const cj_device *device, document *ptx, cj_status status, const cj_error *error) {
    machine_notes(device, ptx->name);
    if (!status) return CODE_OK;
    size_t count = status == CJ_HAZARD ? cj_cpu_hazard_count(device) : 0;
    if (!count) return message_failure(error);
    findings found = {0};
    int      code = CODE_OK;
    for (size_t i = 0; i < count && !code; i++) {
        const finding one = machine_finding(ptx, cj_cpu_hazard_at(device, i));
        code = findings_add(&found, &one);
    }
    findings_merge(&found, ptx);
    for (size_t i = 0; i < found.count; i++) finding_print(stderr, ptx, &found.item[i]);
    findings_free(&found);
    fprintf(stderr, "%zu hazard%s\n", count, count == 1 ? "" : "s");
    return CODE_WRONG;
}

void machine_stats(const machine_options *o, const cj_device *device, document *ptx) {
    cj_cpu_stats stats = {CJ_INIT(stats)};
    if (!o->cpu.stats || cj_cpu_stats_read(device, &stats, NULL)) return;
    stats_print(&stats);
    if (ptx) lines_print(device, ptx);
}

json_t *machine_stats_json(const machine_options *o, const cj_device *device, document *ptx) {
    cj_cpu_stats stats = {CJ_INIT(stats)};
    if (!o->cpu.stats || cj_cpu_stats_read(device, &stats, NULL)) return NULL;
    json_t *object = stats_json(&stats);
    if (ptx) json_object_set_new(object, "lines", lines_json(device, ptx));
    return object;
}
