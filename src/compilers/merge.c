// SPDX-License-Identifier: Apache-2.0
// The merged text has, in this order: one header; a prototype of each function that some text declares; the variables that some text
// declares .extern and another defines; every text's other items in their order; the source files and the strings of inlined
// functions, with new numbers and names. Symbols without linkage that several texts have get a name of their own in each.
#include "merge.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "items.h"

// The symbols of a module that get a name of their own.
typedef struct renames {
    const cj_item **item;
    size_t          count;
} renames;

typedef struct merge {
    cj_items          *module;
    const char *const *names;
    size_t             count;
    renames           *renamed;    // of each module
    unsigned          *file_base;  // what is added to a module's numbers of source files
    cj_text            out, *why;
} merge;

static bool same(const cj_item *a, const cj_item *b) {
    return a->name_length == b->name_length && !memcmp(a->name, b->name, a->name_length);
}

static bool is_symbol(const cj_item *i) { return i->kind >= CJ_ITEM_PROTOTYPE && i->kind <= CJ_ITEM_VARIABLE; }

static bool defines(const cj_item *i) {
    return (i->kind == CJ_ITEM_FUNCTION || i->kind == CJ_ITEM_VARIABLE) && i->linkage != CJ_LINKAGE_EXTERN;
}

// The first definition that other texts see; NULL: there is none.
static const cj_item *find_definition(const merge *m, const cj_item *symbol) {
    for (size_t k = 0; k < m->count; k++)
        for (size_t i = 0; i < m->module[k].count; i++) {
            const cj_item *d = &m->module[k].item[i];
            if (defines(d) && d->linkage != CJ_LINKAGE_LOCAL && same(d, symbol)) return d;
        }
    return NULL;
}

// Whether another text than `module` has the symbol.
static bool is_elsewhere(const merge *m, size_t module, const cj_item *symbol) {
    for (size_t k = 0; k < m->count; k++)
        for (size_t i = 0; k != module && i < m->module[k].count; i++)
            if (is_symbol(&m->module[k].item[i]) && same(&m->module[k].item[i], symbol)) return true;
    return false;
}

// ---- one item's text

// Whether a word of the module must get a name of its own: as a symbol, or as the name of an inlined function.
static bool is_renamed(const merge *m, size_t module, const char *word, size_t length) {
    static const char label[] = "$L__info_string";
    const cj_item     wanted = {.name = word, .name_length = length};
    const renames    *r = &m->renamed[module];
    if (length > sizeof label && !memcmp(word, label, sizeof label - 1)) return true;
    for (size_t i = 0; i < r->count; i++)
        if (same(r->item[i], &wanted)) return true;
    return false;
}

static bool is_word(const char *token, size_t length, const char *word) {
    return length == strlen(word) && !memcmp(token, word, length);
}

// Copies the bytes with the module's new names and numbers of files. `linkage` replaces .extern; NULL: it stays.
static void put(merge *m, size_t module, const char *at, const char *end, const char *linkage) {
    bool file = false;  // the next number is one of a source file
    for (size_t length; (length = cj__item_token(at, end)) > 0; at += length) {
        if (cj__item_is_blank(at)) {
            cj__text_add(&m->out, at, length);
            continue;
        }
        if (file && isdigit((unsigned char)*at)) {
            cj__text_printf(&m->out, "%lu", strtoul(at, NULL, 10) + m->file_base[module]);
        } else if (linkage && is_word(at, length, ".extern")) {
            cj__text_puts(&m->out, linkage);
        } else {
            cj__text_add(&m->out, at, length);
            if (cj__item_is_word(at) && *at != '.' && *at != '%' && is_renamed(m, module, at, length))
                cj__text_printf(&m->out, "$m%zu", module);
        }
        file = is_word(at, length, ".loc") || is_word(at, length, ".file") || is_word(at, length, "inlined_at");
    }
}

static void put_item(merge *m, size_t module, const cj_item *item, const char *linkage) {
    put(m, module, item->text, item->text + item->length, linkage);
    cj__text_puts(&m->out, "\n");
}

// ---- the parts of the merged text

static void number_files(merge *m) {
    unsigned most = 0;
    for (size_t k = 0; k < m->count; k++) {
        m->file_base[k] = most;
        for (size_t i = 0; i < m->module[k].count; i++) {
            const cj_item *item = &m->module[k].item[i];
            const unsigned number = item->kind == CJ_ITEM_FILE ? (unsigned)strtoul(item->text + 5, NULL, 10) : 0;
            if (number + m->file_base[k] > most) most = number + m->file_base[k];
        }
    }
}

static const cj_item *find_kind(const merge *m, size_t module, cj_item_kind kind) {
    for (size_t i = 0; i < m->module[module].count; i++)
        if (m->module[module].item[i].kind == kind) return &m->module[module].item[i];
    return NULL;
}

static double version_of(const cj_item *item) { return item ? strtod(item->text + strlen(".version"), NULL) : 0; }

// The highest .version; the .target and .address_size that all share.
static bool put_header(merge *m) {
    const cj_item *version = NULL, *target = find_kind(m, 0, CJ_ITEM_TARGET), *size = find_kind(m, 0, CJ_ITEM_ADDRESS);
    for (size_t k = 0; k < m->count; k++) {
        const cj_item *v = find_kind(m, k, CJ_ITEM_VERSION), *t = find_kind(m, k, CJ_ITEM_TARGET);
        if (!v || !t) {
            cj__text_printf(m->why, "'%s' is no PTX: it has no .version or no .target", m->names[k]);
            return false;
        }
        if (version_of(v) > version_of(version)) version = v;
        char here[128], first[128];
        if (sscanf(t->text, ".target %127[^ ,\n]", here) != 1 ||
            sscanf(target->text, ".target %127[^ ,\n]", first) != 1 || strcmp(here, first)) {
            cj__text_printf(m->why, "the PTX inputs are of different targets: '%s' is for another than '%s'",
                            m->names[k], m->names[0]);
            return false;
        }
    }
    put_item(m, 0, version, NULL);
    put_item(m, 0, target, NULL);
    if (size) put_item(m, 0, size, NULL);
    return true;
}

// Whether an earlier item has the same symbol, of this kind.
static bool came(const merge *m, size_t module, size_t index, cj_item_kind kind) {
    const cj_item *symbol = &m->module[module].item[index];
    for (size_t k = 0; k <= module; k++)
        for (size_t i = 0; i < (k == module ? index : m->module[k].count); i++) {
            const cj_item *item = &m->module[k].item[i];
            if (item->kind == kind && same(item, symbol) &&
                (k == module || (item->linkage != CJ_LINKAGE_LOCAL && symbol->linkage != CJ_LINKAGE_LOCAL)))
                return true;
        }
    return false;
}

static void put_prototypes(merge *m) {
    for (size_t k = 0; k < m->count; k++)
        for (size_t i = 0; i < m->module[k].count; i++) {
            const cj_item *item = &m->module[k].item[i];
            if (item->kind != CJ_ITEM_PROTOTYPE || came(m, k, i, CJ_ITEM_PROTOTYPE)) continue;
            const cj_item *is = item->linkage == CJ_LINKAGE_EXTERN ? find_definition(m, item) : NULL;
            put_item(m, k, item, !is ? NULL : is->linkage == CJ_LINKAGE_WEAK ? ".weak" : ".visible");
        }
}

// Whether some text declares the variable .extern.
static bool is_awaited(const merge *m, const cj_item *variable) {
    for (size_t k = 0; k < m->count; k++)
        for (size_t i = 0; i < m->module[k].count; i++) {
            const cj_item *item = &m->module[k].item[i];
            if (item->kind == CJ_ITEM_VARIABLE && item->linkage == CJ_LINKAGE_EXTERN && same(item, variable))
                return true;
        }
    return false;
}

// Whether the item is printed in this round: first the variables that are awaited, then the rest.
static bool is_due(merge *m, const cj_item *item, bool awaited) {
    if (item->kind == CJ_ITEM_VARIABLE && item->linkage == CJ_LINKAGE_EXTERN)
        return awaited && !find_definition(m, item);
    if (item->kind == CJ_ITEM_VARIABLE && item->linkage != CJ_LINKAGE_LOCAL) return awaited == is_awaited(m, item);
    return !awaited &&
           (item->kind == CJ_ITEM_VARIABLE || item->kind == CJ_ITEM_FUNCTION || item->kind == CJ_ITEM_OTHER);
}

static bool put_definitions(merge *m, bool awaited) {
    for (size_t k = 0; k < m->count; k++)
        for (size_t i = 0; i < m->module[k].count; i++) {
            const cj_item *item = &m->module[k].item[i];
            if (!is_due(m, item, awaited)) continue;
            const cj_item *first = item->linkage == CJ_LINKAGE_VISIBLE && defines(item) ? find_definition(m, item)
                                                                                        : NULL;
            if (first && first != item && first->linkage == CJ_LINKAGE_VISIBLE) {
                cj__text_printf(m->why, "'%s' defines '%.*s', as another input does", m->names[k],
                                (int)item->name_length, item->name);
                return false;
            }
            const bool weak = item->linkage == CJ_LINKAGE_WEAK && find_definition(m, item) != item;
            const bool again = item->linkage == CJ_LINKAGE_EXTERN && came(m, k, i, CJ_ITEM_VARIABLE);
            if (!weak && !again) put_item(m, k, item, NULL);
        }
    return true;
}

// Sections other than .debug_str are of a debugger.
static void put_source(merge *m) {
    for (size_t k = 0; k < m->count; k++)
        for (size_t i = 0; i < m->module[k].count; i++)
            if (m->module[k].item[i].kind == CJ_ITEM_FILE) put_item(m, k, &m->module[k].item[i], NULL);
    bool open = false;
    for (size_t k = 0; k < m->count; k++)
        for (size_t i = 0; i < m->module[k].count; i++) {
            const cj_item *item = &m->module[k].item[i];
            const char    *body = item->kind == CJ_ITEM_SECTION ? memchr(item->text, '{', item->length) : NULL;
            if (!body || !memchr(item->text, '.', item->length) || strncmp(item->text, ".section\t.debug_str", 19))
                continue;
            if (!open) cj__text_puts(&m->out, ".section .debug_str\n{");
            open = true;
            put(m, k, body + 1, item->text + item->length - 1, NULL);
        }
    if (open) cj__text_puts(&m->out, "}\n");
}

static bool find_renames(merge *m, size_t module) {
    const cj_items *items = &m->module[module];
    renames        *r = &m->renamed[module];
    r->item = calloc(items->count + 1, sizeof *r->item);
    for (size_t i = 0; r->item && i < items->count; i++) {
        const cj_item *item = &items->item[i];
        if (is_symbol(item) && item->linkage == CJ_LINKAGE_LOCAL && is_elsewhere(m, module, item))
            r->item[r->count++] = item;
    }
    return r->item;
}

static bool split_all(merge *m, const char *const *texts) {
    m->module = calloc(m->count, sizeof *m->module);
    m->renamed = calloc(m->count, sizeof *m->renamed);
    m->file_base = calloc(m->count, sizeof *m->file_base);
    bool ok = m->module && m->renamed && m->file_base;
    for (size_t k = 0; ok && k < m->count; k++) ok = cj__items_split(&m->module[k], texts[k]);
    for (size_t k = 0; ok && k < m->count; k++) ok = find_renames(m, k);
    return ok;
}

static void release(merge *m) {
    for (size_t k = 0; m->module && k < m->count; k++) cj__items_free(&m->module[k]);
    for (size_t k = 0; m->renamed && k < m->count; k++) free(m->renamed[k].item);
    free(m->module);
    free(m->renamed);
    free(m->file_base);
}

char *cj__merge_ptx(const char *const *texts, const char *const *names, size_t count, cj_text *why) {
    merge m = {.names = names, .count = count, .why = why};
    if (!count) {
        cj__text_puts(why, "there is no PTX and no LTO IR to link");
        return NULL;
    }
    if (count == 1) {
        cj__text_puts(&m.out, texts[0]);
    } else {
        bool ok = split_all(&m, texts);
        if (!ok) why->failed = true;
        if (ok) number_files(&m);
        if ((ok = ok && put_header(&m))) put_prototypes(&m);
        if ((ok = ok && put_definitions(&m, true) && put_definitions(&m, false))) put_source(&m);
        if (!ok) cj__text_free(&m.out);
    }
    release(&m);
    if (m.out.failed) why->failed = true;
    return m.out.failed ? NULL : m.out.data;
}
