// SPDX-License-Identifier: Apache-2.0
// Numbers of sample: what a row is given, Philox, and from a logit to its mass.
//
// The mass of a logit is 2^y * 2^40 rounded to a whole number, y = (logit - greatest) * (log2 e / temperature): a sum of masses is
// the same in any order. 2^y is a polynomial of f32 fma, so that every device and tools/models compute the same bits. NaN has the
// mass 0, +infinity counts as
// the greatest number of the type; of f32 where there are penalties.
#include "sample.h"

enum { PHILOX_ROUNDS = 10 };

cj_reg cj__sample_quotient(const sample_kernel *k, const char *name, cj_reg value, unsigned by) {
    return by & (by - 1) ? cj_div(k->f, name, value, by) : cj_shr(k->f, name, value, cj__log2(by));
}

unsigned cj__sample_low_bits(const sample_kernel *k) {
    return k->s.penalties ? 0 : k->s.dtype == CJ_BF16 ? 16 : k->s.dtype == CJ_F16 ? 13 : 0;
}

static uint32_t greatest_bits(const sample_kernel *k) {
    return k->s.penalties || k->s.dtype == CJ_F32 ? 0x7f7fffff : k->s.dtype == CJ_BF16 ? 0x7f7f0000 : 0x477fe000;
}

void cj__sample_cap(const sample_kernel *k, cj_reg v) {
    cj_reg most = cj_let(k->f, "f32", "most_of_type", "mov.b32 $1, $2;", greatest_bits(k));
    cj_ptx(k->f, "min.f32 $1, $1, $2;", v, most);
}

void cj__sample_cap_up(const sample_kernel *k, cj_reg v) {
    char   text[24];
    cj_reg is_most = cj_let(k->f, "pred", "is_most", "setp.ge.f32 $1, $2, $3;", v, cj__constant_text("f32", greatest_bits(k), text));
    cj_ptx(k->f, "@$1 mov.b32 $2, 0f7f800000;", is_most, v);
}

static const struct { const char *type, *name; } settings[SAMPLE_SETTINGS] = {
    [SAMPLE_SET_TEMPERATURE] = {"f32", "temperature"}, [SAMPLE_SET_TOP_P] = {"f32", "top_p"},
    [SAMPLE_SET_MIN_P] = {"f32", "min_p"},             [SAMPLE_SET_REPETITION] = {"f32", "repetition"},
    [SAMPLE_SET_FREQUENCY] = {"f32", "frequency"},     [SAMPLE_SET_PRESENCE] = {"f32", "presence"},
    [SAMPLE_SET_TOP_K] = {"u32", "top_k"},             [SAMPLE_SET_SEED] = {"u64", "seed"},
    [SAMPLE_SET_OFFSET] = {"u64", "offset"},
};

// The row's value: of its array, or what is for all rows.
static cj_reg load_setting(const sample_kernel *k, unsigned which) {
    cj_func    *f = k->f;
    const char *name = settings[which].name;
    const bool  wide = settings[which].type[1] == '6';
    cj_reg     array = cj__load_pointer(f, k->array[which], "array");
    cj_reg     all = cj__load_param(f, "u64", k->all[which], name);
    cj_reg     value = wide ? all : cj_let(f, "u32", name, "cvt.u32.u64 $1, $2;", all);
    cj_reg     given = cj_ne(f, "is_array", array, 0);
    cj_reg     at = cj_mad_wide(f, "at", k->row, wide ? 8 : 4, array);
    cj__load(f, given, cj__load_given(k->plan), wide ? "u64" : "u32", &value, 1, at, 0);
    return value;
}

static cj_reg setting(const sample_kernel *k, unsigned which) {
    const char *type = settings[which].type;
    return *type == 'u' ? k->given[which] : cj_let(k->f, type, settings[which].name, "mov.b32 $1, $2;", k->given[which]);
}

// A penalty out of its range is none: `v` becomes `none`, unless it is finite and, where it says so, above 0.
static void drop_unless_finite(const sample_kernel *k, cj_reg v, bool is_above_0, const char *none) {
    cj_reg size = is_above_0 ? v : cj_let(k->f, "f32", "size", "abs.f32 $1, $2;", v);
    cj_reg is_good = cj_let(k->f, "pred", "is_in_range", "setp.lt.f32 $1, $2, 0f7f800000; // not NaN", size);
    if (is_above_0) cj_ptx(k->f, "setp.gt.and.f32 $1, $2, 0f00000000, $1;", is_good, v);
    cj_ptx(k->f, "@!$1 mov.b32 $2, $3;", is_good, v, none);
}

void cj__sample_load_settings(sample_kernel *k) {
    const sample_shape *s = &k->s;
    const bool needed[SAMPLE_SETTINGS] = {[SAMPLE_SET_TEMPERATURE] = true,      [SAMPLE_SET_SEED] = true,
                                          [SAMPLE_SET_OFFSET] = true,           [SAMPLE_SET_TOP_K] = s->top_k,
                                          [SAMPLE_SET_TOP_P] = s->top_p,        [SAMPLE_SET_MIN_P] = s->min_p,
                                          [SAMPLE_SET_REPETITION] = s->penalties, [SAMPLE_SET_FREQUENCY] = s->penalties,
                                          [SAMPLE_SET_PRESENCE] = s->penalties};
    cj_step(k->f, "what the row is given");
    for (unsigned i = 0; i < SAMPLE_SETTINGS; i++)
        if (needed[i]) k->given[i] = load_setting(k, i);
    if (!s->penalties) return;
    k->repetition = setting(k, SAMPLE_SET_REPETITION);
    k->frequency = setting(k, SAMPLE_SET_FREQUENCY);
    k->presence = setting(k, SAMPLE_SET_PRESENCE);
    drop_unless_finite(k, k->repetition, true, "0f3f800000");
    drop_unless_finite(k, k->frequency, false, "0f00000000");
    drop_unless_finite(k, k->presence, false, "0f00000000");
}

static void temperature_setting(sample_kernel *k) {
    cj_func *f = k->f;
    cj_reg   t = setting(k, SAMPLE_SET_TEMPERATURE);
    cj_ptx(f, "max.f32 $1, $1, 0f00000000; // also of NaN and -0, by which the scale would be no number or below 0", t);
    k->greedy = cj_let(f, "pred", "greedy", "setp.eq.f32 $1, $2, 0f00000000;", t);
    k->scale = cj_let(f, "f32", "scale", "div.rn.f32 $1, $3, $2; // log2 e by the temperature", t, (float)CJ_LOG2E);
    cj_ptx(f, "min.f32 $1, $1, 0f7f7fffff;\nmax.f32 $1, $1, 0f00000001; // by 0 infinite logits would be NaN", k->scale);
}

static void top_p_setting(sample_kernel *k) {
    cj_func *f = k->f;
    cj_reg   p = setting(k, SAMPLE_SET_TOP_P);
    k->p_active = cj_let(f, "pred", "p_active", "setp.lt.f32 $1, $2, 0f3f800000;", p);
    cj_reg units = cj_let(f, "f32", "p_units", "max.f32 $1, $2, 0f00000000;\nmul.f32 $1, $1, 0f4f800000; // 2^32", p);
    k->p = cj_let(f, "u32", "p_units", "cvt.rni.u32.f32 $1, $2;", units);
}

void cj__sample_settings(sample_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "what the row is given, in the units of masses");
    temperature_setting(k);
    if (k->s.top_k) {
        k->k = setting(k, SAMPLE_SET_TOP_K);
        cj_ptx(f, "max.s32 $1, $1, 0;", k->k);
        cj_set_if(f, k->greedy, k->k, 0);
    }
    if (k->s.top_p) {
        top_p_setting(k);
        cj_ptx(f, "@$1 setp.ne.u32 $2, 0, 0;", k->greedy, k->p_active);
    }
    if (k->s.min_p) {
        cj_reg p = setting(k, SAMPLE_SET_MIN_P);
        cj_reg units = cj_let(f, "f32", "units", "max.f32 $1, $2, 0f00000000; // also of NaN\nmin.f32 $1, $1, 0f3f800000;", p);
        cj_ptx(f, "mul.f32 $1, $1, 0f53800000; // 2^40", units);
        k->least_mass = cj_let(f, "u64", "least_mass", "cvt.rpi.u64.f32 $1, $2;", units);
    }
}

// The first 64 bits of Philox4x32-10: its key is the seed, its counter the offset and, if one seed is for all rows, the row.
void cj__sample_random(sample_kernel *k) {
    cj_func *f = k->f;
    cj_step(f, "the row's random number");
    cj_reg seed = setting(k, SAMPLE_SET_SEED), offset = setting(k, SAMPLE_SET_OFFSET);
    cj_reg c[4], key[2], next[4];
    cj_registers(f, "u32", "counter", 4, c);
    cj_registers(f, "u32", "key", 2, key);
    cj_registers(f, "u32", "next", 4, next);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", key[0], key[1], seed);
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", c[0], c[1], offset);
    cj_reg own = cj_ne(f, "own_seed", cj__load_param(f, "u64", k->array[SAMPLE_SET_SEED], "seeds"), 0);
    cj_ptx(f, "selp.u32 $1, 0, $2, $3;", c[2], k->row, own);
    cj_set(f, c[3], 0);
    for (unsigned i = 0; i < PHILOX_ROUNDS; i++) {
        cj_ptx(f, "mul.hi.u32 $1, $2, 0xcd9e8d57; xor.b32 $1, $1, $3; xor.b32 $1, $1, $4;", next[0], c[2], c[1],
               key[0]);
        cj_ptx(f, "mul.lo.u32 $1, $2, 0xcd9e8d57;", next[1], c[2]);
        cj_ptx(f, "mul.hi.u32 $1, $2, 0xd2511f53; xor.b32 $1, $1, $3; xor.b32 $1, $1, $4;", next[2], c[0], c[3],
               key[1]);
        cj_ptx(f, "mul.lo.u32 $1, $2, 0xd2511f53;", next[3], c[0]);
        for (unsigned w = 0; w < 4; w++) cj_set(f, c[w], next[w]);
        if (i + 1 < PHILOX_ROUNDS) cj_ptx(f, "add.u32 $1, $1, 0x9e3779b9; add.u32 $2, $2, 0xbb67ae85;", key[0], key[1]);
    }
    k->random = cj_let(f, "u64", "random", "mov.b64 $1, {$2, $3};", c[0], c[1]);
    if (k->s.draft) k->second = cj_let(f, "u64", "second_random", "mov.b64 $1, {$2, $3};", c[2], c[3]);
}

cj_reg cj__sample_exponent(const sample_kernel *k, cj_reg v) {
    cj_reg y = cj_let(k->f, "f32", "exponent", "sub.rn.f32 $1, $2, $3;\nmul.rn.f32 $1, $1, $4;", v, k->most, k->scale);
    cj_ptx(k->f, "max.f32 $1, $1, 0fc2800000; min.f32 $1, $1, 0f00000000; // NaN becomes -64", y);
    return y;
}

cj_reg cj__sample_mass(const sample_kernel *k, cj_reg y) {
    // ln(2)^i / i!
    static const char *const factor[] = {"0f3f800000", "0f3f317218", "0f3e75fdf0", "0f3d635847",
                                         "0f3c1d955b", "0f3aaec3ff", "0f39218489"};
    cj_func                 *f = k->f;
    cj_reg                   whole = cj_let(f, "f32", "whole",
                                            "add.rn.f32 $1, $2, 0f4b400000; // 3 * 2^22: its lowest bits are the nearest whole number",
                                            y);
    cj_reg part = cj_let(f, "f32", "part", "sub.rn.f32 $1, $2, 0f4b400000;\nsub.rn.f32 $1, $3, $1;", whole, y);
    cj_reg power = cj_let(f, "f32", "power", "mov.f32 $1, $2;", factor[6]);
    cj_reg bits = cj_u32(f, "bits");
    for (int i = 5; i >= 0; i--) cj_ptx(f, "fma.rn.f32 $1, $1, $2, $3;", power, part, factor[i]);
    cj_ptx(f, "mov.b32 $1, $2; shl.b32 $1, $1, 23; add.u32 $1, $1, $3;", bits, whole, (unsigned)SAMPLE_UNIT << 23);
    cj_reg scaled = cj_let(f, "b32", "scaled", "mov.b32 $1, $2;\nadd.u32 $1, $1, $3;", power, bits);
    cj_reg real = cj_let(f, "f32", "mass", "mov.b32 $1, $2;", scaled);
    return cj_let(f, "u64", "mass", "cvt.rni.u64.f32 $1, $2;", real);
}

cj_reg cj__sample_key(const sample_kernel *k, cj_reg v) {
    cj_reg plus = cj_let(k->f, "b32", "plus_zero", "add.rn.f32 $1, $2, 0f00000000; // -0 becomes 0", v);
    cj_reg flips = cj_let(k->f, "b32", "flips", "shr.s32 $1, $2, 31;\nor.b32 $1, $1, 0x80000000;", plus);
    return cj_let(k->f, "u32", "key", "xor.b32 $1, $2, $3;\nmin.u32 $1, $1, $4; // that of the greatest number", plus,
                  flips, greatest_bits(k) | 0x80000000);
}

cj_reg cj__sample_value(const sample_kernel *k, cj_reg key) {
    cj_func *f = k->f;
    cj_reg   flips = cj_let(f, "b32", "flips", "shr.s32 $1, $2, 31;\nnot.b32 $1, $1;\nor.b32 $1, $1, 0x80000000;", key);
    cj_reg   bits = cj_let(f, "b32", "value_bits", "xor.b32 $1, $2, $3;", key, flips);
    return cj_let(f, "f32", "value", "mov.b32 $1, $2;", bits);
}

cj_reg cj__sample_share(const sample_kernel *k, cj_reg mass) {
    cj_func *f = k->f;
    cj_reg   p = cj_let(f, "u64", "share_units", "mov.b64 $1, {$2, $3};", cj_mov(f, "u32", "zero", 0), k->p);
    cj_reg   share = cj_let(f, "u64", "share", "mul.hi.u64 $1, $2, $3;", mass, p);
    cj_reg   rest = cj_let(f, "u64", "share_rest", "mul.lo.u64 $1, $2, $3;", mass, p);
    cj_ptx(f, "@$1 add.u64 $2, $2, 1;", cj_ne(f, "has_rest", rest, 0), share);
    return share;
}

cj_reg cj__sample_goal(const sample_kernel *k, cj_reg mass) {
    cj_reg goal = cj_let(k->f, "u64", "goal", "mul.hi.u64 $1, $2, $3;", k->random, mass);
    cj_set_if(k->f, k->greedy, goal, 0);
    return goal;
}
