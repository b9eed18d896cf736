// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "args.h"
#include "assembler.h"
#include "check_run.h"
#include "command.h"
#include "cuda.h"
#include "message.h"
#include "minimize.h"
#include "output.h"
#include "sarif.h"

typedef struct check_options {
    char          **path;
    size_t          count;
    const char     *arch;
    bool            json, ptxas, run;
    bool            run_only;  // an option was given that only --run uses
    launch_options  launch;
    machine_options machine;
    cuda_options    cuda;
    const char     *sarif;
    bool            minimize;
    repeat          words;
} check_options;

enum { LIMIT = 1000 };  // million thread instructions a launch: default arguments may make a kernel wait forever

enum { KEY_ARCH = ARGS_LONG_ONLY, KEY_JSON, KEY_PTXAS, KEY_RUN, KEY_SARIF, KEY_MINIMIZE };

static const args_option options[] = {
    ARGS_ARCH(KEY_ARCH, "Hold the file against this target, sm_90a, or that of a part, h200, not its own .target; CUDA C++ is "
                        "compiled for it (default sm_90a)"),
    {.name = "ptxas",
     .key = KEY_PTXAS,
     .doc = "Assemble it as well, with ptxas or nvJitLink, and show what that says in its place"},
    {.name = "json", .key = KEY_JSON, .doc = "Print JSON"},
    SARIF_OPTION(KEY_SARIF),
    {.name = "run",
     .key = KEY_RUN,
     .doc =
         "Run it as well, on the CPU device with hazards watched, and show what is found. What is not given of the "
         "launch is made up where the kernel tells it: one cluster, blocks as .reqntid or .maxntid says, buffers of 8 "
         "MiB of zeros, integers 1024, floats 1. It is stopped after 1000 million thread instructions unless --limit "
         "says otherwise"},
    MINIMIZE_OPTION(KEY_MINIMIZE),
    LAUNCH_OPTIONS("every one", "one cluster", "as the kernel says", "0; needed where the kernel uses it"),
    MACHINE_OPTIONS,
    CUDA_OPTIONS,
    {0},
};

static int set(void *user, int key, char *value) {
    check_options *o = user;
    if (key == KEY_ARCH) o->arch = args_target(value, NULL);
    if (key == KEY_JSON) o->json = true;
    if (key == KEY_PTXAS) o->ptxas = true;
    if (key == KEY_RUN) o->run = true;
    if (key == KEY_SARIF) o->sarif = value;
    if (key == KEY_MINIMIZE) o->minimize = o->run_only = true;
    cuda_set(&o->cuda, key, value);
    o->run_only |= launch_set(&o->launch, key, value) || machine_set(&o->machine, key, value);
    return CODE_OK;
}

static int take(void *user, char *word) {
    check_options *o = user;
    o->path[o->count++] = word;  // the array has room for every word of the command line
    return CODE_OK;
}

const args_spec check_spec = {
    .doc =
        "Holds PTX files, or CUDA C++ (.cu), against the rules ('ptxgen rules' explains them); '-' is standard input. "
        "Exit code 0: no errors, though there may be warnings; 1: errors, or hazards with --run.",
    .options = options,
    .set = set,
    .words = "FILE...",
    .files = "ptx cu",
    .take = take,
    .examples = "ptxgen check kernel.ptx\nptxgen check --run kernel.ptx --schedule seed:1..20\nptxgen check --sarif findings.sarif *.ptx",
};

// The totals over all files.
typedef struct totals {
    size_t  errors, warnings;
    json_t *array;     // NULL: findings are printed as text
    json_t *launches;  // of --run, beside it
    int     trouble;   // that --run had: an exit code
    sarif   sarif;
} totals;

static void show(totals *t, document *d, findings *found) {
    const size_t all = found->count;
    if (!t->array) findings_merge(found, d);
    for (size_t i = 0; i < found->count; i++) {
        const finding *what = &found->item[i];
        sarif_add(&t->sarif, d, what);
        if (t->array)
            json_array_append_new(t->array, finding_json(d, what));
        else if (!sarif_is_output(&t->sarif))
            finding_print(stdout, d, what);
    }
    t->errors += found->errors;
    t->warnings += all - found->errors;
}

static int add_report(const cj_report *report, findings *found) {
    int code = CODE_OK;
    for (size_t i = 0; i < cj_report_count(report) && !code; i++)
        code = findings_add(found, &(finding){.what = *cj_report_at(report, i)});
    return code;
}

// Adds the findings of the rules and of the assembler; *report owns the strings of the rules' findings.
static int find_static(const check_options *o, const assembler *tool, document *d, cj_report **report,
                       assembly *assembled, findings *found) {
    cj_check_options rules = {CJ_INIT(rules), .arch = o->arch};
    cj_error         error;
    if (cj_check_ptx(d->text, d->length, &rules, report, &error)) return message_failure(&error);
    int code = add_report(*report, found);
    if (!code && o->ptxas) code = assembler_run(tool, d, o->arch, assembled, found);
    return code;
}

static int run_document(const check_options *o, document *d, bool has_errors, totals *t) {
    check_run r = {.launches = t->launches, .words = o->words, .minimize = o->minimize};
    findings  found = {0};
    int       code = check_run_document(&r, &o->launch, &o->machine, d, has_errors);
    int       kept = check_run_findings(&r, d, &found);
    show(t, d, &found);
    findings_free(&found);
    check_run_free(&r);
    return code ? code : kept;
}

static int check_document(const check_options *o, const assembler *tool, document *d, totals *t) {
    findings      found = {0};
    assembly      assembled = {0};
    cj_report    *report = NULL;
    cj_diagnostic binary;
    bool          is_binary = document_is_binary(d, &binary);
    int           code = is_binary ? findings_add(&found, &(finding){.what = binary})
                                   : find_static(o, tool, d, &report, &assembled, &found);
    findings_sort(&found);
    show(t, d, &found);
    bool has_errors = found.errors > 0;
    findings_free(&found);
    assembly_free(&assembled);
    cj_report_destroy(report);
    if (!o->run || code || is_binary) return code;
    int trouble = run_document(o, d, has_errors, t);
    if (!t->trouble) t->trouble = trouble;
    return CODE_OK;
}

static int check_path(const check_options *o, const assembler *tool, const char *path, totals *t) {
    document d;
    int      code = cuda_read(&d, path, &o->cuda, o->arch ? o->arch : "sm_90a");
    if (code) return code;
    code = check_document(o, tool, &d, t);
    document_free(&d);
    return code;
}

// Prints "2 errors, 1 warning"; nothing if there are none.
static void print_summary(const totals *t) {
    if (!t->errors && !t->warnings) return;
    fflush(stdout);
    if (t->errors) fprintf(stderr, "%zu error%s", t->errors, t->errors == 1 ? "" : "s");
    if (t->errors && t->warnings) fputs(", ", stderr);
    if (t->warnings) fprintf(stderr, "%zu warning%s", t->warnings, t->warnings == 1 ? "" : "s");
    putc('\n', stderr);
}

static int print_totals(const check_options *o, totals *t) {
    if (!o->json) {
        print_summary(t);
        return CODE_OK;
    }
    json_t *all = json_pack("{s:O, s:I, s:I}", "findings", t->array, "errors", (json_int_t)t->errors, "warnings",
                            (json_int_t)t->warnings);
    if (t->launches) json_object_set(all, "launches", t->launches);
    return output_json(all);
}

// After a failure with one file the others are still checked; the exit code is the first failure's.
static int check_all(const check_options *o, const assembler *tool) {
    totals t = {.array = o->json ? json_array() : NULL, .launches = o->json && o->run ? json_array() : NULL};
    int    trouble = sarif_begin(&t.sarif, o->sarif, o->json);
    for (size_t i = 0; i < o->count && trouble != CODE_USAGE; i++) {
        int code = check_path(o, tool, o->path[i], &t);
        if (!trouble) trouble = code;
    }
    int printed = trouble == CODE_USAGE ? CODE_OK : print_totals(o, &t);
    json_decref(t.array);
    json_decref(t.launches);
    trouble = trouble ? trouble : t.trouble ? t.trouble : printed;
    trouble = sarif_end(&t.sarif, trouble);
    return trouble ? trouble : t.errors ? CODE_WRONG : CODE_OK;
}

int cmd_check(int argc, char **argv) {
    check_options o = {
        .path = calloc((size_t)argc, sizeof *o.path),
        .words = {argc, argv},
        .machine = {.cpu = {CJ_INIT(cj_cpu_options), .hazards = true, .instruction_limit = LIMIT * UINT64_C(1000000)},
                    .aside = true}};
    if (!o.path) return message_error(CJ_OUT_OF_MEMORY, "no memory for the names of the files");
    args_parse(&check_spec, argc, argv, &o, NULL);
    assembler tool;
    int       code = CODE_OK;
    if (!o.count) code = message_error(CJ_INVALID_ARGUMENT, "which file? '-' is standard input");
    if (!code && o.run_only && !o.run)
        code = message_error(CJ_INVALID_ARGUMENT,
                             "an option of the launch was given, but the file is only read\nadd --run");
    if (!code && o.ptxas) code = assembler_find(&tool);
    if (!code) code = check_all(&o, &tool);
    arguments_free(&o.launch.arguments);
    cuda_free(&o.cuda);
    free(o.path);
    return code;
}
