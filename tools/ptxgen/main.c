// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include <clusterjit/log.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "complete.h"
#include "explain.h"
#include "man.h"
#include "message.h"
#include "near.h"
#include "output.h"

static int cmd_help(int argc, char **argv);
static int cmd_man(int argc, char **argv);
static int cmd_complete(int argc, char **argv);

static const args_spec help_spec = {
    .doc = "Shows how COMMAND is used, and with FAMILY the parameters of that kernel family, too; alone the list of commands.",
    .words = "[COMMAND [FAMILY]]",
    .examples = "ptxgen help run reduce",
};

static const command commands[] = {
    {"list", cmd_list, &list_spec, "the kernel families, their parameters, defaults and ranges"},
    {"emit", cmd_emit, &emit_spec, "write a kernel's PTX"},
    {"run", cmd_run, &run_spec, "generate a kernel, launch it, check its result"},
    {"bench", cmd_bench, &bench_spec, "measure a kernel: time, spread, share of what the device's memory allows"},
    {"compare", cmd_compare, &compare_spec, "whether a cluster pays: the same problem without clusters and with each size"},
    {"tune", cmd_tune, &tune_spec, "measure the plans that a problem could have, and keep the fastest for later kernels"},
    {"exec", cmd_exec, &exec_spec, "run an entry of any PTX file, with hazards watched"},
    {"run-program", cmd_run_program, &run_program_spec, "run a CUDA program as it is on the CPU device, with hazards watched"},
    {"check", cmd_check, &check_spec, "hold PTX files against the rules"},
    {"contract", cmd_contract, &contract_spec, "whether the driver would launch a kernel, and every rule that it breaks"},
    {"occupancy", cmd_occupancy, &occupancy_spec, "how many blocks and clusters of a kernel a GPU holds, and which cluster size to take"},
    {"probe", cmd_probe, &probe_spec, "measure what clusters cost and bring on this GPU: latency, throughput, barriers, exchange"},
    {"fmt", cmd_fmt, &fmt_spec, "print a PTX file in our layout"},
    {"rules", cmd_rules, &rules_spec, "the rules of PTX, each with an example"},
    {"explain", cmd_explain, &explain_spec, "what the name in brackets of a message means: cause, example, cure"},
    {"isa", cmd_isa, &isa_spec, "the instructions that are known, and what they need"},
    {"cache", cmd_cache, &cache_spec, "the disk cache of compiled kernels: look at it, verify it, clear it"},
    {"info", cmd_info, &info_spec, "the device, its limits, the driver and the compilers found"},
    {"man", cmd_man, &man_spec, "the manual pages"},
    {"complete", cmd_complete, &complete_spec, "what the last word of a command line may become, for shells"},
    {"help", cmd_help, &help_spec, "how to use a command"},
    {0},
};

static void print_help(FILE *to) {
    fputs("Usage: ptxgen COMMAND [ARGUMENT...]\n"
          "Kernels for NVIDIA thread block clusters: written as PTX, checked, launched on a GPU or on the CPU "
          "device.\n\n",
          to);
    for (const command *c = commands; c->name; c++) fprintf(to, "  %-11s  %s\n", c->name, c->summary);
    fputs("\n'ptxgen help COMMAND' shows a command's options, 'ptxgen help run FAMILY' a kernel family's parameters "
          "too.\n"
          OUTPUT_JSON_HELP "\nExit codes:", to);
#define CJ_X(name, code, text) fprintf(to, "%s %d %s", CODE_##name == CODE_OK ? "" : ",", code, text);
    CODE_LIST(CJ_X)
#undef CJ_X
    fputs(".\n", to);
}

static int unknown_command(const char *name) {
    nearest near = {.word = name};
    for (const command *c = commands; c->name; c++) near_offer(&near, c->name);
    if (near.name)
        return message_error(CJ_INVALID_ARGUMENT, "unknown command '%s'\ndid you mean '%s'? 'ptxgen help' lists the commands",
                             name, near.name);
    return message_error(CJ_INVALID_ARGUMENT, "unknown command '%s'\n'ptxgen help' lists the commands", name);
}

static int run_command(int argc, char **argv) {
    for (const command *c = commands; c->name; c++)
        if (strcmp(argv[0], c->name) == 0) return c->run(argc, argv);
    return unknown_command(argv[0]);
}

// `ptxgen help run reduce` is `ptxgen run reduce --help`.
static int cmd_help(int argc, char **argv) {
    if (argc < 2 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return CODE_OK;
    }
    char option[] = "--help", *words[] = {argv[1], argc > 2 ? argv[2] : option, argc > 2 ? option : NULL, NULL};
    return run_command(argc > 2 ? 3 : 2, words);
}

static int cmd_man(int argc, char **argv) { return man_run(commands, argc, argv); }

static int cmd_complete(int argc, char **argv) { return complete_run(commands, argc, argv); }

static int early_option(int argc, char **argv) {
    const char *family = args_family_among(argc, argv);
    const int   length = (int)strcspn(argv[0], "=");
    for (int k = 1; k < argc; k++)
        for (const command *c = commands; c->name; c++)
            if (!strcmp(argv[k], c->name))
                return message_error(CJ_INVALID_ARGUMENT, "'%.*s' stands before the command '%s'\nthe command comes first: "
                                     "ptxgen %s%s%s %.*s", length, argv[0], argv[k], argv[k], family ? " " : "",
                                     family ? family : "", length, argv[0]);
    return message_error(CJ_INVALID_ARGUMENT, "'%.*s' stands where a command is wanted\nthe command comes first: "
                         "ptxgen %s %s %.*s", length, argv[0], family ? "run" : "COMMAND", family ? family : "[FAMILY]",
                         length, argv[0]);
}

static int run_word(int argc, char **argv) {
    const char *word = argv[0];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help(stdout);
        return CODE_OK;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        args_print_version();
        return CODE_OK;
    }
    return word[0] == '-' && word[1] ? early_option(argc, argv) : run_command(argc, argv);
}

// Whether --json is among the arguments: then mistakes are JSON, too.
static bool asks_for_json(int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--json")) return true;
    return false;
}

int main(int argc, char **argv) {
    cj_log_set(message_log, NULL);
    const bool json = asks_for_json(argc, argv);
    if (json) atexit(output_json_failure);
    signal(SIGPIPE, SIG_DFL);  // a reader may close the pipe early, even if a parent ignores the signal
    if (argc < 2) {
        print_help(stderr);
        return CODE_USAGE;
    }
    const int code = run_word(argc - 1, argv + 1);
    if (message_first()) explain_note(message_first()->rule);
    if (!json) explain_hint(stderr);
    return output_finish(code);
}
