// SPDX-License-Identifier: Apache-2.0
#include "texel.h"

#include "address.h"
#include "half.h"

// ---- geometry

static const struct {
    cj_word  word;
    unsigned dims;
    bool     layered;
} geometries[] = {
    {CJ_W_N1D, 1, false}, {CJ_W_N2D, 2, false}, {CJ_W_N3D, 3, false}, {CJ_W_A1D, 1, true}, {CJ_W_A2D, 2, true},
};

bool cj__texel_plan(cj_cpu_prepare *p, unsigned k, uint32_t first, cj_texel_plan *plan) {
    const cj_ir_operand *operand = &p->inst->operand[k];
    size_t               i = 0;
    while (i < sizeof geometries / sizeof *geometries && !cj__cpu_has(p, geometries[i].word)) i++;
    if (operand->predicate) {
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device does not execute %s with a sampler of its own",
                       p->mnemonic->text);
        return false;
    }
    if (i == sizeof geometries / sizeof *geometries) {
        cj__cpu_refuse(p, CJ_UNSUPPORTED, "the CPU device has no cubemaps and no multisampled textures: %s",
                       p->mnemonic->text);
        return false;
    }
    *plan = (cj_texel_plan){.dims = geometries[i].dims,
                            .layered = geometries[i].layered,
                            .layer = first,
                            .first = first + geometries[i].layered};
    return true;
}

// ---- images

const cj_cpu_image *cj__texel_image(cj_cpu_warp *w, const cj_cpu_op *op, unsigned lane, cj_image_use use) {
    const uint64_t      handle = cj__cpu_address(w, op, 0, lane);
    const cj_cpu_image *image = cj__images_find(w->block->cluster->launch->images, use, handle);
    if (image) return image;
    const char *kind = use == CJ_IMAGE_TEXTURE ? "texture" : "surface";
    cj__cpu_hazard(w, op, lane, CJ_HAZARD_TEXTURE_HANDLE, "0x%llx is no %s of this device, or one that was destroyed",
                   (unsigned long long)handle, kind);
    return NULL;
}

// An instruction may read an image of fewer dimensions, not of more.
static bool check_geometry(const cj_texel_call *call) {
    const cj_cpu_image *image = call->image;
    const bool          is_less = (call->plan->dims < 2 && image->is.height > 1) ||
                         (call->plan->dims < 3 && image->is.depth > 1);
    if (!is_less && image->layered == call->plan->layered) return true;
    cj__cpu_hazard(call->w, call->op, call->lane, CJ_HAZARD_TEXTURE_HANDLE,
                   "the %s has %u dimension%s%s, the instruction takes %u%s",
                   call->plan->texture ? "texture" : "surface", image->dims, image->dims > 1 ? "s" : "",
                   image->layered ? " and layers" : "", call->plan->dims, call->plan->layered ? " and a layer" : "");
    return false;
}

bool cj__texel_begin(cj_texel_call *call) {
    call->image = cj__texel_image(call->w, call->op, call->lane,
                                  call->plan->texture ? CJ_IMAGE_TEXTURE : CJ_IMAGE_SURFACE);
    if (!call->image || !check_geometry(call)) return false;
    const cj_cpu_warp *w = call->w;
    const cj_cpu_op   *op = call->op;
    call->slice = call->plan->layered ? CJ_LANES_OF(const lane_u32, call->plan->layer)[call->lane] : 0;
    return true;
}

uint32_t cj__texel_coordinate(const cj_texel_call *call, unsigned axis) {
    const cj_cpu_warp *w = call->w;
    const cj_cpu_op   *op = call->op;
    return CJ_LANES_OF(const lane_u32, call->plan->first + axis)[call->lane];
}

unsigned char *cj__texel_reach(const cj_texel_call *call, uint64_t x, uint64_t y, uint64_t z, uint64_t bytes,
                               cj_watch_use use) {
    const cj_image *is = &call->image->is;
    const uint64_t  address = is->address + z * is->slice_bytes + y * is->row_bytes + x;
    cj_cpu_spot     spot;
    if (!cj__cpu_locate(call->w, call->op, call->lane, CJ_W_GLOBAL, address,
                        (cj_cpu_span){bytes, 1, use.flags & CJ_USE_WRITE}, &spot))
        return NULL;
    cj__watch_access(call->w, call->op, call->lane, use, (cj_watch_place){NULL, address, bytes});
    return spot.host;
}

// ---- components

bool cj__texel_is_real(const cj_cpu_image *image) {
    switch (image->is.format) {
    case CJ_TEXEL_F16:
    case CJ_TEXEL_F32: return true;
    case CJ_TEXEL_U32:
    case CJ_TEXEL_S32: return false;
    default: return !image->sampler.as_integer;
    }
}

static uint32_t bits_of(double value) {
    const float rounded = (float)value;
    uint32_t    bits;
    memcpy(&bits, &rounded, sizeof bits);
    return bits;
}

// An integer as it is, or as a fraction of the largest one, -1 at least.
static uint32_t integer(int32_t value, int32_t largest, bool is_real) {
    return is_real ? bits_of(value < -largest ? -1.0 : (double)value / largest) : (uint32_t)value;
}

static uint32_t component(cj_texel format, const unsigned char *at, bool is_real) {
    uint32_t wide;
    uint16_t narrow;
    switch (format) {
    case CJ_TEXEL_U8: return integer(*at, UINT8_MAX, is_real);
    case CJ_TEXEL_S8: return integer((int8_t)*at, INT8_MAX, is_real);
    case CJ_TEXEL_U16: memcpy(&narrow, at, sizeof narrow); return integer(narrow, UINT16_MAX, is_real);
    case CJ_TEXEL_S16: memcpy(&narrow, at, sizeof narrow); return integer((int16_t)narrow, INT16_MAX, is_real);
    case CJ_TEXEL_F16: memcpy(&narrow, at, sizeof narrow); return bits_of((double)cj__f16_to_f32(narrow));
    default: memcpy(&wide, at, sizeof wide); return wide;
    }
}

void cj__texel_decode(const cj_cpu_image *image, const unsigned char *texel, uint32_t value[CJ_CHANNELS]) {
    const uint32_t bytes = image->texel / image->is.channels;
    const bool     is_real = cj__texel_is_real(image);
    for (unsigned k = 0; k < CJ_CHANNELS; k++)
        value[k] = k < image->is.channels ? component(image->is.format, texel + k * bytes, is_real) : 0;
}
