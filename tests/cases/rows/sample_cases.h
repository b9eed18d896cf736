// SPDX-License-Identifier: Apache-2.0
// The tests of sampling, for both devices: tokens of the typed call, compared with tools/models/sample_model.c.
#ifndef CJ_TESTS_SAMPLE_CASES_H
#define CJ_TESTS_SAMPLE_CASES_H

#include <clusterjit/clusterjit.h>

// Logits: random; few different ones; all equal; all -infinity but one; some NaN, infinities, zeros of both signs; all NaN; of
// hundreds; next to zero.
typedef enum cj_sample_fill {
    CJ_SAMPLE_RANDOM,
    CJ_SAMPLE_FEW,
    CJ_SAMPLE_EQUAL,
    CJ_SAMPLE_SINGLE,
    CJ_SAMPLE_WILD,
    CJ_SAMPLE_NONE,
    CJ_SAMPLE_WIDE,
    CJ_SAMPLE_TINY,
    CJ_SAMPLE_FILLS
} cj_sample_fill;

// One kernel: the tokens of two launches. Values are one for all rows, or (`each`) drawn for each row.
void cj_test_sample(cj_device *device, const cj_sample_desc *desc, const cj_sample_arrays *values, cj_sample_fill fill,
                    bool each, uint64_t seed);

// Sizes about a load, a warp and a block, of each fill, with every filter alone and with all.
void cj_test_sample_boundaries(cj_device *device, uint64_t seed);

// top-p alone over bf16 logits, of rows that are long enough for counts of keys, of each fill and on plans that share the bins otherwise;
// every so many of these cases.
void cj_test_sample_counts(cj_device *device, unsigned every, void (*before)(unsigned turn));

// A kernel, values and logits drawn from the seed, with rows of at most `most` logits.
void cj_test_sample_random(cj_device *device, uint64_t *seed, uint64_t most);

// Frequencies of so many draws of the device from one row of a few logits, of each filter alone and of all together, against
// probabilities of float64, by chi-square; and the same tokens whatever the block and the cluster.
void cj_test_sample_draws(cj_device *device, uint32_t draws);
// The same of so many tokens that a draft has drawn from other probabilities, after they were taken or replaced.
void cj_test_sample_speculation(cj_device *device, uint32_t draws);
void cj_test_sample_model_draws(uint32_t draws);  // the frequencies of the host's model

// What the typed call refuses.
void cj_test_sample_call(cj_device *device);

#endif
