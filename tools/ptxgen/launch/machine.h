// SPDX-License-Identifier: Apache-2.0
// The options of the CPU device, which all commands that run kernels share, and its reports after a launch.
#ifndef PTXGEN_MACHINE_H
#define PTXGEN_MACHINE_H

#include <clusterjit/cpu.h>
#include <jansson.h>

#include "args.h"
#include "finding.h"

typedef struct machine_options {
    cj_cpu_options cpu;        // of the first launch
    uint64_t       last_seed;  // of the last launch: there is one for each seed from cpu.seed
    bool           given;      // the command line has one of these options
    bool           aside;  // what kernels print goes to standard error: standard output is one JSON text, or findings
} machine_options;

enum { MACHINE_SCHEDULE = 0x200, MACHINE_HAZARDS, MACHINE_STATS, MACHINE_THREADS, MACHINE_LIMIT };

#define MACHINE_OPTIONS                                                                                                 \
    {.name = "schedule",                                                                                                \
     .key = MACHINE_SCHEDULE, .group = ARGS_CPU,                                                                        \
     .arg = "fixed|late|seed:N|seed:A..B",                                                                              \
     .doc = "The order of warps and of asynchronous completions: always the same (fixed), asynchronous "                \
            "work as late as the program allows (late), or all drawn from a seed. exec, run and check --run launch "    \
            "once for each seed from A to B, on several host threads, and name the lowest that fails (default fixed)"}, \
        {.name = "hazards",                                                                                             \
         .key = MACHINE_HAZARDS, .group = ARGS_CPU,                                                                     \
         .arg = "on|off",                                                                                               \
         .doc = "Watch for races and missing synchronization; exit 1 when one is found (default off)"},                 \
        {.name = "stats",                                                                                               \
         .key = MACHINE_STATS, .group = ARGS_CPU,                                                                       \
         .doc = "Print what the kernel did, on standard error; of a text also by lines of its source"},                 \
        {.name = "threads",                                                                                             \
         .key = MACHINE_THREADS, .group = ARGS_CPU,                                                                     \
         .arg = "N",                                                                                                    \
         .doc = "Host threads of a launch, or of many seeds, each of which runs on one (default one a core)"},          \
    {                                                                                                                   \
        .name = "limit", .key = MACHINE_LIMIT, .group = ARGS_CPU, .arg = "N",                                           \
        .doc = "Stop after N million thread instructions, as a livelock"                                                \
    }

// Takes one of MACHINE_OPTIONS; true if `key` is one. Exits with a message if the value is invalid.
bool machine_set(machine_options *o, int key, const char *value);

// Applies the options. Returns an exit code: a GPU refuses options of the CPU device.
int machine_apply(const machine_options *o, cj_device *device);

// Configures the CPU device as they say, and nothing more.
cj_status machine_configure(const machine_options *o, cj_device *device, cj_error *error);

// Advances to the next launch's options; false after the last seed.
bool machine_next(machine_options *o);

// "seed:7", "late" or "fixed": returns `buffer`.
enum { MACHINE_SCHEDULE_TEXT = 32 };
const char *machine_schedule(const machine_options *o, char buffer[MACHINE_SCHEDULE_TEXT]);

// A hazard as a finding at the instruction that was seen to break the rule; it borrows the hazard's strings.
finding machine_finding(document *ptx, const cj_hazard *hazard);

// After a launch: prints its notes (races that made no difference) on standard error.
void machine_notes(const cj_device *device, const char *file);

// After a launch: prints its notes, and the hazards with their PTX lines, or the error, on standard error. Returns the
// exit code of `status`.
int machine_report(const cj_device *device, document *ptx, cj_status status, const cj_error *error);

// With --stats: a table on standard error; the same as JSON, NULL without.
// By lines, too, where the PTX is given.
void    machine_stats(const machine_options *o, const cj_device *device, document *ptx);
json_t *machine_stats_json(const machine_options *o, const cj_device *device, document *ptx);

#endif
