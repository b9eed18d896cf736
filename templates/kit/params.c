// SPDX-License-Identifier: Apache-2.0
// Parameter values: text in, numbers kept, text out. The family's table says what is allowed.
#include <stdlib.h>

#include "kit.h"

// Whether `word` is the next blank-separated word of *at; advances *at past it.
static bool next_word(const char **at, const char **word, size_t *length) {
    *at += strspn(*at, " ");
    *word = *at;
    *length = strcspn(*at, " ");
    *at += *length;
    return *length > 0;
}

bool cj__word_index(const char *choices, const char *text, uint64_t *index) {
    const char *word;
    size_t length;
    for (*index = 0; next_word(&choices, &word, &length); ++*index)
        if (strlen(text) == length && !memcmp(word, text, length)) return true;
    return false;
}

static const char *choice_text(const char *choices, uint64_t index, char *buffer, size_t size) {
    const char *word;
    size_t length;
    while (next_word(&choices, &word, &length))
        if (!index--) {
            snprintf(buffer, size, "%.*s", (int)length, word);
            return buffer;
        }
    return NULL;
}

static const char *param_name_at(const void *user, size_t i) {
    const cj_family *family = user;
    return i < family->param_count ? family->param[i].name : NULL;
}

// The choices one by one, for the nearest; a table's words are short.
enum { CHOICES_MAX = 16, CHOICE_BYTES = 24 };

static const char *choice_at(const void *user, size_t i) {
    const char *word = (const char *)user + i * CHOICE_BYTES;
    return i < CHOICES_MAX && *word ? word : NULL;
}

static cj_status bad_choice(const cj_param_info *info, const char *text, cj_error *error) {
    char word[CHOICES_MAX][CHOICE_BYTES] = {{0}};
    for (uint64_t i = 0; i < CHOICES_MAX && choice_text(info->choices, i, word[i], sizeof word[i]); i++) continue;
    cj_status status = cj__fail(error, CJ_INVALID_ARGUMENT, "%s: '%.64s' is none of: %s", info->name, text, info->choices);
    const char *nearest = cj__nearest(text, choice_at, word);
    if (nearest) cj__hint(error, "is '%s' meant?", nearest);
    return status;
}

static cj_status set_number(const cj_param_info *info, const char *text, uint64_t *slot, cj_error *error) {
    uint64_t value;
    if (info->automatic && !strcmp(text, "auto")) {
        *slot = CJ_PARAM_AUTO;
        return CJ_OK;
    }
    const char *end = cj_number_read(text, &value);
    REFUSE_IF(!end || *end, "%s: '%.200s' is not a whole number that fits 64 bits" CJ_HINT "write " CJ_NUMBER_FORMS,
              info->name, text);
    REFUSE_IF(value < info->minimum || value > info->maximum, "%s: %" PRIu64 " is outside %" PRIu64 " to %" PRIu64,
              info->name, value, info->minimum, info->maximum);
    if (info->multiple && value % info->multiple && value != info->minimum) {
        uint64_t below = value - value % info->multiple;
        uint64_t nearest = below < info->minimum ? below + info->multiple : below;
        return cj__fail(error, CJ_INVALID_ARGUMENT,
                        "%s: %" PRIu64 " is not a multiple of %" PRIu64 CJ_HINT "%" PRIu64 " is", info->name, value,
                        info->multiple, nearest);
    }
    *slot = value;
    return CJ_OK;
}

static cj_status set_real(const cj_param_info *info, const char *text, uint64_t *slot, cj_error *error) {
    double      value;
    const char *end = cj_real_read(text, &value);
    REFUSE_IF(!end || *end || !isfinite(value), "%s: '%.200s' is not a finite number", info->name, text);
    memcpy(slot, &value, sizeof value);
    return CJ_OK;
}

static double real_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static cj_status bad_list(const cj_param_info *info, const char *text, cj_error *error) {
    return cj__fail(error, CJ_INVALID_ARGUMENT,
                    "%s: '%.200s' is not a list of at most %" PRIu32 " finite numbers" CJ_HINT
                    "write numbers with commas between them: 0.25,0.5,0.25",
                    info->name, text, info->reals);
}

static cj_status set_list(cj_params *params, size_t at, const char *text, cj_error *error) {
    const cj_param_info *info = &params->family->param[at];
    double               list[CJ_REALS_MAX] = {0};
    uint32_t             count = 0;
    for (const char *next = text; *next; next += *next == ',') {
        if (count == info->reals) return bad_list(info, text, error);
        const char *end = cj_real_read(next, &list[count]);
        if (!end || (*end && *end != ',') || (*end && !end[1]) || !isfinite(list[count++]))
            return bad_list(info, text, error);
        next = end;
    }
    memcpy(params->reals, list, sizeof list);
    params->value[at] = count;
    return CJ_OK;
}

// As many digits as give the number again: 1e-05, not 1.0000000000000001e-05.
static int digits_of(double value) {
    char text[32];
    for (int digits = 15; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return digits;
    }
    return 17;
}

// The list as text, as far as there is room.
static const char *list_text(const cj_params *params, uint64_t count, char *buffer, size_t size) {
    size_t used = 0;
    if (size) *buffer = '\0';
    for (uint64_t i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%.*g", i ? "," : "", digits_of(params->reals[i]),
                                 params->reals[i]);
    return buffer;
}

size_t cj_family_param_count(const cj_family *family) { return family ? family->param_count : 0; }

const cj_param_info *cj_family_param(const cj_family *family, size_t index) {
    return family && index < family->param_count ? &family->param[index] : NULL;
}

// NULL where there is none, or no family: no cj_params_init was there before, or one of none.
static const cj_param_info *param_of(const cj_params *params, const char *name, size_t *index) {
    const size_t count = params && name ? cj_family_param_count(params->family) : 0;
    for (*index = 0; *index < count; ++*index)
        if (!strcmp(params->family->param[*index].name, name)) return &params->family->param[*index];
    return NULL;
}

// The parameter that a caller sets by its name, and its index.
static cj_status look_up(const cj_params *params, const char *name, const cj_param_info **info, size_t *index,
                         cj_error *error) {
    REQUIRE(params);
    REQUIRE(name);
    REFUSE_IF(!params->family, "params: their family is NULL: begin with cj_params_init");
    *info = param_of(params, name, index);
    if (*info) return CJ_OK;
    cj__fail(error, CJ_INVALID_ARGUMENT, "%s has no parameter '%.64s'", params->family->name, name);
    const char *nearest = cj__nearest(name, param_name_at, params->family);
    if (nearest) cj__hint(error, "is '%s' meant?", nearest);
    return CJ_INVALID_ARGUMENT;
}

cj_status cj_params_set(cj_params *params, const char *name, const char *text, cj_error *error) {
    REQUIRE(text);
    const cj_param_info *info;
    size_t               i;
    TRY(look_up(params, name, &info, &i, error));
    if (info->function && !*text) return cj_params_set_function(params, name, NULL, error);
    REFUSE_IF(info->function, "%s: a function is compiled, it cannot be set as text" CJ_HINT
                              "make it with cj_function_from_cuda and set it with cj_params_set_function",
              name);
    if (info->reals) return set_list(params, i, text, error);
    if (info->real) return set_real(info, text, &params->value[i], error);
    if (!info->choices) return set_number(info, text, &params->value[i], error);
    uint64_t index;
    if (!cj__word_index(info->choices, text, &index)) return bad_choice(info, text, error);
    params->value[i] = index;
    return CJ_OK;
}

cj_status cj_params_set_function(cj_params *params, const char *name, const cj_user_function *function,
                                 cj_error *error) {
    const cj_param_info *info;
    size_t               i;
    TRY(look_up(params, name, &info, &i, error));
    REFUSE_IF(!info->function, "%s: this parameter is no function", name);
    params->function[i] = function;
    return CJ_OK;
}

cj_status cj_params_set_reals(cj_params *params, const char *name, const double *value, uint32_t count,
                              cj_error *error) {
    const cj_param_info *info;
    size_t               i;
    TRY(look_up(params, name, &info, &i, error));
    REFUSE_IF(!info->reals, "%s: this parameter is no list of numbers" CJ_HINT "set it with cj_params_set", name);
    REFUSE_IF(count > info->reals, "%s: %" PRIu32 " numbers, it takes at most %" PRIu32, name, count, info->reals);
    for (uint32_t k = 0; k < count; k++)
        REFUSE_IF(!isfinite(value[k]), "%s: number %" PRIu32 ", %g, is not finite", name, k, value[k]);
    memset(params->reals, 0, sizeof params->reals);
    if (count) memcpy(params->reals, value, count * sizeof *value);
    params->value[i] = count;
    return CJ_OK;
}

void cj_params_init(cj_params *params, const cj_family *family) {
    if (!params) return;
    *params = (cj_params){.family = family};
    for (size_t i = 0; i < cj_family_param_count(family); i++)
        cj_params_set(params, family->param[i].name, family->param[i].initial, NULL);
}

uint64_t cj_params_get(const cj_params *params, const char *name) {
    size_t i;
    return param_of(params, name, &i) ? params->value[i] : UINT64_MAX;
}

double cj_params_real(const cj_params *params, const char *name) {
    size_t i;
    return param_of(params, name, &i) ? real_of(params->value[i]) : (double)NAN;
}

const char *cj_params_word(const cj_params *params, const char *name, char *buffer, size_t size) {
    size_t               i;
    const cj_param_info *info = param_of(params, name, &i);
    if (!info || !buffer) return NULL;
    if (info->choices) return choice_text(info->choices, params->value[i], buffer, size);
    if (info->reals) return list_text(params, params->value[i], buffer, size);
    if (info->real) snprintf(buffer, size, "%.*g", digits_of(real_of(params->value[i])), real_of(params->value[i]));
    else if (info->automatic && params->value[i] == CJ_PARAM_AUTO) snprintf(buffer, size, "auto");
    else if (!info->function) snprintf(buffer, size, "%" PRIu64, params->value[i]);
    else snprintf(buffer, size, "%s", params->function[i] ? cj_user_function_text(params->function[i]) : "");
    return buffer;
}

void cj__params_share(const cj_params *params) {
    for (size_t i = 0; i < cj_family_param_count(params->family); i++) cj__user_function_share(params->function[i]);
}

void cj__params_drop(const cj_params *params) {
    for (size_t i = 0; i < cj_family_param_count(params->family); i++) cj__user_function_drop(params->function[i]);
}
