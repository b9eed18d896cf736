// SPDX-License-Identifier: Apache-2.0
#include "cell.h"

#include <string.h>

enum {
    CROWD_FIRST = 4,
    CROWD_MAX = 1024,
    CROWD_BYTES = 1 << 30  // of one shadow
};

// ---- crowds

static uint32_t place_of(const cj_crowd *many, const cj_access *access) {
    return (access->block * 37u + access->group) & (many->size - 1);
}

static bool is_same_kind(const cj_access *a, const cj_access *b) {
    return a->block == b->block && a->group == b->group && a->use.flags == b->use.flags && a->use.scope == b->use.scope;
}

// The entry that an access by some lanes of a warp goes to, or NULL. Lanes leave the entries of their earlier accesses,
// so that each lane is in one entry of a kind; an entry that all lanes have left, its mask 0, is used again. In a row,
// only an access by the same lanes, to the same bytes, takes the place of another. *at becomes a free place.
static cj_access *find_place(cj_crowd *many, const cj_access *access, cj_sharing sharing, uint32_t *at) {
    cj_access *same = NULL, *left = NULL;
    for (*at = place_of(many, access); many->entry[*at].time; *at = (*at + 1) & (many->size - 1)) {
        cj_access *entry = &many->entry[*at];
        if (!is_same_kind(entry, access)) continue;
        if (sharing == CJ_SPREAD ? entry->mask == access->mask : entry->time == access->time) {
            same = entry;
        } else if (sharing != CJ_SPREAD && !(entry->mask &= ~access->mask)) {
            left = entry;
        } else {
            many->is_mixed = true;
        }
        if (!many->is_mixed) break;
    }
    return same ? same : left;
}

// Adds an access to the entry of its kind and time, if that is where a search would begin: what atomics mostly do.
static bool renew(cj_crowd *many, const cj_access *access, cj_sharing sharing) {
    cj_access *entry = &many->entry[place_of(many, access)];
    if (many->is_mixed || entry->time != access->time || !is_same_kind(entry, access)) return false;
    if (sharing == CJ_SPREAD && entry->mask != access->mask) return false;
    entry->mask |= access->mask;
    entry->op = access->op;
    return true;
}

// Adds an access; false if the table should grow first and may.
static bool add_to_crowd(cj_crowd *many, const cj_access *access, cj_sharing sharing, bool may_grow) {
    uint32_t   at;
    cj_access *known = find_place(many, access, sharing, &at);
    many->flags |= access->use.flags;
    if (access->use.scope < many->scope) many->scope = access->use.scope;
    if (known) {
        const uint32_t mask = known->mask | access->mask;  // of the same time, or the same lanes
        *known = *access;
        known->mask = mask;
        return true;
    }
    if (many->count < many->size / 4 * 3) {
        many->count++;
    } else if (may_grow && many->size < CROWD_MAX) {
        return false;
    } else {
        at = place_of(many, access);
        if (!many->entry[at].time) return true;  // a quarter stays free, so that searches end: the new one is dropped
    }
    many->entry[at] = *access;
    return true;
}

static size_t bytes_of(uint32_t size) { return sizeof(cj_crowd) + size * sizeof(cj_access); }

static cj_crowd *new_crowd(cj_room *room, uint32_t size) {
    cj_crowd *many = cj__pool_take(&room->pool, bytes_of(size));
    if (!many) return NULL;
    many->size = size;
    many->scope = UINT8_MAX;
    __atomic_add_fetch(&room->bytes, size * sizeof *many->entry, __ATOMIC_RELAXED);
    return many;
}

static void free_crowd(cj_crowd *many, cj_room *room) {
    __atomic_sub_fetch(&room->bytes, many->size * sizeof *many->entry, __ATOMIC_RELAXED);
    cj__pool_give(&room->pool, many, bytes_of(many->size));
}

static bool join_crowd(cj_crowd **at, const cj_access *access, cj_sharing sharing, cj_room *room) {
    while (!add_to_crowd(*at, access, sharing, __atomic_load_n(&room->bytes, __ATOMIC_RELAXED) < CROWD_BYTES)) {
        cj_crowd *larger = new_crowd(room, (*at)->size * 2);
        if (!larger) return false;
        for (uint32_t i = 0; i < (*at)->size; i++) {
            if ((*at)->entry[i].mask) add_to_crowd(larger, &(*at)->entry[i], sharing, false);
        }
        free_crowd(*at, room);
        *at = larger;
    }
    return true;
}

// ---- cells

// Of 1, 2, 4, … or 32 consecutive lanes.
static unsigned log_count(uint32_t mask) {
    const uint64_t lanes = mask >> __builtin_ctz(mask);
    return (unsigned)__builtin_ctz((unsigned)__builtin_ctzll(lanes + 1));
}

cj_access cj__cell_write(const cj_cell *c) {
    const unsigned flags = c->write_use >> CJ_OP_BITS & (CJ_USE_INIT | CJ_USE_ASYNC_PROXY);
    return (cj_access){.block = c->write_block,
                       .time = c->write_time,
                       .mask = cj__written_by(c),
                       .group = c->write_agent / CJ_ROW,
                       .use = {.flags = (uint8_t)(flags | CJ_USE_WRITE)},
                       .op = c->write_use & CJ_OP};
}

cj_access cj__cell_single(const cj_cell *c) {
    return (cj_access){.block = c->block,
                       .time = c->time,
                       .mask = c->mask,
                       .group = c->group,
                       .use = {.flags = c->use >> CJ_OP_BITS & 15, .scope = c->use >> CJ_SCOPE_AT & 7},
                       .op = c->use & CJ_OP};
}

void cj__cell_empty(cj_cell *c, cj_room *room) {
    if (c->use & CJ_MANY) free_crowd(c->many, room);
    c->use = c->mask = 0;
}

bool cj__cell_crowd(cj_cell *c, const cj_access *access, cj_sharing sharing, cj_room *room) {
    if (access->use.flags & CJ_USE_WRITE) c->write_use |= CJ_WRITTEN;
    if (!(c->use & CJ_MANY)) {
        const cj_access single = cj__cell_single(c);
        cj_crowd       *many = new_crowd(room, CROWD_FIRST);
        if (!many) return false;
        add_to_crowd(many, &single, sharing, false);
        c->many = many;
        c->use = CJ_MANY;
        c->mask = 0;
    }
    return renew(c->many, access, sharing) || join_crowd(&c->many, access, sharing, room);
}

uint32_t cj__lanes_of_part(uint32_t mask, unsigned part, unsigned parts) {
    if (parts == 1 || !mask) return mask;
    const unsigned log_lanes = log_count(mask), log_parts = (unsigned)__builtin_ctz(parts);
    const unsigned first = (unsigned)__builtin_ctz(mask) + ((part << log_lanes) >> log_parts);
    return cj__lanes_from(first, log_lanes > log_parts ? log_lanes - log_parts : 0);
}

void cj__cell_part(cj_cell *to, const cj_cell *from, unsigned part, unsigned parts, cj_room *room) {
    *to = *from;
    if (from->write_time) {
        const cj_access write = cj__cell_write(from);
        const uint32_t  mask = cj__lanes_of_part(write.mask, part, parts);
        to->write_agent = (uint16_t)(write.group * CJ_ROW + (unsigned)__builtin_ctz(mask));
        to->write_use = (from->write_use & ~(7u << CJ_LANES_AT)) | log_count(mask) << CJ_LANES_AT;
    }
    to->mask = cj__lanes_of_part(from->mask, part, parts);
    if (!(from->use & CJ_MANY)) return;
    to->many = new_crowd(room, from->many->size);
    if (!to->many) {
        to->use = 0;
        return;
    }
    memcpy(to->many, from->many, sizeof *to->many + to->many->size * sizeof *to->many->entry);
    for (uint32_t i = 0; i < to->many->size; i++) {
        cj_access *entry = &to->many->entry[i];
        entry->mask = cj__lanes_of_part(entry->mask, part, parts);
    }
}

// ---- conflicts

// Whether both are strong and the scope of each includes the other's thread (PTX ISA, "Morally strong operations").
static bool are_strong_together(const cj_accessor *a, const cj_access *earlier) {
    const uint8_t least = a->access.use.scope < earlier->use.scope ? a->access.use.scope : earlier->use.scope;
    switch (least) {
    case CJ_SCOPE_WEAK: return false;
    case CJ_SCOPE_CTA: return a->access.block == earlier->block;
    case CJ_SCOPE_CLUSTER: return a->access.block / a->ranks == earlier->block / a->ranks;
    case CJ_SCOPE_GPU: return cj__is_same_gpu(a, a->access.block, earlier->block);
    default: return true;
    }
}

// The view in which an earlier access must be known to be ordered before this one. A proxy fence is not needed after
// reads: they leave nothing that must become visible.
static uint32_t unknown_of(const cj_accessor *a, const cj_access *earlier, uint32_t mask) {
    const cj_agents agents = {.block = earlier->block, .group = earlier->group, .mask = mask};
    const bool      is_write = earlier->use.flags & CJ_USE_WRITE;
    const bool      to_async = a->access.use.flags & ~earlier->use.flags & CJ_USE_ASYNC_PROXY;
    if (is_write && to_async) return cj__clock_unknown(a->now, a->proxy, &agents, earlier->time);
    mask = cj__clock_unknown(a->now, CJ_VIEW_MEMORY, &agents, earlier->time);
    if (mask && earlier->use.flags & a->access.use.flags & CJ_USE_INIT) {
        return cj__clock_unknown(a->now, CJ_VIEW_INIT, &(cj_agents){earlier->block, earlier->group, 0, mask, false},
                                 earlier->time);
    }
    return mask;
}

// The lanes of an earlier access that do not access each byte before they access it now. Of a row, these are the same
// lanes or all; of lanes together, all.
static uint32_t others_of(const cj_access *now, const cj_access *earlier, cj_sharing sharing) {
    if (earlier->block != now->block || earlier->group != now->group) return earlier->mask;
    if (sharing == CJ_ALONE || (sharing == CJ_SPREAD && earlier->mask == now->mask)) return earlier->mask & ~now->mask;
    return earlier->mask;
}

// The lanes of an earlier access that conflict with this one and are not ordered before it.
static uint32_t conflict(const cj_accessor *a, const cj_access *earlier, cj_sharing sharing) {
    if (!((earlier->use.flags | a->access.use.flags) & CJ_USE_WRITE)) return 0;
    if (a->access.use.flags & CJ_USE_TEXTURE) return earlier->mask;
    const uint32_t mask = others_of(&a->access, earlier, sharing);
    if (!mask || are_strong_together(a, earlier)) return 0;
    return unknown_of(a, earlier, mask);
}

// False, without a look at each entry, if all accesses only read, or all are atomic at a scope that reaches every thread.
static bool can_conflict(const cj_accessor *a, const cj_crowd *many) {
    if (!((many->flags | a->access.use.flags) & CJ_USE_WRITE)) return false;
    return many->scope < cj__scope_of_all(a) || a->access.use.scope < cj__scope_of_all(a);
}

bool cj__cell_conflict(const cj_accessor *a, const cj_cell *c, cj_sharing sharing, uint32_t *at, cj_access *earlier) {
    if (!(*at)++ && c->write_time) {
        *earlier = cj__cell_write(c);
        if ((earlier->mask = conflict(a, earlier, sharing))) return true;
    }
    if (!(c->use & CJ_MANY)) {
        *earlier = cj__cell_single(c);
        return (*at)++ == 1 && c->mask && (earlier->mask = conflict(a, earlier, sharing));
    }
    if (!can_conflict(a, c->many)) return false;
    for (; *at <= c->many->size; ++*at) {
        *earlier = c->many->entry[*at - 1];
        if (!earlier->time || !(earlier->mask = conflict(a, earlier, sharing))) continue;
        ++*at;
        return true;
    }
    return false;
}
