// SPDX-License-Identifier: Apache-2.0
// A pass over the row: each warp has vectors side by side, in the row's order, and its lanes take one each in turn. Where the row is read
// again it comes from L1 or L2.
#include "sample.h"

static unsigned words_of(const sample_kernel *k) {
    return k->s.width * k->s.bytes > 4 ? k->s.width * k->s.bytes / 4 : 1;
}

// The words are -infinity where the row has no such vector.
static void load_raw(sample_kernel *k, cj_reg vector, cj_reg *word, cj_reg *column) {
    const sample_shape *s = &k->s;
    cj_func            *f = k->f;
    const char         *none = s->dtype == CJ_F32 ? "0xff800000" : s->dtype == CJ_F16 ? "0xfc00fc00" : "0xff80ff80";
    cj_reg              inside = cj_lt(f, "inside", vector, k->end);
    *column = cj_mul(f, "column", vector, s->width);
    cj_reg at = cj_mad_wide(f, "at", *column, s->bytes, k->base);
    for (unsigned w = 0; w < words_of(k); w++) word[w] = cj_let(f, "b32", "word", "mov.b32 $1, $2;", none);
    if (s->width * s->bytes >= 4) {
        cj__load(f, inside, cj__load_given(k->plan), "b32", word, words_of(k), at, 0);
        return;
    }
    cj_reg half = cj_let(f, "b16", "half", "mov.b32 {$1, _}, $2;", word[0]);
    cj__load(f, inside, cj__load_given(k->plan), "b16", &half, 1, at, 0);
    cj_ptx(f, "mov.b32 $1, {$2, $2};", word[0], half);
}

static void widen(const sample_kernel *k, const cj_reg *word, cj_reg *v) {
    const char *type = k->s.dtype == CJ_F16 ? "f16" : "bf16";
    for (unsigned w = 0; w < words_of(k); w++) {
        if (k->s.bytes == 4) {
            v[w] = cj_let(k->f, "f32", "v", "mov.b32 $1, $2;", word[w]);
            continue;
        }
        cj_reg low = cj_f32(k->f, "v"), high = cj_f32(k->f, "v");
        cj__unpack_halves(k->f, type, word[w], low, high);
        v[2 * w] = low;
        if (k->s.width > 1) v[2 * w + 1] = high;
    }
}

// Of a counted token: repetition, then frequency and presence.
static void penalize(const sample_kernel *k, cj_reg inside, cj_reg column, cj_reg *v) {
    cj_func *f = k->f;
    cj_reg   count[SAMPLE_WIDTH], at = cj_mad_wide(f, "counts_at", column, 4, k->counts);
    for (unsigned e = 0; e < k->s.width; e++) {
        count[e] = cj_mov(f, "u32", "count", 0);
        cj__load(f, inside, cj__load_given(k->plan), "u32", &count[e], 1, at, 4 * e);
    }
    for (unsigned e = 0; e < k->s.width; e++) {
        CJ_IF(f, cj_ne(f, "counted", count[e], 0), "not_counted") {
            cj_reg above = cj_let(f, "pred", "above", "setp.gt.f32 $1, $2, 0f00000000;", v[e]);
            cj_ptx(f, "@$1 div.rn.f32 $2, $2, $3;", above, v[e], k->repetition);
            cj_ptx(f, "@!$1 mul.rn.f32 $2, $2, $3;", above, v[e], k->repetition);
            cj_reg times = cj_let(f, "f32", "times", "cvt.rn.f32.u32 $1, $2;\nmul.rn.f32 $1, $1, $3;", count[e],
                                  k->frequency);
            cj_ptx(f, "sub.rn.f32 $1, $1, $2; sub.rn.f32 $1, $1, $3;", v[e], times, k->presence);
        }
    }
}

static void apply_mask(const sample_kernel *k, cj_reg inside, cj_reg column, cj_reg *v) {
    cj_func *f = k->f;
    cj_reg   at = cj_mad_wide(f, "mask_at", cj_shr(f, "mask_word", column, 5), 4, k->mask),
           bits = cj_mov(f, "u32", "bits", 0);
    cj__load(f, inside, cj__load_given(k->plan), "u32", &bits, 1, at, 0);
    cj_reg own = cj_shr(f, "own_bits", bits, cj_and(f, "first_bit", column, 31));
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg denied = cj_eq(f, "denied", cj_and(f, "bit", own, 1u << e), 0);
        cj_ptx(f, "@$1 mov.b32 $2, 0fff800000;", denied, v[e]);
    }
}

static void finish(sample_kernel *k, const cj_reg *word, cj_reg vector, cj_reg column, cj_reg *v) {
    widen(k, word, v);
    if (!k->s.penalties && !k->s.mask) return;
    cj_reg inside = cj_lt(k->f, "inside", vector, k->end);
    if (k->s.penalties) penalize(k, inside, column, v);
    if (k->s.mask) apply_mask(k, inside, column, v);
}

void cj__sample_load(sample_kernel *k, cj_reg vector, cj_reg *v, cj_reg *column) {
    cj_reg word[4];
    load_raw(k, vector, word, column);
    finish(k, word, vector, *column, v);
}

// ---- batches

static void load_batch(sample_kernel *k, cj_reg first, unsigned count, sample_batch *b) {
    b->count = count;
    for (unsigned i = 0; i < count; i++) {
        b->vector[i] = i ? cj_add(k->f, "vector", first, i * SAMPLE_WARP) : first;
        load_raw(k, b->vector[i], b->word[i], &b->column[i]);
    }
}

void cj__sample_values(sample_kernel *k, const sample_batch *b, unsigned i, cj_reg *v) {
    finish(k, b->word[i], b->vector[i], b->column[i], v);
}

void cj__sample_best(sample_kernel *k, sample_batch *b) {
    cj_reg v[SAMPLE_WIDTH];
    for (unsigned i = 0; i < b->count; i++) {
        cj__sample_values(k, b, i, v);
        b->best[i] = cj_let(k->f, "f32", "best", "mov.b32 $1, $2;", v[0]);
        for (unsigned e = 1; e < k->s.width; e++) cj_ptx(k->f, "max.f32 $1, $1, $2; // but NaN", b->best[i], v[e]);
    }
}

void cj__sample_keep(sample_kernel *k) {
    cj_step(k->f, "the thread's vectors, which stay in registers");
    load_batch(k, cj_add(k->f, "vector", k->first, k->lane), k->s.flight, &k->kept);
}

void cj__sample_batches(sample_kernel *k, unsigned flight, sample_visit_batch *visit, void *own) {
    cj_func *f = k->f;
    if (k->s.keeps) {
        visit(k, &k->kept, own);
        cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
        return;
    }
    cj_reg at = cj_add(f, "vector", k->first, k->lane), from = cj_mov(f, "u32", "from", k->first);
    CJ_LOOP_UNI(f, vectors, "next_vectors", "all_vectors") {
        cj_leave_unless(&vectors, cj_lt(f, "more", from, k->end));
        sample_batch b;
        load_batch(k, at, flight, &b);
        visit(k, &b, own);
        cj_update(f, at, "add", flight * SAMPLE_WARP);
        cj_update(f, from, "add", flight * SAMPLE_WARP);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}

typedef struct each_vector {
    sample_visit *visit;
    void         *own;
} each_vector;

static void visit_each(sample_kernel *k, sample_batch *b, void *own) {
    const each_vector *each = own;
    cj_reg             v[SAMPLE_WIDTH];
    for (unsigned i = 0; i < b->count; i++) {
        cj__sample_values(k, b, i, v);
        each->visit(k, v, b->column[i], each->own);
    }
}

void cj__sample_pass(sample_kernel *k, unsigned flight, sample_visit *visit, void *own) {
    each_vector each = {visit, own};
    cj__sample_batches(k, flight, visit_each, &each);
}

// ---- the blocks of a row

void cj__sample_sync(const sample_kernel *k, const char *why) {
    if (k->s.cluster)
        cj_cluster_sync(k->f, why);
    else
        cj_ptx(k->f, "bar.sync 0; // $1", why);
}

cj_reg cj__sample_peer(const sample_kernel *k, cj_reg at, unsigned rank) {
    return cj_cluster_map_address(k->f, at, cj_mov(k->f, "u32", "peer_rank", rank));
}

void cj__sample_push(const sample_kernel *k, cj_reg when, const char *type, const cj_reg *value, unsigned count,
                     cj_reg at) {
    if (!k->s.cluster) cj__store(k->f, when, "st.shared", type, value, count, at, 0);
    for (unsigned rank = 0; rank < k->s.cluster; rank++) {
        cj_reg peer = cj__sample_peer(k, at, rank);
        cj_dsmem_store(k->f, when, type, value, count, peer, 0);
    }
}

sample_target cj__sample_target(const sample_kernel *k, unsigned lanes, cj_reg at) {
    cj_func      *f = k->f;
    sample_target t = {.rank = lanes == SAMPLE_WARP ? k->lane : cj_and(f, "to", k->lane, lanes - 1)};
    t.writes = cj_lt(f, "writes", t.rank, k->s.cluster);
    t.rank = cj_min(f, "to", t.rank, k->s.cluster - 1);
    t.at = cj_cluster_map_address(f, at, t.rank);
    return t;
}

void cj__sample_spread(const sample_kernel *k, unsigned lanes, const char *type, const cj_reg *value, unsigned count, cj_reg at) {
    if (k->s.cluster && k->s.cluster <= lanes) {
        const sample_target t = cj__sample_target(k, lanes, at);
        cj_dsmem_store(k->f, t.writes, type, value, count, t.at, 0);
        return;
    }
    cj_reg leads = cj_always();
    if (lanes > 1) leads = cj_eq(k->f, "leads", cj_and(k->f, "in_group", k->lane, lanes - 1), 0);
    cj__sample_push(k, leads, type, value, count, at);
}

cj_reg cj__sample_sum(const sample_kernel *k, const char *type, cj_reg value) {
    cj_reg sum = cj_mov(k->f, type, "sum", value);
    cj_warp_reduce(k->f, (cj_combine){.op = CJ_COMBINE_SUM, .type = type}, sum, SAMPLE_WARP);
    return sum;
}

void cj__sample_add_up(const sample_kernel *k, unsigned lanes, const char *type, cj_reg value) {
    if (!strcmp(type, "u64")) {
        cj_warp_reduce(k->f, (cj_combine){.op = CJ_COMBINE_SUM, .type = type}, value, lanes);
        return;
    }
    for (unsigned step = 1; step < lanes; step *= 2)  // redux.sync knows no parts of a warp
        cj_update(k->f, value, "add",
                  cj_let(k->f, "u32", "part_sum", "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", value, step));
}
