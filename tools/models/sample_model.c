// SPDX-License-Identifier: Apache-2.0
#include "sample_model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "row_model.h"

enum { UNIT = 40, ROUNDS = 10 };

static void philox(uint64_t seed, uint64_t offset, uint32_t row, uint64_t number[2]) {
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
    number[0] = (uint64_t)c[1] << 32 | c[0];
    number[1] = (uint64_t)c[3] << 32 | c[2];
}

uint64_t sample_model_random(uint64_t seed, uint64_t offset, uint32_t row) {
    uint64_t number[2];
    philox(seed, offset, row, number);
    return number[0];
}

uint64_t sample_model_second(uint64_t seed, uint64_t offset, uint32_t row) {
    uint64_t number[2];
    philox(seed, offset, row, number);
    return number[1];
}

// A temperature that is not above 0 is 0. The scale is neither infinite nor 0, by which infinite logits would be NaN.
static float exponent_scale(float temperature) {
    return fmaxf(fminf(1.44269504f / (temperature > 0 ? temperature : 0), FLT_MAX), FLT_TRUE_MIN);
}

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

// Penalties out of their range are none.
static sample_model_row without_wrong(const sample_model_row *row) {
    sample_model_row right = *row;
    if (!(row->repetition > 0) || !isfinite(row->repetition)) right.repetition = 1;
    if (!isfinite(row->frequency)) right.frequency = 0;
    if (!isfinite(row->presence)) right.presence = 0;
    return right;
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
    const uint64_t least = (uint64_t)ceilf(fminf(fmaxf(row->min_p, 0), 1) * 1099511627776.0f);
    uint64_t       all = 0, sum = 0;
    for (uint64_t i = 0; i < count && i < k; i++) all += c[i].mass;
    const uint64_t share = row->top_p < 1 && row->temperature > 0 ? share_of(all, row->top_p) : all;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t mass = c[i].mass;
        if (i >= k || sum >= share || mass < least) c[i].mass = 0;
        sum += mass;
    }
}

// Puts those with a mass into the order of their indices, which are below `columns`: as many elements as `room` has, all of them 0.
// Returns how many there are.
static uint64_t order_by_index(candidate *c, uint64_t count, candidate *room, uint64_t columns) {
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++) room[c[i].index] = c[i];
    for (uint64_t i = 0; i < columns; i++)
        if (room[i].mass) c[kept++] = room[i];
    return kept;
}

// The upper half of a product of 128 bits, where b is below 2^63.
static uint64_t upper(uint64_t a, uint64_t b) {
    const uint64_t high = a >> 32, low = a & UINT32_MAX;
    const uint64_t middle = high * (b & UINT32_MAX) + (low * (b & UINT32_MAX) >> 32);
    const uint64_t cross = low * (b >> 32) + (middle & UINT32_MAX);
    return high * (b >> 32) + (middle >> 32) + (cross >> 32);
}

static uint64_t mass_of_all(const candidate *c, uint64_t count) {
    uint64_t all = 0;
    for (uint64_t i = 0; i < count; i++) all += c[i].mass;
    return all;
}

static double log_probability(const candidate *c, float most, const sample_model_row *row, uint64_t all) {
    float y = c->value - most;
    y = fminf(fmaxf(y * exponent_scale(row->temperature), -64.0f), 0.0f);
    return ((double)y + UNIT - log2((double)all)) * 0.69314718055994531;
}

// The candidates are in falling order.
static void tell_top(const candidate *c, uint64_t count, float most, const sample_model_row *row, sample_model_more *more) {
    const uint64_t all = mass_of_all(c, count);
    uint64_t       i = 0;
    for (uint32_t slot = 0; slot < more->top; slot++, i++) {
        while (i < count && !c[i].mass) i++;
        more->top_token[slot] = i < count ? (int32_t)c[i].index : -1;
        more->top_log_probability[slot] = i < count ? log_probability(&c[i], most, row, all) : -INFINITY;
    }
}

// What the draft gives the token, in units of the mass.
static uint64_t draft_share(const sample_model_more *more, uint32_t token, uint64_t all) {
    const uint64_t units = (uint64_t)fmin(fmax(rint(more->draft[token] * 4294967296.0f), 0), UINT32_MAX);
    return (all >> 32) * units + ((all & UINT32_MAX) * units >> 32);
}

// Whether the draft's token is taken; else the masses become what the draft leaves, if that is something.
static bool take_draft(candidate *c, uint64_t count, const sample_model_row *row, sample_model_more *more) {
    const uint64_t all = mass_of_all(c, count);
    const uint64_t u = row->temperature > 0 ? sample_model_second(row->seed, row->offset, row->row) : 0;
    uint64_t       rest = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t share = draft_share(more, c[i].index, all);
        if ((int32_t)c[i].index == more->draft_token && upper(u, share) < c[i].mass) return true;
        rest += c[i].mass > share ? c[i].mass - share : 0;
    }
    for (uint64_t i = 0; i < count && rest; i++) {
        const uint64_t share = draft_share(more, c[i].index, all);
        c[i].mass = c[i].mass > share ? c[i].mass - share : 0;
    }
    return false;
}

// Its index in c, or -1.
static int64_t draw(candidate *c, uint64_t count, const sample_model_row *row) {
    const uint64_t u = row->temperature > 0 ? sample_model_random(row->seed, row->offset, row->row) : 0;
    const uint64_t goal = upper(u, mass_of_all(c, count));
    uint64_t       sum = 0;
    for (uint64_t i = 0; i < count; i++)
        if ((sum += c[i].mass) > goal) return (int64_t)i;
    return -1;
}

// What +infinity counts as.
static float greatest_of(cj_dtype type, const uint32_t *counts) {
    return counts || type == CJ_F32 ? FLT_MAX : type == CJ_F16 ? 65504.0f : 0x1.fep127f;
}

// The candidates in falling order, of which the filters keep those with a mass. Returns how many.
static uint64_t find_kept(candidate *c, cj_dtype type, const void *logits, uint64_t columns, const uint32_t *mask,
                          const uint32_t *counts, const sample_model_row *row, float *most) {
    const sample_model_row right = without_wrong(row);
    uint64_t               count = 0;
    *most = -INFINITY;
    for (uint64_t i = 0; i < columns; i++) *most = fmaxf(*most, value_of(type, logits, i, mask, counts, &right));
    *most = fminf(*most, greatest_of(type, counts));
    for (uint64_t i = 0; i < columns; i++) {
        const float    v = value_of(type, logits, i, mask, counts, &right);
        const uint64_t mass = sample_model_mass(v, *most, row->temperature);
        if (mass) c[count++] = (candidate){fminf(v, greatest_of(type, counts)), (uint32_t)i, mass};
    }
    qsort(c, count, sizeof *c, compare);
    filter(c, count, row);
    return count;
}

int32_t sample_model_tell(cj_dtype type, const void *logits, uint64_t columns, const uint32_t *mask,
                          const uint32_t *counts, const sample_model_row *row, uint64_t *kept, sample_model_more *more) {
    candidate *c = malloc(columns * sizeof *c), *room = calloc(columns, sizeof *room);
    float      most;
    if (!c || !room) {
        free(c);
        free(room);
        return -2;
    }
    uint64_t       count = find_kept(c, type, logits, columns, mask, counts, row, &most);
    const uint64_t all = mass_of_all(c, count);
    if (more) tell_top(c, count, most, row, more);
    if (kept) memset(kept, 0, columns * sizeof *kept);
    for (uint64_t i = 0; i < count && kept; i++) kept[c[i].index] = c[i].mass;
    count = order_by_index(c, count, room, columns);
    free(room);
    const bool    drafted = more && more->draft && more->draft_token >= 0 && (uint64_t)more->draft_token < columns &&
                            !isnan(more->draft[more->draft_token]);
    const bool    taken = drafted && take_draft(c, count, row, more);
    const int64_t drawn = taken ? -1 : draw(c, count, row);
    const int32_t token = taken ? more->draft_token : drawn < 0 ? -1 : (int32_t)c[drawn].index;
    if (more) {
        more->accepted = taken;
        more->log_probability = token < 0 ? -INFINITY : 0;
        for (uint64_t i = 0; i < count && token >= 0; i++)
            if ((int32_t)c[i].index == token) more->log_probability = log_probability(&c[i], most, row, all);
    }
    free(c);
    return token;
}

int32_t sample_model_token(cj_dtype type, const void *logits, uint64_t columns, const uint32_t *mask,
                           const uint32_t *counts, const sample_model_row *row, uint64_t *kept) {
    return sample_model_tell(type, logits, columns, mask, counts, row, kept, NULL);
}
