// SPDX-License-Identifier: Apache-2.0
// Partials of a reduction: one value; the best value and its index; or count, mean and squared distances, which are combined
// as Chan, Golub and LeVeque do (Algorithms for computing the sample variance, The American Statistician 37, 1983).
#include "reduce.h"

enum { BEST, INDEX };           // registers of the best and its index
enum { COUNT, MEAN, SQUARES };  // of moments

static const char *zero_of(const char *type) {
    return cj_combine_identity((cj_combine){.op = CJ_COMBINE_SUM, .type = type});
}

// ---- values

static void take_values(const cj_partials *kind, cj_reg into, const cj_reg *element, unsigned count) {
    for (unsigned distance = count / 2; distance; distance /= 2)
        for (unsigned i = 0; i < distance; i++)
            cj_combine_into(kind->f, kind->value, element[i], element[i + distance]);
    cj_combine_into(kind->f, kind->value, into, element[0]);
}

// ---- the best and its index

static void clear_best(const cj_partials *kind, const cj_partial *partial) {
    cj_set(kind->f, partial->value[BEST], cj_combine_identity(kind->value));
    cj_ptx(kind->f, "mov.b64 $1, -1;", partial->value[INDEX]);
}

// `value` is a number and precedes `best`, or best is NaN, as it is before any number was seen.
static cj_reg is_better(const cj_partials *kind, cj_reg value, cj_reg best) {
    const char *precedes = kind->value.op == CJ_COMBINE_MAX ? "gt" : "lt", *type = kind->type[BEST];
    if (*type != 'f')
        return cj_let(kind->f, "pred", "better", "setp.$4.$5 $1, $2, $3;", value, best, precedes, type);
    cj_reg number = cj_let(kind->f, "pred", "is_number", "setp.num.$3 $1, $2, $2;", value, type);
    return cj_let(kind->f, "pred", "better", "setp.$4u.and.$5 $1, $2, $3, $6;", value, best, precedes, type, number);
}

// The best of the elements, and then of these and those before. The first element gives way: its register is used up.
static void take_best(const reduce_kernel *k, const cj_partial *into, const cj_reg *element, unsigned count,
                      cj_reg at) {
    cj_func           *f = k->f;
    const cj_partials *kind = &k->partials;
    cj_reg             best = element[0], in_load = cj_mov(f, "u32", "in_load", 0);
    for (unsigned i = 1; i < count; i++) {
        cj_reg better = is_better(kind, element[i], best);
        cj_set_if(f, better, best, element[i]);
        cj_set_if(f, better, in_load, i);
    }
    cj_reg index = cj_sub(f, "index", at, k->base);
    cj_ptx(f, "shr.u64 $1, $1, $2;", index, cj__log2(k->bytes));
    index = cj_add(f, "index", index, cj_cvt(f, "u64", "in_load", in_load));
    cj_reg better = is_better(kind, best, into->value[BEST]);
    cj_set_if(f, better, into->value[BEST], best);
    cj_set_if(f, better, into->value[INDEX], index);
}

// Of equal values the first, whichever side it comes from.
static void combine_best(const cj_partials *kind, const cj_partial *into, const cj_partial *from) {
    cj_func *f = kind->f;
    cj_reg   better = is_better(kind, from->value[BEST], into->value[BEST]);
    cj_reg   same = cj_eq(f, "same", from->value[BEST], into->value[BEST]);
    cj_reg first = cj_let(f, "pred", "first", "setp.lt.and.u64 $1, $2, $3, $4;", from->value[INDEX], into->value[INDEX],
                          same);
    cj_reg wins = cj_or(f, "wins", better, first);
    cj_set_if(f, wins, into->value[BEST], from->value[BEST]);
    cj_set_if(f, wins, into->value[INDEX], from->value[INDEX]);
}

// ---- count, mean, squares

static void clear_moments(const cj_partials *kind, const cj_partial *partial) {
    for (unsigned i = 0; i < kind->values; i++) cj_set(kind->f, partial->value[i], zero_of(kind->type[i]));
}

// Adds `count` elements of that mean and those squares. A partial without elements has a count of 0 and changes nothing.
static void join_moments(const cj_partials *kind, const cj_partial *into, cj_reg count, cj_reg mean, cj_reg squares) {
    cj_func    *f = kind->f;
    const char *type = kind->type[COUNT];
    cj_reg      all = cj_let(f, type, "all", "add.rn.$4 $1, $2, $3;", into->value[COUNT], count, type);
    cj_reg      share = cj_max(f, "share", all,
                               cj_combine_identity((cj_combine){.op = CJ_COMBINE_PRODUCT, .type = type}));
    cj_ptx(f, "rcp.rn.$1 $2, $2;", type, share);
    cj_ptx(f, "mul.rn.$1 $2, $2, $3;", type, share, count);
    cj_reg off = cj_let(f, type, "off", "sub.rn.$4 $1, $2, $3;", mean, into->value[MEAN], type);
    cj_reg moved = cj_let(f, type, "moved", "mul.rn.$4 $1, $2, $3;", off, share, type);
    cj_ptx(f, "add.rn.$1 $2, $2, $3;", type, into->value[MEAN], moved);
    cj_ptx(f, "add.rn.$1 $2, $2, $3;", type, into->value[SQUARES], squares);
    cj_ptx(f, "mul.rn.$1 $2, $2, $3;", type, moved, off);
    cj_ptx(f, "fma.rn.$1 $2, $3, $4, $2;", type, into->value[SQUARES], moved, into->value[COUNT]);
    cj_set(f, into->value[COUNT], all);
}

static cj_reg number(const cj_partials *kind, double value) {
    const char *type = kind->type[COUNT];
    return kind->bytes[COUNT] == 4 ? cj_mov(kind->f, type, "number", (float)value)
                                   : cj_mov(kind->f, type, "number", value);
}

static void combine_moments(const cj_partials *kind, const cj_partial *into, const cj_partial *from) {
    join_moments(kind, into, from->value[COUNT], from->value[MEAN], from->value[SQUARES]);
}

// The elements' own mean and squares first: distances from a near mean are small, and nearly exact.
static void take_moments(const cj_partials *kind, const cj_partial *into, const cj_reg *element, unsigned count) {
    cj_func    *f = kind->f;
    const char *type = kind->type[COUNT];
    cj_reg      squares = cj_mov(f, type, "squares", zero_of(type)), mean = cj_mov(f, type, "mean", element[0]);
    for (unsigned i = 1; i < count; i++) cj_ptx(f, "add.rn.$1 $2, $2, $3;", type, mean, element[i]);
    if (count > 1) cj_ptx(f, "mul.rn.$1 $2, $2, $3;", type, mean, number(kind, 1.0 / count));
    for (unsigned i = 0; count > 1 && i < count; i++) {
        cj_ptx(f, "sub.rn.$1 $2, $2, $3;", type, element[i], mean);
        cj_ptx(f, "fma.rn.$1 $2, $3, $3, $2;", type, squares, element[i]);
    }
    join_moments(kind, into, number(kind, count), mean, squares);
}

// ---- any

void cj__reduce_take(const reduce_kernel *k, const cj_partial *partial, const cj_reg *element, unsigned count,
                     cj_reg at) {
    switch (k->op->kind) {
    case REDUCE_VALUE: take_values(&k->partials, partial->value[0], element, count); break;
    case REDUCE_BEST: take_best(k, partial, element, count, at); break;
    case REDUCE_MOMENTS: take_moments(&k->partials, partial, element, count); break;
    }
}

cj_partials cj__reduce_partials(const cj_plan *plan, cj_func *f, const cj_combine *value) {
    static const cj_partials kinds[] = {
        [REDUCE_VALUE] = {.values = 1, .clear = cj__partial_clear_value, .combine = cj__partial_combine_value},
        [REDUCE_BEST] = {.values = 2, .suffix = {"", "_index"}, .clear = clear_best, .combine = combine_best},
        [REDUCE_MOMENTS] = {.values = 3,
                            .suffix = {"_count", "_mean", "_squares"},
                            .clear = clear_moments,
                            .combine = combine_moments},
    };
    const reduce_kind which = cj__reduce_op(plan)->kind;
    cj_partials       kind = kinds[which];
    kind.f = f;
    kind.value = *value;
    for (unsigned i = 0; i < kind.values; i++) {
        kind.type[i] = which == REDUCE_BEST && i == INDEX ? "u64" : value->type;
        kind.bytes[i] = kind.type[i][1] == '3' ? 4 : 8;
    }
    return kind;
}
