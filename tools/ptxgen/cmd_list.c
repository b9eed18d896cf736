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

static const struct argp_option options[] = {
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {0},
};

static int set(void *user, int key, char *value) {
    (void)value;
    if (key == KEY_JSON) *(bool *)user = true;
    return CODE_OK;
}

static const args_spec spec = {
    .doc = "Lists the kernel families and their parameters: what 'emit' and 'run' take.",
    .options = options,
    .set = set,
};

enum { VALUES = 64, HELP = 512 };

// Columns as wide as their longest entry.
typedef struct widths {
    size_t name, initial, values;
} widths;

static void widen(size_t *width, const char *text) {
    if (strlen(text) > *width) *width = strlen(text);
}

static void print_family(const cj_family *family) {
    widths w = {sizeof "parameter" - 1, sizeof "default" - 1, sizeof "values" - 1};
    char   values[VALUES];
    size_t count = cj_family_param_count(family);
    for (size_t i = 0; i < count; i++) {
        const cj_param_info *info = cj_family_param(family, i);
        widen(&w.name, info->name);
        widen(&w.initial, info->initial);
        widen(&w.values, args_values(info, values, sizeof values));
    }
    printf("%s: %s\n", cj_family_name(family), cj_family_summary(family));
    printf("  %-*s  %-*s  %-*s  meaning\n", (int)w.name, "parameter", (int)w.initial, "default", (int)w.values,
           "values");
    for (size_t i = 0; i < count; i++) {
        const cj_param_info *info = cj_family_param(family, i);
        printf("  %-*s  %-*s  %-*s  ", (int)w.name, info->name, (int)w.initial, info->initial, (int)w.values,
               args_values(info, values, sizeof values));
        char help[HELP];
        snprintf(help, sizeof help, "%s", info->help);
        if (info->tune) snprintf(help, sizeof help, "%s; tune tries %s", info->help, info->tune);
        output_wrapped(help, w.name + w.initial + w.values + 8);
    }
}

static json_t *json_param(const cj_param_info *info) {
    if (info->choices)
        return json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", info->name, "type", "choice", "choices",
                         output_json_words(info->choices), "default", info->initial, "help", info->help);
    if (info->function)
        return json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", info->name, "type", "function", "arguments",
                         output_json_words(info->function), "default", info->initial, "help", info->help);
    if (info->real || info->reals)
        return json_pack("{s:s, s:s, s:s, s:s}", "name", info->name, "type", info->real ? "real" : "reals", "default", info->initial, "help",
                         info->help);
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:s}", "name", info->name, "type", "number", "minimum",
                     output_json_uint(info->minimum), "maximum", output_json_uint(info->maximum), "multiple",
                     output_json_uint(info->multiple), "default", info->initial, "help", info->help);
}

static json_t *json_families(void) {
    json_t *families = json_array();
    for (size_t i = 0; i < cj_family_count(); i++) {
        const cj_family *family = cj_family_at(i);
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
    bool json = false;
    args_parse(&spec, argc, argv, &json, NULL);
    if (json) return output_json(json_pack("{s:o}", "families", json_families()));
    for (size_t i = 0; i < cj_family_count(); i++) {
        if (i) putchar('\n');
        print_family(cj_family_at(i));
    }
    return CODE_OK;
}
