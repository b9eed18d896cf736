// SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

#include <stdlib.h>

#include "allocate.h"
#include "page.h"

cj_shadow *cj__shadow_new(uint64_t bytes, const cj_cpu_range *range) {
    const size_t pages = (size_t)((bytes + CJ_PAGE - 1) >> CJ_PAGE_BITS);
    cj_shadow   *shadow = cj__watch_calloc(sizeof *shadow + pages * sizeof *shadow->page);
    if (!shadow) return NULL;
    shadow->bytes = bytes;
    shadow->range = range;
    shadow->initialized = bytes;
    shadow->room.pool.is_shared = range;
    return shadow;
}

void cj__shadow_initialize(cj_shadow *shadow, uint64_t from) { shadow->initialized = from; }

void cj__shadow_clear(cj_shadow *shadow) {
    for (size_t i = 0; i < cj__shadow_pages(shadow); i++) cj__page_free(shadow, i);
    cj__pool_reset(&shadow->room.pool);
    shadow->room.bytes = 0;
}

void cj__shadow_free(cj_shadow *shadow) {
    if (!shadow) return;
    cj__shadow_clear(shadow);
    cj__pool_free(&shadow->room.pool);
    cj__free(shadow);
}

// ---- the short way: an access, if each access of the cell is ordered before it, reads as it does, or is atomic as it is

// Some lanes of an accessor: all in `mask`, 1 << log_count of them that share a row, or lanes together. Eight bytes are one
// register of a call.
typedef struct some_lanes {
    uint32_t mask;
    uint16_t log_count, sharing;
} some_lanes;

// Lanes of a warp up to a time, at which they had an access with these flags.
typedef struct some_past {
    uint32_t block, group, lanes, time;
    unsigned flags;
} some_past;

// Operations of a thread are as many groups apart as the block has warps, often eight.
static inline unsigned memo_of(some_past past) { return (past.block + past.group + past.group / 8) % CJ_SHADOW_WARPS; }

// Whether these are the accessor's lanes, or the accessor knows them in the view that both accesses need (of INIT, which
// is known in MEMORY or in a view of its own, only the first).
static inline bool is_before(cj_accessor *a, some_lanes by, some_past past) {
    const cj_access *access = &a->access;
    if (past.block == access->block && past.group == access->group && past.lanes == by.mask &&
        by.sharing != CJ_TOGETHER)
        return a->is_partial = true;
    const bool      to_async = access->use.flags & ~past.flags & CJ_USE_ASYNC_PROXY;
    const cj_view   view = to_async && past.flags & CJ_USE_WRITE ? a->proxy : CJ_VIEW_MEMORY;
    cj_shadow_memo *memo = &a->memo[memo_of(past)];
    if (memo->now == a->now && memo->block == past.block && memo->group == past.group && past.time <= memo->time &&
        !(past.lanes & ~memo->mask) && memo->view == view)
        return true;
    const cj_agents agents = {.block = past.block, .group = (uint16_t)past.group, .mask = UINT32_MAX};
    const uint32_t  unknown = cj__clock_unknown(a->now, view, &agents, past.time);
    if (unknown & past.lanes) return false;
    a->is_partial |= memo->now == a->now;
    *memo = (cj_shadow_memo){a->now, view, past.block, past.group, past.time, ~unknown};
    return true;
}

// Whether accesses with these flags and, at the narrowest, this scope do not conflict with the accessor's.
static inline bool is_alike(const cj_accessor *a, unsigned flags, unsigned scope) {
    if (!((flags | a->access.use.flags) & CJ_USE_WRITE)) return true;
    return scope >= cj__scope_of_all(a) && a->access.use.scope >= cj__scope_of_all(a);
}

// Whether the accessor knows all threads of the roll's block up to its last atomic, or is atomic as they are.
static inline bool is_roll_quiet(cj_accessor *a, const cj_roll *roll) {
    cj_shadow_memo *memo = &a->memo[CJ_SHADOW_WARPS];
    if (is_alike(a, roll->use.flags, roll->use.scope)) return true;
    if (a->access.use.flags & CJ_USE_ASYNC_PROXY) return false;
    if (memo->now != a->now || memo->block != roll->block) {
        uint16_t       warps;
        const uint32_t least = cj__clock_least(a->now, roll->block, &warps);
        *memo = (cj_shadow_memo){a->now, CJ_VIEW_MEMORY, roll->block, warps, least, UINT32_MAX};
    }
    a->is_partial = true;
    return roll->groups <= memo->group && roll->last <= memo->time;
}

static inline bool is_crowd_quiet(cj_accessor *a, const cj_crowd *many, some_lanes by) {
    if (is_alike(a, many->flags, many->scope)) return true;
    for (uint32_t i = 0; i < many->size; i++) {
        const cj_access *e = &many->entry[i];
        if (e->time && !is_before(a, by, (some_past){e->block, e->group, e->mask, e->time, e->use.flags})) return false;
    }
    return true;
}

static inline bool is_quiet(cj_accessor *a, const cj_cell *c, some_lanes by) {
    const unsigned write_flags = (c->write_use >> CJ_OP_BITS & CJ_USE_ASYNC_PROXY) | CJ_USE_WRITE;
    if (a->access.use.flags & CJ_USE_READ && !(c->write_use & CJ_WRITTEN)) return false;
    if (c->write_time &&
        !is_before(a, by,
                   (some_past){c->write_block, c->write_agent / CJ_ROW, cj__written_by(c), c->write_time, write_flags}))
        return false;
    if (c->use & CJ_MANY) return is_crowd_quiet(a, c->many, by);
    const unsigned flags = c->use >> CJ_OP_BITS & 15;
    return !c->mask || is_alike(a, flags, c->use >> CJ_SCOPE_AT & 7) ||
           is_before(a, by, (some_past){c->block, c->group, c->mask, c->time, flags});
}

bool cj__shadow_suffices(const cj_accessor *a, const cj_clock *other) {
    for (unsigned i = 0; i < CJ_SHADOW_WARPS; i++) {
        const cj_shadow_memo *memo = &a->memo[i];
        const cj_agents       agents = {.block = memo->block, .group = (uint16_t)memo->group, .mask = memo->mask};
        if (memo->now == a->now && cj__clock_unknown(other, memo->view, &agents, memo->time)) return false;
    }
    return !a->is_partial;
}

// ---- accesses

// An access on its way over the rows: `bytes` from `offset` on.
typedef struct walk {
    cj_shadow   *shadow;
    cj_accessor *a;
    uint64_t     offset, bytes;
    uint32_t     lanes;     // the first lane; or the lanes that access all of the bytes
    unsigned     each;      // the logarithm of a lane's bytes; ALL: each lane accesses all of the bytes
    cj_sharing   sharing;   // of a granule
    bool         is_short;  // the short way may be tried
    bool         is_kept;   // the access is recorded wherever it has been
    // Judges conflicts: at most one, and one uninitialized read, are reported. NULL: the walk ends at the first.
    cj_shadow_found *found;
    void            *user;
} walk;

enum { ALL = 63 };

static bool is_weak_write(const cj_access *access) { return access->use.flags & CJ_USE_WRITE && !access->use.scope; }

static bool may_be_short(const cj_access *access) { return !(access->use.flags & CJ_USE_TEXTURE); }

static inline bool keep(const walk *v, cj_cell *c, some_lanes by) {
    cj_access *access = &v->a->access;
    if (access->use.flags & CJ_USE_COVERED) return true;
    if (is_weak_write(access)) {
        cj__cell_set_write(c, access, (unsigned)__builtin_ctz(by.mask), by.log_count, &v->shadow->room);
        return true;
    }
    access->mask = by.mask;
    return cj__cell_add(c, access, by.sharing, &v->shadow->room);
}

static inline bool keep_shortly(const walk *v, cj_cell *c, some_lanes by) {
    return v->is_short && is_quiet(v->a, c, by) && keep(v, c, by);
}

// Before a look at the cell of granule k: it gets what the roll has of it, unless no look at that is needed.
static inline void open_roll(const walk *v, const cj_row *row, unsigned k) {
    cj_cell *c = &row->granule[k];
    if (c->write_use & CJ_ROLLED && !(v->is_short && is_roll_quiet(v->a, row->roll)))
        cj__roll_settle(row->roll, c, k, &v->shadow->room);
}

// Checks and records the access to one granule. False when out of memory.
static bool judge_cell(walk *v, cj_cell *c, uint64_t offset, uint64_t bytes, some_lanes by) {
    cj_access earlier;
    uint32_t  at = 0;
    v->a->is_partial = true;
    if (*v->found && v->a->access.use.flags & CJ_USE_READ && !(c->write_use & CJ_WRITTEN)) {
        if ((*v->found)(v->user, v->a, NULL, offset, bytes) == CJ_VERDICT_REPORTED) *v->found = NULL;
    }
    while (*v->found && cj__cell_conflict(v->a, c, by.sharing, &at, &earlier)) {
        switch ((*v->found)(v->user, v->a, &earlier, offset, bytes)) {
        case CJ_VERDICT_SAME: v->is_kept = false; return true;
        case CJ_VERDICT_REPORTED: *v->found = NULL; break;
        case CJ_VERDICT_HARMLESS: break;
        }
    }
    return keep(v, c, by);
}

// Records the access to a granule or a row, if there is nothing to report.
static bool keep_quietly(const walk *v, cj_cell *c, some_lanes by) {
    cj_access earlier;
    uint32_t  at = 0;
    v->a->is_partial = true;
    if (v->a->access.use.flags & CJ_USE_READ && !(c->write_use & CJ_WRITTEN)) return false;
    return !cj__cell_conflict(v->a, c, by.sharing, &at, &earlier) && keep(v, c, by);
}

static bool pass_granules(walk *v, const cj_page *page, cj_row *row, uint64_t from, uint64_t to) {
    const uint64_t bytes = UINT64_C(1) << page->shift;
    for (; from < to; from += bytes) {
        const unsigned   k = (unsigned)(from >> page->shift) % CJ_ROW;
        cj_cell         *c = &row->granule[k];
        const some_lanes by = {v->lanes << ((from - v->offset) >> v->each), 0, v->sharing};
        open_roll(v, row, k);
        if (keep_shortly(v, c, by)) continue;
        v->a->access.mask = by.mask;
        if (!(v->found ? judge_cell(v, c, from, bytes, by) : keep_quietly(v, c, by))) return false;
    }
    return true;
}

// Records a weak write to all of a row whose granules have cells, if none of them has anything to report.
static bool keep_over_granules(walk *v, cj_row *row, some_lanes by) {
    const bool       is_one = !(by.mask & (by.mask - 1));
    const some_lanes any = {by.mask, 0, is_one ? CJ_ALONE : CJ_TOGETHER};  // whichever of them it is
    if (!v->is_short || !is_weak_write(&v->a->access)) return false;
    for (unsigned k = 0; k < CJ_ROW; k++) {
        open_roll(v, row, k);
        if (!is_quiet(v->a, &row->granule[k], any)) return false;
    }
    cj__row_clear(v->shadow, row);
    return keep(v, &row->whole, by);
}

// The bytes of one row. All of them are one access to its cell, if that has nothing to report; after a weak write to all
// granules the row has one cell again.
static bool pass_row(walk *v, const cj_page *page, cj_row *row, uint64_t from, uint64_t to) {
    const unsigned bits = cj__row_bits(page);
    const uint64_t before = from - v->offset;
    const bool     is_all = (to - from) >> bits && v->sharing == CJ_ALONE &&
                        (v->each == ALL || !(before & ((UINT64_C(1) << v->each) - 1)));
    some_lanes by = {0, (uint16_t)(v->each < bits ? bits - v->each : 0), CJ_SPREAD};
    if (is_all) {
        by.mask = cj__lanes_from((unsigned)__builtin_ctz(v->lanes) + (unsigned)(before >> v->each), by.log_count);
        v->a->access.mask = by.mask;
        if (row->granule ? keep_over_granules(v, row, by)
                         : keep_shortly(v, &row->whole, by) || keep_quietly(v, &row->whole, by))
            return true;
    }
    if (!cj__row_divide(v->shadow, row) || !pass_granules(v, page, row, from, to)) return false;
    if (is_all && v->is_kept && is_weak_write(&v->a->access)) {
        cj__row_clear(v->shadow, row);
        v->a->access.mask = by.mask;
        keep(v, &row->whole, by);
    }
    return true;
}

// The granules for an access, as a logarithm: as large as a lane's part; for a long read, such that it is of whole rows. Not for a
// write: its values are compared granule by granule.
static uint8_t shift_for(const walk *v, uint64_t lane_bytes) {
    enum { LONG = 7 };
    const unsigned bits = (unsigned)__builtin_ctzll(v->offset | lane_bytes | 1u << (CJ_SHIFT_MAX + CJ_ROW_BITS));
    if (v->each == ALL && bits >= LONG && !(v->a->access.use.flags & CJ_USE_WRITE))
        return (uint8_t)(bits - CJ_ROW_BITS);
    return (uint8_t)(bits < CJ_SHIFT_MAX ? bits : CJ_SHIFT_MAX);
}

static bool pass(walk *v, uint64_t lane_bytes) {
    const uint64_t end = v->offset + v->bytes;
    const uint8_t  shift = shift_for(v, lane_bytes);
    v->is_short = may_be_short(&v->a->access);
    v->is_kept = true;
    for (uint64_t next, offset = v->offset; offset < end; offset = next) {
        cj_page *page = cj__page_at(v->shadow, (size_t)(offset >> CJ_PAGE_BITS), shift);
        if (!page) return false;
        const unsigned bits = cj__row_bits(page);
        next = ((offset >> bits) + 1) << bits;
        if (next > end) next = end;
        if (!pass_row(v, page, &page->row[offset % CJ_PAGE >> bits], offset, next)) return false;
    }
    return true;
}

// A granule that has a cell of its own; c NULL: none.
typedef struct own_cell {
    cj_row  *row;
    cj_cell *c;
    unsigned k;  // in the row
} own_cell;

// The granule that these bytes are.
static inline own_cell find_own(const cj_shadow *shadow, uint64_t offset, uint64_t bytes) {
    cj_page *page = shadow->page[offset >> CJ_PAGE_BITS];
    if (!page || bytes != UINT64_C(1) << page->shift || offset & (bytes - 1)) return (own_cell){0};
    cj_row        *row = &page->row[offset % CJ_PAGE >> cj__row_bits(page)];
    const unsigned k = (unsigned)(offset >> page->shift) % CJ_ROW;
    return (own_cell){row, row->granule ? &row->granule[k] : NULL, k};
}

// Records the access of one lane to one granule that has a cell of its own, if there is nothing to report.
static inline bool keep_one(cj_shadow *shadow, cj_accessor *accessor, uint64_t offset, uint64_t bytes) {
    const walk     v = {.shadow = shadow, .a = accessor, .is_short = may_be_short(&accessor->access)};
    const own_cell own = find_own(shadow, offset, bytes);
    if (!own.c) return false;
    open_roll(&v, own.row, own.k);
    return keep_shortly(&v, own.c, (some_lanes){accessor->access.mask, 0, CJ_ALONE});
}

bool cj__shadow_access(cj_shadow *shadow, cj_accessor *accessor, uint64_t offset, uint64_t bytes, cj_shadow_found found,
                       void *user) {
    if (keep_one(shadow, accessor, offset, bytes)) return true;
    const uint32_t mask = accessor->access.mask;
    walk           v = {.shadow = shadow,
                        .a = accessor,
                        .offset = offset,
                        .bytes = bytes,
                        .lanes = mask,
                        .each = ALL,
                        .found = &found,
                        .user = user};
    const bool     is_done = pass(&v, bytes);
    accessor->access.mask = mask;
    return is_done;
}

// Records an atomic in the row's roll, if there is nothing to report.
static inline bool join_roll(cj_shadow *shadow, cj_accessor *a, own_cell own) {
    if (shadow->range || (own.row->roll && !is_roll_quiet(a, own.row->roll))) return false;
    return is_quiet(a, own.c, (some_lanes){a->access.mask, 0, CJ_ALONE}) &&
           cj__roll_add(&own.row->roll, own.c, own.k, &a->access, &shadow->room);
}

uint32_t cj__shadow_atomics(cj_shadow *shadow, cj_accessor *accessor, uint32_t lanes, const uint64_t *address,
                            uint64_t begin, uint64_t bytes) {
    uint32_t left = 0;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(rest);
        const own_cell own = find_own(shadow, address[lane] - begin, bytes);
        accessor->access.mask = 1u << lane;
        if (own.c && join_roll(shadow, accessor, own)) continue;
        left |= (uint32_t)!keep_one(shadow, accessor, address[lane] - begin, bytes) << lane;
    }
    return left;
}

bool cj__shadow_side_by_side(cj_shadow *shadow, cj_accessor *accessor, uint32_t lanes, uint64_t offset,
                             uint64_t bytes) {
    const unsigned first = (unsigned)__builtin_ctz(lanes), end = CJ_ROW - (unsigned)__builtin_clz(lanes);
    walk           v = {.shadow = shadow,
                        .a = accessor,
                        .offset = offset,
                        .bytes = bytes * (end - first),
                        .lanes = 1u << first,
                        .each = (unsigned)__builtin_ctzll(bytes)};
    return pass(&v, bytes);
}

bool cj__shadow_read_together(cj_shadow *shadow, cj_accessor *accessor, uint32_t lanes, uint64_t offset,
                              uint64_t bytes) {
    walk v = {.shadow = shadow,
              .a = accessor,
              .offset = offset,
              .bytes = bytes,
              .lanes = lanes,
              .each = ALL,
              .sharing = lanes & (lanes - 1) ? CJ_TOGETHER : CJ_ALONE};
    return pass(&v, bytes);
}

// ---- initialized bytes

void cj__shadow_undefine(cj_shadow *shadow, uint64_t offset, uint64_t bytes) {
    const uint64_t end = offset + bytes;
    const uint8_t  shift = (uint8_t)__builtin_ctzll(offset | bytes | 1u << CJ_SHIFT_MAX);
    while (offset < end) {
        cj_page *page = cj__page_at(shadow, (size_t)(offset >> CJ_PAGE_BITS), shift);
        cj_row  *row = page ? &page->row[offset % CJ_PAGE >> cj__row_bits(page)] : NULL;
        if (!row || !cj__row_divide(shadow, row)) return;
        row->granule[(offset >> page->shift) % CJ_ROW].write_use &= ~CJ_WRITTEN;
        offset += 1u << page->shift;
    }
}

// A run of initialized bytes that has been found so far.
typedef struct run {
    const cj_shadow *shadow;
    uint64_t         begin, end;
} run;

static void add_run(run *r, uint64_t begin, uint64_t end, bool is_written) {
    if (is_written && r->end == begin) {
        r->end = end;
        return;
    }
    if (!is_written) return;
    if (r->end > r->begin) cj__cpu_written_mark(r->shadow->range, r->begin, r->end - r->begin);
    r->begin = begin;
    r->end = end;
}

static void settle_row(run *r, const cj_page *page, const cj_row *row, uint64_t begin) {
    const uint64_t bytes = UINT64_C(1) << page->shift;
    if (!row->granule) {
        add_run(r, begin, begin + CJ_ROW * bytes, row->whole.write_use & CJ_WRITTEN);
        return;
    }
    for (unsigned k = 0; k < CJ_ROW; k++) {
        add_run(r, begin + k * bytes, begin + (k + 1) * bytes, row->granule[k].write_use & CJ_WRITTEN);
    }
}

void cj__shadow_settle(const cj_shadow *shadow) {
    run r = {.shadow = shadow};
    for (size_t i = 0; i < cj__shadow_pages(shadow); i++) {
        const cj_page *page = shadow->page[i];
        const size_t   rows = page ? cj__page_rows(shadow, i, page->shift) : 0;
        for (size_t k = 0; k < rows; k++)
            settle_row(&r, page, &page->row[k], ((uint64_t)i << CJ_PAGE_BITS) + (k << cj__row_bits(page)));
    }
    if (r.end > shadow->bytes) r.end = shadow->bytes;
    if (r.end > r.begin) cj__cpu_written_mark(shadow->range, r.begin, r.end - r.begin);
}

// ---- whole memories

void cj__shadow_renew(cj_shadow *shadow, uint64_t offset, uint64_t bytes) {
    const uint64_t end = offset + bytes;
    const uint8_t  shift = (uint8_t)__builtin_ctzll(offset | bytes | 1u << CJ_SHIFT_MAX);
    for (uint64_t next; offset < end; offset = next) {
        cj_page *page = shadow->page[offset >> CJ_PAGE_BITS];
        if (page) page = cj__page_at(shadow, (size_t)(offset >> CJ_PAGE_BITS), shift);
        const unsigned bits = page ? cj__row_bits(page) : CJ_PAGE_BITS;
        next = ((offset >> bits) + 1) << bits;
        const bool is_all = next <= end && !(offset & ((UINT64_C(1) << bits) - 1));
        if (next > end) next = end;
        if (!page) continue;
        cj_row *row = &page->row[offset % CJ_PAGE >> bits];
        if (is_all) cj__row_clear(shadow, row);
        for (uint64_t at = offset; !is_all && cj__row_divide(shadow, row) && at < next; at += 1u << page->shift) {
            cj_cell *c = &row->granule[(at >> page->shift) % CJ_ROW];
            cj__cell_empty(c, &shadow->room);
            *c = (cj_cell){0};
        }
    }
    cj__shadow_forget(shadow, end - bytes, bytes);
}

static inline bool has_others(const cj_cell *c, uint32_t block) {
    return c->use & CJ_MANY || (c->write_time && c->write_block != block) || (c->mask && c->block != block);
}

// Visits the accesses of part `part` of `parts` of a cell.
static void visit_cell(const cj_cell *c, unsigned part, unsigned parts, uint32_t block, uint64_t offset, uint64_t bytes,
                       cj_shadow_visit *visit, void *user) {
    cj_access write = cj__cell_write(c), single = cj__cell_single(c);
    write.mask = cj__lanes_of_part(write.mask, part, parts);
    single.mask = cj__lanes_of_part(single.mask, part, parts);
    if (c->write_time && c->write_block != block) visit(user, &write, offset, bytes);
    if (c->use & CJ_MANY) {
        for (uint32_t n = 0; n < c->many->size; n++) {
            cj_access entry = c->many->entry[n];
            entry.mask = cj__lanes_of_part(entry.mask, part, parts);
            if (entry.time && entry.block != block) visit(user, &entry, offset, bytes);
        }
    } else if (c->mask && c->block != block) {
        visit(user, &single, offset, bytes);
    }
}

void cj__shadow_visit(cj_shadow *shadow, uint32_t block, cj_shadow_visit *visit, void *user) {
    for (size_t i = 0; i < cj__shadow_pages(shadow); i++) {
        cj_page     *page = shadow->page[i];
        const size_t granules = page ? cj__page_rows(shadow, i, page->shift) * CJ_ROW : 0;
        for (size_t k = 0; k < granules; k++) {
            if (k % CJ_ROW == 0) cj__row_settle(shadow, &page->row[k / CJ_ROW]);
            const cj_row  *row = &page->row[k / CJ_ROW];
            const uint64_t offset = ((uint64_t)i << CJ_PAGE_BITS) + (k << page->shift), bytes = 1u << page->shift;
            const cj_cell *c = row->granule ? &row->granule[k % CJ_ROW] : &row->whole;
            if (!has_others(c, block)) continue;
            if (row->granule)
                visit_cell(&row->granule[k % CJ_ROW], 0, 1, block, offset, bytes, visit, user);
            else
                visit_cell(&row->whole, k % CJ_ROW, CJ_ROW, block, offset, bytes, visit, user);
        }
    }
}
