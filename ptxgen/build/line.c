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

// ---- lines

const char *cj_reg_type(const cj_func *f, cj_reg reg) {
    return f && reg.id && reg.id <= f->reg_count ? cj__words[f->reg[reg.id - 1]->type].text : NULL;
}

static bool put_arg(cj_text *line, const cj_func *f, const cj_arg *arg) {
    const cj_ir_func *ir = f->ir;
    uint32_t id = arg->as.id, index = (id & ~(uint32_t)PARAM_BIT) - 1, bits;
    uint64_t wide;
    switch (arg->kind) {
    case CJ_ARG_REG:
        if (!id || index >= f->reg_count) return false;
        cj__text_puts(line, f->reg[index]->name);
        return true;
    case CJ_ARG_VAR:
        if (!id || index >= (id & PARAM_BIT ? ir->param_count : f->var_count)) return false;
        cj__text_puts(line, (id & PARAM_BIT ? ir->param : f->var)[index]->name);
        return true;
    case CJ_ARG_LABEL:
        if (!id || index >= f->label_count) return false;
        cj__text_puts(line, f->label[index]);
        return true;
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
        if (!arg->as.word) return false;
        cj__text_puts(line, arg->as.word);
        return true;
    }
    return false;
}

// Puts the operands into the text, and $ for $$; false, with the error set, at a $k that has none.
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
        if (end == at + 1 || !k || k >= count || !put_arg(line, f, &arg[k]))
            return cj__parse_error(&f->builder->parser, NULL, "operand-missing",
                                   "$%lu has no operand behind it, or one that is not of this function", k);
        at = end;
    }
    return !line->failed || cj__parse_memory(&f->builder->parser);
}

// Says which C line wrote the line that was refused.
void cj__builder_name_line(cj_builder *b, const char *file, int line) {
    char message[sizeof b->error.message];
    memcpy(message, b->error.message, sizeof message);
    snprintf(b->error.message, sizeof b->error.message, "%s:%d: %.*s", file ? file : "?", line, 800, message);
    if (b->line.length && !*b->error.hint) cj__hint(&b->error, "the line is: %.400s", b->line.data);
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
