// SPDX-License-Identifier: Apache-2.0
#include "roll.h"

enum { TABLE_BYTES = CJ_ROW * sizeof(cj_rolled) };

// The cell has no atomics in the roll: what is there is of before its last weak write, or has been given to it.
static void forget(const cj_roll *roll, unsigned k) {
    for (unsigned i = 0; i < roll->groups; i++) {
        if (roll->warp[i]) roll->warp[i][k] = (cj_rolled){0};
    }
}

// The roll and the warp's table, made if there are none; false if they are of another kind, or memory is out.
static bool open_table(cj_roll **at, const cj_access *access, cj_room *room) {
    if (access->group >= CJ_ROLL_WARPS) return false;
    if (!*at) {
        if (!(*at = cj__pool_take(&room->pool, sizeof **at))) return false;
        (*at)->block = access->block;
        (*at)->use = access->use;
    }
    cj_roll *roll = *at;
    if (roll->block != access->block || roll->use.flags != access->use.flags || roll->use.scope != access->use.scope)
        return false;
    cj_rolled **table = &roll->warp[access->group];
    return *table || (*table = cj__pool_take(&room->pool, TABLE_BYTES));
}

bool cj__roll_add(cj_roll **at, cj_cell *c, unsigned k, const cj_access *access, cj_room *room) {
    if (!open_table(at, access, room)) return false;
    cj_roll *roll = *at;
    if (!(c->write_use & CJ_ROLLED)) forget(roll, k);
    c->write_use |= CJ_ROLLED | CJ_WRITTEN;
    cj_rolled *own = &roll->warp[access->group][k];
    if (own->time != access->time) {
        if (own->mask & ~access->mask) return false;  // other lanes' earlier atomics stay
        *own = (cj_rolled){.time = access->time};
    }
    own->mask |= access->mask;
    own->op = access->op;
    if (access->time > roll->last) roll->last = access->time;
    if (access->group >= roll->groups) roll->groups = (uint16_t)(access->group + 1);
    return true;
}

void cj__roll_settle(const cj_roll *roll, cj_cell *c, unsigned k, cj_room *room) {
    if (!(c->write_use & CJ_ROLLED)) return;
    for (unsigned i = 0; i < roll->groups; i++) {
        const cj_rolled *own = roll->warp[i] ? &roll->warp[i][k] : NULL;
        if (!own || !own->time) continue;
        const cj_access access = {.block = roll->block,
                                  .time = own->time,
                                  .mask = own->mask,
                                  .group = (uint16_t)i,
                                  .use = roll->use,
                                  .op = own->op};
        cj__cell_add(c, &access, CJ_ALONE, room);
    }
    c->write_use &= ~CJ_ROLLED;
}

void cj__roll_free(cj_roll *roll, cj_room *room) {
    if (!roll) return;
    for (unsigned i = 0; i < CJ_ROLL_WARPS; i++) cj__pool_give(&room->pool, roll->warp[i], TABLE_BYTES);
    cj__pool_give(&room->pool, roll, sizeof *roll);
}
