// SPDX-License-Identifier: Apache-2.0
// Helpers of selectors and of the lowering: memory that lives as long as the program, places, constants, flows.
#include "prepare.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "lower.h"

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

uint32_t cj__cpu_place(cj_cpu_prepare *p, unsigned bits) {
    const uint32_t bytes = bits == 1 ? 4 : cj__load_lane_bytes(bits) * CJ_LANES;
    const uint32_t align = bytes < CJ_FILE_ALIGNMENT ? bytes : CJ_FILE_ALIGNMENT;
    const uint32_t at = (p->file_bytes + align - 1) / align * align;
    if (at > CJ_FILE_MAX) {
        return cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s needs more than %d MiB of registers a warp",
                              p->program->entry->name, CJ_FILE_MAX >> 20),
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

// ---- operands that an instruction does not write

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
