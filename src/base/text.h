// SPDX-License-Identifier: Apache-2.0
// A growing string. After a failed allocation later calls do nothing.
#ifndef CJ_BASE_TEXT_H
#define CJ_BASE_TEXT_H

#include <clusterjit/base.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct cj_text {
    char  *data;  // NUL-terminated once anything was added; malloc'ed
    size_t length, capacity;
    bool   failed;
} cj_text;

void cj__text_add(cj_text *text, const char *bytes, size_t length);
void cj__text_puts(cj_text *text, const char *string);
void cj__text_printf(cj_text *text, const char *format, ...) CJ_PRINTF(2, 3);
void cj__text_quoted(cj_text *text, const char *word);               // as one word of a shell command
void cj__text_json(cj_text *text, const char *string);               // as a string of JSON, in its quotes
void cj__text_pad(cj_text *text, size_t line_start, size_t column);  // blanks up to `column` bytes after line_start
void cj__text_free(cj_text *text);

#endif
