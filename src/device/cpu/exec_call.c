// SPDX-License-Identifier: Apache-2.0
// Calls (PTX ISA, "call", "ret"). Each lane keeps for itself where it returns to: lanes may come into a function from
// different places, and leave it to them. A call is two ops: one copies the arguments and goes, the one behind it
// fetches the results.
#include <inttypes.h>

#include "address.h"
#include "exec.h"

typedef struct call {
    const cj_cpu_func *callee;  // NULL: by address, in slot 0
    uint32_t           argument_count, result_count;
    cj_cpu_home       *argument, *result;
} call;

static unsigned char *find(const cj_cpu_warp *w, unsigned lane, cj_cpu_home home) {
    const size_t local = w->block->cluster->launch->program->local_bytes;
    if (home.in_register) return w->file + home.at + (size_t)lane * home.bytes;
    return w->block->local + ((size_t)w->index * CJ_LANES + lane) * local + home.at;
}

static void copy(const cj_cpu_warp *w, unsigned lane, cj_cpu_home from, cj_cpu_home to) {
    memcpy(find(w, lane, to), find(w, lane, from), from.bytes < to.bytes ? from.bytes : to.bytes);
}

static const cj_cpu_func *callee_of(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane) {
    const call           *c = op->plan;
    const cj_cpu_program *program = w->block->cluster->launch->program;
    if (c->callee) return c->callee;
    const uint64_t address = CJ_LANES_OF(const lane_u64, 0)[lane];
    for (size_t i = 0; i < program->func_count; i++) {
        if (program->func[i]->address == address) return program->func[i];
    }
    return NULL;
}

// What is wrong with a lane's call, or NULL.
static const char *complaint(const cj_cpu_warp *w, const call *c, const cj_cpu_func *callee, unsigned lane) {
    if (!callee) return "the address is no function's";
    if (callee->func->param_count != c->argument_count || callee->func->result_count != c->result_count)
        return "the function has other parameters";
    const lane_u32 *back = (const lane_u32 *)(const void *)(w->file + callee->back);
    return back[lane] != UINT32_MAX ? "the function is being executed: the CPU device has no recursion" : NULL;
}

CJ_EXEC(enter) {
    const call *c = op->plan;
    uint32_t    to[CJ_LANES];
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_func *callee = callee_of(w, op, i);
        const char        *wrong = complaint(w, c, callee, i);
        if (wrong) return cj__cpu_hazard(w, op, i, CJ_HAZARD_TRAP, "%s", wrong);
        for (uint32_t k = 0; k < c->argument_count; k++) copy(w, i, c->argument[k], callee->param[k]);
        ((lane_u32 *)(void *)(w->file + callee->back))[i] = w->pc + 1;
        to[i] = callee->start;
    }
    return cj__cpu_disperse(w, mask, to);
}

CJ_EXEC(fetch_results) {
    const call *c = op->plan;
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_func *callee = callee_of(w, op, i);
        for (uint32_t k = 0; k < c->result_count; k++) copy(w, i, callee->result[k], c->result[k]);
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(come_back) {
    lane_u32 *back = CJ_LANES_OF(lane_u32, 0);
    uint32_t  to[CJ_LANES];
    CJ_SOME_LANES(i, mask) {
        to[i] = back[i];
        back[i] = UINT32_MAX;
    }
    return cj__cpu_disperse(w, mask, to);
}

// An entry's return is its threads' end.
bool cj__cpu_select_ret(cj_cpu_prepare *p) {
    if (!p->callee) return cj__cpu_select_exit(p);
    uint32_t *slot = cj__cpu_keep(p, sizeof *slot);
    if (!slot) return false;
    *slot = p->callee->back;
    p->op.slot = slot;
    p->op.run = come_back;
    return true;
}

// ---- selection

static cj_cpu_home home_of(cj_cpu_prepare *p, const cj_ir_operand *operand, uint16_t type) {
    if (operand->kind == CJ_OPERAND_VAR) {
        const cj_cpu_symbol *symbol = cj__cpu_symbol_of(p->program, operand->var);
        if (symbol) return (cj_cpu_home){.at = (uint32_t)symbol->offset, .bytes = (uint32_t)symbol->bytes};
    }
    uint16_t       bits = 0;
    const uint32_t slot = cj__cpu_slot_of(p, operand, type, &bits);
    return (cj_cpu_home){.in_register = true, .at = slot, .bytes = bits <= 16 ? 2 : bits / 8u};
}

// The homes of a list of arguments or results. A literal has the type of the parameter.
static cj_cpu_home *homes_of(cj_cpu_prepare *p, const cj_ir_operand *list, cj_ir_var *const *params, size_t count) {
    cj_cpu_home *home = cj__cpu_keep(p, (list->count + 1u) * sizeof *home);
    for (unsigned i = 0; home && i < list->count; i++) {
        home[i] = home_of(p, &list->list[i], i < count ? params[i]->type : CJ_W_B64);
    }
    return home;
}

static bool check_callee(cj_cpu_prepare *p, const cj_ir_func *func, const cj_cpu_func *callee) {
    if (!callee)
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device has no function %s: it has no body here", func->name);
    else if (callee->start == UINT32_MAX)
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "%s calls itself: the CPU device has no recursion", func->name);
    return !p->status;
}

bool cj__cpu_select_call(cj_cpu_prepare *p) {
    static const cj_ir_operand empty;
    const cj_ir_inst          *inst = p->inst;
    const unsigned             at = inst->operand[0].kind == CJ_OPERAND_LIST;
    const cj_ir_operand       *target = &inst->operand[at];
    const cj_ir_operand       *results = at ? &inst->operand[0] : &empty;
    const bool                 listed = at + 1 < inst->operand_count && inst->operand[at + 1].kind == CJ_OPERAND_LIST;
    const cj_ir_operand       *arguments = listed ? &inst->operand[at + 1] : &empty,
                        *last = &inst->operand[inst->operand_count - 1];

    const cj_ir_func *func = target->kind == CJ_OPERAND_FUNC  ? target->func
                             : last->kind == CJ_OPERAND_LABEL ? last->label->prototype
                                                              : NULL;
    if (target->kind == CJ_OPERAND_FUNC && !strcmp(func->name, "__assertfail")) return cj__cpu_select_trap(p);
    call *c = cj__cpu_keep(p, sizeof *c);
    if (!c) return false;
    c->callee = target->kind == CJ_OPERAND_FUNC ? cj__cpu_func_of(p->program, func) : NULL;
    if (target->kind == CJ_OPERAND_FUNC && !check_callee(p, func, c->callee)) return false;
    c->argument_count = arguments->count;
    c->result_count = results->count;
    c->argument = homes_of(p, arguments, func ? func->param : NULL, func ? func->param_count : 0);
    c->result = homes_of(p, results, func ? func->result : NULL, func ? func->result_count : 0);
    p->op.plan = c;
    p->op.run = enter;
    if (p->status || !cj__cpu_append(p)) return false;
    p->op.run = fetch_results;
    return true;
}
