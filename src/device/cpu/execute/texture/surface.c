// SPDX-License-Identifier: Apache-2.0
// Surfaces (PTX ISA, "suld", "sust", "sured"): loads, stores and reductions at coordinates. In the .b forms x counts bytes and the
// surface's format does not matter; in the .p forms x counts texels, and values become components of the format.
#include "combine.h"
#include "half.h"
#include "texel.h"

// What happens outside of the surface.
typedef enum outside { TRAPS, CLAMPS, ZEROES } outside;

typedef struct surface_plan {
    cj_texel_plan  texel;
    outside        outside;
    bool           formatted;                // .p
    uint32_t       elements, element;        // of a .b access: its elements, and the bytes of one
    uint32_t       data;                     // the first slot of what is loaded or stored
    uint8_t        wide[CJ_CHANNELS];        // bytes of the registers there
    cj_cpu_combine combine, combine_signed;  // of sured; the second one for signed formats
} surface_plan;

// The place of an access. `none`: outside, where a load gives 0 and a store does nothing.
typedef struct target {
    uint64_t x, y, z, bytes;
    bool     none;
} target;

static const surface_plan *plan_of(const cj_cpu_op *op) { return op->plan; }

// ---- coordinates

// Moves a coordinate into [0, most]; false: it was outside.
static bool settle(int64_t *at, int64_t most) {
    const bool is_inside = *at >= 0 && *at <= most;
    if (!is_inside) *at = *at < 0 || most < 0 ? 0 : most;
    return is_inside;
}

static bool trap(const cj_texel_call *call, const int64_t at[CJ_AXES], uint64_t bytes) {
    const cj_image *is = &call->image->is;
    cj__cpu_hazard(call->w, call->op, call->lane, CJ_HAZARD_OUT_OF_BOUNDS,
                   "%llu bytes at byte %lld of row %lld of slice %lld lie outside of the surface, %zu x %zu x %zu "
                   "texels of %u bytes",
                   (unsigned long long)bytes, (long long)at[0], (long long)at[1], (long long)at[2], is->width,
                   is->height, is->depth * is->layers, call->image->texel);
    return false;
}

// Finds the place of an access; false: a hazard was reported.
static bool aim(const cj_texel_call *call, target *to) {
    const surface_plan *plan = plan_of(call->op);
    const cj_image     *is = &call->image->is;
    const bool          is_sample = plan->formatted;
    const uint64_t      bytes = is_sample ? call->image->texel : (uint64_t)plan->elements * plan->element;
    const uint64_t      row = is->width * call->image->texel;
    int64_t             at[CJ_AXES] = {0};
    for (unsigned k = 0; k < plan->texel.dims; k++) at[k] = (int32_t)cj__texel_coordinate(call, k);
    if (is_sample) at[0] *= (int64_t)bytes;
    if (plan->texel.layered) at[2] = (int32_t)call->slice;
    if (at[0] % (int64_t)bytes) {
        cj__cpu_hazard(call->w, call->op, call->lane, CJ_HAZARD_MISALIGNED,
                       "byte %lld of a row is no multiple of the access, %llu bytes", (long long)at[0],
                       (unsigned long long)bytes);
        return false;
    }
    const int64_t given[CJ_AXES] = {at[0], at[1], at[2]};
    bool          is_inside = settle(&at[0], (int64_t)((row / bytes) * bytes) - (int64_t)bytes);
    is_inside &= settle(&at[1], (int64_t)is->height - 1);
    is_inside &= settle(&at[2], (int64_t)(is->depth * is->layers) - 1);
    const bool is_nowhere = plan->outside == CLAMPS && bytes > row;  // no place is near
    if (!is_inside && (plan->outside == TRAPS || is_nowhere)) return trap(call, given, bytes);
    *to = (target){(uint64_t)at[0], (uint64_t)at[1], (uint64_t)at[2], bytes, !is_inside && plan->outside == ZEROES};
    return true;
}

// ---- registers

static void put(const cj_texel_call *call, unsigned k, const unsigned char *from) {
    const surface_plan *plan = plan_of(call->op);
    unsigned char      *slot = call->w->file + call->op->slot[plan->data + k] + call->lane * plan->wide[k];
    memset(slot, 0, plan->wide[k]);
    memcpy(slot, from, plan->element);
}

static void get(const cj_texel_call *call, unsigned k, unsigned char *to) {
    const surface_plan  *plan = plan_of(call->op);
    const unsigned char *slot = call->w->file + call->op->slot[plan->data + k];
    memcpy(to, slot + call->lane * plan->wide[k], plan->element);
}

// ---- suld

CJ_EXEC(suld) {
    static const cj_watch_use use = {.flags = CJ_USE_READ | CJ_USE_TEXTURE};
    const surface_plan       *plan = op->plan;
    CJ_SOME_LANES(i, mask) {
        cj_texel_call call = {.w = w, .op = op, .lane = i, .plan = &plan->texel};
        unsigned char bytes[CJ_CHANNELS * 8] = {0};
        target        from;
        if (!cj__texel_begin(&call) || !aim(&call, &from)) return CJ_STEP_STOP;
        const unsigned char *at = from.none ? bytes : cj__texel_reach(&call, from.x, from.y, from.z, from.bytes, use);
        if (!at) return CJ_STEP_STOP;
        if (!from.none) memcpy(bytes, at, from.bytes);
        for (unsigned k = 0; k < plan->elements; k++) put(&call, k, bytes + k * plan->element);
    }
    return CJ_STEP_NEXT;
}

// ---- sust

static int32_t limited(int64_t value, int64_t least, int64_t most) {
    return (int32_t)(value < least ? least : value > most ? most : value);
}

// A register's 32 bits as a component of the format; an integer that does not fit becomes the nearest one that does.
static void encode(cj_texel format, uint32_t bits, unsigned char *to, uint32_t bytes) {
    float real;
    memcpy(&real, &bits, sizeof real);
    switch (format) {
    case CJ_TEXEL_U8: bits = bits < UINT8_MAX ? bits : UINT8_MAX; break;
    case CJ_TEXEL_U16: bits = bits < UINT16_MAX ? bits : UINT16_MAX; break;
    case CJ_TEXEL_S8: bits = (uint32_t)limited((int32_t)bits, INT8_MIN, INT8_MAX); break;
    case CJ_TEXEL_S16: bits = (uint32_t)limited((int32_t)bits, INT16_MIN, INT16_MAX); break;
    case CJ_TEXEL_F16: bits = (uint32_t)cj__small_pack(cj__small_float(CJ_W_F16), (double)real, CJ_W_RN, false); break;
    default: break;
    }
    memcpy(to, &bits, bytes);
}

// The bytes that a thread stores. Components that the instruction does not give stay as they are in `bytes`.
static void compose(const cj_texel_call *call, unsigned char *bytes) {
    const surface_plan *plan = plan_of(call->op);
    const uint32_t      component = call->image->texel / call->image->is.channels;
    for (unsigned k = 0; k < plan->elements; k++) {
        unsigned char value[8];
        uint32_t      bits;
        get(call, k, value);
        memcpy(&bits, value, sizeof bits);
        if (!plan->formatted)
            memcpy(bytes + k * plan->element, value, plan->element);
        else if (k < call->image->is.channels)
            encode(call->image->is.format, bits, bytes + k * component, component);
    }
}

CJ_EXEC(sust) {
    static const cj_watch_use use = {.flags = CJ_USE_WRITE};
    const surface_plan       *plan = op->plan;
    CJ_SOME_LANES(i, mask) {
        cj_texel_call call = {.w = w, .op = op, .lane = i, .plan = &plan->texel};
        unsigned char bytes[CJ_CHANNELS * 8];
        target        to;
        if (!cj__texel_begin(&call) || !aim(&call, &to)) return CJ_STEP_STOP;
        if (to.none) continue;
        unsigned char *at = cj__texel_reach(&call, to.x, to.y, to.z, to.bytes, use);
        if (!at) return CJ_STEP_STOP;
        memcpy(bytes, at, to.bytes);
        compose(&call, bytes);
        memcpy(at, bytes, to.bytes);
    }
    return CJ_STEP_NEXT;
}

// ---- sured: atomic for other host threads, too

CJ_EXEC(sured) {
    static const cj_watch_use use = {.flags = CJ_USE_READ | CJ_USE_WRITE, .scope = CJ_SCOPE_GPU};
    const surface_plan       *plan = op->plan;
    CJ_SOME_LANES(i, mask) {
        cj_texel_call call = {.w = w, .op = op, .lane = i, .plan = &plan->texel};
        unsigned char value[8];
        target        to;
        if (!cj__texel_begin(&call) || !aim(&call, &to)) return CJ_STEP_STOP;
        if (plan->formatted && call.image->texel != plan->element) {
            return cj__cpu_hazard(w, op, i, CJ_HAZARD_TEXTURE_HANDLE,
                                  "the surface's texels have %u bytes, the operation %u", call.image->texel,
                                  plan->element);
        }
        if (to.none) continue;
        unsigned char *at = cj__texel_reach(&call, to.x, to.y, to.z, to.bytes, use);
        if (!at) return CJ_STEP_STOP;
        get(&call, 0, value);
        (plan->formatted && call.image->is.format == CJ_TEXEL_S32 ? plan->combine_signed
                                                                  : plan->combine)(at, value, plan->element);
    }
    return CJ_STEP_NEXT;
}

// ---- selection. The coordinates follow what is loaded, and are before what is stored.

// A register may be wider than the type: loads give zeros above it.
static surface_plan *make_plan(cj_cpu_prepare *p, bool loads) {
    const unsigned       k = loads ? 1 : 0;
    const cj_ir_operand *coordinates = &p->inst->operand[k];
    surface_plan        *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan) return NULL;
    plan->elements = p->slot_count - coordinates->count;
    if (!cj__texel_plan(p, k, loads ? plan->elements : 0, &plan->texel)) return NULL;
    plan->texel.integer = true;
    plan->outside = cj__cpu_has(p, CJ_W_TRAP) ? TRAPS : cj__cpu_has(p, CJ_W_CLAMP) ? CLAMPS : ZEROES;
    plan->formatted = cj__cpu_has(p, CJ_W_PIXEL);
    plan->element = cj__words[p->mnemonic->type_last].bits / 8;
    plan->data = loads ? 0 : coordinates->count;
    for (uint32_t i = 0; i < plan->elements && i < CJ_CHANNELS; i++)
        plan->wide[i] = (uint8_t)(p->bits[plan->data + i] / 8);
    p->any_width = true;
    p->op.plan = plan;
    return plan;
}

bool cj__cpu_select_suld(cj_cpu_prepare *p) {
    p->op.run = suld;
    return make_plan(p, true);
}

bool cj__cpu_select_sust(cj_cpu_prepare *p) {
    p->op.run = sust;
    return make_plan(p, false);
}

bool cj__cpu_select_sured(cj_cpu_prepare *p) {
    surface_plan *plan = make_plan(p, false);
    if (!plan) return false;
    cj_word type = p->mnemonic->type_last, of_signed = type;
    if (plan->formatted || type == CJ_W_B32 || type == CJ_W_B64) {
        const bool is_bits = cj__cpu_has(p, CJ_W_AND) || cj__cpu_has(p, CJ_W_OR);
        const bool is_wide = plan->element == 8;
        if (!is_bits) type = is_wide ? CJ_W_U64 : CJ_W_U32, of_signed = is_wide ? CJ_W_S64 : CJ_W_S32;
    } else if (cj__cpu_has(p, CJ_W_AND) || cj__cpu_has(p, CJ_W_OR)) {
        type = of_signed = plan->element == 8 ? CJ_W_B64 : CJ_W_B32;
    }
    plan->combine = cj__cpu_combine_in(p->mnemonic, type);
    plan->combine_signed = cj__cpu_combine_in(p->mnemonic, of_signed);
    p->op.run = sured;
    return plan->combine && plan->combine_signed;
}
