// SPDX-License-Identifier: Apache-2.0
#include "wgmma_parts.h"

#include "chunks.h"

static void watch_chunks(cj_cpu_wgmma *const *part, unsigned count, const uint32_t *at, unsigned chunks) {
    const cj_watch_use    use = {.flags = CJ_USE_READ | CJ_USE_ASYNC_PROXY};
    const cj_watch_async *async[CJ_WGMMA_WARPS];
    cj_watch_piece        run[CJ_CHUNKS_MAX];
    if (!part[0]->w->watch) return;
    for (unsigned i = 0; i < count; i++) async[i] = &part[i]->watch;
    cj__watch_async_together(async, count, use, run, cj__chunks_runs(at, chunks, run));
}

// The tiles of a part's A, as it is stored.
static unsigned stored_tiles(const cj_tiling *t) { return 0u + t->panel.rows * t->stored; }

// Finds the chunks of the parts' A in memory: at once, if the warps follow each other and have one descriptor; else, and if some chunk is
// out of bounds, one warp after the other, so that a report names the right one.
static bool find_a(cj_cpu_wgmma *const *part, unsigned count, uint32_t *at) {
    const cj_wgmma_plan *plan = part[0]->op->plan;
    const cj_tiling     *t = &plan->product.tiling;
    const unsigned       rows = t->panel.rows, warp = part[0]->w->index % CJ_WGMMA_WARPS;
    const cj_chunks      all = {plan->a_by_k, warp * rows, count * rows, t->stored};
    bool                 alike = true;
    for (unsigned i = 1; i < count; i++)
        alike = alike && part[i]->a == part[0]->a && part[i]->w->index == part[0]->w->index + i;
    if (alike && cj__chunks_are_inside(part[0]->w->block, t->set, part[0]->a, &all, at)) return true;
    for (unsigned i = 0; i < count; i++, at += stored_tiles(t) * CJ_TILE) {
        const cj_chunks own = {plan->a_by_k, part[i]->w->index % CJ_WGMMA_WARPS * rows, rows, t->stored};
        if (!cj__chunks_find(part[i]->w, part[i]->op, t->set, part[i]->a, &own, at)) return false;
    }
    return true;
}

// The words of the parts' A in memory, as registers hold them: tile after tile, of a line those of all chunks.
static bool read_words(cj_cpu_wgmma *const *part, unsigned count, uint32_t *words) {
    const cj_wgmma_plan *plan = part[0]->op->plan;
    const cj_tiling     *t = &plan->product.tiling;
    const unsigned       tiles = stored_tiles(t);
    uint32_t             at[CJ_TILES_READ_MAX * CJ_TILE];
    if (!find_a(part, count, at)) return false;
    for (unsigned i = 0; i < count; i++) watch_chunks(&part[i], 1, at + i * tiles * CJ_TILE, tiles * CJ_TILE);
    cj__chunks_read(part[0]->w->block, t->set, plan->a_by_k, at, count * tiles, words);
    return true;
}

// The words of the parts' sparse A, spread; `stored`: those of A in memory.
static bool spread_words(cj_cpu_wgmma *const *part, unsigned count, uint32_t *stored, uint32_t *words) {
    const cj_wgmma_plan *plan = part[0]->op->plan;
    const cj_tiling     *t = &plan->product.tiling;
    const unsigned       tiles = 0u + t->panel.rows * t->panel.chunks;
    for (unsigned i = 0; i < count; i++, words += tiles * CJ_TILE_WORDS) {
        const cj_cpu_wgmma     *it = part[i];
        const cj_tile_registers in_memory = {(unsigned char *)(stored + i * stored_tiles(t) * CJ_TILE_WORDS),
                                             plan->stored_place};
        const cj_tile_registers in_file = {it->w->file, it->op->slot + plan->a_at};
        const uint32_t          metadata = it->op->slot[plan->metadata_at];
        if (!cj__sparse_spread(it->w, it->op, &plan->sparse, t, metadata, plan->a_in_memory ? in_memory : in_file,
                               words))
            return false;
    }
    return true;
}

// The parts' A as tiles, those of one part after those of another.
static bool read_a(cj_cpu_wgmma *const *part, unsigned count, double *a) {
    const cj_wgmma_plan     *plan = part[0]->op->plan;
    const cj_tiling         *t = &plan->product.tiling;
    const unsigned           tiles = 0u + t->panel.rows * t->panel.chunks, of_a = tiles * cj__tiling_numbers(t);
    CJ_TILE_ALIGNED uint32_t word[CJ_TILES_READ_MAX * CJ_TILE_WORDS], dense[CJ_TILES_READ_MAX * CJ_TILE_WORDS];
    if (plan->a_in_memory && !read_words(part, count, word)) return false;
    if (plan->metadata_at && !spread_words(part, count, word, dense)) return false;
    if (plan->metadata_at || plan->a_in_memory)
        cj__tile_read_words(t->a->read_a, plan->metadata_at ? dense : word, count * tiles, a);
    else
        for (unsigned i = 0; i < count; i++)
            cj__product_get_a(part[i]->w, part[i]->op->slot + plan->a_at, &plan->product, a + i * of_a);
    for (unsigned i = 0; plan->sign < 0 && i < count * of_a; i++) a[i] = -a[i];
    return true;
}

// D of one panel.
static void multiply_panel(cj_cpu_wgmma *const *part, unsigned count, unsigned panel, const double *a,
                           const double *b) {
    const cj_wgmma_plan *plan = part[0]->op->plan;
    const cj_tiling     *t = &plan->product.tiling;
    cj_tile_registers    c[CJ_WGMMA_WARPS], d[CJ_WGMMA_WARPS];
    for (unsigned i = 0; i < count; i++) {
        d[i] = (cj_tile_registers){part[i]->w->file, part[i]->op->slot + panel * plan->product.d.registers};
        c[i] = part[i]->adds ? d[i] : (cj_tile_registers){0};
    }
    t->set->multiply(&t->panel, count, a, b, c, d);
}

bool cj__wgmma_execute(cj_cpu_wgmma *const *part, unsigned count) {
    const cj_cpu_wgmma      *first = part[0];
    const cj_wgmma_plan     *plan = first->op->plan;
    const cj_tiling         *t = &plan->product.tiling;
    const cj_chunks          wanted = {plan->b_by_k, 0, plan->panels, t->panel.chunks};
    const unsigned           chunks = 0u + t->panel.chunks * CJ_WGMMA_PANEL;
    CJ_TILE_ALIGNED double   a[CJ_WGMMA_WARPS * CJ_A_MAX], b[CJ_B_MAX];
    CJ_TILE_ALIGNED uint32_t word[CJ_PANEL_TILES_MAX * CJ_TILE_WORDS];
    uint32_t                 at[CJ_CHUNKS_MAX];
    if (!read_a(part, count, a) || !cj__chunks_find(first->w, first->op, t->set, first->b, &wanted, at)) return false;
    watch_chunks(part, count, at, plan->panels * chunks);
    for (unsigned panel = 0; panel < plan->panels; panel++) {
        cj__chunks_read(first->w->block, t->set, plan->b_by_k, at + panel * chunks, t->panel.chunks, word);
        cj__tile_read_words(t->b->read_b, word, t->panel.chunks, b);
        multiply_panel(part, count, panel, a, b);
    }
    for (unsigned i = 0; i < count; i++) part[i]->done = true;
    return true;
}
