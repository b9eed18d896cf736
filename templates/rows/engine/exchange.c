// SPDX-License-Identifier: Apache-2.0
// The warps that work on a row exchange their partials: every warp combines all of them by itself.
//
//   a warp's row       the lanes' partials alone
//   a block's row      slots in its shared memory:                 D1
//   a cluster's row    pushed to the slots of every block, once:   D2, D3
//   a spread row       slots, and then mailboxes of the group:     P1, P2 (mail.c)
#include "engine.h"

static bool is_pushed(const row_kernel *k) { return k->s->cluster > 1; }

void cj__row_exchange_open(row_kernel *k, bool again) {
    cj_func       *f = k->f;
    const unsigned words = cj__row_slots_bytes(k->s) / 4;
    k->x.slots = k->x.turn = cj_none();
    if (k->s->blocks) cj__row_mail_open(k);
    if (k->s->rows_per_block > 1 || cj__row_slots(k->s) == 1) return;
    k->x.slots = cj_shared_address(f, cj_shared(f, "f32", "slots", words * (again ? 2 : 1), 16));
    if (again) k->x.turn = cj_mov(f, "u32", "turn", 0);
    if (!is_pushed(k)) return;
    cj_step(f, "each block counts the bytes of the partials that come to it");
    k->x.push = cj__push_new(f, "partials_full");
    k->x.leads = cj_eq(f, "leads", k->thread, 0);
    cj__push_open(f, &k->x.push, k->x.leads, "publishes the mbarrier, at D2",
                  "D2: this block has started, its mbarrier is there");
}

// Where the warp's partial goes; of a cluster's warp, in every block.
static cj_reg own_slot(row_kernel *k, cj_reg slots) {
    cj_reg number = is_pushed(k) ? cj_mad(k->f, "slot_number", k->rank, k->s->warps, k->warp) : k->warp;
    return cj_mad(k->f, "own_slot", number, 4 * k->s->slot_words, slots);
}

static void push(row_kernel *k, cj_reg slots) {
    cj_func *f = k->f;
    cj_reg   value[ROW_VALUES];
    cj__row_slot_values(k, value);
    cj_step(f, "each warp pushes its partial to every block of the cluster, lane r to rank r");
    cj_reg slot = own_slot(k, slots), writes = cj_lt(f, "writes", k->lane, k->s->cluster);
    cj_reg to = cj_min(f, "to", k->lane, k->s->cluster - 1), peer = cj_cluster_map_address(f, slot, to);
    cj_reg gate = cj__push_gate(f, &k->x.push, to);
    cj__push_expect(f, &k->x.push, "D2: all blocks have started, their memory may be written", k->x.leads,
                    CJ_ARG(cj__row_slots_bytes(k->s)), "D3: all partials of the row");
    cj_st_async(f, writes, "f32", value, k->s->slot_words, peer, 0, gate);
    cj__push_wait(f, &k->x.push, "D3: every partial of the row is here");
}

void cj__row_exchange(row_kernel *k) {
    cj_func *f = k->f;
    cj_reg   slots = k->x.slots;
    bool     has_slots = !cj_is_none(slots);
    cj_step(f, "the warp's partial, in every lane");
    cj__row_fold(k, &k->part, &k->part, 1, true);
    if (has_slots && !cj_is_none(k->x.turn)) {
        slots = cj_add(f, "slots_at", k->x.slots, k->x.turn);
        cj_update(f, k->x.turn, "xor", cj__row_slots_bytes(k->s));
    }
    if (has_slots && is_pushed(k)) {
        push(k, slots);
    } else if (has_slots) {
        cj_step(f, "a slot a warp");
        cj_reg slot = own_slot(k, slots);
        cj__row_store_slot(k, cj_eq(f, "writes", k->lane, 0), slot);
        cj_ptx(f, k->s->blocks ? "bar.sync 0; // P1: every partial of the block is written"
                               : "bar.sync 0; // D1: every partial of the row is written");
    }
    if (k->s->blocks) {
        cj__row_mail_exchange(k, slots);
    } else if (has_slots) {
        cj_step(f, "every warp combines all partials");
        cj__row_fold_slots(k, slots, cj__row_slots(k->s));
    }
}
