// SPDX-License-Identifier: Apache-2.0
// Lowering calls: which functions an entry may reach, and where their parameters are. program.h explains the scheme.
#include "call.h"

#include <string.h>

#include "load.h"

#define FUNCTION_BASE 0x4655000000000000u  // "FU": not a canonical address

enum { FRAME_ALIGNMENT = 16 };

// The definition of a name: follows aliases, and finds the body of a function declared earlier.
static const cj_ir_func *definition(const cj_ir_func *func) {
    while (func->alias) func = func->alias;
    const cj_ir_func *named = func->has_body ? func : cj__ir_func(func->module, func->name);
    return named ? named : func;
}

uint64_t cj__cpu_function_address(const cj_ir_func *func) {
    const cj_ir_module *module = func->module;
    func = definition(func);
    size_t i = 0;
    while (i < module->item_count && !(module->item[i].kind == CJ_ITEM_FUNC && module->item[i].func == func)) i++;
    return FUNCTION_BASE + 16 * i;
}

cj_cpu_func *cj__cpu_func_of(const cj_cpu_program *program, const cj_ir_func *func) {
    func = definition(func);
    for (size_t i = 0; i < program->func_count; i++) {
        if (program->func[i]->func == func) return program->func[i];
    }
    return NULL;
}

// ---- which functions

typedef struct finder {
    cj_cpu_prepare    *p;
    const cj_ir_func **open;  // the functions whose callees are being found
    size_t             depth;
} finder;

static bool visit(finder *f, const cj_ir_func *func);

static bool visit_operands(finder *f, const cj_ir_operand *operand, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const cj_ir_operand *one = &operand[i];
        if (one->kind == CJ_OPERAND_FUNC && !visit(f, one->func)) return false;
        if (one->kind == CJ_OPERAND_LABEL && one->label->targets && one->label->targets->calls &&
            !visit_operands(f, one->label->targets->list, one->label->targets->count)) {
            return false;
        }
    }
    return true;
}

// A pointer in memory may point to any function that some variable is initialized with.
static bool visit_pointers(finder *f, const cj_ir_module *module) {
    for (size_t i = 0; i < module->item_count; i++) {
        const cj_ir_var *var = module->item[i].kind == CJ_ITEM_VAR ? module->item[i].var : NULL;
        for (size_t k = 0; var && k < var->reloc_count; k++) {
            if (var->reloc[k].func && !visit(f, var->reloc[k].func)) return false;
        }
    }
    return true;
}

static bool visit_body(finder *f, const cj_ir_func *func) {
    for (size_t i = 0; i < func->stmt_count; i++) {
        if (func->stmt[i].kind == CJ_STMT_INST) {
            const cj_ir_inst *inst = func->stmt[i].inst;
            if (!visit_operands(f, inst->operand, inst->operand_count)) return false;
        }
    }
    return true;
}

static bool visit(finder *f, const cj_ir_func *func) {
    cj_cpu_prepare *p = f->p;
    cj_cpu_program *program = p->program;
    func = definition(func);
    if (!func->has_body || func->is_entry || cj__cpu_func_of(program, func)) return true;
    for (size_t i = 0; i < f->depth; i++) {
        if (f->open[i] != func) continue;
        program->stack_grows = true;  // it may call itself
        return true;
    }
    f->open[f->depth++] = func;
    if (!visit_body(f, func)) return false;
    f->depth--;
    cj_cpu_func *made = cj__cpu_keep(p, sizeof *made);
    if (!made || !cj__cpu_grow(p, &program->func, program->func_count, &program->func_capacity, sizeof *program->func))
        return false;
    *made = (cj_cpu_func){.func = func, .address = cj__cpu_function_address(func), .frame_align = FRAME_ALIGNMENT};
    program->func[program->func_count++] = made;
    return true;
}

static bool calls_pointers(const cj_ir_module *module) {
    for (size_t i = 0; i < module->item_count; i++) {
        const cj_ir_func *func = module->item[i].kind == CJ_ITEM_FUNC ? module->item[i].func : NULL;
        for (size_t k = 0; func && k < func->stmt_count; k++) {
            if (func->stmt[k].kind != CJ_STMT_INST) continue;
            const cj_ir_inst *inst = func->stmt[k].inst;
            if (strcmp(cj__row_opcode(inst->row), "call")) continue;
            const bool has_result = inst->operand[0].kind == CJ_OPERAND_LIST;
            if (inst->operand[has_result].kind == CJ_OPERAND_REG) return true;
        }
    }
    return false;
}

bool cj__cpu_find_functions(cj_cpu_prepare *p) {
    const cj_ir_module *module = p->program->entry->module;
    finder              f = {.p = p, .open = cj__cpu_keep(p, (module->item_count + 1) * sizeof *f.open)};
    if (!f.open || !visit_body(&f, p->program->entry)) return false;
    if (calls_pointers(module)) {
        p->program->stack_grows = true;  // which function calls which is not known
        if (!visit_pointers(&f, module)) return false;
    }
    p->program->has_stack = p->program->func_count != 0;
    return true;
}

// ---- places that each call needs

bool cj__cpu_keep_place(cj_cpu_prepare *p, cj_cpu_func *func, uint32_t slot, unsigned bits) {
    if (!cj__cpu_grow(p, &func->kept, func->kept_count, &func->kept_capacity, sizeof *func->kept)) return false;
    const uint32_t bytes = bits == 1 ? 0 : bits <= 16 ? 2 : bits / 8;
    func->kept[func->kept_count++] = (cj_cpu_kept){.slot = slot, .bytes = bytes};
    func->kept_bytes += bytes ? bytes : 1;
    return true;
}

static bool place_hidden(cj_cpu_prepare *p, cj_cpu_func *func) {
    uint32_t *const hidden[] = {&func->back, &func->outer, &func->frame};
    func->depth = cj__cpu_initial(p, 0, 32);
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        *hidden[i] = cj__cpu_place(p, 32);
        if (!cj__cpu_keep_place(p, func, *hidden[i], 32)) return false;
    }
    return true;
}

uint32_t cj__cpu_frame_slot(cj_cpu_prepare *p, uint64_t offset, unsigned bits) {
    cj_cpu_func *func = p->callee;
    for (size_t i = 0; i < func->frame_address_count; i++) {
        const cj_cpu_frame_address *known = &func->frame_address[i];
        if (known->offset == offset && known->bits == bits) return known->slot;
    }
    if (!cj__cpu_grow(p, &func->frame_address, func->frame_address_count, &func->frame_address_capacity,
                      sizeof *func->frame_address)) {
        return CJ_SLOT_NONE;
    }
    const uint32_t slot = cj__cpu_place(p, bits);
    func->frame_address[func->frame_address_count++] = (cj_cpu_frame_address){
        .slot = slot, .bits = bits, .offset = offset};
    return cj__cpu_keep_place(p, func, slot, bits) ? slot : CJ_SLOT_NONE;
}

cj_cpu_packed cj__cpu_packed(uint32_t slot, unsigned bits, unsigned vector) {
    return (cj_cpu_packed){.first = {.slot = slot,
                                     .bytes = bits == 1    ? 0
                                              : bits <= 16 ? 2
                                                           : bits / 8},
                           .count = vector ? vector : 1};
}

uint32_t cj__cpu_packed_bytes(cj_cpu_packed packed) {
    return packed.count * (packed.first.bytes ? packed.first.bytes : 1);
}

// A parameter in a register has a place in the frame, too.
static cj_cpu_param param_of(const cj_cpu_program *program, cj_cpu_func *func, const cj_ir_var *var) {
    const cj_cpu_symbol *symbol = cj__cpu_symbol_of(program, var);
    if (symbol) return (cj_cpu_param){.at = (uint32_t)symbol->offset, .bytes = (uint32_t)symbol->bytes};
    const cj_ir_reg    *reg = var->reg;
    const cj_cpu_packed in = cj__cpu_packed(func->place[reg->index], cj__words[reg->type].bits, reg->vector);
    const cj_cpu_param  param = {.at = func->frame_bytes, .bytes = cj__cpu_packed_bytes(in), .in = in};
    func->frame_bytes += param.bytes;
    return param;
}

bool cj__cpu_place_parameters(cj_cpu_prepare *p, cj_cpu_func *made) {
    const cj_ir_func *func = made->func;
    made->param = cj__cpu_keep(p, (func->param_count + 1) * sizeof *made->param);
    made->result = cj__cpu_keep(p, (func->result_count + 1) * sizeof *made->result);
    if (!made->param || !made->result || !place_hidden(p, made)) return false;
    for (size_t i = 0; i < func->param_count; i++) made->param[i] = param_of(p->program, made, func->param[i]);
    for (size_t i = 0; i < func->result_count; i++) made->result[i] = param_of(p->program, made, func->result[i]);
    return true;
}
