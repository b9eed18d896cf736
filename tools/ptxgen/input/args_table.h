// SPDX-License-Identifier: Apache-2.0
// All options of a command in the order of its help: a family's parameters, the command's own, those of every command.
// The parser, the help, the manual pages and the completion read this table.
#ifndef PTXGEN_ARGS_TABLE_H
#define PTXGEN_ARGS_TABLE_H

#include "args.h"

enum {
    ARGS_HELP = 'h',
    ARGS_VERSION = 'V',
    ARGS_PARAM = 0x1000,  // parameter i of the family has the key ARGS_PARAM + i
    ARGS_COLOUR = 0x2000,
    ARGS_OPTION_MAX = 2 * CJ_PARAM_MAX + 48,
    ARGS_DOC_SIZE = 384,
    ARGS_VALUE_SIZE = 64,
};

typedef struct args_table {
    args_option option[ARGS_OPTION_MAX];
    size_t      count, params;  // the first `params` options are the family's parameters
    size_t      last;           // of the option that was added last
    char        docs[CJ_PARAM_MAX][ARGS_DOC_SIZE], values[CJ_PARAM_MAX][ARGS_VALUE_SIZE];
} args_table;

// With `family` NULL there are no parameters. The table borrows the strings of both.
void args_table_fill(args_table *t, const args_spec *spec, const cj_family *family);

const char *args_heading(args_group group);

// The option that a word names, whole or by an unambiguous beginning; NULL: none. *other, if not NULL: the name is
// ambiguous, and this is another option that begins so.
const args_option *args_table_find(const args_table *t, const char *name, size_t length, const args_option **other);

// The option with this short form; NULL: none.
const args_option *args_table_letter(const args_table *t, char letter);

#endif
