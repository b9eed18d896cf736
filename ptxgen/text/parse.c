// SPDX-License-Identifier: Apache-2.0
// A PTX file: its head, what it keeps as text, its variables and functions (PTX ISA 4, 5 and 11). Recovery from errors.
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

cj_ir_item *cj__add_item(cj_parser *p, cj_item_kind kind) {
    cj_ir_module *module = p->module;
    cj_ir_item *grown = cj__arena_grow(&module->arena, module->item, module->item_count, &module->item_capacity,
                                       sizeof *grown);
    if (!grown) {
        cj__parse_memory(p);
        return NULL;
    }
    module->item = grown;
    grown[module->item_count] = (cj_ir_item){.kind = kind};
    return &grown[module->item_count++];
}

// ---- recovery

cj_mark cj__mark(const cj_parser *p) { return (cj_mark){p->at, p->line_start, p->line}; }

// Remembers the name here, so that its uses are not reported as undefined: what would have declared it is left out.
static void miss_name(cj_parser *p, size_t length) {
    if (!cj__map_put(&p->missed, p->at, length, p->module)) cj__parse_memory(p);
}

// Skips the statement or item that begins here: its ';', or the '}' of its body, but not '}' around it.
static void skip_broken(cj_parser *p) {
    unsigned depth = 0;
    const char *start = p->at;
    bool declares = cj__at(p, '.');
    while (p->at < p->end && p->status != CJ_OUT_OF_MEMORY) {
        char c = *p->at;
        size_t length = cj__name_length(p);
        if (c == '}' && !depth && (p->func || p->at > start)) return;
        if (c == '.' && !depth && p->at > start && cj__begins_line(p) && cj__begins_item(p)) return;
        if (length && declares) miss_name(p, length);
        depth += c == '{';
        depth -= c == '}' && depth;
        p->at += length ? length : 1;
        cj__skip(p);
        if (c == ';' && (p->func || !depth)) return;
        if (c == '}' && !depth && !cj__at(p, ';') && !cj__at(p, ',') && !p->func) return;
    }
}

bool cj__begins_item(const cj_parser *p) {
    static const char *const words[] = {".visible", ".entry", ".func", ".weak", ".version", ".target"};
    size_t length = cj__word_length(p);
    for (size_t i = 0; length && i < sizeof words / sizeof *words; i++)
        if (!strncmp(words[i], p->at, length) && !words[i][length]) return true;
    return false;
}

enum { FINDINGS_MAX = 1000 };

// Moves the error at hand to the report.
static void add_finding(cj_parser *p) {
    const cj_rule *rule = cj_rule_find(p->error->rule);
    cj__report_add(p->report, rule ? rule->id : "syntax", p->error->line, p->error->column, "%s", p->error->message);
    p->found++;
    if (*p->error->hint) cj__report_hint(p->report, "%s", p->error->hint);
}

bool cj__recover(cj_parser *p, cj_mark start) {
    if (!p->report || p->status == CJ_OUT_OF_MEMORY) return false;
    if (!p->known) add_finding(p);
    p->module->broken = true;
    if (p->func) p->func->broken = true;
    if (p->found > FINDINGS_MAX) {
        cj__report_add(p->report, "errors-many", p->line, 1, "more than %d errors: the rest is not read", FINDINGS_MAX);
        p->report = NULL;
        return false;
    }
    p->status = CJ_OK;
    if (!p->resume && !(p->at > start.at && cj__begins_item(p))) {
        p->at = start.at;
        p->line_start = start.line_start;
        p->line = start.line;
        skip_broken(p);
    }
    p->depth = 0;
    p->known = p->resume = false;
    p->comment_count = 0;
    p->last_line = p->line;
    return !p->status || cj__recover(p, cj__mark(p));  // a comment that is never closed, found while skipping
}

// ---- the head

// The last version of each series that has ended (PTX ISA, "Release Notes"; ptxas 13.0 names the same).
bool cj__version_exists(unsigned version) {
    static const uint8_t last[] = {0, 15, 23, 32, 43, 51, 65, 78, 88};
    return version >= 10 && version < 1000 && (version / 10 >= sizeof last || version <= last[version / 10]);
}

static bool parse_version(cj_parser *p) {
    const char *at = p->at;
    cj_ir_operand number = {0};
    if (p->module->version) return cj__parse_error(p, at, "directive-twice", ".version is given twice");
    cj__take_word(p, ".version");
    const char *start = p->at;
    if (!cj__literal(p, &number)) return false;
    double value = 0;
    if (number.kind == CJ_OPERAND_FLOAT && !number.is_f32) memcpy(&value, &number.bits, sizeof value);
    if (!(value >= 1 && value < 100))
        return cj__parse_error(p, at, "version", "expected a PTX version such as 8.0, found %s",
                               cj__found(p, start).text);
    p->module->version = (uint16_t)(value * 10 + 0.5);
    if (!cj__version_exists(p->module->version))
        return cj__parse_error(p, at, "version", "there is no PTX %u.%u", p->module->version / 10u,
                               p->module->version % 10u);
    return cj__add_item(p, CJ_ITEM_HEAD) != NULL;
}

// sm_90a, and the options after it.
static bool parse_target(cj_parser *p) {
    const char *at = p->at;
    cj_ir_module *module = p->module;
    if (module->target_sm) return cj__parse_error(p, at, "directive-twice", ".target is given twice");
    cj__take_word(p, ".target");
    size_t length = cj__name_length(p);
    const char *target = cj__text_of(p, p->at, p->at + length);
    if (!target) return false;
    char *end = NULL;
    unsigned long number = strncmp(target, "sm_", 3) ? 0 : strtoul(target + 3, &end, 10);
    if (number < 10 || number > 999 || (*end && (end[1] || !strchr("af", *end))))
        return cj__parse_error(p, at, "target", "expected a target such as sm_90 or sm_90a, found '%s'", target);
    module->target = target;
    module->target_sm = (uint16_t)number;
    module->target_suffix = *end;
    p->at += length;
    const char *options = p->at, *last = options;
    cj__skip(p);
    while (cj__take(p, ',')) {
        length = cj__name_length(p);
        if (!length)
            return cj__parse_error(p, p->at, "target", "expected a target option, found %s", cj__found(p, p->at).text);
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
    if (!cj__integer(p, &bits, "64")) return false;
    if (bits != 32 && bits != 64)
        return cj__parse_error(p, at, "address-size", ".address_size %llu is not 64", (unsigned long long)bits);
    if (bits == 32)
        return cj__parse_error(p, at, "address-size", ".address_size 32: ptxas has no 32-bit addresses since CUDA 13.0; write 64");
    p->module->address_size = (uint16_t)bits;
    return true;
}

// ---- what is kept as text

static bool keep(cj_parser *p, const char *start, const char *end, bool plain) {
    cj_ir_item *item = cj__add_item(p, CJ_ITEM_DIRECTIVE);
    const char *text = plain ? cj__text_plain(p, start, end) : cj__text_of(p, start, end);
    if (item) item->text = text;
    return item && text;
}

// .file 1 "name"[, time, size]
static bool parse_file_name(cj_parser *p) {
    const char *start = p->at, *end;
    uint64_t value;
    cj__take_word(p, ".file");
    if (!cj__integer(p, &value, "a file's number")) return false;
    const char *name = p->at;
    if (!cj__string(p) || !cj__add_file(p, value, name)) return false;
    for (end = p->at; cj__take(p, ','); end = p->at)
        if (!cj__integer(p, &value, "a file's time or size")) return false;
    return keep(p, start, end, true);
}

bool cj__parse_pragma(cj_parser *p, const char **text) {
    const char *start = p->at;
    cj__take_word(p, ".pragma");
    do {
        if (!cj__string(p)) return false;
    } while (cj__take(p, ','));
    if (!cj__at(p, ';')) return cj__parse_error(p, start, "syntax", "this .pragma is not closed with ';'");
    p->last_line = p->line;
    p->at++;
    *text = cj__text_plain(p, start, p->at);
    cj__skip(p);
    return *text != NULL;
}

static bool parse_pragma(cj_parser *p) {
    const char *text;
    if (!cj__parse_pragma(p, &text)) return false;
    cj_ir_item *item = cj__add_item(p, CJ_ITEM_DIRECTIVE);
    if (item) item->text = text;
    return item != NULL;
}

// .section .debug_info { .b8 1, 2 … }: kept with its lines, for it is long and not for us.
static bool parse_section(cj_parser *p) {
    const char *start = p->at, *end = start;
    unsigned depth = 0;
    p->module->has_sections = true;
    cj__take_word(p, ".section");
    while (p->at < p->end && (depth || *p->at == '.' || *p->at == '{' || cj__name_length(p))) {
        char c = *p->at;
        depth += c == '{';
        depth -= c == '}' && depth;
        p->last_line = p->line;
        end = ++p->at;
        cj__skip(p);
        if (c == '}' && !depth) {
            p->comment_count = 0;  // they are in the text
            return keep(p, start, end, false);
        }
    }
    return cj__parse_error(p, start, "syntax", "this .section is not closed with '}'");
}

static cj_ir_func *function_named(cj_parser *p, const char *what) {
    const char *at = p->at;
    size_t length = cj__name_length(p);
    const cj_ir_item *item = length ? cj__map_get(&p->module->names, at, length) : NULL;
    p->at += length;
    cj__skip(p);
    if (item && item->kind == CJ_ITEM_FUNC) return item->func;
    cj__parse_error(p, at, length ? "name-undefined" : "syntax", "expected the name of %s, found %s", what,
                    cj__found(p, at).text);
    return NULL;
}

// .alias name, function;
static bool parse_alias(cj_parser *p) {
    const char *start = p->at, *of;
    cj__take_word(p, ".alias");
    cj_ir_func *alias = function_named(p, "a declared function");
    if (!alias || !cj__expect(p, ',', "after the name of .alias")) return false;
    of = p->at;
    cj_ir_func *func = function_named(p, "the function that it stands for");
    if (!func) return false;
    for (const cj_ir_func *end = func; end; end = end->alias) {
        if (end == alias) return cj__parse_error(p, of, "name-twice", "%s would stand for itself", alias->name);
    }
    alias->alias = func;
    if (!cj__at(p, ';')) return cj__expected(p, p->at, "';' after .alias");
    p->last_line = p->line;
    p->at++;
    const char *end = p->at;
    cj__skip(p);
    return keep(p, start, end, true);
}

// ---- the file

static bool parse_global(cj_parser *p, cj_space space, cj_linkage linkage) {
    cj_ir_var head = {.space = space, .linkage = linkage};
    if (!cj__parse_var_head(p, &head)) return false;
    do {
        cj_ir_var *var = cj__parse_declarator(p, &head);
        cj_ir_item *item = var ? cj__add_item(p, CJ_ITEM_VAR) : NULL;
        if (!item) return false;
        item->var = var;
    } while (cj__take(p, ','));
    return cj__end_statement(p, "a variable");
}

static const struct {
    const char *word;
    cj_linkage  linkage;
} linkages[] = {
    {".visible", CJ_LINK_VISIBLE}, {".extern", CJ_LINK_EXTERN}, {".weak", CJ_LINK_WEAK}, {".common", CJ_LINK_COMMON},
};

// Directives that stand alone. Those of the head come before all else.
static const struct {
    const char *word;
    bool (*parse)(cj_parser *p);
    bool is_head;
} alone[] = {
    {".version", parse_version, true}, {".target", parse_target, true}, {".address_size", parse_address_size, true},
    {".file", parse_file_name, false}, {".section", parse_section, false}, {".alias", parse_alias, false},
    {".pragma", parse_pragma, false},
};

static const struct {
    const char *word;
    cj_space    space;
} globals[] = {{".global", CJ_SPACE_GLOBAL}, {".const", CJ_SPACE_CONST}, {".shared", CJ_SPACE_SHARED}};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static bool parse_linked(cj_parser *p) {
    cj_linkage linkage = CJ_LINK_NONE;
    for (size_t i = 0; i < COUNT(linkages) && !linkage; i++)
        if (cj__take_word(p, linkages[i].word)) linkage = linkages[i].linkage;
    if (cj__word_is(p, ".entry") || cj__word_is(p, ".func")) return cj__parse_function(p, linkage);
    for (size_t i = 0; i < COUNT(globals); i++)
        if (cj__take_word(p, globals[i].word)) return parse_global(p, globals[i].space, linkage);
    return cj__expected(p, p->at, "a directive, a variable or a function");
}

static bool has_head(const cj_ir_module *module) { return module->version && module->target_sm; }

static bool parse_item(cj_parser *p) {
    size_t which = 0;
    while (which < COUNT(alone) && !cj__word_is(p, alone[which].word)) which++;
    bool is_head = which < COUNT(alone) && alone[which].is_head;
    if (!is_head && !has_head(p->module) && !p->module->broken) {
        p->resume = cj__begins_item(p);  // reported once, the item is read
        return cj__parse_error(p, p->at, "head", "a PTX file begins with .version and .target; found %s",
                               cj__found(p, p->at).text);
    }
    if (which == COUNT(alone)) return parse_linked(p);
    p->last_line = p->line;
    return alone[which].parse(p);
}

// Texts are kept as C strings, so what holds a NUL would lose what follows it.
static bool refuse_nul(cj_parser *p) {
    const char *nul = memchr(p->at, '\0', (size_t)(p->end - p->at));
    if (!nul) return true;
    for (; p->at < nul; p->at++)
        if (*p->at == '\n') p->line++, p->line_start = p->at + 1;
    return cj__parse_error(p, nul, "syntax", "a NUL byte: this is not text");
}

// Shows the function whose body was read last, and drops the body.
static void see_body(cj_parser *p) {
    cj_ir_func *func = p->body;
    if (!func) return;
    p->each(p->user, p->module, func);
    p->body = NULL;
    p->arena = &p->module->arena;
    for (size_t i = 0; i < func->param_count; i++) func->param[i]->reg = NULL;
    for (size_t i = 0; i < func->result_count; i++) func->result[i]->reg = NULL;
    func->stmt = NULL;
    func->reg = NULL;
    func->var = NULL;
    func->comment = NULL;
    func->stmt_count = func->stmt_capacity = func->reg_count = func->reg_capacity = 0;
    func->var_count = func->var_capacity = 0;
    cj__arena_reset(p->bodies);
}

bool cj__parse_file(cj_parser *p) {
    p->resume = true;
    if (!refuse_nul(p)) return cj__recover(p, cj__mark(p));
    p->resume = false;
    cj__skip(p);
    p->last_line = p->line;
    if (p->comment_count) p->last_line = p->comment[0].line - (p->comment[0].line > 0);
    for (;;) {
        cj_mark start = cj__mark(p);
        cj__attach_comments(p);
        bool ok = !p->status && (p->at == p->end || parse_item(p));
        const bool goes_on = (ok && !p->status) || cj__recover(p, start);
        see_body(p);
        if (!goes_on) return false;
        p->func = NULL;
        p->scope = NULL;
        if (ok && start.at == p->end) break;
    }
    if (has_head(p->module) || p->module->broken) return true;
    cj__parse_error(p, p->at, "head", "a PTX file begins with .version and .target; this one has %s",
                    p->module->version ? "no .target" : "no .version");
    return cj__recover(p, cj__mark(p));
}

cj_ir_module *cj__ir_new(void) {
    cj_arena arena = {0};
    cj_ir_module *module = cj__arena_alloc(&arena, sizeof *module);
    if (!module) return NULL;
    module->arena = arena;
    module->address_size = 64;
    module->target = module->target_options = "";
    module->names.arena = module->mnemonics.arena = module->labels.arena = &module->arena;
    return module;
}

static cj_status parse(const char *text, size_t length, cj_ir_module **module, cj_report *report, cj_error *error,
                       cj_ir_each *each, void *user) {
    while (length && !text[length - 1]) length--;  // what compilers hand out as a string may count its end
    cj_arena  bodies = {0};
    cj_parser p = {.begin = text, .at = text, .end = text + length, .line_start = text, .line = 1, .error = error,
                   .report = report, .module = cj__ir_new(), .bodies = &bodies, .each = each, .user = user};
    *module = NULL;
    if (!p.module) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while reading PTX");
    p.arena = &p.module->arena;
    p.missed.arena = &p.module->arena;
    p.mnemonic = cj__arena_alloc(&p.module->arena, CJ_RECENT_MNEMONICS * sizeof *p.mnemonic);
    bool fits = length < UINT32_MAX;  // and with it every line, column, register and statement a counter of 32 bits
    if (!fits) {
        p.end = text;
        cj__parse_error(&p, text, "file-size", "%zu bytes of PTX: more than 4 GiB", length);
        fits = cj__recover(&p, cj__mark(&p));
    }
    if (fits && cj__parse_file(&p)) p.status = CJ_OK;
    if (report && p.status == CJ_INVALID_KERNEL) p.status = CJ_OK;  // reported
    cj__arena_free(&bodies);
    if (p.status) cj__ir_free(p.module);
    else *module = p.module;
    return p.status;
}

cj_status cj__ir_parse(const char *text, size_t length, cj_ir_module **module, cj_error *error) {
    return parse(text, length, module, NULL, error, NULL, NULL);
}

cj_status cj__ir_parse_report(const char *text, size_t length, cj_ir_module **module, cj_report *report) {
    cj_error error;
    return parse(text, length, module, report, &error, NULL, NULL);
}

cj_status cj__ir_parse_each(const char *text, size_t length, cj_ir_module **module, cj_report *report, cj_ir_each *each,
                            void *user) {
    cj_error error;
    return parse(text, length, module, report, &error, each, user);
}
