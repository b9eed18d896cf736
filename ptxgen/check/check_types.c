// SPDX-License-Identifier: Apache-2.0
// Operand types (PTX ISA 9.2, "Type Information for Instructions and Operands").

#include "check.h"
#include "report.h"

// Whether a register of type `have` can stand for `want`: sizes agree (or, for ld, st and cvt, the register is wider),
// and neither is a float where the other is an integer. A packed type is at home in registers of a bits type alone, and only f16x2 in wider ones.
static bool type_fits(cj_word have, cj_word want, bool may_be_wider) {
    const cj_word_info *h = &cj__words[have], *w = &cj__words[want];
    if ((h->class == CJ_CLASS_PRED) != (w->class == CJ_CLASS_PRED)) return false;
    if (h->bits < w->bits ||
        (h->bits > w->bits && (!may_be_wider || (w->class == CJ_CLASS_PACKED && want != CJ_W_F16X2))))
        return false;
    if (have == want || h->class == CJ_CLASS_BITS || w->class == CJ_CLASS_BITS) return true;
    if (h->class == CJ_CLASS_FLOAT || w->class == CJ_CLASS_FLOAT) return h->class == w->class && h->bits == w->bits;
    return h->class != CJ_CLASS_PACKED && w->class != CJ_CLASS_PACKED;
}

typedef struct place {
    const cj_ir_stmt  *stmt;
    const cj_mnemonic *mnemonic;
    unsigned           index;  // of the operand
    bool               may_be_wider;
    uint32_t           effects;
    bool               is_media;
    bool               is_number;  // the operand's pattern has =num: no register is wider
    cj_report         *report;
} place;

static void type_differs(const place *at, const cj_ir_operand *operand, cj_word want, const char *name, cj_word have) {
    cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                   "operand %u of '%s' must be .%s, %s is .%s", at->index + 1, at->mnemonic->text, cj__words[want].text,
                   name, cj__words[have].text);
}

static void check_reg(const place *at, const cj_ir_operand *operand, cj_word want) {
    const cj_ir_reg *reg = operand->reg;
    if (reg->type == want || type_fits(reg->type, want, at->may_be_wider && !at->is_number)) return;
    type_differs(at, operand, want, reg->name, reg->type);
    cj__report_hint(at->report, "declare %s with that type, or convert it first (cvt, or mov.b%u for the same bits)",
                    reg->name, cj__words[want].bits);
}

static void check_special(const place *at, const cj_ir_operand *operand, cj_word want) {
    const cj_special_info *special = &cj__specials[operand->special];
    if (type_fits(special->type, want, at->may_be_wider)) return;
    type_differs(at, operand, want, special->text, special->type);
    cj__report_hint(at->report, "read it with mov.%s", cj__words[special->type].text);
}

// An address in a register of 32 or 64 bits.
static void check_address_reg(const place *at, const cj_ir_operand *operand) {
    const cj_type_class class = cj__words[operand->reg->type].class;
    const unsigned bits = cj__words[operand->reg->type].bits;
    if ((bits != 32 && bits != 64) || class == CJ_CLASS_FLOAT || class == CJ_CLASS_PACKED)
        check_reg(at, operand, bits == 64 ? CJ_W_U32 : CJ_W_U64);
}

// Whether [16] is an address: of local memory, and of a fence, which ptxas does not look at.
static bool takes_number(const place *at) {
    return cj__mnemonic_has(at->mnemonic, CJ_W_LOCAL) || cj__mnemonic_has(at->mnemonic, CJ_W_PROXY);
}

// [base + offset]: the base has the type that the row asks for, and is never a float or a predicate.
static void check_address(const place *at, const cj_ir_operand *memory, const cj_pattern_item *item, cj_word want) {
    const cj_ir_operand *base = memory->base;
    if (base->kind != CJ_OPERAND_REG && item->register_only) {
        cj__report_add(at->report, "operand-type", at->stmt->line, memory->column,
                       "operand %u of '%s' must be the address in a register", at->index + 1, at->mnemonic->text);
        return;
    }
    if (base->kind == CJ_OPERAND_INT && !takes_number(at)) {
        cj__report_add(at->report, "address-number", at->stmt->line, memory->column,
                       "'%s' does not take a number as address, only .local does", at->mnemonic->text);
        cj__report_hint(at->report, "move it into a register first");
    }
    if (base->kind != CJ_OPERAND_REG) return;
    cj_type_class class = cj__words[base->reg->type].class;
    bool whole = class == CJ_CLASS_BITS || class == CJ_CLASS_UNSIGNED || class == CJ_CLASS_SIGNED;
    whole = whole && cj__words[base->reg->type].bits <= 64;
    if (!whole)
        type_differs(at, memory, want ? want : CJ_W_U64, base->reg->name, base->reg->type);
    else if (item->type == 'A')
        check_address_reg(at, base);
    else if (want)
        check_reg(at, base, want);
}

// Where a constant can stand: a float is an f32 or f64, or the bits of one (0f… of 32, the others of 64); an integer is all
// but a float. Nothing stands for halves and packed types.
static bool constant_fits(const cj_ir_operand *operand, cj_word want) {
    const cj_word_info *type = &cj__words[want];
    const bool          is_float = operand->kind == CJ_OPERAND_FLOAT, is_f32 = is_float && operand->is_f32;
    switch (type->class) {
    case CJ_CLASS_FLOAT: return is_float && type->bits > 16;
    case CJ_CLASS_BITS: return !is_float || type->bits == (is_f32 ? 32 : 64);
    case CJ_CLASS_PACKED: return false;
    default: return !is_float;
    }
}

static void constant_differs(const place *at, const cj_ir_operand *operand, cj_word want) {
    const bool is_float = operand->kind == CJ_OPERAND_FLOAT;
    const bool takes_none = cj__words[want].class == CJ_CLASS_PACKED || want == CJ_W_F16;
    cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                   "operand %u of '%s' must be .%s, %s is %s constant", at->index + 1, at->mnemonic->text,
                   cj__words[want].text, operand->text, is_float ? "a float" : "an integer");
    if (takes_none)
        cj__report_hint(at->report, "move its bits into a register first");
    else if (!is_float)
        cj__report_hint(at->report, "write it as 0f… or with a point");
    else
        cj__report_hint(at->report, "write it as a whole number");
}

static bool is_power(int64_t value) { return value > 0 && !(value & (value - 1)); }

static void check_limits(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item) {
    const int64_t value = item->low_word ? (int64_t)(operand->bits & UINT32_MAX) : (int64_t)operand->bits;
    const bool    inside = value >= item->low && value <= item->high;
    if (inside && (item->powers ? is_power(value) : (value - item->low) % item->step == 0)) return;
    cj__report_add(at->report, "operand-range", at->stmt->line, operand->column,
                   "operand %u of '%s' is %s, which is out of its range", at->index + 1, at->mnemonic->text,
                   operand->text);
    if (item->low == item->high)
        cj__report_hint(at->report, "write %lld", (long long)item->low);
    else if (item->high == INT64_MAX)
        cj__report_hint(at->report, "write %lld or more", (long long)item->low);
    else if (item->powers)
        cj__report_hint(at->report, "write a power of two from %lld to %lld", (long long)item->low,
                        (long long)item->high);
    else if (item->step > 1)
        cj__report_hint(at->report, "write %lld to %lld, in steps of %lld", (long long)item->low, (long long)item->high,
                        (long long)item->step);
    else
        cj__report_hint(at->report, "write %lld to %lld", (long long)item->low, (long long)item->high);
}

static void check_constant(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item, cj_word want) {
    if (item->register_only) {
        cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                       "operand %u of '%s' must be a register, %s is a constant", at->index + 1, at->mnemonic->text,
                       operand->text);
        cj__report_hint(at->report, "move it into a register first");
    } else if (want && !(want == CJ_W_PRED) &&
               (!constant_fits(operand, want) ||
                (item->single_floats && operand->kind == CJ_OPERAND_FLOAT && !operand->is_f32))) {
        constant_differs(at, operand, want);
    } else if (item->kind == 'i' && operand->kind == CJ_OPERAND_FLOAT) {
        constant_differs(at, operand, want ? want : CJ_W_U32);
    } else if (item->is_limited) {
        check_limits(at, operand, item);
    }
}

// An address that stands for a number: space + 4.
static void check_number(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item, cj_word want) {
    const bool is_func = operand->kind == CJ_OPERAND_FUNC, waits = at->effects & (CJ_BARRIER | CJ_ASYNC);
    cj_type_class class = cj__words[want].class;
    if (item->number_only || item->register_only || (is_func && waits)) {
        cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                       "operand %u of '%s' cannot be the address of %s", at->index + 1, at->mnemonic->text,
                       is_func ? operand->func->name : operand->var->name);
        cj__report_hint(at->report, "move it into a register first");
        return;
    }
    if (is_func || class == CJ_CLASS_BITS || class == CJ_CLASS_UNSIGNED || class == CJ_CLASS_SIGNED) return;
    cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                   "operand %u of '%s' must be .%s, the address of %s is a whole number", at->index + 1,
                   at->mnemonic->text, cj__words[want].text, operand->var->name);
}

static void length_differs(const place *at, const cj_ir_operand *operand, unsigned expected, bool plain) {
    cj__report_add(at->report, "vector-length", at->stmt->line, operand->column,
                   "'%s' takes a vector of %u, this one has %u elements", at->mnemonic->text, expected, operand->count);
    if (plain)
        cj__report_hint(at->report, "add .v2 or .v4 to the instruction");
    else
        cj__report_hint(at->report, "name %u registers here", expected);
}

// What stands in a vector.
typedef struct elements {
    bool     bits, floats, wholes, predicates;  // registers of a type of that class
    bool     whole_constants, float_constants, doubles;
    bool     even;  // all registers have one width
    unsigned width;
} elements;

static void add_register(elements *e, cj_word type) {
    const cj_word_info *info = &cj__words[type];
    if (info->class == CJ_CLASS_PRED) {
        e->predicates = true;
        return;
    }
    e->even = e->even && (!e->width || e->width == info->bits);
    e->width = info->bits;
    e->bits |= info->class == CJ_CLASS_BITS || info->class == CJ_CLASS_PACKED;
    e->floats |= info->class == CJ_CLASS_FLOAT;
    e->wholes |= info->class == CJ_CLASS_UNSIGNED || info->class == CJ_CLASS_SIGNED;
}

static elements elements_of(const cj_ir_operand *vector, unsigned first) {
    elements e = {.even = true};
    for (unsigned i = first; i < vector->count; i++) {
        const cj_ir_operand *element = &vector->list[i];
        if (element->kind == CJ_OPERAND_REG) add_register(&e, element->reg->type);
        e.whole_constants |= element->kind == CJ_OPERAND_INT;
        e.float_constants |= element->kind == CJ_OPERAND_FLOAT;
        e.doubles |= element->kind == CJ_OPERAND_FLOAT && !element->is_f32;
    }
    return e;
}

// ptxas gives a vector one type: registers have one width, and no whole number stands beside a float.
static bool elements_agree(const place *at, const cj_ir_operand *vector, const elements *e) {
    const bool mixed = (e->floats || e->float_constants) && (e->predicates || e->whole_constants);
    if (e->even && !mixed) return true;
    cj__report_add(at->report, "operand-type", at->stmt->line, vector->column,
                   "'%s' takes a vector of one type, this one has elements of %s", at->mnemonic->text,
                   mixed ? "whole numbers and of floats" : "several widths");
    cj__report_hint(at->report, "move each into a register of the same type first");
    return false;
}

// The kinds of elements that a fragment of a matrix, or what ptxas replaces by other instructions, does without.
static bool elements_allowed(const place *at, const cj_ir_operand *vector, const cj_pattern_item *item,
                             const elements *e) {
    const bool  fragment = item->type == 'B', alone = !e->bits && !e->floats && !e->wholes && !e->predicates;
    const char *wrong = NULL;
    if (alone && (e->whole_constants || e->float_constants) &&
        (fragment || item->beside_registers || item->single_floats))
        wrong = "one register at least";
    else if (fragment && e->floats && !e->bits)
        wrong = "registers of .b32";
    else if (item->single_floats && e->doubles)
        wrong = "a float as 0f… only";
    if (!wrong) return true;
    cj__report_add(at->report, "operand-type", at->stmt->line, vector->column, "operand %u of '%s' takes %s",
                   at->index + 1, at->mnemonic->text, wrong);
    return false;
}

// {a, b} of a pack or unpack: the parts have the bits of the whole.
static void check_parts(const place *at, const cj_ir_operand *operand, cj_word want) {
    const elements e = elements_of(operand, 0);
    if (e.floats && e.whole_constants && !elements_agree(at, operand, &e)) return;
    unsigned expected = cj__words[want].bits, count = operand->count, bits = 0;
    bool     even = true;
    if (operand->kind == CJ_OPERAND_REG)
        count = operand->reg->vector, bits = count * cj__words[operand->reg->type].bits;
    for (unsigned i = 0; i < operand->count; i++) {
        const cj_ir_operand *part = &operand->list[i];
        const unsigned       own = part->kind == CJ_OPERAND_REG ? cj__words[part->reg->type].bits : expected / count;
        even = even && own * count == expected;
        bits += own;
    }
    if (bits == expected && even && (count == 2 || count == 4)) return;
    if (bits == expected) {
        cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                       "'%s' takes two or four parts of the same width", at->mnemonic->text);
        return;
    }
    cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                   "the parts of '%s' have %u bits in all, not %u", at->mnemonic->text, bits, expected);
}

// Whether the mnemonic's texture or surface has layers: the first coordinate is a layer's number then.
static bool has_layers(const cj_mnemonic *m) {
    return cj__mnemonic_has(m, CJ_W_A1D) || cj__mnemonic_has(m, CJ_W_A2D) || cj__mnemonic_has(m, CJ_W_ACUBE) ||
           cj__mnemonic_has(m, CJ_W_A2DMS);
}

// Beside a register of bits any other of its width may stand; without one each element has the type, constants too.
static void check_elements(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item, cj_word want) {
    const unsigned first = item->kind == 't' && !item->length && has_layers(at->mnemonic);
    const elements e = elements_of(operand, first);
    const bool     alone = !e.bits && !e.floats && !e.wholes && !e.predicates;
    if (!elements_agree(at, operand, &e) || !elements_allowed(at, operand, item, &e)) return;
    for (unsigned i = first; i < operand->count; i++) {
        const cj_ir_operand *element = &operand->list[i];
        const bool           reg = element->kind == CJ_OPERAND_REG, constant = element->text && !reg;
        if (reg && !(e.bits && cj__words[element->reg->type].class == CJ_CLASS_FLOAT)) check_reg(at, element, want);
        if (alone && constant && want && !constant_fits(element, want)) constant_differs(at, element, want);
    }
}

// The map of a tensor stands in a register or has a name; ptxas takes no offset after it.
static void check_map(const place *at, const cj_ir_operand *memory) {
    if (memory->base->kind != CJ_OPERAND_INT && !memory->offset_written) return;
    cj__report_add(at->report, "operand-type", at->stmt->line, memory->column,
                   "'%s' takes the address of a tensor map without an offset", at->mnemonic->text);
    cj__report_hint(at->report, "move it into a register first");
}

// {a, b}: each element of a vector, or coordinate of a tensor, has the type.
static void check_vector(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item, cj_word want) {
    if ((item->kind == 'P' || item->kind == 'U') && !item->length) {
        check_parts(at, operand, want);
        return;
    }
    unsigned expected = item->length ? cj__pattern_length(item, at->mnemonic) : at->mnemonic->vector;
    if (item->kind == 't' && item->length) check_map(at, operand);
    bool texture = item->kind == 't' && !item->length;  // cj__check_media counts its coordinates
    if (!texture && operand->count != expected) length_differs(at, operand, expected, !item->length && expected == 1);
    check_elements(at, operand, item, want);
}

// A vector register without a component, which stands for all of its elements.
static void check_whole(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item, cj_word want) {
    if (item->kind == 'P' || item->kind == 'U') {
        check_parts(at, operand, want);
        return;
    }
    if (operand->reg->vector != at->mnemonic->vector) {
        cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                       "operand %u of '%s' has %u elements, %s has %u", at->index + 1, at->mnemonic->text,
                       at->mnemonic->vector, operand->reg->name, operand->reg->vector);
        cj__report_hint(at->report, "name one element, as in %s.x, or use .v%u", operand->reg->name,
                        operand->reg->vector);
    }
    check_reg(at, operand, want);
}

// One value where the instruction moves a vector.
static bool is_single(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item) {
    if (at->mnemonic->vector == 1 || (item->kind != 'D' && item->kind != 'S')) return false;
    switch ((cj_operand_kind)operand->kind) {
    case CJ_OPERAND_REG: return operand->reg->vector == 1 || operand->component;
    case CJ_OPERAND_INT:
    case CJ_OPERAND_FLOAT:
    case CJ_OPERAND_VAR:
    case CJ_OPERAND_FUNC: return true;
    default: return false;
    }
}

// %r0 + 4: ptxas takes it for a number of any width, but not as a half or a packed type.
static void check_sum(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item, cj_word want) {
    const cj_word_info *type = &cj__words[want];
    const bool          is_half = type->class == CJ_CLASS_FLOAT && type->bits == 16;
    const bool          is_exact = item->number_only || at->effects & CJ_BARRIER || at->is_media;
    if (item->register_only) {
        cj__report_add(at->report, "operand-type", at->stmt->line, operand->column,
                       "operand %u of '%s' must be a register, this is a sum", at->index + 1, at->mnemonic->text);
    } else if (is_exact || is_half || type->class == CJ_CLASS_PACKED || operand->reg->type == CJ_W_PRED) {
        check_reg(at, operand, want);
    }
}

// A register by itself of the type, or of as many bits, as nearly every operand is.
static bool is_simple(const cj_ir_operand *operand, cj_word want) {
    if (operand->kind != CJ_OPERAND_REG || operand->predicate || operand->offset_written) return false;
    const cj_ir_reg    *reg = operand->reg;
    const cj_word_info *type = &cj__words[reg->type];
    const bool          bits = type->class == CJ_CLASS_BITS && type->bits == cj__words[want].bits && want != CJ_W_PRED;
    return reg->vector == 1 && (reg->type == want || bits);
}

static void check_operand(const place *at, const cj_ir_operand *operand, const cj_pattern_item *item, cj_word want) {
    if (is_single(at, operand, item)) {
        cj__report_add(at->report, "vector-length", at->stmt->line, operand->column,
                       "'%s' takes a vector of %u, this is one value", at->mnemonic->text, at->mnemonic->vector);
        cj__report_hint(at->report, "name %u registers here, as in {%%a, %%b}", at->mnemonic->vector);
        return;
    }
    if (operand->kind != CJ_OPERAND_MEMORY && operand->predicate && operand->predicate->kind == CJ_OPERAND_REG)
        check_reg(at, operand->predicate, CJ_W_PRED);
    if (operand->kind == CJ_OPERAND_MEMORY && item->kind != 't') {
        check_address(at, operand, item, want);
        return;
    }
    const bool constant = operand->kind == CJ_OPERAND_INT || operand->kind == CJ_OPERAND_FLOAT;
    if (!want && !constant) return;
    switch ((cj_operand_kind)operand->kind) {
    case CJ_OPERAND_REG:
        if (operand->offset_written)
            check_sum(at, operand, item, want);
        else if (item->type == 'A')
            check_address_reg(at, operand);
        else if (operand->reg->vector == 1 || operand->component)
            check_reg(at, operand, want);
        else
            check_whole(at, operand, item, want);
        return;
    case CJ_OPERAND_INT:
    case CJ_OPERAND_FLOAT: check_constant(at, operand, item, want); return;
    case CJ_OPERAND_SPECIAL: check_special(at, operand, want); return;
    case CJ_OPERAND_VAR:
    case CJ_OPERAND_FUNC: check_number(at, operand, item, want); return;
    case CJ_OPERAND_MEMORY:
    case CJ_OPERAND_VECTOR: check_vector(at, operand, item, want); return;
    default: return;
    }
}

// Vectors have 128 bits at most; only ld and st of global memory take 256, as four or eight elements.
static void check_vector_bits(const place *at, bool is_move) {
    static const cj_word elsewhere[] = {CJ_W_SHARED, CJ_W_SHARED_CTA, CJ_W_SHARED_CLUSTER, CJ_W_LOCAL,
                                        CJ_W_CONST,  CJ_W_PARAM,      CJ_W_PARAM_ENTRY,    CJ_W_PARAM_FUNC};
    unsigned             bits = at->mnemonic->vector * cj__words[at->mnemonic->type_last].bits;
    if (bits <= 128) return;
    bool may_be_256 = at->mnemonic->vector > 2 && is_move;
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        may_be_256 = may_be_256 && !cj__mnemonic_has(at->mnemonic, elsewhere[i]);
    if (bits == 256 && may_be_256) return;
    cj__report_add(at->report, "vector-width", at->stmt->line, at->stmt->column,
                   "'%s' moves a vector of %u bits, 128 are the most", at->mnemonic->text, bits);
    cj__report_hint(at->report,
                    "split it; 256 bits, as .v8 of 32 or .v4 of 64, go with ld and st of global memory alone");
}

// ptxas takes these, though no page has them: then it crashes or not, and of a store's elements the first arrives.
static void check_narrow(const place *at) {
    const unsigned bits = cj__words[at->mnemonic->type_last].bits;
    if (at->mnemonic->vector != 8 || bits >= 32) return;
    cj__report_add(at->report, "vector-narrow", at->stmt->line, at->stmt->column,
                   "'%s' moves eight elements of %u bits, which ptxas compiles wrongly", at->mnemonic->text, bits);
    cj__report_hint(at->report, "move them as .v%u of .b32", bits / 4);
}

// What a call calls: a function by its name, or one that its prototype describes; NULL where that is not known.
static const cj_ir_func *called(const cj_ir_inst *inst, unsigned target) {
    const cj_ir_operand *last = &inst->operand[inst->operand_count - 1];
    if (inst->operand[target].kind == CJ_OPERAND_FUNC) return inst->operand[target].func;
    return last->kind == CJ_OPERAND_LABEL && last->label ? last->label->prototype : NULL;
}

// A function has as many arguments and results as it is given.
static void check_call(const place *at, const cj_ir_inst *inst) {
    const unsigned    first = inst->operand_count && inst->operand[0].kind == CJ_OPERAND_LIST;
    const cj_ir_func *func = first < inst->operand_count ? called(inst, first) : NULL;
    if (!func) return;
    const bool     lists = first + 1 < inst->operand_count && inst->operand[first + 1].kind == CJ_OPERAND_LIST;
    const unsigned results = first ? inst->operand[0].count : 0;
    const unsigned arguments = lists ? inst->operand[first + 1].count : 0;
    if (results == func->result_count && arguments == func->param_count) return;
    cj__report_add(at->report, "operands", at->stmt->line, inst->operand[first].column,
                   "'%s' takes %zu arguments and gives %zu results; the call has %u and %u",
                   func->name ? func->name : "the prototype", func->param_count, func->result_count, arguments,
                   results);
}

void cj__check_types(const cj_ir_stmt *stmt, cj_report *report) {
    const cj_ir_inst   *inst = stmt->inst;
    const cj_row_shape *shape = inst->shape;
    place               at = {.stmt = stmt,
                              .mnemonic = inst->mnemonic,
                              .effects = shape->row->effects,
                              .is_media = shape->is_media,
                              .report = report};
    if (shape->vectors) check_vector_bits(&at, shape->is_move);
    if (shape->is_move) check_narrow(&at);
    if (shape->is_call) check_call(&at, inst);
    if (shape->is_media) cj__check_media(stmt, report);
    for (at.index = 0; at.index < inst->operand_count; at.index++) {
        const cj_ir_operand   *operand = &inst->operand[at.index];
        const cj_pattern_item *item = shape->item[at.index];
        const cj_word          want = (cj_word)shape->want[at.index];
        if (inst->mnemonic->vector == 1 && is_simple(operand, want)) continue;
        at.is_number = item->number_only;
        at.may_be_wider = shape->may_be_wider && item->kind != 't';
        check_operand(&at, operand, item, want);
    }
}
