// SPDX-License-Identifier: Apache-2.0
// What bench and compare share: a workload, one or more kernels for it, each of them checked, then timed in turns.
#ifndef PTXGEN_STUDY_H
#define PTXGEN_STUDY_H

#include <clusterjit/cpu.h>

#include "args.h"
#include "figure.h"
#include "machine.h"
#include "measure.h"
#include "peer.h"
#include "workload.h"

typedef struct study_options {
    const char *device, *arch, *input, *fill, *plot;  // all but the device may be NULL
    unsigned    rounds;                               // 0: as many as suit the device
    unsigned    gpus;     // of a family of one GPU on several; 0: one
    unsigned    kernels;  // about so many will run once on the CPU device, to estimate its time; 0: one is measured
    bool        json;
    bool        untuned;                    // plans ignore stored choices of tune
    bool        beside;                     // the workload's peer is measured too, in turns with the first kernel
    bool        forms;                      // kernels differ in their form: a failure of one does not end the others
    int (*admit)(const cj_device *device);  // an exit code, after its message, for an unsuitable device; or NULL
    machine_options machine;
} study_options;

enum { STUDY_ARCH = ARGS_LONG_ONLY, STUDY_DEVICE, STUDY_FILL, STUDY_INPUT, STUDY_JSON, STUDY_ROUNDS, STUDY_PLOT, STUDY_GPUS };

#define STUDY_OPTIONS                                                                                                  \
    ARGS_ARCH(STUDY_ARCH, "Generate for this target, sm_90a, or that of a part, h200 (default: the device's newest)"), \
        {.name = "device",                                                                                             \
         .key = STUDY_DEVICE,                                                                                          \
         .arg = "auto|gpu|gpu:N|cpu",                                                                                  \
         .doc = "Where to run; auto takes a GPU with clusters, else the CPU device (default auto)"},                   \
        {.name = "fill",                                                                                               \
         .key = STUDY_FILL,                                                                                            \
         .arg = "SPEC",                                                                                                \
         .doc = "Make up the input, as run does (default: the family's)"},                                             \
        {.name = "gpus",                                                                                               \
         .key = STUDY_GPUS,                                                                                            \
         .arg = "N",                                                                                                   \
         .doc = "reduce, histogram and gemm: on N GPUs of this process, as run does"},                                 \
        {.name = "input", .key = STUDY_INPUT, .arg = "FILE", .doc = "Read the input from FILE, as run does"},          \
        {.name = "json", .key = STUDY_JSON, .doc = "Print JSON"}, {                                                    \
        .name = "rounds", .key = STUDY_ROUNDS, .arg = "N",                                                             \
        .doc = "Measure N rounds of launches each, show the median (default 15, on the CPU device 3)"                  \
    }

#define STUDY_PLOT_OPTION(what)                                                                       \
    {                                                                                                 \
        .name = "plot", .key = STUDY_PLOT, .arg = "FILE.svg|FILE.png", .doc = what " with gnuplot"    \
    }

// Takes one of STUDY_OPTIONS, or of MACHINE_OPTIONS.
int study_set(void *user, int key, char *value);

enum { STUDY_REASON = 1200 };

// One kernel for the work.
typedef struct variant {
    workload    *w;  // the study's, or its own
    cj_plan      plan;
    cj_kernel   *kernel;                 // NULL: it cannot be launched here
    char         refused[STUDY_REASON];  // the reason
    cj_error     why;                    // the library's refusal, with its hint; OK: there was none
    uint32_t     sms;                    // that run blocks of it at some time; 0: not known
    uint32_t     active;  // clusters (without clusters: blocks) that the device holds at once; 0: not known
    contender   *race;    // its times; NULL without a kernel
    cj_cpu_stats stats;   // of one run of the kernel, on the CPU device
} variant;

typedef struct study {
    study_options options;
    workload      w;
    bool          gpu;
    double        read_ceiling, copy_ceiling;  // bytes a second, measured in this run; 0 on the CPU device
    variant      *variants;                    // `count` of them, of `capacity`
    contender    *races;
    workload     *own;  // for each variant, if each cluster size is a problem of its own; else NULL
    size_t        count, race_count, capacity;
    peer          peer;
} study;

// Call them in this order; each returns an exit code after its message. Call study_close also after a failure. At most
// `capacity` variants can be added.
int  study_open(study *s, const study_options *options, const args_family *family, size_t capacity);
int  study_add(study *s, const cj_params *params);  // a kernel that cannot be launched is added as refused

// The same of many, which are loaded side by side, with the progress of `what`. A kernel that is there already is added as refused.
int study_add_all(study *s, const cj_params *const *params, size_t count, const char *what);
int  study_run(study *s);
void study_close(study *s);

// Runs the kernel on `sets` sets of buffers, spread over all of them, and checks the results against the reference. On
// the CPU device reads its counts; *milliseconds is how long the last of these launches took (may be NULL).
int study_check(study *s, variant *v, unsigned sets, double *milliseconds);

uint32_t study_cluster(const cj_plan *plan);  // blocks of a cluster; 0: launched without clusters
double   study_waves(const variant *v);       // grid size / blocks that the device holds at once; 0: not known

double study_rate(const variant *v);                   // bytes a second, of those that any kernel must move
double study_share(const study *s, const variant *v);  // of the ceiling, from 0 to slightly more than 1; 0: not known

// What is measured, and where: the title of a plot. And of several GPUs a line that says how many.
void study_title(const study *s, char *text, size_t size);
void study_print_gpus(const study *s);

json_t *study_json(const study *s);  // everything except the variants, and fields of the variants themselves
json_t *study_json_variant(const study *s, const variant *v);

#endif
