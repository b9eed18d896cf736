// SPDX-License-Identifier: Apache-2.0
// Where addresses point, as far as it is known: the state space, the window, the variable and the offset in it.
#include <string.h>

#include "check.h"
#include "checks.h"

enum { CLUSTER_MAX = 16 };

typedef struct access {
    const cj_values     *values;
    const cj_ir_stmt    *stmt;
    const cj_ir_operand *operand;
    cj_value             address;
    cj_report           *report;
} access;

static const char *space_name(unsigned space) {
    static const char *const names[] = {
        [CJ_SPACE_GENERIC] = "generic", [CJ_SPACE_REG] = "reg",       [CJ_SPACE_PARAM] = "param",
        [CJ_SPACE_SHARED] = "shared",   [CJ_SPACE_GLOBAL] = "global", [CJ_SPACE_CONST] = "const",
        [CJ_SPACE_LOCAL] = "local",
    };
    return names[space];
}

#define ADD(a, rule, ...) cj__report_add((a)->report, (rule), (a)->stmt->line, (a)->operand->column, __VA_ARGS__)

static const char *name_of(const cj_value *address) { return address->var ? address->var->name : "this address"; }

// ---- spaces and windows

// A parameter has no generic address by its name.
static bool check_generic_param(const access *a) {
    if (cj__mnemonic_has(a->stmt->inst->mnemonic, CJ_W_PROXY)) return true;
    ADD(a, "address-space", "'%s' takes a generic address, but %s is a parameter", a->stmt->inst->mnemonic->text,
        name_of(&a->address));
    cj__report_hint(a->report, "write .param into the instruction");
    return false;
}

static bool check_space(const access *a, cj_space space) {
    const char *mnemonic = a->stmt->inst->mnemonic->text;
    unsigned    points = a->address.space;
    bool        by_name = a->operand->kind == CJ_OPERAND_MEMORY && a->operand->base->kind == CJ_OPERAND_VAR;
    if (space == CJ_SPACE_GENERIC && by_name && points == CJ_SPACE_PARAM) return check_generic_param(a);
    if (space == CJ_SPACE_GENERIC) {  // a global address is its own generic address; ptxas converts a plain name
        if (a->address.generic || by_name || points == CJ_SPACE_GLOBAL || points == CJ_SPACE_GENERIC) return true;
        ADD(a, "address-generic", "'%s' takes a generic address, but %s is a .%s address", mnemonic,
            name_of(&a->address), space_name(points));
        cj__report_hint(a->report, "write the space into the instruction, or convert the address with cvta.%s",
                        space_name(points));
        return false;
    }
    if (points != (unsigned)space && points != CJ_SPACE_GENERIC) {
        ADD(a, "address-space", "'%s' accesses .%s, but %s lies in .%s", mnemonic, space_name(space),
            name_of(&a->address), space_name(points));
        return false;
    }
    if (!a->address.generic) return true;
    ADD(a, "address-generic", "'%s' takes a .%s address, but this one is generic", mnemonic, space_name(space));
    cj__report_hint(a->report, "leave .%s out, or convert the address with cvta.to.%s", space_name(space),
                    space_name(space));
    return false;
}

static void check_window(const access *a) {
    const cj_mnemonic *mnemonic = a->stmt->inst->mnemonic;
    bool               plain = cj__mnemonic_has(mnemonic, CJ_W_SHARED) || cj__mnemonic_has(mnemonic, CJ_W_SHARED_CTA);
    if (!plain || !a->address.peer || cj__mnemonic_has(mnemonic, CJ_W_SHARED_CLUSTER)) return;
    ADD(a, "address-peer", "'%s' reaches this block's own shared memory only, but the address comes from mapa",
        mnemonic->text);
    cj__report_hint(a->report, "use .shared::cluster");
}

// ---- atomics on peers

bool cj__atom_is_split(const cj_mnemonic *m) {
    static const cj_word words[] = {CJ_W_MIN, CJ_W_MAX, CJ_W_AND, CJ_W_OR, CJ_W_XOR};
    if (cj__words[m->type_last].class == CJ_CLASS_PACKED) return m->vector == 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (cj__mnemonic_has(m, words[i])) return cj__words[m->type_last].bits == 64;
    return false;
}

static void check_atomic(const access *a) {
    const cj_mnemonic *mnemonic = a->stmt->inst->mnemonic;
    if (!cj__atom_is_split(mnemonic)) return;
    if (!a->address.peer && !cj__mnemonic_has(mnemonic, CJ_W_SHARED_CLUSTER)) return;
    ADD(a, "cluster-atomic", "'%s' on a peer's shared memory is not atomic: ptxas makes a load and a store of it%s",
        mnemonic->text, cj__words[mnemonic->type_last].bits == 32 ? ", and a sum of integers" : "");
    cj__report_hint(a->report, "use 32 bits or single halves, loop with atom.cas, or let the peer do it");
}

// ---- alignment and bounds

static void check_place(const access *a) {
    const cj_mnemonic *mnemonic = a->stmt->inst->mnemonic;
    const cj_ir_var   *var = a->address.var;
    uint64_t           bytes = cj__words[mnemonic->type_last].bits / 8u * mnemonic->vector;
    int64_t            offset = a->address.number;
    if (!var || !bytes || var->space == CJ_SPACE_PARAM) return;
    if (a->address.placed && bytes <= var->align && offset % (int64_t)bytes) {
        ADD(a, "access-align", "'%s' accesses %llu bytes at offset %lld of '%s', which is not aligned to them",
            mnemonic->text, (unsigned long long)bytes, (long long)offset, var->name);
    } else if (bytes > var->align) {
        ADD(a, "access-align-declared", "'%s' accesses %llu bytes, but '%s' is aligned to %u", mnemonic->text,
            (unsigned long long)bytes, var->name, var->align);
        cj__report_hint(a->report, "declare it with .align %llu", (unsigned long long)bytes);
    }
    if (!a->address.placed || var->unsized || !var->bytes) return;
    if (offset >= 0 && (uint64_t)offset + bytes <= var->bytes) return;
    ADD(a, "access-bounds", "'%s' accesses bytes %lld to %lld of '%s', which has %llu", mnemonic->text,
        (long long)offset, (long long)(offset + (int64_t)bytes - 1), var->name, (unsigned long long)var->bytes);
}

// ---- instructions that name a space for each of their addresses

// The state space of a word, GENERIC for any other.
static cj_space space_of(unsigned word) {
    switch (word) {
    case CJ_W_SHARED:
    case CJ_W_SHARED_CTA:
    case CJ_W_SHARED_CLUSTER: return CJ_SPACE_SHARED;
    case CJ_W_GLOBAL: return CJ_SPACE_GLOBAL;
    case CJ_W_CONST: return CJ_SPACE_CONST;
    case CJ_W_LOCAL: return CJ_SPACE_LOCAL;
    case CJ_W_PARAM: return CJ_SPACE_PARAM;
    default: return CJ_SPACE_GENERIC;
    }
}

// The next space that the mnemonic names from word *at on. After the last one an asynchronous copy has its mbarrier.
static cj_space next_space(const cj_mnemonic *m, unsigned *at) {
    while (*at < m->word_count) {
        const cj_space space = space_of(m->word[(*at)++]);
        if (space != CJ_SPACE_GENERIC) return space;
    }
    return cj__mnemonic_has(m, CJ_W_MBARRIER_COMPLETE_TX_BYTES) ? CJ_SPACE_SHARED : CJ_SPACE_GENERIC;
}

// A generic address is left alone: the map of a tensor may be a parameter.
static void check_named_space(access *a, cj_space space) {
    const bool by_name = a->operand->base->kind == CJ_OPERAND_VAR;
    a->address = cj__values_read(a->values, a->operand);
    if (space == CJ_SPACE_GENERIC && by_name && a->address.space == CJ_SPACE_PARAM) check_generic_param(a);
    if (a->address.kind != CJ_VALUE_ADDRESS || a->address.generic || space == CJ_SPACE_GENERIC) return;
    if (a->address.space == CJ_SPACE_GENERIC || a->address.space == (unsigned)space) return;
    ADD(a, "address-space", "'%s' accesses .%s, but %s lies in .%s", a->stmt->inst->mnemonic->text, space_name(space),
        name_of(&a->address), space_name(a->address.space));
}

static void check_named_spaces(access *a) {
    const cj_ir_inst *inst = a->stmt->inst;
    unsigned          word = 0;
    for (unsigned i = 0; i < inst->operand_count; i++) {
        a->operand = &inst->operand[i];
        if (a->operand->kind == CJ_OPERAND_MEMORY) check_named_space(a, next_space(inst->mnemonic, &word));
    }
}

// ---- instructions

// One state space for all of an instruction's addresses, and an access of its type's size.
static bool is_plain(cj_op op) { return op == CJ_OP_LD || op == CJ_OP_ST || op == CJ_OP_ATOM || op == CJ_OP_RED; }

// An mbarrier that a generic address reaches lies in shared memory; ptxas sees where a name does.
static cj_space mbarrier_space(const access *a) {
    const bool elsewhere = a->address.space != CJ_SPACE_SHARED && a->address.space != CJ_SPACE_GENERIC;
    return elsewhere ? CJ_SPACE_SHARED : CJ_SPACE_GENERIC;
}

static void check_memory(access *a, cj_op op) {
    a->address = cj__values_read(a->values, a->operand);
    if (op == CJ_OP_ATOM || op == CJ_OP_RED) check_atomic(a);
    if (a->address.kind != CJ_VALUE_ADDRESS) return;
    const cj_space space = cj__space_named(a->stmt->inst->mnemonic);
    if (!check_space(a, op == CJ_OP_MBARRIER && space == CJ_SPACE_GENERIC ? mbarrier_space(a) : space)) return;
    check_window(a);
    if (is_plain(op)) check_place(a);
}

// cvta takes an address of its space, cvta.to a generic one.
static void check_conversion(access *a) {
    const cj_mnemonic *mnemonic = a->stmt->inst->mnemonic;
    cj_space           space = cj__space_named(mnemonic);
    bool               to = cj__mnemonic_has(mnemonic, CJ_W_TO);
    a->address = cj__values_read(a->values, a->operand);
    if (a->address.kind != CJ_VALUE_ADDRESS || a->address.space == CJ_SPACE_GENERIC) return;
    if (a->address.space != space) {
        ADD(a, "address-space", "'%s' converts addresses of .%s, but %s lies in .%s", mnemonic->text, space_name(space),
            name_of(&a->address), space_name(a->address.space));
    } else if (a->address.generic != to && space != CJ_SPACE_GLOBAL) {
        ADD(a, "address-generic", "'%s' converts a %s address, but this one is %s", mnemonic->text,
            to ? "generic" : space_name(space), to ? "none" : "generic already");
    }
}

// Blocks in the kernel's cluster, as far as it is stated, else the most that any may have.
static uint64_t cluster_blocks(const cj_ir_func *func) {
    const cj_ir_directive *shape = &func->directive[CJ_DIR_REQNCTAPERCLUSTER],
                          *most = &func->directive[CJ_DIR_MAXCLUSTERRANK];
    if (shape->given) return (uint64_t)shape->value[0] * shape->value[1] * shape->value[2];
    return most->given && most->value[0] < CLUSTER_MAX ? most->value[0] : CLUSTER_MAX;
}

static void check_mapping(access *a) {
    const cj_ir_inst *inst = a->stmt->inst;
    bool              window = cj__mnemonic_has(inst->mnemonic, CJ_W_SHARED_CLUSTER);
    a->operand = &inst->operand[1];
    a->address = cj__values_read(a->values, a->operand);
    if (a->address.kind == CJ_VALUE_ADDRESS) check_space(a, window ? CJ_SPACE_SHARED : CJ_SPACE_GENERIC);
    a->operand = &inst->operand[2];
    cj_value rank = cj__values_read(a->values, a->operand);
    uint64_t blocks = cluster_blocks(a->values->graph->func);
    if (rank.kind != CJ_VALUE_CONSTANT || (uint64_t)rank.number < blocks) return;
    ADD(a, "cluster-rank", "rank %lld is outside the cluster, which has ranks 0 to %llu%s", (long long)rank.number,
        (unsigned long long)(blocks - 1), blocks == CLUSTER_MAX ? " at most" : "");
}

void cj__check_addresses(const cj_values *values, const cj_ir_stmt *stmt, cj_report *report) {
    const cj_ir_inst *inst = stmt->inst;
    access            a = {.values = values, .stmt = stmt, .report = report};
    cj_op             op = cj__values_op(values, inst);
    if (op == CJ_OP_MAPA && inst->operand_count == 3) {
        check_mapping(&a);
    } else if (op == CJ_OP_CVTA && inst->operand_count == 2) {
        a.operand = &inst->operand[1];
        check_conversion(&a);
    } else if (!(inst->row->effects & CJ_ASYNC) && (is_plain(op) || op == CJ_OP_MBARRIER || op == CJ_OP_MATRIX)) {
        for (unsigned i = 0; i < inst->operand_count; i++) {
            a.operand = &inst->operand[i];
            if (a.operand->kind == CJ_OPERAND_MEMORY) check_memory(&a, op);
        }
    } else if (inst->shape->has_memory && !inst->shape->is_media) {
        check_named_spaces(&a);
    }
}
