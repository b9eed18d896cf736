// SPDX-License-Identifier: Apache-2.0
// Lowering an entry: memory layout, register file, then one instruction after another. program.h tells the result.
#include "prepare.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "exec.h"

typedef struct cj_cpu_constant {
    uint64_t value;
    uint32_t bits, slot;
} cj_cpu_constant;

enum { FILE_ALIGNMENT = 64, DYNAMIC_ALIGNMENT = 16, STACK_ALIGNMENT = 16, FILE_MAX = 64 * 1024 * 1024 };

static const cj_cpu_selector selectors[CJ_ROW_COUNT] = {
#define CJ_ROW(executor, syntax, operands, ptx, target, effects, sample) cj__cpu_select_##executor,
#include "instructions.def"
#undef CJ_ROW
};

// ---- what selectors use

bool cj__cpu_has(const cj_cpu_prepare *p, cj_word word) { return cj__mnemonic_has(p->mnemonic, word); }

cj_status cj__cpu_refuse(cj_cpu_prepare *p, cj_status status, const char *format, ...) {
    if (p->status) return p->status;
    char    text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->status = cj__fail(p->error, status, "%s", text);
    if (p->error) p->error->line = p->line;
    return status;
}

void *cj__cpu_keep(cj_cpu_prepare *p, size_t bytes) {
    void *memory = cj__arena_alloc(&p->program->arena, bytes);
    if (!memory) cj__cpu_refuse(p, CJ_OUT_OF_MEMORY, "no memory to prepare %s", p->program->entry->name);
    return memory;
}

bool cj__cpu_grow(cj_cpu_prepare *p, void *array_at, size_t count, size_t *capacity, size_t element) {
    void *array;
    memcpy(&array, array_at, sizeof array);
    array = cj__arena_grow(&p->program->arena, array, count, capacity, element);
    if (!array) return cj__cpu_refuse(p, CJ_OUT_OF_MEMORY, "no memory to prepare %s", p->program->entry->name), false;
    memcpy(array_at, &array, sizeof array);
    return true;
}

bool cj__cpu_append(cj_cpu_prepare *p) {
    cj_cpu_program *program = p->program;
    if (!cj__cpu_grow(p, &program->op, program->op_count, &program->op_capacity, sizeof *program->op)) return false;
    program->op[program->op_count++] = p->op;
    return true;
}

static uint32_t lane_bytes(unsigned bits) { return bits <= 16 ? 2 : bits / 8; }

static uint32_t register_bits(uint16_t type) {
    const uint32_t bits = cj__words[type].bits;
    return bits > 1 && bits < 16 ? 16 : bits;
}

uint32_t cj__cpu_place(cj_cpu_prepare *p, unsigned bits) {
    const uint32_t bytes = bits == 1 ? 4 : lane_bytes(bits) * CJ_LANES;
    const uint32_t align = bytes < FILE_ALIGNMENT ? bytes : FILE_ALIGNMENT;
    const uint32_t at = (p->file_bytes + align - 1) / align * align;
    if (at > FILE_MAX) {
        return cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s needs more than %d MiB of registers a warp",
                              p->program->entry->name, FILE_MAX >> 20),
               CJ_SLOT_NONE;
    }
    p->file_bytes = at + bytes;
    return at;
}

uint32_t cj__cpu_initial(cj_cpu_prepare *p, uint64_t value, unsigned bits) {
    if (!cj__cpu_grow(p, &p->constant, p->constant_count, &p->constant_capacity, sizeof *p->constant)) {
        return CJ_SLOT_NONE;
    }
    const uint32_t slot = cj__cpu_place(p, bits);
    p->constant[p->constant_count++] = (cj_cpu_constant){.value = value, .bits = bits, .slot = slot};
    return slot;
}

uint32_t cj__cpu_constant(cj_cpu_prepare *p, uint64_t value, unsigned bits) {
    if (bits < 64) value &= ((uint64_t)1 << bits) - 1;
    struct {
        uint64_t value, bits;
    } *key = cj__cpu_keep(p, sizeof *key);
    if (!key) return CJ_SLOT_NONE;
    key->value = value;
    key->bits = bits;
    const cj_cpu_constant *known = cj__map_get(&p->constants, (const char *)key, sizeof *key);
    if (known) return known->slot;

    cj_cpu_constant *constant = cj__cpu_keep(p, sizeof *constant);
    if (!constant) return CJ_SLOT_NONE;
    *constant = (cj_cpu_constant){.value = value, .bits = bits, .slot = cj__cpu_initial(p, value, bits)};
    if (!cj__map_put(&p->constants, (const char *)key, sizeof *key, constant)) {
        return cj__cpu_refuse(p, CJ_OUT_OF_MEMORY, "no memory to prepare %s", p->program->entry->name), CJ_SLOT_NONE;
    }
    return constant->slot;
}

bool cj__cpu_choose(cj_cpu_prepare *p, const cj_cpu_typed *typed, uint16_t type) {
    switch (type) {
    case CJ_W_B16:
    case CJ_W_U16: p->op.run = typed->u16; break;
    case CJ_W_B32:
    case CJ_W_U32: p->op.run = typed->u32; break;
    case CJ_W_B64:
    case CJ_W_U64: p->op.run = typed->u64; break;
    case CJ_W_S16: p->op.run = typed->s16; break;
    case CJ_W_S32: p->op.run = typed->s32; break;
    case CJ_W_S64: p->op.run = typed->s64; break;
    case CJ_W_F32: p->op.run = typed->f32; break;
    case CJ_W_F64: p->op.run = typed->f64; break;
    default: p->op.run = NULL;
    }
    return p->op.run != NULL;
}

// ---- memory layout

static bool add_symbol(cj_cpu_prepare *p, const cj_ir_var *var, uint32_t *bytes) {
    cj_cpu_program *program = p->program;
    const uint64_t  align = var->align ? var->align : 1;
    const uint64_t  offset = ((uint64_t)*bytes + align - 1) / align * align;
    p->line = var->line;
    if (var->unsized && var->space != CJ_SPACE_SHARED) {
        return cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s: the CPU device does not place parameters without a size", var->name),
               false;
    }
    if (offset + var->bytes > UINT32_MAX) {
        return cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s: 4 GiB or more in one memory space", var->name), false;
    }
    if (!cj__cpu_grow(p, &program->symbol, program->symbol_count, &program->symbol_capacity, sizeof *program->symbol)) {
        return false;
    }
    program->symbol[program->symbol_count++] = (cj_cpu_symbol){
        .var = var, .offset = offset, .bytes = var->unsized ? UINT32_MAX : var->bytes};
    *bytes = (uint32_t)(offset + var->bytes);
    return true;
}

// Variable i of the entry's own and its module's, in this order; NULL behind the last.
static const cj_ir_var *visible_var(const cj_ir_func *entry, size_t *i) {
    if (*i < entry->var_count) return entry->var[(*i)++];
    const cj_ir_module *module = entry->module;
    while (*i - entry->var_count < module->item_count) {
        const cj_ir_item *item = &module->item[(*i)++ - entry->var_count];
        if (item->kind == CJ_ITEM_VAR) return item->var;
    }
    return NULL;
}

static bool add_symbols(cj_cpu_prepare *p, cj_space space, bool unsized, uint32_t *bytes) {
    const cj_ir_var *var;
    for (size_t i = 0; (var = visible_var(p->program->entry, &i)) != NULL;) {
        if (var->space != space || var->unsized != unsized) continue;
        uint32_t at = *bytes;  // all unsized variables start where dynamic memory starts
        if (!add_symbol(p, var, unsized ? &at : bytes)) return false;
    }
    return true;
}

// The parameters of the entry's calls, which lie in local memory. Its other variables are placed already.
static bool add_entry_symbols(cj_cpu_prepare *p) {
    const cj_ir_func *entry = p->program->entry;
    for (size_t i = 0; i < entry->var_count; i++) {
        if (entry->var[i]->space != CJ_SPACE_PARAM) continue;
        if (!add_symbol(p, entry->var[i], &p->program->local_bytes)) return false;
    }
    return true;
}

static bool add_frame_symbol(cj_cpu_prepare *p, cj_cpu_func *func, const cj_ir_var *var) {
    if (!add_symbol(p, var, &func->frame_bytes)) return false;
    p->program->symbol[p->program->symbol_count - 1].in_frame = true;
    if (var->align > func->frame_align) func->frame_align = (uint32_t)var->align;
    return true;
}

// A function's own variables. Its parameters, and those of its calls, lie in its frame.
static bool add_function_symbols(cj_cpu_prepare *p, cj_cpu_func *made) {
    const cj_ir_func *func = made->func;
    for (size_t i = 0; i < func->param_count + func->result_count; i++) {
        const cj_ir_var *var = i < func->param_count ? func->param[i] : func->result[i - func->param_count];
        if (var->space != CJ_SPACE_REG && !add_frame_symbol(p, made, var)) return false;
    }
    for (size_t i = 0; i < func->var_count; i++) {
        const cj_ir_var *var = func->var[i];
        if (var->space == CJ_SPACE_SHARED && !add_symbol(p, var, &p->program->shared_bytes)) return false;
        const bool is_own = var->space == CJ_SPACE_LOCAL || var->space == CJ_SPACE_PARAM;
        if (is_own && !add_frame_symbol(p, made, var)) return false;
    }
    return true;
}

static uint32_t dynamic_alignment(const cj_ir_func *entry) {
    uint32_t         align = DYNAMIC_ALIGNMENT;
    const cj_ir_var *var;
    for (size_t i = 0; (var = visible_var(entry, &i)) != NULL;) {
        if (var->space == CJ_SPACE_SHARED && var->unsized && var->align > align) align = var->align;
    }
    return align;
}

// More than any GPU has; what a launch may take is for its contract to say.
static bool check_sizes(cj_cpu_prepare *p) {
    const cj_cpu_program *program = p->program;
    const struct {
        const char *what;
        uint32_t    bytes, most;
    } size[] = {{"parameters", program->param_bytes, 32764},
                {"shared memory a block", program->shared_bytes, 1 << 20},
                {"local memory a thread", program->local_bytes, 512 << 10}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        if (size[i].bytes <= size[i].most) continue;
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s needs %u bytes of %s; the limit is %u", program->entry->name,
                       size[i].bytes, size[i].what, size[i].most);
    }
    return !p->status;
}

static bool lay_out_memory(cj_cpu_prepare *p) {
    cj_cpu_program   *program = p->program;
    const cj_ir_func *entry = program->entry;
    for (size_t i = 0; i < entry->param_count; i++) {
        if (!add_symbol(p, entry->param[i], &program->param_bytes)) return false;
    }
    if (!add_symbols(p, CJ_SPACE_SHARED, false, &program->shared_bytes)) return false;
    if (!add_symbols(p, CJ_SPACE_LOCAL, false, &program->local_bytes)) return false;
    if (!add_entry_symbols(p)) return false;
    for (size_t i = 0; i < program->func_count; i++) {
        if (!add_function_symbols(p, program->func[i])) return false;
    }
    if (!check_sizes(p)) return false;
    const uint32_t align = dynamic_alignment(entry);
    program->dynamic_offset = (program->shared_bytes + align - 1) / align * align;
    program->stack_begin = (program->local_bytes + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
    return add_symbols(p, CJ_SPACE_SHARED, true, &program->dynamic_offset);
}

// A frame of every function: enough where none is entered twice.
static bool size_stack(cj_cpu_prepare *p) {
    cj_cpu_program *program = p->program;
    uint64_t        bytes = program->stack_begin;
    for (size_t i = 0; i < program->func_count; i++) {
        bytes += (uint64_t)program->func[i]->frame_bytes + program->func[i]->frame_align;
    }
    bytes = (bytes + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
    program->local_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    return check_sizes(p);
}

const cj_cpu_symbol *cj__cpu_symbol_of(const cj_cpu_program *program, const cj_ir_var *var) {
    for (size_t i = 0; i < program->symbol_count; i++) {
        if (program->symbol[i].var == var) return &program->symbol[i];
    }
    return NULL;
}

// ---- operands

// The places of a function's registers, by their index. `made` keeps them; NULL: the entry's.
static uint32_t *place_function(cj_cpu_prepare *p, const cj_ir_func *func, cj_cpu_func *made) {
    uint32_t *place = cj__cpu_keep(p, (func->reg_count + 1) * sizeof *place);
    if (!place) return NULL;
    for (int predicates = 1; predicates >= 0; predicates--) {  // predicates side by side
        for (size_t i = 0; i < func->reg_count; i++) {
            const cj_ir_reg *reg = func->reg[i];
            if ((reg->type == CJ_W_PRED) != predicates) continue;
            for (unsigned k = 0; k < (reg->vector ? reg->vector : 1u); k++) {
                const uint32_t slot = cj__cpu_place(p, register_bits(reg->type));
                if (!k) place[reg->index] = slot;
                if (made && !cj__cpu_keep_place(p, made, slot, register_bits(reg->type))) return NULL;
            }
        }
    }
    return place;
}

static bool place_registers(cj_cpu_prepare *p) {
    cj_cpu_program *program = p->program;
    p->file_bytes = CJ_SLOT_TRUE + 4;
    p->sink_predicate = cj__cpu_place(p, 1);
    p->carry = cj__cpu_place(p, 1);
    program->sink = cj__cpu_place(p, 128);
    program->stack = cj__cpu_initial(p, program->stack_begin, 32);
    for (size_t i = 0; i < program->func_count && !p->status; i++) {
        cj_cpu_func *func = program->func[i];
        func->place = place_function(p, func->func, func);
        if (!func->place || !cj__cpu_place_parameters(p, func)) return false;
    }
    p->place = place_function(p, program->entry, NULL);
    return !p->status;
}

// The slot with an address in a variable.
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

// A clock is read by an op of its own into a hidden register.
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
    *bits = (uint16_t)register_bits(type);
    switch (operand->kind) {
    case CJ_OPERAND_REG:
        *bits = (uint16_t)register_bits(operand->reg->type);
        step = *bits == 1 ? 4 : lane_bytes(*bits) * CJ_LANES;
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
        *bits = (uint16_t)register_bits(cj__specials[operand->special].type);
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

void cj__cpu_add_slot(cj_cpu_prepare *p, uint32_t slot, uint16_t bits, uint16_t type) {
    p->slot[p->slot_count] = slot;
    p->bits[p->slot_count] = bits;
    p->type[p->slot_count++] = type;
}

void cj__cpu_add_flow(cj_cpu_prepare *p, uint32_t slot, uint16_t bits, cj_cpu_role role) {
    p->flow->operand[p->flow->count++] = (cj_cpu_operand){.slot = slot, .bits = bits, .role = (uint16_t)role};
}

const cj_cpu_flow *cj__cpu_copy_flow(cj_cpu_prepare *p, uint32_t to, uint32_t to_bits, uint32_t from,
                                     uint32_t from_bits) {
    cj_cpu_flow *flow = cj__cpu_keep(p, sizeof *flow + 2 * sizeof *flow->operand);
    if (!flow) return NULL;
    flow->count = flow->slots = 2;
    flow->is_copy = true;
    flow->operand[0] = (cj_cpu_operand){.slot = to, .bits = (uint16_t)to_bits, .role = CJ_ROLE_RESULT};
    flow->operand[1] = (cj_cpu_operand){.slot = from, .bits = (uint16_t)from_bits, .role = CJ_ROLE_SOURCE};
    return flow;
}

// A register of bits may be wider than the float that it takes or gives: the slot of the low part, which an op of its own
// fills before the instruction or spreads after it.
static uint32_t low_part(cj_cpu_prepare *p, uint32_t whole, uint16_t type, bool is_destination, uint16_t *bits) {
    uint32_t      *slot = cj__cpu_keep(p, 2 * sizeof *slot);
    const uint32_t wide = *bits, narrow = register_bits(type);
    if (!slot || p->widened == CJ_WIDENED_MAX) return whole;
    const uint32_t  part = cj__cpu_place(p, narrow);
    const cj_cpu_op made = p->op;
    slot[0] = is_destination ? whole : part;
    slot[1] = is_destination ? part : whole;
    p->op.slot = slot;
    p->op.flow = is_destination ? cj__cpu_copy_flow(p, whole, wide, part, narrow)
                                : cj__cpu_copy_flow(p, part, narrow, whole, wide);
    p->op.run = cj__cpu_resize;
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
    if (is_bits && cj__words[type].class == CJ_CLASS_FLOAT && bits > register_bits(type) && bits <= 64)
        slot = low_part(p, slot, type, is_destination, &bits);
    if (operand->negated) p->op.flip |= 1u << p->slot_count;
    if (operand->kind == CJ_OPERAND_REG) {
        cj__cpu_add_flow(p, slot, bits, is_destination ? CJ_ROLE_RESULT : CJ_ROLE_SOURCE);
    }
    cj__cpu_add_slot(p, slot, bits, type);
}

bool cj__cpu_is_stack(const cj_cpu_prepare *p) {
    if (!cj__cpu_has(p, CJ_W_PARAM)) return false;
    for (unsigned i = 0; i < p->inst->operand_count; i++) {
        const cj_ir_operand *operand = &p->inst->operand[i];
        if (operand->kind != CJ_OPERAND_MEMORY || operand->base->kind != CJ_OPERAND_VAR) continue;
        for (size_t k = 0; k < p->program->entry->param_count; k++) {
            if (p->program->entry->param[k] == operand->base->var) return false;
        }
        return true;
    }
    return p->func != p->program->entry;
}

static void set_memory(cj_cpu_prepare *p, const cj_ir_operand *operand) {
    const cj_ir_operand *base = operand->base;
    uint16_t             bits;
    p->op.base = scalar_slot(p, base, base->kind == CJ_OPERAND_REG ? base->reg->type : CJ_W_U64, false, &bits);
    p->op.base_is_64 = bits == 64;
    p->op.offset = operand->offset;
    if (base->kind == CJ_OPERAND_REG) cj__cpu_add_flow(p, p->op.base, bits, CJ_ROLE_ADDRESS);
    p->memory[p->memory_count++] =
        (cj_cpu_memory_operand){.base = p->op.base, .is_64 = p->op.base_is_64, .offset = p->op.offset};
    if (bits < 32)
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device does not execute %s with an address of %u bits",
                       p->mnemonic->text, bits);
}

// The type that a bits-typed part of a vector has: 64 bits in two parts are two of 32.
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
    case 'W': {
        const uint16_t type = mnemonic->type_last;
        const bool     is_signed = cj__words[type].class == CJ_CLASS_SIGNED;
        if (cj__words[type].bits == 16) return is_signed ? CJ_W_S32 : CJ_W_U32;
        return is_signed ? CJ_W_S64 : CJ_W_U64;
    }
    case 0: return CJ_W_PRED;  // q and p say it by their kind
    default: return mnemonic->type[item->type - '1'];
    }
}

// A register with elements is the vector of them.
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
        const bool     is_part = strchr("UP", item->kind) && !cj__pattern_length(item, p->mnemonic);  // else type is each's
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

static bool add_operands(cj_cpu_prepare *p) {
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
    for (unsigned i = 0, next = 0; i < pattern->count; i++) {  // an operand that is not written has a slot all the same
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

// ---- instructions

static bool check_widths(cj_cpu_prepare *p) {
    for (uint32_t i = 0; i < p->slot_count; i++) {
        const uint32_t asked = register_bits(p->type[i]);
        const bool     is_integer = cj__words[p->type[i]].class != CJ_CLASS_FLOAT && asked > 1;
        const bool     wider = p->any_width && is_integer && p->bits[i] > asked;
        if (!p->type[i] || p->bits[i] == asked || wider) continue;
        return cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device does not execute %s with %u bits for operand %u, a .%s",
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

static bool lower_known(cj_cpu_prepare *p) {
    if (!add_operands(p)) return false;
    if (!selectors[p->inst->row - cj__rows](p) && !p->status) {
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device does not execute %s", p->mnemonic->text);
    }
    if (p->status || !check_widths(p) || !cj__cpu_append(p)) return false;
    for (uint32_t i = 0; i < p->widened; i++) {
        p->op = p->widening[i];
        if (!cj__cpu_append(p)) return false;
    }
    return true;
}

// What cannot be executed is no reason to refuse the kernel: it ends a launch that reaches it, with the words that were
// written to `why`.
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
    p->mnemonic = inst->mnemonic;
    p->any_width = false;
    p->widened = 0;
    p->op = (cj_cpu_op){.line = stmt->line, .inst = inst, .guard = CJ_SLOT_TRUE};
    p->error = &why;
    const bool ok = lower_guard(p, inst) && lower_known(p);
    p->error = error;
    if (ok) return true;
    if (p->status == CJ_UNSUPPORTED && p->file_bytes <= FILE_MAX) {
        p->status = CJ_OK;
        p->program->op_count = begin;
        return lower_unknown(p, &why);
    }
    if (error) *error = why;
    return false;
}

// Branches name statements; they go to the first op at or behind it.
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
    if (!cj__cpu_select_ret(p) || !cj__cpu_append(p)) return false;
    for (size_t i = begin; i < program->op_count; i++) {
        if (!resolve_target(p, &program->op[i], first_op)) return false;
    }
    return cj__cpu_watch_accumulators(p, begin);
}

// Functions come before the entry, which a jump then leads to.
static bool lower_all(cj_cpu_prepare *p) {
    cj_cpu_program *program = p->program;
    uint32_t       *place = p->place;
    p->op = (cj_cpu_op){.line = p->line, .guard = CJ_SLOT_TRUE};
    if (program->func_count && (!cj__cpu_select_bra(p) || !cj__cpu_append(p))) return false;
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

static bool make_image(cj_cpu_prepare *p) {
    cj_cpu_program *program = p->program;
    program->file_bytes = (p->file_bytes + FILE_ALIGNMENT - 1) / FILE_ALIGNMENT * FILE_ALIGNMENT;
    program->image = cj__cpu_keep(p, program->file_bytes);
    if (!program->image) return false;
    memset(program->image, CJ_POISON, program->file_bytes);  // predicate 0, which holds, included
    for (size_t i = 0; i < p->constant_count; i++) {
        const cj_cpu_constant *constant = &p->constant[i];
        void                  *slot = program->image + constant->slot;
        for (unsigned lane = 0; lane < CJ_LANES; lane++) {
            if (constant->bits == 1)
                cj__cpu_predicate_set(slot, 1u << lane, (uint32_t)(0 - constant->value));
            else if (constant->bits == 16)
                ((lane_u16 *)slot)[lane] = (uint16_t)constant->value;
            else if (constant->bits == 32)
                ((lane_u32 *)slot)[lane] = (uint32_t)constant->value;
            else
                ((lane_u64 *)slot)[lane] = constant->value;
        }
    }
    return true;
}

cj_status cj__cpu_prepare(const cj_ir_func *entry, const cj_cpu_variable *variables, size_t variable_count,
                          cj_cpu_program **program, cj_error *error) {
    cj_cpu_program *made = calloc(1, sizeof *made);
    if (!made) return cj__fail(error, CJ_OUT_OF_MEMORY, "no memory to prepare %s", entry->name);
    made->entry = entry;
    cj_cpu_prepare p = {
        .program = made, .variables = variables, .variable_count = variable_count, .line = entry->line, .error = error};
    p.constants.arena = &made->arena;
    if (cj__cpu_find_functions(&p) && lay_out_memory(&p) && place_registers(&p) && lower_all(&p) && size_stack(&p) &&
        make_image(&p)) {
        *program = made;
        return CJ_OK;
    }
    cj__cpu_program_free(made);
    return p.status;
}

void cj__cpu_program_free(cj_cpu_program *program) {
    if (!program) return;
    cj__arena_free(&program->arena);
    free(program);
}
