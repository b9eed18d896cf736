// SPDX-License-Identifier: Apache-2.0
#include "small.h"

#include <math.h>

#include "bits.h"

enum { DOUBLE_FRACTION = 52, DOUBLE_BIAS = 1023 };

static const cj_small_float f16 = {16, 10, -14, 0x7bff, 0x7c00, 0x7fff};
static const cj_small_float bf16 = {16, 7, -126, 0x7f7f, 0x7f80, 0x7fff};
static const cj_small_float tf32 = {19, 10, -126, 0x3fbff, 0x3fc00, 0x3ffff};
static const cj_small_float e4m3 = {8, 3, -6, 0x7e, 0, 0x7f};
static const cj_small_float e5m2 = {8, 2, -14, 0x7b, 0x7c, 0x7f};

const cj_small_float *cj__small_float(cj_word type) {
    switch (type) {
    case CJ_W_F16:
    case CJ_W_F16X2: return &f16;
    case CJ_W_BF16:
    case CJ_W_BF16X2: return &bf16;
    case CJ_W_TF32: return &tf32;
    case CJ_W_E4M3:
    case CJ_W_E4M3X2:
    case CJ_W_E4M3X4: return &e4m3;
    case CJ_W_E5M2:
    case CJ_W_E5M2X2:
    case CJ_W_E5M2X4: return &e5m2;
    default: return NULL;
    }
}

// Whether the truncated part (`rest` of 2 * `half`) moves the kept part, `odd` or not, away from zero.
static bool rounds_up(uint64_t rest, uint64_t half, bool odd, cj_word rounding, bool negative) {
    switch (rounding) {
    case CJ_W_RZ: return false;
    case CJ_W_RM: return rest && negative;
    case CJ_W_RP: return rest && !negative;
    case CJ_W_RNA: return rest >= half;
    default: return rest > half || (rest == half && odd);
    }
}

static uint32_t too_large(const cj_small_float *format, cj_word rounding, bool negative, bool finite) {
    const bool inward = rounding == CJ_W_RZ || (rounding == CJ_W_RM && !negative) || (rounding == CJ_W_RP && negative);
    return finite || inward || !format->infinity ? format->largest : format->infinity;
}

// The kept part counts units of the format's last place at x's magnitude. In a normal number it includes the leading
// bit: added to an exponent field that is one too low, it gives the code, and a carry correctly increments the
// exponent.
uint32_t cj__small_pack(const cj_small_float *format, double x, cj_word rounding, bool finite) {
    const bool     negative = signbit(x);
    const uint32_t sign = (uint32_t)negative << (format->bits - 1);
    if (x != x) return format->nan;
    if (isinf(x)) return sign | (finite || !format->infinity ? format->largest : format->infinity);

    const uint64_t bits = cj__bits_of_double(x), leading = (uint64_t)1 << DOUBLE_FRACTION;
    const int      field = (int)(bits >> DOUBLE_FRACTION & 0x7ff);
    const uint64_t whole = (bits & (leading - 1)) | (field ? leading : 0);
    const int      exponent = (field ? field : 1) - DOUBLE_BIAS;
    const int      below = exponent < format->least ? format->least - exponent : 0;
    const int      cut = DOUBLE_FRACTION - format->fraction + (below < 60 ? below : 60);
    const int      shift = cut < 62 ? cut : 62;

    const uint64_t half = (uint64_t)1 << (shift - 1), kept = whole >> shift, rest = whole & (2 * half - 1);
    const uint64_t above = below ? 0 : (uint64_t)(exponent - format->least) << format->fraction;
    const uint64_t code = above + kept + rounds_up(rest, half, kept & 1, rounding, negative);
    return sign | (code > format->largest ? too_large(format, rounding, negative, finite) : (uint32_t)code);
}

double cj__small_unpack(const cj_small_float *format, uint32_t code) {
    const uint32_t magnitude = code & ((1u << (format->bits - 1)) - 1);
    const uint32_t leading = 1u << format->fraction, field = magnitude >> format->fraction;
    const double   sign = code >> (format->bits - 1) & 1 ? -1.0 : 1.0;
    if (magnitude > format->largest) return magnitude == format->infinity ? sign * (double)INFINITY : (double)NAN;
    const uint32_t whole = (magnitude & (leading - 1)) | (field ? leading : 0);
    return sign * ldexp(whole, format->least + (int)(field ? field - 1 : 0) - format->fraction);
}

// Of the two neighbours of an inexact sum, the one whose last bit is set.
double cj__small_sum(double a, double b) {
    const double sum = a + b, b_part = sum - a;
    const double error = (a - (sum - b_part)) + (b - b_part);
    if (!(fabs(sum) < (double)INFINITY) || error == 0 || cj__bits_of_double(sum) & 1) return sum;
    return cj__bits_to_double((error > 0) == (sum > 0) ? cj__bits_of_double(sum) + 1 : cj__bits_of_double(sum) - 1);
}

double cj__small_integer(uint64_t magnitude) {
    enum { LOST = 64 - 1 - DOUBLE_FRACTION };
    const uint64_t low = ((uint64_t)1 << LOST) - 1;
    if (magnitude >> DOUBLE_FRACTION && magnitude & low) magnitude = (magnitude & ~low) | (low + 1);
    return (double)magnitude;
}
