// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "command.h"
#include "fill.h"
#include "message.h"
#include "run_workload.h"
#include "seeds.h"

enum { KEY_ARCH = ARGS_LONG_ONLY, KEY_CHUNKS, KEY_COLLECTIVE, KEY_DEVICE, KEY_FILL, KEY_GPUS, KEY_INPUT, KEY_JSON, KEY_MINIMIZE, KEY_OUTPUT, KEY_REPEAT };

static const args_option options[] = {
    ARGS_ARCH(KEY_ARCH, "Generate for this target, sm_90a, or that of a part, h200 (default: the device's newest)"),
    {.name = "chunks",
     .key = KEY_CHUNKS,
     .arg = "N",
     .doc = "gemm with --gpus: the collective goes in N chunks, each beside the next one's product (default: as many as are predicted best)"},
    {.name = "collective",
     .key = KEY_COLLECTIVE,
     .arg = "reduce-scatter|all-gather",
     .doc = "gemm with --gpus: reduce-scatter of the products, or all-gather of the rows before them (default reduce-scatter)"},
    {.name = "device",
     .key = KEY_DEVICE,
     .arg = "auto|gpu|gpu:N|cpu",
     .doc = "Where to run; auto takes a GPU with clusters, else the CPU device (default auto)"},
    {.name = "fill", .key = KEY_FILL, .arg = "SPEC", .doc = "Make up the input: " FILL_HELP " (default: the family's)"},
    {.name = "gpus",
     .key = KEY_GPUS,
     .arg = "N|env",
     .doc = "reduce, histogram and gemm: on N GPUs of this process, or (env) as the ranks that a launcher has started; each GPU has "
            "data of its own, and the results are combined"},
    {.name = "input",
     .key = KEY_INPUT,
     .arg = "FILE",
     .doc = "Read the input from FILE.npy, from FILE.f32 (or .f64, .i32, …: raw, little-endian), or, for -, from "
            "standard input; --n, --rows and --columns and their like are then those of its array unless they are given"},
    {.name = "json",
     .key = KEY_JSON,
     .doc = "Print JSON; NaN and infinities become strings, and so do integers above 2^63-1"},
    {.name = "minimize",
     .key = KEY_MINIMIZE,
     .group = ARGS_CPU,
     .doc = "Shrink the numbers among the parameters, the problem's sizes first of all, as far as the failure "
            "stays: a hazard of the same rule, or a wrong result, under some schedule; show the smallest problem as a command"},
    {.name = "output",
     .key = KEY_OUTPUT,
     .arg = "FILE.npy",
     .doc = "Write what the kernel has written: its result to FILE.npy, and what else there is (indices, gradients, "
            "statistics) to FILE.NAME.npy; types that numpy does not have become f32"},
    {.name = "repeat",
     .key = KEY_REPEAT,
     .arg = "N",
     .doc = "Time N launches after a first one, check all, show the median (default 10, on the CPU device 1)"},
    MACHINE_OPTIONS,
    {0},
};

static int set(void *user, int key, char *value) {
    run_options *o = user;
    switch (key) {
    case KEY_ARCH: o->arch = value; break;
    case KEY_CHUNKS: o->chunks = args_number("--chunks", value, 1, 1 << 20); break;
    case KEY_COLLECTIVE: o->collective = value; break;
    case KEY_DEVICE: o->device = value; break;
    case KEY_GPUS: o->gpus = value; break;
    case KEY_FILL: o->fill = value; break;
    case KEY_INPUT: o->input = value; break;
    case KEY_JSON: o->json = true; break;
    case KEY_MINIMIZE: o->minimize = true; break;
    case KEY_OUTPUT: o->output = value; break;
    case KEY_REPEAT: o->repeat = args_number("--repeat", value, 1, 100000); break;
    default: machine_set(&o->machine, key, value); break;
    }
    return CODE_OK;
}

const args_spec run_spec = {
    .doc =
        "Generates a kernel of FAMILY, launches it on a device, and checks what it gives against a result computed on "
        "the host.",
    .options = options,
    .set = set,
    .params = true,
    .examples = "ptxgen run reduce --cluster 4\nptxgen run softmax --rows 8 --columns 1000 --dtype bf16 --input x.npy --output y.npy",
};

int cmd_run(int argc, char **argv) {
    run_options o = {.device = "auto", .words = {argc, argv}};
    args_family family;
    args_parse(&run_spec, argc, argv, &o, &family);
    o.arch = args_target(o.arch, family.params.family);
    if (o.input && o.fill) return message_error(CJ_INVALID_ARGUMENT, "--input and --fill exclude each other");
    if (o.minimize && o.input)
        return message_error(CJ_INVALID_ARGUMENT, "--minimize changes the problem's sizes, and --input gives them\n"
                                                  "make the input up with --fill");
    if (seeds_are_several(&o.machine) && o.input && !strcmp(o.input, "-"))
        return message_error(CJ_INVALID_ARGUMENT, "--schedule gives several seeds, and standard input can be read once\n"
                                                  "give the input as a file, or one seed");
    int code = run_workload(&o, &family);
    args_family_free(&family);
    return code;
}
