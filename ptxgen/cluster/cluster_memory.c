// SPDX-License-Identifier: Apache-2.0
// Peers' shared memory: addresses, loads and stores, atomics, and their asynchronous forms.
#include <stdio.h>

#include "builder.h"
#include "cluster_line.h"

cj_reg cj_shared_address(cj_func *f, cj_var variable) {
    cj_reg address = cj_u32(f, "own");
    CALL_LINE(f, "mov.u32 $1, $2;", address, variable);
    return address;
}

cj_reg cj_cluster_map(cj_func *f, cj_var variable, cj_reg rank) {
    cj_reg address = cj_u32(f, "remote");
    CALL_LINE(f, "mov.u32 $1, $2;", address, variable);
    CALL_LINE(f, "mapa.shared::cluster.u32 $1, $1, $2;", address, rank);
    return address;
}

cj_reg cj_cluster_map_address(cj_func *f, cj_reg own, cj_reg rank) {
    cj_reg address = cj_u32(f, "remote");
    CALL_LINE(f, "mapa.shared::cluster.u32 $1, $2, $3;", address, own, rank);
    return address;
}

cj_reg cj_cluster_rank_of(cj_func *f, cj_reg peer) {
    cj_reg rank = cj_u32(f, "rank");
    CALL_LINE(f, "getctarank.shared::cluster.u32 $1, $2;", rank, peer);
    return rank;
}

// What an access of one or more elements moves.
typedef struct elements {
    const char   *type;
    const cj_reg *value;
    uint32_t      count;
    cj_reg        peer;
    int32_t       offset;
    cj_reg        mbarrier;  // of st.async
} elements;

// Writes "OPERATION.vN.TYPE BEFORE{values}AFTER", in which $3 + $4 is the address and $9 the mbarrier. Counts that PTX
// has no vector for are written as they are, for the parser to refuse.
static void access_line(cj_func *f, const char *call, cj_reg when, const elements *e, const char *operation,
                        const char *before, const char *after) {
    static const char *const lists[] = {"", "$5", "{$5, $6}", "{$5, $6, $7}", "{$5, $6, $7, $8}"};
    const uint32_t           known = e->count < sizeof lists / sizeof *lists ? e->count : 0;
    cj_reg                   value[4] = {{0}};
    char                     vector[16] = "", text[160];
    for (uint32_t i = 0; i < 4 && known; i++) value[i] = e->value[i < known ? i : 0];
    if (e->count != 1) snprintf(vector, sizeof vector, ".v%u", e->count);
    snprintf(text, sizeof text, "@$1 %s%s.$2 %s%s%s", operation, vector, before, lists[known], after);
    cj_ptx_args(
        f, call, 0,
        CJ_OPERANDS(text, when, e->type, e->peer, e->offset, value[0], value[1], value[2], value[3], e->mbarrier), 10);
}

void cj_dsmem_load(cj_func *f, cj_reg when, const char *type, const cj_reg *into, uint32_t count, cj_reg peer,
                   int32_t offset) {
    if (!NEEDS(f, type) || !NEEDS(f, into)) return;
    const elements e = {.type = type, .value = into, .count = count, .peer = peer, .offset = offset};
    access_line(f, __func__, when, &e, "ld.shared::cluster", "", ", [$3 + $4];");
}

void cj_dsmem_store(cj_func *f, cj_reg when, const char *type, const cj_reg *value, uint32_t count, cj_reg peer,
                    int32_t offset) {
    if (!NEEDS(f, type) || !NEEDS(f, value)) return;
    const elements e = {.type = type, .value = value, .count = count, .peer = peer, .offset = offset};
    access_line(f, __func__, when, &e, "st.shared::cluster", "[$3 + $4], ", ";");
}

void cj_st_async(cj_func *f, cj_reg when, const char *type, const cj_reg *value, uint32_t count, cj_reg peer,
                 int32_t offset, cj_reg mbarrier) {
    if (!NEEDS(f, type) || !NEEDS(f, value)) return;
    const elements e = {
        .type = type, .value = value, .count = count, .peer = peer, .offset = offset, .mbarrier = mbarrier};
    access_line(f, __func__, when, &e, "st.async.shared::cluster.mbarrier::complete_tx::bytes", "[$3 + $4], ",
                ", [$9];");
}

void cj_red_async(cj_func *f, cj_reg when, const char *op, const char *type, cj_reg peer, int32_t offset, cj_reg value,
                  cj_reg mbarrier) {
    if (!NEEDS(f, op) || !NEEDS(f, type)) return;
    CALL_LINE(f,
              "@$1 red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.$2.$3 [$4 + $5], $6, [$7];",
              when, op, type, peer, offset, value, mbarrier);
}

void cj_dsmem_atom(cj_func *f, cj_reg when, const char *op, const char *type, cj_reg old, cj_reg peer, int32_t offset,
                   cj_arg value) {
    if (!NEEDS(f, op) || !NEEDS(f, type)) return;
    CALL_LINE(f, "@$1 atom.relaxed.cluster.shared::cluster.$2.$3 $4, [$5 + $6], $7;", when, op, type, old, peer, offset,
              value);
}

void cj_dsmem_red(cj_func *f, cj_reg when, const char *op, const char *type, cj_reg peer, int32_t offset,
                  cj_arg value) {
    if (!NEEDS(f, op) || !NEEDS(f, type)) return;
    CALL_LINE(f, "@$1 red.relaxed.cluster.shared::cluster.$2.$3 [$4 + $5], $6;", when, op, type, peer, offset, value);
}

void cj_dsmem_cas(cj_func *f, cj_reg when, const char *type, cj_reg old, cj_reg peer, int32_t offset, cj_arg compare,
                  cj_arg value) {
    if (!NEEDS(f, type)) return;
    CALL_LINE(f, "@$1 atom.relaxed.cluster.shared::cluster.cas.$2 $3, [$4 + $5], $6, $7;", when, type, old, peer,
              offset, compare, value);
}
