// SPDX-License-Identifier: Apache-2.0
// Video instructions on two halves or four bytes of a register (PTX ISA, "SIMD Video Instructions"). CUDA's __vsadu4, __vabsdiffu4
// and their kin are vabsdiff2 and vabsdiff4.
#include <string.h>

#include "exec.h"

enum { PARTS_MOST = 4 };

typedef int32_t (*part_function)(int32_t x, int32_t y);

// The result's part k comes from part first[k] of a and b together, of which b has the upper ones, and from part second[k].
typedef struct video_plan {
    part_function compute;
    unsigned      parts, bits;
    uint8_t       first[PARTS_MOST], second[PARTS_MOST];
    uint32_t      written;  // the parts that are computed; the others are c's
    bool          first_signed, second_signed;
    bool          saturates, adds;
    int32_t       least, most;  // of a part that saturates
} video_plan;

// ---- one part

static int32_t add(int32_t x, int32_t y) { return x + y; }
static int32_t subtract(int32_t x, int32_t y) { return x - y; }
static int32_t average(int32_t x, int32_t y) { return (x + y + (x + y >= 0)) >> 1; }
static int32_t distance(int32_t x, int32_t y) { return x < y ? y - x : x - y; }
static int32_t least(int32_t x, int32_t y) { return x < y ? x : y; }
static int32_t most(int32_t x, int32_t y) { return x < y ? y : x; }
static int32_t is_equal(int32_t x, int32_t y) { return x == y; }
static int32_t is_unequal(int32_t x, int32_t y) { return x != y; }
static int32_t is_less(int32_t x, int32_t y) { return x < y; }
static int32_t is_at_most(int32_t x, int32_t y) { return x <= y; }
static int32_t is_greater(int32_t x, int32_t y) { return x > y; }
static int32_t is_at_least(int32_t x, int32_t y) { return x >= y; }

static int32_t part_of(uint64_t parts, unsigned at, unsigned bits, bool is_signed) {
    const uint32_t raw = (uint32_t)(parts >> at * bits) << (32 - bits);
    return is_signed ? (int32_t)raw >> (32 - bits) : (int32_t)(raw >> (32 - bits));
}

static uint32_t combine(const video_plan *plan, uint32_t a, uint32_t b, uint32_t c) {
    const uint64_t both = (uint64_t)b << 32 | a;
    uint32_t       result = c;
    for (unsigned k = 0; k < plan->parts; k++) {
        if (!(plan->written >> k & 1)) continue;
        int32_t part = plan->compute(part_of(both, plan->first[k], plan->bits, plan->first_signed),
                                     part_of(both, plan->second[k], plan->bits, plan->second_signed));
        if (plan->saturates) part = most(plan->least, least(part, plan->most));
        const uint32_t mask = UINT32_MAX >> (32 - plan->bits) << k * plan->bits;
        result = plan->adds ? result + (uint32_t)part : (result & ~mask) | ((uint32_t)part << k * plan->bits & mask);
    }
    return result;
}

CJ_EXEC(video) {
    const video_plan *plan = op->plan;
    lane_u32         *d = CJ_LANES_OF(lane_u32, 0);
    const lane_u32   *a = CJ_LANES_OF(const lane_u32, 1), *b = CJ_LANES_OF(const lane_u32, 2),
                   *c = CJ_LANES_OF(const lane_u32, 3);
    CJ_SOME_LANES(i, mask) d[i] = combine(plan, a[i], b[i], c[i]);
    return CJ_STEP_NEXT;
}

// ---- selectors

static part_function function_of(const cj_cpu_prepare *p) {
    static const struct {
        const char   *opcode;
        part_function compute;
    } operations[] = {{"vadd", add},          {"vsub", subtract}, {"vavrg", average},
                      {"vabsdiff", distance}, {"vmin", least},    {"vmax", most}};
    static const struct {
        cj_word       word;
        part_function compute;
    } comparisons[] = {{CJ_W_EQ, is_equal},   {CJ_W_NE, is_unequal}, {CJ_W_LT, is_less},
                       {CJ_W_LE, is_at_most}, {CJ_W_GT, is_greater}, {CJ_W_GE, is_at_least}};
    const char *opcode = cj__row_opcode(p->inst->row);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (!strncmp(opcode, operations[i].opcode, strlen(opcode) - 1)) return operations[i].compute;
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        if (cj__cpu_has(p, comparisons[i].word)) return comparisons[i].compute;
    }
    return NULL;
}

// The parts that an operand chooses, of .b7654 first 4; without a choice those from `from` on.
static void choose(const cj_ir_operand *operand, unsigned parts, unsigned from, uint8_t chosen[PARTS_MOST]) {
    for (unsigned k = 0; k < parts; k++)
        chosen[k] = operand->text ? (uint8_t)(operand->text[1 + parts - k] - '0') : (uint8_t)(from + k);
}

static uint32_t written_by(const cj_ir_operand *result, unsigned parts) {
    uint32_t written = 0;
    for (const char *at = result->text ? result->text + 2 : ""; *at; at++) written |= 1u << (*at - '0');
    return result->text ? written : (1u << parts) - 1;
}

bool cj__cpu_select_video(cj_cpu_prepare *p) {
    const cj_ir_operand *operand = p->inst->operand;
    const char          *opcode = cj__row_opcode(p->inst->row);
    const unsigned       parts = (unsigned)(opcode[strlen(opcode) - 1] - '0'), bits = 32 / parts;
    const bool           compares = !strncmp(opcode, "vset", 4);
    const uint16_t      *type = p->mnemonic->type, *source = type + !compares;  // the result of vset has no type
    const bool           is_signed = !compares && *type == CJ_W_S32;
    video_plan          *plan = cj__cpu_keep(p, sizeof *plan);
    if (!plan) return false;
    *plan = (video_plan){.compute = function_of(p),
                         .parts = parts,
                         .bits = bits,
                         .written = written_by(&operand[0], parts),
                         .first_signed = source[0] == CJ_W_S32,
                         .second_signed = source[1] == CJ_W_S32,
                         .saturates = cj__cpu_has(p, CJ_W_SAT),
                         .adds = cj__cpu_has(p, CJ_W_ADD),
                         .least = is_signed ? -(1 << (bits - 1)) : 0,
                         .most = (1 << (bits - is_signed)) - 1};
    choose(&operand[1], parts, 0, plan->first);
    choose(&operand[2], parts, parts, plan->second);
    p->op.plan = plan;
    p->op.run = video;
    return true;
}
