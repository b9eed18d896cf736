// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

cj_share cj__share_begin(cj_func *f, const char *name, cj_reg thread, uint32_t step, uint32_t threads, uint32_t end) {
    cj_share s = {.at = cj_mul(f, name, thread, step), .stride = step * threads};
    s.loop = cj_loop_begin(f, "again", "done", 0);
    cj_leave(&s.loop, cj_ge(f, "past", s.at, end));
    return s;
}

void cj__share_end(cj_share *share) {
    cj_ptx(share->loop.f, "add.u32 $1, $1, $2;", share->at, share->stride);
    cj_body_end(&share->loop);
}
