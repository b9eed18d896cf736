// SPDX-License-Identifier: Apache-2.0
#include "sparse.h"

#include "exec.h"

enum { ROWS = 16, QUAD = 4, CHUNK_BITS = 4, HALF = 8 };  // CHUNK_BITS: metadata of a chunk; HALF: rows of a half

// Chunks of a row, and how many of them a lane has.
static unsigned chunks_of(unsigned bits, unsigned k) { return bits == 32 ? k / 2 : bits == 4 ? k / 8 : k / 4; }
static unsigned chunks_of_lane(unsigned bits) { return bits >= 16 ? 4 : 8; }

// How many lanes of a quad hold indices of one row; how many hold any.
static unsigned lanes_of_row(unsigned bits, unsigned k) { return chunks_of(bits, k) / chunks_of_lane(bits); }
static unsigned lanes_of_quad(unsigned bits, unsigned k) { return lanes_of_row(bits, k) * (bits >= 16 ? 1 : 2); }

static bool are_indices(const cj_sparse *s, unsigned first, unsigned second) {
    if (s->bits == 32) return second == first + 1 && first % 2 == 0;
    return s->ordered ? first < second : first != second;
}

bool cj__sparse_select(cj_cpu_prepare *p, unsigned selector, const cj_product *product, cj_sparse *s) {
    const uint64_t   value = p->inst->operand[selector].bits;
    const cj_tiling *t = &product->tiling;
    const unsigned   bits = product->a_type->bits, k = product->shape.k, lanes = lanes_of_quad(bits, k);
    *s = (cj_sparse){.bits = bits, .k = k, .selector = (unsigned)value, .ordered = cj__cpu_has(p, CJ_W_SPARSE_ORDERED)};
    s->tiles = (cj_tile_sparse){t->panel.rows, t->stored, (uint16_t)(value * lanes), 0, bits < 16};
    for (unsigned i = 0; i < 1 << CHUNK_BITS; i++) s->tiles.valid |= (uint16_t)(are_indices(s, i & 3, i >> 2) << i);
    const unsigned rows = t->panel.rows, chunks = t->panel.chunks;
    for (unsigned i = 0; i < rows * chunks; i++) s->place[i] = (i % rows * chunks + i / rows) * CJ_TILE_BYTES;
    if (value < QUAD / lanes) return true;
    cj__cpu_refuse(p, CJ_INVALID_KERNEL, "%s: the sparsity selector is %llu; it goes from 0 to %u", p->mnemonic->text,
                   (unsigned long long)value, QUAD / lanes - 1);
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

// Reports the first chunk whose indices are invalid.
static void report(cj_cpu_warp *w, const cj_cpu_op *op, const cj_sparse *s, const lane_u32 *metadata) {
    const unsigned chunks = chunks_of(s->bits, s->k), length = s->k / chunks;
    unsigned       i = 0, shift, indices, lane;
    do {
        lane = lane_of(s, i / chunks, i % chunks, &shift);
        indices = metadata[lane] >> shift & 0xf;
        i++;
    } while (s->tiles.valid >> indices & 1);
    i--;
    cj__cpu_hazard(w, op, lane, CJ_HAZARD_SPARSE_METADATA,
                   "bits %u to %u of its metadata, 0x%x, name no elements of row %u, columns %u to %u", shift,
                   shift + CHUNK_BITS - 1, indices, i / chunks, i % chunks * length, i % chunks * length + length - 1);
}

bool cj__sparse_spread(cj_cpu_warp *w, const cj_cpu_op *op, const cj_sparse *s, const cj_tiling *t, uint32_t metadata,
                       cj_tile_registers stored, uint32_t *words) {
    const lane_u32 *indices = (const lane_u32 *)(const void *)(w->file + metadata);
    if (t->set->spread(&s->tiles, indices, stored, words)) return true;
    report(w, op, s, indices);
    return false;
}
