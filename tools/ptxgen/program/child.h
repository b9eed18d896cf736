// SPDX-License-Identifier: Apache-2.0
// A program as a child of the command: its input and output are the command's, and so are the signals.
#ifndef PTXGEN_CHILD_H
#define PTXGEN_CHILD_H

#include <stdbool.h>

typedef struct child_variable {
    const char *name, *value;  // value NULL: the variable stays as it is
} child_variable;

typedef struct child {
    const char           *path;
    char                **words;      // argv, with the program's name, ended by NULL
    const child_variable *variables;  // ended by a name NULL
    bool                  redirect;   // its standard output goes to standard error
} child;

typedef struct child_end {
    int code;    // of exit; if a signal ended it, 0
    int signal;  // 0: none
} child_end;

// Runs it to its end; meanwhile the command passes on the signals that other processes send. Returns an exit code.
int child_run(const child *c, child_end *end);

// "11 (Segmentation fault)": returns `buffer`.
enum { CHILD_SIGNAL = 64 };
const char *child_signal(int number, char buffer[CHILD_SIGNAL]);

#endif
