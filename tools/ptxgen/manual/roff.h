// SPDX-License-Identifier: Apache-2.0
// Text of manual pages in the man macros, which groff and mandoc read: short lines, with all that is special escaped.
#ifndef PTXGEN_ROFF_H
#define PTXGEN_ROFF_H

#include <stddef.h>
#include <stdio.h>

// .TH with the day of SOURCE_DATE_EPOCH or today, and NAME. The title is in capitals: "PTXGEN-CHECK".
void roff_begin(FILE *to, const char *name, int section, const char *summary);

void roff_section(FILE *to, const char *title);     // .SH
void roff_subsection(FILE *to, const char *title);  // .SS
void roff_paragraph(FILE *to);                      // .PP

// A text in lines of its own. roff_text_of takes its first `length` bytes.
void roff_text(FILE *to, const char *text);
void roff_text_of(FILE *to, const char *text, size_t length);

// A tagged paragraph: roff_tag, pieces of the tag, roff_tag_end, the text; roff_tag_more begins another tag of the same
// text. The font is 'B', 'I' or 'R'.
void roff_tag(FILE *to);
void roff_tag_more(FILE *to);
void roff_piece(FILE *to, char font, const char *text);
void roff_tag_end(FILE *to);

#endif
