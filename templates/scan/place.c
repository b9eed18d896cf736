// SPDX-License-Identifier: Apache-2.0
// Where a thread's loads are. Load v lies v * lanes loads after the thread's first, in reverse before it.
#include "scan.h"

void cj__scan_find_place(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            member = cj_u32(f, "member");
    k->place = cj_u32(f, "place");
    cj_ptx(f, "and.b32 $1, $2, $3;", member, k->thread, s->threads - 1);
    cj_ptx(f, "and.b32 $1, $2, $3;", k->place, member, s->lanes - 1);
    cj_ptx(f, "sub.u32 $1, $1, $2;", member, k->place);
    cj_ptx(f, "mad.lo.u32 $1, $2, $3, $1;", k->place, member, s->loads);
}

void cj__scan_find_left(scan_kernel *k) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            columns = cj_u64(f, "columns"), left = cj_s64(f, "loads_left");
    k->first = cj_u64(f, "first");
    k->left = cj_s32(f, "left");
    cj_ptx(f, "cvt.u64.u32 $1, $2;", k->first, k->place);
    if (s->tiles > 1 || s->tail) cj_ptx(f, "mad.wide.u32 $1, $2, $3, $1;", k->first, k->tile, s->threads * s->loads);
    cj_ptx(f, "ld.param.u64 $1, [$2];", columns, k->columns);
    cj_ptx(f, "div.u64 $1, $2, $3;", left, columns, s->width);
    cj_ptx(f, "sub.s64 $1, $1, $2;", left, k->first);
    cj_ptx(f, "min.s64 $1, $1, $2;", left, INT32_MAX);
    cj_ptx(f, "max.s64 $1, $1, -1;", left);
    cj_ptx(f, "cvt.u32.u64 $1, $2;", k->left, left);
}

// Of blocks that have several rows: the last may have fewer.
void cj__scan_find_row(scan_kernel *k) {
    cj_func *f = k->f;
    if (k->s.block == k->s.threads) return;
    cj_reg rows = cj_u64(f, "rows"), row = cj_u64(f, "row"), none = cj_pred(f, "no_row");
    cj_ptx(f, "ld.param.u64 $1, [$2];", rows, k->rows);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", row, k->row);
    cj_ptx(f, "setp.ge.u64 $1, $2, $3;", none, row, rows);
    cj_ptx(f, "@$1 mov.s32 $2, 0;", none, k->left);
}

cj_reg cj__scan_address(scan_kernel *k, cj_var array, cj_var stride, unsigned bytes, const char *name) {
    const scan_shape *s = &k->s;
    cj_func          *f = k->f;
    cj_reg            at = cj_u64(f, name), step = cj_u64(f, "stride"), row = cj_u64(f, "row");
    cj_ptx(f, "ld.param.u64 $1, [$2];", at, array);
    cj_ptx(f, "cvta.to.global.u64 $1, $1;", at);
    cj_ptx(f, "ld.param.u64 $1, [$2];", step, stride);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", row, k->row);
    cj_ptx(f, "mul.lo.u64 $1, $1, $2;", row, step);
    if (k->reverse) {
        cj_ptx(f, "ld.param.u64 $1, [$2];", step, k->columns);
        cj_ptx(f, "add.u64 $1, $1, $2;", row, step);
        cj_ptx(f, "add.u64 $1, $2, 1;", step, k->first);
        cj_ptx(f, "mul.lo.u64 $1, $1, $2;", step, s->width);
        cj_ptx(f, "sub.u64 $1, $1, $2;", row, step);
    } else {
        cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", row, k->first, s->width);
    }
    cj_ptx(f, "mad.lo.u64 $1, $2, $3, $1;", at, row, bytes);
    return at;
}

int cj__scan_offset(const scan_kernel *k, unsigned load, unsigned bytes) {
    const int distance = (int)(load * k->s.lanes * k->s.width * bytes);
    return k->reverse ? -distance : distance;
}

cj_reg cj__scan_has_load(scan_kernel *k, unsigned load) {
    cj_reg there = cj_pred(k->f, "inside");
    cj_ptx(k->f, "setp.gt.s32 $1, $2, $3;", there, k->left, load * k->s.lanes);
    return there;
}

cj_reg cj__scan_in_stage(scan_kernel *k, cj_reg stage, unsigned load_bytes, const char *name) {
    cj_func *f = k->f;
    cj_reg   at = cj_u32(f, name);
    if (k->reverse) {
        cj_ptx(f, "add.u32 $1, $2, $3;", at, stage, (k->s.threads * k->s.loads - 1) * load_bytes);
        cj_ptx(f, "mad.lo.s32 $1, $2, $3, $1;", at, k->place, -(int)load_bytes);
    } else {
        cj_ptx(f, "mad.lo.u32 $1, $2, $3, $4;", at, k->place, load_bytes, stage);
    }
    return at;
}
