// SPDX-License-Identifier: Apache-2.0
// Stored words of a sparse A as dense ones (tile.h). Inline, as all of codes.h.
#ifndef CJ_CPU_SPREAD_H
#define CJ_CPU_SPREAD_H

#include "codes.h"

// A stored word in 64 bits, and its indices from the lowest bit on: the two words that it becomes.
INLINE wide64 dense_of_halves(const wide64 *word, const wide64 *indices) {
    return (*word & 0xffff) << ((*indices & 3) << 4) | *word >> 16 << ((*indices >> 2 & 3) << 4);
}

INLINE wide64 dense_of_bytes(const wide64 *word, const wide64 *indices) {
    wide64 dense = {0};
    for (unsigned i = 0; i < QUAD; i++)
        dense |= (*word >> 8 * i & 0xff) << ((*indices >> 2 * i & 3) << 3) << i / 2 * 32;
    return dense;
}

// Two lines at once: the first two words of each become a line of one tile, the others of the next one.
INLINE void spread_tile(const void *stored, const uint32_t *metadata, unsigned shift, const cj_tile_sparse *how,
                        bool of_bytes, uint32_t *words, wide64 *valid) {
    const uint64_t each = of_bytes ? 8 : 4;
    const wide64   shifts = {0, each, 2 * each, 3 * each, 0, each, 2 * each, 3 * each};
    for (unsigned i = 0; i < QUAD; i++, metadata += SIDE, words += SIDE) {
        words32 from;
        LOAD(from, (const char *)stored + i * sizeof from);
        const wide64  word = __builtin_convertvector(from, wide64);
        const wide64  low = (wide64){0} + (metadata[0] >> shift), high = (wide64){0} + (metadata[QUAD] >> shift);
        const wide64  indices = SHUFFLE(low, high, 0, 1, 2, 3, 8, 9, 10, 11) >> shifts;
        const wide64  dense = of_bytes ? dense_of_bytes(&word, &indices) : dense_of_halves(&word, &indices);
        const words64 first = SHUFFLE(dense, dense, 0, 1, 4, 5), second = SHUFFLE(dense, dense, 2, 3, 6, 7);
        *valid &= ((wide64){0} + how->valid) >> (indices & 15);
        if (of_bytes) *valid &= ((wide64){0} + how->valid) >> (indices >> 4 & 15);
        STORE(words, first);
        STORE(words + WORDS, second);
    }
}

INLINE bool spread(const cj_tile_sparse *how, const uint32_t metadata[WORDS], cj_tile_registers stored,
                   uint32_t *words) {
    wide64   valid = (wide64){0} + 1;
    uint64_t all = 1, each[SIDE];
    for (unsigned chunk = 0; chunk < how->chunks; chunk++) {
        for (unsigned row = 0; row < how->rows; row++, stored.slot++) {
            const void *from = stored.base + *stored.slot;
            uint32_t   *to = words + 2 * (row * how->chunks + chunk) * WORDS;
            if (how->of_bytes)
                spread_tile(from, metadata + how->first + 2 * chunk + row, 0, how, true, to, &valid);
            else
                spread_tile(from, metadata + how->first + chunk, 16 * row, how, false, to, &valid);
        }
    }
    STORE(each, valid);
    for (unsigned i = 0; i < SIDE; i++) all &= each[i];
    return all;
}

#endif
