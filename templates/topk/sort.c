// SPDX-License-Identifier: Apache-2.0
// The selected candidates in order. Of a few each counts how many are greater, which is its place; more take a bitonic sort in
// the pool.
//
// Barriers:
//   B3  bar.sync                    the places after the candidates are filled before the sort
//   B4  bar.sync or bar.warp.sync   the pairs of a step are written before the next step reads them
#include "topk.h"

// One step: pairs `stride` apart, one a thread in turns; runs of `size` are in order afterwards, every second one in reverse.
static void emit_step(const topk_kernel *k, cj_reg places, cj_reg size, cj_reg stride) {
    cj_func *f = k->f;
    cj_reg   pairs = cj_shr(f, "pairs", places, 1);
    CJ_STRIDE(f, pair, cj_mov(f, "u32", "pair", k->thread), k->s.block, pairs) {
        cj_reg within = cj_and(f, "within", cj_sub(f, "mask", stride, 1), pair);
        cj_reg place = cj_sub(f, "place", cj_shl(f, "twice", pair, 1), within);
        cj_reg rises = cj_ne(f, "rises", cj_and(f, "run", place, size), 0);
        cj_reg at = cj_mad(f, "pair_at", place, TOPK_CANDIDATE, k->pool);
        cj_reg to = cj_mad(f, "partner_at", stride, TOPK_CANDIDATE, at);
        cj_reg a = cj_let(f, "u64", "a", "ld.shared.u64 $1, [$2];", at),
               b = cj_let(f, "u64", "b", "ld.shared.u64 $1, [$2];", to);
        cj_reg swaps = cj_let(f, "pred", "swaps", "setp.lt.xor.u64 $1, $2, $3, $4;", a, b, rises);
        cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", swaps, at, b);
        cj_ptx(f, "@$1 st.shared.u64 [$2], $3;", swaps, to, a);
    }
}

// After a step of stride 32 or less the next smaller stride stays within the 64 places of a warp.
static void emit_step_barrier(cj_func *f, cj_reg size, cj_reg stride) {
    cj_reg far = cj_gt(f, "far", size, TOPK_WARP);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, 1, $1;", far, stride);
    cj_ptx(f, "setp.gt.or.u32 $1, $2, $3, $1;", far, stride, TOPK_WARP);
    CJ_IF_ELSE_UNI(f, far, "within_warp", "step_done") { cj_ptx(f, "bar.sync 0; // B4: all pairs are in order"); }
    else { cj_ptx(f, "bar.warp.sync 0xffffffff; // B4: the warp's pairs are in order"); }
}

// Bitonic, the greatest first.
static void emit_network(const topk_kernel *k, cj_reg places) {
    cj_func *f = k->f;
    cj_reg   size = cj_mov(f, "u32", "size", 2);
    CJ_DO_UNI(f, "next_size", cj_le(f, "more_sizes", size, places)) {
        cj_reg stride = cj_shr(f, "stride_of_pairs", size, 1);
        CJ_DO_UNI(f, "next_stride", cj_ne(f, "more_strides", stride, 0)) {
            emit_step(k, places, size, stride);
            emit_step_barrier(f, size, stride);
            cj_update(f, stride, "shr", 1);
        }
        cj_update(f, size, "shl", 1);
    }
}

void cj__topk_sort(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "sort: the least power of two of places, at least 64, filled with what is less than any candidate");
    cj_reg last = cj_sub(f, "last", cj_max(f, "at_least", k->count, 2 * TOPK_WARP), 1);
    cj_reg power = cj_add(f, "power", cj_let(f, "u32", "last_bit", "bfind.u32 $1, $2;", last), 1);
    cj_reg places = cj_let(f, "u32", "places", "shl.b32 $1, 1, $2;", power);
    CJ_STRIDE(f, i, cj_add(f, "i", k->count, k->thread), k->s.block, places) {
        cj_ptx(f, "st.shared.u64 [$1], 0;", cj_mad(f, "pad_at", i, TOPK_CANDIDATE, k->pool));
    }
    cj_ptx(f, "bar.sync 0; // B3: every place is filled");
    emit_network(k, places);
}

cj_reg cj__topk_count_place(const topk_kernel *k, cj_reg candidate, unsigned lanes) {
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
