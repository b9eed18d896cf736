// SPDX-License-Identifier: Apache-2.0
// Kernels of families that do without clusters, for targets that have none or less shared memory: they are planned to
// fit, use no instruction that is younger, and assemble.
#include <clusterjit/ptx.h>
#include <stdio.h>

#include "emit.h"
#include "test.h"

typedef struct kernel {
    const char *family, *params;
} kernel;

static const kernel kernels[] = {
    {"reduce", "n=2^24"},
    {"reduce", "n=2^24 dtype=i32"},
    {"reduce", "n=2^20 dtype=u32 op=max"},
    {"reduce", "n=2^20 dtype=f16 op=argmin"},
    {"histogram", "n=2^24 bins=2^12"},
    {"histogram", "n=1945 bins=2^18 dtype=f32 result=set"},
    {"histogram", "n=100000 bins=2^18 dtype=u16 counts=u64 memory=global"},
    {"stencil", "nx=1000 ny=1000 steps=5"},
    {"exchange", "pattern=ring n=1000 cluster=4"},
    {"allreduce", "gpus=8 count=10000 dtype=f16"},
    {"allreduce", "gpus=8 count=1001 dtype=f16 shots=2"},
    {"reducescatter", "gpus=4 count=1000 combine=max dtype=i32"},
    {"allgather", "gpus=3 count=77"},
    {"allreduce", "gpus=8 count=10000 dtype=f16 memory=registered"},
    {"allreduce", "gpus=8 count=1001 dtype=f16 memory=registered combine=max"},
    {"alltoall", "gpus=8 count=4096 memory=registered"},
    {"broadcast", "gpus=5 count=77 dtype=f16 memory=registered root=3"},
    {"reducescatter", "gpus=8 count=512 dtype=i32 memory=registered"},
    {"alltoall", "gpus=8 count=1000"},
    {"broadcast", "gpus=8 count=1000 root=7"},
    {"barrier", "gpus=8"},
    {"shardedcrossentropy", "gpus=8 columns=16384 dtype=f16 gradient=yes"},
    {"shardedcrossentropy", "gpus=4 columns=70000 dtype=f32 gradient=yes smoothing=0.1"},
    {"shardedsoftmax", "gpus=2 columns=1001 dtype=f16"},
    {"shardedtopk", "gpus=8 k=300 dtype=f16 order=smallest"},
    {"shardedtopk", "gpus=2 k=1 dtype=f32 index=u32"},
    {"allreducenorm", "gpus=8 rows=3 columns=4096 dtype=f16"},
    {"allreducenorm", "gpus=3 rows=3 columns=77 dtype=f32 norm=layer shots=2"},
    {"softmax", "rows=4000 columns=500"},
    {"logsoftmax", "rows=2^20 columns=14 out-stride=61"},
    {"softmax", "rows=2^20 columns=77 dtype=f16 out-stride=141"},
    {"logsoftmax", "rows=2^20 columns=229 stride=237 pass=backward"},
    {"layernorm", "rows=2^20 columns=128 bias=yes residual=yes"},
    {"crossentropy", "rows=2^20 columns=30 dtype=f16 gradient=yes smoothing=0.1"},
    {"softmax", "rows=3 columns=300000"},
    {"rmsnorm", "rows=100 columns=8192 residual=yes"},
    {"layernorm", "rows=2 columns=2^20"},
    {"crossentropy", "rows=3 columns=200000 gradient=yes"},
    {"scan", "columns=2^24"},
    {"scan", "rows=4096 columns=65536 heads=flags"},
    {"topk", "rows=200 columns=65536"},
    {"topk", "rows=1 columns=21245767 k=2 dtype=f16"},
    {"topk", "rows=2 columns=10000000 k=2048"},
    {"topk", "rows=10000 columns=256 k=200"},
    {"topk", "rows=35475 columns=5057 k=1024 dtype=i32"},
    {"topk", "rows=200 columns=20000 k=2048 form=radix dtype=f16 result=any"},
    {"topk", "rows=2 columns=65536 k=2048 dtype=bf16"},
    {"topk", "rows=200 columns=65536 k=2048 result=any order=smallest"},
    {"sort", "rows=20000 columns=100"},
    {"sort", "rows=200 columns=8192 dtype=bf16 order=descending"},
    {"argmax", "rows=200 columns=65536"},
    {"argmax", "rows=20000 columns=20 dtype=f16 align=2"},
    {"argmax", "rows=200 columns=65536 dtype=bf16"},
    {"sample", "rows=200 columns=65536 top-k=50 top-p=0.9 min-p=0.1 presence=1 mask=yes dtype=bf16"},
    {"sample", "rows=200 columns=65536 top-p=0.9 dtype=bf16"},
    {"sample", "rows=2 columns=65536 top-k=50 log-probability=yes top=20 dtype=bf16"},
    {"sample", "rows=200 columns=65536 top-p=0.9 distribution=yes draft=yes top=5 log-probability=yes"},
};

static const char *const targets[] = {"sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_120"};

static void kernels_fit_and_assemble_for_every_older_or_smaller_target(void **state) {
    (void)state;
    for (size_t t = 0; t < CJ_TEST_COUNT(targets); t++)
        for (size_t i = t ? t % 2 : 0; i < CJ_TEST_COUNT(kernels); i += t ? 2 : 1) {  // all of them for the oldest
            char  log[4096];
            char *text = cj_test_emit(kernels[i].family, kernels[i].params, targets[t]);
            if (!cj_test_assemble(text, targets[t], log, sizeof log))
                fail_msg("%s %s, %s: %s", kernels[i].family, kernels[i].params, targets[t], log);
            cj_text_free(text);
        }
}

int main(void) {
    cj_test_ptxas();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_fit_and_assemble_for_every_older_or_smaller_target),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
