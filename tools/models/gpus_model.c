// SPDX-License-Identifier: Apache-2.0
#include "gpus_model.h"

#include <string.h>

enum { MEMORY_MULTICAST = 2 };  // of the words of `memory`

collective_model gpus_model_of(const cj_params *params) {
    static const cj_dtype dtypes[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32, CJ_U16, CJ_U8};
    static const struct {
        const char      *family;
        cj_collective_op op;
    } ops[] = {{"allreduce", CJ_COLLECTIVE_ALLREDUCE},
               {"reducescatter", CJ_COLLECTIVE_REDUCE_SCATTER},
               {"allgather", CJ_COLLECTIVE_ALLGATHER},
               {"alltoall", CJ_COLLECTIVE_ALL_TO_ALL},
               {"broadcast", CJ_COLLECTIVE_BROADCAST}};
    const uint64_t   combine = cj_params_get(params, "combine"), root = cj_params_get(params, "root");
    collective_model m = {.dtype = dtypes[cj_params_get(params, "dtype")],
                          .combine = (cj_combine_op)(combine == UINT64_MAX ? 0 : combine),
                          .root = (uint32_t)(root == UINT64_MAX ? 0 : root),
                          .cluster = (uint32_t)cj_params_get(params, "gpus"),
                          .rounds = 1,
                          .in_order = cj_params_get(params, "memory") == MEMORY_MULTICAST};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        if (strcmp(ops[i].family, cj_family_name(params->family))) continue;
        m.op = ops[i].op;
        m.count = (uint32_t)cj_params_get(params, "count");
    }
    cj_collective_parts(m.op, m.cluster, &m.gives, &m.gets);
    return m;
}
