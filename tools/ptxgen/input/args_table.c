// SPDX-License-Identifier: Apache-2.0
#include "args_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHOICES_SIZE = 256 };

// ---- the values of a parameter, in words

// Large powers of two, and one less, are easier to read in this form.
static const char *limit_text(uint64_t value, char *buffer, size_t size) {
    uint64_t odd = value & 1;  // 2^31-1 is compared with 2^31
    int      power = 20;
    while (power < 63 && UINT64_C(1) << power < value + odd) power++;
    if (UINT64_C(1) << power == value + odd)
        snprintf(buffer, size, "2^%d%s", power, odd ? "-1" : "");
    else
        snprintf(buffer, size, "%" PRIu64, value);
    return buffer;
}

static void join_words(const char *words, const char *separator, char *buffer, size_t size) {
    size_t used = 0;
    buffer[0] = '\0';
    for (const char *word = words; *word && used < size;) {
        size_t length = strcspn(word, " ");
        int    wrote = snprintf(buffer + used, size - used, "%s%.*s", used ? separator : "", (int)length, word);
        used += (size_t)wrote;
        word += length + strspn(word + length, " ");
    }
}

const char *args_values(const cj_param_info *info, char *buffer, size_t size) {
    if (info->choices) {
        join_words(info->choices, ", ", buffer, size);
        return buffer;
    }
    if (info->function) {
        char names[ARGS_VALUE_SIZE];
        join_words(info->function, ", ", names, sizeof names);
        snprintf(buffer, size, *names ? "CUDA C of %s" : "CUDA C, a constant%s", names);
        return buffer;
    }
    if (info->real || info->reals) {
        snprintf(buffer, size, info->real ? "any number" : "numbers with commas");
        return buffer;
    }
    char low[24], high[24], multiple[48] = "";
    if (info->multiple > 1) snprintf(multiple, sizeof multiple, ", a multiple of %" PRIu64, info->multiple);
    snprintf(buffer, size, "%s%s..%s%s", info->automatic ? "auto or " : "", limit_text(info->minimum, low, sizeof low),
             limit_text(info->maximum, high, sizeof high), multiple);
    return buffer;
}

// ---- filling

const char *args_heading(args_group group) {
    static const char *const headings[] = {"Parameters of the problem", "Parameters that the plan chooses by default", "Options",
                                           "Options of the launch", "Options of the CPU device", "Options of CUDA C++",
                                           "Options of every command"};
    return headings[group - ARGS_PROBLEM];
}

static bool comes_before(const args_option *a, const args_option *b) {
    return a->group != b->group ? a->group < b->group : strcmp(a->name, b->name) < 0;
}

// In the order of groups, and in each by name; names of one option stay together.
static size_t place_of(const args_table *t, const args_option *option) {
    if (option->alias) return t->last + 1;
    size_t at = 0;
    while (at < t->count && (t->option[at].alias || comes_before(&t->option[at], option))) at++;
    return at;
}

static void add_option(args_table *t, const args_option *option) {
    if (t->count + 1 >= ARGS_OPTION_MAX) return;
    const size_t at = place_of(t, option);
    memmove(&t->option[at + 1], &t->option[at], (t->count - at) * sizeof *t->option);
    t->option[at] = *option;
    t->last = at;
    t->count++;
}

static void add_param(args_table *t, const cj_param_info *info, size_t i) {
    char  allowed[CHOICES_SIZE];
    char *value = t->values[i], *doc = t->docs[i];
    args_values(info, allowed, sizeof allowed);
    if (info->choices) {
        join_words(info->choices, "|", value, ARGS_VALUE_SIZE);
        const bool fits = strlen(value) + 1 < ARGS_VALUE_SIZE;
        if (!fits) snprintf(value, ARGS_VALUE_SIZE, "WORD");
        snprintf(doc, ARGS_DOC_SIZE, "%s (%s%sdefault %s)", info->help, fits ? "" : allowed, fits ? "" : "; ",
                 info->initial);
    } else if (info->function) {
        snprintf(value, ARGS_VALUE_SIZE, "EXPRESSION");
        snprintf(doc, ARGS_DOC_SIZE, "%s (%s)", info->help, allowed);
    } else {
        snprintf(value, ARGS_VALUE_SIZE, "NUMBER");
        snprintf(doc, ARGS_DOC_SIZE, "%s (%s; default %s)", info->help, allowed, info->initial);
    }
    const args_group group = info->tune || info->automatic ? ARGS_PLAN : ARGS_PROBLEM;
    add_option(t, &(args_option){.name = info->name, .key = ARGS_PARAM + (int)i, .arg = value, .doc = doc, .group = group});
}

static const args_option every[] = {
    {.name = "color",
     .key = ARGS_COLOUR,
     .arg = "auto|always|never",
     .doc = "Colours; auto: on a terminal, unless NO_COLOR is set (default auto)",
     .group = ARGS_EVERY},
    {.name = "help", .key = ARGS_HELP, .doc = "Show this help", .group = ARGS_EVERY},
    {.name = "version", .key = ARGS_VERSION, .doc = "Show the version", .group = ARGS_EVERY},
};

// A family's parameter is in the place of a command's option with the same name.
static bool is_param(const cj_family *family, const char *name) {
    for (size_t i = 0; family && i < cj_family_param_count(family); i++)
        if (!strcmp(cj_family_param(family, i)->name, name)) return true;
    return false;
}

void args_table_fill(args_table *t, const args_spec *spec, const cj_family *family) {
    t->count = t->last = 0;
    for (size_t i = 0; family && i < cj_family_param_count(family); i++) add_param(t, cj_family_param(family, i), i);
    t->params = t->count;
    for (const args_option *option = spec->options; option && option->name; option++)
        if (!is_param(family, option->name)) add_option(t, option);
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) add_option(t, &every[i]);
    t->option[t->count] = (args_option){0};
}

// ---- finding

const args_option *args_table_find(const args_table *t, const char *name, size_t length, const args_option **other) {
    const args_option *found = NULL;
    *other = NULL;
    for (const args_option *option = t->option; option->name; option++) {
        if (strncmp(option->name, name, length)) continue;
        if (!option->name[length]) return *other = NULL, option;
        if (!found)
            found = option;
        else if (found->key != option->key)
            *other = option;
    }
    return found;
}

const args_option *args_table_letter(const args_table *t, char letter) {
    for (const args_option *option = t->option; option->name; option++)
        if (option->key < ARGS_LONG_ONLY && option->key == letter) return option;
    return NULL;
}
