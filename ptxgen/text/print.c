// SPDX-License-Identifier: Apache-2.0
#include "print.h"

#include <string.h>

// Columns, counted from the line's indentation: operands, and comments after a line.
enum { INDENT = 4, OPERAND_COLUMN = 27, COMMENT_COLUMN = 72, PARAM_COMMENT_COLUMN = 40 };

static void end_line(cj_text *text, size_t line, size_t column, const char *comment) {
    if (comment) {
        cj__text_pad(text, line, column);
        cj__text_puts(text, text->length > line + column ? "  // " : "// ");
        cj__text_puts(text, comment);
    }
    cj__text_puts(text, "\n");
}

static void print_comment(cj_text *text, size_t indent, const char *comment) {
    cj__text_pad(text, text->length, indent);
    cj__text_puts(text, *comment ? "// " : "//");
    cj__text_puts(text, comment);
    cj__text_puts(text, "\n");
}

static void print_offset(cj_text *text, const cj_ir_operand *o) {
    if (!o->offset && !o->offset_written) return;
    char digits[24], *end = digits + sizeof digits, *at = end;
    uint64_t rest = o->offset < 0 ? 0 - (uint64_t)o->offset : (uint64_t)o->offset;
    do *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (o->offset < 0) *--at = '-';
    cj__text_puts(text, " + ");
    cj__text_add(text, at, (size_t)(end - at));
}

static void print_list(cj_text *text, const char *open, const cj_ir_operand *list, unsigned count, const char *close) {
    cj__text_puts(text, open);
    for (unsigned i = 0; i < count; i++) {
        if (i) cj__text_puts(text, ", ");
        cj__print_operand(text, &list[i]);
    }
    cj__text_puts(text, close);
}

static void print_memory(cj_text *text, const cj_ir_operand *o) {
    cj__text_puts(text, "[");
    cj__print_operand(text, o->base);
    print_offset(text, o);
    if (o->predicate) {
        cj__text_puts(text, ", ");
        cj__print_operand(text, o->predicate);
    }
    if (o->list) print_list(text, ", {", o->list, o->count, "}");
    cj__text_puts(text, o->unified ? "].unified" : "]");
}

void cj__print_operand(cj_text *text, const cj_ir_operand *o) {
    static const char *const components[] = {"", ".x", ".y", ".z", ".w"};
    if (o->negated) cj__text_puts(text, "!");
    switch ((cj_operand_kind)o->kind) {
    case CJ_OPERAND_REG:
        cj__text_puts(text, o->reg->name);
        if (o->text) cj__text_puts(text, o->text);
        print_offset(text, o);
        break;
    case CJ_OPERAND_SPECIAL:
        cj__text_puts(text, "%");
        cj__text_puts(text, cj__specials[o->special].text);
        break;
    case CJ_OPERAND_VAR:
        cj__text_puts(text, o->var->name);
        print_offset(text, o);
        break;
    case CJ_OPERAND_FUNC: cj__text_puts(text, o->func->name); break;
    case CJ_OPERAND_MEMORY: print_memory(text, o); break;
    case CJ_OPERAND_VECTOR: print_list(text, "{", o->list, o->count, "}"); break;
    case CJ_OPERAND_LIST: print_list(text, "(", o->list, o->count, ")"); break;
    case CJ_OPERAND_SINK: cj__text_puts(text, "_"); break;
    case CJ_OPERAND_INT:
    case CJ_OPERAND_FLOAT:
    case CJ_OPERAND_LABEL:
    case CJ_OPERAND_NAME: cj__text_puts(text, o->text); break;
    }
    cj__text_puts(text, components[o->component]);
    if (!o->predicate || o->kind == CJ_OPERAND_MEMORY) return;
    cj__text_puts(text, "|");
    cj__print_operand(text, o->predicate);
}

static void print_inst(cj_text *text, size_t line, const cj_ir_inst *inst) {
    if (inst->guard) {
        cj__text_puts(text, inst->guard_negated ? "@!" : "@");
        cj__text_puts(text, inst->guard->name);
        cj__text_puts(text, " ");
    }
    cj__text_add(text, inst->mnemonic->text, inst->mnemonic->length);
    for (unsigned i = 0; i < inst->operand_count; i++) {
        cj__text_puts(text, i ? ", " : " ");
        if (!i) cj__text_pad(text, line, OPERAND_COLUMN);
        cj__print_operand(text, &inst->operand[i]);
    }
    cj__text_puts(text, ";");
}

static void print_var_name(cj_text *text, const cj_ir_var *var) {
    static const char *const vectors[] = {[1] = "", [2] = ".v2 ", [4] = ".v4 ", [8] = ".v8 "};
    if (var->qualifiers) cj__text_printf(text, "%s ", var->qualifiers);
    if (var->align_written) cj__text_printf(text, ".align %u ", var->align);
    cj__text_printf(text, "%s.%s %s%s%s%s", vectors[var->vector], cj__words[var->type].text, var->attributes,
                    *var->attributes ? " " : "", var->name, var->shape);
    if (!var->initial) return;
    cj__text_puts(text, " = ");
    cj__text_puts(text, var->initial);
}

static const char *const linkages[] = {"", ".visible ", ".extern ", ".weak ", ".common "};

static void print_var(cj_text *text, const cj_ir_var *var) {
    static const char *const spaces[] = {"", ".reg ", ".param ", ".shared ", ".global ", ".const ", ".local "};
    cj__text_puts(text, linkages[var->linkage]);
    cj__text_puts(text, spaces[var->space]);
    print_var_name(text, var);
    cj__text_puts(text, ";");
}

static void print_targets(cj_text *text, const cj_ir_targets *targets) {
    cj__text_puts(text, targets->calls ? ".calltargets " : ".branchtargets ");
    print_list(text, "", targets->list, targets->count, ";");
}

static void print_prototype_params(cj_text *text, cj_ir_var *const *param, size_t count) {
    cj__text_puts(text, "(");
    for (size_t i = 0; i < count; i++) {
        cj__text_puts(text, i ? ", " : "");
        cj__text_puts(text, param[i]->space == CJ_SPACE_REG ? ".reg " : ".param ");
        print_var_name(text, param[i]);
    }
    cj__text_puts(text, ")");
}

static void print_directives(cj_text *text, const cj_ir_func *func, const char *separator);

static void print_prototype(cj_text *text, const cj_ir_func *func) {
    cj__text_puts(text, ".callprototype ");
    print_prototype_params(text, func->result, func->result_count);
    cj__text_printf(text, " %s ", func->name);
    print_prototype_params(text, func->param, func->param_count);
    print_directives(text, func, " ");
    cj__text_puts(text, ";");
}

void cj__print_stmt(cj_text *text, const cj_ir_stmt *stmt, size_t *depth) {
    if (stmt->kind == CJ_STMT_CLOSE) --*depth;
    size_t indent = stmt->kind == CJ_STMT_LABEL ? (*depth - 1) * INDENT : *depth * INDENT;
    if (stmt->kind == CJ_STMT_BLANK) {
        cj__text_puts(text, "\n");
        return;
    }
    if (stmt->kind == CJ_STMT_COMMENT) {
        print_comment(text, indent, stmt->text);
        return;
    }
    cj__text_pad(text, text->length, indent);
    size_t line = text->length;
    switch ((cj_stmt_kind)stmt->kind) {
    case CJ_STMT_INST: print_inst(text, line, stmt->inst); break;
    case CJ_STMT_LABEL: cj__text_puts(text, stmt->label->name), cj__text_puts(text, ":"); break;
    case CJ_STMT_REGS: cj__text_puts(text, stmt->text), cj__text_puts(text, ";"); break;
    case CJ_STMT_VAR: print_var(text, stmt->var); break;
    case CJ_STMT_OPEN: cj__text_puts(text, "{"), ++*depth; break;
    case CJ_STMT_CLOSE: cj__text_puts(text, "}"); break;
    case CJ_STMT_DIRECTIVE: cj__text_puts(text, stmt->text); break;
    case CJ_STMT_TARGETS: print_targets(text, stmt->targets); break;
    case CJ_STMT_PROTOTYPE: print_prototype(text, stmt->prototype); break;
    case CJ_STMT_COMMENT:
    case CJ_STMT_BLANK: break;
    }
    end_line(text, line, COMMENT_COLUMN - indent, stmt->comment);
}

static void print_params(cj_text *text, cj_ir_var *const *param, size_t count) {
    cj__text_puts(text, "(\n");
    for (size_t i = 0; i < count; i++) {
        size_t line = text->length;
        cj__text_puts(text, param[i]->space == CJ_SPACE_REG ? "    .reg " : "    .param ");
        print_var_name(text, param[i]);
        if (i + 1 < count) cj__text_puts(text, ",");
        end_line(text, line, PARAM_COMMENT_COLUMN, param[i]->comment);
    }
    cj__text_puts(text, ")");
}

static void print_directives(cj_text *text, const cj_ir_func *func, const char *separator) {
    for (int which = 0; which < CJ_DIR_COUNT; which++) {
        const cj_ir_directive *directive = &func->directive[which];
        if (!directive->given) continue;
        cj__text_printf(text, "%s%s", separator, cj__directive_word((cj_directive)which));
        for (unsigned i = 0; i < directive->count; i++)
            cj__text_printf(text, "%s%u", i ? ", " : " ", directive->value[i]);
    }
    if (func->pragmas) cj__text_printf(text, "%s%s", separator, func->pragmas);
}

static void print_func(cj_text *text, const cj_ir_func *func) {
    cj__text_puts(text, linkages[func->linkage]);
    cj__text_puts(text, func->is_entry ? ".entry " : ".func ");
    if (func->attributes) cj__text_printf(text, "%s ", func->attributes);
    if (func->result_count) {
        print_params(text, func->result, func->result_count);
        cj__text_puts(text, " ");
    }
    cj__text_puts(text, func->name);
    if (func->param_count) print_params(text, func->param, func->param_count);
    else cj__text_puts(text, "()");
    print_directives(text, func, "\n");
    if (!func->has_body) {
        cj__text_puts(text, ";\n");
        return;
    }
    cj__text_puts(text, "\n");
    size_t line = text->length;
    cj__text_puts(text, "{");
    end_line(text, line, COMMENT_COLUMN, func->comment);
    size_t depth = 1;
    for (size_t i = 0; i < func->stmt_count; i++) cj__print_stmt(text, &func->stmt[i], &depth);
    cj__text_puts(text, "}\n");
}

static void print_head(cj_text *text, const cj_ir_module *module) {
    cj__text_printf(text, ".version %u.%u\n.target %s%s\n.address_size %u\n", module->version / 10u,
                    module->version % 10u, module->target, module->target_options, module->address_size);
}

void cj__print_item(const cj_ir_module *module, const cj_ir_item *item, cj_text *text) {
    size_t line = text->length;
    switch (item->kind) {
    case CJ_ITEM_COMMENT: print_comment(text, 0, item->text); return;
    case CJ_ITEM_BLANK: cj__text_puts(text, "\n"); return;
    case CJ_ITEM_HEAD: print_head(text, module); return;
    case CJ_ITEM_FUNC: print_func(text, item->func); return;
    case CJ_ITEM_VAR: print_var(text, item->var); break;
    case CJ_ITEM_DIRECTIVE: cj__text_puts(text, item->text); break;
    }
    end_line(text, line, COMMENT_COLUMN, item->comment);
}

void cj__ir_print(const cj_ir_module *module, cj_text *text) {
    for (size_t i = 0; i < module->item_count; i++) cj__print_item(module, &module->item[i], text);
}
