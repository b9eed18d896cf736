// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

cj_share cj__share_begin(cj_func *f, cj_reg first, uint32_t stride, cj_arg end) {
    cj_share s = {.loop = cj_loop_begin(f, "again", "done", 0), .at = first, .stride = stride};
    cj_leave(&s.loop, cj_ge(f, "past", first, end));
    return s;
}

void cj__share_end(cj_share *share) {
    cj_ptx(share->loop.f, "add.u32 $1, $1, $2;", share->at, share->stride);
    cj_body_end(&share->loop);
}
