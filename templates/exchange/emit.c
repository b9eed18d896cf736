// SPDX-License-Identifier: Apache-2.0
// The exchange as PTX; exchange.c says what it does and why it is right.
#include <stdio.h>

#include "exchange.h"

// Where the unit lies that a thread holds: of which part, and at which place in that part's tile.
typedef struct place {
    cj_reg part, within;
    cj_reg is_held;  // in this tile; none where every thread holds every unit
} place;

enum { FREE_AT = 16 };  // where free[] begins, behind full[]

// What the steps share.
typedef struct kernel {
    cj_func          *f;
    const cj_plan    *plan;
    cj_exchange_shape s;
    cj_var            x, out, workspace;
    cj_reg            thread, leader, rank, group, block;  // group: of blocks that trade; block: of the launch
    cj_reg            item, cluster, first, left;   // of the problem: its cluster; of the tile: first unit, units
    cj_reg            value[EXCHANGE_VECTORS][4];   // what the thread holds
    cj_reg            is_held[EXCHANGE_VECTORS];    // none where every thread holds every unit
    cj_reg            holds;                        // the thread holds some unit; then, too
    cj_reg            window[EXCHANGE_VECTORS];     // of each unit: where that block's box or buffers begin
    cj_reg            address[EXCHANGE_VECTORS];    // … and its place in the first buffer there
    cj_reg            place[EXCHANGE_VECTORS];      // all-to-all pushed: its place in the own first buffer
    cj_reg            sends, from, to, there;       // bulk copies: a thread for each part, from where to where and whose
    cj_reg            box, own;                     // own box, or all buffers; the thread's own first place
    cj_reg            round, turn, buffer, parity;  // rounds so far; of this one: its buffer, mbarriers, and parity
    cj_reg            link;                 // push: the box of the block that writes here; global: a flag to watch
    cj_reg            watches, flag, base;  // threads that watch one; the own flag, and its value at the start
} kernel;

static const char *const pattern_names[] = {"pair", "ring", "halo", "all-to-all"};
static const char *const strategy_names[] = {"push", "pull", "global"};

static void write_head(const kernel *k, cj_builder *b) {
    const cj_exchange_shape *s = &k->s;
    cj_head(b, "clusterjit: exchange  pattern=%s strategy=%s size=%u cluster=%u block=%u repeat=%u",
            pattern_names[s->pattern], strategy_names[s->strategy], s->size, k->plan->cluster.x, s->threads, s->repeat);
    cj_head(b, "%s", "");
    cj_head(b, "  a unit is %u bytes; %u units a chunk, of which %u part%s of %u travel, %u of each at a time", s->unit,
            s->chunk, s->parts, s->parts > 1 ? "s" : "", s->part, s->tile);
    cj_head(b, "  x --> registers --%s--> out",
            s->bulk ? "st.shared--> buffer --cp.async.bulk--> peer's buffer --ld.shared--> registers"
            : s->strategy == CJ_EXCHANGE_PUSH   ? "st.async--> peer's buffer --ld.shared--> registers"
            : s->strategy == CJ_EXCHANGE_PULL ? "st.shared--> buffer --ld.shared::cluster--> registers"
                                              : "st.global--> buffer, flag --ld.global--> registers");
    cj_head(b, "%s", "");
    cj_head(b, "Launch: grid %u, block %u%s, dynamic shared memory %u bytes.", k->plan->grid.x, s->threads,
            s->strategy == CJ_EXCHANGE_GLOBAL ? ", cooperative" : ", as a cluster launch", k->plan->dynamic_shared);
    if (s->strategy == CJ_EXCHANGE_GLOBAL)
        cj_head(
            b,
            "The workspace is zero before the first launch: a flag a block, %u bytes apart, then %u buffers a block.",
            EXCHANGE_FLAG, EXCHANGE_BUFFERS);
}

static void declare(kernel *k) {
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", "a chunk for each block");
    k->out = cj_param(f, "u64", "out", "a chunk for each block");
    k->workspace = cj_param(f, "u64", "workspace",
                            k->s.strategy == CJ_EXCHANGE_GLOBAL ? "flags and buffers" : "not used");
    cj_block(f, k->s.threads, 1, 1);
    if (k->s.strategy == CJ_EXCHANGE_GLOBAL)
        cj_registers_max(f, EXCHANGE_REGISTERS);  // all blocks of the plan must be resident
    else
        cj_cluster(f, k->s.size, 1, 1);
}

static cj_reg number(const kernel *k, const char *name, uint32_t value) {
    cj_reg reg = cj_u32(k->f, name);
    cj_ptx(k->f, "mov.u32 $1, $2;", reg, value);
    return reg;
}

static void emit_identity(kernel *k) {
    cj_func *f = k->f;
    k->thread = cj_u32(f, "thread");
    k->leader = cj_pred(f, "leader");
    k->block = cj_u32(f, "block");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->leader, k->thread);
    cj_ptx(f, "mov.u32 $1, %ctaid.x;", k->block);
    if (k->s.strategy == CJ_EXCHANGE_GLOBAL) {
        k->group = cj_u32(f, "group");
        k->rank = cj_u32(f, "rank");
        cj_ptx(f, "div.u32 $1, $2, $3;", k->group, k->block, k->s.size);
        cj_ptx(f, "rem.u32 $1, $2, $3;", k->rank, k->block, k->s.size);
    } else {
        k->rank = cj_cluster_rank(f);
        k->group = cj_cluster_index(f);
    }
}

// ---- who trades with whom

// (rank + distance) modulo size, in a new register.
static cj_reg around(const kernel *k, cj_arg distance) {
    cj_func *f = k->f;
    cj_reg   peer = cj_u32(f, "peer"), beyond = cj_pred(f, "beyond");
    cj_ptx(f, "add.u32 $1, $2, $3;", peer, k->rank, distance);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", beyond, peer, k->s.size);
    cj_ptx(f, "@$1 sub.u32 $2, $2, $3;", beyond, peer, k->s.size);
    return peer;
}

// (rank + 1 + distance) modulo size, in a new register.
static cj_reg next_rank(const kernel *k, cj_reg distance) {
    cj_reg next = cj_u32(k->f, "next");
    cj_ptx(k->f, "add.u32 $1, $2, 1;", next, distance);
    return around(k, CJ_ARG(next));
}

static cj_reg partner(const kernel *k) {
    cj_func *f = k->f;
    cj_reg   peer = cj_u32(f, "peer");
    cj_ptx(f, "xor.b32 $1, $2, 1;", peer, k->rank);
    if (k->s.size % 2 == 0) return peer;
    cj_reg beyond = cj_pred(f, "beyond");
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", beyond, peer, k->s.size);
    cj_ptx(f, "@$1 mov.u32 $2, $3;", beyond, peer, k->rank);
    return peer;
}

// Left and right for halo's parts 0 and 1.
static cj_reg neighbour(const kernel *k, cj_reg part) {
    cj_reg is_left = cj_pred(k->f, "is_left"), distance = cj_u32(k->f, "distance");
    cj_ptx(k->f, "setp.eq.u32 $1, $2, 0;", is_left, part);
    cj_ptx(k->f, "selp.u32 $1, $2, 1, $3;", distance, k->s.size - 1, is_left);
    return around(k, CJ_ARG(distance));
}

// The block that a part goes to, or comes from.
static cj_reg trades_with(const kernel *k, cj_reg part, bool comes) {
    switch (k->s.pattern) {
    case CJ_EXCHANGE_RING: return around(k, CJ_ARG(comes ? k->s.shift : k->s.size - k->s.shift));
    case CJ_EXCHANGE_HALO: return neighbour(k, part);
    case CJ_EXCHANGE_ALL_TO_ALL: return part;
    default: return partner(k);
    }
}

// Which part it is there.
static cj_reg part_there(const kernel *k, cj_reg part) {
    cj_reg there = part;
    if (k->s.pattern == CJ_EXCHANGE_ALL_TO_ALL) return k->rank;
    if (k->s.pattern != CJ_EXCHANGE_HALO) return there;
    there = cj_u32(k->f, "there");
    cj_ptx(k->f, "xor.b32 $1, $2, 1;", there, part);
    return there;
}

// Where the memory of a block of the group begins: its box as this block sees it, or its buffers in the workspace.
static cj_reg window_of(const kernel *k, cj_reg peer) {
    cj_func *f = k->f;
    if (k->s.strategy != CJ_EXCHANGE_GLOBAL) return cj_cluster_map_address(f, k->box, peer);
    cj_reg there = cj_u32(f, "there"), window = cj_u64(f, "window");
    cj_ptx(f, "sub.u32 $1, $2, $3;", there, k->block, k->rank);
    cj_ptx(f, "add.u32 $1, $1, $2;", there, peer);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", window, there, EXCHANGE_BUFFERS * k->s.buffer_bytes, k->box);
    return window;
}

// ---- what a thread holds

// Beyond the last part there is nobody to ask for.
static void cap_part(const kernel *k, cj_reg part) { cj_ptx(k->f, "min.u32 $1, $1, $2;", part, k->s.parts - 1); }

// Of the thread's i-th unit.
static place place_of(const kernel *k, unsigned i) {
    cj_func *f = k->f;
    place    p = {.within = cj_u32(f, "within")};
    cj_ptx(f, "add.u32 $1, $2, $3;", p.within, k->thread, i * k->s.threads);
    if (k->s.guarded) p.is_held = cj_pred(f, "is_held");
    if (k->s.parts == 1) {
        p.part = number(k, "part", 0);
        if (k->s.guarded) cj_ptx(f, "setp.lt.u32 $1, $2, $3;", p.is_held, p.within, k->left);
        return p;
    }
    p.part = cj_u32(f, "part");
    cj_ptx(f, "div.u32 $1, $2, $3;", p.part, p.within, k->s.tile);
    cj_ptx(f, "rem.u32 $1, $1, $2;", p.within, k->s.tile);
    if (k->s.guarded) {
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", p.is_held, p.within, k->left);
        cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", p.is_held, p.part, k->s.parts);
    }
    if (!k->s.turned) return p;
    if (k->s.guarded) cap_part(k, p.part);
    p.part = next_rank(k, p.part);
    return p;
}

// A unit's words between registers and global memory.
static void move_global(const kernel *k, const cj_reg *v, cj_reg at, cj_reg when, bool store) {
    static const char *const types[] = {[1] = "u8", [2] = "u16", [4] = "b32", [8] = "v2.b32", [16] = "v4.b32"};
    static const char *const lists[] = {
        [1] = "$3", [2] = "$3", [4] = "$3", [8] = "{$3, $4}", [16] = "{$3, $4, $5, $6}"};
    char           text[64];
    const uint32_t unit = k->s.unit;
    if (store)
        snprintf(text, sizeof text, "%sst.global.%s [$2], %s;", when.id ? "@$1 " : "", types[unit], lists[unit]);
    else
        snprintf(text, sizeof text, "%sld.global.%s %s, [$2];", when.id ? "@$1 " : "", types[unit], lists[unit]);
    cj_ptx(k->f, text, when, at, v[0], v[1], v[2], v[3]);
}

// The address of a unit in x or out, whose first part begins at `base`.
static cj_reg in_array(const kernel *k, const place *p, cj_reg base, uint32_t stride) {
    cj_func *f = k->f;
    cj_reg   at = cj_u64(f, "at"), index = cj_u32(f, "index");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", index, p->part, stride, p->within);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, index, k->s.unit, base);
    return at;
}

// Where this block's chunk of x or out begins, and the tile in its first part.
static cj_reg chunk_of(const kernel *k, cj_var array, const char *name, uint32_t units, bool tile) {
    cj_func *f = k->f;
    cj_reg   base = cj__load_pointer(k->f, array, name), chunk = cj_u32(f, "chunk");
    cj_reg   wide = cj_u64(f, "offset");
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", chunk, k->cluster, k->s.size, k->rank);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", wide, chunk);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", base, wide, (uint64_t)units * k->s.unit);
    if (tile && k->s.tiles > 1) cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", base, k->first, k->s.unit);
    return base;
}

// What no block changes of halo's chunk goes straight to its place in out.
static void emit_body(const kernel *k) {
    cj_func *f = k->f;
    if (k->s.pattern != CJ_EXCHANGE_HALO) return;
    cj_step(f, "the chunk itself, by the cluster that has the first tile");
    cj_label none = cj_label_new(f, "chunk_copied"), next = cj_label_new(f, "next_unit");
    cj_reg   past = cj_pred(f, "past"), at = cj_u32(f, "unit"), v[4];
    for (unsigned i = 0; i < 4; i++) v[i] = k->value[0][i];
    if (k->s.tiles > 1) {
        cj_ptx(f, "setp.ne.u32 $1, $2, 0;", past, k->first);
        cj_ptx(f, "@$1 bra $2;", past, none);
    }
    cj_reg from = chunk_of(k, k->x, "x", k->s.chunk, false), to = chunk_of(k, k->out, "out", k->s.out_chunk, false);
    cj_ptx(f, "add.u64 $1, $1, $2;", to, k->s.halo * k->s.unit);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", from, k->thread, k->s.unit);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", to, k->thread, k->s.unit);
    cj_ptx(f, "mov.u32 $1, $2;", at, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, at, k->s.chunk);
    cj_ptx(f, "@$1 bra $2;", past, none);
    move_global(k, v, from, cj_always(), false);
    move_global(k, v, to, cj_always(), true);
    cj_ptx(f, "add.u64 $1, $1, $2;", from, k->s.threads * k->s.unit);
    cj_ptx(f, "add.u64 $1, $1, $2;", to, k->s.threads * k->s.unit);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, k->s.threads);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, none);
}

static void name_values(kernel *k) {
    for (unsigned i = 0; i < k->s.vectors; i++)
        for (unsigned word = 0; word < 4; word++) {
            char name[16];
            snprintf(name, sizeof name, "v%u%c", i, "xyzw"[word]);
            k->value[i][word] = word * 4 < k->s.slot ? cj_b32(k->f, name) : k->value[i][0];
        }
}

static void emit_load(kernel *k) {
    cj_step(k->f, "what travels, %u unit%s a thread", k->s.vectors, k->s.vectors > 1 ? "s" : "");
    cj_reg base = chunk_of(k, k->x, "x", k->s.chunk, true);
    for (unsigned i = 0; i < k->s.vectors; i++) {
        place p = place_of(k, i);
        move_global(k, k->value[i], in_array(k, &p, base, k->s.in_stride), p.is_held, false);
    }
}

static void emit_store(kernel *k) {
    cj_step(k->f, "what came, to its place in out");
    cj_reg base = chunk_of(k, k->out, "out", k->s.out_chunk, true);
    for (unsigned i = 0; i < k->s.vectors; i++) {
        place p = place_of(k, i);
        move_global(k, k->value[i], in_array(k, &p, base, k->s.out_stride), p.is_held, true);
    }
}

// ---- buffers

// Units of an all-to-all's own part, its last one, stay where they are, in registers.
static uint32_t travelling(const kernel *k) { return k->s.tile * (k->s.parts - k->s.turned); }
static bool     stays(const kernel *k, unsigned i) { return i * k->s.threads >= travelling(k); }

// Whether the thread's i-th unit is held and leaves the block; none: that of every thread does.
static cj_reg travels(const kernel *k, unsigned i, cj_reg is_held) {
    if (!k->s.turned || stays(k, i) || (i + 1) * k->s.threads <= travelling(k)) return is_held;
    cj_reg goes = cj_pred(k->f, "goes");
    cj_ptx(k->f, "setp.lt.u32 $1, $2, $3;", goes, k->thread, travelling(k) - i * k->s.threads);
    if (is_held.id) cj_ptx(k->f, "and.pred $1, $1, $2;", goes, is_held);
    return goes;
}

// Where a unit goes to, or comes from, in the first buffer of a block.
static void find_address(kernel *k, unsigned i, const place *p) {
    cj_func                *f = k->f;
    const cj_exchange_shape *s = &k->s;
    cj_reg                  index = cj_u32(f, "index");
    if (s->guarded && s->parts > 1 && !s->turned) cap_part(k, p->part);
    k->window[i] = i && s->parts == 1 ? k->window[0]
                                      : window_of(k, trades_with(k, p->part, s->strategy != CJ_EXCHANGE_PUSH));
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", index, part_there(k, p->part), s->tile, p->within);
    k->address[i] = cj_register(f, s->strategy == CJ_EXCHANGE_GLOBAL ? "u64" : "u32",
                                s->strategy == CJ_EXCHANGE_PUSH ? "to" : "from");
    cj_ptx(f, "mad.$1.u32 $2, $3, $4, $5;", s->strategy == CJ_EXCHANGE_GLOBAL ? "wide" : "lo", k->address[i], index,
           s->slot, k->window[i]);
}

// Where its place is in the own first buffer: without turning, places follow each other as threads do.
static void find_place(kernel *k, unsigned i, const place *p) {
    cj_reg index = cj_u32(k->f, "index");
    k->place[i] = cj_u32(k->f, "place");
    cj_ptx(k->f, "mad.lo.u32 $1, $2, $3, $4;", index, p->part, k->s.tile, p->within);
    cj_ptx(k->f, "mad.lo.u32 $1, $2, $3, $4;", k->place[i], index, k->s.slot, k->box);
}

// Some thread may hold nothing that travels: then which do.
static void find_holders(kernel *k) {
    for (unsigned i = 0; i < k->s.vectors; i++)
        if (!stays(k, i) && !k->is_held[i].id) return;
    k->holds = cj_pred(k->f, "holds");
    cj_ptx(k->f, "mov.pred $1, $2;", k->holds, k->is_held[0]);
    for (unsigned i = 1; i < k->s.vectors; i++)
        if (!stays(k, i)) cj_ptx(k->f, "or.pred $1, $1, $2;", k->holds, k->is_held[i]);
}

static void emit_addresses(kernel *k) {
    const cj_exchange_shape *s = &k->s;
    cj_step(k->f, s->bulk ? "where each unit has its place, in the first buffer"
                          : "where each unit %s, in the first buffer there",
            s->strategy == CJ_EXCHANGE_PUSH ? "goes" : "comes from");
    for (unsigned i = 0; i < s->vectors; i++) {
        const place p = place_of(k, i);
        k->is_held[i] = travels(k, i, p.is_held);
        if (stays(k, i)) continue;
        if (!s->bulk) find_address(k, i, &p);
        if (s->turned) find_place(k, i, &p);
    }
    if (s->strategy == CJ_EXCHANGE_PUSH && !s->bulk) find_holders(k);
}

// The buffer of this round.
static void emit_turn(const kernel *k) {
    cj_func   *f = k->f;
    const bool counts = k->s.strategy == CJ_EXCHANGE_PUSH && !k->s.bulk;
    cj_ptx(f, "and.b32 $1, $2, 1;", k->turn, k->round);
    if (counts) {
        cj_ptx(f, "shr.u32 $1, $2, 1;", k->parity, k->round);
        cj_ptx(f, "and.b32 $1, $1, 1;", k->parity);
    }
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", k->buffer, k->turn, k->s.buffer_bytes);
    if (counts) cj_ptx(f, "shl.b32 $1, $1, 3;", k->turn);
}

// An address of a shared-memory buffer in this round: base + buffer.
static cj_reg in_buffer(const kernel *k, cj_reg base) {
    cj_reg at = cj_u32(k->f, "at");
    cj_ptx(k->f, "add.u32 $1, $2, $3;", at, base, k->buffer);
    return at;
}

// The same in the workspace.
static cj_reg in_workspace(const kernel *k, cj_reg base) {
    cj_reg at = cj_u64(k->f, "at");
    cj_ptx(k->f, "cvt.u64.u32 $1, $2;", at, k->buffer);
    cj_ptx(k->f, "add.u64 $1, $1, $2;", at, base);
    return at;
}

// A unit's words between registers and a buffer of a state space.
static void move_slot(const kernel *k, unsigned i, const char *space, cj_reg at, uint32_t offset, bool store) {
    static const char *const types[] = {[4] = "b32", [8] = "v2.b32", [16] = "v4.b32"};
    static const char *const lists[] = {[4] = "$4", [8] = "{$4, $5}", [16] = "{$4, $5, $6, $7}"};
    const char              *guard = k->is_held[i].id ? "@$1 " : "", *type = types[k->s.slot], *list = lists[k->s.slot];
    const cj_reg            *v = k->value[i];
    char                     text[96];
    if (store)
        snprintf(text, sizeof text, "%sst.%s.%s [$2 + $3], %s;", guard, space, type, list);
    else
        snprintf(text, sizeof text, "%sld.%s.%s %s, [$2 + $3];", guard, space, type, list);
    cj_ptx(k->f, text, k->is_held[i], at, offset, v[0], v[1], v[2], v[3]);
}

// All units of the thread between registers and its own places in a buffer.
static void move_own(const kernel *k, const char *space, cj_reg own, bool store) {
    const uint32_t head = k->s.strategy == CJ_EXCHANGE_GLOBAL ? 0 : EXCHANGE_HEAD;
    for (unsigned i = 0; i < k->s.vectors; i++) move_slot(k, i, space, own, head + i * k->s.threads * k->s.slot, store);
}

// The units that travel, between registers and their places in the own buffer of this round.
static void move_travelling(const kernel *k, bool store) {
    if (!k->s.turned) {
        move_own(k, "shared", in_buffer(k, k->own), store);
        return;
    }
    for (unsigned i = 0; i < k->s.vectors; i++)
        if (!stays(k, i)) move_slot(k, i, "shared", in_buffer(k, k->place[i]), EXCHANGE_HEAD, store);
}

// ---- push

// The mbarrier of this round's buffer at an offset from where shared memory begins, own or a peer's.
static cj_reg mbarrier_at(const kernel *k, cj_reg window, uint32_t offset, const char *name) {
    cj_reg at = cj_u32(k->f, name);
    cj_ptx(k->f, "add.u32 $1, $2, $3;", at, window, k->turn);
    if (offset) cj_ptx(k->f, "add.u32 $1, $1, $2;", at, offset);
    return at;
}

static void init_mbarriers(const kernel *k, uint32_t from, uint32_t arrivals, const char *why) {
    for (unsigned i = 0; i < EXCHANGE_BUFFERS; i++) {
        cj_reg at = cj_u32(k->f, "mbarrier");
        cj_ptx(k->f, "add.u32 $1, $2, $3;", at, k->box, from + 8 * i);
        cj_mbarrier_init(k->f, k->leader, at, CJ_ARG(arrivals), why);
    }
}

static void emit_push_setup(kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "mbarriers, before any peer needs them");
    if (k->s.bulk)
        init_mbarriers(k, 0, 1 + k->s.parts - k->s.turned, "full: the arrival that expects the bytes, and one for each part");
    else init_mbarriers(k, 0, 1, "full: one arrival, which expects the bytes");
    if (k->s.credits) init_mbarriers(k, FREE_AT, 1, "free: one arrival, of the block to the left");
    cj_mbarrier_init_done(f, "peers may see them");
    cj_cluster_arrive(f, CJ_ARRIVE_RELAXED, NULL);
    cj_cluster_wait(f, "B1: every block's mbarriers are ready");
    if (k->s.credits) k->link = window_of(k, around(k, CJ_ARG(k->s.shift)));
}

static void emit_push_round(kernel *k) {
    cj_func *f = k->f;
    cj_reg   bytes = cj_u32(f, "bytes"), mbarrier = {0}, full = mbarrier_at(k, k->box, 0, "full");
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", bytes, k->left, (k->s.parts - k->s.turned) * k->s.slot);
    cj_mbarrier_arrive_expect(f, k->leader, full, CJ_ARG(bytes), "what will come");
    cj_label passed = cj_label_new(f, "holds_nothing");
    if (k->holds.id) cj_ptx(f, "@!$1 bra $2; // it would not be waited for, and could miss a phase", k->holds, passed);
    if (k->s.credits) {
        cj_reg before = cj_u32(f, "parity_before");
        cj_ptx(f, "xor.b32 $1, $2, 1;", before, k->parity);
        cj_mbarrier_wait(f, mbarrier_at(k, k->box, FREE_AT, "free"), CJ_ARG(before), CJ_SCOPE_CLUSTER,
                         "this buffer was read where it is written now");
    }
    for (unsigned i = 0; i < k->s.vectors; i++) {
        static const uint32_t counts[] = {[4] = 1, [8] = 2, [16] = 4};
        if (stays(k, i)) continue;
        cj_reg                to = in_buffer(k, k->address[i]);
        if (!i || k->s.parts > 1) mbarrier = mbarrier_at(k, k->window[i], 0, "full_there");
        cj_st_async(f, k->is_held[i], "b32", k->value[i], counts[k->s.slot], to, EXCHANGE_HEAD, mbarrier);
    }
    cj_mbarrier_wait(f, full, CJ_ARG(k->parity), CJ_SCOPE_CLUSTER, "everything has come");
    move_travelling(k, false);
    if (k->holds.id) cj_label_here(f, passed);
    if (!k->s.credits) return;
    cj_ptx(f, "bar.sync 0; // B2: every thread has read it");
    cj_mbarrier_arrive_peer(f, k->leader, mbarrier_at(k, k->link, FREE_AT, "free_there"), "it may be written again");
}

// ---- bulk copies

// Thread p of warp 0 copies part p, in an all-to-all from the own part on the next one. All blocks begin with the same
// peer: measured on an H200, that is faster than if each began with the next rank.
static void emit_bulk_setup(kernel *k) {
    cj_func       *f = k->f;
    const uint32_t slots = k->s.tile * k->s.slot;
    emit_push_setup(k);
    cj_step(f, "a thread for each part that leaves: where the part begins, and where it goes");
    cj_reg part = cj_u32(f, "part");
    k->sends = cj_pred(f, "sends");
    k->from = cj_u32(f, "from");
    k->to = cj_u32(f, "to");
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", k->sends, k->thread, k->s.parts - k->s.turned);
    cj_ptx(f, "min.u32 $1, $2, $3;", part, k->thread, k->s.parts - 1);
    if (k->s.turned) {
        cj_reg behind = cj_pred(f, "behind_own");
        cj_ptx(f, "setp.ge.u32 $1, $2, $3;", behind, part, k->rank);
        cj_ptx(f, "@$1 add.u32 $2, $2, 1;", behind, part);
        cj_ptx(f, "min.u32 $1, $1, $2;", part, k->s.parts - 1);
    }
    k->there = window_of(k, trades_with(k, part, false));
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", k->from, part, slots, k->box);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", k->to, part_there(k, part), slots, k->there);
}

// One round by warp 0, from the buffer of this turn into the peers' other ones.
static void emit_bulk_round(const kernel *k) {
    cj_func *f = k->f;
    cj_reg   other = cj_u32(f, "other"), full = cj_u32(f, "full"), full_there = cj_u32(f, "full_there");
    cj_reg   bytes = cj_u32(f, "bytes"), left = cj_u32(f, "bytes_left"), from = cj_u32(f, "from"), to = cj_u32(f, "to");
    cj_reg   more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_copy");
    cj_ptx(f, "and.b32 $1, $2, 1;", k->turn, k->round);
    cj_ptx(f, "xor.b32 $1, $2, 1;", other, k->turn);
    cj_ptx(f, "bfe.u32 $1, $2, 1, 1;", k->parity, k->round);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", full, other, k->box);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", full_there, other, k->there);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", from, k->turn, k->s.buffer_bytes, k->from);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", to, other, k->s.buffer_bytes, k->to);
    cj_ptx(f, "add.u32 $1, $1, $2;", from, EXCHANGE_HEAD);
    cj_ptx(f, "add.u32 $1, $1, $2;", to, EXCHANGE_HEAD);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", left, k->left, k->s.slot);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", bytes, left, k->s.parts - k->s.turned);
    cj_mbarrier_arrive_expect(f, k->leader, full, CJ_ARG(bytes), "what will come");
    cj_ptx(f, "@$1 mbarrier.arrive.shared::cluster.b64 _, [$2]; // what this round overwrites there has been sent and taken",
           k->sends, full_there);
    cj_label_here(f, next);
    cj_ptx(f, "min.u32 $1, $2, $3;", bytes, left, k->s.copy_bytes);
    cj_bulk_push(f, k->sends, to, from, CJ_ARG(bytes), full_there);
    cj_ptx(f, "add.u32 $1, $1, $2;", from, bytes);
    cj_ptx(f, "add.u32 $1, $1, $2;", to, bytes);
    cj_ptx(f, "sub.u32 $1, $1, $2;", left, bytes);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, left);
    cj_ptx(f, "@$1 bra $2;", more, next);
    cj_mbarrier_wait(f, full, CJ_ARG(k->parity), CJ_SCOPE_CLUSTER, "everything has come");
}

// Into the buffer of the first round's turn; out of that of the turn behind the last one.
static void emit_bulk_rounds(const kernel *k) {
    cj_func *f = k->f;
    cj_reg   end = cj_u32(f, "rounds_end"), more = cj_pred(f, "more"), others = cj_pred(f, "other_warp");
    cj_label next = cj_label_new(f, "next_round"), done = cj_label_new(f, "rounds_done");
    cj_step(f, "what leaves, into the buffer");
    emit_turn(k);
    move_travelling(k, true);
    cj_async_fence(f, "copies see what threads wrote, and come behind what they read");
    cj_ptx(f, "bar.sync 0; // C1: the buffer is written, and what came before has been read");
    cj_ptx(f, "add.u32 $1, $2, $3;", end, k->round, k->s.repeat);
    if (k->s.threads > 32) {
        cj_ptx(f, "setp.ge.u32 $1, $2, 32;", others, k->thread);
        cj_ptx(f, "@$1 bra $2;", others, done);
    }
    cj_step(f, "a round, by warp 0");
    cj_label_here(f, next);
    emit_bulk_round(k);
    cj_ptx(f, "add.u32 $1, $1, 1;", k->round);
    cj_ptx(f, "setp.ne.u32 $1, $2, $3;", more, k->round, end);
    cj_ptx(f, "@$1 bra $2;", more, next);
    cj_label_here(f, done);
    cj_ptx(f, "bar.sync 0; // C2: what came can be read");
    cj_ptx(f, "mov.u32 $1, $2;", k->round, end);
    emit_turn(k);
    move_travelling(k, false);
}

// ---- pull

static void emit_pull_round(kernel *k) {
    cj_func *f = k->f;
    move_own(k, "shared", in_buffer(k, k->own), true);
    cj_cluster_sync(f, "P1: everyone's buffer is written, and the other one was read");
    for (unsigned i = 0; i < k->s.vectors; i++)
        move_slot(k, i, "shared::cluster", in_buffer(k, k->address[i]), EXCHANGE_HEAD, false);
}

// ---- without clusters

// Each thread of the first few watches one block's flag: those that it trades with, in a ring on both sides.
static void emit_global_setup(kernel *k) {
    cj_func       *f = k->f;
    const bool     is_ring = k->s.pattern == CJ_EXCHANGE_RING;
    const uint32_t links = is_ring ? 2 : k->s.parts;
    cj_reg flags = cj__load_pointer(k->f, k->workspace, "flags"), there = cj_u32(f, "there"), part = cj_u32(f, "part"), peer;
    cj_step(f, "the own flag, which counts rounds from launch to launch, and those to wait for");
    k->flag = cj_u64(f, "flag");
    k->base = cj_u32(f, "rounds_before");
    k->link = cj_u64(f, "flag_there");
    k->watches = cj_pred(f, "watches");
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", k->flag, k->block, EXCHANGE_FLAG, flags);
    cj_ptx(f, "ld.global.u32 $1, [$2];", k->base, k->flag);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", k->watches, k->thread, links);
    cj_ptx(f, "min.u32 $1, $2, $3;", part, k->thread, links - 1);
    if (is_ring) {
        cj_reg is_source = cj_pred(f, "is_source"), distance = cj_u32(f, "distance");
        cj_ptx(f, "setp.eq.u32 $1, $2, 0;", is_source, part);
        cj_ptx(f, "selp.u32 $1, $2, $3, $4;", distance, k->s.shift, k->s.size - k->s.shift, is_source);
        peer = around(k, CJ_ARG(distance));
    } else {
        peer = trades_with(k, part, true);
    }
    cj_ptx(f, "sub.u32 $1, $2, $3;", there, k->block, k->rank);
    cj_ptx(f, "add.u32 $1, $1, $2;", there, peer);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", k->link, there, EXCHANGE_FLAG, flags);
}

static void emit_global_round(kernel *k) {
    cj_func *f = k->f;
    cj_reg   now = cj_u32(f, "now"), seen = cj_u32(f, "seen"), early = cj_pred(f, "early");
    cj_label again = cj_label_new(f, "watch"), come = cj_label_new(f, "come");
    move_own(k, "global", in_workspace(k, k->own), true);
    cj_ptx(f, "add.u32 $1, $2, $3;", now, k->base, k->round);
    cj_ptx(f, "add.u32 $1, $1, 1;", now);
    cj_ptx(f, "bar.sync 0; // G1: the buffer is written");
    cj_ptx(f, "@$1 st.release.gpu.global.u32 [$2], $3;", k->leader, k->flag, now);
    cj_ptx(f, "@!$1 bra $2;", k->watches, come);
    cj_label_here(f, again);
    cj_ptx(f, "ld.acquire.gpu.global.u32 $1, [$2];", seen, k->link);
    cj_ptx(f, "sub.u32 $1, $1, $2;", seen, now);
    cj_ptx(f, "setp.lt.s32 $1, $2, 0;", early, seen);
    cj_ptx(f, "@$1 bra $2;", early, again);
    cj_label_here(f, come);
    cj_ptx(f, "bar.sync 0; // G2: those that it trades with have written theirs, and read the other one");
    for (unsigned i = 0; i < k->s.vectors; i++) move_slot(k, i, "global", in_workspace(k, k->address[i]), 0, false);
}

// ---- the whole

static const struct {
    void (*setup)(kernel *k);  // NULL: none
    void (*round)(kernel *k);
} ways[] = {
    [CJ_EXCHANGE_PUSH] = {emit_push_setup, emit_push_round},
    [CJ_EXCHANGE_PULL] = {NULL, emit_pull_round},
    [CJ_EXCHANGE_GLOBAL] = {emit_global_setup, emit_global_round},
};

// Where the block's shared memory begins, or the first block's buffers in the workspace; and the thread's first own
// place.
static void emit_box(kernel *k) {
    cj_func *f = k->f;
    if (k->s.strategy == CJ_EXCHANGE_GLOBAL) {
        k->box = cj__load_pointer(k->f, k->workspace, "buffers");
        cj_ptx(f, "add.u64 $1, $1, $2;", k->box, k->plan->grid.x * EXCHANGE_FLAG);
        k->own = cj_u64(f, "own");
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", k->own, k->block, EXCHANGE_BUFFERS * k->s.buffer_bytes, k->box);
        cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", k->own, k->thread, k->s.slot);
        return;
    }
    k->box = cj_u32(f, "box");
    k->own = cj_u32(f, "own");
    cj_ptx(f, "mov.u32 $1, exchange_box;", k->box);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", k->own, k->thread, k->s.slot, k->box);
}

// The item's cluster of the problem and its tile.
static void emit_item(kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "an item: a tile of the parts of a cluster of chunks");
    if (k->s.tiles == 1) {
        cj_ptx(f, "mov.u32 $1, $2;", k->cluster, k->item);
        cj_ptx(f, "mov.u32 $1, $2;", k->left, k->s.tile);
        return;
    }
    cj_ptx(f, "div.u32 $1, $2, $3;", k->cluster, k->item, k->s.tiles);
    cj_ptx(f, "rem.u32 $1, $2, $3;", k->first, k->item, k->s.tiles);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", k->first, k->s.tile);
    cj_ptx(f, "sub.u32 $1, $2, $3;", k->left, k->s.part, k->first);
    cj_ptx(f, "min.u32 $1, $1, $2;", k->left, k->s.tile);
}

static void emit_rounds(kernel *k) {
    cj_func *f = k->f;
    cj_reg   end = cj_u32(f, "rounds_end"), more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_round");
    cj_ptx(f, "add.u32 $1, $2, $3;", end, k->round, k->s.repeat);
    cj_step(f, "a round");
    cj_label_here(f, next);
    emit_turn(k);
    ways[k->s.strategy].round(k);
    cj_ptx(f, "add.u32 $1, $1, 1;", k->round);
    cj_ptx(f, "setp.ne.u32 $1, $2, $3;", more, k->round, end);
    cj_ptx(f, "@$1 bra $2;", more, next);
}

static void name_registers(kernel *k) {
    cj_func *f = k->f;
    k->item = cj_u32(f, "item");
    k->cluster = cj_u32(f, "problem");
    k->left = cj_u32(f, "left");
    k->round = cj_u32(f, "round");
    k->buffer = cj_u32(f, "buffer");
    if (k->s.tiles > 1) k->first = cj_u32(f, "first");
    k->turn = cj_u32(f, "turn");
    if (k->s.strategy == CJ_EXCHANGE_PUSH) k->parity = cj_u32(f, "parity");
    name_values(k);
}

void cj__exchange_emit(const cj_plan *plan, cj_builder *b) {
    kernel k = {.plan = plan, .s = cj__exchange_shape(plan)};
    write_head(&k, b);
    if (k.s.strategy != CJ_EXCHANGE_GLOBAL) cj_declare(b, ".extern .shared .align 128 .b8 exchange_box[];");
    cj_func *f = k.f = cj_entry(b, plan->entry);
    declare(&k);
    name_registers(&k);
    emit_identity(&k);
    emit_box(&k);
    if (k.s.bulk) emit_bulk_setup(&k);
    else if (ways[k.s.strategy].setup) ways[k.s.strategy].setup(&k);
    cj_label next = cj_label_new(f, "next_item");
    cj_reg   more = cj_pred(f, "more");
    cj_ptx(f, "mov.u32 $1, 0;", k.round);
    cj_ptx(f, "mov.u32 $1, $2;", k.item, k.group);
    cj_label_here(f, next);
    emit_item(&k);
    emit_body(&k);
    emit_load(&k);
    emit_addresses(&k);
    if (k.s.bulk) emit_bulk_rounds(&k);
    else emit_rounds(&k);
    if (k.s.settles)
        cj_ptx(f,
               "bar.sync 0; // B4: every thread has read the last buffer, also those that hold less of the next tile");
    emit_store(&k);
    cj_ptx(f, "add.u32 $1, $1, $2;", k.item, k.s.groups);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, k.item, k.s.items);
    cj_ptx(f, "@$1 bra $2;", more, next);
    if (k.s.strategy == CJ_EXCHANGE_PULL || k.s.credits || k.s.bulk) {
        cj_step(f, "the end");
        cj_cluster_arrive(f, k.s.bulk ? CJ_ARRIVE_RELAXED : CJ_ARRIVE_RELEASE, NULL);
        cj_cluster_wait(f, "B3: nobody needs this block's memory any more");
    }
    cj_ptx(f, "ret;");
}
