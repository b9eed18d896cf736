// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

cj_share cj__share_begin(cj_func *f, cj_reg first, cj_arg stride, cj_arg end) {
    cj_share s = {.loop = cj_loop_begin(f, "again", "done", 0), .at = first, .stride = stride};
    cj_leave(&s.loop, cj_ge(f, "past", first, end));
    return s;
}

void cj__share_end(cj_share *share) {
    cj_func *f = share->loop.f;
    cj_ptx(f, "add.$3 $1, $1, $2;", share->at, share->stride, cj_reg_type(f, share->at));
    cj_body_end(&share->loop);
}
