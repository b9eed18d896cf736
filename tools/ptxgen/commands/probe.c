// SPDX-License-Identifier: Apache-2.0
// probe: latency and throughput of clusters on this GPU, measured with generated kernels.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "message.h"
#include "probe_show.h"

typedef struct probe_options {
    const char *spec, *plot;
    bool        json;
} probe_options;

enum { KEY_DEVICE = ARGS_LONG_ONLY, KEY_JSON, KEY_PLOT };

static const args_option options[] = {
    {.name = "device", .key = KEY_DEVICE, .arg = "auto|gpu|gpu:N", .doc = "The GPU to measure (default auto)"},
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {.name = "plot",
     .key = KEY_PLOT,
     .arg = "FILE.svg|FILE.png",
     .doc = "Draw latency by distance and throughput by cluster size with gnuplot"},
    {0},
};

static int set(void *user, int key, char *value) {
    probe_options *o = user;
    switch (key) {
    case KEY_DEVICE: o->spec = value; break;
    case KEY_JSON: o->json = true; break;
    case KEY_PLOT: o->plot = value; break;
    }
    return CODE_OK;
}

const args_spec probe_spec = {
    .doc = "Measures what clusters cost and bring on this GPU: latency and throughput of distributed shared memory by "
           "cluster "
           "size, distance and pattern, barriers, hand-over, exchange between blocks, and the clusters that fit, each "
           "beside "
           "what was published or measured before. Takes some seconds.",
    .options = options,
    .set = set,
    .examples = "ptxgen probe --plot probe.svg",
};

// Refuses the CPU device, whose times mean nothing, and a GPU without clusters.
static int suitable(cj_device *device) {
    const cj_limits *limits = cj_device_limits(device);
    if (strcmp(cj_device_kind(device), "gpu") != 0)
        return message_error(
            CJ_UNSUPPORTED,
            "probe measures a GPU, and this is the CPU device: the times of an emulator mean nothing (%s)\n"
            "run it on a machine with a GPU of compute capability 9.0 or later",
            cj_device_reason(device));
    if (!limits->max_cluster)
        return message_error(CJ_UNSUPPORTED,
                             "%s (compute capability %u.%u) has no thread block clusters\n"
                             "take a GPU of compute capability 9.0 or later",
                             limits->name, limits->compute_capability / 10, limits->compute_capability % 10);
    return CODE_OK;
}

static int report_all(const probe_options *o, probe_report *report, plot *p) {
    snprintf(report->arch, sizeof report->arch, "sm_%ua", cj_device_limits(report->device)->compute_capability);
    int code = probe_run(report);
    if (!code) code = o->json ? probe_json(report) : probe_print(report);
    return code || !o->plot ? code : probe_draw(report, p);
}

int cmd_probe(int argc, char **argv) {
    probe_options o = {.spec = "auto"};
    plot          p = {0};
    cj_error      error;
    args_parse(&probe_spec, argc, argv, &o, NULL);
    probe_report *report = calloc(1, sizeof *report);
    if (!report) return message_error(CJ_OUT_OF_MEMORY, "no memory for the report");
    int code = cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = o.spec}, &report->device, &error)
                   ? message_failure(&error)
                   : CODE_OK;
    if (!code) code = suitable(report->device);
    if (!code && o.plot) code = plot_open(&p, o.plot);
    if (!code) code = report_all(&o, report, &p);
    plot_close(&p);
    cj_device_close(report->device);
    free(report);
    return code;
}
