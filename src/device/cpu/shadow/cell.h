// SPDX-License-Identifier: Apache-2.0
// A cell of the shadow: the accesses of a granule, or of a row of 32 granules, that a later access can still conflict
// with.
//
// In the cell of a row each access is of 1, 2, 4, … or 32 lanes with consecutive numbers, which access equal parts of
// the row one after another: so its mask says which lane accesses which granule.
#ifndef CJ_CPU_CELL_H
#define CJ_CPU_CELL_H

#include "pool.h"
#include "shadow.h"

// Where cells and tables come from.
typedef struct cj_room {
    uint64_t bytes;  // of all tables: of several host threads
    cj_pool  pool;
} cj_room;

enum { CJ_ROW_BITS = 5, CJ_ROW = 1 << CJ_ROW_BITS };  // granules; and lanes of a warp

// Accesses of several warps: open addressing by block and group. A table that may not grow drops one entry for each new
// one: then, and only then, a conflict may be missed. A cluster has half as many warps as the largest table has
// entries, of which three quarters are used; so only reads of data that all clusters read are dropped.
typedef struct cj_crowd {
    uint32_t  count, size;
    uint8_t   flags;     // of all entries together
    uint8_t   scope;     // the narrowest
    bool      is_mixed;  // a warp may have several entries of a kind
    cj_access entry[];   // time 0: never used
} cj_crowd;

// 32 bytes, since there are many cells. A weak write: its block, agent, time and use. Then the other accesses: several,
// or one, whose mask is 0 if there is none.
typedef struct cj_cell {
    uint32_t write_block, write_time;
    uint16_t write_agent;  // of a row: the first
    uint16_t group;
    uint32_t write_use;
    union {
        struct {
            uint32_t block, time;
        };
        cj_crowd *many;
    };
    uint32_t mask, use;
} cj_cell;
_Static_assert(sizeof(cj_cell) == 32, "a cell is half a cache line");

// A use: 24 bits of the op, then 8 bits.
enum {
    CJ_OP_BITS = 24,
    CJ_OP = (1 << CJ_OP_BITS) - 1,
    CJ_LANES_AT = 28,  // in write_use: the logarithm of the number of lanes, 3 bits
    CJ_SCOPE_AT = 28,  // in use: 3 bits
};
#define CJ_WRITTEN (1u << 31)  // in write_use: all bytes are initialized
#define CJ_ROLLED (1u << 24)   // in write_use: there are more accesses in the row's roll (roll.h)
#define CJ_MANY (1u << 31)     // in use

// How the lanes of an access share the cell's bytes.
typedef enum cj_sharing {
    CJ_ALONE,     // one lane accesses the granule
    CJ_TOGETHER,  // several lanes read all of the granule
    CJ_SPREAD     // lanes access parts of the row
} cj_sharing;

static inline uint32_t cj__lanes_from(unsigned first, unsigned log_count) {
    return (uint32_t)((UINT64_C(1) << (1u << log_count)) - 1) << first;
}

static inline uint32_t cj__written_by(const cj_cell *c) {
    return cj__lanes_from(c->write_agent % CJ_ROW, c->write_use >> CJ_LANES_AT & 7);
}

static inline uint32_t cj__use_of(const cj_access *access) {
    return (access->op & CJ_OP) | (access->use.flags & 15u) << CJ_OP_BITS | (access->use.scope & 7u) << CJ_SCOPE_AT;
}

static inline void cj__cell_set_single(cj_cell *c, const cj_access *access) {
    c->block = access->block;
    c->time = access->time;
    c->mask = access->mask;
    c->group = access->group;
    c->use = cj__use_of(access);
}

// Records an access that is no weak write, if it is the first, or takes the place of the only one, of its kind and
// warp. In a row only an access by the same lanes, to the same bytes, takes the place of another.
static inline bool cj__cell_join(cj_cell *c, const cj_access *access, cj_sharing sharing) {
    const uint32_t use = cj__use_of(access);
    if (c->use & CJ_MANY) return false;
    if (access->use.flags & CJ_USE_WRITE) c->write_use |= CJ_WRITTEN;
    if (!c->mask) return cj__cell_set_single(c, access), true;
    if (c->block != access->block || c->group != access->group || (c->use ^ use) >> CJ_OP_BITS) return false;
    if (c->mask != access->mask) {
        if (sharing == CJ_SPREAD || (c->time != access->time && c->mask & ~access->mask)) return false;
        c->mask = c->time == access->time ? c->mask | access->mask : access->mask;
    }
    c->time = access->time;
    c->use = use;
    return true;
}

// The weak write and the single access of a cell.
cj_access cj__cell_write(const cj_cell *c);
cj_access cj__cell_single(const cj_cell *c);

// The calls below take tables from *room.

// Removes all accesses but the weak write.
void cj__cell_empty(cj_cell *c, cj_room *room);
// Records a weak write by 1 << log_count lanes, from `lane` on.
static inline void cj__cell_set_write(cj_cell *c, const cj_access *access, unsigned lane, unsigned log_count,
                                      cj_room *room) {
    if (c->use & CJ_MANY) cj__cell_empty(c, room);
    c->mask = 0;
    c->write_block = access->block;
    c->write_time = access->time;
    c->write_agent = (uint16_t)(access->group * CJ_ROW + lane);
    c->write_use = (access->op & CJ_OP) | (access->use.flags & (CJ_USE_INIT | CJ_USE_ASYNC_PROXY)) << CJ_OP_BITS |
                   log_count << CJ_LANES_AT | CJ_WRITTEN;
}
// Records an access that is no weak write. False when out of memory.
bool               cj__cell_crowd(cj_cell *c, const cj_access *access, cj_sharing sharing, cj_room *room);
static inline bool cj__cell_add(cj_cell *c, const cj_access *access, cj_sharing sharing, cj_room *room) {
    return cj__cell_join(c, access, sharing) || cj__cell_crowd(c, access, sharing, room);
}
// Of lanes that share a row, those that share part `part` of `parts`; with one part, all.
uint32_t cj__lanes_of_part(uint32_t mask, unsigned part, unsigned parts);
// Makes *to the cell of part `part` of `parts` of a row; of a granule, with one part, a copy. Out of memory it forgets the
// accesses of several warps.
void cj__cell_part(cj_cell *to, const cj_cell *from, unsigned part, unsigned parts, cj_room *room);

// The next recorded access that conflicts, from number *at: 0 is the weak write. Its mask keeps only the lanes that
// conflict; of a row's access whose lanes are not known one by one, some lanes.
bool cj__cell_conflict(const cj_accessor *a, const cj_cell *c, cj_sharing sharing, uint32_t *at, cj_access *earlier);

#endif
