// SPDX-License-Identifier: Apache-2.0
#include "form.h"

#include <clusterjit/check.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

// A stretch of text.
typedef struct slice {
    const char *at;
    size_t      length;
} slice;

static bool same(slice s, const char *text) { return strlen(text) == s.length && memcmp(s.at, text, s.length) == 0; }

static slice set_words(slice name) {
    for (size_t i = 0; cj_isa_set_at(i); i++) {
        const cj_isa_set *set = cj_isa_set_at(i);
        if (same(name, set->name)) return (slice){set->words, strlen(set->words)};
    }
    return (slice){"", 0};
}

// Takes the next word from a list of words, a|b or .a|.b; false at its end.
static bool next_word(slice *list, slice *word) {
    while (list->length && (*list->at == '|' || *list->at == '.')) list->at++, list->length--;
    for (word->at = list->at; list->length && *list->at != '|'; list->length--) list->at++;
    word->length = (size_t)(list->at - word->at);
    return word->length > 0;
}

// Whether one of the words is `wanted`, or, if the prefix ends there, begins with it.
static bool fits(slice words, slice wanted, bool last) {
    slice word;
    while (next_word(&words, &word)) {
        if (*word.at == '$') {
            if (fits(set_words((slice){word.at + 1, word.length - 1}), wanted, last)) return true;
        } else if (last ? word.length >= wanted.length : word.length == wanted.length) {
            if (memcmp(word.at, wanted.at, wanted.length) == 0) return true;
        }
    }
    return false;
}

// Takes the next part from a form: a word, {.a|.b}, .(a|b) or {.(a|b)}. Returns the words that it allows.
static slice next_part(const char **form, bool *optional) {
    const char *at = *form;
    *optional = *at == '{';
    at += strspn(at, "{.(");
    slice words = {at, strcspn(at, at > *form && at[-1] == '(' ? ")" : *optional ? "}" : ".{")};
    at += words.length;
    *form = at + strspn(at, ")}");
    return words;
}

bool form_begins(const char *form, const char *prefix) {
    if (!*prefix) return true;
    if (!*form) return false;
    bool   optional;
    slice  words = next_part(&form, &optional);
    size_t length = strcspn(prefix, ".");
    bool   last = prefix[length] == '\0';
    if (fits(words, (slice){prefix, length}, last) && (last || form_begins(form, prefix + length + 1))) return true;
    return optional && form_begins(form, prefix);
}

bool form_uses(const char *form, const char *set) {
    for (const char *at = strchr(form, '$'); at; at = strchr(at + 1, '$'))
        if (same((slice){at + 1, strcspn(at + 1, "|.)}")}, set)) return true;
    return false;
}

// `at` is the current column; words that do not fit begin another line in `column`.
static void print_words(slice words, size_t column, size_t width, size_t *at) {
    slice word;
    while (next_word(&words, &word)) {
        if (*word.at == '$') {
            print_words(set_words((slice){word.at + 1, word.length - 1}), column, width, at);
            continue;
        }
        if (*at > column && *at + 1 + word.length > width) {
            printf("\n%*s", (int)column, "");
            *at = column;
        }
        *at += (size_t)printf("%s%.*s", *at > column ? " " : "", (int)word.length, word.at);
    }
}

void form_print_words(const char *words, size_t column) {
    size_t at = column;
    print_words((slice){words, strlen(words)}, column, output_width(), &at);
    putchar('\n');
}
