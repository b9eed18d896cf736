// SPDX-License-Identifier: Apache-2.0
#define _POSIX_C_SOURCE 200809L  // open_memstream
#include "instructions.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "parse.h"
#include "test.h"
#include "webs.h"

// The function that is written, and the numbers of its webs and labels; 0: none yet.
typedef struct writer {
    FILE             *out;
    const cj_ir_func *func;
    cj_webs          *webs;
    uint32_t         *web, *label;  // by a web's value, and by the number of the statement that defines a label
    uint32_t          webs_named, labels;
} writer;

static uint32_t number(uint32_t *numbers, uint32_t index, uint32_t *count) {
    if (!numbers[index]) numbers[index] = ++*count;
    return numbers[index];
}

// "32" for the register types b32, u32, s32 and f32: the instruction says how it uses the bits.
static const char *width_of(uint16_t type) { return type == CJ_W_PRED ? "p" : cj__words[type].text + 1; }

// A register's number and width: another name or type is not another instruction.
static void write_reg(writer *w, const cj_ir_reg *reg, bool written) {
    const uint32_t web = cj_test_web(w->webs, reg, written);
    fprintf(w->out, "%%%s_%u", width_of(reg->type), number(w->web, web, &w->webs_named));
    if (reg->vector > 1) fprintf(w->out, ".v%u", reg->vector);
}

static bool is_written(const cj_ir_stmt *stmt) {
    return stmt->kind != CJ_STMT_REGS && stmt->kind != CJ_STMT_COMMENT && stmt->kind != CJ_STMT_BLANK;
}

// The first of the labels at the same place, by its statement: nested bodies may end at the same place.
static uint32_t place_of(const cj_ir_func *func, uint32_t stmt) {
    uint32_t first = stmt;
    for (uint32_t i = stmt; i--;) {
        if (func->stmt[i].kind == CJ_STMT_LABEL)
            first = i;
        else if (is_written(&func->stmt[i]))
            break;
    }
    return first;
}

static void write_label(writer *w, const cj_ir_label *label) {
    fprintf(w->out, "L%u", number(w->label, place_of(w->func, label->stmt), &w->labels));
}

static void write_operand(writer *w, const cj_ir_operand *o, bool written);

static void write_list(writer *w, const cj_ir_operand *list, unsigned count, bool written) {
    for (unsigned i = 0; i < count; i++) {
        if (i) fputs(", ", w->out);
        write_operand(w, &list[i], written);
    }
}

static void write_operand(writer *w, const cj_ir_operand *o, bool written) {
    FILE *out = w->out;
    if (o->negated) fputc('!', out);
    switch ((cj_operand_kind)o->kind) {
    case CJ_OPERAND_REG: write_reg(w, o->reg, written); break;
    case CJ_OPERAND_SPECIAL: fprintf(out, "special%u", o->special); break;
    case CJ_OPERAND_INT: fprintf(out, "%llu", (unsigned long long)o->bits); break;
    case CJ_OPERAND_FLOAT: fprintf(out, "%s0x%llx", o->is_f32 ? "f" : "d", (unsigned long long)o->bits); break;
    case CJ_OPERAND_VAR: fprintf(out, "%s%+lld", o->var->name, (long long)o->offset); break;
    case CJ_OPERAND_FUNC: fputs(o->func->name, out); break;
    case CJ_OPERAND_LABEL: write_label(w, o->label); break;
    case CJ_OPERAND_MEMORY:
        fputc('[', out);
        write_operand(w, o->base, false);
        fprintf(out, "%+lld", (long long)o->offset);
        if (o->count) fputs(", {", out);
        write_list(w, o->list, o->count, written);
        fputs(o->count ? "}]" : "]", out);
        break;
    case CJ_OPERAND_VECTOR:
        fputc('{', out);
        write_list(w, o->list, o->count, written);
        fputc('}', out);
        break;
    case CJ_OPERAND_LIST:
        fputc('(', out);
        write_list(w, o->list, o->count, written);
        fputc(')', out);
        break;
    case CJ_OPERAND_SINK: fputc('_', out); break;
    case CJ_OPERAND_NAME: fputs(o->text, out); break;
    }
    if (o->component) fprintf(out, ".%c", ".xyzw"[o->component]);
    if (o->predicate) {
        fputc('|', out);
        write_operand(w, o->predicate, written);
    }
}

static void write_inst(writer *w, const cj_ir_inst *inst) {
    if (inst->guard) {
        fputs(inst->guard_negated ? "@!" : "@", w->out);
        write_reg(w, inst->guard, false);
        fputc(' ', w->out);
    }
    fprintf(w->out, "%s ", inst->mnemonic->text);
    for (unsigned i = 0; i < inst->operand_count; i++) {
        if (i) fputs(", ", w->out);
        write_operand(w, &inst->operand[i], inst->shape->written >> i & 1);
    }
    fputc('\n', w->out);
}

static void write_var(FILE *out, const cj_ir_var *v) {
    fprintf(out, "var %s space %d type %s.%u align %u count %llu%s = %s\n", v->name, v->space, cj__words[v->type].text,
            v->vector, v->align, (unsigned long long)v->count, v->unsized ? " unsized" : "",
            v->initial ? v->initial : "");
}

static void write_stmt(writer *w, const cj_ir_stmt *stmt) {
    switch ((cj_stmt_kind)stmt->kind) {
    case CJ_STMT_INST: write_inst(w, stmt->inst); break;
    case CJ_STMT_LABEL:
        if (place_of(w->func, stmt->label->stmt) != stmt->label->stmt) break;
        write_label(w, stmt->label);
        fputs(":\n", w->out);
        break;
    case CJ_STMT_VAR: write_var(w->out, stmt->var); break;
    case CJ_STMT_OPEN: fputs("{\n", w->out); break;
    case CJ_STMT_CLOSE: fputs("}\n", w->out); break;
    case CJ_STMT_DIRECTIVE: fprintf(w->out, "%s\n", stmt->text); break;
    case CJ_STMT_REGS:
    case CJ_STMT_COMMENT:
    case CJ_STMT_BLANK: break;
    case CJ_STMT_TARGETS:
    case CJ_STMT_PROTOTYPE: fail_msg("%s: no template writes tables of targets or prototypes", w->func->name);
    }
}

static void write_head(FILE *out, const cj_ir_func *func) {
    fprintf(out, "%s %s\n", func->is_entry ? "entry" : "func", func->name);
    for (size_t i = 0; i < func->param_count; i++) write_var(out, func->param[i]);
    for (size_t i = 0; i < func->result_count; i++) write_var(out, func->result[i]);
    for (int d = 0; d < CJ_DIR_COUNT; d++) {
        const cj_ir_directive *written = &func->directive[d];
        if (!written->given) continue;
        fputs(cj__directive_word((cj_directive)d), out);
        for (unsigned i = 0; i < written->count; i++) fprintf(out, " %u", written->value[i]);
        fputc('\n', out);
    }
}

static void write_func(FILE *out, const cj_ir_func *func) {
    cj_arena arena = {0};
    writer   w = {.out = out, .func = func, .webs = cj_test_webs(func, &arena)};
    write_head(out, func);
    w.web = cj__arena_alloc(&arena, (cj_test_webs_count(w.webs) + 1) * sizeof *w.web);
    w.label = cj__arena_alloc(&arena, (func->stmt_count + 1) * sizeof *w.label);
    assert_true(w.web && w.label);
    for (size_t i = 0; i < func->stmt_count; i++) {
        cj_test_webs_enter(w.webs, i);
        write_stmt(&w, &func->stmt[i]);
    }
    cj__arena_free(&arena);
}

void cj_test_instructions(const char *ptx, FILE *out) {
    cj_ir_module *module = NULL;
    cj_error      error = {0};
    cj_test_ok(cj__ir_parse(ptx, strlen(ptx), &module, &error), &error);
    fprintf(out, "version %u target %s\n", module->version, module->target);
    for (size_t i = 0; i < module->item_count; i++) {
        const cj_ir_item *item = &module->item[i];
        if (item->kind == CJ_ITEM_FUNC) write_func(out, item->func);
        if (item->kind == CJ_ITEM_VAR) write_var(out, item->var);
        if (item->kind == CJ_ITEM_DIRECTIVE) fprintf(out, "%s\n", item->text);
    }
    cj__ir_free(module);
}

uint64_t cj_test_instructions_digest(const char *ptx) {
    char  *text = NULL;
    size_t size = 0;
    FILE  *out = open_memstream(&text, &size);
    assert_non_null(out);
    cj_test_instructions(ptx, out);
    assert_int_equal(fclose(out), 0);
    const uint64_t digest = XXH3_64bits(text, size);
    free(text);
    return digest;
}
