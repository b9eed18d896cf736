// SPDX-License-Identifier: Apache-2.0
#include "unread.h"

#include <stdlib.h>

#include "graph.h"
#include "test.h"

// Of each register: how many instructions read it, and the last of these. An instruction that writes it, too, as a counter's
// step does, is no reader.
typedef struct readers {
    unsigned          *count;
    const cj_ir_inst **last;
    const cj_ir_inst  *inst;  // that is visited
    bool               found;
} readers;

// No store, barrier or branch, nothing that orders memory or leaves a carry.
static bool only_computes(const cj_ir_inst *inst) {
    enum { EFFECTS = CJ_WRITES | CJ_ASYNC | CJ_BARRIER | CJ_BRANCH | CJ_END };
    static const cj_word ordered[] = {CJ_W_VOLATILE, CJ_W_ACQUIRE, CJ_W_CC};
    for (size_t i = 0; i < CJ_TEST_COUNT(ordered); i++)
        if (cj__mnemonic_has(inst->mnemonic, ordered[i])) return false;
    return inst->shape->written && !(inst->row->effects & EFFECTS);
}

// Visits what is read before what is written.
static void count_reader(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    readers   *r = user;
    const bool reads = r->last[reg->index] == r->inst;
    (void)operand;
    if (written && reads) r->count[reg->index]--;
    if (!written && !reads) r->count[reg->index]++;
    r->last[reg->index] = written ? NULL : r->inst;
}

static void find_reader(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    readers *r = user;
    (void)operand;
    r->found |= written && r->count[reg->index];
}

static void visit_all(readers *r, const cj_ir_func *func, cj_visit_reg *visit) {
    for (size_t i = 0; i < func->stmt_count; i++) {
        if (func->stmt[i].kind != CJ_STMT_INST) continue;
        r->inst = func->stmt[i].inst;
        cj__visit_regs(r->inst, visit, r);
    }
}

unsigned cj_test_unread(const cj_ir_func *func, bool *unread) {
    unsigned count = 0;
    readers  r = {.count = calloc(func->reg_count + 1, sizeof *r.count), .last = calloc(func->reg_count + 1, sizeof *r.last)};
    assert_true(r.count && r.last);
    visit_all(&r, func, count_reader);
    for (size_t i = 0; i < func->stmt_count; i++) {
        if (func->stmt[i].kind != CJ_STMT_INST || !only_computes(func->stmt[i].inst)) continue;
        r.found = false;
        cj__visit_regs(func->stmt[i].inst, find_reader, &r);
        unread[i] = !r.found;
        count += unread[i];
    }
    free(r.count);
    free(r.last);
    return count;
}
