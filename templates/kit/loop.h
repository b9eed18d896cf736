// SPDX-License-Identifier: Apache-2.0
// A loop that the threads of a block share: thread t takes every `threads`-th step, from its own on.
//
//     CJ_SHARE(f, at, "at", thread, 16, 256, bytes) {     // for (u32 at = 16 * thread; at < bytes; at += 16 * 256)
//         …
//     }
//
// It tests at its head: many threads have no step, or all the same number. The body ends at its closing brace alone (control.h).
#ifndef CJ_TEMPLATES_LOOP_H
#define CJ_TEMPLATES_LOOP_H

#include <clusterjit/control.h>

typedef struct cj_share {
    cj_body  loop;
    cj_reg   at;
    uint32_t stride;
} cj_share;

cj_share cj__share_begin(cj_func *f, const char *name, cj_reg thread, uint32_t step, uint32_t threads, uint32_t end);
void     cj__share_end(cj_share *share);

#define CJ_SHARE(f, i, name, thread, step, threads, end)                                                             \
    for (cj_share i##_share = cj__share_begin((f), (name), (thread), (step), (threads), (end)); i##_share.loop.open; \
         cj__share_end(&i##_share))                                                                                  \
        for (cj_reg i = i##_share.at, *i##_once = &i; i##_once; i##_once = NULL)

#endif
