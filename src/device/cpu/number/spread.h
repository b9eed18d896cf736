// SPDX-License-Identifier: Apache-2.0
// Stored words of a sparse A as dense ones (tile.h). Inline, as all of codes.h.
#ifndef CJ_CPU_SPREAD_H
#define CJ_CPU_SPREAD_H

#include "codes.h"

// A stored word in 64 bits, and its indices from the lowest bit on: the two words that it becomes.
INLINE wide64 dense_of_halves(const wide64 *word, const wide64 *indices) {
    return (*word & 0xffff) << (*indices << 4 & 0x30) | *word >> 16 << (*indices << 2 & 0x30);
}

INLINE wide64 dense_of_bytes(const wide64 *word, const wide64 *indices) {
    const wide64 first = (*word & 0xff) << (*indices << 3 & 0x18), second = (*word >> 8 & 0xff)
                                                                            << (*indices << 1 & 0x18);
    const wide64 third = (*word >> 16 & 0xff) << (*indices >> 1 & 0x18), fourth = *word >> 24 << (*indices >> 3 & 0x18);
    return first | second | (third | fourth) << 32;
}

// Two lines at once: the first two words of each become a line of one tile, the others of the next one.
INLINE void spread_tile(const void *stored, const uint32_t *metadata, unsigned shift, const cj_tile_sparse *how,
                        bool of_bytes, uint32_t *words, wide64 *valid, from_words widen, of_lines of) {
    const uint64_t each = of_bytes ? 8 : 4;
    const wide64   pairs = (wide64){0} + how->valid;
    const wide64   shifts = {0, each, 2 * each, 3 * each, 0, each, 2 * each, 3 * each};
    for (unsigned i = 0; i < QUAD; i++, metadata += SIDE, words += SIDE) {
        words32 from;
        LOAD(from, (const char *)stored + i * sizeof from);
        const wide64  word = widen(from), indices = of(metadata[0], metadata[QUAD], shift) >> shifts;
        const wide64  dense = of_bytes ? dense_of_bytes(&word, &indices) : dense_of_halves(&word, &indices);
        const words64 first = SHUFFLE(dense, dense, 0, 1, 4, 5), second = SHUFFLE(dense, dense, 2, 3, 6, 7);
        *valid &= pairs >> (indices & 15);
        if (of_bytes) *valid &= pairs >> (indices >> 4 & 15);
        STORE(words, first);
        STORE(words + WORDS, second);
    }
}

INLINE bool spread(const cj_tile_sparse *how, const uint32_t metadata[WORDS], cj_tile_registers stored, uint32_t *words,
                   from_words widen, of_lines of) {
    wide64   valid = (wide64){0} + 1;
    uint64_t all = 1, each[SIDE];
    // A copy: stores to the words cannot change it.
    const cj_tile_sparse it = *how;
    for (unsigned chunk = 0; chunk < it.chunks; chunk++) {
        for (unsigned row = 0; row < it.rows; row++, stored.slot++) {
            const void *from = stored.base + *stored.slot;
            uint32_t   *to = words + 2 * (row * it.chunks + chunk) * WORDS;
            if (it.of_bytes)
                spread_tile(from, metadata + it.first + 2 * chunk + row, 0, &it, true, to, &valid, widen, of);
            else
                spread_tile(from, metadata + it.first + chunk, 16 * row, &it, false, to, &valid, widen, of);
        }
    }
    STORE(each, valid);
    for (unsigned i = 0; i < SIDE; i++) all &= each[i];
    return all;
}

#endif
