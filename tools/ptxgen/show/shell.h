// SPDX-License-Identifier: Apache-2.0
// Words of a command line as a shell reads them.
#ifndef PTXGEN_SHELL_H
#define PTXGEN_SHELL_H

#include <stdio.h>

// Writes one word in quotes, with any characters in it. Words with control characters, which messages show escaped, are
// quoted as $'…'.
void shell_put_quoted(FILE *to, const char *word);

// The same, without quotes where the word needs none.
void shell_put(FILE *to, const char *word);

#endif
