// SPDX-License-Identifier: Apache-2.0
// A loop that the threads of a block share: each takes every so-many-th step, from its own on.
//
//     CJ_SHARE(f, at, "at", thread, 16, 256, bytes) {     // for (u32 at = 16 * thread; at < bytes; at += 16 * 256)
//         …
//     }
//
// It tests at its head: threads have no step, or all the same number. The body ends at its closing brace alone (control.h).
#ifndef CJ_LOOP_H
#define CJ_LOOP_H

#include <clusterjit/control.h>

typedef struct cj_share {
    cj_body loop;
    cj_reg  at;
    cj_arg  stride;
} cj_share;

cj_share cj__share_begin(cj_func *f, cj_reg first, cj_arg stride, cj_arg end);
cj_share cj__blocks_begin(cj_func *f, const char *name, cj_arg end);
void     cj__share_end(cj_share *share);

// `end` and a stride are numbers or registers.
#define CJ_SHARE(f, i, name, thread, step, threads, end) \
    CJ_STRIDE(f, i, cj_mul((f), (name), (thread), (step)), (step) * (threads), end)

// The same from `first` on, a register that becomes the index.
#define CJ_STRIDE(f, i, first, stride, end)                                                                    \
    for (cj_share i##_share = cj__share_begin((f), (first), CJ_ARG(stride), CJ_ARG(end)); i##_share.loop.open; \
         cj__share_end(&i##_share))                                                                            \
        for (cj_reg i = i##_share.at, *i##_once = &i; i##_once; i##_once = NULL)

// Each block takes every so-many-th of `end` items, as many as there are blocks, from its own number on.
#define CJ_BLOCKS(f, i, name, end)                                                             \
    for (cj_share i##_share = cj__blocks_begin((f), (name), CJ_ARG(end)); i##_share.loop.open; \
         cj__share_end(&i##_share))                                                            \
        for (cj_reg i = i##_share.at, *i##_once = &i; i##_once; i##_once = NULL)

#endif
