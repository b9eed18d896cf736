// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "checks.h"

static const cj_target_info targets[] = {
#define CJ_PTX_TARGET(text, number, suffix, ptx) {text, number, suffix, ptx},
#include "targets.def"
#undef CJ_PTX_TARGET
};

enum { TARGET_COUNT = sizeof targets / sizeof *targets };

const cj_target_info *cj__target_find(const char *text) {
    for (size_t i = 0; i < TARGET_COUNT; i++)
        if (!strcmp(targets[i].text, text)) return &targets[i];
    return NULL;
}

// Least .version and target of a directive (PTX ISA 11.4).
static const struct {
    uint16_t ptx, target;
} directive_needs[CJ_DIR_COUNT] = {
    [CJ_DIR_MAXNTID] = {13, 0},           [CJ_DIR_REQNTID] = {21, 0},        [CJ_DIR_MINNCTAPERSM] = {20, 0},
    [CJ_DIR_MAXNREG] = {13, 0},           [CJ_DIR_BLOCKSARECLUSTERS] = {90, 90}, [CJ_DIR_EXPLICITCLUSTER] = {78, 90},
    [CJ_DIR_REQNCTAPERCLUSTER] = {78, 90}, [CJ_DIR_MAXCLUSTERRANK] = {78, 90}, [CJ_DIR_NORETURN] = {64, 30},
    [CJ_DIR_ABI_PRESERVE] = {90, 80},     [CJ_DIR_ABI_PRESERVE_CONTROL] = {90, 80},
};

typedef struct needs {
    uint16_t ptx, target;
} needs;

static void raise(needs *n, uint16_t ptx, uint16_t target) {
    if (ptx > n->ptx) n->ptx = ptx;
    if (target > n->target) n->target = target;
}

static void operand_needs(needs *n, const cj_ir_operand *operand) {
    if (operand->kind == CJ_OPERAND_SPECIAL)
        raise(n, cj__specials[operand->special].ptx, cj__specials[operand->special].target);
    if (operand->kind == CJ_OPERAND_REG)
        raise(n, cj__words[operand->reg->type].ptx, cj__words[operand->reg->type].target);
    for (unsigned i = 0; i < operand->count; i++) operand_needs(n, &operand->list[i]);
}

static needs inst_needs(const cj_ir_inst *inst, unsigned target) {
    needs n = {inst->shape->ptx, inst->shape->target};
    if (inst->row->effects & CJ_LATE_89 && target < 90) raise(&n, 81, 0);
    for (unsigned i = 0; i < inst->operand_count; i++) operand_needs(&n, &inst->operand[i]);
    return n;
}

uint16_t cj__least_version(const cj_ir_module *module) {
    const cj_target_info *target = cj__target_find(module->target);
    needs most = {target ? target->ptx : 10, 0};
    for (size_t i = 0; i < module->item_count; i++) {
        if (module->item[i].kind != CJ_ITEM_FUNC) continue;
        const cj_ir_func *func = module->item[i].func;
        for (int d = 0; d < CJ_DIR_COUNT; d++)
            if (func->directive[d].given) raise(&most, directive_needs[d].ptx, 0);
        for (size_t s = 0; s < func->stmt_count; s++) {
            const cj_ir_stmt *stmt = &func->stmt[s];
            if (stmt->kind == CJ_STMT_INST) raise(&most, inst_needs(stmt->inst, module->target_sm).ptx, 0);
        }
    }
    return most.ptx;
}

// ---- findings

// Where the target comes from, before its name.
static const char *target_source(const cj_ir_module *module) {
    return module->retargeted ? "it is held against" : "the file says";
}

static void check_needs(const cj_ir_module *module, needs n, const char *what, uint32_t line, uint32_t column,
                        cj_report *report) {
    if (n.target > module->target_sm && *module->target) {
        cj__report_add(report, "target-least", line, column, "'%s' needs .target sm_%u or later, %s %s", what,
                       n.target, target_source(module), module->target);
        cj__report_hint(report, "generate for sm_%u, or use a form that %s has", n.target, module->target);
    } else if (n.ptx > module->version && module->version) {
        cj__report_add(report, "version-least", line, column, "'%s' needs .version %u.%u or later, the file says %u.%u",
                       what, n.ptx / 10u, n.ptx % 10u, module->version / 10u, module->version % 10u);
        cj__report_hint(report, "write .version %u.%u", n.ptx / 10u, n.ptx % 10u);
    }
}

static const struct {
    const char *target;
    uint32_t    bit;
} specific[] = {
    {"sm_90a", CJ_ON_90A},   {"sm_100a", CJ_ON_100A}, {"sm_100f", CJ_ON_100F}, {"sm_103a", CJ_ON_103A},
    {"sm_103f", CJ_ON_103F}, {"sm_110a", CJ_ON_110A}, {"sm_110f", CJ_ON_110F}, {"sm_120a", CJ_ON_120A},
    {"sm_120f", CJ_ON_120F}, {"sm_121a", CJ_ON_121A}, {"sm_121f", CJ_ON_121F},
};

enum { SPECIFIC_COUNT = sizeof specific / sizeof *specific };

// Whether a target that has a suffix has the instruction; of those that the table does not know nothing is certain.
static bool target_has(const char *target, uint32_t effects) {
    uint32_t known = 0, bit = 0;
    for (size_t i = 0; i < SPECIFIC_COUNT; i++) {
        known |= specific[i].bit;
        if (!strcmp(specific[i].target, target)) bit = specific[i].bit;
    }
    return !bit || !(effects & known) || effects & bit;
}

// An instruction of few architectures needs a target that says so. An earlier target has been refused already.
static void check_arch(const cj_ir_module *module, const cj_ir_stmt *stmt, unsigned target, cj_report *report) {
    const cj_ir_inst *inst = stmt->inst;
    uint32_t          effects = inst->row->effects;
    if (!(effects & CJ_ARCH) || module->target_sm < target || !*module->target) return;
    if (module->target_suffix && target_has(module->target, effects)) return;
    cj__report_add(report, "target-arch", stmt->line, stmt->column,
                   "'%s' needs an architecture-specific target that has it, %s %s", inst->mnemonic->text,
                   target_source(module), module->target);
    char   names[128] = "";
    size_t length = 0;
    for (size_t i = 0; i < SPECIFIC_COUNT; i++)
        if (effects & specific[i].bit)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", length ? ", " : "",
                                       specific[i].target);
    if (length) cj__report_hint(report, "these have it: %s", names);
    else cj__report_hint(report, "generate for sm_%ua; such code runs on that architecture alone", module->target_sm);
}

static void check_inst(const cj_ir_module *module, const cj_ir_stmt *stmt, cj_report *report) {
    needs n = inst_needs(stmt->inst, module->target_sm);
    check_needs(module, n, stmt->inst->mnemonic->text, stmt->line, stmt->column, report);
    check_arch(module, stmt, n.target, report);
    cj__check_types(stmt, report);
}

void cj__check_func_forms(const cj_ir_module *module, const cj_ir_func *func, cj_report *report) {
    for (int d = 0; d < CJ_DIR_COUNT; d++) {
        const cj_ir_directive *directive = &func->directive[d];
        needs n = {directive_needs[d].ptx, directive_needs[d].target};
        if (directive->given)
            check_needs(module, n, cj__directive_word((cj_directive)d), directive->line, directive->column, report);
    }
    cj__check_directives(func, report);
    for (size_t i = 0; i < func->stmt_count; i++)
        if (func->stmt[i].kind == CJ_STMT_INST) check_inst(module, &func->stmt[i], report);
}

void cj__check_head(const cj_ir_module *module, cj_report *report) {
    const cj_target_info *target = cj__target_find(module->target);
    if (target && target->number == module->target_sm)  // else a later one, for which the driver compiles the file
        check_needs(module, (needs){target->ptx, 0}, module->target, 1, 1, report);
}

void cj__check_forms(const cj_ir_module *module, cj_report *report) {
    cj__check_head(module, report);
    for (size_t i = 0; i < module->item_count; i++)
        if (module->item[i].kind == CJ_ITEM_FUNC) cj__check_func_forms(module, module->item[i].func, report);
}

cj_status cj__check(const cj_ir_module *module, cj_error *error) {
    cj_report report = {0};
    cj__check_forms(module, &report);
    cj_status status = cj__report_status(&report, error);
    cj__arena_free(&report.arena);
    return status;
}
