// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "args.h"
#include "assembler.h"
#include "command.h"
#include "message.h"
#include "output.h"

typedef struct check_options {
    char      **path;
    size_t      count;
    const char *arch;
    bool        json, ptxas;
} check_options;

enum { KEY_ARCH = ARGS_LONG_ONLY, KEY_JSON, KEY_PTXAS };

static const struct argp_option options[] = {
    {.name = "arch", .key = KEY_ARCH, .arg = "TARGET", .doc = "Hold the file against this target, not its own .target"},
    {.name = "ptxas",
     .key = KEY_PTXAS,
     .doc = "Assemble it as well, with ptxas or nvJitLink, and show what that says in its place"},
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    {0},
};

static int set(void *user, int key, char *value) {
    check_options *o = user;
    if (key == KEY_ARCH) o->arch = value;
    if (key == KEY_JSON) o->json = true;
    if (key == KEY_PTXAS) o->ptxas = true;
    return CODE_OK;
}

static int take(void *user, char *word) {
    check_options *o = user;
    o->path[o->count++] = word;  // there is room for every word of the command line
    return CODE_OK;
}

static const args_spec spec = {
    .doc = "Holds PTX files against the rules ('ptxgen rules' explains them); '-' is standard input. Exit code 0: no "
           "errors, though there may be warnings; 1: errors.",
    .options = options,
    .set = set,
    .words = "FILE...",
    .take = take,
};

// What all files came to.
typedef struct totals {
    size_t  errors, warnings;
    json_t *array;  // NULL: findings are printed as text
} totals;

static void show(totals *t, document *d, const findings *found) {
    for (size_t i = 0; i < found->count; i++) {
        const cj_diagnostic *what = &found->item[i].what;
        if (t->array)
            json_array_append_new(t->array, finding_json(d, what));
        else
            finding_print(stdout, d, what);
    }
    t->errors += found->errors;
    t->warnings += found->count - found->errors;
}

static int add_report(const cj_report *report, findings *found) {
    int code = CODE_OK;
    for (size_t i = 0; i < cj_report_count(report) && !code; i++) code = findings_add(found, cj_report_at(report, i));
    return code;
}

static int check_document(const check_options *o, const assembler *tool, document *d, totals *t) {
    cj_check_options rules = {.arch = o->arch};
    findings         found = {0};
    assembly         assembled = {0};
    cj_report       *report = NULL;
    cj_diagnostic    binary;
    cj_error         error;
    int              code = CODE_OK;
    if (document_is_binary(d, &binary))
        code = findings_add(&found, &binary);
    else if (cj_check_ptx(d->text, d->length, &rules, &report, &error))
        code = message_failure(&error);
    else if (!(code = add_report(report, &found)) && o->ptxas)
        code = assembler_run(tool, d, o->arch, &assembled, &found);
    findings_sort(&found);
    show(t, d, &found);
    findings_free(&found);
    assembly_free(&assembled);
    cj_report_destroy(report);
    return code;
}

static int check_path(const check_options *o, const assembler *tool, const char *path, totals *t) {
    document d;
    int      code = document_read(&d, path);
    if (code) return code;
    code = check_document(o, tool, &d, t);
    document_free(&d);
    return code;
}

// "2 errors, 1 warning"; nothing where there is nothing to say.
static void print_summary(const totals *t) {
    if (!t->errors && !t->warnings) return;
    fflush(stdout);
    if (t->errors) fprintf(stderr, "%zu error%s", t->errors, t->errors == 1 ? "" : "s");
    if (t->errors && t->warnings) fputs(", ", stderr);
    if (t->warnings) fprintf(stderr, "%zu warning%s", t->warnings, t->warnings == 1 ? "" : "s");
    putc('\n', stderr);
}

// Trouble with one file does not keep the others from being checked, but is what the exit code tells.
static int check_all(const check_options *o, const assembler *tool) {
    totals t = {.array = o->json ? json_array() : NULL};
    int    trouble = CODE_OK;
    for (size_t i = 0; i < o->count && trouble != CODE_USAGE; i++) {
        int code = check_path(o, tool, o->path[i], &t);
        if (!trouble) trouble = code;
    }
    if (!o->json) {
        print_summary(&t);
    } else if (trouble == CODE_USAGE) {
        json_decref(t.array);
    } else {
        int code = output_json(json_pack("{s:o, s:I, s:I}", "findings", t.array, "errors", (json_int_t)t.errors,
                                         "warnings", (json_int_t)t.warnings));
        if (!trouble) trouble = code;
    }
    return trouble ? trouble : t.errors ? CODE_WRONG : CODE_OK;
}

int cmd_check(int argc, char **argv) {
    check_options o = {.path = calloc((size_t)argc, sizeof *o.path)};
    if (!o.path) return message_error(CJ_OUT_OF_MEMORY, "no memory for the names of the files");
    args_parse(&spec, argc, argv, &o, NULL);
    assembler tool;
    int       code = CODE_OK;
    if (!o.count) code = message_error(CJ_INVALID_ARGUMENT, "which file? '-' is standard input");
    if (!code && o.ptxas) code = assembler_find(&tool);
    if (!code) code = check_all(&o, &tool);
    free(o.path);
    return code;
}
