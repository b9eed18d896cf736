// SPDX-License-Identifier: Apache-2.0
#include "results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of results: those of bf16 are f32.
static double value_at(peer_type type, const void *from, size_t i) {
    switch (type) {
    case PEER_BF16:
    case PEER_F32: return (double)((const float *)from)[i];
    case PEER_F64: return ((const double *)from)[i];
    case PEER_I32: return (double)((const int32_t *)from)[i];
    case PEER_U32: break;
    }
    return (double)((const uint32_t *)from)[i];
}

static bool near_values(size_t i, double ours, double peer, double bound, char *words, size_t size) {
    if (fabs(ours - peer) <= bound) return true;
    snprintf(words, size, "element %zu is %.9g, the peer's %.9g", i, ours, peer);
    return false;
}

// Of n values of one sign, that are added up in another order.
static bool same_sum(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size) {
    static const double bounds[] = {[PEER_F32] = 1e-5, [PEER_F64] = 1e-12, [PEER_BF16] = 1e-5, [PEER_I32] = 0, [PEER_U32] = 0};
    double              theirs = value_at(p->type, peer, 0);
    return near_values(0, value_at(p->type, ours, 0), theirs, bounds[p->type] * fabs(theirs), words, size);
}

// A value, and 8 bytes from the beginning its index: of equal ones the first.
static bool same_argmax(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size) {
    uint64_t index, theirs;
    memcpy(&index, (const char *)ours + 8, sizeof index);
    memcpy(&theirs, (const char *)peer + 8, sizeof theirs);
    if (index == theirs) return near_values(0, value_at(p->type, ours, 0), value_at(p->type, peer, 0), 0, words, size);
    snprintf(words, size, "the index is %" PRIu64 ", the peer's %" PRIu64, index, theirs);
    return false;
}

// Mean and variance; the peer's sum and sum of squared deviations.
static bool same_moments(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size) {
    for (size_t i = 0; i < 2; i++) {
        double theirs = value_at(p->type, peer, i) / (double)p->n;
        if (!near_values(i, value_at(p->type, ours, i), theirs, 1e-5 * fabs(theirs), words, size)) return false;
    }
    return true;
}

static bool same_grid(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size) {
    for (size_t i = 0; i < p->n; i++)
        if (!near_values(i, value_at(p->type, ours, i), value_at(p->type, peer, i), 1e-5, words, size)) return false;
    return true;
}

// Running sums of values of one sign, that are added up in another order.
static bool same_sums(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size) {
    for (size_t i = 0; i < p->n; i++) {
        double theirs = value_at(p->type, peer, i);
        if (!near_values(i, value_at(p->type, ours, i), theirs, 1e-5 * fabs(theirs), words, size)) return false;
    }
    return true;
}

static bool same_bytes(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size) {
    for (size_t i = 0; i < result_bytes(p) / 4; i++) {
        uint32_t a = ((const uint32_t *)ours)[i], b = ((const uint32_t *)peer)[i];
        if (a == b) continue;
        snprintf(words, size, "word %zu is %" PRIu32 ", the peer's %" PRIu32, i, a, b);
        return false;
    }
    return true;
}

// Pairs of a row in any order: both sides' by index.
enum { K_MAX = 64 };

typedef struct pair {
    uint32_t index;
    float    value;
} pair;

static int by_index(const void *a, const void *b) {
    const pair *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static void read_pairs(const peer_problem *p, const void *from, size_t row, pair pairs[K_MAX]) {
    const float    *values = (const float *)from;
    const uint32_t *indices = (const uint32_t *)from + p->n / p->columns * p->k;
    for (size_t i = 0; i < p->k; i++) pairs[i] = (pair){indices[row * p->k + i], values[row * p->k + i]};
    qsort(pairs, p->k, sizeof *pairs, by_index);
}

static bool same_pairs(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size) {
    pair a[K_MAX], b[K_MAX];
    for (size_t row = 0; row < p->n / p->columns; row++) {
        read_pairs(p, ours, row, a);
        read_pairs(p, peer, row, b);
        for (size_t i = 0; i < p->k; i++) {
            if (a[i].index == b[i].index && a[i].value == b[i].value) continue;
            snprintf(words, size, "row %zu has %.9g at %" PRIu32 ", the peer's %.9g at %" PRIu32, row, (double)a[i].value, a[i].index,
                     (double)b[i].value, b[i].index);
            return false;
        }
    }
    return true;
}

// ---- by work

typedef bool (*same_call)(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size);

static const struct {
    same_call same;
    size_t    fixed, per_bin, per_element;  // bytes
} works[] = {
    [PEER_SUM] = {same_sum, 16, 0, 0},
    [PEER_ARGMAX] = {same_argmax, 16, 0, 0},
    [PEER_MEAN_VARIANCE] = {same_moments, 16, 0, 0},
    [PEER_HISTOGRAM] = {same_bytes, 0, 4, 0},
    [PEER_STENCIL] = {same_grid, 0, 0, 4},
    [PEER_ALL_TO_ALL] = {same_bytes, 0, 0, 4},
    [PEER_SCAN] = {same_sums, 0, 0, 4},
    [PEER_SCAN_ROWS] = {same_sums, 0, 0, 4},
    [PEER_SCAN_FLAGS] = {same_sums, 0, 0, 4},
    [PEER_TOPK] = {same_pairs, 0, 0, 0},
    [PEER_SORT] = {same_bytes, 0, 0, sizeof(pair)},
    [PEER_SORT_ROWS] = {same_bytes, 0, 0, sizeof(pair)},
    [PEER_SORT_RADIX] = {same_bytes, 0, 0, sizeof(pair)},
    [PEER_OURS] = {same_bytes, 0, 0, 4},
};

size_t result_bytes(const peer_problem *p) {
    if (p->work == PEER_TOPK) return p->n / p->columns * p->k * sizeof(pair);
    return works[p->work].fixed + works[p->work].per_bin * p->bins + works[p->work].per_element * (size_t)p->n;
}

bool result_equal(const peer_problem *p, const void *ours, const void *peer, char *words, size_t size) {
    return works[p->work].same(p, ours, peer, words, size);
}
