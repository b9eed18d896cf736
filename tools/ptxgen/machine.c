// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "finding.h"
#include "message.h"

static void set_schedule(machine_options *o, const char *value) {
    char *end;
    errno = 0;
    o->cpu.random_schedule = strncmp(value, "seed:", 5) == 0;
    if (!o->cpu.random_schedule && !strcmp(value, "fixed")) return;
    o->cpu.seed = o->cpu.random_schedule ? strtoull(value + 5, &end, 10) : 0;
    if (!o->cpu.random_schedule || value[5] < '0' || value[5] > '9' || *end || errno)
        exit(message_error(CJ_INVALID_ARGUMENT, "--schedule is '%s'; it is 'fixed' or 'seed:N'", value));
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
    case MACHINE_LIMIT: o->cpu.instruction_limit = args_number("--limit", value, 1, 1000000000) * UINT64_C(1000000); break;
    default: return false;
    }
    o->given = true;
    return true;
}

// A line that is written over and over, where somebody watches.
static void show_progress(void *user, uint64_t done, uint64_t clusters, uint64_t instructions) {
    static uint64_t before;
    (void)user;
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " clusters, %.0f million thread instructions a second\r", done, clusters,
            (double)(instructions - before) * 2e-6);
    before = done == clusters ? 0 : instructions;
    if (done == clusters) fprintf(stderr, "\033[K");
}

int machine_apply(const machine_options *o, cj_device *device) {
    cj_error       error;
    cj_cpu_options options = o->cpu;
    if (strcmp(cj_device_kind(device), "cpu")) {
        if (!o->given) return CODE_OK;
        return message_error(CJ_INVALID_ARGUMENT, "--schedule, --hazards, --stats, --threads and --limit are the CPU device's; "
                             "this is %s\nadd --device cpu", cj_device_name(device));
    }
    if (isatty(STDERR_FILENO)) options.progress = show_progress;
    return cj_cpu_configure(device, &options, &error) ? message_failure(&error) : CODE_OK;
}

int machine_report(const cj_device *device, document *ptx, cj_status status, const cj_error *error) {
    if (!status) return CODE_OK;
    size_t count = status == CJ_HAZARD ? cj_cpu_hazard_count(device) : 0;
    if (!count) return message_failure(error);
    for (size_t i = 0; i < count; i++) {
        const cj_hazard *hazard = cj_cpu_hazard_at(device, i);
        finding_print(stderr, ptx,
                      &(cj_diagnostic){.severity = CJ_SEVERITY_ERROR, .rule = hazard->rule, .line = hazard->second.line,
                                       .column = 1, .message = hazard->message, .hint = hazard->hint});
    }
    fprintf(stderr, "%zu hazard%s\n", count, count == 1 ? "" : "s");
    return CODE_WRONG;
}

static void print_count(const char *name, uint64_t value) {
    if (value) fprintf(stderr, "  %-34s %16" PRIu64 "\n", name, value);
}

void machine_stats(const machine_options *o, const cj_device *device) {
    static const char *const classes[] = {
#define CJ_X(id, text) text,
        CJ_CPU_CLASSES(CJ_X)
#undef CJ_X
    };
    cj_cpu_stats s;
    if (!o->cpu.stats || cj_cpu_stats_read(device, &s, NULL)) return;
    fprintf(stderr, "thread instructions\n");
    for (int i = 0; i < CJ_CPU_CLASS_COUNT; i++) print_count(classes[i], s.by_class[i]);
    print_count("in all", s.thread_instructions);
    print_count("of warps", s.warp_instructions);
    fprintf(stderr, "bytes\n");
    print_count("global, read", s.global_read);
    print_count("global, written", s.global_written);
    print_count("shared, own block, read", s.shared_read);
    print_count("shared, own block, written", s.shared_written);
    print_count("distributed shared, read", s.dsmem_read);
    print_count("distributed shared, written", s.dsmem_written);
    print_count("local", s.local_bytes);
    print_count("moved asynchronously", s.async_bytes);
    fprintf(stderr, "events\n");
    print_count("atomics", s.atomics);
    print_count("block barriers", s.block_barriers);
    print_count("cluster barriers", s.cluster_barriers);
    print_count("mbarrier waits", s.mbarrier_waits);
    print_count("bank conflicts", s.bank_conflicts);
    fprintf(stderr, "%.6f s on the host, %.0f million thread instructions a second\n", s.seconds,
            s.seconds > 0 ? (double)s.thread_instructions / s.seconds * 1e-6 : 0);
}
