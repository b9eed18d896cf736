// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L
#include "table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"

enum { COLUMNS_MAX = 32 };

typedef struct row {
    char *cell[COLUMNS_MAX];  // NULL: empty
    bool  bold;
} row;

struct table {
    char      *title[COLUMNS_MAX];
    table_side side[COLUMNS_MAX];
    row       *rows;
    size_t     columns, count, capacity;
    bool       failed;
};

table *table_new(void) { return calloc(1, sizeof(table)); }

void table_column(table *t, const char *title, table_side side) {
    if (!t || t->columns == COLUMNS_MAX) return;
    t->title[t->columns] = strdup(title);
    t->failed |= !t->title[t->columns];
    t->side[t->columns++] = side;
}

void table_row(table *t) {
    if (!t || t->failed) return;
    if (t->count == t->capacity) {
        const size_t capacity = t->capacity ? 2 * t->capacity : 16;
        row         *grown = realloc(t->rows, capacity * sizeof *grown);
        t->failed = !grown;
        if (!grown) return;
        t->rows = grown;
        t->capacity = capacity;
    }
    t->rows[t->count++] = (row){0};
}

void table_set(table *t, size_t column, const char *text) {
    if (!t || t->failed || !t->count || column >= t->columns) return;
    char **cell = &t->rows[t->count - 1].cell[column];
    free(*cell);
    *cell = strdup(text);
    t->failed |= !*cell;
}

void table_bold(table *t) {
    if (t && t->count) t->rows[t->count - 1].bold = true;
}

size_t table_rows(const table *t) { return t ? t->count : 0; }

// How many columns of the terminal a text takes: a byte that is no character is shown as '?'.
static size_t width_of(const char *text) {
    size_t width = 0;
    for (size_t size; text && *text; text += size, width++) {
        size = output_character(text, strlen(text));
        if (!size) size = 1;
    }
    return width;
}

static void put_text(const char *text) {
    for (size_t size; text && *text; text += size) {
        size = output_character(text, strlen(text));
        if (size)
            fwrite(text, 1, size, stdout);
        else
            putchar('?');
        if (!size) size = 1;
    }
}

// Nothing stands after the last cell that has a text.
static void put_row(const table *t, const size_t *width, char *const *cell) {
    size_t last = t->columns;
    while (last && !(cell[last - 1] && *cell[last - 1])) last--;
    for (size_t i = 0; i < last; i++) {
        const int blanks = (int)(width[i] - width_of(cell[i]));
        if (i) putchar(' ');
        if (t->side[i] == TABLE_RIGHT) printf("%*s", blanks, "");
        put_text(cell[i]);
        if (t->side[i] == TABLE_LEFT && i + 1 < last) printf("%*s", blanks, "");
    }
}

static void put_rows(const table *t) {
    size_t width[COLUMNS_MAX];
    for (size_t i = 0; i < t->columns; i++) {
        width[i] = width_of(t->title[i]);
        for (size_t k = 0; k < t->count; k++) {
            const size_t wide = width_of(t->rows[k].cell[i]);
            if (wide > width[i]) width[i] = wide;
        }
    }
    put_row(t, width, t->title);
    putchar('\n');
    for (size_t k = 0; k < t->count; k++) {
        const bool bold = t->rows[k].bold;
        if (bold) fputs(message_colour(stdout, COLOUR_BOLD), stdout);
        put_row(t, width, t->rows[k].cell);
        if (bold) fputs(message_colour(stdout, COLOUR_NONE), stdout);
        putchar('\n');
    }
}

int table_print(table *t) {
    const bool failed = !t || t->failed;
    if (!failed && t->count) put_rows(t);
    for (size_t k = 0; t && k < t->count; k++)
        for (size_t i = 0; i < t->columns; i++) free(t->rows[k].cell[i]);
    for (size_t i = 0; t && i < t->columns; i++) free(t->title[i]);
    if (t) free(t->rows);
    free(t);
    return failed ? message_error(CJ_OUT_OF_MEMORY, "no memory for the table") : CODE_OK;
}
