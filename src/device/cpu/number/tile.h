// SPDX-License-Identifier: Apache-2.0
// Tiles: how matrices of a warp are multiplied fast. docs/maintaining/cpu_device.md proves that the bits are those of
// cj__multiply.
//
// A register of A or B holds 8 lines (rows of A, columns of B) of 4 words each along k, line after line, and a word one or
// more elements. As numbers it is a tile: of A 8 rows of k, of B, which is turned, k rows of 8 columns. All are dense, row
// after row; columns are in the order 0, 2, 4, 6, 1, 3, 5, 7, in which the two registers of sums have them. Elements of one bit stay words: a number is then the value of 32 bits along k.
#ifndef CJ_CPU_TILE_H
#define CJ_CPU_TILE_H

#include "element.h"

enum { CJ_TILE = 8, CJ_TILE_WORDS = 32, CJ_TILE_BYTES = 128, CJ_TILE_NUMBERS = 64 };  // lines; A or B; numbers of D
#define CJ_TILE_ALIGNED _Alignas(64)  // for arrays of tiles: a vector then lies in one cache line

// Some registers of a warp: number i at base + slot[i].
typedef struct cj_tile_registers {
    unsigned char  *base;
    const uint32_t *slot;
} cj_tile_registers;

// Reads the registers of A or B as tiles: so many lines of tiles, each of so many chunks of k. Registers have the lines of a
// chunk side by side, tiles the chunks of a line.
typedef void (*cj_tile_read)(cj_tile_registers from, unsigned lines, unsigned chunks, double *tiles);

// The types of C and D. A tile takes two registers; f16 takes one.
typedef enum cj_tile_sum { CJ_TILE_SUM_F64, CJ_TILE_SUM_F32, CJ_TILE_SUM_S32, CJ_TILE_SUM_F16 } cj_tile_sum;

// A product D = A * B + C of a panel: 8 columns of all rows.
typedef struct cj_tile_panel {
    cj_multiply how;
    cj_tile_sum c, d;
    uint16_t    rows, chunks;  // tiles of A: down, along k
    uint16_t    length;        // of a tile, along k
    bool        saturate;
} cj_tile_panel;

// Multiplies so many matrices A, one after the other, by one B: part i has c[i] and d[i]. Without `base` C is zero. Each tile of D is
// written before those of C two tiles later are read.
typedef void (*cj_tile_multiply)(const cj_tile_panel *panel, unsigned parts, const double *a, const double *b,
                                 const cj_tile_registers *c, const cj_tile_registers *d);

// Reads A and B, which are of one type, and multiplies them, in one call: of one panel, with CJ_TILE_PRODUCT_ROWS and
// CJ_TILE_PRODUCT_CHUNKS at most. All of C is read before D is written.
enum { CJ_TILE_PRODUCT_ROWS = 2, CJ_TILE_PRODUCT_CHUNKS = 4 };
typedef struct cj_tile_operands {
    cj_tile_registers a, b, c, d;
} cj_tile_operands;
typedef void (*cj_tile_product)(const cj_tile_panel *panel, const cj_tile_operands *of);

typedef struct cj_tile_type {
    uint16_t        type;     // cj_word
    uint16_t        in_word;  // elements
    uint16_t        bits;
    cj_tile_read    read_a, read_b;
    cj_tile_product product;
} cj_tile_type;

// Multiplies tiles of f64 as registers have them, CJ_TILE_F64_CHUNKS at most along k: the slots are those of D, which are not
// used, of A, B and C. Each tile of D is written before the next ones of A and C are read.
enum { CJ_TILE_F64_CHUNKS = 4 };
typedef void (*cj_tile_multiply_f64)(const cj_tile_panel *panel, const unsigned char *base, const uint32_t *slot,
                                     cj_tile_registers d);

// m8n8k4 of f16, four products of eight lanes each (quads.h): the slots are those of D, A, B and C. Any of them may be the same.
typedef struct cj_tile_quads {
    cj_tile_sum c, d;
    bool        a_by_rows, b_by_rows;
} cj_tile_quads;
typedef void (*cj_tile_multiply_quads)(const cj_tile_quads *how, unsigned char *base, const uint32_t *slot);

// A sparse A (PTX ISA, "Sparse matrix storage"): of four units two are stored. A unit is a byte (of s8, e4m3, …; two elements of 4
// bits) or a half of a word (an f16, half of a tf32). A stored word becomes two, by 4 bits of metadata, two indices, for each two
// units: those of a tile's line are in one lane, of which the quad of line g has some, from `first` on:
//
//   halves  16 bits a line; a lane for each chunk of k; the lower row of tiles in the upper half of the lane's word
//   bytes   32 bits a line; for each chunk of k a lane for each row of tiles
typedef struct cj_tile_sparse {
    uint16_t rows, chunks;  // tiles as stored
    uint16_t first;         // lane of a quad
    uint16_t valid;         // bit i: indices i may stand in metadata
    bool     of_bytes;
} cj_tile_sparse;

// Spreads the registers of a stored A to the words of tiles, of a line of tiles those of all chunks; false if some indices are
// invalid.
typedef bool (*cj_tile_spread)(const cj_tile_sparse *how, const uint32_t metadata[CJ_TILE_WORDS],
                               cj_tile_registers stored, uint32_t *words);

// How the lines of a tile, 16 bytes each, lie in shared memory (PTX ISA, "Shared Memory Matrix Layout"). Line i has the address
// first + (i * 16 << shift); of its bits, those of the mask, from bit 4 on, are changed by those from bit 7 on, less `base`.
typedef struct cj_tile_pattern {
    uint32_t shift, mask, base;
} cj_tile_pattern;

// Finds the lines of so many tiles, each with a `first` of its own: 8 addresses a tile. Returns all bits of these, so no less than any.
typedef uint32_t (*cj_tile_place)(const cj_tile_pattern *how, const uint32_t *first, unsigned tiles, uint32_t *at);

// Reads the words of tiles from memory, where each line of a tile is 16 bytes of its own: all lines at base + at[…].
typedef void (*cj_tile_gather)(const unsigned char *base, const uint32_t *at, unsigned tiles, uint32_t *words);

// All functions, compiled for one instruction set of the host.
typedef struct cj_tile_set {
    const char *name;
    bool (*runs)(void);  // on this host
    cj_tile_type           type[10];
    cj_tile_multiply       multiply;
    cj_tile_multiply_f64   multiply_f64;
    cj_tile_multiply_quads multiply_quads;
    cj_tile_place          place;
    cj_tile_gather         gather;
    cj_tile_spread         spread;
} cj_tile_set;

const cj_tile_set  *cj__tile_set(void);               // the fastest that runs on this host
const cj_tile_set  *cj__tile_set_at(unsigned index);  // all, the fastest first; NULL after the last, which always runs
const cj_tile_type *cj__tile_type(const cj_tile_set *set, uint16_t type);
cj_tile_sum         cj__tile_sum(uint16_t type);

static inline unsigned cj__tile_sum_registers(cj_tile_sum sum) { return sum == CJ_TILE_SUM_F16 ? 1 : 2; }

// Reads some tiles from words side by side.
enum { CJ_TILES_READ_MAX = 32 };
void cj__tile_read_words(cj_tile_read read, uint32_t *words, unsigned tiles, double *numbers);

#endif
