// SPDX-License-Identifier: Apache-2.0
// histogram: what all of its kernels begin with: a block's bins and counters, and the samples as they lie in memory.
#include "histogram.h"

void cj__histogram_bins(histogram_kernel *k) {
    cj_func       *f = k->f;
    const unsigned pool = k->layout.pool;
    k->thread = cj_mov(f, "u32", "thread", "%tid.x");
    cj_step(f, pool == 1 ? "this block has all bins" : "this block's bins, [first, first + own), and their counts");
    k->out = cj__load_pointer(f, k->counts, "out");
    if (pool == 1) {
        k->own = cj_mov(f, "u32", "own", k->binning.bins);
        return;
    }
    k->first = cj_mov(f, "u32", "first", k->cluster && !k->layout.set ? "%cluster_ctarank" : "%ctaid.x");
    if (!k->cluster && !k->layout.set) cj_ptx(f, "rem.u32 $1, $1, $2; // the rank in the pool", k->first, pool);
    cj_update(f, k->first, "mul", k->layout.own);
    cj_update(f, k->first, "min", k->binning.bins);
    k->own = cj_min(f, "own", cj_sub(f, "bins_left", k->binning.bins, k->first), k->layout.own);
    k->out = cj_mad_wide(f, "out", k->first, k->count_bytes, k->out);
}

void cj__histogram_zero(histogram_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "all counters are zero");
    k->counter = cj_mov(f, "u32", "counters", "counter");
    cj_reg zero = cj_mov(f, "u32", "zero", 0), end = cj_add(f, "counter_end", k->counter, k->plan->dynamic_shared);
    cj_reg at = cj_mad(f, "at", k->thread, HISTOGRAM_LOAD, k->counter);
    CJ_STRIDE(f, zeroed, at, k->plan->block.x * HISTOGRAM_LOAD, end)
    cj_ptx(f, "st.shared.v4.u32 [$1], {$2, $2, $2, $2};", zeroed, zero);
}

// ---- samples

cj_span cj__histogram_whole(const histogram_kernel *k) {
    cj_step(k->f, "all of x is [begin, end) in bytes; its aligned part is [body, tail)");
    cj_reg begin = cj__load_pointer(k->f, k->x, "begin");
    cj_reg n = cj_let(k->f, "u64", "n", "ld.param.u64 $1, [$2];", k->n);
    return cj__span(k->f, begin, cj_mad(k->f, "end", n, k->dtype->bytes, begin), HISTOGRAM_LOAD);
}

histogram_edge cj__histogram_load_edge(const histogram_kernel *k, cj_reg number, cj_reg from, cj_reg to) {
    cj_reg         at = cj_mad_wide(k->f, "at", number, k->dtype->bytes, from);
    histogram_edge e = {.inside = cj_lt(k->f, "inside_edge", at, to)};
    e.value = cj__load_value(k->f, e.inside, cj__load_given(k->plan), k->dtype->load, k->dtype->reg, "edge", at);
    return e;
}

void cj__histogram_count_edge(const histogram_kernel *k, const histogram_edge *edge) {
    CJ_IF(k->f, edge->inside, "no_element") cj__histogram_count_one(k, edge->value);
}

void cj__histogram_load(const histogram_kernel *k, cj_reg when, const cj_reg *vector, cj_reg at, unsigned offset) {
    cj__load(k->f, when, cj__load_given(k->plan), k->dtype->reg, vector, HISTOGRAM_WORDS, at, offset);
}
