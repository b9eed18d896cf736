// SPDX-License-Identifier: Apache-2.0
// What all collectives stand on: the table of what each moves, what they share in a kernel, and combining in registers.
//
// Shared memory of a block, with PUSH:
//   cj_values: | side 0: a slot a rank | mbarrier | side 1: a slot a rank | mbarrier |    of values (PULL: no mbarriers)
//   cj_gates:  | ready | landed | second | done |                                        mbarriers, of arrays
#include "collective_parts.h"

#include <clusterjit/value.h>
#include <string.h>

#include "builder.h"
#include "cluster_line.h"

static const cj_collective_kind kinds[CJ_COLLECTIVE_OPS] = {
    [CJ_COLLECTIVE_BROADCAST] = {CJ_FROM_ROOT, false, false, CJ_FOLD_NONE},
    [CJ_COLLECTIVE_REDUCE] = {CJ_FROM_ALL, false, true, CJ_FOLD_ALL},
    [CJ_COLLECTIVE_ALLREDUCE] = {CJ_FROM_ALL, false, false, CJ_FOLD_ALL},
    [CJ_COLLECTIVE_GATHER] = {CJ_FROM_ALL, false, true, CJ_FOLD_NONE},
    [CJ_COLLECTIVE_ALLGATHER] = {CJ_FROM_ALL, false, false, CJ_FOLD_NONE},
    [CJ_COLLECTIVE_SCATTER] = {CJ_FROM_ROOT, true, false, CJ_FOLD_NONE},
    [CJ_COLLECTIVE_REDUCE_SCATTER] = {CJ_FROM_ALL, true, false, CJ_FOLD_ALL},
    [CJ_COLLECTIVE_ALL_TO_ALL] = {CJ_FROM_ALL, true, false, CJ_FOLD_NONE},
    [CJ_COLLECTIVE_SCAN] = {CJ_FROM_ALL, false, false, CJ_FOLD_PREFIX},
    [CJ_COLLECTIVE_SHIFT] = {CJ_FROM_DISTANCE, false, false, CJ_FOLD_NONE},
};

static const cj_combined elements[] = {
    {"f32", "f32", "f32", 4, 1, 4}, {"f64", "f64", "f64", 8, 1, 2},  {"s32", "s32", "s32", 4, 1, 4},
    {"u32", "u32", "u32", 4, 1, 4}, {"s64", "s64", "s64", 8, 1, 2},  {"u64", "u64", "u64", 8, 1, 2},
    {"f16", "f32", "b32", 2, 2, 2}, {"bf16", "f32", "b32", 2, 2, 2},
};

const cj_collective_kind *cj__collective_kind(cj_collective_op op) { return &kinds[op]; }

const cj_combined *cj__combined(const char *type) {
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (!strcmp(elements[i].type, type)) return &elements[i];
    return NULL;
}

void cj_collective_parts(cj_collective_op op, uint32_t cluster, uint32_t *gives, uint32_t *gets) {
    const cj_collective_kind *kind = &kinds[op];
    if (gives) *gives = kind->by_rank ? cluster : 1;
    if (gets) *gets = kind->source == CJ_FROM_ALL && !kind->fold ? cluster : 1;
}

// ---- what is asked for

static bool desc_is_right(cj_func *f, const cj_collectives_desc *d) {
    if (!d->cluster || d->cluster > CJ_CLUSTER_MOST)
        cj__func_refuse(f, "collective", "collectives of %u blocks: a cluster has 1 to %d", d->cluster,
                        CJ_CLUSTER_MOST);
    else if (!d->threads || d->threads % CJ_WARP || d->threads > 1024)
        cj__func_refuse(f, "collective", "collectives by %u threads of a block: a multiple of %d to 1024 is needed",
                        d->threads, CJ_WARP);
    else
        return true;
    return false;
}

bool cj__collective_is_right(cj_func *f, const cj_collectives *c, const cj_collective *what) {
    if ((unsigned)what->op >= CJ_COLLECTIVE_OPS) {
        cj__func_refuse(f, "collective", "%d is not a cj_collective_op", (int)what->op);
        return false;
    }
    const cj_collective_kind *kind = &kinds[what->op];
    const cj_combined        *element = what->type ? cj__combined(what->type) : NULL;
    const char               *computed = what->combine.type ? what->combine.type : "nothing";
    if (what->root >= c->desc.cluster && (kind->to_root || kind->source == CJ_FROM_ROOT))
        cj__func_refuse(f, "collective", "root %u of a collective of %u blocks", what->root, c->desc.cluster);
    else if (kind->fold && !element)
        cj__func_refuse(f, "collective",
                        "elements of type %s are not combined: f32, f64, s32, u32, s64, u64, f16, bf16 are",
                        what->type ? what->type : "(none)");
    else if (kind->fold && strcmp(element->computed, computed) != 0)
        cj__func_refuse(f, "collective", "a collective of %s that combines %s: it combines %s", what->type, computed,
                        element->computed);
    else
        return true;
    return false;
}

// ---- what they share

static void open_values(cj_func *f, cj_collectives *c, cj_reg nearest) {
    const uint32_t sides = 2 * CJ_VALUE_SIDE(c->desc.cluster);
    c->slots = cj_shared_address(f, cj_shared(f, "b8", "cj_values", sides, 16));
    c->peer_slots = cj_cluster_map_address(f, c->slots, nearest);
    c->turn = cj_u32(f, "turn");
    cj_ptx(f, "mov.u32 $1, 0;", c->turn);
    const bool has_mbarriers = c->desc.strategy == CJ_STRATEGY_PUSH && c->desc.cluster > 1;
    for (uint32_t side = 0; side < 2 && has_mbarriers; side++) {
        const uint32_t at = side * CJ_VALUE_SIDE(c->desc.cluster) + CJ_VALUE_SLOTS(c->desc.cluster);
        cj_mbarrier_init(f, c->first, cj__offset_from(f, "arrived", c->slots, at), CJ_ARG(1), "first arms it");
    }
}

static void open_arrays(cj_func *f, cj_collectives *c, cj_reg nearest) {
    static const struct {
        bool        each_rank;
        const char *why;
    } gates[CJ_GATES] = {
        [CJ_GATE_READY] = {true, "every block is ready"},
        [CJ_GATE_LANDED] = {false, "what is for this block is there"},
        [CJ_GATE_SECOND] = {false, "the second half of it too"},
        [CJ_GATE_DONE] = {true, "every block has what is for it"},
    };
    if (c->desc.strategy == CJ_STRATEGY_PULL) return;
    c->gates = cj_shared_address(f, cj_shared(f, "b64", "cj_gates", CJ_GATES, 0));
    c->peer_gates = cj_cluster_map_address(f, c->gates, nearest);
    c->parity = cj_u32(f, "parity");
    cj_ptx(f, "mov.u32 $1, 0;", c->parity);
    if (c->desc.combines) c->second_parity = cj_mov(f, "u32", "second_parity", 0);
    for (uint32_t i = 0; i < CJ_GATES; i++) {
        if (i == CJ_GATE_SECOND && !c->desc.combines) continue;
        cj_mbarrier_init(f, c->first, cj__offset_from(f, "gate", c->gates, CJ_GATE_BYTES * i),
                         CJ_ARG(gates[i].each_rank ? c->desc.cluster : 1), gates[i].why);
    }
}

cj_collectives cj_collectives_open(cj_func *f, const cj_collectives_desc *desc) {
    if (!NEEDS(f, desc)) return (cj_collectives){.thread = {0}};
    cj_collectives c = {.desc = *desc, .beyond = cj_none()};
    if (!desc_is_right(f, desc)) return c;
    c.rank = cj_cluster_rank(f);
    c.thread = cj_mov(f, "u32", "thread", "%tid.x");
    const bool by_lane = desc->values || desc->strategy == CJ_STRATEGY_PUSH;  // pulled arrays are every thread's
    cj_reg     nearest = {0};
    if (by_lane) {
        c.lane = cj_and(f, "lane", c.thread, CJ_WARP - 1);
        nearest = cj_let(f, "u32", "peer", "min.u32 $1, $2, $3; // lane r's peer is rank r", c.lane, desc->cluster - 1);
    }
    c.first = cj_eq(f, "first", c.thread, 0);
    if (by_lane)
        c.sends = cj_let(f, "pred", "sends", "setp.lt.u32 $1, $2, $3; // a thread for each peer", c.thread, desc->cluster);
    if (desc->arrays && by_lane && desc->threads > CJ_WARP) {
        c.beyond = cj_pred(f, "beyond");
        cj_ptx(f, "setp.ge.u32 $1, $2, 32; // of another warp", c.beyond, c.thread);
    }
    if (desc->values) open_values(f, &c, nearest);
    if (desc->arrays) open_arrays(f, &c, nearest);
    if (desc->strategy == CJ_STRATEGY_PUSH) {
        cj_mbarrier_init_done(f, "publishes the mbarriers to the cluster");
        cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, "this block has started, its mbarriers are made");
    }
    return c;
}

// Only pushes need it: the first pull has a cluster barrier before it.
void cj_collectives_ready(cj_func *f, const cj_collectives *c) {
    if (!NEEDS(f, c)) return;
    if (c->desc.strategy == CJ_STRATEGY_PUSH) cj_cluster_wait(f, "every block has started, its mbarriers are made");
}

// A pull of values leaves its slots to be read: nobody exits while they are. Pulls of arrays end with a barrier. Pushes need
// nothing: a block that has all that is for it is not written to any more, as every peer's last push was waited for; from
// its arrays nobody reads any more once `done` has completed; and its own pushes of values come from registers.
void cj_collectives_close(cj_func *f, const cj_collectives *c) {
    if (!NEEDS(f, c)) return;
    if (c->desc.strategy == CJ_STRATEGY_PULL && c->desc.values) cj_cluster_sync(f, "nobody exits while it is read");
}

void cj__collective_barrier(cj_func *f, const cj_collectives *c, const char *why) {
    if (c->desc.threads == CJ_WARP)
        cj_ptx(f, "bar.warp.sync 0xffffffff;$1$2", WHY(why));
    else
        cj_ptx(f, "bar.sync 0;$1$2", WHY(why));
}

cj_reg cj__offset_from(cj_func *f, const char *name, cj_reg base, uint32_t offset) {
    return cj_add(f, name, base, offset);
}

cj_reg cj__rank_ahead(cj_func *f, const char *name, cj_reg rank, cj_arg distance, uint32_t size) {
    cj_reg ahead = cj_add(f, name, rank, distance), beyond = cj_ge(f, "beyond", ahead, size);
    cj_ptx(f, "@$1 sub.u32 $2, $2, $3;", beyond, ahead, size);
    return ahead;
}

static cj_collective_peer at_distance(cj_func *f, const cj_collectives *c, const cj_collective *what) {
    const int64_t size = c->desc.cluster, back = what->around ? size - (what->distance % size + size) % size : 0;
    if (what->around)
        return (cj_collective_peer){.rank = cj__rank_ahead(f, "source", c->rank, CJ_ARG(back), c->desc.cluster),
                                    .exists = cj_always()};
    cj_collective_peer source = {.rank = cj_u32(f, "source"), .exists = cj_pred(f, "has_source")};
    cj_ptx(f, "sub.u32 $1, $2, $3;", source.rank, c->rank, what->distance);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3; // below rank 0 it has wrapped to a large number", source.exists, source.rank,
           size);
    cj_ptx(f, "@!$1 mov.u32 $2, $3;", source.exists, source.rank, c->rank);
    return source;
}

cj_collective_peer cj__collective_source(cj_func *f, const cj_collectives *c, const cj_collective *what) {
    if (kinds[what->op].source == CJ_FROM_DISTANCE) return at_distance(f, c, what);
    return (cj_collective_peer){.rank = cj_mov(f, "u32", "root", what->root), .exists = cj_always()};
}

// ---- combining in registers

void cj__fold_all(cj_func *f, const cj_combine *combine, const cj_reg *v, uint32_t count) {
    for (uint32_t distance = 1; distance < count; distance *= 2)
        for (uint32_t i = 0; i + distance < count; i += 2 * distance)
            cj_combine_into(f, *combine, v[i], v[i + distance]);
}

void cj__fold_prefixes(cj_func *f, const cj_combine *combine, cj_reg *v, uint32_t count, bool exclusive) {
    const uint32_t last = exclusive ? count - 1 : count;
    for (uint32_t r = 1; r < last; r++) cj_combine_into(f, *combine, v[r], v[r - 1]);
    if (!exclusive) return;
    memmove(v + 1, v, (count - 1) * sizeof *v);
    v[0] = cj_mov(f, combine->type, "identity", cj_combine_identity(*combine));
}

void cj__fold_pick(cj_func *f, const cj_reg *v, uint32_t count, cj_reg rank) {
    if (count < 2) return;
    for (uint32_t r = 1; r < count; r++) cj_set_if(f, cj_eq(f, "is_rank", rank, r), v[0], v[r]);
}

void cj__half_widen(cj_func *f, const char *type, cj_reg wide, cj_reg bits) {
    if (*type == 'b') {
        cj_reg high = cj_let(f, "b32", "high", "shl.b32 $1, $2, 16; // a bf16 is the upper half of an f32", bits);
        cj_ptx(f, "mov.b32 $1, $2;", wide, high);
    } else {
        cj_ptx(f, "cvt.f32.f16 $1, $2;", wide, cj_let(f, "b16", "half", "cvt.u16.u32 $1, $2;", bits));
    }
}

void cj__half_round(cj_func *f, const char *type, cj_reg half, cj_reg wide) {
    cj_ptx(f, "cvt.rn.$1.f32 $2, $3;", type, half, wide);
}
