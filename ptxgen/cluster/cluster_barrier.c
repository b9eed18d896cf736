// SPDX-License-Identifier: Apache-2.0
#include "cluster_line.h"

void cj_cluster_arrive(cj_func *f, cj_arrive semantics, const char *why) {
    static const char *const orders[] = {
        [CJ_ARRIVE_RELEASE] = ".release", [CJ_ARRIVE_RELAXED] = ".relaxed", [CJ_ARRIVE_DEFAULT] = ""};
    cj_ptx(f, "barrier.cluster.arrive$1.aligned;$2$3", orders[semantics], WHY(why));
}

void cj_cluster_wait(cj_func *f, const char *why) { cj_ptx(f, "barrier.cluster.wait.acquire.aligned;$1$2", WHY(why)); }

void cj_cluster_sync(cj_func *f, const char *why) {
    cj_cluster_arrive(f, CJ_ARRIVE_RELEASE, NULL);
    cj_cluster_wait(f, why);
}

void cj_cluster_fence(cj_func *f, const char *why) { cj_ptx(f, "fence.acq_rel.cluster;$1$2", WHY(why)); }
