// SPDX-License-Identifier: Apache-2.0
// Where a thread's loads are. Load v is v * lanes loads after the thread's first, in reverse before it.
#include "scan.h"

cj_reg cj__scan_place(const scan_kernel *k) {
    cj_reg member = cj_and(k->f, "member", k->thread, k->s.threads - 1),
           lane = cj_and(k->f, "lane", member, k->s.lanes - 1);
    return cj_mad(k->f, "place", cj_sub(k->f, "warp_first", member, lane), k->s.loads, lane);
}

void cj__scan_find_left(const scan_kernel *k, scan_tile *t) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    t->first = cj_cvt(f, "u64", "first", t->place);
    if (s->tiles > 1 || s->tail) t->first = cj_mad_wide(f, "first", t->number, s->threads * s->loads, t->first);
    cj_reg columns = cj__load_param(f, "u64", k->columns, "columns");
    if (s->head) columns = cj_sub(f, "columns_left", columns, k->skipped);
    cj_reg loads = cj_let(f, "s64", "loads", "div.u64 $1, $2, $3;", columns, s->width);
    cj_reg left = cj_min(f, "at_most", cj_sub(f, "loads_left", loads, t->first), INT32_MAX);
    t->left = cj_let(f, "s32", "left", "cvt.u32.u64 $1, $2;", cj_max(f, "at_least", left, -1));
}

cj_reg cj__scan_address(const scan_kernel *k, const scan_tile *t, cj_var array, cj_var stride, unsigned bytes,
                        const char *name) {
    cj_func *f = k->f;
    cj_reg   base = cj__load_pointer(f, array, name);
    cj_reg   step = cj__load_param(f, "u64", stride, "stride");
    cj_reg   begin = cj_mul(f, "row_begin", cj_cvt(f, "u64", "row", t->row), step), element;
    if (k->s.head) begin = cj_add(f, "row_begin", begin, k->skipped);
    if (k->reverse) {
        cj_reg end = cj_add(f, "row_end", begin, cj__load_param(f, "u64", k->columns, "columns"));
        cj_reg back = cj_add(f, "back", t->first, 1);
        cj_update(f, back, "mul", k->s.width);
        element = cj_sub(f, "element", end, back);
    } else {
        element = cj_mad(f, "element", t->first, k->s.width, begin);
    }
    return cj_mad(f, name, element, bytes, base);
}

int cj__scan_offset(const scan_kernel *k, unsigned load, unsigned bytes) {
    const int distance = (int)(load * k->s.lanes * k->s.width * bytes);
    return k->reverse ? -distance : distance;
}

cj_reg cj__scan_has_load(const scan_kernel *k, const scan_tile *t, unsigned load) {
    return cj_gt(k->f, "inside", t->left, load * k->s.lanes);
}

cj_reg cj__scan_in_stage(const scan_kernel *k, const scan_tile *t, cj_reg stage, unsigned load_bytes,
                         const char *name) {
    if (!k->reverse) return cj_mad(k->f, name, t->place, load_bytes, stage);
    cj_reg last = cj_add(k->f, "last_load", stage, (k->s.threads * k->s.loads - 1) * load_bytes);
    return cj_let(k->f, "u32", name, "mad.lo.s32 $1, $2, $3, $4;", t->place, -(int)load_bytes, last);
}
