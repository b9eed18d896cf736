// SPDX-License-Identifier: Apache-2.0
// Numbers from text: one syntax for parameters, options of the command, and variables of the environment.
#include <clusterjit/base.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static unsigned digit_of(char c, unsigned base) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    if (base == 16 && (c | 32) >= 'a' && (c | 32) <= 'f') return (unsigned)((c | 32) - 'a') + 10;
    return base;
}

static bool fits(bool overflows) {
    if (overflows) errno = ERANGE;
    return !overflows;
}
static bool multiply(uint64_t *value, uint64_t factor) { return fits(__builtin_mul_overflow(*value, factor, value)); }
static bool add(uint64_t *value, uint64_t term) { return fits(__builtin_add_overflow(*value, term, value)); }
static bool subtract(uint64_t *value, uint64_t term) { return fits(__builtin_sub_overflow(*value, term, value)); }

// Reads digits in base 10 or, after 0x, 16. Returns the text after them; NULL if there are none or they overflow.
static const char *read_digits(const char *at, uint64_t *value) {
    const unsigned base = at[0] == '0' && (at[1] | 32) == 'x' && digit_of(at[2], 16) < 16 ? 16 : 10;
    if (base == 16) at += 2;
    if (digit_of(*at, base) == base) return NULL;
    for (*value = 0; digit_of(*at, base) < base; at++)
        if (!multiply(value, base) || !add(value, digit_of(*at, base))) return NULL;
    return at;
}

// Reads one of the scales 2^k, 1e6, 4K after the digits, if there is one.
static const char *read_scale(const char *at, uint64_t *value) {
    static const char suffixes[] = "KMG";
    const char       *suffix = *at ? strchr(suffixes, *at) : NULL;
    uint64_t          power;
    if (suffix) return multiply(value, UINT64_C(1024) << 10 * (suffix - suffixes)) ? at + 1 : NULL;
    if (*at == '^') {
        at = read_digits(at + 1, &power);
        if (!at || *value != 2 || power > 63) return NULL;
        *value = UINT64_C(1) << power;
    } else if ((*at | 32) == 'e' && digit_of(at[1], 10) < 10) {
        at = read_digits(at + 1, &power);
        if (!at || power > 19) return NULL;
        while (power--)
            if (!multiply(value, 10)) return NULL;
    }
    return at;
}

const char *cj_number_read(const char *text, uint64_t *value) {
    uint64_t sum, more;
    errno = EINVAL;
    const char *at = text ? read_digits(text, &sum) : NULL;
    if (at) at = read_scale(at, &sum);
    if (at && (*at == '+' || *at == '-') && digit_of(at[1], 10) < 10) {
        const bool plus = *at == '+';
        at = read_digits(at + 1, &more);
        if (!at || !(plus ? add(&sum, more) : subtract(&sum, more))) return NULL;
    }
    if (at) *value = sum;
    return at;
}

const char *cj_real_read(const char *text, double *value) {
    if (!text) return NULL;
    const bool  negative = *text == '-';
    char       *end;
    uint64_t    whole;
    const char *after = cj_number_read(text + negative, &whole);
    errno = 0;
    const double real = strtod(text, &end);
    if (end == text && !after) return NULL;
    if (!after || after <= end) return *value = real, end;
    *value = negative ? -(double)whole : (double)whole;
    return after;
}
