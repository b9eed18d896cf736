// SPDX-License-Identifier: Apache-2.0
// The public query: reports every broken rule of a text and a shape.
#include <string.h>

#include "check.h"
#include "contract.h"
#include "entry_name.h"
#include "error.h"
#include "parse.h"
#include "sized.h"

// Findings of the checker that the table judges itself, and by what the launch and the GPU are.
static bool is_judged_here(const cj_diagnostic *finding) {
    static const char *const shapes[] = {"block-shape", "cluster-shape", "cluster-rank"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!strcmp(finding->rule, shapes[i])) return true;
    }
    for (size_t i = 0; i < cj_contract_rule_count(); i++) {
        if (!strcmp(finding->rule, cj_contract_rule_at(i)->id)) return true;
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
    if (!status && query->entry) status = cj__ir_entry_named(module, query->entry, &entry, error);
    if (!status && !query->entry) status = cj__ir_entry_only(module, &entry, error);
    if (!status) cj__contract_of(entry, contract);
    cj__ir_free(module);
    return status;
}

cj_status cj_contract_shape(const cj_contract_query *query, cj_launch_shape *shape, cj_error *error) {
    if (!query || !shape) return cj__fail(error, CJ_INVALID_ARGUMENT, "%s is NULL", query ? "shape" : "query");
    const size_t size = query->struct_size, at = offsetof(cj_contract_query, shape);
    const size_t room = size > at ? size - at : 0;  // of the caller's cj_launch_shape
    SIZED(cj_contract_query, query);
    cj_contract contract = {.entry = "the kernel"};
    cj_status   status = query->ptx ? cj__contract_read(query, &contract, error) : CJ_OK;
    if (status) return status;
    cj_launch_shape found = query->shape;
    found.cluster = cj__contract_cluster(&contract, query->shape.cluster);
    found.block = cj__contract_block(&contract, query->shape.block);
    found.grid = cj__contract_grid(&contract, query->shape.grid, found.cluster);
    memcpy(shape, &found, room < sizeof found ? room : sizeof found);
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
    SIZED(cj_contract_query, query);
    REQUIRE_KNOWN(cj_limits, query->limits);
    cj_contract contract = {.entry = "the kernel"};
    cj_status   status = query->ptx ? cj__contract_read(query, &contract, error) : CJ_OK;
    if (status) return status;
    contract.registers = query->registers;
    if (visit) {
        visit_all(cj__contract_broken(&contract, &query->shape, query->limits), &contract, query, visit, user);
    }
    return cj__contract_check(&contract, &query->shape, query->limits, error);
}
