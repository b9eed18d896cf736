// SPDX-License-Identifier: Apache-2.0
// Conversions to f16, bf16 and tf32, and of pairs (PTX ISA, "cvt"): through double, which holds every source exactly or
// rounded to odd, so that the result is rounded once.
#include "convert.h"

static double limited(const cj_cpu_convert *convert, double x) {
    if (convert->saturate) return x > 1 ? 1 : x > 0 ? x : 0;
    return convert->relu && x <= 0 ? 0 : x;
}

// A NaN of f64 keeps its sign and the upper bits of its payload, and becomes quiet; other NaNs become the format's one.
static uint16_t not_a_number(const cj_cpu_convert *convert, const cj_small_float *format, double x) {
    uint64_t bits;
    if (convert->from_bits < 64) return (uint16_t)format->nan;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t payload = bits >> (52 - format->fraction) & ((1u << format->fraction) - 1);
    return (uint16_t)(bits >> 63 << 15 | format->infinity | payload | 1u << (format->fraction - 1));
}

CJ_EXEC(float_to_half) {
    const cj_cpu_convert *convert = op->convert;
    const cj_small_float *format = cj__small_float(convert->to);
    double                value[CJ_LANES];
    cj__cpu_read_floats(w, op, value);
    CJ_SOME_LANES(i, mask) {
        const double x = limited(convert, cj__cpu_whole(value[i], convert->rounding));
        CJ_LANES_OF(lane_u16, 0)[i] = x != x ? not_a_number(convert, format, x)
                                            : (uint16_t)cj__small_pack(format, x, convert->rounding, convert->finite);
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(integer_to_half) {
    const cj_cpu_convert *convert = op->convert;
    const cj_small_float *format = cj__small_float(convert->to);
    int64_t               value[CJ_LANES];
    cj__cpu_read_integers(w, op, value);
    CJ_SOME_LANES(i, mask) {
        const bool   negative = convert->from_signed && value[i] < 0;
        const double magnitude = cj__small_integer(negative ? 0 - (uint64_t)value[i] : (uint64_t)value[i]);
        const double x = limited(convert, negative ? -magnitude : magnitude);
        CJ_LANES_OF(lane_u16, 0)[i] = (uint16_t)cj__small_pack(format, x, convert->rounding, false);
    }
    return CJ_STEP_NEXT;
}

// tf32 is the upper 19 bits of an f32.
CJ_EXEC(f32_to_tf32) {
    const cj_cpu_convert *convert = op->convert;
    const cj_small_float *format = cj__small_float(CJ_W_TF32);
    CJ_SOME_LANES(i, mask) {
        const double   x = limited(convert, (double)CJ_LANES_OF(const lane_f32, 1)[i]);
        const uint32_t code = cj__small_pack(format, x, convert->rounding, convert->finite);
        CJ_LANES_OF(lane_u32, 0)[i] = x != x ? 0x7fffe000 : code << 13;
    }
    return CJ_STEP_NEXT;
}

// The hardware does .rna with integers: a NaN loses bits, and with .satfinite becomes one step smaller, as infinity
// does.
CJ_EXEC(f32_to_tf32_away) {
    enum { STEP = 0x2000, INFINITE = 0x7f800000 };
    CJ_SOME_LANES(i, mask) {
        uint32_t bits = CJ_LANES_OF(const lane_u32, 1)[i];
        if ((bits & 0x7fffffff) < INFINITE) bits += STEP / 2;
        bits &= ~(STEP - 1u);
        if (op->convert->finite && (bits & 0x7fffffff) >= INFINITE) bits -= STEP;
        CJ_LANES_OF(lane_u32, 0)[i] = bits;
    }
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_narrow(cj_cpu_prepare *p) {
    const cj_cpu_convert *convert = p->op.convert;
    const cj_type_class class = cj__words[convert->from].class;
    if (convert->to == CJ_W_TF32)
        p->op.run = convert->rounding == CJ_W_RNA ? f32_to_tf32_away : f32_to_tf32;
    else
        p->op.run = class == CJ_CLASS_SIGNED || class == CJ_CLASS_UNSIGNED ? integer_to_half : float_to_half;
    return true;
}

// ---- pairs: from two f32, the first into the upper half, or from a pair of another format

typedef struct pairing {
    const cj_small_float *from, *to;  // from NULL: two f32
    cj_cpu_convert        convert;
} pairing;

static uint32_t register_of(const cj_cpu_warp *w, const cj_cpu_op *op, unsigned k, unsigned bits, unsigned lane) {
    return bits == 32 ? CJ_LANES_OF(const lane_u32, k)[lane] : CJ_LANES_OF(const lane_u16, k)[lane];
}

CJ_EXEC(convert_pair) {
    const pairing *pair = op->plan;
    const unsigned width = pair->to->bits;
    CJ_SOME_LANES(i, mask) {
        uint32_t result = 0;
        for (unsigned part = 0; part < 2; part++) {
            double x;
            if (pair->from) {
                const unsigned bits = pair->from->bits;
                x = cj__small_unpack(pair->from,
                                     register_of(w, op, 1, 2 * bits, i) >> part * bits & ((1u << bits) - 1));
            } else {
                x = (double)CJ_LANES_OF(const lane_f32, 2 - part)[i];
            }
            x = limited(&pair->convert, x);
            result |= cj__small_pack(pair->to, x, pair->convert.rounding, pair->convert.finite) << part * width;
        }
        if (width == 16)
            CJ_LANES_OF(lane_u32, 0)[i] = result;
        else
            CJ_LANES_OF(lane_u16, 0)[i] = (uint16_t)result;
    }
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_cvt_pair(cj_cpu_prepare *p) {
    pairing *pair = cj__cpu_keep(p, sizeof *pair);
    if (!pair) return false;
    pair->to = cj__small_float(p->mnemonic->type[0]);
    pair->from = cj__small_float(p->mnemonic->type[1]);
    pair->convert.rounding = cj__cpu_has(p, CJ_W_RZ) ? CJ_W_RZ : CJ_W_RN;
    pair->convert.relu = cj__cpu_has(p, CJ_W_RELU);
    pair->convert.finite = cj__cpu_has(p, CJ_W_SATFINITE);
    p->op.plan = pair;
    p->op.run = convert_pair;
    return true;
}
