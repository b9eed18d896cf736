// SPDX-License-Identifier: Apache-2.0
// Conversions (PTX ISA, "cvt"). Registers may be wider than the types: a source's upper bits are ignored, a result is
// extended by its sign. Between integers of 32 and 64 bits a conversion is a move; the others go through 64 bits.
#include <string.h>

#include "exec.h"

// ---- moves

#define MOVE(name, from, to)                                      \
    CJ_EXEC(name) {                                               \
        lane_##to         *d = CJ_LANES_OF(lane_##to, 0);         \
        const lane_##from *a = CJ_LANES_OF(const lane_##from, 1); \
        CJ_EACH_LANE(i, mask, { d[i] = (lane_##to)a[i]; });       \
        return CJ_STEP_NEXT;                                      \
    }

MOVE(copy_32, u32, u32)
MOVE(copy_64, u64, u64)
MOVE(narrow, u64, u32)
MOVE(zero_extend, u32, u64)
MOVE(sign_extend, s32, s64)
MOVE(f32_to_f64, f32, f64)
MOVE(s32_to_f32, s32, f32)
MOVE(s32_to_f64, s32, f64)

// ---- reading and writing registers of any width

// The source as 64-bit integers, extended by its sign.
static void read_integers(const cj_cpu_warp *w, const cj_cpu_op *op, int64_t value[CJ_LANES]) {
    const cj_cpu_convert *convert = op->convert;
    const unsigned        unused = 64u - convert->from_bits;
    if (convert->from_register == 64) {
        CJ_EVERY_LANE(i) value[i] = CJ_LANES_OF(const lane_s64, 1)[i];
    } else if (convert->from_register == 32) {
        CJ_EVERY_LANE(i) value[i] = CJ_LANES_OF(const lane_s32, 1)[i];
    } else {
        CJ_EVERY_LANE(i) value[i] = CJ_LANES_OF(const lane_s16, 1)[i];
    }
    if (convert->from_signed) {
        CJ_EVERY_LANE(i) value[i] = (int64_t)((uint64_t)value[i] << unused) >> unused;
    } else {
        CJ_EVERY_LANE(i) value[i] = (int64_t)((uint64_t)value[i] << unused >> unused);
    }
}

// Writes integers, cut to the result's type and extended by its sign.
static void write_integers(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, int64_t value[CJ_LANES]) {
    const cj_cpu_convert *convert = op->convert;
    const unsigned        unused = 64u - convert->to_bits;
    if (convert->to_signed) {
        CJ_EVERY_LANE(i) value[i] = (int64_t)((uint64_t)value[i] << unused) >> unused;
    } else {
        CJ_EVERY_LANE(i) value[i] = (int64_t)((uint64_t)value[i] << unused >> unused);
    }
    if (convert->to_register == 64) {
        CJ_EACH_LANE(i, mask, { CJ_LANES_OF(lane_s64, 0)[i] = value[i]; });
    } else if (convert->to_register == 32) {
        CJ_EACH_LANE(i, mask, { CJ_LANES_OF(lane_s32, 0)[i] = (int32_t)value[i]; });
    } else {
        CJ_EACH_LANE(i, mask, { CJ_LANES_OF(lane_s16, 0)[i] = (int16_t)value[i]; });
    }
}

static int64_t  signed_largest(unsigned bits) { return (int64_t)(UINT64_MAX >> 1 >> (64 - bits)); }
static uint64_t unsigned_largest(unsigned bits) { return UINT64_MAX >> (64 - bits); }

// ---- integer to integer

static int64_t saturated(const cj_cpu_convert *convert, int64_t value) {
    const int64_t top = signed_largest(convert->to_bits);
    const bool    negative = convert->from_signed && value < 0;
    if (convert->to_signed) {
        if (negative) return value < -top - 1 ? -top - 1 : value;
        return (uint64_t)value > (uint64_t)top ? top : value;
    }
    if (negative) return 0;
    return (uint64_t)value > unsigned_largest(convert->to_bits) ? (int64_t)unsigned_largest(convert->to_bits) : value;
}

CJ_EXEC(integer_to_integer) {
    int64_t value[CJ_LANES];
    read_integers(w, op, value);
    if (op->convert->saturate) {
        for (unsigned i = 0; i < CJ_LANES; i++) value[i] = saturated(op->convert, value[i]);
    }
    write_integers(w, op, mask, value);
    return CJ_STEP_NEXT;
}

// ---- integer to float; saturated, only 0 and 1 are left

#define TO_FLOAT(type)                                                                 \
    CJ_EXEC(integer_to_##type) {                                                       \
        lane_##type *d = CJ_LANES_OF(lane_##type, 0);                                  \
        int64_t      value[CJ_LANES];                                                  \
        read_integers(w, op, value);                                                   \
        if (op->convert->saturate) {                                                   \
            CJ_EACH_LANE(i, mask, { d[i] = value[i] && !is_negative(op, value[i]); }); \
        } else if (op->convert->from_signed) {                                         \
            CJ_EACH_LANE(i, mask, { d[i] = (lane_##type)value[i]; });                  \
        } else {                                                                       \
            CJ_EACH_LANE(i, mask, { d[i] = (lane_##type)(uint64_t)value[i]; });        \
        }                                                                              \
        return CJ_STEP_NEXT;                                                           \
    }

static bool is_negative(const cj_cpu_op *op, int64_t value) { return op->convert->from_signed && value < 0; }

TO_FLOAT(f32)
TO_FLOAT(f64)

// ---- float to float

CJ_EXEC(f64_to_f32) {
    lane_f32             *d = CJ_LANES_OF(lane_f32, 0);
    const lane_f64       *a = CJ_LANES_OF(const lane_f64, 1);
    const cj_cpu_convert *convert = op->convert;
    const uint32_t        nan_bits = 0x7fffffff;
    float                 nan;
    memcpy(&nan, &nan_bits, sizeof nan);
    CJ_SOME_LANES(i, mask) {
        float x = (float)a[i];
        if (convert->flush) x = cj__cpu_flush(x);
        if (convert->saturate) x = x > 1.0f ? 1.0f : x > 0.0f ? x : 0.0f;
        d[i] = x != x ? nan : x;
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(f32_to_f64_ftz) {
    lane_f64       *d = CJ_LANES_OF(lane_f64, 0);
    const lane_f32 *a = CJ_LANES_OF(const lane_f32, 1);
    CJ_EACH_LANE(i, mask, { d[i] = (double)cj__cpu_flush(a[i]); });
    return CJ_STEP_NEXT;
}

// ---- float to integer: rounded, then limited to the type's range

static double rounded(double x, uint16_t mode) {
    return mode == CJ_W_RZI ? trunc(x) : mode == CJ_W_RMI ? floor(x) : mode == CJ_W_RPI ? ceil(x) : rint(x);
}

// NaN becomes 0, or the upper bit alone where either type has 64 bits.
static int64_t not_a_number(const cj_cpu_convert *convert) {
    if (convert->from_bits < 64 && convert->to_bits < 64) return 0;
    return (int64_t)((uint64_t)1 << (convert->to_bits - 1));
}

static int64_t limited(const cj_cpu_convert *convert, double x) {
    if (x != x) return not_a_number(convert);
    const unsigned bits = convert->to_bits;
    if (convert->to_signed) {
        const double edge = ldexp(1, (int)bits - 1);
        return x >= edge ? signed_largest(bits) : x < -edge ? -signed_largest(bits) - 1 : (int64_t)x;
    }
    return x >= ldexp(1, (int)bits) ? (int64_t)unsigned_largest(bits) : x <= 0 ? 0 : (int64_t)(uint64_t)x;
}

CJ_EXEC(float_to_integer) {
    const cj_cpu_convert *convert = op->convert;
    int64_t               value[CJ_LANES];
    for (unsigned i = 0; i < CJ_LANES; i++) {
        double x;
        if (convert->from_bits == 64)
            x = CJ_LANES_OF(const lane_f64, 1)[i];
        else if (convert->flush)
            x = (double)cj__cpu_flush(CJ_LANES_OF(const lane_f32, 1)[i]);
        else
            x = (double)CJ_LANES_OF(const lane_f32, 1)[i];
        value[i] = limited(convert, rounded(x, op->mode));
    }
    write_integers(w, op, mask, value);
    return CJ_STEP_NEXT;
}

// ---- selection

static cj_cpu_exec integer_move(const cj_cpu_convert *c) {
    const bool whole = c->from_bits == c->from_register && c->to_bits == c->to_register;
    if (!whole || c->saturate || c->from_bits < 32 || c->to_bits < 32) return integer_to_integer;
    if (c->from_bits == c->to_bits) return c->to_bits == 64 ? copy_64 : copy_32;
    if (c->from_bits == 64) return narrow;
    return c->from_signed ? sign_extend : zero_extend;
}

static cj_cpu_exec to_float(const cj_cpu_convert *c, bool from_float) {
    if (from_float && c->from_bits == c->to_bits) return c->to_bits == 64 ? copy_64 : NULL;
    if (from_float) return c->to_bits == 32 ? f64_to_f32 : c->flush ? f32_to_f64_ftz : f32_to_f64;
    if (c->from_signed && c->from_bits == 32 && c->from_register == 32 && !c->saturate)
        return c->to_bits == 32 ? s32_to_f32 : s32_to_f64;
    return c->to_bits == 32 ? integer_to_f32 : integer_to_f64;
}

static bool is_known(const cj_word_info *type) {
    return type->class != CJ_CLASS_PACKED && (type->class != CJ_CLASS_FLOAT || type->bits >= 32) && type->bits <= 64;
}

bool cj__cpu_select_cvt(cj_cpu_prepare *p) {
    static const cj_word roundings[] = {CJ_W_RNI, CJ_W_RZI, CJ_W_RMI, CJ_W_RPI};
    const cj_word_info  *to = &cj__words[p->mnemonic->type[0]], *from = &cj__words[p->mnemonic->type[1]];
    cj_cpu_convert      *convert = cj__cpu_keep(p, sizeof *convert);
    if (!convert || !is_known(to) || !is_known(from) || p->bits[0] > 64 || p->bits[1] > 64) return false;
    *convert = (cj_cpu_convert){
        .from_bits = (uint8_t)from->bits,
        .from_register = (uint8_t)p->bits[1],
        .to_bits = (uint8_t)to->bits,
        .to_register = (uint8_t)p->bits[0],
        .from_signed = from->class == CJ_CLASS_SIGNED,
        .to_signed = to->class == CJ_CLASS_SIGNED,
        .saturate = cj__cpu_has(p, CJ_W_SAT),
        .flush = cj__cpu_has(p, CJ_W_FTZ),
    };
    p->op.convert = convert;
    const bool to_is_float = to->class == CJ_CLASS_FLOAT, from_is_float = from->class == CJ_CLASS_FLOAT;
    p->any_width = true;
    if (to_is_float)
        p->op.run = to_float(convert, from_is_float);
    else
        p->op.run = from_is_float ? float_to_integer : integer_move(convert);
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++) {
        if (cj__cpu_has(p, roundings[i])) p->op.mode = (uint16_t)roundings[i];
    }
    if (p->op.run && to_is_float) cj__cpu_round(p);
    return p->op.run != NULL;
}
