// SPDX-License-Identifier: Apache-2.0
// Copies and reductions through a tensor map, and instructions that write tensor maps (PTX ISA, "cp.async.bulk.tensor",
// "cp.reduce.async.bulk.tensor", "tensormap.replace", "tensormap.cp_fenceproxy").
#include <string.h>

#include "combine.h"
#include "exec.h"

enum { TILE_ALIGN = 128, MAP_ALIGN = 64, INNER_ALIGN = 16 };

// ---- copies. Memory: tile, map, mbarrier; or map, tile. Slots: coordinates, the offsets of an im2col load, then the
// multicast mask and the policy.

typedef struct tensor_plan {
    bool          loads;  // from global to shared memory
    bool          reduces;
    bool          im2col;
    cj_word       operation;  // of a reduction
    cj_word       shared;     // space
    uint32_t      rank;
    uint32_t      multicast;  // operand, or CJ_SLOT_NONE
    cj_cpu_signal signal;
} tensor_plan;

static bool misuse(cj_cpu_actor actor, const char *why) {
    cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_TENSOR_MAP, "%s", why);
    return false;
}

static bool watch_map(cj_cpu_actor actor, unsigned flags, const cj_cpu_spot *at) {
    const cj_watch_place place = {at->block, at->address, sizeof(cj_tensormap)};
    return cj__watch_access(actor.w, actor.op, actor.lane, (cj_watch_use){.flags = (uint8_t)flags}, place) !=
           CJ_STEP_STOP;
}

// A copy reads its map as an operation of its own, which the thread's own fence must precede, too.
static bool watch_map_of_copy(cj_cpu_actor actor, const cj_cpu_spot *at) {
    const cj_watch_use   use = {.flags = CJ_USE_READ | CJ_USE_TENSORMAP};
    const cj_watch_place place = {at->block, at->address, sizeof(cj_tensormap)};
    cj_watch_async       reader = cj__watch_fork(actor.w, actor.op, actor.lane);
    const cj_cpu_step    step = cj__watch_async_access(&reader, use, place, NULL);
    cj__watch_join(actor.w, 1u << actor.lane, &reader);
    cj__watch_end(&reader);
    return step != CJ_STEP_STOP;
}

// Reads the map that lane i names; it is in global or constant memory or is a parameter.
static bool read_map(cj_cpu_actor actor, unsigned k, cj_cpu_tensor *map) {
    const cj_cpu_span span = {.bytes = sizeof *map, .align = MAP_ALIGN};
    const uint64_t    address = cj__cpu_address(actor.w, actor.op, k, actor.lane);
    cj_cpu_spot       at;
    if (!cj__cpu_locate(actor.w, actor.op, actor.lane, CJ_WORD_NONE, address, span, &at)) return false;
    if (at.block)
        return misuse(actor, "the tensor map lies in shared memory; copies take it from global memory or a parameter");
    const bool is_param = (address ^ CJ_PARAM_BASE) >> 48 == 0;
    if (!is_param && !watch_map_of_copy(actor, &at)) return false;
    memcpy(map, at.host, sizeof *map);
    const char *fault = cj__cpu_tensor_fault(map);
    return !fault || misuse(actor, fault);
}

static cj_word type_word(uint8_t type) {
    static const cj_word words[] = {
        [CJ_TENSORMAP_U8] = CJ_W_U8,        [CJ_TENSORMAP_U16] = CJ_W_U16,     [CJ_TENSORMAP_U32] = CJ_W_U32,
        [CJ_TENSORMAP_S32] = CJ_W_S32,      [CJ_TENSORMAP_U64] = CJ_W_U64,     [CJ_TENSORMAP_S64] = CJ_W_S64,
        [CJ_TENSORMAP_F16] = CJ_W_F16,      [CJ_TENSORMAP_F32] = CJ_W_F32,     [CJ_TENSORMAP_F64] = CJ_W_F64,
        [CJ_TENSORMAP_BF16] = CJ_W_BF16,    [CJ_TENSORMAP_F32_FTZ] = CJ_W_F32, [CJ_TENSORMAP_TF32] = CJ_W_F32,
        [CJ_TENSORMAP_TF32_FTZ] = CJ_W_F32,
    };
    return type < sizeof words / sizeof *words ? words[type] : CJ_WORD_NONE;
}

// Bitwise operations take integers as they are.
static cj_cpu_combine combine_of(const tensor_plan *plan, uint8_t type) {
    const bool    flushes = type == CJ_TENSORMAP_F32_FTZ || type == CJ_TENSORMAP_TF32_FTZ;
    const cj_word word = type_word(type);
    if (flushes && plan->operation == CJ_W_ADD) return cj__cpu_combine_of(CJ_W_FTZ, CJ_W_F32);
    cj_cpu_combine combine = cj__cpu_combine_of(plan->operation, word);
    if (combine || cj__words[word].class == CJ_CLASS_FLOAT) return combine;
    return cj__cpu_combine_of(plan->operation, cj__words[word].bits == 64 ? CJ_W_B64 : CJ_W_B32);
}

// Finds both ends of the transfer's tile; false when a hazard was reported.
static bool locate_ends(cj_cpu_transfer *t, const tensor_plan *plan) {
    const cj_cpu_warp *w = t->actor.w;
    const cj_cpu_tile *tile = t->tile;
    const uint64_t     address = cj__cpu_address(w, t->actor.op, plan->loads ? 0 : 1, t->actor.lane);
    const cj_cpu_span  shared = {(uint64_t)tile->rows * tile->pitch, TILE_ALIGN, plan->loads};
    cj_cpu_spot       *shared_end = plan->loads ? &t->to : &t->from, *global_end = plan->loads ? &t->from : &t->to;
    uint64_t           begin, end;
    if (!cj__cpu_locate(t->actor.w, t->actor.op, t->actor.lane, plan->shared, address, shared, shared_end))
        return false;
    if (!cj__cpu_tile_extent(tile, &begin, &end)) return true;  // all of it is outside of the tensor
    const cj_cpu_span global = {end - begin, 1, !plan->loads};
    return cj__cpu_locate(t->actor.w, t->actor.op, t->actor.lane, CJ_W_GLOBAL, begin, global, global_end);
}

static cj_cpu_step begin(cj_cpu_transfer *t, const tensor_plan *plan) {
    cj_cpu_warp     *w = t->actor.w;
    const unsigned   i = t->actor.lane;
    const cj_cpu_op *op = t->actor.op;
    t->bytes = t->from_bytes = cj__cpu_tile_bytes(t->tile);
    if (!locate_ends(t, plan)) return CJ_STEP_STOP;
    if (plan->reduces && !(t->combine = combine_of(plan, t->tile->map.type))) {
        return misuse(t->actor, "its elements have no such reduction"), CJ_STEP_STOP;
    }
    if (!plan->loads)
        t->group = cj__cpu_async_groups(w, i)->bulk;
    else if (!cj__cpu_async_mbarrier(t, plan->shared, cj__cpu_address(w, op, 2, i)))
        return CJ_STEP_STOP;
    if (plan->multicast == CJ_SLOT_NONE) return cj__cpu_async_begin(*t);
    return cj__cpu_async_multicast(*t, CJ_LANES_OF(const lane_u16, plan->multicast)[i]);
}

// Whether the map is of the kind that the instruction needs.
static bool fits(cj_cpu_actor actor, const tensor_plan *plan, const cj_cpu_tensor *map) {
    if (map->rank != plan->rank) {
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_TENSOR_MAP,
                       "the tensor map has rank %u, the instruction %u", map->rank, plan->rank);
        return false;
    }
    if (map->im2col && !plan->im2col)
        return misuse(actor, "the tensor map is one of im2col mode, the copy one of tiles");
    if (plan->im2col && !map->im2col)
        return misuse(actor, "the tensor map is one of tiles, the copy one of im2col mode");
    return true;
}

// The largest im2col offset: it is smaller if an instruction has more offsets.
static uint32_t most_offset(const tensor_plan *plan) {
    return plan->rank == 3 ? 0xffff : plan->rank == 4 ? 0xff : 0x1f;
}

static bool read_offsets(cj_cpu_actor actor, const tensor_plan *plan, uint16_t offset[CJ_TENSOR_SPACE_MAX]) {
    const cj_cpu_warp *w = actor.w;
    const cj_cpu_op   *op = actor.op;
    for (uint32_t k = 0; k < CJ_TENSOR_SPACE_MAX; k++) offset[k] = 0;
    for (uint32_t k = 0; plan->im2col && plan->loads && k < plan->rank - 2; k++) {
        offset[k] = CJ_LANES_OF(const lane_u16, plan->rank + k)[actor.lane];
        if (offset[k] <= most_offset(plan)) continue;
        cj__cpu_hazard(actor.w, op, actor.lane, CJ_HAZARD_TENSOR_MAP, "offset %u is %u; with rank %u it is at most %u",
                       k, offset[k], plan->rank, most_offset(plan));
        return false;
    }
    return true;
}

// ---- where a copy may begin: not documented; an H200 stops every other one as an illegal instruction (715)

// Along the innermost dimension at a multiple of 16 bytes, also at negative coordinates.
static bool is_inner_aligned(cj_cpu_actor actor, const cj_cpu_tile *tile) {
    const int32_t  at = tile->at[0];
    const uint32_t element = tile->element;
    if ((int64_t)at * element % INNER_ALIGN == 0) return true;
    cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_MISALIGNED,
                   "the innermost coordinate, %d, of elements of %u bytes is not at a multiple of %d bytes", at,
                   element, INNER_ALIGN);
    return false;
}

// A store must not have a negative coordinate.
static bool is_inside_start(cj_cpu_actor actor, const cj_cpu_tile *tile) {
    for (uint32_t k = 0; k < tile->map.rank; k++) {
        if (tile->at[k] >= 0) continue;
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_OUT_OF_BOUNDS,
                       "coordinate %u is %d: a tensor store must not begin before the tensor", k, tile->at[k]);
        return false;
    }
    return true;
}

// A store of pixels must be inside the bounding box, which is inside of the tensor.
static bool is_in_box(cj_cpu_actor actor, const cj_cpu_tile *tile) {
    const cj_cpu_tensor *map = &tile->map;
    for (uint32_t k = 1; map->im2col && k + 1 < map->rank; k++) {
        const int64_t lower = map->lower[k - 1], upper = (int64_t)map->last[k] + map->upper[k - 1];
        if (lower < 0 || upper > map->last[k])
            return misuse(actor, "its bounding box leaves the tensor, which a store's must not");
        if (tile->at[k] >= lower && tile->at[k] <= upper) continue;
        cj__cpu_hazard(actor.w, actor.op, actor.lane, CJ_HAZARD_OUT_OF_BOUNDS,
                       "coordinate %u is %d: a store begins in the bounding box, %lld to %lld", k, tile->at[k],
                       (long long)lower, (long long)upper);
        return false;
    }
    return true;
}

static bool may_begin(cj_cpu_actor actor, const tensor_plan *plan, const cj_cpu_tile *tile) {
    return is_inner_aligned(actor, tile) && (plan->loads || (is_inside_start(actor, tile) && is_in_box(actor, tile)));
}

CJ_EXEC(tensor_copy) {
    const tensor_plan *plan = op->plan;
    CJ_SOME_LANES(i, mask) {
        cj_cpu_transfer t = {.actor = {w, op, i}, .signal = plan->signal, .is_proxy = true, .byte_mask = UINT16_MAX};
        cj_cpu_tensor   map;
        int32_t         at[CJ_TENSOR_RANK_MAX];
        uint16_t        offset[CJ_TENSOR_SPACE_MAX];
        if (!read_map(t.actor, plan->loads ? 1 : 0, &map) || !fits(t.actor, plan, &map)) return CJ_STEP_STOP;
        if (!read_offsets(t.actor, plan, offset)) return CJ_STEP_STOP;
        for (uint32_t k = 0; k < plan->rank; k++) at[k] = CJ_LANES_OF(const lane_s32, k)[i];
        if (plan->reduces) t.scope = CJ_SCOPE_GPU;
        t.tile = cj__cpu_tile_new(&map, at, offset);
        if (!t.tile) return w->block->cluster->status = CJ_OUT_OF_MEMORY, CJ_STEP_STOP;
        t.tile->stores = !plan->loads;
        const cj_cpu_step step = may_begin(t.actor, plan, t.tile) ? begin(&t, plan) : CJ_STEP_STOP;
        cj__cpu_tile_drop(t.tile);
        if (step) return step;
    }
    return CJ_STEP_NEXT;
}

static cj_word shared_word(const cj_cpu_prepare *p) {
    return cj__cpu_has(p, CJ_W_SHARED_CLUSTER) ? CJ_W_SHARED_CLUSTER : CJ_W_SHARED_CTA;
}

// Tiles and columns; gather and scatter have rows of their own, which sm_90 does not support.
bool cj__cpu_select_tensor_copy(cj_cpu_prepare *p) {
    static const cj_word operations[] = {CJ_W_ADD, CJ_W_MIN, CJ_W_MAX, CJ_W_INC, CJ_W_DEC, CJ_W_AND, CJ_W_OR, CJ_W_XOR};
    tensor_plan         *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan) return false;
    plan->rank = p->mnemonic->extent;
    plan->loads = !cj__cpu_has(p, CJ_W_BULK_GROUP);
    plan->signal = plan->loads ? CJ_SIGNAL_MBARRIER : CJ_SIGNAL_BULK_GROUP;
    plan->shared = shared_word(p);
    plan->im2col = cj__cpu_has(p, CJ_W_IM2COL) || cj__cpu_has(p, CJ_W_IM2COL_NO_OFFS);
    if (cj__cpu_has(p, CJ_W_MULTICAST_CLUSTER))
        plan->multicast = plan->rank + (plan->im2col ? plan->rank - 2 : 0);
    else
        plan->multicast = CJ_SLOT_NONE;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!cj__cpu_has(p, operations[i])) continue;
        plan->reduces = true;
        plan->operation = operations[i];
    }
    p->op.plan = plan;
    p->op.run = tensor_copy;
    return true;
}

// ---- tensormap.replace. Slots: the new value; or the dimension (an immediate) and the new value.

typedef struct field {
    cj_word  word;
    uint32_t at, bytes;    // in the map
    uint32_t step, count;  // between dimensions, 0: there is only one; dimensions
    int32_t  less;         // subtracted from the value before it is stored
    bool     is_immediate;
} field;

static const field fields[] = {
    {CJ_W_GLOBAL_ADDRESS, offsetof(cj_cpu_tensor, address), 8, 0, 1, 0, false},
    {CJ_W_RANK, offsetof(cj_cpu_tensor, rank), 1, 0, 1, -1, false},  // the value is one less than the rank
    {CJ_W_BOX_DIM, offsetof(cj_cpu_tensor, box), 2, 2, 5, 0, false},
    {CJ_W_GLOBAL_DIM, offsetof(cj_cpu_tensor, last), 4, 4, 5, 1, false},
    {CJ_W_GLOBAL_STRIDE, offsetof(cj_cpu_tensor, stride), 8, 8, 4, 0, false},
    {CJ_W_ELEMENT_STRIDE, offsetof(cj_cpu_tensor, element_stride), 1, 1, 5, 0, false},
    {CJ_W_ELEMTYPE, offsetof(cj_cpu_tensor, type), 1, 0, 1, 0, true},
    {CJ_W_INTERLEAVE_LAYOUT, offsetof(cj_cpu_tensor, interleave), 1, 0, 1, 0, true},
    {CJ_W_SWIZZLE_MODE, offsetof(cj_cpu_tensor, swizzle), 1, 0, 1, 0, true},
    {CJ_W_FILL_MODE, offsetof(cj_cpu_tensor, fill), 1, 0, 1, 0, true},
};

typedef struct replace_plan {
    const field *field;
    cj_word      space;
    uint32_t     at;  // in the map
    uint64_t     immediate;
} replace_plan;

CJ_EXEC(replace) {
    const replace_plan *plan = op->plan;
    const field        *f = plan->field;
    const unsigned      k = f->step ? 1 : 0;
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_actor actor = {w, op, i};
        const cj_cpu_span  span = {.bytes = sizeof(cj_cpu_tensor), .align = MAP_ALIGN, .writes = true};
        cj_cpu_spot        at;
        if (!cj__cpu_locate(w, op, i, plan->space, cj__cpu_address(w, op, 0, i), span, &at)) return CJ_STEP_STOP;
        if (!watch_map(actor, CJ_USE_READ | CJ_USE_WRITE, &at)) return CJ_STEP_STOP;
        uint64_t value = plan->immediate;
        if (!f->is_immediate)
            value = f->bytes == 8 ? CJ_LANES_OF(const lane_u64, k)[i] : CJ_LANES_OF(const lane_u32, k)[i];
        value -= (uint64_t)(int64_t)f->less;
        memcpy(at.host + plan->at, &value, f->bytes);
    }
    return CJ_STEP_NEXT;
}

static uint64_t immediate(const cj_cpu_prepare *p, unsigned k) {
    return p->inst->operand[k].kind == CJ_OPERAND_INT ? p->inst->operand[k].bits : UINT64_MAX;
}

// Converts the instruction's numbers of element types, which differ from those of cuTensorMapEncodeTiled.
static uint64_t type_of(uint64_t number) {
    static const uint8_t types[] = {CJ_TENSORMAP_U8,      CJ_TENSORMAP_U16, CJ_TENSORMAP_U32,  CJ_TENSORMAP_S32,
                                    CJ_TENSORMAP_U64,     CJ_TENSORMAP_S64, CJ_TENSORMAP_F16,  CJ_TENSORMAP_F32,
                                    CJ_TENSORMAP_F32_FTZ, CJ_TENSORMAP_F64, CJ_TENSORMAP_BF16, CJ_TENSORMAP_TF32,
                                    CJ_TENSORMAP_TF32_FTZ};
    return number < sizeof types ? types[number] : UINT8_MAX;
}

bool cj__cpu_select_tensormap_replace(cj_cpu_prepare *p) {
    replace_plan *plan = cj__cpu_keep(p, sizeof *plan);
    for (size_t i = 0; plan && i < sizeof fields / sizeof *fields; i++) {
        if (cj__cpu_has(p, fields[i].word)) plan->field = &fields[i];
    }
    if (!plan || !plan->field) return false;
    const uint64_t dimension = plan->field->step ? immediate(p, 1) : 0;
    if (dimension >= plan->field->count) {
        cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: the map has no such dimension", p->mnemonic->text);
        return false;
    }
    plan->at = plan->field->at + (uint32_t)dimension * plan->field->step;
    if (plan->field->is_immediate) plan->immediate = immediate(p, 1);
    if (plan->field->word == CJ_W_ELEMTYPE) plan->immediate = type_of(plan->immediate);
    plan->space = cj__cpu_has(p, CJ_W_GLOBAL)       ? CJ_W_GLOBAL
                  : cj__cpu_has(p, CJ_W_SHARED_CTA) ? CJ_W_SHARED_CTA
                                                    : CJ_WORD_NONE;
    p->op.plan = plan;
    p->op.run = replace;
    return true;
}

// ---- tensormap.cp_fenceproxy: the warp copies a map from shared to global memory, and publishes it

CJ_EXEC(publish_map) {
    if (mask != w->live) {
        w->waiting = mask;
        return CJ_STEP_WAIT;
    }
    const cj_cpu_actor actor = {w, op, cj__cpu_first(mask)};
    const cj_cpu_span  to_span = {.bytes = sizeof(cj_cpu_tensor), .align = TILE_ALIGN, .writes = true};
    const cj_cpu_span  from_span = {.bytes = sizeof(cj_cpu_tensor), .align = TILE_ALIGN};
    cj_cpu_spot        to, from;
    if (!cj__cpu_locate(w, op, actor.lane, CJ_W_GLOBAL, cj__cpu_address(w, op, 0, actor.lane), to_span, &to))
        return CJ_STEP_STOP;
    if (!cj__cpu_locate(w, op, actor.lane, CJ_W_SHARED_CTA, cj__cpu_address(w, op, 1, actor.lane), from_span, &from))
        return CJ_STEP_STOP;
    if (!watch_map(actor, CJ_USE_READ, &from) || !watch_map(actor, CJ_USE_WRITE, &to)) return CJ_STEP_STOP;
    memcpy(to.host, from.host, sizeof(cj_cpu_tensor));
    cj__watch_fence(w, mask, CJ_FENCE_RELEASE, CJ_SCOPE_GPU);
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_tensormap_publish(cj_cpu_prepare *p) {
    p->op.aligned = true;
    p->op.run = publish_map;
    return true;
}
