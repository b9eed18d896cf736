// SPDX-License-Identifier: Apache-2.0
#include "fill.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static bool is_float(const fill *f) { return element_kind_of(f->type) == ELEMENT_FLOAT; }

static void write_iota(const fill *f, uint64_t first, size_t count, element *to) {
    if (is_float(f))
        for (size_t k = 0; k < count; k++) to[k].f = (double)(first + k);
    else
        for (size_t k = 0; k < count; k++) to[k].u = first + k;
}

static void write_const(const fill *f, uint64_t first, size_t count, element *to) {
    (void)first;
    for (size_t k = 0; k < count; k++) to[k] = f->value;
}

static void write_mod(const fill *f, uint64_t first, size_t count, element *to) {
    if (is_float(f))
        for (size_t k = 0; k < count; k++) to[k].f = (double)((first + k) % f->period) * f->value.f;
    else
        for (size_t k = 0; k < count; k++) to[k].u = (first + k) % f->period * f->value.u;
}

static void write_twos(const fill *f, uint64_t first, size_t count, element *to) {
    for (size_t k = 0; k < count; k++) {
        const uint64_t i = first + k;
        to[k].f = i % f->period ? 1 : i / f->period % 2 ? 0.5 : 2;
    }
}

// Element i + 1 of the splitmix64 sequence that starts at `seed` (Steele, Lea, Flood: Fast splittable pseudorandom
// number generators, OOPSLA 2014).
static uint64_t splitmix(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// A float takes the top 24 or 53 bits; an integer takes as many of the top 32 bits as its type holds, a 64-bit integer all 64.
static void write_rand(const fill *f, uint64_t first, size_t count, element *to) {
    bool     real = is_float(f), narrow = cj_dtype_size(f->type) <= 4;
    unsigned drop = real ? narrow ? 40 : 11 : narrow ? 32 : 0;
    double   unit = narrow ? 0x1p-23 : 0x1p-52;
    for (size_t k = 0; k < count; k++) {
        uint64_t bits = splitmix(f->seed, first + k) >> drop;
        if (real)
            to[k].f = (double)bits * unit - 1;
        else
            to[k].u = bits;
    }
}

// Each reads the text after "name:" into the fill, and returns the reason if it cannot, or NULL.
static const char *read_whole(const char *text, uint64_t *value) {
    const char *end = cj_number_read(text, value);
    return end && !*end ? NULL : "it takes a whole number";
}

// Reads a whole number with or without a minus, which wraps around in 64 bits; `fits`: whether it did not.
static const char *read_integer(const char *text, bool is_signed, element *value, bool *fits) {
    const bool     negative = *text == '-';
    const char    *end = cj_number_read(text + negative, &value->u);
    const uint64_t limit = is_signed ? (UINT64_C(1) << 63) - !negative : negative ? 0 : UINT64_MAX;
    *fits = end && value->u <= limit;
    if (end && negative) value->u = -value->u;
    return end;
}

// Refuses a number that overflows; a number that is too small becomes 0.
static const char *read_value(const char *text, cj_dtype type, element *value) {
    const element_kind kind = element_kind_of(type);
    const char        *end;
    bool               fits;
    errno = 0;
    if (kind == ELEMENT_FLOAT) {
        end = cj_real_read(text, &value->f);
        fits = end && !(errno == ERANGE && isinf(value->f));
    } else {
        end = read_integer(text, kind == ELEMENT_SIGNED, value, &fits);
    }
    if (!end && errno == ERANGE) return "the value does not fit the type";
    if (!end || *end) return "the value is no number of this type";
    element stored = element_stored(type, *value);
    if (!fits || (kind == ELEMENT_FLOAT ? isinf(stored.f) && !isinf(value->f) : stored.u != value->u))
        return "the value does not fit the type";
    *value = stored;
    return NULL;
}

static const char *parse_nothing(const char *text, fill *f) {
    (void)f;
    return *text ? "it takes no value" : NULL;
}

static const char *parse_const(const char *text, fill *f) { return read_value(text, f->type, &f->value); }

static const char *parse_mod(const char *text, fill *f) {
    const char *colon = strchr(text, ':');
    char        period[24];
    if (!colon || (size_t)(colon - text) >= sizeof period) return "it takes a period and a step, mod:P:S";
    memcpy(period, text, (size_t)(colon - text));
    period[colon - text] = '\0';
    if (read_whole(period, &f->period) || !f->period) return "its period is a whole number, at least 1";
    if (!is_float(f)) return read_value(colon + 1, f->type, &f->value);
    // In f32, too, (i mod P) * S is rounded once: S keeps its double precision.
    return read_value(colon + 1, CJ_F64, &f->value);
}

static const char *parse_twos(const char *text, fill *f) {
    if (!is_float(f)) return "it is of floats";
    return read_whole(text, &f->period) || !f->period ? "its period is a whole number, at least 1" : NULL;
}

static const char *parse_rand(const char *text, fill *f) { return read_whole(text, &f->seed); }

static const struct {
    const char *name;
    const char *(*parse)(const char *text, fill *f);
    void (*write)(const fill *f, uint64_t first, size_t count, element *to);
} fills[] = {
    {"iota", parse_nothing, write_iota}, {"zeros", parse_nothing, write_const}, {"const:", parse_const, write_const},
    {"mod:", parse_mod, write_mod},      {"twos:", parse_twos, write_twos},     {"rand:", parse_rand, write_rand},
};

const char *fill_form(size_t index) { return index < sizeof fills / sizeof fills[0] ? fills[index].name : NULL; }

const char *fill_parse(const char *spec, cj_dtype type, fill *f) {
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        size_t length = strlen(fills[i].name);
        if (strncmp(spec, fills[i].name, length)) continue;
        *f = (fill){.type = type, .write = fills[i].write};
        return fills[i].parse(spec + length, f);
    }
    return "there is no such fill";
}

void fill_write(const fill *f, uint64_t first, size_t count, void *to) {
    enum { BATCH = 512 };
    element batch[BATCH];
    size_t  size = cj_dtype_size(f->type);
    for (size_t done = 0; done < count;) {
        size_t step = count - done < BATCH ? count - done : BATCH;
        f->write(f, first + done, step, batch);
        element_narrow(f->type, batch, step, (char *)to + done * size);
        done += step;
    }
}
