// SPDX-License-Identifier: Apache-2.0
// Rows that use registers only: their operands follow from the row's pattern and its sample line.
#include <stdio.h>
#include <string.h>

#include "scaffold.h"
#include "semantics.h"
#include "test.h"

static cj_word wide(cj_word type) {
    return type == CJ_W_U16 ? CJ_W_U32 : type == CJ_W_S16 ? CJ_W_S32 : type == CJ_W_U32 ? CJ_W_U64 : CJ_W_S64;
}

static cj_word type_of(const cj_pattern_item *item, const cj_mnemonic *mnemonic) {
    switch (item->type) {
    case 'T': return mnemonic->type_last;
    case 'W': return wide(mnemonic->type_last);
    case 'F': return item->fixed;
    case 'A': return CJ_W_U64;
    case 'B': return CJ_W_B32;
    case '1':
    case '2':
    case '3':
    case '4': return mnemonic->type[item->type - '1'];
    default: return CJ_W_PRED;
    }
}

typedef struct operands {
    cj_experiment *e;
    cj_text        text, after;  // the instruction; the lines that take its results apart
    unsigned       wide;         // registers %q that are in use
} operands;

static void separate(operands *o) {
    if (o->text.length) cj__text_puts(&o->text, ", ");
}

static unsigned add_value(operands *o, char prefix, cj_word type) {
    return prefix == 'i' ? cj__experiment_input(o->e, type, CJ_FILL_EDGES) : cj__experiment_output(o->e, type);
}

// A register of 128 bits is made of two inputs, or taken apart into two outputs.
static void add_wide(operands *o, char prefix) {
    const unsigned low = add_value(o, prefix, CJ_W_B64), high = add_value(o, prefix, CJ_W_B64), q = o->wide++;
    if (prefix == 'i')
        cj__experiment_line(o->e, "mov.b128 %%q%u, {%%i%u, %%i%u};", q, low, high);
    else
        cj__text_printf(&o->after, "    mov.b128 {%%o%u, %%o%u}, %%q%u;\n", low, high, q);
    cj__text_printf(&o->text, "%%q%u", q);
}

static void add_scalar(operands *o, char prefix, cj_word type) {
    if (cj__words[type].bits == 128)
        add_wide(o, prefix);
    else
        cj__text_printf(&o->text, "%%%c%u", prefix, add_value(o, prefix, type));
}

static void add_vector(operands *o, char prefix, cj_word type, unsigned count) {
    cj__text_puts(&o->text, "{");
    for (unsigned i = 0; i < count; i++) {
        if (i) cj__text_puts(&o->text, ", ");
        add_scalar(o, prefix, type);
    }
    cj__text_puts(&o->text, "}");
}

// The parts of a packed value: two, or four where there are such registers.
static cj_word part_type(cj_word whole, unsigned count) {
    switch (cj__words[whole].bits / count) {
    case 64: return CJ_W_B64;
    case 32: return CJ_W_B32;
    case 16: return CJ_W_B16;
    default: return CJ_WORD_NONE;
    }
}

static bool add_packed(operands *o, char prefix, cj_word whole, unsigned index) {
    const unsigned count = index % 4 < 2 ? 2 : 4;
    const cj_word  type = part_type(whole, count);
    if (type) add_vector(o, prefix, type, count);
    return type != CJ_WORD_NONE;
}

// False if the form has another kind of operand.
static bool add_operand(operands *o, const cj_form *form, const cj_pattern_item *item, const cj_ir_operand *sample) {
    const cj_word  type = type_of(item, &form->mnemonic);
    const unsigned vector = form->mnemonic.vector;
    separate(o);
    switch (item->kind) {
    case 'q': add_scalar(o, 'o', CJ_W_PRED); return true;
    case 'd':
        add_scalar(o, 'o', type);
        if (item->predicate && sample->predicate) {
            cj__text_puts(&o->text, "|");
            add_scalar(o, 'o', CJ_W_PRED);
        }
        return true;
    case 'i': cj__text_puts(&o->text, sample->text); return true;
    case 's': add_scalar(o, 'i', type); return true;
    case 'p': add_scalar(o, 'i', CJ_W_PRED); return true;
    case 'D': add_vector(o, 'o', type, vector); return vector > 1;
    case 'S': add_vector(o, 'i', type, vector); return vector > 1;
    case 'U': return add_packed(o, 'o', type, form->index);
    case 'P': return add_packed(o, 'i', type, form->index);
    default: return false;
    }
}

// The bound of an approximate function (PTX ISA: 2^-20 and better for f32, 2^-10 for tanh, a few units of the last place
// for halves).
static double tolerance_of(const cj_form *form) {
    static const char *const opcodes[] = {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"};
    const char              *opcode = cj__row_opcode(form->row);
    bool approximate = cj__mnemonic_has(&form->mnemonic, CJ_W_APPROX) || cj__mnemonic_has(&form->mnemonic, CJ_W_FULL);
    for (size_t i = 0; i < CJ_TEST_COUNT(opcodes); i++) approximate |= !strcmp(opcode, opcodes[i]);
    if (!approximate) return 0;
    switch (form->mnemonic.type_last) {
    case CJ_W_BF16:
    case CJ_W_BF16X2: return 0x1p-6;
    case CJ_W_F16:
    case CJ_W_F16X2: return 0x1p-9;
    default: return strcmp(opcode, "tanh") ? 0x1p-20 : 0x1p-10;
    }
}

// Adds the instruction after the lines that were added before, and then `o.after`.
static void finish(operands *o, const cj_form *form) {
    cj__experiment_try(o->e, "%s %s;", form->text, o->text.data);
    if (o->after.length) cj__text_puts(&o->e->body, o->after.data);
}

static bool add_operands(operands *o, const cj_form *form) {
    const cj_pattern *pattern = cj__row_pattern(form->row);
    cj_ir_module     *module = cj_test_module(990, "sm_999", form->row->sample);
    const cj_ir_inst *sample = cj_test_first_inst(module);
    bool              ok = true;
    for (unsigned k = 0; ok && k < sample->operand_count; k++)
        ok = add_operand(o, form, &pattern->item[k], &sample->operand[k]);
    cj__ir_free(module);
    return ok;
}

void cj__make_register(const cj_form *form, cj_experiments *list) {
    operands o = {.e = cj__experiment_add(list)};
    o.e->tolerance = tolerance_of(form);
    if (add_operands(&o, form))
        finish(&o, form);
    else
        cj__experiment_drop(list);
    cj__text_free(&o.text);
    cj__text_free(&o.after);
}

// Carries come from an input and go to outputs, each in two ways: by an addition and by a subtraction.
void cj__make_carry(const cj_form *form, cj_experiments *list) {
    for (unsigned subtracts = 0; subtracts < 2; subtracts++) {
        operands       o = {.e = cj__experiment_add(list)};
        const unsigned flag = cj__experiment_input(o.e, CJ_W_PRED, CJ_FILL_EDGES);
        cj__experiment_line(o.e, "selp.u32 %%r0, 1, 0, %%i%u;", flag);
        cj__experiment_line(o.e, subtracts ? "sub.cc.u32 %%r1, 0, %%r0;" : "add.cc.u32 %%r1, %%r0, -1;");
        if (!add_operands(&o, form)) fail_msg("%s: an operand that is no register", form->text);
        finish(&o, form);
        if (cj__mnemonic_has(&form->mnemonic, CJ_W_CC)) {
            cj__experiment_line(o.e, "addc.u32 %%o%u, 0, 0;", cj__experiment_output(o.e, CJ_W_U32));
            cj__experiment_line(o.e, "subc.u32 %%o%u, 0, 0;", cj__experiment_output(o.e, CJ_W_U32));
        }
        cj__text_free(&o.text);
        cj__text_free(&o.after);
    }
}
