// SPDX-License-Identifier: Apache-2.0
#include "sample_model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "row_model.h"

enum { UNIT = 40, ROUNDS = 10 };

uint64_t sample_model_random(uint64_t seed, uint64_t offset, uint32_t row) {
    uint32_t c[4] = {(uint32_t)offset, (uint32_t)(offset >> 32), row, 0},
             key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (unsigned i = 0; i < ROUNDS; i++) {
        const uint64_t a = (uint64_t)c[0] * 0xd2511f53, b = (uint64_t)c[2] * 0xcd9e8d57;
        const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ key[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ key[1],
                                  (uint32_t)a};
        memcpy(c, next, sizeof c);
        key[0] += 0x9e3779b9;
        key[1] += 0xbb67ae85;
    }
    return (uint64_t)c[1] << 32 | c[0];
}

static float exponent_scale(float temperature) { return fminf(1.44269504f / temperature, FLT_MAX); }

uint64_t sample_model_mass(float logit, float greatest, float temperature) {
    static const uint32_t factor[] = {0x3f800000, 0x3f317218, 0x3e75fdf0, 0x3d635847,
                                      0x3c1d955b, 0x3aaec3ff, 0x39218489};
    const float           magic = 12582912.0f;
    float                 y = logit - greatest, power, part, whole;
    uint32_t              bits, added;
    y = fminf(fmaxf(y * exponent_scale(temperature), -64.0f), 0.0f);
    whole = y + magic;
    part = y - (whole - magic);
    memcpy(&power, &factor[6], sizeof power);
    for (int i = 5; i >= 0; i--) {
        float next;
        memcpy(&next, &factor[i], sizeof next);
        power = fmaf(power, part, next);
    }
    memcpy(&added, &whole, sizeof added);
    memcpy(&bits, &power, sizeof bits);
    bits += (added << 23) + ((uint32_t)UNIT << 23);
    memcpy(&power, &bits, sizeof power);
    return (uint64_t)llrintf(power);
}

typedef struct candidate {
    float    value;
    uint32_t index;
    uint64_t mass;
} candidate;

static int compare(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static float value_of(cj_dtype type, const void *logits, uint64_t i, const uint32_t *mask, const uint32_t *counts,
                      const sample_model_row *row) {
    float v = (float)row_model_read(type, logits, i);
    if (counts && counts[i]) {
        const float times = (float)counts[i] * row->frequency;
        v = v > 0 ? v / row->repetition : v * row->repetition;
        v = v - times;
        v = v - row->presence;
    }
    if (mask && !(mask[i / 32] >> i % 32 & 1)) v = -INFINITY;
    return v;
}

// The least whole number that is not less than p * mass, p as a multiple of 2^-32.
static uint64_t share_of(uint64_t mass, float p) {
    const uint64_t units = (uint64_t)llrintf(fmaxf(p, 0) * 4294967296.0f);
    const uint64_t low = (mass & UINT32_MAX) * units, high = (mass >> 32) * units + (low >> 32);
    const uint64_t share = high + ((low & UINT32_MAX) != 0);
    return share ? share : 1;
}

// Sets the masses of the candidates, in falling order, that a filter drops to 0.
static void filter(candidate *c, uint64_t count, const sample_model_row *row) {
    const uint64_t k = row->temperature > 0 ? (row->top_k > 0 ? (uint64_t)row->top_k : count) : 1;
    const uint64_t least = (uint64_t)ceilf(row->min_p * 1099511627776.0f);
    uint64_t       all = 0, sum = 0;
    for (uint64_t i = 0; i < count && i < k; i++) all += c[i].mass;
    const uint64_t share = row->top_p < 1 && row->temperature > 0 ? share_of(all, row->top_p) : all;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t mass = c[i].mass;
        if (i >= k || sum >= share || mass < least) c[i].mass = 0;
        sum += mass;
    }
}

static int compare_index(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int32_t draw(candidate *c, uint64_t count, const sample_model_row *row) {
    const uint64_t u = row->temperature > 0 ? sample_model_random(row->seed, row->offset, row->row) : 0;
    uint64_t       all = 0, sum = 0;
    qsort(c, count, sizeof *c, compare_index);
    for (uint64_t i = 0; i < count; i++) all += c[i].mass;
    const uint64_t high = u >> 32, low = u & UINT32_MAX;  // u * all / 2^64, all below 2^63
    const uint64_t middle = high * (all & UINT32_MAX) + (low * (all & UINT32_MAX) >> 32);
    const uint64_t cross = low * (all >> 32) + (middle & UINT32_MAX);
    const uint64_t goal = high * (all >> 32) + (middle >> 32) + (cross >> 32);
    for (uint64_t i = 0; i < count; i++)
        if ((sum += c[i].mass) > goal) return (int32_t)c[i].index;
    return -1;
}

// What +infinity counts as.
static float greatest_of(cj_dtype type, const uint32_t *counts) {
    return counts || type == CJ_F32 ? FLT_MAX : type == CJ_F16 ? 65504.0f : 0x1.fep127f;
}

int32_t sample_model_token(cj_dtype type, const void *logits, uint64_t columns, const uint32_t *mask,
                           const uint32_t *counts, const sample_model_row *row, uint64_t *kept) {
    candidate *c = malloc(columns * sizeof *c);
    float      most = -INFINITY;
    uint64_t   count = 0;
    if (!c) return -2;
    for (uint64_t i = 0; i < columns; i++) most = fmaxf(most, value_of(type, logits, i, mask, counts, row));
    most = fminf(most, greatest_of(type, counts));
    for (uint64_t i = 0; i < columns; i++) {
        const float    v = value_of(type, logits, i, mask, counts, row);
        const uint64_t mass = sample_model_mass(v, most, row->temperature);
        if (mass) c[count++] = (candidate){fminf(v, greatest_of(type, counts)), (uint32_t)i, mass};
    }
    qsort(c, count, sizeof *c, compare);
    filter(c, count, row);
    const int32_t token = draw(c, count, row);
    if (kept) {
        memset(kept, 0, columns * sizeof *kept);
        for (uint64_t i = 0; i < count; i++) kept[c[i].index] = c[i].mass;
    }
    free(c);
    return token;
}
