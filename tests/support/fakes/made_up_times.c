// SPDX-License-Identifier: Apache-2.0
// Replaces tools/ptxgen/measure/measure.c and measure_ceiling.c in a command whose times are invented. A kernel takes 1
// ms. For each "PARAMETER=WORD" in the environment variable CJ_MADE_UP_FAST that its plan agrees with, it takes 10 %
// less, or FACTOR times as long with "PARAMETER=WORD:FACTOR"; "blocks" is a parameter of all kernels: the blocks of the
// launched cluster, 0 without one. A peer takes half of 1 ms; its last way takes less if CJ_MADE_UP_PEER=last. These
// times count as real on any device. With CJ_MADE_UP_WRONG="PARAMETER=WORD:OFFSET" a kernel whose plan agrees writes a wrong
// byte there into its second array, on the CPU device: the linker has this file's function called instead of cj_kernel_launch.
#define _POSIX_C_SOURCE 200809L
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study.h"

bool        measure_is_real(const cj_device *device) { return device != NULL; }
const char *measure_clock(const cj_device *device) { return device ? "made up" : ""; }

int measure_ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool agrees(const cj_plan *plan, char *assignment) {
    char *value = strchr(assignment, '='), word[64];
    if (!value) return false;
    *value = '\0';
    if (!strcmp(assignment, "blocks")) return study_cluster(plan) == strtoul(value + 1, NULL, 10);
    const char *has = cj_params_word(&plan->params, assignment, word, sizeof word);  // NULL: no such parameter
    return has && !strcmp(has, value + 1);
}

static double time_of(const cj_plan *plan) {
    const char *fast = getenv("CJ_MADE_UP_FAST");
    char        words[256], *rest = NULL;
    double      time = 1;
    snprintf(words, sizeof words, "%s", fast ? fast : "");
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *factor = strchr(word, ':');
        if (factor) *factor++ = '\0';
        if (agrees(plan, word)) time *= factor ? strtod(factor, NULL) : 0.9;
    }
    return time;
}

static double time_of_peer(bool is_last) {
    const char *fast = getenv("CJ_MADE_UP_PEER");
    return fast && !strcmp(fast, "last") && is_last ? 0.4 : 0.5;
}

cj_status __real_cj_kernel_launch(cj_kernel *, cj_stream, void *const *, uint32_t, cj_error *);
cj_status __wrap_cj_kernel_launch(cj_kernel *, cj_stream, void *const *, uint32_t, cj_error *);

cj_status __wrap_cj_kernel_launch(cj_kernel *kernel, cj_stream stream, void *const *arguments, uint32_t count, cj_error *error) {
    const cj_status status = __real_cj_kernel_launch(kernel, stream, arguments, count, error);
    const char     *wrong = getenv("CJ_MADE_UP_WRONG");
    char            word[64];
    snprintf(word, sizeof word, "%s", wrong ? wrong : "");
    char *offset = strchr(word, ':');
    if (!offset) return status;
    *offset++ = '\0';
    if (agrees(cj_kernel_plan(kernel), word))
        *(unsigned char *)(uintptr_t)(*(const cj_ptr *)arguments[1] + strtoul(offset, NULL, 10)) ^= 1;
    return status;
}

cj_status measure(cj_device *device, contender *contenders, size_t count, unsigned rounds, cj_error *error) {
    cj_status status = CJ_OK;
    for (contender *c = contenders; !status && c < contenders + count; c++) {
        const double time = c->peer ? time_of_peer(c == contenders + count - 1)
                                    : time_of(&((const variant *)c->user)->plan);
        c->time = (measurement){
            .median = time, .low = time, .high = time, .rounds = rounds ? rounds : 1, .launches = 1};
        status = c->launch(c->user, 0, NULL, error);
    }
    return status ? status : cj_synchronize(device, NULL, error);
}

cj_status measure_glance(cj_device *device, const contender *c, double *ms, cj_error *error) {
    (void)device, (void)error;
    *ms = time_of(&((const variant *)c->user)->plan);
    return CJ_OK;
}

cj_status measure_ceilings(cj_device *device, double *read, double *copy, cj_error *error) {
    (void)device, (void)error;
    *read = *copy = 1e12;
    return CJ_OK;
}

int measure_faster(const measurement *a, const measurement *b) { return a->median * 1.02 < b->median; }
