// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "message.h"
#include "output.h"

enum { KEY_JSON = ARGS_LONG_ONLY };

static const args_option options[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {0},
};

typedef struct list_options {
    const cj_family *family;  // NULL: all
    bool             json;
} list_options;

static int set(void *user, int key, char *value) {
    (void)value;
    if (key == KEY_JSON) ((list_options *)user)->json = true;
    return CODE_OK;
}

static int take(void *user, char *word) {
    list_options *o = user;
    cj_error      error;
    if (o->family) return message_error(CJ_INVALID_ARGUMENT, "'%s' is one family too many", word);
    return cj_family_find(word, &o->family, &error) ? message_failure(&error) : CODE_OK;
}

const args_spec list_spec = {
    .doc = "Lists the kernel families, or FAMILY alone, and their parameters: what 'emit' and 'run' take.",
    .options = options,
    .set = set,
    .words = "[FAMILY]",
    .take = take,
    .examples = "ptxgen list reduce",
};

enum { VALUES = 256, HELP = 512 };

// Columns as wide as their longest entry.
typedef struct widths {
    size_t name, initial, values;
} widths;

static void widen(size_t *width, const char *text) {
    if (strlen(text) > *width) *width = strlen(text);
}

// Takes as many words from the start of the text as fit the width, at least one.
static size_t take_words(const char **text, size_t width, const char **piece) {
    size_t length = 0;
    *piece = *text;
    for (const char *at = *text; *at;) {
        const size_t end = (size_t)(at - *text) + strcspn(at, " ");
        if (length && end > width) break;
        length = end;
        at = *text + end;
        at += strspn(at, " ");
    }
    *text += length;
    *text += strspn(*text, " ");
    return length;
}

// Prints two texts side by side, each in lines of its width; the first line begins at the current column.
static void print_beside(const char *left, size_t left_width, const char *right, size_t right_width, size_t column) {
    for (bool again = false; *left || *right || !again; again = true) {
        const char *a, *b;
        const int   left_length = (int)take_words(&left, left_width, &a);
        const int   right_length = (int)take_words(&right, right_width, &b);
        if (again) printf("%*s", (int)column, "");
        if (right_length)
            printf("%.*s%*s  %.*s\n", left_length, a, (int)left_width - left_length, "", right_length, b);
        else
            printf("%.*s\n", left_length, a);
    }
}

enum { MEANING = 30 };  // minimum width of the meaning, before the values are wrapped

static widths measure(const cj_family *family) {
    widths w = {sizeof "parameter" - 1, sizeof "default" - 1, sizeof "values" - 1};
    char   values[VALUES];
    for (size_t i = 0; i < cj_family_param_count(family); i++) {
        const cj_param_info *info = cj_family_param(family, i);
        widen(&w.name, info->name);
        widen(&w.initial, info->initial);
        widen(&w.values, args_values(info, values, sizeof values));
    }
    return w;
}

static void print_family(const cj_family *family) {
    widths       w = measure(family);
    const size_t column = w.name + w.initial + 6, width = output_width();
    const size_t room = width > column + MEANING ? width - column - 2 : MEANING;
    if (w.values + MEANING > room) w.values = room / 2;
    printf("%s: ", cj_family_name(family));
    output_wrapped(cj_family_summary(family), strlen(cj_family_name(family)) + 2);
    printf("  %-*s  %-*s  %-*s  meaning\n", (int)w.name, "parameter", (int)w.initial, "default", (int)w.values,
           "values");
    for (size_t i = 0; i < cj_family_param_count(family); i++) {
        const cj_param_info *info = cj_family_param(family, i);
        char                 values[VALUES], help[HELP];
        snprintf(help, sizeof help, "%s", info->help);
        if (info->tune) snprintf(help, sizeof help, "%s; tune tries %s", info->help, info->tune);
        printf("  %-*s  %-*s  ", (int)w.name, info->name, (int)w.initial, info->initial);
        print_beside(args_values(info, values, sizeof values), w.values, help, room - w.values, column);
    }
}

// A number as JSON number; "auto" or another word as string.
static json_t *json_initial(const cj_param_info *info) {
    uint64_t    whole;
    double      real;
    const char *end = info->real ? cj_real_read(info->initial, &real) : cj_number_read(info->initial, &whole);
    if (info->choices || info->function || info->reals || !end || *end) return json_string(info->initial);
    return info->real ? output_json_real(real) : output_json_uint(whole);
}

static json_t *json_param(const cj_param_info *info) {
    if (info->choices)
        return json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", info->name, "type", "choice", "choices",
                         output_json_words(info->choices), "default", info->initial, "help", info->help);
    if (info->function)
        return json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", info->name, "type", "function", "arguments",
                         output_json_words(info->function), "default", info->initial, "help", info->help);
    if (info->real || info->reals)
        return json_pack("{s:s, s:s, s:o, s:s}", "name", info->name, "type", info->real ? "real" : "reals", "default",
                         json_initial(info), "help", info->help);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s}", "name", info->name, "type", "number", "minimum",
                     output_json_uint(info->minimum), "maximum", output_json_uint(info->maximum), "multiple",
                     output_json_uint(info->multiple), "default", json_initial(info), "help", info->help);
}

static json_t *json_families(const cj_family *only) {
    json_t *families = json_array();
    for (size_t i = 0; i < cj_family_count(); i++) {
        const cj_family *family = cj_family_at(i);
        if (only && family != only) continue;
        json_t          *params = json_array();
        for (size_t k = 0; k < cj_family_param_count(family); k++) {
            const cj_param_info *info = cj_family_param(family, k);
            json_t              *param = json_param(info);
            if (info->tune) json_object_set_new(param, "tune", output_json_words(info->tune));
            json_array_append_new(params, param);
        }
        json_array_append_new(families, json_pack("{s:s, s:s, s:o}", "name", cj_family_name(family), "summary",
                                                  cj_family_summary(family), "parameters", params));
    }
    return families;
}

int cmd_list(int argc, char **argv) {
    list_options o = {0};
    args_parse(&list_spec, argc, argv, &o, NULL);
    if (o.json) return output_json(json_pack("{s:o}", "families", json_families(o.family)));
    if (o.family) return print_family(o.family), CODE_OK;
    for (size_t i = 0; i < cj_family_count(); i++) {
        if (i) putchar('\n');
        print_family(cj_family_at(i));
    }
    return CODE_OK;
}
