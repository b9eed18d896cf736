// SPDX-License-Identifier: Apache-2.0
// The subcommands. Each parses its own arguments (argv[0] is its name) and returns the exit code.
#ifndef PTXGEN_COMMAND_H
#define PTXGEN_COMMAND_H

#include "args.h"

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const args_spec *spec;  // the form that the command has without a kernel family, if it has two
    const char *summary;
} command;

int cmd_list(int argc, char **argv);
int cmd_emit(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_exec(int argc, char **argv);
int cmd_run_program(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_contract(int argc, char **argv);
int cmd_occupancy(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_fmt(int argc, char **argv);
int cmd_rules(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_isa(int argc, char **argv);
int cmd_cache(int argc, char **argv);
int cmd_info(int argc, char **argv);

extern const args_spec list_spec, emit_spec, run_spec, bench_spec, compare_spec, tune_spec,
    exec_spec, run_program_spec, check_spec, contract_spec, occupancy_spec, probe_spec,
    fmt_spec, rules_spec, explain_spec, isa_spec, cache_spec, info_spec;

#endif
