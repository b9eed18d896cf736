// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE  // mincore
#include "address.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hazard.h"
#include "heap.h"
#include "lanes.h"
#include "stats.h"
#include "team.h"
#include "undefined.h"
#include "watch.h"

// A piece of memory: address begin + k is at host + k, for lane i at host + k + i * stride.
typedef struct span {
    uint64_t       access;  // the bytes of it that the access needs
    bool           writes;
    uint64_t       begin, bytes;
    unsigned char *host;
    uint64_t       stride;
    cj_cpu_block  *block;   // the block that owns it, if it is shared memory; else NULL
    bool           global;  // an allocation in global memory
} span;

// Finds the piece of memory that a lane's address belongs to; false, with a hazard, if the access is not inside it.
typedef bool (*span_finder)(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, span *found);

static void found_at(span *found, uint64_t begin, uint64_t bytes, const unsigned char *host, uint64_t stride) {
    found->begin = begin;
    found->bytes = bytes;
    found->host = (unsigned char *)(uintptr_t)host;
    found->stride = stride;
    found->block = NULL;
    found->global = false;
}

static unsigned access_bytes(const cj_cpu_op *op) { return (unsigned)op->bytes * op->count; }

// ---- hazards

typedef struct nearby {
    char text[160];
} nearby;

// Describes the nearest variable as ", 4 bytes past the end of tile"; empty if there is none.
static nearby nearest_symbol(const cj_cpu_program *program, cj_space space, uint64_t offset) {
    nearby               result = {""};
    const cj_cpu_symbol *best = cj__cpu_nearest(program, space, offset);
    if (!best) return result;
    const uint64_t into = offset - best->offset;
    const bool     inside = best->var->unsized || into < best->bytes;
    snprintf(result.text, sizeof result.text, ", %" PRIu64 " bytes %s %.100s", inside ? into : into - best->bytes,
             inside ? "into" : "past the end of", cj__hazard_variable(best->var->name).text);
    return result;
}

static bool outside(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_space space, const char *space_name,
                    uint64_t address, const span *found) {
    const cj_cpu_program *program = w->block->cluster->launch->program;
    cj__cpu_hazard(w, op, lane, CJ_HAZARD_OUT_OF_BOUNDS,
                   "%" PRIu64 " bytes at %s address 0x%" PRIx64 " reach past its %" PRIu64 " bytes%s", found->access,
                   space_name, address, found->bytes, nearest_symbol(program, space, address - found->begin).text);
    return false;
}

static bool is_inside(const span *found, uint64_t address) {
    const uint64_t offset = address - found->begin;
    return offset < found->bytes && found->access <= found->bytes - offset;
}

// An address further than this after an allocation is not reported as an overrun of it.
enum { FAR = 4096 };

// Whether the process has mapped memory at the address.
static bool is_mapped(uint64_t address) {
    const long    page = sysconf(_SC_PAGESIZE);
    unsigned char resident;
    return page > 0 && !mincore((void *)(uintptr_t)(address & ~((uint64_t)page - 1)), 1, &resident);
}

static bool outside_global(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, uint64_t access,
                           const cj_cpu_range *nearest) {
    char       where[200] = "; no allocation lies below it";
    const bool far = !nearest || (address >= nearest->end && address - nearest->end >= FAR);
    if (far && is_mapped(address)) {
        snprintf(where, sizeof where, "; it is an address of the host's: cj_mem_wrap makes an array the device's");
    } else if (nearest) {
        const bool inside = address < nearest->end;
        snprintf(where, sizeof where, ", %" PRIu64 " bytes %s an allocation of %" PRIu64 " bytes%s%.64s",
                 inside ? nearest->end - address : address - nearest->end,
                 inside ? "before the end of" : "past the end of", nearest->end - nearest->begin,
                 nearest->name ? ", " : "", nearest->name ? cj__hazard_variable(nearest->name).text : "");
    }
    cj__cpu_hazard_at(w, op, lane, CJ_HAZARD_OUT_OF_BOUNDS, address, access,
                      "%" PRIu64 " bytes at global address 0x%" PRIx64 " are in no allocation%s", access, address,
                      where);
    return false;
}

// ---- spaces

// The heap's memory is there, its blocks are what a kernel may access.
static bool outside_block(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, uint64_t access,
                          const cj_heap_block *block) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    const bool           is_freed = block->line && !block->live && address < block->begin + block->bytes;
    const bool           is_before = address < block->begin + block->bytes;
    const uint64_t far = is_before ? block->begin + block->bytes - address : address - block->begin - block->bytes;
    char           where[200] = "in no block that malloc gave";
    if (is_freed)
        snprintf(where, sizeof where, "%" PRIu64 " bytes into a block of %" PRIu64 " bytes that %s freed",
                 address - block->begin, block->bytes, cj__hazard_line(launch, block->freed_line).text);
    else if (block->line)
        snprintf(where, sizeof where, "%" PRIu64 " bytes %s a block of %" PRIu64 " bytes that %s allocated", far,
                 is_before ? "before the end of" : "past the end of", block->bytes,
                 cj__hazard_line(launch, block->line).text);
    cj__cpu_hazard(w, op, lane, is_freed ? CJ_HAZARD_USE_AFTER_FREE : CJ_HAZARD_OUT_OF_BOUNDS,
                   "%" PRIu64 " bytes at global address 0x%" PRIx64 " lie %s", access, address, where);
    return false;
}

static bool find_block(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, span *found) {
    cj_heap_block block = {0};
    if (!cj__heap_find(w->range->heap, address, &block)) block = (cj_heap_block){0};
    const uint64_t offset = address - block.begin;
    if (!block.live || offset >= block.bytes || found->access > block.bytes - offset)
        return outside_block(w, op, lane, address, found->access, &block);
    found_at(found, block.begin, block.bytes, (const unsigned char *)(uintptr_t)block.begin, 0);
    found->global = true;
    return true;
}

// The range itself has no bytes (PTX ISA, "Multimem addresses").
static bool refuse_multicast(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, uint64_t access,
                             const cj_cpu_team *team) {
    cj__cpu_hazard_at(w, op, lane, CJ_HAZARD_MULTICAST_ADDRESS, address, access,
                      "0x%" PRIx64 " is a multicast address of %u device%s: what %s does there is undefined", address,
                      team->members, team->members == 1 ? "" : "s", cj__hazard_op_name(op));
    return false;
}

static bool find_global(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, span *found) {
    const cj_cpu_range *range = w->range;
    if (!range || address < range->begin || address >= range->end || found->access > range->end - address) {
        const cj_cpu_range *nearest;
        range = cj__cpu_ranges_find(w->block->cluster->launch->ranges, address, found->access, &nearest);
        if (!range) return outside_global(w, op, lane, address, found->access, nearest);
        if (range->written->team) return refuse_multicast(w, op, lane, address, found->access, range->written->team);
        w->range = range;
    }
    if (range->heap) return find_block(w, op, lane, address, found);
    found_at(found, range->begin, range->end - range->begin, (const unsigned char *)(uintptr_t)range->begin, 0);
    found->global = true;
    return true;
}

static bool find_shared_of(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, uint64_t begin,
                           cj_cpu_block *owner, span *found) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    const bool           is_reserved = address - begin >= launch->reserved_begin;
    found_at(found, begin, is_reserved ? launch->reserved_end : launch->shared_bytes, owner->shared, 0);
    found->block = owner;
    return is_inside(found, address) || outside(w, op, lane, CJ_SPACE_SHARED, "shared", address, found);
}

static bool find_shared(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, span *found) {
    if (address >> CJ_RANK_SHIFT && address <= UINT32_MAX) {
        cj__cpu_hazard(w, op, lane, CJ_HAZARD_WRONG_WINDOW,
                       "0x%" PRIx64 " is a shared::cluster address of rank %" PRIu64
                       ", not one of the block's own window; "
                       "write .shared::cluster",
                       address, (address >> CJ_RANK_SHIFT) - 1);
        return false;
    }
    return find_shared_of(w, op, lane, address, 0, w->block, found);
}

static bool find_peer(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, uint64_t base,
                      span *found) {
    cj_cpu_cluster *cluster = w->block->cluster;
    const uint64_t  window = (address - base) >> CJ_RANK_SHIFT;
    if (!window) return find_shared_of(w, op, lane, address, base, w->block, found);
    const uint64_t rank = window - 1;
    if (rank >= cluster->launch->ranks) {
        cj__cpu_hazard(w, op, lane, CJ_HAZARD_RANK_OUT_OF_RANGE,
                       "address 0x%" PRIx64 " lies in no block's shared memory: rank %" PRIu64 " of a cluster of %u",
                       address, rank, cluster->launch->ranks);
        return false;
    }
    cj_cpu_block *peer = &cluster->block[rank];
    if (!w->watch && (!peer->entered || !peer->live)) {  // a watched launch checks this more exactly
        cj__cpu_hazard(w, op, lane, peer->entered ? CJ_HAZARD_PEER_EXITED : CJ_HAZARD_PEER_NOT_ENTERED,
                       "block of rank %" PRIu64 " %s, so its shared memory %s; a cluster barrier must stand %s", rank,
                       peer->entered ? "has exited" : "has not started", peer->entered ? "is gone" : "is not there yet",
                       peer->entered ? "between the last access and the exit" : "before the first access");
        return false;
    }
    return find_shared_of(w, op, lane, address, base + (window << CJ_RANK_SHIFT), peer, found);
}

static bool find_cluster(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, span *found) {
    return find_peer(w, op, lane, address, 0, found);
}

static bool find_local_at(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, uint64_t base,
                          span *found) {
    const uint64_t limit = w->block->cluster->launch->local_bytes;
    found_at(found, base, limit, w->block->local + w->index * CJ_LANES * limit, limit);
    return is_inside(found, address) || outside(w, op, lane, CJ_SPACE_LOCAL, "local", address, found);
}

static bool find_local(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, span *found) {
    return find_local_at(w, op, lane, address, 0, found);
}

static bool find_param_at(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, uint64_t base,
                          span *found) {
    const cj_cpu_launch *launch = w->block->cluster->launch;
    if (found->writes) {
        cj__cpu_hazard(w, op, lane, CJ_HAZARD_READ_ONLY, "0x%" PRIx64 " is the address of a parameter", address);
        return false;
    }
    found_at(found, base, launch->program->param_bytes, launch->param[cj__cpu_gpu(launch, w->block->cluster->index)], 0);
    return is_inside(found, address) || outside(w, op, lane, CJ_SPACE_PARAM, "parameter", address, found);
}

static bool find_param(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, span *found) {
    return find_param_at(w, op, lane, address, 0, found);
}

static bool in_window(uint64_t address, uint64_t base) { return (address ^ base) >> 48 == 0; }

static bool find_generic(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, uint64_t address, span *found) {
    if (in_window(address, CJ_SHARED_BASE)) return find_peer(w, op, lane, address, CJ_SHARED_BASE, found);
    if (in_window(address, CJ_LOCAL_BASE)) return find_local_at(w, op, lane, address, CJ_LOCAL_BASE, found);
    if (in_window(address, CJ_PARAM_BASE)) return find_param_at(w, op, lane, address, CJ_PARAM_BASE, found);
    return find_global(w, op, lane, address, found);
}

// ---- accesses of a memory operand

static void compute_addresses(const cj_cpu_warp *w, const cj_cpu_op *op, uint64_t address[CJ_LANES]) {
    const void *base = w->file + op->base;
    if (op->base_is_64) {
        CJ_EVERY_LANE(i) address[i] = ((const lane_u64 *)base)[i] + (uint64_t)op->offset;
    } else {
        CJ_EVERY_LANE(i) address[i] = (uint32_t)(((const lane_u32 *)base)[i] + (uint32_t)op->offset);
    }
}

static bool check_alignment(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const uint64_t address[CJ_LANES]) {
    const uint64_t low = access_bytes(op) - 1;
    uint64_t       any = 0;
    CJ_EACH_LANE(i, mask, { any |= address[i]; });
    if (!(any & low)) return true;
    CJ_SOME_LANES(i, mask) {
        if (!(address[i] & low)) continue;
        cj__cpu_hazard(w, op, i, CJ_HAZARD_MISALIGNED, "address 0x%" PRIx64 " is no multiple of the access, %u bytes",
                       address[i], access_bytes(op));
        break;
    }
    return false;
}

// Returns the lanes of `mask` whose access is inside the span; writes their host addresses to `at`.
static uint32_t reach_span(const span *s, uint32_t mask, unsigned bytes, const uint64_t address[CJ_LANES],
                           unsigned char *at[CJ_LANES]) {
    const uint64_t  last = s->bytes - bytes;
    const uintptr_t host = (uintptr_t)s->host;
    if (mask == CJ_ALL_LANES) {
        uint64_t beyond = 0;
        CJ_EVERY_LANE(i) {
            const uint64_t offset = address[i] - s->begin;
            at[i] = (unsigned char *)(uintptr_t)(host + offset + i * s->stride);
            beyond |= offset > last;
        }
        if (!beyond) return mask;
    }
    uint32_t inside = 0;
    CJ_SOME_LANES(i, mask) {
        const uint64_t offset = address[i] - s->begin;
        if (offset > last) continue;
        at[i] = (unsigned char *)(uintptr_t)(host + offset + i * s->stride);
        inside |= 1u << i;
    }
    return inside;
}

// Whether the lanes access local memory below the top of their stack only.
static bool is_on_stack(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const span *found,
                        const uint64_t address[CJ_LANES]) {
    const cj_cpu_program *program = w->block->cluster->launch->program;
    const lane_u32       *top = (const lane_u32 *)(const void *)(w->file + program->stack);
    if (!program->has_stack) return true;
    CJ_SOME_LANES(i, mask) {
        if (address[i] - found->begin + found->access <= top[i]) continue;
        cj__cpu_hazard(w, op, i, CJ_HAZARD_OUT_OF_BOUNDS,
                       "%" PRIu64 " bytes at local address 0x%" PRIx64 " reach past the stack, which ends at 0x%x",
                       found->access, address[i], top[i]);
        return false;
    }
    return true;
}

// Reports an access to the watch, the undefined bits and the statistics; parameters are not watched.
static void observe(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const span *found, const uint64_t *address,
                    unsigned char *const at[CJ_LANES]) {
    const bool is_memory = found->block || found->global;
    const uint64_t begin = found->global ? w->range->begin : found->begin;  // of the memory with one shadow
    if (w->watch && is_memory) cj__watch_reach(w, op, mask, found->block, begin, address);
    if (w->watch && found->stride) cj__undefined_local(w, mask, at);
    if (w->block->cluster->counts && (is_memory || found->stride)) {
        cj__stats_access(w, op, mask, found->block, found->global, address);
    }
}

// Finds a lane's piece of memory, then serves all lanes that it holds; mostly the first lane's piece holds all. Every
// access of every kernel comes through here, with the lanes' addresses and their host addresses: code that observes
// memory is called here.
static inline bool reach_at(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const uint64_t address[CJ_LANES],
                            unsigned char *at[CJ_LANES], span_finder find) {
    for (uint32_t rest = mask; rest;) {
        const unsigned lane = cj__cpu_first(rest);
        span           found = {.access = access_bytes(op), .writes = op->inst->row->effects & CJ_WRITES};
        if (!find(w, op, lane, address[lane], &found)) return false;
        const uint32_t inside = reach_span(&found, rest, access_bytes(op), address, at);
        if (found.stride && !is_on_stack(w, op, inside, &found, address)) return false;
        if (w->block->cluster->observed) observe(w, op, inside, &found, address, at);
        rest &= ~inside;
    }
    if (w->watch) cj__undefined_moved(w, op, mask);
    return true;
}

static inline bool reach(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, unsigned char *at[CJ_LANES],
                         span_finder find) {
    uint64_t address[CJ_LANES];
    compute_addresses(w, op, address);
    return check_alignment(w, op, mask, address) && reach_at(w, op, mask, address, at, find);
}

#define REACH(space)                                                                                             \
    static bool reach_##space(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, unsigned char *at[CJ_LANES]) { \
        return reach(w, op, mask, at, find_##space);                                                             \
    }

REACH(generic)
REACH(global)
REACH(shared)
REACH(cluster)
REACH(local)
REACH(param)

// ---- multicast

// The multicast range that holds a lane's access; NULL: it is an address of one device. `last`: of the lane before.
static const cj_cpu_range *range_of_team(const cj_cpu_warp *w, const cj_cpu_op *op, uint64_t address,
                                         const cj_cpu_range *last) {
    const uint64_t bytes = access_bytes(op);
    if (last && address >= last->begin && address < last->end && bytes <= last->end - address) return last;
    const cj_cpu_range *range = cj__cpu_ranges_find(w->block->cluster->launch->ranges, address, bytes, NULL);
    return range && range->written->team ? range : NULL;
}

uint32_t cj__cpu_members(const cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, uint32_t members[CJ_LANES]) {
    const cj_cpu_range *range = NULL;
    uint64_t            address[CJ_LANES];
    uint32_t            most = 1;
    compute_addresses(w, op, address);
    CJ_SOME_LANES(i, mask) {
        range = range_of_team(w, op, address[i], range);
        members[i] = range ? range->written->team->members : 1;
        if (members[i] > most) most = members[i];
    }
    return most;
}

// Turns the lanes' multicast addresses into those of the member's memory.
static bool find_member(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, uint64_t address[CJ_LANES]) {
    const cj_cpu_range *range = NULL;
    CJ_SOME_LANES(i, mask) {
        range = range_of_team(w, op, address[i], range);
        if (!range) continue;
        const uint64_t     offset = address[i] - range->begin;
        const cj_cpu_part *part = cj__team_part(range->written->team, w->member, offset, offset + access_bytes(op));
        if (!part) {
            cj__cpu_hazard_at(w, op, i, CJ_HAZARD_OUT_OF_BOUNDS, address[i], access_bytes(op),
                              "%u bytes at multicast address 0x%" PRIx64 ": member %u of %u has bound no memory to byte %"
                              PRIu64 " of the object", access_bytes(op), address[i], w->member,
                              range->written->team->members, offset);
            return false;
        }
        address[i] = part->memory + (offset - part->begin);
    }
    return true;
}

bool cj__cpu_reach_member(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, unsigned char *at[CJ_LANES]) {
    uint64_t address[CJ_LANES];
    compute_addresses(w, op, address);
    return check_alignment(w, op, mask, address) && find_member(w, op, mask, address) &&
           reach_at(w, op, mask, address, at, find_global);
}

static const struct {
    cj_word      word;
    cj_cpu_reach reach;
    span_finder  find;
} spaces[] = {
    {CJ_W_GLOBAL, reach_global, find_global},
    {CJ_W_CONST, reach_global, find_global},
    {CJ_W_SHARED, reach_shared, find_shared},
    {CJ_W_SHARED_CTA, reach_shared, find_shared},
    {CJ_W_SHARED_CLUSTER, reach_cluster, find_cluster},
    {CJ_W_LOCAL, reach_local, find_local},
    {CJ_W_PARAM, reach_param, find_param},
    {CJ_W_PARAM_ENTRY, reach_param, find_param},
    {CJ_W_PARAM_FUNC, reach_local, find_local},
};

cj_cpu_reach cj__cpu_reach_of(const cj_mnemonic *mnemonic) {
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (cj__mnemonic_has(mnemonic, spaces[i].word)) return spaces[i].reach;
    }
    return reach_generic;
}

cj_cpu_reach cj__cpu_reach_in(cj_word space) {
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (spaces[i].word == space) return spaces[i].reach;
    }
    return reach_generic;
}

// ---- places

uint64_t cj__cpu_address(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned k, unsigned lane) {
    const cj_cpu_memory_operand *operand = &op->memory[k];
    const void                  *base = w->file + operand->base;
    if (operand->is_64) return ((const lane_u64 *)base)[lane] + (uint64_t)operand->offset;
    return (uint32_t)(((const lane_u32 *)base)[lane] + (uint32_t)operand->offset);
}

bool cj__cpu_locate(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_word space, uint64_t address,
                    cj_cpu_span wanted, cj_cpu_spot *spot) {
    span        found = {.access = wanted.bytes, .writes = wanted.writes};
    span_finder find = find_generic;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (spaces[i].word == space) find = spaces[i].find;
    }
    if (address % wanted.align) {
        cj__cpu_hazard(w, op, lane, CJ_HAZARD_MISALIGNED, "address 0x%" PRIx64 " is no multiple of %" PRIu64, address,
                       wanted.align);
        return false;
    }
    if (!find(w, op, lane, address, &found)) return false;
    *spot = (cj_cpu_spot){.host = found.host + (address - found.begin) + lane * found.stride,
                          .block = found.block,
                          .address = found.block ? address - found.begin : address};
    return true;
}

// ---- mapa, getctarank

bool cj__cpu_rank_of(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, bool generic, uint64_t address,
                     uint32_t *rank) {
    if (generic && !in_window(address, CJ_SHARED_BASE)) {
        cj__cpu_hazard(w, op, lane, CJ_HAZARD_WRONG_WINDOW, "0x%" PRIx64 " is no generic address of shared memory",
                       address);
        return false;
    }
    const uint32_t window = (uint32_t)address >> CJ_RANK_SHIFT;
    *rank = window ? window - 1 : w->block->rank;
    return true;
}

bool cj__cpu_map(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, bool generic, uint32_t rank, uint64_t *address) {
    uint32_t       from;
    const uint32_t ranks = w->block->cluster->launch->ranks;
    if (!cj__cpu_rank_of(w, op, lane, generic, *address, &from)) return false;
    if (rank >= ranks) {
        cj__cpu_hazard(w, op, lane, CJ_HAZARD_RANK_OUT_OF_RANGE, "rank %u in a cluster of %u blocks", rank, ranks);
        return false;
    }
    const uint64_t offset = *address & ((1u << CJ_RANK_SHIFT) - 1);
    *address = (generic ? CJ_SHARED_BASE : 0) + ((uint64_t)(rank + 1) << CJ_RANK_SHIFT) + offset;
    return true;
}
