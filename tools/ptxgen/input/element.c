// SPDX-License-Identifier: Apache-2.0
#include "element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "half.h"
#include "output.h"

// The member of an element that holds values of a C type.
#define IN_float f
#define IN_double f
#define IN_int8_t i
#define IN_int16_t i
#define IN_int32_t i
#define IN_int64_t i
#define IN_uint8_t u
#define IN_uint16_t u
#define IN_uint32_t u
#define IN_uint64_t u

element_kind element_kind_of(cj_dtype type) { return (element_kind)cj_dtype_name(cj_dtype_arithmetic(type))[0]; }

// NULL for a type that C has, too.
static const half_format *half_of(cj_dtype type) {
    switch (type) {
    case CJ_F16: return &half_f16;
    case CJ_BF16: return &half_bf16;
    case CJ_E4M3: return &half_e4m3;
    case CJ_E5M2: return &half_e5m2;
    default: return NULL;
    }
}

bool element_type(const char *name, cj_dtype *type) {
#define CJ_X(id, text, bytes, ctype) \
    if (strcmp(name, text) == 0) {   \
        *type = CJ_##id;             \
        return true;                 \
    }
    CJ_DTYPE_LIST(CJ_X)
#undef CJ_X
    return false;
}

void element_widen(cj_dtype type, const void *from, size_t count, element *to) {
    const half_format *half = half_of(type);
    const bool         bytes = cj_dtype_size(type) == 1;
    for (size_t k = 0; half && k < count; k++)
        to[k].f = half_to(*half, bytes ? ((const uint8_t *)from)[k] : ((const uint16_t *)from)[k]);
    if (half) return;
    switch (type) {
#define CJ_X(id, text, bytes, ctype)                                                    \
    case CJ_##id:                                                                       \
        for (size_t k = 0; k < count; k++) to[k].IN_##ctype = ((const ctype *)from)[k]; \
        break;
        CJ_DTYPE_LIST(CJ_X)
#undef CJ_X
    }
}

void element_narrow(cj_dtype type, const element *from, size_t count, void *to) {
    const half_format *half = half_of(type);
    const bool         bytes = cj_dtype_size(type) == 1;
    for (size_t k = 0; half && k < count; k++) {
        const uint16_t bits = half_from(*half, from[k].f);
        if (bytes)
            ((uint8_t *)to)[k] = (uint8_t)bits;
        else
            ((uint16_t *)to)[k] = bits;
    }
    if (half) return;
    switch (type) {
#define CJ_X(id, text, bytes, ctype)                                                     \
    case CJ_##id:                                                                        \
        for (size_t k = 0; k < count; k++) ((ctype *)to)[k] = (ctype)from[k].IN_##ctype; \
        break;
        CJ_DTYPE_LIST(CJ_X)
#undef CJ_X
    }
}

element element_stored(cj_dtype type, element value) {
    uint64_t room;
    element  stored;
    element_narrow(type, &value, 1, &room);
    element_widen(type, &room, 1, &stored);
    return stored;
}

double element_number(cj_dtype type, element value) {
    switch (element_kind_of(type)) {
    case ELEMENT_FLOAT: return value.f;
    case ELEMENT_SIGNED: return (double)value.i;
    case ELEMENT_UNSIGNED: break;
    }
    return (double)value.u;
}

element element_of_number(cj_dtype type, double number) {
    const element_kind kind = element_kind_of(type);
    if (kind == ELEMENT_FLOAT) return (element){.f = number};
    const int    bits = 8 * (int)cj_dtype_size(type) - (kind == ELEMENT_SIGNED);  // of the greatest one
    const double end = ldexp(1, bits), whole = isnan(number) ? 0 : nearbyint(number);
    if (whole >= end) return (element){.u = UINT64_MAX >> (64 - bits)};
    return kind == ELEMENT_SIGNED ? (element){.i = (int64_t)fmax(whole, -end)} : (element){.u = (uint64_t)fmax(whole, 0)};
}

bool element_same(cj_dtype type, element a, element b) {
    if (element_kind_of(type) != ELEMENT_FLOAT) return a.u == b.u;
    return a.f == b.f || (isnan(a.f) && isnan(b.f));
}

const char *element_real_text(double value, int digits, char buffer[ELEMENT_TEXT]) {
    if (isnan(value))
        snprintf(buffer, ELEMENT_TEXT, "nan");
    else if (fabs(value) < 1e15 && value == floor(value))
        snprintf(buffer, ELEMENT_TEXT, "%.1f", value);
    else
        snprintf(buffer, ELEMENT_TEXT, "%.*g", digits, value);
    // 7 digits of 114.00001 read "114"
    if (!strpbrk(buffer, ".en")) strcat(buffer, ".0");
    return buffer;
}

const char *element_text(cj_dtype type, element value, char buffer[ELEMENT_TEXT]) {
    switch (element_kind_of(type)) {
    case ELEMENT_FLOAT: return element_real_text(value.f, half_of(type) ? 4 : type == CJ_F32 ? 7 : 15, buffer);
    case ELEMENT_SIGNED: snprintf(buffer, ELEMENT_TEXT, "%" PRId64, value.i); break;
    case ELEMENT_UNSIGNED: snprintf(buffer, ELEMENT_TEXT, "%" PRIu64, value.u); break;
    }
    return buffer;
}

json_t *element_json(cj_dtype type, element value) {
    switch (element_kind_of(type)) {
    case ELEMENT_FLOAT: return output_json_real(value.f);
    case ELEMENT_SIGNED: return json_integer(value.i);
    case ELEMENT_UNSIGNED: break;
    }
    return output_json_uint(value.u);
}
