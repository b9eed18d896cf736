// SPDX-License-Identifier: Apache-2.0
// Every synchronizing instruction of the collectives of GPUs is needed, and the CPU device sees that it is missing (mutation.h).
// All ranks are on one device, so that a mutant is loaded once; the arrays of multicast are on a device each.
#include <clusterjit/clusterjit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emit.h"
#include "mutation.h"

enum { SEEDS = 20, SHARE = 2, RANK_BYTES = 1024, BOX_BYTES = 16384 + 32768, TIMES = 3, LIMIT = 20000 };

static const char *const kernels[] = {
    "allreduce gpus=3 count=70 shots=1 block=32 grid=2 mail=2048",
    "allreduce gpus=2 count=64 shots=2 block=64 mail=2048 dtype=bf16",
    "allreduce gpus=3 count=70 tags=blocks block=32 grid=1 mail=2048",
    "allreduce gpus=2 count=128 tags=blocks block=32 mail=2048 dtype=bf16",
    "reducescatter gpus=2 count=33 block=64 mail=2048 dtype=f16",
    "alltoall gpus=3 count=20 block=64 mail=2048",
    "broadcast gpus=3 count=20 block=64 mail=2048 root=1",
    "allreduce gpus=3 count=70 block=32 grid=1 mail=2048 memory=registered",
    "reducescatter gpus=2 count=40 block=64 grid=1 mail=2048 dtype=f16 memory=registered",
    "allgather gpus=2 count=250 dtype=f16 block=32 grid=1 mail=2048 memory=registered",
    "alltoall gpus=3 count=20 block=64 grid=1 mail=2048 memory=registered",
    "broadcast gpus=2 count=21 block=64 grid=1 mail=2048 root=1 dtype=bf16 memory=registered",
    "allreduce gpus=3 count=72 block=32 grid=1 mail=2048 memory=multicast",
    "reducescatter gpus=2 count=40 block=64 grid=1 mail=2048 dtype=f16 memory=multicast",
};

typedef struct kernel {
    cj_params params;
    cj_plan   plan;
    char     *ptx;
} kernel;

static bool is_direct(const kernel *k) { return strstr(k->ptx, ".param .u64 arrays") != NULL; }

static bool is_multicast(const kernel *k) { return strstr(k->ptx, "multimem.") != NULL; }

typedef struct memory {
    cj_ptr            x[CJ_GPUS_MAX], out[CJ_GPUS_MAX], box[CJ_GPUS_MAX];
    cj_cpu_multicast *all_x, *all_out;  // of a kernel of multicast
    cj_ptr            x_of_all, out_of_all;
} memory;

static cj_device *member[CJ_GPUS_MAX];  // [0]: cj_test_device; the others are opened for the first kernel of multicast

static cj_status open_members(uint32_t gpus, cj_error *error) {
    const cj_device_options options = {CJ_INIT(options), .spec = "cpu"};
    member[0] = cj_test_device;
    for (uint32_t r = 1; r < gpus; r++) {
        const cj_status status = member[r] ? CJ_OK : cj_device_open(&options, &member[r], error);
        if (status) return status;
    }
    return CJ_OK;
}

static cj_status open_team(uint32_t gpus, const cj_ptr *array, cj_cpu_multicast **team, cj_ptr *address, cj_error *error) {
    cj_status status = cj_cpu_multicast_create(member, gpus, RANK_BYTES, 0, team, error);
    for (uint32_t r = 0; r < gpus && !status; r++) {
        status = cj_cpu_multicast_bind(*team, r, 0, array[r], RANK_BYTES, error);
        if (!status) status = cj_cpu_multicast_map(*team, r, address, error);
    }
    return status;
}

static cj_status open_memory(const kernel *k, memory *m, uint32_t gpus, cj_error *error) {
    float     x[RANK_BYTES / 4];
    cj_status opened = is_multicast(k) ? open_members(gpus, error) : CJ_OK;
    if (opened) return opened;
    for (size_t i = 0; i < CJ_TEST_COUNT(x); i++) x[i] = (float)(i % 13);
    for (uint32_t r = 0; r < gpus; r++) {
        cj_device *device = is_multicast(k) ? member[r] : cj_test_device;
        x[r] += 1.5f;
        cj_status status = cj_mem_alloc(device, RANK_BYTES, &m->x[r], error);
        if (!status) status = cj_mem_alloc(device, RANK_BYTES, &m->out[r], error);
        if (!status) status = cj_mem_alloc(cj_test_device, BOX_BYTES, &m->box[r], error);
        if (!status) status = cj_mem_write(device, m->x[r], x, RANK_BYTES, NULL, error);
        if (!status) status = cj_mem_fill(device, m->out[r], 0xa5, RANK_BYTES, NULL, error);
        if (!status) status = cj_mem_fill(cj_test_device, m->box[r], 0, BOX_BYTES, NULL, error);
        if (status) return status;
    }
    if (is_multicast(k)) opened = open_team(gpus, m->x, &m->all_x, &m->x_of_all, error);
    return opened || !is_multicast(k) ? opened : open_team(gpus, m->out, &m->all_out, &m->out_of_all, error);
}

static void close_memory(const kernel *k, memory *m, uint32_t gpus) {
    cj_cpu_multicast_destroy(m->all_x);
    cj_cpu_multicast_destroy(m->all_out);
    for (uint32_t r = 0; r < gpus; r++) {
        cj_device *device = is_multicast(k) ? member[r] : cj_test_device;
        cj_mem_free(device, m->x[r]);
        cj_mem_free(device, m->out[r]);
        cj_mem_free(cj_test_device, m->box[r]);
    }
}

// x is a multicast address; out is one of all-reduce; then come the rank's own arrays, for what `surround` adds.
static uint32_t add_multicast(const kernel *k, memory *m, uint32_t rank, void **arguments) {
    arguments[0] = &m->x_of_all;
    arguments[1] = strstr(k->ptx, "// out of all") ? &m->out_of_all : &m->out[rank];
    arguments[2] = &m->x[rank];
    arguments[3] = &m->out[rank];
    return 4;
}

static uint32_t add_arrays(const kernel *k, const char *of_all, cj_ptr *array, uint32_t rank, uint32_t gpus, void **arguments) {
    if (!strstr(k->ptx, of_all)) {
        arguments[0] = &array[rank];
        return 1;
    }
    for (uint32_t q = 0; q < gpus; q++) arguments[q] = &array[q];
    return gpus;
}

static cj_status launch(const kernel *k, cj_function *function, memory *m, uint32_t gpus, cj_error *error) {
    cj_launch_config        config[CJ_GPUS_MAX];
    const cj_launch_config *list[CJ_GPUS_MAX];
    void                   *arguments[CJ_GPUS_MAX][3 * CJ_GPUS_MAX + 6];
    uint64_t                rank[CJ_GPUS_MAX], limit = LIMIT, workspace = 0, arrays = 5;
    for (uint32_t r = 0; r < gpus; r++) {
        uint32_t n = 0;
        rank[r] = r;
        if (is_multicast(k)) {
            n += add_multicast(k, m, r, arguments[r]);
        } else {
            n += add_arrays(k, " x_0", m->x, r, gpus, arguments[r] + n);
            n += add_arrays(k, " out_0", m->out, r, gpus, arguments[r] + n);
        }
        if (is_direct(k)) arguments[r][n++] = &arrays;
        for (uint32_t q = 0; q < gpus; q++) arguments[r][n++] = &m->box[q];
        arguments[r][n++] = &rank[r];
        arguments[r][n++] = &limit;
        arguments[r][n++] = &workspace;
        config[r] = (cj_launch_config){CJ_INIT(config[r]), .function = function, .grid = k->plan.grid, .block = k->plan.block,
                                       .arguments = arguments[r], .argument_count = n};
        list[r] = &config[r];
    }
    return cj_launch_together(list, gpus, error);
}

// Launches it several times on the same boxes; all outputs go to `out`, and what each box says of failures.
static cj_status run(const cj_specimen *specimen, cj_function *function, void *out, cj_error *error) {
    const kernel  *k = specimen->user;
    const uint32_t gpus = (uint32_t)cj_params_get(&k->params, "gpus");
    memory         m = {.x = {0}};
    unsigned char *to = out;
    cj_status      status = open_memory(k, &m, gpus, error);
    memset(out, 0, specimen->bytes);
    for (unsigned time = 0; time < TIMES && !status; time++) status = launch(k, function, &m, gpus, error);
    for (uint32_t r = 0; r < gpus && !status; r++, to += RANK_BYTES + 4) {
        status = cj_mem_read(is_multicast(k) ? member[r] : cj_test_device, to, m.out[r], RANK_BYTES, NULL, error);
        if (!status) status = cj_mem_read(cj_test_device, to + RANK_BYTES, m.box[r], 4, NULL, error);
    }
    close_memory(k, &m, gpus);
    return status;
}

// ---- what comes before and after a launch of registered memory on its stream
//
// Launches of this test wait for each other, so each plays it: before, each thread of the only block reads out and writes x of its
// GPU, 16 bytes; after it, it does so again. A flag or a fence that is missing is then a race between GPUs.

#define AGAIN "ld.global.v4.u32 {%own_0, %own_1, %own_2, %own_3}, [%own_out];\nst.global.v4.u32 [%own_x], {%own_4, %own_5, %own_6, %own_7};\n"

static void point_to(char *text, size_t size, const char *ptx, const char *name, uint32_t gpus) {
    char of_all[16];
    if (strstr(ptx, "own_x_at")) {
        snprintf(text, size, "ld.param.u64 %%own_%s, [own_%s_at];\nmad.wide.u32 %%own_%s, %%own_thread, 16, %%own_%s;\n", name, name, name, name);
        return;
    }
    snprintf(of_all, sizeof of_all, ".u64 %s_0", name);
    const bool all = strstr(ptx, of_all) != NULL;
    size_t     at = (size_t)snprintf(text, size, "ld.param.u64 %%own_%s, [%s%s];\n", name, name, all ? "_0" : "");
    for (uint32_t q = 1; q < gpus && all; q++)
        at += (size_t)snprintf(text + at, size - at, "setp.eq.u32 %%own_p, %%own_rank, %u;\n@%%own_p ld.param.u64 %%own_%s, [%s_%u];\n", q,
                               name, name, q);
    snprintf(text + at, size - at, "mad.wide.u32 %%own_%s, %%own_thread, 16, %%own_%s;\n", name, name);
}

// Kernels of multicast are given their rank's own arrays besides.
static char *with_own_arrays(const char *ptx) {
    static const char before[] = "    .param .u64 arrays";
    const char       *at = strstr(ptx, before);
    char             *made = malloc(strlen(ptx) + 256);
    assert_true(at && made);
    snprintf(made, strlen(ptx) + 256, "%.*s    .param .u64 own_x_at,\n    .param .u64 own_out_at,\n%s", (int)(at - ptx), ptx, at);
    return made;
}

static char *surround(const char *ptx, uint32_t gpus) {
    static const char begins[] = "    mov.u32                    %thread, %tid.x;", ends[] = "    ret;";
    char              x[512], out[512];
    const char       *first = strstr(ptx, begins), *last = strstr(ptx, ends);
    char             *made = malloc(strlen(ptx) + 4096);
    assert_true(first && last && made);
    point_to(x, sizeof x, ptx, "x", gpus);
    point_to(out, sizeof out, ptx, "out", gpus);
    snprintf(made, strlen(ptx) + 4096,
             "%.*s.reg .u64 %%own_x, %%own_out;\n.reg .u32 %%own_<8>, %%own_thread, %%own_rank;\n.reg .pred %%own_p;\n"
             "ld.param.u32 %%own_rank, [rank];\nmov.u32 %%own_thread, %%tid.x;\n%s%s"
             "ld.global.v4.u32 {%%own_4, %%own_5, %%own_6, %%own_7}, [%%own_x];\n%sbarrier.sync 0;\n%.*sbarrier.sync 0;\n%s%s",
             (int)(first - ptx), ptx, x, out, AGAIN, (int)(last - first), first, AGAIN, last);
    return made;
}

// B2 is for the next launch, whose blocks begin after this one's have ended here.
static bool can_miss(const cj_specimen *specimen, const char *line, size_t length) {
    (void)specimen;
    (void)length;
    const char *reason = strstr(line, "// B2");
    return !reason || reason > strchr(line, '\n');
}

static cj_specimen open_specimen(const char *words) {
    static kernel k;  // one specimen is open at a time
    cj_error      error = {0};
    char          family[24];
    snprintf(family, sizeof family, "%.*s", (int)strcspn(words, " "), words);
    cj_test_ok(cj_test_params(family, words + strlen(family) + 1, &k.params, &error), &error);
    cj_test_ok(cj_plan_make(&k.params, cj_device_limits(cj_test_device), NULL, &k.plan, &error), &error);
    cj_test_ok(cj_plan_emit(&k.plan, &k.ptx, NULL, &error), &error);
    if (is_direct(&k)) {
        char *own = is_multicast(&k) ? with_own_arrays(k.ptx) : NULL;
        char *made = surround(own ? own : k.ptx, (uint32_t)cj_params_get(&k.params, "gpus"));
        free(own);
        cj_text_free(k.ptx);
        k.ptx = made;
    }
    return (cj_specimen){.words = words, .ptx = k.ptx, .entry = k.plan.entry, .bytes = CJ_GPUS_MAX * (RANK_BYTES + 4),
                         .run = run, .can_miss = can_miss, .user = &k};
}

static void close_specimen(const cj_specimen *specimen) {
    kernel *k = specimen->user;
    if (is_direct(k))
        free(k->ptx);
    else
        cj_text_free(k->ptx);
}

static const cj_specimens specimens = {
    .words = kernels, .count = CJ_TEST_COUNT(kernels), .share = SHARE, .open = open_specimen, .close = close_specimen};

int main(void) { return cj_mutation_main(&specimens, cj_test_few() ? SEEDS / SHARE : SEEDS); }
