// SPDX-License-Identifier: Apache-2.0
// A row in parts, a block each: for long rows that are fewer than the blocks that the GPU holds. Each block selects the first k of
// its part and writes them to the workspace; the block that comes last reads those of the others, and selects from them and its own.
//
//   workspace, of each row:   | counter | k candidates of part 0 | of part 1 | … | bound of each part     16 bytes; 8 bytes each, 0: none
//
// Bounds. If each of n parts has k / n candidates that are not less than its bound, then k of all are not less than the least bound: no
// other candidate is wanted. So each part searches this bound among its k, and of the n k candidates the last block takes in hardly more than
// k: of 64 x 1024 about 1800, where the least of its own k lets nearly all of them pass.
//
// A part is a run of columns. The last block takes only candidates that are not less than the least of k that it has: these are
// compared with their columns, so that the order in which parts are read does not matter.
//
// Barriers (docs/maintaining/topk.md):
//   P1  bar.sync   the candidates are selected, before all threads write them
//   P2  bar.sync   all threads have written, before one increments the counter
//   P3  bar.sync   the counter was incremented: all threads learn whether the block came last, and see what others have written
#include "topk.h"

enum { FLIGHT = 8 };  // FLIGHT: candidates that a thread loads at once, fewer than a round has elements

_Static_assert(FLIGHT <= TOPK_SLICES * TOPK_EACH, "a round's places of a warp have room");

// Candidates that each part must have for k of all.
static unsigned share_of(const topk_kernel *k) { return (unsigned)cj__ceil_div(k->s.k, k->s.parts); }

static bool has_bounds(const topk_kernel *k) { return k->s.k >= TOPK_PART_BOUNDS; }

static int bounds_at(const topk_kernel *k) { return (int)(TOPK_COUNTER + k->s.parts * k->s.k * TOPK_CANDIDATE); }

static void write_bound(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_reg   bound = cj_mov(f, "u64", "bound_of_part", 1);
    cj_step(f, "the part's bound: %u of its candidates are not less", share_of(k));
    cj__topk_find_bound(k, share_of(k), bound);
    cj_reg first = cj_eq(f, "first_thread", k->thread, 0);
    cj_reg to = cj_mad_wide(f, "bound_at", k->part, TOPK_CANDIDATE, k->space);
    cj_ptx(f, "@$1 st.global.b64 [$2 + $3], $4;", first, to, bounds_at(k), bound);
}

static void write_candidates(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_ptx(f, "bar.sync 0; // P1: the candidates are selected");
    if (has_bounds(k)) write_bound(k);
    cj_step(f, "the part's first %u go to the workspace", k->s.k);
    CJ_SHARE(f, i, "i", k->thread, 1, k->s.block, k->s.k) {
        cj_reg there = cj_lt(f, "there", i, k->count), at = cj_mad(f, "from", i, TOPK_CANDIDATE, k->pool);
        cj_reg candidate = cj__topk_candidate(k, there, at);
        cj_reg to = cj_mad_wide(f, "to", cj_add(f, "place", k->own, i), TOPK_CANDIDATE, k->space);
        cj_ptx(f, "st.global.b64 [$1 + $2], $3;", to, (int)TOPK_COUNTER, candidate);
    }
}

static void only_last(const topk_kernel *k) {
    cj_step(k->f, "the block that comes last goes on");
    cj_reg last = cj__last_block(k->f, k->thread, k->space, k->s.parts, "P2: all threads have written their candidates",
                                 "P3: the counter was incremented");
    CJ_UNLESS_UNI(k->f, last, "receive") { cj_ptx(k->f, "ret;"); }
}

// The least bound of all parts; each warp reads all of them.
static void read_bounds(const topk_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "%u candidates are not less than the least bound of a part", k->s.k);
    cj_reg least = cj_mov(f, "u64", "least_bound", UINT64_MAX);
    CJ_STRIDE(f, part, cj_mov(f, "u32", "bound_number", k->lane), TOPK_WARP, k->s.parts) {
        cj_reg at = cj_mad_wide(f, "bound_at", part, TOPK_CANDIDATE, k->space);
        cj_reg bound = cj_let(f, "u64", "bound_of_other", "ld.global.u64 $1, [$2 + $3];", at, bounds_at(k));
        cj_update(f, least, "min", bound);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // B11: lanes with one bound less are with the others again");
    cj_warp_reduce(f, (cj_combine){.op = CJ_COMBINE_MIN, .type = "u64"}, least, TOPK_WARP);
    cj_update(f, k->least, "max", least);
}

// Rounds of candidates of all parts but the block's own, which it has.
static void read_candidates(const topk_kernel *k, cj_reg full) {
    cj_func       *f = k->f;
    const unsigned all = k->s.parts * k->s.k;
    cj_step(f, "candidates of the other parts that are not less than the least of %u that there are", k->s.k);
    CJ_COUNT_UNI(f, "next_candidates", k->taken, FLIGHT * k->s.block, all) {
        cj_reg candidate[FLIGHT];
        cj_reg first = cj_add(f, "place", k->taken, k->thread);
        for (unsigned u = 0; u < FLIGHT; u++) {
            cj_reg i = u ? cj_add(f, "place", first, u * k->s.block) : first, there = cj_lt(f, "there", i, all);
            cj_ptx(f, "setp.ge.and.u32 $1, $2, $3, $1;", there, cj_sub(f, "from_own", i, k->own), k->s.k);
            cj_reg at = cj_mad_wide(f, "at", i, TOPK_CANDIDATE, k->space);
            candidate[u] = cj_mov(f, "u64", "candidate", 0);
            cj_ptx(f, "@$1 ld.global.b64 $2, [$3 + $4];", there, candidate[u], at, (int)TOPK_COUNTER);
        }
        for (unsigned u = 0; u < FLIGHT; u++) {
            const topk_place to = cj__topk_take_place(k, cj_ge(f, "passes", candidate[u], k->least));
            cj__topk_put(k, &to, candidate[u]);
        }
        cj__topk_select_if_full(k, full, TOPK_AFTER_SOME);
    }
}

void cj__topk_begin_parts(topk_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "the row's candidates in the workspace");
    cj_reg space = cj__load_pointer(f, k->workspace, "space");
    k->space = cj_mad(f, "row_space", cj_cvt(f, "u64", "row_number", k->row), cj__topk_row_bytes(&k->s), space);
    k->own = cj_mul(f, "own_place", k->part, k->s.k);
    k->taken = cj_mov(f, "u32", "taken", 0);
    k->least = cj_mov(f, "u64", "least_of_row", 1);
}

void cj__topk_parts(const topk_kernel *k, cj_reg full) {
    cj_func *f = k->f;
    write_candidates(k);
    only_last(k);
    if (has_bounds(k)) read_bounds(k);
    read_candidates(k, full);
    cj_ptx(f, "@$1 bra.uni $2;", full, k->after[TOPK_AFTER_PARTS]);
    cj_set(f, k->resume, TOPK_AFTER_PARTS);
    cj_ptx(f, "bra.uni $1;", k->select);
    cj_label_here(f, k->after[TOPK_AFTER_PARTS]);
}
