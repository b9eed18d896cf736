// SPDX-License-Identifier: Apache-2.0
#include "value.h"

#include <math.h>
#include <string.h>

#include "half.h"

static const value_type types[] = {
    {"u8", 1, CJ_U64, "0 to 255", 0, 0},
    {"u16", 2, CJ_U64, "0 to 65535", 0, 0},
    {"u32", 4, CJ_U64, "0 to 4294967295", 0, 0},
    {"u64", 8, CJ_U64, "0 to 18446744073709551615", 0, 0},
    {"s8", 1, CJ_I64, "-128 to 127", 0, 0},
    {"s16", 2, CJ_I64, "-32768 to 32767", 0, 0},
    {"s32", 4, CJ_I64, "-2147483648 to 2147483647", 0, 0},
    {"s64", 8, CJ_I64, "-9223372036854775808 to 9223372036854775807", 0, 0},
    {"f16", 2, CJ_F64, "-65504 to 65504, inf and nan", 10, 5},
    {"bf16", 2, CJ_F64, "-3.3895e38 to 3.3895e38, inf and nan", 7, 8},
    {"f32", 4, CJ_F32, "-3.402823e38 to 3.402823e38, inf and nan", 23, 8},
    {"f64", 8, CJ_F64, "-1.797693134862315e308 to 1.797693134862315e308, inf and nan", 52, 11},
};

const value_type *value_type_named(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length)) return &types[i];
    return NULL;
}

static half_format format_of(const value_type *type) { return (half_format){type->fraction, type->exponent, false}; }

void value_store(const value_type *type, element value, unsigned char *to) {
    uint64_t bits = value.u;
    float    single = type->fraction == 23 ? (float)value.f : 0;
    if (type->fraction && type->bytes == 2) bits = half_from(format_of(type), value.f);
    if (type->fraction && type->bytes == 4) memcpy(&bits, &single, sizeof single);
    memcpy(to, &bits, type->bytes);  // the host is little-endian, as GPUs are
}

element value_load(const value_type *type, const unsigned char *from) {
    element  value = {.u = 0};
    float    single;
    unsigned unused = 64 - 8 * type->bytes;
    memcpy(&value.u, from, type->bytes);
    if (type->wide == CJ_I64) value.i = (int64_t)(value.u << unused) >> unused;
    if (type->fraction && type->bytes == 2) value.f = half_to(format_of(type), (uint16_t)value.u);
    if (type->fraction && type->bytes == 4) memcpy(&single, from, sizeof single), value.f = (double)single;
    return value;
}

bool value_fits(const value_type *type, element value) {
    unsigned char bytes[8];
    value_store(type, value, bytes);
    element stored = value_load(type, bytes);
    return type->fraction ? !isinf(stored.f) || isinf(value.f) : stored.u == value.u;
}

const char *value_text(const value_type *type, element value, char buffer[ELEMENT_TEXT]) {
    int digits = type->fraction == 52 ? 15 : type->fraction == 23 ? 7 : 4;
    return type->fraction ? element_real_text(value.f, digits, buffer) : element_text(type->wide, value, buffer);
}
