// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

// This process is one rank; its peers are other processes.
static int join(const workload *w, ranks *r, const cj_gpus_options *options) {
    cj_error error;
    uint32_t size, on_node;
    if (cj_gpus_env(&r->first, &size, &on_node, &error)) return message_failure(&error);
    r->local = 1;
    return cj_gpus_create_env(w->device, options, &r->gpus, &error) ? message_failure(&error) : CODE_OK;
}

int ranks_open(const workload *w, uint32_t count, ranks *r) {
    const bool            is_cpu = !strcmp(cj_device_kind(w->device), "cpu");
    const uint64_t        mail = cj_params_get(&w->params, "mail");
    const cj_gpus_options options = {CJ_INIT(options), .mail_bytes = mail == UINT64_MAX ? 0 : mail,
                                           .multicast = workload_has_word(w, "memory", "multicast")};
    cj_error              error;
    *r = (ranks){.count = count, .local = count, .device = {w->device}};
    if (w->ranks) return join(w, r, &options);
    for (uint32_t i = 1; i < count; i++) {
        char spec[16];
        snprintf(spec, sizeof spec, "gpu:%" PRIu32, i);
        const cj_device_options one = {CJ_INIT(one), .spec = is_cpu ? "cpu" : spec};
        if (cj_device_open(&one, &r->device[i], &error)) return message_failure(&error);
    }
    return cj_gpus_create(r->device, count, &options, &r->gpus, &error) ? message_failure(&error) : CODE_OK;
}

static void close_kernels(ranks *r) {
    for (uint32_t i = 1; i < CJ_GPUS_MAX; i++) cj_kernel_destroy(r->kernel[i]);
    memset(r->kernel, 0, sizeof r->kernel);
}

void ranks_close(ranks *r) {
    close_kernels(r);
    cj_gpus_destroy(r->gpus);
    for (uint32_t i = 1; i < CJ_GPUS_MAX; i++) cj_device_close(r->device[i]);
}

cj_status ranks_load(ranks *r, cj_kernel *kernel, cj_error *error) {
    const cj_plan *plan = cj_kernel_plan(kernel);
    if (r->kernel[0] == kernel && !memcmp(&r->plan, plan, sizeof *plan)) return CJ_OK;
    close_kernels(r);
    for (uint32_t i = 1; i < r->local; i++) {
        const cj_status status = cj_kernel_load(r->device[i], plan, &r->kernel[i], error);
        if (status) return status;
    }
    r->kernel[0] = kernel;
    r->plan = *plan;
    return CJ_OK;
}
