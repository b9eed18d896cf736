// SPDX-License-Identifier: Apache-2.0
// Sampling: a token of each row of logits, drawn by its probability after temperature, penalties, a mask, top-k, top-p and min-p. One
// launch; exact, and the same token in each run, on each device and of each plan. The launch is a programmatic dependent one, where the GPU
// has those: it may begin while the kernel before it on the stream still runs, reads and writes nothing before that one has ended, and lets
// the next kernel do the same.
#ifndef CLUSTERJIT_SAMPLE_H
#define CLUSTERJIT_SAMPLE_H

#include <clusterjit/base.h>
#include <clusterjit/device.h>
#include <clusterjit/kernel.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ_SAMPLE_NO_CLUSTER UINT32_MAX  // of desc.cluster: a kernel without clusters

// The kernel: shapes, and which filters it has; their values are those of a launch. Begin with CJ_INIT, then set what matters: a zero
// field takes the default in brackets.
typedef struct cj_sample_desc {
    CJ_STRUCT_SIZE(cj_sample_desc);
    uint64_t rows;       // 1 to 2^31 - 1 [1]
    uint64_t columns;    // logits of a row, 1 to 2^22: the vocabulary
    cj_dtype dtype;      // CJ_F32, CJ_F16 or CJ_BF16 [f32]
    bool     top_k, top_p, min_p, penalties, mask;  // which filters it has [none]
    uint64_t stride;     // elements from row to row of logits, at least columns [columns]
    uint32_t align;      // bytes that logits is a multiple of: 16, 8, 4 or 2, no less than an element [16]
    uint32_t cluster;    // blocks a row, 1 to 16, or CJ_SAMPLE_NO_CLUSTER [chosen for rows and columns]
    uint32_t block;      // threads a block, a multiple of 32, 32 to 1024 [chosen for the row]
    bool     log_probability, distribution;  // what else is told of each row [none]
    bool     draft;      // a draft's tokens are taken or replaced [no]
    uint32_t top;        // so many most probable tokens are told, 0 to 32 [0]
} cj_sample_desc;

// Of a launch: device pointers, and values for all rows. A pointer NAME_rows, if it is not 0, has a value for each row instead, of NAME's
// type. Begin with CJ_INIT: zero fields are as in brackets.
typedef struct cj_sample_arrays {
    CJ_STRUCT_SIZE(cj_sample_arrays);
    cj_ptr   logits;       // [rows][stride]
    cj_ptr   tokens;       // int32_t [rows]
    cj_ptr   mask;         // uint32_t [rows][columns / 32, rounded up]: bit c % 32 of word c / 32 allows token c
    cj_ptr   counts;       // uint32_t [rows][columns]: how often each token is in the text so far
    float    temperature;  // what logits are divided by, 0 and above [0: the largest logit is taken]
    float    top_p;        // above 0, at most 1 [1: all]
    float    min_p;        // 0 to 1 [0: all]
    float    repetition;   // above 0, finite [1: no penalty]
    float    frequency, presence;  // finite [0: no penalty]
    int32_t  top_k;        // [0: all]
    uint64_t seed, offset; // of Philox4x32-10
    cj_ptr   temperature_rows, top_p_rows, min_p_rows, repetition_rows, frequency_rows, presence_rows, top_k_rows, seed_rows,
        offset_rows;
    cj_ptr log_probability;        // float [rows]
    cj_ptr top_tokens;             // int32_t [rows][top]
    cj_ptr top_log_probabilities;  // float [rows][top]
    cj_ptr probabilities;          // float [rows][columns]: the distribution
    cj_ptr draft_tokens;           // int32_t [rows]; -1: this row has none
    cj_ptr draft_probabilities;    // float [rows][columns]
    cj_ptr accepted;               // uint32_t [rows], written: 1 where the draft's token is taken
} cj_sample_arrays;

typedef struct cj_sample cj_sample;

// Plans, generates, checks and loads the kernel. *sample is owned by the caller. INVALID_ARGUMENT and CONTRACT name field, value and
// limit.
CJ_API cj_status cj_sample_create(cj_device *device, const cj_sample_desc *desc, cj_sample **sample, cj_error *error);
CJ_API void      cj_sample_destroy(cj_sample *sample);  // NULL is allowed; its launches must have ended

// tokens[r] = a token of row r. In this order: penalties of counted tokens (repetition: positive logits are divided by it, others
// multiplied; then frequency times the count and presence are subtracted), mask, temperature, top-k (exactly k; of equal logits those of
// lower index), top-p (the fewest largest whose probabilities, of those that top-k keeps, sum to it), min-p, draw. A logit NaN is never
// drawn, +infinity counts as the greatest number of the type (with penalties of f32), and tokens of less than 2^-41 times the greatest probability have none. A row in which no
// token is left (all masked, NaN or -infinity) gives -1. Out of its range a value for all rows is INVALID_ARGUMENT; one in an array counts so:
//     temperature           below 0, NaN: 0
//     top_k                 below 1: all
//     top_p                 0 or below: the largest logit alone; above 1, NaN: 1
//     min_p                 below 0, NaN: 0; above 1: 1
//     repetition            0 or below, infinity, NaN: 1
//     frequency, presence   infinity, NaN: 0
//     draft_probabilities   below 0, NaN: 0; above 1: 1; NaN of the draft's token: the row has no draft
//     draft_tokens          below 0, columns or above: the row has no draft
// What is written overlaps nothing that is read; that is not checked. The random number is the first 64 bits of Philox4x32-10 of key seed and counter offset,
// whose third word is the row, or 0 where seed_rows has a seed for each.
// What else is told is of what the filters keep: the logarithm of the token's probability (-infinity of -1, 0 of greedy rows); the most
// probable tokens, of equal logits that of lower index first, -1 and -infinity beyond the last one, so all but the first of greedy rows; the probability of every token.
// draft: the draft's token is taken with probability min(1, p / q), p its probability and q what the draft gave it; else the
// token is drawn from max(p - q, 0) of all tokens: so it has the distribution p whatever the draft (Leviathan et al. 2023, arXiv 2211.17192). Rows
// are independent: of the positions of a sequence take the tokens up to the first row that was not accepted, and that one.
// docs/families/sample.md defines all of it bit for bit. INVALID_ARGUMENT for an array that is NULL or not aligned, a value out of its
// range, and a filter that the kernel does not have. Asynchronous on `stream`; allocates nothing. Launches on different streams need no
// order.
CJ_API cj_status cj_sample_run(cj_sample *sample, const cj_sample_arrays *arrays, cj_stream stream, cj_error *error);

// The same in one call, without a handle: the first call with a description on a stream makes the kernel (not while the
// stream is captured), later ones find it and launch, without a lock, an allocation or a wait, from any threads.
// Kernels are kept until cj_device_trim (clusterjit/cache.h) or cj_device_close.
CJ_API cj_status cj_sample_launch(cj_device *device, const cj_sample_desc *desc, const cj_sample_arrays *arrays, cj_stream stream,
                                  cj_error *error);

// The kernel beneath, for its plan and its PTX; owned by `sample`.
CJ_API const cj_kernel *cj_sample_kernel(const cj_sample *sample);

#ifdef __cplusplus
}
#endif
#endif
