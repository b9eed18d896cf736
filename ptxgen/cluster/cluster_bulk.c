// SPDX-License-Identifier: Apache-2.0
// Bulk copies, plain and of tensors.
#include <stdio.h>

#include "builder.h"
#include "cluster_line.h"

void cj_async_fence(cj_func *f, const char *why) { CALL_LINE(f, "fence.proxy.async.shared::cta;$1$2", WHY(why)); }

void cj_bulk_load(cj_func *f, cj_reg when, cj_reg own, cj_reg global, cj_arg bytes, cj_reg mbarrier) {
    CALL_LINE(f, "@$1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$2], [$3], $4, [$5];", when,
              own, global, bytes, mbarrier);
}

void cj_bulk_load_multicast(cj_func *f, cj_reg when, cj_reg own, cj_reg global, cj_arg bytes, cj_reg mbarrier,
                            cj_arg mask) {
    CALL_LINE(f,
              "@$1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
              " [$2], [$3], $4, [$5], $6;",
              when, own, global, bytes, mbarrier, mask);
}

void cj_bulk_push(cj_func *f, cj_reg when, cj_reg peer, cj_reg own, cj_arg bytes, cj_reg mbarrier) {
    CALL_LINE(f, "@$1 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [$2], [$3], $4, [$5];",
              when, peer, own, bytes, mbarrier);
}

void cj_bulk_store(cj_func *f, cj_reg when, cj_reg global, cj_reg own, cj_arg bytes) {
    CALL_LINE(f, "@$1 cp.async.bulk.global.shared::cta.bulk_group [$2], [$3], $4;", when, global, own, bytes);
}

void cj_bulk_commit(cj_func *f) { CALL_LINE(f, "cp.async.bulk.commit_group;"); }

void cj_bulk_wait(cj_func *f, uint32_t pending, const char *why) {
    CALL_LINE(f, "cp.async.bulk.wait_group $1;$2$3", pending, WHY(why));
}

void cj_bulk_wait_read(cj_func *f, uint32_t pending, const char *why) {
    CALL_LINE(f, "cp.async.bulk.wait_group.read $1;$2$3", pending, WHY(why));
}

// One line of a tensor copy: "OPERATION.RANKd.FORM BEFORE[map, {at…}]AFTER". $2 is the map, $3 to $7 the coordinates,
// $8 own shared memory, $9 the mbarrier, $10 the mask.
static void tensor_line(cj_func *f, const char *call, cj_reg when, cj_reg map, const cj_reg *at, uint32_t rank,
                        cj_reg own, cj_reg mbarrier, cj_arg mask, const char *form, const char *before,
                        const char *after) {
    static const char *const boxes[] = {"", "$3", "$3, $4", "$3, $4, $5", "$3, $4, $5, $6", "$3, $4, $5, $6, $7"};
    const uint32_t           known = rank < sizeof boxes / sizeof *boxes ? rank : 0;
    cj_reg                   c[5] = {{0}};
    char                     text[200];
    for (uint32_t i = 0; i < known; i++) c[i] = at[i];
    snprintf(text, sizeof text, "@$1 cp.async.bulk.tensor.%ud.%s %s[$2, {%s}]%s", rank, form, before, boxes[known],
             after);
    cj_ptx_args(f, call, 0, CJ_OPERANDS(text, when, map, c[0], c[1], c[2], c[3], c[4], own, mbarrier, mask), 11);
}

void cj_tensor_load(cj_func *f, cj_reg when, cj_reg own, cj_reg map, const cj_reg *at, uint32_t rank, cj_reg mbarrier) {
    if (!NEEDS(f, at)) return;
    tensor_line(f, __func__, when, map, at, rank, own, mbarrier, CJ_ARG(0),
                "shared::cluster.global.tile.mbarrier::complete_tx::bytes", "[$8], ", ", [$9];");
}

void cj_tensor_load_multicast(cj_func *f, cj_reg when, cj_reg own, cj_reg map, const cj_reg *at, uint32_t rank,
                              cj_reg mbarrier, cj_arg mask) {
    if (!NEEDS(f, at)) return;
    tensor_line(f, __func__, when, map, at, rank, own, mbarrier, mask,
                "shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster", "[$8], ",
                ", [$9], $10;");
}

void cj_tensor_store(cj_func *f, cj_reg when, cj_reg map, const cj_reg *at, uint32_t rank, cj_reg own) {
    if (!NEEDS(f, at)) return;
    tensor_line(f, __func__, when, map, at, rank, own, cj_none(), CJ_ARG(0), "global.shared::cta.tile.bulk_group", "",
                ", [$8];");
}
