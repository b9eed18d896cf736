// SPDX-License-Identifier: Apache-2.0
// The builder: a parser that is fed line by line. Registers and shared memory are declared as they are asked for and put
// at the head of the body when it ends.
#include <clusterjit/ptx.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "builder_state.h"
#include "check.h"
#include "error.h"
#include "print.h"
#include "report.h"

enum { LINE_WIDTH = 110 };

cj_builder *cj_builder_create(const char *arch) {
    cj_builder *b = cj__calloc(1, sizeof *b);
    if (!b) return NULL;
    cj_parser *p = &b->parser;
    p->error = &b->error;
    p->module = cj__ir_new();
    if (!p->module) {
        cj__free(b);
        return NULL;
    }
    p->arena = &p->module->arena;
    b->func.builder = b;
    const cj_target_info *target = arch ? cj__target_find(arch) : NULL;
    if (!target) {
        p->status = arch ? cj__fail(&b->error, CJ_INVALID_ARGUMENT, "'%s' is not a target", arch)
                         : cj__fail(&b->error, CJ_INVALID_ARGUMENT, "arch is NULL, and no target");
        cj__hint(&b->error, "sm_90, sm_90a, sm_100a and sm_120 are some");
        return b;
    }
    p->module->target = target->text;
    p->module->target_sm = target->number;
    p->module->target_suffix = target->suffix;
    return b;
}

void cj_builder_destroy(cj_builder *b) {
    if (!b) return;
    for (size_t i = 0; i < b->callee_count; i++) cj__user_function_drop(b->callee[i].function);
    cj__ir_free(b->parser.module);
    cj__text_free(&b->line);
    cj__free(b);
}

void cj_builder_version(cj_builder *b, unsigned version) {
    if (!b || b->parser.status) return;
    if (cj__version_exists(version)) b->version = (uint16_t)version;
    else cj__parse_error(&b->parser, NULL, "version", "%u is not a PTX version such as 80, for 8.0", version);
}

// ---- comments

// Each line of the text becomes a comment: in the head, or in the function that is open.
CJ_PRINTF(3, 0) static void add_lines(cj_parser *p, bool in_head, const char *format, va_list args) {
    char text[512] = "", *next = text;
    if (format) vsnprintf(text, sizeof text, format, args);
    for (char *line = text; line && !p->status; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        const char *copy = cj__ascii_text(p, line);
        cj_ir_item *item = copy && in_head ? cj__add_item(p, CJ_ITEM_COMMENT) : NULL;
        cj_ir_stmt *stmt = copy && !in_head ? cj__add_stmt(p, CJ_STMT_COMMENT, NULL) : NULL;
        if (item) item->text = copy;
        if (stmt) stmt->text = copy;
    }
}

void cj_head(cj_builder *b, const char *format, ...) {
    if (!b || b->parser.status) return;
    va_list args;
    va_start(args, format);
    add_lines(&b->parser, true, format, args);
    va_end(args);
}

void cj_note(cj_func *f, const char *format, ...) {
    if (!is_open(f)) return;
    va_list args;
    va_start(args, format);
    add_lines(&f->builder->parser, false, format, args);
    va_end(args);
}

void cj_step(cj_func *f, const char *format, ...) {
    if (!is_open(f) || !cj__add_stmt(&f->builder->parser, CJ_STMT_BLANK, NULL)) return;
    va_list args;
    va_start(args, format);
    add_lines(&f->builder->parser, false, format, args);
    va_end(args);
}

// ---- declarations

static bool is_name(cj_parser *p, const char *name) {
    if (!name) return cj__parse_error(p, NULL, "name-form", "a name is NULL");
    cj_parser look = {.at = name, .end = name + strlen(name)};
    size_t length = cj__name_length(&look);
    if (length > (*name == '%') && !name[length]) return true;
    return cj__parse_error(p, NULL, "name-form", "'%s' is not a name: letters, digits, _ and $, and no digit first", name);
}

// "sum", or "sum_2", "sum_3", … where that is taken.
static const char *free_name(cj_func *f, const char *prefix, const char *name) {
    cj_parser *p = &f->builder->parser;
    char text[80];
    int length = snprintf(text, sizeof text, "%s%s", prefix, name);
    if (!is_name(p, text)) return NULL;
    for (unsigned number = 2; length > 0 && (size_t)length < sizeof text; number++) {
        if (!cj__map_get(&p->scope->names, text, (size_t)length)) {
            const char *copy = cj__arena_text(p->arena, text, (size_t)length);
            if (!copy) cj__parse_memory(p);
            return copy;
        }
        length = snprintf(text, sizeof text, "%s%s_%u", prefix, name, number);
    }
    cj__parse_error(p, NULL, "name-long", "the name '%s' is too long", name);
    return NULL;
}

static cj_word type_named(cj_func *f, const char *type) {
    cj_word word = type ? cj__word_find(type, strlen(type)) : CJ_WORD_NONE;
    if (cj__words[word].class) return word;
    cj__parse_error(&f->builder->parser, NULL, "type", type ? "'%s' is not a type" : "a type is NULL", type);
    return CJ_WORD_NONE;
}

cj_reg cj_register(cj_func *f, const char *type, const char *name) {
    if (!is_open(f)) return (cj_reg){0};
    cj_parser *p = &f->builder->parser;
    cj_word word = type_named(f, type);
    const char *unique = word && NEEDS(f, name) ? free_name(f, "%", name) : NULL;
    cj_ir_reg *reg = unique ? cj__new_reg(p, unique, (uint16_t)word, 1) : NULL;
    if (!reg || !cj__declare(p, unique, reg, NULL, NULL)) return (cj_reg){0};
    cj_ir_reg **grown = cj__arena_grow(p->arena, f->reg, f->reg_count, &f->reg_capacity, sizeof *grown);
    if (!grown) return cj__parse_memory(p), (cj_reg){0};
    f->reg = grown;
    grown[f->reg_count++] = reg;
    return (cj_reg){(uint32_t)f->reg_count};
}

static cj_ir_var *new_var(cj_func *f, cj_space space, const char *type, const char *name) {
    cj_parser *p = &f->builder->parser;
    if (!is_name(p, name)) return NULL;
    cj_word word = type_named(f, type);
    cj_ir_var *var = word ? cj__arena_alloc(p->arena, sizeof *var) : NULL;
    const char *copy = cj__arena_text(p->arena, name, strlen(name));
    if (!word) return NULL;
    if (!var || !copy) {
        cj__parse_memory(p);
        return NULL;
    }
    uint32_t bytes = cj__words[word].bits / 8u;
    *var = (cj_ir_var){.name = copy, .space = space, .type = (uint16_t)word, .vector = 1, .count = 1, .bytes = bytes,
                       .align = bytes, .shape = "", .attributes = "", .func = f->ir};
    return cj__declare(p, copy, NULL, var, NULL) ? var : NULL;
}

// Appends to a list of variables of the function.
static bool append(cj_func *f, cj_ir_var ***list, size_t *count, size_t *capacity, cj_ir_var *var) {
    cj_ir_var **grown = cj__arena_grow(&f->builder->parser.module->arena, *list, *count, capacity, sizeof *grown);
    if (!grown) return cj__parse_memory(&f->builder->parser);
    *list = grown;
    grown[(*count)++] = var;
    return true;
}

cj_var cj_param(cj_func *f, const char *type, const char *name, const char *comment) {
    return cj_param_array(f, type, name, 1, 0, comment);
}

// Checks an array's length and alignment before there is a variable.
static bool is_array(cj_func *f, const char *what, const char *name, uint32_t count, uint32_t align) {
    if (count && !(align & (align - 1))) return true;
    return cj__parse_error(&f->builder->parser, NULL, "array-size",
                           "%s '%s' of %u elements aligned to %u: it needs an element and a power of two", what, name, count,
                           align);
}

static void make_array(cj_func *f, cj_ir_var *var, uint32_t count, uint32_t align) {
    char shape[16];
    int  length = snprintf(shape, sizeof shape, "[%u]", count);
    var->count = count;
    var->bytes *= count;
    var->is_array = count > 1;
    if (count > 1) var->shape = cj__arena_text(&f->ir->module->arena, shape, (size_t)length);
    if (!var->shape) cj__parse_memory(&f->builder->parser);
    if (align) var->align = align, var->align_written = true;
}

cj_var cj_param_array(cj_func *f, const char *type, const char *name, uint32_t count, uint32_t align,
                      const char *comment) {
    if (!is_open(f) || !is_array(f, "parameter", name, count, align)) return (cj_var){0};
    cj_ir_func *ir = f->ir;
    cj_ir_var *var = new_var(f, CJ_SPACE_PARAM, type, name);
    if (!var || !append(f, &ir->param, &ir->param_count, &ir->param_capacity, var)) return (cj_var){0};
    make_array(f, var, count, align);
    if (comment) var->comment = cj__ascii_text(&f->builder->parser, comment);
    return (cj_var){(uint32_t)ir->param_count | PARAM_BIT};
}

cj_var cj_shared(cj_func *f, const char *type, const char *name, uint32_t count, uint32_t align) {
    if (!is_open(f) || !is_array(f, "shared memory", name, count, align)) return (cj_var){0};
    cj_ir_func *ir = f->ir;
    cj_ir_var *var = new_var(f, CJ_SPACE_SHARED, type, name);
    if (!var || !append(f, &ir->var, &ir->var_count, &ir->var_capacity, var)) return (cj_var){0};
    if (!append(f, &f->var, &f->var_count, &f->var_capacity, var)) return (cj_var){0};
    make_array(f, var, count, align);
    return (cj_var){(uint32_t)f->var_count};
}

// ---- directives

static void set_directive(cj_func *f, cj_directive which, unsigned count, uint32_t x, uint32_t y, uint32_t z) {
    if (!is_open(f)) return;
    cj_parser *p = &f->builder->parser;
    cj_ir_directive *directive = &f->ir->directive[which];
    bool of_clusters = which >= CJ_DIR_BLOCKSARECLUSTERS && which <= CJ_DIR_MAXCLUSTERRANK;
    if (of_clusters && p->module->target_sm < 90) return;
    if (directive->given) {
        cj__parse_error(p, NULL, "directive-twice", "%s is given twice to '%s'", cj__directive_word(which), f->ir->name);
        return;
    }
    *directive = (cj_ir_directive){.given = true, .count = (uint8_t)count, .value = {x, y, z}};
}

void cj_block(cj_func *f, uint32_t x, uint32_t y, uint32_t z) { set_directive(f, CJ_DIR_REQNTID, 3, x, y, z); }
void cj_block_max(cj_func *f, uint32_t x, uint32_t y, uint32_t z) { set_directive(f, CJ_DIR_MAXNTID, 3, x, y, z); }
void cj_blocks_per_sm(cj_func *f, uint32_t blocks) { set_directive(f, CJ_DIR_MINNCTAPERSM, 1, blocks, 1, 1); }
void cj_registers_max(cj_func *f, uint32_t registers) { set_directive(f, CJ_DIR_MAXNREG, 1, registers, 1, 1); }
void cj_cluster_max(cj_func *f, uint32_t blocks) { set_directive(f, CJ_DIR_MAXCLUSTERRANK, 1, blocks, 1, 1); }
void cj_blocks_are_clusters(cj_func *f) { set_directive(f, CJ_DIR_BLOCKSARECLUSTERS, 0, 1, 1, 1); }

void cj_cluster(cj_func *f, uint32_t x, uint32_t y, uint32_t z) {
    set_directive(f, CJ_DIR_EXPLICITCLUSTER, 0, 1, 1, 1);
    set_directive(f, CJ_DIR_REQNCTAPERCLUSTER, 3, x, y, z);
}

cj_label cj_label_new(cj_func *f, const char *name) {
    if (!is_open(f)) return (cj_label){0};
    cj_parser *p = &f->builder->parser;
    if (!is_name(p, name)) return (cj_label){0};
    char unique[80];
    snprintf(unique, sizeof unique, "%s", name);
    for (unsigned number = 2, i = 0; i < f->label_count; i++)
        if (!strcmp(f->label[i], unique)) {
            snprintf(unique, sizeof unique, "%.60s_%u", name, number++);
            i = 0;
        }
    const char **grown = cj__arena_grow(p->arena, f->label, f->label_count, &f->label_capacity, sizeof *grown);
    const char *copy = cj__arena_text(p->arena, unique, strlen(unique));
    if (!grown || !copy) {
        cj__parse_memory(p);
        return (cj_label){0};
    }
    f->label = grown;
    grown[f->label_count++] = copy;
    return (cj_label){(uint32_t)f->label_count};
}

// ---- functions

// Takes the registers that no line names off those that were handed out: they need no declaration.
static bool drop_unused(cj_func *f, const cj_ir_stmt *body, size_t count) {
    bool  *used = cj__arena_alloc(&f->ir->module->arena, (f->ir->reg_count + 1) * sizeof *used);
    size_t kept = 0;
    if (!used) return cj__parse_memory(&f->builder->parser);
    cj__ir_used_regs(body, count, used);
    for (size_t i = 0; i < f->reg_count; i++)
        if (used[f->reg[i]->index]) f->reg[kept++] = f->reg[i];
    f->reg_count = kept;
    return true;
}

// The .reg lines: a type a group, in the order of their first registers, as many names on a line as fit.
static bool add_reg_lines(cj_func *f) {
    cj_parser *p = &f->builder->parser;
    cj_ir_func *ir = f->ir;
    cj_text *line = &f->builder->line;
    for (size_t first = 0; first < f->reg_count; first++) {
        uint16_t type = f->reg[first]->type;
        size_t before = 0;
        while (before < first && f->reg[before]->type != type) before++;
        if (before < first) continue;  // its group stands already
        for (size_t i = first; i < f->reg_count;) {
            line->length = 0;
            cj__text_printf(line, ".reg .%s", cj__words[type].text);
            for (const char *comma = " "; i < f->reg_count && line->length < LINE_WIDTH; i++) {
                if (f->reg[i]->type != type) continue;
                cj__text_printf(line, "%s%s", comma, f->reg[i]->name);
                comma = ", ";
            }
            if (line->length < sizeof ".reg .pred") break;
            cj_ir_stmt *stmt = cj__add_stmt(p, CJ_STMT_REGS, NULL);
            if (!stmt) return false;
            stmt->text = cj__arena_text(&ir->module->arena, line->data, line->length);
        }
    }
    return true;
}

// Takes out the labels that nothing branches to: a kernel's shape may need no branch where another one does.
static void drop_labels(cj_ir_func *ir) {
    size_t kept = 0;
    for (size_t i = 0; i < ir->stmt_count; i++) {
        const cj_ir_stmt *stmt = &ir->stmt[i];
        if (stmt->kind == CJ_STMT_LABEL) {
            cj_ir_label *label = stmt->label;
            if (!label->uses && !label->targets && !label->prototype) continue;
            label->stmt = (uint32_t)kept;
        }
        ir->stmt[kept++] = *stmt;
    }
    ir->stmt_count = kept;
}

// Puts the declarations before the statements written so far.
static void end_body(cj_func *f) {
    cj_parser *p = &f->builder->parser;
    cj_ir_func *ir = f->ir;
    if (p->scope->outer) {
        cj__parse_error(p, NULL, "syntax", "a '{' in '%s' is never closed", ir->name);
        return;
    }
    cj_ir_stmt *body = ir->stmt;
    size_t count = ir->stmt_count;
    ir->stmt = NULL;
    ir->stmt_count = ir->stmt_capacity = 0;
    for (size_t i = 0; i < f->var_count; i++) {
        cj_ir_stmt *stmt = cj__add_stmt(p, CJ_STMT_VAR, NULL);
        if (!stmt) return;
        stmt->var = f->var[i];
    }
    if (f->var_count && !cj__add_stmt(p, CJ_STMT_BLANK, NULL)) return;
    if (!drop_unused(f, body, count) || !add_reg_lines(f)) return;
    if (f->reg_count && count && body[0].kind != CJ_STMT_BLANK && !cj__add_stmt(p, CJ_STMT_BLANK, NULL)) return;
    size_t shift = ir->stmt_count;
    for (size_t i = 0; i < count; i++) {
        if (!cj__add_stmt(p, CJ_STMT_BLANK, NULL)) return;
        ir->stmt[shift + i] = body[i];
        if (body[i].kind == CJ_STMT_LABEL) body[i].label->stmt += (uint32_t)shift;
    }
    cj__close_body(p);
    drop_labels(ir);
}

static void end_func(cj_func *f) {
    if (!is_open(f)) return;
    end_body(f);
    *f = (cj_func){.builder = f->builder};
}

// The head comes before the first function; the version is known at the end.
static bool begin_module(cj_parser *p) {
    if (p->module->version) return true;
    if (p->module->item_count && !cj__add_item(p, CJ_ITEM_BLANK)) return false;
    if (!cj__add_item(p, CJ_ITEM_HEAD)) return false;
    p->module->version = 10;
    return true;
}

cj_func *cj_entry(cj_builder *b, const char *name) {
    if (!b) return NULL;
    cj_func *f = &b->func;
    cj_parser *p = &b->parser;
    end_func(f);
    if (p->status || !is_name(p, name)) return f;
    if (cj__map_get(&p->module->names, name, strlen(name))) {
        cj__parse_error(p, NULL, "name-twice", "'%s' is declared twice in this module", name);
        return f;
    }
    const char *copy = cj__arena_text(p->arena, name, strlen(name));
    if (!begin_module(p)) return f;
    if (!copy || !cj__add_item(p, CJ_ITEM_BLANK)) {
        cj__parse_memory(p);
        return f;
    }
    cj_ir_func *ir = cj__new_func(p, copy, true, p->line);
    if (!ir) return f;
    ir->linkage = CJ_LINK_VISIBLE;
    if (cj__open_body(p, ir)) f->ir = ir;
    return f;
}

void cj_declare(cj_builder *b, const char *text) {
    if (!b || b->parser.status) return;
    cj_parser *p = &b->parser;
    end_func(&b->func);
    b->line.length = 0;
    if (!text) cj__parse_error(p, NULL, "operand-missing", "cj_declare: text is NULL");
    else cj__text_puts(&b->line, text);
    if (b->line.failed) cj__parse_memory(p);
    if (p->status || !begin_module(p) || !cj__add_item(p, CJ_ITEM_BLANK)) return;
    cj__builder_parse_text(p, &b->line);
    if (!cj__parse_file(p)) cj__builder_name_line(b, "cj_declare", 0);
}

// ---- functions of the user's

static bool callee_is_named(const cj_builder *b, const char *name) {
    for (size_t i = 0; i < b->callee_count; i++)
        if (!strcmp(b->callee[i].prefix, name)) return true;
    return false;
}

// "map", or "map_2", "map_3", … where that is taken.
static const char *free_prefix(cj_builder *b, const char *name) {
    char text[80];
    int length = snprintf(text, sizeof text, "%s", name);
    for (unsigned number = 2; length > 0 && (size_t)length < sizeof text && callee_is_named(b, text); number++)
        length = snprintf(text, sizeof text, "%s_%u", name, number);
    if (length > 0 && (size_t)length < sizeof text)
        return cj__arena_text(&b->parser.module->arena, text, (size_t)length);
    cj__parse_error(&b->parser, NULL, "name-long", "the name '%s' is too long", name);
    return NULL;
}

static bool target_fits(cj_parser *p, const cj_user_function *function) {
    const cj_target_info *needs = function->target;
    const cj_ir_module *module = p->module;
    bool same = needs->number == module->target_sm && needs->suffix == module->target_suffix;
    if (same || (!needs->suffix && needs->number <= module->target_sm)) return true;
    return cj__parse_error(p, NULL, "target", "the user function '%s' was made for %s, the kernel is for %s",
                           function->text, needs->text, module->target);
}

// What the function brought along, before the entry that comes next.
static bool add_items(cj_builder *b, const callee *called) {
    cj_parser *p = &b->parser;
    const cj_arg arg[] = {cj_arg_word(called->function->items), cj_arg_word(called->prefix)};
    if (!*called->function->items) return true;
    if (!begin_module(p) || !cj__add_item(p, CJ_ITEM_BLANK) || !cj__builder_expand(&b->func, arg, CJ_USER_PREFIX + 1))
        return false;
    cj__builder_parse_text(p, &b->line);
    return cj__parse_file(p);
}

cj_callee cj_builder_function(cj_builder *b, const cj_user_function *function, const char *name) {
    if (!b || b->parser.status) return (cj_callee){0};
    cj_parser *p = &b->parser;
    end_func(&b->func);
    if (!function) cj__parse_error(p, NULL, "operand-missing", "cj_builder_function: function is NULL");
    if (p->status || !is_name(p, name) || !target_fits(p, function)) return (cj_callee){0};
    callee *grown = cj__arena_grow(p->arena, b->callee, b->callee_count, &b->callee_capacity, sizeof *grown);
    const char *prefix = free_prefix(b, name);
    if (!grown || !prefix) return cj__parse_memory(p), (cj_callee){0};
    b->callee = grown;
    grown[b->callee_count++] = (callee){cj__user_function_share(function), prefix};
    if (!add_items(b, &grown[b->callee_count - 1])) return (cj_callee){0};
    return (cj_callee){(uint32_t)b->callee_count};
}

static bool continues_name(char c) {
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

// Whether the body declares or uses a register of that name as its own.
static bool body_has(const cj_user_function *function, const char *name) {
    size_t length = strlen(name);
    for (const char *at = function->body; (at = strstr(at, name)); at += length)
        if (!continues_name(at[length])) return true;
    return false;
}

// A register for an operand that the body cannot name: one of its own has that name.
static cj_reg stand_in(cj_func *f, const cj_user_function *function, cj_dtype type) {
    cj_reg reg;
    do reg = cj_register(f, cj__dtype_ptx(type), "operand");
    while (reg.id && body_has(function, f->reg[reg.id - 1]->name));
    return reg;
}

// `number` is the argument's, from 1; 0: the result.
static bool check_operand(cj_func *f, const callee *called, cj_reg reg, cj_dtype type, unsigned number) {
    cj_parser *p = &f->builder->parser;
    if (number ? !cj__func_has(f, reg, "cj_call of '%s': argument %u", called->prefix, number)
               : !cj__func_has(f, reg, "cj_call of '%s': the result", called->prefix))
        return false;
    const cj_ir_reg *ir = f->reg[reg.id - 1];
    const cj_word_info *is = &cj__words[ir->type], *wanted = &cj__words[cj__word_find(cj__dtype_ptx(type), 3)];
    if (ir->vector == 1 && (is == wanted || (is->class == CJ_CLASS_BITS && is->bits == wanted->bits))) return true;
    return cj__parse_error(p, NULL, "operand-type", "cj_call of '%s': %s is .%s, wanted .%s", called->prefix, ir->name,
                           is->text, wanted->text);
}

static bool check_call(cj_func *f, const callee *called, cj_reg result, const cj_reg *argument, unsigned count) {
    const cj_user_function *function = called->function;
    if (count != function->count)
        return cj__parse_error(&f->builder->parser, NULL, "operands", "cj_call of '%s': %u arguments, it takes %u",
                               called->prefix, count, (unsigned)function->count);
    for (unsigned i = 0; i < count; i++)
        if (!check_operand(f, called, argument[i], function->argument[i], i + 1)) return false;
    return check_operand(f, called, result, function->result, 0);
}

// Writes the body with registers that it does not use itself.
static void write_body(cj_func *f, const char *file, int line, const callee *called, cj_reg result,
                       const cj_reg *argument) {
    const cj_user_function *function = called->function;
    cj_arg arg[CJ_USER_ARGUMENT + CJ_FUNCTION_ARGUMENTS] = {cj_arg_word(function->body), cj_arg_word(called->prefix),
                                                            cj_arg_reg(result)};
    for (unsigned i = 0; i < function->count; i++) arg[CJ_USER_ARGUMENT + i] = cj_arg_reg(argument[i]);
    cj_ptx_args(f, file, line, (const cj_arg[]){cj_arg_word("{ // $1: $2"), cj_arg_word(called->prefix),
                                                cj_arg_word(function->text)}, 3);
    cj_ptx_args(f, file, line, arg, CJ_USER_ARGUMENT + function->count);
    cj_ptx_args(f, file, line, (const cj_arg[]){cj_arg_word("}")}, 1);
}

void cj_call_args(cj_func *f, const char *file, int line, cj_callee id, cj_reg result, const cj_reg *argument,
                  unsigned count) {
    if (!is_open(f)) return;
    cj_builder *b = f->builder;
    if (!id.id || id.id > b->callee_count) {
        cj__parse_error(&b->parser, NULL, "operand-missing", "cj_call: the callee %s",
                        id.id ? "is not of this builder" : "is unset");
        cj__hint(&b->error, "cj_builder_function returns one");
        cj__builder_name_line(b, file, line);
        return;
    }
    callee called = b->callee[id.id - 1];
    const cj_user_function *function = called.function;
    if (!check_call(f, &called, result, argument, count)) {
        cj__builder_name_line(b, file, line);
        return;
    }
    cj_reg from[CJ_FUNCTION_ARGUMENTS], to = result;
    for (unsigned i = 0; i < count; i++) {
        from[i] = argument[i];
        if (function->reads_late && argument[i].id == result.id) to = stand_in(f, function, function->result);
        if (!body_has(function, f->reg[argument[i].id - 1]->name)) continue;
        from[i] = stand_in(f, function, function->argument[i]);
        cj_ptx_args(f, file, line,
                    (const cj_arg[]){cj_arg_word("mov.b$1 $2, $3;"),
                                     cj_arg_uint(8 * cj_dtype_size(function->argument[i])), cj_arg_reg(from[i]),
                                     cj_arg_reg(argument[i])},
                    4);
    }
    if (to.id == result.id && body_has(function, f->reg[result.id - 1]->name))
        to = stand_in(f, function, function->result);
    write_body(f, file, line, &called, to, from);
    if (to.id == result.id) return;
    cj_ptx_args(f, file, line, (const cj_arg[]){cj_arg_word("mov.b$1 $2, $3;"),
                cj_arg_uint(8 * cj_dtype_size(function->result)), cj_arg_reg(result), cj_arg_reg(to)}, 4);
}

// ---- the end

// The rules of forms and directives, as on loading. Following paths costs as much again and is cj_check_ptx's: a family's
// tests call it, its users need not wait for it at each launch.
static cj_status check_module(const cj_ir_module *module, cj_error *error) {
    cj_report report = {0};
    cj__check_forms(module, &report);
    cj_status status = cj__report_status(&report, error);
    cj__arena_free(&report.arena);
    return status;
}

// The IR's lines are calls, not lines of the text: only the text's own are of use to the caller.
static cj_status check_text(const cj_text *text, cj_error *error) {
    cj_ir_module *module;
    cj_status status = cj__ir_parse(text->data, text->length, &module, error);
    if (status) return status;
    status = check_module(module, error);
    cj__ir_free(module);
    return status;
}

cj_status cj_builder_finish(cj_builder *b, char **text, size_t *length, cj_error *error) {
    REQUIRE(text);
    *text = NULL;
    if (!b) return cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory: there is no builder");
    cj_parser *p = &b->parser;
    end_func(&b->func);
    if (!p->status && !p->module->version) cj__parse_error(p, NULL, "head", "nothing was built: call cj_entry first");
    if (p->status) {
        if (error) *error = b->error, error->line = error->column = 0;
        return p->status;
    }
    p->module->version = b->version ? b->version : cj__least_version(p->module);
    cj_text printed = {0};
    cj__ir_print(p->module, &printed);
    cj_status status = printed.failed ? cj__fail(error, CJ_OUT_OF_MEMORY, "out of memory while printing PTX")
                                      : check_module(p->module, NULL);
    if (status == CJ_INVALID_KERNEL) status = check_text(&printed, error);
    if (status) {
        cj__text_free(&printed);
        return status;
    }
    *text = printed.data;
    if (length) *length = printed.length;
    return CJ_OK;
}

void cj_text_free(char *text) { cj__free(text); }
