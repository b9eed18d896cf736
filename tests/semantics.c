// SPDX-License-Identifier: Apache-2.0
#include "semantics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scaffold.h"
#include "test.h"

enum {
    THREADS = 256, BLOCKS = 4, LANES = THREADS * BLOCKS,
    INPUTS_MAX = 6, OUTPUTS_MAX = 2,
    SLOTS_MAX = 20, WORDS_MAX = 64,
    FORMS_A_ROW = 24  // alternatives tried of a row: each word once, then at random
};

// ---- a row's alternatives

typedef struct alternatives {
    unsigned count;
    char     word[WORDS_MAX][24];  // "" where the slot may stay empty
} alternatives;

typedef struct syntax {
    char         opcode[24];
    unsigned     count;
    alternatives slot[SLOTS_MAX];
} syntax;

static const struct {
    const char *name, *words;
} sets[] = {
#define CJ_SET(name, words) {#name, words},
#include "sets.def"
#undef CJ_SET
};

static void add_words(alternatives *slot, const char *at, const char *end) {
    while (at < end) {
        size_t length = strcspn(at, "|})");
        if (at + length > end) length = (size_t)(end - at);
        while (length && *at == '.') at++, length--;
        if (length && *at == '$') {
            for (size_t i = 0; i < CJ_TEST_COUNT(sets); i++)
                if (strlen(sets[i].name) == length - 1 && !memcmp(sets[i].name, at + 1, length - 1))
                    add_words(slot, sets[i].words, sets[i].words + strlen(sets[i].words));
        } else if (length) {
            assert_true(slot->count < WORDS_MAX);
            snprintf(slot->word[slot->count++], sizeof *slot->word, "%.*s", (int)length, at);
        }
        at += length;
        at += at < end;
    }
}

static void read_syntax(const char *text, syntax *s) {
    size_t opcode = strcspn(text, ".{");
    memset(s, 0, sizeof *s);
    memcpy(s->opcode, text, opcode);
    for (const char *at = text + opcode; *at;) {
        alternatives *slot = &s->slot[s->count++];
        assert_true(s->count <= SLOTS_MAX);
        const char *end;
        if (*at == '{') {
            slot->count = 1;  // the empty word
            end = strchr(at, '}');
            add_words(slot, at + 1, end);
        } else if (at[1] == '(') {
            end = strchr(at, ')');
            add_words(slot, at + 2, end);
        } else {
            end = at + 1 + strcspn(at + 1, ".{");
            add_words(slot, at + 1, end);
        }
        at = end + (*end == '}' || *end == ')');
    }
}

// The i-th mnemonic of a row: as long as there are words that were not used yet they are, then words at random.
static void spell(const syntax *s, unsigned i, uint64_t *random, char *text, size_t size) {
    size_t length = (size_t)snprintf(text, size, "%s", s->opcode);
    for (unsigned k = 0; k < s->count; k++) {
        const alternatives *slot = &s->slot[k];
        const char *word = slot->word[i < slot->count ? i : cj_test_random(random) % slot->count];
        if (*word) length += (size_t)snprintf(text + length, size - length, ".%s", word);
    }
}

static unsigned forms_of(const syntax *s) {
    unsigned long long all = 1;
    for (unsigned k = 0; k < s->count && all < FORMS_A_ROW; k++) all *= s->slot[k].count;
    return all < FORMS_A_ROW ? (unsigned)all * (all > 1 ? 2 : 1) : FORMS_A_ROW;
}

// ---- operands

typedef struct port {
    cj_word type;  // what the instruction sees
    bool    is_pred;
    char    text[48];  // of a constant, as the row's sample has it; else ""
} port;

typedef struct form {
    const cj_row *row;
    cj_mnemonic   mnemonic;
    char          text[96];
    unsigned      input_count, output_count, operand_count;
    port          input[INPUTS_MAX], output[OUTPUTS_MAX];
    char          operands[256];
} form;

static cj_word wide(cj_word type) {
    return type == CJ_W_U16 ? CJ_W_U32 : type == CJ_W_S16 ? CJ_W_S32 : type == CJ_W_U32 ? CJ_W_U64 : CJ_W_S64;
}

static cj_word type_of(const cj_pattern_item *item, const cj_mnemonic *mnemonic) {
    switch (item->type) {
    case 'T': return mnemonic->type_last;
    case 'W': return wide(mnemonic->type_last);
    case 'F': return item->fixed;
    case '1': case '2': case '3': case '4': return mnemonic->type[item->type - '1'];
    default: return CJ_W_PRED;
    }
}

static void append(form *f, bool behind_bar, char prefix, unsigned number) {
    size_t      at = strlen(f->operands);
    const char *separator = behind_bar ? "|" : at ? ", " : "";
    snprintf(f->operands + at, sizeof f->operands - at, "%s%%%c%u", separator, prefix, number);
}

static bool add_output(form *f, cj_word type) {
    if (f->output_count == OUTPUTS_MAX || cj__words[type].bits > 64) return false;
    f->output[f->output_count] = (port){.type = type, .is_pred = type == CJ_W_PRED};
    f->output_count++;
    return true;
}

// Fills in the operands; false where a row has operands that this test does not make.
static bool add_operands(form *f, const cj_ir_inst *sample) {
    const cj_pattern *pattern = cj__row_pattern(f->row);
    for (unsigned k = 0; k < sample->operand_count; k++) {
        const cj_pattern_item *item = &pattern->item[k];
        cj_word                type = type_of(item, &f->mnemonic);
        if (cj__words[type].bits > 64 || item->only_with) return false;
        if (item->kind == 'd' || item->kind == 'D' || item->kind == 'q') {
            append(f, false, 'o', f->output_count);
            if (!add_output(f, item->kind == 'q' ? CJ_W_PRED : type)) return false;
            if (item->predicate && !sample->operand[k].predicate) continue;
            if (item->predicate) {
                append(f, true, 'o', f->output_count);
                if (!add_output(f, CJ_W_PRED)) return false;
            }
        } else if (item->kind == 'i') {
            size_t at = strlen(f->operands);
            snprintf(f->operands + at, sizeof f->operands - at, ", %s", sample->operand[k].text);
        } else if (strchr("sSp", item->kind) && sample->operand[k].kind != CJ_OPERAND_SPECIAL &&
                   sample->operand[k].kind != CJ_OPERAND_VECTOR) {
            if (f->input_count == INPUTS_MAX) return false;
            append(f, false, 'i', f->input_count);
            f->input[f->input_count++] = (port){.type = item->kind == 'p' ? CJ_W_PRED : type,
                                                .is_pred = item->kind == 'p' || type == CJ_W_PRED};
        } else {
            return false;
        }
    }
    return f->output_count > 0;
}

// ---- the kernel

static unsigned register_bits(const port *p) {
    unsigned bits = cj__words[p->type].bits;
    return p->is_pred ? 1 : bits < 16 ? 32 : bits;
}

static void declare(cj_text *text, const char *prefix, unsigned k, const port *p) {
    if (p->is_pred) cj__text_printf(text, "    .reg .pred %s%u;\n", prefix, k);
    else cj__text_printf(text, "    .reg .b%u %s%u;\n", register_bits(p), prefix, k);
}

static char *kernel_of(const form *f) {
    cj_text text = {0};
    cj__text_puts(&text, ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                         "    .reg .b64 %in, %out, %w;\n    .reg .b32 %t, %b;\n");
    for (unsigned k = 0; k < f->input_count; k++) declare(&text, "%i", k, &f->input[k]);
    for (unsigned k = 0; k < f->output_count; k++) declare(&text, "%o", k, &f->output[k]);
    cj__text_puts(&text, "    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n    mov.u32 %t, %tid.x;\n"
                         "    mov.u32 %b, %ctaid.x;\n    mad.lo.u32 %t, %b, 256, %t;\n    mad.wide.u32 %in, %t, 8, %in;\n"
                         "    mad.wide.u32 %out, %t, 8, %out;\n");
    for (unsigned k = 0; k < f->input_count; k++) {
        unsigned bits = register_bits(&f->input[k]);
        cj__text_printf(&text, "    ld.global.b64 %%w, [%%in + %u];\n", k * LANES * 8);
        if (bits == 1) cj__text_printf(&text, "    and.b64 %%w, %%w, 1;\n    setp.ne.u64 %%i%u, %%w, 0;\n", k);
        else if (bits == 64) cj__text_printf(&text, "    mov.b64 %%i%u, %%w;\n", k);
        else cj__text_printf(&text, "    cvt.u%u.u64 %%i%u, %%w;\n", bits, k);
    }
    cj__text_printf(&text, "    %s %s;\n", f->text, f->operands);
    for (unsigned k = 0; k < f->output_count; k++) {
        unsigned bits = register_bits(&f->output[k]);
        if (bits == 1) cj__text_printf(&text, "    selp.b64 %%w, 1, 0, %%o%u;\n", k);
        else if (bits == 64) cj__text_printf(&text, "    mov.b64 %%w, %%o%u;\n", k);
        else cj__text_printf(&text, "    cvt.u64.u%u %%w, %%o%u;\n", bits, k);
        cj__text_printf(&text, "    st.global.b64 [%%out + %u], %%w;\n", k * LANES * 8);
    }
    cj__text_puts(&text, "    ret;\n}\n");
    return text.data;
}

// ---- values

static uint64_t bits_of(double value, unsigned bits) {
    float    single = (float)value;
    uint64_t wide_bits;
    uint32_t narrow;
    if (bits == 64) return memcpy(&wide_bits, &value, 8), wide_bits;
    memcpy(&narrow, &single, 4);
    return narrow;
}

// Edges of each width: for integers, and for floats of that width.
static const uint64_t integer_edges[] = {0, 1, 2, 3, 5, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
                                         0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000,
                                         0xffffffffffffffff, 0xfffffffffffffffe, 0x55555555aaaaaaaa};
static const double   float_edges[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 10, 1e-3, 0.999999940395355225,
                                       127.5, 255.5, 32767.5, 65504, -65536, 2147483648.0, -2147483648.0, 4294967296.0, 9.2e18,
                                       -9.3e18, 1.8446744073709552e19, 3.4028234663852886e38, 1.1754943508222875e-38, 1e-40, 1.5e300, 1e-310};
static const uint16_t half_edges[] = {0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x0001,
                                      0x03ff, 0x0400, 0x8001, 0x3555, 0x4248, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x0080, 0x7f7f};

static uint64_t edge(cj_word type, uint64_t i) {
    const cj_word_info *info = &cj__words[type];
    if (info->class == CJ_CLASS_FLOAT && info->bits >= 32 && strchr(info->text, 'x') == NULL) {
        uint64_t n = CJ_TEST_COUNT(float_edges) + 3, k = i % n;
        if (k < CJ_TEST_COUNT(float_edges)) return bits_of(float_edges[k], info->bits);
        double special = k == n - 1 ? (double)NAN : k == n - 2 ? (double)INFINITY : -(double)INFINITY;
        return bits_of(special, info->bits);
    }
    if (info->class == CJ_CLASS_FLOAT)
        return half_edges[i % CJ_TEST_COUNT(half_edges)] |
               (uint64_t)half_edges[(i / 3) % CJ_TEST_COUNT(half_edges)] << 16;
    return integer_edges[i % CJ_TEST_COUNT(integer_edges)];
}

// Random bits are mostly huge or tiny as floats: half of them get an exponent near 0.
static uint64_t random_value(cj_word type, uint64_t *state) {
    const cj_word_info *info = &cj__words[type];
    uint64_t            bits = cj_test_random(state);
    if (info->class != CJ_CLASS_FLOAT || cj_test_random(state) & 1) return bits >> (cj_test_random(state) & 63 & (unsigned)-(info->class != CJ_CLASS_FLOAT));
    double value = ((double)(bits >> 11) * 0x1p-52 - 1) * exp2((double)(bits & 31) - 16);
    return info->bits >= 32 && !strchr(info->text, 'x') ? bits_of(value, info->bits) : bits & UINT64_C(0xbfffbfffbfffbfff);
}

static void fill(const form *f, uint64_t *in, uint64_t seed) {
    uint64_t state = seed;
    for (unsigned k = 0; k < f->input_count; k++)
        for (unsigned i = 0; i < LANES; i++) {
            uint64_t pair = k == 0 ? i : k == 1 ? i / 23 : i / 7 + i;
            in[k * LANES + i] = i < LANES * 3 / 4 ? edge(f->input[k].type, pair) : random_value(f->input[k].type, &state);
        }
}

// ---- running and comparing

static cj_status run(cj_device *device, const form *f, const char *ptx, const uint64_t *in, uint64_t *out, cj_error *error) {
    cj_module   *module = NULL;
    cj_function *function = NULL;
    cj_ptr       in_at = 0, out_at = 0;
    size_t       in_bytes = sizeof *in * LANES * (f->input_count ? f->input_count : 1), out_bytes = sizeof *out * LANES * OUTPUTS_MAX;
    cj_status    status = cj_module_load(device, ptx, strlen(ptx), &module, error);
    if (!status) status = cj_module_function(module, "k", &function, error);
    if (!status) status = cj_mem_alloc(device, in_bytes, &in_at, error);
    if (!status) status = cj_mem_alloc(device, out_bytes, &out_at, error);
    if (!status) status = cj_mem_write(device, in_at, in, in_bytes, NULL, error);
    if (!status) status = cj_mem_fill(device, out_at, 0xa5, out_bytes, NULL, error);
    if (!status) {
        void            *arguments[] = {&in_at, &out_at};
        cj_launch_config config = {.function = function, .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1},
                                   .arguments = arguments, .argument_count = 2};
        status = cj_launch(device, &config, error);
    }
    if (!status) status = cj_mem_read(device, out, out_at, out_bytes, NULL, error);
    cj_mem_free(device, in_at);
    cj_mem_free(device, out_at);
    cj_module_unload(module);
    return status;
}

static bool is_approximate(const form *f) {
    static const char *const opcodes[] = {"ex2", "lg2", "sin", "cos", "tanh", "rsqrt"};
    for (size_t i = 0; i < CJ_TEST_COUNT(opcodes); i++)
        if (!strcmp(cj__row_opcode(f->row), opcodes[i])) return true;
    return cj__mnemonic_has(&f->mnemonic, CJ_W_APPROX) || cj__mnemonic_has(&f->mnemonic, CJ_W_FULL);
}

static double half_value(uint16_t bits, bool brain) {
    if (brain) {
        uint32_t wide_bits = (uint32_t)bits << 16;
        float    value;
        return memcpy(&value, &wide_bits, 4), (double)value;
    }
    int    exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                  : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

// Part `part` of a value, as a number.
static double number(cj_word type, uint64_t bits, unsigned part) {
    const char *name = cj__words[type].text;
    uint32_t    narrow = (uint32_t)bits;
    float       single;
    double      value;
    if (!strcmp(name, "f64")) return memcpy(&value, &bits, 8), value;
    if (!strcmp(name, "f32")) return memcpy(&single, &narrow, 4), (double)single;
    return half_value((uint16_t)(bits >> 16 * part), *name == 'b');
}

// Within the bound of an approximate function (PTX ISA: 2^-20 and better for f32, 2^-10 for tanh, a few units of the last place
// for halves).
static bool close_enough(cj_word type, uint64_t a, uint64_t b, bool loose) {
    const cj_word_info *info = &cj__words[type];
    bool                halves = strstr(info->text, "f16") != NULL;
    double              tolerance = !halves ? loose ? 0x1p-10 : 0x1p-20 : *info->text == 'b' ? 0x1p-6 : 0x1p-9;
    unsigned            parts = halves && info->bits == 32 ? 2 : 1;
    for (unsigned part = 0; part < parts; part++) {
        double x = number(type, a, part), y = number(type, b, part);
        if (isnan(x) && isnan(y)) continue;
        if (x == y) continue;
        if (!(fabs(x - y) <= tolerance * fmax(fabs(x), 1) || fabs(x - y) <= tolerance * fabs(x))) return false;
    }
    return true;
}

static unsigned compare(const form *f, const uint64_t *in, const uint64_t *want, const uint64_t *got) {
    unsigned wrong = 0;
    for (unsigned k = 0; k < f->output_count; k++) {
        const port *p = &f->output[k];
        unsigned    bits = register_bits(p);
        uint64_t    mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
        for (unsigned i = 0; i < LANES; i++) {
            uint64_t a = want[k * LANES + i] & mask, b = got[k * LANES + i] & mask;
            if (a == b || (is_approximate(f) && !p->is_pred && close_enough(p->type, a, b, !strcmp(cj__row_opcode(f->row), "tanh")))) continue;
            if (!wrong++) {
                print_message("DIFFERS %s %s: lane %u, output %u: %#llx, not %#llx; inputs", f->text, f->operands, i, k,
                              (unsigned long long)b, (unsigned long long)a);
                for (unsigned j = 0; j < f->input_count; j++) print_message(" %#llx", (unsigned long long)in[j * LANES + i]);
                print_message("\n");
            }
        }
    }
    return wrong;
}

// ---- all rows

static bool is_pure(const cj_row *row) {
    static const char *const skipped[] = {"bra", "call", "ret", "exit", "trap", "brx", "nanosleep", "pmevent", "griddepcontrol",
                                          "createpolicy", "activemask", "addc", "subc", "madc", "cvta", "isspacep", "brkpt",
                                          "alloca", "stacksave", "stackrestore", "mapa", "getctarank", "fence", "membar",
                                          "mbarrier"};
    if (row->effects & ~(uint32_t)CJ_ARCH || row->target > 90) return false;
    for (size_t i = 0; i < CJ_TEST_COUNT(skipped); i++)
        if (!strcmp(cj__row_opcode(row), skipped[i])) return false;
    return !strstr(row->syntax, ".cc");
}

static void compare_form(cj_device *device, cj_device *twin, const form *f, uint64_t seed, cj_semantics *result) {
    static uint64_t in[INPUTS_MAX * LANES], want[OUTPUTS_MAX * LANES], got[OUTPUTS_MAX * LANES];
    cj_error        error = {0};
    char           *ptx = kernel_of(f);
    fill(f, in, seed);
    cj_status first = run(device, f, ptx, in, want, &error);
    cj_status second = first ? first : run(twin, f, ptx, in, got, &error);
    if (second == CJ_UNSUPPORTED) {
        result->refused++;
        print_message("REFUSED %s: %.100s\n", f->text, error.message);
    } else if (second) {
        result->failed++;
        print_message("FAILED  %s %s: %s: %.300s\n", f->text, f->operands, first ? "first" : "twin", error.message);
    } else {
        result->forms++;
        result->different += compare(f, in, want, got) > 0;
    }
    free(ptx);
}

static void compare_row(cj_device *device, cj_device *twin, const cj_row *row, uint64_t *random, cj_semantics *result) {
    syntax        s;
    cj_ir_module *module = cj_test_module(990, "sm_999", row->sample);
    read_syntax(row->syntax, &s);
    for (unsigned i = 0, n = forms_of(&s); i < n; i++) {
        form     f = {.row = row};
        unsigned wrong;
        spell(&s, i, random, f.text, sizeof f.text);
        if (!cj__mnemonic_resolve(f.text, strlen(f.text), &f.mnemonic, &wrong)) continue;
        if (f.mnemonic.target > 90 || !add_operands(&f, cj_test_first_inst(module))) continue;
        compare_form(device, twin, &f, cj_test_random(random), result);
    }
    cj__ir_free(module);
}

cj_semantics cj_test_semantics(cj_device *device, cj_device *twin, uint64_t seed) {
    cj_semantics result = {0};
    for (size_t i = 0; i < CJ_ROW_COUNT; i++)
        if (is_pure(&cj__rows[i])) compare_row(device, twin, &cj__rows[i], &seed, &result);
    return result;
}
