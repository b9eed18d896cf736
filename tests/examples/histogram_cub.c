// SPDX-License-Identifier: Apache-2.0
// A histogram, and CUB's of the same samples where its library was built (cmake --build BUILD --target bench_peers_library):
//   example_histogram_cub [DEVICE [libbench_peers.so]]
// Both count into their own bins, on the same device, in turn. Without CUB, a loop on the host is the other one.
#include <dlfcn.h>
#include <string.h>

#include "../../tools/bench/peers/peers.h"
#include "example.h"

enum { BINS = 2048, SHIFT = 32 - 11 };

typedef const char *(*run_call)(const peer_problem *, void *, size_t *, const void *, void *, void *);

typedef struct counting {
    cj_device           *device;
    cj_histogram_desc    desc;
    cj_ptr               x, ours, theirs, temporary;
    size_t               bytes;  // of temporary
    run_call             cub;
    peer_problem         problem;
} counting;

static cj_status count_ours(void *user, cj_error *error) {
    counting *c = user;
    return cj_histogram_launch(c->device, &c->desc, c->x, c->ours, NULL, error);
}

static cj_status count_theirs(void *user, cj_error *error) {
    counting   *c = user;
    const char *wrong = c->cub(&c->problem, (void *)(uintptr_t)c->temporary, &c->bytes, (const void *)(uintptr_t)c->x,
                               (void *)(uintptr_t)c->theirs, NULL);
    if (!wrong) return CJ_OK;
    snprintf(error->message, sizeof error->message, "CUB: %s", wrong);
    return error->status = CJ_DRIVER;
}

// The faster of a few runs after a first.
static double time_of(counting *c, cj_status (*count)(void *user, cj_error *error)) {
    cj_error error;
    double   best = 0, ms;
    for (int i = 0; i < 6; i++) {
        must(cj_time(c->device, NULL, count, c, &ms, &error), &error);
        if (i == 1 || ms < best) best = ms;
    }
    return best;
}

static run_call load_cub(const char *path) {
    void    *library = path ? dlopen(path, RTLD_NOW) : NULL, *symbol = library ? dlsym(library, "peers_run") : NULL;
    run_call call = NULL;
    memcpy(&call, &symbol, sizeof call);
    return call;
}

static void count_on_the_host(const uint32_t *x, size_t n, uint32_t *counts) {
    memset(counts, 0, BINS * sizeof *counts);
    for (size_t i = 0; i < n; i++) counts[x[i]]++;
}

int main(int argc, char **argv) {
    static uint32_t ours[BINS], theirs[BINS];
    cj_error        error;
    counting        c = {.device = open_device(argc, argv)};
    const int       gpu = strcmp(cj_device_kind(c.device), "gpu") == 0;
    const size_t    n = gpu ? (size_t)1 << 26 : (size_t)1 << 16;
    uint32_t       *x = malloc(n * sizeof *x), state = 1;
    if (!x) return 1;
    for (size_t i = 0; i < n; i++) x[i] = (state = state * 1664525u + 1013904223u) >> SHIFT;

    c.desc = (cj_histogram_desc){CJ_INIT(cj_histogram_desc), .n = n, .bins = BINS, .dtype = CJ_U32};
    must(cj_mem_alloc(c.device, n * sizeof *x, &c.x, &error), &error);
    must(cj_mem_alloc(c.device, sizeof ours, &c.ours, &error), &error);
    must(cj_mem_alloc(c.device, sizeof theirs, &c.theirs, &error), &error);
    must(cj_mem_write(c.device, c.x, x, n * sizeof *x, NULL, &error), &error);
    printf("%zu samples, %d bins\nours: %.4f ms\n", n, BINS, time_of(&c, count_ours));
    must(cj_mem_read(c.device, ours, c.ours, sizeof ours, NULL, &error), &error);

    c.cub = gpu && argc > 2 ? load_cub(argv[2]) : NULL;
    if (c.cub) {
        c.problem = (peer_problem){.work = PEER_HISTOGRAM, .type = PEER_U32, .n = n, .bins = BINS};
        c.cub(&c.problem, NULL, &c.bytes, NULL, NULL, NULL);
        must(cj_mem_alloc(c.device, c.bytes, &c.temporary, &error), &error);
        printf("CUB:  %.4f ms\n", time_of(&c, count_theirs));
        must(cj_mem_read(c.device, theirs, c.theirs, sizeof theirs, NULL, &error), &error);
    } else {
        count_on_the_host(x, n, theirs);
    }
    const int right = memcmp(ours, theirs, sizeof ours) == 0;
    cj_mem_free(c.device, c.temporary);
    cj_mem_free(c.device, c.theirs);
    cj_mem_free(c.device, c.ours);
    cj_mem_free(c.device, c.x);
    cj_device_close(c.device);
    free(x);
    return verdict(right);
}
