// SPDX-License-Identifier: Apache-2.0
// Tiles: how matrices of a warp are multiplied fast. docs/maintaining/cpu_device.md proves that the bits are those of
// cj__multiply.
//
// A register of A or B holds 8 lines (rows of A, columns of B) of 4 words each along k, line after line, and a word one or
// more elements. As numbers it is a tile: of A 8 rows of k, of B, which is turned, k rows of 8. A tile of sums has 8 x 8
// numbers. All are dense, row after row. Elements of one bit stay words: a number is then the value of 32 bits along k.
#ifndef CJ_CPU_TILE_H
#define CJ_CPU_TILE_H

#include "element.h"

enum { CJ_TILE = 8, CJ_TILE_WORDS = 32, CJ_TILE_NUMBERS = 64 };  // lines; words of A or B; numbers of D
#define CJ_TILE_ALIGNED _Alignas(64)  // for arrays of tiles: a vector then lies in one cache line

// How the words of a register of A or B, or as many in memory, become a tile.
typedef struct cj_tile_type {
    uint16_t type;     // cj_word
    uint16_t in_word;  // elements
    uint16_t bits;
    void (*read_a)(const void *words, double *tile);
    void (*read_b)(const void *words, double *tile);
} cj_tile_type;

// How a type of C and D is decoded and encoded. A tile takes two registers; f16 takes one, the first.
typedef struct cj_tile_sum {
    uint16_t type;
    uint16_t registers;
    void (*decode)(const void *const reg[2], double *tile);
    void (*encode)(const double *tile, void *const reg[2]);
} cj_tile_sum;

// d += a * b, of so many pairs of tiles, each with `length` numbers along k.
typedef void (*cj_tile_multiply)(unsigned count, unsigned length, const double *a, const double *b, double *d);

// All functions, compiled for one instruction set of the host.
typedef struct cj_tile_set {
    const char *name;
    bool (*runs)(void);  // on this host
    cj_tile_type     type[11];
    cj_tile_sum      sum[4];
    cj_tile_multiply multiply[CJ_MULTIPLY_COUNT];
} cj_tile_set;

const cj_tile_set  *cj__tile_set(void);               // the fastest that runs on this host
const cj_tile_set  *cj__tile_set_at(unsigned index);  // all, the fastest first; NULL after the last, which always runs
const cj_tile_type *cj__tile_type(const cj_tile_set *set, uint16_t type);
const cj_tile_sum  *cj__tile_sum(const cj_tile_set *set, uint16_t type);

// The place of an element in tiles of A whose rows have k elements.
static inline unsigned cj__tile_place(unsigned in_word, unsigned k, unsigned row, unsigned at) {
    const unsigned length = 4 * in_word, tile = row / CJ_TILE * (k / length) + at / length;
    return (tile * CJ_TILE + row % CJ_TILE) * length + at % length;
}

#endif
