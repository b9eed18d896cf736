// SPDX-License-Identifier: Apache-2.0
#include "families.h"

#include <string.h>

#include "message.h"

// Every family's, in the order of `ptxgen list`.
#define WORKLOADS(X)                                                                                              \
    X(reduce)                                                                                                     \
    X(histogram)                                                                                                  \
    X(collective) X(exchange) X(stencil) X(softmax) X(logsoftmax) X(rmsnorm) X(layernorm) X(crossentropy) X(gemm) \
        X(scan) X(topk) X(sort) X(argmax) X(sample) \
        X(allreduce) X(reducescatter) X(allgather) X(alltoall) X(broadcast) X(barrier) \
        X(allreducenorm) X(shardedcrossentropy) X(shardedsoftmax) X(shardedtopk)

#define CJ_X(name) extern const workload_type work_##name;
WORKLOADS(CJ_X)
#undef CJ_X

static const workload_type *const types[] = {
#define CJ_X(name) &work_##name,
    WORKLOADS(CJ_X)
#undef CJ_X
        NULL,
};

extern const workload_type work_whole_reduce, work_whole_histogram, work_whole_gemm;

const workload_type *workload_find_whole(const char *family) {
    static const workload_type *const of_gpus[] = {&work_whole_reduce, &work_whole_histogram, &work_whole_gemm};
    for (size_t i = 0; i < sizeof of_gpus / sizeof *of_gpus; i++)
        if (strcmp(of_gpus[i]->family, family) == 0) return of_gpus[i];
    return NULL;
}

const workload_type *workload_find(const char *family) {
    for (size_t i = 0; types[i]; i++)
        if (strcmp(types[i]->family, family) == 0) return types[i];
    return NULL;
}

int workload_missing(const char *family) {
    return message_error(CJ_UNSUPPORTED, "ptxgen cannot run kernels of family '%s'\n'ptxgen emit %s' writes its PTX",
                         family, family);
}
