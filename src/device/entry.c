// SPDX-License-Identifier: Apache-2.0
// What an entry says about its launches: its directives, and the kinds of its parameters, found from how the body uses
// them.
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "device.h"
#include "sized.h"

// ---- parameters

// Everything that the value of one parameter flows into.
typedef struct traces {
    const cj_ir_var *param;
    bool            *reg;  // by a register's index: it holds the parameter, or a value computed from it
    bool             changed;
} traces;

static bool is_opcode(const cj_ir_inst *inst, const char *opcodes) {
    const char  *text = inst->mnemonic->text;
    const size_t length = strcspn(text, ".");
    for (const char *at = opcodes; *at; at += strcspn(at, " "), at += *at == ' ') {
        if (strcspn(at, " ") == length && !memcmp(at, text, length)) return true;
    }
    return false;
}

static bool is_traced(const traces *t, const cj_ir_operand *operand) {
    if (operand->kind == CJ_OPERAND_REG) return t->reg[operand->reg->index];
    return operand->kind == CJ_OPERAND_VAR && operand->var == t->param;
}

// An address stays an address of the same memory when something is added to it, or some of its bits are cleared.
static void follow(traces *t, const cj_ir_inst *inst) {
    const bool is_load = is_opcode(inst, "ld"), is_mad = is_opcode(inst, "mad");
    if (inst->operand_count < 2 || inst->operand[0].kind != CJ_OPERAND_REG) return;
    if (!is_load && !is_mad && !is_opcode(inst, "mov add sub and cvta selp")) return;
    bool from = false;
    for (unsigned i = is_mad ? 3 : 1; i < inst->operand_count && !from; i++) {
        const cj_ir_operand *operand = &inst->operand[i];
        if (!is_load) from = is_traced(t, operand);
        if (is_load && operand->kind == CJ_OPERAND_MEMORY && operand->base->kind == CJ_OPERAND_VAR)
            from = is_traced(t, operand->base);
    }
    bool *to = &t->reg[inst->operand[0].reg->index];
    t->changed |= from && !*to;
    *to |= from;
}

// What the instruction takes the value for, if it accesses memory through it; else INTEGER. An argument of a call counts: 64-bit
// arguments mostly are addresses.
static cj_param_kind kind_in(const traces *t, const cj_ir_inst *inst) {
    const bool passes = is_opcode(inst, "cvta") ||
                        (is_opcode(inst, "st") && cj__mnemonic_has(inst->mnemonic, CJ_W_PARAM));
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const cj_ir_operand *operand = &inst->operand[i];
        const cj_ir_operand *through = operand->kind == CJ_OPERAND_MEMORY ? operand->base : passes ? operand : NULL;
        if (!through || through->kind != CJ_OPERAND_REG || !is_traced(t, through)) continue;
        if (is_opcode(inst, "tex tld4 txq")) return CJ_PARAM_TEXTURE;
        return is_opcode(inst, "suld sust sured suq") ? CJ_PARAM_SURFACE : CJ_PARAM_POINTER;
    }
    return CJ_PARAM_INTEGER;
}

static cj_param_kind kind_of_uses(const cj_ir_func *entry, uint32_t index) {
    traces t = {.param = entry->param[index], .reg = cj__calloc(entry->reg_count + 1, sizeof *t.reg), .changed = true};
    cj_param_kind found = CJ_PARAM_INTEGER;
    while (t.reg && t.changed && found == CJ_PARAM_INTEGER) {
        t.changed = false;
        for (size_t i = 0; i < entry->stmt_count && found == CJ_PARAM_INTEGER; i++) {
            if (entry->stmt[i].kind != CJ_STMT_INST) continue;
            follow(&t, entry->stmt[i].inst);
            found = kind_in(&t, entry->stmt[i].inst);
        }
    }
    cj__free(t.reg);
    return found;
}

cj_param_kind cj_function_param_kind(const cj_function *function, uint32_t index) {
    const cj_ir_func *entry = function ? function->entry : NULL;
    if (!entry || index >= entry->param_count) return CJ_PARAM_BYTES;
    const cj_ir_var *param = entry->param[index];
    if (param->is_array || param->vector > 1)
        return param->bytes == sizeof(cj_tensormap) && param->align >= 64 ? CJ_PARAM_TENSORMAP : CJ_PARAM_BYTES;
    if (cj__words[param->type].class == CJ_CLASS_FLOAT) return CJ_PARAM_FLOAT;
    if (param->bytes != sizeof(cj_ptr)) return CJ_PARAM_INTEGER;
    return strstr(param->attributes, ".ptr") ? CJ_PARAM_POINTER : kind_of_uses(entry, index);
}

// ---- launches

static bool names_unsized(const cj_ir_operand *operand) {
    if (operand->kind == CJ_OPERAND_VAR) return operand->var->unsized && operand->var->space == CJ_SPACE_SHARED;
    return operand->kind == CJ_OPERAND_MEMORY && names_unsized(operand->base);
}

static bool needs_dynamic_shared(const cj_ir_func *entry) {
    for (size_t i = 0; i < entry->stmt_count; i++) {
        if (entry->stmt[i].kind != CJ_STMT_INST) continue;
        const cj_ir_inst *inst = entry->stmt[i].inst;
        for (unsigned k = 0; k < inst->operand_count; k++) {
            if (names_unsized(&inst->operand[k])) return true;
        }
    }
    return false;
}

cj_status cj_function_info(const cj_function *function, cj_entry_info *info, cj_error *error) {
    REQUIRE(function);
    TRY(cj__sized_check(info, "cj_entry_info", error));
    const cj_contract *contract = &function->contract;
    const cj_entry_info found = {CJ_INIT(found),
                                 .block = contract->reqntid,
                                 .block_max = contract->maxntid,
                                 .cluster = contract->reqnctapercluster,
                                 .cluster_max = contract->maxclusterrank,
                                 .static_shared = contract->static_shared,
                                 .grid_counts_clusters = contract->blocksareclusters,
                                 .needs_cluster = contract->explicitcluster || contract->uses_clusters,
                                 .needs_dynamic_shared = needs_dynamic_shared(function->entry)};
    cj__sized_write(info, &found, sizeof found);
    return CJ_OK;
}
