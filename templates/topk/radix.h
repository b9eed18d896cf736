// SPDX-License-Identifier: Apache-2.0
// form=radix: what its files share. hold.c reads a row; radix.c searches and selects.
#ifndef CJ_TEMPLATES_TOPK_RADIX_H
#define CJ_TEMPLATES_TOPK_RADIX_H

#include "topk.h"

typedef struct topk_radix {
    const topk_kernel *k;
    cj_func           *f;
    cj_reg             bins, held;  // addresses: of the bins, which are the pool, too; of the block's keys
    cj_reg             span;        // keys that the block holds, in whole lines
    cj_reg             from;        // the column of its first one
    cj_reg             words;       // address of what threads tell each other (radix.c)

    // The search: what is known of the k-th candidate. A value agrees with what is known if value ^ known <= open.
    cj_reg key;   // its key: the digits that are known, then zeros
    cj_reg flip;  // a column ^ flip is its place ^ what is known of the k-th's; no place is less up to column `flip`
    cj_reg shift, open;  // below the digit; mask of the digits that are not known
    cj_reg needed;       // candidates from those that agree
    cj_reg by_key;       // digits of the key are searched, not of the place
} topk_radix;

// Bytes of a key that is held: of 16-bit elements the upper half of what the others have.
static inline unsigned topk_key_bytes(const topk_radix *r) { return r->k->s.bytes; }
static inline unsigned topk_key_bits(const topk_radix *r) { return 8 * topk_key_bytes(r); }

// ---- hold.c: the block's part of the row, as keys in shared memory, and the first digit of each, counted

void cj__topk_hold(const topk_radix *r);

// One more in the bin of `digit`.
void cj__topk_count_digit(const topk_radix *r, cj_reg when, cj_reg digit);

#endif
