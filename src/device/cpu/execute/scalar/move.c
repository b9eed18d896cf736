// SPDX-License-Identifier: Apache-2.0
// Moves, and conversions between address spaces (PTX ISA, "Data Movement and Conversion Instructions": mov, cvta, mapa,
// getctarank). Special registers, variables' addresses and literals are slots like any other source.
#include "address.h"
#include "exec.h"

#define MOVE(type)                                                \
    CJ_EXEC(mov_##type) {                                         \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);       \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1); \
        CJ_EACH_LANE(i, mask, { d[i] = a[i]; });                  \
        return CJ_STEP_NEXT;                                      \
    }

MOVE(u16)
MOVE(u32)
MOVE(u64)
MOVE(u128)

CJ_EXEC(mov_pred) {
    cj__cpu_predicate_set(w->file + op->slot[0], mask, cj__cpu_predicate(w, op, 1));
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_mov(cj_cpu_prepare *p) {
    switch (cj__words[p->mnemonic->type_last].bits) {
    case 1: p->op.run = mov_pred; break;
    case 16: p->op.run = mov_u16; break;
    case 32: p->op.run = mov_u32; break;
    case 64: p->op.run = mov_u64; break;
    default: p->op.run = mov_u128;
    }
    return true;
}

// mov.v2, mov.v4: ops that copy all sources to hidden registers, then ops that copy these to the destinations. Slots:
// destinations, then as many sources.
bool cj__cpu_select_mov_vector(cj_cpu_prepare *p) {
    const uint32_t count = p->slot_count / 2;
    const uint16_t bits = cj__words[p->mnemonic->type_last].bits;
    uint32_t      *pair = cj__cpu_keep(p, 4 * count * sizeof *pair);
    if (!pair || !cj__cpu_select_mov(p)) return false;
    for (uint32_t i = 0; i < 2 * count; i++, pair += 2) {
        if (i < count)
            pair[0] = cj__cpu_place(p, bits), pair[1] = p->slot[count + i];
        else
            pair[0] = p->slot[i - count], pair[1] = pair[-2 * (int32_t)count];
        p->op.slot = pair;
        p->op.flow = cj__cpu_copy_flow(p, pair[0], bits, pair[1], bits);
        if (i + 1 < 2 * count && !cj__cpu_append(p)) return false;
    }
    return true;
}

bool cj__cpu_select_mov_special(cj_cpu_prepare *p) { return cj__cpu_select_mov(p); }
bool cj__cpu_select_mov_address(cj_cpu_prepare *p) { return cj__cpu_select_mov(p); }

// ---- vectors in one register: element 0 is lowest. `bytes` of an element, `count` elements; an element of 8 bits has
// a register of 16.

static lane_u128 read_lane(const void *slot, unsigned bytes, unsigned i) {
    switch (bytes) {
    case 1: return ((const lane_u16 *)slot)[i] & 0xff;
    case 2: return ((const lane_u16 *)slot)[i];
    case 4: return ((const lane_u32 *)slot)[i];
    case 8: return ((const lane_u64 *)slot)[i];
    default: return ((const lane_u128 *)slot)[i];
    }
}

static void write_lane(void *slot, unsigned bytes, unsigned i, lane_u128 value) {
    if (bytes == 16)
        ((lane_u128 *)slot)[i] = value;
    else if (bytes == 8)
        ((lane_u64 *)slot)[i] = (uint64_t)value;
    else if (bytes == 4)
        ((lane_u32 *)slot)[i] = (uint32_t)value;
    else
        ((lane_u16 *)slot)[i] = (uint16_t)value;
}

CJ_EXEC(mov_pack) {
    const unsigned bits = op->bytes * 8u, count = op->count;
    CJ_SOME_LANES(i, mask) {
        lane_u128 whole = 0;
        for (unsigned k = 0; k < count; k++) {
            whole |= read_lane(CJ_LANES_OF(const void, 1 + k), op->bytes, i) << (k * bits);
        }
        write_lane(CJ_LANES_OF(void, 0), op->bytes * count, i, whole);
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(mov_unpack) {
    const unsigned bits = op->bytes * 8u, count = op->count;
    CJ_SOME_LANES(i, mask) {
        const lane_u128 whole = read_lane(CJ_LANES_OF(const void, count), op->bytes * count, i);
        for (unsigned k = 0; k < count; k++) {
            write_lane(CJ_LANES_OF(void, k), op->bytes, i, whole >> (k * bits) & (UINT64_MAX >> (64 - bits)));
        }
    }
    return CJ_STEP_NEXT;
}

static bool select_packing(cj_cpu_prepare *p, cj_cpu_exec run) {
    p->op.run = run;
    p->op.count = (uint8_t)(p->slot_count - 1);
    p->op.bytes = (uint8_t)(cj__words[p->mnemonic->type_last].bits / 8 / p->op.count);
    return p->op.bytes != 0;
}

bool cj__cpu_select_mov_pack(cj_cpu_prepare *p) { return select_packing(p, mov_pack); }
bool cj__cpu_select_mov_unpack(cj_cpu_prepare *p) { return select_packing(p, mov_unpack); }

// ---- addresses

// The offset is the base of the space, negative for cvta.to.
CJ_EXEC(cvta) {
    lane_u64       *d = CJ_LANES_OF(lane_u64, 0);
    const lane_u64 *a = CJ_LANES_OF(const lane_u64, 1);
    const uint64_t  base = (uint64_t)op->offset;
    CJ_EACH_LANE(i, mask, { d[i] = a[i] + base; });
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_cvta(cj_cpu_prepare *p) {
    static const struct {
        cj_word  word;
        uint64_t base;
    } spaces[] = {
        {CJ_W_GLOBAL, 0},
        {CJ_W_CONST, 0},
        {CJ_W_LOCAL, CJ_LOCAL_BASE},
        {CJ_W_PARAM, CJ_PARAM_BASE},
        {CJ_W_PARAM_ENTRY, CJ_PARAM_BASE},
        {CJ_W_SHARED, CJ_SHARED_BASE},
        {CJ_W_SHARED_CTA, CJ_SHARED_BASE},
        {CJ_W_SHARED_CLUSTER, CJ_SHARED_BASE},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (!cj__cpu_has(p, spaces[i].word)) continue;
        const uint64_t base = cj__cpu_has(p, CJ_W_TO) ? 0 - spaces[i].base : spaces[i].base;
        p->op.offset = (int64_t)base;
    }
    p->op.run = cvta;
    return p->mnemonic->type_last == CJ_W_U64;  // generic addresses have 64 bits
}

// The ranges of generic addresses of a space, or of all others. An address is global if it is in none of the other
// spaces; a parameter counts as global (PTX ISA, "isspacep"), a constant does not.
typedef struct spans {
    bool   others;
    size_t count;
    struct {
        uint64_t begin, bytes;
    } span[];
} spans;

CJ_EXEC(isspacep) {
    const spans    *in = op->plan;
    const lane_u64 *a = CJ_LANES_OF(const lane_u64, 1);
    uint32_t        bits = 0;
    CJ_SOME_LANES(i, mask) {
        bool inside = false;
        for (size_t k = 0; k < in->count; k++) inside |= a[i] - in->span[k].begin < in->span[k].bytes;
        bits |= (uint32_t)(inside != in->others) << i;
    }
    cj__cpu_predicate_set(w->file + op->slot[0], mask, bits);
    return CJ_STEP_NEXT;
}

static void add_span(spans *to, uint64_t begin, uint64_t bytes) {
    to->span[to->count].begin = begin;
    to->span[to->count++].bytes = bytes;
}

bool cj__cpu_select_isspacep(cj_cpu_prepare *p) {
    static const uint64_t window = (uint64_t)1 << 48, block = (uint64_t)1 << CJ_RANK_SHIFT;
    static const struct {
        cj_word  word;
        uint64_t begin, bytes;
    } windows[] = {
        {CJ_W_SHARED, CJ_SHARED_BASE, block},       {CJ_W_SHARED_CTA, CJ_SHARED_BASE, block},
        {CJ_W_LOCAL, CJ_LOCAL_BASE, window},        {CJ_W_SHARED_CLUSTER, CJ_SHARED_BASE, window},
        {CJ_W_PARAM, CJ_PARAM_BASE, window},        {CJ_W_PARAM_ENTRY, CJ_PARAM_BASE, window},
        {CJ_W_GLOBAL, CJ_SHARED_BASE, window},      {CJ_W_GLOBAL, CJ_LOCAL_BASE, window},
    };
    spans *in = cj__cpu_keep(p, sizeof *in + (p->variable_count + 2) * sizeof *in->span);
    if (!in) return false;
    in->others = cj__cpu_has(p, CJ_W_GLOBAL);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (cj__cpu_has(p, windows[i].word)) add_span(in, windows[i].begin, windows[i].bytes);
    }
    for (size_t i = 0; i < p->variable_count && (in->others || cj__cpu_has(p, CJ_W_CONST)); i++) {
        const cj_ir_var *var = p->variables[i].var;
        if (var->space == CJ_SPACE_CONST) add_span(in, p->variables[i].address, var->bytes);
    }
    p->op.plan = in;
    p->op.run = isspacep;
    return true;
}

// Maps shared addresses to block `rank` of the cluster; generic addresses stay generic.
#define MAP(type, generic)                                                               \
    CJ_EXEC(mapa_##type##_##generic) {                                                   \
        lane_##type       *d = CJ_LANES_OF(lane_##type, 0);                              \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);                        \
        const lane_u32    *rank = CJ_LANES_OF(const lane_u32, 2);                        \
        CJ_SOME_LANES(i, mask) {                                                         \
            uint64_t address = a[i];                                                     \
            if (!cj__cpu_map(w, op, i, generic, rank[i], &address)) return CJ_STEP_STOP; \
            d[i] = (lane_##type)address;                                                 \
        }                                                                                \
        return CJ_STEP_NEXT;                                                             \
    }

MAP(u32, false)
MAP(u64, false)
MAP(u64, true)

bool cj__cpu_select_mapa(cj_cpu_prepare *p) {
    p->op.run = p->mnemonic->type_last == CJ_W_U64 ? mapa_u64_false : mapa_u32_false;
    return true;
}

bool cj__cpu_select_mapa_generic(cj_cpu_prepare *p) {
    p->op.run = mapa_u64_true;
    return p->mnemonic->type_last == CJ_W_U64;
}

#define RANK(type, generic)                                                            \
    CJ_EXEC(getctarank_##type##_##generic) {                                           \
        lane_u32          *d = CJ_LANES_OF(lane_u32, 0);                               \
        const lane_##type *a = CJ_LANES_OF(const lane_##type, 1);                      \
        CJ_SOME_LANES(i, mask) {                                                       \
            uint32_t rank;                                                             \
            if (!cj__cpu_rank_of(w, op, i, generic, a[i], &rank)) return CJ_STEP_STOP; \
            d[i] = rank;                                                               \
        }                                                                              \
        return CJ_STEP_NEXT;                                                           \
    }

RANK(u32, false)
RANK(u64, false)
RANK(u64, true)

bool cj__cpu_select_getctarank(cj_cpu_prepare *p) {
    const bool generic = !cj__cpu_has(p, CJ_W_SHARED_CLUSTER), wide = p->mnemonic->type_last == CJ_W_U64;
    p->op.run = generic ? getctarank_u64_true : wide ? getctarank_u64_false : getctarank_u32_false;
    return wide || !generic;
}

// ---- registers of other widths

static uint64_t lane_value(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane) {
    switch (op->bytes) {
    case 2: return CJ_LANES_OF(const lane_u16, 1)[lane];
    case 4: return CJ_LANES_OF(const lane_u32, 1)[lane];
    default: return CJ_LANES_OF(const lane_u64, 1)[lane];
    }
}

cj_cpu_step cj__cpu_resize(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask) {
    CJ_SOME_LANES(i, mask) {
        const uint64_t value = lane_value(w, op, i);
        if (op->mode == 16)
            CJ_LANES_OF(lane_u16, 0)[i] = (uint16_t)value;
        else if (op->mode == 32)
            CJ_LANES_OF(lane_u32, 0)[i] = (uint32_t)value;
        else
            CJ_LANES_OF(lane_u64, 0)[i] = value;
    }
    return CJ_STEP_NEXT;
}
