// SPDX-License-Identifier: Apache-2.0
#include "line_mutant.h"

#include <stdio.h>
#include <string.h>

#include "table.h"
#include "test.h"

enum { WORDS = 24, OPERANDS = 16, PIECE = 1200 };

// A line, taken apart.
typedef struct parts {
    char   guard[16], opcode[32];
    char   word[WORDS][64];
    char   operand[OPERANDS][PIECE];
    size_t words, operands;
} parts;

static size_t below(uint64_t *random, size_t count) { return count ? cj_test_random(random) % count : 0; }

#define ONE_OF(random, list) (list)[below(random, CJ_TEST_COUNT(list))]

static const char *const numbers[] = {
    "0",
    "1",
    "-1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "15",
    "16",
    "17",
    "31",
    "32",
    "33",
    "64",
    "100",
    "127",
    "128",
    "255",
    "256",
    "-128",
    "-129",
    "4096",
    "32767",
    "32768",
    "-32768",
    "-32769",
    "65535",
    "65536",
    "0x7fffffff",
    "0x80000000",
    "-2147483648",
    "-2147483649",
    "0xffffffff",
    "0x100000000",
    "0x7fffffffffffffff",
    "0x8000000000000000",
    "0xffffffffffffffff",
    "-9223372036854775808",
    "1U",
    "017",
    "0b101",
    "1.5",
    "-1.5",
    "1e5",
    "0.0",
    "0f3F800000",
    "-0f3F800000",
    "0d3FF0000000000000",
    "WARP_SZ",
    "(1 + 2)",
    "~0",
    "!0",
    "1 << 4",
    "3 > 2",
    "1.5 * 2.0",
    "(.u64) 5",
};

static const char *const registers[] = {"%r51", "%l51", "%f51", "%d51", "%h51", "%b51", "%p51", "%q51"};

static const char *const others[] = {
    "!%p52",
    "!%r52",
    "%r52|%p53",
    "%p52|%p53",
    "_",
    "_|%p52",
    "tile",
    "space",
    "table",
    "stack",
    "x",
    "result",
    "argument",
    "done",
    "ext",
    "nothing",
    "missing",
    "%tid.x",
    "%tid",
    "%laneid",
    "%clock64",
    "%envreg0",
    "[%r52]",
    "[%l52]",
    "[%h52]",
    "[%f52]",
    "[tile]",
    "[space]",
    "[table]",
    "[stack]",
    "[x]",
    "[result]",
    "[argument]",
    "[space + 4]",
    "[%l52 + 4]",
    "[%l52 + -4]",
    "[%r52 + 100000]",
    "[16]",
    "[ext]",
    "[done]",
    "[%l52].unified",
    "[%l52 - 4]",
    "space + 4",
    "tile + 4",
    "ext + 4",
    "%r52 + 1",
    "%l52 + 4",
    "-%r52",
    "%r52.x",
    "%r52.b0",
    "%r52.h1",
    "%r52.b3210",
    "[%l52, {%r52}]",
    "[%l52, {%r52, %r53}]",
    "[%l52, {%r52, %r53, %r54}]",
    "[%l52, {%f52, %f53}]",
    "[%l52, %l53, {%f52, %f53}]",
    "{%r52}",
    "{%r52, %r53}",
    "{%r52, %r53, %r54, %r55}",
    "{%f52, %f53}",
    "{%f52, %f53, %f54, %f55}",
    "{%h52}",
    "{%h52, %h53}",
    "{%h52, %h53, %h54, %h55}",
    "{%b52, %b53, %b54, %b55}",
    "{%d52, %d53}",
    "{%l52, %l53}",
    "{%l52, %l53, %l54, %l55}",
    "{1, 2}",
    "{1.5, 2.5}",
    "{%r52, 7}",
    "{_, %r52}",
    "{%r52, _}",
    "{%p52, %p53}",
    "{}",
    "(%r52)",
    "()",
    "(argument)",
};

static void take_apart(const char *line, parts *p) {
    memset(p, 0, sizeof *p);
    if (*line == '@') {
        const size_t length = strcspn(line, " ");
        snprintf(p->guard, sizeof p->guard, "%.*s", (int)length, line);
        line += length + 1;
    }
    const char *end = line + strcspn(line, " ;");
    const char *dot = line + strcspn(line, ". ;");
    snprintf(p->opcode, sizeof p->opcode, "%.*s", (int)(dot - line), line);
    while (dot < end) {
        const size_t length = strcspn(dot + 1, ". ;");
        snprintf(p->word[p->words++], sizeof *p->word, "%.*s", (int)length, dot + 1);
        dot += length + 1;
    }
    int depth = 0;
    for (const char *at = end + strspn(end, " "), *from = at; *at; at++) {
        depth += (strchr("{[(", *at) != NULL) - (strchr("}])", *at) != NULL);
        if (depth || (*at != ',' && *at != ';')) continue;
        if (at > from) snprintf(p->operand[p->operands++], PIECE, "%.*s", (int)(at - from), from);
        from = at + 1 + strspn(at + 1, " ");
    }
}

static void put_together(const parts *p, char *line, size_t size) {
    size_t at = (size_t)snprintf(line, size, "%s%s%s", p->guard, *p->guard ? " " : "", p->opcode);
    for (size_t i = 0; i < p->words; i++) at += (size_t)snprintf(line + at, size - at, ".%s", p->word[i]);
    for (size_t i = 0; i < p->operands; i++)
        at += (size_t)snprintf(line + at, size - at, "%s%s", i ? ", " : " ", p->operand[i]);
    snprintf(line + at, size - at, ";");
}

// ---- words

// A word of another sample of the same opcode, if a few random samples have one.
static void related_word(const parts *p, uint64_t *random, char *word) {
    for (int tries = 0; tries < 400; tries++) {
        const cj_row *row = &cj__rows[below(random, CJ_ROW_COUNT)];
        if (strcmp(cj__row_opcode(row), p->opcode) != 0) continue;
        const char *at = row->syntax + strlen(p->opcode);
        size_t      count = 0, chosen = 0;
        for (const char *c = at; *c; c++)
            count += *c != '.' && c[-1] != '$' && strchr(".|({", c[-1]) && !strchr("$({", *c);
        if (!count) continue;
        chosen = below(random, count);
        for (const char *c = at; *c; c++) {
            if (*c == '.' || c[-1] == '$' || !strchr(".|({", c[-1]) || strchr("$({", *c) || chosen--) continue;
            snprintf(word, sizeof(((parts *)0)->word[0]), "%.*s", (int)strcspn(c, ".|){}("), c);
            return;
        }
    }
}

// Another word of the same kind: a type for a type; for other words one near it in words.def.
static void similar_word(uint64_t *random, char *word) {
    const cj_word known = cj__word_find(word, strlen(word));
    const bool    is_type = cj__words[known].class;
    for (int tries = 0; known && tries < 400; tries++) {
        const size_t other = is_type ? below(random, CJ_W_UE4M3 + 1) : known - 4 + below(random, 9);
        if (!other || other >= CJ_WORD_COUNT || other == known || !cj__words[other].class == is_type) continue;
        snprintf(word, sizeof(((parts *)0)->word[0]), "%s", cj__words[other].text);
        return;
    }
}

static void drop_word(parts *p, size_t i) {
    memmove(p->word[i], p->word[i + 1], (p->words - i - 1) * sizeof *p->word);
    p->words--;
}

static void insert_word(parts *p, size_t i, const char *word) {
    char copy[sizeof *p->word];
    if (p->words == WORDS) return;
    snprintf(copy, sizeof copy, "%s", word);
    memmove(p->word[i + 1], p->word[i], (p->words - i) * sizeof *p->word);
    memcpy(p->word[i], copy, sizeof copy);
    p->words++;
}

static void mutate_word(parts *p, uint64_t *random) {
    const size_t i = below(random, p->words);
    char         word[sizeof *p->word] = "";
    if (!p->words) return;
    switch (below(random, 9)) {
    case 0: drop_word(p, i); break;
    case 1: insert_word(p, below(random, p->words + 1), p->word[i]); break;
    case 2: snprintf(p->word[i], sizeof *p->word, "%s", cj__words[1 + below(random, CJ_WORD_COUNT - 1)].text); break;
    case 3:
    case 4: related_word(p, random, p->word[i]); break;
    case 5:
        related_word(p, random, word);
        if (*word) insert_word(p, below(random, p->words + 1), word);
        break;
    case 6: {
        const size_t other = below(random, p->words);
        memcpy(word, p->word[i], sizeof word);
        memcpy(p->word[i], p->word[other], sizeof word);
        memcpy(p->word[other], word, sizeof word);
        break;
    }
    default: similar_word(random, p->word[i]);
    }
}

// ---- operands

static void random_operand(uint64_t *random, char *operand) {
    const size_t kind = below(random, 5);
    snprintf(operand, PIECE, "%s",
             kind < 2   ? ONE_OF(random, numbers)
             : kind < 3 ? ONE_OF(random, registers)
                        : ONE_OF(random, others));
}

static void insert_operand(parts *p, uint64_t *random) {
    const size_t i = below(random, p->operands + 1);
    if (p->operands == OPERANDS) return;
    memmove(p->operand[i + 1], p->operand[i], (p->operands - i) * PIECE);
    p->operands++;
    if (p->operands == 1 || below(random, 2))
        random_operand(random, p->operand[i]);
    else
        memcpy(p->operand[i], p->operand[i + 1 < p->operands ? i + 1 : i - 1], PIECE);
}

static void mutate_operand(parts *p, uint64_t *random) {
    const size_t i = below(random, p->operands), other = below(random, p->operands);
    char         kept[PIECE];
    switch (p->operands ? below(random, 8) : 0) {
    case 0: insert_operand(p, random); break;
    case 1:
        memmove(p->operand[i], p->operand[i + 1], (p->operands - i - 1) * PIECE);
        p->operands--;
        break;
    case 2:
        memcpy(kept, p->operand[i], PIECE);
        memcpy(p->operand[i], p->operand[other], PIECE);
        memcpy(p->operand[other], kept, PIECE);
        break;
    default: random_operand(random, p->operand[i]);
    }
}

// ---- within an operand

// Replaces `length` bytes at `at` of the operand.
static void splice(char *operand, const char *at, size_t length, const char *with) {
    char         copy[PIECE];
    const size_t before = (size_t)(at - operand);
    snprintf(copy, sizeof copy, "%.*s%s%s", (int)before, operand, with, at + length);
    memcpy(operand, copy, sizeof copy);
}

static void mutate_token(parts *p, uint64_t *random) {
    if (!p->operands) return;
    char       *operand = p->operand[below(random, p->operands)];
    const char *start[400];
    size_t      count = 0;
    for (const char *at = operand; *at && count < CJ_TEST_COUNT(start); at++)
        if ((*at == '%' || (*at >= '0' && *at <= '9')) && (at == operand || strchr(" {[(|!+", at[-1])))
            start[count++] = at;
    if (!count) return;
    const char *at = start[below(random, count)];
    splice(operand, at, strcspn(at, " ,|}])+"), below(random, 3) ? ONE_OF(random, registers) : ONE_OF(random, numbers));
}

// One element more or less in a vector.
static void mutate_arity(parts *p, uint64_t *random) {
    for (size_t i = 0; i < p->operands; i++) {
        char *open = strchr(p->operand[i], '{'), *close = open ? strchr(open, '}') : NULL;
        char *comma = open ? strchr(open, ',') : NULL;
        if (!open || (below(random, 2) && i + 1 < p->operands)) continue;
        const size_t length = strcspn(open + 1, ",}");
        char         element[64];
        snprintf(element, sizeof element, "%.*s, ", (int)(length < 50 ? length : 50), open + 1);
        if (comma && comma < close && below(random, 2))
            splice(p->operand[i], open + 1, (size_t)(comma + 2 - open - 1), "");
        else
            splice(p->operand[i], open + 1, 0, element);
        return;
    }
    mutate_token(p, random);
}

static void mutate_guard(parts *p, uint64_t *random) {
    static const char *const guards[] = {"", "@%p50", "@!%p50", "@%r50", "@!%h50", "@done", "@%p50|%p51", "@1"};
    snprintf(p->guard, sizeof p->guard, "%s", ONE_OF(random, guards));
}

void cj_test_mutate(const char *line, uint64_t *random, char *mutant, size_t size) {
    parts p;
    take_apart(line, &p);
    do {
        switch (below(random, 16)) {
        case 0: mutate_guard(&p, random); break;
        case 1:
        case 2: mutate_arity(&p, random); break;
        case 3:
        case 4:
        case 5: mutate_token(&p, random); break;
        case 6:
        case 7:
        case 8:
        case 9:
        case 10: mutate_operand(&p, random); break;
        default: mutate_word(&p, random);
        }
    } while (!below(random, 5));
    put_together(&p, mutant, size);
}
