// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_one_of(const char *option, const char *const *words) {
    while (*words && strcmp(option, *words)) words++;
    return *words;
}

// The value of an option that names the architecture, in `option` itself ("-arch=sm_90") or, after "-arch", in the next
// one; NULL: this option is another.
static const char *architecture(const char *option, const char *before) {
    static const char *const names[] = {"-arch", "--gpu-architecture", "-gpu-architecture", "--arch", NULL};
    if (before && is_one_of(before, names)) return option;
    for (size_t i = 0; names[i]; i++) {
        const size_t length = strlen(names[i]);
        if (!strncmp(option, names[i], length) && option[length] == '=') return option + length + 1;
    }
    return NULL;
}

// A copy, in which "sm_" at `value` has become "compute_".
static char *copy(const char *option, const char *value, bool machine) {
    static const char from[] = "sm_", to[] = "compute_";
    char             *text = malloc(strlen(option) + sizeof to);
    if (text && machine)
        sprintf(text, "%.*s%s%s", (int)(value - option), option, to, value + strlen(from));
    else if (text)
        strcpy(text, option);
    return text;
}

bool cj__options_rewrite(cj_options *o, int count, const char *const *given) {
    static const char        lines[] = "-lineinfo";
    static const char *const with_lines[] = {lines, "--generate-line-info", "-G", "--device-debug", NULL};
    bool                     has_lines = false, ok = true;
    *o = (cj_options){.item = calloc((size_t)count + 1, sizeof *o->item)};
    if (!o->item) return false;
    for (int i = 0; i < count && ok; i++) {
        const char *value = architecture(given[i], i ? given[i - 1] : NULL);
        const bool  machine = value && !strncmp(value, "sm_", 3);
        o->item[o->count++] = copy(given[i], value, machine);
        o->machine |= machine;
        has_lines |= is_one_of(given[i], with_lines);
        ok = o->item[i];
    }
    if (ok && !has_lines) ok = (o->item[o->count++] = copy(lines, NULL, false)) != NULL;
    if (!ok) cj__options_free(o);
    return ok;
}

void cj__options_free(cj_options *o) {
    for (int i = 0; o->item && i < o->count; i++) free(o->item[i]);
    free(o->item);
    *o = (cj_options){0};
}
