// SPDX-License-Identifier: Apache-2.0
#include "items.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- tokens

static bool is_word_byte(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.'; }

bool cj__item_is_word(const char *token) { return is_word_byte(*token) && !isdigit((unsigned char)*token); }

bool cj__item_is_blank(const char *token) {
    return isspace((unsigned char)*token) || (*token == '/' && (token[1] == '/' || token[1] == '*'));
}

static size_t comment_length(const char *text, const char *end) {
    const bool  line = text[1] == '/';
    const char *at = text + 2;
    while (at < end && (line ? *at != '\n' : !(at[-1] == '*' && *at == '/' && at > text + 2))) at++;
    return (size_t)(at - text) + (!line && at < end);
}

size_t cj__item_token(const char *text, const char *end) {
    const char *at = text;
    if (at >= end) return 0;
    if (cj__item_is_blank(text) && *text == '/') return comment_length(text, end);
    if (*at == '"') {
        for (at++; at < end && *at != '"'; at++) at += *at == '\\' && at + 1 < end;
        return (size_t)(at - text) + (at < end);
    }
    if (isspace((unsigned char)*at)) {
        while (at < end && isspace((unsigned char)*at)) at++;
        return (size_t)(at - text);
    }
    if (!is_word_byte(*at)) return 1;
    for (at++; at < end && is_word_byte(*at) && *at != '.'; at++) continue;
    return (size_t)(at - text);
}

static bool is(const char *token, size_t length, const char *word) {
    return length == strlen(word) && !memcmp(token, word, length);
}

// ---- items

static const struct {
    const char  *word;
    cj_item_kind kind;
} directives[] = {
    {".version", CJ_ITEM_VERSION}, {".target", CJ_ITEM_TARGET},   {".address_size", CJ_ITEM_ADDRESS},
    {".file", CJ_ITEM_FILE},       {".section", CJ_ITEM_SECTION},
};

static const struct {
    const char     *word;
    cj_item_linkage linkage;
} linkages[] = {
    {".extern", CJ_LINKAGE_EXTERN},
    {".visible", CJ_LINKAGE_VISIBLE},
    {".weak", CJ_LINKAGE_WEAK},
    {".common", CJ_LINKAGE_WEAK},
};

static bool begin_directive(cj_item *item, size_t length) {
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (!is(item->text, length, directives[i].word)) continue;
        item->kind = directives[i].kind;
        return true;
    }
    return false;
}

static const char *line_end(const char *at, const char *end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    return stop ? stop : end;
}

// What the tokens of a declaration say, up to where it ends.
typedef struct declaration {
    cj_item *item;
    int      round, braces;  // how many are open
    bool     function;       // .entry or .func came
    bool     value;          // "=" came: an initializer, whose names are others'
} declaration;

static void take_word(declaration *d, const char *token, size_t length) {
    cj_item *item = d->item;
    if (is(token, length, ".entry") || is(token, length, ".func")) d->function = true;
    for (size_t i = 0; i < sizeof linkages / sizeof *linkages && !d->braces; i++)
        if (is(token, length, linkages[i].word)) item->linkage = linkages[i].linkage;
    if (*token == '.' || item->name || d->round || d->braces || d->value) return;
    item->name = token;
    item->name_length = length;
}

// Whether the declaration ends with this token.
static bool take_token(declaration *d, const char *token, size_t length) {
    if (cj__item_is_word(token)) take_word(d, token, length);
    d->round += (*token == '(') - (*token == ')');
    d->braces += (*token == '{') - (*token == '}');
    d->value |= *token == '=';
    if (*token == ';' && !d->braces && !d->round) return true;
    return *token == '}' && !d->braces && d->function;
}

static const char *read_declaration(cj_item *item, const char *end) {
    declaration d = {.item = item};
    const char *at = item->text;
    bool        done = false;
    for (size_t length; !done && (length = cj__item_token(at, end)) > 0; at += length)
        done = !cj__item_is_blank(at) && take_token(&d, at, length);
    const bool has_body = at > item->text && at[-1] == '}';
    if (!item->name || !strncmp(item->text, ".pragma", 7) || !strncmp(item->text, ".alias", 6))
        item->kind = CJ_ITEM_OTHER;
    else
        item->kind = !d.function ? CJ_ITEM_VARIABLE : has_body ? CJ_ITEM_FUNCTION : CJ_ITEM_PROTOTYPE;
    return at;
}

static const char *read_item(cj_item *item, const char *end) {
    const size_t length = cj__item_token(item->text, end);
    if (!begin_directive(item, length)) return read_declaration(item, end);
    if (item->kind != CJ_ITEM_SECTION) return line_end(item->text, end);
    const char *stop = memchr(item->text, '}', (size_t)(end - item->text));
    return stop ? stop + 1 : end;
}

bool cj__items_split(cj_items *items, const char *text) {
    const char *end = text + strlen(text);
    size_t      capacity = 0;
    *items = (cj_items){0};
    for (const char *at = text; at < end;) {
        if (cj__item_is_blank(at)) {
            at += cj__item_token(at, end);
            continue;
        }
        if (items->count == capacity) {
            capacity = capacity ? 2 * capacity : 32;
            cj_item *grown = realloc(items->item, capacity * sizeof *grown);
            if (!grown) {
                cj__items_free(items);
                return false;
            }
            items->item = grown;
        }
        cj_item *item = &items->item[items->count++];
        *item = (cj_item){.text = at};
        at = read_item(item, end);
        item->length = (size_t)(at - item->text);
    }
    return true;
}

void cj__items_free(cj_items *items) {
    free(items->item);
    *items = (cj_items){0};
}
