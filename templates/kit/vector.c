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
