// SPDX-License-Identifier: Apache-2.0
// stencil: a plan's parameters as numbers, and what follows from them: taps, tiles, strips, bytes and registers.
#include "stencil.h"

// ---- the taps

// The taps as they lie in memory; beyond CJ_REALS_MAX they are only counted.
static void find_taps(stencil *s) {
    const int32_t r = (int32_t)s->radius, ry = s->dim > 1 ? r : 0, rz = s->dim > 2 ? r : 0;
    s->tap_count = 0;
    for (int32_t z = -rz; z <= rz; z++)
        for (int32_t y = -ry; y <= ry; y++)
            for (int32_t x = -r; x <= r; x++) {
                const int axes = (x != 0) + (y != 0) + (z != 0);
                if (!s->box && axes > 1) continue;
                if (s->tap_count < CJ_REALS_MAX) s->tap[s->tap_count] = (stencil_tap){.at = {x, y, z}};
                s->tap_count++;
            }
}

static void find_weights(stencil *s, const cj_params *p) {
    const uint32_t count = s->tap_count < CJ_REALS_MAX ? s->tap_count : CJ_REALS_MAX;
    for (uint32_t i = 0; i < count; i++)
        s->tap[i].weight = p->value[WEIGHTS] ? p->reals[i] : i == s->tap_count / 2 ? 0.5 : 0.5 / (s->tap_count - 1);
}

void cj__stencil_read(const cj_params *p, stencil *s) {
    const uint64_t *value = p->value;
    *s = (stencil){.type = value[DTYPE] ? "f64" : "f32",
                   .bytes = value[DTYPE] ? 8 : 4,
                   .dim = (uint32_t)value[DIM],
                   .radius = (uint32_t)value[RADIUS],
                   .box = value[SHAPE] != 0,
                   .boundary = (stencil_boundary)value[BOUNDARY],
                   .strategy = (stencil_strategy)value[STRATEGY],
                   .form = (stencil_form)value[FORM],
                   .batch = value[BATCH],
                   .steps = value[STEPS],
                   .depth = (uint32_t)value[DEPTH],
                   .cluster = value[CLUSTER] == CJ_PARAM_AUTO || !value[CLUSTER] ? 1 : (uint32_t)value[CLUSTER],
                   .threads = (uint32_t)value[BLOCK],
                   .warps = (uint32_t)value[BLOCK] / WARP,
                   .tile = (uint32_t)value[TILE]};
    s->points = 1;
    for (uint32_t a = 0; a < AXES; a++) s->points *= s->n[a] = a < s->dim ? (uint32_t)value[NX + a] : 1;
    find_taps(s);
    find_weights(s, p);
}

// ---- what follows from the sizes

// Results a tile, in the blocked shared form, along the axes before the last one.
static const uint32_t tile_out[AXES + 1][AXES] = {[2] = {STENCIL_TILE_X2}, [3] = {STENCIL_TILE_X3, STENCIL_TILE_Y3}};

static void layout_tiles(stencil *s) {
    for (uint32_t a = 0; a < AXES; a++) {
        const uint32_t n = s->n[a], margin = s->depth * s->radius;
        const uint64_t out = a + 1 == s->dim ? (uint64_t)s->tile * s->cluster : tile_out[s->dim][a];
        const bool     whole = s->strategy == STRATEGY_RESIDENT || a >= s->dim || n <= out + 2 * margin;
        s->axis[a] = whole ? (stencil_axis){.n = n, .out = n, .length = n, .tiles = 1}
                           : (stencil_axis){.n = n,
                                            .out = (uint32_t)out,
                                            .margin = margin,
                                            .length = (uint32_t)out + 2 * margin,
                                            .tiles = (uint32_t)cj__ceil_div(n, out)};
    }
}

static void layout_rows(stencil *s) {
    const uint32_t margin = s->depth * s->radius;
    s->margin = margin;
    s->strips = 1;
    if (s->strategy == STRATEGY_RESIDENT) {
        for (s->columns = 4; s->columns <= COLUMNS_MAX; s->columns += 4)
            if (s->n[0] % s->columns == 0 && s->n[0] <= WARP * s->columns) break;
        return;
    }
    s->columns = 4;
    const bool one = s->n[0] <= WARP * s->columns;
    s->strip_margin = one ? 0 : (uint32_t)cj__round_up(margin, s->columns);
    s->strip = WARP * s->columns - 2 * s->strip_margin;
    s->strips = (uint32_t)cj__ceil_div(s->n[0], s->strip);
}

void cj__stencil_layout(stencil *s) {
    s->launches = s->strategy == STRATEGY_RESIDENT ? 1 : (uint32_t)cj__ceil_div(s->steps, s->depth);
    s->warps = s->threads / WARP;
    (s->form == FORM_SHARED ? layout_tiles : layout_rows)(s);
}

static uint64_t shared_form_bytes(const stencil *s) {
    const stencil_axis *last = &s->axis[s->dim - 1];
    const bool          wraps = s->boundary == BOUNDARY_PERIODIC && !last->margin;
    uint64_t            plane = s->bytes, planes = (uint32_t)cj__ceil_div(last->length, s->cluster);
    for (uint32_t a = 0; a + 1 < s->dim; a++) plane *= s->axis[a].length;
    if (s->cluster > 1 || wraps) planes += 2 * s->radius;
    return plane * planes * (s->depth > 1 ? 2 : 1);
}

// Rows that warps hand to each other, and a row of zeros; halos; both twice.
static uint64_t resident_form_bytes(const stencil *s) {
    const uint64_t row = (uint64_t)WARP * s->columns * s->bytes;
    return 2 * row * (2 * s->radius * s->warps + 1 + 2 * s->margin);
}

uint64_t cj__stencil_shared_bytes(const stencil *s) {
    if (s->form == FORM_SHARED) return shared_form_bytes(s);
    return s->strategy == STRATEGY_RESIDENT ? resident_form_bytes(s) : 0;
}

// Registers of a thread, as ptxas needs them: rows of the levels and those that are loaded ahead, a result, and places. ptxas
// lets the rows of few levels share registers with those that are loaded; of many levels it keeps nearly all windows.
uint32_t cj__stencil_stream_registers(const stencil *s) {
    const uint32_t words = s->bytes / 4, width = 4 + (s->box ? 2 * s->radius : 0);
    const uint32_t saved = (s->boundary == BOUNDARY_CLAMP ? STENCIL_STREAM_SAVED_CLAMP : STENCIL_STREAM_SAVED) / words;
    const uint32_t few = 2 * s->radius * (s->depth + 1) + 1, many = (2 * s->radius + 1) * s->depth;
    const uint32_t rows = few + saved < many ? many - saved : few;
    return (rows * width + 4) * words + STENCIL_STREAM_REGISTERS;
}
