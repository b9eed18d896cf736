// SPDX-License-Identifier: Apache-2.0
#include "values.h"

#include <string.h>
#include <pthread.h>

enum { ROUNDS_MAX = 8 };

// ---- instructions

static const struct {
    const char *opcode;
    cj_op       op;
} ops[] = {
    {"mov", CJ_OP_MOV},       {"cvt", CJ_OP_CVT},       {"add", CJ_OP_ADD},           {"sub", CJ_OP_SUB},
    {"mad", CJ_OP_MAD},       {"and", CJ_OP_AND},       {"not", CJ_OP_NOT},           {"selp", CJ_OP_SELP},
    {"setp", CJ_OP_SETP},     {"cvta", CJ_OP_CVTA},     {"mapa", CJ_OP_MAPA},         {"elect", CJ_OP_ELECT},
    {"ld", CJ_OP_LD},         {"st", CJ_OP_ST},         {"atom", CJ_OP_ATOM},         {"red", CJ_OP_RED},
    {"call", CJ_OP_CALL},     {"fence", CJ_OP_FENCE},   {"membar", CJ_OP_FENCE},      {"mbarrier", CJ_OP_MBARRIER},
    {"bar", CJ_OP_BARRIER},   {"barrier", CJ_OP_BARRIER}, {"ldmatrix", CJ_OP_MATRIX}, {"stmatrix", CJ_OP_MATRIX},
};

static uint8_t   op_of_row[CJ_ROW_COUNT];
static pthread_once_t ops_built = PTHREAD_ONCE_INIT;

// Whether a row of another opcode does nothing but compute in registers.
static bool is_plain(const cj_row *row) {
    const uint32_t more = CJ_READS | CJ_WRITES | CJ_ASYNC | CJ_BARRIER | CJ_CONVERGENT | CJ_CLUSTER | CJ_BRANCH |
                          CJ_END;
    return !(row->effects & more) && !strpbrk(row->operands, "mMt") && !strstr(row->syntax, ".aligned");
}

static void build_ops(void) {
    for (size_t row = 0; row < CJ_ROW_COUNT; row++) {
        const char *opcode = cj__row_opcode(&cj__rows[row]);
        op_of_row[row] = is_plain(&cj__rows[row]) ? CJ_OP_PLAIN : CJ_OP_OTHER;
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
            if (!strcmp(ops[i].opcode, opcode)) op_of_row[row] = (uint8_t)ops[i].op;
    }
}

cj_space cj__space_named(const cj_mnemonic *mnemonic) {
    for (unsigned i = 0; i < mnemonic->word_count; i++) switch (mnemonic->word[i]) {
        case CJ_W_SHARED: case CJ_W_SHARED_CTA: case CJ_W_SHARED_CLUSTER: return CJ_SPACE_SHARED;
        case CJ_W_GLOBAL: return CJ_SPACE_GLOBAL;
        case CJ_W_CONST: return CJ_SPACE_CONST;
        case CJ_W_LOCAL: return CJ_SPACE_LOCAL;
        case CJ_W_PARAM: case CJ_W_PARAM_ENTRY: case CJ_W_PARAM_FUNC: return CJ_SPACE_PARAM;
        default: break;
        }
    return CJ_SPACE_GENERIC;
}

// ---- values

static const cj_value any = {.kind = CJ_VALUE_ANY};

static cj_value constant(int64_t number) { return (cj_value){.kind = CJ_VALUE_CONSTANT, .number = number}; }

_Static_assert(sizeof(cj_value) == 8 + sizeof(void *) + sizeof(int64_t), "a value has no padding: memcmp compares it");

static bool same(const cj_value *a, const cj_value *b) { return !memcmp(a, b, sizeof *a); }

// What holds of both.
static cj_value join(cj_value a, cj_value b) {
    if (a.kind == CJ_VALUE_NONE || same(&a, &b)) return b;
    if (b.kind == CJ_VALUE_NONE) return a;
    if (a.kind != CJ_VALUE_ADDRESS || b.kind != CJ_VALUE_ADDRESS || a.space != b.space || a.generic != b.generic ||
        a.peer != b.peer)
        return any;
    if (a.var != b.var) a.var = NULL;
    a.placed = false;
    a.number = 0;
    return a;
}

static cj_value of_special(const cj_ir_operand *operand) {
    if (operand->special == CJ_S_TID && operand->component == 1) return (cj_value){.kind = CJ_VALUE_THREAD};
    if (operand->special == CJ_S_LANEID) return (cj_value){.kind = CJ_VALUE_LANE};
    if (operand->special == CJ_S_CLUSTER_CTARANK) return (cj_value){.kind = CJ_VALUE_RANK};
    return any;
}

static cj_value of_var(const cj_ir_var *var, int64_t offset) {
    return (cj_value){
        .kind = CJ_VALUE_ADDRESS, .space = (uint8_t)var->space, .placed = true, .var = var, .number = offset};
}

cj_value cj__values_of(const cj_values *v, const cj_ir_reg *reg) {
    cj_reg_value *value = &v->reg[reg->index];
    if (value->walk == v->walk) return value->now;
    if (value->first_read > v->block) value->first_read = v->block;
    return value->left;
}

static cj_value moved(cj_value address, int64_t by, bool known) {
    address.placed = address.placed && known;
    address.number = address.placed ? address.number + by : 0;
    return address;
}

static cj_value negated(cj_value a) {
    if (a.kind != CJ_VALUE_PREDICATE) return any;
    bool parts = a.parts;
    a.parts = a.parts_not;
    a.parts_not = parts;
    return a;
}

cj_value cj__values_read(const cj_values *v, const cj_ir_operand *operand) {
    switch ((cj_operand_kind)operand->kind) {
    case CJ_OPERAND_REG: {
        cj_value value = operand->component || operand->offset_written ? any : cj__values_of(v, operand->reg);
        return operand->negated ? negated(value) : value;
    }
    case CJ_OPERAND_INT: return constant((int64_t)operand->bits);
    case CJ_OPERAND_SPECIAL: return of_special(operand);
    case CJ_OPERAND_VAR: return of_var(operand->var, operand->offset);
    case CJ_OPERAND_MEMORY: {
        cj_value base = cj__values_read(v, operand->base);
        return base.kind == CJ_VALUE_ADDRESS ? moved(base, operand->offset, true) : any;
    }
    default: return any;
    }
}

// ---- what instructions make of them

// a + b or a - b in as many bits: 0xfffffffc is -4 where they are 32.
static cj_value sum(cj_value a, cj_value b, bool minus, cj_word type) {
    bool constants = a.kind == CJ_VALUE_CONSTANT && b.kind == CJ_VALUE_CONSTANT;
    if (cj__words[type].bits == 32) {
        if (a.kind == CJ_VALUE_CONSTANT) a.number = (int32_t)(uint32_t)a.number;
        if (b.kind == CJ_VALUE_CONSTANT) b.number = (int32_t)(uint32_t)b.number;
    }
    int64_t by = minus ? (int64_t)(0 - (uint64_t)b.number) : b.number;
    if (constants) return constant((int64_t)((uint64_t)a.number + (uint64_t)by));
    if (a.kind == CJ_VALUE_ADDRESS && b.kind != CJ_VALUE_ADDRESS) return moved(a, by, b.kind == CJ_VALUE_CONSTANT);
    if (b.kind == CJ_VALUE_ADDRESS && a.kind != CJ_VALUE_ADDRESS && !minus)
        return moved(b, a.number, a.kind == CJ_VALUE_CONSTANT);
    return any;
}

// cvta makes a generic address of one in a space, cvta.to the reverse.
static cj_value converted(cj_value from, const cj_mnemonic *mnemonic) {
    cj_space space = cj__space_named(mnemonic);
    bool to = cj__mnemonic_has(mnemonic, CJ_W_TO);
    if (from.kind != CJ_VALUE_ADDRESS || from.space != space)
        from = (cj_value){.kind = CJ_VALUE_ADDRESS, .space = (uint8_t)space};
    from.generic = !to;
    return from;
}

// The same variable in the block of a rank; one's own rank gives one's own.
static cj_value mapped(cj_value from, cj_value rank, const cj_mnemonic *mnemonic) {
    if (from.kind != CJ_VALUE_ADDRESS) from = (cj_value){.kind = CJ_VALUE_ADDRESS};
    from.space = CJ_SPACE_SHARED;
    from.generic = !cj__mnemonic_has(mnemonic, CJ_W_SHARED_CLUSTER);
    from.peer = rank.kind != CJ_VALUE_RANK;
    return from;
}

// Threads of the block in x, 0 where the kernel does not say.
static uint32_t block_width(const cj_ir_func *func) {
    const cj_ir_directive *block = &func->directive[CJ_DIR_REQNTID];
    return block->given ? block->value[0] : 0;
}

// A comparison that holds for some lanes of a warp and not for others: of a lane or thread number with a constant.
static cj_value compared(const cj_values *v, cj_value a, cj_value b, const cj_mnemonic *mnemonic) {
    if (b.kind != CJ_VALUE_CONSTANT || (a.kind != CJ_VALUE_THREAD && a.kind != CJ_VALUE_LANE)) return any;
    uint32_t width = block_width(v->graph->func);
    uint64_t most = a.kind == CJ_VALUE_LANE ? 32 : width ? width : 1024, number = (uint64_t)b.number;
    if (number >= most || width == 1) return any;
    bool equal = mnemonic->word[0] == CJ_W_EQ, unequal = mnemonic->word[0] == CJ_W_NE;
    if (!equal && !unequal) return any;
    bool alone = mnemonic->word_count == 2;  // no .and, .or, .xor with another predicate
    bool narrowed = equal && mnemonic->word_count == 3 && mnemonic->word[1] == CJ_W_AND;
    return (cj_value){.kind = CJ_VALUE_PREDICATE, .parts = alone || narrowed, .parts_not = alone};
}

// Masking a thread number leaves the lane; a predicate and another holds for part of a warp at most.
static cj_value masked(cj_value a, cj_value b) {
    bool lanes = b.kind == CJ_VALUE_CONSTANT && b.number == 31;
    if (a.kind == CJ_VALUE_THREAD && lanes) return (cj_value){.kind = CJ_VALUE_LANE};
    bool parts = (a.kind == CJ_VALUE_PREDICATE && a.parts) || (b.kind == CJ_VALUE_PREDICATE && b.parts);
    return parts ? (cj_value){.kind = CJ_VALUE_PREDICATE, .parts = true} : any;
}

// Conversions between whole numbers of 32 and 64 bits leave what is known as it is.
static bool keeps(const cj_mnemonic *mnemonic) {
    for (unsigned i = 0; i < 2; i++) {
        const cj_word_info *type = &cj__words[mnemonic->type[i]];
        if (type->bits < 32 || (type->class != CJ_CLASS_UNSIGNED && type->class != CJ_CLASS_SIGNED)) return false;
    }
    return true;
}

static cj_value source(const cj_values *v, const cj_ir_inst *inst, unsigned index) {
    if (index >= inst->operand_count) return any;
    const cj_ir_operand *operand = &inst->operand[index];
    const bool           plain = operand->kind == CJ_OPERAND_REG && !operand->component && !operand->negated &&
                                       !operand->offset_written;
    return plain ? cj__values_of(v, operand->reg) : cj__values_read(v, operand);
}

static cj_value result(const cj_values *v, const cj_ir_inst *inst) {
    const cj_mnemonic *m = inst->mnemonic;
    cj_op op = cj__values_op(v, inst);
    if (op <= CJ_OP_PLAIN || op > CJ_OP_MAPA) return any;
    switch (op) {
    case CJ_OP_MOV: return source(v, inst, 1);
    case CJ_OP_CVT: return keeps(m) ? source(v, inst, 1) : any;
    case CJ_OP_ADD: return sum(source(v, inst, 1), source(v, inst, 2), false, m->type_last);
    case CJ_OP_SUB: return sum(source(v, inst, 1), source(v, inst, 2), true, m->type_last);
    case CJ_OP_MAD: return cj__mnemonic_has(m, CJ_W_HI) ? any : sum(source(v, inst, 3), any, false, m->type_last);
    case CJ_OP_AND: return masked(source(v, inst, 1), source(v, inst, 2));
    case CJ_OP_NOT: return negated(source(v, inst, 1));
    case CJ_OP_SELP: return join(source(v, inst, 1), source(v, inst, 2));
    case CJ_OP_SETP: return compared(v, source(v, inst, 1), source(v, inst, 2), m);
    case CJ_OP_CVTA: return converted(source(v, inst, 1), m);
    case CJ_OP_MAPA: return mapped(source(v, inst, 1), source(v, inst, 2), m);
    default: return any;
    }
}

// ---- writing

static inline void set(cj_values *v, const cj_ir_reg *reg, cj_value value, bool guarded) {
    cj_reg_value *to = &v->reg[reg->index];
    if (guarded) value = join(cj__values_of(v, reg), value);
    if (to->walk != v->walk) v->touched[v->touched_count++] = reg->index;
    to->walk = v->walk;
    to->now = value;
}

static void forget(void *user, const cj_ir_operand *operand, const cj_ir_reg *reg, bool written) {
    (void)operand;
    if (written) set(user, reg, any, false);
}

static void step_parts(cj_values *v, const cj_ir_inst *inst) {
    cj__visit_regs(inst, forget, v);
    const cj_ir_operand *elected = inst->operand_count ? inst->operand[0].predicate : NULL;
    if (elected && elected->kind == CJ_OPERAND_REG && cj__values_op(v, inst) == CJ_OP_ELECT)
        set(v, elected->reg, (cj_value){.kind = CJ_VALUE_PREDICATE, .parts = true, .parts_not = true},
            inst->guard != NULL);
}

void cj__values_step(cj_values *v, const cj_ir_inst *inst) {
    const cj_ir_operand *to = inst->operand;
    const bool           plain = inst->operand_count && to->kind == CJ_OPERAND_REG && !to->component && !to->predicate;
    if (!plain || inst->row->operands[0] != 'd')
        step_parts(v, inst);
    else if (cj__values_op(v, inst) == CJ_OP_PLAIN)
        set(v, to->reg, any, inst->guard != NULL);
    else
        set(v, to->reg, result(v, inst), inst->guard != NULL);
}

// Leaves the block: what it wrote is what others may see.
static void leave(cj_values *v) {
    for (uint32_t i = 0; i < v->touched_count; i++) {
        cj_reg_value *reg = &v->reg[v->touched[i]];
        cj_value      value = reg->home == CJ_HOME_MANY ? join(reg->left, reg->now) : reg->now;
        if (same(&reg->left, &value)) continue;
        reg->left = value;
        if (reg->first_read <= v->block && reg->first_read < v->stale) v->stale = reg->first_read;
    }
}

void cj__values_enter(cj_values *v, uint32_t block) {
    v->block = block;
    v->walk++;
    v->touched_count = 0;
}

// ---- all blocks

// Registers that many blocks write, when the rounds do not settle.
static void give_up(cj_values *v) {
    for (size_t r = 0; r < v->graph->func->reg_count; r++)
        if (v->reg[r].home == CJ_HOME_MANY) v->reg[r].left = any;
}

// Once over the blocks from `first` on. Where one has read what a later one, or itself, then changed, it is stale.
static void run_round(cj_values *v, uint32_t first) {
    v->stale = CJ_NO_BLOCK;
    for (uint32_t b = first; b < v->graph->count; b++) {
        const cj_block   *block = &v->graph->block[b];
        const cj_ir_stmt *stmt = v->graph->func->stmt;
        cj__values_enter(v, b);
        for (uint32_t i = block->first; i < block->end; i++)
            if (stmt[i].kind == CJ_STMT_INST) cj__values_step(v, stmt[i].inst);
        leave(v);
    }
}

bool cj__values_find(cj_values *v, const cj_graph *graph, const uint32_t *home, cj_arena *arena) {
    const size_t regs = graph->func->reg_count;
    *v = (cj_values){.graph = graph};
    pthread_once(&ops_built, build_ops);
    v->op = op_of_row;
    v->reg = cj__arena_take(arena, (regs + 1) * sizeof *v->reg);
    v->touched = cj__arena_take(arena, (regs + 1) * sizeof *v->touched);
    if (arena->failed) return false;
    for (size_t r = 0; r < regs; r++) v->reg[r] = (cj_reg_value){.home = home[r], .first_read = CJ_NO_BLOCK};
    unsigned rounds = 0;
    for (run_round(v, 0); v->stale != CJ_NO_BLOCK && ++rounds < ROUNDS_MAX;) run_round(v, v->stale);
    if (rounds == ROUNDS_MAX) {
        give_up(v);
        run_round(v, 0);
    }
    return true;
}
