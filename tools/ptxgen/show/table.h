// SPDX-License-Identifier: Apache-2.0
// A table of text: columns as wide as their widest cell, titles above. A table that lacks memory says so when it is printed: calls
// need no check.
#ifndef PTXGEN_TABLE_H
#define PTXGEN_TABLE_H

#include <stddef.h>

typedef enum table_side { TABLE_LEFT, TABLE_RIGHT } table_side;

typedef struct table table;

table *table_new(void);

// All columns come before the first row.
void table_column(table *t, const char *title, table_side side);

// Begins a row; its cells are empty until they are set.
void table_row(table *t);
void table_set(table *t, size_t column, const char *text);  // copies the text
void table_bold(table *t);                                  // the row, where standard output shows colours

size_t table_rows(const table *t);

// Prints it on standard output, and releases it. A table without rows prints nothing. Returns an exit code.
int table_print(table *t);

#endif
