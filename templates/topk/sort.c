// SPDX-License-Identifier: Apache-2.0
// The first k in order. Of a few each counts how many are greater, which is its place; more take a bitonic sort, in the
// pool.
//
// Barriers, and why each is needed and enough:
//   B3  bar.sync: the places behind the candidates are filled before the sort.
//   B4  bar.sync or bar.warp.sync: the pairs of a step are written before the next step reads them.
#include "topk.h"

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

void cj__topk_sort(topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   places = cj_u32(f, "places"), i = cj_u32(f, "i"), at = cj_u32(f, "pad_at"), past = cj_pred(f, "past");
    cj_label next = cj_label_new(f, "next_pad"), padded = cj_label_new(f, "padded");
    cj_step(f, "sort: the least power of two of places, at least 64, filled with what is less than any candidate");
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
}

void cj__topk_count_place(topk_kernel *k, cj_reg candidate, cj_reg place, unsigned lanes) {
    cj_func *f = k->f;
    cj_reg   i = cj_u32(f, "other_number"), at = cj_u32(f, "other_at"), base = cj_u32(f, "base"),
           part = cj_u32(f, "part");
    cj_reg other = cj_u64(f, "other"), inside = cj_pred(f, "inside"), greater = cj_pred(f, "is_greater"),
           more = cj_pred(f, "more");
    cj_label next = cj_label_new(f, "next_other");
    cj_ptx(f, "and.b32 $1, $2, $3;", i, k->thread, lanes - 1);
    cj_ptx(f, "mov.u32 $1, 0;", place);
    cj_ptx(f, "mov.u32 $1, 0;", base);
    cj_label_here(f, next);
    cj_ptx(f, "mad.lo.u32 $1, $2, 8, $3;", at, i, k->pool);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", inside, i, k->s.k);
    cj_ptx(f, "mov.u64 $1, 0;", other);
    cj_ptx(f, "@$1 ld.shared.u64 $2, [$3];", inside, other, at);
    cj_ptx(f, "setp.gt.u64 $1, $2, $3;", greater, other, candidate);
    cj_ptx(f, "@$1 add.u32 $2, $2, 1;", greater, place);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, lanes);
    cj_ptx(f, "add.u32 $1, $1, $2;", base, lanes);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", more, base, k->s.k);
    cj_ptx(f, "@$1 bra.uni $2;", more, next);
    for (unsigned distance = 1; distance < lanes; distance *= 2) {
        cj_ptx(f, "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", part, place, distance);
        cj_ptx(f, "add.u32 $1, $1, $2;", place, part);
    }
}
