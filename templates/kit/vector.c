// SPDX-License-Identifier: Apache-2.0
#include "kit.h"

enum { MOST = 4, WIDEST = 16 };

unsigned cj__load_width(uint64_t align, unsigned bytes, uint64_t multiples) {
    unsigned width = (unsigned)(WIDEST >> align) / bytes;
    while (width > 1 && multiples % width) width /= 2;
    return width ? width : 1;
}

// $1 is the guard, $2 the operation.
static void access_memory(cj_func *f, cj_reg when, const char *operation, const char *type, const cj_reg *value,
                          unsigned count, cj_reg at, int64_t offset, bool loads) {
    static const char *const lists[MOST + 1] = {"", "$6", "{$6, $7}", "", "{$6, $7, $8, $9}"};
    static const char *const widths[MOST + 1] = {"", "", ".v2", "", ".v4"};
    char                     text[80];
    const char              *list = lists[count], *address = offset ? "[$4 + $5]" : "[$4]";
    const cj_reg             last = value[count - 1];
    snprintf(text, sizeof text, "@$1 $2%s.$3 %s, %s;", widths[count], loads ? list : address, loads ? address : list);
    cj_ptx(f, text, when, operation, type, at, offset, value[0], count > 1 ? value[1] : last,
           count > 2 ? value[2] : last, last);
}

void cj__load(cj_func *f, cj_reg when, const char *load, const char *type, const cj_reg *into, unsigned count,
              cj_reg at, int64_t offset) {
    access_memory(f, when, load, type, into, count, at, offset, true);
}

cj_reg cj__load_value(cj_func *f, cj_reg when, const char *load, const char *type, const char *reg, const char *name,
                      cj_reg at) {
    cj_reg value = cj_register(f, reg, name);
    cj__load(f, when, load, type, &value, 1, at, 0);
    return value;
}

void cj__store(cj_func *f, cj_reg when, const char *store, const char *type, const cj_reg *value, unsigned count,
               cj_reg at, int64_t offset) {
    access_memory(f, when, store, type, value, count, at, offset, false);
}

cj_span cj__span(cj_func *f, cj_reg begin, cj_reg end, unsigned vector_bytes) {
    const int64_t whole = -(int64_t)vector_bytes;
    cj_span       s = {.begin = begin, .end = end};
    cj_reg        up = cj_and(f, "rounded_up", cj_add(f, "rounded_up", begin, vector_bytes - 1), whole);
    s.body = cj_min(f, "body", up, end);
    s.tail = cj_max(f, "tail", cj_and(f, "rounded", end, whole), s.body);
    return s;
}

void cj__keep_loads(cj_func *f, cj_reg never, const char *type, const cj_reg *loaded, unsigned count) {
    cj_reg all = count ? loaded[0] : cj_none();
    for (unsigned i = 1; i < count; i++) all = cj_let(f, type, "all", "or.$4 $1, $2, $3;", all, loaded[i], type);
    if (count) cj_ptx(f, "setp.eq.and.$3 $1, $2, 1, $1;", never, all, type);
    cj_ptx(f, "@$1 exit; // no thread does: ptxas moves no load over it, so all are on their way together", never);
}

// ---- elements as numbers and keys

bool cj__is_float(cj_dtype dtype) { return dtype == CJ_F32 || dtype == CJ_F16 || dtype == CJ_BF16; }

const char *cj__number_type(cj_dtype dtype) { return cj__is_float(dtype) ? "f32" : dtype == CJ_I32 ? "s32" : "u32"; }

cj_reg cj__number_of(cj_func *f, cj_dtype dtype, cj_reg element) {
    if (cj_dtype_size(dtype) == 4) return element;
    if (dtype == CJ_F16) return cj_let(f, "f32", "number", "cvt.f32.f16 $1, $2;", element);
    return cj_let(f, "f32", "number", "mov.b32 $1, {0, $2};", element);
}

void cj__numbers_of_word(cj_func *f, cj_dtype dtype, cj_reg word, cj_reg number[2]) {
    cj_reg low = cj_register(f, "b16", "low_half"), high = cj_register(f, "b16", "high_half");
    cj_ptx(f, "mov.b32 {$1, $2}, $3;", low, high, word);
    number[0] = cj__number_of(f, dtype, low);
    number[1] = cj__number_of(f, dtype, high);
}

cj_reg cj__key_of_float(cj_func *f, cj_reg real) {
    cj_reg bits = cj_let(f, "u32", "bits", "mov.b32 $1, $2;", real);
    cj_reg sign = cj_let(f, "u32", "sign", "shr.s32 $1, $2, 31;", bits);
    return cj_xor(f, "key", bits, cj_or(f, "flips", sign, 0x80000000));
}

cj_reg cj__key_of_integer(cj_func *f, cj_dtype dtype, cj_reg number) {
    return dtype == CJ_I32 ? cj_let(f, "u32", "key", "xor.b32 $1, $2, 0x80000000;", number)
                           : cj_let(f, "u32", "key", "mov.b32 $1, $2;", number);
}
