// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"

static bool reserve(cj_text *text, size_t more) {
    if (text->failed) return false;
    size_t need = text->length + more + 1;
    if (need <= text->capacity) return true;
    size_t capacity = text->capacity ? text->capacity : 1024;
    while (capacity < need) capacity *= 2;
    char *data = cj__realloc(text->data, text->capacity, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void cj__text_add(cj_text *text, const char *bytes, size_t length) {
    if (!reserve(text, length)) return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

// Bytes above ASCII go through, as UTF-8.
void cj__text_json(cj_text *text, const char *string) {
    cj__text_puts(text, "\"");
    for (const char *at = string; *at; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\')
            cj__text_printf(text, "\\%c", byte);
        else if (byte < ' ')
            cj__text_printf(text, "\\u%04x", byte);
        else
            cj__text_add(text, at, 1);
    }
    cj__text_puts(text, "\"");
}

void cj__text_pad(cj_text *text, size_t line_start, size_t column) {
    size_t end = line_start + column;
    if (text->length >= end || !reserve(text, end - text->length)) return;
    memset(text->data + text->length, ' ', end - text->length);
    text->length = end;
    text->data[end] = '\0';
}

void cj__text_quoted(cj_text *text, const char *word) {
    cj__text_add(text, "'", 1);
    for (const char *end; (end = strchr(word, '\'')); word = end + 1) {
        cj__text_add(text, word, (size_t)(end - word));
        cj__text_add(text, "'\\''", 4);  // ends the quotes, adds a quoted quote, opens them again
    }
    cj__text_add(text, word, strlen(word));
    cj__text_add(text, "'", 1);
}

void cj__text_puts(cj_text *text, const char *string) { cj__text_add(text, string, strlen(string)); }

void cj__text_printf(cj_text *text, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void cj__text_free(cj_text *text) {
    cj__free(text->data);
    *text = (cj_text){0};
}
