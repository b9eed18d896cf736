// SPDX-License-Identifier: Apache-2.0
#include "gemm_number.h"

#include <stddef.h>
#include <string.h>

#include "test.h"

static const gemm_number_type numbers[] = {
    {"bf16", 2, {7, 8, false}, 0, 0}, {"f16", 2, {10, 5, false}, 0, 0},  {"e4m3", 1, {3, 4, true}, 0, 0},
    {"e5m2", 1, {2, 5, false}, 0, 0}, {"tf32", 4, {10, 8, false}, 0, 0}, {"f32", 4, {23, 8, false}, 0, 0},
    {"i8", 1, {0}, -128, 127},        {"u8", 1, {0}, 0, 255},            {"i32", 4, {0}, INT32_MIN, INT32_MAX},
    {"f64", 8, {52, 11, false}, 0, 0},
};

const gemm_number_type *gemm_number(const char *name) {
    for (size_t i = 0; i < CJ_TEST_COUNT(numbers); i++)
        if (!strcmp(numbers[i].name, name)) return &numbers[i];
    return NULL;
}

void gemm_number_put(const gemm_number_type *type, void *to, double value) {
    const int64_t whole = gemm_number_is_integer(type) ? (int64_t)value : 0;
    if (gemm_number_is_integer(type)) {
        memcpy(to, &whole, type->bytes);  // the host is little-endian, as GPUs are
        return;
    }
    if (type->bytes == 8) {
        memcpy(to, &value, sizeof value);
        return;
    }
    const uint16_t half = type->bytes < 4 ? half_from(type->format, value) : 0;
    const float    single = (float)value;
    uint32_t       bits;
    memcpy(&bits, &single, sizeof bits);
    if (type->format.fraction < 23) bits &= ~UINT32_C(0x1fff);
    memcpy(to, type->bytes < 4 ? (const void *)&half : &bits, type->bytes);
}

static double integer(const gemm_number_type *type, const void *from) {
    int32_t whole = 0;
    memcpy(&whole, from, type->bytes);
    return type->least < 0 && type->bytes == 1 ? (int8_t)whole : whole;
}

double gemm_number_get(const gemm_number_type *type, const void *from) {
    if (gemm_number_is_integer(type)) return integer(type, from);
    uint16_t half = 0;
    float    single = 0;
    double   wide = 0;
    if (type->bytes == 8) return memcpy(&wide, from, sizeof wide), wide;
    memcpy(type->bytes < 4 ? (void *)&half : &single, from, type->bytes);
    return type->bytes < 4 ? half_to(type->format, half) : (double)single;
}
