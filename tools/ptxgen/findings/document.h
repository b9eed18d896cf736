// SPDX-License-Identifier: Apache-2.0
// A text that a command reads as a whole: a file or standard input.
#ifndef PTXGEN_DOCUMENT_H
#define PTXGEN_DOCUMENT_H

#include <clusterjit/check.h>
#include <stdbool.h>

typedef struct document {
    const char    *name;      // as messages show it
    char          *own_name;  // the same, where it is the document's
    char       *text;  // owned, NUL-terminated
    size_t      length;
    const char *line_at;  // the line that was asked for last, so that a walk downwards is one pass
    unsigned    line;
    struct origin *origin;  // what it was compiled from (origin.h); NULL: nobody has asked
    void (*free_origin)(struct origin *origin);  // set with it
} document;

// Reads `path`, "-" for standard input. Returns an exit code.
int  document_read(document *d, const char *path);
int  document_copy(document *d, const char *text);  // copies a text in memory; the name must be set already
void document_free(document *d);

// Whether it contains a byte that no text has (a NUL, a control character). Then *finding says which and where.
bool document_is_binary(const document *d, cj_diagnostic *finding);

// The bytes of a line, counted from 1, without its end; NULL if the text has no such line.
const char *document_line(document *d, unsigned line, size_t *length);

#endif
