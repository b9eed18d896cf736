// SPDX-License-Identifier: Apache-2.0
// The kernel of top-k: slices, candidates, their sort, and the result (topk.c tells the algorithm).
#include <stdio.h>

#include "topk.h"

enum { AFTER_ALL = TOPK_SLICES, AFTER_RANKS };  // the row, or the rank's part of it; all ranks' candidates

static unsigned blocks_of(const topk_kernel *k) { return k->s.cluster ? k->s.cluster : 1; }
static unsigned each_of(const topk_kernel *k) { return k->s.loads * k->s.width; }

static void write_head(const topk_kernel *k, cj_builder *b) {
    const topk_shape *s = &k->s;
    char              dtype[8];
    cj_head(b, "clusterjit: topk  k=%u dtype=%s order=%s result=%s", s->k,
            cj_params_word(&k->plan->params, "dtype", dtype, sizeof dtype), s->smallest ? "smallest" : "largest",
            s->kth   ? "kth"
            : s->any ? "any"
                     : "all");
    cj_head(b, "%s", "");
    cj_head(b, "  row  --%u load%s of %u element%s a thread and slice-->  key > threshold  -->  pool[%u], shared",
            s->loads, s->loads > 1 ? "s" : "", s->width, s->width > 1 ? "s" : "", s->pool);
    const char *way = s->any ? "selection" : "bitonic sort";
    cj_head(b, "  more than %u candidates  --%s-->  the first %u, whose last is the threshold", s->limit, way, s->k);
    if (s->cluster)
        cj_head(b, "  every rank's first %u  --mapa + st-->  pool of rank 0  --%s-->  values, indices", s->k, way);
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads%s; grid: %s a row; %u bytes of dynamic shared memory.", s->block,
            s->cluster ? ", as a cluster launch" : "", s->cluster ? "a cluster" : "a block", s->pool * 8);
    cj_head(b, "columns and stride are multiples of %u elements, x of %u bytes.", s->width, s->width * s->bytes);
}

// ---- the beginning

static void declare(topk_kernel *k) {
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", "x[rows][stride]");
    k->values = cj_param(f, "u64", "values", k->s.kth ? "values[rows]" : "values[rows][k]");
    k->indices = cj_param(f, "u64", "indices", k->s.kth ? "indices[rows]" : "indices[rows][k]");
    k->columns_at = cj_param(f, "u64", "columns", "elements of a row");
    k->stride_at = cj_param(f, "u64", "stride", "elements from row to row");
    cj_param(f, "u64", "workspace", "not used");
    cj_block(f, k->s.block, 1, 1);
    if (k->s.cluster) cj_cluster(f, k->s.cluster, 1, 1);
    k->count_at = cj_shared(f, "u32", "count", 1, 0);
    if (k->s.any) k->differs_at = cj_shared(f, "u32", "differs", 1, 0);
    k->sort = cj_label_new(f, "sort");
    for (int i = 0; i < TOPK_SLICES + 2; i++) k->after[i] = cj_label_new(f, "after_sort");
}

static void begin(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   leader = cj_pred(f, "leader"), stride = cj_u64(f, "stride"), number = cj_u64(f, "row_number"),
           wide = cj_u64(f, "wide");
    k->thread = cj_u32(f, "thread");
    k->lane = cj_u32(f, "lane");
    k->below = cj_u32(f, "lanes_below");
    k->pool = cj_u32(f, "pool_at");
    k->columns = cj_u32(f, "columns");
    k->threshold = cj_u32(f, "threshold");
    k->filling = cj_pred(f, "filling");
    k->full = cj_pred(f, "full");
    k->count = cj_u32(f, "candidates");
    k->resume = cj_u32(f, "resume");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "and.b32 $1, $2, 31;", k->lane, k->thread);
    cj_ptx(f, "mov.u32 $1, %lanemask_lt;", k->below);
    cj_ptx(f, "mov.u32 $1, pool;", k->pool);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], 0;", leader, k->count_at);
    if (k->s.any) cj_ptx(f, "@$1 st.shared.u32 [$2], 0;", leader, k->differs_at);
    if (k->s.cluster) {
        k->row = cj_cluster_index(f);
        k->rank = cj_cluster_rank(f);
    } else {
        k->row = cj_u32(f, "row");
        cj_ptx(f, "mov.u32 $1, %ctaid.x;", k->row);
    }
    cj_step(f, "the row");
    k->base = cj__load_pointer(k->f, k->x, "row_at");
    cj_ptx(f, "ld.param.u64 $1, [$2];", stride, k->stride_at);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", number, k->row);
    cj_ptx(f, "mul.lo.u64 $1, $1, $2;", number, stride);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", k->base, number, k->s.bytes);
    cj_ptx(f, "ld.param.u64 $1, [$2];", wide, k->columns_at);
    cj_ptx(f, "cvt.u32.u64 $1, $2;", k->columns, wide);
    cj_ptx(f, "mov.u32 $1, 0;", k->threshold);
    cj_ptx(f, "setp.eq.u32 $1, 0, 0;", k->filling);
    cj_ptx(f, "bar.sync 0; // B1: the count is 0");
}

// ---- elements

static const char *register_of(const topk_kernel *k) { return k->s.bytes == 2 ? "b16" : "b32"; }

// Elements from load l of slice i, whose first is `column`. A thread behind the row's end loads nothing.
static void load(topk_kernel *k, unsigned i, unsigned l, cj_reg column) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    const cj_reg     *to = &k->element[i][l * s->width];
    cj_reg            at = cj_u64(f, "at"), when = cj_pred(f, "inside");
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", when, column, k->columns);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, column, s->bytes, k->base);
    for (unsigned e = 0; e < s->width; e++) cj_ptx(f, "mov.$1 $2, 0;", register_of(k), to[e]);
    const char *op = "ld.global.nc.L1::no_allocate";
    if (s->width == 8) {
        cj_reg word[4] = {cj_b32(f, "word"), cj_b32(f, "word"), cj_b32(f, "word"), cj_b32(f, "word")};
        for (unsigned w = 0; w < 4; w++) cj_ptx(f, "mov.b32 $1, 0;", word[w]);
        cj_ptx(f, "@$1 $2.v4.b32 {$3, $4, $5, $6}, [$7];", when, op, word[0], word[1], word[2], word[3], at);
        for (unsigned w = 0; w < 4; w++) cj_ptx(f, "mov.b32 {$1, $2}, $3;", to[2 * w], to[2 * w + 1], word[w]);
    } else if (s->width == 4) {
        cj_ptx(f, "@$1 $2.v4.$3 {$4, $5, $6, $7}, [$8];", when, op, register_of(k), to[0], to[1], to[2], to[3], at);
    } else if (s->width == 2) {
        cj_ptx(f, "@$1 $2.v2.$3 {$4, $5}, [$6];", when, op, register_of(k), to[0], to[1], at);
    } else {
        cj_ptx(f, "@$1 $2.$3 $4, [$5];", when, op, register_of(k), to[0], at);
    }
}

// A u32 in the order of the elements, or, for the smallest, in the opposite one.
static cj_reg key_of(topk_kernel *k, cj_reg element) {
    cj_func *f = k->f;
    cj_reg   key = cj_u32(f, "key"), sign = cj_b32(f, "sign"), real = cj_f32(f, "real"), nan = cj_pred(f, "is_nan");
    if (k->s.dtype == CJ_I32) {
        cj_ptx(f, "xor.b32 $1, $2, 0x80000000;", key, element);
    } else if (k->s.dtype == CJ_U32) {
        cj_ptx(f, "mov.b32 $1, $2;", key, element);
    } else {
        if (k->s.dtype == CJ_F32)
            cj_ptx(f, "mov.b32 $1, $2;", real, element);
        else if (k->s.dtype == CJ_F16)
            cj_ptx(f, "cvt.f32.f16 $1, $2;", real, element);
        else
            cj_ptx(f, "mov.b32 $1, {0, $2};", real, element);
        cj_ptx(f, "add.f32 $1, $1, 0f00000000; // -0 becomes 0", real);
        cj_ptx(f, "setp.nan.f32 $1, $2, $2;", nan, real);
        cj_ptx(f, "@$1 mov.b32 $2, 0x7fc00000; // NaN is the greatest, whatever its bits", nan, real);
        cj_ptx(f, "mov.b32 $1, $2;", key, real);
        cj_ptx(f, "shr.s32 $1, $2, 31;", sign, key);
        cj_ptx(f, "or.b32 $1, $1, 0x80000000;", sign);
        cj_ptx(f, "xor.b32 $1, $1, $2;", key, sign);
    }
    if (k->s.smallest) cj_ptx(f, "not.b32 $1, $1;", key);
    return key;
}

// ---- candidates

void cj__topk_reserve(topk_kernel *k, unsigned count, const cj_reg *passes, cj_reg *ballot, cj_reg place, cj_reg all) {
    cj_func *f = k->f;
    cj_reg   number = cj_u32(f, "number"), first = cj_pred(f, "first_lane");
    cj_ptx(f, "mov.u32 $1, 0;", all);
    for (unsigned e = 0; e < count; e++) {
        ballot[e] = cj_b32(f, "ballot");
        cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", ballot[e], passes[e]);
        cj_ptx(f, "popc.b32 $1, $2;", number, ballot[e]);
        cj_ptx(f, "add.u32 $1, $1, $2;", all, number);
    }
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", first, k->lane);
    cj_ptx(f, "mov.u32 $1, 0;", place);
    cj_ptx(f, "@$1 atom.shared.add.u32 $2, [$3], $4;", first, place, k->count_at, all);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $1, 0, 31, 0xffffffff;", place);
}

void cj__topk_put(topk_kernel *k, cj_reg passes, cj_reg ballot, cj_reg place, cj_reg candidate) {
    cj_func *f = k->f;
    cj_reg   number = cj_u32(f, "number"), at = cj_u32(f, "candidate_at");
    cj_ptx(f, "and.b32 $1, $2, $3;", number, ballot, k->below);
    cj_ptx(f, "popc.b32 $1, $1;", number);
    cj_ptx(f, "add.u32 $1, $1, $2;", number, place);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, number, k->pool);
    cj_ptx(f, "@$1 st.shared.b64 [$2], $3;", passes, at, candidate);
    cj_ptx(f, "popc.b32 $1, $2;", number, ballot);
    cj_ptx(f, "add.u32 $1, $1, $2;", place, number);
}

// The warp's elements that pass go to the pool, as many places behind each other as it has.
static void add_candidates(topk_kernel *k, const cj_reg *key, const cj_reg *passes, const cj_reg *column) {
    cj_func *f = k->f;
    cj_reg   ballot[TOPK_EACH_MAX], place = cj_u32(f, "place"), all = cj_u32(f, "all"), index = cj_u32(f, "index"),
           candidate = cj_b64(f, "candidate");
    cj__topk_reserve(k, each_of(k), passes, ballot, place, all);
    cj_ptx(f, "add.u32 $1, $2, $3;", all, place, all);
    cj_ptx(f, "setp.gt.u32 $1, $2, $3;", k->full, all, k->s.limit);
    for (unsigned e = 0; e < each_of(k); e++) {
        cj_ptx(f, "add.u32 $1, $2, $3;", index, column[e / k->s.width], e % k->s.width);
        cj_ptx(f, "not.b32 $1, $1;", index);
        cj_ptx(f, "mov.b64 $1, {$2, $3};", candidate, index, key[e]);
        cj__topk_put(k, passes[e], ballot[e], place, candidate);
    }
}

static void sift_slice(topk_kernel *k, unsigned i, const cj_reg *column) {
    cj_func *f = k->f;
    cj_reg   key[TOPK_EACH_MAX], passes[TOPK_EACH_MAX], inside[TOPK_EACH], any = cj_pred(f, "any");
    cj_label none = cj_label_new(f, "no_candidate");
    cj_step(f, "slice %u: what is above the threshold becomes a candidate", i);
    cj_ptx(f, "setp.ne.u32 $1, 0, 0;", k->full);
    for (unsigned l = 0; l < k->s.loads; l++) {
        inside[l] = cj_pred(f, "inside");
        cj_ptx(f, "setp.lt.u32 $1, $2, $3;", inside[l], column[l], k->columns);
    }
    for (unsigned e = 0; e < each_of(k); e++) {
        passes[e] = cj_pred(f, "passes");
        key[e] = key_of(k, k->element[i][e]);
        cj_ptx(f, "setp.gt.or.u32 $1, $2, $3, $4;", passes[e], key[e], k->threshold, k->filling);
        cj_ptx(f, "and.pred $1, $1, $2;", passes[e], inside[e / k->s.width]);
        if (e)
            cj_ptx(f, "or.pred $1, $1, $2;", any, passes[e]);
        else
            cj_ptx(f, "mov.pred $1, $2;", any, passes[e]);
    }
    cj_ptx(f, "vote.sync.any.pred $1, $1, 0xffffffff;", any);
    cj_ptx(f, "@!$1 bra.uni $2;", any, none);
    add_candidates(k, key, passes, column);
    cj_label_here(f, none);
    cj_ptx(f, "bar.red.or.pred $1, 0, $1; // B2: the slice's candidates are there", k->full);
    cj_ptx(f, "mov.u32 $1, $2;", k->resume, i);
    cj_ptx(f, "@$1 bra.uni $2;", k->full, k->sort);
    cj_label_here(f, k->after[i]);
}

// Rounds of slices. Ranks of a cluster take slices in turn.
static void emit_rounds(topk_kernel *k) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    const unsigned    step = s->block * s->width, round = TOPK_SLICES * s->slice * blocks_of(k);
    cj_reg            start = cj_u32(f, "start"), own = cj_u32(f, "own"), column[TOPK_SLICES][TOPK_EACH],
           more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_round");
    for (unsigned i = 0; i < TOPK_SLICES; i++) {
        for (unsigned e = 0; e < each_of(k); e++) k->element[i][e] = cj_register(f, register_of(k), "element");
        for (unsigned l = 0; l < s->loads; l++) column[i][l] = cj_u32(f, "column");
    }
    cj_step(f, "rounds of %d slices of %u elements; all loads are on their way before the first is looked at",
            TOPK_SLICES, s->slice);
    cj_ptx(f, "mul.lo.u32 $1, $2, $3;", own, k->thread, s->width);
    if (s->cluster) cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", own, k->rank, s->slice);
    cj_ptx(f, "mov.u32 $1, 0;", start);
    cj_label_here(f, next);
    for (unsigned i = 0; i < TOPK_SLICES; i++)
        for (unsigned l = 0; l < s->loads; l++) {
            cj_ptx(f, "add.u32 $1, $2, $3;", column[i][l], start, own);
            cj_ptx(f, "add.u32 $1, $1, $2;", column[i][l], i * s->slice * blocks_of(k) + l * step);
            load(k, i, l, column[i][l]);
        }
    for (unsigned i = 0; i < TOPK_SLICES; i++) sift_slice(k, i, column[i]);
    cj_ptx(f, "add.u32 $1, $1, $2;", start, round);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, start, k->columns);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
}

// ---- the sort

// One step: pairs `stride` apart, t-th pair by thread t; runs of `size` come out in order, every second one in reverse.
static void emit_step(topk_kernel *k, cj_reg places, cj_reg size, cj_reg stride) {
    cj_func *f = k->f;
    cj_reg pair = cj_u32(f, "pair"), at = cj_u32(f, "pair_at"), to = cj_u32(f, "partner_at"), mask = cj_u32(f, "mask");
    cj_reg a = cj_u64(f, "a"), b = cj_u64(f, "b"), swaps = cj_pred(f, "swaps"), rises = cj_pred(f, "rises"),
           past = cj_pred(f, "past");
    cj_reg   pairs = cj_u32(f, "pairs");
    cj_label next = cj_label_new(f, "next_pair"), done = cj_label_new(f, "pairs_done");
    cj_ptx(f, "shr.u32 $1, $2, 1;", pairs, places);
    cj_ptx(f, "mov.u32 $1, $2;", pair, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, pair, pairs);
    cj_ptx(f, "@$1 bra $2;", past, done);
    cj_ptx(f, "sub.u32 $1, $2, 1;", mask, stride);
    cj_ptx(f, "and.b32 $1, $1, $2;", mask, pair);
    cj_ptx(f, "shl.b32 $1, $2, 1;", at, pair);
    cj_ptx(f, "sub.u32 $1, $1, $2;", at, mask);
    cj_ptx(f, "and.b32 $1, $2, $3;", mask, at, size);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", rises, mask);
    cj_ptx(f, "mad.lo.u32 $1, $1, 8, $2;", at, k->pool);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", to, stride, at);
    cj_ptx(f, "ld.shared.u64 $1, [$2];", a, at);
    cj_ptx(f, "ld.shared.u64 $1, [$2];", b, to);
    cj_ptx(f, "setp.lt.xor.u64 $1, $2, $3, $4;", swaps, a, b, rises);
    cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", swaps, at, b);
    cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", swaps, to, a);
    cj_ptx(f, "add.u32 $1, $1, $2;", pair, k->s.block);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, done);
}

// Bitonic, greatest first. Behind a stride of 32 or less the next smaller one stays within the 64 places of a warp.
static void emit_network(topk_kernel *k, cj_reg places) {
    cj_func *f = k->f;
    cj_reg   size = cj_u32(f, "size"), stride = cj_u32(f, "stride_of_pairs"), far = cj_pred(f, "far"),
           more = cj_pred(f, "more");
    cj_label sizes = cj_label_new(f, "next_size"), strides = cj_label_new(f, "next_stride"),
             warp = cj_label_new(f, "within_warp");
    cj_label done = cj_label_new(f, "step_done");
    cj_ptx(f, "mov.u32 $1, 2;", size);
    cj_label_here(f, sizes);
    cj_ptx(f, "shr.u32 $1, $2, 1;", stride, size);
    cj_label_here(f, strides);
    emit_step(k, places, size, stride);
    cj_ptx(f, "setp.gt.u32 $1, $2, $3;", far, size, TOPK_WARP);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 1, $1;", far, stride);
    cj_ptx(f, "setp.gt.or.u32 $1, $2, $3, $1;", far, stride, TOPK_WARP);
    cj_ptx(f, "@!$1 bra.uni $2;", far, warp);
    cj_ptx(f, "bar.sync 0; // B4: all pairs are in order");
    cj_ptx(f, "bra.uni $1;", done);
    cj_label_here(f, warp);
    cj_ptx(f, "bar.warp.sync 0xffffffff; // B4: the warp's pairs are in order");
    cj_label_here(f, done);
    cj_ptx(f, "shr.u32 $1, $1, 1;", stride);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", more, stride);
    cj_ptx(f, "@$1 bra.uni $2;", more, strides);
    cj_ptx(f, "shl.b32 $1, $1, 1;", size);
    cj_ptx(f, "setp.le.u32 $1, $2, $3;", more, size, places);
    cj_ptx(f, "@$1 bra.uni $2;", more, sizes);
}

// Goes on where `resume` says.
static void emit_resume(topk_kernel *k) {
    const unsigned ways = k->s.cluster ? AFTER_RANKS : AFTER_ALL;
    cj_reg         here = cj_pred(k->f, "here");
    for (unsigned way = 0; way < ways; way++) {
        cj_ptx(k->f, "setp.eq.u32 $1, $2, $3;", here, k->resume, way);
        cj_ptx(k->f, "@$1 bra.uni $2;", here, k->after[way]);
    }
    cj_ptx(k->f, "bra.uni $1;", k->after[ways]);
}

// Sorts the candidates and keeps k.
static void emit_sort(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   places = cj_u32(f, "places"), i = cj_u32(f, "i"), at = cj_u32(f, "pad_at"), past = cj_pred(f, "past"),
           leader = cj_pred(f, "leader");
    cj_reg   last = cj_b64(f, "last"), low = cj_b32(f, "low");
    cj_label next = cj_label_new(f, "next_pad"), padded = cj_label_new(f, "padded");
    cj_step(f, "sort: the least power of two of places, at least 64, filled with what is less than any candidate");
    cj_label_here(f, k->sort);
    cj_ptx(f, "ld.shared.u32 $1, [$2];", k->count, k->count_at);
    cj_ptx(f, "max.u32 $1, $2, $3;", places, k->count, 2 * TOPK_WARP);
    cj_ptx(f, "sub.u32 $1, $1, 1;", places);
    cj_ptx(f, "bfind.u32 $1, $1;", places);
    cj_ptx(f, "add.u32 $1, $1, 1;", places);
    cj_ptx(f, "shl.b32 $1, 1, $1;", places);
    cj_ptx(f, "add.u32 $1, $2, $3;", i, k->count, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, i, places);
    cj_ptx(f, "@$1 bra $2;", past, padded);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, k->pool);
    cj_ptx(f, "st.shared.u64 [$1], 0;", at);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, k->s.block);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, padded);
    cj_ptx(f, "bar.sync 0; // B3: every place is filled");
    emit_network(k, places);
    cj_step(f, "the first %u stay, and the last of them is the threshold", k->s.k);
    cj_ptx(f, "min.u32 $1, $1, $2;", k->count, k->s.k);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", k->filling, k->count, k->s.k);
    cj_ptx(f, "mov.u64 $1, 0;", last);
    cj_ptx(f, "@!$1 ld.shared.u64 $2, [$3 + $4];", k->filling, last, k->pool, 8 * (k->s.k - 1));
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, k->threshold, last);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", leader, k->count_at, k->count);
    cj_ptx(f, "bar.sync 0; // B5: the new count stands");
}

// ---- the end

// Every rank's first k go to rank 0; it sorts them, and the others are done.
static void emit_ranks(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   i = cj_u32(f, "i"), at = cj_u32(f, "own_at"), to = cj_u32(f, "to"), past = cj_pred(f, "past"),
           there = cj_pred(f, "there");
    cj_reg zero = cj_u32(f, "rank_0"), candidate = cj_b64(f, "candidate"), leader = cj_pred(f, "leader"),
           other = cj_pred(f, "other_rank");
    cj_label next = cj_label_new(f, "next_push"), pushed = cj_label_new(f, "pushed"),
             receive = cj_label_new(f, "receive");
    cj_step(f, "cluster: the first %u of every rank go to rank 0", k->s.k);
    cj_cluster_sync(f, "B6: rank 0 is done with its own");
    cj_ptx(f, "mov.u32 $1, 0;", zero);
    cj_reg peer = cj_cluster_map_address(f, k->pool, zero);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", peer, k->rank, 8 * k->s.k);
    cj_ptx(f, "mov.u32 $1, $2;", i, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, i, k->s.k);
    cj_ptx(f, "@$1 bra $2;", past, pushed);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", there, i, k->count);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, k->pool);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", to, i, peer);
    cj_ptx(f, "mov.u64 $1, 0;", candidate);
    cj_ptx(f, "@$1 ld.shared.u64 $2, [$3];", there, candidate, at);
    cj_dsmem_store(f, cj_always(), "b64", &candidate, 1, to, 0);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, k->s.block);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, pushed);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", leader, k->thread);
    cj_ptx(f, "@$1 st.shared.u32 [$2], $3;", leader, k->count_at, k->s.cluster * k->s.k);
    cj_cluster_sync(f, "B7: all ranks' candidates are in rank 0's pool");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", other, k->rank);
    cj_ptx(f, "@$1 bra.uni $2;", other, receive);
    cj_ptx(f, "ret;");
    cj_label_here(f, receive);
    cj_ptx(f, "mov.u32 $1, $2;", k->resume, AFTER_RANKS);
    cj_ptx(f, "bra.uni $1;", k->sort);
    cj_label_here(f, k->after[AFTER_RANKS]);
}

// Places first to last of the pool, by as many threads; place i of the row's results is i - first.
static void emit_results(topk_kernel *k) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    const unsigned    first = s->kth ? s->k - 1 : 0, each = s->k - first;
    cj_reg i = cj_u32(f, "i"), past = cj_pred(f, "past"), at = cj_u32(f, "result_at"), index = cj_u32(f, "index"),
           key = cj_b32(f, "key");
    cj_reg candidate = cj_b64(f, "candidate"), from = cj_u64(f, "from"), to = cj_u64(f, "to"),
           place = cj_u64(f, "place");
    cj_reg value = cj_register(f, register_of(k), "value"), wide = cj_u64(f, "wide_index"),
           number = cj_u64(f, "number");
    cj_label next = cj_label_new(f, "next_result"), done = cj_label_new(f, "done");
    cj_step(f, "results, with the bits that x has");
    cj_reg values = cj__load_pointer(k->f, k->values, "values"), indices = cj__load_pointer(k->f, k->indices, "indices");
    cj_ptx(f, "mul.wide.u32 $1, $2, $3;", place, k->row, each);
    cj_ptx(f, "mov.u32 $1, $2;", i, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, i, each);
    cj_ptx(f, "@$1 bra $2;", past, done);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, k->pool);
    cj_ptx(f, "ld.shared.u64 $1, [$2 + $3];", candidate, at, 8 * first);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", index, key, candidate);
    cj_ptx(f, "not.b32 $1, $1;", index);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", from, index, s->bytes, k->base);
    cj_ptx(f, "ld.global.nc.$1 $2, [$3];", register_of(k), value, from);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", number, i);
    cj_ptx(f, "add.u64 $1, $1, $2;", number, place);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", to, number, s->bytes, values);
    cj_ptx(f, "st.global.$1 [$2], $3;", register_of(k), to, value);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", to, number, s->wide_index ? 8 : 4, indices);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", wide, index);
    cj_ptx(f, "st.global.$1 [$2], $3;", s->wide_index ? "u64" : "u32", to, s->wide_index ? wide : index);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, s->block);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}

void cj__topk_emit(const cj_plan *plan, cj_builder *b) {
    topk_kernel k = {.plan = plan};
    cj__topk_shape(plan, &k.s);
    write_head(&k, b);
    cj_declare(b, ".extern .shared .align 16 .b8 pool[];");
    k.f = cj_entry(b, plan->entry);
    declare(&k);
    begin(&k);
    emit_rounds(&k);
    cj_step(k.f, "what is left comes last");
    cj_ptx(k.f, "mov.u32 $1, $2;", k.resume, AFTER_ALL);
    if (k.s.any)
        cj__topk_select(&k);
    else
        emit_sort(&k);
    emit_resume(&k);
    cj_label_here(k.f, k.after[AFTER_ALL]);
    if (k.s.cluster) emit_ranks(&k);
    emit_results(&k);
}
