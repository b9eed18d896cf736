// SPDX-License-Identifier: Apache-2.0
// histogram, memory=global: each sample is added to its count in global memory, by red.global.
//
//   x[n]          global   each vector of 16 bytes is read by one thread
//        red.global.add
//   counts[bins]  global
//
// No shared memory, and no barrier. The L2 cache adds to one address about once a clock, so equal bins side by side are added
// together: by the warp, as where counters are narrow (count.c). Warps stay whole for that; lanes without a vector hold no bin.
#include "histogram.h"

enum { WARP = 32 };

static void emit_vectors(const histogram_kernel *k, cj_reg number, const cj_span *s) {
    cj_func *f = k->f;
    cj_reg   v[HISTOGRAM_WORDS];
    cj_step(f, "the warp's vectors, one a lane; the next ones follow after those of all warps of the grid");
    cj_registers(f, k->dtype->reg, "v", HISTOGRAM_WORDS, v);
    for (unsigned w = 0; w < HISTOGRAM_WORDS; w++) cj_ptx(f, "mov.b32 $1, 0;", v[w]);
    cj_reg blocks = cj_mov(f, "u32", "blocks", "%nctaid.x");
    cj_reg stride = cj_mul_wide(f, "stride", blocks, k->plan->block.x * HISTOGRAM_LOAD);
    cj_reg first = cj_sub(f, "warp_first", number, k->lane);
    cj_reg at = cj_mad_wide(f, "warp_at", first, HISTOGRAM_LOAD, s->body);
    CJ_STRIDE(f, row, at, stride, s->tail) {
        cj_reg vector = cj_mad_wide(f, "vector", k->lane, HISTOGRAM_LOAD, row), inside = cj_lt(f, "inside", vector, s->tail);
        cj__histogram_load(k, inside, v, vector, 0);
        cj__histogram_count_vector(k, v, true, inside);
    }
}

void cj__histogram_global(histogram_kernel *k) {
    cj__histogram_bins(k);
    const cj_span s = cj__histogram_whole(k);
    cj_step(k->f, "the first threads of the grid load an element before and after the vectors");
    cj_reg number = cj_mad(k->f, "number", cj_mov(k->f, "u32", "number", "%ctaid.x"), k->plan->block.x, k->thread);
    const histogram_edge head = cj__histogram_load_edge(k, number, s.begin, s.body);
    const histogram_edge last = cj__histogram_load_edge(k, number, s.tail, s.end);
    cj__histogram_run_begin(k);
    emit_vectors(k, number, &s);
    cj_step(k->f, "what the warp counted of its last single bin, and those elements");
    cj__histogram_run_end(k);
    cj__histogram_count_edge(k, &head);
    cj__histogram_count_edge(k, &last);
}
