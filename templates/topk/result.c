// SPDX-License-Identifier: Apache-2.0
// The results of a row, of the selected candidates in the pool.
#include "topk.h"

unsigned cj__topk_first(const topk_shape *s) { return s->kth ? s->k - 1 : 0; }

topk_results cj__topk_results_open(const topk_kernel *k) {
    topk_results r = {.values = cj__load_pointer(k->f, k->values, "values")};
    r.indices = cj__load_pointer(k->f, k->indices, "indices");
    r.first = cj_mul_wide(k->f, "results", k->row, k->s.k - cj__topk_first(&k->s));
    return r;
}

// Its value is read from x again.
void cj__topk_write_result(const topk_kernel *k, const topk_results *r, cj_reg index, cj_reg place) {
    const topk_shape *s = &k->s;
    cj_func          *f = k->f;
    const char       *type = cj__topk_register(k);
    cj_reg            from = cj_mad_wide(f, "from", index, s->bytes, k->base);
    cj_reg value = cj_let(f, type, "value", "$4.$3 $1, [$2];", from, type, cj__load_given(k->plan));
    cj_reg number = cj_add(f, "number", cj_cvt(f, "u64", "place", place), r->first);
    cj_ptx(f, "st.global.$1 [$2], $3;", type, cj_mad(f, "value_at", number, s->bytes, r->values), value);
    cj_reg to = cj_mad(f, "index_at", number, s->wide_index ? 8 : 4, r->indices);
    if (s->wide_index) index = cj_cvt(f, "u64", "wide_index", index);
    cj_ptx(f, "st.global.$1 [$2], $3;", s->wide_index ? "u64" : "u32", to, index);
}

static void write_candidate(const topk_kernel *k, const topk_results *r, cj_reg candidate, cj_reg place) {
    cj_func *f = k->f;
    cj_reg   low = cj_u32(f, "low"), key = cj_b32(f, "key");
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, key, candidate);
    cj__topk_write_result(k, r, cj_let(f, "u32", "index", "not.b32 $1, $2;", low), place);
}

// The pool's places first to last, a thread each, are the row's results in their order.
static void emit_results_of_places(const topk_kernel *k, const topk_results *r, unsigned first) {
    CJ_SHARE(k->f, i, "i", k->thread, 1, k->s.block, k->s.k - first) {
        cj_reg at = cj_mad(k->f, "result_at", i, TOPK_CANDIDATE, k->pool);
        cj_reg candidate = cj_let(k->f, "b64", "candidate", "ld.shared.u64 $1, [$2 + $3];", at, TOPK_CANDIDATE * first);
        write_candidate(k, r, candidate, i);
    }
}

// How many of the selected candidates are greater than this one, counted by the `lanes` lanes, a power of two, that have it.
static cj_reg count_place(const topk_kernel *k, cj_reg candidate, unsigned lanes) {
    cj_func *f = k->f;
    cj_reg   i = cj_and(f, "other_number", k->thread, lanes - 1), place = cj_mov(f, "u32", "place", 0);
    cj_reg   base = cj_mov(f, "u32", "base", 0);
    CJ_COUNT_UNI(f, "next_other", base, lanes, k->s.k) {
        cj_reg at = cj_mad(f, "other_at", i, TOPK_CANDIDATE, k->pool), inside = cj_lt(f, "inside", i, k->s.k);
        cj_reg other = cj__topk_candidate(k, inside, at);
        cj_ptx(f, "@$1 add.u32 $2, $2, 1;", cj_gt(f, "is_greater", other, candidate), place);
        cj_update(f, i, "add", lanes);
    }
    for (unsigned distance = 1; distance < lanes; distance *= 2)
        cj_update(f, place, "add",
                  cj_let(f, "u32", "part", "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", place, distance));
    return place;
}

// A few lanes, as many as there are for each candidate, count its place together.
static void emit_results_by_rank(const topk_kernel *k, const topk_results *r, unsigned first) {
    cj_func *f = k->f;
    unsigned lanes = 1;
    while (lanes < TOPK_WARP && 2 * lanes * k->s.k <= k->s.block) lanes *= 2;
    cj_reg part = cj_and(f, "lane_of_candidate", k->thread, lanes - 1);
    cj_reg base = cj_mov(f, "u32", "first_of_turn", 0);
    CJ_COUNT_UNI(f, "next_turn", base, k->s.block / lanes, k->s.k) {
        cj_reg i = cj_div(f, "i", k->thread, lanes);
        cj_update(f, i, "add", base);
        cj_reg there = cj_lt(f, "there", i, k->s.k);
        cj_reg candidate = cj__topk_candidate(k, there, cj_mad(f, "result_at", i, TOPK_CANDIDATE, k->pool));
        cj_reg place = count_place(k, candidate, lanes);
        cj_reg leads = cj_let(f, "pred", "leads", "setp.eq.and.u32 $1, $2, 0, $3;", part, there);
        cj_reg writes = cj_let(f, "pred", "writes", "setp.ge.and.u32 $1, $2, $3, $4;", place, first, leads);
        CJ_IF(f, writes, "others") {
            cj_update(f, place, "sub", first);
            write_candidate(k, r, candidate, place);
        }
    }
}

void cj__topk_results(const topk_kernel *k) {
    cj_step(k->f, "results, with the bits that x has");
    const topk_results r = cj__topk_results_open(k);
    (k->s.any || k->s.sorts ? emit_results_of_places : emit_results_by_rank)(k, &r, cj__topk_first(&k->s));
    cj_ptx(k->f, "ret;");
}
