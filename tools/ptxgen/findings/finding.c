// SPDX-License-Identifier: Apache-2.0
#include "finding.h"

#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "message.h"
#include "origin.h"
#include "output.h"

int findings_add(findings *f, const finding *what) {
    if (f->count == f->capacity) {
        size_t   capacity = f->capacity ? 2 * f->capacity : 16;
        finding *grown = realloc(f->item, capacity * sizeof *grown);
        if (!grown) return message_error(CJ_OUT_OF_MEMORY, "no memory for %zu findings", capacity);
        f->item = grown;
        f->capacity = capacity;
    }
    f->item[f->count] = *what;
    f->item[f->count].order = f->count;
    f->count++;
    f->errors += what->what.severity == CJ_SEVERITY_ERROR;
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

// Of one place, or both unknown.
static bool is_same_place(const cj_source *a, const cj_source *b) {
    if (!a || !b) return a == b;
    return a->line == b->line && !strcmp(a->file, b->file);
}

static bool is_same_hazard(document *d, const finding *a, const finding *b) {
    const cj_source *source = origin_of(d, a->what.line);
    return source && a->other_what && b->other_what && !strcmp(a->what.rule, b->what.rule) && !a->other == !b->other &&
           is_same_place(source, origin_of(d, b->what.line)) &&
           is_same_place(origin_of(d, a->other), origin_of(d, b->other));
}

void findings_merge(findings *f, document *d) {
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        size_t same = 0;
        while (same < kept && !is_same_hazard(d, &f->item[same], &f->item[i])) same++;
        if (same < kept)
            f->item[same].more++;
        else
            f->item[kept++] = f->item[i];
    }
    f->count = kept;
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

// NAME:LINE:COLUMN, as far as they are known.
static void print_place(FILE *to, const char *name, unsigned line, unsigned column) {
    print_clean(to, name);
    if (line) fprintf(to, ":%u", line);
    if (line && column) fprintf(to, ":%u", column);
}

static void print_head(FILE *to, const char *name, unsigned line, unsigned column, const cj_diagnostic *what) {
    const char *none = message_colour(to, COLOUR_NONE);
    fputs(message_colour(to, COLOUR_BOLD), to);
    print_place(to, name, line, column);
    fprintf(to, ":%s %s%s:%s ", none, message_colour(to, severities[what->severity].colour),
            severities[what->severity].name, none);
    print_clean(to, what->message);
    fprintf(to, " [%s]\n", what->rule);
}

static void print_line(FILE *to, document *d, unsigned number, unsigned column) {
    size_t      length;
    const char *line = d ? document_line(d, number, &length) : NULL;
    if (line) print_source(to, line, length, column);
}

// note: TEXT NAME:LINE:COLUMN
static void print_note(FILE *to, const char *text, const char *name, unsigned line, unsigned column) {
    fprintf(to, "%snote:%s ", message_colour(to, COLOUR_CYAN), message_colour(to, COLOUR_NONE));
    print_clean(to, text);
    print_place(to, name, line, column);
    putc('\n', to);
}

static void print_inlined(FILE *to, document *d, const cj_source *source) {
    char text[256];
    for (const cj_source *at = source; at->inlined_at; at = at->inlined_at) {
        const cj_source *by = at->inlined_at;
        snprintf(text, sizeof text, "%.200s%sinlined at ", at->function, *at->function ? ", " : "");
        print_note(to, text, origin_name(by->file), by->line, by->column);
        print_line(to, origin_file(d, by->file), by->line, by->column);
    }
}

// A line of the PTX, without the blanks before it.
static void print_ptx(FILE *to, document *d, unsigned number) {
    size_t      length;
    char        text[32];
    const char *line = document_line(d, number, &length);
    snprintf(text, sizeof text, "PTX line %u: ", number);
    fprintf(to, "%snote:%s %s", message_colour(to, COLOUR_CYAN), message_colour(to, COLOUR_NONE), text);
    while (line && length && (*line == ' ' || *line == '\t')) line++, length--;
    if (line) print_columns(to, line, line + length, 0, WIDTH);
    putc('\n', to);
}

// The first party of a hazard.
static void print_other(FILE *to, document *d, const finding *f) {
    const cj_source *source = f->other ? origin_of(d, f->other) : NULL;
    char             text[96];
    if (!source) return;
    snprintf(text, sizeof text, "the other one, %.48s, is at ", f->other_what);
    print_note(to, text, origin_name(source->file), source->line, source->column);
    print_line(to, origin_file(d, source->file), source->line, source->column);
    print_inlined(to, d, source);
    print_ptx(to, d, f->other);
}

static void print_labelled(FILE *to, const char *label, const char *text) {
    if (!*text) return;
    fprintf(to, "%s%s%s ", message_colour(to, COLOUR_CYAN), label, message_colour(to, COLOUR_NONE));
    print_clean(to, text);
    putc('\n', to);
}

void finding_print(FILE *to, document *d, const finding *f) {
    const cj_diagnostic *what = &f->what;
    const cj_source     *source = origin_of(d, what->line);
    explain_note(what->rule);
    document            *file = source ? origin_file(d, source->file) : NULL;
    size_t               length;
    const bool           reads = file && document_line(file, source->line, &length);
    if (reads) {
        print_head(to, origin_name(source->file), source->line, source->column, what);
        print_line(to, file, source->line, source->column);
    } else {
        print_head(to, d->name, what->line, what->column, what);
        print_line(to, d, what->line, what->column);
        if (source) print_note(to, "of ", origin_name(source->file), source->line, source->column);
    }
    if (source) print_inlined(to, d, source);
    if (reads) print_ptx(to, d, what->line);
    print_other(to, d, f);
    if (f->more)
        fprintf(to, "%snote:%s and %zu more at other lines of the PTX that come from the same lines\n",
                message_colour(to, COLOUR_CYAN), message_colour(to, COLOUR_NONE), f->more);
    print_labelled(to, "hint:", what->hint);
    print_labelled(to, "repeat:", f->repeat ? f->repeat : "");
}

static json_t *other_json(document *d, const finding *f) {
    if (!f->other) return json_null();
    return json_pack("{s:i, s:o, s:o}", "line", (int)f->other, "instruction", output_json_text(f->other_what), "source",
                     origin_json(origin_of(d, f->other)));
}

static json_t *variable_json(const finding *f) {
    if (!f->symbol || !*f->symbol) return json_null();
    return json_pack("{s:o, s:o}", "name", output_json_text(f->variable), "symbol", output_json_text(f->symbol));
}

json_t *finding_json(document *d, const finding *f) {
    const cj_diagnostic *what = &f->what;
    return json_pack("{s:o, s:i, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "file", output_json_text(d->name), "line",
                     (int)what->line, "column", (int)what->column, "severity", severities[what->severity].name, "rule",
                     what->rule, "message", output_json_text(what->message), "hint", output_json_text(what->hint),
                     "source", origin_json(origin_of(d, what->line)), "other", other_json(d, f), "repeat", f->repeat ? output_json_text(f->repeat) : json_null(), "variable", variable_json(f));
}

finding finding_of(const cj_error *error) {
    return (finding){.what = {.severity = CJ_SEVERITY_ERROR,
                              .rule = error->rule,
                              .line = error->line,
                              .column = error->column,
                              .message = error->message,
                              .hint = error->hint}};
}

int finding_refuse(document *d, const cj_error *error) {
    if (error->status != CJ_INVALID_KERNEL) return message_failure(error);
    const finding found = finding_of(error);
    finding_print(stderr, d, &found);
    message_told(error);
    return CODE_WRONG;
}
