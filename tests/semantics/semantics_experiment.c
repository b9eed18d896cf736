// SPDX-License-Identifier: Apache-2.0
// Experiments: how makers write them.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "semantics.h"
#include "test.h"

cj_experiment *cj__experiment_add(cj_experiments *list) {
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->at = realloc(list->at, list->capacity * sizeof *list->at);
        assert_non_null(list->at);
    }
    list->at[list->count] = (cj_experiment){.number = list->made++};
    return &list->at[list->count++];
}

void cj__experiment_free(cj_experiment *e) {
    cj__text_free(&e->outside);
    cj__text_free(&e->body);
}

void cj__experiment_drop(cj_experiments *list) { cj__experiment_free(&list->at[--list->count]); }

void cj__experiments_free(cj_experiments *list) {
    for (size_t i = 0; i < list->count; i++) cj__experiment_free(&list->at[i]);
    free(list->at);
}

unsigned cj__experiment_input(cj_experiment *e, cj_word type, cj_fill fill) {
    assert_true(e->input_count < CJ_INPUTS_MAX);
    e->input[e->input_count] = (cj_port){type, fill};
    return e->input_count++;
}

unsigned cj__experiment_output(cj_experiment *e, cj_word type) {
    assert_true(e->output_count < CJ_OUTPUTS_MAX);
    e->output[e->output_count] = (cj_port){type, CJ_FILL_EDGES};
    return e->output_count++;
}

void cj__register_list(char text[96], char prefix, unsigned first, unsigned count) {
    const char *before = count > 1 ? "{" : "";
    size_t      length = 0;
    for (unsigned i = 0; i < count; i++) {
        length += (size_t)snprintf(text + length, 96 - length, "%s%%%c%u", before, prefix, first + i);
        before = ", ";
    }
    if (count > 1) snprintf(text + length, 96 - length, "}");
}

static void add_line(cj_experiment *e, const char *line) { cj__text_printf(&e->body, "    %s\n", line); }

void cj__experiment_line(cj_experiment *e, const char *format, ...) {
    char    line[512];
    va_list arguments;
    va_start(arguments, format);
    assert_true((size_t)vsnprintf(line, sizeof line, format, arguments) < sizeof line);
    va_end(arguments);
    add_line(e, line);
}

void cj__experiment_try(cj_experiment *e, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    assert_true((size_t)vsnprintf(e->text, sizeof e->text, format, arguments) < sizeof e->text);
    va_end(arguments);
    add_line(e, e->text);
}

unsigned cj__register_bits(cj_word type) {
    const unsigned bits = cj__words[type].bits;
    return type == CJ_W_PRED ? 1 : bits < 16 ? 32 : bits;
}
