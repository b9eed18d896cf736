// SPDX-License-Identifier: Apache-2.0
// Reads an entry's contract from its IR.
#include <stdio.h>
#include <string.h>

#include "contract.h"

static cj_dim3 extent(const cj_ir_directive *directive) {
    if (!directive->given) return (cj_dim3){0, 0, 0};
    const uint32_t *value = directive->value;
    return (cj_dim3){value[0], directive->count > 1 ? value[1] : 1, directive->count > 2 ? value[2] : 1};
}

static uint32_t number(const cj_ir_directive *directive) { return directive->given ? directive->value[0] : 0; }

static bool operand_names(const cj_ir_operand *operand, const cj_ir_var *var) {
    if (operand->kind == CJ_OPERAND_VAR) return operand->var == var;
    if (operand->kind == CJ_OPERAND_MEMORY && operand_names(operand->base, var)) return true;
    if (operand->kind != CJ_OPERAND_MEMORY && operand->kind != CJ_OPERAND_VECTOR) return false;
    for (size_t i = 0; i < operand->count; i++) {
        if (operand_names(&operand->list[i], var)) return true;
    }
    return false;
}

static bool func_names(const cj_ir_func *func, const cj_ir_var *var) {
    for (size_t i = 0; i < func->stmt_count; i++) {
        if (func->stmt[i].kind != CJ_STMT_INST) continue;
        const cj_ir_inst *inst = func->stmt[i].inst;
        for (size_t j = 0; j < inst->operand_count; j++) {
            if (operand_names(&inst->operand[j], var)) return true;
        }
    }
    return false;
}

static uint64_t place(uint64_t bytes, const cj_ir_var *var) {
    if (var->space != CJ_SPACE_SHARED || var->unsized) return bytes;
    uint64_t align = var->align ? var->align : 1;
    return (bytes + align - 1) / align * align + var->bytes;
}

// A module's shared variable takes room in an entry that names it, and in every entry if a .func names it; ptxas drops
// it elsewhere.
static bool takes_room(const cj_ir_func *entry, const cj_ir_var *var) {
    const cj_ir_module *module = entry->module;
    if (func_names(entry, var)) return true;
    for (size_t i = 0; i < module->item_count; i++) {
        const cj_ir_item *item = &module->item[i];
        if (item->kind == CJ_ITEM_FUNC && !item->func->is_entry && func_names(item->func, var)) return true;
    }
    return false;
}

static uint64_t shared_bytes(const cj_ir_func *entry) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < entry->var_count; i++) bytes = place(bytes, entry->var[i]);
    for (size_t i = 0; i < entry->module->item_count; i++) {
        const cj_ir_item *item = &entry->module->item[i];
        if (item->kind == CJ_ITEM_VAR && item->var->space == CJ_SPACE_SHARED && takes_room(entry, item->var)) {
            bytes = place(bytes, item->var);
        }
    }
    return bytes;
}

static bool reads_special(const cj_ir_inst *inst, bool (*is)(cj_special special)) {
    for (size_t i = 0; i < inst->operand_count; i++) {
        const cj_ir_operand *operand = &inst->operand[i];
        if (operand->kind == CJ_OPERAND_SPECIAL && is((cj_special)operand->special)) return true;
    }
    return false;
}

static bool is_of_clusters(cj_special special) { return strstr(cj__specials[special].text, "cluster"); }

static bool is_position(cj_special special) { return special == CJ_S_CLUSTERID || special == CJ_S_CLUSTER_CTAID; }

static bool inst_uses_clusters(const cj_ir_inst *inst) {
    return inst->row->effects & CJ_CLUSTER || reads_special(inst, is_of_clusters);
}

static bool inst_reads_position(const cj_ir_inst *inst) { return reads_special(inst, is_position); }

static bool inst_uses_warpgroups(const cj_ir_inst *inst) {
    const char *opcode = cj__row_opcode(inst->row);
    return !strcmp(opcode, "wgmma") || !strcmp(opcode, "setmaxnreg");
}

static bool any_inst(const cj_ir_func *entry, bool (*is)(const cj_ir_inst *inst)) {
    for (size_t i = 0; i < entry->stmt_count; i++) {
        if (entry->stmt[i].kind == CJ_STMT_INST && is(entry->stmt[i].inst)) return true;
    }
    return false;
}

// ptxas refuses a zero in these directives and accepts it in others.
static const char *zero_directive(const cj_ir_func *entry) {
    static const cj_directive positive[] = {CJ_DIR_MAXNTID, CJ_DIR_REQNTID, CJ_DIR_MINNCTAPERSM, CJ_DIR_MAXNREG};
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++) {
        const cj_ir_directive *directive = &entry->directive[positive[i]];
        for (unsigned j = 0; directive->given && j < directive->count; j++) {
            if (!directive->value[j]) return cj__directive_word(positive[i]);
        }
    }
    return NULL;
}

void cj__contract_of(const cj_ir_func *entry, cj_contract *contract) {
    const cj_ir_directive *directive = entry->directive;
    const uint64_t         shared = shared_bytes(entry);
    *contract = (cj_contract){
        .reqntid = extent(&directive[CJ_DIR_REQNTID]),
        .maxntid = extent(&directive[CJ_DIR_MAXNTID]),
        .reqnctapercluster = extent(&directive[CJ_DIR_REQNCTAPERCLUSTER]),
        .explicitcluster = directive[CJ_DIR_EXPLICITCLUSTER].given,
        .blocksareclusters = directive[CJ_DIR_BLOCKSARECLUSTERS].given,
        .maxclusterrank = number(&directive[CJ_DIR_MAXCLUSTERRANK]),
        .maxnreg = number(&directive[CJ_DIR_MAXNREG]),
        .minnctapersm = number(&directive[CJ_DIR_MINNCTAPERSM]),
        .static_shared = shared > UINT32_MAX ? UINT32_MAX : (uint32_t)shared,
        .cluster_conflict = directive[CJ_DIR_REQNCTAPERCLUSTER].given && directive[CJ_DIR_MAXCLUSTERRANK].given,
        .zero = zero_directive(entry),
        .uses_clusters = any_inst(entry, inst_uses_clusters),
        .reads_position = any_inst(entry, inst_reads_position),
        .uses_warpgroups = any_inst(entry, inst_uses_warpgroups),
        .ptx_version = entry->module->version,
        .target_sm = entry->module->target_sm,
        .target_suffix = entry->module->target_suffix,
    };
    const cj_dim3 cluster = contract->reqnctapercluster;
    contract->empty_cluster = directive[CJ_DIR_REQNCTAPERCLUSTER].given && !(cluster.x && cluster.y && cluster.z);
    if (contract->empty_cluster) contract->reqnctapercluster = (cj_dim3){0, 0, 0};
    snprintf(contract->entry, sizeof contract->entry, "%s", entry->name);
}
