// SPDX-License-Identifier: Apache-2.0
#include <clusterjit/warpgroup.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "builder.h"
#include "cluster_line.h"

void cj_setmaxnreg_dec(cj_func *f, uint32_t registers, const char *why) {
    CALL_LINE(f, "setmaxnreg.dec.sync.aligned.u32 $1;$2$3", registers, WHY(why));
}

void cj_setmaxnreg_inc(cj_func *f, uint32_t registers, const char *why) {
    CALL_LINE(f, "setmaxnreg.inc.sync.aligned.u32 $1;$2$3", registers, WHY(why));
}

// ---- descriptors (PTX ISA, "Matrix Descriptor Format")
//
//   bits  0 to 13  address / 16
//        16 to 29  leading dimension byte offset / 16
//        32 to 45  stride dimension byte offset / 16
//        62 to 63  1: 128-byte swizzle
//
// The pattern repeats every 8 rows of 128 bytes: the stride is that of the next 8 lines (by k) or the next 8 k (by
// line).

enum { PATTERN = 1024, UNIT = 16, SWIZZLE_128B = 1, ROW = 128 };

cj_reg cj_matrix_descriptor(cj_func *f, cj_reg own, const cj_matrix_place *place) {
    if (!NEEDS(f, place)) return (cj_reg){0};
    cj_reg         at = cj_u32(f, "at"), descriptor = cj_b64(f, "descriptor");
    const uint64_t leading = place->order == CJ_BY_K ? 1 : place->next / UNIT;
    const uint64_t rest = leading << 16 | (uint64_t)(PATTERN / UNIT) << 32 | (uint64_t)SWIZZLE_128B << 62;
    CALL_LINE(f, "bfe.u32 $1, $2, 4, 14; // without the rank, which stands above in a cluster", at, own);
    CALL_LINE(f, "cvt.u64.u32 $1, $2;", descriptor, at);
    CALL_LINE(f, "or.b64 $1, $1, $2;", descriptor, rest);
    return descriptor;
}

uint32_t cj_matrix_step(const cj_matrix_place *place) {
    if (!place) return 0;
    return place->order == CJ_BY_K ? CJ_WGMMA_BYTES : CJ_WGMMA_K * ROW;
}

// ---- products

enum { N_MAX = 256, REGISTERS_MAX = N_MAX / 2 };

// Elements of A and B: narrow and wide ones lie by k alone, and their instructions have no words that say otherwise. Those of integers
// have none for signs either, and fewer widths.
typedef struct element {
    const char *type;
    uint32_t    bytes;
    bool        is_integer;
} element;

static const element elements[] = {{"bf16", 2, false}, {"f16", 2, false},  {"tf32", 4, false}, {"e4m3", 1, false},
                                   {"e5m2", 1, false}, {"s8", 1, true}, {"u8", 1, true}};

static const element *find_element(const char *type) {
    for (size_t i = 0; type && i < sizeof elements / sizeof *elements; i++)
        if (!strcmp(elements[i].type, type)) return &elements[i];
    return NULL;
}

// Of integers: 8, 16, 24, 32, 48, … 256.
static bool is_integer_width(uint32_t n) { return n % 16 == 0 || n < 32; }

static bool is_product(cj_func *f, const cj_wgmma_form *form, const element *a, const element *b) {
    if (form->n > N_MAX || form->n % 8 || !form->n)
        cj__func_refuse(f, "modifiers", "wgmma with n = %u: it is a multiple of 8 from 8 to %d", (unsigned)form->n,
                        N_MAX);
    else if (!a || !b || a->bytes != b->bytes || a->is_integer != b->is_integer || (a != b && a->bytes != 1))
        cj__func_refuse(f, "modifiers", "wgmma of %.8s and %.8s: both are bf16, f16 or tf32, or each is e4m3 or e5m2, or s8 or u8",
                        form->type ? form->type : "NULL", form->b_type ? form->b_type : "the same");
    else if (a->is_integer && !is_integer_width(form->n))
        cj__func_refuse(f, "modifiers", "wgmma of %s with n = %u: of integers it is 8, 24, or a multiple of 16 up to %d", a->type,
                        (unsigned)form->n, N_MAX);
    else if (a->bytes != 2 && (form->a == CJ_BY_LINE || form->b == CJ_BY_LINE))
        cj__func_refuse(f, "modifiers", "wgmma of %s: only elements of 16 bits may lie by lines", a->type);
    else
        return true;
    return false;
}

// The text, "wgmma… {$1, …}, $129, $130, $131, 1, 1, …;" (of integers without what follows $131), whose operands follow it.
void cj_wgmma(cj_func *f, const cj_wgmma_form *form, const cj_reg *d, cj_reg a, cj_reg b, cj_reg adds) {
    if (!NEEDS(f, form) || !NEEDS(f, d)) return;
    const element *of_a = find_element(form->type), *of_b = form->b_type ? find_element(form->b_type) : of_a;
    const uint32_t count = form->n / 2;
    char           text[128 + 6 * REGISTERS_MAX], orders[16] = "";
    cj_arg         arg[REGISTERS_MAX + 4];
    if (!is_product(f, form, of_a, of_b)) return;
    int length = snprintf(text, sizeof text, "wgmma.mma_async.sync.aligned.m64n%uk%u.%s.%s.%s {", (unsigned)form->n,
                          CJ_WGMMA_BYTES / (unsigned)of_a->bytes, of_a->is_integer ? "s32" : "f32", of_a->type, of_b->type);
    for (uint32_t i = 0; i < count; i++) {
        arg[i + 1] = CJ_ARG(d[i]);
        length += snprintf(text + length, sizeof text - (size_t)length, "%s$%u", i ? ", " : "", (unsigned)i + 1);
    }
    if (of_a->bytes == 2) snprintf(orders, sizeof orders, ", %d, %d", form->a, form->b);
    snprintf(text + length, sizeof text - (size_t)length, "}, $%u, $%u, $%u%s%s;", (unsigned)count + 1, (unsigned)count + 2,
             (unsigned)count + 3, of_a->is_integer ? "" : ", 1, 1", orders);
    arg[0] = CJ_ARG((const char *)text);
    arg[count + 1] = CJ_ARG(a);
    arg[count + 2] = CJ_ARG(b);
    arg[count + 3] = CJ_ARG(adds);
    cj_ptx_args(f, __func__, 0, arg, count + 4);
}

void cj_wgmma_fence(cj_func *f) { CALL_LINE(f, "wgmma.fence.sync.aligned;"); }
void cj_wgmma_commit(cj_func *f) { CALL_LINE(f, "wgmma.commit_group.sync.aligned;"); }
void cj_wgmma_wait(cj_func *f, uint32_t pending, const char *why) {
    CALL_LINE(f, "wgmma.wait_group.sync.aligned $1;$2$3", pending, WHY(why));
}

// ---- fragments

// Lanes 0 to 15 name the rows of the left half, 16 to 31 those of the right one, 16 bytes on; row r has its pieces of
// 16 bytes exchanged by r % 8.
cj_reg cj_fragment_address(cj_func *f, cj_reg own, cj_reg lane) {
    cj_reg row = cj_u32(f, "fragment_row"), piece = cj_u32(f, "fragment_piece"), at = cj_u32(f, "fragment");
    CALL_LINE(f, "and.b32 $1, $2, 15;", row, lane);
    CALL_LINE(f, "mad.lo.u32 $1, $2, $3, $4;", at, row, ROW, own);
    CALL_LINE(f, "shr.u32 $1, $2, 4;", piece, lane);
    CALL_LINE(f, "xor.b32 $1, $1, $2;", piece, row);
    CALL_LINE(f, "and.b32 $1, $1, 7;", piece);
    CALL_LINE(f, "mad.lo.u32 $1, $2, $3, $1;", at, piece, UNIT);
    return at;
}

cj_reg cj_fragment_at(cj_func *f, cj_reg address, uint32_t index) {
    if (!index) return address;
    cj_reg at = cj_u32(f, "fragment");
    CALL_LINE(f, "xor.b32 $1, $2, $3;", at, address, 2 * UNIT * index);
    return at;
}

void cj_fragment_load(cj_func *f, const cj_reg *r, cj_reg address) {
    if (!NEEDS(f, r)) return;
    CALL_LINE(f, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$1, $2, $3, $4}, [$5];", r[0], r[1], r[2], r[3], address);
}

void cj_fragment_store(cj_func *f, cj_reg address, const cj_reg *r) {
    if (!NEEDS(f, r)) return;
    CALL_LINE(f, "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$1], {$2, $3, $4, $5};", address, r[0], r[1], r[2], r[3]);
}
