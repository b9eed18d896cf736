// SPDX-License-Identifier: Apache-2.0
// The token that a row of logits gives, computed on the host bit for bit as docs/families/sample.md defines it.
#ifndef SAMPLE_MODEL_H
#define SAMPLE_MODEL_H

#include <clusterjit/base.h>
#include <clusterjit/ptx.h>
#include <stdint.h>

typedef struct sample_model_row {
    float    temperature, top_p, min_p, repetition, frequency, presence;
    int32_t  top_k;
    uint64_t seed, offset;
    uint32_t row;  // the row's number, where one seed is for all rows; else 0
} sample_model_row;

enum { SAMPLE_MODEL_TOP = 32 };

// What else a row tells, and what it is given for that.
typedef struct sample_model_more {
    const float *draft;        // probabilities that the draft gives; NULL: no draft
    int32_t      draft_token;  // -1: none
    uint32_t     top;          // so many most probable tokens
    uint32_t     accepted;
    double       log_probability, top_log_probability[SAMPLE_MODEL_TOP];
    int32_t      top_token[SAMPLE_MODEL_TOP];
} sample_model_more;

// The token, or -1 where no token has a mass. mask, counts: NULL for none. kept: NULL, or columns numbers: the masses after
// filtering. -2: no memory.
int32_t sample_model_token(cj_dtype type, const void *logits, uint64_t columns, const uint32_t *mask,
                           const uint32_t *counts, const sample_model_row *row, uint64_t *kept);

// The same, and what else is told.
int32_t sample_model_tell(cj_dtype type, const void *logits, uint64_t columns, const uint32_t *mask,
                          const uint32_t *counts, const sample_model_row *row, uint64_t *kept, sample_model_more *more);

// 64 bits of Philox4x32-10.
uint64_t sample_model_random(uint64_t seed, uint64_t offset, uint32_t row);
uint64_t sample_model_second(uint64_t seed, uint64_t offset, uint32_t row);  // the other 64

// The mass of a logit, of 2^40 for the greatest.
uint64_t sample_model_mass(float logit, float greatest, float temperature);

#endif
