// SPDX-License-Identifier: Apache-2.0
#include "args_help.h"

#include <stdio.h>
#include <string.h>

#include "output.h"

enum { LETTER_COLUMN = 2, NAME_COLUMN = 6, DOC_COLUMN = 29 };

const char *args_usage(const args_spec *spec, const cj_family *family) {
    if (spec->params && family) return "";
    if (spec->words) return spec->words;
    return spec->params ? "FAMILY [--PARAMETER=VALUE...]" : "";
}

size_t args_before_options(const char *words) {
    const size_t length = strcspn(words, " \n");
    return length >= strlen("FAMILY") && !strncmp(words + length - strlen("FAMILY"), "FAMILY", strlen("FAMILY")) ? length : 0;
}

static void print_usage(const char *name, const char *words) {
    const char *begin = "Usage:";
    do {
        const size_t length = strcspn(words, "\n"), before = args_before_options(words);
        printf("%s %s%s%.*s [OPTION...]%s%.*s\n", begin, name, before ? " " : "", (int)before, words,
               length > before && !before ? " " : "", (int)(length - before), words + before);
        words += length + (words[length] == '\n');
        begin = "  or: ";
    } while (*words);
}

// Prints "-o, --output=FILE", with all names of the option; returns the column after it.
static size_t print_names(const args_option *option) {
    const bool letter = option->key < ARGS_LONG_ONLY;
    size_t     at = NAME_COLUMN;
    if (letter)
        printf("%*s-%c, ", LETTER_COLUMN, "", option->key);
    else
        printf("%*s", NAME_COLUMN, "");
    for (const args_option *name = option; name == option || name->alias; name++)
        at += (size_t)printf("%s--%s%s%s", name == option ? "" : ", ", name->name, name->arg ? "=" : "",
                             name->arg ? name->arg : "");
    return at;
}

static void print_option(const args_option *option) {
    const size_t at = print_names(option);
    if (at + 1 > DOC_COLUMN)
        printf("\n%*s", DOC_COLUMN, "");
    else
        printf("%*s", (int)(DOC_COLUMN - at), "");
    output_wrapped(option->doc, DOC_COLUMN);
}

static void print_examples(const char *line) {
    puts("\nExamples:");
    while (*line) {
        const size_t length = strcspn(line, "\n");
        printf("  %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

void args_print_help(const args_spec *spec, const args_table *t, const char *name, const cj_family *family) {
    print_usage(name, args_usage(spec, family));
    output_wrapped(spec->doc, 0);
    for (size_t i = 0; i < t->count; i++) {
        const args_option *option = &t->option[i];
        if (i == 0 || option->group != option[-1].group) printf("\n%s:\n", args_heading(option->group));
        if (!option->alias) print_option(option);
    }
    if (spec->examples) print_examples(spec->examples);
}
