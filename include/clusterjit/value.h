// SPDX-License-Identifier: Apache-2.0
// Values: an instruction that makes a named register of its operands, in one call.
//
//     cj_reg thread = cj_mov(f, "u32", "thread", "%tid.x");
//     cj_reg index  = cj_mad(f, "index", block, 256, thread);           // mad.lo.u32 index, block, 256, thread;
//     cj_reg at     = cj_mad_wide(f, "at", index, 4, base);             // mad.wide.u32, a u64
//     cj_reg inside = cj_lt(f, "inside", index, n);                     // setp.lt.u32
//     cj_reg x      = cj_let(f, "f32", "x", "@$2 ld.global.f32 $1, [$3];", inside, at);
//
// Operands are what cj_ptx takes: registers, whole numbers, floats, words. The first register among them says the type; the
// result has the same, where nothing else is said here. At least one operand is a register. A name in use gets a number after
// it. Errors stick to the builder as those of cj_ptx do, and name the C line; the call then returns an unset handle.
#ifndef CLUSTERJIT_VALUE_H
#define CLUSTERJIT_VALUE_H

#include <clusterjit/ptx.h>

#ifdef __cplusplus
extern "C" {
#endif

// A new register of `type`, made by a line (or several) in which it is $1 and the operands are $2, $3, …: at most 19.
#define cj_let(f, type, name, ...) \
    cj_let_args((f), __FILE__, __LINE__, (type), (name), CJ_OPERANDS(__VA_ARGS__), CJ__COUNT(__VA_ARGS__))

// The call beneath it: arg[0] is the text, arg[k] stands for $(k + 1).
CJ_API cj_reg cj_let_args(cj_func *f, const char *file, int line, const char *type, const char *name, const cj_arg *arg,
                          unsigned count);

// `count` new registers of `type` in reg[0] to reg[count - 1]: name_0, name_1, …; one alone is `name`.
CJ_API void cj_registers(cj_func *f, const char *type, const char *name, unsigned count, cj_reg *reg);

// ---- arithmetic (PTX ISA 9.7.1, 9.7.3): of integers the lower half of products; of floats as the instruction rounds by itself

#define cj_add(f, name, a, b)    CJ__OP(f, "add", name, a, b)
#define cj_sub(f, name, a, b)    CJ__OP(f, "sub", name, a, b)
#define cj_mul(f, name, a, b)    CJ__OP(f, "mul", name, a, b)
#define cj_mad(f, name, a, b, c) CJ__OP(f, "mad", name, a, b, c)  // a * b + c of integers
#define cj_div(f, name, a, b)    CJ__OP(f, "div", name, a, b)     // of integers; unsigned ones by a power of two that is a number: shr, and
#define cj_rem(f, name, a, b)    CJ__OP(f, "rem", name, a, b)
#define cj_min(f, name, a, b)    CJ__OP(f, "min", name, a, b)
#define cj_max(f, name, a, b)    CJ__OP(f, "max", name, a, b)

// Products of 32 bits by 32 in 64, and their sum with 64 bits: the result is u64 or s64.
#define cj_mul_wide(f, name, a, b)    CJ__OP(f, "mul.wide", name, a, b)
#define cj_mad_wide(f, name, a, b, c) CJ__OP(f, "mad.wide", name, a, b, c)

// ---- bits (PTX ISA 9.7.8): of predicates, too, and, or, xor; shr fills with the sign where the type has one

#define cj_and(f, name, a, b) CJ__OP(f, "and", name, a, b)
#define cj_or(f, name, a, b)  CJ__OP(f, "or", name, a, b)
#define cj_xor(f, name, a, b) CJ__OP(f, "xor", name, a, b)
#define cj_shl(f, name, a, b) CJ__OP(f, "shl", name, a, b)
#define cj_shr(f, name, a, b) CJ__OP(f, "shr", name, a, b)

// ---- comparisons (PTX ISA 9.7.6): a predicate

#define cj_eq(f, name, a, b) CJ__OP(f, "setp.eq", name, a, b)
#define cj_ne(f, name, a, b) CJ__OP(f, "setp.ne", name, a, b)
#define cj_lt(f, name, a, b) CJ__OP(f, "setp.lt", name, a, b)
#define cj_le(f, name, a, b) CJ__OP(f, "setp.le", name, a, b)
#define cj_gt(f, name, a, b) CJ__OP(f, "setp.gt", name, a, b)
#define cj_ge(f, name, a, b) CJ__OP(f, "setp.ge", name, a, b)

// p ? a : b; `type` is that of the result, `p` a register.
#define cj_select(f, type, name, p, a, b) cj_let(f, type, name, "selp.$5 $1, $2, $3, $4;", a, b, p, type)

// ---- copies and conversions

// A register, a number or a special register ("%tid.x") in a new register of that type; a number of 64 bits, too.
#define cj_mov(f, type, name, a) cj_let(f, type, name, "mov.$3 $1, $2;", a, type)

// The whole number `a` in another integer type: extended as its own type says, or its lower bits (PTX ISA 9.7.9, cvt).
#define cj_cvt(f, type, name, a) cj_convert_args((f), __FILE__, __LINE__, (type), (name), (a))

// x = a; and x = a under a predicate, or cj_always().
#define cj_set(f, x, a)         cj_set_args((f), __FILE__, __LINE__, (x), CJ_ARG(a))
#define cj_set_if(f, p, x, a)   cj_set_if_args((f), __FILE__, __LINE__, (p), (x), CJ_ARG(a))

// x = x operation operands: cj_update(f, sum, "add", 1) writes add.u32 sum, sum, 1; `operation` is one of the words of the
// calls above.
#define cj_update(f, x, operation, ...) \
    cj_update_args((f), __FILE__, __LINE__, (x), (operation), CJ_OPERANDS(__VA_ARGS__), CJ__COUNT(__VA_ARGS__))

// ---- the calls beneath

#define CJ__OP(f, operation, name, ...) \
    cj_operation_args((f), __FILE__, __LINE__, (operation), (name), CJ_OPERANDS(__VA_ARGS__), CJ__COUNT(__VA_ARGS__))

// `operation` is a word as above ("add", "mul.wide", "setp.lt"); its type is added to it.
CJ_API cj_reg cj_operation_args(cj_func *f, const char *file, int line, const char *operation, const char *name,
                                const cj_arg *arg, unsigned count);
CJ_API void   cj_update_args(cj_func *f, const char *file, int line, cj_reg x, const char *operation, const cj_arg *arg,
                             unsigned count);
CJ_API cj_reg cj_convert_args(cj_func *f, const char *file, int line, const char *type, const char *name, cj_reg from);
CJ_API void   cj_set_args(cj_func *f, const char *file, int line, cj_reg to, cj_arg from);
CJ_API void   cj_set_if_args(cj_func *f, const char *file, int line, cj_reg when, cj_reg to, cj_arg from);

#ifdef __cplusplus
}
#endif
#endif
