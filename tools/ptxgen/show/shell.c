// SPDX-License-Identifier: Apache-2.0
#include "shell.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

void shell_put_quoted(FILE *to, const char *word) {
    bool control = false;
    for (const char *c = word; *c; c++) control |= iscntrl((unsigned char)*c) != 0;
    fputs(control ? "$'" : "'", to);
    for (const char *c = word; *c; c++)
        if (control && iscntrl((unsigned char)*c))
            fprintf(to, "\\%03o", (unsigned)(unsigned char)*c);
        else if (control && (*c == '\'' || *c == '\\'))
            fprintf(to, "\\%c", *c);
        else if (*c == '\'')
            fputs("'\\''", to);  // ends the quotes, adds a quoted quote, opens them again
        else
            putc(*c, to);
    putc('\'', to);
}

void shell_put(FILE *to, const char *word) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._/:,=+@%";
    if (*word && !word[strspn(word, plain)])
        fputs(word, to);
    else
        shell_put_quoted(to, word);
}
