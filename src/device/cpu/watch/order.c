// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "allocate.h"

static const struct {
    cj_word  word;
    cj_scope scope;
} scopes[] = {{CJ_W_CTA, CJ_SCOPE_CTA},
              {CJ_W_CLUSTER, CJ_SCOPE_CLUSTER},
              {CJ_W_GPU, CJ_SCOPE_GPU},
              {CJ_W_GL, CJ_SCOPE_GPU},
              {CJ_W_SYS, CJ_SCOPE_SYS}};

cj_scope cj__watch_scope(const cj_mnemonic *mnemonic, cj_scope otherwise) {
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
        if (cj__mnemonic_has(mnemonic, scopes[i].word)) return scopes[i].scope;
    }
    return otherwise;
}

// Loads and stores are strong if their mnemonic says so; atomics always are. Volatile is relaxed at system scope.
static cj_watch_order order_of(const cj_cpu_op *op) {
    if (!op->inst || !(op->inst->row->effects & (CJ_READS | CJ_WRITES))) return (cj_watch_order){0};
    const cj_mnemonic *m = op->inst->mnemonic;
    const bool         reads = op->inst->row->effects & CJ_READS, writes = op->inst->row->effects & CJ_WRITES;
    const bool         both = cj__mnemonic_has(m, CJ_W_ACQ_REL);
    const cj_scope     least = cj__mnemonic_has(m, CJ_W_VOLATILE) ? CJ_SCOPE_SYS
                               : reads && writes                  ? CJ_SCOPE_GPU
                                                                  : CJ_SCOPE_WEAK;
    return (cj_watch_order){.use = {.flags = (uint8_t)((reads ? CJ_USE_READ : 0) | (writes ? CJ_USE_WRITE : 0)),
                                    .scope = (uint8_t)cj__watch_scope(m, least)},
                            .acquire = both || cj__mnemonic_has(m, CJ_W_ACQUIRE),
                            .release = both || cj__mnemonic_has(m, CJ_W_RELEASE)};
}

// ---- compare-and-swap loops

// Whether moves alone carry a load's result to the register that a compare-and-swap expects.
static bool reaches(const cj_cpu_program *program, uint32_t from, uint32_t to) {
    enum { MOVES = 8 };
    uint32_t known[MOVES] = {from}, count = 1;
    for (uint32_t next = 0; next < count; next++) {
        if (known[next] == to) return true;
        for (size_t i = 0; i < program->op_count && count < MOVES; i++) {
            const cj_cpu_op *op = &program->op[i];
            if (!op->inst || strncmp(op->inst->mnemonic->text, "mov.", 4) || op->slot[1] != known[next]) continue;
            uint32_t k = 0;
            while (k < count && known[k] != op->slot[0]) k++;
            if (k == count) known[count++] = op->slot[0];
        }
    }
    return false;
}

// Whether a load's value is what a compare-and-swap of the same memory operand expects.
static bool guesses(const cj_cpu_program *program, const cj_cpu_op *load, const cj_cpu_op *swap) {
    if (load->count != 1 || load->bytes != swap->bytes) return false;
    if (load->base != swap->base || load->offset != swap->offset) return false;
    return reaches(program, load->slot[0], swap->slot[1]);
}

// Marks the weak loads with which compare-and-swap loops begin: those of the swap's memory operand.
static void find_guesses(const cj_cpu_program *program, cj_watch_order *order) {
    for (size_t i = 0; i < program->op_count; i++) {
        const cj_cpu_op *swap = &program->op[i];
        if (!(order[i].use.flags & CJ_USE_WRITE) || !cj__mnemonic_has(swap->inst->mnemonic, CJ_W_CAS)) continue;
        for (size_t k = 0; k < program->op_count; k++) {
            const bool is_load = order[k].use.flags == CJ_USE_READ && !order[k].use.scope;
            order[k].is_guess |= is_load && guesses(program, &program->op[k], swap);
        }
    }
}

cj_watch_order *cj__watch_orders(const cj_cpu_program *program) {
    cj_watch_order *order = cj__calloc(program->op_count + 1, sizeof *order);
    if (!order) return NULL;
    for (size_t i = 0; i < program->op_count; i++) order[i] = order_of(&program->op[i]);
    find_guesses(program, order);
    return order;
}
