// SPDX-License-Identifier: Apache-2.0
#include "sparse.h"

#include <string.h>

#include "exec.h"
#include "tile.h"

enum { ROWS = 16, QUAD = 4, CHUNK_BITS = 4, HALF = 8 };  // CHUNK_BITS: metadata of a chunk; HALF: rows of a half

// Chunks of a row, and how many of them a lane has.
static unsigned chunks_of(unsigned bits, unsigned k) { return bits == 32 ? k / 2 : bits == 4 ? k / 8 : k / 4; }
static unsigned chunks_of_lane(unsigned bits) { return bits >= 16 ? 4 : 8; }

// How many lanes of a quad hold indices of one row; how many hold any.
static unsigned lanes_of_row(unsigned bits, unsigned k) { return chunks_of(bits, k) / chunks_of_lane(bits); }
static unsigned lanes_of_quad(unsigned bits, unsigned k) { return lanes_of_row(bits, k) * (bits >= 16 ? 1 : 2); }

bool cj__sparse_select(cj_cpu_prepare *p, unsigned selector, unsigned bits, unsigned k, cj_sparse *s) {
    const uint64_t value = p->inst->operand[selector].bits;
    const unsigned count = QUAD / lanes_of_quad(bits, k);
    *s = (cj_sparse){.bits = bits, .k = k, .selector = (unsigned)value, .ordered = cj__cpu_has(p, CJ_W_SPARSE_ORDERED)};
    if (value < count) return true;
    cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: the sparsity selector is %llu; it goes from 0 to %u", p->mnemonic->text,
                   (unsigned long long)value, count - 1);
    return false;
}

// The lane that holds a chunk's indices, and their first bit in its register.
static unsigned lane_of(const cj_sparse *s, unsigned row, unsigned chunk, unsigned *shift) {
    const unsigned part = chunk / chunks_of_lane(s->bits), first = s->selector * lanes_of_quad(s->bits, s->k);
    const unsigned quad = row % HALF * QUAD + first, lower = row / HALF;
    *shift = chunk % chunks_of_lane(s->bits) * CHUNK_BITS;
    if (s->bits < 16) return quad + 2 * part + lower;
    *shift += 16 * lower;
    return quad + part;
}

static bool are_indices(const cj_sparse *s, unsigned first, unsigned second) {
    if (s->bits == 32) return second == first + 1 && first % 2 == 0;
    return s->ordered ? first < second : first != second;
}

// Where an element of a row is in tiles; rows have `k` elements there.
static unsigned place(const cj_sparse *s, unsigned k, unsigned row, unsigned at) {
    return cj__tile_place(32 / s->bits, k, row, at);
}

// Spreads the elements of a chunk with these indices: a pair for each index if they have 4 bits, both by the first index
// if they have 32. `at`: its first element of k.
static void spread_chunk(const cj_sparse *s, unsigned row, unsigned at, unsigned first, unsigned second,
                         const double *stored, double *a) {
    const unsigned each = s->bits == 4 ? 2 : 1, count = s->bits == 32 ? 1 : 2 * each;
    for (unsigned i = 0; i < count; i++) {
        const unsigned index = i < each ? first : second, to = s->bits == 32 ? index / 2 : index * each + i % each;
        a[place(s, s->k, row, at + to)] = stored[place(s, s->k / 2, row, at / 2 + i)];
    }
}

bool cj__sparse_spread(cj_cpu_warp *w, const cj_cpu_op *op, const cj_sparse *s, uint32_t slot, const double *stored,
                       double *a) {
    const lane_u32 *metadata = (const lane_u32 *)(const void *)(w->file + slot);
    const unsigned  chunks = chunks_of(s->bits, s->k), length = s->k / chunks;
    memset(a, 0, ROWS * s->k * sizeof *a);
    for (unsigned i = 0; i < ROWS * chunks; i++) {
        unsigned       shift;
        const unsigned lane = lane_of(s, i / chunks, i % chunks, &shift);
        const unsigned indices = metadata[lane] >> shift & 0xf, first = indices & 3, second = indices >> 2;
        if (!are_indices(s, first, second)) {
            cj__cpu_hazard(w, op, lane, CJ_HAZARD_SPARSE_METADATA,
                           "bits %u to %u of its metadata, 0x%x, name no elements of row %u, columns %u to %u", shift,
                           shift + CHUNK_BITS - 1, indices, i / chunks, i % chunks * length,
                           i % chunks * length + length - 1);
            return false;
        }
        spread_chunk(s, i / chunks, i % chunks * length, first, second, stored, a);
    }
    return true;
}
