// SPDX-License-Identifier: Apache-2.0
// The forms of the instruction table: mnemonics with alternatives, ld{.weak}{.global|.$SHARED}.(u32|f32).
#ifndef PTXGEN_FORM_H
#define PTXGEN_FORM_H

#include <stdbool.h>
#include <stdio.h>

// Whether a mnemonic of that form can begin with `prefix`; the prefix's last word may be cut short.
bool form_begins(const char *form, const char *prefix);

// Whether the form names the set.
bool form_uses(const char *form, const char *set);

// Prints the words of a set, and of the sets in it, in lines that begin in `column`, which is the current column.
void form_print_words(const char *words, size_t column);

#endif
