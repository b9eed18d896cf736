// SPDX-License-Identifier: Apache-2.0
// The histogram: how a sample becomes the number of its bin, and what its files share.
#ifndef CJ_TEMPLATES_HISTOGRAM_H
#define CJ_TEMPLATES_HISTOGRAM_H

#include "kit.h"

// What was fitted to a GPU or to ptxas.
#include "constants.def"

// In the order of the words of dtype.
typedef enum cj_sample { CJ_SAMPLE_F32, CJ_SAMPLE_U8, CJ_SAMPLE_U16, CJ_SAMPLE_U32 } cj_sample;

// Equal bins over [lower, upper).
//   integers  bin = floor((x - lower) * bins / (upper - lower)), exactly:
//             = d * whole + floor(d * part / 2^64) with d = x - lower, part = ceil(2^64 * remainder / width), where
//             bins = whole * width + remainder. The error of `part` is below 1, so the quotient is too large by less than
//             d / 2^64 < 1 / width, which no floor of a multiple of 1 / width notices.
//   f32       bin = min(trunc((x - lower) * scale), bins - 1), each operation rounded to nearest, scale the f32 nearest
//             to bins / (upper - lower).
typedef struct cj_binning {
    cj_sample sample;
    uint64_t  bins;
    uint64_t  first, width;  // of integers: lower, and upper - lower
    uint64_t  whole, part;
    float     lower, upper, scale;  // of f32
} cj_binning;

// INVALID_ARGUMENT where the range is empty, beyond the type, or too narrow or wide for f32.
// lower = upper = 0 stands for [0, bins) of integers and [0, 1) of floats.
cj_status cj__binning_make(cj_binning *binning, cj_sample sample, uint64_t bins, double lower, double upper,
                           cj_error *error);

// The bin of `sample` (an f32 register, else u32), as a new u32: a number of at least `bins` where it is outside.
cj_reg cj__binning_write(const cj_binning *binning, cj_func *f, cj_reg sample);

// ---- the family: its plan (plan.c) and its kernel (histogram.c, set.c, global.c, count.c)

enum {
#define PARAM(id, ...) HISTOGRAM_##id,
#include "params.def"
};

// Bytes a load, bytes of a cache line, the most blocks of a pool whose samples are a slice.
enum { HISTOGRAM_LOAD = 16, HISTOGRAM_WORDS = HISTOGRAM_LOAD / 4, HISTOGRAM_LINE = 128, HISTOGRAM_POOL = 16 };

typedef struct cj_histogram_dtype {
    const char *load, *reg;  // types of one element as loaded, and of its register
    unsigned    bytes;
} cj_histogram_dtype;

// Bits of a counter in shared memory, and counters in a word.
typedef struct cj_histogram_width {
    unsigned bits, in_word;
} cj_histogram_width;

// How the bins lie in shared memory: width.in_word of them in a word, from its low bits up.
typedef struct cj_histogram_layout {
    cj_histogram_width width;
    unsigned           pool;    // blocks
    uint64_t           own;     // bins a block, in whole words
    bool               set;     // counts are overwritten, by one pool
    bool               remote;  // blocks count in each other's memory; the pool is a cluster
    bool               global;  // no counters in shared memory
} cj_histogram_layout;

const cj_histogram_dtype *cj__histogram_dtype(const cj_plan *plan);
cj_status                 cj__histogram_binning(const cj_plan *plan, cj_binning *binning, cj_error *error);

// The layout of a plan that was made.
cj_histogram_layout cj__histogram_layout(const cj_plan *plan);

cj_status cj__histogram_plan(cj_plan *plan, const cj_limits *limits, bool clusters, cj_error *error);

// Whether the plan's kernel overwrites its counts, for launches: nothing is worked out.
bool cj__histogram_overwrites(const cj_plan *plan);

// ---- the kernel

typedef struct histogram_kernel {
    const cj_plan            *plan;
    const cj_histogram_dtype *dtype;
    cj_func                  *f;
    cj_binning                binning;
    cj_histogram_layout       layout;
    unsigned                  cluster, count_bytes;  // blocks, 0: without; bytes of a count
    const char               *count_type;
    cj_var                    x, counts, n;
    cj_reg                    thread, counter;            // counter: address of the counters
    cj_reg                    first, own, out;            // this block's bins, [first, first + own), and their counts
    cj_reg                    lane, run_bin, run_length;  // narrow: the bin that the warp counts in a register
} histogram_kernel;

// Several counters in a word.
static inline bool     cj__histogram_is_narrow(const histogram_kernel *k) { return k->layout.width.in_word > 1; }
static inline unsigned cj__histogram_field_mask(const histogram_kernel *k) {
    return (unsigned)((UINT64_C(1) << k->layout.width.bits) - 1);
}

// Where the counter of `bin` is: the address of its word, and how far its field lies above bit 0, modulo 32.
typedef struct histogram_place {
    cj_reg word, shift;
} histogram_place;

histogram_place cj__histogram_place(const histogram_kernel *k, cj_reg bin);

// counts[bin] += amount, where `when` holds.
void cj__histogram_put(const histogram_kernel *k, cj_reg when, cj_reg bin, cj_reg amount);

// Where the block's bins and their counts are; counters in shared memory, all 0 after a barrier.
void cj__histogram_bins(histogram_kernel *k);
void cj__histogram_zero(histogram_kernel *k);

// All of x.
cj_span cj__histogram_whole(const histogram_kernel *k);

// `vector` from memory, by a thread for which `when` holds.
void cj__histogram_load(const histogram_kernel *k, cj_reg when, const cj_reg *vector, cj_reg at, unsigned offset);

// An element before or after the vectors, fewer than 16 of each: thread `number` has one of its own where `inside` holds.
typedef struct histogram_edge {
    cj_reg inside, value;
} histogram_edge;

histogram_edge cj__histogram_load_edge(const histogram_kernel *k, cj_reg number, cj_reg from, cj_reg to);
void           cj__histogram_count_edge(const histogram_kernel *k, const histogram_edge *edge);

// A kernel that overwrites its counts (set.c), or adds each sample in global memory (global.c), from its declarations on.
void cj__histogram_set(histogram_kernel *k);
void cj__histogram_global(histogram_kernel *k);

// Counts an element, or a vector of 16 bytes; `whole`: all lanes of the warp are here, of which those have one for which `inside`
// holds (cj_always(): all).
void cj__histogram_count_one(const histogram_kernel *k, cj_reg sample);
void cj__histogram_count_vector(const histogram_kernel *k, const cj_reg *vector, bool whole, cj_reg inside);

// Begins with no run, and adds what the warp has counted of its last one.
void cj__histogram_run_begin(histogram_kernel *k);
void cj__histogram_run_end(const histogram_kernel *k);

#endif
