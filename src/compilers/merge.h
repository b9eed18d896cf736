// SPDX-License-Identifier: Apache-2.0
// Several PTX texts to one, as a linker would: what one declares .extern and another defines becomes one symbol.
#ifndef CJ_COMPILERS_MERGE_H
#define CJ_COMPILERS_MERGE_H

#include <stddef.h>

#include "text.h"

// Returns the merged text, malloc'ed; one text is copied as it is. NULL: *why says what cannot be merged, by the names of
// the texts. A symbol that none of them defines stays .extern.
char *cj__merge_ptx(const char *const *texts, const char *const *names, size_t count, cj_text *why);

#endif
