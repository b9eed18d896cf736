// SPDX-License-Identifier: Apache-2.0
// Structured control: conditions and loops whose body is a block of C.
//
//     CJ_IF(f, inside, "outside") {                      // @!inside bra outside;
//         cj_ptx(f, "st.global.f32 [$1], $2;", at, x);
//     }                                                  // outside:
//
//     CJ_FOR(f, i, "u32", "i", thread, n, 256) {         // for (u32 i = thread; i < n; i += 256): one test before, one at the end
//         …
//     }
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
    cj_reg    again;      // branches to `top` where it holds
    cj_reg    index;      // CJ_FOR: what is added to, and compared
    cj_arg    limit, step;
    int       uniform;    // its branches are bra.uni
    int       open;       // 1 until the body has been written once
} cj_body;

// The body, by threads for which `p` holds (CJ_IF) or does not (CJ_UNLESS).
#define CJ_IF(f, p, done)         CJ__BODY(cj_if_begin((f), (p), 1, (done), 0))
#define CJ_IF_UNI(f, p, done)     CJ__BODY(cj_if_begin((f), (p), 1, (done), 1))
#define CJ_UNLESS(f, p, done)     CJ__BODY(cj_if_begin((f), (p), 0, (done), 0))
#define CJ_UNLESS_UNI(f, p, done) CJ__BODY(cj_if_begin((f), (p), 0, (done), 1))

// The body once, and again as long as the predicate `p`, which the body sets, holds at its end.
#define CJ_DO(f, label, p)     CJ__BODY(cj_do_begin((f), (label), (p), 0))
#define CJ_DO_UNI(f, label, p) CJ__BODY(cj_do_begin((f), (label), (p), 1))

// The body again and again; cj_leave ends it: `loop` names the loop in C, `label` and `done` its labels.
#define CJ_LOOP(f, loop, label, done)     CJ__LOOP(loop, cj_loop_begin((f), (label), (done), 0))
#define CJ_LOOP_UNI(f, loop, label, done) CJ__LOOP(loop, cj_loop_begin((f), (label), (done), 1))
#define CJ__LOOP(loop, begin)             for (cj_body loop = (begin); loop.open; cj_body_end(&loop))
// Out of the loop, or to its next turn; without a loop nothing is written.
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
CJ_API cj_body cj_do_begin(cj_func *f, const char *label, cj_reg again, int uniform);
CJ_API cj_body cj_loop_begin(cj_func *f, const char *label, const char *done, int uniform);
CJ_API cj_body cj_for_begin(cj_func *f, const char *type, const char *name, cj_arg first, cj_arg limit, cj_arg step);
CJ_API void     cj_body_end(cj_body *body);

#ifdef __cplusplus
}
#endif
#endif
