// SPDX-License-Identifier: Apache-2.0
#include "finding.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"

int findings_add(findings *f, const cj_diagnostic *what) {
    if (f->count == f->capacity) {
        size_t   capacity = f->capacity ? 2 * f->capacity : 16;
        finding *grown = realloc(f->item, capacity * sizeof *grown);
        if (!grown) return message_error(CJ_OUT_OF_MEMORY, "no memory for %zu findings", capacity);
        f->item = grown;
        f->capacity = capacity;
    }
    f->item[f->count] = (finding){.what = *what, .order = f->count};
    f->count++;
    f->errors += what->severity == CJ_SEVERITY_ERROR;
    return CODE_OK;
}

static int by_line(const void *a, const void *b) {
    const finding *left = a, *right = b;
    if (left->what.line != right->what.line) return left->what.line < right->what.line ? -1 : 1;
    return left->order < right->order ? -1 : left->order > right->order;
}

void findings_sort(findings *f) {
    if (f->count) qsort(f->item, f->count, sizeof *f->item, by_line);
}

void findings_free(findings *f) {
    free(f->item);
    *f = (findings){0};
}

// One character in a form that is safe for a terminal: a byte that is no character, or controls a terminal, becomes
// '?'.
typedef struct cell {
    const char *bytes;
    size_t      size, columns;  // a tab takes several columns
} cell;

enum { TAB = 8, WIDTH = 120, NEAR = 4 * WIDTH };  // NEAR bytes are WIDTH characters at least

// Reads the character at `at`, which will be printed in `column`; returns how many bytes it has.
static size_t next_cell(const char *at, const char *end, size_t column, cell *c) {
    if (*at == '\t') {
        *c = (cell){.bytes = " ", .size = 1, .columns = TAB - column % TAB};
        return 1;
    }
    size_t length = output_character(at, (size_t)(end - at));
    *c = length ? (cell){.bytes = at, .size = length, .columns = 1} : (cell){.bytes = "?", .size = 1, .columns = 1};
    return length ? length : 1;
}

static size_t columns_between(const char *from, const char *to) {
    size_t column = 0;
    cell   c;
    for (const char *at = from; at < to; column += c.columns) at += next_cell(at, to, column, &c);
    return column;
}

// Prints the columns [left, right) of a text.
static void print_columns(FILE *to, const char *from, const char *end, size_t left, size_t right) {
    size_t column = 0;
    for (const char *at = from; at < end && column < right;) {
        cell c;
        at += next_cell(at, end, column, &c);
        for (size_t stop = column + c.columns; column < stop; column++)
            if (column >= left && column < right) fwrite(c.bytes, 1, c.size, to);
    }
}

static void print_clean(FILE *to, const char *text) { print_columns(to, text, text + strlen(text), 0, SIZE_MAX); }

// Cuts a long line on both sides; shows the part around the caret.
static void print_source(FILE *to, const char *line, size_t length, unsigned column) {
    static const char cut[] = "...";
    size_t            caret = column ? column - 1 : 0;
    if (caret > length) caret = length;
    const char *from = caret > NEAR ? line + caret - NEAR : line;
    const char *end = length - caret > NEAR ? line + caret + NEAR : line + length;
    size_t      at = columns_between(from, line + caret), total = columns_between(from, end);
    size_t      left = total > WIDTH && at > WIDTH / 2 ? at - WIDTH / 2 : 0;

    fputs(left ? cut : "", to);
    print_columns(to, from, end, left, left + WIDTH);
    fputs(total > left + WIDTH ? cut : "", to);
    putc('\n', to);
    if (!column) return;
    fprintf(to, "%*s%s^%s\n", (int)(at - left + (left ? sizeof cut - 1 : 0)), "", message_colour(to, COLOUR_GREEN),
            message_colour(to, COLOUR_NONE));
}

static const struct {
    const char *name, *colour;
} severities[] = {
    [CJ_SEVERITY_ERROR] = {"error", COLOUR_RED},
    [CJ_SEVERITY_WARNING] = {"warning", COLOUR_YELLOW},
};

void finding_print(FILE *to, document *d, const cj_diagnostic *what) {
    const char *none = message_colour(to, COLOUR_NONE);
    fputs(message_colour(to, COLOUR_BOLD), to);
    print_clean(to, d->name);
    if (what->line) fprintf(to, ":%u", what->line);
    if (what->line && what->column) fprintf(to, ":%u", what->column);
    fprintf(to, ":%s %s%s:%s ", none, message_colour(to, severities[what->severity].colour),
            severities[what->severity].name, none);
    print_clean(to, what->message);
    fprintf(to, " [%s]\n", what->rule);

    size_t      length;
    const char *line = document_line(d, what->line, &length);
    if (line) print_source(to, line, length, what->column);
    if (!what->hint[0]) return;
    fprintf(to, "%shint:%s ", message_colour(to, COLOUR_CYAN), none);
    print_clean(to, what->hint);
    putc('\n', to);
}

json_t *finding_json(const document *d, const cj_diagnostic *what) {
    return json_pack("{s:o, s:i, s:i, s:s, s:s, s:o, s:o}", "file", output_json_text(d->name), "line", (int)what->line,
                     "column", (int)what->column, "severity", severities[what->severity].name, "rule", what->rule,
                     "message", output_json_text(what->message), "hint", output_json_text(what->hint));
}

int finding_refuse(document *d, const cj_error *error) {
    if (error->status != CJ_INVALID_KERNEL) return message_failure(error);
    finding_print(stderr, d,
                  &(cj_diagnostic){.severity = CJ_SEVERITY_ERROR,
                                   .rule = error->rule,
                                   .line = error->line,
                                   .column = error->column,
                                   .message = error->message,
                                   .hint = error->hint});
    return CODE_WRONG;
}
