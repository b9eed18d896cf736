// SPDX-License-Identifier: Apache-2.0
// gemm_costs SEED DRAWS: matrix products and kernels for them, drawn at random, each with what the plan knows of it: its words, the
// clusters that run at once, and the clocks that the cost model predicts. test_variants.sh holds Python's formula against them.
#include <clusterjit/contract.h>
#include <clusterjit/kernel.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gemm/plan/plan.h"

static uint64_t state;

static uint64_t below(uint64_t end) {  // splitmix64
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % end;
}

// A word of a blank-separated list.
static const char *some(const char *list, char *word) {
    uint64_t count = 1;
    for (const char *at = list; *at; at++) count += *at == ' ';
    for (uint64_t skip = below(count); skip; skip--) list = strchr(list, ' ') + 1;
    const size_t length = strcspn(list, " ");
    memcpy(word, list, length);
    word[length] = '\0';
    return word;
}

static const struct { const char *name, *words; } drawn[] = {
    {"dtype", "bf16 f16 tf32 e4m3 e5m2"}, {"out", "auto auto bf16 f32 e4m3"}, {"a", "row row column"}, {"b", "column column row"},
    {"activation", "none relu gelu silu"}, {"batch", "1 1 1 3"}, {"lines", "auto auto whole cut"},
    {"tile", "128x256 128x128 64x256 64x128 64x64 128x224 128x192 128x160 128x96 64x192 64x160 64x96 192x192 192x160 192x128"},
    {"cluster", "1 2 4 0 auto"}, {"cluster-n", "1 1 2 4 auto"}, {"split", "1 1 1 2 4 8 16"}, {"parts", "1 1 1 2 3 7"},
    {"consumers", "auto together in-turn in-turn"}, {"swap", "no no auto yes"}, {"c", "no no yes"}};

static const char *const shown[] = {"m", "n", "k", "dtype", "out", "a", "b", "activation", "batch", "lines", "tile", "cluster",
                                    "cluster-n", "split", "parts", "sums", "consumers", "swap", "c"};

// Whether the plan takes what was drawn.
static bool draw(const cj_family *family, const cj_limits *limits, cj_plan *plan) {
    cj_params params;
    char      word[64];
    cj_params_init(&params, family);
    for (const char *name = "mnk"; *name; name++) {
        snprintf(word, sizeof word, "%" PRIu64, 1 + below(UINT64_C(1) << (3 + below(12))));
        if (cj_params_set(&params, (char[]){*name, '\0'}, word, NULL)) return false;
    }
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        if (cj_params_set(&params, drawn[i].name, some(drawn[i].words, word), NULL)) return false;
    memset(plan, 0, sizeof *plan);
    return !cj_params_set(&params, "form", "wgmma", NULL) && !cj_plan_make(&params, limits, "sm_90a", plan, NULL);
}

// With the stages that there is room for, as the plan counts them: a kernel of few steps has fewer.
static void show(const cj_plan *plan, const cj_limits *limits) {
    gemm_shape g;
    char       word[64];
    cj__gemm_read(&plan->params, &g);
    g.stages = cj__gemm_stages_most(&g, limits);
    if (g.stages > GEMM_STAGES_MAX) g.stages = GEMM_STAGES_MAX;
    const uint64_t room = cj__gemm_room(&g, limits);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        printf("%s=%s ", shown[i], cj_params_word(&plan->params, shown[i], word, sizeof word));
    printf("gpcs=");
    for (size_t i = 0; limits->gpc_sms[i]; i++) printf("%s%u", i ? "," : "", limits->gpc_sms[i]);
    printf(" sms=%u room=%" PRIu64 " stages=%u cost=%.17g\n", limits->sm_count, room, g.stages, cj__gemm_cost(&g, room));
}

int main(int argc, char **argv) {
    const cj_family *family;
    cj_limits        limits;
    cj_plan          plan;
    if (argc < 3 || cj_family_find("gemm", &family, NULL)) return 1;
    state = strtoull(argv[1], NULL, 10);
    for (uint64_t left = strtoull(argv[2], NULL, 10); left;) {
        if (cj_limits_named("h200", &limits, NULL)) return 1;
        if (below(2)) {
            memset(limits.gpc_sms, 0, sizeof limits.gpc_sms);
            limits.sm_count -= (uint32_t)below(40);
        }
        if (!draw(family, &limits, &plan)) continue;
        show(&plan, &limits);
        left--;
    }
    return 0;
}
