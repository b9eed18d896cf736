// SPDX-License-Identifier: Apache-2.0
// Rounds that barriers order: pull (a cluster barrier, and loads of peers' buffers), and without clusters (flags, and loads of
// buffers in global memory). exchange.c tells why the barriers suffice.
#include <clusterjit/control.h>

#include "kernel.h"

void cj__exchange_pull_round(const exchange_kernel *k, const exchange_links *l, const exchange_tile *tile,
                             const exchange_units *u, cj_reg round) {
    const exchange_turn t = cj__exchange_turn(k, round);
    (void)l, (void)tile;
    cj__exchange_store_own(k, u, "st.shared", cj__exchange_in_buffer(k, &t, k->own));
    cj_cluster_sync(k->f, "P1: everyone's buffer is written, and the other one was read");
    for (unsigned i = 0; i < k->s.vectors; i++) {
        cj_reg from = cj__exchange_in_buffer(k, &t, u->address[i]);
        cj__exchange_load_unit(k, u, i, "ld.shared::cluster", from, EXCHANGE_HEAD);
    }
}

// ---- without clusters

// Each of the first threads watches one block's flag: those that it trades with, in a ring on both sides.
static cj_reg watched_peer(const exchange_kernel *k, cj_reg part) {
    cj_func *f = k->f;
    if (k->s.pattern != CJ_EXCHANGE_RING) return cj__exchange_peer(k, part, true);
    cj_reg is_source = cj_eq(f, "is_source", part, 0);
    cj_reg distance = cj_select(f, "u32", "distance", is_source, k->s.shift, k->s.size - k->s.shift);
    return cj__exchange_around(k, CJ_ARG(distance));
}

exchange_links cj__exchange_global_setup(const exchange_kernel *k) {
    cj_func       *f = k->f;
    const uint32_t links = k->s.pattern == CJ_EXCHANGE_RING ? 2 : k->s.parts;
    exchange_links l = {.link = {0}};
    cj_reg         flags = cj__load_pointer(f, k->workspace, "flags");
    cj_step(f, "the own flag, which counts rounds from launch to launch, and those to wait for");
    l.flag = cj_mad_wide(f, "flag", k->block, EXCHANGE_FLAG, flags);
    l.before = cj_let(f, "u32", "rounds_before", "ld.global.u32 $1, [$2];", l.flag);
    l.watches = cj_lt(f, "watches", k->thread, links);
    cj_reg peer = watched_peer(k, cj_min(f, "part", k->thread, links - 1));
    l.link = cj_mad_wide(f, "flag_there", cj__exchange_block_of(k, peer), EXCHANGE_FLAG, flags);
    return l;
}

void cj__exchange_global_round(const exchange_kernel *k, const exchange_links *l, const exchange_tile *tile,
                               const exchange_units *u, cj_reg round) {
    cj_func            *f = k->f;
    const exchange_turn t = cj__exchange_turn(k, round);
    cj_reg              early = cj_pred(f, "early");
    (void)tile;
    cj__exchange_store_own(k, u, "st.global", cj__exchange_in_buffer(k, &t, k->own));
    cj_reg now = cj_add(f, "now", cj_add(f, "now", l->before, round), 1);
    cj_ptx(f, "bar.sync 0; // G1: the buffer is written");
    cj_ptx(f, "@$1 st.release.gpu.global.u32 [$2], $3;", k->leader, l->flag, now);
    CJ_IF(f, l->watches, "come") {
        CJ_DO(f, "watch", early) {
            cj_reg seen = cj_let(f, "u32", "seen", "ld.acquire.gpu.global.u32 $1, [$2];", l->link);
            cj_reg ahead = cj_sub(f, "ahead", seen, now);
            cj_ptx(f, "setp.lt.s32 $1, $2, 0;", early, ahead);
        }
    }
    cj_ptx(f, "bar.sync 0; // G2: those that it trades with have written theirs, and read the other one");
    for (unsigned i = 0; i < k->s.vectors; i++) {
        cj_reg from = cj__exchange_in_buffer(k, &t, u->address[i]);
        cj__exchange_load_unit(k, u, i, "ld.global", from, 0);
    }
}
