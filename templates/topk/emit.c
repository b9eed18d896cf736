// SPDX-License-Identifier: Apache-2.0
// The kernel of top-k: slices, candidates, their sort, and the result (topk.c tells the algorithm).
#include <stdio.h>

#include "topk.h"

static void write_head(const topk_kernel *k, cj_builder *b) {
    const topk_shape *s = &k->s;
    char              dtype[8];
    cj_head(b, "clusterjit: topk  k=%u dtype=%s order=%s result=%s", s->k,
            cj_params_word(&k->plan->params, "dtype", dtype, sizeof dtype), s->smallest ? "smallest" : "largest",
            s->kth   ? "kth"
            : s->any ? "any"
                     : "all");
    cj_head(b, "%s", "");
    cj_head(b,
            "  row  --%u load%s of %u element%s a thread and slice-->  key > threshold  -->  %u places a warp, shared",
            s->loads, s->loads > 1 ? "s" : "", s->width, s->width > 1 ? "s" : "", s->own);
    cj_head(b, "  more than %u candidates of a warp  --selection-->  %u, whose least is the threshold", s->slack, s->k);
    if (s->cluster) cj_head(b, "  every rank's %u  --mapa + st-->  pool of rank 0  --selection-->  %u", s->k, s->k);
    cj_head(b, "  %s-->  values, indices", s->any ? "" : s->sorts ? "--bitonic sort" : "--ranks, counted");
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads%s; grid: %s a row; %u bytes of dynamic shared memory.", s->block,
            s->cluster ? ", as a cluster launch" : "", s->cluster ? "a cluster" : "a block", s->pool * 8);
    cj_head(b, "columns and stride are multiples of %u elements, x of %u bytes.", s->width, s->width * s->bytes);
}

// ---- the beginning

static void declare(topk_kernel *k) {
    enum { REGISTERS = 64 };
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", "x[rows][stride]");
    k->values = cj_param(f, "u64", "values", k->s.kth ? "values[rows]" : "values[rows][k]");
    k->indices = cj_param(f, "u64", "indices", k->s.kth ? "indices[rows]" : "indices[rows][k]");
    k->columns_at = cj_param(f, "u64", "columns", "elements of a row");
    k->stride_at = cj_param(f, "u64", "stride", "elements from row to row");
    cj_param(f, "u64", "workspace", "not used");
    cj_block(f, k->s.block, 1, 1);
    cj__registers(k->plan, f, REGISTERS, k->s.width * k->s.bytes < TOPK_LOAD);
    if (k->s.cluster) cj_cluster(f, k->s.cluster, 1, 1);
    k->select = cj_label_new(f, "select");
    for (int i = 0; i < TOPK_SELECTIONS; i++) k->after[i] = cj_label_new(f, "selected");
}

// Two meetings, both clear (topk_select.c); the warp's own places of the pool.
static void begin_pool(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   clears = cj_pred(f, "clears"), word = cj_u32(f, "word_at");
    k->meeting = cj_shared_address(f, cj_shared(f, "u32", "meetings", 8, 32));
    k->pool = cj_u32(f, "pool_at");
    k->own_at = cj_u32(f, "own_at");
    k->mine = cj_u32(f, "mine");
    k->count = cj_u32(f, "candidates");
    cj_step(f, "both meetings are clear, and the warp has no candidates");
    cj_ptx(f, "mov.u32 $1, pool;", k->pool);
    cj_ptx(f, "setp.lt.u32 $1, $2, 8;", clears, k->thread);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", word, k->thread, k->meeting);
    cj_ptx(f, "@$1 st.shared.u32 [$2], 0;", clears, word);
    cj_ptx(f, "shr.u32 $1, $2, 5;", k->own_at, k->thread);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", k->own_at, 8 * k->s.own, k->pool);
    cj_ptx(f, "add.u32 $1, $1, $2; // behind the places of those together", k->own_at, 8 * k->s.k);
    cj_ptx(f, "mov.u32 $1, 0;", k->mine);
    cj_ptx(f, "mov.u32 $1, 0;", k->count);
}

static void begin(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   stride = cj_u64(f, "stride"), number = cj_u64(f, "row_number"), wide = cj_u64(f, "wide");
    k->thread = cj_u32(f, "thread");
    k->lane = cj_u32(f, "lane");
    k->below = cj_u32(f, "lanes_below");
    k->columns = cj_u32(f, "columns");
    k->threshold = cj_u32(f, "threshold");
    k->bound = cj__topk_new_number(k, "bound");
    k->filling = cj_pred(f, "filling");
    k->resume = cj_u32(f, "resume");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_ptx(f, "and.b32 $1, $2, 31;", k->lane, k->thread);
    cj_ptx(f, "mov.u32 $1, %lanemask_lt;", k->below);
    begin_pool(k);
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
    cj_ptx(f, "mov.b32 $1, 0;", k->bound);
    cj_ptx(f, "setp.eq.u32 $1, 0, 0;", k->filling);
}

// ---- the row

// Rounds of slices. Ranks of a cluster take slices in turn. Behind each slice the same of the next round is loaded.
static void emit_rounds(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   start = cj_u32(f, "start"), more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_round");
    k->full = cj_pred(f, "full");
    cj__topk_load_first(k);
    if (k->s.guesses) cj__topk_guess(k);
    cj_ptx(f, "mov.u32 $1, 0;", start);
    cj_label_here(f, next);
    for (unsigned i = 0; i < TOPK_SLICES; i++) {
        cj__topk_sift(k, i);
        cj__topk_load_next(k, i);
    }
    cj_step(f, "where a warp has more than %u candidates there could be no room for the next round's", k->s.slack);
    cj_ptx(f, "setp.gt.u32 $1, $2, $3;", k->full, k->mine, k->s.slack);
    cj_ptx(f, "bar.warp.sync 0xffffffff; // B11: lanes beyond the row are with the others again");
    cj_ptx(f, "bar.red.or.pred $1, 0, $1; // B2: all learn it", k->full);
    cj_ptx(f, "mov.u32 $1, $2;", k->resume, TOPK_AFTER_ROUND);
    cj_ptx(f, "@$1 bra.uni $2;", k->full, k->select);
    cj_label_here(f, k->after[TOPK_AFTER_ROUND]);
    cj_ptx(f, "add.u32 $1, $1, $2;", start, cj__topk_round(k));
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, start, k->columns);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
}

// Goes on where `resume` says.
static void emit_resume(topk_kernel *k) {
    const unsigned last = k->s.cluster ? TOPK_AFTER_RANKS : TOPK_AFTER_ALL;
    cj_reg         here = cj_pred(k->f, "here");
    for (unsigned way = 0; way < last; way++) {
        cj_ptx(k->f, "setp.eq.u32 $1, $2, $3;", here, k->resume, way);
        cj_ptx(k->f, "@$1 bra.uni $2;", here, k->after[way]);
    }
    cj_ptx(k->f, "bra.uni $1;", k->after[last]);
}

// ---- the end

// Every rank's first k go to rank 0; it selects from them, and the others are done.
static void emit_ranks(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   i = cj_u32(f, "i"), at = cj_u32(f, "own_at"), to = cj_u32(f, "to"), past = cj_pred(f, "past"),
           there = cj_pred(f, "there");
    cj_reg   zero = cj_u32(f, "rank_0"), candidate = cj_b64(f, "candidate"), other = cj_pred(f, "other_rank");
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
    cj_ptx(f, "mov.u32 $1, $2;", k->count, k->s.cluster * k->s.k);
    cj_cluster_sync(f, "B10: all ranks' candidates are in rank 0's pool");
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", other, k->rank);
    cj_ptx(f, "@$1 bra.uni $2;", other, receive);
    cj_ptx(f, "ret;");
    cj_label_here(f, receive);
    cj_ptx(f, "mov.u32 $1, $2;", k->resume, TOPK_AFTER_RANKS);
    cj_ptx(f, "bra.uni $1;", k->select);
    cj_label_here(f, k->after[TOPK_AFTER_RANKS]);
}

// Result `place` of the row is the candidate.
static void write_result(topk_kernel *k, cj_reg candidate, cj_reg place) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            index = cj_u32(f, "index"), wide = cj_u64(f, "wide_index"), number = cj_u64(f, "number"),
           key = cj_b32(f, "key");
    cj_reg from = cj_u64(f, "from"), to = cj_u64(f, "to"), value = cj_register(f, cj__topk_register(k), "value");
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", index, key, candidate);
    cj_ptx(f, "not.b32 $1, $1;", index);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", from, index, s->bytes, k->base);
    cj_ptx(f, "ld.global.nc.$1 $2, [$3];", cj__topk_register(k), value, from);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", number, place);
    cj_ptx(f, "add.u64 $1, $1, $2;", number, k->results);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", to, number, s->bytes, k->values_to);
    cj_ptx(f, "st.global.$1 [$2], $3;", cj__topk_register(k), to, value);
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $4;", to, number, s->wide_index ? 8 : 4, k->indices_to);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", wide, index);
    cj_ptx(f, "st.global.$1 [$2], $3;", s->wide_index ? "u64" : "u32", to, s->wide_index ? wide : index);
}

// The pool's places first to last, by as many threads, are the row's results in their order.
static void emit_results_of_places(topk_kernel *k, unsigned first) {
    cj_func *f = k->f;
    cj_reg   i = cj_u32(f, "i"), past = cj_pred(f, "past"), at = cj_u32(f, "result_at"),
           candidate = cj_b64(f, "candidate");
    cj_label next = cj_label_new(f, "next_result"), done = cj_label_new(f, "done");
    cj_ptx(f, "mov.u32 $1, $2;", i, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, i, k->s.k - first);
    cj_ptx(f, "@$1 bra $2;", past, done);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, k->pool);
    cj_ptx(f, "ld.shared.u64 $1, [$2 + $3];", candidate, at, 8 * first);
    write_result(k, candidate, i);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, k->s.block);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, done);
}

// Each candidate is a few lanes', as many as there are for it, which count its place together.
static void emit_results_by_rank(topk_kernel *k, unsigned first) {
    cj_func *f = k->f;
    unsigned lanes = 1;
    while (lanes < TOPK_WARP && 2 * lanes * k->s.k <= k->s.block) lanes *= 2;
    cj_reg i = cj_u32(f, "i"), base = cj_u32(f, "first_of_turn"), at = cj_u32(f, "result_at"),
           place = cj_u32(f, "place"), part = cj_u32(f, "lane_of_candidate");
    cj_reg   candidate = cj_u64(f, "candidate"), writes = cj_pred(f, "writes"), more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_turn"), others = cj_label_new(f, "others");
    cj_ptx(f, "and.b32 $1, $2, $3;", part, k->thread, lanes - 1);
    cj_ptx(f, "mov.u32 $1, 0;", base);
    cj_label_here(f, next);
    cj_ptx(f, "div.u32 $1, $2, $3;", i, k->thread, lanes);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, base);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", writes, i, k->s.k);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, k->pool);
    cj_ptx(f, "mov.u64 $1, 0;", candidate);
    cj_ptx(f, "@$1 ld.shared.u64 $2, [$3];", writes, candidate, at);
    cj__topk_count_place(k, candidate, place, lanes);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 0, $1;", writes, part);
    cj_ptx(f, "setp.ge.and.u32 $1, $2, $3, $1;", writes, place, first);
    cj_ptx(f, "@!$1 bra $2;", writes, others);
    cj_ptx(f, "sub.u32 $1, $1, $2;", place, first);
    write_result(k, candidate, place);
    cj_label_here(f, others);
    cj_ptx(f, "add.u32 $1, $1, $2;", base, k->s.block / lanes);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, base, k->s.k);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
}

static void emit_results(topk_kernel *k) {
    cj_func       *f = k->f;
    const unsigned first = k->s.kth ? k->s.k - 1 : 0;
    k->results = cj_u64(f, "results");
    cj_step(f, "results, with the bits that x has");
    k->values_to = cj__load_pointer(f, k->values, "values");
    k->indices_to = cj__load_pointer(f, k->indices, "indices");
    cj_ptx(f, "mul.wide.u32 $1, $2, $3;", k->results, k->row, k->s.k - first);
    if (k->s.any || k->s.sorts)
        emit_results_of_places(k, first);
    else
        emit_results_by_rank(k, first);
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
    cj_step(k.f, "what is left comes last, unless the last round was followed by a selection");
    cj_ptx(k.f, "@$1 bra.uni $2;", k.full, k.after[TOPK_AFTER_ALL]);
    cj_ptx(k.f, "mov.u32 $1, $2;", k.resume, TOPK_AFTER_ALL);
    cj__topk_select(&k);
    emit_resume(&k);
    cj_label_here(k.f, k.after[TOPK_AFTER_ALL]);
    if (k.s.cluster) emit_ranks(&k);
    cj_ptx(k.f, "bar.sync 0; // B5: the candidates are together");
    if (k.s.sorts) cj__topk_sort(&k);
    emit_results(&k);
}
