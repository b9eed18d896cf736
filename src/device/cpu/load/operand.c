// SPDX-License-Identifier: Apache-2.0
// Operands of an instruction: each becomes a place in the register file.
#include <string.h>

#include "call.h"
#include "load.h"
#include "lower.h"
#include "special.h"

// The slot that holds the address of a place in a variable.
static uint32_t address_slot(cj_cpu_prepare *p, const cj_ir_var *var, uint64_t into, unsigned bits) {
    const cj_cpu_symbol *symbol = cj__cpu_symbol_of(p->program, var);
    if (symbol && symbol->in_frame) return cj__cpu_frame_slot(p, symbol->offset + into, bits);
    if (symbol) return cj__cpu_constant(p, symbol->offset + into, bits);
    for (size_t i = 0; i < p->variable_count; i++) {
        if (p->variables[i].var == var) return cj__cpu_constant(p, p->variables[i].address + into, bits);
    }
    cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device cannot place %s", var->name);
    return CJ_SLOT_NONE;
}

static uint32_t fixed_special(cj_cpu_prepare *p, cj_special special, uint8_t component, unsigned bits) {
    cj_cpu_program *program = p->program;
    for (size_t i = 0; i < program->fixed_count; i++) {
        const cj_cpu_fixed *known = &program->fixed[i];
        if (known->special == special && known->component == component && known->bits == bits) return known->slot;
    }
    if (!cj__cpu_grow(p, &program->fixed, program->fixed_count, &program->fixed_capacity, sizeof *program->fixed)) {
        return CJ_SLOT_NONE;
    }
    const uint32_t slot = cj__cpu_place(p, bits);
    program->fixed[program->fixed_count++] = (cj_cpu_fixed){
        .special = (uint16_t)special, .component = component, .bits = (uint8_t)bits, .slot = slot};
    return slot;
}

// A separate op reads a clock into a hidden register.
static uint32_t changing_special(cj_cpu_prepare *p, cj_special special, unsigned bits) {
    uint32_t *slot = cj__cpu_keep(p, sizeof *slot);
    if (!slot) return CJ_SLOT_NONE;
    *slot = cj__cpu_place(p, bits);
    const cj_cpu_op made = p->op;
    p->op.run = cj__cpu_read_special;
    p->op.slot = slot;
    p->op.flow = NULL;
    p->op.mode = (uint16_t)special;
    p->op.bytes = (uint8_t)(bits / 8);
    cj__cpu_append(p);
    p->op = made;
    return *slot;
}

// The bits of a literal as a value of the type.
static uint64_t literal(const cj_ir_operand *operand, uint16_t type) {
    const cj_word_info *info = &cj__words[type];
    if (operand->kind == CJ_OPERAND_INT && info->class != CJ_CLASS_FLOAT) return operand->bits;
    double   value = operand->kind == CJ_OPERAND_INT ? (double)(int64_t)operand->bits : 0;
    float    narrow;
    uint32_t bits = (uint32_t)operand->bits;
    if (operand->kind == CJ_OPERAND_FLOAT && operand->is_f32) {
        if (info->bits == 32) return bits;
        memcpy(&narrow, &bits, sizeof narrow);
        value = (double)narrow;
    } else if (operand->kind == CJ_OPERAND_FLOAT) {
        memcpy(&value, &operand->bits, sizeof value);
    }
    if (info->bits == 16) return operand->bits;
    if (info->bits == 32) {
        narrow = (float)value;
        memcpy(&bits, &narrow, sizeof bits);
        return bits;
    }
    uint64_t wide;
    memcpy(&wide, &value, sizeof wide);
    return wide;
}

// The slot of one register, literal, address or special register; *bits becomes its width.
static uint32_t scalar_slot(cj_cpu_prepare *p, const cj_ir_operand *operand, uint16_t type, bool is_destination,
                            uint16_t *bits) {
    uint32_t step;
    *bits = (uint16_t)cj__load_register_bits(type);
    switch (operand->kind) {
    case CJ_OPERAND_REG:
        *bits = (uint16_t)cj__load_register_bits(operand->reg->type);
        step = *bits == 1 ? 4 : cj__load_lane_bytes(*bits) * CJ_LANES;
        return p->place[operand->reg->index] + (operand->component ? operand->component - 1u : 0u) * step;
    case CJ_OPERAND_SINK: return type == CJ_W_PRED ? p->sink_predicate : p->program->sink;
    case CJ_OPERAND_INT:
    case CJ_OPERAND_FLOAT:
        if (is_destination) break;
        if (type == CJ_W_PRED) return cj__cpu_constant(p, operand->bits != 0, 1);
        return cj__cpu_constant(p, literal(operand, type), *bits);
    case CJ_OPERAND_VAR: return address_slot(p, operand->var, (uint64_t)operand->offset, *bits);
    case CJ_OPERAND_FUNC: return cj__cpu_constant(p, cj__cpu_function_address(operand->func), *bits);
    case CJ_OPERAND_SPECIAL:
        *bits = (uint16_t)cj__load_register_bits(cj__specials[operand->special].type);
        if (cj__cpu_special_fixed(operand->special)) {
            return fixed_special(p, operand->special, operand->component ? (uint8_t)(operand->component - 1) : 0,
                                 *bits);
        }
        return changing_special(p, operand->special, *bits);
    default: break;
    }
    cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device cannot use operand '%s' of %s",
                   operand->text ? operand->text : "", p->mnemonic->text);
    return CJ_SLOT_NONE;
}

uint32_t cj__cpu_slot_of(cj_cpu_prepare *p, const cj_ir_operand *operand, uint16_t type, uint16_t *bits) {
    return scalar_slot(p, operand, type, false, bits);
}

// A register may be wider than the float in it: the slot of the low part, which a separate op fills before the
// instruction or widens after it.
static uint32_t low_part(cj_cpu_prepare *p, uint32_t whole, uint16_t type, bool is_destination, uint16_t *bits) {
    uint32_t      *slot = cj__cpu_keep(p, 2 * sizeof *slot);
    const uint32_t wide = *bits, narrow = cj__load_register_bits(type);
    if (!slot || p->widened == CJ_WIDENED_MAX) return whole;
    const uint32_t  part = cj__cpu_place(p, narrow);
    const cj_cpu_op made = p->op;
    slot[0] = is_destination ? whole : part;
    slot[1] = is_destination ? part : whole;
    p->op.slot = slot;
    p->op.flow = is_destination ? cj__cpu_copy_flow(p, whole, wide, part, narrow)
                                : cj__cpu_copy_flow(p, part, narrow, whole, wide);
    p->op.run = p->instructions->resize;
    p->op.mode = (uint16_t)(is_destination ? wide : narrow);
    p->op.bytes = (uint8_t)((is_destination ? narrow : wide) / 8);
    if (is_destination)
        p->widening[p->widened++] = p->op;
    else
        cj__cpu_append(p);
    p->op = made;
    *bits = (uint16_t)narrow;
    return part;
}

static void add_scalar(cj_cpu_prepare *p, const cj_ir_operand *operand, uint16_t type, bool is_destination) {
    uint16_t   bits = 0;
    uint32_t   slot = scalar_slot(p, operand, type, is_destination, &bits);
    const bool is_bits = operand->kind == CJ_OPERAND_REG && cj__words[operand->reg->type].class == CJ_CLASS_BITS;
    if (is_bits && cj__words[type].class == CJ_CLASS_FLOAT && bits > cj__load_register_bits(type) && bits <= 64)
        slot = low_part(p, slot, type, is_destination, &bits);
    if (operand->negated) p->op.flip |= 1u << p->slot_count;
    if (operand->kind == CJ_OPERAND_REG) {
        cj__cpu_add_flow(p, slot, bits, is_destination ? CJ_ROLE_RESULT : CJ_ROLE_SOURCE);
    }
    cj__cpu_add_slot(p, slot, bits, type);
}

static void set_memory(cj_cpu_prepare *p, const cj_ir_operand *operand) {
    const cj_ir_operand *base = operand->base;
    uint16_t             bits;
    p->op.base = scalar_slot(p, base, base->kind == CJ_OPERAND_REG ? base->reg->type : CJ_W_U64, false, &bits);
    p->op.base_is_64 = bits == 64;
    p->op.offset = operand->offset;
    if (base->kind == CJ_OPERAND_REG) cj__cpu_add_flow(p, p->op.base, bits, CJ_ROLE_ADDRESS);
    p->memory[p->memory_count++] = (cj_cpu_memory_operand){
        .base = p->op.base, .is_64 = p->op.base_is_64, .offset = p->op.offset};
    if (bits < 32)
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device does not execute %s with an address of %u bits",
                       p->mnemonic->text, bits);
}

// The type of one part of a bits-typed vector: 64 bits in two parts are two of 32.
static uint16_t part_type(uint16_t type, unsigned parts) {
    switch (cj__words[type].bits / parts) {
    case 8: return CJ_W_B8;
    case 16: return CJ_W_B16;
    case 32: return CJ_W_B32;
    default: return CJ_W_B64;
    }
}

static uint16_t item_type(const cj_mnemonic *mnemonic, const cj_pattern_item *item) {
    switch (item->type) {
    case 'T': return mnemonic->type_last;
    case 'F': return item->fixed;
    case 'A': return CJ_W_U64;
    case 'B': return CJ_W_B32;
    case 'W': {
        const uint16_t type = mnemonic->type_last;
        const bool     is_signed = cj__words[type].class == CJ_CLASS_SIGNED;
        if (cj__words[type].bits == 16) return is_signed ? CJ_W_S32 : CJ_W_U32;
        return is_signed ? CJ_W_S64 : CJ_W_U64;
    }
    case 0: return CJ_W_PRED;  // the kind of operand says which of q and p
    default: return mnemonic->type[item->type - '1'];
    }
}

// Adds a register that holds several elements as a vector.
static unsigned add_vector(cj_cpu_prepare *p, const cj_ir_operand *operand, uint16_t type, bool is_destination) {
    const bool is_list = operand->kind == CJ_OPERAND_VECTOR;
    const bool is_whole = operand->kind == CJ_OPERAND_REG && !operand->component;
    unsigned   count = is_list ? operand->count : is_whole ? operand->reg->vector : 1;
    if (count == 0) count = 1;
    for (unsigned i = 0; i < count; i++) {
        cj_ir_operand element = is_list ? operand->list[i] : *operand;
        if (!is_list && count > 1) element.component = (uint8_t)(i + 1);
        add_scalar(p, &element, type, is_destination);
    }
    return count;
}

static void add_operand(cj_cpu_prepare *p, const cj_ir_operand *operand, const cj_pattern_item *item) {
    const bool is_destination = strchr("dDUq", item->kind) != NULL, is_vector = strchr("DSUP", item->kind) != NULL;
    uint16_t   type = item_type(p->mnemonic, item);
    if (operand->kind == CJ_OPERAND_MEMORY) {
        set_memory(p, operand);
        for (unsigned i = 0; i < operand->count; i++) add_scalar(p, &operand->list[i], type, is_destination);
    } else if (is_vector) {
        const unsigned parts = operand->kind == CJ_OPERAND_REG ? operand->reg->vector : operand->count;
        const bool     is_part = strchr("UP", item->kind) &&
                             !cj__pattern_length(item, p->mnemonic);  // else type is each element's
        const unsigned count = add_vector(p, operand, is_part ? part_type(type, parts) : type, is_destination);
        p->elements = p->elements == UINT32_MAX || p->elements == count ? count : 0;
    } else if (!strchr("lfL", item->kind)) {
        add_scalar(p, operand, type, is_destination);
        if (item->predicate && operand->predicate)
            add_scalar(p, operand->predicate, CJ_W_PRED, true);
        else if (item->predicate)
            cj__cpu_add_slot(p, p->sink_predicate, 1, CJ_W_PRED);
    }
}

bool cj__load_operands(cj_cpu_prepare *p) {
    const cj_ir_inst *inst = p->inst;
    const cj_pattern *pattern = cj__row_pattern(inst->row);
    size_t            most = pattern->count * 4u + 1;  // a vector register has 4 elements at most
    for (unsigned i = 0; i < inst->operand_count; i++) most += inst->operand[i].count;
    p->slot = cj__cpu_keep(p, most * sizeof *p->slot);
    p->bits = cj__cpu_keep(p, most * sizeof *p->bits);
    p->type = cj__cpu_keep(p, most * sizeof *p->type);
    p->memory = cj__cpu_keep(p, (inst->operand_count + 1u) * sizeof *p->memory);
    p->flow = cj__cpu_keep(p, sizeof *p->flow + (most + inst->operand_count + 2) * sizeof *p->flow->operand);
    if (p->status) return false;
    p->slot_count = p->memory_count = 0;
    p->elements = UINT32_MAX;
    p->op.slot = p->slot;
    p->op.memory = p->memory;
    p->op.flow = p->flow;
    for (unsigned i = 0, next = 0; i < pattern->count; i++) {  // an optional operand always has a slot
        bool given = cj__pattern_item(pattern, p->mnemonic, next) == &pattern->item[i] && next < inst->operand_count;
        if (given)
            add_operand(p, &inst->operand[next++], &pattern->item[i]);
        else
            cj__cpu_add_slot(p, CJ_SLOT_NONE, 0, 0);
    }
    if (p->elements == UINT32_MAX) p->elements = 1;
    p->flow->slots = p->slot_count;
    return !p->status;
}
