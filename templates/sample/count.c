// SPDX-License-Identifier: Apache-2.0
// Counts of keys. Logits of 16 bits that are equal have equal masses, so a count of each is all that a search for the last kept one needs: an
// addition of 1 while the row is read, where a digit takes the mass and two atomics of every element, in a pass of its own.
//
//   bins[]   x = 1, 2, … are the logits from 2^-25 on: |logit| in steps of the type
//     0 | 1: <= -128 | … 4095 - x … | 4096: about 0 | … 4096 + x … | 8191: >= 128, NaN
//
// What is nearer to 0 than 2^-25 has the mass of 0 where the greatest logit is 2 or more: the difference rounds to that of 0. If a bin's
// logits may have several masses, the digits are searched.
#include "sample.h"

enum { TOP = 0x4300, LAST = SAMPLE_KEYS - 1, BEFORE = TOP - LAST, HALF = 16 };  // TOP: 128 as bf16; BEFORE: x = 0

void cj__sample_count_clear(sample_kernel *k) {
    cj_func *f = k->f;
    CJ_SHARE(f, i, "i", k->thread, 16, k->s.block, k->s.parts * SAMPLE_BINS_BYTES)
    cj_ptx(f, "st.shared.v4.u32 [$1], {0, 0, 0, 0};", cj_add(f, "bin_at", k->bins_at, i));
    cj_ptx(f, "bar.sync 0; // S17: the counts are clear");
}

cj_reg cj__sample_count_table(const sample_kernel *k) {
    cj_reg zero = cj_add(k->f, "zero_at", k->bins_at, 4 * SAMPLE_KEYS);
    if (k->s.parts == 1) return zero;
    return cj_mad(k->f, "zero_at", cj__sample_quotient(k, "part", k->warp, k->s.warps / k->s.parts), SAMPLE_BINS_BYTES, zero);
}

void cj__sample_count(const sample_kernel *k, cj_reg table, const cj_reg *v) {
    cj_func *f = k->f;
    for (unsigned e = 0; e < k->s.width; e++) {
        cj_reg bits = cj_let(f, "b32", "bits", "mov.b32 $1, $2;", v[e]);
        cj_reg x = cj_let(f, "s32", "x", "bfe.u32 $1, $2, $3, 15;\nsub.s32 $1, $1, $4;", bits, (int)HALF, (int)BEFORE);
        cj_ptx(f, "max.s32 $1, $1, 0; min.s32 $1, $1, $2;", x, (int)LAST);
        cj_reg below = cj_let(f, "pred", "below_zero", "setp.lt.s32 $1, $2, 0;", bits);
        cj_ptx(f, "@$1 neg.s32 $2, $2;", below, x);
        cj_reg at = cj_let(f, "u32", "bin_at", "mad.lo.s32 $1, $2, 4, $3;", x, table);
        cj_ptx(f, "red.shared.add.u32 [$1], 1;", at);
    }
}

cj_reg cj__sample_count_value(const sample_kernel *k, cj_reg bin) {
    cj_func *f = k->f;
    cj_reg   x = cj_let(f, "s32", "x", "sub.s32 $1, $2, $3;", bin, (int)SAMPLE_KEYS);
    cj_reg   bits = cj_let(f, "b32", "value_bits", "abs.s32 $1, $2;\nadd.s32 $1, $1, $3;\nshl.b32 $1, $1, $4;", x, (int)BEFORE, (int)HALF);
    cj_reg   sign = cj_let(f, "b32", "sign", "and.b32 $1, $2, 0x80000000;\nor.b32 $1, $1, $3;", x, bits);
    cj_ptx(f, "@$1 mov.b32 $2, 0;", cj_eq(f, "is_middle", x, 0), sign);
    return cj_let(f, "f32", "value", "mov.b32 $1, $2;", sign);
}

cj_reg cj__sample_count_mass(const sample_kernel *k, cj_reg bin, cj_reg fails) {
    cj_func *f = k->f;
    cj_reg   mass = cj__sample_mass(k, cj__sample_exponent(k, cj__sample_count_value(k, bin)));
    cj_reg   lowest = cj_let(f, "pred", "has_several", "setp.ne.u64 $1, $2, 0;\nsetp.eq.and.u32 $1, $3, 1, $1;", mass, bin);
    cj_ptx(f, "or.pred $1, $1, $2;", fails, lowest);
    cj_reg above = cj_eq(f, "is_above", bin, 2 * SAMPLE_KEYS - 1);
    cj_ptx(f, "or.pred $1, $1, $2;", fails, above);
    cj_reg few = cj_let(f, "pred", "has_several", "setp.lt.f32 $1, $2, 0f40000000;\nsetp.eq.and.u32 $1, $3, $4, $1;", k->most, bin,
                        (int)SAMPLE_KEYS);
    cj_ptx(f, "or.pred $1, $1, $2;", fails, few);
    return mass;
}

void cj__sample_count_fails(const sample_kernel *k, cj_reg fails) {
    cj_reg at = cj_add(k->f, "fails_at", cj_shared_address(k->f, k->told), (int)SAMPLE_AT_FAILS);
    CJ_IF(k->f, fails, "no_bin_fails") {
        if (!k->s.cluster) cj_ptx(k->f, "red.shared.add.u32 [$1], 1;", at);
        for (unsigned rank = 0; rank < k->s.cluster; rank++)
            cj_dsmem_red(k->f, cj_always(), "add", "u32", cj__sample_peer(k, at, rank), 0, CJ_ARG(1));
    }
    cj_ptx(k->f, "bar.warp.sync 0xffffffff; // W1: all lanes are together again");
}
