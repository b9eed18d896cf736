// SPDX-License-Identifier: Apache-2.0
#include "row_model.h"

#include <math.h>
#include <string.h>

#include "half.h"

// ---- elements

double row_model_read(cj_dtype type, const void *from, uint64_t at) {
    uint16_t half;
    float    real;
    int32_t  word;
    uint32_t count;
    int64_t  wide;
    switch (type) {
    case CJ_F16:
    case CJ_BF16:
        memcpy(&half, (const char *)from + 2 * at, 2);
        return half_to(type == CJ_F16 ? half_f16 : half_bf16, half);
    case CJ_I32: memcpy(&word, (const char *)from + 4 * at, 4); return word;
    case CJ_U32: memcpy(&count, (const char *)from + 4 * at, 4); return count;
    case CJ_I64: memcpy(&wide, (const char *)from + 8 * at, 8); return (double)wide;
    default: memcpy(&real, (const char *)from + 4 * at, 4); return (double)real;
    }
}

void row_model_write(cj_dtype type, void *to, uint64_t at, double value) {
    const uint16_t half = type == CJ_F16 || type == CJ_BF16 ? half_from(type == CJ_F16 ? half_f16 : half_bf16, value)
                                                            : 0;
    const float    real = (float)value;
    const int32_t  word = type == CJ_I32 ? (int32_t)value : 0;
    const uint32_t count = type == CJ_U32 ? (uint32_t)value : 0;
    const int64_t  wide = type == CJ_I64 ? (int64_t)value : 0;
    switch (type) {
    case CJ_F16:
    case CJ_BF16: memcpy((char *)to + 2 * at, &half, 2); return;
    case CJ_I32: memcpy((char *)to + 4 * at, &word, 4); return;
    case CJ_U32: memcpy((char *)to + 4 * at, &count, 4); return;
    case CJ_I64: memcpy((char *)to + 8 * at, &wide, 8); return;
    default: memcpy((char *)to + 4 * at, &real, 4); return;
    }
}

double row_model_least(cj_dtype type) { return type == CJ_F16 ? 0x1p-24 : 0x1p-126; }

bool row_model_overflows(cj_dtype type, double found, double want, double error) {
    unsigned char held[8];
    if (!isinf(found) || !isfinite(want)) return false;
    row_model_write(type, held, 0, want + copysign(error, want));
    return row_model_read(type, held, 0) == found;
}

// ---- arrays

static void add(row_model *m, const char *name, row_array_kind kind, cj_dtype type, bool written, double low,
                double high) {
    m->array[m->count++] = (row_array){name, kind, type, written, low, high, 0};
}

static void add_matrix(row_model *m, const char *name, double low, double high) {
    add(m, name, ROW_ARRAY_MATRIX, m->in, false, low, high);
}

static void add_result(row_model *m, const char *name) { add(m, name, ROW_ARRAY_MATRIX, m->out, true, 0, 0); }

uint64_t row_model_stride(const row_model *m, unsigned i) {
    if (m->array[i].kind == ROW_ARRAY_EACH) return 1;
    if (m->array[i].kind != ROW_ARRAY_MATRIX) return 0;
    return m->array[i].written ? m->out_stride : m->stride;
}

uint64_t row_model_width(const row_model *m, unsigned i) { return m->array[i].kind == ROW_ARRAY_EACH ? 1 : m->columns; }

uint64_t row_model_elements(const row_model *m, unsigned i) {
    const uint64_t period = m->array[i].period, rows = period && period < m->rows ? period : m->rows;
    return (rows - 1) * row_model_stride(m, i) + row_model_width(m, i);
}

uint64_t row_model_begin(const row_model *m, unsigned i, uint64_t row) {
    const uint64_t period = m->array[i].period;
    return (period ? row % period : row) * row_model_stride(m, i);
}

unsigned row_model_find(const row_model *m, const char *name) {
    unsigned i = 0;
    while (i < m->count && strcmp(m->array[i].name, name) != 0) i++;
    return i < m->count ? i : ROW_ARRAYS;
}

static double random_unit(uint64_t i) {  // splitmix64
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

double row_model_fill(const row_model *m, unsigned i, uint64_t at, uint64_t seed) {
    const row_array *a = &m->array[i];
    const double     u = random_unit(at + (seed + i) * UINT64_C(0x9e3779b9));
    if (!strcmp(a->name, "label")) return u < 0.1 ? m->ignore : floor((u - 0.1) / 0.9 * (double)m->columns);
    if (!strcmp(a->name, "mask") && u < 0.2) return -INFINITY;
    unsigned char bytes[8];
    row_model_write(a->type, bytes, 0, a->low + u * (a->high - a->low));
    return row_model_read(a->type, bytes, 0);
}

// ---- softmax

enum { SOFTMAX_X, SOFTMAX_Y, SOFTMAX_MASK };

static void softmax(const row_model *m, double *const value[ROW_ARRAYS], double size[ROW_ARRAYS]) {
    double largest = -INFINITY, sum = 0, *y = value[SOFTMAX_Y];
    for (uint64_t c = 0; c < m->columns; c++) {
        y[c] = m->scale * value[SOFTMAX_X][c] + (m->count > SOFTMAX_MASK ? value[SOFTMAX_MASK][c] : 0);
        largest = fmax(largest, y[c]);
    }
    for (uint64_t c = 0; c < m->columns; c++) sum += exp(y[c] - largest);
    for (uint64_t c = 0; c < m->columns; c++) y[c] = m->log ? y[c] - largest - log(sum) : exp(y[c] - largest) / sum;
    // With a mask or another scale elements are rounded before their distance from the largest is taken.
    const double rounded = m->scale != 1 || m->count > SOFTMAX_MASK ? fabs(largest) : 0;
    size[SOFTMAX_Y] = m->log ? rounded + 1 + log(sum) : 0x1p-20 / (double)m->columns;
}

enum { BACK_Y, BACK_DY, BACK_DX };

static void softmax_backward(const row_model *m, double *const value[ROW_ARRAYS], double size[ROW_ARRAYS]) {
    const double *y = value[BACK_Y], *dy = value[BACK_DY];
    double        sum = 0, sizes = 0, most = 0;
    for (uint64_t c = 0; c < m->columns; c++) {
        sum += m->log ? dy[c] : dy[c] * y[c];
        sizes += fabs(m->log ? dy[c] : dy[c] * y[c]);
        most = fmax(most, m->log ? exp(y[c]) : fabs(y[c]));
    }
    for (uint64_t c = 0; c < m->columns; c++)
        value[BACK_DX][c] = m->scale * (m->log ? dy[c] - sum * exp(y[c]) : (dy[c] - sum) * y[c]);
    size[BACK_DX] = fabs(m->scale) * (sizes + 1) * most;
}

static void make_softmax(row_model *m, const cj_params *params) {
    m->scale = cj_params_real(params, "scale");
    m->log = !strcmp(cj_family_name(params->family), "logsoftmax");
    if (cj_params_get(params, "pass")) {
        add_matrix(m, "y", m->log ? -8 : 0, m->log ? 0 : 1);
        add_matrix(m, "dy", -1, 1);
        add_result(m, "dx");
        m->row = softmax_backward;
        return;
    }
    add_matrix(m, "x", -8, 8);
    add_result(m, "y");
    const uint64_t rows = cj_params_get(params, "mask-rows");
    m->row = softmax;
    if (!cj_params_get(params, "mask")) return;
    add(m, "mask", rows > 1 ? ROW_ARRAY_MATRIX : ROW_ARRAY_COLUMN, m->in, false, -2, 2);
    if (rows > 1) m->array[m->count - 1].period = rows;
}

// ---- norms

static void add_each(row_model *m, const char *name, cj_dtype type, bool written, double low, double high) {
    add(m, name, ROW_ARRAY_EACH, type, written, low, high);
}

// The row of the array with that name; NULL if there is none.
static double *row_of(const row_model *m, double *const value[ROW_ARRAYS], const char *name) {
    const unsigned i = row_model_find(m, name);
    return i < ROW_ARRAYS ? value[i] : NULL;
}

static void set_size(const row_model *m, double size[ROW_ARRAYS], const char *name, double to) {
    const unsigned i = row_model_find(m, name);
    if (i < ROW_ARRAYS) size[i] = to;
}

static void norm(const row_model *m, double *const value[ROW_ARRAYS], double size[ROW_ARRAYS]) {
    const double *x = row_of(m, value, "x"), *residual = row_of(m, value, "residual");
    const double *weight = row_of(m, value, "weight"), *bias = row_of(m, value, "bias");
    double       *y = row_of(m, value, "y"), *sum = row_of(m, value, "sum"), *means = row_of(m, value, "mean");
    double       *rstds = row_of(m, value, "rstd"), mean = 0, squares = 0, most = 0;
    const double  n = (double)m->columns;
    for (uint64_t c = 0; c < m->columns; c++) {
        y[c] = x[c] + (residual ? residual[c] : 0);
        if (sum) sum[c] = y[c];
        mean += m->centered ? y[c] / n : 0;
        most = fmax(most, fabs(y[c]));
    }
    for (uint64_t c = 0; c < m->columns; c++) squares += (y[c] - mean) * (y[c] - mean);
    const double rstd = 1 / sqrt(squares / n + m->epsilon);
    for (uint64_t c = 0; c < m->columns; c++)
        y[c] = (y[c] - mean) * rstd * (weight ? weight[c] : 1) + (bias ? bias[c] : 0);
    if (means) *means = mean;
    if (rstds) *rstds = rstd;
    // the rounding of h and the mean costs more if the deviation is small
    const double lost = 1 + most * rstd;
    set_size(m, size, "y", 4 * lost);
    set_size(m, size, "mean", most);
    set_size(m, size, "rstd", rstd * lost * lost);
}

static void norm_backward(const row_model *m, double *const value[ROW_ARRAYS], double size[ROW_ARRAYS]) {
    const double *x = row_of(m, value, "x"), *dy = row_of(m, value, "dy"), *weight = row_of(m, value, "weight");
    double       *dx = row_of(m, value, "dx"), *dw = row_of(m, value, "dw"), *db = row_of(m, value, "db");
    double        sum = 0, products = 0, most = 0, steepest = 0;
    const double  mean = m->centered ? *row_of(m, value, "mean") : 0, rstd = *row_of(m, value, "rstd"),
                 n = (double)m->columns;
    for (uint64_t c = 0; c < m->columns; c++) {
        const double g = dy[c] * (weight ? weight[c] : 1), normal = (x[c] - mean) * rstd;
        sum += m->centered ? g : 0;
        products += g * normal;
        most = fmax(most, fabs(normal));
        steepest = fmax(steepest, fabs(dy[c]));
        if (dw) dw[c] = dy[c] * normal;
        if (db) db[c] = dy[c];
    }
    for (uint64_t c = 0; c < m->columns; c++)
        dx[c] = rstd * (dy[c] * (weight ? weight[c] : 1) - sum / n - (x[c] - mean) * rstd * products / n);
    set_size(m, size, "dx", rstd * 2 * (1 + most * most));
    set_size(m, size, "dw", steepest * (1 + most));
    set_size(m, size, "db", steepest);
}

static void make_norm(row_model *m, const cj_params *params) {
    const bool backward = cj_params_get(params, "pass"), residual = cj_params_get(params, "residual") && !backward;
    m->epsilon = cj_params_real(params, "epsilon");
    m->centered = !strcmp(cj_family_name(params->family), "layernorm");
    add_matrix(m, "x", -2, 3);
    if (residual) add_matrix(m, "residual", -1, 1);
    if (backward) add_matrix(m, "dy", -1, 1);
    add_result(m, backward ? "dx" : "y");
    if (residual) add_result(m, "sum");
    if (cj_params_get(params, "weight")) add(m, "weight", ROW_ARRAY_COLUMN, m->in, false, 0.5, 1.5);
    if (cj_params_get(params, "bias") && !backward) add(m, "bias", ROW_ARRAY_COLUMN, m->in, false, -1, 1);
    m->row = backward ? norm_backward : norm;
    if (!backward && !cj_params_get(params, "stats")) return;
    if (m->centered) add_each(m, "mean", CJ_F32, !backward, 0, 1);
    add_each(m, "rstd", CJ_F32, !backward, 0.5, 1);
    if (cj_params_get(params, "weight-gradient")) add(m, "dw", ROW_ARRAY_TOTAL, m->out, true, 0, 0);
    if (cj_params_get(params, "bias-gradient")) add(m, "db", ROW_ARRAY_TOTAL, m->out, true, 0, 0);
}

// ---- cross-entropy

static void crossentropy(const row_model *m, double *const value[ROW_ARRAYS], double size[ROW_ARRAYS]) {
    const double *x = row_of(m, value, "x"), label = *row_of(m, value, "label"), n = (double)m->columns;
    double       *dx = row_of(m, value, "dx"), *loss = row_of(m, value, "loss"), *lse = row_of(m, value, "lse");
    double        largest = -INFINITY, powers = 0, below = 0, most = 0;
    const bool    counts = label != m->ignore;
    for (uint64_t c = 0; c < m->columns; c++) largest = fmax(largest, x[c]);
    for (uint64_t c = 0; c < m->columns; c++) {
        powers += exp(x[c] - largest);
        below += m->smoothing > 0 ? largest - x[c] : 0;  // 0 times the sum with an infinite x would be NaN
        most = fmax(most, fabs(x[c]));
    }
    *lse = largest == -INFINITY ? -INFINITY : largest + log(powers);
    *loss = counts ? log(powers) + (1 - m->smoothing) * (largest - x[(uint64_t)label]) + m->smoothing / n * below : 0;
    for (uint64_t c = 0; dx && c < m->columns; c++)
        dx[c] = counts
                    ? m->scale * (exp(x[c] - largest) / powers - m->smoothing / n - (c == (uint64_t)label ? 1 - m->smoothing : 0))
                    : 0;
    set_size(m, size, "lse", most + log(n));
    set_size(m, size, "loss", (m->smoothing > 0 ? m->smoothing * most : 0) + log(n));  // smoothing takes the sum of all x
    const double own = counts ? exp(x[(uint64_t)label] - largest) / powers : 0;  // p - 1 keeps the error of p
    set_size(m, size, "dx", fabs(m->scale) * (own + m->smoothing / n + 0x1p-20 / n));
}

static void make_crossentropy(row_model *m, const cj_params *params) {
    m->smoothing = cj_params_real(params, "smoothing");
    m->ignore = cj_params_real(params, "ignore");
    m->scale = cj_params_real(params, "scale");
    add_matrix(m, "x", -8, 8);
    if (cj_params_get(params, "gradient")) add_result(m, "dx");
    add_each(m, "label", cj_params_get(params, "label") ? CJ_I32 : CJ_I64, false, 0, 0);
    add_each(m, "loss", CJ_F32, true, 0, 0);
    add_each(m, "lse", CJ_F32, true, 0, 0);
    m->row = crossentropy;
}

// ---- all of them

static const struct {
    const char *family;
    void (*make)(row_model *m, const cj_params *params);
} makers[] = {{"softmax", make_softmax},
              {"logsoftmax", make_softmax},
              {"rmsnorm", make_norm},
              {"layernorm", make_norm},
              {"crossentropy", make_crossentropy}};

bool row_model_make(row_model *m, const cj_params *params) {
    static const cj_dtype types[] = {CJ_F32, CJ_F16, CJ_BF16};
    const uint64_t        out = cj_params_get(params, "out"), stride = cj_params_get(params, "stride");
    const uint64_t        out_stride = cj_params_get(params, "out-stride");
    *m = (row_model){.rows = cj_params_get(params, "rows"), .columns = cj_params_get(params, "columns")};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(makers[i].family, cj_family_name(params->family)) != 0) continue;
        m->in = types[cj_params_get(params, "dtype")];
        m->out = out ? types[out - 1] : m->in;
        m->stride = stride ? stride : m->columns;
        m->out_stride = out_stride ? out_stride : m->columns;
        makers[i].make(m, params);
        return true;
    }
    return false;
}
