// SPDX-License-Identifier: Apache-2.0
// What the hint of a refused request recommends is planned.
#include <clusterjit/kernel.h>
#include <string.h>

#include "emit.h"
#include "test.h"

static cj_status plan_of(const char *family, const char *words, const char *arch, cj_error *error) {
    const cj_limits *limits;
    cj_params        params;
    cj_plan          plan;
    *error = (cj_error){0};
    cj_test_ok(cj_limits_builtin("sm_90", &limits, error), error);
    const cj_status status = cj_test_params(family, words, &params, error);
    return status ? status : cj_plan_make(&params, limits, arch, &plan, error);
}

static void what_a_hint_recommends_works(void **state) {
    (void)state;
    static const struct {
        const char *family, *arch, *refused, *says, *hint, *cured;
    } cases[] = {
        {"gemm", NULL, "m=16 b=column form=skinny split=2", "split: 2, but form=skinny", "leave split at its default", "m=16 b=column form=skinny"},
        {"gemm", NULL, "form=mma split=2", "split: 2, but form=mma", "; parts splits K", "form=mma parts=2"},
        {"gemm", NULL, "form=mma consumers=in-turn", "form=mma has no warp groups", "leave consumers at its default", "form=mma"},
        {"gemm", NULL, "tile=16x64", "16x64 is none of form=wgmma", "leave tile at its default", ""},
        {"gemm", NULL, "n=16 b=column tile=16x64 form=wgmma", "16x64 is none of form=wgmma", "form=skinny has it", "n=16 b=column tile=16x64 form=skinny"},
        {"gemm", "sm_80", "tile=128x224", "128x224 is none of form=mma", "leave tile at its default", ""},
        {"gemm", NULL, "dtype=f64 form=skinny tile=128x64", "tile: 128x64 is none of form=skinny", "form=mma has it", "dtype=f64 form=mma tile=128x64"},
        {"gemm", NULL, "parts=8 consumers=in-turn", "no two that compute", "split=1 parts=1", "tile=64x128 split=1 parts=1 consumers=in-turn"},
        {"collective", "sm_80", "", "no thread block clusters", "cluster=0 and size", "cluster=0 size=4"},
        {"layernorm", NULL, "align=8 cluster=3 pass=backward weight-gradient=yes", "cluster: it wants form=stream", "cluster and grid at their defaults",
         "align=8 pass=backward weight-gradient=yes"},
        {"softmax", NULL, "warps=32 form=stream", "warps: 32", "choose at most 31", "warps=31 form=stream"},
        {"sample", NULL, "dtype=bf16 top-p=0.9 parts=3", "parts: 3", "leave parts at its default", "dtype=bf16 top-p=0.9"},
        {"scan", NULL, "block=1000", "1000 is not a power of two", "512", "block=512"},
        {"shardedcrossentropy", NULL, "scale=-1e39", "scale: -1e+39 is beyond f32", "from -3.40282e+38 to 3.40282e+38", "scale=-3.40282e38"},
    };
    for (size_t i = 0; i < CJ_TEST_COUNT(cases); i++) {
        cj_error error;
        if (!plan_of(cases[i].family, cases[i].refused, cases[i].arch, &error)) fail_msg("%s %s: planned", cases[i].family, cases[i].refused);
        if (!strstr(error.message, cases[i].says) || !strstr(error.hint, cases[i].hint))
            fail_msg("%s %s: %s (%s)", cases[i].family, cases[i].refused, error.message, error.hint);
        if (plan_of(cases[i].family, cases[i].cured, cases[i].arch, &error)) fail_msg("%s %s: %s", cases[i].family, cases[i].cured, error.message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_hint_recommends_works)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
