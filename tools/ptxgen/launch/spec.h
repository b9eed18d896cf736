// SPDX-License-Identifier: Apache-2.0
// Pieces of the texts that describe tensor maps, textures and surfaces: KIND:TYPE[DIMS]@I,OPTION=VALUE,…
#ifndef PTXGEN_SPEC_H
#define PTXGEN_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPEC_OWN = -1 };

// Says that a field's value is none of those allowed. Returns an exit code.
int spec_refuse(const char *text, const char *field, const char *value, size_t length, const char *allowed,
                const char *hint);

// Whether [text, text + length) is the word.
bool spec_is(const char *text, size_t length, const char *word);
// Reads a whole number that fills [text, end).
bool spec_number(const char *text, const char *end, uint64_t *value);
// Reads AxBxC: returns how many numbers there are, 0 if the text is invalid or has more than `most`.
uint32_t spec_list(const char *text, const char *end, uint64_t *value, uint32_t most);
// Finds one of words in a list, none|32|64; *value is its index.
bool spec_choice(const char *words, const char *text, size_t length, int *value);

// Reads @I or =FILL in [at, end): *buffer is the argument that is viewed, or SPEC_OWN, and then the fill's text is
// [*fill, *fill + *length). `text` is the whole argument, for messages. Returns an exit code.
int spec_source(const char *text, const char *at, const char *end, int *buffer, const char **fill, size_t *length,
                const char *hint);

#endif
