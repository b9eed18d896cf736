// SPDX-License-Identifier: Apache-2.0
#include "document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

// Far larger than any PTX, and small enough that reading /dev/zero ends with a message.
static const size_t length_limit = (size_t)1 << 30;

static int cannot_read(const document *d, int number) {
    return message_error(CJ_FILE, "cannot read '%s': %s", d->name, strerror(number));
}

static int read_all(document *d, FILE *file) {
    for (size_t capacity = 0;;) {
        if (d->length + 1 >= capacity) {
            capacity = capacity ? 2 * capacity : 65536;
            char *grown = realloc(d->text, capacity);
            if (!grown) return message_error(CJ_OUT_OF_MEMORY, "no memory to read '%s'", d->name);
            d->text = grown;
        }
        size_t got = fread(d->text + d->length, 1, capacity - 1 - d->length, file);
        if (ferror(file)) return cannot_read(d, errno);
        d->length += got;
        if (d->length > length_limit)
            return message_error(CJ_FILE, "'%s' is longer than the %zu MiB that are read", d->name, length_limit >> 20);
        if (got == 0) break;
    }
    d->text[d->length] = '\0';
    return CODE_OK;
}

int document_read(document *d, const char *path) {
    bool standard = strcmp(path, "-") == 0;
    *d = (document){.name = standard ? "<stdin>" : path};
    FILE *file = standard ? stdin : fopen(path, "rb");
    if (!file) return cannot_read(d, errno);
    int code = read_all(d, file);
    if (file != stdin) fclose(file);
    if (code)
        document_free(d);
    else
        message_document(d->name);
    return code;
}

int document_copy(document *d, const char *text) {
    d->length = strlen(text);
    d->text = malloc(d->length + 1);
    if (!d->text) return message_error(CJ_OUT_OF_MEMORY, "no memory for %zu bytes of PTX", d->length);
    memcpy(d->text, text, d->length + 1);
    return CODE_OK;
}

void document_free(document *d) {
    if (d->origin) d->free_origin(d->origin);
    free(d->text);
    if (d->own_name) message_document(NULL);
    free(d->own_name);
    *d = (document){0};
}

static bool is_text(unsigned char byte) { return byte >= ' ' || (byte >= '\t' && byte <= '\r'); }

// Whether all bytes are text, without the position of one that is not: compilers vectorize this loop.
static bool all_text(const char *text, size_t length) {
    unsigned char other = 0;
    for (size_t i = 0; i < length; i++) other |= (unsigned char)!is_text((unsigned char)text[i]);
    return !other;
}

bool document_is_binary(const document *d, cj_diagnostic *finding) {
    const char *line_start = d->text, *end = d->text + d->length, *at = d->text;
    unsigned    line = 1;
    if (all_text(d->text, d->length)) return false;
    for (; at < end && is_text((unsigned char)*at); at++) {
        if (*at != '\n') continue;
        line++;
        line_start = at + 1;
    }
    bool object = d->length > 4 && memcmp(d->text, "\177ELF", 4) == 0;
    *finding = (cj_diagnostic){
        .severity = CJ_SEVERITY_ERROR,
        .rule = "syntax",
        .line = line,
        .column = (unsigned)(at - line_start) + 1,
        .message = *at ? "a control character stands here: this is not PTX, which is text"
                       : "a NUL byte stands here: this is not PTX, which is text",
        .hint = object ? "this is an object file or a cubin; 'cuobjdump -ptx' extracts the PTX of one that has some"
                       : "",
    };
    if (object) {
        finding->line = finding->column = 0;
        finding->message = "this is an ELF file, not PTX, which is text";
    }
    return true;
}

const char *document_line(document *d, unsigned line, size_t *length) {
    const char *end = d->text + d->length;
    if (!d->line_at || line < d->line) {
        d->line_at = d->text;
        d->line = 1;
    }
    for (; d->line < line; d->line++) {
        const char *stop = memchr(d->line_at, '\n', (size_t)(end - d->line_at));
        if (!stop) return NULL;
        d->line_at = stop + 1;
    }
    if (!line || d->line_at == end) return NULL;
    const char *stop = memchr(d->line_at, '\n', (size_t)(end - d->line_at));
    if (!stop) stop = end;
    if (stop > d->line_at && stop[-1] == '\r') stop--;
    *length = (size_t)(stop - d->line_at);
    return d->line_at;
}
