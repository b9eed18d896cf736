// SPDX-License-Identifier: Apache-2.0
// A group sorts a row that it holds: the passes over its digits, then its results.
#include "sort.h"

void cj__sort_digits(sort_kernel *k, cj_reg shift) {
    const sort_shape *s = &k->s;
    CJ_COUNT_UNI(k->f, "next_digit", shift, s->digit, sort_low(s) + s->bits) {
        cj__sort_take_digit(k, shift);
        cj__sort_rank(k);
        cj__sort_scan(k);
        cj__sort_scatter(k);
        if (s->cluster) {
            cj__sort_offsets(k);
            cj__sort_exchange(k);
        }
        cj__sort_gather(k);
    }
}

static cj_reg place_of(const sort_kernel *k, unsigned item, cj_reg *inside) {
    cj_reg place = cj_add(k->f, "place", k->first, SORT_WARP * item);
    *inside = cj_lt(k->f, "inside", place, k->columns);
    return k->s.settles ? cj_add(k->f, "to_place", k->settled_first, cj__sort_place(k, item)) : place;
}

void cj__sort_finish(sort_kernel *k) {
    cj_func *f = k->f;
    cj__sort_find_row(k, k->s.values && k->s.floats);  // a NaN and a zero are read again
    cj__sort_results(k);
    cj_step(f, "results, with the bits that x has");
    if (k->s.settles) k->settled_first = cj_sub(f, "settled_first", cj_sub(f, "tile_first", k->first, k->own), SORT_REACH);
    cj__sort_write(k, place_of);
}
