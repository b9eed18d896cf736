// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

cj_share cj__share_begin(cj_func *f, cj_reg first, cj_arg stride, cj_arg end) {
    cj_share s = {.loop = cj_loop_begin(f, "again", "done", 0), .at = first, .stride = stride};
    cj_leave(&s.loop, cj_ge(f, "past", first, end));
    return s;
}

cj_share cj__blocks_begin(cj_func *f, const char *name, cj_arg end) {
    cj_reg first = cj_mov(f, "u32", name, "%ctaid.x"), blocks = cj_mov(f, "u32", "blocks", "%nctaid.x");
    return cj__share_begin(f, first, CJ_ARG(blocks), end);
}

void cj__share_end(cj_share *share) {
    cj_func *f = share->loop.f;
    cj_ptx(f, "add.$3 $1, $1, $2;", share->at, share->stride, cj_reg_type(f, share->at));
    cj_body_end(&share->loop);
}
