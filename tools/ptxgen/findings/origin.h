// SPDX-License-Identifier: Apache-2.0
// The source that a document of PTX was compiled from: which place of it a line comes from, and its text, where it can be read.
#ifndef PTXGEN_ORIGIN_H
#define PTXGEN_ORIGIN_H

#include <jansson.h>

#include "document.h"

typedef struct origin origin;

// The place that a line of the PTX comes from; NULL: the PTX does not say it. It lives as long as the document.
const cj_source *origin_of(document *d, unsigned line);

// A file of the source, by the name that the PTX has for it; NULL where it cannot be read.
document *origin_file(document *d, const char *name);

// The text of that file, which needs not be read; it is copied. Returns an exit code.
int origin_give(document *d, const char *name, const char *text);

// The file that was given last: of a document that was compiled here, its source.
const char *origin_main(document *d);

// A file's name as it is shown: without the working directory.
const char *origin_name(const char *file);

// {file, line, column, function, inlined_at}, or null.
json_t *origin_json(const cj_source *source);

#endif
