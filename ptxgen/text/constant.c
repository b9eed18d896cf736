// SPDX-License-Identifier: Apache-2.0
// Constant expressions (PTX ISA 4.6): integers of 64 bits, signed or not, and floats, which are doubles.
#include <string.h>

#include "parser.h"

typedef enum op {
    OP_OR_ELSE, OP_AND_THEN, OP_OR, OP_XOR, OP_AND, OP_EQ, OP_NE, OP_LE, OP_GE, OP_LT, OP_GT, OP_SHL, OP_SHR, OP_ADD,
    OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_COUNT
} op;

// Longer ones first. Operators of a higher level bind stronger.
static const struct {
    const char *text;
    uint8_t     length, level;
    bool        takes_floats;
} operators[OP_COUNT] = {
    [OP_OR_ELSE] = {"||", 2, 1, false}, [OP_AND_THEN] = {"&&", 2, 2, false}, [OP_EQ] = {"==", 2, 6, true},
    [OP_NE] = {"!=", 2, 6, true},       [OP_LE] = {"<=", 2, 7, true},        [OP_GE] = {">=", 2, 7, true},
    [OP_SHL] = {"<<", 2, 8, false},     [OP_SHR] = {">>", 2, 8, false},      [OP_OR] = {"|", 1, 3, false},
    [OP_XOR] = {"^", 1, 4, false},      [OP_AND] = {"&", 1, 5, false},       [OP_LT] = {"<", 1, 7, true},
    [OP_GT] = {">", 1, 7, true},        [OP_ADD] = {"+", 1, 9, true},        [OP_SUB] = {"-", 1, 9, true},
    [OP_MUL] = {"*", 1, 10, true},      [OP_DIV] = {"/", 1, 10, true},       [OP_REM] = {"%", 1, 10, false},
};

enum { LEVEL_MUL = 10 };

static const op two_characters[] = {OP_OR_ELSE, OP_AND_THEN, OP_EQ, OP_NE, OP_LE, OP_GE, OP_SHL, OP_SHR};

// The operator here; OP_COUNT: none.
static op operator_at(const cj_parser *p) {
    size_t left = (size_t)(p->end - p->at);
    for (size_t i = 0; left > 1 && i < sizeof two_characters / sizeof *two_characters; i++)
        if (!memcmp(p->at, operators[two_characters[i]].text, 2)) return two_characters[i];
    for (op which = 0; left && which < OP_COUNT; which++)
        if (operators[which].length == 1 && *p->at == *operators[which].text) return which;
    return OP_COUNT;
}

static double number_of(const cj_ir_operand *value) {
    double number;
    uint32_t narrow = (uint32_t)value->bits;
    float single;
    memcpy(&single, &narrow, sizeof single);
    memcpy(&number, &value->bits, sizeof number);
    return value->is_f32 ? (double)single : number;
}

static cj_ir_operand float_value(double number) {
    cj_ir_operand value = {.kind = CJ_OPERAND_FLOAT};
    memcpy(&value.bits, &number, sizeof number);
    return value;
}

static cj_ir_operand int_value(uint64_t bits, bool is_unsigned) {
    return (cj_ir_operand){.kind = CJ_OPERAND_INT, .bits = bits, .is_unsigned = is_unsigned};
}

static cj_ir_operand float_result(op which, double a, double b) {
    switch (which) {
    case OP_EQ: return int_value(a == b, false);
    case OP_NE: return int_value(a != b, false);
    case OP_LE: return int_value(a <= b, false);
    case OP_GE: return int_value(a >= b, false);
    case OP_LT: return int_value(a < b, false);
    case OP_GT: return int_value(a > b, false);
    case OP_ADD: return float_value(a + b);
    case OP_SUB: return float_value(a - b);
    case OP_MUL: return float_value(a * b);
    default: return float_value(a / b);
    }
}

// a / b or a % b; b is not 0. INT64_MIN / -1 wraps.
static uint64_t quotient(uint64_t a, uint64_t b, bool is_unsigned, bool remainder) {
    if (is_unsigned) return remainder ? a % b : a / b;
    if (b == UINT64_MAX) return remainder ? 0 : 0 - a;
    return (uint64_t)(remainder ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
}

static uint64_t shifted(uint64_t a, uint64_t by, bool is_unsigned, bool left) {
    uint64_t sign = !is_unsigned && a >> 63 ? UINT64_MAX : 0;
    if (by > 63) return left ? 0 : sign;
    if (left) return a << by;
    return by ? a >> by | sign << (64 - by) : a;
}

static cj_ir_operand int_result(op which, const cj_ir_operand *x, const cj_ir_operand *y) {
    uint64_t a = x->bits, b = y->bits;
    bool is_unsigned = x->is_unsigned || y->is_unsigned;
    bool less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;
    switch (which) {
    case OP_OR_ELSE: return int_value(a || b, false);
    case OP_AND_THEN: return int_value(a && b, false);
    case OP_OR: return int_value(a | b, true);
    case OP_XOR: return int_value(a ^ b, true);
    case OP_AND: return int_value(a & b, true);
    case OP_EQ: return int_value(a == b, false);
    case OP_NE: return int_value(a != b, false);
    case OP_LE: return int_value(less || a == b, false);
    case OP_GE: return int_value(!less, false);
    case OP_LT: return int_value(less, false);
    case OP_GT: return int_value(!less && a != b, false);
    case OP_SHL: return int_value(shifted(a, b, x->is_unsigned, true), x->is_unsigned);
    case OP_SHR: return int_value(shifted(a, b, x->is_unsigned, false), x->is_unsigned);
    case OP_ADD: return int_value(a + b, is_unsigned);
    case OP_SUB: return int_value(a - b, is_unsigned);
    case OP_MUL: return int_value(a * b, is_unsigned);
    default: return int_value(quotient(a, b, is_unsigned, which == OP_REM), is_unsigned);
    }
}

static bool apply(cj_parser *p, const char *at, op which, cj_ir_operand *a, const cj_ir_operand *b) {
    bool is_float = a->kind == CJ_OPERAND_FLOAT || b->kind == CJ_OPERAND_FLOAT;
    if (is_float && (a->kind != b->kind || !operators[which].takes_floats))
        return cj__parse_error(p, at, "syntax", "'%s' does not take %s", operators[which].text,
                               a->kind != b->kind ? "a float and an integer" : "floats");
    if (!is_float && !b->bits && (which == OP_DIV || which == OP_REM))
        return cj__parse_error(p, at, "number", "this expression divides by zero");
    *a = is_float ? float_result(which, number_of(a), number_of(b)) : int_result(which, a, b);
    return true;
}

static bool expression(cj_parser *p, cj_ir_operand *value);

// (expression), (.s64)…, (.u64)…
static bool parenthesized(cj_parser *p, cj_ir_operand *value, bool (*unary)(cj_parser *p, cj_ir_operand *value)) {
    cj__take(p, '(');
    if (!cj__at(p, '.') || (p->at + 1 < p->end && p->at[1] >= '0' && p->at[1] <= '9'))
        return expression(p, value) && cj__expect(p, ')', "after an expression");
    bool is_unsigned = cj__word_is(p, ".u64");
    if (!cj__take_word(p, ".u64") && !cj__take_word(p, ".s64"))
        return cj__expected(p, p->at, "(.s64) or (.u64)");
    const char *at = p->at;
    if (!cj__expect(p, ')', "after a cast") || !unary(p, value)) return false;
    if (value->kind != CJ_OPERAND_INT) return cj__parse_error(p, at, "syntax", "only integers are cast");
    value->is_unsigned = is_unsigned;
    return true;
}

static bool apply_unary(cj_parser *p, const char *at, char sign, cj_ir_operand *value) {
    if (value->kind == CJ_OPERAND_FLOAT) {
        if (sign != '-' && sign != '+') return cj__parse_error(p, at, "syntax", "'%c' does not take a float", sign);
        if (sign == '-') value->bits ^= value->is_f32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
        return true;
    }
    if (sign == '-') value->bits = 0 - value->bits;
    if (sign == '~') *value = int_value(~value->bits, true);
    if (sign == '!') *value = int_value(!value->bits, false);
    return true;
}

// -0f3F800000 is no constant to ptxas, though -0d… and -1.5 are.
static bool no_single(cj_parser *p) {
    const bool single = p->end - p->at > 1 && *p->at == '0' && (p->at[1] == 'f' || p->at[1] == 'F');
    return !single || cj__parse_error(p, p->at, "syntax", "no sign stands before 0f…: its highest bit is the sign");
}

static bool unary(cj_parser *p, cj_ir_operand *value) {
    if (!cj__enter(p)) return false;
    const char *at = p->at;
    char first = at < p->end ? *at : 0;
    bool sign = first == '-' || first == '+' || first == '~' || first == '!', ok;
    uint64_t warp;
    if (sign) ok = cj__take(p, first) && no_single(p) && unary(p, value) && apply_unary(p, at, first, value);
    else if (first == '(') ok = parenthesized(p, value, unary);
    else if (!cj__name_is(p, "WARP_SZ")) ok = cj__literal(p, value);
    else if ((ok = cj__integer(p, &warp, "a number"))) *value = int_value(warp, false);
    p->depth--;
    return ok;
}

// What follows `value` and binds at least as strong as `level`.
static bool rest(cj_parser *p, cj_ir_operand *value, unsigned level) {
    for (;;) {
        const char *at = p->at;
        op which = operator_at(p);
        if (which == OP_COUNT || operators[which].level < level) return true;
        p->at += operators[which].length;
        cj__skip(p);
        cj_ir_operand right = {0};
        if (!unary(p, &right) || !rest(p, &right, operators[which].level + 1u)) return false;
        if (!apply(p, at, which, value, &right)) return false;
    }
}

// a ? b : c after the condition.
static bool choice(cj_parser *p, cj_ir_operand *value) {
    const char *at = p->at;
    if (!cj__take(p, '?')) return true;
    cj_ir_operand yes = {0}, no = {0};
    if (value->kind != CJ_OPERAND_INT) return cj__parse_error(p, at, "syntax", "the condition before '?' is a float");
    if (!expression(p, &yes) || !cj__expect(p, ':', "in a choice a ? b : c") || !expression(p, &no)) return false;
    *value = value->bits ? yes : no;
    return true;
}

static bool expression(cj_parser *p, cj_ir_operand *value) {
    if (!cj__enter(p)) return false;
    bool ok = unary(p, value) && rest(p, value, 1) && choice(p, value);
    p->depth--;
    return ok;
}

bool cj__constant(cj_parser *p, cj_ir_operand *operand) {
    const char *start = p->at;
    uint32_t column = operand->column;
    if (!unary(p, operand)) return false;
    bool more = p->at < p->end && !strchr(",;]})", *p->at);
    if (more && (!rest(p, operand, 1) || !choice(p, operand))) return false;
    operand->column = column;
    const char *end = start;  // of a number alone, which is short
    while (end < p->at && *end > ' ' && *end != '/') end++;
    bool alone = !more && *start >= '0' && *start <= '9';
    operand->text = alone ? cj__arena_text(p->arena, start, (size_t)(end - start)) : cj__text_plain(p, start, p->at);
    return operand->text || cj__parse_memory(p);
}

bool cj__offset(cj_parser *p, int64_t *offset, bool *written) {
    if (cj__at(p, '-'))
        return cj__parse_error(p, p->at, "syntax", "an offset begins with '+', as in + -4; ptxas refuses '-' here");
    while (cj__at(p, '+') || cj__at(p, '-')) {
        const char *at = p->at;
        bool minus = cj__at(p, '-');
        cj_ir_operand value = {0};
        cj__take(p, *at);
        bool number = p->at < p->end && (!cj__name_length(p) || cj__name_is(p, "WARP_SZ"));
        if (!number)
            return cj__expected(p, p->at, "an offset in bytes");
        if (!unary(p, &value) || !rest(p, &value, LEVEL_MUL)) return false;
        if (value.kind != CJ_OPERAND_INT) return cj__parse_error(p, at, "syntax", "an offset must be a whole number");
        *offset = (int64_t)((uint64_t)*offset + (minus ? 0 - value.bits : value.bits));
        *written = true;
    }
    return true;
}
