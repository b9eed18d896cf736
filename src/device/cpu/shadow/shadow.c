// SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BITS = 10,
    PAGE = 1 << PAGE_BITS,
    SHIFT_MAX = 4,
    LANES = 32,
    CROWD_FIRST = 4,
    CROWD_MAX = 1024,
    CROWD_BYTES = 1 << 30  // of one shadow
};

// Accesses of several warps: open addressing by block and group. A table that may not grow drops one entry for each new
// one: then, and only then, a conflict may be missed. A cluster has half as many warps as the largest table has
// entries, of which three quarters are used; so only reads of data that all clusters read are dropped.
typedef struct crowd {
    uint32_t  count, size;
    uint8_t   flags;    // of all entries together
    uint8_t   scope;    // the narrowest
    cj_access entry[];  // time 0: never used
} crowd;

// 32 bytes, since there are many cells. A weak write: its agent, time and op; its use says ASYNC_PROXY and INIT. Then
// the other accesses: several, or one, whose mask is 0 if there is none.
typedef struct cell {
    uint32_t write_block, write_time;
    uint32_t write_op : 24, write_flags : 8;
    uint16_t write_agent;
    uint16_t group;
    union {
        struct {
            uint32_t block, time;
        };
        crowd *many;
    };
    uint32_t mask;
    uint32_t op : 24, flags : 4, scope : 3, is_many : 1;
} cell;
_Static_assert(sizeof(cell) == 32, "a cell is half a cache line");

enum { WRITTEN = 1 << 7 };  // in write_flags: the granule is initialized

typedef struct page {
    uint8_t      shift;  // a granule has 1 << shift bytes
    cj_location *location;
    cell         cell[];
} page;

struct cj_shadow {
    uint64_t            bytes;
    uint64_t            crowd_bytes;  // of all pages: pages of several host threads
    const cj_cpu_range *range;
    page               *page[];
};

static size_t pages_of(const cj_shadow *shadow) { return (size_t)((shadow->bytes + PAGE - 1) >> PAGE_BITS); }

// ---- crowds

static uint32_t place_of(const crowd *many, const cj_access *access) {
    return (access->block * 37u + access->group) & (many->size - 1);
}

static bool is_same_kind(const cj_access *a, const cj_access *b) {
    return a->block == b->block && a->group == b->group && a->use.flags == b->use.flags && a->use.scope == b->use.scope;
}

// Whether `later`, by the same warp, makes the earlier entry of its kind unnecessary; merges lanes of the same time.
static bool takes_place(cj_access *earlier, const cj_access *later) {
    if (!is_same_kind(earlier, later)) return false;
    if (earlier->time == later->time) {
        earlier->mask |= later->mask;
        earlier->op = later->op;
        return true;
    }
    if (earlier->mask & ~later->mask) return false;
    *earlier = *later;
    return true;
}

// Adds an access; false if the table should grow first and may. Lanes leave the entries of their earlier accesses, so
// that each lane is in one entry of a kind; an entry that all lanes have left, its mask 0, is used again.
static bool add_to_crowd(crowd *many, const cj_access *access, bool may_grow) {
    uint32_t   at = place_of(many, access);
    cj_access *same = NULL, *left = NULL;
    many->flags |= access->use.flags;
    if (access->use.scope < many->scope) many->scope = access->use.scope;
    for (; many->entry[at].time; at = (at + 1) & (many->size - 1)) {
        cj_access *entry = &many->entry[at];
        if (!is_same_kind(entry, access)) continue;
        if (entry->time == access->time)
            same = entry;
        else if (!(entry->mask &= ~access->mask))
            left = entry;
    }
    if (same) {
        same->mask |= access->mask;
        same->op = access->op;
        return true;
    }
    if (left) {
        *left = *access;
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

static crowd *new_crowd(cj_shadow *shadow, uint32_t size) {
    crowd *many = cj__watch_calloc(sizeof *many + size * sizeof *many->entry);
    if (!many) return NULL;
    many->size = size;
    many->scope = UINT8_MAX;
    __atomic_add_fetch(&shadow->crowd_bytes, size * sizeof *many->entry, __ATOMIC_RELAXED);
    return many;
}

static void free_crowd(cj_shadow *shadow, crowd *many) {
    __atomic_sub_fetch(&shadow->crowd_bytes, many->size * sizeof *many->entry, __ATOMIC_RELAXED);
    free(many);
}

static bool join_crowd(cj_shadow *shadow, crowd **at, const cj_access *access) {
    while (!add_to_crowd(*at, access, __atomic_load_n(&shadow->crowd_bytes, __ATOMIC_RELAXED) < CROWD_BYTES)) {
        crowd *larger = new_crowd(shadow, (*at)->size * 2);
        if (!larger) return false;
        for (uint32_t i = 0; i < (*at)->size; i++) {
            if ((*at)->entry[i].mask) add_to_crowd(larger, &(*at)->entry[i], false);
        }
        free_crowd(shadow, *at);
        *at = larger;
    }
    return true;
}

// ---- cells

static cj_access write_of(const cell *c) {
    return (cj_access){.block = c->write_block,
                       .time = c->write_time,
                       .mask = 1u << c->write_agent % LANES,
                       .group = c->write_agent / LANES,
                       .use = {.flags = (uint8_t)(c->write_flags & ~WRITTEN) | CJ_USE_WRITE},
                       .op = c->write_op};
}

static cj_access single_of(const cell *c) {
    return (cj_access){.block = c->block,
                       .time = c->time,
                       .mask = c->mask,
                       .group = c->group,
                       .use = {.flags = (uint8_t)c->flags, .scope = (uint8_t)c->scope},
                       .op = c->op};
}

static void set_single(cell *c, const cj_access *access) {
    c->block = access->block;
    c->time = access->time;
    c->mask = access->mask;
    c->group = access->group;
    c->flags = access->use.flags & 15u;
    c->scope = access->use.scope & 7u;
    c->op = access->op & 0xffffffu;
}

static void empty(cj_shadow *shadow, cell *c) {
    if (c->is_many) free_crowd(shadow, c->many);
    c->is_many = false;
    c->mask = 0;
}

static void set_write(cj_shadow *shadow, cell *c, const cj_access *access) {
    if (c->mask || c->is_many) empty(shadow, c);
    c->write_block = access->block;
    c->write_time = access->time;
    c->write_agent = (uint16_t)(access->group * LANES + (uint32_t)__builtin_ctz(access->mask));
    c->write_op = access->op & 0xffffffu;
    c->write_flags = (access->use.flags & (CJ_USE_INIT | CJ_USE_ASYNC_PROXY)) | WRITTEN;
}

// Adds an access that is not a weak write.
static bool add_access(cj_shadow *shadow, cell *c, const cj_access *access) {
    if (access->use.flags & CJ_USE_WRITE) c->write_flags |= WRITTEN;
    if (c->is_many) return join_crowd(shadow, &c->many, access);
    cj_access single = single_of(c);
    if (!c->mask || takes_place(&single, access)) {
        set_single(c, c->mask ? &single : access);
        return true;
    }
    crowd *many = new_crowd(shadow, CROWD_FIRST);
    if (!many) return false;
    add_to_crowd(many, &single, false);
    c->many = many;
    c->is_many = true;
    c->mask = 0;
    return join_crowd(shadow, &c->many, access);
}

// ---- conflicts

// Whether both are strong and the scope of each includes the other's thread (PTX ISA, "Morally strong operations").
static bool are_strong_together(const cj_accessor *a, const cj_access *earlier) {
    const uint8_t least = a->access.use.scope < earlier->use.scope ? a->access.use.scope : earlier->use.scope;
    switch (least) {
    case CJ_SCOPE_WEAK: return false;
    case CJ_SCOPE_CTA: return a->access.block == earlier->block;
    case CJ_SCOPE_CLUSTER: return a->access.block / a->ranks == earlier->block / a->ranks;
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

// The lanes of an earlier access that conflict with this one and are not ordered before it.
static uint32_t conflict(const cj_accessor *a, const cj_access *earlier) {
    uint32_t mask = earlier->mask;
    if (!((earlier->use.flags | a->access.use.flags) & CJ_USE_WRITE)) return 0;
    if (a->access.use.flags & CJ_USE_TEXTURE) return mask;
    if (earlier->block == a->access.block && earlier->group == a->access.group) mask &= ~a->access.mask;
    if (!mask || are_strong_together(a, earlier)) return 0;
    return unknown_of(a, earlier, mask);
}

// False, without a look at each entry, if all accesses only read, or all are atomic at gpu scope or wider.
static bool can_conflict(const cj_accessor *a, const crowd *many) {
    if (!((many->flags | a->access.use.flags) & CJ_USE_WRITE)) return false;
    return many->scope < CJ_SCOPE_GPU || a->access.use.scope < CJ_SCOPE_GPU;
}

// The next recorded access that conflicts, from number *at: 0 is the weak write. Its mask keeps only the lanes that
// conflict.
static bool next_conflict(const cj_accessor *a, const cell *c, uint32_t *at, cj_access *earlier) {
    if (!(*at)++ && c->write_time) {
        *earlier = write_of(c);
        if ((earlier->mask = conflict(a, earlier))) return true;
    }
    if (!c->is_many) {
        *earlier = single_of(c);
        return (*at)++ == 1 && c->mask && (earlier->mask = conflict(a, earlier));
    }
    if (!can_conflict(a, c->many)) return false;
    for (; *at <= c->many->size; ++*at) {
        *earlier = c->many->entry[*at - 1];
        if (!earlier->time || !(earlier->mask = conflict(a, earlier))) continue;
        ++*at;
        return true;
    }
    return false;
}

// ---- pages

static size_t page_bytes(const cj_shadow *shadow, size_t index) {
    const uint64_t left = shadow->bytes - ((uint64_t)index << PAGE_BITS);
    return left < PAGE ? (size_t)left : PAGE;
}

static page *new_page(const cj_shadow *shadow, size_t index, uint8_t shift) {
    const size_t cells = (page_bytes(shadow, index) + (1u << shift) - 1) >> shift;
    page        *made = cj__watch_calloc(sizeof *made + cells * sizeof *made->cell);
    if (made) made->shift = shift;
    return made;
}

// Marks the granules whose bytes are initialized. Lowers *shift until no granule is initialized in part.
static void read_initialized(const cj_shadow *shadow, size_t index, page *p, uint8_t *shift) {
    const uint64_t begin = (uint64_t)index << PAGE_BITS, bytes = page_bytes(shadow, index);
    for (uint64_t at = 0, run; shadow->range && at < bytes; at += run) {
        bool written;
        run = cj__cpu_written_run(shadow->range, begin + at, bytes - at, &written);
        while (*shift && at + run < bytes && (at + run) & ((1u << *shift) - 1)) (*shift)--;
        if (!p || !written) continue;
        for (uint64_t i = at >> p->shift; i << p->shift < at + run; i++) p->cell[i].write_flags |= WRITTEN;
    }
}

static page *divide(cj_shadow *shadow, size_t index, uint8_t shift) {
    page *old = shadow->page[index], *made = new_page(shadow, index, shift);
    if (!made) return NULL;
    const size_t bytes = page_bytes(shadow, index);
    made->location = old->location;
    for (size_t at = 0; at < bytes; at += 1u << shift) {
        cell *from = &old->cell[at >> old->shift], *to = &made->cell[at >> shift];
        *to = *from;
        if (!from->is_many || !(at & ((1u << old->shift) - 1))) continue;
        to->many = new_crowd(shadow, from->many->size);
        to->is_many = to->many != NULL;
        if (to->many) memcpy(to->many, from->many, sizeof *to->many + to->many->size * sizeof *to->many->entry);
    }
    free(old);
    return made;
}

// The page, with granules of at most 1 << shift bytes.
static page *make_page(cj_shadow *shadow, size_t index, uint8_t shift) {
    page *p = shadow->page[index];
    if (p) {
        p = divide(shadow, index, shift);
    } else {
        read_initialized(shadow, index, NULL, &shift);
        p = new_page(shadow, index, shift);
        if (p) read_initialized(shadow, index, p, &shift);
    }
    if (p) shadow->page[index] = p;
    return p;
}

static inline page *get_page(cj_shadow *shadow, size_t index, uint8_t shift) {
    page *p = shadow->page[index];
    return p && p->shift <= shift ? p : make_page(shadow, index, shift);
}

static void free_page(cj_shadow *shadow, page *p, size_t bytes) {
    if (!p) return;
    for (size_t i = 0; i << p->shift < bytes; i++) empty(shadow, &p->cell[i]);
    for (cj_location *next, *location = p->location; location; location = next) {
        next = location->next;
        for (unsigned i = 0; i < CJ_SCOPES; i++) cj__clock_drop(location->released[i].clock);
        free(location);
    }
    free(p);
}

// ---- shadows

cj_shadow *cj__shadow_new(uint64_t bytes, const cj_cpu_range *range) {
    const size_t pages = (size_t)((bytes + PAGE - 1) >> PAGE_BITS);
    cj_shadow   *shadow = cj__watch_calloc(sizeof *shadow + pages * sizeof *shadow->page);
    if (!shadow) return NULL;
    shadow->bytes = bytes;
    shadow->range = range;
    return shadow;
}

void cj__shadow_clear(cj_shadow *shadow) {
    for (size_t i = 0; i < pages_of(shadow); i++) {
        free_page(shadow, shadow->page[i], page_bytes(shadow, i));
        shadow->page[i] = NULL;
    }
}

void cj__shadow_free(cj_shadow *shadow) {
    if (!shadow) return;
    cj__shadow_clear(shadow);
    free(shadow);
}

// The bytes from `at` on, in one page, whose granules are all written.
static size_t written_from(const page *p, size_t at, size_t bytes) {
    size_t end = at;
    while (end < bytes && p->cell[end >> p->shift].write_flags & WRITTEN) end += (size_t)1 << p->shift;
    return (end < bytes ? end : bytes) - at;
}

void cj__shadow_settle(const cj_shadow *shadow) {
    for (size_t i = 0; i < pages_of(shadow); i++) {
        const page  *p = shadow->page[i];
        const size_t bytes = p ? page_bytes(shadow, i) : 0;
        for (size_t at = 0; at < bytes; at += (size_t)1 << p->shift) {
            const size_t run = written_from(p, at, bytes);
            if (run) cj__cpu_written_mark(shadow->range, ((uint64_t)i << PAGE_BITS) + at, run);
            if (run) at += (run - 1) >> p->shift << p->shift;
        }
    }
}

// Checks and records the access to one granule. An access reports one conflict and one uninitialized read at most.
static bool access_cell(cj_shadow *shadow, const cj_accessor *a, cell *c, uint64_t offset, uint64_t bytes,
                        cj_shadow_found *found, void *user) {
    if (*found && a->access.use.flags & CJ_USE_READ && !(c->write_flags & WRITTEN)) {
        if ((*found)(user, a, NULL, offset, bytes) == CJ_VERDICT_REPORTED) *found = NULL;
    }
    cj_access earlier;
    uint32_t  at = 0;
    while (*found && (c->write_time | c->mask || c->is_many) && next_conflict(a, c, &at, &earlier)) {
        switch ((*found)(user, a, &earlier, offset, bytes)) {
        case CJ_VERDICT_SAME: return true;
        case CJ_VERDICT_REPORTED: *found = NULL; break;
        case CJ_VERDICT_HARMLESS: break;
        }
    }
    if (a->access.use.flags & CJ_USE_WRITE && !a->access.use.scope) {
        set_write(shadow, c, &a->access);
        return true;
    }
    cj_access kept = a->access;
    kept.use.flags &= (uint8_t)~CJ_USE_TEXTURE;
    return add_access(shadow, c, &kept);
}

// ---- the short way: a weak access whose cell holds one warp's accesses, all ordered before it

// Whether the accessor knows all lanes of that warp up to that time.
static inline bool is_known(cj_accessor *a, uint32_t block, uint32_t group, uint32_t time) {
    cj_shadow_memo *memo = &a->memo;
    if (memo->now == a->now && memo->block == block && memo->group == group && time <= memo->time) return true;
    const cj_agents agents = {.block = block, .group = (uint16_t)group, .mask = UINT32_MAX};
    if (!a->now || cj__clock_unknown(a->now, CJ_VIEW_MEMORY, &agents, time)) return false;
    *memo = (cj_shadow_memo){a->now, block, group, time};
    return true;
}

static inline bool is_own_warp(const cj_accessor *a, uint32_t block, uint32_t group) {
    return block == a->access.block && group == a->access.group;
}

// A weak read joins a weak read of its own warp, or is the first.
static inline bool read_quickly(cell *c, const cj_access *access) {
    if (!c->mask) return set_single(c, access), true;
    if (c->block != access->block || c->group != access->group || c->flags != CJ_USE_READ || c->scope) return false;
    if (c->time == access->time) {
        c->mask |= access->mask;
    } else {
        if (c->mask != access->mask) return false;
        c->time = access->time;
    }
    c->op = access->op & 0xffffffu;
    return true;
}

// Does what access_cell would do, if there is nothing to report; false: access_cell must look.
static inline bool access_quickly(cj_shadow *shadow, cj_accessor *a, cell *c) {
    const bool is_write = a->access.use.flags == CJ_USE_WRITE;
    if (a->access.use.scope || c->is_many || (!is_write && a->access.use.flags != CJ_USE_READ)) return false;
    if (!is_write && !(c->write_flags & WRITTEN)) return false;
    const uint32_t writer = c->write_agent / LANES, lane = 1u << c->write_agent % LANES;
    const bool     own_write = is_own_warp(a, c->write_block, writer) && lane == a->access.mask;
    if (c->write_time && !own_write && !is_known(a, c->write_block, writer, c->write_time)) return false;
    if (!is_write) return read_quickly(c, &a->access);
    const bool own = is_own_warp(a, c->block, c->group) && c->mask == a->access.mask;
    if (c->mask && !own && !is_known(a, c->block, c->group, c->time)) return false;
    set_write(shadow, c, &a->access);
    return true;
}

bool cj__shadow_access(cj_shadow *shadow, cj_accessor *accessor, uint64_t offset, uint64_t bytes, cj_shadow_found found,
                       void *user) {
    const uint64_t end = offset + bytes;
    const uint8_t  shift = (uint8_t)__builtin_ctzll(offset | bytes | 1u << SHIFT_MAX);
    while (offset < end) {
        const size_t index = (size_t)(offset >> PAGE_BITS);
        page        *p = get_page(shadow, index, shift);
        if (!p) return false;
        const uint64_t begin = (uint64_t)index << PAGE_BITS;
        const uint64_t to = end < begin + PAGE ? end : begin + PAGE;
        for (; offset < to; offset += 1u << p->shift) {
            cell *c = &p->cell[(offset - begin) >> p->shift];
            if (access_quickly(shadow, accessor, c)) continue;
            if (!access_cell(shadow, accessor, c, offset, 1u << p->shift, &found, user)) return false;
        }
    }
    return true;
}

void cj__shadow_undefine(cj_shadow *shadow, uint64_t offset, uint64_t bytes) {
    const uint64_t end = offset + bytes;
    const uint8_t  shift = (uint8_t)__builtin_ctzll(offset | bytes | 1u << SHIFT_MAX);
    while (offset < end) {
        page *p = get_page(shadow, (size_t)(offset >> PAGE_BITS), shift);
        if (!p) return;
        p->cell[offset % PAGE >> p->shift].write_flags &= (uint8_t)~WRITTEN;
        offset += 1u << p->shift;
    }
}

void cj__shadow_renew(cj_shadow *shadow, uint64_t offset, uint64_t bytes) {
    const uint64_t end = offset + bytes;
    for (uint64_t next; offset < end; offset = next) {
        page *p = shadow->page[offset >> PAGE_BITS];
        next = (offset / PAGE + 1) * PAGE < end ? (offset / PAGE + 1) * PAGE : end;
        if (!p) continue;
        for (uint64_t i = offset % PAGE >> p->shift; i <= (next - 1) % PAGE >> p->shift; i++) {
            empty(shadow, &p->cell[i]);
            p->cell[i] = (cell){0};
        }
        cj__shadow_forget(shadow, offset, next - offset);
    }
}

void cj__shadow_visit(const cj_shadow *shadow, uint32_t                                                          block,
                      void (*visit)(void *user, const cj_access *access, uint64_t offset, uint64_t bytes), void *user) {
    for (size_t i = 0; i < pages_of(shadow); i++) {
        const page  *p = shadow->page[i];
        const size_t cells = p ? (page_bytes(shadow, i) + (1u << p->shift) - 1) >> p->shift : 0;
        for (size_t k = 0; k < cells; k++) {
            const cell     *c = &p->cell[k];
            const uint64_t  offset = ((uint64_t)i << PAGE_BITS) + (k << p->shift), bytes = 1u << p->shift;
            const cj_access write = write_of(c), single = single_of(c);
            if (c->write_time && c->write_block != block) visit(user, &write, offset, bytes);
            if (c->mask && !c->is_many && c->block != block) visit(user, &single, offset, bytes);
            for (uint32_t n = 0; c->is_many && n < c->many->size; n++) {
                const cj_access *entry = &c->many->entry[n];
                if (entry->time && entry->block != block) visit(user, entry, offset, bytes);
            }
        }
    }
}

// ---- locations

cj_location *cj__shadow_location(cj_shadow *shadow, uint64_t offset, bool make) {
    page *p = shadow->page[offset >> PAGE_BITS];
    if (!p) return NULL;
    for (cj_location *known = p->location; known; known = known->next) {
        if (known->offset == offset) return known;
    }
    cj_location *made = make ? cj__watch_calloc(sizeof *made) : NULL;
    if (!made) return NULL;
    *made = (cj_location){.next = p->location, .offset = offset};
    return p->location = made;
}

void cj__shadow_forget(cj_shadow *shadow, uint64_t offset, uint64_t bytes) {
    page *p = shadow->page[offset >> PAGE_BITS];
    for (cj_location *location = p ? p->location : NULL; location; location = location->next) {
        if (location->offset < offset || location->offset - offset >= bytes) continue;
        for (unsigned i = 0; i < CJ_SCOPES; i++) {
            cj__clock_drop(location->released[i].clock);
            location->released[i] = (cj_released){0};
        }
    }
}
