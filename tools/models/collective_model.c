// SPDX-License-Identifier: Apache-2.0
#include "collective_model.h"

#include <math.h>
#include <string.h>

#include "half.h"

enum { RANKS_MOST = 16, LINK_BYTES = 16 };  // LINK_BYTES: how much of each part of an array a round passes to the next

collective_model collective_model_of(const cj_params *p) {
    static const cj_dtype dtypes[] = {CJ_F32, CJ_F64,  CJ_I32, CJ_U32, CJ_I64, CJ_U64,
                                      CJ_F16, CJ_BF16, CJ_I8,  CJ_U8,  CJ_I16, CJ_U16};
    const uint64_t        cluster = cj_params_get(p, "cluster") * cj_params_get(p, "cluster-y") *
                             cj_params_get(p, "cluster-z");
    const int64_t    distance = (int64_t)cj_params_get(p, "distance");
    collective_model m = {.op = (cj_collective_op)cj_params_get(p, "op"),
                          .combine = (cj_combine_op)cj_params_get(p, "combine"),
                          .dtype = dtypes[cj_params_get(p, "dtype")],
                          .cluster = (uint32_t)(cluster ? cluster : cj_params_get(p, "size")),
                          .count = (uint32_t)cj_params_get(p, "count"),
                          .root = (uint32_t)cj_params_get(p, "root"),
                          .rounds = (uint32_t)cj_params_get(p, "rounds"),
                          .distance = cj_params_get(p, "toward") ? -distance : distance,
                          .exclusive = cj_params_get(p, "exclusive") == 1,
                          .around = cj_params_get(p, "around") == 1};
    cj_collective_parts(m.op, m.cluster, &m.gives, &m.gets);
    return m;
}

size_t collective_model_inputs(const collective_model *m) { return (size_t)m->cluster * m->gives * m->count; }
size_t collective_model_outputs(const collective_model *m) { return (size_t)m->cluster * m->gets * m->count; }

// ---- numbers, in the type that they are computed in

typedef union number {
    float    f;
    double   d;
    uint64_t u;  // of integers: modulo 2^64, sign extended
} number;

static number widen(cj_dtype type, const void *from) {
    number   n = {.u = 0};
    uint16_t half;
    int32_t  s;
    switch (type) {
    case CJ_F32: memcpy(&n.f, from, 4); break;
    case CJ_F16: memcpy(&half, from, 2), n.f = (float)half_to(half_f16, half); break;
    case CJ_BF16: memcpy(&half, from, 2), n.f = (float)half_to(half_bf16, half); break;
    case CJ_I32: memcpy(&s, from, 4), n.u = (uint64_t)(int64_t)s; break;
    default: memcpy(&n, from, cj_dtype_size(type));
    }
    return n;
}

static void narrow(cj_dtype type, number n, void *to) {
    if (type != CJ_F16 && type != CJ_BF16) {
        memcpy(to, &n, cj_dtype_size(type));
        return;
    }
    const uint16_t half = isnan(n.f) ? 0x7fff
                                     : half_from(type == CJ_F16 ? half_f16 : half_bf16, n.f);  // the GPU's one NaN
    memcpy(to, &half, 2);
}

// The smaller of two, or the larger; -0 is less than 0, and NaN is ignored.
static double better(double a, double b, bool larger) {
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
    if (a == b) return (signbit(a) != 0) == larger ? b : a;
    return (a < b) == larger ? b : a;
}

static number combine_integers(cj_dtype type, cj_combine_op op, number a, number b) {
    const bool less = type == CJ_I32 || type == CJ_I64 ? (int64_t)a.u < (int64_t)b.u : a.u < b.u;
    number     n = {.u = op == CJ_COMBINE_SUM             ? a.u + b.u
                         : op == CJ_COMBINE_PRODUCT       ? a.u * b.u
                         : less == (op == CJ_COMBINE_MIN) ? a.u
                                                          : b.u};
    if (type == CJ_I32) n.u = (uint64_t)(int64_t)(int32_t)(uint32_t)n.u;
    if (type == CJ_U32) n.u = (uint32_t)n.u;
    return n;
}

static number combine(cj_dtype type, cj_combine_op op, number a, number b) {
    const bool compares = op == CJ_COMBINE_MIN || op == CJ_COMBINE_MAX, larger = op == CJ_COMBINE_MAX;
    switch (cj_dtype_arithmetic(type)) {
    case CJ_F32:
        if (compares) return (number){.f = (float)better(a.f, b.f, larger)};
        return (number){.f = op == CJ_COMBINE_SUM ? a.f + b.f : a.f * b.f};
    case CJ_F64:
        if (compares) return (number){.d = better(a.d, b.d, larger)};
        return (number){.d = op == CJ_COMBINE_SUM ? a.d + b.d : a.d * b.d};
    default: return combine_integers(type, op, a, b);
    }
}

// The identity, as it is stored; for the smaller and the larger float it is NaN.
static void identity(cj_dtype type, cj_combine_op op, void *to) {
    const bool is_signed = type == CJ_I32 || type == CJ_I64, compares = op == CJ_COMBINE_MIN || op == CJ_COMBINE_MAX;
    const uint64_t sign = UINT64_C(1) << (8 * cj_dtype_size(type) - 1);
    const double   real = compares ? (double)NAN : op == CJ_COMBINE_PRODUCT;
    number         n = {.u = op == CJ_COMBINE_PRODUCT};
    if (cj_dtype_arithmetic(type) == CJ_F32)
        n.f = (float)real;
    else if (type == CJ_F64)
        n.d = real;
    else if (op == CJ_COMBINE_MIN)
        n.u = is_signed ? sign - 1 : UINT64_MAX;
    else if (op == CJ_COMBINE_MAX)
        n.u = is_signed ? sign : 0;
    narrow(type, n, to);
}

// ---- one round

typedef struct state {
    const collective_model *m;
    size_t                  bytes, part;  // of an element, of a part
    unsigned char          *x, *out;
} state;

// Part `part` of rank r's input.
static unsigned char *given(const state *s, uint32_t r, uint32_t part) {
    return s->x + ((size_t)r * s->m->gives + part) * s->part;
}

static unsigned char *got(const state *s, uint32_t r, uint32_t part) {
    return s->out + ((size_t)r * s->m->gets + part) * s->part;
}

// Rank r's result from all ranks' parts: element i is combined in pairs of neighbours, or one after the other.
static void combine_element(const state *s, uint32_t r, size_t i) {
    const collective_model *m = s->m;
    const uint32_t          own = m->gives > 1 ? r : 0;
    unsigned char          *to = got(s, r, 0) + i * s->bytes;
    number                  v[RANKS_MOST];
    for (uint32_t q = 0; q < m->cluster; q++) v[q] = widen(m->dtype, given(s, q, own) + i * s->bytes);
    if (m->op == CJ_COLLECTIVE_SCAN) {
        if (m->exclusive && !r) {
            identity(m->dtype, m->combine, to);
            return;
        }
        for (uint32_t q = 1; q <= r - m->exclusive; q++) v[0] = combine(m->dtype, m->combine, v[0], v[q]);
    } else if (m->in_order) {
        for (uint32_t q = 1; q < m->cluster; q++) v[0] = combine(m->dtype, m->combine, v[0], v[q]);
    } else {
        for (uint32_t d = 1; d < m->cluster; d *= 2)
            for (uint32_t q = 0; q + d < m->cluster; q += 2 * d) v[q] = combine(m->dtype, m->combine, v[q], v[q + d]);
    }
    narrow(m->dtype, v[0], to);
}

static void move(const state *s, uint32_t r) {
    const collective_model *m = s->m;
    const int64_t           size = m->cluster, source = (int64_t)r - m->distance;
    const uint32_t          own = m->gives > 1 ? r : 0;
    switch (m->op) {
    case CJ_COLLECTIVE_BROADCAST:
    case CJ_COLLECTIVE_SCATTER: memcpy(got(s, r, 0), given(s, m->root, own), s->part); break;
    case CJ_COLLECTIVE_SHIFT:
        if (m->around)
            memcpy(got(s, r, 0), given(s, (uint32_t)((source % size + size) % size), 0), s->part);
        else if (source >= 0 && source < size)
            memcpy(got(s, r, 0), given(s, (uint32_t)source, 0), s->part);
        break;
    default:
        for (uint32_t q = 0; q < m->cluster; q++) memcpy(got(s, r, q), given(s, q, own), s->part);
    }
}

static bool combines(cj_collective_op op) {
    return op == CJ_COLLECTIVE_REDUCE || op == CJ_COLLECTIVE_ALLREDUCE || op == CJ_COLLECTIVE_REDUCE_SCATTER ||
           op == CJ_COLLECTIVE_SCAN;
}

static void round_of(const state *s) {
    const collective_model *m = s->m;
    const bool              to_root = m->op == CJ_COLLECTIVE_REDUCE || m->op == CJ_COLLECTIVE_GATHER;
    for (uint32_t r = 0; r < m->cluster; r++) {
        if (to_root && r != m->root) continue;
        if (!combines(m->op))
            move(s, r);
        else
            for (size_t i = 0; i < m->count; i++) combine_element(s, r, i);
    }
}

// Copies the values that a round passes to the next.
static void link_rounds(const state *s) {
    const collective_model *m = s->m;
    const size_t            bytes = s->part < LINK_BYTES ? s->part : LINK_BYTES;
    for (uint32_t r = 0; r < m->cluster; r++)
        for (uint32_t p = 0; p < m->gives; p++) memcpy(given(s, r, p), got(s, r, (p + r + 1) % m->gets), bytes);
}

void collective_model_run(const collective_model *m, void *x, void *out) {
    state s = {.m = m, .bytes = cj_dtype_size(m->dtype), .x = x, .out = out};
    s.part = m->count * s.bytes;
    memset(out, 0, collective_model_outputs(m) * s.bytes);
    for (uint32_t round = 0; round < m->rounds; round++) {
        if (round) link_rounds(&s);
        round_of(&s);
    }
}

static bool is_nan(cj_dtype type, const void *element) {
    const number n = widen(type, element);
    return type == CJ_F64 ? isnan(n.d) : cj_dtype_arithmetic(type) == CJ_F32 && isnan(n.f);
}

bool collective_model_same(cj_dtype dtype, const void *found, const void *expected) {
    return !memcmp(found, expected, cj_dtype_size(dtype)) || (is_nan(dtype, found) && is_nan(dtype, expected));
}

void collective_model_fill(cj_dtype dtype, uint64_t seed, uint64_t index, void *to) {
    uint64_t bits = (seed + index + 1) * UINT64_C(0x9e3779b97f4a7c15);  // splitmix64
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    bits ^= bits >> 31;
    const double real = (double)(bits >> 11) * 0x1p-52 - 1;
    number       n = {.u = bits};
    if (dtype == CJ_F64)
        n.d = real;
    else if (cj_dtype_arithmetic(dtype) == CJ_F32)
        n.f = (float)((double)(bits >> 40) * 0x1p-23 - 1);
    narrow(dtype, n, to);
}
