// SPDX-License-Identifier: Apache-2.0
// histogram: the bin of a sample, by instructions that are exact (histogram.h says how).
#include "histogram.h"

static cj_status integer_range(cj_binning *b, double lower, double upper, cj_error *error) {
    static const double ends[] = {[CJ_SAMPLE_U8] = 0x1p8, [CJ_SAMPLE_U16] = 0x1p16, [CJ_SAMPLE_U32] = 0x1p32};
    const double        end = ends[b->sample];
    REFUSE_IF(lower < 0 || lower != floor(lower) || upper != floor(upper) || upper > 0x1p32,
              "lower and upper are %.10g and %.10g: of integer samples they are whole"
              " numbers from 0 to 2^32" CJ_HINT "leave both at 0 for bins of one number each, from 0 on",
              lower, upper);
    REFUSE_IF(lower >= end, "lower is %.10g: no sample is above %.0f" CJ_HINT "make lower smaller", lower, end - 1);
    b->first = (uint64_t)lower;
    b->width = (uint64_t)(upper - lower);
    b->whole = b->bins / b->width;
    uint64_t remainder = b->bins % b->width, high = 0, dividend = remainder;
    for (int bit = 0; bit < 64; bit++) {  // high = floor(2^64 * remainder / width): long division, dividend < width
        dividend <<= 1;
        high = high << 1 | (dividend >= b->width);
        if (dividend >= b->width) dividend -= b->width;
    }
    b->part = high + (dividend != 0);
    return CJ_OK;
}

static cj_status float_range(cj_binning *b, double lower, double upper, cj_error *error) {
    b->lower = (float)lower;
    b->upper = (float)upper;
    b->scale = (float)((double)b->bins / ((double)b->upper - (double)b->lower));
    if (b->lower < b->upper && isfinite(b->upper - b->lower) && isnormal(b->scale)) return CJ_OK;
    return cj__fail(error, CJ_INVALID_ARGUMENT,
                    "lower %.9g and upper %.9g: %" PRIu64 " bins between them cannot be told apart in f32" CJ_HINT
                    "upper - lower, and bins / (upper - lower), must be ordinary numbers of f32",
                    lower, upper, b->bins);
}

cj_status cj__binning_make(cj_binning *b, cj_sample sample, uint64_t bins, double lower, double upper,
                           cj_error *error) {
    *b = (cj_binning){.sample = sample, .bins = bins};
    if (lower == 0 && upper == 0) upper = sample == CJ_SAMPLE_F32 ? 1 : (double)bins;
    REFUSE_IF(!(lower < upper), "upper is %.10g: it must be above lower, %.10g" CJ_HINT "set both, or leave both at 0",
              upper, lower);
    return sample == CJ_SAMPLE_F32 ? float_range(b, lower, upper, error) : integer_range(b, lower, upper, error);
}

// ---- the kernel

// Whether an integer outside the range does not by itself get a number of at least `bins`.
static bool needs_check(const cj_binning *b) { return b->whole > 1 || (b->whole && b->part); }

// Widths for which the upper half of one 32-bit product is exact: its error is below d / 2^32 < 1 / width.
enum { ONE_PRODUCT = 1 << 16 };

static bool takes_two_products(const cj_binning *b) {
    return b->part & UINT32_MAX && b->width > ONE_PRODUCT && !cj__is_power(b->part);
}

// floor(d * part / 2^64): by a shift, by the upper half of one product, or of two.
static cj_reg write_part(const cj_binning *b, cj_func *f, cj_reg d) {
    const uint64_t upper = b->part >> 32, lower = b->part & UINT32_MAX;
    if (cj__is_power(b->part)) return cj_shr(f, "bin", d, 64 - cj__log2(b->part));
    if (!takes_two_products(b)) return cj_let(f, "u32", "bin", "mul.hi.u32 $1, $2, $3;", d, upper + (lower != 0));
    cj_reg high = cj_let(f, "u32", "high", "mul.hi.u32 $1, $2, $3;", d, lower);
    cj_reg product = cj_mad_wide(f, "product", d, upper, cj_cvt(f, "u64", "product", high));
    cj_reg low = cj_u32(f, "low"), bin = cj_u32(f, "bin");
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", low, bin, product);
    return bin;
}

static cj_reg write_integer(const cj_binning *b, cj_func *f, cj_reg sample) {
    cj_reg d = b->first ? cj_sub(f, "offset", sample, b->first) : sample;  // a sample below wraps to one above
    cj_reg bin = b->part         ? write_part(b, f, d)
                 : b->whole == 1 ? cj_let(f, "u32", "bin", "mov.b32 $1, $2;", d)
                                 : cj_mul(f, "bin", d, b->whole);
    if (b->part && b->whole) cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", bin, d, b->whole);
    if (needs_check(b)) cj_ptx(f, "selp.u32 $1, $1, 0xffffffff, $2;", bin, cj_lt(f, "inside", d, b->width));
    return bin;
}

static cj_reg write_float(const cj_binning *b, cj_func *f, cj_reg sample) {
    cj_reg inside = cj_ge(f, "inside", sample, b->lower);
    cj_ptx(f, "setp.lt.and.f32 $1, $2, $3, $1;", inside, sample, b->upper);
    cj_reg d = b->lower != 0 ? cj_let(f, "f32", "above", "sub.rn.f32 $1, $2, $3;", sample, b->lower) : sample;
    cj_reg scaled = cj_let(f, "f32", "scaled", "mul.rn.f32 $1, $2, $3;", d, b->scale);
    cj_reg bin = cj_let(f, "u32", "bin", "cvt.rzi.u32.f32 $1, $2;", scaled);
    cj_update(f, bin, "min", b->bins - 1);
    cj_ptx(f, "selp.u32 $1, $1, 0xffffffff, $2;", bin, inside);
    return bin;
}

cj_reg cj__binning_write(const cj_binning *b, cj_func *f, cj_reg sample) {
    return b->sample == CJ_SAMPLE_F32 ? write_float(b, f, sample) : write_integer(b, f, sample);
}
