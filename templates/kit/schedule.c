// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

void cj__group_number_to(cj_func *f, cj_reg number, unsigned cluster) {
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", number);
    if (cluster > 1) cj_update(f, number, "div", cluster);
}

cj_reg cj__group_number(cj_func *f, const char *name, unsigned cluster) {
    cj_reg number = cj_u32(f, name);
    cj__group_number_to(f, number, cluster);
    return number;
}

cj_static_schedule cj__static_begin(cj_func *f, unsigned cluster) {
    cj_static_schedule schedule = {.step = cj_mov(f, "u32", "takers", cj__group_count(cluster))};
    schedule.next = cj__group_number(f, "next", cluster);
    cj_update(f, schedule.next, "sub", schedule.step);
    return schedule;
}

// One 64-bit atomic gets the number and the count of launches. The reset subtracts what was counted and adds one launch.
cj_work cj__work_take(cj_func *f, cj_reg counter, cj_reg all) {
    cj_work work = {.number = cj_u32(f, "number"), .epoch = cj_u32(f, "epoch")};
    cj_reg  ticket = cj_let(f, "u64", "ticket", "atom.relaxed.gpu.global.add.u64 $1, [$2], 1;", counter);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", work.number, work.epoch, ticket);
    cj_reg taken = cj_cvt(f, "u64", "taken", all), launch = cj_mov(f, "u64", "launch", UINT64_C(1) << 32);
    cj_reg reset = cj_sub(f, "reset", launch, taken);
    cj_reg is_last = cj_eq(f, "is_last", work.number, cj_sub(f, "last", all, 1));
    cj_ptx(f, "@$1 red.relaxed.gpu.global.add.u64 [$2], $3; // the launch's last number: ready for the next launch",
           is_last, counter, reset);
    cj_update(f, work.epoch, "mad", 2, 2);
    return work;
}

cj_reg cj__work_number(cj_func *f, cj_reg when, const char *name, cj_reg counter) {
    return cj_let(f, "u32", name, "@$2 atom.relaxed.gpu.global.add.u32 $1, [$3], 1;", when, counter);
}

cj_reg cj__work_is_last(cj_func *f, cj_reg when, cj_reg number, cj_reg last) {
    return cj_let(f, "pred", "is_last", "setp.eq.and.u32 $1, $2, $3, $4;", number, last, when);
}

void cj__work_reset(cj_func *f, cj_reg is_last, cj_reg counter) {
    cj_ptx(f, "@$1 st.relaxed.gpu.global.u32 [$2], 0; // the launch's last number: ready for the next launch", is_last,
           counter);
}

cj_reg cj__work_take_by_warp(cj_func *f, cj_reg leads, cj_reg counter, const char *takers, cj_reg tiles) {
    cj_reg number = cj__work_number(f, leads, "number", counter);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, 0, 31, 0xffffffff;", number);
    cj_reg last = cj_mov(f, "u32", "last", takers);
    cj_update(f, last, "add", tiles);
    cj_update(f, last, "sub", 1);
    cj__work_reset(f, cj__work_is_last(f, leads, number, last), counter);
    return number;
}

cj_reg cj__work_take_for_cluster(cj_func *f, const cj_cluster_work *w, const char *here) {
    cj_mbarrier_arrive_expect(f, w->leads, w->full, CJ_ARG(4), NULL);
    CJ_UNLESS(f, cj_ne(f, "other_rank", w->rank, 0), "told") {
        cj_note(f, "rank 0 takes a number and pushes it to all blocks");
        cj_reg number = cj__work_take_by_warp(f, w->leads, w->counter, cj__group_count(w->cluster), w->tiles);
        cj_reg tells = cj_lt(f, "tells", w->lane, w->cluster), to = cj_min(f, "to", w->lane, w->cluster - 1);
        cj_reg peer = cj_cluster_map_address(f, w->slot, to), gate = cj_cluster_map_address(f, w->full, to);
        cj_st_async(f, tells, "u32", &number, 1, peer, 0, gate);
    }
    cj_mbarrier_wait(f, w->full, CJ_ARG(w->parity), CJ_SCOPE_CLUSTER, here);
    return cj_let(f, "u32", "number", "ld.shared.u32 $1, [$2];", w->slot);
}
