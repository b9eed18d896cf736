// SPDX-License-Identifier: Apache-2.0
// Whether a plan has what its caller has set. A family writes what it has chosen back into the plan's parameters, so that
// what was asked for and what is planned can be held against each other here, for all families alike.
#include <float.h>

#include "kit.h"

enum { WORD = 1024 };  // the longest is a list of numbers

static const char *word_of(const cj_params *params, size_t i, char buffer[WORD]) {
    return cj_params_word(params, params->family->param[i].name, buffer, WORD);
}

static bool is_given(const cj_params *params, size_t i) {
    char                 word[WORD];
    const cj_param_info *info = &params->family->param[i];
    return info->function ? params->function[i] != NULL : strcmp(word_of(params, i, word), info->initial) != 0;
}

static bool has_effect(const cj_param_info *info, const cj_params *given, char other[WORD]) {
    char         name[32];
    uint64_t     index;
    const size_t length = strcspn(info->only, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, info->only);
    cj_params_word(given, name, other, WORD);
    return cj__word_index(info->only + length + 1, other, &index);
}

cj_status cj__given_check(const cj_params *given, cj_error *error) {
    char word[WORD], other[WORD];
    for (size_t i = 0; i < given->family->param_count; i++) {
        const cj_param_info *info = &given->family->param[i];
        if (!info->only || !is_given(given, i) || has_effect(info, given, other)) continue;
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "%s: %s has no effect with %.*s=%s" CJ_HINT "it goes with %s; else leave it at its default, %s",
                        info->name, word_of(given, i, word), (int)strcspn(info->only, "="), info->only, other, info->only,
                        info->initial);
    }
    return CJ_OK;
}

cj_status cj__given_check_plan(const cj_params *given, const cj_plan *plan, bool clusters, cj_error *error) {
    char asked[WORD], planned[WORD];
    for (size_t i = 0; i < given->family->param_count; i++) {
        const cj_param_info *info = &given->family->param[i];
        const uint64_t wanted = given->value[i], got = plan->params.value[i];
        if (!is_given(given, i) || got == wanted || !strcmp(word_of(given, i, asked), "auto") || (info->at_most && got < wanted)) continue;
        if (!clusters && *plan->note && !strcmp(info->name, "cluster")) continue;  // the note says so
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "%s: %s is asked for, but with the other parameters the kernel has %s%s" CJ_HINT
                        "leave %s at its default, %s, or change what is set beside it",
                        info->name, word_of(given, i, asked), word_of(&plan->params, i, planned),
                        info->at_most ? ", which is more" : "", info->name, info->initial);
    }
    return CJ_OK;
}

cj_status cj__check_stride(const cj_plan *plan, unsigned param, uint64_t columns, cj_error *error) {
    const uint64_t stride = cj__stride(plan, param, columns);
    REFUSE_IF(stride < columns,
              "%s: %" PRIu64 " is below the %" PRIu64 " columns of a row" CJ_HINT
              "rows may not overlap; 0 stands for rows without a gap",
              plan->params.family->param[param].name, stride, columns);
    return CJ_OK;
}

cj_status cj__check_f32(const char *param, double value, cj_error *error) {
    REFUSE_IF(fabs(value) > (double)FLT_MAX, "%s: %g is beyond f32, in which the kernel has it" CJ_HINT "choose one from %g to %g", param, value,
              -(double)FLT_MAX, (double)FLT_MAX);
    return CJ_OK;
}

cj_status cj__check_grid(uint64_t blocks, uint64_t rows, uint64_t each, cj_error *error) {
    FAIL_IF(blocks > INT32_MAX, CJ_CONTRACT,
            "rows: %" PRIu64 " of %" PRIu64 " blocks each are more blocks than the 2^31 - 1 of a grid" CJ_HINT
            "use several launches",
            rows, each);
    return CJ_OK;
}
