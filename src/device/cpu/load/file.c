// SPDX-License-Identifier: Apache-2.0
// The register file of a warp: the place of each register, and the contents of the file when a warp begins.
#include <string.h>

#include "call.h"
#include "lanes.h"
#include "lower.h"

// Places a function's registers, by their index, and stores the places in `made`; NULL: the entry's.
static uint32_t *place_function(cj_cpu_prepare *p, const cj_ir_func *func, cj_cpu_func *made) {
    uint32_t *place = cj__cpu_keep(p, (func->reg_count + 1) * sizeof *place);
    if (!place) return NULL;
    for (int predicates = 1; predicates >= 0; predicates--) {  // predicates side by side
        for (size_t i = 0; i < func->reg_count; i++) {
            const cj_ir_reg *reg = func->reg[i];
            if ((reg->type == CJ_W_PRED) != predicates) continue;
            for (unsigned k = 0; k < (reg->vector ? reg->vector : 1u); k++) {
                const uint32_t slot = cj__cpu_place(p, cj__load_register_bits(reg->type));
                if (!k) place[reg->index] = slot;
                if (made && !cj__cpu_keep_place(p, made, slot, cj__load_register_bits(reg->type))) return NULL;
            }
        }
    }
    return place;
}

bool cj__load_registers(cj_cpu_prepare *p) {
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

bool cj__load_image(cj_cpu_prepare *p) {
    cj_cpu_program *program = p->program;
    program->file_bytes = (p->file_bytes + CJ_FILE_ALIGNMENT - 1) / CJ_FILE_ALIGNMENT * CJ_FILE_ALIGNMENT;
    program->image = cj__cpu_keep(p, program->file_bytes);
    if (!program->image) return false;
    memset(program->image, CJ_POISON, program->file_bytes);  // predicate 0, which is always true, included
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
