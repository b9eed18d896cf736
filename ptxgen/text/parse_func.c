// SPDX-License-Identifier: Apache-2.0
// Heads of functions and prototypes: parameters, results, directives (PTX ISA 5.1.6, 7, 11.1 and 11.4).
#include <string.h>

#include "parser.h"

// ---- parameters

// Takes the comments read so far, as one line.
static const char *joined_comments(cj_parser *p) {
    size_t length = 0;
    for (size_t i = 0; i < p->comment_count; i++) length += p->comment[i].length + 1;
    char *text = cj__arena_alloc(p->arena, length + 1), *end = text;
    if (!text) {
        cj__parse_memory(p);
        return NULL;
    }
    for (size_t i = 0; i < p->comment_count; i++) {
        memcpy(end, p->comment[i].text, p->comment[i].length);
        end += p->comment[i].length;
        *end++ = ' ';
    }
    for (char *c = text; c < end; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    p->comment_count = 0;
    return cj__text_of(p, text, end);
}

static bool add_param(cj_parser *p, cj_ir_var *var, cj_ir_var ***list, size_t *count, size_t *capacity) {
    cj_ir_var **grown = cj__arena_grow(p->arena, *list, *count, capacity, sizeof *grown);
    if (!grown) return cj__parse_memory(p);
    *list = grown;
    grown[(*count)++] = var;
    return true;
}

// A launch, and a caller that reads a result, must know the bytes; a .func may leave those of its last parameter open.
static bool check_extents(cj_parser *p, const char *at, const cj_ir_func *func, const cj_ir_var *var,
                          bool may_be_open) {
    if (var->unsized && func->is_entry)
        return cj__parse_error(p, at, "array-size", "the parameter '%s' of an entry must state its extent", var->name);
    if (var->unsized && !may_be_open)
        return cj__parse_error(p, at, "array-size", "only the last parameter of a function may leave its extent open");
    if (var->is_array && strchr(var->shape + 1, '['))
        return cj__parse_error(p, at, "array-size", "the parameter '%s' has several extents; it may have one",
                               var->name);
    return true;
}

// (.param .u64 x, .param .align 8 .b8 y[16]), in a .func also .reg .u32 z
static bool parse_params(cj_parser *p, cj_ir_func *func, cj_ir_var ***list, size_t *count, size_t *capacity) {
    if (!cj__take(p, '(') || cj__take(p, ')')) return true;
    bool more;
    do {
        cj_ir_var head = {.space = CJ_SPACE_PARAM, .func = func};
        if (!func->is_entry && cj__take_word(p, ".reg")) head.space = CJ_SPACE_REG;
        else if (!cj__take_word(p, ".param"))
            return cj__expected(p, p->at, ".param");
        if (!cj__parse_var_head(p, &head)) return false;
        const char *at = p->at;
        cj_ir_var *var = cj__parse_declarator(p, &head);
        if (!var || !add_param(p, var, list, count, capacity)) return false;
        more = cj__at(p, ',');
        if (!check_extents(p, at, func, var, !more && list != &func->result)) return false;
        cj__take(p, ',');
        if (p->comment_count) var->comment = joined_comments(p);
    } while (more && !p->status);
    return cj__expect(p, ')', "or ',' after a parameter");
}

// ---- directives

static const struct {
    const char *word;
    uint8_t     least, most;  // values
} directives[CJ_DIR_COUNT] = {
    [CJ_DIR_MAXNTID] = {".maxntid", 1, 3},
    [CJ_DIR_REQNTID] = {".reqntid", 1, 3},
    [CJ_DIR_MINNCTAPERSM] = {".minnctapersm", 1, 1},
    [CJ_DIR_MAXNREG] = {".maxnreg", 1, 1},
    [CJ_DIR_BLOCKSARECLUSTERS] = {".blocksareclusters", 0, 0},
    [CJ_DIR_EXPLICITCLUSTER] = {".explicitcluster", 0, 0},
    [CJ_DIR_REQNCTAPERCLUSTER] = {".reqnctapercluster", 1, 3},
    [CJ_DIR_MAXCLUSTERRANK] = {".maxclusterrank", 1, 1},
    [CJ_DIR_NORETURN] = {".noreturn", 0, 0},
    [CJ_DIR_ABI_PRESERVE] = {".abi_preserve", 1, 1},
    [CJ_DIR_ABI_PRESERVE_CONTROL] = {".abi_preserve_control", 1, 1},
};

const char *cj__directive_word(cj_directive directive) { return directives[directive].word; }

static bool parse_directive(cj_parser *p, cj_ir_func *func, cj_directive which) {
    const char *at = p->at;
    cj_ir_directive *directive = &func->directive[which];
    if (directive->given)
        return cj__parse_error(p, at, "directive-twice", "%s is given twice", directives[which].word);
    *directive = (cj_ir_directive){.value = {1, 1, 1}, .line = p->line, .column = cj__column(p, at)};
    p->at += strlen(directives[which].word);
    cj__skip(p);
    while (directive->count < directives[which].most) {
        uint64_t value;
        if (!cj__integer(p, &value, directives[which].word)) return false;
        if (value > UINT32_MAX)
            return cj__parse_error(p, at, "directive-value", "%s %llu does not fit 32 bits", directives[which].word,
                                   (unsigned long long)value);
        directive->value[directive->count++] = (uint32_t)value;
        if (directive->count == directives[which].most || !cj__take(p, ',')) break;
    }
    directive->given = true;
    return true;
}

// A pragma of the head, appended to those before it.
static bool parse_pragma(cj_parser *p, cj_ir_func *func) {
    const char *one, *from = func->pragmas ? func->pragmas : "";
    if (!cj__parse_pragma(p, &one)) return false;
    size_t before = strlen(from), length = strlen(one);
    char *text = cj__arena_alloc(p->arena, before + length + 2);
    if (!text) return cj__parse_memory(p);
    memcpy(text, from, before);
    if (before) text[before++] = '\n';
    memcpy(text + before, one, length);
    func->pragmas = text;
    return true;
}

static bool parse_directives(cj_parser *p, cj_ir_func *func) {
    while (cj__word_length(p)) {
        const char *start = p->at;
        int which = 0;
        while (which < CJ_DIR_COUNT && !cj__word_is(p, directives[which].word)) which++;
        bool ok = which < CJ_DIR_COUNT             ? parse_directive(p, func, (cj_directive)which)
                  : cj__word_is(p, ".pragma")      ? parse_pragma(p, func)
                  : cj__expected(p, p->at, "a directive of a kernel or '{'");
        if (ok) continue;
        // In a report, the rest of the head and the body are read all the same.
        if (p->at == start) p->at += cj__word_length(p);
        while (p->at < p->end && !strchr(".;{", *p->at)) p->at++, cj__skip(p);
        p->resume = true;
        if (!cj__recover(p, cj__mark(p))) return false;
    }
    return true;
}

// ---- functions

// Makes the function an item and its name known.
static bool add_func(cj_parser *p, cj_ir_func *func) {
    cj_ir_item *item = cj__add_item(p, CJ_ITEM_FUNC);
    cj_ir_item *named = cj__arena_alloc(p->arena, sizeof *named);
    if (!item || !named) return cj__parse_memory(p);
    item->func = func;
    *named = *item;
    return cj__map_put(&p->module->names, func->name, strlen(func->name), named) || cj__parse_memory(p);
}

static cj_ir_func *alloc_func(cj_parser *p, bool is_entry, uint32_t line) {
    cj_ir_func *func = cj__arena_alloc(p->arena, sizeof *func);
    if (func) *func = (cj_ir_func){.module = p->module, .is_entry = is_entry, .line = line};
    else cj__parse_memory(p);
    return func;
}

cj_ir_func *cj__new_func(cj_parser *p, const char *name, bool is_entry, uint32_t line) {
    cj_ir_func *func = alloc_func(p, is_entry, line);
    if (!func) return NULL;
    func->name = name;
    return add_func(p, func) ? func : NULL;
}

static bool parse_results(cj_parser *p, cj_ir_func *func) {
    return parse_params(p, func, &func->result, &func->result_count, &func->result_capacity);
}

static bool parse_arguments(cj_parser *p, cj_ir_func *func) {
    return parse_params(p, func, &func->param, &func->param_count, &func->param_capacity);
}

static bool parse_name(cj_parser *p, cj_ir_func *func) {
    const char *at = p->at;
    size_t length = cj__name_length(p);
    if (!length) return cj__expected(p, p->at, "a function's name");
    func->name = cj__text_of(p, at, at + length);
    p->at += length;
    cj__skip(p);
    return func->name != NULL;
}

static bool parse_body(cj_parser *p, cj_ir_func *func) {
    p->last_line = p->line;
    if (!cj__at(p, '{'))
        return cj__parse_error(p, p->at, "syntax", "expected '{' or ';' after the head of '%s', found %s", func->name,
                               cj__found(p, p->at).text);
    p->func = func;
    p->at++;
    cj__skip(p);
    if (!cj__open_body(p, func) || !cj__parse_statements(p)) return false;
    if (!cj__at(p, '}')) {
        p->resume = true;
        return cj__parse_error(p, p->at, "syntax", "the body of '%s', begun on line %u, is never closed with '}'",
                               func->name, func->line);
    }
    if (!cj__close_body(p)) return false;
    p->last_line = p->line;
    p->at++;
    cj__skip(p);
    return true;
}

bool cj__parse_function(cj_parser *p, cj_linkage linkage) {
    uint32_t line = p->line;
    bool is_entry = cj__take_word(p, ".entry");
    cj_ir_func *func = alloc_func(p, is_entry, line);
    if (!func) return false;
    func->linkage = linkage;
    if (!is_entry) cj__take_word(p, ".func");
    if (!cj__parse_attribute(p, &func->attributes) || (!is_entry && !parse_results(p, func))) return false;
    const char *at = p->at;
    if (!parse_name(p, func)) return false;
    const cj_ir_item *before = cj__map_get(&p->module->names, func->name, strlen(func->name));
    if (before && (before->kind != CJ_ITEM_FUNC || before->func->has_body))
        return cj__parse_error(p, at, "name-twice", "'%s' is declared twice in this module", func->name);
    if (!add_func(p, func)) return false;
    if (!parse_arguments(p, func) || !parse_directives(p, func)) return false;
    p->last_line = p->line;
    return cj__take(p, ';') || parse_body(p, func);
}

const cj_ir_func *cj__parse_prototype(cj_parser *p) {
    cj_ir_func *func = alloc_func(p, false, p->line);
    cj_scope *scope = p->scope;
    if (!func) return NULL;
    p->scope = NULL;  // the names of a prototype's parameters mean nothing
    bool ok = parse_results(p, func) && parse_name(p, func) && parse_arguments(p, func) && parse_directives(p, func);
    p->scope = scope;
    return ok ? func : NULL;
}
