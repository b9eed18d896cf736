// SPDX-License-Identifier: Apache-2.0
// histogram, result=set: counts that are overwritten, of few samples.
//
// Algorithm. Every block owns a range of bins, and has a counter of 32 bits for each in shared memory. It reads all of x, from the
// L2 cache, counts the samples of its own bins, and writes all of its counts with stores of 16 bytes. No other block
// touches them, so that a launch alone is enough: no fill before it, and no atomic in global memory.
//
//   x[n]                                          global   every block reads all of it
//   counter[own bins]   counter[own bins]   …     shared, of each block
//        st.global.v4
//   counts[bins]                                  global   every block writes its own part
//
// A time of few microseconds consists of latencies, so these overlap: with programmatic dependent launch all that touches no memory of
// others comes before griddepcontrol.wait (counters are cleared, x is prefetched into L2); then up to 4 vectors a thread and
// the elements beside them are loaded before the first is counted.
//
// counts need be aligned to an element only. The counters lie as their counts do within 16 bytes, so that a vector of the one is
// a vector of the other.
//
// Barriers: B1 and B2 of histogram.c.
#include "histogram.h"

static unsigned flight_of(const histogram_kernel *k) {
    const uint64_t bytes = k->plan->params.value[HISTOGRAM_N] * k->dtype->bytes;
    return (unsigned)cj__least(cj__ceil_div(bytes, (uint64_t)k->plan->block.x * HISTOGRAM_LOAD), HISTOGRAM_WIDE_FLIGHT);
}

// One line of x a thread of the grid.
static void emit_prefetch(const histogram_kernel *k, const cj_span *s) {
    if (!k->plan->programmatic) return;
    cj_func *f = k->f;
    cj_step(f, "meanwhile x is fetched into L2: a line by a thread of the grid");
    cj_reg number = cj_mad(f, "number", cj_mov(f, "u32", "number", "%ctaid.x"), k->plan->block.x, k->thread);
    cj_reg line = cj_mad_wide(f, "line", number, HISTOGRAM_LINE, s->begin);
    cj_ptx(f, "@$1 prefetch.global.L2 [$2];", cj_lt(f, "in_x", line, s->end), line);
}

static void emit_vectors(const histogram_kernel *k, const cj_span *s) {
    const unsigned flight = flight_of(k), stride = k->plan->block.x * HISTOGRAM_LOAD;
    cj_func       *f = k->f;
    cj_reg         v[HISTOGRAM_WIDE_FLIGHT][HISTOGRAM_WORDS], inside[HISTOGRAM_WIDE_FLIGHT] = {cj_always()};
    cj_registers(f, k->dtype->reg, "v", flight * HISTOGRAM_WORDS, v[0]);
    cj_reg at = cj_mad_wide(f, "at", k->thread, HISTOGRAM_LOAD, s->body);
    CJ_STRIDE(f, tile, at, flight * stride, s->tail) {
        for (unsigned u = 1; u < flight; u++)
            inside[u] = cj_lt(f, "inside", cj_add(f, "vector", tile, u * stride), s->tail);
        for (unsigned u = 0; u < flight; u++) cj__histogram_load(k, inside[u], v[u], tile, u * stride);
        for (unsigned u = 0; u < flight; u++)
            CJ_IF(f, inside[u], "no_vector") cj__histogram_count_vector(k, v[u], false, cj_always());
    }
}

static void emit_samples(const histogram_kernel *k, const cj_span *s) {
    cj_step(k->f, "the first threads load an element before and after the vectors, all threads their vectors");
    const histogram_edge head = cj__histogram_load_edge(k, k->thread, s->begin, s->body);
    const histogram_edge last = cj__histogram_load_edge(k, k->thread, s->tail, s->end);
    emit_vectors(k, s);
    cj__histogram_count_edge(k, &head);
    cj__histogram_count_edge(k, &last);
}

// ---- counts

// The counter of the count at that address.
static cj_reg counter_of(const histogram_kernel *k, cj_reg at) {
    cj_reg offset = cj_cvt(k->f, "u32", "offset", cj_sub(k->f, "count_offset", at, k->out));
    return cj_add(k->f, "counter_at", k->counter, k->count_bytes == 8 ? cj_shr(k->f, "offset", offset, 1) : offset);
}

// `count` counts at an address: 1, or those of 16 bytes.
static void write_counts(const histogram_kernel *k, cj_reg at, unsigned count) {
    cj_reg value[HISTOGRAM_WORDS];
    cj_registers(k->f, "u32", "count", count, value);
    cj__load(k->f, cj_always(), "ld.shared", "u32", value, count, counter_of(k, at), 0);
    for (unsigned i = 0; k->count_bytes == 8 && i < count; i++) value[i] = cj_cvt(k->f, "u64", "wide_count", value[i]);
    cj__store(k->f, cj_always(), "st.global", k->count_type, value, count, at, 0);
}

static void write_edge(const histogram_kernel *k, cj_reg from, cj_reg to) {
    cj_reg at = cj_mad_wide(k->f, "at_count", k->thread, k->count_bytes, from);
    CJ_IF(k->f, cj_lt(k->f, "inside", at, to), "no_count") write_counts(k, at, 1);
}

// Few vectors a thread are written without a loop, which ptxas would unroll into as many tests as a store takes.
static void emit_counts(const histogram_kernel *k, const cj_span *counts) {
    const unsigned stride = k->plan->block.x * HISTOGRAM_LOAD, in_vector = HISTOGRAM_LOAD / k->count_bytes;
    const uint64_t each = cj__ceil_div(k->layout.own * k->count_bytes, stride);
    cj_step(k->f, "the block's counts go to global memory, 16 bytes a store");
    cj_reg at = cj_mad_wide(k->f, "at_count", k->thread, HISTOGRAM_LOAD, counts->body);
    cj_ptx(k->f, "bar.sync 0; // B2: all samples are counted");
    if (each > HISTOGRAM_WIDE_FLIGHT)
        CJ_STRIDE(k->f, vector, at, stride, counts->tail) write_counts(k, vector, in_vector);
    for (unsigned i = 0; each <= HISTOGRAM_WIDE_FLIGHT && i < each; i++) {
        cj_reg vector = i ? cj_add(k->f, "at_count", at, i * stride) : at;
        CJ_IF(k->f, cj_lt(k->f, "inside", vector, counts->tail), "no_counts") write_counts(k, vector, in_vector);
    }
    write_edge(k, counts->begin, counts->body);
    write_edge(k, counts->tail, counts->end);
}

// The counters move on by as many as the counts begin after a multiple of 16 bytes.
static void align_counters(histogram_kernel *k) {
    cj_step(k->f, "counters lie as their counts do within 16 bytes");
    cj_reg beyond = cj_and(k->f, "beyond", cj_cvt(k->f, "u32", "beyond", k->out), HISTOGRAM_LOAD - 1);
    cj_update(k->f, k->counter, "add", k->count_bytes == 8 ? cj_shr(k->f, "beyond", beyond, 1) : beyond);
}

void cj__histogram_set(histogram_kernel *k) {
    cj__launch_dependents(k->plan, k->f);
    cj__histogram_bins(k);
    cj__histogram_zero(k);
    align_counters(k);
    cj_reg                end = cj_mad_wide(k->f, "counts_end", k->own, k->count_bytes, k->out);
    const cj_span counts = cj__span(k->f, k->out, end, HISTOGRAM_LOAD), x = cj__histogram_whole(k);
    emit_prefetch(k, &x);
    cj_ptx(k->f, "bar.sync 0; // B1: all counters are zero");
    cj__wait_for_launches(k->plan, k->f);
    emit_samples(k, &x);
    emit_counts(k, &counts);
}
