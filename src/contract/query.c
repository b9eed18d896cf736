// SPDX-License-Identifier: Apache-2.0
// The public query: reports every broken rule of a text and a shape.
#include <string.h>

#include "check.h"
#include "contract.h"
#include "error.h"
#include "parse.h"

static const cj_ir_func *entry_after(const cj_ir_module *module, const cj_ir_func *before) {
    bool passed = !before;
    for (size_t i = 0; i < module->item_count; i++) {
        if (module->item[i].kind != CJ_ITEM_FUNC || !module->item[i].func->is_entry) continue;
        if (passed) return module->item[i].func;
        passed = module->item[i].func == before;
    }
    return NULL;
}

static cj_status find_entry(const cj_ir_module *module, const char *name, const cj_ir_func **entry, cj_error *error) {
    const cj_ir_func *first = entry_after(module, NULL), *second = first ? entry_after(module, first) : NULL;
    *entry = name ? cj__ir_func(module, name) : first;
    if (!first) return cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX has no entry");
    if (name && (!*entry || !(*entry)->is_entry)) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX has no entry '%.64s'", name);
        cj__hint(error, "it has %s%s%s%s", first->name, second ? ", " : "", second ? second->name : "",
                 second && entry_after(module, second) ? ", …" : "");
        return CJ_INVALID_ARGUMENT;
    }
    if (!name && second) {
        cj__fail(error, CJ_INVALID_ARGUMENT, "the PTX has several entries");
        cj__hint(error, "name one: %s, %s%s", first->name, second->name, entry_after(module, second) ? ", …" : "");
        return CJ_INVALID_ARGUMENT;
    }
    return CJ_OK;
}

// Findings of the checker that the launch rules judge themselves, with the launch and the GPU known.
static bool is_judged_here(const cj_diagnostic *finding) {
    static const char *const shapes[] = {"block-shape", "cluster-shape", "cluster-rank"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!strcmp(finding->rule, shapes[i])) return true;
    }
    for (size_t i = 0; i < cj_contract_rule_count(); i++) {
        if (!strcmp(finding->rule, cj_contract_rule_at(i).id)) return true;
    }
    return false;
}

// A text that ptxas refuses cannot be launched.
static cj_status check_text(const cj_ir_module *module, cj_error *error) {
    cj_report report = {0};
    size_t    kept = 0;
    cj__check_forms(module, &report);
    for (size_t i = 0; i < report.count; i++) {
        if (!is_judged_here(&report.item[i])) report.item[kept++] = report.item[i];
    }
    report.count = kept;
    cj_status status = cj__report_status(&report, error);
    cj__arena_free(&report.arena);
    return status;
}

cj_status cj__contract_read(const cj_contract_query *query, cj_contract *contract, cj_error *error) {
    cj_ir_module     *module = NULL;
    const cj_ir_func *entry = NULL;
    cj_status         status = cj__ir_parse(query->ptx, query->length, &module, error);
    if (!status) status = check_text(module, error);
    if (!status) status = find_entry(module, query->entry, &entry, error);
    if (!status) cj__contract_of(entry, contract);
    cj__ir_free(module);
    return status;
}

cj_status cj_contract_shape(const cj_contract_query *query, cj_launch_shape *shape, cj_error *error) {
    if (!query || !shape) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s is NULL", query ? "shape" : "query");
    cj_contract contract = {.entry = "the kernel"};
    cj_status   status = query->ptx ? cj__contract_read(query, &contract, error) : CJ_OK;
    if (status) return status;
    *shape = query->shape;
    shape->cluster = cj__contract_cluster(&contract, query->shape.cluster);
    shape->block = cj__contract_block(&contract, query->shape.block);
    shape->grid = cj__contract_grid(&contract, query->shape.grid, shape->cluster);
    return CJ_OK;
}

static void visit_all(uint64_t broken, const cj_contract *contract, const cj_contract_query *query,
                      void (*visit)(void *user, const cj_violation *violation), void *user) {
    for (unsigned i = 0; i < cj_contract_rule_count(); i++) {
        if (!(broken >> i & 1)) continue;
        cj_error     words;
        cj_violation violation = {.severity = cj__contract_explain(i, contract, &query->shape, query->limits, &words),
                                  .rule = words.rule,
                                  .message = words.message,
                                  .hint = words.hint};
        visit(user, &violation);
    }
}

cj_status cj_contract_check(const cj_contract_query *query, void (*visit)(void *user, const cj_violation *violation),
                            void *user, cj_error *error) {
    if (!query || !query->limits) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s is NULL", query ? "limits" : "query");
    cj_contract contract = {.entry = "the kernel"};
    cj_status   status = query->ptx ? cj__contract_read(query, &contract, error) : CJ_OK;
    if (status) return status;
    contract.registers = query->registers;
    if (visit) {
        visit_all(cj__contract_broken(&contract, &query->shape, query->limits), &contract, query, visit, user);
    }
    return cj__contract_check(&contract, &query->shape, query->limits, error);
}
