// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/cluster.h>

static cj_reg read_special(cj_func *f, const char *name, const char *special) {
    cj_reg value = cj_u32(f, name);
    cj_ptx(f, "mov.u32 $1, %$2;", value, special);
    return value;
}

cj_reg cj_cluster_rank(cj_func *f) { return read_special(f, "rank", "cluster_ctarank"); }
cj_reg cj_cluster_size(cj_func *f) { return read_special(f, "cluster_size", "cluster_nctarank"); }
cj_reg cj_cluster_index(cj_func *f) { return read_special(f, "cluster", "clusterid.x"); }
cj_reg cj_cluster_count(cj_func *f) { return read_special(f, "clusters", "nclusterid.x"); }

void cj_cluster_arrive(cj_func *f, cj_arrive semantics, const char *why) {
    const char *order = semantics == CJ_ARRIVE_RELEASE ? "release" : "relaxed";
    if (why) cj_ptx(f, "barrier.cluster.arrive.$1.aligned; // $2", order, why);
    else cj_ptx(f, "barrier.cluster.arrive.$1.aligned;", order);
}

void cj_cluster_wait(cj_func *f, const char *why) {
    if (why) cj_ptx(f, "barrier.cluster.wait.acquire.aligned; // $1", why);
    else cj_ptx(f, "barrier.cluster.wait.acquire.aligned;");
}

cj_reg cj_cluster_map(cj_func *f, cj_var variable, cj_reg rank) {
    cj_reg address = cj_u32(f, "remote");
    cj_ptx(f, "mov.u32 $1, $2;", address, variable);
    cj_ptx(f, "mapa.shared::cluster.u32 $1, $1, $2;", address, rank);
    return address;
}
