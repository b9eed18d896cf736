// SPDX-License-Identifier: Apache-2.0
#include "matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

// ---- types

static const cj_matrix_type types[] = {
    {"f64", 64, 11, 52, 0, true}, {"f32", 32, 8, 23, 0, true}, {"tf32", 32, 8, 23, 13, true},
    {"f16", 16, 5, 10, 0, true},  {"bf16", 16, 8, 7, 0, true}, {"e4m3", 8, 4, 3, 0, true},
    {"e5m2", 8, 5, 2, 0, true},   {"s32", 32, 0, 0, 0, true},  {"u8", 8, 0, 0, 0, false},
    {"s8", 8, 0, 0, 0, true},     {"u4", 4, 0, 0, 0, false},   {"s4", 4, 0, 0, 0, true},
    {"b1", 1, 0, 0, 0, false},    {"b16", 16, 0, 0, 0, false}};

const cj_matrix_type *cj_matrix_type_find(const char *name, size_t length) {
    for (size_t i = 0; i < CJ_TEST_COUNT(types); i++) {
        if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length)) return &types[i];
    }
    return NULL;
}

// Finite floats only: none of the random ones is infinity or NaN.
double cj_matrix_value(const cj_matrix_type *type, uint64_t bits) {
    bits &= UINT64_MAX >> (64 - type->bits);
    const bool negative = type->is_signed && bits >> (type->bits - 1) & 1;
    if (!type->exponent) return negative ? (double)bits - ldexp(1, (int)type->bits) : (double)bits;
    const int      bias = (1 << (type->exponent - 1)) - 1, fraction_bits = (int)type->fraction;
    const uint64_t kept = bits >> type->unused << type->unused;
    const uint64_t fraction = kept & ((UINT64_C(1) << fraction_bits) - 1);
    const int      exponent = (int)(kept >> fraction_bits & ((1u << type->exponent) - 1));
    const double   magnitude = exponent ? ldexp(1 + ldexp((double)fraction, -fraction_bits), exponent - bias)
                                        : ldexp((double)fraction, 1 - bias - fraction_bits);
    return negative ? -magnitude : magnitude;
}

// Floats around 1, one in sixteen of them a zero or subnormal; sums of integers that do not overflow.
static uint64_t random_bits(const cj_matrix_type *type, uint64_t *random) {
    const uint64_t bits = cj_test_random(random) & UINT64_MAX >> (64 - type->bits);
    if (!type->exponent) return type->bits == 32 ? bits >> 8 : bits;
    const uint64_t exponent_mask = ((UINT64_C(1) << type->exponent) - 1) << type->fraction;
    const uint64_t bias = (UINT64_C(1) << (type->exponent - 1)) - 1;
    const uint64_t exponent = cj_test_random(random) % 16 ? bias - 3 + cj_test_random(random) % 5 : 0;
    return (bits & ~exponent_mask) | exponent << type->fraction;
}

void cj_matrix_fill(cj_matrix *matrix, const cj_matrix_case *c, const cj_matrix_type *type, unsigned rows,
                    unsigned columns, uint64_t *random) {
    const uint64_t sign = c->satfinite && type->is_signed ? UINT64_C(1) << (type->bits - 1) : 0;
    assert_true(rows * columns <= CJ_MATRIX_MAX);
    matrix->type = type;
    matrix->rows = rows;
    matrix->columns = columns;
    for (unsigned i = 0; i < rows * columns; i++) matrix->bits[i] = random_bits(type, random) & ~sign;
}

void cj_matrix_fill_addend(cj_matrix *matrix, const cj_matrix_case *c, const cj_matrix_type *type, unsigned rows,
                           unsigned columns, uint64_t *random) {
    cj_matrix_fill(matrix, c, type, rows, columns, random);
    for (unsigned i = 0; c->satfinite && i < rows * columns; i++) {
        const uint64_t distance = cj_test_random(random) % 256;
        matrix->bits[i] = i % 2 ? 0x80000000u + distance : 0x7fffffffu - distance;
    }
}

uint64_t cj_matrix_load(const unsigned char *array, unsigned bits, size_t i) {
    uint64_t value = 0;
    for (unsigned k = 0; k < bits; k++) value |= (uint64_t)(array[(i * bits + k) / 8] >> (i * bits + k) % 8 & 1) << k;
    return value;
}

void cj_matrix_store(unsigned char *array, unsigned bits, size_t i, uint64_t value) {
    for (unsigned k = 0; k < bits; k++) {
        unsigned char *byte = &array[(i * bits + k) / 8];
        const unsigned bit = (unsigned)(i * bits + k) % 8;
        *byte = (unsigned char)((*byte & ~(1u << bit)) | (unsigned)(value >> k & 1) << bit);
    }
}

// ---- cases

void cj_matrix_parse(cj_matrix_case *c, const char *mnemonic) {
    unsigned count = 0;
    *c = (cj_matrix_case){0};
    snprintf(c->text, sizeof c->text, "%s", mnemonic);
    for (const char *at = strchr(mnemonic, '.'); at; at = strchr(at, '.')) {
        const size_t          length = strcspn(++at, ".");
        const cj_matrix_type *type = cj_matrix_type_find(at, length);
        if (type && count < 4) c->type[count++] = type;
        sscanf(at, "m%un%uk%u", &c->m, &c->n, &c->k);
        c->satfinite |= !strncmp(at, "satfinite", length);
        c->xor |= !strncmp(at, "xor", length);
    }
}

// ---- comparing

// Relative to the sum of the magnitudes: the hardware cuts each summand at the place of the largest one.
static double precision(const cj_matrix_type *operand, const cj_matrix_type *result) {
    if (!operand->exponent) return 0;
    if (result->bits == 64) return 0x1p-48;
    if (result->bits == 16) return 0x1p-9;
    return operand->bits == 8 ? 0x1p-10 : 0x1p-21;
}

static bool close_enough(const cj_matrix_case *c, const cj_matrix_type *operand, double expected, double magnitude,
                         const cj_matrix_type *type, double got) {
    if (!type->exponent && c->satfinite) {
        expected = expected > INT32_MAX ? INT32_MAX : expected < INT32_MIN ? INT32_MIN : expected;
    }
    return fabs(expected - got) <= magnitude * precision(operand, type);
}

static void read_values(const cj_matrix *matrix, double *values) {
    for (unsigned i = 0; i < matrix->rows * matrix->columns; i++)
        values[i] = cj_matrix_value(matrix->type, matrix->bits[i]);
}

bool cj_matrix_agrees(const cj_matrix_case *c, const cj_matrix *a, const cj_matrix *b, const cj_matrix *addend,
                      const cj_matrix *d, bool negated) {
    static double left[CJ_MATRIX_MAX], right[CJ_MATRIX_MAX];
    read_values(a, left);
    read_values(b, right);
    for (unsigned i = 0; i < d->rows * d->columns; i++) {
        const unsigned row = i / d->columns, column = i % d->columns;
        double         sum = 0, magnitude = 0;
        for (unsigned k = 0; k < a->columns; k++) {
            const double x = left[row * a->columns + k], y = right[k * b->columns + column];
            sum += c->xor ? x != y : x * y;
            magnitude += fabs(x * y);
        }
        const double start = addend ? cj_matrix_value(addend->type, addend->bits[i]) : 0;
        const double expected = start + (negated ? -sum : sum), got = cj_matrix_value(d->type, d->bits[i]);
        if (close_enough(c, a->type, expected, magnitude + fabs(start), d->type, got)) continue;
        print_error("%s: row %u, column %u is %.9g, not %.9g\n", c->text, row, column, got, expected);
        return false;
    }
    return true;
}

// ---- running

void cj_matrix_text(const cj_matrix_family *family, cj_text *text) {
    cj__text_puts(text, ".version 8.7\n.target sm_90a\n.address_size 64\n");
    for (unsigned i = 0; i < family->count(); i++) {
        cj_matrix_case c;
        family->make(i, &c);
        cj__text_printf(text,
                        ".visible .entry k%u(.param .u64 in, .param .u64 out, .param .u64 a, .param .u64 b)\n{\n"
                        "    .reg .b64 %%in, %%out, %%a, %%b;\n    .reg .b32 %%thread;\n"
                        "    ld.param.u64 %%in, [in];\n    ld.param.u64 %%out, [out];\n"
                        "    ld.param.u64 %%a, [a];\n    ld.param.u64 %%b, [b];\n    mov.u32 %%thread, %%tid.x;\n",
                        i);
        family->write(&c, text);
        cj__text_puts(text, "    ret;\n}\n");
    }
}

typedef struct launcher {
    cj_device         *device;
    cj_function       *function;
    cj_ptr             in, out;
    cj_matrix_buffers *buffers;
    cj_matrix_case     c;
    unsigned           threads;
} launcher;

static bool launch(void *user) {
    launcher        *l = user;
    cj_error         error = {0};
    void            *arguments[] = {&l->in, &l->out, &l->c.a, &l->c.b};
    cj_launch_config config = {CJ_INIT(config),        .function = l->function,
                               .grid = {1, 1, 1},      .block = {l->threads, 1, 1},
                               .arguments = arguments, .argument_count = 4};
    cj_test_ok(cj_mem_write(l->device, l->in, l->buffers->in, CJ_MATRIX_BYTES, NULL, &error), &error);
    cj_test_ok(cj_mem_write(l->device, l->out, l->buffers->out, CJ_MATRIX_BYTES, NULL, &error), &error);
    const cj_status status = cj_launch(l->device, &config, &error);
    if (status) print_error("%s: %s\n", l->c.text, error.message);
    if (status) return false;
    cj_test_ok(cj_mem_read(l->device, l->buffers->out, l->out, CJ_MATRIX_BYTES, NULL, &error), &error);
    return true;
}

unsigned cj_matrix_run(const cj_matrix_family *family, cj_device *device, uint64_t seed) {
    cj_text    text = {0};
    cj_error   error = {0};
    cj_module *module = NULL;
    unsigned   failed = 0;
    launcher   l = {.device = device, .threads = family->threads, .buffers = calloc(1, sizeof *l.buffers)};
    assert_non_null(l.buffers);
    cj_matrix_text(family, &text);
    cj_test_ok(cj_module_from_ptx(device, text.data, text.length, &module, &error), &error);
    cj_test_ok(cj_mem_alloc(device, CJ_MATRIX_BYTES, &l.in, &error), &error);
    cj_test_ok(cj_mem_alloc(device, CJ_MATRIX_BYTES, &l.out, &error), &error);
    for (unsigned i = 0; i < family->count(); i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        family->make(i, &l.c);
        const cj_status status = cj_module_function(module, name, &l.function, &error);
        if (status) print_error("%s: %s\n", l.c.text, error.message);
        failed += status || !family->run(&l.c, l.buffers, launch, &l, &seed);
    }
    cj_mem_free(device, l.in);
    cj_mem_free(device, l.out);
    cj_module_unload(module);
    cj__text_free(&text);
    free(l.buffers);
    return failed;
}
