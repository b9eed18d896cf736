// SPDX-License-Identifier: Apache-2.0
#include "draw.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

enum { TEXT_SIZE = 256, WEIGHTS_MAX = 27, USUAL = 3 };

static const char *const targets[] = {"sm_75",  "sm_80",   "sm_86",  "sm_87",  "sm_88",  "sm_89", "sm_90", "sm_90a",
                                      "sm_100", "sm_100a", "sm_103", "sm_110", "sm_120", "sm_121"};
static const char *const reals[] = {"0", "1", "-1", "0.5", "0.1", "1e-5", "0.125", "3.75", "-100", "1e30"};

static uint64_t below(uint64_t *random, uint64_t limit) { return cj_test_random(random) % limit; }

static const char *word_at(const char *words, size_t index, char text[TEXT_SIZE]) {
    for (; index; index--) words += strcspn(words, " ") + 1;
    snprintf(text, TEXT_SIZE, "%.*s", (int)strcspn(words, " "), words);
    return text;
}

static const char *any_word(const char *words, uint64_t *random, char text[TEXT_SIZE]) {
    size_t count = 1;
    for (const char *c = words; *c; c++) count += *c == ' ';
    return word_at(words, below(random, count), text);
}

// Draws a magnitude first, so that small numbers are as frequent as large ones; half of them are powers of two or next
// to one.
static uint64_t any_number(const cj_param_info *info, uint64_t *random) {
    unsigned bits = 0;
    while (bits < 63 && info->maximum >> (bits + 1)) bits++;
    const unsigned power = (unsigned)below(random, bits + 1);
    uint64_t       value = UINT64_C(1) << power;
    value += below(random, 2) ? below(random, value) : below(random, 3) - 1;
    if (info->multiple) value -= value % info->multiple;
    if (value < info->minimum) value = info->minimum;
    return value > info->maximum ? info->maximum - (info->multiple ? info->maximum % info->multiple : 0) : value;
}

static const char *any_list(uint32_t most, uint64_t *random, char text[TEXT_SIZE]) {
    static const uint32_t taps[] = {3, 5, 7, 9, 13, 25, 27};
    uint32_t              count = taps[below(random, CJ_TEST_COUNT(taps))];
    size_t                used = 0;
    *text = '\0';
    for (uint32_t i = 0; i < count && i < most; i++)
        used += (size_t)snprintf(text + used, TEXT_SIZE - used, "%s%s", i ? "," : "",
                                 reals[below(random, CJ_TEST_COUNT(reals))]);
    return text;
}

static const char *any_value(const cj_param_info *info, uint64_t *random, char text[TEXT_SIZE]) {
    if (info->choices) return any_word(info->choices, random, text);
    if (info->reals) return any_list(info->reals, random, text);
    if (info->real) return reals[below(random, CJ_TEST_COUNT(reals))];
    if (info->tune && below(random, 2)) return any_word(info->tune, random, text);
    if (info->automatic && !below(random, 4)) return "auto";
    snprintf(text, TEXT_SIZE, "%" PRIu64, any_number(info, random));
    return text;
}

static void write_command(cj_draw *draw) {
    const cj_family *family = draw->params.family;
    char             text[TEXT_SIZE];
    size_t           used = (size_t)snprintf(draw->command, sizeof draw->command, "%s", cj_family_name(family));
    for (size_t i = 0; i < cj_family_param_count(family); i++) {
        const char *name = cj_family_param(family, i)->name;
        if (!draw->is_set[i]) continue;
        used += (size_t)snprintf(draw->command + used, sizeof draw->command - used, " --%s=%s", name,
                                 cj_params_word(&draw->params, name, text, sizeof text));
    }
    snprintf(draw->command + used, sizeof draw->command - used, " --arch %s", draw->arch);
}

void cj_test_draw(const cj_family *family, uint64_t *random, cj_draw *draw) {
    static const unsigned shares[] = {15, 30, 50, 80};  // % of the parameters that are set
    const unsigned        share = shares[below(random, CJ_TEST_COUNT(shares))];
    char                  text[TEXT_SIZE];
    cj_error              error = {0};
    cj_params_init(&draw->params, family);
    for (size_t i = 0; i < cj_family_param_count(family); i++) {
        const cj_param_info *info = cj_family_param(family, i);
        draw->is_set[i] = !info->function && below(random, 100) < share;
        if (draw->is_set[i]) cj_test_ok(cj_params_set(&draw->params, info->name, any_value(info, random, text), &error), &error);
    }
    draw->arch = below(random, USUAL) ? targets[below(random, CJ_TEST_COUNT(targets))] : "sm_90";
    write_command(draw);
}

bool cj_test_draw_less(uint64_t *random, cj_draw *draw) {
    const cj_family *family = draw->params.family;
    cj_error         error = {0};
    bool             drops = false, any = false;
    for (size_t i = 0; i < cj_family_param_count(family); i++) any |= draw->is_set[i];
    while (any && !drops) {
        for (size_t i = 0; i < cj_family_param_count(family); i++) {
            const cj_param_info *info = cj_family_param(family, i);
            if (!draw->is_set[i] || below(random, 2)) continue;
            cj_test_ok(cj_params_set(&draw->params, info->name, info->initial, &error), &error);
            draw->is_set[i] = false;
            drops = true;
        }
    }
    write_command(draw);
    return any;
}
