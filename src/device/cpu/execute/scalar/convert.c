// SPDX-License-Identifier: Apache-2.0
// Conversions (PTX ISA, "cvt"). Registers may be wider than the types: a source's upper bits are ignored, a result is
// extended by its sign. Between integers of 32 and 64 bits a conversion is a move; the others go through 64 bits.
#include "convert.h"

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
    cj__cpu_read_integers(w, op, value);
    if (op->convert->saturate) {
        for (unsigned i = 0; i < CJ_LANES; i++) value[i] = saturated(op->convert, value[i]);
    }
    cj__cpu_write_integers(w, op, mask, value);
    return CJ_STEP_NEXT;
}

// ---- integer to float; with .sat only 0 and 1 remain

#define TO_FLOAT(type)                                                                 \
    CJ_EXEC(integer_to_##type) {                                                       \
        lane_##type *d = CJ_LANES_OF(lane_##type, 0);                                  \
        int64_t      value[CJ_LANES];                                                  \
        cj__cpu_read_integers(w, op, value);                                           \
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

// As .rni and .sat ask: to a whole number, and into 0 to 1, where NaN becomes 0.
static double rounded(const cj_cpu_convert *convert, double given) {
    const double x = cj__cpu_whole(given, convert->rounding);
    if (!convert->saturate) return x;
    return x > 1 ? 1 : x > 0 ? x : 0;
}

CJ_EXEC(float_to_f32) {
    lane_f32             *d = CJ_LANES_OF(lane_f32, 0);
    const cj_cpu_convert *convert = op->convert;
    double                value[CJ_LANES];
    cj__cpu_read_floats(w, op, value);
    CJ_SOME_LANES(i, mask) {
        const double x = rounded(convert, value[i]);
        const float  kept = convert->flush ? cj__cpu_flush_result((float)x, x) : (float)x;
        d[i] = convert->from_bits == 64 ? kept : cj__cpu_canonical(kept);  // a NaN of f64 keeps its upper bits
    }
    return CJ_STEP_NEXT;
}

CJ_EXEC(float_to_f64) {
    lane_f64             *d = CJ_LANES_OF(lane_f64, 0);
    const cj_cpu_convert *convert = op->convert;
    double                value[CJ_LANES];
    cj__cpu_read_floats(w, op, value);
    CJ_SOME_LANES(i, mask) {
        const double x = rounded(convert, value[i]);
        d[i] = x == x           ? x
               : convert->flush ? (double)cj__cpu_canonical(NAN)
                                : x + x;  // .ftz passes through the f32 unit
    }
    return CJ_STEP_NEXT;
}

// The hardware widens bf16 by a shift, so a NaN keeps its payload.
CJ_EXEC(bf16_to_f32) {
    lane_u32       *d = CJ_LANES_OF(lane_u32, 0);
    const lane_u16 *a = CJ_LANES_OF(const lane_u16, 1);
    CJ_EACH_LANE(i, mask, { d[i] = (uint32_t)a[i] << 16; });
    return CJ_STEP_NEXT;
}

CJ_EXEC(f16_to_f32) {
    lane_f32       *d = CJ_LANES_OF(lane_f32, 0);
    const lane_u16 *a = CJ_LANES_OF(const lane_u16, 1);
    CJ_EACH_LANE(i, mask, { d[i] = cj__cpu_canonical(cj__f16_to_f32(a[i])); });
    return CJ_STEP_NEXT;
}

// ---- float to integer: rounded, then limited to the type's range

// NaN becomes 0; if one of the two types has 64 bits, it becomes the highest bit alone.
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
    double                x[CJ_LANES];
    int64_t               value[CJ_LANES];
    cj__cpu_read_floats(w, op, x);
    for (unsigned i = 0; i < CJ_LANES; i++) value[i] = limited(convert, cj__cpu_whole(x[i], convert->rounding));
    cj__cpu_write_integers(w, op, mask, value);
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

// To f32 or f64.
static cj_cpu_exec float_to_float(const cj_cpu_convert *c) {
    if (c->from_bits == 16 && c->to_bits == 32 && !c->saturate && !c->flush) {
        return c->from == CJ_W_F16 ? f16_to_f32 : bf16_to_f32;
    }
    const bool plain = !c->saturate && !c->flush && !c->rounding;
    if (plain && c->from_bits == c->to_bits) return c->to_bits == 64 ? copy_64 : copy_32;
    if (plain && c->from_bits == 32) return f32_to_f64;
    return c->to_bits == 64 ? float_to_f64 : float_to_f32;
}

static cj_cpu_exec integer_to_float(const cj_cpu_convert *c) {
    if (c->from_signed && c->from_bits == 32 && c->from_register == 32 && !c->saturate)
        return c->to_bits == 32 ? s32_to_f32 : s32_to_f64;
    return c->to_bits == 32 ? integer_to_f32 : integer_to_f64;
}

static bool is_float(cj_word type) { return cj__words[type].class == CJ_CLASS_FLOAT || cj__small_float(type) != NULL; }

static uint16_t rounding_of(const cj_cpu_prepare *p) {
    static const cj_word words[] = {CJ_W_RNI, CJ_W_RZI, CJ_W_RMI, CJ_W_RPI, CJ_W_RN,
                                    CJ_W_RZ,  CJ_W_RM,  CJ_W_RP,  CJ_W_RNA};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (cj__cpu_has(p, words[i])) return (uint16_t)words[i];
    }
    return CJ_WORD_NONE;
}

bool cj__cpu_select_cvt(cj_cpu_prepare *p) {
    const cj_word       to_type = p->mnemonic->type[0], from_type = p->mnemonic->type[1];
    const cj_word_info *to = &cj__words[to_type], *from = &cj__words[from_type];
    cj_cpu_convert     *convert = cj__cpu_keep(p, sizeof *convert);
    if (!convert || p->bits[0] > 64 || p->bits[1] > 64) return false;
    *convert = (cj_cpu_convert){
        .from = (uint16_t)from_type,
        .to = (uint16_t)to_type,
        .from_bits = (uint8_t)from->bits,
        .from_register = (uint8_t)p->bits[1],
        .to_bits = (uint8_t)to->bits,
        .to_register = (uint8_t)p->bits[0],
        .from_signed = from->class == CJ_CLASS_SIGNED,
        .to_signed = to->class == CJ_CLASS_SIGNED,
        .saturate = cj__cpu_has(p, CJ_W_SAT),
        .flush = cj__cpu_has(p, CJ_W_FTZ) && to_type != CJ_W_F16,  // has no effect on f16
        .relu = cj__cpu_has(p, CJ_W_RELU),
        .finite = cj__cpu_has(p, CJ_W_SATFINITE),
        .rounding = rounding_of(p),
    };
    p->op.convert = convert;
    p->any_width = true;
    if (cj__small_float(to_type)) return cj__cpu_select_narrow(p);
    if (is_float(to_type)) {
        p->op.run = is_float(from_type) ? float_to_float(convert) : integer_to_float(convert);
        cj__cpu_round(p);
    } else {
        p->op.run = is_float(from_type) ? float_to_integer : integer_move(convert);
    }
    return true;
}

// ---- two at once: cvt.pack saturates both; narrower ones than 16 bits shift the third operand to the left

static int32_t packed(int32_t value, bool is_signed, unsigned bits) {
    const int32_t top = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, bottom = is_signed ? -top - 1 : 0;
    return (value > top ? top : value < bottom ? bottom : value) & ((1 << bits) - 1);
}

CJ_EXEC(cvt_pack) {
    const unsigned bits = op->convert->to_bits;
    CJ_SOME_LANES(i, mask) {
        const uint32_t high = (uint32_t)packed(CJ_LANES_OF(const lane_s32, 1)[i], op->convert->to_signed, bits);
        const uint32_t low = (uint32_t)packed(CJ_LANES_OF(const lane_s32, 2)[i], op->convert->to_signed, bits);
        const uint32_t rest = bits < 16 ? CJ_LANES_OF(const lane_u32, 3)[i] << 2 * bits : 0;
        CJ_LANES_OF(lane_u32, 0)[i] = rest | high << bits | low;
    }
    return CJ_STEP_NEXT;
}

bool cj__cpu_select_cvt_pack(cj_cpu_prepare *p) {
    const cj_word_info *to = &cj__words[p->mnemonic->type[0]];
    cj_cpu_convert     *convert = cj__cpu_keep(p, sizeof *convert);
    if (!convert) return false;
    *convert = (cj_cpu_convert){.to_bits = (uint8_t)to->bits, .to_signed = to->class == CJ_CLASS_SIGNED};
    p->op.convert = convert;
    p->op.run = cvt_pack;
    return true;
}
