// SPDX-License-Identifier: Apache-2.0
// The items of a PTX text outside of functions: directives, variables, functions. Only compilers' output is expected here;
// nothing is checked that the PTX's reader will check.
#ifndef CJ_COMPILERS_ITEMS_H
#define CJ_COMPILERS_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cj_item_kind {
    CJ_ITEM_VERSION,
    CJ_ITEM_TARGET,
    CJ_ITEM_ADDRESS,
    CJ_ITEM_FILE,
    CJ_ITEM_SECTION,
    CJ_ITEM_PROTOTYPE,
    CJ_ITEM_FUNCTION,
    CJ_ITEM_VARIABLE,
    CJ_ITEM_OTHER
} cj_item_kind;

typedef enum cj_item_linkage {
    CJ_LINKAGE_LOCAL,
    CJ_LINKAGE_EXTERN,
    CJ_LINKAGE_VISIBLE,
    CJ_LINKAGE_WEAK
} cj_item_linkage;

typedef struct cj_item {
    cj_item_kind    kind;
    cj_item_linkage linkage;
    const char     *text, *name;  // in the PTX
    size_t          length, name_length;
} cj_item;

typedef struct cj_items {
    cj_item *item;
    size_t   count;
} cj_items;

// A token: an identifier or directive with its dot, a number, a string, a comment, blanks, or one other character. Returns its
// length; 0 at the end of the text.
size_t cj__item_token(const char *text, const char *end);
bool   cj__item_is_word(const char *token);   // whether it is an identifier or a directive
bool   cj__item_is_blank(const char *token);  // blanks or a comment

// Splits the text; false: out of memory. Comments between items are left out.
bool cj__items_split(cj_items *items, const char *text);
void cj__items_free(cj_items *items);

#endif
