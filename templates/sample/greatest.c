// SPDX-License-Identifier: Apache-2.0
// The row's greatest logit, and a first threshold for top-k.
//
// Groups of lanes publish the greatest element that each has seen to all blocks of the row. The k-th greatest of these is a logit that
// at least k elements are not less than, and of elements in random order hardly more are: of 128 groups 63 for k = 50.
#include "sample.h"

typedef struct greatest {
    cj_reg best, table;  // table: where keys are counted, if they are
} greatest;

static void visit_greatest(sample_kernel *k, const cj_reg *v, cj_reg column, void *own) {
    const greatest *g = own;
    (void)column;
    for (unsigned e = 0; e < k->s.width; e++) cj_ptx(k->f, "max.f32 $1, $1, $2; // but NaN", g->best, v[e]);
    if (k->s.counts) cj__sample_count(k, g->table, v);
}

// ---- the first threshold
//
// A group's code is the upper bits of its greatest element's key above the complement of its number: all differ, so a comparison of two is
// one instruction, and the k-th of them is one group's. What the code lacks of the key makes the threshold lower by 2^-16 at most.

enum { NUMBER = SAMPLE_GROUPS - 1 };

// Of more groups two, four, … are one.
static unsigned groups_of_one(const sample_kernel *k) { return cj__power_from(k->s.groups / (SAMPLE_GROUPS + 1) + 1); }

// Codes of numbers without a group are less than all others.
static void make_codes(const sample_kernel *k, cj_reg table, cj_reg codes) {
    cj_func       *f = k->f;
    const unsigned each = groups_of_one(k);
    CJ_FOR(f, i, "u32", "group_number", k->thread, (unsigned)SAMPLE_GROUPS, k->s.block) {
        cj_reg inside = cj_lt(f, "inside", i, k->s.groups / each), at = cj_mad(f, "group_at", i, 4 * each, table);
        cj_reg best = cj_let(f, "f32", "group", "mov.b32 $1, 0fff800000;"), next = cj_none();
        if (each > 1) next = cj_let(f, "f32", "next_group", "mov.b32 $1, 0fff800000;");
        for (unsigned part = 0; part < each; part++) {
            cj__load(f, inside, "ld.shared", "f32", part ? &next : &best, 1, at, 4 * part);
            if (part) cj_ptx(f, "max.f32 $1, $1, $2;", best, next);
        }
        cj_reg code = cj_and(f, "code", cj__sample_key(k, best), ~(unsigned)NUMBER);
        cj_ptx(f, "@!$1 mov.u32 $2, 0;\nsub.u32 $2, $2, $3;\nadd.u32 $2, $2, $4;", inside, code, i, (int)NUMBER);
        cj_ptx(f, "st.shared.u32 [$1], $2;", cj_mad(f, "code_at", i, 4, codes), code);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}

// How many codes are greater than `own`; each of some lanes compares its part of them.
static cj_reg count_greater(const sample_kernel *k, cj_reg part_at, cj_reg own) {
    enum { VECTOR = 4 };
    cj_func *f = k->f;
    cj_reg   before = cj_mov(f, "u32", "before", 0), other[VECTOR];
    for (unsigned first = 0; first < SAMPLE_GROUPS; first += k->s.group_share * VECTOR) {
        cj_registers(f, "u32", "other", VECTOR, other);
        cj__load(f, cj_always(), "ld.shared", "u32", other, VECTOR, part_at, 4 * first);
        for (unsigned i = 0; i < VECTOR; i++)
            cj_ptx(f, "@$1 add.u32 $2, $2, 1;", cj_gt(f, "greater", other[i], own), before);
    }
    cj__sample_add_up(k, k->s.group_share, "u32", before);
    return before;
}

// A warp compares its candidates in turns; the lane that has the k-th broadcasts it.
static void tell_kth(const sample_kernel *k, cj_reg codes, cj_reg told) {
    const unsigned share = k->s.group_share, each = SAMPLE_WARP / share;
    cj_func       *f = k->f;
    cj_reg   part = cj_and(f, "part", k->lane, share - 1), leads = cj_eq(f, "leads", part, 0);
    cj_reg   part_at = cj_mad(f, "part_at", part, 16, codes), in_warp = cj__sample_quotient(k, "in_warp", k->lane, share);
    cj_reg   base = cj_mul(f, "first_group", k->warp, each);
    CJ_COUNT_UNI(f, "next_groups", base, k->s.block / share, (unsigned)SAMPLE_GROUPS) {
        cj_reg own_at = cj_mad(f, "own_at", cj_add(f, "group_number", base, in_warp), 4, codes);
        cj_reg own = cj_let(f, "u32", "own", "ld.shared.u32 $1, [$2];", own_at), before = count_greater(k, part_at, own);
        cj_update(f, before, "add", 1);
        cj_reg is_kth = cj_let(f, "pred", "is_kth", "setp.eq.and.u32 $1, $2, $3, $4;", before, k->k, leads);
        cj_reg value = cj__sample_value(k, cj_and(f, "key", own, ~(unsigned)NUMBER));
        cj_ptx(f, "@$1 st.shared.f32 [$2], $3;", is_kth, told, value);
    }
}

// Elements without a mass are not candidates: of one that has a mass the exponent is greater than -42, and of those below 64 octaves
// it is not, whatever the rounding.
static void leave_out_massless(const sample_kernel *k) {
    cj_func *f = k->f;
    cj_reg   octaves = cj_let(f, "f32", "octaves", "rcp.approx.f32 $1, $2;\nmul.rn.f32 $1, $1, 0f42800000;", k->scale);
    cj_ptx(f, "sub.rn.f32 $1, $2, $1;\nmax.f32 $3, $3, $1;", octaves, k->most, k->guess);
    cj_ptx(f, "max.f32 $1, $1, 0fff7fffff; // no infinity", k->guess);
}

static void find_guess(sample_kernel *k, cj_reg table) {
    cj_func *f = k->f;
    cj_step(f, "a first threshold: the k-th of the groups' greatest elements");
    cj_reg told = cj_shared_address(f, k->told), codes = cj_shared_address(f, k->codes);
    cj_reg first = cj_let(f, "pred", "has_k", "setp.ne.u32 $1, $2, 0;", k->k);
    k->guessed = cj_let(f, "pred", "guessed", "setp.le.and.u32 $1, $2, $3, $4;", k->k, k->s.groups / groups_of_one(k), first);
    CJ_IF_UNI(f, k->guessed, "no_guess") {
        make_codes(k, table, codes);
        cj_ptx(f, "bar.sync 0; // S5: all codes are written");
        tell_kth(k, codes, told);
        cj_ptx(f, "bar.sync 0; // S3: the threshold is told");
        cj_ptx(f, "ld.shared.f32 $1, [$2];", k->guess, told);
        leave_out_massless(k);
    }
}

static cj_reg find_own(sample_kernel *k) {
    greatest g = {.best = cj_let(k->f, "f32", "greatest", "mov.b32 $1, 0fff800000;")};
    if (k->s.counts) {
        cj__sample_count_clear(k);
        g.table = cj__sample_count_table(k);
    }
    if (!k->s.keeps || !k->s.lists) {
        cj__sample_pass(k, k->s.flight, visit_greatest, &g);
        return g.best;
    }
    cj__sample_best(k, &k->kept);
    for (unsigned i = 0; i < k->kept.count; i++) cj_ptx(k->f, "max.f32 $1, $1, $2;", g.best, k->kept.best[i]);
    cj_ptx(k->f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
    return g.best;
}

void cj__sample_greatest(sample_kernel *k) {
    cj_func       *f = k->f;
    const unsigned groups = SAMPLE_WARP / k->s.lanes;
    cj_step(f, "the greatest logit of the row");
    cj_reg best = find_own(k);
    cj__sample_settings(k);
    for (unsigned step = k->s.lanes / 2; step; step /= 2) {
        cj_reg other = cj_let(f, "f32", "other", "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", best, step);
        cj_ptx(f, "max.f32 $1, $1, $2;", best, other);
    }
    if (k->s.pushes) {
        cj_reg first = cj_eq(f, "first_thread", k->thread, 0);
        cj__push_expect(f, &k->push, "S1: all blocks have started", first, CJ_ARG(SAMPLE_RECORD * k->s.records), "the masses of all warps");
    } else if (k->s.cluster) {
        cj_cluster_wait(f, "S1: all blocks have started");
    }
    cj_reg table = cj_shared_address(f, k->maxima);
    cj_reg group = cj_mad(f, "group", k->record, groups, cj__sample_quotient(k, "in_warp", k->lane, k->s.lanes));
    cj__sample_spread(k, k->s.lanes, "f32", &best, 1, cj_mad(f, "group_at", group, 4, table));
    if (k->s.cluster) cj_cluster_arrive(f, CJ_ARRIVE_RELEASE, "S2: this block's groups' greatest elements are pushed");
    cj__sample_random(k);  // while the others arrive
    if (k->s.cluster) cj_cluster_wait(f, "S2: every block has all groups' greatest elements");
    if (!k->s.cluster) cj_ptx(f, "bar.sync 0; // S2: the block has all groups' greatest elements");
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
