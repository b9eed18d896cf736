// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

cj_reg cj__last_warp(cj_func *f, cj_reg leader, cj_reg counter, unsigned count) {
    cj_ptx(f, "bar.warp.sync -1; // all lanes have stored their partials:");
    cj_reg before = cj_let(f, "u32", "before",
                           "@$2 atom.acq_rel.gpu.global.inc.u32 $1, [$3], $4; // lane 0 publishes them", leader,
                           counter, count - 1);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, 0, 31, -1;", before);
    return cj_eq(f, "came_last", before, count - 1);
}

void cj__last_warp_sees(cj_func *f) { cj_ptx(f, "bar.warp.sync -1; // all lanes see what lane 0 has acquired"); }

cj_reg cj__last_block(cj_func *f, cj_reg thread, cj_reg counter, unsigned count, const char *stored,
                      const char *counted) {
    cj_reg ticket = cj_shared_address(f, cj_shared(f, "u32", "ticket", 1, 4)), before = cj_u32(f, "before");
    cj_ptx(f, "bar.sync 0; // $1", stored);
    CJ_IF(f, cj_eq(f, "first_thread", thread, 0), "counted") {
        cj_ptx(f, "atom.acq_rel.gpu.global.inc.u32 $1, [$2], $3; // publishes them, and acquires the others'", before,
               counter, count - 1);
        cj_ptx(f, "st.shared.u32 [$1], $2;", ticket, before);
    }
    cj_ptx(f, "bar.sync 0; // $1", counted);
    cj_ptx(f, "ld.shared.u32 $1, [$2];", before, ticket);
    return cj_eq(f, "came_last", before, count - 1);
}
