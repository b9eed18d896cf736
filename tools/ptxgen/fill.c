// SPDX-License-Identifier: Apache-2.0
#include "fill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

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

// Element i + 1 of the splitmix64 sequence that starts at `seed` (Steele, Lea, Flood: Fast splittable pseudorandom
// number generators, OOPSLA 2014).
static uint64_t splitmix(uint64_t seed, uint64_t i) {
    uint64_t z = seed + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

// Floats take its top 24 or 53 bits, integers the top 32 or all.
static void write_rand(const fill *f, uint64_t first, size_t count, element *to) {
    bool     real = is_float(f), narrow = cj_dtype_size(f->type) == 4;
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

// Each reads what follows "name:" into the fill and returns whether it could.
static bool read_whole(const char *text, uint64_t *value) {
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

static bool read_value(const char *text, cj_dtype type, element *value) {
    char *end;
    errno = 0;
    switch (element_kind_of(type)) {
    case ELEMENT_FLOAT: value->f = strtod(text, &end); break;
    case ELEMENT_SIGNED: value->i = strtoll(text, &end, 10); break;
    case ELEMENT_UNSIGNED:
        if (text[0] == '-') return false;
        value->u = strtoull(text, &end, 10);
        break;
    }
    if (end == text || *end || (errno && element_kind_of(type) != ELEMENT_FLOAT)) return false;
    element stored = element_stored(type, *value);
    bool    fits = element_kind_of(type) == ELEMENT_FLOAT || stored.u == value->u;
    *value = stored;
    return fits;
}

static bool parse_nothing(const char *text, fill *f) {
    (void)f;
    return !*text;
}

static bool parse_const(const char *text, fill *f) { return read_value(text, f->type, &f->value); }

static bool parse_mod(const char *text, fill *f) {
    const char *colon = strchr(text, ':');
    char        period[24];
    if (!colon || (size_t)(colon - text) >= sizeof period) return false;
    memcpy(period, text, (size_t)(colon - text));
    period[colon - text] = '\0';
    if (!read_whole(period, &f->period) || !f->period) return false;
    if (!is_float(f)) return read_value(colon + 1, f->type, &f->value);
    // In f32, too, (i mod P) * S is rounded once: S keeps its double precision.
    return read_value(colon + 1, CJ_F64, &f->value);
}

static bool parse_rand(const char *text, fill *f) { return read_whole(text, &f->seed); }

static const struct {
    const char *name;
    bool (*parse)(const char *text, fill *f);
    void (*write)(const fill *f, uint64_t first, size_t count, element *to);
} fills[] = {
    {"iota", parse_nothing, write_iota}, {"zeros", parse_nothing, write_const}, {"const:", parse_const, write_const},
    {"mod:", parse_mod, write_mod},      {"rand:", parse_rand, write_rand},
};

int fill_parse(const char *spec, cj_dtype type, fill *f) {
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        size_t length = strlen(fills[i].name);
        if (strncmp(spec, fills[i].name, length)) continue;
        *f = (fill){.type = type, .write = fills[i].write};
        if (fills[i].parse(spec + length, f)) return CODE_OK;
    }
    return message_error(CJ_INVALID_ARGUMENT, "--fill '%s' makes no sense for %s\none of: %s", spec,
                         cj_dtype_name(type), FILL_HELP);
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
