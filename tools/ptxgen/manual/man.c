// SPDX-License-Identifier: Apache-2.0
// man: manual pages, from the tables of the commands.
#define _POSIX_C_SOURCE 200809L
#include "man.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "args_help.h"
#include "message.h"
#include "output.h"
#include "roff.h"

typedef struct man_options {
    const char *headers, *directory, *page;
} man_options;

enum { KEY_HEADERS = ARGS_LONG_ONLY, KEY_OUTPUT = 'o', PATH = 4096 };

static const args_option options[] = {
    {.name = "headers",
     .key = KEY_HEADERS,
     .arg = "DIR",
     .doc = "The directory of the public headers, clusterjit.h among them: write clusterjit(3) from them, too"},
    {.name = "output", .key = KEY_OUTPUT, .arg = "DIR", .doc = "Write all pages there, in man1 and man3"},
    {0},
};

static int set(void *user, int key, char *value) {
    man_options *o = user;
    if (key == KEY_HEADERS) o->headers = value;
    if (key == KEY_OUTPUT) o->directory = value;
    return CODE_OK;
}

static int take(void *user, char *word) {
    man_options *o = user;
    if (o->page) return message_error(CJ_INVALID_ARGUMENT, "'%s' is one page too many", word);
    o->page = word;
    return CODE_OK;
}

const args_spec man_spec = {
    .doc = "Prints the manual page of COMMAND, or of ptxgen itself, or with --headers that of the library, for 'man -l "
           "-'; "
           "with --output writes all of them. They are made of the tables that --help is printed from.",
    .options = options,
    .set = set,
    .words = "[COMMAND]",
    .take = take,
    .examples = "ptxgen man check | man -l -",
};

// ---- sections

static void write_usage(FILE *to, const char *name, const char *words) {
    roff_section(to, "SYNOPSIS");
    for (const char *separator = ""; *words || !*separator; separator = ".br\n") {
        const size_t length = strcspn(words, "\n"), before = args_before_options(words);
        fprintf(to, "%s\\fBptxgen %s\\fR\n", separator, name);
        if (before) roff_text_of(to, words, before);
        roff_text(to, "[OPTION...]");
        if (length > before) roff_text_of(to, words + before, length - before);
        words += length + (words[length] == '\n');
    }
}

static void write_option(FILE *to, const args_option *option) {
    const char letter[] = {'-', (char)option->key, '\0'};
    char       name[64];
    roff_tag(to);
    if (option->key < ARGS_LONG_ONLY) roff_piece(to, 'B', letter), fputs(", ", to);
    for (const args_option *each = option; each == option || each->alias; each++) {
        snprintf(name, sizeof name, "--%s", each->name);
        if (each != option) fputs(", ", to);
        roff_piece(to, 'B', name);
        if (each->arg) putc('=', to), roff_piece(to, 'I', each->arg);
    }
    roff_tag_end(to);
    roff_text(to, option->doc);
}

static void write_options(FILE *to, const args_option *from, const args_option *end, void (*write_heading)(FILE *to, const char *title)) {
    for (const args_option *option = from; option < end; option++) {
        if (option->group != (option == from ? ARGS_GENERAL : option[-1].group)) write_heading(to, args_heading(option->group));
        if (!option->alias) write_option(to, option);
    }
}

// Below a subsection.
static void write_title(FILE *to, const char *title) {
    roff_paragraph(to);
    roff_piece(to, 'B', title);
    putc('\n', to);
}

static void write_families(FILE *to, const args_spec *spec) {
    args_table table;
    roff_section(to, "KERNEL FAMILIES");
    for (size_t i = 0; i < cj_family_count(); i++) {
        const cj_family *family = cj_family_at(i);
        args_table_fill(&table, spec, family);
        roff_subsection(to, cj_family_name(family));
        roff_text(to, cj_family_summary(family));
        write_options(to, table.option, table.option + table.params, write_title);
    }
}

static void write_codes(FILE *to) {
    static const struct {
        const char *code, *text;
    } codes[] = {
#define CJ_X(name, code, text) {#code, text},
        CODE_LIST(CJ_X)
#undef CJ_X
    };
    roff_section(to, "EXIT STATUS");
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        roff_tag(to);
        roff_piece(to, 'B', codes[i].code);
        roff_tag_end(to);
        roff_text(to, codes[i].text);
    }
}

static void write_examples(FILE *to, const char *line) {
    if (!line) return;
    roff_section(to, "EXAMPLES");
    for (const char *separator = ""; *line; separator = ".PP\n") {
        char         one[256];
        const size_t length = strcspn(line, "\n");
        snprintf(one, sizeof one, "%.*s", (int)length, line);
        fputs(separator, to);
        roff_piece(to, 'B', one);
        putc('\n', to);
        line += length + (line[length] == '\n');
    }
}

// ---- pages

static void write_command(FILE *to, const command *c) {
    args_table table;
    char       name[64];
    snprintf(name, sizeof name, "ptxgen-%s", c->name);
    roff_begin(to, name, 1, c->summary);
    write_usage(to, c->name, args_usage(c->spec, NULL));
    roff_section(to, "DESCRIPTION");
    roff_text(to, c->spec->doc);
    args_table_fill(&table, c->spec, NULL);
    roff_section(to, "OPTIONS");
    if (c->spec->params)
        roff_text(to, "The parameters of FAMILY are options, too: ptxgen-list(1) has those of every family.");
    write_options(to, table.option, table.option + table.count, roff_subsection);
    if (!strcmp(c->name, "list")) write_families(to, c->spec);
    write_codes(to);
    write_examples(to, c->spec->examples);
    roff_section(to, "SEE ALSO");
    roff_text(to, c->spec->params ? "ptxgen(1), ptxgen-list(1), clusterjit(3)" : "ptxgen(1), clusterjit(3)");
}

static void write_all_commands(FILE *to, const command *commands) {
    char name[64];
    roff_begin(to, "ptxgen", 1, "kernels for NVIDIA thread block clusters, as PTX");
    write_usage(to, "COMMAND", "");
    roff_section(to, "DESCRIPTION");
    roff_text(
        to,
        "Kernels for NVIDIA thread block clusters: written as PTX, checked, launched on a GPU or on the CPU device.");
    roff_section(to, "COMMANDS");
    for (const command *c = commands; c->name; c++) {
        roff_tag(to);
        snprintf(name, sizeof name, "ptxgen-%s", c->name);
        roff_piece(to, 'B', name);
        fputs("(1)", to);
        roff_tag_end(to);
        roff_text(to, c->summary);
    }
    roff_section(to, "JSON");
    roff_text(to, OUTPUT_JSON_HELP);
    write_codes(to);
    man_environment(to);
    roff_section(to, "FILES");
    roff_tag(to);
    roff_piece(to, 'I', "~/.cache/clusterjit");
    roff_tag_end(to);
    roff_text(to,
              "Compiled kernels, and in tuning-1.txt the choices of 'ptxgen tune'; CLUSTERJIT_CACHE_DIR names another "
              "directory.");
    roff_section(to, "SEE ALSO");
    roff_text(to, "clusterjit(3)");
}

// ---- the command

// Writes one page: of a command, of ptxgen (`c` is NULL), or of the library (`headers` is not NULL).
static int write_page(const command *commands, const command *c, const char *headers, const char *path) {
    char  *text = NULL;
    size_t length;
    int    code = CODE_OK;
    FILE  *to = open_memstream(&text, &length);
    if (!to) return message_error(CJ_OUT_OF_MEMORY, "no memory for a manual page");
    if (headers)
        code = man_library(to, headers);
    else if (c)
        write_command(to, c);
    else
        write_all_commands(to, commands);
    if (fclose(to) && !code) code = message_error(CJ_OUT_OF_MEMORY, "no memory for a manual page");
    if (!code) code = output_save(path, text, length);
    free(text);
    return code;
}

static int make_directory(const char *directory, const char *name) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (!mkdir(path, 0777) || errno == EEXIST) return CODE_OK;
    return message_error(CJ_FILE, "cannot make the directory '%s': %s", path, strerror(errno));
}

static int write_pages(const command *commands, const man_options *o) {
    char path[PATH];
    int  code = make_directory(o->directory, "man1");
    snprintf(path, sizeof path, "%s/man1/ptxgen.1", o->directory);
    if (!code) code = write_page(commands, NULL, NULL, path);
    for (const command *c = commands; c->name && !code; c++) {
        snprintf(path, sizeof path, "%s/man1/ptxgen-%s.1", o->directory, c->name);
        code = write_page(commands, c, NULL, path);
    }
    if (code || !o->headers) return code;
    snprintf(path, sizeof path, "%s/man3/clusterjit.3", o->directory);
    code = make_directory(o->directory, "man3");
    return code ? code : write_page(commands, NULL, o->headers, path);
}

int man_run(const command *commands, int argc, char **argv) {
    man_options    o = {0};
    const command *c = commands;
    args_parse(&man_spec, argc, argv, &o, NULL);
    if (o.page && (o.directory || o.headers))
        return message_error(CJ_INVALID_ARGUMENT, "a page is named, and --output or --headers asks for others");
    if (o.directory) return write_pages(commands, &o);
    while (o.page && c->name && strcmp(c->name, o.page)) c++;
    if (!c->name)
        return message_error(CJ_INVALID_ARGUMENT, "unknown command '%s'\n'ptxgen help' lists the commands", o.page);
    return write_page(commands, o.page ? c : NULL, o.headers, "-");
}
