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

// What a name is looked up among: the entries of a module, or its variables.
typedef struct kind {
    const char *one, *several;
    const char *(*name)(const cj_ir_item *item);  // NULL: the item is none of them
} kind;

static const char *entry_name(const cj_ir_item *item) {
    return item->kind == CJ_ITEM_FUNC && item->func->is_entry ? item->func->name : NULL;
}

// A variable without a size is another module's.
static const char *global_name(const cj_ir_item *item) {
    const cj_ir_var *var = item->kind == CJ_ITEM_VAR ? item->var : NULL;
    return var && (var->space == CJ_SPACE_GLOBAL || var->space == CJ_SPACE_CONST) && var->bytes ? var->name : NULL;
}

static const kind entries = {"entry", "entries", entry_name}, globals = {"variable", "variables", global_name};

// The i-th of a kind, or NULL.
static const cj_ir_item *item_at(const cj_ir_module *module, const kind *of, size_t index) {
    for (size_t at = 0; at < module->item_count; at++)
        if (of->name(&module->item[at]) && index-- == 0) return &module->item[at];
    return NULL;
}

const cj_ir_func *cj__ir_entry_at(const cj_ir_module *module, size_t index) {
    const cj_ir_item *item = item_at(module, &entries, index);
    return item ? item->func : NULL;
}

const cj_ir_var *cj__ir_global_at(const cj_ir_module *module, size_t index) {
    const cj_ir_item *item = item_at(module, &globals, index);
    return item ? item->var : NULL;
}

static bool is_same(const char *a, const char *b) {
    for (;; a++, b++) {
        a += strspn(a, " \t");
        b += strspn(b, " \t");
        if (*a != *b) return false;
        if (!*a) return true;
    }
}

// The next name expression after item *at for a lowered name, or NULL; *at counts on. They stand before all functions.
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

static bool has_own_name(const cj_ir_module *module, const char *lowered, const char *name) {
    (void)module;
    return !strcmp(lowered, name);
}

static bool has_expression(const cj_ir_module *module, const char *lowered, const char *name) {
    const char *expression;
    for (size_t at = 0; (expression = next_expression(module, lowered, &at)) != NULL;)
        if (is_same(expression, name)) return true;
    return false;
}

static bool has_cxx_name(const cj_ir_module *module, const char *lowered, const char *name) {
    char cxx[NAME_SIZE];
    (void)module;
    return cj__cxx_name(lowered, cxx, sizeof cxx) && !strcmp(cxx, name);
}

// How many of a kind have the name in that way; *found is the first.
static unsigned count_named(const cj_ir_module *module, const kind *of, const char *name,
                            bool (*has)(const cj_ir_module *, const char *, const char *), const cj_ir_item **found) {
    unsigned count = 0;
    for (size_t i = 0; i < module->item_count; i++) {
        const char *lowered = of->name(&module->item[i]);
        if (!lowered || !has(module, lowered, name)) continue;
        if (!count++) *found = &module->item[i];
    }
    return count;
}

// "scale, kernel<float, 4> (_Z6kernelIfLi4EEvPf)"
static void list_names(const cj_ir_module *module, const kind *of, cj_text *names) {
    for (size_t i = 0; i < module->item_count; i++) {
        char        cxx[NAME_SIZE];
        size_t      first = 0;
        const char *name = of->name(&module->item[i]);
        const char *shown = name ? next_expression(module, name, &first) : NULL;
        if (!name) continue;
        if (!shown && cj__cxx_name(name, cxx, sizeof cxx)) shown = cxx;
        cj__text_printf(names, shown ? "%s%s (%s)" : "%s%s", names->length ? ", " : "", shown ? shown : name, name);
    }
    if (!names->length) cj__text_puts(names, "none");
}

typedef struct listed {
    const cj_ir_module *module;
    const kind         *of;
} listed;

static const char *name_at(const void *user, size_t i) {
    const listed     *in = user;
    const cj_ir_item *item = item_at(in->module, in->of, i);
    return item ? in->of->name(item) : NULL;
}

static cj_status unknown(const cj_ir_module *module, const kind *of, const char *name, bool is_several,
                         cj_error *error) {
    cj_text names = {0};
    list_names(module, of, &names);
    cj__fail(error, CJ_INVALID_ARGUMENT, "the module has %s %s '%.64s'; its %s: %.800s", is_several ? "several" : "no",
             is_several ? of->several : of->one, name, of->several, names.data ? names.data : "?");
    const char *nearest = cj__nearest(name, name_at, &(listed){module, of});
    if (nearest) cj__hint(error, "did you mean %s?", nearest);
    cj__text_free(&names);
    return CJ_INVALID_ARGUMENT;
}

// Asks for one's own name first, then for that of the source.
static cj_status item_named(const cj_ir_module *module, const kind *of, const char *name, const cj_ir_item **item,
                            cj_error *error) {
    unsigned count = count_named(module, of, name, has_own_name, item);
    if (!count) count = count_named(module, of, name, has_expression, item);
    if (!count) count = count_named(module, of, name, has_cxx_name, item);
    return count == 1 ? CJ_OK : unknown(module, of, name, count > 1, error);
}

cj_status cj__ir_entry_named(const cj_ir_module *module, const char *name, const cj_ir_func **entry, cj_error *error) {
    const cj_ir_item *item = NULL;
    cj_status         status = item_named(module, &entries, name, &item, error);
    if (!status) *entry = item->func;
    return status;
}

cj_status cj__ir_global_named(const cj_ir_module *module, const char *name, const cj_ir_var **global, cj_error *error) {
    const cj_ir_item *item = NULL;
    cj_status         status = item_named(module, &globals, name, &item, error);
    if (!status) *global = item->var;
    return status;
}

cj_status cj__ir_entry_only(const cj_ir_module *module, const cj_ir_func **entry, cj_error *error) {
    cj_text names = {0};
    *entry = cj__ir_entry_at(module, 0);
    if (!*entry) return cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX has no entry");
    if (!cj__ir_entry_at(module, 1)) return CJ_OK;
    list_names(module, &entries, &names);
    cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX has several entries");
    cj__hint(error, "name one: %.400s", names.data ? names.data : "?");
    cj__text_free(&names);
    return CJ_INVALID_ARGUMENT;
}
