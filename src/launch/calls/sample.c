// SPDX-License-Identifier: Apache-2.0
// The typed call of sampling: converts a description to the family's parameters, and a launch's values to arguments.
#include <clusterjit/sample.h>
#include <math.h>

#include "call.h"
#include "error.h"

enum { SETTINGS = 9, ARGUMENTS = 4 + 2 * SETTINGS, TOLD = 7 };

// A filter that the kernel has is any value of its parameter but the one that switches it off.
static cj_status describe(const void *from, cj_params *params, cj_error *error) {
    const cj_sample_desc *desc = from;
    cj_status             status = cj__call_family(params, "sample", error);
    if (!status) status = cj__call_dtype(params, "dtype", desc->dtype, error);
    if (!status) status = cj__call_number_or(params, "rows", desc->rows, 1, error);
    if (!status) status = cj__call_extent(params, "columns", desc->columns, "choose from", error);
    if (!status) status = cj__call_number(params, "stride", desc->stride, error);
    if (!status) status = cj__call_number(params, "align", desc->align, error);
    if (!status) status = cj__call_cluster(params, desc->cluster, error);
    if (!status) status = cj__call_number(params, "block", desc->block, error);
    if (!status && desc->top_k) status = cj_params_set(params, "top-k", "1", error);
    if (!status && desc->top_p) status = cj_params_set(params, "top-p", "0.5", error);
    if (!status && desc->min_p) status = cj_params_set(params, "min-p", "0.5", error);
    if (!status && desc->penalties) status = cj_params_set(params, "presence", "1", error);
    if (!status && desc->mask) status = cj_params_set(params, "mask", "yes", error);
    if (!status && desc->log_probability) status = cj_params_set(params, "log-probability", "yes", error);
    if (!status && desc->distribution) status = cj_params_set(params, "distribution", "yes", error);
    if (!status && desc->draft) status = cj_params_set(params, "draft", "yes", error);
    if (!status && desc->top) status = cj__call_number(params, "top", desc->top, error);
    return status;
}

CALL_HANDLE(cj_sample)

// ---- a launch

#define REFUSE_VALUE(bad, ...) \
    if (bad) return cj__fail(error, CJ_INVALID_ARGUMENT, __VA_ARGS__)

static cj_status check_values(const cj_sample_arrays *a, cj_error *error) {
    REFUSE_VALUE(!(a->temperature >= 0),
                 "temperature: %g is not 0 or above" CJ_HINT "0 takes the largest logit, 1 leaves them as they are",
                 (double)a->temperature);
    REFUSE_VALUE(!(a->top_p >= 0 && a->top_p <= 1),
                 "top_p: %g is not above 0 and at most 1" CJ_HINT "1 keeps all tokens", (double)a->top_p);
    REFUSE_VALUE(!(a->min_p >= 0 && a->min_p <= 1), "min_p: %g is not from 0 to 1" CJ_HINT "0 keeps all tokens",
                 (double)a->min_p);
    REFUSE_VALUE(!(a->repetition >= 0 && a->repetition < HUGE_VALF),
                 "repetition: %g is not above 0, or not finite" CJ_HINT "1 is no penalty", (double)a->repetition);
    REFUSE_VALUE(!(fabsf(a->frequency) < HUGE_VALF),
                 "frequency: %g is not finite" CJ_HINT "0 is no penalty; a mask forbids tokens", (double)a->frequency);
    REFUSE_VALUE(!(fabsf(a->presence) < HUGE_VALF),
                 "presence: %g is not finite" CJ_HINT "0 is no penalty; a mask forbids tokens", (double)a->presence);
    REFUSE_VALUE(a->top_k < 0, "top_k: %d is below 0" CJ_HINT "0 keeps all tokens", (int)a->top_k);
    return CJ_OK;
}

// What is given needs a kernel that has it.
static cj_status check_filters(const cj_sample_desc *desc, const cj_sample_arrays *a, cj_error *error) {
    const bool penalized = (a->repetition != 0 && a->repetition != 1) || a->frequency != 0 || a->presence != 0 ||
                           a->repetition_rows || a->frequency_rows || a->presence_rows;
    const struct {
        const char *name, *field;
        bool        given, has;
    } filters[] = {{"top_k", "top_k", a->top_k || a->top_k_rows, desc->top_k},
                   {"top_p", "top_p", (a->top_p != 0 && a->top_p < 1) || a->top_p_rows, desc->top_p},
                   {"min_p", "min_p", a->min_p > 0 || a->min_p_rows, desc->min_p},
                   {"penalties", "penalties", penalized, desc->penalties},
                   {"counts", "penalties", a->counts, desc->penalties},
                   {"mask", "mask", a->mask, desc->mask}};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        REFUSE_VALUE(filters[i].given && !filters[i].has,
                     "%s: it is given, but the kernel does not have it" CJ_HINT "set %s in the description",
                     filters[i].name, filters[i].field);
    return CJ_OK;
}

static cj_status check_arrays(const cj_sample_desc *desc, const cj_sample_arrays *a, cj_error *error) {
    const uint32_t align = cj__call_align(desc->align, desc->dtype);
    cj_status      status = cj__call_array("logits", a->logits, align, "say in align what it is a multiple of", error);
    if (!status) status = cj__call_array("tokens", a->tokens, sizeof(int32_t), NULL, error);
    if (!status && desc->mask) status = cj__call_array("mask", a->mask, sizeof(uint32_t), NULL, error);
    if (!status && desc->penalties) status = cj__call_array("counts", a->counts, sizeof(uint32_t), NULL, error);
    return status;
}

// The arrays after the settings, in the order of the kernel's parameters.
static cj_status told_arguments(const cj_sample_desc *desc, const cj_sample_arrays *a, uint64_t *value, uint32_t *count, cj_error *error) {
    const struct {
        const char *name;
        cj_ptr      array;
        bool        wanted;
    } told[TOLD] = {{"log_probability", a->log_probability, desc->log_probability},
                    {"top_tokens", a->top_tokens, desc->top > 0},
                    {"top_log_probabilities", a->top_log_probabilities, desc->top > 0},
                    {"probabilities", a->probabilities, desc->distribution},
                    {"draft_tokens", a->draft_tokens, desc->draft},
                    {"draft_probabilities", a->draft_probabilities, desc->draft},
                    {"accepted", a->accepted, desc->draft}};
    for (size_t i = 0; i < TOLD; i++) {
        REFUSE_VALUE(told[i].array && !told[i].wanted,
                     "%s: it is given, but the kernel does not have it" CJ_HINT "say so in the description", told[i].name);
        if (!told[i].wanted) continue;
        const cj_status status = cj__call_array(told[i].name, told[i].array, 4, NULL, error);
        if (status) return status;
        value[(*count)++] = told[i].array;
    }
    return CJ_OK;
}

// A float as an argument of 64 bits; `none` stands for 0.
static uint64_t bits_of(float value, float none) {
    const float given = value == 0 ? none : value;
    uint32_t    bits;
    memcpy(&bits, &given, sizeof bits);
    return bits;
}

static cj_status run(cj_kernel *kernel, const cj_sample_desc *desc, const cj_sample_arrays *a, cj_stream stream,
                     cj_error *error) {
    static const char *const names[SETTINGS] = {"temperature_rows", "top_p_rows",     "min_p_rows",
                                                "repetition_rows",  "frequency_rows", "presence_rows",
                                                "top_k_rows",       "seed_rows",      "offset_rows"};
    cj_status                status = check_arrays(desc, a, error);
    if (!status) status = check_values(a, error);
    if (!status) status = check_filters(desc, a, error);
    if (status) return status;
    uint64_t value[ARGUMENTS + TOLD] = {a->logits,
                                 a->tokens,
                                 a->mask,
                                 a->counts,
                                 a->temperature_rows,
                                 bits_of(a->temperature, 0),
                                 a->top_p_rows,
                                 bits_of(a->top_p, 1),
                                 a->min_p_rows,
                                 bits_of(a->min_p, 0),
                                 a->repetition_rows,
                                 bits_of(a->repetition, 1),
                                 a->frequency_rows,
                                 bits_of(a->frequency, 0),
                                 a->presence_rows,
                                 bits_of(a->presence, 0),
                                 a->top_k_rows,
                                 (uint64_t)a->top_k,
                                 a->seed_rows,
                                 a->seed,
                                 a->offset_rows,
                                 a->offset};
    void    *arguments[ARGUMENTS + TOLD];
    uint32_t count = ARGUMENTS;
    for (unsigned i = 0; i < SETTINGS && !status; i++)
        if (value[4 + 2 * i])
            status = cj__call_array(names[i], value[4 + 2 * i], i < SETTINGS - 2 ? 4 : 8, NULL, error);
    if (!status) status = told_arguments(desc, a, value, &count, error);
    for (unsigned i = 0; i < count; i++) arguments[i] = &value[i];
    return status ? status : cj_kernel_launch(kernel, stream, arguments, count, error);
}

cj_status cj_sample_run(cj_sample *sample, const cj_sample_arrays *arrays, cj_stream stream, cj_error *error) {
    REQUIRE(sample);
    SIZED(cj_sample_arrays, arrays);
    return run(sample->call.kernel, &sample->desc, arrays, stream, error);
}

typedef struct CALL_KEY call_key {
    uint64_t rows, columns, stride;
    uint32_t dtype, align, cluster, block, top;
    uint8_t  top_k, top_p, min_p, penalties, mask, log_probability, distribution, draft;
} call_key;

_Static_assert(sizeof(call_key) <= CALL_KEY_BYTES, "the key fits");

static call_key key_of(const cj_sample_desc *d) {
    return (call_key){.rows = d->rows,
                      .columns = d->columns,
                      .stride = d->stride,
                      .dtype = (uint32_t)d->dtype,
                      .align = d->align,
                      .cluster = d->cluster,
                      .block = d->block,
                      .top_k = d->top_k,
                      .top_p = d->top_p,
                      .min_p = d->min_p,
                      .penalties = d->penalties,
                      .mask = d->mask,
                      .top = d->top,
                      .log_probability = d->log_probability,
                      .distribution = d->distribution,
                      .draft = d->draft};
}

cj_status cj_sample_launch(cj_device *device, const cj_sample_desc *desc, const cj_sample_arrays *arrays,
                           cj_stream stream, cj_error *error) {
    REQUIRE(device);
    SIZED(cj_sample_desc, desc);
    SIZED(cj_sample_arrays, arrays);
    cj_kernel     *kernel;
    const call_key key = key_of(desc);
    cj_status      status = cj__call_kernel(device, describe, desc, &key, sizeof key, stream, &kernel, error);
    return status ? status : run(kernel, desc, arrays, stream, error);
}
