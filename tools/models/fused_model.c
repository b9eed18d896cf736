// SPDX-License-Identifier: Apache-2.0
#include "fused_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "row_model.h"

// ---- arrays

static void add(fused_model *m, const char *name, uint64_t rows, uint64_t width, bool written, bool same, double low,
                double high) {
    m->array[m->count++] = (fused_array){name, m->type, rows, width, written, same, low, high};
}

static double rounded(cj_dtype type, double value) {
    unsigned char bytes[8];
    row_model_write(type, bytes, 0, value);
    return row_model_read(type, bytes, 0);
}

// 0 to 1, by a hash of its place.
static double unit_at(uint64_t at) {
    at = (at + 1) * UINT64_C(0x9e3779b97f4a7c15);
    at = (at ^ at >> 31) * UINT64_C(0xbf58476d1ce4e5b9);
    return (double)((at ^ at >> 29) >> 11) * 0x1p-53;
}

// The k of a GPU in order: steps that GPUs have in common, so that many are equal; columns that rise.
static double topk_fill(const fused_model *m, unsigned i, uint32_t g, uint64_t at) {
    const uint64_t place = at % m->k, row = at / m->k;
    const double   ahead = floor(8 * unit_at(row * 64 + g)), step = floor((double)place / 3) + ahead;
    if (i == 1) return (double)(place + row * (m->columns - m->k) / m->rows);
    return rounded(m->array[0].type, m->smallest ? step : (m->type == CJ_U32 ? (double)m->k : 0) + 8 - step);
}

double fused_model_fill(const fused_model *m, unsigned i, uint32_t g, uint64_t at) {
    const fused_array *a = &m->array[i];
    const double       u = unit_at(at * 64 + i * 8 + (a->same ? 0 : g));
    if (m->k) return topk_fill(m, i, g, at);
    if (!strcmp(a->name, "label"))
        return u < 0.1 ? m->ignore : floor((u - 0.1) / 0.85 * (double)(m->columns * m->gpus));  // a few are beyond the last column
    return rounded(a->type, a->low + u * (a->high - a->low));
}

// ---- allreducenorm

enum { NORM_X };

static void norm_row(const fused_model *m, double *value[CJ_GPUS_MAX][CJ_GPUS_ARRAYS]) {
    unsigned at = 1;
    const double *residual = m->residual ? value[0][at++] : NULL;
    const unsigned sum_at = at++, y_at = at++;
    const double *weight = m->weight ? value[0][at++] : NULL, *bias = m->bias ? value[0][at] : NULL;
    double       *sum = value[0][sum_at], *y = value[0][y_at], mean = 0, squares = 0;
    for (uint64_t c = 0; c < m->columns; c++) {
        double all = residual ? residual[c] : 0;
        for (uint32_t g = 0; g < m->gpus; g++) all += value[g][NORM_X][c];
        sum[c] = rounded(m->type, all);
        mean += sum[c] / (double)m->columns;
    }
    if (!m->layer) mean = 0;
    for (uint64_t c = 0; c < m->columns; c++) squares += (sum[c] - mean) * (sum[c] - mean);
    const double rstd = 1 / sqrt(squares / (double)m->columns + m->epsilon);
    for (uint64_t c = 0; c < m->columns; c++)
        y[c] = (sum[c] - mean) * rstd * (weight ? weight[c] : 1) + (bias ? bias[c] : 0);
    for (uint32_t g = 1; g < m->gpus; g++) {
        memcpy(value[g][sum_at], sum, m->columns * sizeof *sum);
        memcpy(value[g][y_at], y, m->columns * sizeof *y);
    }
}

static void make_norm(fused_model *m, const cj_params *p) {
    m->layer = cj_params_get(p, "norm") != 0;
    m->residual = cj_params_get(p, "residual") != 0;
    m->weight = cj_params_get(p, "weight") != 0;
    m->bias = cj_params_get(p, "bias") != 0;
    m->epsilon = cj_params_real(p, "epsilon");
    add(m, "x", m->rows, m->columns, false, false, -2, 2);
    if (m->residual) add(m, "residual", m->rows, m->columns, false, true, -2, 2);
    add(m, "sum", m->rows, m->columns, true, true, 0, 0);
    add(m, "y", m->rows, m->columns, true, true, 0, 0);
    if (m->weight) add(m, "weight", 1, m->columns, false, true, 0.5, 1.5);
    if (m->bias) add(m, "bias", 1, m->columns, false, true, -1, 1);
    m->row = norm_row;
}

// ---- rows whose columns are sharded

// The row of all GPUs: its largest x, and the logarithm of the sum of e^(x - largest).
typedef struct row_powers {
    double largest, ln_powers;
} row_powers;

static row_powers powers_of_row(const fused_model *m, double *value[CJ_GPUS_MAX][CJ_GPUS_ARRAYS]) {
    double largest = -INFINITY, sum = 0;
    for (uint32_t g = 0; g < m->gpus; g++)
        for (uint64_t c = 0; c < m->columns; c++) largest = fmax(largest, value[g][0][c]);
    for (uint32_t g = 0; g < m->gpus; g++)
        for (uint64_t c = 0; c < m->columns; c++) sum += exp(value[g][0][c] - largest);
    return (row_powers){largest, log(sum)};
}

enum { LABEL = 1, LOSS, LSE, GRADIENT };

static void crossentropy_row(const fused_model *m, double *value[CJ_GPUS_MAX][CJ_GPUS_ARRAYS]) {
    const row_powers row = powers_of_row(m, value);
    const double     all = (double)m->columns * m->gpus, share = m->smoothing / all;
    const double     label = value[0][LABEL][0], factor = label == m->ignore ? 0 : m->scale;
    double           below = 0, target = NAN;
    for (uint32_t g = 0; g < m->gpus; g++)
        for (uint64_t c = 0; c < m->columns; c++) {
            const bool here = (double)(g * m->columns + c) == label;
            below += row.largest - value[g][0][c];
            if (here) target = value[g][0][c];
            if (m->gradient)
                value[g][GRADIENT][c] =
                    factor * (exp(value[g][0][c] - row.largest - row.ln_powers) - (here ? 1 - m->smoothing : 0) - share);
        }
    for (uint32_t g = 0; g < m->gpus; g++) {
        value[g][LOSS][0] =
            label == m->ignore ? 0 : row.ln_powers + (1 - m->smoothing) * (row.largest - target) + share * below;
        value[g][LSE][0] = row.largest + row.ln_powers;
    }
}

static void make_crossentropy(fused_model *m, const cj_params *p) {
    m->gradient = cj_params_get(p, "gradient") != 0;
    m->ignore = cj_params_real(p, "ignore");
    m->smoothing = cj_params_real(p, "smoothing");
    m->scale = cj_params_real(p, "scale");
    add(m, "x", m->rows, m->columns, false, false, -8, 8);
    add(m, "label", m->rows, 1, false, true, 0, 0);
    add(m, "loss", m->rows, 1, true, true, 0, 0);
    add(m, "lse", m->rows, 1, true, true, 0, 0);
    if (m->gradient) add(m, "dx", m->rows, m->columns, true, false, 0, 0);
    m->array[LABEL].type = cj_params_get(p, "label") ? CJ_I32 : CJ_I64;
    m->array[LOSS].type = m->array[LSE].type = CJ_F32;
    m->row = crossentropy_row;
}

static void softmax_row(const fused_model *m, double *value[CJ_GPUS_MAX][CJ_GPUS_ARRAYS]) {
    const row_powers row = powers_of_row(m, value);
    for (uint32_t g = 0; g < m->gpus; g++)
        for (uint64_t c = 0; c < m->columns; c++) {
            const double ln = value[g][0][c] - row.largest - row.ln_powers;
            value[g][1][c] = m->log ? ln : exp(ln);
        }
}

static void make_softmax(fused_model *m, const cj_params *p) {
    m->log = cj_params_get(p, "log") != 0;
    add(m, "x", m->rows, m->columns, false, false, -8, 8);
    add(m, "y", m->rows, m->columns, true, false, 0, 0);
    m->row = softmax_row;
}

enum { OWN_VALUES, OWN_INDICES, VALUES, INDICES };

// Merges the lists of all GPUs: each is in order, and of equal elements the lower GPU's come first.
static void topk_row(const fused_model *m, double *value[CJ_GPUS_MAX][CJ_GPUS_ARRAYS]) {
    uint64_t next[CJ_GPUS_MAX] = {0};
    for (uint64_t place = 0; place < m->k; place++) {
        uint32_t best = 0;
        for (uint32_t g = 1; g < m->gpus; g++) {
            const double mine = value[g][OWN_VALUES][next[g]], other = value[best][OWN_VALUES][next[best]];
            if (m->smallest ? mine < other : mine > other) best = g;
        }
        for (uint32_t g = 0; g < m->gpus; g++) {
            value[g][VALUES][place] = value[best][OWN_VALUES][next[best]];
            value[g][INDICES][place] = value[best][OWN_INDICES][next[best]] + (double)(best * m->columns);
        }
        next[best]++;
    }
}

static void make_topk(fused_model *m, const cj_params *p) {
    m->k = cj_params_get(p, "k");
    m->smallest = cj_params_get(p, "order") != 0;
    add(m, "own_values", m->rows, m->k, false, false, 0, 0);
    add(m, "own_indices", m->rows, m->k, false, false, 0, 0);
    add(m, "values", m->rows, m->k, true, true, 0, 0);
    add(m, "indices", m->rows, m->k, true, true, 0, 0);
    m->array[OWN_INDICES].type = m->array[INDICES].type = cj_params_get(p, "index") ? CJ_U32 : CJ_I64;
    m->row = topk_row;
}

// ---- all

static const struct {
    const char *family;
    void (*make)(fused_model *m, const cj_params *p);
} kinds[] = {{"allreducenorm", make_norm}, {"shardedcrossentropy", make_crossentropy}, {"shardedsoftmax", make_softmax},
             {"shardedtopk", make_topk}};

bool fused_model_make(fused_model *m, const cj_params *params) {
    static const cj_dtype types[] = {CJ_F32, CJ_F16, CJ_BF16, CJ_I32, CJ_U32};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].family, cj_family_name(params->family)) != 0) continue;
        *m = (fused_model){.gpus = (uint32_t)cj_params_get(params, "gpus"),
                           .rows = cj_params_get(params, "rows"),
                           .columns = cj_params_get(params, "columns"),
                           .type = types[cj_params_get(params, "dtype")]};
        kinds[i].make(m, params);
        return true;
    }
    return false;
}

bool fused_model_run(const fused_model *m, unsigned char *data[CJ_GPUS_MAX][CJ_GPUS_ARRAYS],
                     double *expected[CJ_GPUS_MAX][CJ_GPUS_ARRAYS]) {
    const size_t most = m->columns > 1 ? m->columns : 1;
    double      *all = calloc(CJ_GPUS_MAX * CJ_GPUS_ARRAYS * most, sizeof *all);
    double      *value[CJ_GPUS_MAX][CJ_GPUS_ARRAYS] = {{NULL}};
    for (uint64_t row = 0; all && row < m->rows; row++) {
        for (uint32_t g = 0; g < m->gpus; g++)
            for (unsigned i = 0; i < m->count; i++) {
                const fused_array *a = &m->array[i];
                const uint64_t     begin = a->rows > 1 ? row * a->width : 0;
                value[g][i] = a->written ? expected[g][i] + begin : all + (g * CJ_GPUS_ARRAYS + i) * most;
                for (uint64_t c = 0; !a->written && c < a->width; c++)
                    value[g][i][c] = row_model_read(a->type, data[g][i], begin + c);
            }
        m->row(m, value);
    }
    free(all);
    return all != NULL;
}

// The results of halves differ by a unit in the last place where f32 rounds another way than f64 does.
double fused_model_bound(cj_dtype type) { return type == CJ_BF16 ? 0x1p-6 : type == CJ_F16 ? 0x1p-9 : 0x1p-16; }

double fused_model_error(cj_dtype type, double found, double expected) {
    const bool   is_real = type == CJ_F32 || type == CJ_F16 || type == CJ_BF16;
    const double size = fabs(expected) + 0.25;
    if (found == expected || (isnan(found) && isnan(expected))) return 0;
    if (!is_real || isnan(found) || !isfinite(expected)) return INFINITY;
    return row_model_overflows(type, found, expected, fused_model_bound(type) * size) ? 0 : fabs(found - expected) / size;
}

bool fused_model_same(cj_dtype type, double found, double expected) {
    return fused_model_error(type, found, expected) <= fused_model_bound(type);
}
