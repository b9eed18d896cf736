// SPDX-License-Identifier: Apache-2.0
// Lowering an entry: memory layout, register file, then one instruction after another. program.h describes the result.
#include "lower.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "call.h"
#include "error.h"
#include "hazard.h"
#include "load.h"

static bool check_widths(cj_cpu_prepare *p) {
    for (uint32_t i = 0; i < p->slot_count; i++) {
        const uint32_t asked = cj__load_register_bits(p->type[i]);
        const bool     is_integer = cj__words[p->type[i]].class != CJ_CLASS_FLOAT && asked > 1;
        const bool     wider = p->any_width && is_integer && p->bits[i] > asked;
        if (!p->type[i] || p->bits[i] == asked || wider) continue;
        return cj__cpu_refuse(p, CJ_UNSUPPORTED,
                              "the CPU device does not execute %s with %u bits for operand %u, a .%s",
                              p->mnemonic->text, p->bits[i], i + 1, cj__words[p->type[i]].text),
               false;
    }
    return true;
}

static bool lower_guard(cj_cpu_prepare *p, const cj_ir_inst *inst) {
    if (!inst->guard) return true;
    if (inst->guard->type != CJ_W_PRED) {
        return cj__cpu_refuse(p, CJ_INVALID_KERNEL, "the guard %s is no predicate", inst->guard->name), false;
    }
    p->op.guard = p->place[inst->guard->index];
    p->op.guard_flip = inst->guard_negated ? UINT32_MAX : 0;
    return true;
}

// ptxas accepts %r0 + 4 as a source; its meaning is not documented.
static bool has_sum(const cj_ir_inst *inst) {
    for (unsigned i = 0; i < inst->operand_count; i++)
        if (inst->operand[i].kind == CJ_OPERAND_REG && inst->operand[i].offset_written) return true;
    return false;
}

static bool lower_known(cj_cpu_prepare *p) {
    if (has_sum(p->inst)) {
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device does not execute %s of a sum", p->mnemonic->text);
        return false;
    }
    if (!cj__load_operands(p)) return false;
    if (!p->instructions->select[p->inst->row - cj__rows](p) && !p->status) {
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device does not execute %s", p->mnemonic->text);
    }
    if (p->status || !check_widths(p) || !cj__cpu_append(p)) return false;
    for (uint32_t i = 0; i < p->widened; i++) {
        p->op = p->widening[i];
        if (!cj__cpu_append(p)) return false;
    }
    return true;
}

// A kernel with an instruction that cannot be executed is accepted: the instruction ends a launch that reaches it, with
// the message in `why`.
static bool lower_unknown(cj_cpu_prepare *p, const cj_error *why) {
    const size_t length = strlen(why->message);
    char        *text = cj__cpu_keep(p, length + 1);
    if (!text) return false;
    memcpy(text, why->message, length);
    p->op = (cj_cpu_op){.line = p->line, .inst = p->inst, .guard = CJ_SLOT_TRUE, .plan = text};
    p->op.run = cj__cpu_unsupported;
    return lower_guard(p, p->inst) && cj__cpu_append(p);
}

static bool lower(cj_cpu_prepare *p, const cj_ir_stmt *stmt) {
    const cj_ir_inst *inst = stmt->inst;
    const size_t      begin = p->program->op_count;
    cj_error         *error = p->error, why = {0};
    p->line = stmt->line;
    p->inst = inst;
    p->comment = stmt->comment;
    p->mnemonic = inst->mnemonic;
    p->any_width = false;
    p->widened = 0;
    p->op = (cj_cpu_op){.line = stmt->line, .inst = inst, .guard = CJ_SLOT_TRUE};
    p->error = &why;
    const bool ok = lower_guard(p, inst) && lower_known(p);
    p->error = error;
    if (ok) return true;
    if (p->status == CJ_UNSUPPORTED && p->file_bytes <= CJ_FILE_MAX) {
        p->status = CJ_OK;
        p->program->op_count = begin;
        return lower_unknown(p, &why);
    }
    if (error) *error = why;
    return false;
}

// A branch names a statement. Its target is that statement's first op, or the next op if the statement has none.
static bool resolve_target(cj_cpu_prepare *p, cj_cpu_op *op, const uint32_t *first_op) {
    const cj_ir_inst *inst = op->inst;
    for (unsigned i = 0; inst && i < inst->operand_count && i < 2; i++) {
        if (inst->operand[i].kind != CJ_OPERAND_LABEL) continue;
        const cj_ir_label   *label = inst->operand[i].label;
        const cj_ir_targets *list = label->targets;
        if (!list) op->target = first_op[label->stmt];
        if (!list || list->calls) continue;
        cj_cpu_targets *table = cj__cpu_keep(p, sizeof *table + list->count * sizeof *table->target);
        if (!table) return false;
        table->count = list->count;
        for (unsigned k = 0; k < list->count; k++) table->target[k] = first_op[list->list[k].label->stmt];
        op->plan = table;
    }
    return true;
}

static bool lower_body(cj_cpu_prepare *p, const cj_ir_func *func) {
    cj_cpu_program *program = p->program;
    const size_t    begin = program->op_count;
    uint32_t       *first_op = cj__cpu_keep(p, (func->stmt_count + 1) * sizeof *first_op);
    if (!first_op) return false;
    p->func = func;
    for (size_t i = 0; i < func->stmt_count; i++) {
        first_op[i] = (uint32_t)program->op_count;
        if (func->stmt[i].kind == CJ_STMT_INST && !lower(p, &func->stmt[i])) return false;
    }
    first_op[func->stmt_count] = (uint32_t)program->op_count;

    // The end of the body is a return.
    p->op = (cj_cpu_op){.line = p->line, .guard = CJ_SLOT_TRUE};
    if (!p->instructions->end(p) || !cj__cpu_append(p)) return false;
    for (size_t i = begin; i < program->op_count; i++) {
        if (!resolve_target(p, &program->op[i], first_op)) return false;
    }
    return p->instructions->finish(p, begin);
}

// Functions come before the entry; a jump at the start leads to the entry.
static bool lower_all(cj_cpu_prepare *p) {
    cj_cpu_program *program = p->program;
    uint32_t       *place = p->place;
    p->op = (cj_cpu_op){.line = p->line, .guard = CJ_SLOT_TRUE};
    if (program->func_count && (!p->instructions->jump(p) || !cj__cpu_append(p))) return false;
    for (size_t i = 0; i < program->func_count; i++) {
        p->callee = program->func[i];
        const uint32_t start = (uint32_t)program->op_count;
        p->place = p->callee->place;
        if (!lower_body(p, p->callee->func)) return false;
        p->callee->start = start;  // from now on it can be called
    }
    p->callee = NULL;
    p->place = place;
    if (program->func_count) program->op[0].target = (uint32_t)program->op_count;
    return lower_body(p, program->entry);
}

cj_status cj__cpu_prepare(const cj_ir_func *entry, const cj_cpu_variable *variables, size_t variable_count,
                          const cj_cpu_instructions *instructions, cj_cpu_program **program, cj_error *error) {
    cj_cpu_program *made = cj__calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to prepare %s", entry->name);
    made->entry = entry;
    cj_cpu_prepare p = {.program = made,
                        .variables = variables,
                        .variable_count = variable_count,
                        .instructions = instructions,
                        .line = entry->line,
                        .error = error};
    p.constants.arena = &made->arena;
    if (cj__cpu_find_functions(&p) && cj__load_layout(&p) && cj__load_registers(&p) && lower_all(&p) &&
        cj__load_size_stack(&p) && cj__load_image(&p)) {
        *program = made;
        return CJ_OK;
    }
    cj__cpu_program_free(made);
    return p.status;
}
