// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/contract.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "message.h"
#include "output.h"

typedef struct emit_options {
    const char *arch, *output;
} emit_options;

enum { KEY_ARCH = ARGS_LONG_ONLY, KEY_OUTPUT = 'o' };

static const args_option options[] = {
    ARGS_ARCH(KEY_ARCH, "The target, as ptxas names it, or a part, h200 (default sm_90; gemm: sm_90a)"),
    {.name = "output",
     .key = KEY_OUTPUT,
     .arg = "FILE",
     .doc = "Write FILE instead of standard output; it appears whole or not at all"},
    {0},
};

static int set(void *user, int key, char *value) {
    emit_options *o = user;
    if (key == KEY_ARCH) o->arch = value;
    if (key == KEY_OUTPUT) o->output = value;
    return CODE_OK;
}

const args_spec emit_spec = {
    .doc =
        "Writes the PTX of a kernel of FAMILY, planned for a target with that target's usual limits. No GPU is needed.",
    .options = options,
    .set = set,
    .params = true,
    .examples = "ptxgen emit reduce --cluster 4\nptxgen emit gemm --m 4096 --n 4096 --k 4096 --arch h200 -o gemm.ptx",
};

int cmd_emit(int argc, char **argv) {
    emit_options o = {.output = "-"};
    args_family  family;
    args_parse(&emit_spec, argc, argv, &o, &family);

    const char *arch = args_target(o.arch, family.params.family);
    cj_limits   limits;
    cj_plan     plan;
    char       *text;
    size_t      length;
    cj_error    error;
    bool        failed = cj_limits_named(o.arch ? o.arch : "sm_90", &limits, &error) ||
                  cj_plan_make(&family.params, &limits, arch, &plan, &error) ||
                  cj_plan_emit(&plan, &text, &length, &error);
    args_family_free(&family);
    if (failed) return message_failure(&error);
    if (plan.note[0]) message_note(plan.note);
    int code = output_save(o.output, text, length);
    cj_text_free(text);
    return code;
}
