// SPDX-License-Identifier: Apache-2.0
// A PTX file: its directives, variables and functions (PTX ISA 4, 5 and 11).
#include "parse.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "parser.h"

cj_ir_func *cj__ir_func(const cj_ir_module *module, const char *name) {
    const cj_ir_item *item = cj__map_get(&module->names, name, strlen(name));
    return item && item->kind == CJ_ITEM_FUNC ? item->func : NULL;
}

void cj__ir_free(cj_ir_module *module) {
    if (!module) return;
    cj_arena arena = module->arena;  // the module itself lives in it
    cj__arena_free(&arena);
}

// ---- types and variables

bool cj__parse_type(cj_parser *p, uint16_t *type, uint8_t *vector) {
    const char *at = p->at;
    *vector = 1;
    if (cj__take_word(p, ".v2")) *vector = 2;
    else if (cj__take_word(p, ".v4")) *vector = 4;
    else if (cj__take_word(p, ".v8")) *vector = 8;
    size_t length = cj__word_length(p);
    cj_word word = length > 1 ? cj__word_find(p->at + 1, length - 1) : CJ_WORD_NONE;
    if (!cj__words[word].class)
        return cj__parse_error(p, at, "type", "expected a type such as .u32, found %s", cj__found(p, p->at).text);
    *type = (uint16_t)word;
    p->at += length;
    cj__skip(p);
    return true;
}

static bool is_power_of_two(uint64_t x) { return x && !(x & (x - 1)); }

static bool parse_align(cj_parser *p, cj_ir_var *head) {
    const char *at = p->at;
    uint64_t align;
    if (!cj__take_word(p, ".align")) return true;
    if (!cj__integer(p, &align, "an alignment in bytes")) return false;
    if (!is_power_of_two(align) || align > 1 << 16)
        return cj__parse_error(p, at, "align", ".align %llu is not a power of two up to 65536",
                               (unsigned long long)align);
    head->align = (uint32_t)align;
    head->align_written = true;
    return true;
}

// .ptr .global .align 16: what a pointer parameter points to. Kept as text.
static bool parse_attributes(cj_parser *p, cj_ir_var *head) {
    const char *start = p->at, *end = start;
    if (cj__take_word(p, ".ptr")) {
        for (size_t length; (length = cj__word_length(p));) {
            bool align = cj__word_is(p, ".align");
            p->at += length;
            end = p->at;
            cj__skip(p);
            uint64_t bytes;
            if (align && !cj__integer(p, &bytes, "an alignment in bytes")) return false;
            if (align) end = p->at;
        }
        if (end == start) end = start + strlen(".ptr");
    }
    head->attributes = cj__text_plain(p, start, end);
    return head->attributes != NULL;
}

bool cj__parse_var_head(cj_parser *p, cj_ir_var *head) {
    if (!parse_align(p, head)) return false;
    const char *at = p->at;
    if (!cj__parse_type(p, &head->type, &head->vector)) return false;
    if (head->type == CJ_W_PRED)
        return cj__parse_error(p, at, "type", ".pred is a type of registers; memory holds no predicates");
    if (!parse_align(p, head) || !parse_attributes(p, head)) return false;
    uint32_t natural = cj__words[head->type].bits / 8u * head->vector;
    if (!head->align) head->align = natural;
    return true;
}

// [8][4], or [] where the launch or an initialiser gives the size.
static bool parse_shape(cj_parser *p, cj_ir_var *var) {
    const char *start = p->at, *end = start;
    var->count = 1;
    while (cj__take(p, '[')) {
        const char *at = p->at;
        uint64_t extent = 0;
        if (!cj__at(p, ']') && !cj__integer(p, &extent, "an array's extent")) return false;
        if (extent && var->count > (UINT64_MAX >> 8) / extent)
            return cj__parse_error(p, at, "array-size", "the array '%s' is larger than memory", var->name);
        if (!extent && var->is_array)
            return cj__parse_error(p, at, "array-size", "only the first extent of an array may be left open");
        var->is_array = true;
        var->unsized = !extent;
        var->count *= extent;
        if (!cj__expect(p, ']', "behind an array's extent")) return false;
        end = p->at;
    }
    var->bytes = var->count * (cj__words[var->type].bits / 8u) * var->vector;
    var->shape = cj__text_plain(p, start, end);
    return var->shape != NULL;
}

// An initialiser is kept as text: a value, or values in braces.
static bool parse_initial(cj_parser *p, cj_ir_var *var) {
    if (!cj__take(p, '=')) return true;
    const char *start = p->at;
    unsigned depth = 0;
    while (p->at < p->end && (depth || (*p->at != ';' && *p->at != ','))) {
        depth += *p->at == '{';
        if (*p->at == '}') {
            if (!depth) break;
            depth--;
        }
        p->at++;
        cj__skip(p);
    }
    if (depth || p->at == start)
        return cj__parse_error(p, start, "initialiser", "the initialiser of '%s' is empty or not closed", var->name);
    var->initial = cj__text_plain(p, start, p->at);
    if (!var->initial) return false;
    if (var->unsized && *var->initial == '{') {  // the count follows from the values
        unsigned values = 1;
        for (const char *c = var->initial; *c; c++) values += *c == ',';
        var->unsized = false;
        var->count = values;
        var->bytes = values * (cj__words[var->type].bits / 8u) * var->vector;
    }
    return true;
}

static bool declare_global(cj_parser *p, cj_ir_var *var, const char *at) {
    cj_map *names = &p->module->names;
    const cj_ir_item *before = cj__map_get(names, var->name, strlen(var->name));
    if (before && (before->kind != CJ_ITEM_VAR || before->var->linkage != CJ_LINK_EXTERN))
        return cj__parse_error(p, at, "name-twice", "'%s' is declared twice in this module", var->name);
    cj_ir_item *item = cj__arena_alloc(&p->module->arena, sizeof *item);
    if (!item) return cj__parse_memory(p);
    *item = (cj_ir_item){.kind = CJ_ITEM_VAR, .var = var};
    return cj__map_put(names, var->name, strlen(var->name), item) || cj__parse_memory(p);
}

static bool declare_local(cj_parser *p, cj_ir_var *var, const char *at) {
    cj_ir_func *func = p->func;
    cj_ir_var **grown = cj__arena_grow(&p->module->arena, func->var, func->var_count, &func->var_capacity, sizeof *grown);
    if (!grown) return cj__parse_memory(p);
    func->var = grown;
    grown[func->var_count++] = var;
    return cj__declare(p, var->name, NULL, var, at);
}

cj_ir_var *cj__parse_declarator(cj_parser *p, const cj_ir_var *head) {
    const char *at = p->at;
    size_t length = cj__name_length(p);
    if (!length) {
        cj__parse_error(p, at, "syntax", "expected a name, found %s", cj__found(p, at).text);
        return NULL;
    }
    cj_ir_var *var = cj__arena_alloc(&p->module->arena, sizeof *var);
    if (!var) {
        cj__parse_memory(p);
        return NULL;
    }
    *var = *head;
    var->line = p->line;
    var->name = cj__text_of(p, at, at + length);
    if (!var->name) return NULL;
    p->at += length;
    cj__skip(p);
    bool is_param = head->space == CJ_SPACE_PARAM && !p->scope;  // declared when the body opens
    if (!parse_shape(p, var) || !parse_initial(p, var)) return NULL;
    bool declared = is_param || (p->func ? declare_local(p, var, at) : declare_global(p, var, at));
    return declared ? var : NULL;
}

// ---- functions

cj_ir_func *cj__new_func(cj_parser *p, const char *name, bool is_entry, uint32_t line) {
    cj_ir_module *module = p->module;
    cj_ir_item *item = cj__add_item(p, CJ_ITEM_FUNC);
    cj_ir_func *func = cj__arena_alloc(&module->arena, sizeof *func);
    cj_ir_item *named = cj__arena_alloc(&module->arena, sizeof *named);
    if (!item || !func || !named) {
        cj__parse_memory(p);
        return NULL;
    }
    *func = (cj_ir_func){.module = module, .name = name, .is_entry = is_entry, .line = line};
    item->func = func;
    *named = *item;
    if (!cj__map_put(&module->names, name, strlen(name), named)) {
        cj__parse_memory(p);
        return NULL;
    }
    return func;
}

// Takes the comments read so far, as one line.
static const char *joined_comments(cj_parser *p) {
    size_t length = 0;
    for (size_t i = 0; i < p->comment_count; i++) length += p->comment[i].length + 1;
    char *text = cj__arena_alloc(&p->module->arena, length + 1), *end = text;
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
        if (*c == '\n') *c = ' ';
    p->comment_count = 0;
    return cj__text_of(p, text, end);
}

// (.param .u64 x, .param .align 8 .b8 y[16])
static bool parse_params(cj_parser *p, cj_ir_func *func, cj_ir_var ***list, size_t *count, size_t *capacity) {
    if (!cj__take(p, '(') || cj__take(p, ')')) return true;
    bool more;
    do {
        cj_ir_var head = {.space = CJ_SPACE_PARAM, .func = func};
        if (!cj__take_word(p, ".param"))
            return cj__parse_error(p, p->at, "syntax", "expected .param, found %s", cj__found(p, p->at).text);
        if (!cj__parse_var_head(p, &head)) return false;
        cj_ir_var *var = cj__parse_declarator(p, &head);
        cj_ir_var **grown = var ? cj__arena_grow(&p->module->arena, *list, *count, capacity, sizeof *grown) : NULL;
        if (!grown) return var ? cj__parse_memory(p) : false;
        *list = grown;
        grown[(*count)++] = var;
        more = cj__take(p, ',');
        if (p->comment_count) var->comment = joined_comments(p);
    } while (more && !p->status);
    return cj__expect(p, ')', "or ',' behind a parameter");
}

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
};

const char *cj__directive_word(cj_directive directive) { return directives[directive].word; }

static bool parse_directive(cj_parser *p, cj_ir_func *func, cj_directive which) {
    const char *at = p->at;
    cj_ir_directive *directive = &func->directive[which];
    if (directive->given)
        return cj__parse_error(p, at, "directive-twice", "%s is given twice", directives[which].word);
    *directive = (cj_ir_directive){.given = true, .value = {1, 1, 1}, .line = p->line, .column = cj__column(p, at)};
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
    return true;
}

// A pragma of the head, appended to those before it.
static bool parse_pragma(cj_parser *p, cj_ir_func *func) {
    const char *start = p->at;
    const char *end = memchr(start, ';', (size_t)(p->end - start));
    if (!end) return cj__parse_error(p, start, "syntax", "this .pragma is not closed with ';'");
    const char *from = func->pragmas ? func->pragmas : "";
    size_t before = strlen(from), length = (size_t)(end + 1 - start);
    char *text = cj__arena_alloc(&p->module->arena, before + length + 2);
    if (!text) return cj__parse_memory(p);
    memcpy(text, from, before);
    if (before) text[before++] = '\n';
    memcpy(text + before, start, length);
    func->pragmas = text;
    p->at = end + 1;
    cj__skip(p);
    return true;
}

static bool parse_directives(cj_parser *p, cj_ir_func *func) {
    for (;;) {
        if (cj__word_is(p, ".pragma")) {
            if (!parse_pragma(p, func)) return false;
            continue;
        }
        int which = 0;
        while (which < CJ_DIR_COUNT && !cj__word_is(p, directives[which].word)) which++;
        if (which == CJ_DIR_COUNT) return true;
        if (!parse_directive(p, func, (cj_directive)which)) return false;
    }
}

static bool parse_body(cj_parser *p, cj_ir_func *func) {
    p->last_line = p->line;
    if (!cj__at(p, '{'))
        return cj__parse_error(p, p->at, "syntax", "expected '{' or ';' behind the head of '%s', found %s", func->name,
                               cj__found(p, p->at).text);
    p->func = func;
    p->at++;
    cj__skip(p);
    if (!cj__open_body(p, func) || !cj__parse_statements(p)) return false;
    if (!cj__at(p, '}'))
        return cj__parse_error(p, p->at, "syntax", "the body of '%s', begun on line %u, is never closed with '}'",
                               func->name, func->line);
    if (!cj__close_body(p)) return false;
    p->at++;
    p->last_line = p->line;
    cj__skip(p);
    return true;
}

static bool parse_function(cj_parser *p, cj_linkage linkage) {
    bool is_entry = cj__word_is(p, ".entry");
    uint32_t line = p->line;
    cj_ir_func shell = {.linkage = linkage};
    p->at += strlen(is_entry ? ".entry" : ".func");
    cj__skip(p);
    if (!is_entry && !parse_params(p, NULL, &shell.result, &shell.result_count, &shell.result_capacity)) return false;
    const char *at = p->at;
    size_t length = cj__name_length(p);
    if (!length) return cj__parse_error(p, at, "syntax", "expected a function's name, found %s", cj__found(p, at).text);
    const char *name = cj__text_of(p, at, at + length);
    if (!name) return false;
    const cj_ir_item *before = cj__map_get(&p->module->names, name, length);
    if (before && (before->kind != CJ_ITEM_FUNC || before->func->has_body))
        return cj__parse_error(p, at, "name-twice", "'%s' is declared twice in this module", name);
    p->at += length;
    cj__skip(p);
    cj_ir_func *func = cj__new_func(p, name, is_entry, line);
    if (!func) return false;
    func->linkage = linkage;
    func->result = shell.result;
    func->result_count = shell.result_count;
    if (!parse_params(p, func, &func->param, &func->param_count, &func->param_capacity)) return false;
    if (!parse_directives(p, func)) return false;
    p->last_line = p->line;
    return cj__take(p, ';') || parse_body(p, func);
}

// ---- the file

static bool parse_version(cj_parser *p) {
    const char *at = p->at;
    cj_ir_operand number = {0};
    if (p->module->version) return cj__parse_error(p, at, "directive-twice", ".version is given twice");
    if (!cj__take_word(p, ".version") || !cj__number(p, &number)) return false;
    double value = 0;
    if (number.kind == CJ_OPERAND_FLOAT) memcpy(&value, &number.bits, sizeof value);
    if (!(value >= 1 && value < 100))
        return cj__parse_error(p, at, "version", "expected a PTX version such as 8.0, found '%s'", number.text);
    p->module->version = (uint16_t)(value * 10 + 0.5);
    return cj__add_item(p, CJ_ITEM_HEAD) != NULL;
}

// sm_90a, and the options behind it.
static bool parse_target(cj_parser *p) {
    const char *at = p->at;
    cj_ir_module *module = p->module;
    if (module->target) return cj__parse_error(p, at, "directive-twice", ".target is given twice");
    cj__take_word(p, ".target");
    size_t length = cj__name_length(p);
    module->target = cj__text_of(p, p->at, p->at + length);
    if (!module->target) return false;
    char *end = NULL;
    unsigned long number = strncmp(module->target, "sm_", 3) ? 0 : strtoul(module->target + 3, &end, 10);
    if (number < 10 || number > 999 || (*end && (end[1] || !strchr("af", *end))))
        return cj__parse_error(p, at, "target", "expected a target such as sm_90 or sm_90a, found '%s'", module->target);
    module->target_sm = (uint16_t)number;
    module->target_suffix = *end;
    p->at += length;
    const char *options = p->at, *last = options;
    cj__skip(p);
    while (cj__take(p, ',')) {
        length = cj__name_length(p);
        if (!length) return cj__parse_error(p, p->at, "target", "expected a target option, found %s", cj__found(p, p->at).text);
        p->at += length;
        last = p->at;
        cj__skip(p);
    }
    module->target_options = cj__text_plain(p, options, last);
    return module->target_options != NULL;
}

static bool parse_address_size(cj_parser *p) {
    const char *at = p->at;
    uint64_t bits;
    cj__take_word(p, ".address_size");
    if (!cj__integer(p, &bits, "32 or 64")) return false;
    if (bits != 32 && bits != 64)
        return cj__parse_error(p, at, "address-size", ".address_size %llu is neither 32 nor 64", (unsigned long long)bits);
    p->module->address_size = (uint16_t)bits;
    return true;
}

// A directive that is kept as text: up to the end of the line, the semicolon, or the closing brace.
static bool parse_kept(cj_parser *p, char close) {
    const char *start = p->at;
    const char *end = memchr(start, close, (size_t)(p->end - start));
    if (!end && close != '\n') return cj__parse_error(p, start, "syntax", "this directive is not closed with '%c'", close);
    cj_ir_item *item = cj__add_item(p, CJ_ITEM_DIRECTIVE);
    if (!item) return false;
    p->at = end ? end + (close != '\n') : p->end;
    for (const char *c = start; c < p->at; c++)
        if (*c == '\n') p->line++, p->line_start = c + 1;
    item->text = cj__text_of(p, start, p->at);
    p->last_line = p->line;
    cj__skip(p);
    return item->text != NULL;
}

static bool parse_global(cj_parser *p, cj_space space, cj_linkage linkage) {
    cj_ir_var head = {.space = space, .linkage = linkage};
    if (!cj__parse_var_head(p, &head)) return false;
    do {
        cj_ir_var *var = cj__parse_declarator(p, &head);
        cj_ir_item *item = var ? cj__add_item(p, CJ_ITEM_VAR) : NULL;
        if (!item) return false;
        item->var = var;
    } while (cj__take(p, ','));
    if (!cj__at(p, ';'))
        return cj__parse_error(p, p->at, "syntax", "expected ';' behind a variable, found %s", cj__found(p, p->at).text);
    p->last_line = p->line;
    return cj__take(p, ';');
}

static const struct {
    const char *word;
    cj_linkage  linkage;
} linkages[] = {{".visible", CJ_LINK_VISIBLE}, {".extern", CJ_LINK_EXTERN}, {".weak", CJ_LINK_WEAK}, {".common", CJ_LINK_COMMON}};

static const struct {
    const char *word;
    bool (*parse)(cj_parser *p);
} heads[] = {{".version", parse_version}, {".target", parse_target}, {".address_size", parse_address_size}};

static const struct {
    const char *word;
    char        close;
} kept[] = {{".file", '\n'}, {".section", '}'}, {".alias", ';'}, {".pragma", ';'}};

static const struct {
    const char *word;
    cj_space    space;
} globals[] = {{".global", CJ_SPACE_GLOBAL}, {".const", CJ_SPACE_CONST}, {".shared", CJ_SPACE_SHARED}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool parse_item(cj_parser *p) {
    for (size_t i = 0; i < COUNT(heads); i++) {
        if (!cj__word_is(p, heads[i].word)) continue;
        p->last_line = p->line;
        return heads[i].parse(p);
    }
    if (!p->module->version || !p->module->target)
        return cj__parse_error(p, p->at, "head", "a PTX file begins with .version and .target; found %s",
                               cj__found(p, p->at).text);
    for (size_t i = 0; i < COUNT(kept); i++)
        if (cj__word_is(p, kept[i].word)) return parse_kept(p, kept[i].close);
    cj_linkage linkage = CJ_LINK_NONE;
    for (size_t i = 0; i < COUNT(linkages); i++)
        if (cj__take_word(p, linkages[i].word)) {
            linkage = linkages[i].linkage;
            break;
        }
    if (cj__word_is(p, ".entry") || cj__word_is(p, ".func")) return parse_function(p, linkage);
    for (size_t i = 0; i < COUNT(globals); i++)
        if (cj__take_word(p, globals[i].word)) return parse_global(p, globals[i].space, linkage);
    return cj__parse_error(p, p->at, "syntax", "expected a directive, a variable or a function, found %s",
                           cj__found(p, p->at).text);
}

// Texts are kept as C strings, so what holds a NUL would lose what stands behind it.
static bool refuse_nul(cj_parser *p) {
    const char *nul = memchr(p->at, '\0', (size_t)(p->end - p->at));
    if (!nul) return true;
    for (; p->at < nul; p->at++)
        if (*p->at == '\n') p->line++, p->line_start = p->at + 1;
    return cj__parse_error(p, nul, "syntax", "a NUL byte: this is not text");
}

bool cj__parse_file(cj_parser *p) {
    if (!refuse_nul(p)) return false;
    cj__skip(p);
    p->last_line = p->line;
    if (p->comment_count) p->last_line = p->comment[0].line - (p->comment[0].line > 0);
    for (;;) {
        cj__attach_comments(p);
        if (p->status) return false;
        if (p->at == p->end) break;
        if (!parse_item(p)) return false;
    }
    if (p->module->version && p->module->target) return true;
    return cj__parse_error(p, p->at, "head", "a PTX file begins with .version and .target; this one has %s",
                           p->module->version ? "no .target" : "no .version");
}

cj_ir_module *cj__ir_new(void) {
    cj_arena arena = {0};
    cj_ir_module *module = cj__arena_alloc(&arena, sizeof *module);
    if (!module) return NULL;
    module->arena = arena;
    module->address_size = 64;
    module->target_options = "";
    module->names.arena = module->mnemonics.arena = &module->arena;
    return module;
}

cj_status cj__ir_parse(const char *text, size_t length, cj_ir_module **module, cj_error *error) {
    *module = NULL;
    cj_parser p = {.begin = text, .at = text, .end = text + length, .line_start = text, .line = 1, .error = error};
    p.module = cj__ir_new();
    if (!p.module) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while reading PTX");
    if (!cj__parse_file(&p)) {
        cj__ir_free(p.module);
        return p.status;
    }
    *module = p.module;
    return CJ_OK;
}
