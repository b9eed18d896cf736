// SPDX-License-Identifier: Apache-2.0
#include "fold.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 4 };

// What is written where arithmetic on integers is idle, or has a faster instruction. Letters stand for the operands, a digit for that
// number; P is a power of two, B its number of zero bits below the one, and M one less than it. After an operation that ends in a point, or
// in the kind of a type, comes the rest of the type.
static const struct fold {
    const char *operation, *operands, *becomes, *with;
} folds[] = {
    {"add.", "ab0", "mov.", "ab"},
    {"sub.", "ab0", "mov.", "ab"},
    {"shl.", "ab0", "mov.", "ab"},
    {"shr.", "ab0", "mov.", "ab"},
    {"mul.lo.", "ab0", "mov.", "a0"},
    {"mul.lo.", "ab1", "mov.", "ab"},
    {"mul.wide.u32", "ab1", "cvt.u64.u32", "ab"},
    {"mul.wide.s32", "ab1", "cvt.s64.s32", "ab"},
    {"div.", "ab1", "mov.", "ab"},
    {"rem.", "ab1", "mov.", "a0"},
    {"div.u", "abP", "shr.u", "abB"},  // ptxas 13.0 does not: it divides, by 64 bits in a call of some 100 instructions
    {"rem.u", "abP", "and.b", "abM"},
    {"min.u", "ab0", "mov.u", "a0"},
    {"max.u", "ab0", "mov.u", "ab"},
    {"mad.lo.", "ab10", "mov.", "ab"},
    {"mad.lo.", "ab0d", "mov.", "ad"},
    {"mad.lo.", "ab1d", "add.", "abd"},
    {"mad.lo.", "abc0", "mul.lo.", "abc"},
};

typedef struct piece {
    const char *at;
    size_t      length;
} piece;

// One instruction on plain operands, and what follows its semicolon.
typedef struct statement {
    piece       guard, operation, operand[OPERANDS];
    unsigned    count;
    const char *rest;
} statement;

// Up to one of the characters in `end`, from the next character that is no blank.
static piece take(const char **at, const char *end) {
    *at += strspn(*at, " ");
    piece taken = {*at, strcspn(*at, end)};
    *at += taken.length;
    return taken;
}

static bool read_statement(const char *text, statement *s) {
    *s = (statement){0};
    text += strspn(text, " ");
    if (*text == '@') s->guard = take(&text, " ;");
    s->operation = take(&text, " ;");
    while (*text && *text != ';') {
        text += *text == ',';
        if (s->count == OPERANDS) return false;
        s->operand[s->count++] = take(&text, ",;");
    }
    s->rest = text + (*text == ';');
    const char *after = s->rest + strspn(s->rest, " ");
    return *text && (!*after || *after == '/');
}

static bool is_same(piece a, piece b) { return a.length == b.length && !memcmp(a.at, b.at, a.length); }

// The type after an operation of the table; NULL where it is another operation.
static const char *type_after(piece operation, const char *wanted) {
    const size_t length = strlen(wanted);
    if (operation.length < length || memcmp(operation.at, wanted, length) != 0) return NULL;
    return memchr(operation.at + length, '.', operation.length - length) ? NULL : operation.at + length;
}

// The power of two that an operand is; 0: it is none.
static uint64_t power_of(piece operand) {
    char          *end;
    const uint64_t number = *operand.at >= '0' && *operand.at <= '9' ? strtoull(operand.at, &end, 10) : 0;
    return number && end == operand.at + operand.length && !(number & (number - 1)) ? number : 0;
}

static bool is_operand(const statement *s, unsigned i, char wanted) {
    return wanted == 'P' ? power_of(s->operand[i]) > 0 : is_same(s->operand[i], (piece){&wanted, 1});
}

static bool has_operands(const statement *s, const statement *format, const char *wanted) {
    if (s->count != strlen(wanted)) return false;
    for (unsigned i = 0; i < s->count; i++)
        if (wanted[i] <= 'Z' && (*format->operand[i].at != '$' || !is_operand(s, i, wanted[i]))) return false;
    return true;
}

static void add_piece(cj_text *text, piece p) { cj__text_add(text, p.at, p.length); }

static unsigned bits_below(uint64_t power) {
    unsigned bits = 0;
    while (power >>= 1) bits++;
    return bits;
}

// What a character of fold.with stands for. P, of which B and M are, is the last operand.
static void add_operand(const statement *s, const char *with, cj_text *line) {
    const piece last = s->operand[s->count - 1];
    switch (*with) {
    case 'B': cj__text_printf(line, "%u", bits_below(power_of(last))); break;
    case 'M': cj__text_printf(line, "%" PRIu64, power_of(last) - 1); break;
    default: add_piece(line, *with <= '9' ? (piece){with, 1} : s->operand[*with - 'a']);
    }
}

static void rewrite(const statement *s, const char *type, const struct fold *fold, cj_text *line) {
    const piece typed = {type, (size_t)(s->operation.at + s->operation.length - type)};
    if (s->guard.length) {
        add_piece(line, s->guard);
        cj__text_puts(line, " ");
    }
    cj__text_puts(line, fold->becomes);
    add_piece(line, typed);
    for (const char *at = fold->with; *at; at++) {
        cj__text_puts(line, at == fold->with ? " " : ", ");
        add_operand(s, at, line);
    }
    cj__text_printf(line, ";%s", s->rest);
}

// The row that holds for the statement, or NULL; `type` is what follows its operation.
static const struct fold *find(const statement *s, const statement *format, const char **type) {
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
        *type = type_after(s->operation, folds[i].operation);
        if (*type && has_operands(s, format, folds[i].operands)) return &folds[i];
    }
    return NULL;
}

// A copy of a register to itself.
static bool is_idle(const statement *s, const char *operands) {
    return !operands[2] && operands[1] > 'Z' && is_same(s->operand[operands[0] - 'a'], s->operand[operands[1] - 'a']);
}

bool cj__fold(const char *format, cj_text *line) {
    statement   s, written;
    const char *type;
    if (!read_statement(format, &written) || !read_statement(line->data, &s) || s.count != written.count) return false;
    const struct fold *fold = find(&s, &written, &type);
    if (!fold) return false;
    cj_text folded = {0};
    if (!is_idle(&s, fold->with)) rewrite(&s, type, fold, &folded);
    line->length = 0;
    line->failed |= folded.failed;
    if (folded.length) cj__text_add(line, folded.data, folded.length);
    cj__text_free(&folded);
    return true;
}
