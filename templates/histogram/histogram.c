// SPDX-License-Identifier: Apache-2.0
// histogram: adds to counts[b] how many of x[0..n) fall into bin b.
//
// Algorithm. Blocks form pools: a cluster is a pool, and without clusters as many neighbours as it takes. Each pool
// has an equal slice of x (whole cache lines). The bins are dealt out over the ranks of a pool, and each block has
// counters for its own bins only, in its own shared memory, so that nothing is ever counted in another block's
// memory: a remote atomic costs many times what reading x again from the L2 cache does. Every block of a pool
// therefore reads the pool's whole slice, 16 bytes a load, and passes over what belongs to others; the pool's blocks
// run together, so that HBM is read once. L2 is not what bounds a pool: on an H200, equal samples, which take hardly
// an atomic, pass through a pool of two at HBM speed.
//
//   x: | slice of pool 0 | slice of pool 1 | …                          global
//        every block of the pool reads all of it
//   counter[own bins of rank 0]   counter[own bins of rank 1]   …       shared, of each block
//        red.global.add
//   counts[bins]                                                        global
//
// So it is with strategy=owner. With strategy=remote it is as in the CUDA programming guide, for comparison: each block of
// a cluster reads a share of its own, and adds to the counter of the block that has the bin, in that one's shared memory
// (mapa, red.shared::cluster). x is read once, but a remote addition is what all waits for.
//
//   x: | slice of block 0 | slice of block 1 | …                        global
//        each block reads its own
//   counter[own bins of rank 0]   counter[own bins of rank 1]   …       distributed shared, by every block of the cluster
//
// Counters are as wide as there is room for: 32 bits, or 16, 10, 8 or 4, several in a word, so that fewer blocks make
// a pool. A narrow counter wraps. Exactly one thread sees that it does, for the atomic addition returns the word
// before it and all additions to a word have one order: it adds 2^width to the bin's count in global memory. The
// carry has then gone into the next counter of the word, which the thread takes back in global memory too (-1, and
// where that counter wrapped with it, 2^width more, and so on up to the word's end). Sums are exact whatever the
// schedule: nothing is corrected in shared memory.
//
// Equal bins side by side (constant or sorted data) would serialize narrow counters. A warp that has loaded one bin
// only counts it in a register until the bin changes; one in which at least half of the lanes seem to hold one bin
// each adds for all lanes of a bin together, in global memory. 32-bit counters need no such care: the hardware counts
// equal addresses of a warp at once.
//
// Barriers, and why each is needed and enough:
//   B1  bar.sync: the counters are zero before any thread counts.
//   B2  bar.sync: all threads have counted before the counters are read.
// Blocks touch no shared memory but their own: a cluster's blocks need no barrier among them. With remote counters they
// do, so both are cluster barriers, whose arrivals release: B1 says, too, that every block has started, and B2, behind which
// each block reads its own counters alone, lets every block exit.
#include <inttypes.h>
#include <stdio.h>

#include <clusterjit/cluster.h>

#include "histogram.h"

// The most loads in flight a thread, samples counted at once.
enum { UNROLL_MAX = 8, BATCH = 4, WARP = 32 };

// What the steps share.
typedef struct kernel {
    const cj_plan            *plan;
    const cj_histogram_dtype *dtype;
    cj_func                  *f;
    cj_binning                binning;
    cj_binning_regs           binning_regs;
    cj_histogram_layout       layout;
    unsigned                  cluster, count_bytes;  // blocks, 0: without; bytes of a count
    const char               *count_type;
    cj_var                    x, counts, n;
    cj_reg thread, counter, first, own, out;  // counter: address; first, own: this block's bins; out: their counts
    cj_reg body, tail, begin, end;            // addresses: the slice is [begin, end), its vectors [body, tail)
    cj_reg value, bin[BATCH], owned[BATCH], word[BATCH], field[BATCH], old[BATCH];
    cj_reg amount, at_count, wide_amount;
    cj_reg rank;                                                   // of remote counters: their block's
    cj_reg lane, lanes, common, same, alike, run_bin, run_length;  // of narrow counters
} kernel;

static bool is_narrow(const kernel *k) { return k->layout.width.in_word > 1; }

// Loads in flight a thread: narrow counters keep an SM to one block, so that more are needed; their lines are many, so
// that a tile has at most 32 samples a thread, and 28 where 64 registers shall do for wide counts, too.
static unsigned unroll_of(const kernel *k) {
    if (!is_narrow(k)) return UNROLL_MAX / 2;
    return 2 * k->dtype->bytes - (k->count_bytes == 8 && k->dtype->bytes == 4);
}

static unsigned log2_of(unsigned power) {
    unsigned log2 = 0;
    while (power >>= 1) log2++;
    return log2;
}

static void write_head(const kernel *k, cj_builder *b) {
    const cj_plan *plan = k->plan;
    char           type[8], counts[8];
    cj_head(b,
            "clusterjit: histogram  dtype=%s bins=%" PRIu64
            " lower=%.9g upper=%.9g counts=%s block=%u cluster=%u width=%u%s",
            cj_params_word(&plan->params, "dtype", type, sizeof type), plan->params.value[HISTOGRAM_BINS],
            cj_params_real(&plan->params, "lower"), cj_params_real(&plan->params, "upper"),
            cj_params_word(&plan->params, "counts", counts, sizeof counts), plan->block.x, k->cluster,
            k->layout.width.bits, k->layout.remote ? " strategy=remote" : "");
    cj_head(b, "%s", "");
    if (k->layout.remote) {
        cj_head(b, "  slice of x, a block --16-byte loads-->  its threads");
        cj_head(b,
                "  each bin            --red.shared::cluster->  counter of its owner, %" PRIu64
                " of 32 bits   (each block)",
                k->layout.own);
    } else {
        cj_head(b, "  slice of x, a pool  --16-byte loads-->  every block of the pool (%u)", k->layout.pool);
        cj_head(b, "  its own bins        --shared atomics->  counter, %" PRIu64 " of %u bits   (each block)",
                k->layout.own, k->layout.width.bits);
    }
    cj_head(b, "  counter             --red.global----->  counts");
    cj_head(b, "%s", "");
    cj_head(b, "Launch: block %u threads%s; grid any multiple of %u; %u bytes of dynamic shared memory.", plan->block.x,
            k->cluster ? ", as a cluster launch" : "", k->layout.pool, plan->dynamic_shared);
    cj_head(b, "The kernel adds to counts: they are zero before it, or hold what is added to.");
}

static void declare(kernel *k) {
    enum { REGISTERS = 80 };
    cj_func *f = k->f;
    k->x = cj_param(f, "u64", "x", "x[n], aligned to the element");
    k->counts = cj_param(f, "u64", "counts", "counts[bins], added to");
    k->n = cj_param(f, "u64", "n", "elements");
    cj_param(f, "u64", "workspace", "not used");
    cj_block(f, k->plan->block.x, 1, 1);
    cj__registers(k->plan, f, REGISTERS, k->count_bytes == 8);
    if (k->cluster) cj_cluster(f, k->cluster, 1, 1);
}

// The block's bins: [first, first + own), and where their counts are.
static void emit_bins(kernel *k) {
    cj_func       *f = k->f;
    const unsigned pool = k->layout.pool;
    k->thread = cj_u32(f, "thread");
    k->own = cj_u32(f, "own");
    k->out = cj_u64(f, "out");
    cj_ptx(f, "mov.u32 $1, %tid.x;", k->thread);
    cj_step(f, pool == 1 ? "this block has all bins" : "this block's bins, [first, first + own), and their counts");
    cj_ptx(f, "ld.param.u64 $1, [$2];", k->out, k->counts);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", k->out);
    if (pool == 1) {
        cj_ptx(f, "mov.u32 $1, $2;", k->own, k->binning.bins);
        return;
    }
    k->first = cj_u32(f, "first");
    cj_ptx(f, "mov.u32 $1, %$2;", k->first, k->cluster ? "cluster_ctarank" : "ctaid.x");
    if (!k->cluster) cj_ptx(f, "rem.u32 $1, $1, $2; // the rank in the pool", k->first, pool);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", k->first, k->layout.own);
    cj_ptx(f, "min.u32 $1, $1, $2;", k->first, k->binning.bins);
    cj_ptx(f, "sub.u32 $1, $2, $3;", k->own, k->binning.bins, k->first);
    cj_ptx(f, "min.u32 $1, $1, $2;", k->own, k->layout.own);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", k->out, k->first, k->count_bytes);
}

static void emit_zero(kernel *k) {
    cj_func *f = k->f;
    cj_reg   at = cj_u32(f, "at"), end = cj_u32(f, "counter_end"), past = cj_pred(f, "past"), zero = cj_u32(f, "zero");
    cj_label next = cj_label_new(f, "next_zero"), done = cj_label_new(f, "zeroed");
    k->counter = cj_u32(f, "counters");
    cj_step(f, "all counters are zero");
    cj_ptx(f, "mov.u32 $1, counter;", k->counter);
    cj_ptx(f, "mov.u32 $1, 0;", zero);
    cj_ptx(f, "add.u32 $1, $2, $3;", end, k->counter, k->plan->dynamic_shared);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", at, k->thread, HISTOGRAM_LOAD, k->counter);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, at, end);
    cj_ptx(f, "@$1 bra $2;", past, done);
    cj_ptx(f, "st.shared.v4.u32 [$1], {$2, $2, $2, $2};", at, zero);
    cj_ptx(f, "add.u32 $1, $1, $2;", at, k->plan->block.x * HISTOGRAM_LOAD);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, done);
    if (k->layout.remote)
        cj_cluster_sync(f, "B1: every block's are, and each has started");
    else
        cj_ptx(f, "bar.sync 0; // B1: they are");
}

static void emit_slice(kernel *k) {
    cj_func       *f = k->f;
    const unsigned in_line = HISTOGRAM_LINE / k->dtype->bytes;
    cj_reg         x = cj_u64(f, "x"), n = cj_u64(f, "n"), slice = cj_u64(f, "slice"),
           count = cj_u64(f, k->layout.remote ? "blocks" : "pools");
    cj_reg pool = cj_u32(f, k->layout.remote ? "block" : "pool"), pools = cj_u32(f, "grid");
    k->begin = cj_u64(f, "begin");
    k->end = cj_u64(f, "end");
    k->body = cj_u64(f, "body");
    k->tail = cj_u64(f, "tail");
    const bool by_cluster = k->cluster && !k->layout.remote;
    cj_step(f, "a slice is ceil(n / %s) elements, rounded up to cache lines", k->layout.remote ? "blocks" : "pools");
    cj_ptx(f, "ld.param.u64 $1, [$2];", x, k->x);
    cj_ptx(f, "ld.param.u64 $1, [$2];", n, k->n);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", x);
    cj_ptx(f, "mov.u32 $1, %$2;", pool, by_cluster ? "clusterid.x" : "ctaid.x");
    cj_ptx(f, "mov.u32 $1, %$2;", pools, by_cluster ? "nclusterid.x" : "nctaid.x");
    if (!k->cluster && k->layout.pool > 1) {
        cj_ptx(f, "div.u32 $1, $1, $2;", pool, k->layout.pool);
        cj_ptx(f, "div.u32 $1, $1, $2;", pools, k->layout.pool);
    }
    cj_ptx(f, "cvt.u64.u32 $1, $2;", count, pools);
    cj_ptx(f, "add.u64 $1, $2, $3;", slice, n, count);
    cj_ptx(f, "sub.u64 $1, $1, 1;", slice);
    cj_ptx(f, "div.u64 $1, $1, $2;", slice, count);
    cj_ptx(f, "add.u64 $1, $1, $2;", slice, in_line - 1);
    cj_ptx(f, "and.b64 $1, $1, $2;", slice, -(int)in_line);

    cj_step(f, k->layout.remote ? "the block's slice, [begin, end) in bytes; its aligned part is [body, tail)"
                                : "the pool's slice, [begin, end) in bytes; its aligned part is [body, tail)");
    cj_ptx(f, "cvt.u64.u32 $1, $2;", k->begin, pool);
    cj_ptx(f, "mul.lo.u64 $1, $1, $2;", k->begin, slice);
    cj_ptx(f, "min.u64 $1, $1, $2;", k->begin, n);
    cj_ptx(f, "add.u64 $1, $2, $3;", k->end, k->begin, slice);
    cj_ptx(f, "min.u64 $1, $1, $2;", k->end, n);
    cj_ptx(f, "mad.lo.u64 $1, $1, $2, $3;", k->begin, k->dtype->bytes, x);
    cj_ptx(f, "mad.lo.u64 $1, $1, $2, $3;", k->end, k->dtype->bytes, x);
    cj_ptx(f, "add.u64 $1, $2, $3;", k->body, k->begin, HISTOGRAM_LOAD - 1);
    cj_ptx(f, "and.b64 $1, $1, $2;", k->body, -HISTOGRAM_LOAD);
    cj_ptx(f, "min.u64 $1, $1, $2;", k->body, k->end);
    cj_ptx(f, "and.b64 $1, $2, $3;", k->tail, k->end, -HISTOGRAM_LOAD);
    cj_ptx(f, "max.u64 $1, $1, $2;", k->tail, k->body);
}

// ---- counting

static cj_reg numbered(cj_func *f, const char *type, const char *name, unsigned i) {
    char text[24];
    snprintf(text, sizeof text, "%s%u", name, i);
    return cj_register(f, type, text);
}

static void declare_counting(kernel *k) {
    cj_func *f = k->f;
    cj__binning_declare(&k->binning, f, &k->binning_regs);
    k->value = cj_register(f, k->dtype->reg, "value");
    if (k->layout.remote) k->rank = cj_u32(f, "owner");
    k->at_count = cj_u64(f, "at_count");
    if (k->count_bytes == 8) k->wide_amount = cj_u64(f, "wide_amount");
    for (unsigned i = 0; i < BATCH; i++) {
        k->bin[i] = numbered(f, "u32", "bin", i);
        k->owned[i] = numbered(f, "pred", "owned", i);
        k->word[i] = numbered(f, "u32", "word", i);
        if (!is_narrow(k)) continue;
        k->field[i] = numbered(f, "u32", "field", i);
        k->old[i] = numbered(f, "u32", "old", i);
    }
    if (!is_narrow(k)) return;
    k->amount = cj_u32(f, "amount");
    k->same = cj_pred(f, "same");
    k->alike = cj_pred(f, "alike");
    k->lanes = cj_u32(f, "lanes");
    k->common = cj_u32(f, "common");
    k->lane = cj_u32(f, "lane");
    k->run_bin = cj_u32(f, "run_bin");
    k->run_length = cj_u32(f, "run_length");
    cj_ptx(f, "and.b32 $1, $2, 31;", k->lane, k->thread);
    cj_ptx(f, "mov.u32 $1, 0;", k->run_bin);
    cj_ptx(f, "mov.u32 $1, 0;", k->run_length);
}

// bin[i] = the bin of a sample among this block's own; any other number from `own` on where it is not. With remote
// counters, among all.
static void emit_bin(kernel *k, unsigned i, cj_reg sample) {
    cj__binning_write(&k->binning, k->f, &k->binning_regs, k->bin[i], sample);
    if (k->layout.pool > 1 && !k->layout.remote) cj_ptx(k->f, "sub.u32 $1, $1, $2;", k->bin[i], k->first);
}

// Sample i of a vector loaded as words.
static cj_reg sample_of(kernel *k, const cj_reg *vector, unsigned i) {
    const unsigned bytes = k->dtype->bytes, in_word = 4 / bytes;
    if (bytes == 4) return vector[i];
    cj_ptx(k->f, "bfe.u32 $1, $2, $3, $4;", k->value, vector[i / in_word], i % in_word * 8 * bytes, 8 * bytes);
    return k->value;
}

static unsigned field_mask(const kernel *k) { return (unsigned)((UINT64_C(1) << k->layout.width.bits) - 1); }

static void add_wide(kernel *k, unsigned i) {
    cj_ptx(k->f, "setp.lt.u32 $1, $2, $3;", k->owned[i], k->bin[i], k->own);
    cj_ptx(k->f, "mad.lo.u32 $1, $2, 4, $3;", k->word[i], k->bin[i], k->counter);
    cj_ptx(k->f, "@$1 red.shared.add.u32 [$2], 1;", k->owned[i], k->word[i]);
}

// One more in the counter of the bin, in the memory of the block that has it.
static void add_remote(kernel *k, unsigned i) {
    cj_func *f = k->f;
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", k->owned[i], k->bin[i], k->binning.bins);
    cj_ptx(f, "div.u32 $1, $2, $3; // the rank of its block", k->rank, k->bin[i], k->layout.own);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", k->bin[i], k->rank, -(int)k->layout.own);
    cj_ptx(f, "mad.lo.u32 $1, $2, 4, $3;", k->word[i], k->bin[i], k->counter);
    cj_ptx(f, "@$1 mapa.shared::cluster.u32 $2, $2, $3;", k->owned[i], k->word[i], k->rank);
    cj_dsmem_red(f, k->owned[i], "add", "u32", k->word[i], 0, CJ_ARG(1));
}

// Where the counter of `bin` is: the address of its word, and how far its field lies above bit 0, modulo 32.
static void emit_place(kernel *k, cj_reg word, cj_reg shift, cj_reg bin) {
    cj_func                 *f = k->f;
    const cj_histogram_width width = k->layout.width;
    if (width.in_word == 3) {
        cj_ptx(f, "mul.hi.u32 $1, $2, $3; // bin / 3", word, bin, UINT32_MAX / 3 + 1);
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", shift, word, -3, bin);
        cj_ptx(f, "mul.lo.u32 $1, $1, $2;", shift, width.bits);
    } else {
        cj_ptx(f, "shr.u32 $1, $2, $3;", word, bin, log2_of(width.in_word));
        cj_ptx(f, "shl.b32 $1, $2, $3;", shift, bin, log2_of(width.bits));
    }
    cj_ptx(f, "mad.lo.u32 $1, $1, 4, $2;", word, k->counter);
}

// One more in the bin's field of its word. field[i] is all ones there; word[i] becomes 0 where the field wrapped.
static void add_narrow(kernel *k, unsigned i) {
    cj_func *f = k->f;
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", k->owned[i], k->bin[i], k->own);
    emit_place(k, k->word[i], k->field[i], k->bin[i]);
    cj_ptx(f, "shf.l.wrap.b32 $1, 0, 1, $2;", k->amount, k->field[i]);
    cj_ptx(f, "shf.l.wrap.b32 $1, 0, $2, $1;", k->field[i], field_mask(k));
    cj_ptx(f, "mov.u32 $1, 0;", k->old[i]);
    cj_ptx(f, "@$1 atom.shared.add.u32 $2, [$3], $4;", k->owned[i], k->old[i], k->word[i], k->amount);
}

static void find_wrap(kernel *k, unsigned i) {
    cj_ptx(k->f, "not.b32 $1, $2;", k->word[i], k->old[i]);
    cj_ptx(k->f, "and.b32 $1, $1, $2;", k->word[i], k->field[i]);
}

// Counts in global memory what wrapped, bin by bin up to where the carry ends.
static void settle_wrap(kernel *k, unsigned i) {
    cj_func                 *f = k->f;
    const cj_histogram_width width = k->layout.width;
    const char              *type = k->count_type;
    cj_label                 next = cj_label_new(f, "carry"), done = cj_label_new(f, "settled");
    cj_reg                   ends = k->owned[i];
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", ends, k->word[i]);
    cj_ptx(f, "@$1 bra $2;", ends, done);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", k->at_count, k->bin[i], k->count_bytes, k->out);
    cj_label_here(f, next);
    cj_ptx(f, "red.global.add.$1 [$2], $3;", type, k->at_count, field_mask(k) + 1);
    cj_ptx(f, "add.u32 $1, $1, 1;", k->bin[i]);
    cj_ptx(f, "rem.u32 $1, $2, $3;", k->amount, k->bin[i], width.in_word);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", ends, k->amount);
    cj_ptx(f, "@$1 bra $2; // the carry has left the word", ends, done);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", ends, k->bin[i], k->own);
    cj_ptx(f, "@$1 bra $2; // it went where no bin is", ends, done);
    cj_ptx(f, "add.u64 $1, $1, $2;", k->at_count, k->count_bytes);
    cj_ptx(f, "red.global.add.$1 [$2], $3;", type, k->at_count,
           k->count_bytes == 8 ? "0xffffffffffffffff" : "0xffffffff");
    cj_ptx(f, "shl.b32 $1, $1, $2;", k->field[i], width.bits);
    find_wrap(k, i);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", ends, k->word[i]);
    cj_ptx(f, "@$1 bra $2;", ends, next);
    cj_label_here(f, done);
}

// Adds samples 0 to count - 1, of which bin[] holds the bins. All additions are on their way before the first is looked
// at.
static void emit_adds(kernel *k, unsigned count) {
    cj_func *f = k->f;
    if (!is_narrow(k)) {
        for (unsigned i = 0; i < count; i++) (k->layout.remote ? add_remote : add_wide)(k, i);
        return;
    }
    cj_label none = cj_label_new(f, "no_wrap");
    for (unsigned i = 0; i < count; i++) add_narrow(k, i);
    for (unsigned i = 0; i < count; i++) find_wrap(k, i);
    cj_ptx(f, "mov.b32 $1, $2;", k->amount, k->word[0]);
    for (unsigned i = 1; i < count; i++) cj_ptx(f, "min.u32 $1, $1, $2;", k->amount, k->word[i]);
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", k->same, k->amount);
    cj_ptx(f, "@$1 bra $2;", k->same, none);
    for (unsigned i = 0; i < count; i++) settle_wrap(k, i);
    cj_label_here(f, none);
}

// counts[bin] += amount, where `when` holds.
static void emit_count(kernel *k, cj_reg when, cj_reg bin, cj_reg amount) {
    cj_func *f = k->f;
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", k->at_count, bin, k->count_bytes, k->out);
    if (k->count_bytes == 8) cj_ptx(f, "cvt.u64.u32 $1, $2;", k->wide_amount, amount);
    cj_ptx(f, "@$1 red.global.add.$2 [$3], $4;", when, k->count_type, k->at_count,
           k->count_bytes == 8 ? k->wide_amount : amount);
}

// Hands what the warp has counted of one bin to its count.
static void emit_run_end(kernel *k) {
    cj_ptx(k->f, "setp.ne.u32 $1, $2, 0;", k->same, k->run_length);
    cj_ptx(k->f, "setp.eq.and.u32 $1, $2, 0, $1;", k->same, k->lane);
    emit_count(k, k->same, k->run_bin, k->run_length);
}

// Counts the samples of the whole warp, 0 to count - 1 of each lane, where they come in long runs, and goes to
// `counted`; else falls through, and so do lanes with more than one bin in a warp of runs.
static void emit_runs(kernel *k, unsigned count, cj_label counted) {
    cj_func *f = k->f;
    cj_label various = cj_label_new(f, "various"), mixed = cj_label_new(f, "mixed"),
             goes_on = cj_label_new(f, "run_goes_on");
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", k->alike, k->bin[0], k->bin[1]);
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", k->lanes, k->alike);
    cj_ptx(f, "popc.b32 $1, $2;", k->common, k->lanes);
    cj_ptx(f, "setp.lt.u32 $1, $2, $3;", k->same, k->common, WARP / 2);
    cj_ptx(f, "@$1 bra $2;", k->same, various);
    for (unsigned i = 2; i < count; i++) cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $1;", k->alike, k->bin[i], k->bin[0]);
    cj_ptx(f, "shfl.sync.idx.b32 $1, $2, 0, 31, 0xffffffff;", k->common, k->bin[0]);
    cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $4;", k->same, k->bin[0], k->common, k->alike);
    cj_ptx(f, "vote.sync.all.pred $1, $1, 0xffffffff;", k->same);
    cj_ptx(f, "@!$1 bra $2;", k->same, mixed);
    cj_note(f, "one bin: the warp's run");
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", k->same, k->common, k->own);
    cj_ptx(f, "@$1 bra $2;", k->same, counted);
    cj_ptx(f, "setp.eq.u32 $1, $2, $3;", k->same, k->common, k->run_bin);
    cj_ptx(f, "@$1 bra $2;", k->same, goes_on);
    emit_run_end(k);
    cj_ptx(f, "mov.b32 $1, $2;", k->run_bin, k->common);
    cj_ptx(f, "mov.u32 $1, 0;", k->run_length);
    cj_label_here(f, goes_on);
    cj_ptx(f, "add.u32 $1, $1, $2;", k->run_length, WARP * count);
    cj_ptx(f, "bra $1;", counted);
    cj_label_here(f, mixed);
    cj_note(f, "few bins: the first lane of each adds for all lanes that hold nothing else");
    cj_ptx(f, "vote.sync.ballot.b32 $1, $2, 0xffffffff;", k->lanes, k->alike);
    cj_ptx(f, "@!$1 bra $2;", k->alike, various);
    cj_ptx(f, "match.any.sync.b32 $1, $2, $1;", k->lanes, k->bin[0]);
    cj_ptx(f, "mov.u32 $1, %lanemask_lt;", k->common);
    cj_ptx(f, "and.b32 $1, $1, $2;", k->common, k->lanes);
    cj_ptx(f, "setp.eq.u32 $1, $2, 0;", k->same, k->common);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", k->same, k->bin[0], k->own);
    cj_ptx(f, "popc.b32 $1, $2;", k->amount, k->lanes);
    cj_ptx(f, "mul.lo.u32 $1, $1, $2;", k->amount, count);
    emit_count(k, k->same, k->bin[0], k->amount);
    cj_ptx(f, "bra $1;", counted);
    cj_label_here(f, various);
}

// Counts a vector, a batch of samples at a time; `whole` where all lanes of the warp are here.
static void emit_vector(kernel *k, const cj_reg *vector, bool whole) {
    const unsigned samples = HISTOGRAM_LOAD / k->dtype->bytes;
    for (unsigned i = 0; i < samples; i += BATCH) {
        cj_label counted = is_narrow(k) && whole ? cj_label_new(k->f, "counted") : (cj_label){0};
        for (unsigned j = 0; j < BATCH; j++) emit_bin(k, j, sample_of(k, vector, i + j));
        if (counted.id) emit_runs(k, BATCH, counted);
        emit_adds(k, BATCH);
        if (counted.id) cj_label_here(k->f, counted);
    }
}

// ---- reading

static void load_vector(kernel *k, const cj_reg *v, cj_reg at, unsigned offset) {
    cj_ptx(k->f, "ld.global.nc.v4.$1 {$2, $3, $4, $5}, [$6 + $7];", k->dtype->reg, v[0], v[1], v[2], v[3], at, offset);
}

// Elements before the first or behind the last vector: fewer than threads, one each.
static void emit_edge(kernel *k, cj_reg at, cj_reg from, cj_reg to) {
    cj_func *f = k->f;
    cj_reg   past = cj_pred(f, "past");
    cj_label none = cj_label_new(f, "no_element");
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, k->thread, k->dtype->bytes, from);
    cj_ptx(f, "setp.ge.u64 $1, $2, $3;", past, at, to);
    cj_ptx(f, "@$1 bra $2;", past, none);
    cj_ptx(f, "ld.global.nc.$1 $2, [$3];", k->dtype->load, k->value, at);
    emit_bin(k, 0, k->value);
    emit_adds(k, 1);
    cj_label_here(f, none);
}

static void emit_body(kernel *k, cj_reg at) {
    cj_func       *f = k->f;
    const unsigned stride = k->plan->block.x * HISTOGRAM_LOAD, unroll = unroll_of(k);
    cj_reg   v[UNROLL_MAX][4], tile = cj_u64(f, "tile"), tile_end = cj_u64(f, "tile_end"), more = cj_pred(f, "more");
    cj_reg   lane = cj_u32(f, "lane"), place = cj_u32(f, "place");
    cj_label next = cj_label_new(f, "next_tile"), rest = cj_label_new(f, "rest"), one = cj_label_new(f, "next_one");
    cj_label done = cj_label_new(f, "body_done");
    for (unsigned u = 0; u < unroll; u++)
        for (unsigned i = 0; i < 4; i++) {
            char name[16];
            snprintf(name, sizeof name, "v%u%c", u, "xyzw"[i]);
            v[u][i] = cj_register(f, k->dtype->reg, name);
        }
    cj_step(f, "body: tiles of %u vectors a thread, neighbours of a warp's, so that sorted samples come in long runs",
            unroll);
    cj_ptx(f, "and.b32 $1, $2, 31;", lane, k->thread);
    cj_ptx(f, "sub.u32 $1, $2, $3;", place, k->thread, lane);
    cj_ptx(f, "mad.lo.u32 $1, $1, $2, $3;", place, unroll, lane);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, place, HISTOGRAM_LOAD, k->body);
    cj_ptx(f, "mov.b64 $1, $2;", tile, k->body);
    cj_ptx(f, "add.u64 $1, $2, $3;", tile_end, tile, unroll * stride);
    cj_ptx(f, "setp.gt.u64 $1, $2, $3;", more, tile_end, k->tail);
    cj_ptx(f, "@$1 bra $2;", more, rest);
    cj_label_here(f, next);
    for (unsigned u = 0; u < unroll; u++) load_vector(k, v[u], at, u * WARP * HISTOGRAM_LOAD);
    cj_note(f, "all loads are on their way before the first is counted");
    cj_ptx(f, "mov.b64 $1, $2;", tile, tile_end);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, unroll * stride);
    cj_ptx(f, "add.u64 $1, $1, $2;", tile_end, unroll * stride);
    for (unsigned u = 0; u < unroll; u++) emit_vector(k, v[u], true);
    cj_ptx(f, "setp.le.u64 $1, $2, $3;", more, tile_end, k->tail);
    cj_ptx(f, "@$1 bra $2;", more, next);

    cj_step(f, "the vectors of the last tile, of which some threads have fewer");
    cj_label_here(f, rest);
    cj_ptx(f, "mad.wide.u32 $1, $2, $3, $4;", at, k->thread, HISTOGRAM_LOAD, tile);
    cj_label_here(f, one);
    cj_ptx(f, "setp.ge.u64 $1, $2, $3;", more, at, k->tail);
    cj_ptx(f, "@$1 bra $2;", more, done);
    load_vector(k, v[0], at, 0);
    emit_vector(k, v[0], false);
    cj_ptx(f, "add.u64 $1, $1, $2;", at, stride);
    cj_ptx(f, "bra $1;", one);
    cj_label_here(f, done);
}

// Each thread hands every block.x-th bin to its count, so that neighbours write neighbours.
static void emit_flush(kernel *k) {
    cj_func *f = k->f;
    cj_reg   i = cj_u32(f, "i"), word = cj_u32(f, "word"), shift = cj_u32(f, "shift"), count = cj_u32(f, "count");
    cj_reg   past = cj_pred(f, "past"), some = cj_pred(f, "some");
    cj_label next = cj_label_new(f, "next_bin"), done = cj_label_new(f, "done");
    cj_step(f, "every count that is not 0 goes to global memory");
    if (k->layout.remote)
        cj_cluster_sync(f, "B2: every block has counted its samples");
    else
        cj_ptx(f, "bar.sync 0; // B2: all samples are counted");
    cj_ptx(f, "mov.u32 $1, $2;", i, k->thread);
    cj_label_here(f, next);
    cj_ptx(f, "setp.ge.u32 $1, $2, $3;", past, i, k->own);
    cj_ptx(f, "@$1 bra $2;", past, done);
    emit_place(k, word, shift, i);
    cj_ptx(f, "ld.shared.u32 $1, [$2];", count, word);
    if (is_narrow(k)) {
        cj_ptx(f, "shf.r.wrap.b32 $1, $1, 0, $2;", count, shift);
        cj_ptx(f, "and.b32 $1, $1, $2;", count, field_mask(k));
    }
    cj_ptx(f, "setp.ne.u32 $1, $2, 0;", some, count);
    emit_count(k, some, i, count);
    cj_ptx(f, "add.u32 $1, $1, $2;", i, k->plan->block.x);
    cj_ptx(f, "bra $1;", next);
    cj_label_here(f, done);
    cj_ptx(f, "ret;");
}

static void emit_histogram(const cj_plan *plan, cj_builder *b) {
    const uint64_t *value = plan->params.value;
    kernel          k = {.plan = plan,
                         .dtype = cj__histogram_dtype(plan),
                         .cluster = plan->cluster.x,
                         .count_bytes = value[HISTOGRAM_COUNTS] ? 8 : 4,
                         .count_type = value[HISTOGRAM_COUNTS] ? "u64" : "u32"};
    cj__binning_make(&k.binning, k.dtype->sample, value[HISTOGRAM_BINS], cj_params_real(&plan->params, "lower"),
                     cj_params_real(&plan->params, "upper"), NULL);
    k.layout = cj__histogram_layout(plan);
    write_head(&k, b);
    cj_declare(b, ".extern .shared .align 16 .b8 counter[];");
    k.f = cj_entry(b, plan->entry);
    declare(&k);
    emit_bins(&k);
    emit_zero(&k);
    emit_slice(&k);
    declare_counting(&k);
    cj_reg at = cj_u64(k.f, "at");
    cj_step(k.f, "the first threads count the elements before and behind the vectors");
    emit_edge(&k, at, k.begin, k.body);
    emit_edge(&k, at, k.tail, k.end);
    emit_body(&k, at);
    if (is_narrow(&k)) {
        cj_step(k.f, "what the warp counted of its last single bin");
        emit_run_end(&k);
    }
    emit_flush(&k);
}

const cj_family cj__family_histogram = {
    .name = "histogram",
    .summary = "how many samples fall into each of equal bins",
    .param = cj__histogram_params,
    .param_count = HISTOGRAM_PARAMS,
    .plan = cj__histogram_plan,
    .emit = emit_histogram,
};
