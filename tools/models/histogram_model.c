// SPDX-License-Identifier: Apache-2.0
#include "histogram_model.h"

#include <string.h>

static cj_dtype dtype_of(const cj_params *params) {
    char word[16];
    int  type = 0;
    cj_params_word(params, "dtype", word, sizeof word);
    while (strcmp(cj_dtype_name((cj_dtype)type), word) != 0) type++;
    return (cj_dtype)type;
}

histogram_model histogram_model_of(const cj_params *params) {
    histogram_model m = {.dtype = dtype_of(params),
                         .bins = cj_params_get(params, "bins"),
                         .lower = cj_params_real(params, "lower"),
                         .upper = cj_params_real(params, "upper")};
    if (m.lower == 0 && m.upper == 0) m.upper = m.dtype == CJ_F32 ? 1 : (double)m.bins;
    return m;
}

static uint64_t bin_of_float(const histogram_model *m, float x) {
    const float lower = (float)m->lower, upper = (float)m->upper;
    const float scale = (float)((double)m->bins / ((double)upper - (double)lower));
    if (!(x >= lower && x < upper)) return m->bins;
    const float    offset = x - lower, scaled = offset * scale;
    const uint64_t bin = (uint64_t)scaled;
    return bin < m->bins ? bin : m->bins - 1;
}

uint64_t histogram_model_bin(const histogram_model *m, const void *sample) {
    const uint64_t lower = (uint64_t)m->lower, upper = (uint64_t)m->upper;
    uint32_t       word = 0;
    float          real;
    if (m->dtype == CJ_F32) return memcpy(&real, sample, sizeof real), bin_of_float(m, real);
    memcpy(&word, sample, cj_dtype_size(m->dtype));  // little-endian
    return word >= lower && word < upper ? (word - lower) * m->bins / (upper - lower) : m->bins;
}
