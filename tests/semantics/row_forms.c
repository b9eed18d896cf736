// SPDX-License-Identifier: Apache-2.0
#include "row_forms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

enum { SLOTS_MAX = 20, WORDS_MAX = 64, FORMS_A_ROW = 24, TRIALS = 5 };

// ---- a row's alternatives

typedef struct alternatives {
    unsigned count;
    char     word[WORDS_MAX][24];  // "" if the slot may stay empty
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
    const size_t opcode = strcspn(text, ".{");
    memset(s, 0, sizeof *s);
    memcpy(s->opcode, text, opcode);
    for (const char *at = text + opcode; *at;) {
        alternatives *slot = &s->slot[s->count++];
        const char   *end;
        assert_true(s->count <= SLOTS_MAX);
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

// Form i takes the i-th word of each slot (in another trial of one slot only), if there are so many; else a random one.
static void spell(const syntax *s, unsigned i, unsigned trial, uint64_t *random, char *text, size_t size) {
    size_t length = (size_t)snprintf(text, size, "%s", s->opcode);
    for (unsigned k = 0; k < s->count; k++) {
        const alternatives *slot = &s->slot[k];
        const bool          in_turn = i < slot->count && (!trial || k == (i + trial) % s->count);
        const char         *word = slot->word[in_turn ? i : cj_test_random(random) % slot->count];
        if (*word) length += (size_t)snprintf(text + length, size - length, ".%s", word);
    }
}

static unsigned forms_of(const syntax *s) {
    unsigned long long all = 1;
    for (unsigned k = 0; k < s->count && all < FORMS_A_ROW; k++) all *= s->slot[k].count;
    return all < FORMS_A_ROW ? (unsigned)all * (all > 1 ? 2 : 1) : FORMS_A_ROW;
}

static bool use_form(const syntax *s, const cj_row *row, unsigned i, unsigned trial, uint64_t *random,
                     bool (*use)(const cj_form *form, void *user), void *user) {
    cj_form  form = {.row = row, .index = i};
    unsigned wrong;
    spell(s, i, trial, random, form.text, sizeof form.text);
    return cj__mnemonic_resolve(form.text, strlen(form.text), &form.mnemonic, &wrong) && form.mnemonic.target <= 90 &&
           use(&form, user);
}

void cj_row_forms(const cj_row *row, uint64_t *random, bool (*use)(const cj_form *form, void *user), void *user) {
    syntax s;
    read_syntax(row->syntax, &s);
    for (unsigned i = 0, n = forms_of(&s); i < n; i++)
        for (unsigned trial = 0; trial < TRIALS && !use_form(&s, row, i, trial, random, use, user); trial++) continue;
}

bool cj_row_is_sm_90(const cj_row *row) {
    const bool named = row->effects >= CJ_ON_90A;  // the row names its targets
    return row->target <= 90 && (!named || row->effects & CJ_ON_90A);
}

// ---- values

static uint64_t bits_of(double value, unsigned bits) {
    const float single = (float)value;
    uint64_t    wide;
    uint32_t    narrow;
    if (bits == 64) return memcpy(&wide, &value, 8), wide;
    memcpy(&narrow, &single, 4);
    return narrow;
}

static const uint64_t integer_edges[] = {0, 1, 2, 3, 5, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
                                         0x7fffffff, 0x80000000, 0xffffffff, 0x7fffffffffffffff, 0x8000000000000000,
                                         0xffffffffffffffff, 0xfffffffffffffffe, 0x55555555aaaaaaaa};
static const double   float_edges[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 10, 1e-3, 0.999999940395355225,
                                       127.5, 255.5, 32767.5, 65504, -65536, 2147483648.0, -2147483648.0, 4294967296.0,
                                       9.2e18, -9.3e18, 1.8446744073709552e19, 3.4028234663852886e38,
                                       1.1754943508222875e-38, 1e-40, 1.5e300, 1e-310, (double)INFINITY,
                                       -(double)INFINITY, (double)NAN};
// In addition to the NaN above: of either sign, signaling and quiet, each with different bits.
static const uint64_t nan_edges[] = {0xfff8000040000123, 0x7ff4000080000456, 0x7ffc0000c0000789, 0xfff0000060000abc};
static const uint16_t half_edges[] = {0, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x7bff, 0xfbff, 0x7c00,
                                      0xfc00, 0x7e00, 0x7c01, 0x0001, 0x03ff, 0x0400, 0x8001, 0x3555,
                                      0x4248, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0x0080, 0x7f7f};

static bool is_wide_float(cj_word type) {
    const cj_word_info *info = &cj__words[type];
    return info->class == CJ_CLASS_FLOAT && info->bits >= 32;
}

// One or two values of 16 bits.
static bool is_half(cj_word type) {
    return type == CJ_W_F16 || type == CJ_W_F16X2 || type == CJ_W_BF16 || type == CJ_W_BF16X2;
}

static uint64_t wide_edge(uint64_t i, unsigned bits) {
    const uint64_t numbers = CJ_TEST_COUNT(float_edges);
    i %= numbers + CJ_TEST_COUNT(nan_edges);
    if (i < numbers) return bits_of(float_edges[i], bits);
    const uint64_t nan = nan_edges[i - numbers];
    return bits == 64 ? nan : (nan >> 32 & 0x80000000) | 0x7f800000 | (nan >> 29 & 0x7fffff);
}

uint64_t cj_edge_value(cj_word type, uint64_t i) {
    const uint64_t halves = CJ_TEST_COUNT(half_edges);
    if (is_wide_float(type)) return wide_edge(i, cj__words[type].bits);
    if (is_half(type)) return half_edges[i % halves] | (uint64_t)half_edges[i / 3 % halves] << 16;
    return integer_edges[i % CJ_TEST_COUNT(integer_edges)];
}

static uint64_t exponent_bits(cj_word type) {
    if (is_wide_float(type)) return type == CJ_W_F64 ? UINT64_C(0x7ff0000000000000) : 0x7f800000;
    return type == CJ_W_BF16 || type == CJ_W_BF16X2 ? 0x7f807f80 : 0x7c007c00;
}

// Random bits are mostly huge or tiny as floats: half of them get an exponent near 0, and some are NaN or subnormal.
uint64_t cj_random_value(cj_word type, uint64_t *random) {
    const uint64_t bits = cj_test_random(random), how = cj_test_random(random);
    if (!is_wide_float(type) && !is_half(type)) return bits >> (how & 63);
    if ((how & 0x1e) == 0) return how & 1 ? bits | exponent_bits(type) : bits & ~exponent_bits(type);
    if (how & 1) return bits;
    if (is_half(type)) return bits & UINT64_C(0xbfffbfffbfffbfff);
    return bits_of(((double)(bits >> 11) * 0x1p-52 - 1) * exp2((double)(bits & 31) - 16), cj__words[type].bits);
}

uint64_t cj_whole_value(cj_word type, unsigned number) {
    if (is_wide_float(type)) return bits_of(number, cj__words[type].bits);
    if (!is_half(type)) return number;
    const uint64_t single = bits_of(number, 32);
    const bool     brain = type == CJ_W_BF16 || type == CJ_W_BF16X2;
    const uint64_t half = brain ? single >> 16 : number ? (single - ((127 - 15) << 23)) >> 13 : 0;
    return half | half << 16;
}

static double half_number(uint16_t bits, bool brain) {
    if (brain) {
        const uint32_t wide = (uint32_t)bits << 16;
        float          value;
        return memcpy(&value, &wide, 4), (double)value;
    }
    const int    exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double value = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                         : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                        : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

double cj_value_number(cj_word type, uint64_t bits, unsigned part) {
    const uint32_t narrow = (uint32_t)bits;
    float          single;
    double         value;
    if (type == CJ_W_F64) return memcpy(&value, &bits, 8), value;
    if (type == CJ_W_F32) return memcpy(&single, &narrow, 4), (double)single;
    return half_number((uint16_t)(bits >> 16 * part), type == CJ_W_BF16 || type == CJ_W_BF16X2);
}
