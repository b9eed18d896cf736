// SPDX-License-Identifier: Apache-2.0
// form=radix: a row becomes keys in shared memory. Places after the row have the least key, and columns after all others: they
// are counted, but no element comes after one of them.
#include "radix.h"

enum { MOST = 8, WORDS = 4 };  // loads in flight a thread; 32-bit words of a load, at most

// What a load leaves: words of two elements or one, each in the upper half if it is a single one of 16 bits.
static unsigned words_of(const topk_shape *s) { return s->width * s->bytes > 4 ? s->width * s->bytes / 4 : 1; }

typedef struct held_load {
    cj_reg position, inside;  // of the first element, in the block's part of the row; the row has it
    cj_reg word[WORDS];
} held_load;

static held_load load(const topk_radix *r, cj_reg base, unsigned l) {
    const topk_shape *s = &r->k->s;
    cj_func          *f = r->f;
    held_load         v;
    v.position = cj_add(f, "position", base, l * s->block * s->width);
    cj_reg column = cj_add(f, "column", v.position, r->from);
    v.inside = cj_lt(f, "inside", column, r->k->columns);
    cj_reg at = cj_mad_wide(f, "at", column, s->bytes, r->k->base);
    for (unsigned w = 0; w < words_of(s); w++) v.word[w] = cj_mov(f, "b32", "word", 0);
    if (s->width * s->bytes >= 4) {
        cj__load(f, v.inside, "ld.global.nc.L1::no_allocate", "b32", v.word, words_of(s), at, 0);
        return v;
    }
    cj_reg half = cj_let(f, "b16", "half", "mov.b16 $1, 0;");
    cj__load(f, v.inside, "ld.global.nc.L1::no_allocate", "b16", &half, 1, at, 0);
    cj_ptx(f, "mov.b32 $1, {0, $2};", v.word[0], half);
    return v;
}

// The key of the element in the upper bits of `bits`, or the least one; its first digit is counted.
static cj_reg make_key(const topk_radix *r, const held_load *v, cj_reg there, cj_reg bits) {
    cj_reg key = cj_select(r->f, "u32", "held_key", v->inside, cj__topk_key_of_bits(r->k, bits), 0);
    cj__topk_count_digit(r, there, cj_shr(r->f, "digit", key, 32 - TOPK_DIGIT));
    return key;
}

// A word of keys, of the word of elements.
static cj_reg make_keys(const topk_radix *r, const held_load *v, cj_reg there, cj_reg word) {
    cj_func *f = r->f;
    if (r->k->s.bytes == 4) return make_key(r, v, there, word);
    if (r->k->s.width == 1) return cj_shr(f, "held_key", make_key(r, v, there, word), 16);
    cj_reg low = cj_shr(f, "low", make_key(r, v, there, cj_shl(f, "low_bits", word, 16)), 16);
    cj_reg high = make_key(r, v, there, cj_and(f, "high_bits", word, 0xffff0000));
    return cj_or(f, "keys", low, cj_and(f, "high", high, 0xffff0000));
}

static void hold(const topk_radix *r, const held_load *v) {
    const topk_shape *s = &r->k->s;
    cj_func          *f = r->f;
    cj_reg            there = cj_lt(f, "there", v->position, r->span), keys[WORDS];
    for (unsigned w = 0; w < words_of(s); w++) keys[w] = make_keys(r, v, there, v->word[w]);
    cj_reg     at = cj_mad(f, "held_at", v->position, topk_key_bytes(r), r->held);
    const bool half = s->width * s->bytes < 4;
    cj__store(f, there, "st.shared", half ? "u16" : "u32", keys, words_of(s), at, 0);
}

void cj__topk_count_digit(const topk_radix *r, cj_reg when, cj_reg digit) {
    cj_ptx(r->f, "@$1 red.shared.add.u32 [$2], 1;", when, cj_mad(r->f, "bin_at", digit, 4, r->bins));
}

void cj__topk_hold(const topk_radix *r) {
    const topk_shape *s = &r->k->s;
    cj_func          *f = r->f;
    held_load         v[MOST];
    cj_step(f, "the row as keys, %u loads of %u elements a thread at once; the first digit of each is counted",
            s->loads, s->width);
    cj_reg base = cj_mov(f, "u32", "base", 0), own = cj_mul(f, "own_first", r->k->thread, s->width);
    CJ_COUNT_UNI(f, "next_keys", base, s->loads * s->block * s->width, r->span) {
        cj_reg first = cj_add(f, "first_position", base, own);
        for (unsigned l = 0; l < s->loads; l++) v[l] = load(r, first, l);
        cj_note(f, "all loads are on their way before the first is held");
        for (unsigned l = 0; l < s->loads; l++) hold(r, &v[l]);
    }
    cj_ptx(f, "bar.warp.sync 0xffffffff; // B11: lanes whose elements are out of bounds are with the others again");
}
