// SPDX-License-Identifier: Apache-2.0
// printf of device code (CUDA C++ Programming Guide, "Formatted Output"). The compiler calls vprintf(format, buffer); the buffer
// holds the arguments side by side, each aligned to its size: an int takes 4 bytes; a long, a double and a pointer 8.
#include <stdio.h>

#include "library.h"
#include "printout.h"

#pragma GCC diagnostic ignored "-Wformat-nonliteral"  // the formats are the kernel's, spelled anew by spell()

enum { ARGUMENTS_MOST = 32, WIDTH_MOST = 1 << 20, SPECIFIER_MOST = 64 };

// A conversion specification, as %-08.3lld.
typedef struct specifier {
    char     flags[8];
    int      width, precision;            // -1: none
    bool     asks_width, asks_precision;  // an argument tells it: *
    unsigned bytes;                       // of an integer: 1, 2, 4, 8
    char     conversion;                  // 0: it is none
    size_t   length;                      // of the text
} specifier;

// The arguments of a call, and what has been printed.
typedef struct printer {
    cj_library_call *call;
    uint64_t         buffer, offset;  // the next argument's
    uint32_t         count;           // of arguments
    cj_text          text;
} printer;

static int number(const char **at) {
    int value = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) value = value * 10 > WIDTH_MOST ? WIDTH_MOST : value * 10 + (**at - '0');
    return value < WIDTH_MOST ? value : WIDTH_MOST;
}

// h, hh, l, ll and what is as wide as l.
static unsigned size_of(const char **at) {
    unsigned bytes = 4;
    for (;; ++*at) {
        if (**at == 'h')
            bytes = bytes == 2 ? 1 : 2;
        else if (**at && strchr("lLjzt", **at))
            bytes = 8;
        else
            return bytes;
    }
}

static specifier parse(const char *text) {
    specifier   s = {.width = -1, .precision = -1};
    const char *at = text + 1;
    for (size_t n = 0; *at && strchr("-+ #0'", *at); at++)
        if (!strchr(s.flags, *at)) s.flags[n++] = *at;
    s.asks_width = *at == '*';
    if (s.asks_width)
        at++;
    else if (*at >= '1' && *at <= '9')
        s.width = number(&at);
    if (*at == '.') {
        s.asks_precision = *++at == '*';
        if (s.asks_precision)
            at++;
        else
            s.precision = number(&at);
    }
    s.bytes = size_of(&at);
    if (*at && strchr("diouxXcsp%aAeEfFgG", *at)) s.conversion = *at++;
    s.length = (size_t)(at - text);
    return s;
}

// The next argument of the buffer, zero-extended.
static bool take(printer *p, unsigned bytes, uint64_t *value) {
    p->offset = (p->offset + bytes - 1) / bytes * bytes;
    *value = 0;
    if (!cj__library_read(p->call, p->buffer + p->offset, value, bytes)) return false;
    p->offset += bytes;
    p->count++;
    return true;
}

// A width or precision from the buffer; a negative width is the flag - and its amount.
static bool take_extent(printer *p, specifier *s, int *extent, bool is_width) {
    uint64_t value;
    if (!take(p, 4, &value)) return false;
    int given = (int)(int32_t)value;
    if (given < 0 && is_width && !strchr(s->flags, '-')) s->flags[strlen(s->flags)] = '-';
    if (given < 0) given = is_width ? (given < -WIDTH_MOST ? WIDTH_MOST : -given) : -1;
    *extent = given < WIDTH_MOST ? given : WIDTH_MOST;
    return true;
}

static int64_t narrowed(uint64_t value, unsigned bytes, bool is_signed) {
    switch (bytes) {
    case 1: return is_signed ? (int8_t)value : (uint8_t)value;
    case 2: return is_signed ? (int16_t)value : (uint16_t)value;
    case 4: return is_signed ? (int32_t)value : (int64_t)(uint32_t)value;
    default: return (int64_t)value;
    }
}

// The specification for the host's printf, which takes every integer as a long long.
static void spell(const specifier *s, char spelled[SPECIFIER_MOST]) {
    char width[16] = "", precision[16] = "";
    if (s->width >= 0) snprintf(width, sizeof width, "%d", s->width);
    if (s->precision >= 0) snprintf(precision, sizeof precision, ".%d", s->precision);
    snprintf(spelled, SPECIFIER_MOST, "%%%s%s%s%s%c", s->flags, width, precision,
             strchr("diouxX", s->conversion) ? "ll" : "", s->conversion);
}

static bool print_string(printer *p, const specifier *s, uint64_t address, const char *spelled) {
    cj_text    string = {0};
    const bool is_read = !address ||
                         cj__library_string(p->call, address, s->precision < 0 ? UINT64_MAX : (uint64_t)s->precision,
                                            &string);
    if (is_read) cj__text_printf(&p->text, spelled, address ? string.data ? string.data : "" : "(null)");
    cj__text_free(&string);
    return is_read;
}

static bool print_one(printer *p, const specifier *s) {
    const bool is_float = strchr("aAeEfFgG", s->conversion) != NULL, is_char = s->conversion == 'c';
    const bool is_pointer = s->conversion == 's' || s->conversion == 'p';
    char       spelled[SPECIFIER_MOST];
    uint64_t   value;
    double     real;
    spell(s, spelled);
    if (!take(p, is_float || is_pointer || s->bytes == 8 ? 8 : 4, &value)) return false;
    memcpy(&real, &value, sizeof real);
    if (s->conversion == 's') return print_string(p, s, value, spelled);
    if (s->conversion == 'p')
        cj__text_printf(&p->text, spelled, (void *)(uintptr_t)value);
    else if (is_char)
        cj__text_printf(&p->text, spelled, (int)(unsigned char)value);
    else if (is_float)
        cj__text_printf(&p->text, spelled, real);
    else
        cj__text_printf(&p->text, spelled, (long long)narrowed(value, s->bytes, strchr("di", s->conversion) != NULL));
    return true;
}

// Arguments after the 32nd are ignored, and their specifications are printed as they are, as on a GPU; so are those that are none.
static bool print_specified(printer *p, const char *at, specifier s) {
    const uint32_t wanted = 1u + s.asks_width + s.asks_precision;
    if (s.conversion == '%') {
        cj__text_add(&p->text, "%", 1);
        return true;
    }
    if (!s.conversion || p->count + wanted > ARGUMENTS_MOST) {
        cj__text_add(&p->text, at, s.length);
        return true;
    }
    if (s.asks_width && !take_extent(p, &s, &s.width, true)) return false;
    if (s.asks_precision && !take_extent(p, &s, &s.precision, false)) return false;
    return print_one(p, &s);
}

static bool print_all(printer *p, const char *format) {
    for (const char *at = format; *at;) {
        const size_t plain = strcspn(at, "%");
        cj__text_add(&p->text, at, plain);
        at += plain;
        if (!*at) break;
        const specifier s = parse(at);
        if (!print_specified(p, at, s)) return false;
        at += s.length;
    }
    return true;
}

// Returns the number of arguments, or -2 if there is no format.
bool cj__library_vprintf(cj_library_call *call) {
    printer p = {.call = call, .buffer = call->argument[1]};
    cj_text format = {0};
    if (!call->argument[0]) {
        call->result = (uint32_t)-2;
        return true;
    }
    bool is_printed = cj__library_string(call, call->argument[0], UINT64_MAX, &format);
    is_printed = is_printed && print_all(&p, format.data ? format.data : "");
    cj__print(call->w->block->cluster, &p.text);
    call->result = p.count;
    cj__text_free(&p.text);
    cj__text_free(&format);
    return is_printed;
}
