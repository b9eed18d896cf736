// SPDX-License-Identifier: Apache-2.0
#include "race.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"
#include "results.h"

enum { COPIES_MAX = 4096, L2_TIMES = 3, ALIGNMENT = 256, REFERENCE_BLOCK = 256, REFERENCE_BLOCKS_PER_SM = 8, CYCLES_BYTES = 4096 };

// What a family's kernels take, in order: x the input, o the output, n the number of elements, c room for
// cycles, f the flags after the input, i the indices after the values.
static const struct {
    const char *name, *arguments;
    bool        adds;
} families[] = {{"reduce", "xon", false}, {"histogram", "xon", true}, {"stencil", "xo", false},
             {"exchange", "xo", false}, {"collective", "xoc", false},
             {"scan", "xo", false}, {"topk", "xoi", false}, {"sort", "xoi", false}};

static size_t type_bytes(peer_type type) { return type == PEER_F64 ? 8 : type == PEER_BF16 ? 2 : 4; }

double race_bytes_read(const contest *row) {
    const peer_work work = row->problem.work;
    return work <= PEER_HISTOGRAM || work == PEER_TOPK ? (double)row->problem.n * (double)type_bytes(row->problem.type) : 0;
}

static size_t input_bytes(const peer_problem *p) {
    return (size_t)p->n * (type_bytes(p->type) + (p->work == PEER_SCAN_FLAGS ? 1 : 0));
}

double race_bytes_copied(const contest *row) {
    const peer_work work = row->problem.work;
    const bool      scans = work == PEER_SCAN || work == PEER_SCAN_ROWS || work == PEER_SCAN_FLAGS;
    if (!scans && (work < PEER_SORT || work > PEER_SORT_RADIX)) return 0;
    return (double)input_bytes(&row->problem) + (double)result_bytes(&row->problem);
}

static size_t aligned(size_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

static void *as_pointer(cj_ptr address) { return (void *)(uintptr_t)address; }

static cj_status failed(cj_error *error, cj_status status, const char *what, const char *words) {
    *error = (cj_error){.status = status};
    snprintf(error->message, sizeof error->message, "%s: %s", what, words);
    return status;
}

// ---- buffers

static cj_status allocate(race *r, cj_error *error) {
    const cj_limits *limits = cj_device_limits(r->device);
    r->in_bytes = aligned(input_bytes(&r->row->problem));
    r->out_bytes = aligned(result_bytes(&r->row->problem));
    double wanted = r->row->rotate ? ceil(L2_TIMES * (double)limits->l2_bytes / (double)r->in_bytes) + 1 : 1;
    r->copies = wanted < COPIES_MAX ? (unsigned)wanted : COPIES_MAX;
    cj_status status = cj_mem_alloc(r->device, r->in_bytes * r->copies, &r->in, error);
    for (int side = 0; !status && side < SIDES; side++)
        status = cj_mem_alloc(r->device, r->out_bytes * r->copies, &r->out[side], error);
    if (!status) status = cj_mem_alloc(r->device, CYCLES_BYTES, &r->cycles, error);
    for (unsigned i = 0; !status && i < r->copies; i++) {
        const char *words = r->peers->fill(&r->row->problem, as_pointer(r->in + i * r->in_bytes));
        if (words) status = failed(error, CJ_DRIVER, "making up the input", words);
    }
    return status;
}

// ---- kernels of ours

static cj_status set_params(cj_params *params, const char *text, cj_error *error) {
    char      words[256];
    cj_status status = CJ_OK;
    snprintf(words, sizeof words, "%s", text);
    for (char *name = strtok(words, " "); !status && name; name = strtok(NULL, " ")) {
        char *value = strchr(name, '=');
        *value = '\0';
        status = cj_params_set(params, name, value + 1, error);
    }
    return status;
}

static cj_status make_kernel(race *r, int side, const char *text, cj_error *error) {
    const cj_family *family;
    cj_params        params;
    cj_status        status = cj_family_find(r->row->family, &family, error);
    if (status) return status;
    cj_params_init(&params, family);
    status = set_params(&params, text, error);
    return status ? status : cj_kernel_create(r->device, &params, &r->kernel[side], error);
}

static cj_status launch_kernel(race *r, int side, unsigned copy, cj_stream stream, cj_error *error) {
    cj_ptr    in = r->in + copy * r->in_bytes, out = r->out[side] + copy * r->out_bytes;
    uint64_t  n = r->row->problem.n;
    cj_ptr    flags = in + n * type_bytes(r->row->problem.type), indices = out + result_bytes(&r->row->problem) / 2;
    void     *of[] = {['x'] = &in, ['o'] = &out, ['n'] = &n, ['c'] = &r->cycles, ['f'] = &flags, ['i'] = &indices},
         *argument[4];
    uint32_t  count = 0;
    cj_status status = CJ_OK;
    for (const char *a = r->arguments; *a; a++) argument[count++] = of[(unsigned char)*a];
    if (r->adds) status = cj_mem_fill(r->device, out, 0, result_bytes(&r->row->problem), stream, error);
    return status ? status : cj_kernel_launch(r->kernel[side], stream, argument, count, error);
}

static cj_status launch_ours(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    return launch_kernel(user, OURS, copy, stream, error);
}

static cj_status open_ours(race *r, cj_error *error) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(families[i].name, r->row->family) != 0) continue;
        r->arguments = families[i].arguments;
        r->adds = families[i].adds;
    }
    if (r->row->problem.work == PEER_SCAN_FLAGS) r->arguments = "xof";
    r->sides[OURS].launch = launch_ours;
    return make_kernel(r, OURS, r->row->params, error);
}

// ---- the peer: the shared object's, CUDA C++ through NVRTC, or another kernel of ours

static cj_status launch_library(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    race       *r = user;
    const char *words = r->peers->run(&r->row->problem, as_pointer(r->temporary), &r->temporary_bytes,
                                      as_pointer(r->in + copy * r->in_bytes), as_pointer(r->out[PEER] + copy * r->out_bytes), stream);
    return words ? failed(error, CJ_DRIVER, r->row->peer, words) : CJ_OK;
}

static cj_status open_library(race *r, cj_error *error) {
    const char *words = r->peers->run(&r->row->problem, NULL, &r->temporary_bytes, as_pointer(r->in), as_pointer(r->out[PEER]), NULL);
    if (words) return failed(error, CJ_DRIVER, r->row->peer, words);
    r->sides[PEER].launch = launch_library;
    cj_status status = cj_mem_alloc(r->device, r->temporary_bytes + 1, &r->temporary, error);
    if (status) return status;
    words = r->peers->prepare(&r->row->problem, as_pointer(r->temporary));
    return words ? failed(error, CJ_DRIVER, r->row->peer, words) : CJ_OK;
}

static cj_status launch_reference(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    race            *r = user;
    cj_ptr           in = r->in + copy * r->in_bytes, out = r->out[PEER] + copy * r->out_bytes;
    uint64_t         n = r->row->problem.n;
    void            *argument[] = {&in, &out, &n, &r->temporary};
    cj_launch_config config = r->reference;
    config.arguments = argument;
    config.argument_count = 4;
    config.stream = stream;
    return cj_launch(r->device, &config, error);
}

static cj_status open_reference(race *r, cj_error *error) {
    const cj_limits *limits = cj_device_limits(r->device);
    uint32_t         cluster = (uint32_t)strtoul(r->row->reference, NULL, 10), unit = cluster ? cluster : 1;
    uint64_t         wanted = (r->row->problem.n + REFERENCE_BLOCK - 1) / REFERENCE_BLOCK;
    uint64_t         most = (uint64_t)limits->sm_count * REFERENCE_BLOCKS_PER_SM;
    uint32_t         blocks = (uint32_t)(wanted < most ? wanted : most) / unit * unit;
    char            *ptx = NULL;
    r->temporary_bytes = 16 + 8 * (size_t)blocks;
    r->reference = (cj_launch_config){CJ_INIT(cj_launch_config), .grid = {blocks, 1, 1},
                                      .block = {REFERENCE_BLOCK, 1, 1}};
    if (cluster) r->reference.cluster = (cj_dim3){cluster, 1, 1};
    r->sides[PEER].launch = launch_reference;
    cj_status status = cj__reference_compile("reduce", cj_limits_arch(limits), CJ_F32, "a + b", "0", cluster, &ptx, error);
    if (!status) status = cj_module_from_ptx(r->device, ptx, strlen(ptx), &r->module, error);
    if (!status) status = cj_module_function(r->module, "reduce_reference", &r->reference.function, error);
    if (!status) status = cj_mem_alloc(r->device, r->temporary_bytes, &r->temporary, error);
    if (!status) status = cj_mem_fill(r->device, r->temporary, 0, r->temporary_bytes, NULL, error);
    free(ptx);
    return status;
}

static cj_status launch_other(void *user, unsigned copy, cj_stream stream, cj_error *error) {
    return launch_kernel(user, PEER, copy, stream, error);
}

static cj_status open_peer(race *r, cj_error *error) {
    if (r->row->reference) return open_reference(r, error);
    if (!r->row->peer_params) return open_library(r, error);
    r->sides[PEER].launch = launch_other;
    return make_kernel(r, PEER, r->row->peer_params, error);
}

// ---- running

static cj_status poison(race *r, cj_error *error) {
    cj_status status = CJ_OK;
    for (int side = 0; !status && side < SIDES; side++)
        status = cj_mem_fill(r->device, r->out[side], 0xff, r->out_bytes * r->copies, NULL, error);
    return status ? status : cj_synchronize(r->device, NULL, error);
}

static cj_status launch_all(race *r, cj_error *error) {
    cj_status status = poison(r, error);
    for (int side = 0; !status && side < SIDES; side++)
        for (unsigned i = 0; !status && i < r->copies; i++) status = r->sides[side].launch(r, i, NULL, error);
    return status ? status : cj_synchronize(r->device, NULL, error);
}

static cj_status compare(race *r, cj_error *error) {
    size_t    bytes = r->out_bytes * r->copies;
    char     *ours = malloc(bytes), *peer = malloc(bytes);
    cj_status status = ours && peer ? CJ_OK : failed(error, CJ_OUT_OF_MEMORY, "comparing", "no host memory");
    if (!status) status = cj_mem_read(r->device, ours, r->out[OURS], bytes, NULL, error);
    if (!status) status = cj_mem_read(r->device, peer, r->out[PEER], bytes, NULL, error);
    for (unsigned i = 0; !status && r->equal && i < r->copies; i++)
        r->equal = result_equal(&r->row->problem, ours + i * r->out_bytes, peer + i * r->out_bytes,
                                r->wrong, sizeof r->wrong);
    free(ours);
    free(peer);
    return status;
}

cj_status race_run(race *r, const contest *row, cj_device *device, const peer_library *peers, unsigned rounds, cj_error *error) {
    *r = (race){.row = row, .device = device, .peers = peers, .equal = true};
    cj_status status = allocate(r, error);
    if (!status) status = open_ours(r, error);
    if (!status) status = open_peer(r, error);
    for (int side = 0; side < SIDES; side++) {
        r->sides[side].user = r;
        r->sides[side].copies = r->copies;
    }
    r->sides[PEER].waits = row->waits;
    if (!status) status = launch_all(r, error);
    if (!status) status = compare(r, error);
    if (!status) status = poison(r, error);
    if (!status) status = measure(device, r->sides, SIDES, rounds, error);
    if (!status) status = compare(r, error);
    return status;
}

void race_close(race *r) {
    for (int side = 0; side < SIDES; side++) {
        cj_kernel_destroy(r->kernel[side]);
        cj_mem_free(r->device, r->out[side]);
    }
    cj_module_unload(r->module);
    cj_mem_free(r->device, r->in);
    cj_mem_free(r->device, r->temporary);
    cj_mem_free(r->device, r->cycles);
}
