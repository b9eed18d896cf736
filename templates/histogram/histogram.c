// SPDX-License-Identifier: Apache-2.0
// histogram: adds to counts[b] how many of x[0..n) fall into bin b.
//
// Algorithm. Blocks form pools: a cluster is a pool, and without clusters as many neighbours as it takes. Each pool
// has an equal slice of x (whole cache lines). Each rank of a pool owns a part of the bins, and each block has counters
// for its own bins only, in its own shared memory: no block counts in another block's memory, for a remote atomic costs
// many times what reading x again from the L2 cache does. Every block of a pool therefore reads the pool's whole slice, 16
// bytes a load, and skips the samples of other ranks; the pool's blocks run together, so that HBM is read once. L2 does
// not bound a pool: on an H200 a pool of two reads equal samples, which take hardly an atomic, at HBM speed.
//
//   x: | slice of pool 0 | slice of pool 1 | …                          global
//        every block of the pool reads all of it
//   counter[own bins of rank 0]   counter[own bins of rank 1]   …       shared, of each block
//        red.global.add
//   counts[bins]                                                        global
//
// That is strategy=owner. strategy=remote is the CUDA programming guide's, for comparison: each block of a cluster reads a
// slice of its own, and adds to the counter of the block that owns the bin, in that block's shared memory (mapa,
// red.shared::cluster). x is read once, but remote additions bound the kernel.
//
//   x: | slice of block 0 | slice of block 1 | …                        global
//        each block reads its own
//   counter[own bins of rank 0]   counter[own bins of rank 1]   …       distributed shared, by every block of the cluster
//
// result=set (set.c) overwrites the counts, in a launch alone where result=add wants a fill before: for few samples, of which all
// blocks read all. memory=global (global.c) adds each sample in global memory: for samples too few to clear and to read that many
// counters in shared memory.
//
// Counters are as wide as there is room for: 32 bits, or 16, 10, 8 or 4, several in a word, so that fewer blocks make
// a pool. count.c says how narrow counters stay exact, and what becomes of many equal samples.
//
// Barriers, and why each is needed and enough:
//   B1  bar.sync: the counters are zero before any thread counts.
//   B2  bar.sync: all threads have counted before the counters are read.
// strategy=owner: blocks access no shared memory but their own, so that a cluster needs no barrier. strategy=remote: both are
// cluster barriers, whose arrivals release. B1 then also says that every block has started before any adds to its counters; after
// B2 each block reads its own counters alone, so that any block may exit.
#include "histogram.h"

static const cj_param_info params[] = {
#define PARAM(id, ...) [HISTOGRAM_##id] = {__VA_ARGS__},
#include "params.def"
};

enum { UNROLL_MAX = 8, WARP = 32 };  // the most loads in flight a thread

// Loads in flight a thread: narrow counters keep an SM to one block, so that more are needed; their lines are many, so
// that a tile has at most 32 samples a thread, and 28 where 64 registers shall do for wide counts, too.
static unsigned unroll_of(const histogram_kernel *k) {
    if (!cj__histogram_is_narrow(k)) return HISTOGRAM_WIDE_FLIGHT;
    return HISTOGRAM_NARROW_FLIGHT * k->dtype->bytes - (k->count_bytes == 8 && k->dtype->bytes == 4);
}

static void write_head(const histogram_kernel *k, cj_builder *b) {
    const cj_plan *plan = k->plan;
    cj_head(b,
            "clusterjit: histogram  dtype=%s bins=%" PRIu64
            " lower=%.9g upper=%.9g counts=%s block=%u cluster=%u width=%u%s\n",
            CJ_PARAM_WORD(plan, "dtype"), plan->params.value[HISTOGRAM_BINS], cj_params_real(&plan->params, "lower"),
            cj_params_real(&plan->params, "upper"), CJ_PARAM_WORD(plan, "counts"), plan->block.x, k->cluster,
            k->layout.width.bits, k->layout.remote ? " strategy=remote" : "");
    if (k->layout.remote) {
        cj_head(b, "  slice of x, a block --16-byte loads-->  its threads");
        cj_head(b,
                "  each bin            --red.shared::cluster->  counter of its owner, %" PRIu64
                " of 32 bits   (each block)",
                k->layout.own);
    } else if (k->layout.global) {
        cj_head(b, "  x                   --16-byte loads-->  all threads");
        cj_head(b, "  each bin            --red.global----->  counts\n");
    } else {
        cj_head(b, k->layout.set ? "  all of x            --16-byte loads-->  every block (%u)"
                                 : "  slice of x, a pool  --16-byte loads-->  every block of the pool (%u)", k->layout.pool);
        cj_head(b, "  its own bins        --shared atomics->  counter, %" PRIu64 " of %u bits   (each block)",
                k->layout.own, k->layout.width.bits);
    }
    if (!k->layout.global)
        cj_head(b, "  counter             --%s.global----->  counts\n", k->layout.set ? "st-" : "red");
    const char *grid = k->layout.set ? "" : k->layout.global ? "at least " : "any multiple of ";
    cj_head(b, "Launch: block %u threads%s; grid %s%u; %u bytes of dynamic shared memory.", plan->block.x,
            k->cluster ? ", as a cluster launch" : "", grid, k->layout.pool, plan->dynamic_shared);
    cj_head(b, k->layout.set ? "The kernel overwrites counts."
                             : "The kernel adds to counts: they are zero before it, or hold what is added to.");
}

static void declare(histogram_kernel *k) {
    k->x = cj_param(k->f, "u64", "x", "x[n], aligned to the element");
    k->counts = cj_param(k->f, "u64", "counts", k->layout.set ? "counts[bins]" : "counts[bins], added to");
    k->n = cj_param(k->f, "u64", "n", "elements");
    cj_param(k->f, "u64", "workspace", "not used");
    cj__registers(k->plan, k->f, HISTOGRAM_REGISTERS, k->count_bytes == 8);
}

// ---- reading

// Its elements: ceil(n / slices), rounded up to cache lines.
static cj_reg slice_length(const histogram_kernel *k, cj_reg n, cj_reg slices) {
    const unsigned in_line = HISTOGRAM_LINE / k->dtype->bytes;
    cj_reg         count = cj_cvt(k->f, "u64", "slices", slices);
    cj_reg         above = cj_sub(k->f, "above", cj_add(k->f, "above", n, count), 1);
    cj_reg         length = cj_add(k->f, "length", cj_div(k->f, "length", above, count), in_line - 1);
    return cj_and(k->f, "slice", length, -(int)in_line);
}

static cj_span emit_slice(const histogram_kernel *k) {
    cj_func    *f = k->f;
    const bool  by_cluster = k->cluster && !k->layout.remote;
    const char *whose = k->layout.remote ? "block" : "pool";
    cj_step(f, "a slice is ceil(n / %ss) elements, rounded up to cache lines", whose);
    cj_reg x = cj_let(f, "u64", "x", "ld.param.u64 $1, [$2];", k->x);
    cj_reg n = cj_let(f, "u64", "n", "ld.param.u64 $1, [$2];", k->n);
    x = cj_let(f, "u64", "x", "cvta.to.global.u64 $1, $2;", x);
    cj_reg number = cj__group_number(f, whose, by_cluster ? k->cluster : 0);
    cj_reg slices = cj_mov(f, "u32", "grid", cj__group_count(by_cluster));
    if (!k->cluster && k->layout.pool > 1) {
        number = cj_div(f, whose, number, k->layout.pool);
        slices = cj_div(f, "pools", slices, k->layout.pool);
    }
    cj_reg length = slice_length(k, n, slices);
    cj_step(f, "the %s's slice, [begin, end) in bytes; its aligned part is [body, tail)", whose);
    cj_reg first = cj_min(f, "first_element", cj_mul(f, "first_element", cj_cvt(f, "u64", whose, number), length), n);
    cj_reg last = cj_min(f, "last_element", cj_add(f, "last_element", first, length), n);
    cj_reg begin = cj_mad(f, "begin", first, k->dtype->bytes, x);
    return cj__span(f, begin, cj_mad(f, "end", last, k->dtype->bytes, x), HISTOGRAM_LOAD);
}

// Elements before the first or after the last vector: fewer than threads, one each.
static void emit_edge(const histogram_kernel *k, cj_reg from, cj_reg to) {
    cj_reg at = cj_mad_wide(k->f, "at", k->thread, k->dtype->bytes, from);
    CJ_UNLESS(k->f, cj_ge(k->f, "out_of_bounds", at, to), "no_element") {
        cj__histogram_count_one(k,
                                cj_let(k->f, k->dtype->reg, "value", "ld.global.nc.$3 $1, [$2];", at, k->dtype->load));
    }
}

// Returns where the last tile begins, of which some threads have fewer vectors.
static cj_reg emit_tiles(const histogram_kernel *k, const cj_span *s, cj_reg (*v)[HISTOGRAM_WORDS]) {
    cj_func       *f = k->f;
    const unsigned unroll = unroll_of(k), stride = k->plan->block.x * HISTOGRAM_LOAD;
    cj_step(f, "body: tiles of %u vectors a thread, neighbours of a warp's, so that sorted samples come in long runs",
            unroll);
    cj_reg lane = cj_and(f, "lane", k->thread, WARP - 1);
    cj_reg place = cj_mad(f, "place", cj_sub(f, "warp_place", k->thread, lane), unroll, lane);
    cj_reg at = cj_mad_wide(f, "at", place, HISTOGRAM_LOAD, s->body),
           tile = cj_let(f, "u64", "tile", "mov.b64 $1, $2;", s->body);
    cj_reg end = cj_add(f, "tile_end", tile, unroll * stride);
    CJ_UNLESS(f, cj_gt(f, "no_tile", end, s->tail), "remainder") {
        CJ_DO(f, "next_tile", cj_le(f, "more", end, s->tail)) {
            for (unsigned u = 0; u < unroll; u++) cj__histogram_load(k, cj_always(), v[u], at, u * WARP * HISTOGRAM_LOAD);
            cj_note(f, "all loads are on their way before the first is counted");
            cj_ptx(f, "mov.b64 $1, $2;", tile, end);
            cj_update(f, at, "add", unroll * stride);
            cj_update(f, end, "add", unroll * stride);
            for (unsigned u = 0; u < unroll; u++) cj__histogram_count_vector(k, v[u], true, cj_always());
        }
        cj_step(f, "the vectors of the last tile, of which some threads have fewer");
    }
    return tile;
}

static void emit_body(const histogram_kernel *k, const cj_span *s) {
    cj_reg v[UNROLL_MAX][HISTOGRAM_WORDS];
    cj_registers(k->f, k->dtype->reg, "v", unroll_of(k) * HISTOGRAM_WORDS, v[0]);
    cj_reg tile = emit_tiles(k, s, v), at = cj_mad_wide(k->f, "at", k->thread, HISTOGRAM_LOAD, tile);
    CJ_STRIDE(k->f, remainder, at, k->plan->block.x * HISTOGRAM_LOAD, s->tail) {
        cj__histogram_load(k, cj_always(), v[0], remainder, 0);
        cj__histogram_count_vector(k, v[0], false, cj_always());
    }
}

// Each thread hands every block.x-th bin to its count, so that neighbours write neighbours.
static void emit_flush(const histogram_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "every count that is not 0 goes to global memory");
    cj__sync(f, k->layout.remote, "B2: every block has counted its samples", "B2: all samples are counted");
    CJ_STRIDE(f, bin, cj_mov(f, "u32", "i", k->thread), k->plan->block.x, k->own) {
        const histogram_place place = cj__histogram_place(k, bin);
        cj_reg                count = cj_let(f, "u32", "count", "ld.shared.u32 $1, [$2];", place.word);
        if (cj__histogram_is_narrow(k)) {
            cj_reg low = cj_let(f, "u32", "count", "shf.r.wrap.b32 $1, $2, 0, $3;", count, place.shift);
            count = cj_and(f, "count", low, cj__histogram_field_mask(k));
        }
        cj__histogram_put(k, cj_ne(f, "some", count, 0), bin, count);
    }
}

// A pool reads a slice, into shared memory.
static void emit_slices(histogram_kernel *k) {
    cj__histogram_bins(k);
    cj__histogram_zero(k);
    cj__sync(k->f, k->layout.remote, "B1: every block's are, and each has started", "B1: they are");
    const cj_span s = emit_slice(k);
    if (cj__histogram_is_narrow(k)) cj__histogram_run_begin(k);
    cj_step(k->f, "the first threads count the elements before and after the vectors");
    emit_edge(k, s.begin, s.body);
    emit_edge(k, s.tail, s.end);
    emit_body(k, &s);
    if (cj__histogram_is_narrow(k)) {
        cj_step(k->f, "what the warp counted of its last single bin");
        cj__histogram_run_end(k);
    }
    emit_flush(k);
}

static void emit_histogram(const cj_plan *plan, cj_builder *b) {
    histogram_kernel k = {.plan = plan,
                          .dtype = cj__histogram_dtype(plan),
                          .cluster = plan->cluster.x,
                          .count_bytes = plan->params.value[HISTOGRAM_COUNTS] ? 8 : 4,
                          .count_type = plan->params.value[HISTOGRAM_COUNTS] ? "u64" : "u32"};
    cj__histogram_binning(plan, &k.binning, NULL);
    k.layout = cj__histogram_layout(plan);
    write_head(&k, b);
    if (!k.layout.global) cj_declare(b, ".extern .shared .align 16 .b8 counter[];");
    k.f = cj__entry(plan, b);
    declare(&k);
    (k.layout.set ? cj__histogram_set : k.layout.global ? cj__histogram_global : emit_slices)(&k);
    cj_ptx(k.f, "ret;");
}

const cj_family cj__family_histogram = {CJ_FAMILY("histogram", "how many samples fall into each of equal bins", params,
                                                  cj__histogram_plan, emit_histogram)};
