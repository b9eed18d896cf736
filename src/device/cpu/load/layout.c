// SPDX-License-Identifier: Apache-2.0
// The layout of variables: offsets in the spaces of parameters, shared memory and local memory, and in functions'
// frames.
#include "lower.h"

enum { DYNAMIC_ALIGNMENT = 16, STACK_ALIGNMENT = 16 };

// The most that a call can pass: a parameter without a size, of a variadic function, has room for it.
static uint64_t largest_argument(const cj_ir_module *module) {
    uint64_t most = 0;
    for (size_t i = 0; i < module->item_count; i++) {
        const cj_ir_func *func = module->item[i].kind == CJ_ITEM_FUNC ? module->item[i].func : NULL;
        for (size_t k = 0; func && k < func->var_count; k++) {
            const cj_ir_var *var = func->var[k];
            if (var->space == CJ_SPACE_PARAM && var->bytes > most) most = var->bytes;
        }
    }
    return most;
}

static bool add_symbol(cj_cpu_prepare *p, const cj_ir_var *var, uint32_t *bytes) {
    cj_cpu_program *program = p->program;
    const uint64_t  align = var->align ? var->align : 1;
    const uint64_t  offset = ((uint64_t)*bytes + align - 1) / align * align;
    const bool      is_dynamic = var->unsized && var->space == CJ_SPACE_SHARED;
    const uint64_t  size = var->unsized && !is_dynamic ? largest_argument(program->entry->module) : var->bytes;
    p->line = var->line;
    if (offset + size > UINT32_MAX) {
        return cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s: 4 GiB or more in one memory space", var->name), false;
    }
    if (!cj__cpu_grow(p, &program->symbol, program->symbol_count, &program->symbol_capacity, sizeof *program->symbol)) {
        return false;
    }
    program->symbol[program->symbol_count++] = (cj_cpu_symbol){
        .var = var, .offset = offset, .bytes = is_dynamic ? UINT32_MAX : size};
    *bytes = (uint32_t)(offset + size);
    return true;
}

// Variable i of the entry's own and its module's, in this order; NULL after the last.
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
        uint32_t at = *bytes;  // all unsized variables begin where dynamic memory begins
        if (!add_symbol(p, var, unsized ? &at : bytes)) return false;
    }
    return true;
}

// Places the parameters of the entry's calls, which are in local memory. Its other variables have been placed.
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

// Places a function's own variables. Its parameters, and those of its calls, are in its frame.
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

// Larger than on any GPU; the launch's contract checks the limits of the device.
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

bool cj__load_layout(cj_cpu_prepare *p) {
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

bool cj__load_size_stack(cj_cpu_prepare *p) {
    cj_cpu_program *program = p->program;
    uint64_t        bytes = program->stack_begin;
    for (size_t i = 0; i < program->func_count; i++) {
        bytes += (uint64_t)program->func[i]->frame_bytes + program->func[i]->frame_align;
    }
    bytes = (bytes + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
    program->local_bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    return check_sizes(p);
}
