// SPDX-License-Identifier: Apache-2.0
#include "workload.h"

#include <math.h>
#include <string.h>

#include "machine.h"
#include "message.h"

// Every family's, in the order of `ptxgen list`.
#define WORKLOADS(X) X(reduce) X(histogram) X(collective) X(exchange) X(stencil) X(softmax) X(logsoftmax) X(rmsnorm) X(layernorm) X(crossentropy) X(gemm) X(scan) X(topk)

#define CJ_X(name) extern const workload_type work_##name;
WORKLOADS(CJ_X)
#undef CJ_X

static const workload_type *const types[] = {
#define CJ_X(name) &work_##name,
    WORKLOADS(CJ_X)
#undef CJ_X
    NULL,
};

const workload_type *workload_find(const char *family) {
    for (size_t i = 0; types[i]; i++)
        if (strcmp(types[i]->family, family) == 0) return types[i];
    return NULL;
}

int workload_missing(const char *family) {
    return message_error(CJ_UNSUPPORTED, "ptxgen cannot run kernels of family '%s'\n'ptxgen emit %s' writes its PTX", family,
                         family);
}

enum { COPIES_MAX = 4096, L2_TIMES = 3, MEMORY_SHARE = 4 };

unsigned workload_copies(const workload *w, double bytes) {
    const cj_limits *limits = cj_device_limits(w->device);
    if (!w->rotate || !(bytes > 0) || strcmp(cj_device_kind(w->device), "gpu") != 0) return 1;
    double wanted = ceil(L2_TIMES * (double)limits->l2_bytes / bytes) + 1;
    double room = floor((double)limits->global_bytes / MEMORY_SHARE / bytes);
    double copies = fmin(fmin(wanted, room), COPIES_MAX);
    return copies < 1 ? 1 : (unsigned)copies;
}

int workload_fits(const char *names, double bytes) {
    if (bytes < 0x1p62) return CODE_OK;
    return message_error(CJ_INVALID_ARGUMENT,
                         "%s: a buffer of %.3g bytes is larger than any memory\nmake one of them smaller", names, bytes);
}

int workload_plan_check(const workload *w) {
    cj_plan  plan;
    cj_error error;
    return cj_plan_make(&w->params, cj_device_limits(w->device), w->arch, &plan, &error) ? message_failure(&error) : CODE_OK;
}

// A failed launch is shown with the kernel's own lines.
static int launch_failed(const workload *w, const cj_kernel *kernel, cj_status status, const cj_error *error) {
    document ptx = {.name = "(ptxgen emit)"};
    int      code = document_copy(&ptx, cj_kernel_ptx(kernel));
    if (!code) code = machine_report(w->device, &ptx, status, error);
    document_free(&ptx);
    return code;
}

typedef struct timed_launch {
    workload  *w;
    cj_kernel *kernel;
    unsigned   copy;
} timed_launch;

static cj_status launch(void *user, cj_error *error) {
    timed_launch *t = user;
    return t->w->type->launch(t->w, t->kernel, t->copy, NULL, error);
}

int workload_try(workload *w, cj_kernel *kernel, unsigned copy, double *milliseconds, workload_verdict *verdict) {
    timed_launch t = {w, kernel, copy};
    double       unwanted;
    cj_error     error;
    cj_status    status = w->type->poison(w, copy, &error);
    cj_cpu_stats_clear(w->device, NULL);  // where there are any
    if (!status) status = cj_time(w->device, NULL, launch, &t, milliseconds ? milliseconds : &unwanted, &error);
    *verdict = (workload_verdict){0};
    return status ? launch_failed(w, kernel, status, &error) : w->type->check(w, kernel, copy, verdict);
}

int workload_wrong(const workload_verdict *verdict) {
    return message_error(CJ_INVALID_KERNEL, "wrong result: %s", verdict->text);
}
