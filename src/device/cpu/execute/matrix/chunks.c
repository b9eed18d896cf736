// SPDX-License-Identifier: Apache-2.0
#include "chunks.h"

#include <string.h>

#include "address.h"

// A matrix descriptor, taken apart: all offsets in bytes. Pattern: 1 << shift chunks, 1 (no swizzle), 2, 4 or 8, are a row of it.
typedef struct descriptor {
    uint32_t        start, leading, stride;
    cj_tile_pattern pattern;
} descriptor;

static descriptor describe(uint64_t bits) {
    static const uint8_t shift[] = {0, 3, 2, 1};
    return (descriptor){.start = (uint32_t)(bits & 0x3fff) * CJ_CHUNK_BYTES,
                        .leading = (uint32_t)(bits >> 16 & 0x3fff) * CJ_CHUNK_BYTES,
                        .stride = (uint32_t)(bits >> 32 & 0x3fff) * CJ_CHUNK_BYTES,
                        .pattern = {shift[bits >> 62], (1u << shift[bits >> 62]) - 1, (uint32_t)(bits >> 49 & 7)}};
}

// The address of the first chunk of a tile, column j of a panel, before swizzling. A panel has 8 by 2 chunks (B with a sparse A: 8 by 4),
// in row i and column j. If by_k, its rows are the panel's lines; else a row is one k of all 8 lines.
static uint32_t first_of(const descriptor *d, bool by_k, unsigned panel, unsigned j) {
    const uint32_t shift = d->pattern.shift, mask = d->pattern.mask;
    if (by_k) return d->start + panel * d->stride + (j >> shift) * d->leading + (j & mask) * CJ_CHUNK_BYTES;
    if (!shift) return d->start + panel * d->stride + j * d->leading;
    return d->start + (panel & mask) * CJ_CHUNK_BYTES + (panel >> shift) * d->leading + j * d->stride;
}

bool cj__chunks_are_inside(const cj_cpu_block *block, const cj_tile_set *set, uint64_t bits, const cj_chunks *wanted,
                           uint32_t *at) {
    const descriptor d = describe(bits);
    uint32_t         first[CJ_CHUNKS_MAX / CJ_TILE];
    unsigned         tiles = 0;
    for (unsigned panel = wanted->first; panel < wanted->first + wanted->panels; panel++) {
        for (unsigned j = 0; j < wanted->tiles; j++) first[tiles++] = first_of(&d, wanted->by_k, panel, j);
    }
    return set->place(&d.pattern, first, tiles, at) + CJ_CHUNK_BYTES <= block->cluster->launch->shared_bytes;
}

bool cj__chunks_find(cj_cpu_warp *w, const cj_cpu_op *op, const cj_tile_set *set, uint64_t bits,
                     const cj_chunks *wanted, uint32_t *at) {
    const cj_cpu_span span = {.bytes = CJ_CHUNK_BYTES, .align = CJ_CHUNK_BYTES};
    if (cj__chunks_are_inside(w->block, set, bits, wanted, at)) return true;
    for (unsigned k = 0; k < wanted->panels * wanted->tiles * CJ_TILE; k++) {
        cj_cpu_spot spot;
        if (at[k] + CJ_CHUNK_BYTES > w->block->cluster->launch->shared_bytes &&
            !cj__cpu_locate(w, op, 0, CJ_W_SHARED_CTA, at[k], span, &spot))
            return false;
    }
    return true;
}

unsigned cj__chunks_runs(const uint32_t *chunk, unsigned chunks, cj_watch_piece run[CJ_CHUNKS_MAX]) {
    enum { BITS = 64, WINDOW = 1 << 18 };
    uint64_t set[WINDOW / CJ_CHUNK_BYTES / BITS] = {0};
    unsigned count = 0, first = WINDOW / CJ_CHUNK_BYTES / BITS, end = 0;
    for (unsigned k = 0; k < chunks; k++) {
        const uint32_t bit = chunk[k] / CJ_CHUNK_BYTES, word = bit / BITS;
        set[word] |= UINT64_C(1) << bit % BITS;
        first = word < first ? word : first;
        end = word < end ? end : word + 1;
    }
    for (uint32_t i = first; i < end; i++) {
        for (uint64_t rest = set[i]; rest; rest &= rest - 1) {
            const uint32_t at = (i * BITS + (uint32_t)__builtin_ctzll(rest)) * CJ_CHUNK_BYTES;
            if (count && run[count - 1].address + run[count - 1].bytes == at)
                run[count - 1].bytes += CJ_CHUNK_BYTES;
            else
                run[count++] = (cj_watch_piece){at, CJ_CHUNK_BYTES};
        }
    }
    return count;
}

// Of 8 chunks, each one k of all 8 lines, of elements of 16 bits.
static void turn_tile(const cj_cpu_block *block, const uint32_t *at, uint32_t word[CJ_TILE_WORDS]) {
    uint16_t half[CJ_TILE][CJ_TILE];
    for (unsigned i = 0; i < CJ_TILE; i++) memcpy(half[i], block->shared + at[i], CJ_CHUNK_BYTES);
    for (unsigned i = 0; i < CJ_TILE_WORDS; i++)
        word[i] = half[i % 4 * 2][i / 4] | (uint32_t)half[i % 4 * 2 + 1][i / 4] << 16;
}

void cj__chunks_read(const cj_cpu_block *block, const cj_tile_set *set, bool by_k, const uint32_t *at, unsigned tiles,
                     uint32_t *words) {
    if (by_k) set->gather(block->shared, at, tiles, words);
    for (unsigned i = 0; !by_k && i < tiles; i++) turn_tile(block, at + i * CJ_TILE, words + i * CJ_TILE_WORDS);
}
