// SPDX-License-Identifier: Apache-2.0
#include "element_order.h"

#include <string.h>

bool cj_test_is_float(cj_dtype type) { return type == CJ_F32 || type == CJ_F64 || type == CJ_F16 || type == CJ_BF16; }

uint64_t cj_test_infinity(cj_dtype type) {
    return type == CJ_F64 ? UINT64_C(0x7ff) << 52 : type == CJ_F32 ? 0x7f800000 : type == CJ_BF16 ? 0x7f80 : 0x7c00;
}

uint64_t cj_test_bits(const unsigned char *at, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, at, bytes);  // little-endian
    return value;
}

int64_t cj_test_rank(cj_dtype type, uint64_t bits) {
    const unsigned width = 8 * (unsigned)cj_dtype_size(type);
    const uint64_t sign = UINT64_C(1) << (width - 1);
    if (cj_test_is_float(type)) {
        const uint64_t magnitude = bits & (sign - 1);
        if (magnitude > cj_test_infinity(type)) return INT64_MAX;
        return bits & sign ? -(int64_t)magnitude : (int64_t)magnitude;
    }
    if (type == CJ_U64) return (int64_t)(bits ^ sign);
    if (type == CJ_U32 || type == CJ_U16 || type == CJ_U8) return (int64_t)bits;
    return (int64_t)(bits << (64 - width)) >> (64 - width);
}
