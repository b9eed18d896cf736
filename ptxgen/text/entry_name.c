// SPDX-License-Identifier: Apache-2.0
#include "entry_name.h"

#include <string.h>

#include "cxx_name.h"
#include "error.h"

enum { NAME_SIZE = 512 };

static const char mark[] = "cuda-name: ", equals[] = " = ";

void cj__entry_name_put(cj_text *ptx, const char *lowered, const char *name) {
    cj__text_printf(ptx, "// %s%s%s", mark, lowered, equals);
    for (const char *c = name; *c; c++) cj__text_add(ptx, (unsigned char)*c < ' ' ? " " : c, 1);
    cj__text_puts(ptx, "\n");
}

const cj_ir_func *cj__ir_entry_at(const cj_ir_module *module, size_t index) {
    for (size_t at = 0; at < module->item_count; at++) {
        const cj_ir_item *item = &module->item[at];
        if (item->kind == CJ_ITEM_FUNC && item->func->is_entry && index-- == 0) return item->func;
    }
    return NULL;
}

static bool is_same(const char *a, const char *b) {
    for (;; a++, b++) {
        a += strspn(a, " \t");
        b += strspn(b, " \t");
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

// The next name expression behind item *at of an entry, or NULL; *at counts on. They stand before all functions.
static const char *next_expression(const cj_ir_module *module, const char *lowered, size_t *at) {
    const size_t length = strlen(lowered);
    while (*at < module->item_count && module->item[*at].kind != CJ_ITEM_FUNC) {
        const cj_ir_item *item = &module->item[(*at)++];
        const char       *text = item->kind == CJ_ITEM_COMMENT ? item->text : "";
        if (strncmp(text, mark, sizeof mark - 1) != 0) continue;
        text += sizeof mark - 1;
        if (!strncmp(text, lowered, length) && !strncmp(text + length, equals, sizeof equals - 1))
            return text + length + sizeof equals - 1;
    }
    return NULL;
}

static bool has_expression(const cj_ir_module *module, const cj_ir_func *entry, const char *name) {
    const char *expression;
    for (size_t at = 0; (expression = next_expression(module, entry->name, &at)) != NULL;)
        if (is_same(expression, name)) return true;
    return false;
}

static bool has_cxx_name(const cj_ir_module *module, const cj_ir_func *entry, const char *name) {
    char cxx[NAME_SIZE];
    (void)module;
    return cj__cxx_name(entry->name, cxx, sizeof cxx) && !strcmp(cxx, name);
}

// How many entries have the name in that way; *entry is the first.
static unsigned count_named(const cj_ir_module *module, const char *name,
                            bool (*has)(const cj_ir_module *, const cj_ir_func *, const char *),
                            const cj_ir_func **entry) {
    unsigned          count = 0;
    const cj_ir_func *at;
    for (size_t i = 0; (at = cj__ir_entry_at(module, i)) != NULL; i++) {
        if (!has(module, at, name)) continue;
        if (!count++) *entry = at;
    }
    return count;
}

// "scale, kernel<float, 4> (_Z6kernelIfLi4EEvPf)"
static void list_entries(const cj_ir_module *module, cj_text *names) {
    const cj_ir_func *at;
    for (size_t i = 0; (at = cj__ir_entry_at(module, i)) != NULL; i++) {
        char        cxx[NAME_SIZE];
        size_t      first = 0;
        const char *shown = next_expression(module, at->name, &first);
        if (!shown && cj__cxx_name(at->name, cxx, sizeof cxx)) shown = cxx;
        cj__text_printf(names, shown ? "%s%s (%s)" : "%s%s", i ? ", " : "", shown ? shown : at->name, at->name);
    }
    if (!names->length) cj__text_puts(names, "none");
}

static const char *name_at(const void *user, size_t i) {
    const cj_ir_func *entry = cj__ir_entry_at(user, i);
    return entry ? entry->name : NULL;
}

static cj_status unknown(const cj_ir_module *module, const char *name, const char *why, cj_error *error) {
    cj_text names = {0};
    list_entries(module, &names);
    cj__fail(error, CJ_INVALID_ARGUMENT, "the module has %s '%.64s'; its entries: %.800s", why, name,
             names.data ? names.data : "?");
    const char *nearest = cj__nearest(name, name_at, module);
    if (nearest) cj__hint(error, "did you mean %s?", nearest);
    cj__text_free(&names);
    return CJ_INVALID_ARGUMENT;
}

cj_status cj__ir_entry_named(const cj_ir_module *module, const char *name, const cj_ir_func **entry, cj_error *error) {
    const cj_ir_func *func = cj__ir_func(module, name);
    unsigned          count = func && func->is_entry;
    if (!count) count = count_named(module, name, has_expression, &func);
    if (!count) count = count_named(module, name, has_cxx_name, &func);
    if (count != 1) return unknown(module, name, count ? "several entries" : "no entry", error);
    *entry = func;
    return CJ_OK;
}

cj_status cj__ir_entry_only(const cj_ir_module *module, const cj_ir_func **entry, cj_error *error) {
    cj_text names = {0};
    *entry = cj__ir_entry_at(module, 0);
    if (!*entry) return cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX has no entry");
    if (!cj__ir_entry_at(module, 1)) return CJ_OK;
    list_entries(module, &names);
    cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX has several entries");
    cj__hint(error, "name one: %.400s", names.data ? names.data : "?");
    cj__text_free(&names);
    return CJ_INVALID_ARGUMENT;
}
