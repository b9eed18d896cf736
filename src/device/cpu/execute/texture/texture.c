// SPDX-License-Identifier: Apache-2.0
// Fetches from textures (PTX ISA, "tex", "tld4", "txq"; CUDA C++ Programming Guide, "Texture Fetching").
//
// A coordinate becomes a position in texels, the position one texel or two of each axis with their weights. A texture here has
// one level, so that .level and .grad choose nothing. All of this is one fetch:
//
//   point   texel floor(position)
//   linear  texels i and i + 1 with weights 1 - a and a, i + a = position - 0.5 in steps of 1/256
#include <math.h>

#include "small.h"
#include "texel.h"

enum { WEIGHT_STEPS = 256 };
static const double POSITION_MOST = 0x1p40;  // farther texels are outside of every image, too

// The texels of one axis that a fetch reads; index -1: the border.
typedef struct axis {
    unsigned count;
    int64_t  index[2];
    double   weight[2];
} axis;

static cj_address_mode mode_of(const cj_sampler *sampler, unsigned k, bool integer) {
    const cj_address_mode mode = sampler->address[k];
    const bool            repeats = mode == CJ_ADDRESS_WRAP || mode == CJ_ADDRESS_MIRROR;
    return repeats && (integer || !sampler->normalized) ? CJ_ADDRESS_CLAMP : mode;
}

// The texel that stands for texel i of an axis of `size`; -1: the border.
static int64_t address_of(int64_t i, int64_t size, cj_address_mode mode) {
    if (i >= 0 && i < size) return i;
    switch (mode) {
    case CJ_ADDRESS_WRAP: return (i % size + size) % size;
    case CJ_ADDRESS_MIRROR: i = (i % (2 * size) + 2 * size) % (2 * size); return i < size ? i : 2 * size - 1 - i;
    case CJ_ADDRESS_BORDER: return -1;
    default: return i < 0 ? 0 : size - 1;
    }
}

// The position in texels of an f32 coordinate.
static double position_of(float coordinate, size_t size, const cj_sampler *sampler, cj_address_mode mode) {
    double x = isnan(coordinate) ? 0 : (double)coordinate;
    if (sampler->normalized) {
        const double period = mode == CJ_ADDRESS_WRAP ? 1 : 2;
        if (mode == CJ_ADDRESS_WRAP || mode == CJ_ADDRESS_MIRROR) x = isinf(x) ? 0 : x - period * floor(x / period);
        x *= (double)size;
    }
    return x < -POSITION_MOST ? -POSITION_MOST : x > POSITION_MOST ? POSITION_MOST : x;
}

static axis place(const cj_texel_call *call, unsigned k, size_t size, bool linear) {
    const cj_sampler     *sampler = &call->image->sampler;
    const cj_address_mode mode = mode_of(sampler, k, call->plan->integer);
    const uint32_t        bits = cj__texel_coordinate(call, k);
    float                 coordinate;
    memcpy(&coordinate, &bits, sizeof coordinate);
    if (call->plan->integer) return (axis){1, {address_of((int32_t)bits, (int64_t)size, mode)}, {1}};
    const double position = position_of(coordinate, size, sampler, mode);
    if (!linear) return (axis){1, {address_of((int64_t)floor(position), (int64_t)size, mode)}, {1}};
    const double  steps = floor((position - 0.5) * WEIGHT_STEPS + 0.5), below = floor(steps / WEIGHT_STEPS);
    const double  weight = steps / WEIGHT_STEPS - below;
    const int64_t i = (int64_t)below;
    return (axis){
        2, {address_of(i, (int64_t)size, mode), address_of(i + 1, (int64_t)size, mode)}, {1 - weight, weight}};
}

// The axes that the instruction names; others have texel 0.
static void place_all(const cj_texel_call *call, bool linear, axis at[CJ_AXES]) {
    const cj_image *is = &call->image->is;
    const size_t    size[CJ_AXES] = {is->width, is->height, is->depth};
    for (unsigned k = 0; k < CJ_AXES; k++)
        at[k] = k < call->plan->dims ? place(call, k, size[k], linear) : (axis){1, {0}, {1}};
}

static void border(const cj_texel_call *call, uint32_t value[CJ_CHANNELS]) {
    const float *colour = call->image->sampler.border;
    const bool   is_real = cj__texel_is_real(call->image);
    memset(value, 0, CJ_CHANNELS * sizeof *value);
    for (unsigned k = 0; k < call->image->is.channels; k++) {
        if (is_real)
            memcpy(&value[k], &colour[k], sizeof *value);
        else
            value[k] = (uint32_t)(int64_t)colour[k];
    }
}

static bool read_texel(const cj_texel_call *call, int64_t x, int64_t y, int64_t z, uint32_t value[CJ_CHANNELS]) {
    static const cj_watch_use use = {.flags = CJ_USE_READ | CJ_USE_TEXTURE};
    const cj_cpu_image       *image = call->image;
    const uint64_t            last = image->is.layers - 1;
    if (x < 0 || y < 0 || z < 0) {
        border(call, value);
        return true;
    }
    const uint64_t       slice = call->plan->layered ? (call->slice < last ? call->slice : last) : (uint64_t)z;
    const unsigned char *texel = cj__texel_reach(call, (uint64_t)x * image->texel, (uint64_t)y, slice, image->texel,
                                                 use);
    if (texel) cj__texel_decode(image, texel, value);
    return texel;
}

static float real(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The weighted sum of the texels; one with weight 0 is not read.
static bool filter(const cj_texel_call *call, const axis at[CJ_AXES], uint32_t value[CJ_CHANNELS]) {
    double sum[CJ_CHANNELS] = {0};
    for (unsigned n = 0; n < at[0].count * at[1].count * at[2].count; n++) {
        const unsigned i = n % at[0].count, j = n / at[0].count % at[1].count, k = n / at[0].count / at[1].count;
        const double   weight = at[0].weight[i] * at[1].weight[j] * at[2].weight[k];
        uint32_t       texel[CJ_CHANNELS];
        if (weight == 0) continue;
        if (!read_texel(call, at[0].index[i], at[1].index[j], at[2].index[k], texel)) return false;
        for (unsigned c = 0; c < CJ_CHANNELS; c++) sum[c] += weight * (double)real(texel[c]);
    }
    for (unsigned c = 0; c < CJ_CHANNELS; c++) {
        const float rounded = (float)sum[c];
        memcpy(&value[c], &rounded, sizeof rounded);
    }
    return true;
}

static bool fetch(const cj_texel_call *call, uint32_t value[CJ_CHANNELS]) {
    const bool linear = call->image->sampler.filter == CJ_FILTER_LINEAR && !call->plan->integer;
    axis       at[CJ_AXES];
    place_all(call, linear, at);
    return linear ? filter(call, at, value) : read_texel(call, at[0].index[0], at[1].index[0], at[2].index[0], value);
}

// ---- tex

CJ_EXEC(tex) {
    CJ_SOME_LANES(i, mask) {
        cj_texel_call call = {.w = w, .op = op, .lane = i, .plan = op->plan};
        uint32_t      value[CJ_CHANNELS];
        if (!cj__texel_begin(&call) || !fetch(&call, value)) return CJ_STEP_STOP;
        for (unsigned k = 0; k < CJ_CHANNELS; k++) CJ_LANES_OF(lane_u32, k)[i] = value[k];
    }
    return CJ_STEP_NEXT;
}

static uint32_t pair(uint32_t low, uint32_t high) {
    const cj_small_float *half = cj__small_float(CJ_W_F16);
    return (uint32_t)cj__small_pack(half, (double)real(low), CJ_W_RN, false) |
           (uint32_t)cj__small_pack(half, (double)real(high), CJ_W_RN, false) << 16;
}

// Two halves in each of two registers.
CJ_EXEC(tex_halves) {
    CJ_SOME_LANES(i, mask) {
        cj_texel_call call = {.w = w, .op = op, .lane = i, .plan = op->plan};
        uint32_t      value[CJ_CHANNELS];
        if (!cj__texel_begin(&call) || !fetch(&call, value)) return CJ_STEP_STOP;
        CJ_LANES_OF(lane_u32, 0)[i] = pair(value[0], value[1]);
        CJ_LANES_OF(lane_u32, 1)[i] = pair(value[2], value[3]);
    }
    return CJ_STEP_NEXT;
}

static bool plan_texture(cj_cpu_prepare *p, uint32_t first) {
    cj_texel_plan *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan || !cj__texel_plan(p, 1, first, plan)) return false;
    plan->texture = 1;
    plan->integer = p->mnemonic->type_last == CJ_W_S32;
    p->op.plan = plan;
    return true;
}

bool cj__cpu_select_tex(cj_cpu_prepare *p) {
    const bool halves = p->mnemonic->type[0] == CJ_W_F16X2;
    p->op.run = halves ? tex_halves : tex;
    return plan_texture(p, halves ? 2 : CJ_CHANNELS);
}

// ---- tld4: one component of the four texels that a linear fetch of two dimensions reads

CJ_EXEC(tld4) {
    static const unsigned char order[CJ_CHANNELS][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    CJ_SOME_LANES(i, mask) {
        cj_texel_call call = {.w = w, .op = op, .lane = i, .plan = op->plan};
        uint32_t      texel[CJ_CHANNELS], value[CJ_CHANNELS];
        axis          at[CJ_AXES];
        if (!cj__texel_begin(&call)) return CJ_STEP_STOP;
        place_all(&call, true, at);
        for (unsigned k = 0; k < CJ_CHANNELS; k++) {
            if (!read_texel(&call, at[0].index[order[k][0]], at[1].index[order[k][1]], 0, texel)) return CJ_STEP_STOP;
            value[k] = texel[op->mode];
        }
        for (unsigned k = 0; k < CJ_CHANNELS; k++) CJ_LANES_OF(lane_u32, k)[i] = value[k];
    }
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_tld4(cj_cpu_prepare *p) {
    static const cj_word components[CJ_CHANNELS] = {CJ_W_RIGHT, CJ_W_GREEN, CJ_W_MATRIX_B, CJ_W_MATRIX_A};
    for (uint16_t k = 0; k < CJ_CHANNELS; k++)
        if (cj__cpu_has(p, components[k])) p->op.mode = k;
    p->op.run = tld4;
    return plan_texture(p, CJ_CHANNELS);
}

// ---- txq, suq

static uint32_t answer(const cj_cpu_image *image, cj_word question) {
    switch (question) {
    case CJ_W_WIDTH: return (uint32_t)image->is.width;
    case CJ_W_HEIGHT: return image->dims > 1 ? (uint32_t)image->is.height : 0;
    case CJ_W_DEPTH: return image->dims > 2 ? (uint32_t)image->is.depth : 0;
    case CJ_W_ARRAY_SIZE: return image->layered ? (uint32_t)image->is.layers : 0;
    case CJ_W_NORMALIZED_COORDS: return image->sampler.normalized;
    case CJ_W_NUM_MIPMAP_LEVELS:
    case CJ_W_NUM_SAMPLES: return 1;
    default: return image->is.linear;  // memory_layout
    }
}

CJ_EXEC(txq) {
    CJ_SOME_LANES(i, mask) {
        const cj_cpu_image *image = cj__texel_image(w, op, i, op->bytes ? CJ_IMAGE_TEXTURE : CJ_IMAGE_SURFACE);
        if (!image) return CJ_STEP_STOP;
        CJ_LANES_OF(lane_u32, 0)[i] = answer(image, op->mode);
    }
    return CJ_STEP_NEXT;
}

// The numbers of formats belong to the source's language, and CUDA C++ has none.
static bool select_query(cj_cpu_prepare *p, bool texture) {
    static const cj_word questions[] = {CJ_W_WIDTH,
                                        CJ_W_HEIGHT,
                                        CJ_W_DEPTH,
                                        CJ_W_ARRAY_SIZE,
                                        CJ_W_NORMALIZED_COORDS,
                                        CJ_W_NUM_MIPMAP_LEVELS,
                                        CJ_W_NUM_SAMPLES,
                                        CJ_W_MEMORY_LAYOUT};
    p->op.run = txq;
    p->op.bytes = texture;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        if (!cj__cpu_has(p, questions[i])) continue;
        p->op.mode = questions[i];
        return true;
    }
    return false;
}

bool cj__cpu_select_txq(cj_cpu_prepare *p) { return select_query(p, true); }

bool cj__cpu_select_suq(cj_cpu_prepare *p) { return select_query(p, false); }
