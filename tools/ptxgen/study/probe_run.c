// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "probe_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "progress.h"

// A kernel that is loaded for one shape, with its memory.
typedef struct subject {
    probe_report       *report;
    const probe_kernel *kernel;
    probe_shape         shape;
    cj_module          *module;
    cj_function        *function;
    uint32_t            ballast;  // unused dynamic shared memory, so that each SM holds one block
    uint32_t            blocks;
    cj_ptr              out, data;
    uint64_t            data_bytes;
} subject;

static cj_status load(subject *s, cj_error *error) {
    cj_device    *device = s->report->device;
    char         *text = NULL;
    size_t        length = 0;
    cj_entry_info info = {CJ_INIT(info)};
    cj_status     status = probe_write(s->kernel, &s->shape, s->report->arch, &text, &length, error);
    if (!status) status = cj_module_from_ptx(device, text, length, &s->module, error);
    if (!status) status = cj_module_function(s->module, s->kernel->name, &s->function, error);
    cj_text_free(text);
    if (status) return status;
    cj_function_info(s->function, &info, NULL);
    uint32_t half = cj_device_limits(device)->shared_per_sm / 2;
    s->ballast = info.static_shared < half ? half - info.static_shared : 0;
    return CJ_OK;
}

// As many blocks as are resident at once, PROBE_BLOCKS_MAX at most; 0 if not even one cluster fits.
static cj_status count_blocks(subject *s, cj_cluster_occupancy *occupancy, cj_error *error) {
    const cj_occupancy_query query = {CJ_INIT(query), .dynamic_shared = s->ballast};
    cj_status                status = cj_function_occupancy(s->function, &query, occupancy, error);
    uint32_t                 size = s->shape.cluster ? s->shape.cluster : 1, most = PROBE_BLOCKS_MAX / size;
    if (!status) s->blocks = size * (occupancy->active_clusters < most ? occupancy->active_clusters : most);
    return status;
}

static cj_status provide(subject *s, cj_error *error) {
    cj_device *device = s->report->device;
    cj_status  status = cj_mem_alloc(device, s->blocks * sizeof(probe_record), &s->out, error);
    s->data_bytes = s->kernel->data_bytes ? s->kernel->data_bytes(&s->shape, s->blocks) : 0;
    if (!status && s->data_bytes) status = cj_mem_alloc(device, s->data_bytes, &s->data, error);
    return status;
}

static void drop(subject *s) {
    cj_mem_free(s->report->device, s->data);
    cj_mem_free(s->report->device, s->out);
    cj_module_unload(s->module);
}

// ---- launches

static cj_status launch(subject *s, uint32_t rounds, uint32_t step, cj_error *error) {
    cj_device             *device = s->report->device;
    uint32_t               size = s->shape.cluster;
    const cj_launch_config config = {CJ_INIT(config),
                                     .function = s->function,
                                     .grid = {s->blocks, 1, 1},
                                     .block = {s->shape.threads, 1, 1},
                                     .cluster = {size, size > 0, size > 0},
                                     .dynamic_shared = s->ballast,
                                     .nonportable = true,
                                     CJ_ARGS(s->out, s->data, rounds, step)};
    size_t                 bytes = s->blocks * sizeof(probe_record);
    cj_status              status = cj_mem_fill(device, s->out, 0, bytes, NULL, error);
    if (!status && s->data_bytes && !s->kernel->keeps)
        status = cj_mem_fill(device, s->data, s->kernel->fill, s->data_bytes, NULL, error);
    if (!status) status = cj_launch(device, &config, error);
    return status ? status : cj_mem_read(device, s->report->record, s->out, bytes, NULL, error);
}

// Checks that the kernel moved all bytes.
static int held(const subject *s, uint32_t rounds, uint32_t step) {
    const probe_launch launched = {.blocks = s->blocks, .rounds = rounds, .step = step};
    uint64_t           check = 0, expected = s->kernel->expect(&s->shape, &launched) & UINT32_MAX;
    for (uint32_t i = 0; i < s->blocks; i++) check += s->report->record[i].check;
    check &= UINT32_MAX;
    if (check == expected) return CODE_OK;
    message_error(CJ_INVALID_KERNEL, "probe kernel %s, cluster %u: its check is %" PRIu64 ", not %" PRIu64,
                  s->kernel->name, s->shape.cluster, check, expected);
    return CODE_WRONG;
}

static int launch_held(subject *s, uint32_t rounds, uint32_t step) {
    cj_error error;
    return launch(s, rounds, step, &error) ? message_failure(&error) : held(s, rounds, step);
}

// Writes the links of a walk through global memory, with a separate kernel.
static int weave(subject *walk) {
    subject w = {.report = walk->report, .kernel = &probe_weave, .shape = {.threads = 256, .bytes = walk->shape.bytes}};
    uint32_t             slots = (uint32_t)(walk->shape.bytes / 128);
    cj_error             error;
    cj_cluster_occupancy occupancy = {CJ_INIT(occupancy)};
    cj_status            status = load(&w, &error);
    if (!status) status = count_blocks(&w, &occupancy, &error);
    if (!status) status = provide(&w, &error);
    cj_ptr own = w.data;
    w.data = walk->data;
    w.data_bytes = 0;  // keeps the data
    int code = status ? message_failure(&error) : launch_held(&w, slots / (w.blocks * w.shape.threads) + 1, 0);
    w.data = own;
    drop(&w);
    return code;
}

// Evicts the L2 cache by writing a larger buffer.
static int evict(cj_device *device) {
    uint64_t  bytes = 4 * cj_device_limits(device)->l2_bytes;
    cj_ptr    memory = 0;
    cj_error  error;
    cj_status status = cj_mem_alloc(device, bytes, &memory, &error);
    if (!status) status = cj_mem_fill(device, memory, 0, bytes, NULL, &error);
    if (!status) status = cj_synchronize(device, NULL, &error);
    cj_mem_free(device, memory);
    return status ? message_failure(&error) : CODE_OK;
}

// Once to warm up, once to measure.
static int launch_twice(subject *s, uint32_t rounds, uint32_t step) {
    bool cold = s->kernel->keeps && s->shape.bytes > cj_device_limits(s->report->device)->l2_bytes;
    int  code = s->kernel == &probe_chase_global ? weave(s) : CODE_OK;
    if (!code) code = launch_held(s, rounds, step);
    if (!code && cold) code = evict(s->report->device);
    return code ? code : launch_held(s, rounds, step);
}

// ---- figures

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

// Medians over the blocks: of their cycles, and of their nanoseconds; and the time from the first start to the last
// end.
typedef struct clocks {
    double cycles, least, most, ns, wall;
} clocks;

static clocks read_clocks(const subject *s) {
    double  *cycles = s->report->cycles, *ns = s->report->ns;
    uint64_t start = UINT64_MAX, end = 0;
    for (uint32_t i = 0; i < s->blocks; i++) {
        const probe_record *r = &s->report->record[i];
        cycles[i] = (double)r->cycles;
        ns[i] = (double)(r->end - r->start);
        if (r->start < start) start = r->start;
        if (r->end > end) end = r->end;
    }
    clocks c = {.cycles = median(cycles, s->blocks), .ns = median(ns, s->blocks), .wall = (double)(end - start)};
    c.least = cycles[0];  // median sorted them
    c.most = cycles[s->blocks - 1];
    return c;
}

static void add_times(probe_result *r, const clocks *c, double each) {
    r->value = c->cycles / each;
    r->beside = c->ns / each;
    if (!(r->least > 0) || c->least / each < r->least) r->least = c->least / each;
    if (c->most / each > r->most) r->most = c->most / each;
}

// Adds one launch's figure to those of other distances.
static int measure_step(subject *s, probe_result *r, uint32_t rounds, uint32_t step) {
    int code = launch_twice(s, rounds, step);
    if (code) return code;
    clocks c = read_clocks(s);
    double each = rounds * s->kernel->work(&s->shape), all = each * s->blocks;
    if (r->figure->unit == PROBE_TIMES) {
        add_times(r, &c, each);
    } else {
        r->value = all / c.wall / (r->figure->unit == PROBE_BYTES ? 1000 : 1);
        r->beside = each / c.cycles * (s->shape.pattern == PROBE_TO_ONE ? s->shape.cluster : 1);
    }
    if (r->figure->each_step) r->by_step[step] = r->value;
    return CODE_OK;
}

static int measure_steps(subject *s, probe_result *r) {
    uint32_t rounds = r->figure->rounds, steps = r->figure->each_step ? s->shape.cluster - 1 : 1;
    if (!rounds)
        rounds = (uint32_t)((double)s->shape.bytes / (s->kernel->work(&s->shape) * s->blocks));  // reads all of it once
    int code = CODE_OK;
    for (uint32_t step = 1; !code && step <= steps; step++) code = measure_step(s, r, rounds, step);
    if (code || !r->figure->each_step) return code;
    double medians[PROBE_LARGEST];
    memcpy(medians, r->by_step + 1, steps * sizeof *medians);
    double ns_a_cycle = r->beside / r->value;
    r->value = median(medians, steps);
    r->beside = r->value * ns_a_cycle;
    return CODE_OK;
}

static int leave_out(const probe_figure *figure, uint32_t room) {
    char text[160];
    snprintf(text, sizeof text, "%s: left out, since a block has %" PRIu32 " KiB of shared memory here", figure->name,
             room / 1024);
    message_note(text);
    return CODE_OK;
}

// index: of the size among PROBE_SIZES.
static int measure_figure(probe_report *report, const probe_figure *figure, uint32_t cluster, unsigned index) {
    subject              s = {.report = report, .kernel = figure->kernel, .shape = figure->shape};
    probe_result        *r = &report->result[report->count];
    cj_cluster_occupancy occupancy = {CJ_INIT(occupancy)};
    cj_error             error;
    const uint32_t       room = cj_device_limits(report->device)->shared_per_block_optin;
    s.shape.cluster = cluster;
    if (!probe_fit(figure->kernel, &s.shape, room)) return leave_out(figure, room);
    *r = (probe_result){.figure = figure, .cluster = cluster, .before = figure->before[index]};
    cj_status status = load(&s, &error);
    if (!status) status = count_blocks(&s, &occupancy, &error);
    if (!status && s.blocks) status = provide(&s, &error);
    int code = status ? message_failure(&error) : CODE_OK;
    if (!code && s.blocks) {
        code = measure_steps(&s, r);
        r->blocks = s.blocks;
        report->count++;
        if (cluster && figure->kernel == &probe_stream) report->occupancy[index] = occupancy;
    }
    drop(&s);
    return code;
}

// ---- all of them

static int measure_sizes(probe_report *report, const probe_figure *figure) {
    if (!figure->sizes) return measure_figure(report, figure, 0, 0);
    int code = CODE_OK;
    for (unsigned index = 0; !code && index < PROBE_SIZES; index++) {
        uint32_t size = 1u << index;
        if (figure->sizes & size && size <= cj_device_limits(report->device)->max_cluster)
            code = measure_figure(report, figure, size, index);
    }
    return code;
}

// Finds the largest cluster size that the device can place.
static void find_largest(probe_report *report) {
    for (unsigned index = 0; index < PROBE_SIZES; index++)
        if (report->occupancy[index].active_clusters) report->largest = 1u << index;
}

int probe_run(probe_report *report) {
    int code = CODE_OK;
    for (size_t i = 0; !code && i < probe_figure_count; i++) {
        progress_show("probing: figure", i, probe_figure_count);
        code = measure_sizes(report, &probe_figures[i]);
    }
    progress_clear();
    find_largest(report);
    return code;
}

const probe_result *probe_find(const probe_report *report, const probe_kernel *kernel, probe_op op,
                               probe_pattern pattern, uint32_t cluster) {
    for (size_t i = 0; i < report->count; i++) {
        const probe_result *r = &report->result[i];
        if (r->figure->kernel == kernel && r->figure->shape.op == op && r->figure->shape.pattern == pattern &&
            r->cluster == cluster)
            return r;
    }
    return NULL;
}
