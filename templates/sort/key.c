// SPDX-License-Identifier: Apache-2.0
// Keys: unsigned numbers in the order of the results. The sign of an integer is flipped; of a negative float all bits are;
// -0 becomes 0, NaN the greatest key. In descending order keys are complemented. Only zeros and NaN of floats do not have
// their bits in their key: these are read from x again.
#include "sort.h"

static uint64_t mask_of(const sort_shape *s) { return UINT64_MAX >> (64 - s->bits); }
static uint64_t sign_of(const sort_shape *s) { return UINT64_C(1) << (s->bits - 1); }

static uint64_t infinity_of(const sort_shape *s) {
    return s->bits == 64         ? UINT64_C(0x7ff0000000000000)
           : s->bits == 32       ? 0x7f800000
           : s->dtype == CJ_BF16 ? 0x7f80
                                 : 0x7c00;
}

// A constant of the key's width, in a register: PTX has no logic with 64-bit constants in all places.
cj_reg cj__sort_constant(const sort_kernel *k, const char *name, uint64_t value) {
    return cj_mov(k->f, k->s.type, name, value);
}

static cj_reg complement(const sort_kernel *k, cj_reg key) {
    return cj_xor(k->f, "complement", key, cj__sort_constant(k, "all", mask_of(&k->s)));
}

static cj_reg key_of_float(const sort_kernel *k, cj_reg bits) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            sign = cj__sort_constant(k, "sign", sign_of(s)),
           magnitude = cj_and(f, "magnitude", bits, cj__sort_constant(k, "no_sign", sign_of(s) - 1));
    cj_reg is_zero = cj_eq(f, "is_zero", magnitude, 0);
    cj_reg is_nan = cj_gt(f, "is_nan", magnitude, cj__sort_constant(k, "infinity", infinity_of(s)));
    cj_reg number = cj_mov(f, s->type, "number", bits);
    cj_set_if(f, is_zero, number, 0);
    cj_reg negative = cj_ge(f, "negative", number, sign);
    cj_reg key = cj_xor(f, "key", number, sign), flipped = complement(k, number);
    cj_set_if(f, negative, key, flipped);
    cj_ptx(f, "@$1 mov.$2 $3, $4;", is_nan, s->type, key, cj__sort_constant(k, "greatest", mask_of(s)));
    return key;
}

static cj_reg key_of(const sort_kernel *k, cj_reg bits) {
    cj_reg key = k->s.floats      ? key_of_float(k, bits)
                 : k->s.is_signed ? cj_xor(k->f, "key", bits, cj__sort_constant(k, "sign", sign_of(&k->s)))
                                  : bits;
    return k->s.descending ? complement(k, key) : key;
}

cj_reg cj__sort_greatest(const sort_kernel *k) { return cj__sort_constant(k, "greatest", mask_of(&k->s)); }

// The segment's first element, and how many it has. One that is longer than the plan was told ends the launch.
static cj_reg find_segment(sort_kernel *k) {
    cj_func    *f = k->f;
    const char *type = k->s.offset_bytes == 4 ? "s32" : "s64";
    cj_reg      at = cj_mad_wide(f, "offset_at", k->row, k->s.offset_bytes, cj__load_pointer(f, k->offsets_at, "offsets"));
    cj_reg      begin = cj_register(f, type, "begin"), end = cj_register(f, type, "end"), first = begin, last = end;
    cj_ptx(f, "$6.$1 $2, [$3]; $6.$1 $4, [$3 + $5];", type, begin, at, end, (int)k->s.offset_bytes,
           cj__load_given(k->plan));
    if (k->s.offset_bytes == 4) first = cj_cvt(f, "s64", "first", begin), last = cj_cvt(f, "s64", "last", end);
    cj_reg length = cj_let(f, "u64", "length", "sub.s64 $1, $2, $3;", last, first), most = cj__load_param(f, "u64", k->columns_at, "most");
    cj_ptx(f, "@$1 trap; // a segment is longer than the plan was told, or its offsets fall", cj_gt(f, "too_long", length, most));
    k->columns = cj_cvt(f, "u32", "columns", length);
    return cj_let(f, "u64", "row_first", "mov.b64 $1, $2;", first);
}

// Found again for the results: the passes have no registers to keep it in.
void cj__sort_find_row(sort_kernel *k, bool reads) {
    cj_func *f = k->f;
    cj_reg   x = reads ? cj__load_pointer(f, k->x, "x") : cj_none();
    if (k->s.offset_bytes) {
        k->first_element = find_segment(k);
        if (reads) k->base = cj_mad(f, "row_at", k->first_element, k->s.bytes, x);
        return;
    }
    if (reads) {
        cj_reg stride = cj__load_param(f, "u64", k->stride_at, "stride");
        cj_reg first = cj_mul(f, "row_first", cj_cvt(f, "u64", "row_number", k->row), stride);
        k->base = cj_mad(f, "row_at", first, k->s.bytes, x);
    }
    k->columns = cj__load_param(f, "u32", k->columns_at, "columns");
}

// All loads are on their way before the first key is made. Places after the row have the greatest key: they stay after it.
void cj__sort_load(sort_kernel *k, bool indices) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            inside[SORT_ITEMS_MAX];
    cj_step(f, "the row: %u elements a thread", s->items);
    for (unsigned i = 0; i < s->items; i++) {
        cj_reg place = cj_add(f, "place", k->first, SORT_WARP * i);
        k->key[i] = cj_mov(f, s->type, "key", 0);
        if (indices && s->carries && !s->packed) k->index[i] = cj_mov(f, "u32", "index", place);
        inside[i] = cj_lt(f, "inside", place, k->columns);
        cj__load(f, inside[i], cj__load_given(k->plan), sort_type(s->bytes), &k->key[i], 1,
                 cj_mad_wide(f, "at", place, s->bytes, k->base), 0);
    }
    cj_reg greatest = cj__sort_greatest(k);
    if (s->settles) {
        k->least = cj_mov(f, s->type, "least", greatest);
        k->most = cj_mov(f, s->type, "most", 0);
    }
    for (unsigned i = 0; i < s->items; i++) {
        cj_reg key = key_of(k, k->key[i]);
        if (s->settles)
            cj_ptx(f, "@$1 min.$2 $3, $3, $4; @$1 max.$2 $5, $5, $4;", inside[i], s->type, k->least, key, k->most);
        cj_ptx(f, "selp.$1 $2, $3, $4, $5;", s->type, k->key[i], key, greatest, inside[i]);
        if (!s->packed) continue;
        cj_reg place = cj_add(f, "place", k->first, SORT_WARP * i);
        cj_ptx(f, "shl.b32 $1, $1, $2; or.b32 $1, $1, $3;", k->key[i], (int)SORT_INDEX_BITS, place);
    }
}

// Read from x where `reads` holds, a predicate that is made for floats.
cj_reg cj__sort_bits(const sort_kernel *k, cj_reg key, cj_reg inside, cj_reg index) {
    const sort_shape *s = &k->s;
    cj_func          *f = k->f;
    if (s->descending) key = complement(k, key);
    if (!s->floats && !s->is_signed) return key;
    cj_reg sign = cj__sort_constant(k, "sign", sign_of(s)), bits = cj_xor(f, "bits", key, sign);
    if (s->is_signed) return bits;
    cj_reg flipped = complement(k, key), negative = cj_lt(f, "negative", key, sign);
    cj_set_if(f, negative, bits, flipped);
    cj_reg reads = cj_eq(f, "is_nan", key, cj__sort_constant(k, "greatest", mask_of(s)));
    cj_ptx(f, "setp.eq.or.$1 $2, $3, $4, $2; // a zero of either sign", s->type, reads, key, sign);
    cj_update(f, reads, "and", inside);
    cj__load(f, reads, cj__load_given(k->plan), sort_type(s->bytes), &bits, 1, cj_mad_wide(f, "from", index, s->bytes, k->base), 0);
    return bits;
}
