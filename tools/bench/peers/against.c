// SPDX-License-Identifier: Apache-2.0
// bench_peers: our kernels against what people use today, both sides in one process, in turns, on the same inputs, which do
// not stay in the L2 cache; results are compared before and in the measurement. Prints a table; standard error and the JSON file
// have each row once it is measured.
//   bench_peers [--only TEXT] [--rounds N] [--device gpu:N] [--peers LIBRARY] [--json FILE] [--plot FILE.svg]
#define _GNU_SOURCE
#include <clusterjit/clusterjit.h>
#include <dlfcn.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "message.h"
#include "race.h"
#include "report.h"

typedef struct arguments {
    const char *only, *device, *peers, *json, *plot;
    unsigned    rounds;
} arguments;

// ---- the peers

static void beside_the_program(char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash) snprintf(slash + 1, size - (size_t)(slash + 1 - path), "libbench_peers.so");
}

// It stays loaded: CUDA's runtime is in it.
static int open_peers(peer_library *library, const char *path) {
    char beside[4096];
    beside_the_program(beside, sizeof beside);
    void *handle = dlopen(path ? path : beside, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return message_error(CJ_FILE, "cannot load the peers: %s\nnvcc builds them: cmake --build BUILD --target bench_peers_library",
                             dlerror());
    *(void **)&library->run = dlsym(handle, "peers_run");
    *(void **)&library->fill = dlsym(handle, "peers_fill");
    *(void **)&library->prepare = dlsym(handle, "peers_prepare");
    *(void **)&library->have = dlsym(handle, "peers_have");
    if (library->run && library->fill && library->prepare && library->have) return CODE_OK;
    return message_error(CJ_FILE, "'%s' lacks peers_run, peers_fill, peers_prepare or peers_have", path ? path : beside);
}

// ---- measuring

static void measure_line(const report *r, const arguments *a, const peer_library *peers, line *l) {
    const peer_problem *p = &l->row->problem;
    race                both;
    cj_error            error;
    if (race_run(&both, l->row, r->device, peers, a->rounds, &error))
        snprintf(l->reason, sizeof l->reason, "%.500s", error.message);
    else if (!both.equal)
        snprintf(l->reason, sizeof l->reason, "DIFFERENT RESULTS: %s", both.wrong);
    l->ours = both.sides[OURS].time;
    l->peer = both.sides[PEER].time;
    race_close(&both);
    if (l->row->ideal) l->peer.median = 1e3 * 8 * (double)p->n * p->steps / r->copy_ceiling;
    l->ratio = l->peer.median / l->ours.median;
    l->share = (race_bytes_read(l->row) / r->read_ceiling + race_bytes_copied(l->row) / r->copy_ceiling) /
               (l->ours.median * 1e-3);
}

// What a run that is ended early leaves: a line of each row, and the rows so far in the JSON file.
static int tell(const report *r, const arguments *a, const line *l) {
    if (l->reason[0])
        fprintf(stderr, ": %s\n", l->reason);
    else
        fprintf(stderr, ": %.2f us, %s %.2f us\n", l->ours.median * 1e3, l->row->peer, l->peer.median * 1e3);
    return a->json ? report_json(r, a->json) : CODE_OK;
}

static int measure_all(report *r, const arguments *a, const peer_library *peers, line *lines) {
    cj_error error;
    unsigned left_out = 0;
    if (measure_ceilings(r->device, &r->read_ceiling, &r->copy_ceiling, &error)) return message_failure(&error);
    for (unsigned i = 0; i < contest_count; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s %s", contests[i].work, contests[i].size);
        if (a->only && !strstr(name, a->only)) continue;
        if (!peers->have(&contests[i].problem)) {
            fprintf(stderr, "%s: left out, the toolkit that built the peers has no %s\n", name, contests[i].peer);
            left_out++;
            continue;
        }
        fputs(name, stderr);
        line *l = &lines[r->count++];
        *l = (line){.row = &contests[i]};
        measure_line(r, a, peers, l);
        const int code = tell(r, a, l);
        if (code) return code;
    }
    if (r->count || left_out) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT, "no row has '%s' in its work and size\nwithout --only all are measured", a->only);
}

static int show(const report *r, const arguments *a, plot *p) {
    int code = report_print(r);
    if (!code && a->plot) code = report_plot(r, p);
    for (unsigned i = 0; !code && i < r->count; i++) code = r->lines[i].reason[0] ? CODE_WRONG : CODE_OK;
    return code;
}

static int run(const arguments *a, plot *p) {
    peer_library peers;
    report       r = {0};
    cj_error     error;
    line        *lines = calloc(contest_count, sizeof *lines);
    int          code = lines ? open_peers(&peers, a->peers) : message_error(CJ_OUT_OF_MEMORY, "no memory for the figures");
    r.lines = lines;
    if (!code && cj_device_open(&(cj_device_options){CJ_INIT(cj_device_options), .spec = a->device}, &r.device, &error))
        code = message_failure(&error);
    if (!code) code = measure_all(&r, a, &peers, lines);
    if (!code) code = show(&r, a, p);
    cj_device_close(r.device);
    free(lines);
    return code;
}

// ---- arguments

static int parse(int argc, char **argv, arguments *a) {
    static const struct option options[] = {{"only", required_argument, NULL, 'o'}, {"rounds", required_argument, NULL, 'r'},
                                            {"device", required_argument, NULL, 'd'}, {"peers", required_argument, NULL, 'p'},
                                            {"json", required_argument, NULL, 'j'}, {"plot", required_argument, NULL, 's'},
                                            {0}};
    for (int key; (key = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (key) {
        case 'o': a->only = optarg; break;
        case 'r': a->rounds = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'd': a->device = optarg; break;
        case 'p': a->peers = optarg; break;
        case 'j': a->json = optarg; break;
        case 's': a->plot = optarg; break;
        default: return CODE_USAGE;
        }
    }
    if (optind < argc) return message_error(CJ_INVALID_ARGUMENT, "unexpected argument '%s'", argv[optind]);
    if (a->rounds > MEASURE_ROUNDS_MAX)
        return message_error(CJ_INVALID_ARGUMENT, "--rounds is %u; it is at most %d", a->rounds, MEASURE_ROUNDS_MAX);
    return CODE_OK;
}

int main(int argc, char **argv) {
    arguments a = {.device = "gpu"};
    plot      p = {0};
    int       code = parse(argc, argv, &a);
    if (!code && a.plot) code = plot_open(&p, a.plot);
    if (!code) code = run(&a, &p);
    plot_close(&p);
    return code;
}
