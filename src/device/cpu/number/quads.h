// SPDX-License-Identifier: Apache-2.0
// m8n8k4 of f16: four products at once (tile.h). Inline, as all of codes.h.
//
// Product p belongs to lanes 4 p to 4 p + 3, the lower quad, and the 4 lanes 16 further, the upper one. Here a quad's part of
// a matrix is 4 x 4 elements:
//
//   A by rows  a lane is a row, its elements 4 k        A by columns  a lane is one k, its elements 4 rows of the quad's half
//   B by rows  a lane is one k, 4 columns of the half   B by columns  a lane is a column, its elements 4 k
//   C and D of f16    a lane is a row, its elements 8 columns
//   C and D of f32    lane i, register r: row i % 2 + r & 2, column r % 2 + i & 2 + r & 4, and 4 rows further in the upper quad
#ifndef CJ_CPU_QUADS_H
#define CJ_CPU_QUADS_H

#include "sums.h"

enum { QUADS = 4, UPPER = 16 };  // products; lanes from a lower quad to its upper one

typedef uint32_t quad32 __attribute__((vector_size(16)));

INLINE const void *quad_of(cj_tile_registers from, unsigned reg, unsigned lane) {
    return from.base + from.slot[reg] + lane * sizeof(uint32_t);
}

// The elements of a quad: those of its first lane, of its second one, …; turned: the first of all lanes, the second ones, ….
INLINE words16 elements_of_quad(cj_tile_registers from, unsigned lane, bool turned) {
    quad32 low, high;
    LOAD(low, quad_of(from, 0, lane));
    LOAD(high, quad_of(from, 1, lane));
    const words16 half = (words16)SHUFFLE(low, high, 0, 4, 1, 5, 2, 6, 3, 7);
    return turned ? SHUFFLE(half, half, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15) : half;
}

// 8 rows of 4 k.
INLINE void read_quads_a(cj_tile_registers from, unsigned lane, bool by_rows, double *tile, from_halves to_numbers) {
    for (unsigned upper = 0; upper < 2; upper++, lane += UPPER) {
        uint16_t      half[2 * SIDE];
        const words16 element = elements_of_quad(from, lane, !by_rows);
        STORE(half, element);
        for (unsigned i = 0; i < 2; i++, tile += SIDE) {
            const doubles number = to_numbers(half + i * SIDE);
            STORE(tile, number);
        }
    }
}

// 4 k of 8 columns.
INLINE void read_quads_b(cj_tile_registers from, unsigned lane, bool by_rows, double *tile, from_halves to_numbers) {
    const words64 low = (words64)elements_of_quad(from, lane, !by_rows);
    const words64 high = (words64)elements_of_quad(from, lane + UPPER, !by_rows);
    uint16_t      half[QUAD][SIDE];
    const words64 first = SHUFFLE(low, high, 0, 4, 1, 5), second = SHUFFLE(low, high, 2, 6, 3, 7);
    STORE(half[0], first);
    STORE(half[2], second);
    for (unsigned k = 0; k < QUAD; k++, tile += SIDE) {
        const doubles number = to_numbers(half[k]);
        STORE(tile, number);
    }
}

// Rows of f32: two, of four registers from `reg` on.
INLINE words32 two_quads(cj_tile_registers from, unsigned reg, unsigned lane) {
    quad32 first, second;
    LOAD(first, quad_of(from, reg, lane));
    LOAD(second, quad_of(from, reg + 1, lane));
    return SHUFFLE(first, second, 0, 1, 2, 3, 4, 5, 6, 7);
}

INLINE void decode_quads_f32(cj_tile_registers from, unsigned lane, doubles row[QUAD], from_floats widen) {
    for (unsigned i = 0; i < QUAD; i += 2) {
        const words32 low = two_quads(from, i, lane), high = two_quads(from, i + QUAD, lane);
        row[i] = widen((floats)SHUFFLE(low, high, 0, 4, 2, 6, 8, 12, 10, 14));
        row[i + 1] = widen((floats)SHUFFLE(low, high, 1, 5, 3, 7, 9, 13, 11, 15));
    }
}

INLINE void put_quads(words32 two, cj_tile_registers to, unsigned reg, unsigned lane) {
    const quad32 first = SHUFFLE(two, two, 0, 1, 2, 3), second = SHUFFLE(two, two, 4, 5, 6, 7);
    STORE(to.base + to.slot[reg] + lane * sizeof(uint32_t), first);
    STORE(to.base + to.slot[reg + QUAD] + lane * sizeof(uint32_t), second);
}

INLINE void encode_quads_f32(const doubles row[QUAD], cj_tile_registers to, unsigned lane) {
    for (unsigned i = 0; i < QUAD; i += 2) {
        const words32 even = codes_f32(row[i]), odd = codes_f32(row[i + 1]);
        put_quads(SHUFFLE(even, odd, 0, 8, 2, 10, 4, 12, 6, 14), to, i, lane);
        put_quads(SHUFFLE(even, odd, 1, 9, 3, 11, 5, 13, 7, 15), to, i + 1, lane);
    }
}

// 4 x 4 words, turned.
INLINE void turn_quad(quad32 word[QUAD]) {
    const quad32 a = SHUFFLE(word[0], word[1], 0, 4, 1, 5), b = SHUFFLE(word[0], word[1], 2, 6, 3, 7);
    const quad32 c = SHUFFLE(word[2], word[3], 0, 4, 1, 5), d = SHUFFLE(word[2], word[3], 2, 6, 3, 7);
    word[0] = SHUFFLE(a, c, 0, 1, 4, 5);
    word[1] = SHUFFLE(a, c, 2, 3, 6, 7);
    word[2] = SHUFFLE(b, d, 0, 1, 4, 5);
    word[3] = SHUFFLE(b, d, 2, 3, 6, 7);
}

INLINE void decode_quads_f16(cj_tile_registers from, unsigned lane, doubles row[QUAD], from_halves to_numbers) {
    quad32 word[QUAD];
    for (unsigned i = 0; i < QUAD; i++) LOAD(word[i], quad_of(from, i, lane));
    turn_quad(word);
    for (unsigned i = 0; i < QUAD; i++) {
        uint16_t half[SIDE];
        STORE(half, word[i]);
        row[i] = to_numbers(half);
    }
}

INLINE void encode_quads_f16(const doubles row[QUAD], cj_tile_registers to, unsigned lane, to_halves from_numbers) {
    quad32 word[QUAD];
    for (unsigned i = 0; i < QUAD; i++) {
        uint16_t half[SIDE];
        from_numbers(row[i], half);
        LOAD(word[i], half);
    }
    turn_quad(word);
    for (unsigned i = 0; i < QUAD; i++) STORE(to.base + to.slot[i] + lane * sizeof(uint32_t), word[i]);
}

#endif
