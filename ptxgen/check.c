// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <string.h>

#include "error.h"

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
    if (operand->kind == CJ_OPERAND_REG) raise(n, cj__words[operand->reg->type].ptx, cj__words[operand->reg->type].target);
    for (unsigned i = 0; i < operand->count; i++) operand_needs(n, &operand->list[i]);
}

static needs inst_needs(const cj_ir_inst *inst) {
    needs n = {inst->row->ptx, inst->row->target};
    raise(&n, inst->mnemonic->ptx, inst->mnemonic->target);
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
            if (func->stmt[s].kind == CJ_STMT_INST) raise(&most, inst_needs(func->stmt[s].inst).ptx, 0);
        }
    }
    return most.ptx;
}

// ---- errors at a place

static cj_status fail_at(cj_error *error, uint32_t line, uint32_t column, const char *rule) {
    cj__rule(error, rule);
    if (error) error->line = line, error->column = column;
    return CJ_INVALID_KERNEL;
}

static cj_status check_needs(const cj_ir_module *module, needs n, const char *what, uint32_t line, uint32_t column,
                             cj_error *error) {
    if (n.target > module->target_sm) {
        cj__fail(error, CJ_INVALID_KERNEL, "'%s' needs .target sm_%u or later, the file says %s", what, n.target,
                 module->target);
        cj__hint(error, "generate for sm_%u, or use a form that %s has", n.target, module->target);
        return fail_at(error, line, column, "target-least");
    }
    if (n.ptx > module->version) {
        cj__fail(error, CJ_INVALID_KERNEL, "'%s' needs .version %u.%u or later, the file says %u.%u", what, n.ptx / 10u,
                 n.ptx % 10u, module->version / 10u, module->version % 10u);
        cj__hint(error, "write .version %u.%u", n.ptx / 10u, n.ptx % 10u);
        return fail_at(error, line, column, "version-least");
    }
    return CJ_OK;
}

// ---- operand types (PTX ISA 9.2, "Type Information for Instructions and Operands")

static cj_word wide(cj_word type) {
    static const struct {
        cj_word narrow, wide;
    } pairs[] = {{CJ_W_U16, CJ_W_U32}, {CJ_W_S16, CJ_W_S32}, {CJ_W_U32, CJ_W_U64}, {CJ_W_S32, CJ_W_S64}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i].narrow == type) return pairs[i].wide;
    return type;
}

// The type that an item of a pattern asks for; NONE where any will do.
static cj_word wanted_type(const cj_pattern_item *item, const cj_mnemonic *mnemonic) {
    switch (item->type) {
    case 'T': return mnemonic->type_last;
    case 'W': return wide(mnemonic->type_last);
    case 'F': return item->fixed;
    case '1': case '2': case '3': case '4': return mnemonic->type[item->type - '1'];
    default: return CJ_WORD_NONE;
    }
}

// Whether a register of type `have` can stand for `want`: sizes agree (or, for ld, st and cvt, the register is wider), and
// neither is a float where the other is an integer. A packed type is at home in registers of a bits type alone.
static bool type_fits(cj_word have, cj_word want, bool may_be_wider) {
    const cj_word_info *h = &cj__words[have], *w = &cj__words[want];
    if ((h->class == CJ_CLASS_PRED) != (w->class == CJ_CLASS_PRED)) return false;
    if (h->bits < w->bits || (h->bits > w->bits && !may_be_wider)) return false;
    if (have == want || h->class == CJ_CLASS_BITS || w->class == CJ_CLASS_BITS) return true;
    if (h->class == CJ_CLASS_FLOAT || w->class == CJ_CLASS_FLOAT) return h->class == w->class && h->bits == w->bits;
    return h->class != CJ_CLASS_PACKED && w->class != CJ_CLASS_PACKED;
}

typedef struct place {
    const cj_ir_stmt *stmt;
    const cj_ir_inst *inst;
    unsigned          index;        // of the operand
    bool              may_be_wider;
    cj_error         *error;
} place;

static cj_status check_reg(const place *at, const cj_ir_operand *operand, cj_word want) {
    cj_word have = operand->reg->type;
    if (type_fits(have, want, at->may_be_wider)) return CJ_OK;
    cj__fail(at->error, CJ_INVALID_KERNEL, "operand %u of '%s' must be .%s, %s is .%s", at->index + 1,
             at->inst->mnemonic->text, cj__words[want].text, operand->reg->name, cj__words[have].text);
    cj__hint(at->error, "declare %s with that type, or convert it first (cvt, or mov.b%u for the same bits)",
             operand->reg->name, cj__words[want].bits);
    return fail_at(at->error, at->stmt->line, operand->column, "operand-type");
}

static cj_status check_constant(const place *at, const cj_ir_operand *operand, cj_word want) {
    bool wants_float = cj__words[want].class == CJ_CLASS_FLOAT;
    bool is_float = operand->kind == CJ_OPERAND_FLOAT;
    if (wants_float == is_float || cj__words[want].class == CJ_CLASS_BITS) return CJ_OK;
    cj__fail(at->error, CJ_INVALID_KERNEL, "operand %u of '%s' must be .%s, %s is %s constant", at->index + 1,
             at->inst->mnemonic->text, cj__words[want].text, operand->text, is_float ? "a float" : "an integer");
    cj__hint(at->error, wants_float ? "write it as 0f… or with a point" : "write it as a whole number");
    return fail_at(at->error, at->stmt->line, operand->column, "operand-type");
}

// {a, b}: each element of a vector, or coordinate of a tensor, has the type; the parts of a pack or unpack share its bits.
static cj_status check_vector(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item, cj_word want) {
    bool packs = (item->kind == 'P' || item->kind == 'U') && !item->length;
    const cj_mnemonic *mnemonic = at->inst->mnemonic;
    unsigned expected = item->length ? cj__pattern_length(item, mnemonic) : mnemonic->vector, bits = 0;
    if (!packs && operand->count != expected) {
        cj__fail(at->error, CJ_INVALID_KERNEL, "'%s' takes a vector of %u, this one has %u elements",
                 at->inst->mnemonic->text, expected, operand->count);
        bool plain = !item->length && expected == 1;
        cj__hint(at->error, plain ? "add .v2 or .v4 to the instruction" : "name %u registers here", expected);
        return fail_at(at->error, at->stmt->line, operand->column, "vector-length");
    }
    for (unsigned i = 0; i < operand->count; i++) {
        const cj_ir_operand *element = &operand->list[i];
        cj_status status = CJ_OK;
        if (element->kind == CJ_OPERAND_REG && !packs) status = check_reg(at, element, want);
        if (element->kind == CJ_OPERAND_REG && packs) bits += cj__words[element->reg->type].bits;
        if (status) return status;
        if (element->kind == CJ_OPERAND_SINK && packs) bits += cj__words[want].bits / operand->count;
    }
    if (!packs || bits == cj__words[want].bits) return CJ_OK;
    cj__fail(at->error, CJ_INVALID_KERNEL, "the parts of '%s' have %u bits in all, not %u", at->inst->mnemonic->text, bits,
             cj__words[want].bits);
    return fail_at(at->error, at->stmt->line, operand->column, "operand-type");
}

static cj_status check_operand(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item) {
    cj_word want = wanted_type(item, at->inst->mnemonic);
    if (!want) return CJ_OK;
    if (operand->predicate && operand->predicate->kind == CJ_OPERAND_REG) {
        cj_status status = check_reg(at, operand->predicate, CJ_W_PRED);
        if (status) return status;
    }
    switch ((cj_operand_kind)operand->kind) {
    case CJ_OPERAND_REG:
        if (operand->reg->vector > 1 && !operand->component) return CJ_OK;
        return check_reg(at, operand, want);
    case CJ_OPERAND_INT:
    case CJ_OPERAND_FLOAT: return check_constant(at, operand, want);
    case CJ_OPERAND_MEMORY:
        if (item->kind == 't') return check_vector(at, operand, item, want);
        return operand->base->kind == CJ_OPERAND_REG ? check_reg(at, operand->base, want) : CJ_OK;
    case CJ_OPERAND_VECTOR: return check_vector(at, operand, item, want);
    default: return CJ_OK;
    }
}

static bool is_opcode(const cj_ir_inst *inst, const char *opcode) { return !strcmp(cj__row_opcode(inst->row), opcode); }

static cj_status check_inst(const cj_ir_module *module, const cj_ir_stmt *stmt, cj_error *error) {
    const cj_ir_inst *inst = stmt->inst;
    cj_status status = check_needs(module, inst_needs(inst), inst->mnemonic->text, stmt->line, stmt->column, error);
    const cj_pattern *pattern = cj__row_pattern(inst->row);
    place at = {.stmt = stmt, .inst = inst, .error = error};
    at.may_be_wider = is_opcode(inst, "ld") || is_opcode(inst, "st") || is_opcode(inst, "cvt");
    for (at.index = 0; at.index < inst->operand_count && !status; at.index++)
        status = check_operand(&at, &inst->operand[at.index], cj__pattern_item(pattern, inst->mnemonic, at.index));
    return status;
}

static cj_status check_func(const cj_ir_module *module, const cj_ir_func *func, cj_error *error) {
    for (int d = 0; d < CJ_DIR_COUNT; d++) {
        const cj_ir_directive *directive = &func->directive[d];
        needs n = {directive_needs[d].ptx, directive_needs[d].target};
        cj_status status = directive->given ? check_needs(module, n, cj__directive_word((cj_directive)d), directive->line,
                                                          directive->column, error)
                                            : CJ_OK;
        if (status) return status;
    }
    for (size_t i = 0; i < func->stmt_count; i++) {
        cj_status status = func->stmt[i].kind == CJ_STMT_INST ? check_inst(module, &func->stmt[i], error) : CJ_OK;
        if (status) return status;
    }
    return CJ_OK;
}

cj_status cj__check(const cj_ir_module *module, cj_error *error) {
    const cj_target_info *target = cj__target_find(module->target);
    if (target) {
        cj_status status = check_needs(module, (needs){target->ptx, 0}, module->target, 1, 1, error);
        if (status) return status;
    }
    for (size_t i = 0; i < module->item_count; i++) {
        cj_status status = module->item[i].kind == CJ_ITEM_FUNC ? check_func(module, module->item[i].func, error) : CJ_OK;
        if (status) return status;
    }
    return CJ_OK;
}
