// SPDX-License-Identifier: Apache-2.0
// Lines of PTX: operands put into a text, which the parser reads and the rules of types hold.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder_state.h"
#include "check.h"
#include "error.h"
#include "fold.h"
#include "report.h"

// ---- handles

const char *cj_reg_type(const cj_func *f, cj_reg reg) {
    return f && reg.id && reg.id <= f->reg_count ? cj__words[f->reg[reg.id - 1]->type].text : NULL;
}

// What is wrong with a register's handle, in words that follow its name; NULL: nothing.
static const char *reg_fault(const cj_func *f, cj_reg reg) {
    if (!reg.id) return "is an unset register";
    if (cj_is_none(reg)) return "is cj_none(), no register";
    if (cj_is_always(reg)) return "is cj_always(), which guards a line, @$k, and stands nowhere else";
    return reg.id > f->reg_count ? "is no register of this function" : NULL;
}

bool cj__func_has(cj_func *f, cj_reg reg, const char *format, ...) {
    if (!is_open(f)) return false;
    const char *fault = reg_fault(f, reg);
    if (!fault) return true;
    char    name[256];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    cj__parse_error(&f->builder->parser, NULL, "operand-missing", "%s %s", name, fault);
    cj__hint(&f->builder->error, "set it before this call; where a predicate always holds, pass cj_always()");
    return false;
}

// The same of a variable or a label, whose name is NULL where the handle is none of this function's.
static const char *known_name(cj_func *f, const cj_arg *arg, unsigned long k) {
    const cj_ir_func *ir = f->ir;
    const uint32_t    id = arg->as.id, index = (id & ~(uint32_t)PARAM_BIT) - 1;
    const bool        is_label = arg->kind == CJ_ARG_LABEL;
    if (is_label && id && index < f->label_count) return f->label[index];
    if (!is_label && id && index < (id & PARAM_BIT ? ir->param_count : f->var_count))
        return (id & PARAM_BIT ? ir->param : f->var)[index]->name;
    cj__parse_error(&f->builder->parser, NULL, "operand-missing", "$%lu is %s %s%s", k, id ? "no" : "an unset",
                    is_label ? "label" : "variable", id ? " of this function" : "");
    cj__hint(&f->builder->error, "set it before this call: %s returns one",
             is_label ? "cj_label_new" : "cj_shared, or cj_param,");
    return NULL;
}

// ---- lines

// What stands for $k; `guard`: it follows an @.
static bool put_arg(cj_text *line, cj_func *f, const cj_arg *arg, unsigned long k, bool guard) {
    const char *name;
    uint32_t    bits;
    uint64_t wide;
    switch (arg->kind) {
    case CJ_ARG_REG:
        if (!cj__func_has(f, (cj_reg){arg->as.id}, "%s$%lu", guard ? "the predicate " : "", k)) return false;
        cj__text_puts(line, f->reg[arg->as.id - 1]->name);
        return true;
    case CJ_ARG_VAR:
    case CJ_ARG_LABEL:
        name = known_name(f, arg, k);
        if (name) cj__text_puts(line, name);
        return name;
    case CJ_ARG_INT: cj__text_printf(line, "%lld", (long long)arg->as.i); return true;
    case CJ_ARG_UINT: cj__text_printf(line, "%llu", (unsigned long long)arg->as.u); return true;
    case CJ_ARG_F32:
        memcpy(&bits, &arg->as.f, sizeof bits);
        cj__text_printf(line, "0f%08X", (unsigned)bits);
        return true;
    case CJ_ARG_F64:
        memcpy(&wide, &arg->as.d, sizeof wide);
        cj__text_printf(line, "0d%016llX", (unsigned long long)wide);
        return true;
    case CJ_ARG_WORD:
        if (!arg->as.word) break;
        cj__text_puts(line, arg->as.word);
        return true;
    }
    return cj__parse_error(&f->builder->parser, NULL, "operand-missing", "$%lu is a word that is NULL", k);
}

static bool ends_with(const cj_text *line, const char *end) {
    const size_t length = strlen(end);
    return line->length >= length && !memcmp(line->data + line->length - length, end, length);
}

// Puts the operands into the text, and $ for $$; the guard "@$k " of cj_always() is left out. False, with the error set, at a $k
// that has no operand.
bool cj__builder_expand(cj_func *f, const cj_arg *arg, unsigned count) {
    cj_text *line = &f->builder->line;
    line->length = 0;
    for (const char *at = arg[0].as.word; *at;) {
        size_t plain = strcspn(at, "$");
        cj__text_add(line, at, plain);
        at += plain;
        if (!*at) break;
        if (at[1] == '$') {
            cj__text_puts(line, "$");
            at += 2;
            continue;
        }
        char *end;
        unsigned long k = strtoul(at + 1, &end, 10);
        if (end == at + 1 || !k || k >= count)
            return cj__parse_error(&f->builder->parser, NULL, "operand-missing", "$%lu has no operand after the text",
                                   k);
        const bool guard = ends_with(line, "@");
        at = end;
        if (guard && arg[k].kind == CJ_ARG_REG && cj_is_always((cj_reg){arg[k].as.id})) {
            line->data[--line->length] = 0;
            at += strspn(at, " ");
        } else if (!put_arg(line, f, &arg[k], k, guard || ends_with(line, "@!"))) {
            return false;
        }
    }
    return !line->failed || cj__parse_memory(&f->builder->parser);
}

// Says which C line wrote the line that was refused, or, where `line` is 0, which call.
void cj__builder_name_line(cj_builder *b, const char *file, int line) {
    char message[sizeof b->error.message];
    memcpy(message, b->error.message, sizeof message);
    if (line)
        snprintf(b->error.message, sizeof b->error.message, "%s:%d: %.*s", file ? file : "?", line, 800, message);
    else
        snprintf(b->error.message, sizeof b->error.message, "%s: %.*s", file ? file : "?", 800, message);
    if (b->line.length && !*b->error.hint) cj__hint(&b->error, "the line is: %.400s", b->line.data);
}

// Adds the text whose operand is missing to what the hint says.
static void name_text(cj_builder *b, const char *text) {
    size_t said = strlen(b->error.hint);
    snprintf(b->error.hint + said, sizeof b->error.hint - said, "%sthe line is: %.300s", said ? "; " : "", text);
}

// Holds the operands of the statements from `first` on against their types.
static void check_types(cj_func *f, size_t first) {
    cj_parser *p = &f->builder->parser;
    cj_report report = {0};
    for (size_t i = first; i < f->ir->stmt_count; i++)
        if (f->ir->stmt[i].kind == CJ_STMT_INST) cj__check_types(&f->ir->stmt[i], &report);
    p->status = cj__report_status(&report, p->error);
    cj__arena_free(&report.arena);
}

// Makes the text what the parser reads next.
void cj__builder_parse_text(cj_parser *p, const cj_text *text) {
    p->begin = p->at = p->line_start = text->data;
    p->end = p->at + text->length;
    p->last_line = p->line++;
}

// Parses the line that stands in the builder's text, and holds it against its types.
static void add_line(cj_func *f) {
    cj_parser *p = &f->builder->parser;
    size_t first = f->ir->stmt_count;
    cj__builder_parse_text(p, &f->builder->line);
    cj__skip(p);
    if (cj__parse_statements(p) && p->at < p->end) cj__parse_error(p, p->at, "syntax", "this '}' closes nothing");
    if (!p->status) check_types(f, first);
}

void cj_ptx_args(cj_func *f, const char *file, int line, const cj_arg *arg, unsigned count) {
    if (!is_open(f) || !NEEDS(f, arg) || !NEEDS(f, arg->as.word)) return;
    cj_parser *p = &f->builder->parser;
    size_t first = f->ir->stmt_count;
    if (cj__builder_expand(f, arg, count)) add_line(f);
    else
        name_text(f->builder, arg->as.word);
    if (!p->status && cj__fold(arg[0].as.word, &f->builder->line)) {
        f->ir->stmt_count = first;  // it was right as it was written; what stands is what is left of it
        if (f->builder->line.failed) cj__parse_memory(p);
        else if (f->builder->line.length) add_line(f);
    }
    if (p->status) cj__builder_name_line(f->builder, file, line);
}

unsigned cj__func_target(const cj_func *f) { return f ? f->builder->parser.module->target_sm : 0; }

void cj__func_refuse(cj_func *f, const char *rule, const char *format, ...) {
    if (!is_open(f)) return;
    char    text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cj__parse_error(&f->builder->parser, NULL, rule, "%s", text);
}

bool cj__func_needs(cj_func *f, const char *call, const char *name, const void *pointer) {
    if (!pointer) cj__func_refuse(f, "operand-missing", "%s: %s is NULL", call, name);
    return f && pointer;
}

void cj_label_here(cj_func *f, cj_label label) {
    cj_arg arg[2] = {{.kind = CJ_ARG_WORD, .as.word = "$1:"}, {.kind = CJ_ARG_LABEL, .as.id = label.id}};
    cj_ptx_args(f, "cj_label_here", 0, arg, 2);
}
