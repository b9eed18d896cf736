// SPDX-License-Identifier: Apache-2.0
// What is known of each rule: cause, an example, the cure. The texts are tools/ptxgen/explain/*.md, compiled in; docs/rules.md shows
// them, too.
#ifndef PTXGEN_EXPLAIN_H
#define PTXGEN_EXPLAIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// One rule. Strings are parts of the texts, which are not ended by a NUL.
typedef struct explanation {
    const char *group;  // what the rule is of: "PTX", "Launches", "Runs"
    const char *id, *text;
    int         group_length, id_length, length;
} explanation;

bool explain_at(size_t index, explanation *e);  // in the order of the texts; false after the last
bool explain_find(const char *rule, explanation *e);

// The first sentence of the cause: returns its length, from e->text on.
int explain_sentence(const explanation *e);

// Prints the whole on standard output, in lines of the terminal's width.
void    explain_print(const explanation *e);
json_t *explain_json(const explanation *e);
void    explain_markdown(FILE *to);  // docs/rules.md

// Notes that a finding of this rule was printed; says how to learn more of the rules so noted, and forgets them.
void explain_note(const char *rule);
void explain_hint(FILE *to);

#endif
