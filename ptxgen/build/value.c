// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/value.h>
#include <stdio.h>
#include <string.h>

#include "builder.h"

enum { OPERANDS = 20, TEXT = 80 };

cj_reg cj_let_args(cj_func *f, const char *file, int line, const char *type, const char *name, const cj_arg *arg,
                   unsigned count) {
    cj_arg       all[1 + OPERANDS] = {{0}};
    const cj_reg made = cj_register(f, type, name);
    if (!made.id || !NEEDS(f, arg) || !count || count > OPERANDS) return (cj_reg){0};
    all[0] = arg[0];
    all[1] = CJ_ARG(made);
    memcpy(all + 2, arg + 1, (count - 1) * sizeof *arg);
    cj_ptx_args(f, file, line, all, count + 1);
    return made;
}

void cj_registers(cj_func *f, const char *type, const char *name, unsigned count, cj_reg *reg) {
    char numbered[TEXT];
    if (!NEEDS(f, name) || !NEEDS(f, reg)) return;
    for (unsigned i = 0; i < count; i++) {
        snprintf(numbered, sizeof numbered, "%s_%u", name, i);
        reg[i] = cj_register(f, type, count > 1 ? numbered : name);
    }
}

// ---- operations

// How an operation's instruction and its result follow from the operands' type.
typedef enum result_type { AS_OPERANDS, PREDICATE, TWICE_AS_WIDE } result_type;

static const struct operation {
    const char *name, *suffix;  // of integers, ".lo" after the name
    bool        bits;           // the instruction is written with a type of bits
    result_type result;
} operations[] = {
    {"add", "", false, AS_OPERANDS},
    {"sub", "", false, AS_OPERANDS},
    {"mul", ".lo", false, AS_OPERANDS},
    {"mad", ".lo", false, AS_OPERANDS},
    {"div", "", false, AS_OPERANDS},
    {"rem", "", false, AS_OPERANDS},
    {"min", "", false, AS_OPERANDS},
    {"max", "", false, AS_OPERANDS},
    {"mul.wide", "", false, TWICE_AS_WIDE},
    {"mad.wide", "", false, TWICE_AS_WIDE},
    {"and", "", true, AS_OPERANDS},
    {"or", "", true, AS_OPERANDS},
    {"xor", "", true, AS_OPERANDS},
    {"shl", "", true, AS_OPERANDS},
    {"shr", "", false, AS_OPERANDS},
    {"setp.eq", "", false, PREDICATE},
    {"setp.ne", "", false, PREDICATE},
    {"setp.lt", "", false, PREDICATE},
    {"setp.le", "", false, PREDICATE},
    {"setp.gt", "", false, PREDICATE},
    {"setp.ge", "", false, PREDICATE},
};

static const struct operation *find_operation(const char *name) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(operations[i].name, name)) return &operations[i];
    return NULL;
}

// The type of the first register among the operands.
static const char *operand_type(const cj_func *f, const cj_arg *arg, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (arg[i].kind == CJ_ARG_REG) return cj_reg_type(f, (cj_reg){arg[i].as.id});
    return NULL;
}

// "b32" for u32, s32 and f32; a predicate stays one.
static const char *bits_of(const char *type, char buffer[8]) {
    if (strcmp(type, "pred") != 0) snprintf(buffer, 8, "b%s", type + 1);
    return strcmp(type, "pred") != 0 ? buffer : type;
}

static const char *twice_as_wide(const char *type) {
    static const struct {
        const char *narrow, *wide;
    } types[] = {{"u16", "u32"}, {"s16", "s32"}, {"u32", "u64"}, {"s32", "s64"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].narrow, type)) return types[i].wide;
    return type;  // the instruction is refused by its own name
}

static const char *type_of_result(const struct operation *op, const char *type) {
    switch (op->result) {
    case PREDICATE: return "pred";
    case TWICE_AS_WIDE: return twice_as_wide(type);
    case AS_OPERANDS: return type;
    }
    return type;
}

enum { OPERATION_OPERANDS = 3 };

// The line of an operation: "mad.lo.u32 $1, $2, $3, $4;". NULL, with the error said, where there is none.
static const struct operation *operation_line(cj_func *f, const char *file, int line, const char *operation,
                                              const char **type, const cj_arg *arg, unsigned count, char text[TEXT]) {
    static const char *const operands[] = {"", "$1, $2", "$1, $2, $3", "$1, $2, $3, $4"};
    const struct operation  *op = operation ? find_operation(operation) : NULL;
    char                     buffer[8];
    if (!f || !NEEDS(f, arg)) return NULL;
    *type = operand_type(f, arg, count);
    if (!op || !*type || !count || count > OPERATION_OPERANDS) {
        cj__func_refuse(f, "operand-missing", "%s:%d: '%s' needs a register of this function among its 1 to %d operands",
                        file, line, operation ? operation : "NULL", OPERATION_OPERANDS);
        return NULL;
    }
    snprintf(text, TEXT, "%s%s.%s %s;", op->name, **type == 'f' ? "" : op->suffix,
             op->bits ? bits_of(*type, buffer) : *type, operands[count]);
    return op;
}

cj_reg cj_operation_args(cj_func *f, const char *file, int line, const char *operation, const char *name,
                         const cj_arg *arg, unsigned count) {
    char                    text[TEXT];
    cj_arg                  all[1 + OPERATION_OPERANDS];
    const char             *type;
    const struct operation *op = operation_line(f, file, line, operation, &type, arg, count, text);
    if (!op) return (cj_reg){0};
    all[0] = cj_arg_word(text);
    memcpy(all + 1, arg, count * sizeof *arg);
    return cj_let_args(f, file, line, type_of_result(op, type), name, all, count + 1);
}

void cj_update_args(cj_func *f, const char *file, int line, cj_reg x, const char *operation, const cj_arg *arg,
                    unsigned count) {
    char        text[TEXT];
    cj_arg      all[2 + OPERATION_OPERANDS] = {{0}, CJ_ARG(x), CJ_ARG(x)};  // the text; the result; the first operand
    const char *type;
    if (!NEEDS(f, arg) || count >= OPERATION_OPERANDS) count = OPERATION_OPERANDS;  // refused by the next call
    else memcpy(all + 3, arg, count * sizeof *arg);
    if (!operation_line(f, file, line, operation, &type, all + 2, count + 1, text)) return;
    all[0] = cj_arg_word(text);
    cj_ptx_args(f, file, line, all, count + 3);
}

// The register's type; NULL, with the error said, of a handle that is none of this function's.
static const char *known_type(cj_func *f, const char *file, int line, const char *what, cj_reg reg) {
    const char *type = cj_reg_type(f, reg);
    if (!type) cj__func_refuse(f, "operand-missing", "%s:%d: %s is no register of this function", file, line, what);
    return type;
}

cj_reg cj_convert_args(cj_func *f, const char *file, int line, const char *type, const char *name, cj_reg from) {
    const char *own = known_type(f, file, line, "what cj_cvt converts", from);
    const cj_arg arg[] = {CJ_ARG("cvt.$3.$4 $1, $2;"), CJ_ARG(from), CJ_ARG(type), CJ_ARG(own)};
    return own ? cj_let_args(f, file, line, type, name, arg, 4) : (cj_reg){0};
}

void cj_set_args(cj_func *f, const char *file, int line, cj_reg to, cj_arg from) {
    const char  *type = known_type(f, file, line, "what cj_set sets", to);
    const cj_arg arg[] = {CJ_ARG("mov.$3 $1, $2;"), CJ_ARG(to), from, CJ_ARG(type)};
    if (type) cj_ptx_args(f, file, line, arg, 4);
}

void cj_set_if_args(cj_func *f, const char *file, int line, cj_reg when, cj_reg to, cj_arg from) {
    const char  *type = known_type(f, file, line, "what cj_set_if sets", to);
    const cj_arg arg[] = {CJ_ARG("@$1 mov.$4 $2, $3;"), CJ_ARG(when), CJ_ARG(to), from, CJ_ARG(type)};
    if (type) cj_ptx_args(f, file, line, arg, 5);
}
