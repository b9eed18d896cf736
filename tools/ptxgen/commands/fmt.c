// SPDX-License-Identifier: Apache-2.0
#include "args.h"
#include "command.h"
#include "cuda.h"
#include "finding.h"
#include "message.h"
#include "output.h"

#include <clusterjit/ptx.h>

typedef struct fmt_options {
    const char  *path, *output;
    cuda_options cuda;
} fmt_options;

enum { KEY_OUTPUT = 'o' };

static const args_option options[] = {
    {.name = "output",
     .key = KEY_OUTPUT,
     .arg = "FILE",
     .doc = "Write FILE instead of standard output; it appears whole or not at all, and may be the file read"},
    CUDA_ARCH_OPTION,
    CUDA_OPTIONS,
    {0},
};

static int set(void *user, int key, char *value) {
    fmt_options *o = user;
    if (key == KEY_OUTPUT) o->output = value;
    cuda_set(&o->cuda, key, value);
    return CODE_OK;
}

static int take(void *user, char *word) {
    fmt_options *o = user;
    if (o->path) return message_error(CJ_INVALID_ARGUMENT, "'%s' is one file too many; one is printed at a time", word);
    o->path = word;
    return CODE_OK;
}

const args_spec fmt_spec = {
    .doc = "Prints a PTX file in the layout of 'emit', comments kept; '-' is standard input. The instructions stay the "
           "same, and so does what ptxas makes of them. Of CUDA C++ (.cu) it prints what NVRTC makes of it.",
    .options = options,
    .set = set,
    .words = "FILE",
    .files = "ptx",
    .take = take,
    .examples = "ptxgen fmt kernel.ptx",
};

static int format(document *d, const char *output) {
    cj_diagnostic binary;
    cj_error      error;
    char         *text;
    size_t        length;
    if (document_is_binary(d, &binary)) {
        finding_print(stderr, d, &(finding){.what = binary});
        return CODE_WRONG;
    }
    if (cj_format_ptx(d->text, d->length, &text, &length, &error)) return finding_refuse(d, &error);
    int code = output_save(output, text, length);
    cj_text_free(text);
    return code;
}

int cmd_fmt(int argc, char **argv) {
    fmt_options o = {.output = "-"};
    document    d;
    args_parse(&fmt_spec, argc, argv, &o, NULL);
    int code = o.path ? cuda_read(&d, o.path, &o.cuda, o.cuda.arch ? o.cuda.arch : "sm_90a")
                      : message_error(CJ_INVALID_ARGUMENT, "which file? '-' is standard input");
    if (!code) {
        code = format(&d, o.output);
        document_free(&d);
    }
    cuda_free(&o.cuda);
    return code;
}
