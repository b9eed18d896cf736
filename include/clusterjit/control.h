// SPDX-License-Identifier: Apache-2.0
// Structured control: conditions and loops whose body is a block of C.
//
//     CJ_IF(f, inside, "outside") {                      // @!inside bra outside;
//         cj_ptx(f, "st.global.f32 [$1], $2;", at, x);
//     }                                                  // outside:
//
//     CJ_IF_ELSE(f, inside, "outside", "done") {         // @!inside bra outside;
//         cj_ptx(f, "ld.global.f32 $1, [$2];", x, at);   // …; bra done;
//     } else {                                           // outside:
//         cj_set(f, x, 0.0f);                            // …
//     }                                                  // done:
//
//     CJ_FOR(f, i, "u32", "i", thread, n, 256) {         // for (u32 i = thread; i < n; i += 256): one test before, one at the end
//         …
//     }
//
//     CJ_COUNT_DOWN(f, "next_round", left, 1) {          // next_round:
//         …                                              // …; sub left, left, 1; setp.ne more, left, 0;
//     }                                                  // @more bra next_round;
//
// A body is left at its closing brace alone: no break, goto or return in it, for the line that closes it would not be written.
// `done` and `label` name labels of the emitted text; a name in use gets a number after it. A body may stand in another.
// Threads of a warp that take different ways are apart in the body: collective instructions there need bar.warp.sync first.
// Where a name ends in _UNI, all threads of a warp go the same way (bra.uni): ptxas then joins no lanes after the body.
#ifndef CLUSTERJIT_CONTROL_H
#define CLUSTERJIT_CONTROL_H

#include <clusterjit/value.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// What an open body knows of its end. Its fields are this header's.
typedef struct cj_body {
    cj_func  *f;
    cj_label  top, end;   // where it begins again; what stands after it
    cj_label  other;      // CJ_IF_ELSE: where the second block begins
    cj_reg    again;      // branches to `top` where it holds
    cj_reg    index;      // CJ_FOR, CJ_COUNT: what is counted, and compared
    cj_arg    limit, step;
    int       down;       // CJ_COUNT_DOWN: the index is counted down to 0
    int       uniform;    // its branches are bra.uni
    int       open;       // how many blocks are still to be written: 2 in the first block of CJ_IF_ELSE, then 1, then 0
} cj_body;

// The body, by threads for which `p` holds (CJ_IF) or does not (CJ_UNLESS).
#define CJ_IF(f, p, done)         CJ__BODY(cj_if_begin((f), (p), 1, (done), 0))
#define CJ_IF_UNI(f, p, done)     CJ__BODY(cj_if_begin((f), (p), 1, (done), 1))
#define CJ_UNLESS(f, p, done)     CJ__BODY(cj_if_begin((f), (p), 0, (done), 0))
#define CJ_UNLESS_UNI(f, p, done) CJ__BODY(cj_if_begin((f), (p), 0, (done), 1))

// CJ_IF where `p` may be cj_always() (clusterjit/cluster.h), which means no branch.
#define CJ_WHERE(f, p, done) CJ__BODY(cj_where_begin((f), (p), (done)))

// Two blocks of C: the first, by threads for which `p` holds, and the one after `else`, by the others. Both must be there, in
// braces; `other` and `done` name the labels where the second begins and where it ends.
#define CJ_IF_ELSE(f, p, other, done)     CJ__IF_ELSE(cj_if_else_begin((f), (p), (other), (done), 0))
#define CJ_IF_ELSE_UNI(f, p, other, done) CJ__IF_ELSE(cj_if_else_begin((f), (p), (other), (done), 1))
#define CJ__IF_ELSE(begin)                CJ__IF_ELSE_NAMED(begin, CJ__JOIN(cj__body_, __LINE__))
#define CJ__IF_ELSE_NAMED(begin, name)    CJ__BODY_NAMED(begin, name) if (name.open == 2)

// The body once; cj_leave ends it early: `once` names it in C.
#define CJ_ONCE(f, once, done)     CJ__BODY_NAMED(cj_once_begin((f), (done), 0), once)
#define CJ_ONCE_UNI(f, once, done) CJ__BODY_NAMED(cj_once_begin((f), (done), 1), once)

// do … while (p): the body, and again as long as the predicate `p` holds. `p` is evaluated where the body ends: a register that
// the body sets, or a call that makes the predicate, CJ_DO(f, "again", cj_ne(f, "more", left, 0)).
#define CJ_DO(f, label, p)             CJ__DO(f, label, p, 0, CJ__JOIN(cj__body_, __LINE__))
#define CJ_DO_UNI(f, label, p)         CJ__DO(f, label, p, 1, CJ__JOIN(cj__body_, __LINE__))
#define CJ__DO(f, label, p, uni, name) \
    for (cj_body name = cj_do_begin((f), (label), uni); name.open; cj_do_end(&name, (p)))

// A counted loop, whose first turn needs no test: do … while ((i += step) < limit), and do … while ((left -= step) != 0). `i`
// and `left` are registers that hold the first value, and count; `limit` and `step` are numbers or registers.
#define CJ_COUNT(f, label, i, step, limit)      CJ__COUNT_UP(f, label, i, step, limit, 0)
#define CJ_COUNT_UNI(f, label, i, step, limit)  CJ__COUNT_UP(f, label, i, step, limit, 1)
#define CJ_COUNT_DOWN(f, label, left, step)     CJ__BODY(cj_count_begin((f), (label), (left), CJ_ARG(step), NULL, 0))
#define CJ_COUNT_DOWN_UNI(f, label, left, step) CJ__BODY(cj_count_begin((f), (label), (left), CJ_ARG(step), NULL, 1))
#define CJ__COUNT_UP(f, label, i, step, limit, uni) \
    CJ__BODY(cj_count_begin((f), (label), (i), CJ_ARG(step), CJ_OPERANDS(limit), uni))

// The body again and again; cj_leave ends it: `loop` names the loop in C, `label` and `done` its labels.
#define CJ_LOOP(f, loop, label, done)     CJ__BODY_NAMED(cj_loop_begin((f), (label), (done), 0), loop)
#define CJ_LOOP_UNI(f, loop, label, done) CJ__BODY_NAMED(cj_loop_begin((f), (label), (done), 1), loop)
// Out of the loop or the body of CJ_ONCE, or to the loop's next turn; without a loop nothing is written.
CJ_API void cj_leave(const cj_body *loop, cj_reg p);         // @p bra done
CJ_API void cj_leave_unless(const cj_body *loop, cj_reg p);  // @!p bra done
CJ_API void cj_repeat(const cj_body *loop, cj_reg p);        // @p bra label: the next turn at once

// for (type i = first; i < limit; i += step). `i` names the index in C, `name` its register; first, limit and step are
// numbers or registers. Of a type without a sign i + step must not exceed the type.
#define CJ_FOR(f, i, type, name, first, limit, step)                                                              \
    for (cj_body i##_loop = cj_for_begin((f), (type), (name), CJ_ARG(first), CJ_ARG(limit), CJ_ARG(step));         \
         i##_loop.open; cj_body_end(&i##_loop))                                                                    \
        for (cj_reg i = i##_loop.index, *i##_once = &i; i##_once; i##_once = NULL)

#define CJ__BODY(begin)             CJ__BODY_NAMED(begin, CJ__JOIN(cj__body_, __LINE__))
#define CJ__BODY_NAMED(begin, name) for (cj_body name = (begin); name.open; cj_body_end(&name))

CJ_API cj_body cj_if_begin(cj_func *f, cj_reg p, int holds, const char *done, int uniform);
CJ_API cj_body cj_where_begin(cj_func *f, cj_reg p, const char *done);
CJ_API cj_body cj_if_else_begin(cj_func *f, cj_reg p, const char *other, const char *done, int uniform);
CJ_API cj_body cj_once_begin(cj_func *f, const char *done, int uniform);
CJ_API cj_body cj_do_begin(cj_func *f, const char *label, int uniform);
CJ_API cj_body cj_count_begin(cj_func *f, const char *label, cj_reg index, cj_arg step, const cj_arg *limit,  // NULL: down to 0
                              int uniform);
CJ_API cj_body cj_loop_begin(cj_func *f, const char *label, const char *done, int uniform);
CJ_API cj_body cj_for_begin(cj_func *f, const char *type, const char *name, cj_arg first, cj_arg limit, cj_arg step);
CJ_API void    cj_do_end(cj_body *body, cj_reg p);
CJ_API void    cj_body_end(cj_body *body);

#ifdef __cplusplus
}
#endif
#endif
