// SPDX-License-Identifier: Apache-2.0
// Characters of PTX: blanks, comments, identifiers, numbers (PTX ISA 4.1 to 4.5). Nothing reads at or after p->end, and a byte
// outside the grammar is an error like every other.
#include <ctype.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "parser.h"

enum { NAME_START = CJ_NAME_START, NAME_PART = CJ_NAME_PART, DIGIT = 4, BLANK = 8, LINE_END = 16, DOT = 32 };

#define class_of cj__char_class

#define LETTERS(X) \
    X('a') X('b') X('c') X('d') X('e') X('f') X('g') X('h') X('i') X('j') X('k') X('l') X('m') X('n') X('o') X('p') \
    X('q') X('r') X('s') X('t') X('u') X('v') X('w') X('x') X('y') X('z')

const unsigned char class_of[256] = {
#define X(c) [c] = NAME_START | NAME_PART, [c - 'a' + 'A'] = NAME_START | NAME_PART,
    LETTERS(X)
#undef X
    ['_'] = NAME_START | NAME_PART, ['$'] = NAME_START | NAME_PART, ['%'] = NAME_START | NAME_PART,
    ['0'] = NAME_PART | DIGIT, ['1'] = NAME_PART | DIGIT, ['2'] = NAME_PART | DIGIT, ['3'] = NAME_PART | DIGIT,
    ['4'] = NAME_PART | DIGIT, ['5'] = NAME_PART | DIGIT, ['6'] = NAME_PART | DIGIT, ['7'] = NAME_PART | DIGIT,
    ['8'] = NAME_PART | DIGIT, ['9'] = NAME_PART | DIGIT,
    ['\n'] = LINE_END, ['.'] = DOT, [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK, ['\f'] = BLANK, ['\v'] = BLANK,
};

static bool is(const cj_parser *p, const char *at, unsigned char class) {
    return at < p->end && class_of[(unsigned char)*at] & class;
}

// Sets the error's place, which may lie on a line before the current one.
static void set_place(const cj_parser *p, const char *at) {
    const char *start = p->line_start;
    p->error->line = p->line;
    for (; at && at < start; p->error->line--)
        for (start--; start > p->begin && start[-1] != '\n';) start--;
    p->error->column = at ? (uint32_t)(at - start) + 1 : 1;
}

bool cj__parse_error(cj_parser *p, const char *at, const char *rule, const char *format, ...) {
    if (p->status) return false;
    char text[900];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->status = cj__fail(p->error, CJ_INVALID_KERNEL, "%s", text);
    cj__rule(p->error, rule);
    if (p->error) set_place(p, at);
    return false;
}

bool cj__expected(cj_parser *p, const char *at, const char *what) {
    return cj__parse_error(p, at, "syntax", "expected %s, found %s", what, cj__found(p, at).text);
}

bool cj__parse_memory(cj_parser *p) {
    if (!p->status) p->status = cj__fail(p->error, CJ_OUT_OF_MEMORY, "out of memory while reading PTX");
    return false;
}

cj_found cj__found(const cj_parser *p, const char *at) {
    cj_found found = {"the end of the text"};
    if (at >= p->end) return found;
    if (*at == '\n' || *at == '\r') return (cj_found){"the end of the line"};
    size_t length = 1;
    if (is(p, at, NAME_PART) || *at == '.')
        while (length < 40 && (is(p, at + length, NAME_PART) || (at + length < p->end && at[length] == '.'))) length++;
    if (isprint((unsigned char)*at))
        snprintf(found.text, sizeof found.text, "'%.*s'", (int)length, at);
    else
        snprintf(found.text, sizeof found.text, "byte 0x%02x", (unsigned char)*at);
    return found;
}

static void keep_comment(cj_parser *p, const char *text, size_t length, uint32_t line) {
    cj_comment *grown = cj__arena_grow(&p->module->arena, p->comment, p->comment_count,
                                       &p->comment_capacity, sizeof *grown);
    if (!grown) {
        cj__parse_memory(p);
        return;
    }
    p->comment = grown;
    grown[p->comment_count++] = (cj_comment){.text = text, .length = length, .line = line, .last_line = p->line};
}

// Whether a comment is one that the checker reads.
static bool says_implicit(const char *text, const char *end) {
    const size_t length = sizeof CJ_IMPLICIT_DEF - 1;
    text += text < end && *text == ' ';
    return (size_t)(end - text) >= length && !memcmp(text, CJ_IMPLICIT_DEF, length);
}

// ptxas (CUDA 13.0) takes ASCII alone, in comments and in quotes, too.
static const char *not_ascii(const char *from, const char *to) {
    while (from < to && (unsigned char)*from < 0x80) from++;
    return from < to ? from : NULL;
}

bool cj__is_ascii(cj_parser *p, const char *from, const char *to) {
    const char *odd = not_ascii(from, to), *place = from >= p->begin && to <= p->end ? odd : NULL;
    return !odd || cj__parse_error(p, place, "ascii", "byte 0x%02x is not ASCII: ptxas takes no others, in comments, too",
                                   (unsigned char)*odd);
}

const char *cj__ascii_text(cj_parser *p, const char *text) {
    const size_t length = strlen(text);
    if (!cj__is_ascii(p, text, text + length)) return NULL;
    char *copy = cj__arena_text(p->arena, text, length);
    if (!copy) cj__parse_memory(p);
    return copy;
}

// The error of a comment, after which reading goes on.
static void comment_is_ascii(cj_parser *p, const char *from) {
    if (!not_ascii(from, p->at)) return;
    p->resume |= !p->status;
    cj__is_ascii(p, from, p->at);
}

static bool says(const char *text, const char *end, const char *words) {
    const size_t length = strlen(words);
    return (size_t)(end - text) >= length && !memcmp(text, words, length);
}

// LLVM gives the first line of inline assembly its .loc, and counts on from there for each further line, as if they stood in the
// source. The .loc of the assembly is the one directly after this comment; parse_loc leaves out those that count on.
static void note_inline_assembly(cj_parser *p, const char *text) {
    if (says(text, p->at, " begin inline asm")) {
        p->asm_loc = p->at;
        while (p->asm_loc < p->end && class_of[(unsigned char)*p->asm_loc] & (BLANK | LINE_END)) p->asm_loc++;
    } else if (says(text, p->at, " end inline asm")) {
        p->asm_loc = NULL;
    }
}

static void line_comment(cj_parser *p) {
    const char *text = p->at + 2;
    const char *end = memchr(text, '\n', (size_t)(p->end - text));
    p->at = end ? end : p->end;
    comment_is_ascii(p, text);
    note_inline_assembly(p, text);
    if (p->each && !says_implicit(text, p->at)) return;
    keep_comment(p, text, (size_t)(p->at - text), p->line);
}

static void block_comment(cj_parser *p) {
    const char *start = p->at, *text = p->at + 2;
    uint32_t line = p->line;
    for (p->at = text; p->at + 1 < p->end; p->at++) {
        if (*p->at == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        } else if (p->at[0] == '*' && p->at[1] == '/') {
            keep_comment(p, text, (size_t)(p->at - text), line);
            comment_is_ascii(p, text);
            p->at += 2;
            return;
        }
    }
    p->resume |= !p->status;
    cj__parse_error(p, start, "comment-open", "this comment is never closed with */");
    p->at = p->end;
}

// Whether a comment stood here; it is taken.
static bool take_comment(cj_parser *p) {
    const bool begins = p->at + 1 < p->end && *p->at == '/';
    if (begins && p->at[1] == '/') line_comment(p);
    else if (begins && p->at[1] == '*') block_comment(p);
    else return false;
    return true;
}

void cj__skip_more(cj_parser *p) {
    do {
        const char *at = p->at, *end = p->end;
        for (; at < end && class_of[(unsigned char)*at] & (BLANK | LINE_END); at++)
            if (*at == '\n') {
                p->line++;
                p->line_start = at + 1;
            }
        p->at = at;
    } while (take_comment(p));
}

bool cj__expect(cj_parser *p, char c, const char *where) {
    if (cj__take(p, c)) return true;
    return cj__parse_error(p, p->at, "syntax", "expected '%c' %s, found %s", c, where, cj__found(p, p->at).text);
}

bool cj__begins_line(const cj_parser *p) {
    const char *before = p->at;
    while (before > p->line_start && class_of[(unsigned char)before[-1]] & BLANK) before--;
    return before == p->line_start;
}

bool cj__too_deep(cj_parser *p) {
    return cj__parse_error(p, p->at, "syntax", "operands or braces stand more than %d deep", CJ_DEPTH_MAX);
}

static bool joins(const cj_parser *p, const char *at) {
    return at + 2 < p->end && at[0] == ':' && at[1] == ':' && is(p, at + 2, NAME_PART);
}

size_t cj__dotted_length(const cj_parser *p) {
    const char *at = p->at + 1;
    while (is(p, at, NAME_PART) || joins(p, at)) at += *at == ':' ? 2 : 1;
    return (size_t)(at - p->at);
}

size_t cj__mnemonic_length(const cj_parser *p) {
    const char *at = p->at + cj__name_length(p), *end = p->end;
    if (at == end || *at != '.') return (size_t)(at - p->at);
    for (;;) {
        while (at < end && class_of[(unsigned char)*at] & (NAME_PART | DOT)) at++;
        if (!joins(p, at)) return (size_t)(at - p->at);
        at += 2;
    }
}

bool cj__name_is(const cj_parser *p, const char *name) {
    size_t length = strlen(name);
    return cj__name_length(p) == length && !memcmp(p->at, name, length);
}

bool cj__word_is(const cj_parser *p, const char *word) {
    size_t length = strlen(word);
    return cj__word_length(p) == length && !memcmp(p->at, word, length);
}

bool cj__take_word(cj_parser *p, const char *word) {
    if (!cj__word_is(p, word)) return false;
    p->at += strlen(word);
    cj__skip(p);
    return true;
}

const char *cj__text_of(cj_parser *p, const char *from, const char *to) {
    while (from < to && (class_of[(unsigned char)*from] & BLANK || *from == '\n')) from++;
    while (to > from && (class_of[(unsigned char)to[-1]] & BLANK || to[-1] == '\n')) to--;
    char *text = cj__arena_text(p->arena, from, (size_t)(to - from));
    if (!text) cj__parse_memory(p);
    char *end = text ? strchr(text, '\r') : NULL;
    for (char *c = end; c && *c; c++)  // lines end as ours do
        if (*c != '\r') *end++ = *c;
    if (end) *end = '\0';
    return text;
}

// The end of the comment at `at`, or `at` where there is none. The comment is closed: cj__skip has been here.
static const char *after_comment(const char *at, const char *to) {
    if (to - at < 2 || *at != '/' || (at[1] != '/' && at[1] != '*')) return at;
    const char *end = at + 2;
    if (at[1] == '*') {
        while (end < to && !(end[-1] == '*' && *end == '/' && end > at + 2)) end++;
        return end < to ? end + 1 : to;
    }
    while (end < to && *end != '\n') end++;
    return end;
}

const char *cj__text_plain(cj_parser *p, const char *from, const char *to) {
    char *text = cj__arena_alloc(p->arena, (size_t)(to - from) * 2 + 1);
    if (!text) {
        cj__parse_memory(p);
        return NULL;
    }
    size_t length = 0;
    for (const char *at = from; at < to;) {
        const char *after = after_comment(at, to);
        bool comma = *at == ',', blank = after > at || *at == '\n' || class_of[(unsigned char)*at] & BLANK;
        bool after_blank = length && text[length - 1] == ' ';
        if (comma && after_blank) length--;
        if (!blank) text[length++] = *at;
        if (comma || (blank && length && !after_blank)) text[length++] = ' ';
        at = after > at ? after : at + 1;
    }
    while (length && text[length - 1] == ' ') length--;
    text[length] = '\0';
    return text;
}

// The value of a digit in a base up to 16; 99: none.
static unsigned digit_value(char c) {
    if (c >= '0' && c <= '9') return (unsigned)(c - '0');
    char lower = (char)(c | 32);
    return lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a') + 10 : 99;
}

// 0f3F800000, 0d3FF0000000000000: the bits of a float, written in hexadecimal.
static bool float_bits(cj_parser *p, const char *at, cj_ir_operand *operand) {
    bool single = at[1] == 'f' || at[1] == 'F';
    unsigned digits = single ? 8 : 16, i = 0;
    uint64_t bits = 0;
    for (const char *digit = at + 2; i < digits && digit < p->end && digit_value(*digit) < 16; digit++, i++)
        bits = bits << 4 | digit_value(*digit);
    p->at = at + 2 + i;
    if (i < digits || is(p, p->at, NAME_PART))
        return cj__parse_error(p, at, "number", "0%c takes exactly %u hexadecimal digits", at[1], digits);
    operand->kind = CJ_OPERAND_FLOAT;
    operand->is_f32 = single;
    operand->bits = bits;
    return true;
}

static bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// 1.5, 1e-3, .5: the text from `at` to the end of the number is short and copied, since p's text has no NUL after it.
static bool decimal_float(cj_parser *p, const char *at, cj_ir_operand *operand) {
    char copy[64];
    size_t length = 0;
    while (at + length < p->end && length + 1 < sizeof copy &&
           (is_decimal(at[length]) || at[length] == '.' || (at[length] | 32) == 'e' ||
            ((at[length] == '-' || at[length] == '+') && length && (at[length - 1] | 32) == 'e')))
        length++;
    memcpy(copy, at, length);
    copy[length] = '\0';
    char *point = strchr(copy, '.');
    if (point) *point = *localeconv()->decimal_point;  // what strtod expects in the caller's locale
    char *end;
    double value = strtod(copy, &end);
    if (*end || end == copy || is(p, at + length, NAME_PART))
        return cj__parse_error(p, at, "number", "'%s' is not a number", copy);
    operand->kind = CJ_OPERAND_FLOAT;
    memcpy(&operand->bits, &value, sizeof value);
    p->at = at + length;
    return true;
}

static bool integer_bits(cj_parser *p, const char *at, cj_ir_operand *operand) {
    unsigned base = 10;
    const char *digit = at;
    if (*at == '0' && at + 1 < p->end) {
        char mark = (char)(at[1] | 32);
        base = mark == 'x' ? 16 : mark == 'b' ? 2 : is_decimal(at[1]) ? 8 : 10;
        digit += base == 16 || base == 2 ? 2 : 0;
    }
    const char *first = digit;
    uint64_t value = 0;
    for (; is(p, digit, NAME_PART); digit++) {
        unsigned d = digit_value(*digit);
        if ((*digit | 32) == 'u' && digit > first) break;
        if (d >= base)
            return cj__parse_error(p, digit, "number", "'%c' is no digit of a number in base %u", *digit, base);
        if (value >> 60 && value > (UINT64_MAX - d) / base)
            return cj__parse_error(p, at, "number", "this number does not fit 64 bits");
        value = value * base + d;
    }
    if (digit == first) return cj__parse_error(p, at, "number", "this number has no digits");
    operand->is_unsigned = is(p, digit, NAME_PART) || value > INT64_MAX;
    if (is(p, digit, NAME_PART)) digit++;  // U: unsigned
    if (is(p, digit, NAME_PART)) return cj__parse_error(p, digit, "number", "this number ends in something else");
    operand->kind = CJ_OPERAND_INT;
    operand->bits = value;
    p->at = digit;
    return true;
}

// Whether the number at `at` has a point or an exponent.
static bool looks_decimal_float(const cj_parser *p, const char *at) {
    const char *c = at;
    while (c < p->end && is_decimal(*c)) c++;
    return c < p->end && (*c == '.' || (*c | 32) == 'e');
}

bool cj__literal(cj_parser *p, cj_ir_operand *operand) {
    const char *at = p->at;
    bool point = at + 1 < p->end && *at == '.' && is_decimal(at[1]);
    if (!is(p, at, DIGIT) && !point)
        return cj__expected(p, p->at, "a number");
    char mark = at + 1 < p->end ? (char)(at[1] | 32) : 0;
    bool ok = *at == '0' && (mark == 'f' || mark == 'd') ? float_bits(p, at, operand)
              : point || looks_decimal_float(p, at)      ? decimal_float(p, at, operand)
                                                         : integer_bits(p, at, operand);
    if (ok) cj__skip(p);
    return ok;
}

bool cj__integer(cj_parser *p, uint64_t *value, const char *what) {
    const char *at = p->at;
    cj_ir_operand operand = {0};
    if (cj__name_is(p, "WARP_SZ")) {
        p->at += strlen("WARP_SZ");
        cj__skip(p);
        *value = 32;
        return true;
    }
    if (!is(p, at, DIGIT))
        return cj__expected(p, at, what);
    if (!cj__literal(p, &operand)) return false;
    if (operand.kind != CJ_OPERAND_INT) return cj__parse_error(p, at, "syntax", "%s must be a whole number", what);
    *value = operand.bits;
    return true;
}

bool cj__string(cj_parser *p) {
    const char *start = p->at;
    if (!cj__at(p, '"'))
        return cj__expected(p, p->at, "a text in quotes");
    for (p->at++; p->at < p->end && *p->at != '\n' && *p->at != '"'; p->at++)
        if (*p->at == '\\' && p->at + 1 < p->end && p->at[1] != '\n') p->at++;
    if (!cj__at(p, '"')) return cj__parse_error(p, start, "syntax", "this text is not closed with '\"' on its line");
    p->at++;
    if (!cj__is_ascii(p, start, p->at)) return false;
    cj__skip(p);
    return true;
}
