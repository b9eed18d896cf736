// SPDX-License-Identifier: Apache-2.0
// Multicast memory (PTX ISA, "multimem.ld_reduce, multimem.st, multimem.red"). An address in a multicast object stands
// for the same bytes in the memory of each member: an instruction there is the plain instruction, executed for one member
// after the other (w->member), so that each member's access is checked, watched and counted as any other. Every other
// address of global memory is a team of one.
//
// multimem.ld_reduce combines in the order of the members: ((0, 1), 2) and so on; PTX leaves the order open. Each step is
// rounded to the type, or to that of .acc, and then the result once to the type. A sum that is too large for a type of 8
// bits is the largest number. Of a number and a NaN, min and max take the number. Sums of f32 keep subnormals.
#include "address.h"
#include "combine.h"
#include "exec.h"
#include "single.h"
#include "small.h"
#include "team.h"

// A lane's elements, side by side as in memory.
typedef struct piece {
    _Alignas(CJ_SINGLE_BYTES) unsigned char byte[CJ_SINGLE_BYTES];
} piece;

// ---- for every member

// The lanes whose address has a member of that number.
static uint32_t lanes_with(const uint32_t members[CJ_LANES], uint32_t mask, uint32_t member) {
    uint32_t lanes = 0;
    CJ_SOME_LANES(i, mask) lanes |= (uint32_t)(members[i] > member) << i;
    return lanes;
}

CJ_EXEC(for_each_member) {
    uint32_t       members[CJ_LANES];
    const uint32_t most = cj__cpu_members(w, op, mask, members);
    cj_cpu_step    step = CJ_STEP_NEXT;
    for (w->member = 0; w->member < most && step == CJ_STEP_NEXT; w->member++)
        step = op->inner(w, op, lanes_with(members, mask, w->member));
    return step;
}

// ---- what members' elements combine to

typedef struct reduction {
    const cj_small_float *format;       // of elements of fewer than 32 bits; NULL: `combine` combines them
    const cj_small_float *accumulator;  // to which each sum of them is rounded; NULL: to f32
    bool                  is_sum, is_smaller;
    cj_cpu_combine        combine;
    unsigned              bytes, width;  // of an element as the instruction counts them, and of its register
    bool                  is_signed;
} reduction;

static uint32_t code_at(const reduction *r, const piece *from, unsigned k) {
    uint32_t       code = 0;
    const unsigned bytes = r->format->bits / 8u;
    memcpy(&code, from->byte + (size_t)k * bytes, bytes);
    return code;
}

static bool is_nan(const cj_small_float *f, uint32_t code) {
    return (code & ((1u << (f->bits - 1)) - 1)) > (f->infinity ? f->infinity : f->largest);
}

// The codes of numbers in their order; -0 comes before +0.
static int32_t place_of(const cj_small_float *f, uint32_t code) {
    const int32_t magnitude = (int32_t)(code & ((1u << (f->bits - 1)) - 1));
    return code >> (f->bits - 1) & 1 ? -1 - magnitude : magnitude;
}

static uint32_t extreme(const reduction *r, uint32_t a, uint32_t b) {
    if (is_nan(r->format, a)) return is_nan(r->format, b) ? r->format->nan : b;
    if (is_nan(r->format, b)) return a;
    return (place_of(r->format, a) < place_of(r->format, b)) == r->is_smaller ? a : b;
}

// Types of 8 bits saturate, as all conversions to them do.
static uint32_t rounded(const cj_small_float *f, double x) { return cj__small_pack(f, x, CJ_W_RN, f->bits == 8); }

static double sum(const reduction *r, double a, double b) {
    const double exact = cj__small_sum(a, b);
    if (!r->accumulator) return (double)(float)exact;
    return cj__small_unpack(r->accumulator, rounded(r->accumulator, exact));
}

// The elements of a lane, from those of `count` members.
static piece combined_small(const reduction *r, const piece *from, uint32_t count, unsigned bytes) {
    piece          result = from[0];
    const unsigned each = r->format->bits / 8u;
    for (unsigned k = 0; k < bytes / each; k++) {
        uint32_t code = code_at(r, &from[0], k);
        double   total = cj__small_unpack(r->format, code);
        for (uint32_t member = 1; member < count; member++) {
            const uint32_t next = code_at(r, &from[member], k);
            if (r->is_sum)
                total = sum(r, total, cj__small_unpack(r->format, next));
            else
                code = extreme(r, code, next);
        }
        if (r->is_sum) code = rounded(r->format, total);
        memcpy(result.byte + (size_t)k * each, &code, each);
    }
    return result;
}

static piece combined(const reduction *r, const piece *from, uint32_t count, unsigned bytes) {
    if (count > 1 && r->format) return combined_small(r, from, count, bytes);
    piece result = from[0];
    for (uint32_t member = 1; member < count; member++) r->combine(result.byte, from[member].byte, bytes);
    return result;
}

// ---- multimem.ld_reduce

// A lane's registers, of all elements, to a piece and back.
static void gather(const cj_cpu_warp *w, const cj_cpu_op *op, const reduction *r, unsigned lane, piece *to) {
    for (unsigned k = 0; k < op->count; k++)
        memcpy(to->byte + (size_t)k * r->bytes, w->file + op->slot[k] + lane * r->width, r->bytes);
}

static void scatter(cj_cpu_warp *w, const cj_cpu_op *op, const reduction *r, unsigned lane, const piece *from) {
    for (unsigned k = 0; k < op->count; k++) {
        const unsigned char *element = from->byte + (size_t)k * r->bytes;
        unsigned char       *to = w->file + op->slot[k] + lane * r->width;
        const bool           is_negative = r->is_signed && element[r->bytes - 1] >> 7;
        memcpy(to, element, r->bytes);
        memset(to + r->bytes, is_negative ? 0xff : 0, r->width - r->bytes);
    }
}

// Loads every member's elements into the registers of the result, and takes them from there. One of these registers may be the
// address, so that they have their old values again before the next member's load.
static cj_cpu_step load_all(cj_cpu_warp *w, const cj_cpu_op *op, uint32_t mask, const uint32_t members[CJ_LANES],
                            piece loaded[CJ_LANES][CJ_TEAM_MAX]) {
    const reduction *r = op->plan;
    unsigned char    before[CJ_SINGLE_BYTES][CJ_LANES * sizeof(uint64_t)];
    cj_cpu_step      step = CJ_STEP_NEXT;
    for (unsigned k = 0; k < op->count; k++) memcpy(before[k], w->file + op->slot[k], (size_t)CJ_LANES * r->width);
    for (uint32_t lanes; step == CJ_STEP_NEXT && (lanes = lanes_with(members, mask, w->member)); w->member++) {
        step = op->inner(w, op, lanes);
        CJ_SOME_LANES(i, lanes) gather(w, op, r, i, &loaded[i][w->member]);
        for (unsigned k = 0; k < op->count; k++) memcpy(w->file + op->slot[k], before[k], (size_t)CJ_LANES * r->width);
    }
    return step;
}

CJ_EXEC(load_reduced) {
    const reduction *r = op->plan;
    uint32_t         members[CJ_LANES];
    piece            loaded[CJ_LANES][CJ_TEAM_MAX];
    w->member = 0;
    if (cj__cpu_members(w, op, mask, members) == 1) return op->inner(w, op, mask);
    const cj_cpu_step step = load_all(w, op, mask, members, loaded);
    if (step != CJ_STEP_NEXT) return step;
    CJ_SOME_LANES(i, mask) {
        const piece result = combined(r, loaded[i], members[i], (unsigned)op->bytes * op->count);
        scatter(w, op, r, i, &result);
    }
    return CJ_STEP_NEXT;
}

// ---- selectors

static bool wrap(cj_cpu_prepare *p, bool selected, cj_cpu_exec run) {
    p->op.reach = cj__cpu_reach_member;
    p->op.inner = p->op.run;
    p->op.run = run;
    return selected;
}

bool cj__cpu_select_multimem_ld(cj_cpu_prepare *p) {
    const cj_word type = (cj_word)p->mnemonic->type_last;
    if (!wrap(p, cj__cpu_select_ld(p), load_reduced)) return false;
    reduction *r = cj__cpu_keep(p, sizeof *r);
    if (!r) return false;
    r->format = cj__small_float(type);
    r->accumulator = cj__cpu_has(p, CJ_W_ACC_F32)   ? NULL
                     : cj__cpu_has(p, CJ_W_ACC_F16) ? cj__small_float(CJ_W_F16)
                                                    : r->format;
    r->is_sum = cj__cpu_has(p, CJ_W_ADD);
    r->is_smaller = cj__cpu_has(p, CJ_W_MIN);
    if (!r->format) r->combine = cj__cpu_combine_in(p->mnemonic, type);
    r->bytes = p->op.bytes;
    r->width = p->bits[0] / 8u;
    r->is_signed = cj__words[type].class == CJ_CLASS_SIGNED;
    p->op.plan = r;
    return r->format || r->combine;
}

bool cj__cpu_select_multimem_st(cj_cpu_prepare *p) { return wrap(p, cj__cpu_select_st(p), for_each_member); }
bool cj__cpu_select_multimem_red(cj_cpu_prepare *p) { return wrap(p, cj__cpu_select_red(p), for_each_member); }
bool cj__cpu_select_multimem_red_vector(cj_cpu_prepare *p) {
    return wrap(p, cj__cpu_select_red_vector(p), for_each_member);
}
