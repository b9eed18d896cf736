// SPDX-License-Identifier: Apache-2.0
// histogram: how samples are counted in shared memory.
//
// Counters of 32 bits, the block's own or those of a block of the cluster, are added to by one instruction. Narrow ones (16, 10, 8
// or 4 bits, several in a word) wrap. Exactly one thread sees that a field wraps, for the atomic addition returns the word before it
// and all additions to a word have one order: it adds 2^width to the bin's count in global memory. The carry has then gone
// into the next counter of the word, which the thread takes back in global memory too (-1, and where that counter wrapped with
// it, 2^width more, and so on up to the word's end). Sums are exact whatever the schedule: nothing is corrected in shared
// memory.
//
// Equal bins side by side (constant or sorted data) would serialize narrow counters. A warp that has loaded one bin only
// counts it in a register until the bin changes; one in which at least half of the lanes seem to hold one bin each adds for
// all lanes of a bin together, in global memory. 32-bit counters need no such care: the hardware counts equal addresses of a
// warp at once.
#include "histogram.h"

enum { WARP = 32 };

// A sample that is counted. narrow: the word before, and all ones in the counter's field of it.
typedef struct sample {
    cj_reg bin, old, field, wrapped;
} sample;

// The number among this block's bins, any other from `own` on where it is not one of them; with remote counters, among all.
static cj_reg bin_of(const histogram_kernel *k, cj_reg value) {
    cj_reg bin = cj__binning_write(&k->binning, k->f, value);
    if (k->layout.pool > 1 && !k->layout.remote) cj_update(k->f, bin, "sub", k->first);
    return bin;
}

// ---- wide counters

static void add_wide(const histogram_kernel *k, cj_reg bin) {
    cj_reg owned = cj_lt(k->f, "owned", bin, k->own);
    cj_ptx(k->f, "@$1 red.shared.add.u32 [$2], 1;", owned, cj_mad(k->f, "word", bin, 4, k->counter));
}

// One more in the counter of the bin, in the memory of the block that has it.
static void add_remote(const histogram_kernel *k, cj_reg bin) {
    cj_func *f = k->f;
    cj_reg   owned = cj_lt(f, "owned", bin, k->binning.bins), rank = cj_div(f, "owner", bin, k->layout.own);
    cj_reg   own = cj_mad(f, "own_bin", rank, -(int)k->layout.own, bin), word = cj_mad(f, "word", own, 4, k->counter);
    cj_ptx(f, "@$1 mapa.shared::cluster.u32 $2, $2, $3;", owned, word, rank);
    cj_dsmem_red(f, owned, "add", "u32", word, 0, CJ_ARG(1));
}

// One more in the count itself.
static void add_global(const histogram_kernel *k, cj_reg bin) {
    cj_reg owned = cj_lt(k->f, "owned", bin, k->own), at = cj_mad_wide(k->f, "at_count", bin, k->count_bytes, k->out);
    cj_ptx(k->f, "@$1 red.global.add.$3 [$2], 1;", owned, at, k->count_type);
}

// ---- narrow counters

histogram_place cj__histogram_place(const histogram_kernel *k, cj_reg bin) {
    const cj_histogram_width width = k->layout.width;
    histogram_place          p;
    if (width.in_word == 3) {
        p.word = cj_let(k->f, "u32", "word", "mul.hi.u32 $1, $2, $3; // bin / 3", bin, UINT32_MAX / 3 + 1);
        p.shift = cj_mul(k->f, "shift", cj_mad(k->f, "in_word", p.word, -3, bin), width.bits);
    } else {
        p.word = cj_shr(k->f, "word", bin, cj__log2(width.in_word));
        if (width.in_word > 1) p.shift = cj_shl(k->f, "shift", bin, cj__log2(width.bits));
    }
    p.word = cj_mad(k->f, "word", p.word, 4, k->counter);
    return p;
}

// One more in the bin's field of its word.
static sample add_narrow(const histogram_kernel *k, cj_reg bin) {
    sample                s = {.bin = bin};
    cj_reg                owned = cj_lt(k->f, "owned", bin, k->own);
    const histogram_place p = cj__histogram_place(k, bin);
    cj_reg                one = cj_let(k->f, "u32", "one", "shf.l.wrap.b32 $1, 0, 1, $2;", p.shift);
    s.field = cj_let(k->f, "u32", "field", "shf.l.wrap.b32 $1, 0, $2, $3;", cj__histogram_field_mask(k), p.shift);
    s.old = cj_mov(k->f, "u32", "old", 0);
    cj_ptx(k->f, "@$1 atom.shared.add.u32 $2, [$3], $4;", owned, s.old, p.word, one);
    return s;
}

// 0 where the field of the sample wrapped.
static cj_reg find_wrap(const histogram_kernel *k, const sample *s) {
    return cj_and(k->f, "wrapped", cj_let(k->f, "u32", "not_old", "not.b32 $1, $2;", s->old), s->field);
}

// Counts in global memory what wrapped, bin by bin up to where the carry ends.
static void settle_wrap(const histogram_kernel *k, const sample *s) {
    cj_func    *f = k->f;
    const char *type = k->count_type, *minus_one = k->count_bytes == 8 ? "0xffffffffffffffff" : "0xffffffff";
    CJ_ONCE(f, settle, "settled") {
        cj_leave(&settle, cj_ne(f, "no_wrap", s->wrapped, 0));
        cj_reg at = cj_mad_wide(f, "at_count", s->bin, k->count_bytes, k->out);
        CJ_DO(f, "carry", cj_eq(f, "more", find_wrap(k, s), 0)) {
            cj_ptx(f, "red.global.add.$1 [$2], $3;", type, at, cj__histogram_field_mask(k) + 1);
            cj_update(f, s->bin, "add", 1);
            cj_leave(&settle, cj_eq(f, "left_word", cj_rem(f, "in_word", s->bin, k->layout.width.in_word), 0));
            cj_leave(&settle, cj_ge(f, "no_bin", s->bin, k->own));
            cj_update(f, at, "add", k->count_bytes);
            cj_ptx(f, "red.global.add.$1 [$2], $3;", type, at, minus_one);
            cj_update(f, s->field, "shl", k->layout.width.bits);
        }
    }
}

// All additions are on their way before the first is looked at.
static void add_all_narrow(const histogram_kernel *k, const cj_reg *bin, unsigned count) {
    sample s[HISTOGRAM_BATCH];
    for (unsigned i = 0; i < count; i++) s[i] = add_narrow(k, bin[i]);
    for (unsigned i = 0; i < count; i++) s[i].wrapped = find_wrap(k, &s[i]);
    cj_reg least = cj_let(k->f, "u32", "least", "mov.b32 $1, $2;", s[0].wrapped);
    for (unsigned i = 1; i < count; i++) cj_update(k->f, least, "min", s[i].wrapped);
    CJ_UNLESS(k->f, cj_ne(k->f, "none_wraps", least, 0), "no_wrap") {
        for (unsigned i = 0; i < count; i++) settle_wrap(k, &s[i]);
    }
}

static void add_all(const histogram_kernel *k, const cj_reg *bin, unsigned count) {
    if (cj__histogram_is_narrow(k))
        add_all_narrow(k, bin, count);
    else
        for (unsigned i = 0; i < count; i++) (k->layout.global   ? add_global
                                                     : k->layout.remote ? add_remote
                                                                        : add_wide)(k, bin[i]);
}

// ---- runs of equal bins, of narrow counters and of those in global memory

void cj__histogram_put(const histogram_kernel *k, cj_reg when, cj_reg bin, cj_reg amount) {
    cj_reg at = cj_mad_wide(k->f, "at_count", bin, k->count_bytes, k->out);
    if (k->count_bytes == 8) amount = cj_cvt(k->f, "u64", "wide_amount", amount);
    cj__store(k->f, when, "red.global.add", k->count_type, &amount, 1, at, 0);
}

void cj__histogram_run_begin(histogram_kernel *k) {
    k->lane = cj_and(k->f, "lane", k->thread, WARP - 1);
    k->run_bin = cj_mov(k->f, "u32", "run_bin", 0);
    k->run_length = cj_mov(k->f, "u32", "run_length", 0);
}

void cj__histogram_run_end(const histogram_kernel *k) {
    cj_reg some = cj_ne(k->f, "some", k->run_length, 0);
    cj_ptx(k->f, "setp.eq.and.u32 $1, $2, 0, $1;", some, k->lane);
    cj__histogram_put(k, some, k->run_bin, k->run_length);
}

// The whole warp has one bin, `common`.
static void count_run(const histogram_kernel *k, cj_reg common, unsigned count, cj_label counted) {
    cj_func *f = k->f;
    cj_note(f, "one bin: the warp's run");
    cj_ptx(f, "@$1 bra $2;", cj_ge(f, "not_owned", common, k->own), counted);
    CJ_UNLESS(f, cj_eq(f, "same_run", common, k->run_bin), "run_goes_on") {
        cj__histogram_run_end(k);
        cj_ptx(f, "mov.b32 $1, $2;", k->run_bin, common);
        cj_set(f, k->run_length, 0);
    }
    cj_update(f, k->run_length, "add", WARP * count);
    cj_ptx(f, "bra $1;", counted);
}

// Lanes for which `alike` holds have one bin each; the others go to `various`.
static void count_alike(const histogram_kernel *k, cj_reg bin, cj_reg alike, unsigned count, cj_label various,
                        cj_label counted) {
    cj_func *f = k->f;
    cj_note(f, "few bins: the first lane of each adds for all lanes that hold nothing else");
    cj_reg lanes = cj_let(f, "u32", "lanes", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", alike);
    cj_ptx(f, "@!$1 bra $2;", alike, various);
    cj_reg same = cj_let(f, "u32", "same_bin", "match.any.sync.b32 $1, $2, $3;", bin, lanes);
    cj_reg before = cj_and(f, "before", cj_mov(f, "u32", "before", "%lanemask_lt"), same);
    cj_reg first = cj_eq(f, "first_lane", before, 0);
    cj_ptx(f, "setp.lt.and.u32 $1, $2, $3, $1;", first, bin, k->own);
    cj_reg all = cj_mul(f, "samples", cj_let(f, "u32", "lanes_of_bin", "popc.b32 $1, $2;", same), count);
    cj__histogram_put(k, first, bin, all);
    cj_ptx(f, "bra $1;", counted);
}

// Counts the samples of the whole warp, bin[0] to bin[count - 1] of each lane, where they come in long runs, and goes to
// `counted`; else falls through, and so do lanes with more than one bin in a warp of runs.
static void count_runs(const histogram_kernel *k, const cj_reg *bin, unsigned count, cj_label counted) {
    cj_func *f = k->f;
    cj_label various = cj_label_new(f, "various"), mixed = cj_label_new(f, "mixed");
    cj_reg   alike = cj_eq(f, "alike", bin[0], bin[1]);
    cj_reg   lanes = cj_let(f, "u32", "lanes", "vote.sync.ballot.b32 $1, $2, 0xffffffff;", alike);
    cj_reg   many = cj_let(f, "u32", "many", "popc.b32 $1, $2;", lanes);
    cj_ptx(f, "@$1 bra $2;", cj_lt(f, "too_few", many, WARP / 2), various);
    for (unsigned i = 2; i < count; i++) cj_ptx(f, "setp.eq.and.u32 $1, $2, $3, $1;", alike, bin[i], bin[0]);
    cj_reg common = cj_let(f, "u32", "common", "shfl.sync.idx.b32 $1, $2, 0, 31, 0xffffffff;", bin[0]);
    cj_reg mine = cj_let(f, "pred", "is_common", "setp.eq.and.u32 $1, $2, $3, $4;", bin[0], common, alike);
    cj_reg one = cj_let(f, "pred", "one_bin", "vote.sync.all.pred $1, $2, 0xffffffff;", mine);
    cj_ptx(f, "@!$1 bra $2;", one, mixed);
    count_run(k, common, count, counted);
    cj_label_here(f, mixed);
    count_alike(k, bin[0], alike, count, various, counted);
    cj_label_here(f, various);
}

// ---- vectors

// Sample i of a vector loaded as words.
static cj_reg sample_of(const histogram_kernel *k, const cj_reg *vector, unsigned i) {
    const unsigned bytes = k->dtype->bytes, in_word = 4 / bytes;
    if (bytes == 4) return vector[i];
    return cj_let(k->f, "u32", "value", "bfe.u32 $1, $2, $3, $4;", vector[i / in_word], i % in_word * 8 * bytes,
                  8 * bytes);
}

void cj__histogram_count_vector(const histogram_kernel *k, const cj_reg *vector, bool whole, cj_reg inside) {
    const unsigned samples = HISTOGRAM_LOAD / k->dtype->bytes;
    const bool     runs = whole && (k->layout.global || cj__histogram_is_narrow(k));  // these are added to one by one
    for (unsigned i = 0; i < samples; i += HISTOGRAM_BATCH) {
        cj_reg   bin[HISTOGRAM_BATCH];
        cj_label counted = cj_label_new(k->f, "counted");
        for (unsigned j = 0; j < HISTOGRAM_BATCH; j++) {
            bin[j] = bin_of(k, sample_of(k, vector, i + j));
            if (!cj_is_always(inside)) cj_ptx(k->f, "selp.u32 $1, $1, 0xffffffff, $2;", bin[j], inside);
        }
        if (runs) count_runs(k, bin, HISTOGRAM_BATCH, counted);
        add_all(k, bin, HISTOGRAM_BATCH);
        cj_label_here(k->f, counted);
    }
}

void cj__histogram_count_one(const histogram_kernel *k, cj_reg value) {
    cj_reg bin = bin_of(k, value);
    add_all(k, &bin, 1);
}
