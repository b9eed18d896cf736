// SPDX-License-Identifier: Apache-2.0
// Collectives of one value a block.
//
// Whatever the collective, each block sends to each rank the one value that this rank could want, into the slot that bears
// the sender's rank; then each block takes from its C slots what it needs. So few bytes cost the same wherever they go, and
// as every block hears from every block, each round is a barrier too:
//
//   lane r of warp 0 --value--> slot[own rank] of rank r          PUSH: st.async; the C slots' bytes complete the mbarrier
//                                                                 PULL: into own slot[r]; barrier.cluster; rank r reads it
//
// Why two sides are enough. A block pushes round i + 1 after it has waited for round i, to which every peer's push of round i
// belongs: so nobody is more than one round ahead of anybody, and what comes in while round i is read is of round i + 1, on
// the other side. Round i + 2 comes, on the same side again, from a peer that has this block's push of round i + 1, before
// which all threads of this block had read round i: the barrier at the head of each push says so. For the same reason the
// mbarrier of a side is never more than one phase ahead of the thread that waits for it, and a parity tells its phases apart. A peer's
// bytes may come before this block has armed the mbarrier: the count of bytes is below 0 for a while, and the phase stays
// open, because the arming is its one arrival. With PULL the barrier of round i + 1 stands between reading round i and
// writing round i + 2.
#include <clusterjit/value.h>
#include <string.h>

#include "builder.h"
#include "collective_parts.h"

// One round, as its steps see it.
typedef struct round {
    cj_func              *f;
    const cj_collectives *c;
    const cj_collective  *what;
    const cj_combined    *element;  // NULL: only moved
    const char           *bits;     // "b32", "b64": of a slot
    uint32_t              bytes, ranks;
    cj_reg                own, peer;  // this round's side, here and at lane r's peer r
} round;

static bool is_half(const round *r) { return r->element && r->element->packed > 1; }
static bool pushes(const round *r) { return r->c->desc.strategy == CJ_STRATEGY_PUSH; }

static void find_side(round *r) {
    cj_reg side = cj_and(r->f, "side", r->c->turn, 1);
    r->own = cj_mad(r->f, "own_side", side, CJ_VALUE_SIDE(r->ranks), r->c->slots);
    r->peer = cj_mad(r->f, "peer_side", side, CJ_VALUE_SIDE(r->ranks), r->c->peer_slots);
}

static cj_reg slot_of(const round *r, cj_reg base, cj_reg index) { return cj_mad(r->f, "slot", index, r->bytes, base); }

static void push(const round *r, cj_reg value) {
    cj_func       *f = r->f;
    const uint32_t at = CJ_VALUE_SLOTS(r->ranks);
    cj_reg         slot = slot_of(r, r->peer, r->c->rank), peer_arrived = cj_add(f, "peer_arrived", r->peer, at);
    cj_reg         arrived = cj_add(f, "arrived", r->own, at);
    cj_reg         parity = cj_let(f, "u32", "parity", "bfe.u32 $1, $2, 1, 1;", r->c->turn);
    cj__collective_barrier(f, r->c, "the round before last has been read");
    cj_st_async(f, r->c->sends, r->bits, &value, 1, slot, 0, peer_arrived);
    cj_mbarrier_arrive_expect(f, r->c->first, arrived, CJ_ARG(r->ranks * r->bytes), "a value of every rank");
    cj_mbarrier_wait(f, arrived, CJ_ARG(parity), CJ_SCOPE_CLUSTER, "they are there");
}

// Into the block's own slots. A cluster of one has nobody to push to, and st.async no use.
static void offer(const round *r, cj_reg value) {
    cj_reg slot = slot_of(r, r->own, r->c->lane);
    cj_ptx(r->f, "@$1 st.shared.$2 [$3], $4;", r->c->sends, r->bits, slot, value);
    if (pushes(r))
        cj__collective_barrier(r->f, r->c, "the value is there");
    else
        cj_cluster_sync(r->f, "every block's values are there");
}

// ---- taking from the slots

// Rank `source`'s value, into a register of r->bits.
static void take_one(const round *r, cj_reg when, cj_reg source, cj_reg into) {
    if (pushes(r)) {
        cj_reg slot = slot_of(r, r->own, source);
        cj_ptx(r->f, "@$1 ld.shared.$2 $3, [$4];", when, r->bits, into, slot);
    } else {
        cj_reg slot = slot_of(r, cj_cluster_map_address(r->f, r->own, source), r->c->rank);
        cj_dsmem_load(r->f, when, r->bits, &into, 1, slot, 0);
    }
}

// Lane l gets rank l's.
static void take_by_lane(const round *r, cj_reg into) {
    cj_reg reads = cj_lt(r->f, "reads", r->c->lane, r->ranks);
    if (pushes(r))
        take_one(r, reads, r->c->lane, into);
    else
        cj_dsmem_load(r->f, reads, r->bits, &into, 1, slot_of(r, r->peer, r->c->rank), 0);
}

// Slots as wide as loads allow: 16 bytes, 8, 4.
static void read_slots(const round *r, const cj_reg *v) {
    static const char *const lines[] = {[1] = "ld.shared.$1 $2, [$6 + $7];",
                                        [2] = "ld.shared.v2.$1 {$2, $3}, [$6 + $7];",
                                        [4] = "ld.shared.v4.$1 {$2, $3, $4, $5}, [$6 + $7];"};
    for (uint32_t i = 0, width; i < r->ranks; i += width) {
        width = 16 / r->bytes;
        while (i + width > r->ranks) width /= 2;
        const uint32_t last = r->ranks - 1;  // the register of an operand that a narrower load does not have
        cj_ptx(r->f, lines[width], r->bits, v[i], v[i < last ? i + 1 : last], v[i + 1 < last ? i + 2 : last],
               v[i + 2 < last ? i + 3 : last], r->own, i * r->bytes);
    }
}

// Each lane reads one slot of a peer's, and gets the others' by shuffles.
static void read_peers(const round *r, const cj_reg *v) {
    cj_func *f = r->f;
    cj_reg   mine = cj_register(f, r->bits, "mine"), low = cj_b32(f, "low"), part[2];
    cj_reg   high = r->bytes == 8 ? cj_b32(f, "high") : low;
    cj_ptx(f, "mov.$1 $2, 0;", r->bits, mine);
    take_by_lane(r, mine);
    if (r->bytes == 8)
        cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, high, mine);
    else
        cj_ptx(f, "mov.b32 $1, $2;", low, mine);
    for (uint32_t i = 0; i < r->ranks; i++) {
        part[0] = r->bytes == 8 ? cj_b32(f, "low") : v[i];
        cj_ptx(f, "shfl.sync.idx.b32 $1, $2, $3, 31, 0xffffffff;", part[0], low, i);
        if (r->bytes == 4) continue;
        part[1] = cj_b32(f, "high");
        cj_ptx(f, "shfl.sync.idx.b32 $1, $2, $3, 31, 0xffffffff;", part[1], high, i);
        cj_ptx(f, "mov.b64 $1, {$2, $3};", v[i], part[0], part[1]);
    }
}

static void fold(const round *r, cj_reg result) {
    const cj_combine *combine = &r->what->combine;
    cj_reg            v[CJ_CLUSTER_MOST], read[CJ_CLUSTER_MOST];
    for (uint32_t i = 0; i < r->ranks; i++) {
        v[i] = cj_register(r->f, combine->type, "v");
        read[i] = is_half(r) ? cj_b32(r->f, "bits") : v[i];
    }
    if (pushes(r))
        read_slots(r, read);
    else
        read_peers(r, read);
    for (uint32_t i = 0; i < r->ranks && is_half(r); i++) cj__half_widen(r->f, r->what->type, v[i], read[i]);
    if (cj__collective_kind(r->what->op)->fold == CJ_FOLD_ALL) {
        cj__fold_all(r->f, combine, v, r->ranks);
    } else {
        cj__fold_prefixes(r->f, combine, v, r->ranks, r->what->exclusive);
        cj__fold_pick(r->f, v, r->ranks, r->c->rank);
    }
    if (is_half(r))
        cj__half_round(r->f, r->what->type, result, v[0]);
    else
        cj_ptx(r->f, "mov.$1 $2, $3;", r->bits, result, v[0]);
}

static void move(const round *r, cj_reg result) {
    cj_reg into = is_half(r) ? cj_b32(r->f, "bits") : result;
    if (is_half(r)) cj_ptx(r->f, "cvt.u32.u16 $1, $2;", into, result);  // those that get nothing keep theirs
    if (cj__collective_kind(r->what->op)->source == CJ_FROM_ALL) {
        take_by_lane(r, into);
    } else {
        cj_collective_peer source = cj__collective_source(r->f, r->c, r->what);
        take_one(r, source.exists, source.rank, into);
    }
    if (is_half(r)) cj_ptx(r->f, "cvt.u16.u32 $1, $2;", result, into);
}

// Bytes of a value, 4 or 8: every type's name ends with its bits.
static uint32_t value_bytes(const char *type) { return strstr(type, "64") ? 8 : 4; }

void cj_collective_value(cj_func *f, const cj_collectives *c, const cj_collective *what, cj_reg value, cj_reg result) {
    if (!NEEDS(f, c) || !NEEDS(f, what)) return;
    if (!cj__collective_is_right(f, c, what)) return;
    if (!c->desc.values || !what->type) {
        cj__func_refuse(f, "collective", "a collective of values needs a type, and cj_collectives_desc.values");
        return;
    }
    round r = {.f = f,
               .c = c,
               .what = what,
               .element = cj__combined(what->type),
               .bytes = value_bytes(what->type),
               .ranks = c->desc.cluster};
    r.bits = r.bytes == 8 ? "b64" : "b32";
    cj_reg sent = is_half(&r) ? cj_let(f, "b32", "wide", "cvt.u32.u16 $1, $2;", value) : value;
    find_side(&r);
    if (pushes(&r) && r.ranks > 1)
        push(&r, sent);
    else
        offer(&r, sent);
    if (cj__collective_kind(what->op)->fold)
        fold(&r, result);
    else
        move(&r, result);
    cj_ptx(f, "add.u32 $1, $1, 1; // the next round takes the other side", c->turn);
}
