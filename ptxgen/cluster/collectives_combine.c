// SPDX-License-Identifier: Apache-2.0
// How values are combined: operations and identities, a warp at once.
#include <clusterjit/collectives.h>
#include <stdbool.h>
#include <string.h>

#include "builder.h"
#include "collective_parts.h"

enum { REDUX_TARGET = 80 };

// Types that can be combined, and the identity of each operation.
static const struct combinable {
    const char *type;
    unsigned    bytes;
    bool        redux;  // redux.sync takes it: sums, minima and maxima
    const char *identity[CJ_COMBINE_USER];
} combinables[] = {
    {"f32", 4, false, {"0f00000000", "0f7FC00000", "0f7FC00000", "0f3F800000"}},
    {"f64", 8, false, {"0d0000000000000000", "0d7FF8000000000000", "0d7FF8000000000000", "0d3FF0000000000000"}},
    {"s32", 4, true, {"0", "0x7fffffff", "-0x80000000", "1"}},
    {"u32", 4, true, {"0", "0xffffffff", "0", "1"}},
    {"s64", 8, false, {"0", "0x7fffffffffffffff", "-0x8000000000000000", "1"}},
    {"u64", 8, false, {"0", "0xffffffffffffffff", "0", "1"}},
};

// Of integers, and of floats: a product of floats says its rounding, so that nothing is fused with it.
static const char *const op_names[CJ_COMBINE_USER][2] = {
    [CJ_COMBINE_SUM] = {"add", "add"},
    [CJ_COMBINE_MIN] = {"min", "min"},
    [CJ_COMBINE_MAX] = {"max", "max"},
    [CJ_COMBINE_PRODUCT] = {"mul.lo", "mul.rn"},
};

static const char *op_name(cj_combine combine) { return op_names[combine.op][*combine.type == 'f']; }

static const struct combinable *find(const char *type) {
    for (size_t i = 0; i < sizeof combinables / sizeof *combinables; i++)
        if (!strcmp(combinables[i].type, type)) return &combinables[i];
    return NULL;
}

const char *cj_combine_identity(cj_combine combine) {
    const struct combinable *c = find(combine.type);
    if (combine.op == CJ_COMBINE_USER) return combine.identity;
    if (!c) return NULL;
    return c->identity[combine.op];
}

void cj_combine_into(cj_func *f, cj_combine combine, cj_reg into, cj_reg value) {
    if (combine.op == CJ_COMBINE_USER)
        cj_call(f, combine.function, into, into, value);
    else
        cj_ptx(f, "$1.$2 $3, $3, $4;", op_name(combine), combine.type, into, value);
}

void cj__shuffle(cj_func *f, const char *mode, unsigned bytes, cj_reg to, cj_reg from, cj_arg lane, unsigned clamp) {
    static const char *const line = "shfl.sync.$1.b32 $2, $3, $4, $5, 0xffffffff;";
    if (bytes == 4) {
        cj_ptx(f, line, mode, to, from, lane, clamp);
        return;
    }
    cj_reg half[2] = {cj_b32(f, "low"), cj_b32(f, "high")};
    cj_ptx(f, "mov.b64 {$1, $2}, $3;", half[0], half[1], from);
    for (int i = 0; i < 2; i++) cj_ptx(f, line, mode, half[i], half[i], lane, clamp);
    cj_ptx(f, "mov.b64 $1, {$2, $3};", to, half[0], half[1]);
}

void cj_warp_reduce(cj_func *f, cj_combine combine, cj_reg value, uint32_t lanes) {
    if (!f) return;
    const struct combinable *c = find(combine.type);
    if (!c || lanes < 2) return;
    if (c->redux && combine.op < CJ_COMBINE_PRODUCT && cj__func_target(f) >= REDUX_TARGET) {
        cj_ptx(f, "redux.sync.$1.$2 $3, $3, 0xffffffff;", op_name(combine), combine.type, value);
        return;
    }
    unsigned widest = 1;
    while (widest * 2 < lanes) widest *= 2;
    for (unsigned distance = widest; distance; distance /= 2) {
        cj_reg other = cj_register(f, combine.type, "other");
        cj__shuffle(f, "bfly", c->bytes, other, value, CJ_ARG(distance), 31);
        cj_combine_into(f, combine, value, other);
    }
}
