// SPDX-License-Identifier: Apache-2.0
// Parts of a reduction: one value; the best value and its index; or count, mean and squared distances, which are joined
// as Chan, Golub and LeVeque do (Algorithms for computing the sample variance, The American Statistician 37, 1983).
#include <stdio.h>
#include <string.h>

#include "reduce.h"

static bool is_float(const char *type) { return *type == 'f'; }

static const char *zero_of(const char *type) {
    return cj_combine_identity((cj_combine){.op = CJ_COMBINE_SUM, .type = type});
}

static const char *one_of(const char *type) {
    return cj_combine_identity((cj_combine){.op = CJ_COMBINE_PRODUCT, .type = type});
}

bool cj__reduce_is_wide(const reduce_kernel *k) {
    for (unsigned i = 0; i < k->pieces; i++)
        if (k->bytes[i] == 8) return true;
    return false;
}

reduce_part cj__reduce_part_new(reduce_kernel *k, const char *name) {
    static const char *const names[][REDUCE_PIECES] = {
        [REDUCE_VALUE] = {""}, [REDUCE_BEST] = {"", "_index"}, [REDUCE_MOMENTS] = {"_count", "_mean", "_squares"}};
    reduce_part part = {{{0}}};
    for (unsigned i = 0; i < k->pieces; i++) {
        char full[32];
        snprintf(full, sizeof full, "%s%s", name, names[k->op->kind][i]);
        part.piece[i] = cj_register(k->f, k->type[i], full);
    }
    return part;
}

void cj__reduce_part_clear(const reduce_kernel *k, const reduce_part *part) {
    for (unsigned i = 0; i < k->pieces; i++) {
        const char *first = k->op->kind == REDUCE_MOMENTS ? zero_of(k->type[i]) : cj_combine_identity(k->combine);
        const char *start = i && k->op->kind == REDUCE_BEST ? "-1" : first;
        cj_ptx(k->f, "mov.$1 $2, $3;", i && k->op->kind == REDUCE_BEST ? "b64" : k->type[i], part->piece[i], start);
    }
}

// ---- values

static void take_values(const reduce_kernel *k, cj_reg into, const cj_reg *element, unsigned count) {
    for (unsigned distance = count / 2; distance; distance /= 2)
        for (unsigned i = 0; i < distance; i++) cj_combine_into(k->f, k->combine, element[i], element[i + distance]);
    cj_combine_into(k->f, k->combine, into, element[0]);
}

// ---- the best and where it is

// better = `value` is a number and stands before `best`, or best is NaN, as it is before any number was seen.
static void test_better(const reduce_kernel *k, cj_reg better, cj_reg value, cj_reg best) {
    const char *before = k->combine.op == CJ_COMBINE_MAX ? "gt" : "lt", *type = k->type[0];
    if (!is_float(type)) {
        cj_ptx(k->f, "setp.$1.$2 $3, $4, $5;", before, type, better, value, best);
        return;
    }
    cj_ptx(k->f, "setp.num.$1 $2, $3, $3;", type, better, value);
    cj_ptx(k->f, "setp.$1u.and.$2 $3, $4, $5, $3;", before, type, better, value, best);
}

static void take_best(reduce_kernel *k, const reduce_part *into, const cj_reg *element, unsigned count, cj_reg at) {
    cj_func *f = k->f;
    cj_reg   best = element[0], which = cj_u64(f, "which"), better = cj_pred(f, "better");
    cj_reg   index = cj_u64(f, "index"), in_load = cj_u32(f, "in_load");
    cj_ptx(f, "mov.u32 $1, 0;", in_load);
    for (unsigned i = 1; i < count; i++) {
        test_better(k, better, element[i], best);
        cj_ptx(f, "@$1 mov.$2 $3, $4;", better, k->type[0], best, element[i]);
        cj_ptx(f, "@$1 mov.u32 $2, $3;", better, in_load, i);
    }
    unsigned shift = 0;
    while (1u << shift < k->dtype->bytes) shift++;
    cj_ptx(f, "sub.u64 $1, $2, $3;", index, at, k->base);
    cj_ptx(f, "shr.u64 $1, $1, $2;", index, shift);
    cj_ptx(f, "cvt.u64.u32 $1, $2;", which, in_load);
    cj_ptx(f, "add.u64 $1, $1, $2;", index, which);
    test_better(k, better, best, into->piece[0]);
    cj_ptx(f, "@$1 mov.$2 $3, $4;", better, k->type[0], into->piece[0], best);
    cj_ptx(f, "@$1 mov.u64 $2, $3;", better, into->piece[1], index);
}

// Of equal ones the first, whichever side it comes from.
static void combine_best(reduce_kernel *k, const reduce_part *into, const reduce_part *from) {
    cj_func *f = k->f;
    cj_reg   better = cj_pred(f, "better"), same = cj_pred(f, "same");
    test_better(k, better, from->piece[0], into->piece[0]);
    cj_ptx(f, "setp.eq.$1 $2, $3, $4;", k->type[0], same, from->piece[0], into->piece[0]);
    cj_ptx(f, "setp.lt.and.u64 $1, $2, $3, $1;", same, from->piece[1], into->piece[1]);
    cj_ptx(f, "or.pred $1, $1, $2;", better, same);
    cj_ptx(f, "@$1 mov.$2 $3, $4;", better, k->type[0], into->piece[0], from->piece[0]);
    cj_ptx(f, "@$1 mov.u64 $2, $3;", better, into->piece[1], from->piece[1]);
}

// ---- count, mean, squares

// Joins `joined` elements of that mean and those squares. An empty part has a count of 0 and changes nothing.
static void join_moments(reduce_kernel *k, const reduce_part *into, cj_reg joined, cj_reg mean, cj_reg squares) {
    cj_func    *f = k->f;
    const char *type = k->type[0];
    cj_reg      all = cj_register(f, type, "all"), share = cj_register(f, type, "share");
    cj_reg      off = cj_register(f, type, "off"), moved = cj_register(f, type, "moved");
    cj_ptx(f, "add.rn.$1 $2, $3, $4;", type, all, into->piece[0], joined);
    cj_ptx(f, "max.$1 $2, $3, $4;", type, share, all, one_of(type));
    cj_ptx(f, "rcp.rn.$1 $2, $2;", type, share);
    cj_ptx(f, "mul.rn.$1 $2, $2, $3;", type, share, joined);
    cj_ptx(f, "sub.rn.$1 $2, $3, $4;", type, off, mean, into->piece[1]);
    cj_ptx(f, "mul.rn.$1 $2, $3, $4;", type, moved, off, share);
    cj_ptx(f, "add.rn.$1 $2, $2, $3;", type, into->piece[1], moved);
    cj_ptx(f, "add.rn.$1 $2, $2, $3;", type, into->piece[2], squares);
    cj_ptx(f, "mul.rn.$1 $2, $2, $3;", type, moved, off);
    cj_ptx(f, "fma.rn.$1 $2, $3, $4, $2;", type, into->piece[2], moved, into->piece[0]);
    cj_ptx(f, "mov.$1 $2, $3;", type, into->piece[0], all);
}

static void set_number(const reduce_kernel *k, cj_reg reg, double value) {
    if (k->bytes[0] == 4) cj_ptx(k->f, "mov.f32 $1, $2;", reg, (float)value);
    else cj_ptx(k->f, "mov.f64 $1, $2;", reg, value);
}

// The elements' own mean and squares first: distances from a mean that is near are small, and nearly exact.
static void take_moments(reduce_kernel *k, const reduce_part *into, const cj_reg *element, unsigned count) {
    cj_func    *f = k->f;
    const char *type = k->type[0];
    cj_reg      mean = cj_register(f, type, "mean"), squares = cj_register(f, type, "squares");
    cj_reg      number = cj_register(f, type, "number");
    cj_ptx(f, "mov.$1 $2, $3;", type, squares, zero_of(type));
    cj_ptx(f, "mov.$1 $2, $3;", type, mean, element[0]);
    for (unsigned i = 1; i < count; i++) cj_ptx(f, "add.rn.$1 $2, $2, $3;", type, mean, element[i]);
    set_number(k, number, 1.0 / count);
    if (count > 1) cj_ptx(f, "mul.rn.$1 $2, $2, $3;", type, mean, number);
    for (unsigned i = 0; count > 1 && i < count; i++) {
        cj_ptx(f, "sub.rn.$1 $2, $2, $3;", type, element[i], mean);
        cj_ptx(f, "fma.rn.$1 $2, $3, $3, $2;", type, squares, element[i]);
    }
    set_number(k, number, count);
    join_moments(k, into, number, mean, squares);
}

// ---- any

void cj__reduce_combine(reduce_kernel *k, const reduce_part *into, const reduce_part *from) {
    switch (k->op->kind) {
    case REDUCE_VALUE: cj_combine_into(k->f, k->combine, into->piece[0], from->piece[0]); break;
    case REDUCE_BEST: combine_best(k, into, from); break;
    case REDUCE_MOMENTS: join_moments(k, into, from->piece[0], from->piece[1], from->piece[2]); break;
    }
}

void cj__reduce_take(reduce_kernel *k, const reduce_part *part, const cj_reg *element, unsigned count, cj_reg at) {
    switch (k->op->kind) {
    case REDUCE_VALUE: take_values(k, part->piece[0], element, count); break;
    case REDUCE_BEST: take_best(k, part, element, count, at); break;
    case REDUCE_MOMENTS: take_moments(k, part, element, count); break;
    }
}

// ---- a warp

// A shuffle moves 32 bits: wider values travel as two halves.
static void shuffle(const reduce_kernel *k, unsigned bytes, cj_reg to, cj_reg from, const cj_reg half[2],
                    unsigned distance) {
    if (bytes == 4) {
        cj_ptx(k->f, "shfl.sync.bfly.b32 $1, $2, $3, 31, 0xffffffff;", to, from, distance);
        return;
    }
    cj_ptx(k->f, "mov.b64 {$1, $2}, $3;", half[0], half[1], from);
    for (int i = 0; i < 2; i++) cj_ptx(k->f, "shfl.sync.bfly.b32 $1, $1, $2, 31, 0xffffffff;", half[i], distance);
    cj_ptx(k->f, "mov.b64 $1, {$2, $3};", to, half[0], half[1]);
}

void cj__reduce_warp(reduce_kernel *k, unsigned lanes) {
    if (k->op->kind == REDUCE_VALUE) {
        cj_warp_reduce(k->f, k->combine, k->part.piece[0], lanes);
        return;
    }
    unsigned widest = 1;
    if (lanes < 2) return;
    while (widest * 2 < lanes) widest *= 2;
    reduce_part other = cj__reduce_part_new(k, "other");
    cj_reg      half[2] = {cj_always(), cj_always()};
    if (cj__reduce_is_wide(k)) half[0] = cj_b32(k->f, "low"), half[1] = cj_b32(k->f, "high");
    for (unsigned distance = widest; distance; distance /= 2) {
        for (unsigned i = 0; i < k->pieces; i++)
            shuffle(k, k->bytes[i], other.piece[i], k->part.piece[i], half, distance);
        cj__reduce_combine(k, &k->part, &other);
    }
}
