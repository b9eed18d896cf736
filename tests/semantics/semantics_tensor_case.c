// SPDX-License-Identifier: Apache-2.0
#include "semantics_tensor_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "semantics_async.h"
#include "test.h"

static const struct {
    const char *name;
    unsigned    bytes;
    bool        is_float;
} types[] = {
#define CJ_X(name, value, text, bytes) {text, bytes, (value) >= CJ_TENSORMAP_F16},
    CJ_TENSORMAP_TYPE_LIST(CJ_X)
#undef CJ_X
};

static bool is_tf32(cj_tensormap_type type) { return type == CJ_TENSORMAP_TF32 || type == CJ_TENSORMAP_TF32_FTZ; }
static bool is_ftz(cj_tensormap_type type) { return type == CJ_TENSORMAP_F32_FTZ || type == CJ_TENSORMAP_TF32_FTZ; }

const char *const cj_tensor_operations[CJ_TENSOR_ACTIONS] = {
    [CJ_TENSOR_LOAD] = "",    [CJ_TENSOR_LOAD_CTA] = "", [CJ_TENSOR_PREFETCH] = "",   [CJ_TENSOR_MULTICAST] = "",
    [CJ_TENSOR_REPLACE] = "", [CJ_TENSOR_STORE] = "",    [CJ_TENSOR_STORE_HINT] = "", [CJ_TENSOR_ADD] = "add",
    [CJ_TENSOR_MIN] = "min",  [CJ_TENSOR_MAX] = "max",   [CJ_TENSOR_INC] = "inc",     [CJ_TENSOR_DEC] = "dec",
    [CJ_TENSOR_AND] = "and",  [CJ_TENSOR_OR] = "or",     [CJ_TENSOR_XOR] = "xor"};

// ---- tensors

static void set_type(cj_tensor_case *c, cj_tensormap_type type) {
    c->type = type;
    c->element = types[type].bytes;
}

// Dimensions, the innermost first; rows begin at multiples of 16 bytes, with gaps between them.
static void set_dims(cj_tensor_case *c, unsigned rank, const uint64_t *dims) {
    c->rank = rank;
    uint64_t stride = (dims[0] * c->element + 15) / 16 * 16 + 16;
    for (unsigned i = 0; i < 5; i++) {
        c->dims[i] = i < rank ? dims[i] : 0;
        c->steps[i] = 1;
        if (i + 1 < rank) c->strides[i] = stride;
        if (i + 1 < rank) stride *= dims[i + 1];
    }
    assert_true(rank == 1 || stride <= CJ_TENSOR_BYTES);
}

// Every type and fill, inside of the tensor, and across two corners.
static void make_type(unsigned i, cj_tensor_case *c) {
    static const int32_t at[3][2] = {{8, 3}, {-5, -2}, {40, 17}};
    set_type(c, (cj_tensormap_type)(i / 9));
    set_dims(c, 2, (uint64_t[]){48, 20});
    c->box[0] = 32;
    c->box[1] = 6;
    memcpy(c->at, at[i % 3], sizeof at[0]);
    c->action = i / 3 % 3 == 2 ? CJ_TENSOR_STORE : CJ_TENSOR_LOAD;
    c->fill = i / 3 % 3 == 1 && types[c->type].is_float ? CJ_TENSORMAP_FILL_NAN : CJ_TENSORMAP_FILL_ZEROS;
    c->l2 = (cj_tensormap_l2)(i % 4);
}

// Every swizzle with every row length that it allows, at the start of the pattern and later in it.
static void make_swizzle(unsigned i, cj_tensor_case *c) {
    unsigned row = i / 6;
    for (c->swizzle = CJ_TENSORMAP_SWIZZLE_32B; row >= 1u << c->swizzle; c->swizzle++) row -= 1u << c->swizzle;
    set_type(c, i % 2 ? CJ_TENSORMAP_F32 : CJ_TENSORMAP_U16);
    set_dims(c, 2, (uint64_t[]){100, 60});
    c->box[0] = (row + 1) * 16 / c->element;
    c->box[1] = 19;
    c->at[0] = i % 3 == 1 ? -2 : 8;
    c->at[1] = i % 3 == 1 ? -3 : i % 3 == 2 ? 50 : 0;
    c->base = i % 3 == 2 ? 640 : i % 3 == 1 ? 128 : 0;
    c->action = i / 3 % 2 ? CJ_TENSOR_STORE : CJ_TENSOR_LOAD;
}

// A box inside, across the lower edges, across the upper ones, outside, or far away; strides between elements if asked
// for.
enum { PLACES = 5 };

static void make_box(unsigned rank, unsigned where, bool strided, cj_tensor_case *c) {
    static const uint64_t          dims[5][5] = {{900}, {44, 30}, {24, 9, 7}, {16, 5, 4, 6}, {12, 4, 3, 3, 4}};
    static const uint32_t          boxes[5][5] = {{128}, {16, 9}, {8, 5, 4}, {8, 5, 3, 2}, {4, 3, 2, 3, 2}};
    static const cj_tensormap_type kinds[] = {CJ_TENSORMAP_U32, CJ_TENSORMAP_S64, CJ_TENSORMAP_F32};
    set_type(c, kinds[(rank + where) % CJ_TEST_COUNT(kinds)]);
    set_dims(c, rank, dims[rank - 1]);
    memcpy(c->box, boxes[rank - 1], sizeof c->box);
    for (unsigned k = 0; k < rank; k++) {
        const int32_t end = (int32_t)c->dims[k], middle = (int32_t)c->box[k] / 2;
        const int32_t at[PLACES] = {k ? 1 : 4, -middle, end - middle, k == rank - 1 ? end : 0,
                                    k % 2 ? -(1 << 30) : 1 << 30};
        c->at[k] = at[where];
        if (!strided || !k) continue;
        c->steps[k] = 1 + (rank + where + k) % 4;
        c->box[k] = c->box[k] * c->steps[k] - (where + k) % c->steps[k];
    }
    if (rank > 1 && c->box[0] * c->element <= 16u << where % 4) c->swizzle = (cj_tensormap_swizzle)(where % 4);
}

static void make_load(unsigned i, cj_tensor_case *c) {
    make_box(i / PLACES % 5 + 1, i % PLACES, i / PLACES / 5, c);
    c->action = i % 2 ? CJ_TENSOR_LOAD_CTA : CJ_TENSOR_PREFETCH;
}

static void make_store(unsigned i, cj_tensor_case *c) {
    make_box(i / PLACES % 5 + 1, i % PLACES, i / PLACES / 5, c);
    c->action = i % 2 ? CJ_TENSOR_STORE_HINT : CJ_TENSOR_STORE;
}

static const struct {
    cj_tensor_action  action;
    cj_tensormap_type type;
} reductions[] = {
    {CJ_TENSOR_ADD, CJ_TENSORMAP_U32}, {CJ_TENSOR_ADD, CJ_TENSORMAP_S32},  {CJ_TENSOR_ADD, CJ_TENSORMAP_U64},
    {CJ_TENSOR_ADD, CJ_TENSORMAP_F16}, {CJ_TENSOR_ADD, CJ_TENSORMAP_BF16}, {CJ_TENSOR_ADD, CJ_TENSORMAP_F32},
    {CJ_TENSOR_ADD, CJ_TENSORMAP_TF32}, {CJ_TENSOR_ADD, CJ_TENSORMAP_F32_FTZ}, {CJ_TENSOR_ADD, CJ_TENSORMAP_TF32_FTZ},
    {CJ_TENSOR_MIN, CJ_TENSORMAP_U32}, {CJ_TENSOR_MIN, CJ_TENSORMAP_S32},  {CJ_TENSOR_MIN, CJ_TENSORMAP_U64},
    {CJ_TENSOR_MIN, CJ_TENSORMAP_S64}, {CJ_TENSOR_MIN, CJ_TENSORMAP_F16},  {CJ_TENSOR_MIN, CJ_TENSORMAP_BF16},
    {CJ_TENSOR_MAX, CJ_TENSORMAP_U32}, {CJ_TENSOR_MAX, CJ_TENSORMAP_S32},  {CJ_TENSOR_MAX, CJ_TENSORMAP_U64},
    {CJ_TENSOR_MAX, CJ_TENSORMAP_S64}, {CJ_TENSOR_MAX, CJ_TENSORMAP_F16},  {CJ_TENSOR_MAX, CJ_TENSORMAP_BF16},
    {CJ_TENSOR_INC, CJ_TENSORMAP_U32}, {CJ_TENSOR_DEC, CJ_TENSORMAP_U32},  {CJ_TENSOR_AND, CJ_TENSORMAP_U32},
    {CJ_TENSOR_AND, CJ_TENSORMAP_U64}, {CJ_TENSOR_OR, CJ_TENSORMAP_S32},   {CJ_TENSOR_OR, CJ_TENSORMAP_U64},
    {CJ_TENSOR_XOR, CJ_TENSORMAP_U32}, {CJ_TENSOR_XOR, CJ_TENSORMAP_U64}};

static void make_reduction(unsigned i, cj_tensor_case *c) {
    static const uint64_t dims[5] = {40, 10, 3, 3, 2};
    set_type(c, reductions[i % CJ_TEST_COUNT(reductions)].type);
    set_dims(c, i % 5 + 1, dims);
    c->action = reductions[i % CJ_TEST_COUNT(reductions)].action;
    for (unsigned k = 0; k < c->rank; k++) {
        c->box[k] = k == 0 ? 32 : k == 1 ? 3 : 2;
        c->at[k] = i % 3 == 0 ? 1 : i % 3 == 1 ? -1 : (int32_t)c->dims[k] - 2;
    }
    if (c->rank > 1 && c->element * c->box[0] == 128) c->swizzle = CJ_TENSORMAP_SWIZZLE_128B;
}

static void make_multicast(unsigned i, cj_tensor_case *c) {
    static const uint32_t masks[] = {0x1, 0x2, 0xd, 0xf};
    make_box(i / 4 + 1, i % 4, false, c);
    c->action = CJ_TENSOR_MULTICAST;
    c->mask = masks[i % 4];
}

// Rows that do not end at a multiple of 16 bytes, for every size of elements.
enum { RAGGED_TYPES = 6, RAGGED_LENGTHS = 5, RAGGED_ACTIONS = 3 };

static void make_ragged(unsigned i, cj_tensor_case *c) {
    static const cj_tensormap_type kinds[RAGGED_TYPES] = {CJ_TENSORMAP_U8,  CJ_TENSORMAP_F16, CJ_TENSORMAP_U16,
                                                          CJ_TENSORMAP_U32, CJ_TENSORMAP_F32, CJ_TENSORMAP_U64};
    static const cj_tensor_action  actions[RAGGED_ACTIONS] = {CJ_TENSOR_STORE, CJ_TENSOR_LOAD, CJ_TENSOR_ADD};
    const unsigned                 length = i / RAGGED_TYPES % RAGGED_LENGTHS;
    set_type(c, kinds[i % RAGGED_TYPES]);
    set_dims(c, 2, (uint64_t[]){32 / c->element + 1 + length * 2, 7});
    c->box[0] = 64 / c->element;
    c->box[1] = 5;
    c->at[0] = length % 2 ? (int32_t)(16 / c->element) : 0;
    c->at[1] = length < 3 ? 1 : 4;
    c->action = actions[i / RAGGED_TYPES / RAGGED_LENGTHS];
    if (c->action == CJ_TENSOR_ADD && c->element < 4 && c->type != CJ_TENSORMAP_F16) c->action = CJ_TENSOR_STORE_HINT;
    if (length % 2) c->swizzle = CJ_TENSORMAP_SWIZZLE_64B;
}

static const struct {
    unsigned count;
    void (*make)(unsigned i, cj_tensor_case *c);
} groups[] = {{13 * 9, make_type},         {14 * 6, make_swizzle},
              {2 * 5 * PLACES, make_load}, {2 * CJ_TEST_COUNT(reductions), make_reduction},
              {5 * 4, make_multicast},     {RAGGED_TYPES * RAGGED_LENGTHS * RAGGED_ACTIONS, make_ragged},
              {CJ_TENSOR_REPLACEMENTS, cj_tensor_replacement_make},
              {2 * 5 * PLACES, make_store}};  // with strides last: what hardware does with them is not documented

unsigned cj_tensor_count(void) {
    unsigned count = 0;
    for (size_t i = 0; i < CJ_TEST_COUNT(groups); i++) count += groups[i].count;
    return count;
}

static void set_name(cj_tensor_case *c) {
    static const char *const actions[CJ_TENSOR_ACTIONS] = {[CJ_TENSOR_LOAD] = "load",
                                                           [CJ_TENSOR_LOAD_CTA] = "load to .shared::cta",
                                                           [CJ_TENSOR_PREFETCH] = "prefetch",
                                                           [CJ_TENSOR_MULTICAST] = "multicast",
                                                           [CJ_TENSOR_REPLACE] = "replacement",
                                                           [CJ_TENSOR_STORE] = "store",
                                                           [CJ_TENSOR_STORE_HINT] = "store with a hint"};
    static const char *const swizzles[] = {"none", "32B", "64B", "128B"};
    const char              *action = actions[c->action] ? actions[c->action] : cj_tensor_operations[c->action];
    int length = snprintf(c->name, sizeof c->name, "%s, %s, swizzle %s, fill %d, base %u, mask 0x%x, field %u;", action,
                          types[c->type].name, swizzles[c->swizzle], (int)c->fill, c->base, c->mask, c->replacement);
    for (unsigned i = 0; i < c->rank; i++)
        length += snprintf(c->name + length, sizeof c->name - (size_t)length, " %u/%u at %d of %u", c->box[i],
                           c->steps[i], c->at[i], (unsigned)c->dims[i]);
}

void cj_tensor_make(unsigned index, cj_tensor_case *c) {
    size_t group = 0;
    while (index >= groups[group].count) index -= groups[group++].count;
    *c = (cj_tensor_case){.action = CJ_TENSOR_LOAD};
    groups[group].make(index, c);
    c->at[0] -= c->at[0] & (int32_t)(16 / c->element - 1);  // copies begin at multiples of 16 bytes
    // Not documented: an H200 stops a store that begins before the tensor, and bitwise operations on s64, as an illegal
    // instruction.
    for (unsigned i = 0; i < 5 && !cj_tensor_loads(c->action); i++)
        if (c->at[i] < 0) c->at[i] = 0;
    set_name(c);
    assert_true(c->base + cj_tensor_footprint(c) <= CJ_TENSOR_TILE);
}

// ---- the model

unsigned cj_tensor_extent(const cj_tensor_case *c, unsigned dimension) {
    return dimension < c->rank ? (c->box[dimension] + c->steps[dimension] - 1) / c->steps[dimension] : 1;
}

static unsigned rows(const cj_tensor_case *c) {
    return cj_tensor_extent(c, 1) * cj_tensor_extent(c, 2) * cj_tensor_extent(c, 3) * cj_tensor_extent(c, 4);
}

// The distance of rows in shared memory.
static unsigned pitch(const cj_tensor_case *c) { return c->swizzle ? 16u << c->swizzle : c->box[0] * c->element; }

unsigned cj_tensor_bytes(const cj_tensor_case *c) { return rows(c) * c->box[0] * c->element; }
unsigned cj_tensor_footprint(const cj_tensor_case *c) { return rows(c) * pitch(c); }

// The offset of element `column` of a row in the tile.
static size_t place_in_tile(const cj_tensor_case *c, unsigned row, unsigned column) {
    const size_t at = c->base + row * pitch(c) + column * c->element, pieces = ((size_t)1 << c->swizzle) - 1;
    return at ^ (at / 128 & pieces) * 16;
}

// The length of a row for the action: stores and reductions write whole units of 16 bytes, also at the end of a row.
static int64_t row_length(const cj_tensor_case *c) {
    const int64_t unit = cj_tensor_loads(c->action) ? 1 : 16 / (int64_t)c->element;
    return ((int64_t)c->dims[0] + unit - 1) / unit * unit;
}

// The offset of the element in the tensor; false if it is outside.
static bool place_in_tensor(const cj_tensor_case *c, unsigned row, unsigned column, size_t *place) {
    *place = 0;
    for (unsigned i = 0; i < c->rank; i++) {
        const unsigned extent = cj_tensor_extent(c, i), index = i ? row % extent : column;
        const int64_t  at = c->at[i] + (int64_t)index * c->steps[i];
        if (i) row /= extent;
        if (at < 0 || at >= (i ? (int64_t)c->dims[i] : row_length(c))) return false;
        *place += (size_t)at * (i ? c->strides[i - 1] : c->element);
    }
    return true;
}

// The value that a load gives for an element outside: zero, or a NaN: the 16 bits that fma.oob recognizes, repeated.
static uint64_t outside(const cj_tensor_case *c) { return c->fill ? 0x7ff77ff77ff77ff7 : 0; }

// The value that a load gives for an element inside. tf32 has 10 bits of fraction: the nearest, ties to even, and one
// NaN; no load flushes.
static void load(const cj_tensor_case *c, unsigned char *to, const unsigned char *from) {
    static const uint32_t not_a_number = 0x7fffe000;
    float                 value;
    memcpy(to, from, c->element);
    if (!is_tf32(c->type)) return;
    memcpy(&value, from, sizeof value);
    const int    exponent = value != 0 && isfinite(value) && ilogbf(value) > -126 ? ilogbf(value) : -126;
    const double unit = ldexp(1, exponent - 10);
    value = (float)(nearbyint((double)value / unit) * unit);
    memcpy(to, &value, sizeof value);
    if (isnan(value)) memcpy(to, &not_a_number, sizeof not_a_number);
}

static void flush(unsigned char *at) {
    static const unsigned char zeros[3];
    if ((at[3] & 0x7f) == 0 && at[2] < 0x80) memcpy(at, zeros, sizeof zeros);  // of a subnormal number only the sign remains
}

static void reduce(const cj_tensor_case *c, unsigned char *to, const unsigned char *from) {
    const bool    is_single = is_tf32(c->type) || is_ftz(c->type);
    unsigned char given[8];
    memcpy(given, from, c->element);
    if (is_ftz(c->type)) flush(to), flush(given);
    cj_async_apply(cj_tensor_operations[c->action], is_single ? "f32" : types[c->type].name, to, given, c->element);
    if (is_ftz(c->type)) flush(to);
}

void cj_tensor_apply(const cj_tensor_case *c, unsigned char *tile, unsigned char *tensor) {
    const uint64_t fill = outside(c);
    for (unsigned i = 0; i < rows(c) * c->box[0]; i++) {
        unsigned char *in_tile = tile + place_in_tile(c, i / c->box[0], i % c->box[0]);
        size_t         at;
        const bool     inside = place_in_tensor(c, i / c->box[0], i % c->box[0], &at);
        if (cj_tensor_loads(c->action) && inside)
            load(c, in_tile, tensor + at);
        else if (cj_tensor_loads(c->action))
            memcpy(in_tile, &fill, c->element);
        else if (inside && c->action <= CJ_TENSOR_STORE_HINT)
            memcpy(tensor + at, in_tile, c->element);
        else if (inside)
            reduce(c, tensor + at, in_tile);
    }
}
