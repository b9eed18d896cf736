// SPDX-License-Identifier: Apache-2.0
// --help: a command's usage, what it does, and its options, in lines of the terminal's width.
#ifndef PTXGEN_ARGS_HELP_H
#define PTXGEN_ARGS_HELP_H

#include "args_table.h"

// How much of a usage line stands before "[OPTION...]": the first word, if it names a family, whose parameters are options, too.
size_t args_before_options(const char *words);

// The words of the usage lines beside "[OPTION...]": lines with '\n' between them; "" without words.
const char *args_usage(const args_spec *spec, const cj_family *family);

// `name` is what the user typed: "ptxgen run reduce".
void args_print_help(const args_spec *spec, const args_table *t, const char *name, const cj_family *family);

#endif
