// SPDX-License-Identifier: Apache-2.0
// The units that a thread holds: which they are, where they lie in x, out and the buffers, and their ways between these.
#include "exchange.h"

// A unit's part, and its place in that part's tile. is_held: the tile has it; cj_always(): of every thread.
typedef struct place {
    cj_reg part, within, is_held;
} place;

// A part that is none would be asked of nobody.
static cj_reg cap_part(const exchange_kernel *k, cj_reg part) { return cj_min(k->f, "part", part, k->s.parts - 1); }

// All threads' i-th units are of one part, which its number says.
static void place_in_part(const exchange_kernel *k, const exchange_tile *t, unsigned i, bool part, place *p) {
    const uint32_t first = i * k->s.threads;
    p->within = cj_add(k->f, "within", k->thread, first % k->s.tile);
    if (part) p->part = cj_mov(k->f, "u32", "part", first / k->s.tile);
    if (k->s.guarded) p->is_held = cj_lt(k->f, "is_held", p->within, t->left);
}

static void divide_by_part(const exchange_kernel *k, const exchange_tile *t, unsigned i, bool part, place *p) {
    cj_func                 *f = k->f;
    const cj_exchange_shape *s = &k->s;
    cj_reg                   number = cj_add(f, "within", k->thread, i * s->threads);
    if (part || s->guarded) p->part = cj_div(f, "part", number, s->tile);
    p->within = cj_rem(f, "within", number, s->tile);
    if (!s->guarded) return;
    cj_reg inside = cj_lt(f, "inside", p->within, t->left);
    p->is_held = cj_let(f, "pred", "is_held", "setp.lt.and.u32 $1, $2, $3, $4;", p->part, s->parts, inside);
    if (s->turned) p->part = cap_part(k, p->part);
}

// Of the thread's i-th unit; its part, where that is asked for.
static place place_of(const exchange_kernel *k, const exchange_tile *t, unsigned i, bool part) {
    const cj_exchange_shape *s = &k->s;
    place                    p = {.is_held = cj_always()};
    const bool               in_part = s->parts == 1 || s->tile % s->threads == 0;
    (in_part ? place_in_part : divide_by_part)(k, t, i, part || s->turned, &p);
    if (s->turned) p.part = cj__exchange_around(k, CJ_ARG(cj_add(k->f, "next", p.part, 1)));
    return p;
}

void cj__exchange_name_units(const exchange_kernel *k, exchange_units *u) {
    for (unsigned i = 0; i < k->s.vectors; i++)
        for (unsigned word = 0; word < 4; word++) {
            char name[16];
            snprintf(name, sizeof name, "v%u%c", i, "xyzw"[word]);
            u->value[i][word] = word * 4 < k->s.slot ? cj_b32(k->f, name) : u->value[i][0];
        }
}

// ---- x and out

static const char *const unit_types[] = {[1] = "u8", [2] = "u16", [4] = "b32", [8] = "b32", [16] = "b32"};
static const unsigned    unit_words[] = {[1] = 1, [2] = 1, [4] = 1, [8] = 2, [16] = 4};

static void load_global(const exchange_kernel *k, cj_reg when, const cj_reg *value, cj_reg at) {
    cj__load(k->f, when, "ld.global", unit_types[k->s.unit], value, unit_words[k->s.unit], at, 0);
}

static void store_global(const exchange_kernel *k, cj_reg when, const cj_reg *value, cj_reg at) {
    cj__store(k->f, when, "st.global", unit_types[k->s.unit], value, unit_words[k->s.unit], at, 0);
}

// The address of a unit in x or out, whose first part begins at `base`.
static cj_reg in_array(const exchange_kernel *k, const place *p, cj_reg base, uint32_t stride) {
    cj_reg index = stride ? cj_mad(k->f, "index", p->part, stride, p->within) : cj_mov(k->f, "u32", "index", p->within);
    return cj_mad_wide(k->f, "at", index, k->s.unit, base);
}

// Where this block's chunk of x or out begins.
static cj_reg chunk_of(const exchange_kernel *k, const exchange_tile *t, cj_var array, const char *name,
                       uint32_t units) {
    cj_reg base = cj__load_pointer(k->f, array, name), chunk = cj_mad(k->f, "chunk", t->cluster, k->s.size, k->rank);
    return cj_mad(k->f, name, cj_cvt(k->f, "u64", "chunk", chunk), (uint64_t)units * k->s.unit, base);
}

// Where the tile begins in the chunk's first part.
static cj_reg tile_of(const exchange_kernel *k, const exchange_tile *t, cj_var array, const char *name,
                      uint32_t units) {
    cj_reg base = chunk_of(k, t, array, name, units);
    return k->s.tiles > 1 ? cj_mad_wide(k->f, name, t->first, k->s.unit, base) : base;
}

void cj__exchange_load(const exchange_kernel *k, const exchange_units *u) {
    cj_step(k->f, "what travels, %u unit%s a thread", k->s.vectors, k->s.vectors > 1 ? "s" : "");
    cj_reg base = tile_of(k, &u->tile, k->x, "x", k->s.chunk);
    for (unsigned i = 0; i < k->s.vectors; i++) {
        const place p = place_of(k, &u->tile, i, k->s.in_stride > 0);
        load_global(k, p.is_held, u->value[i], in_array(k, &p, base, k->s.in_stride));
    }
}

void cj__exchange_store(const exchange_kernel *k, const exchange_units *u) {
    cj_step(k->f, "what came, to its place in out");
    cj_reg base = tile_of(k, &u->tile, k->out, "out", k->s.out_chunk);
    for (unsigned i = 0; i < k->s.vectors; i++) {
        const place p = place_of(k, &u->tile, i, k->s.out_stride > 0);
        store_global(k, p.is_held, u->value[i], in_array(k, &p, base, k->s.out_stride));
    }
}

// By way of the registers of the first unit, which is not loaded yet.
static void copy_chunk(const exchange_kernel *k, const exchange_units *u) {
    cj_func       *f = k->f;
    const uint32_t step = k->s.threads * k->s.unit;
    cj_reg x = chunk_of(k, &u->tile, k->x, "x", k->s.chunk), out = chunk_of(k, &u->tile, k->out, "out", k->s.out_chunk);
    out = cj_add(f, "body", out, k->s.halo * k->s.unit);
    cj_reg from = cj_mad_wide(f, "from", k->thread, k->s.unit, x), to = cj_mad_wide(f, "to", k->thread, k->s.unit, out);
    CJ_SHARE(f, unit, "unit", k->thread, 1, k->s.threads, k->s.chunk) {
        load_global(k, cj_always(), u->value[0], from);
        store_global(k, cj_always(), u->value[0], to);
        cj_ptx(f, "add.u64 $1, $1, $2;", from, step);
        cj_ptx(f, "add.u64 $1, $1, $2;", to, step);
    }
}

void cj__exchange_copy_chunk(const exchange_kernel *k, const exchange_units *u) {
    if (k->s.pattern != CJ_EXCHANGE_HALO) return;
    cj_step(k->f, "the chunk itself, by the cluster that has the first tile");
    if (k->s.tiles == 1)
        copy_chunk(k, u);
    else
        CJ_UNLESS(k->f, cj_ne(k->f, "other_tile", u->tile.first, 0), "chunk_copied") copy_chunk(k, u);
}

// ---- places in buffers

// Units of an all-to-all's own part, its last one, stay where they are, in registers.
static uint32_t travelling(const exchange_kernel *k) { return k->s.tile * (k->s.parts - k->s.turned); }
bool            cj__exchange_stays(const exchange_kernel *k, unsigned i) { return i * k->s.threads >= travelling(k); }

// Whether the thread's i-th unit is held and leaves the block.
static cj_reg travels(const exchange_kernel *k, unsigned i, cj_reg is_held) {
    if (!k->s.turned || (i + 1) * k->s.threads <= travelling(k)) return is_held;
    cj_reg goes = cj_lt(k->f, "goes", k->thread, travelling(k) - i * k->s.threads);
    return cj_is_always(is_held) ? goes : cj_and(k->f, "goes", goes, is_held);
}

// Where a unit goes to, or comes from, in the first buffer of a block.
static void find_address(const exchange_kernel *k, unsigned i, const place *p, exchange_units *u) {
    const cj_exchange_shape *s = &k->s;
    cj_reg                   part = s->guarded && s->parts > 1 && !s->turned ? cap_part(k, p->part) : p->part;
    u->window[i] = i && s->parts == 1
                       ? u->window[0]
                       : cj__exchange_window(k, cj__exchange_peer(k, part, s->strategy != CJ_EXCHANGE_PUSH));
    cj_reg index = cj_mad(k->f, "index", cj__exchange_part_there(k, part), s->tile, p->within);
    u->address[i] = s->strategy == CJ_EXCHANGE_GLOBAL ? cj_mad_wide(k->f, "from", index, s->slot, u->window[i])
                                                      : cj_mad(k->f, "there", index, s->slot, u->window[i]);
}

// Some thread may hold nothing that travels: then which do.
static cj_reg find_holders(const exchange_kernel *k, const exchange_units *u) {
    for (unsigned i = 0; i < k->s.vectors; i++)
        if (!cj__exchange_stays(k, i) && cj_is_always(u->is_held[i])) return cj_always();
    cj_reg holds = cj_mov(k->f, "pred", "holds", u->is_held[0]);
    for (unsigned i = 1; i < k->s.vectors; i++)
        if (!cj__exchange_stays(k, i)) holds = cj_or(k->f, "holds", holds, u->is_held[i]);
    return holds;
}

void cj__exchange_find(const exchange_kernel *k, exchange_units *u) {
    const cj_exchange_shape *s = &k->s;
    const bool               pushes = s->strategy == CJ_EXCHANGE_PUSH, placed = !s->bulk || s->turned;
    cj_step(k->f,
            s->bulk ? "where each unit has its place, in the first buffer"
                    : "where each unit %s, in the first buffer there",
            pushes ? "goes" : "comes from");
    for (unsigned i = 0; i < s->vectors; i++) {
        if (cj__exchange_stays(k, i)) continue;
        const place p = placed || s->guarded ? place_of(k, &u->tile, i, placed) : (place){.is_held = cj_always()};
        u->is_held[i] = travels(k, i, p.is_held);
        if (!s->bulk) find_address(k, i, &p, u);
        if (!s->turned) continue;  // places in the own buffer follow each other as threads do
        u->place[i] = cj_mad(k->f, "place", cj_mad(k->f, "index", p.part, s->tile, p.within), s->slot, k->box);
    }
    u->holds = pushes && !s->bulk ? find_holders(k, u) : cj_always();
}

// ---- between registers and buffers

exchange_turn cj__exchange_turn(const exchange_kernel *k, cj_reg round) {
    exchange_turn t = {.number = cj_and(k->f, "turn", round, 1)};
    if (k->s.strategy == CJ_EXCHANGE_PUSH && !k->s.bulk)
        t.parity = cj_and(k->f, "parity", cj_shr(k->f, "turns", round, 1), 1);
    t.buffer = cj_mul(k->f, "buffer", t.number, k->s.buffer_bytes);
    return t;
}

cj_reg cj__exchange_in_buffer(const exchange_kernel *k, const exchange_turn *t, cj_reg base) {
    if (k->s.strategy != CJ_EXCHANGE_GLOBAL) return cj_add(k->f, "at", base, t->buffer);
    return cj_add(k->f, "at", cj_cvt(k->f, "u64", "buffer", t->buffer), base);
}

static unsigned slot_words(const exchange_kernel *k) { return k->s.slot / 4; }

void cj__exchange_load_unit(const exchange_kernel *k, const exchange_units *u, unsigned i, const char *load, cj_reg at,
                            int64_t offset) {
    cj__load(k->f, u->is_held[i], load, "b32", u->value[i], slot_words(k), at, offset);
}

static void store_unit(const exchange_kernel *k, const exchange_units *u, unsigned i, const char *store, cj_reg at,
                       int64_t offset) {
    cj__store(k->f, u->is_held[i], store, "b32", u->value[i], slot_words(k), at, offset);
}

// The thread's own place of its i-th unit.
static int64_t own_offset(const exchange_kernel *k, unsigned i) {
    return (k->s.strategy == CJ_EXCHANGE_GLOBAL ? 0 : EXCHANGE_HEAD) + i * k->s.threads * k->s.slot;
}

void cj__exchange_store_own(const exchange_kernel *k, const exchange_units *u, const char *store, cj_reg own) {
    for (unsigned i = 0; i < k->s.vectors; i++) store_unit(k, u, i, store, own, own_offset(k, i));
}

void cj__exchange_load_sent(const exchange_kernel *k, const exchange_turn *t, const exchange_units *u) {
    cj_reg own = k->s.turned ? k->own : cj__exchange_in_buffer(k, t, k->own);
    for (unsigned i = 0; i < k->s.vectors; i++) {
        if (!k->s.turned)
            cj__exchange_load_unit(k, u, i, "ld.shared", own, own_offset(k, i));
        else if (!cj__exchange_stays(k, i))
            cj__exchange_load_unit(k, u, i, "ld.shared", cj__exchange_in_buffer(k, t, u->place[i]), EXCHANGE_HEAD);
    }
}

void cj__exchange_store_sent(const exchange_kernel *k, const exchange_turn *t, const exchange_units *u) {
    if (!k->s.turned) cj__exchange_store_own(k, u, "st.shared", cj__exchange_in_buffer(k, t, k->own));
    for (unsigned i = 0; i < k->s.vectors && k->s.turned; i++)
        if (!cj__exchange_stays(k, i))
            store_unit(k, u, i, "st.shared", cj__exchange_in_buffer(k, t, u->place[i]), EXCHANGE_HEAD);
}
