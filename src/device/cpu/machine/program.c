// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <stdlib.h>

#include "allocate.h"

const cj_cpu_symbol *cj__cpu_symbol_of(const cj_cpu_program *program, const cj_ir_var *var) {
    for (size_t i = 0; i < program->symbol_count; i++) {
        if (program->symbol[i].var == var) return &program->symbol[i];
    }
    return NULL;
}

const cj_cpu_symbol *cj__cpu_nearest(const cj_cpu_program *program, cj_space space, uint64_t offset) {
    const cj_cpu_symbol *best = NULL;
    for (size_t i = 0; i < program->symbol_count; i++) {
        const cj_cpu_symbol *symbol = &program->symbol[i];
        if (symbol->var->space != space || symbol->in_frame || symbol->offset > offset) continue;
        if (!best || symbol->offset >= best->offset) best = symbol;
    }
    return best;
}

void cj__cpu_program_free(cj_cpu_program *program) {
    if (!program) return;
    cj__arena_free(&program->arena);
    cj__free(program);
}
