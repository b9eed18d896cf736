// SPDX-License-Identifier: Apache-2.0
#include "cluster_line.h"

void cj_mbarrier_init(cj_func *f, cj_reg when, cj_reg own, cj_arg arrivals, const char *why) {
    CALL_LINE(f, "@$1 mbarrier.init.shared.b64 [$2], $3;$4$5", when, own, arrivals, WHY(why));
}

void cj_mbarrier_init_done(cj_func *f, const char *why) {
    CALL_LINE(f, "fence.mbarrier_init.release.cluster;$1$2", WHY(why));
}

void cj_mbarrier_inval(cj_func *f, cj_reg when, cj_reg own, const char *why) {
    CALL_LINE(f, "@$1 mbarrier.inval.shared.b64 [$2];$3$4", when, own, WHY(why));
}

void cj_mbarrier_expect(cj_func *f, cj_reg when, cj_reg own, cj_arg bytes, const char *why) {
    CALL_LINE(f, "@$1 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$2], $3;$4$5", when, own, bytes, WHY(why));
}

void cj_mbarrier_arrive(cj_func *f, cj_reg when, cj_reg own, const char *why) {
    CALL_LINE(f, "@$1 mbarrier.arrive.shared.b64 _, [$2];$3$4", when, own, WHY(why));
}

void cj_mbarrier_arrive_expect(cj_func *f, cj_reg when, cj_reg own, cj_arg bytes, const char *why) {
    CALL_LINE(f, "@$1 mbarrier.arrive.expect_tx.shared.b64 _, [$2], $3;$4$5", when, own, bytes, WHY(why));
}

void cj_mbarrier_arrive_peer(cj_func *f, cj_reg when, cj_reg peer, const char *why) {
    CALL_LINE(f, "@$1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$2];$3$4", when, peer, WHY(why));
}

void cj_mbarrier_arrive_expect_peer(cj_func *f, cj_reg when, cj_reg peer, cj_arg bytes, const char *why) {
    CALL_LINE(f, "@$1 mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [$2], $3;$4$5", when, peer,
              bytes, WHY(why));
}

static void try_line(cj_func *f, const char *call, cj_reg done, cj_reg own, cj_arg parity, cj_scope scope,
                     const char *why) {
    cj_ptx_args(f, call, 0,
                CJ_OPERANDS("mbarrier.try_wait.parity.acquire.$1.shared::cta.b64 $2, [$3], $4;$5$6",
                            scope == CJ_SCOPE_CLUSTER ? "cluster" : "cta", done, own, parity, WHY(why)),
                7);
}

cj_reg cj_mbarrier_try(cj_func *f, cj_reg own, cj_arg parity, cj_scope scope, const char *why) {
    cj_reg done = cj_pred(f, "phase_done");
    try_line(f, __func__, done, own, parity, scope, why);
    return done;
}

void cj_mbarrier_wait(cj_func *f, cj_reg own, cj_arg parity, cj_scope scope, const char *why) {
    cj_reg   done = cj_pred(f, "phase_done");
    cj_label again = cj_label_new(f, "wait_for_phase");
    cj_label_here(f, again);
    try_line(f, __func__, done, own, parity, scope, why);
    CALL_LINE(f, "@!$1 bra $2;", done, again);
}

void cj_mbarrier_flip(cj_func *f, cj_reg parity) { CALL_LINE(f, "xor.b32 $1, $1, 1;", parity); }
