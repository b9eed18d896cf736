// SPDX-License-Identifier: Apache-2.0
#include "argument.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fill.h"
#include "message.h"

// A type, the wide type in which its values are made and read, and the bits of a float's significand and exponent.
struct value_type {
    const char *name;
    unsigned    bytes;
    cj_dtype    wide;
    int         fraction, exponent;  // 0 for integers
};

static const value_type types[] = {
    {"u8", 1, CJ_U64, 0, 0},  {"u16", 2, CJ_U64, 0, 0}, {"u32", 4, CJ_U64, 0, 0},   {"u64", 8, CJ_U64, 0, 0},
    {"s8", 1, CJ_I64, 0, 0},  {"s16", 2, CJ_I64, 0, 0}, {"s32", 4, CJ_I64, 0, 0},   {"s64", 8, CJ_I64, 0, 0},
    {"f16", 2, CJ_F64, 10, 5}, {"bf16", 2, CJ_F64, 7, 8}, {"f32", 4, CJ_F32, 23, 8}, {"f64", 8, CJ_F64, 52, 11},
};

enum { TYPE_COUNT = sizeof types / sizeof *types };

static const value_type *type_named(const char *name, size_t length) {
    for (size_t i = 0; i < TYPE_COUNT; i++)
        if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length)) return &types[i];
    return NULL;
}

// ---- values of small types

// A double rounded to nearest even as a float of 16 bits (IEEE 754, with the type's split of the bits).
static uint16_t half_from(const value_type *type, double value) {
    int      bias = (1 << (type->exponent - 1)) - 1, shift;
    uint16_t sign = signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(((1 << type->exponent) - 1) << type->fraction);
    if (isnan(value)) return (uint16_t)(infinity | 1 << (type->fraction - 1));
    double magnitude = frexp(fabs(value), &shift);  // in [0.5, 1)
    int    exponent = shift - 1 < 1 - bias ? 1 - bias : shift - 1;  // subnormals share the least exponent
    if (isinf(value) || exponent > bias) return (uint16_t)(sign | infinity);
    long significand = lrint(ldexp(magnitude, shift - exponent + type->fraction));  // with the hidden bit
    long bits = significand + ((long)(exponent + bias - 1) << type->fraction);      // a carry raises the exponent
    return (uint16_t)(sign | (value == 0 ? 0 : bits));
}

static double half_to(const value_type *type, uint16_t bits) {
    int    bias = (1 << (type->exponent - 1)) - 1, most = (1 << type->exponent) - 1;
    int    exponent = bits >> type->fraction & most, fraction = bits & ((1 << type->fraction) - 1);
    double value = exponent == most ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent       ? ldexp((1 << type->fraction) + fraction, exponent - bias - type->fraction)
                                    : ldexp(fraction, 1 - bias - type->fraction);
    return bits & 0x8000 ? -value : value;
}

static void store(const value_type *type, element value, unsigned char *to) {
    uint64_t bits = value.u;
    float    single = (float)value.f;
    if (type->fraction && type->bytes == 2) bits = half_from(type, value.f);
    if (type->fraction && type->bytes == 4) memcpy(&bits, &single, sizeof single);
    memcpy(to, &bits, type->bytes);  // the host is little-endian, as GPUs are
}

static element load(const value_type *type, const unsigned char *from) {
    element  value = {.u = 0};
    float    single;
    unsigned unused = 64 - 8 * type->bytes;
    memcpy(&value.u, from, type->bytes);
    if (type->wide == CJ_I64) value.i = (int64_t)(value.u << unused) >> unused;
    if (type->fraction && type->bytes == 2) value.f = half_to(type, (uint16_t)value.u);
    if (type->fraction && type->bytes == 4) memcpy(&single, from, sizeof single), value.f = (double)single;
    return value;
}

// ---- reading

static int bad_argument(const char *text, const char *why) {
    return message_error(CJ_INVALID_ARGUMENT, "--arg '%s': %s\n%s", text, why, ARGUMENT_HELP);
}

static int no_memory(const argument *a) {
    return message_error(CJ_OUT_OF_MEMORY, "--arg '%s': no host memory for %" PRIu64 " elements", a->text, a->count);
}

static int read_file(argument *a, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return message_error(CJ_FILE, "cannot read '%s': %s", path, strerror(errno));
    size_t bytes = argument_bytes(a), got = fread(a->bytes, 1, bytes, file);
    bool   more = got == bytes && fgetc(file) != EOF, failed = ferror(file) != 0;
    fclose(file);
    if (failed) return message_error(CJ_FILE, "cannot read '%s': %s", path, strerror(errno));
    if (got == bytes && !more) return CODE_OK;
    return message_error(CJ_FILE, "'%s' has %s than the %zu bytes of %s[%" PRIu64 "]", path, more ? "more" : "fewer", bytes,
                         a->type->name, a->count);
}

// const:V must fit the type, not only the wide one.
static bool fits(const value_type *type, element value) {
    unsigned char bytes[8];
    store(type, value, bytes);
    return type->fraction || load(type, bytes).u == value.u;
}

static int make(argument *a, const char *spec) {
    fill    f;
    element batch[256];
    int     code = fill_parse(spec, a->type->wide, &f);
    if (code) return code;
    if (!strncmp(spec, "const:", 6) && !fits(a->type, f.value)) return bad_argument(a->text, "the value does not fit the type");
    for (uint64_t done = 0; done < a->count;) {
        size_t step = a->count - done < 256 ? (size_t)(a->count - done) : 256;
        f.write(&f, done, step, batch);
        for (size_t i = 0; i < step; i++) store(a->type, batch[i], a->bytes + (done + i) * a->type->bytes);
        done += step;
    }
    return CODE_OK;
}

// [COUNT], up to the =.
static bool read_count(const char *text, const char *end, uint64_t *count) {
    char *stop;
    if (*text != '[' || text[1] < '0' || text[1] > '9') return false;
    errno = 0;
    *count = strtoull(text + 1, &stop, 0);
    return !errno && *count && *stop == ']' && stop + 1 == end;
}

int argument_parse(const char *text, argument *a) {
    const char *equals = strchr(text, '='), *bracket = strchr(text, '[');
    *a = (argument){.text = text, .count = 1};
    if (!equals) return bad_argument(text, "there is no '='");
    a->is_buffer = bracket && bracket < equals;
    a->type = type_named(text, (size_t)((a->is_buffer ? bracket : equals) - text));
    if (!a->type) return bad_argument(text, "that is no type");
    if (a->is_buffer && !read_count(bracket, equals, &a->count)) return bad_argument(text, "the count makes no sense");
    if (a->count > SIZE_MAX / 16) return no_memory(a);
    a->bytes = malloc(argument_bytes(a));
    if (!a->bytes) return no_memory(a);
    if (a->is_buffer && equals[1] == '@') return read_file(a, equals + 2);
    if (a->is_buffer) return make(a, equals + 1);
    char spec[80];
    if ((size_t)snprintf(spec, sizeof spec, "const:%s", equals + 1) >= sizeof spec) return bad_argument(text, "too long");
    return make(a, spec);
}

void argument_free(argument *a) { free(a->bytes); }

size_t argument_bytes(const argument *a) { return (size_t)a->count * a->type->bytes; }

void argument_print(const argument *a, uint64_t count) {
    char text[ELEMENT_TEXT];
    int  digits = a->type->fraction == 52 ? 15 : a->type->fraction == 23 ? 7 : 4;
    for (uint64_t i = 0; i < count && i < a->count; i++) {
        element     value = load(a->type, a->bytes + i * a->type->bytes);
        const char *words = a->type->fraction ? element_real_text(value.f, digits, text) : element_text(a->type->wide, value, text);
        printf("%s%s", i ? " " : "", words);
    }
    putchar('\n');
}
