// SPDX-License-Identifier: Apache-2.0
// The row's greatest logit, and a first threshold for top-k.
//
// Groups of lanes publish the greatest element that each has seen to all blocks of the row. The k-th greatest of these is a logit that
// at least k elements are not less than, and of elements in random order hardly more are: of 128 groups 63 for k = 50.
#include "sample.h"

static void visit_greatest(sample_kernel *k, const cj_reg *v, cj_reg column, void *own) {
    (void)column;
    for (unsigned e = 0; e < k->s.width; e++) cj_ptx(k->f, "max.f32 $1, $1, $2; // but NaN", *(cj_reg *)own, v[e]);
}

// Entry i of as many groups as are compared: of more groups two, four, … are one.
static cj_reg load_groups(const sample_kernel *k, cj_reg when, cj_reg at, unsigned each) {
    cj_func *f = k->f;
    cj_reg   best = cj_let(f, "f32", "group", "mov.b32 $1, 0fff800000;"), next = cj_f32(f, "next_group");
    for (unsigned i = 0; i < each; i++) {
        cj_reg to = i ? next : best;
        cj_ptx(f, "@$1 ld.shared.f32 $2, [$3 + $4];", when, to, at, (int)(4 * i));
        if (i) cj_ptx(f, "@$1 max.f32 $2, $2, $3;", when, best, next);
    }
    return best;
}

// How many of the groups come before group i, whose greatest is `own`; each of SAMPLE_SHARE lanes compares its part of them.
static cj_reg count_before(const sample_kernel *k, cj_reg table, unsigned each, unsigned groups, cj_reg i, cj_reg own) {
    cj_func *f = k->f;
    cj_reg   before = cj_mov(f, "u32", "before", 0), first = cj_mov(f, "u32", "first_other", 0);
    cj_reg   part = cj_and(f, "part", k->thread, SAMPLE_SHARE - 1);
    CJ_COUNT_UNI(f, "next_others", first, SAMPLE_SHARE, groups) {
        cj_reg j = cj_add(f, "other_number", first, part), there = cj_lt(f, "there", j, groups);
        cj_reg other = load_groups(k, there, cj_mad(f, "other_at", j, 4 * each, table), each);
        cj_reg more = cj_let(f, "pred", "more", "setp.gt.f32 $1, $2, $3;", other, own);
        cj_reg earlier = cj_let(f, "pred", "earlier", "setp.lt.and.u32 $1, $2, $3, $4;", j, i, there);
        cj_ptx(f, "setp.eq.and.f32 $1, $2, $3, $1;", earlier, other, own);
        cj_ptx(f, "or.pred $1, $1, $2;\n@$1 add.u32 $3, $3, 1;", more, earlier, before);
    }
    cj__sample_add_up(k, "u32", before);
    return before;
}

static void tell_kth(const sample_kernel *k, cj_reg table, cj_reg told, unsigned each, unsigned groups) {
    cj_func *f = k->f;
    cj_reg   base = cj_mov(f, "u32", "first_group", 0), sharing = cj_div(f, "sharing", k->thread, SAMPLE_SHARE);
    CJ_COUNT_UNI(f, "next_groups", base, k->s.block / SAMPLE_SHARE, groups) {
        cj_reg i = cj_add(f, "group_number", base, sharing), inside = cj_lt(f, "inside", i, groups);
        cj_reg own = load_groups(k, inside, cj_mad(f, "own_at", i, 4 * each, table), each);
        cj_reg before = count_before(k, table, each, groups, i, own);
        cj_update(f, before, "add", 1);
        cj_reg part = cj_and(f, "part", k->thread, SAMPLE_SHARE - 1);
        cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $1;\nsetp.eq.and.u32 $1, $4, 0, $1;", inside, before, k->k, part);
        cj_ptx(f, "@$1 st.shared.f32 [$2], $3;", inside, told, own);
    }
}

// guess = the k-th greatest: who has the group with so many before it tells all.
static void find_guess(sample_kernel *k, cj_reg table) {
    cj_func *f = k->f;
    unsigned each = 1;
    while (k->s.groups / each > SAMPLE_GROUPS) each *= 2;
    const unsigned groups = k->s.groups / each;
    cj_step(f, "a first threshold: the k-th greatest of %u groups' greatest elements", groups);
    cj_reg told = cj_shared_address(f, k->told);
    cj_reg first = cj_let(f, "pred", "has_k", "setp.ne.u32 $1, $2, 0;", k->k);
    k->guessed = cj_let(f, "pred", "guessed", "setp.le.and.u32 $1, $2, $3, $4;", k->k, groups, first);
    CJ_IF_UNI(f, k->guessed, "no_guess") {
        tell_kth(k, table, told, each, groups);
        cj_ptx(f, "bar.sync 0; // S3: the threshold is told");
        cj_ptx(f, "ld.shared.f32 $1, [$2];", k->guess, told);
    }
}

void cj__sample_greatest(sample_kernel *k) {
    cj_func       *f = k->f;
    const unsigned groups = SAMPLE_WARP / k->s.lanes;
    cj_step(f, "the greatest logit of the row");
    cj_reg best = cj_let(f, "f32", "greatest", "mov.b32 $1, 0fff800000;");
    cj__sample_pass(k, k->s.flight, visit_greatest, &best);
    for (unsigned step = k->s.lanes / 2; step; step /= 2) {
        cj_reg other = cj_let(f, "f32", "other", "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", best, step);
        cj_ptx(f, "max.f32 $1, $1, $2;", best, other);
    }
    if (k->s.cluster) cj_cluster_wait(f, "S1: all blocks have started");
    cj_reg table = cj_shared_address(f, k->maxima);
    cj_reg group = cj_mad(f, "group", k->record, groups, cj_div(f, "in_warp", k->lane, k->s.lanes));
    cj_reg leads = cj_always();
    if (k->s.lanes > 1) leads = cj_eq(f, "leads", cj_and(f, "in_group", k->lane, k->s.lanes - 1), 0);
    cj__sample_push(k, leads, "f32", &best, 1, cj_mad(f, "group_at", group, 4, table));
    cj__sample_sync(k, "S2: every block has all groups' greatest elements");
    k->most = cj_let(f, "f32", "most", "mov.b32 $1, 0fff800000;");
    CJ_FOR(f, i, "u32", "group_number", k->lane, k->s.groups, SAMPLE_WARP) {
        cj_reg part = cj_let(f, "f32", "part", "ld.shared.f32 $1, [$2];", cj_mad(f, "group_at", i, 4, table));
        cj_ptx(f, "max.f32 $1, $1, $2;", k->most, part);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    cj_warp_reduce(f, (cj_combine){.op = CJ_COMBINE_MAX, .type = "f32"}, k->most, SAMPLE_WARP);
    cj__sample_cap(k, k->most);
    if (k->s.lists) {
        k->guess = cj_let(f, "f32", "guess", "mov.b32 $1, 0f7f800000;");
        find_guess(k, table);
    }
}
