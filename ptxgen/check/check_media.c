// SPDX-License-Identifier: Apache-2.0
// Textures, surfaces and video instructions (PTX ISA 9.7.10, 9.7.11, 9.7.19): what ptxas holds their operands to, beyond types.
#include <string.h>

#include "check.h"

typedef struct place {
    const cj_ir_stmt *stmt;
    cj_report        *report;
} place;

#define ADD(at, operand, ...) \
    cj__report_add((at)->report, "operand-type", (at)->stmt->line, (operand)->column, __VA_ARGS__)

// ---- textures and surfaces

// The coordinates that a geometry has, its layer and what pads them included: ptxas takes as many or more.
static const struct {
    cj_word word;
    uint8_t coordinates;
    bool    layers, samples;
} geometries[] = {
    {CJ_W_N1D, 1, false, false},  {CJ_W_N2D, 2, false, false},  {CJ_W_N3D, 4, false, false},
    {CJ_W_A1D, 2, true, false},   {CJ_W_A2D, 4, true, false},   {CJ_W_CUBE, 4, false, false},
    {CJ_W_ACUBE, 4, true, false}, {CJ_W_N2DMS, 4, false, true}, {CJ_W_A2DMS, 4, true, true},
};

enum { GEOMETRIES = sizeof geometries / sizeof *geometries };

// The texture, surface or sampler: 64 bits, without an offset.
static void check_handle(const place *at, const cj_ir_operand *memory, const cj_ir_operand *base) {
    const char *mnemonic = at->stmt->inst->mnemonic->text;
    if (base->kind == CJ_OPERAND_REG) {
        const cj_word_info *type = &cj__words[base->reg->type];
        const bool          fits = type->bits == 64 && type->class != CJ_CLASS_FLOAT && type->class != CJ_CLASS_PACKED;
        if (!fits)
            ADD(at, memory, "'%s' takes a texture or surface of .u64, %s is .%s", mnemonic, base->reg->name,
                type->text);
    } else {
        ADD(at, memory, "'%s' takes a texture or surface: a register of .u64 that has its handle", mnemonic);
    }
    if (memory->offset_written) ADD(at, memory, "'%s' takes no offset after a texture or surface", mnemonic);
}

static void check_coordinates(const place *at, const cj_ir_operand *memory) {
    const cj_mnemonic *m = at->stmt->inst->mnemonic;
    unsigned           i = 0;
    while (i < GEOMETRIES && !cj__mnemonic_has(m, geometries[i].word)) i++;
    if (i == GEOMETRIES) return;
    const unsigned count = memory->count;
    if (count < geometries[i].coordinates || (count != 1 && count != 2 && count != 4)) {
        ADD(at, memory, "'%s' takes %u coordinates, these are %u", m->text, geometries[i].coordinates, count);
        return;
    }
    const cj_ir_operand *layer = &memory->list[0];
    const bool           is_float = layer->kind == CJ_OPERAND_FLOAT ||
                          (layer->kind == CJ_OPERAND_REG && cj__words[layer->reg->type].class == CJ_CLASS_FLOAT);
    if (geometries[i].layers && is_float)
        ADD(at, layer, "the first coordinate of '%s' is the number of a layer, .u32", m->text);
    if (geometries[i].samples && m->type_last != CJ_W_S32)
        ADD(at, memory, "'%s' takes coordinates of .s32: those of samples are whole numbers", m->text);
}

// ---- video

typedef struct selector {
    bool     given, falls;  // .b3210: each part below the one before it
    char     kind;          // 'b' or 'h'
    unsigned parts, most;   // the largest of them
} selector;

static selector selector_of(const cj_ir_operand *operand) {
    selector s = {.falls = true};
    if (operand->kind != CJ_OPERAND_REG || !operand->text) return s;
    s.given = true;
    s.kind = operand->text[1];
    for (const char *at = operand->text + 2; *at; at++) {
        const unsigned part = (unsigned)(*at - '0');
        s.falls = s.falls && (at == operand->text + 2 || at[-1] > *at);
        s.most = part > s.most ? part : s.most;
        s.parts++;
    }
    return s;
}

// How many values an instruction has in a register: vadd 1, vadd2 2, vadd4 4.
static unsigned lanes_of(const char *mnemonic) {
    const char last = mnemonic[strcspn(mnemonic, ".") - 1];
    return last == '2' ? 2 : last == '4' ? 4 : 1;
}

// A source of vadd is a byte or a half; of vadd2 two halves, of vadd4 four bytes of both sources.
static bool source_fits(selector s, unsigned lanes) {
    if (!s.given) return true;
    if (lanes == 1) return s.parts == 1 && s.most < (s.kind == 'b' ? 4u : 2u);
    return s.kind == (lanes == 2 ? 'h' : 'b') && s.parts == lanes && s.most < 2 * lanes;
}

// A destination is a part of vadd's register, where a third source gives the rest; of vadd2 and vadd4 those that are written.
static bool result_fits(selector s, unsigned lanes) {
    if (!s.given) return true;
    if (lanes == 1) return s.parts == 1 && s.most < (s.kind == 'b' ? 4u : 2u);
    return s.kind == (lanes == 2 ? 'h' : 'b') && s.falls && s.most < lanes;
}

static bool has_second_operation(const cj_mnemonic *m) {
    return cj__mnemonic_has(m, CJ_W_ADD) || cj__mnemonic_has(m, CJ_W_MIN) || cj__mnemonic_has(m, CJ_W_MAX);
}

static void check_selectors(const place *at) {
    const cj_ir_inst  *inst = at->stmt->inst;
    const cj_mnemonic *m = inst->mnemonic;
    const unsigned     lanes = lanes_of(m->text);
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const selector s = selector_of(&inst->operand[i]);
        bool           fits = i ? i < 3 && source_fits(s, lanes) : result_fits(s, lanes);
        if (!i && lanes == 1)  // the rest of the register comes from the third source
            fits = fits && inst->operand_count > 3 && !has_second_operation(m) && strncmp(m->text, "vmad", 4) != 0;
        if (s.given && !fits)
            ADD(at, &inst->operand[i], "'%s' does not take %s of %s here", m->text, inst->operand[i].text,
                inst->operand[i].reg->name);
    }
}

void cj__check_media(const cj_ir_stmt *stmt, cj_report *report) {
    const cj_ir_inst *inst = stmt->inst;
    const place       at = {.stmt = stmt, .report = report};
    if (*inst->mnemonic->text == 'v') {
        check_selectors(&at);
        return;
    }
    for (unsigned i = 0; i < inst->operand_count; i++) {
        const cj_ir_operand *operand = &inst->operand[i];
        if (operand->kind != CJ_OPERAND_MEMORY) continue;
        check_handle(&at, operand, operand->base);
        if (operand->predicate) check_handle(&at, operand, operand->predicate);
        if (operand->list) check_coordinates(&at, operand);
    }
}
